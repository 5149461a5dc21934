"""One movement of data by the async proxy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ptxsim.access import Site
from ptxsim.grains import grains
from ptxsim.ptx_types import Array

# Lets copies of lanes arrive that complete on the mbarriers at the corresponding cells.
Landing: TypeAlias = Callable[[Sequence[tuple[Array, int]]], None]


@dataclass(slots=True, eq=False)
class Transfer:
    """One movement of data by the async proxy.

    lane: who issued it; read: reads the source's bytes; write: stores them; source, target: cells of `unit` bytes in
    the machine's shared memory that it reads and writes (None: global memory); used: bytes at the front of each cell of
    the source that are not padding (None: all); cell: the mbarrier it completes on (None: a bulk group); size: bytes it
    completes; arrivals: arrivals it makes there as well; updates: whether it reads what it writes, so that several may
    be in flight to the same bytes; origin, landing: the functions that give the positions of global bytes that it reads
    and writes; parts: the same as several transfers of one arrival each; arriving: what `write` does, which can be done
    together for those with the same Landing, and the lanes whose arrivals these are.
    """

    site: Site
    lane: int
    read: Callable[[], Array]
    write: Callable[[Array], None]
    source: Array | None = None
    target: Array | None = None
    cell: int | None = None
    size: int = 0
    arrivals: int = 0
    unit: int = 16
    used: int | None = None
    updates: bool = False
    origin: Callable[[], Array] | None = None
    landing: Callable[[], Array] | None = None
    parts: "Callable[[], list[Transfer]] | None" = None
    arriving: tuple[Landing, Array] | None = None
    phase: int = 0
    data: Array | None = None
    is_done: bool = False

    @property
    def moves_nothing(self) -> bool:
        """Whether it consists of arrivals only."""
        return self.source is None and self.target is None and self.origin is None and self.landing is None

    def source_grains(self, grain: int) -> Array:
        """The grains of the machine's shared memory that it accesses."""
        cells = np.zeros(0, np.int64) if self.source is None else self.source
        return grains(cells, self.unit, grain, self.used).reshape(-1)

"""ld and st of 256 bits in global memory (sm_100 on)."""

from collections.abc import Callable

import numpy as np

from ptxsim.access import Site
from ptxsim.decode import Decode, Step
from ptxsim.program import Immediate, Operand, Sink
from ptxsim.ptx_types import TYPES, Array, PtxType, unsigned

_SIZE = 32
_HALF = 16


class _Rows:
    """Global memory as rows of 32 bytes, and where the lanes of an instruction are in it."""

    def __init__(self, d: Decode, addresses: Callable[[], Array], type_: PtxType) -> None:
        self._site = Site(d.machine, d.instruction)
        self._site.counts_sectors = True
        d.site = self._site
        self._addresses = addresses
        self._tracker = d.binding.hazards
        self._memory = d.machine.global_space.cells[_HALF]
        cells = d.machine.global_space.cells[1]
        whole = cells[: cells.size // _SIZE * _SIZE]
        self.cells: Array = whole.view(unsigned(type_.bits)).reshape(-1, _SIZE // type_.bytes)

    def find(self, lanes: Array | None, writes: bool, strong: bool) -> Array:
        """The rows of the active lanes."""
        values = self._addresses()
        index = self._site.global_index(values if lanes is None else values[lanes], _SIZE, lanes)
        if self._tracker is not None:
            for half in (2 * index, 2 * index + 1):
                if writes:
                    self._tracker.stores(self._memory, self._site, _HALF, lanes, half, None, strong)
                else:
                    self._tracker.loads(self._memory, self._site, _HALF, lanes, half, strong)
        return index


def decode_wide_load(
    d: Decode, type_: PtxType, items: tuple[Operand, ...], addresses: Callable[[], Array], strong: bool
) -> Step:
    """ld.v8 of 32-bit and ld.v4 of 64-bit types."""
    rows = _Rows(d, addresses, type_)
    machine = d.machine
    raw = TYPES[f"b{type_.bits}"]
    targets = [None if isinstance(item, Sink) else d.target(item, raw) for item in items]

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        values = rows.cells[rows.find(lanes, writes=False, strong=strong)]
        for number, target in enumerate(targets):
            if target is not None and lanes is None:
                target[...] = values[:, number]
            elif target is not None:
                target[lanes] = values[:, number]

    return step


def decode_wide_store(
    d: Decode, type_: PtxType, items: tuple[Operand, ...], addresses: Callable[[], Array], strong: bool
) -> Step:
    """st.v8 of 32-bit and st.v4 of 64-bit types."""
    rows = _Rows(d, addresses, type_)
    machine = d.machine
    raw = TYPES[f"b{type_.bits}"]
    values = [
        d.value(item, type_ if isinstance(item, Immediate) and type_.is_float else raw).view(raw.dtype)
        for item in items
    ]

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        columns = np.stack([value if lanes is None else value[lanes] for value in values], axis=1)
        rows.cells[rows.find(lanes, writes=True, strong=strong)] = columns

    return step

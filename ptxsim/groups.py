"""Groups of lanes that run together, described by the box of the machine's lanes that contains them.

The box is some CTAs, evenly spaced, times some of their lanes, evenly spaced: the lanes of a warp role in every CTA. A
register's lanes in it are a view of slices, so the cost of work on a group depends on its lanes only, not on all lanes.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ptxsim.by_lanes import ByLanes
from ptxsim.ptx_types import Array

WARP = 32
FULL_WARP = np.uint32(0xFFFFFFFF)
_KEPT = 512  # groups cached


def warp_words(mask: Array) -> Array:
    """The lanes of each warp as a 32-bit word [warp], lane 0 in bit 0."""
    return np.packbits(mask, bitorder="little").view(np.uint32)


@dataclass(slots=True, eq=False)
class Group:
    """Lanes of a mask (read-only) and their box.

    box: its CTAs and their lanes; shape: how many of each; where: which lanes of the box belong to the group, None for
    all; warps: how many have a lane in it; whole: whether none of these warps has a lane outside of it; slots: lanes of
    a CTA.
    """

    mask: Array
    box: tuple[slice, slice]
    shape: tuple[int, ...]
    where: Array | None
    warps: int
    whole: bool
    slots: int
    _buffers: dict[tuple[int, np.dtype[np.generic], tuple[int, ...]], Array] = field(
        default_factory=dict[tuple[int, np.dtype[np.generic], tuple[int, ...]], Array]
    )

    def view(self, array: Array) -> Array:
        """The box of an array that has one or several entries a lane: [cta, lane], [cta, lane, entry] or with more."""
        shape = array.shape
        if shape == self.mask.shape:
            return array.reshape(-1, self.slots)[self.box]
        count = shape[0] // self.mask.size
        entries = shape[1:] if count == 1 else (count, *shape[1:])
        return array.reshape(-1, self.slots, *entries)[self.box]

    def source(self, array: Array) -> Array:
        """As `view`, for reading only: for a constant, which is the same in every lane, consecutive lanes."""
        if array.flags.writeable or array.shape != self.mask.shape:
            return self.view(array)
        return array[: self.size].reshape(self.shape)

    @property
    def size(self) -> int:
        """Lanes of the box."""
        return self.shape[0] * self.shape[1]

    def buffer(self, number: int, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Buffers shared by everything done with the group, a separate array for each number."""
        key = number, np.dtype(dtype), shape
        found = self._buffers.get(key)
        if found is None:
            found = self._buffers[key] = np.empty(shape, dtype)
        return found


def _evenly(numbers: Array, step: int) -> slice:
    """The range from the first to the last of some numbers, with a step that divides their distances."""
    return slice(int(numbers[0]), int(numbers[-1]) + 1, step)


class Groups:
    """The groups of a machine's lanes, by mask."""

    def __init__(self, lanes: int, slots: int) -> None:
        self._slots = slots
        self._ctas = lanes // slots
        self.of = ByLanes(self._find, _KEPT)

    def _find(self, lanes: Array) -> Group:
        mask = lanes.copy()
        mask.flags.writeable = False
        boxes = mask.reshape(self._ctas, self._slots)
        ctas, inside = np.flatnonzero(boxes.any(axis=1)), np.flatnonzero(boxes.any(axis=0))
        # one lane of each warp, as elect.sync chooses it
        step = WARP if inside.size > 1 and not ((inside - inside[0]) % WARP).any() else 1
        stride = int(np.gcd.reduce(np.diff(ctas))) if ctas.size > 1 else 1
        rows, columns = _evenly(ctas, stride), _evenly(inside, step)
        where = np.ascontiguousarray(boxes[rows, columns])
        words = warp_words(mask)
        warps = int(np.count_nonzero(words))
        is_whole = warps == int(np.count_nonzero(words == FULL_WARP))
        return Group(mask, (rows, columns), where.shape, None if where.all() else where, warps, is_whole, self._slots)

"""Hazard tracking's knowledge of a grain of shared memory in one record, so that one lookup shows whether all
is well.
"""

import numpy as np

from ptxsim.ptx_types import Array

NOBODY = -1  # the writer of unwritten grains
MANY = -2  # several lanes as readers
# landing: the copy (number) that is writing the grain, in_flight: 1 + the lane whose cp.async is writing it, 0 for
# none; readers, updaters: copies that still read it, reductions in flight to it; is_object: whether it is part of an
# mbarrier; is_read: whether threads have read it since it was written; generic: whether the generic proxy wrote it;
# epoch, column, writer: when, by the clock column of which warp or mbarrier, and by which lane it was written; strong:
# whether by a strong access.
RECORD = np.dtype(
    [
        ("landing", np.int32),
        ("in_flight", np.int32),
        ("readers", np.int16),
        ("updaters", np.int16),
        ("is_object", np.bool_),
        ("is_read", np.bool_),
        ("generic", np.bool_),
        ("_", np.uint8),
        ("epoch", np.int32),
        ("column", np.int32),
        ("writer", np.int32),
        ("strong", np.bool_),
        ("__", np.uint8, 3),
    ]
)
_WORDS = RECORD.itemsize // 8
# Bits of the second word of a record.
READERS, OBJECT, IS_READ, GENERIC = 0xFFFF, 0xFF << 32, 0xFF << 40, 0xFF << 48


class Records:
    """The records of a machine's grains; whole: the same without fields, which NumPy copies many times faster."""

    def __init__(self, count: int) -> None:
        self.all = np.zeros(count, RECORD)
        self._words = self.all.view(np.uint64).reshape(count, _WORDS)
        self.whole = self.all.view(f"V{RECORD.itemsize}")

    def start(self) -> None:
        """A batch begins: nothing is written."""
        fresh = np.zeros(1, RECORD)
        fresh["writer"] = NOBODY
        self.whole[...] = fresh.view(self.whole.dtype)

    def look(self, where: Array) -> "Look":
        """The records of grains."""
        return Look(self._words.take(where, axis=0))

    def written(self, where: Array, writer: Array, epoch: Array, column: Array, strong: bool) -> None:
        """Lanes [n, 1] wrote idle grains [n, m], one after the other."""
        one = np.zeros(writer.shape[0], RECORD)
        one["generic"] = True
        one["epoch"], one["column"], one["writer"], one["strong"] = epoch[:, 0], column[:, 0], writer[:, 0], strong
        self.whole[where.reshape(-1)] = np.repeat(one.view(self.whole.dtype), where.shape[1])


class Look:
    """Records [...] of some grains as they are now."""

    def __init__(self, words: Array) -> None:
        self._words = words
        halves = words.view(np.int32)
        self.epoch, self.column, self.writer = halves[..., 4], halves[..., 5], halves[..., 6]

    def is_idle(self, unwanted: int) -> bool:
        """Whether no copy is writing any of the grains, and none has one of these bits."""
        return not np.count_nonzero(self._words[..., 0]) and not self.has(unwanted)

    def has(self, bits: int) -> bool:
        """Whether any grain has one of these bits."""
        return bool(int(np.bitwise_or.reduce(self._words[..., 1], axis=None)) & bits)

    @property
    def is_written(self) -> bool:
        """Whether all grains were written."""
        return not np.count_nonzero(self.writer == NOBODY)

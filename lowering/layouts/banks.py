"""Shared-memory bank conflicts: how many passes over the banks one warp-wide access takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from lowering.layouts.f2 import Echelon

BANKS = 32  # source: CUDA C++ Programming Guide, shared memory: 32 banks of 4 bytes, one word a bank and cycle
WORD = 4


def phases(width: int) -> int:
    """Groups in which a warp access of `width` bytes a lane is served: 8 bytes by half warps, 16 by quarter warps."""
    return max(1, width // WORD)


def wavefronts(offsets: Sequence[int], width: int) -> int:
    """Passes that a warp access needs: `offsets` are the byte offsets of the lanes, `width` the bytes of each.

    Lanes that touch the same word share it.
    """
    count = phases(width)
    group = max(1, len(offsets) // count)
    total = 0
    for start in range(0, len(offsets), group):
        words: defaultdict[int, set[int]] = defaultdict(set)
        for offset in offsets[start : start + group]:
            for word in range(offset // WORD, (offset + max(width, 1) - 1) // WORD + 1):
                words[word % BANKS].add(word)
        total += max(map(len, words.values()))
    return total


def bank_conflicts(offsets: Sequence[int], width: int) -> int:
    """Passes beyond those that a conflict-free access of this width takes."""
    return wavefronts(offsets, width) - phases(width)


def linear_wavefronts(lane_bytes: Sequence[int], width: int) -> int:
    """Closed form of `wavefronts` for offsets linear in the lane: `lane_bytes` are the five bases, in bytes.

    Each phase holds the lanes of the low bits; a linear map hits every used bank equally often, 2**(rank of the words
    minus rank of their banks) times. `width` must be a power of two and the offsets multiples of it.
    """
    count = phases(width)
    lanes = lane_bytes[: len(lane_bytes) - (count.bit_length() - 1)]
    words = [1 << k for k in range((width // WORD).bit_length() - 1)] if width >= WORD else []
    words += [base // WORD for base in lanes]
    spread = Echelon(words).rank - Echelon(word % BANKS for word in words).rank
    return count << spread

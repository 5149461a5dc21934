"""Arrays that share memory: one allocation of a device for each stretch of the host's memory that some lie in."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilesat.spec import Array


@dataclass(frozen=True)
class Stretch:
    """Memory of the host in one piece, and which arrays begin how many bytes into it."""

    memory: Array
    arrays: tuple[tuple[Array, int], ...]


def stretches(arrays: Sequence[Array]) -> list[Stretch]:
    """The pieces of memory that contiguous arrays lie in; an array that shares with no other is its own piece."""
    groups: list[list[Array]] = []
    end = 0
    for array in sorted(arrays, key=_bounds):
        low, high = _bounds(array)
        if groups and low < end:
            groups[-1].append(array)
        else:
            groups.append([array])
        end = max(end, high)
    return [_stretch(group) for group in groups]


def _stretch(group: list[Array]) -> Stretch:
    if len(group) == 1:
        return Stretch(group[0], ((group[0], 0),))
    start, end = _bounds(group[0])[0], max(_bounds(each)[1] for each in group)
    memory = np.frombuffer(memoryview((ctypes.c_uint8 * (end - start)).from_address(start)), np.uint8)
    return Stretch(memory, tuple((each, _bounds(each)[0] - start) for each in group))


def _bounds(array: Array) -> tuple[int, int]:
    """First address, and the one behind the last."""
    start = array.ctypes.data
    return start, start + array.nbytes


def overlap(arrays: Sequence[Array]) -> bool:
    """Do some arrays share memory? One that is given twice does not."""
    distinct = list({id(each): each for each in arrays}.values())
    return any(len(each.arrays) > 1 for each in stretches(distinct))

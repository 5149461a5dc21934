"""Operands of mma in registers: fragments of a warp as matrices, for every element type alike.

With g = lane/4 and t = lane%4, register r of A holds row g + 8(r%2), bytes 16(r/2) + 4t to +3 of it; register r of B
holds column g, bytes 16r + 4t to +3. Element i of C and D: row g + 8(i/2), column 2t + i%2. Shapes with 8 rows have no
second half. Source: PTX ISA, "Matrix Fragments for mma".
"""

from collections.abc import Sequence

import numpy as np

from ptxsim.decode import Decode
from ptxsim.elements import decoder
from ptxsim.ptx_types import TYPES, Array

GROUPS, QUADS = 8, 4


class Fragment:
    """An A (16 or 8 rows) or B (8 columns) operand."""

    def __init__(self, d: Decode, number: int, element: str, rows: int, count: int) -> None:
        self._registers = [d.value(item, TYPES["b32"]) for item in d.vector(number, (count,))]
        self._decode = decoder(element)
        warps = d.machine.warps
        halves = rows // GROUPS
        self._words = np.empty((warps, halves, GROUPS, count // halves, QUADS), np.uint32)
        self._places = [self._words[:, n % halves, :, n // halves] for n in range(count)]
        self._raw: Array = self._words.view(np.uint8).reshape(warps, rows, -1)

    def values(self) -> Array:
        """The matrix [warp, row, k] in float32."""
        for register, place in zip(self._registers, self._places, strict=True):
            place[...] = register.reshape(-1, GROUPS, QUADS)
        return self._decode(self._raw)


class Accumulators:
    """C and D: f32 or s32 elements, or pairs of f16 in 32-bit registers."""

    def __init__(self, d: Decode, type_name: str, rows: int, target: int, source: int) -> None:
        is_half = type_name == "f16"
        count = 2 * (rows // GROUPS) // (1 + is_half)
        type_ = TYPES["b32"] if is_half else TYPES[type_name]
        self._dtype = np.dtype(np.float16) if is_half else np.dtype(type_.dtype)
        self._sources = [d.value(item, type_) for item in d.vector(source, (count,))]
        self._targets = [d.target(item, type_) for item in d.vector(target, (count,))]
        self._halves = rows // GROUPS
        self._is_half = is_half

    def _wanted(self, product: Array) -> list[Array]:
        """Products [warp, row, 8] as elements of registers: f16 pairs together."""
        view = product.reshape(-1, self._halves, GROUPS, QUADS, 2)
        if self._is_half:
            return [view[:, half].reshape(-1, 2) for half in range(self._halves)]
        return [view[:, half, :, :, i].reshape(-1) for half in range(self._halves) for i in range(2)]

    def store(self, product: Array, mask: Array | None, saturates: bool = False) -> None:
        """D = product + C, rounded to the accumulator's type or exact in integers."""
        results: Sequence[Array] = [
            self._sum(part, source, saturates)
            for part, source in zip(self._wanted(product), self._sources, strict=True)
        ]
        for target, result in zip(self._targets, results, strict=True):
            if mask is None:
                np.copyto(target, result)
            else:
                np.putmask(target, mask, result)

    def _sum(self, part: Array, source: Array, saturates: bool) -> Array:
        if self._is_half:
            pair = source.view(np.float16).reshape(-1, 2) + part.astype(np.float32)
            return pair.astype(np.float16).reshape(-1).view(np.uint32)
        if self._dtype == np.float32:
            return part.astype(np.float32) + source
        total = part.astype(np.int64) + source
        if saturates:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        return total.astype(np.int32)

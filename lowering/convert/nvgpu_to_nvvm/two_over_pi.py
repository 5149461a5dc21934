"""The bits of 2/pi as a table in the module, for the reduction of large angles.

Source of the method: Payne and Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18, 1983.
"""

from __future__ import annotations

from ir.core import Value
from ir.dialects import llvm, nvvm
from ir.dialects.gpu import GlobalArray
from ir.types import GLOBAL_PTR, I64
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter

WORD = 64
BITS = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73e"
    "e88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b7"
    "4f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d",
    16,
)
"""The first 1280 bits of 2/pi behind the point."""
TABLE = GlobalArray(
    "two_over_pi$f64", 8, b"".join((BITS >> 1280 - WORD * k & (1 << WORD) - 1).to_bytes(8, "little") for k in range(21))
)
"""64 zeros, then the bits of 2/pi, the first bits at the top of each word."""


def window(e: Emitter, start: Value, count: int) -> list[Value]:
    """`count` words of the table from bit `start`, an i32, on, the highest first."""
    index = ints.shift_right(e, llvm.LShr, start, e.i32(6))
    shift = ints.bit_and(e, start, e.i32(WORD - 1))
    base = e.value(llvm.AddressOf, GLOBAL_PTR, global_name=TABLE.name)
    e.arrays[TABLE.name] = TABLE
    at = e.value(llvm.GetElementPtr, GLOBAL_PTR, base, index, element_bytes=WORD // 8)
    words: list[Value] = []
    for k in range(count + 1):
        place = e.value(llvm.GetElementPtr, GLOBAL_PTR, at, offset=WORD // 8 * k) if k else at
        words.append(e.effect(nvvm.Ld, [place], [I64], (1, 0, 0, 0)).results[0])
    wide = ints.extend(e, shift, I64, False)
    back = ints.sub(e, e.constant(I64, WORD - 1), wide)
    one = e.constant(I64, 1)

    def joined(high: Value, low: Value) -> Value:
        rest = ints.shift_right(e, llvm.LShr, ints.shift_right(e, llvm.LShr, low, one), back)
        return ints.bit_or(e, ints.shl(e, high, wide), rest)

    return [joined(words[k], words[k + 1]) for k in range(count)]

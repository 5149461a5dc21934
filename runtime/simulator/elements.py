"""Element types of matrix operands in memory: from bytes to values, exactly."""

from collections.abc import Callable
from functools import cache

import numpy as np

from runtime.simulator.floats import bf16_to_f32, float8_table, tf32_values
from runtime.simulator.types import Array

# Bits that one element of a matrix operand takes in shared memory or a register.
# Source: PTX ISA, "wgmma.mma_async" and "tcgen05.mma", the matrix data types.
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}
Decoder = Callable[[Array], Array]


@cache
def decoder(element: str) -> Decoder:
    """What turns little-endian bytes [..., n] into float32 values [..., 8n / bits]; the last axis is contiguous.

    All listed types have at most 24 significant bits, so the values are exact.
    """
    if element == "f16":
        return lambda raw: raw.view(np.float16).astype(np.float32)
    if element == "bf16":
        return lambda raw: bf16_to_f32(raw.view(np.uint16))
    if element == "tf32":
        return lambda raw: tf32_values(raw.view(np.uint32))
    if element in ("e4m3", "e5m2"):
        table = float8_table(element)
        return lambda raw: table.take(raw)
    if element in ("s8", "u8"):
        integer = np.int8 if element == "s8" else np.uint8
        return lambda raw: raw.view(integer).astype(np.float32)
    return lambda raw: np.unpackbits(raw, axis=-1, bitorder="little").astype(np.float32)

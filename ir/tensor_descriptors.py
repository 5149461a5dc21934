"""Descriptors of tcgen05: of a product, and of an operand in shared memory.

Source: PTX ISA 8.8, tcgen05, Instruction descriptor and Matrix Descriptor Format.
"""

from __future__ import annotations

TENSOR_LANES, TENSOR_COLUMNS = 128, 512  # of an SM, 32 bits each; PTX ISA 8.8, Tensor Memory
LANE_SHIFT = 16  # of the lane in an address of tensor memory; same source, Addressing
SUMS = {"f16": 0, "f32": 1, "s32": 2}
"""Type of D -> bits 4 and 5. Source: table of the instruction descriptor."""
FACTORS = {"f16": 0, "bf16": 1, "tf32": 2, "u8": 0, "s8": 1, "e4m3": 0, "e5m2": 1, "e2m1": 1}
"""Type of A or B -> bits 7 to 9 or 10 to 12, within its kind; e2m1 as of mxf4 and mxf4nvf4. Source: same table."""
SCALES = {"ue4m3": 0, "ue8m0": 1}
"""Type of scales -> bit 23. Source: PTX ISA 8.8, table of the instruction descriptor of the block-scaled kinds."""
SWIZZLES = {"none": 0, "128B": 2, "64B": 4, "32B": 6}
"""Swizzle name -> bits 61 to 63 of a matrix descriptor of tcgen05. Source: its format; 1 swizzles units of 32 bytes."""
SPARSE_BIT = 2  # table of the instruction descriptor
VERSION = 1  # in bits 46 and 47; same source


def instruction_descriptor(
    m: int, n: int, a: str, b: str, d: str, transposed: tuple[bool, bool] = (False, False), negated: bool = False,
    sparse: bool = False,
) -> int:  # fmt: skip
    """The 32 bits that say what a product is of; `transposed`: A, B are MN-major; `negated`: A is; `sparse`: of A half
    is held.
    """
    majors = transposed[0] << 15 | transposed[1] << 16 | sparse << SPARSE_BIT
    return SUMS[d] << 4 | FACTORS[a] << 7 | FACTORS[b] << 10 | negated << 13 | majors | n >> 3 << 17 | m >> 4 << 24


def scaled_descriptor(
    m: int, n: int, a: str, b: str, scale: str, bytes_: tuple[int, int], transposed: tuple[bool, bool] = (False, False)
) -> int:
    """The same for a block-scaled product into f32; `bytes_`: the first one of a column that holds scales of A, of B.
    Source: PTX ISA 8.8, Instruction descriptor for the kinds mxf8f6f4, mxf4 and mxf4nvf4.
    """
    majors = transposed[0] << 15 | transposed[1] << 16
    types = FACTORS[a] << 7 | FACTORS[b] << 10 | SCALES[scale] << 23
    return bytes_[1] << 4 | types | majors | n >> 3 << 17 | m >> 7 << 27 | bytes_[0] << 29


def described_shape(bits: int, scaled: bool) -> tuple[int, int]:
    """m and n of the product that 32 bits describe, a block-scaled one or not; m of both CTAs where a pair makes it."""
    return (bits >> 27 & 3) << 7 if scaled else (bits >> 24 & 0x1F) << 4, (bits >> 17 & 0x3F) << 3


def described_factor(bits: int) -> int:
    """The number of A's type within its kind."""
    return bits >> 7 & 7


def operand_bits(lbo: int, sbo: int, swizzle: str) -> int:
    """The constant part of an operand's matrix descriptor; strides in bytes."""
    return (lbo >> 4) << 16 | (sbo >> 4) << 32 | VERSION << 46 | SWIZZLES[swizzle] << 61

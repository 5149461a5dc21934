"""mma.sync: warp-wide matrix multiply-accumulate on register fragments.

Products are exact. Sums of a floating-point mma are computed in f32 (f64 for f64) in an order that the PTX ISA leaves
unspecified, and rounded once more for f16 accumulators. Fragment layouts: PTX ISA, "Matrix Fragments for mma"; with g =
lane/4, t = lane%4 and e elements in a register, register r of A holds row g + 8(r%2), columns 4e(r/2) + et to +e-1; of
B rows 4er + et to +e-1, column g; element i of C and D row g + 8(i/2), column 2t + i%2.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxsim.decode import Decode, Shareable, Step
from ptxsim.families.matrix import all_members
from ptxsim.families.mma_extended import decode_extended, is_extended
from ptxsim.families.mma_volta import decode_volta, is_volta
from ptxsim.floats import float8_table, tf32_values
from ptxsim.floors import Floor
from ptxsim.program import Register
from ptxsim.ptx_types import TYPES, Array, PtxType

# Operand types: elements in a 32-bit register, and the type in which products and sums are computed.
_ELEMENTS = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4, "e4m3": 4, "e5m2": 4, "s4": 8, "u4": 8, "b1": 32}
_FLOATS = ("f16", "bf16", "tf32", "e4m3", "e5m2")
# (A and B types, K) of the m16n8 shapes. Source: PTX ISA, "mma": supported shapes.
_SHAPES = {
    "f16": (8, 16), "bf16": (8, 16), "tf32": (4, 8), "s8": (16, 32), "u8": (16, 32), "e4m3": (16, 32),
    "e5m2": (16, 32), "s4": (32, 64), "u4": (32, 64), "b1": (128, 256),
}  # fmt: skip
_GROUPS, _QUADS = 8, 4


@dataclass(frozen=True, slots=True)
class Shape:
    """m16n8kK with operand element types a and b and accumulator type c (and d)."""

    k: int
    a: str
    b: str
    accumulator: PtxType


def decode_mma(d: Decode) -> Step:
    """mma{.sp}.sync.aligned in every shape; the most common ones are implemented here."""
    if is_extended(d):
        return decode_extended(d)
    if is_volta(d):
        return decode_volta(d)
    d.need("sync")
    d.need("aligned")
    text = d.take_prefixed("m16n8k") or d.need("m8n8k4")
    d.need("row")
    d.need("col")
    saturates = d.flag("satfinite")
    names = [type_.name for type_ in d.types]
    is_known = all(name in _ELEMENTS for name in names[1:3]) or names == ["f64"] * 4
    if len(names) != 4 or names[0] != names[3] or not is_known:
        raise d.unsupported(f"mma with the types of `{d.instruction.opcode}`")
    all_members(d)
    if names == ["f64"] * 4:
        return _double(d, text, saturates)
    shape = Shape(int(text.split("k")[1]), names[1], names[2], TYPES[names[0]])
    if text.startswith("m8") or not _is_known(shape):
        raise d.unsupported(f"mma {text} with .{names[0]}.{names[1]}.{names[2]}.{names[3]}")
    if names[1] == "b1":
        operation = d.need("and", "xor")
        d.need("popc")
        d.finish(4)
        return _bits(d, shape, operation)
    is_float = names[1] in _FLOATS
    if saturates and is_float:
        raise d.unsupported("mma.satfinite on floats")
    d.finish(4)
    return _float(d, shape) if is_float else _integer(d, shape, saturates)


def _is_known(shape: Shape) -> bool:
    if shape.k not in _SHAPES[shape.a] or _ELEMENTS[shape.a] != _ELEMENTS[shape.b]:
        return False
    if shape.a in ("s8", "u8", "s4", "u4", "b1"):
        return shape.accumulator.name == "s32" and shape.b in ("s8", "u8", "s4", "u4", "b1")
    if shape.a in ("f16", "bf16", "tf32") and shape.a != shape.b:
        return False
    takes_half = shape.a in ("f16", "e4m3", "e5m2")
    return shape.b in _FLOATS and (shape.accumulator.name == "f32" or (takes_half and shape.accumulator.name == "f16"))


def _fragments(d: Decode, number: int, count: int) -> list[Array]:
    return [d.value(item, TYPES["b32"]) for item in d.vector(number, (count,))]


class Unpacker:
    """Fills a matrix per warp from the registers of an A or B fragment."""

    def __init__(self, registers: list[Array], element: str, rows: int, warps: int) -> None:
        self._registers = registers
        self._decode = element_decoder(element)
        self._wide = _ELEMENTS[element]
        groups = rows // _GROUPS
        self._columns = len(registers) // groups
        self.matrix: Array = np.empty((warps, rows, len(registers) // groups * _QUADS * self._wide), np.float32)
        view: Array = self.matrix.reshape(warps, groups, _GROUPS, self._columns, _QUADS, self._wide)
        self._places = [view[:, number % groups, :, number // groups] for number in range(len(registers))]
        self._warps = warps

    def fill(self) -> Array:
        """Fill and return the matrix."""
        for register, place in zip(self._registers, self._places, strict=True):
            place[...] = self._decode(register).reshape(self._warps, _GROUPS, _QUADS, self._wide)
        return self.matrix


class Source:
    """An A or B operand of one mma; `link` lets it share the matrix of an earlier mma with the same registers."""

    def __init__(self, d: Decode, number: int, element: str, rows: int) -> None:
        k_registers = len(d.vector(number, tuple(range(1, 9))))
        registers = _fragments(d, number, k_registers)
        items = [item.index for item in d.vector(number, (k_registers,)) if isinstance(item, Register)]
        self.registers = frozenset(items)
        self.key: object = (element, rows, tuple(items)) if len(items) == k_registers else None
        self.unpacker = Unpacker(registers, element, rows, d.machine.warps)
        self.is_filled = False
        d.shareable.append(self)

    def share(self, earlier: Shareable) -> None:
        """Use the matrix that an earlier instruction of the same basic block fills from unchanged registers."""
        if isinstance(earlier, Source):
            self.unpacker = earlier.unpacker
            self.is_filled = True

    def matrix(self, mask: Array | None) -> Array:
        """The operand [warp, rows, k]; only in a run of the whole block (no mask) is it already filled."""
        return self.unpacker.matrix if self.is_filled and mask is None else self.unpacker.fill()


def element_decoder(element: str) -> Callable[[Array], Array]:
    """Converts the 32-bit registers of a fragment to element values, keeping those of one register together."""
    if element == "f16":
        return lambda bits: bits.view(np.float16)
    if element == "bf16":
        return lambda bits: (bits.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    if element == "tf32":
        return tf32_values
    if element in ("e4m3", "e5m2"):
        table = float8_table(element)
        return lambda bits: table.take(bits.view(np.uint8))
    if element in ("s8", "u8"):
        return lambda bits: bits.view(np.int8 if element == "s8" else np.uint8)
    return lambda bits: _nibbles(bits, element == "s4")


def _nibbles(bits: Array, is_signed: bool) -> Array:
    """The eight 4-bit elements of each register, the lowest first."""
    shifts = np.arange(0, 32, 4, dtype=np.uint32)
    values = ((bits[:, None] >> shifts) & np.uint32(15)).astype(np.int8)
    return np.where(values > 7, values - 16, values) if is_signed else values


def _accumulator(matrices: Array, warps: int) -> list[Array]:
    """Views of [warp, 16, 8] matrices as the four elements that a lane holds."""
    view = matrices.reshape(warps, 2, _GROUPS, _QUADS, 2)
    return [view[:, number // 2, :, :, number % 2] for number in range(4)]


def _float(d: Decode, shape: Shape) -> Step:
    warps = d.machine.warps
    a, b = _operands(d, shape)
    product = np.empty((warps, 16, 8), np.float32)
    parts = _accumulator(product, warps)
    if shape.accumulator.name == "f16":
        return _half_accumulate(d, a, b, product, parts)
    c = [d.value(item, TYPES["f32"]).reshape(warps, _GROUPS, _QUADS) for item in d.vector(3, (4,))]
    targets = [d.target(item, TYPES["f32"]) for item in d.vector(0, (4,))]
    shaped = [target.reshape(warps, _GROUPS, _QUADS) for target in targets]

    # a destination may be written immediately unless it is a later addend
    is_direct = not any(np.may_share_memory(shaped[i], c[j]) for i in range(4) for j in range(i + 1, 4))

    def step(mask: Array | None) -> None:
        np.matmul(a.matrix(mask), b.matrix(mask).transpose(0, 2, 1), out=product)
        if mask is None and is_direct:
            for part, addend, target in zip(parts, c, shaped, strict=True):
                np.add(part, addend, target)
            return
        sums = [np.add(part, addend).reshape(-1) for part, addend in zip(parts, c, strict=True)]
        _store(targets, sums, mask)

    return step


def _operands(d: Decode, shape: Shape) -> tuple[Source, Source]:
    """The A and B operands; raises if the number of registers does not fit the shape."""
    count = 2 * shape.k // (_QUADS * _ELEMENTS[shape.a])
    d.vector(1, (count,))
    d.vector(2, (count // 2,))
    return Source(d, 1, shape.a, 16), Source(d, 2, shape.b, 8)


def _half_accumulate(d: Decode, a: Source, b: Source, product: Array, parts: list[Array]) -> Step:
    """f16 accumulators: two elements a register, summed in f32 and rounded once."""
    warps = d.machine.warps
    c = [d.value(item, TYPES["b32"]) for item in d.vector(3, (2,))]
    targets = [d.target(item, TYPES["b32"]) for item in d.vector(0, (2,))]

    def step(mask: Array | None) -> None:
        np.matmul(a.matrix(mask), b.matrix(mask).transpose(0, 2, 1), out=product)
        packed: list[Array] = []
        for number, register in enumerate(c):
            pair = register.view(np.float16).reshape(warps, _GROUPS, _QUADS, 2).astype(np.float32)
            pair[..., 0] += parts[2 * number]
            pair[..., 1] += parts[2 * number + 1]
            packed.append(pair.astype(np.float16).reshape(-1).view(np.uint32))
        _store(targets, packed, mask)

    return step


def _store(targets: list[Array], values: list[Array], mask: Array | None) -> None:
    for target, value in zip(targets, values, strict=True):
        if mask is None:
            np.copyto(target, value)
        else:
            np.putmask(target, mask, value)


def _integer(d: Decode, shape: Shape, saturates: bool) -> Step:
    warps = d.machine.warps
    # at most 64 products below 2^16: sums stay below 2^24 and are exact in f32, which multiplies through BLAS
    a, b = _operands(d, shape)
    c = [d.value(item, TYPES["s32"]) for item in d.vector(3, (4,))]
    targets = [d.target(item, TYPES["s32"]) for item in d.vector(0, (4,))]

    def step(mask: Array | None) -> None:
        product = np.matmul(a.matrix(mask), b.matrix(mask).transpose(0, 2, 1)).astype(np.int64)
        sums = [part.reshape(-1) + addend for part, addend in zip(_accumulator(product, warps), c, strict=True)]
        if saturates:
            sums = [np.clip(value, -(1 << 31), (1 << 31) - 1) for value in sums]
        _store(targets, [value.astype(np.int32) for value in sums], mask)

    return step


def _bits(d: Decode, shape: Shape, operation: str) -> Step:
    """b1: population counts of the AND or XOR of rows and columns."""
    warps = d.machine.warps
    count = 2 * shape.k // (_QUADS * 32)
    a, b = _fragments(d, 1, count), _fragments(d, 2, count // 2)
    c = [d.value(item, TYPES["s32"]) for item in d.vector(3, (4,))]
    targets = [d.target(item, TYPES["s32"]) for item in d.vector(0, (4,))]
    combine = np.bitwise_and if operation == "and" else np.bitwise_xor

    def step(mask: Array | None) -> None:
        rows = np.stack([register.reshape(warps, _GROUPS, _QUADS) for register in a], axis=1)
        rows = rows.reshape(warps, count // 2, 2, _GROUPS, _QUADS).transpose(0, 2, 3, 1, 4).reshape(warps, 16, -1)
        columns = np.stack([register.reshape(warps, _GROUPS, _QUADS) for register in b], axis=2).reshape(warps, 8, -1)
        product = np.bitwise_count(combine(rows[:, :, None], columns[:, None])).sum(axis=-1, dtype=np.int32)
        parts = _accumulator(product, warps)
        _store(targets, [part.reshape(-1) + addend for part, addend in zip(parts, c, strict=True)], mask)

    return step


def _double(d: Decode, text: str, saturates: bool) -> Step:
    """f64: one element a register, so m8n8k4 has one row group and the m16n8 shapes two."""
    k = int(text.split("k")[1])
    if saturates or k not in (4, 8, 16):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(4)
    warps = d.machine.warps
    groups = 1 if text.startswith("m8") else 2
    f64 = TYPES["f64"]
    a = [d.value(item, f64) for item in d.vector(1, (groups * k // _QUADS,))]
    b = [d.value(item, f64) for item in d.vector(2, (k // _QUADS,))]
    c = [d.value(item, f64) for item in d.vector(3, (2 * groups,))]
    targets = [d.target(item, f64) for item in d.vector(0, (2 * groups,))]

    def step(mask: Array | None) -> None:
        rows = np.stack([register.reshape(warps, _GROUPS, _QUADS) for register in a], axis=1)
        rows = rows.reshape(warps, k // _QUADS, groups, _GROUPS, _QUADS).transpose(0, 2, 3, 1, 4)
        columns = np.stack([register.reshape(warps, _GROUPS, _QUADS) for register in b], axis=2).reshape(warps, 8, k)
        product = np.matmul(rows.reshape(warps, groups * 8, k), columns.transpose(0, 2, 1))
        view = product.reshape(warps, groups, _GROUPS, _QUADS, 2)
        sums = [view[:, n // 2, :, :, n % 2].reshape(-1) + addend for n, addend in enumerate(c)]
        _store(targets, sums, mask)

    return step


OPCODES = {"mma": decode_mma}
FLOORS = (
    Floor("mma", "70", "6.4"),
    Floor("mma !m8n8k4", "75", "6.5"),
    Floor("mma f64|bf16|tf32", "80", "7.0"),
    Floor("mma m16n8k4|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256", "80", "7.0"),
    Floor("mma f64 m16n8k4|m16n8k8|m16n8k16", "90", "7.8"),
    Floor("mma b1", "", "7.0"),
    Floor("mma and", "80", "7.1"),
    Floor("mma sp|sp::ordered_metadata", "80", "7.1"),
    Floor("mma sp::ordered_metadata", "", "8.5"),
    Floor("mma e4m3|e5m2 !kind::*", "89", "8.4"),
    Floor("mma e4m3|e5m2 !kind::* f16|m16n8k16", "", "8.7"),
    Floor("mma kind::*", "100f 110f 120f", "8.6"),
    Floor("mma kind::mx*", "120f", "8.7"),
    Floor("mma kind::f8f6f4 e2m1|e2m3|e3m2|f16|sp::ordered_metadata", "120f", "8.7"),
    Floor("mma kind::mxf4* sp::ordered_metadata", "120a 121a", "8.7"),
    Floor("mma kind::mxf4nvf4 scale_vec::4X ue8m0", "", "9.1"),
)

"""wmma.load, wmma.mma and wmma.store: matrices of a warp as opaque fragments.

The PTX ISA does not specify which thread holds which element. Here it is as in mma.sync: with g = lane/4, t = lane%4
and e elements in a register, the registers of A count its blocks of 8 rows by 4e columns down the columns first, each
holding row g, columns et to et+e-1 of its block; those of B do so with the transpose; elements 2b and 2b+1 of C and D
are row g, columns 2t and 2t+1 of 8x8 block b, counted down first. f16 accumulators hold the same elements as f32 ones;
programs that convert them element by element rely on this. Source: PTX ISA, "Matrix Fragments for WMMA", which has the
shapes.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ptxsim.access import Site
from ptxsim.decode import Decode, Step
from ptxsim.errors import MisalignedError, OperandError
from ptxsim.exact import directed_f64, fma_f64
from ptxsim.families.load_store import address_values, by_window, port_at, space_name
from ptxsim.families.matrix import all_members
from ptxsim.families.mma import element_decoder
from ptxsim.floors import Floor
from ptxsim.machine import WARP
from ptxsim.ptx_types import TYPES, Array, PtxType

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")
_CUBES = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
# Element type of A and B: (bits, shapes, accumulator types). Source: PTX ISA, "wmma.mma".
_INPUTS = {
    "f16": (16, _CUBES, ("f16", "f32")),
    "bf16": (16, _CUBES, ("f32",)),
    "tf32": (32, ((16, 16, 8),), ("f32",)),
    "f64": (64, ((8, 8, 4),), ("f64",)),
    "s8": (8, _CUBES, ("s32",)),
    "u8": (8, _CUBES, ("s32",)),
    "s4": (4, ((8, 8, 32),), ("s32",)),
    "u4": (4, ((8, 8, 32),), ("s32",)),
    "b1": (1, ((8, 8, 128),), ("s32",)),
}
_BITS = {"f16": 16, "f32": 32, "s32": 32, "f64": 64}
_SPACES = ("global", "shared", "shared::cta")
_ROUNDING = ("rn", "rz", "rm", "rp")
# Registers of an A or B fragment of f16, which holds every element more than once. Source: as above.
_HALF_REGISTERS = 8


@dataclass(frozen=True, slots=True)
class Fragment:
    """One matrix of a warp: rows, columns and element type, and the number and type of registers that hold it.

    bits: of an element; repeats: how often the registers repeat.
    """

    rows: int
    columns: int
    element: str
    bits: int
    register: PtxType
    count: int
    repeats: int
    is_accumulator: bool
    is_transposed: bool

    @property
    def packed(self) -> int:
        """Elements in a register."""
        return self.register.bits // self.bits

    def places(self) -> tuple[Array, Array]:
        """Row and column [lane, register, element] of the contents of the first repeat."""
        lane = np.arange(WARP)
        g, t = lane[:, None, None] // 4, lane[:, None, None] % 4
        if self.is_accumulator:
            number = np.arange(self.count * self.packed).reshape(1, self.count, self.packed)
            block, column = number // 2, 2 * t + number % 2
            down = self.rows // 8
            return 8 * (block % down) + g + 0 * column, 8 * (block // down) + column
        register, part = np.arange(self.count // self.repeats)[None, :, None], np.arange(self.packed)[None, None, :]
        outer, wide = (self.columns if self.is_transposed else self.rows) // 8, 4 * self.packed
        along = 8 * (register % outer) + g + 0 * part
        k = wide * (register // outer) + self.packed * t + part
        return (k, along) if self.is_transposed else (along, k)


def _fragment(letter: str, shape: tuple[int, int, int], element: str) -> Fragment | None:
    """The fragment of matrix a, b, c or d of a shape; None if the PTX ISA has none."""
    m, n, k = shape
    if letter in "cd":
        known = {one for _, shapes, types in _INPUTS.values() if shape in shapes for one in types}
        if element not in known:
            return None
        register = TYPES["b32" if element == "f16" else element]
        bits = _BITS[element]
        return Fragment(m, n, element, bits, register, m * n // WARP * bits // register.bits, 1, True, False)
    if element not in _INPUTS or shape not in _INPUTS[element][1]:
        return None
    bits = _INPUTS[element][0]
    register = TYPES["f64" if element == "f64" else "b32"]
    rows, columns = (m, k) if letter == "a" else (k, n)
    distinct = rows * columns * bits // (WARP * register.bits)
    count = _HALF_REGISTERS if element == "f16" else distinct
    return Fragment(rows, columns, element, bits, register, count, count // distinct, False, letter == "b")


def _shape(d: Decode) -> tuple[int, int, int]:
    found = _SHAPE.match(d.take_prefixed("m") or "")
    if found is None:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    return int(found.group(1)), int(found.group(2)), int(found.group(3))


# ---- memory


@dataclass(frozen=True, slots=True)
class _Plan:
    """The layout of elements in memory: fragment, bytes of one access, default number of elements along the leading
    dimension.
    """

    fragment: Fragment
    size: int
    leading: int
    first: Array
    second: Array

    def offsets(self, stride: Array) -> Iterator[Array]:
        """Byte offsets [lane of the machine] of each access, in the order of registers; stride: elements, by lane."""
        bits = self.fragment.bits
        repeat = stride.size // WARP
        for column in range(self.first.shape[1]):
            outer, inner = np.tile(self.first[:, column], repeat), np.tile(self.second[:, column], repeat)
            yield (outer * stride + inner) * bits // 8


def _plan(fragment: Fragment, layout: str) -> _Plan:
    row, column = fragment.places()
    is_row = layout == "row"
    outer, inner = (row, column) if is_row else (column, row)
    if fragment.bits < 8:  # a register is a word of memory
        outer, inner = outer[:, :, :1], inner[:, :, :1]
    size = max(fragment.bits, 32 if fragment.bits < 8 else 0) // 8
    leading = fragment.columns if is_row else fragment.rows
    return _Plan(fragment, size, leading, outer.reshape(WARP, -1), inner.reshape(WARP, -1))


class _Access:
    """The common part of wmma.load and wmma.store: a sequence of accesses of `size` bytes."""

    def __init__(self, d: Decode, letters: tuple[str, ...], where: int) -> None:
        letter = d.need(*letters)
        d.need("sync")
        d.need("aligned")
        layout = d.need("row", "col")
        shape = _shape(d)
        space = space_name(d.take(*_SPACES))
        if len(d.types) != 1:
            raise d.unsupported(f"`{d.instruction.opcode}`")
        element = d.types[0].name
        fragment = _fragment(letter, shape, element)
        is_fixed = element in ("s4", "u4", "b1") and layout != ("row" if letter == "a" else "col")
        if fragment is None or is_fixed:
            raise d.unsupported(f"`{d.instruction.opcode}`")
        d.finish(2, 3)
        all_members(d)
        self.plan = _plan(fragment, layout)
        self.fragment = fragment
        self._d = d
        self._address = d.address(where)
        self._narrow = space == "shared"
        self._base = address_values(d, self._address, 32 if self._narrow else 64)
        self._stride = self._read_stride(d)
        machine = d.machine
        self._wanted = np.zeros(machine.lanes, np.uint32 if self._narrow else np.uint64)
        self.site = Site(machine, d.instruction)
        d.site = self.site
        self.port = port_at(d, self.site, space, lambda: self._wanted, self.plan.size)
        self.site.counts_banks = self.site.counts_sectors = False  # the hardware's accesses are not known
        self.is_generic = space == ""

    def _read_stride(self, d: Decode) -> Array:
        if len(d.operands) < 3:
            return np.full(d.machine.lanes, self.plan.leading, np.uint32)
        return d.read(2, TYPES["u32"])

    def registers(self, count: int) -> tuple[Array, Array]:
        """Bytes of `count` registers a lane, as cells of an access [lane, access] and as registers [lane, register]."""
        whole = np.zeros((self._d.machine.lanes, count * self.fragment.register.bytes), np.uint8)
        return whole.view(np.dtype(f"u{self.plan.size}")), whole.view(np.dtype(f"u{self.fragment.register.bytes}"))

    def guarded(self, step: Step) -> Step:
        """A step that also serves warps whose generic addresses are in several state spaces."""
        return by_window(self._d, self._address, step) if self.is_generic else step

    def each(self, lanes: Array | None) -> Iterator[None]:
        """Set the port to the addresses of each access in turn. Raises if a warp's lanes disagree."""
        base = self._base()
        stride = self._stride.astype(np.int64)
        self._check(base, stride, lanes)
        for offset in self.plan.offsets(stride):
            np.copyto(self._wanted, base + offset.astype(self._wanted.dtype))
            yield

    def _check(self, base: Array, stride: Array, lanes: Array | None) -> None:
        alive = np.ones(base.size, np.bool_) if lanes is None else lanes
        first = np.argmax(alive.reshape(-1, WARP), axis=1) + np.arange(0, base.size, WARP)
        same = (base.reshape(-1, WARP) == base[first, None]) & (stride.reshape(-1, WARP) == stride[first, None])
        wrong = alive & ~same.reshape(-1)
        describe = self._d.machine.describe
        if wrong.any():
            lane = int(np.argmax(wrong))
            raise self._d.error(OperandError, f"{describe(lane)} names another address or stride than its warp")
        unit = max(1, self.fragment.bits // 8, 4 if self.fragment.bits < 8 else 0)
        odd = alive & ((base % unit != 0) | (stride * self.fragment.bits % (8 * unit) != 0))
        if odd.any():
            lane = int(np.argmax(odd))
            raise self._d.error(
                MisalignedError,
                f"{describe(lane)}: address {int(base[lane]):#x}, stride {int(stride[lane])}: rows and columns must "
                f"start at multiples of {unit} bytes",
            )


def _decode_load(d: Decode) -> Step:
    access = _Access(d, ("a", "b", "c"), 1)
    fragment = access.fragment
    items = d.vector(0, (fragment.count,))
    targets = [d.target(item, fragment.register) for item in items]
    machine, tracker, site, port = d.machine, d.binding.hazards, access.site, access.port
    distinct = fragment.count // fragment.repeats
    cells, words = access.registers(distinct)

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        for number, _ in enumerate(access.each(lanes)):
            memory, index = port.cells(lanes)
            if tracker is not None:
                tracker.loads(memory, site, access.plan.size, lanes, index, False)
            cells[slice(None) if lanes is None else lanes, number] = memory.take(index)
        for number, target in enumerate(targets):
            value = words[:, number % distinct].view(target.dtype)
            if lanes is None:
                np.copyto(target, value)
            else:
                np.putmask(target, lanes, value)

    return access.guarded(step)


def _decode_store(d: Decode) -> Step:
    access = _Access(d, ("d",), 0)
    fragment = access.fragment
    sources = [d.value(item, fragment.register) for item in d.vector(1, (fragment.count,))]
    machine, tracker, site, port = d.machine, d.binding.hazards, access.site, access.port
    cells, words = access.registers(fragment.count)

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        for number, source in enumerate(sources):
            words[:, number] = source.view(words.dtype)
        for number, _ in enumerate(access.each(lanes)):
            memory, index = port.cells(lanes)
            data = cells[slice(None) if lanes is None else lanes, number]
            if tracker is not None:
                tracker.stores(memory, site, access.plan.size, lanes, index, data, False)
            memory[index] = data

    return access.guarded(step)


# ---- products


class _Matrix:
    """A fragment in registers as a matrix [warp, row, column]."""

    def __init__(self, d: Decode, number: int, fragment: Fragment) -> None:
        read = d.value if number else d.target
        self._registers = [read(item, fragment.register) for item in d.vector(number, (fragment.count,))]
        self._fragment = fragment
        row, column = fragment.places()
        # position [lane, register, element] of a matrix in the list of all elements, and the inverse
        self._places: Array = row * fragment.columns + column
        self._where: Array = np.argsort(self._places.reshape(-1))
        self._decode = _values(fragment)

    def values(self) -> Array:
        """The elements, in the type in which products are computed."""
        fragment = self._fragment
        distinct = self._registers[: fragment.count // fragment.repeats]
        parts = [self._decode(register).reshape(-1, WARP, fragment.packed) for register in distinct]
        listed = np.stack(parts, axis=2).reshape(-1, self._where.size)
        return listed[:, self._where].reshape(-1, fragment.rows, fragment.columns)

    def store(self, matrix: Array, mask: Array | None) -> None:
        """Store elements of the fragment's type in its registers."""
        flat = matrix.reshape(matrix.shape[0], -1)
        for number, register in enumerate(self._registers):
            places = self._places[:, number]
            value = np.ascontiguousarray(flat[:, places]).view(register.dtype).reshape(-1)
            if mask is None:
                np.copyto(register, value)
            else:
                np.putmask(register, mask, value)


def _matrix(d: Decode, number: int, fragment: Fragment | None) -> _Matrix:
    if fragment is None:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    return _Matrix(d, number, fragment)


def _values(fragment: Fragment) -> Callable[[Array], Array]:
    if fragment.element in ("f32", "f64", "s32"):
        return lambda bits: bits.view(TYPES[fragment.element].dtype)
    if fragment.element == "b1":
        return lambda bits: np.unpackbits(np.ascontiguousarray(bits).view(np.uint8), bitorder="little")
    return element_decoder(fragment.element)


def _decode_product(d: Decode) -> Step:
    d.need("mma")
    operation = d.take("and", "xor") if d.flag("popc") else None
    d.need("sync")
    d.need("aligned")
    layouts = [name for name in d.instruction.modifiers if name in ("row", "col")]
    for name in layouts:
        d.take(name)
    shape = _shape(d)
    rounding = d.take(*_ROUNDING)
    saturates = d.flag("satfinite")
    names = [type_.name for type_ in d.types]
    if len(names) == 2:  # .dtype.ctype: A and B are f16
        names = [names[0], "f16", "f16", names[1]]
    if not _is_known(names, layouts, operation, rounding, saturates):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    fragments = [_fragment(letter, shape, name) for letter, name in zip("dabc", names, strict=True)]
    d.finish(4)
    all_members(d)
    a, b, c = (_matrix(d, number, fragments[number]) for number in (1, 2, 3))
    out = _matrix(d, 0, fragments[0])
    multiply = _product(names[1], operation, rounding)
    dtype = TYPES[names[0]].dtype

    def step(mask: Array | None) -> None:
        total = multiply(a.values(), b.values(), c.values())
        if saturates:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        out.store(total.astype(dtype), mask)

    return step


def _is_known(
    names: list[str], layouts: list[str], operation: str | None, rounding: str | None, saturates: bool
) -> bool:
    """Whether the PTX ISA has a product of these types, layouts and modifiers."""
    if len(names) != 4 or len(layouts) != 2 or names[1] != names[2] or names[1] not in _INPUTS:
        return False
    accumulators = _INPUTS[names[1]][2]
    is_integer = accumulators == ("s32",)
    return (
        names[0] in accumulators
        and names[3] in accumulators
        and (operation is not None) == (names[1] == "b1")
        and (rounding is None or names[1] == "f64")
        and (not saturates or (is_integer and names[1] != "b1"))
        and (names[1] not in ("s4", "u4", "b1") or layouts == ["row", "col"])
    )


def _product(element: str, operation: str | None, rounding: str | None) -> Callable[[Array, Array, Array], Array]:
    """A times B plus C: floats in f32 in an unspecified order, f64 product by product, integers exactly."""
    if element == "f64":
        return lambda a, b, c: _fused(a, b, c, rounding or "rn")
    if operation == "xor":  # population count of a xor b, in terms of products of bits

        def differing(a: Array, b: Array, c: Array) -> Array:
            rows, columns = a.astype(np.float32), b.astype(np.float32)
            both = rows.sum(axis=2)[:, :, None] + columns.sum(axis=1)[:, None, :] - 2 * np.matmul(rows, columns)
            return both.astype(np.int64) + c

        return differing
    if element in ("f16", "bf16", "tf32"):
        return lambda a, b, c: np.matmul(a.astype(np.float32), b.astype(np.float32)) + c.astype(np.float32)
    # at most 128 products below 2^16: the sums are exact in f32, which multiplies through BLAS
    return lambda a, b, c: np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(np.int64) + c


def _fused(a: Array, b: Array, c: Array, mode: str) -> Array:
    total = c
    for k in range(a.shape[2]):
        rows = np.broadcast_to(a[:, :, k, None], total.shape)
        columns = np.broadcast_to(b[:, None, k, :], total.shape)
        parts = [np.ascontiguousarray(one).reshape(-1) for one in (rows, columns, total)]
        fused = fma_f64(*parts) if mode == "rn" else directed_f64("fma", mode, *parts)
        total = fused.reshape(c.shape)
    return total


def decode_wmma(d: Decode) -> Step:
    """wmma.load, wmma.mma and wmma.store in all shapes and types."""
    if d.flag("load"):
        return _decode_load(d)
    return _decode_store(d) if d.flag("store") else _decode_product(d)


OPCODES = {"wmma": decode_wmma}
FLOORS = (
    Floor("wmma", "70", "6.0"),
    Floor("wmma bf16|tf32|f64", "80", "7.0"),
    Floor("wmma m16n16k8|m8n8k4", "80", "7.0"),
    Floor("wmma and", "80", "7.1"),
)

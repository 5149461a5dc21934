"""Moving distributed layouts to and from memory: vector accesses, ldmatrix/stmatrix, global tiles, cp.async.

Every address is split into what depends on the thread and what is constant for each access:
    address = (thread part ^ access.xor) + access.add
with the thread part linear over F2 in the lane and warp bits. `xor` holds only bits that some thread may set, `add`
only bits that none does, so `add` can be an immediate offset of the instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

from ir.records import dataclass
from lowering.atoms import copy as atoms
from lowering.layouts.banks import linear_wavefronts
from lowering.layouts.f2 import Bases, apply, complete, compose, images, log2
from lowering.layouts.layout import LANE_BITS, Free, Layout, LayoutError, vector_bits
from lowering.layouts.shapes import Shape, dim_bits
from lowering.layouts.shared import SharedLayout

MAX_BYTES = 16  # widest shared access of a thread, and global one of most targets; PTX ISA, ld and st (.v4.b32)
TALL = 16  # rows of a matrix of bytes, and bytes of each; PTX ISA 8.8, ldmatrix .m16n16
WIDE_BYTES = 32  # widest global access of any target; PTX ISA 8.8, ld and st (.v8.b32)
LDMATRIX, BYTE_MATRICES = "ldmatrix", atoms.BYTE_MATRICES.name
Direction = Literal["load", "store"]


class ThreadPart(NamedTuple):
    """The part of an address or coordinate that depends on the thread: XOR of bases over lane and warp bits."""

    lane: Bases
    warp: Bases

    @property
    def mask(self) -> int:
        """Bits that some thread sets."""
        mask = 0
        for base in self.lane + self.warp:
            mask |= base
        return mask

    def value(self, lane: int, warp: int) -> int:
        """Thread part of one thread."""
        return apply(self.lane, lane) ^ apply(self.warp, warp)


@dataclass(frozen=True, slots=True)
class Access:
    """One vector: its registers in address order, and the constants of its offset (in elements)."""

    registers: tuple[int, ...]
    constant: int  # xor | add
    xor: int
    add: int


@dataclass(frozen=True, slots=True)
class AccessPlan:
    """A distributed layout against shared memory, offsets in elements.

    After a load, register r of each pair (r, s) in `copies` is a copy of register s. When storing, only threads whose
    `free` lane and warp bits are 0 need to act: the others hold replicas. `wavefronts` counts passes over the banks of
    one warp over all accesses.
    """

    vector: int
    thread: ThreadPart
    accesses: tuple[Access, ...]
    copies: tuple[tuple[int, int], ...]
    free: Free
    wavefronts: int


class _Group(NamedTuple):
    key: int
    registers: list[int]


def _group(values: Sequence[int], shift: int, vector: int) -> tuple[list[_Group], list[tuple[int, int]]]:
    """Registers by the vector they belong to; `values` are their constant addresses."""
    first: dict[int, int] = {}
    copies: list[tuple[int, int]] = []
    low = ((1 << vector) - 1) << shift
    groups: dict[int, list[int]] = {}
    for register, value in enumerate(values):
        if value in first:
            copies.append((register, first[value]))
            continue
        first[value] = register
        groups.setdefault(value & ~low, [-1] * (1 << vector))[(value & low) >> shift] = register
    return [_Group(key, registers) for key, registers in groups.items()], copies


@cache
def access_plan(
    layout: Layout, shared: SharedLayout, direction: Direction = "load", max_bytes: int = MAX_BYTES
) -> AccessPlan:
    """Plan loading or storing all registers of `layout` from or to shared memory at the widest legal vectors."""
    _check_bits(layout, shared)
    reg, lane, warp = (compose(shared.offset, part) for part in (layout.reg, layout.lane, layout.warp))
    widest = log2(max(1, max_bytes // shared.element_bytes))
    vector = vector_bits(reg, lane + warp, [1 << k for k in range(min(widest, shared.bits))])
    thread = ThreadPart(lane, warp)
    mask = thread.mask
    groups, copies = _group(images(reg), 0, vector)
    accesses = tuple(Access(tuple(g.registers), g.key, g.key & mask, g.key & ~mask) for g in groups)
    width = shared.element_bytes << vector
    each = linear_wavefronts([base * shared.element_bytes for base in lane], width)
    free = layout.free() if direction == "store" else Free(0, 0, 0)
    return AccessPlan(1 << vector, thread, accesses, tuple(copies), free, each * len(accesses))


def _check_bits(layout: Layout, shared: SharedLayout) -> None:
    if layout.bits != shared.bits:
        raise LayoutError(f"{layout} and {shared} are of tiles of different size")


@dataclass(frozen=True, slots=True)
class MatrixAccess:
    """One ldmatrix or stmatrix: for each of its matrices the element registers packed in the b32 register, low first;
    constants of the row address in elements, as in `Access`."""

    registers: tuple[tuple[int, ...], ...]
    constant: int
    xor: int
    add: int


@dataclass(frozen=True, slots=True)
class LdMatrix:
    """A layout moved by ldmatrix (or stmatrix): lane l supplies the row address (address part of l ^ xor) + add.

    `address` are bases in elements over the five lane bits (3 for the row, then the matrix) and the warp bits; lanes
    beyond 8 * num are ignored by the instruction. `wavefronts` as in AccessPlan. For stmatrix, `free.warp` tells which
    warps hold replicas (lanes never do). `tall`: matrices are 16 x 16 bytes, transposed, of two registers each.
    """

    num: int
    trans: bool
    address: ThreadPart
    instructions: tuple[MatrixAccess, ...]
    copies: tuple[tuple[int, int], ...]
    free: Free
    wavefronts: int
    tall: bool = False


@cache
def byte_matrices(layout: Layout, shared: SharedLayout) -> LdMatrix | None:
    """Plan with ldmatrix of bytes where `layout` holds columns of what lies in rows, as fragments of MN-major bytes do.

    Source of the fragment: PTX ISA, ldmatrix .m16n16 .trans .b8; lane l receives in register j the bytes
    `M[4 (l & 3) + w][(l >> 2) + 8 j]`.
    """
    _check_bits(layout, shared)
    reg, lane, warp = (compose(shared.offset, part) for part in (layout.reg, layout.lane, layout.warp))
    if shared.element_bytes != 1 or len(reg) < 3 or lane[2:] != (1, 2, 4) or reg[2:].count(TALL // 2) != 1:
        return None
    rows, rest = reg[:2] + lane[:2], reg[2:]
    if any(base % TALL for base in (*rows, *warp)) or any(base % TALL for base in rest if base != TALL // 2):
        return None
    return _matrix_plan(layout, shared, rows, ThreadPart(rest, warp), 2, True, 2, (TALL // 2,))


@cache
def ldmatrix(layout: Layout, shared: SharedLayout, max_num: int = 4) -> LdMatrix | None:
    """Plan with ldmatrix where `layout` (32-bit registers packed from the low register bits) allows it, else None.

    Source of the fragment: PTX ISA, ldmatrix .m8n8.b16; lane l receives `M[l >> 2][2 (l & 3) + w]`, transposed
    `M[2 (l & 3) + w][l >> 2]`. Elements of 8 and 32 bits move as parts and pairs of b16, not transposed.
    """
    _check_bits(layout, shared)
    if shared.element_bytes not in (1, 2, 4):
        return None
    packed = log2(4 // shared.element_bytes)
    reg, lane, warp = (compose(shared.offset, part) for part in (layout.reg, layout.lane, layout.warp))
    if len(reg) < packed or shared.size_bytes < 8 * 16:
        return None
    word, rest = reg[:packed], reg[packed:]
    row_units = tuple(1 << k for k in range(packed + 2))
    low = (1 << packed + 2) - 1
    straight = word + lane[:2] == row_units
    rows = lane[2:] if straight else word + lane[:2]
    transposed = not straight and shared.element_bytes == 2 and lane[2:] == row_units
    if not (straight or transposed) or any(base & low for base in (*rows, *rest, *warp)):
        return None
    return _matrix_plan(layout, shared, rows, ThreadPart(rest, warp), packed, transposed, max_num)


def reads(layout: Layout, shared: SharedLayout) -> list[str]:
    """The instructions that read a tile from shared memory."""
    plans = {LDMATRIX: ldmatrix(layout, shared), BYTE_MATRICES: byte_matrices(layout, shared)}
    return [*(name for name, plan in plans.items() if plan is not None), "ld.shared"]


def _matrix_plan(
    layout: Layout,
    shared: SharedLayout,
    rows: Bases,
    outer: ThreadPart,
    packed: int,
    trans: bool,
    max_num: int,
    beside: Bases = (),
) -> LdMatrix:
    """Cut the registers outside a matrix (bases outer.lane, of registers) into instructions; `beside` are the bases of
    the registers that one matrix fills.
    """
    rest, warp = outer
    words = 1 << packed
    by_offset: dict[int, int] = {}  # offset -> first b32 register
    copies: list[tuple[int, int]] = []
    for index, offset in enumerate(images(rest)):
        if offset in by_offset:
            copies += [(index * words + w, by_offset[offset] * words + w) for w in range(words)]
        else:
            by_offset[offset] = index
    kept = complete((), [base for base in rest if base not in beside])
    inside = min(len(kept), log2(max_num))
    matrix, constant = kept[:inside], kept[inside:]
    address = ThreadPart(rows + tuple(matrix) + (0,) * (LANE_BITS - len(rows) - inside), warp)
    mask = address.mask
    instructions: list[MatrixAccess] = []
    for key in images(constant):
        registers = [by_offset[key ^ offset ^ other] for offset in images(matrix) for other in images(beside)]
        packed_registers = tuple(tuple(r * words + w for w in range(words)) for r in registers)
        instructions.append(MatrixAccess(packed_registers, key, key & mask, key & ~mask))
    unused = LANE_BITS - len(rows)
    row_bytes = [base * shared.element_bytes for base in (*rows, *(0 for _ in range(unused)))]
    each = linear_wavefronts(row_bytes, 16) >> unused  # a phase of 8 rows of 16 bytes, or two, a matrix
    found = tuple(instructions), tuple(copies), layout.free(), each * len(instructions) << inside
    return LdMatrix(1 << inside, trans, address, *found, tall=bool(beside))


@dataclass(frozen=True, slots=True)
class GlobalAccess:
    """One vector: registers in address order and the constants of its coordinates, one of each a dimension.

    Coordinate of dimension d = (thread part[d] ^ xor[d]) + add[d]; `constant` = xor | add.
    """

    registers: tuple[int, ...]
    constant: tuple[int, ...]
    xor: tuple[int, ...]
    add: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GlobalPlan:
    """A distributed layout against a tile in global memory, in coordinates.

    `thread` holds one ThreadPart a dimension. `copies`: after loading, register r is a copy of s. `free` lane and warp
    bits must be 0 in a thread that stores (or touches memory atomically): the others hold replicas.
    """

    vector: int
    contiguous_dim: int
    thread: tuple[ThreadPart, ...]
    accesses: tuple[GlobalAccess, ...]
    copies: tuple[tuple[int, int], ...]
    free: Free


@cache
def global_access(layout: Layout, shape: Shape, contiguous_dim: int, max_vector: int) -> GlobalPlan:
    """Plan a tile access with vectors of at most `max_vector` elements along `contiguous_dim`.

    With max_vector=1 this gives the coordinates of every register (iota, masks).
    """
    fields = dim_bits(shape)
    if sum(field.width for field in fields) != layout.bits:
        raise LayoutError(f"{layout} is not a layout of a tile of shape {shape}")
    shift, width = fields[contiguous_dim] if shape else (0, 0)
    units = [1 << (shift + k) for k in range(min(width, log2(max_vector)))]
    vector = vector_bits(layout.reg, layout.thread, units)
    thread = tuple(
        ThreadPart(tuple(map(f.coordinate, layout.lane)), tuple(map(f.coordinate, layout.warp))) for f in fields
    )
    masks = [part.mask for part in thread]
    groups, copies = _group(layout.register_elements(), shift, vector)
    accesses: list[GlobalAccess] = []
    for key, registers in groups:
        constant = tuple(field.coordinate(key) for field in fields)
        xor = tuple(c & m for c, m in zip(constant, masks, strict=True))
        add = tuple(c & ~m for c, m in zip(constant, masks, strict=True))
        accesses.append(GlobalAccess(tuple(registers), constant, xor, add))
    return GlobalPlan(1 << vector, contiguous_dim, thread, tuple(accesses), tuple(copies), layout.free())


@dataclass(frozen=True, slots=True)
class AsyncCopy:
    """One cp.async: constants of the global coordinates and of the shared offset (in elements)."""

    source: GlobalAccess
    target: Access


@dataclass(frozen=True, slots=True)
class AsyncCopyPlan:
    """A tile copied from global to shared memory by cp.async, `bytes` each; the layout only determines which thread
    copies what.

    Threads whose `free` bits are not 0 would copy replicas and must stay idle. `wavefronts` counts bank passes of the
    writes of one warp.
    """

    bytes: int
    vector: int
    source_thread: tuple[ThreadPart, ...]
    target_thread: ThreadPart
    copies: tuple[AsyncCopy, ...]
    free: Free
    wavefronts: int


@cache
def async_copy(
    layout: Layout, shape: Shape, contiguous_dim: int, shared: SharedLayout, max_bytes: int
) -> AsyncCopyPlan | None:
    """Plan cp.async of 4, 8 or 16 bytes (PTX ISA, cp.async), at most `max_bytes`; None where vectors are narrower.

    The bytes of one copy must be contiguous both along `contiguous_dim` and in shared memory.
    """
    width = min(max_bytes, MAX_BYTES)
    while width >= 4:
        vector = max(1, width // shared.element_bytes)
        source = global_access(layout, shape, contiguous_dim, vector)
        target = access_plan(layout, shared, "store", width)
        same = {a.registers for a in source.accesses} == {a.registers for a in target.accesses}
        if vector * shared.element_bytes == width and source.vector == target.vector == vector and same:
            by_registers = {access.registers: access for access in target.accesses}
            copies = tuple(AsyncCopy(access, by_registers[access.registers]) for access in source.accesses)
            return AsyncCopyPlan(width, vector, source.thread, target.thread, copies, source.free, target.wavefronts)
        width //= 2
    return None

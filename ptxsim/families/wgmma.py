"""wgmma: asynchronous matrix multiply-accumulate of a warpgroup, operands from shared memory or registers.

Products are exact and summed in f32 (rounded once more for f16 accumulators); integer results are exact. Without hazard
tracking an operation completes when it is issued or, with f32 accumulators, at the next wait of its lanes; with hazard
tracking, see flights.py. Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxsim.access import Site
from ptxsim.decode import Decode, Step
from ptxsim.descriptors import DescriptorError, wgmma_descriptor
from ptxsim.elements import BITS, decoder
from ptxsim.errors import OperandError
from ptxsim.families.matrix import all_members
from ptxsim.flights import Sum
from ptxsim.floors import Floor
from ptxsim.geometry import WARP
from ptxsim.groups import warp_words
from ptxsim.hazards import Tracker
from ptxsim.open_products import OpenProducts
from ptxsim.program import Operand, Register, Vector
from ptxsim.ptx_types import TYPES, Array
from ptxsim.register_block import RegisterBlock
from ptxsim.shared_tiles import TileReader
from ptxsim.sparsity import expand, positions, selectors
from ptxsim.warpgroups import (
    SIZE,
    PartialWarpgroupError,
    Selection,
    Warpgroups,
    fragment_index,
    matrix_index,
)

_SHAPE = re.compile(r"m64n(\d+)k(\d+)$")
_FLOATS = ("f16", "bf16", "tf32", "e4m3", "e5m2")
# (A and B type) -> (K of a dense operation, accumulator types). Source: PTX ISA, "wgmma.mma_async".
_FORMS = {
    "f16": (16, ("f16", "f32")),
    "bf16": (16, ("f32",)),
    "tf32": (8, ("f32",)),
    "e4m3": (32, ("f16", "f32")),
    "e5m2": (32, ("f16", "f32")),
    "s8": (32, ("s32",)),
    "u8": (32, ("s32",)),
    "b1": (256, ("s32",)),
}
# N of integer operations; floating-point ones have every multiple of 8 up to 256
_INTEGER_N = (8, 24, *range(16, 257, 16))
FRESH_WORD = np.uint32(0xFFFFFFFF)  # what a register holds while its value is in flight: NaN in every float format


@dataclass(frozen=True, slots=True)
class Form:
    """m64nNkK with element types a and b and accumulator type; k is the dense K."""

    n: int
    k: int
    a: str
    b: str
    accumulator: str
    is_sparse: bool
    saturates: bool


def _form(d: Decode) -> Form:
    is_sparse = d.flag("sp")
    d.need("sync")
    d.need("aligned")
    match = _SHAPE.match(d.take_prefixed("m64n") or "")
    names = [type_.name for type_ in d.types]
    if match is None or len(names) != 3 or names[1] not in _FORMS or names[2] not in _FORMS:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    saturates = d.flag("satfinite")
    n, k = int(match.group(1)), int(match.group(2))
    accumulator, a, b = names
    dense_k, accumulators = _FORMS[a]
    same = a == b or {a, b} == {"e4m3", "e5m2"} or {a, b} == {"s8", "u8"}
    is_integer = a not in _FLOATS
    in_range = n in _INTEGER_N if is_integer else n % 8 == 0 and 8 <= n <= 256
    if not same or k != dense_k * (2 if is_sparse else 1) or accumulator not in accumulators or not in_range:
        raise d.unsupported(f"the shape or types of `{d.instruction.opcode}`")
    if saturates and a not in ("s8", "u8"):
        raise d.unsupported("wgmma .satfinite on these types")
    if a == "b1":
        d.need("and")
        d.need("popc")
        if is_sparse:
            raise d.unsupported("sparse wgmma of .b1")
    return Form(n, k, a, b, accumulator, is_sparse, saturates)


@dataclass(frozen=True, slots=True)
class Immediates:
    """The immediate operands after scale-d: signs of A and B, whether they are MN-major."""

    sign: int
    a_transposed: bool
    b_transposed: bool


def _immediates(d: Decode, form: Form, first: int, a_in_shared: bool) -> Immediates:
    has_scales = form.a in _FLOATS
    transposes = (2 if a_in_shared else 1) if form.a in ("f16", "bf16") else 0
    d.finish(first + 2 * has_scales + transposes)
    sign = 1
    if has_scales:
        scales = d.constant_int(first), d.constant_int(first + 1)
        if any(scale not in (-1, 1) for scale in scales):
            raise d.error(OperandError, f"the scales of A and B are 1 or -1, not {scales[0]} and {scales[1]}")
        sign = scales[0] * scales[1]
    values = [d.constant_int(first + 2 + number) for number in range(transposes)]
    if any(value not in (0, 1) for value in values):
        raise d.error(OperandError, "a transpose immediate is 0 or 1")
    return Immediates(sign, transposes == 2 and values[0] == 1, transposes > 0 and values[-1] == 1)


class SharedOperand:
    """An operand that a descriptor names."""

    def __init__(self, d: Decode, number: int, element: str, rows: int, k: int, k_major: bool) -> None:
        self._descriptors = d.read(number, TYPES["b64"])
        self.reader = TileReader(d.machine, wgmma_descriptor, element, rows, k, k_major)

    def values(self, chosen: Selection) -> tuple[Array, Array | None]:
        """Distinct tiles [tile, row, k], and the tile of each warpgroup (None: its own)."""
        tile = self.reader.tile(self._descriptors[chosen.first], chosen.cta)
        return self.reader.values(tile), tile.which

    def grains(self, chosen: Selection, grain: int) -> Array:
        """The grains [warpgroup, n] of shared memory that a selection reads."""
        tile = self.reader.tile(self._descriptors[chosen.first], chosen.cta)
        return self.reader.all_grains(tile, grain)


class RegisterOperand:
    """A in registers: a fragment of 16 rows in every warp, as for mma.sync."""

    def __init__(self, d: Decode, item: Operand, element: str) -> None:
        if not isinstance(item, Vector) or len(item.items) != 4:
            raise d.error(OperandError, "A in registers is a list of 4 registers")
        self.registers = [register for register in item.items if isinstance(register, Register)]
        if len(self.registers) != 4:
            raise d.error(OperandError, "A in registers is a list of 4 registers")
        for register in self.registers:
            d.value(register, TYPES["b32"])
        self._block = RegisterBlock(d.machine, self.registers)
        self._decode = decoder(element)

    def values(self, chosen: Selection) -> tuple[Array, Array | None]:
        """[warpgroup, 64, k]."""
        lanes = self._block.read(chosen.lanes)
        # register r holds row lane/4 + 8 (r mod 2), bytes 16 (r/2) + 4 (lane mod 4) of the row
        words = lanes.reshape(2, 2, -1, 4, 8, 4).transpose(2, 3, 1, 4, 0, 5)  # group, warp, half, g, k half, t
        raw = np.ascontiguousarray(words).reshape(-1, 64, 8).view(np.uint8)
        return self._decode(raw), None


class Metadata:
    """The metadata register and selector of a sparse operation."""

    def __init__(self, d: Decode, number: int, form: Form) -> None:
        self._metadata = d.read(number, TYPES["b32"])
        self._selector = d.constant_int(number + 1)
        self._bits, self._k = BITS[form.a], form.k
        if not 0 <= self._selector < selectors(self._bits, self._k):
            raise d.error(OperandError, f"sparsity selector {self._selector} is out of range for this shape")

    def dense(self, stored: Array, which: Array | None, chosen: Selection) -> Array:
        """[warpgroup, 64, k] from the stored half."""
        metadata = self._metadata if chosen.lanes is None else self._metadata[chosen.lanes]
        where, unit = positions(metadata, self._selector, self._bits, self._k)
        rows = stored if which is None else stored[which]
        return expand(rows, where.reshape(*rows.shape[:2], -1), unit, self._k)


def _multiply(a: Array, b: Array, which: Array | None) -> Array:
    """[group, 64, n] from A [group, 64, k] and distinct B [tile, n, k]."""
    columns = b.transpose(0, 2, 1)
    if which is None:
        return np.matmul(a, columns)
    groups, tiles = int(a.shape[0]), int(b.shape[0])
    shared = np.arange(groups) // max(groups // tiles, 1)
    if groups % tiles == 0 and np.array_equal(which, shared):
        return np.matmul(a.reshape(tiles, -1, a.shape[2]), columns).reshape(groups, 64, -1)
    return np.matmul(a, columns[which])


Combine = Callable[[Array, Array], Array]


def _combiner(form: Form) -> tuple[np.dtype[np.generic], Combine]:
    """The type of accumulator registers, and from (products, accumulators) to new accumulators."""
    if form.accumulator == "f32":
        return np.dtype(np.float32), np.add
    if form.accumulator == "f16":
        return np.dtype(np.float16), lambda product, before: (product + before).astype(np.float16)

    def integers(product: Array, before: Array) -> Array:
        total = product.astype(np.int64) + before
        if form.saturates:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        return total.astype(np.int32)

    return np.dtype(np.int32), integers


class Accumulator:
    """The registers of D, and how products are stored in them."""

    def __init__(self, d: Decode, form: Form) -> None:
        is_half = form.accumulator == "f16"
        count = form.n // 4 if is_half else form.n // 2
        items = d.vector(0, (count,))
        registers = [item for item in items if isinstance(item, Register)]
        if len(registers) != count:
            raise d.error(OperandError, "the accumulator is a list of registers")
        self.registers = registers
        for register in registers:
            d.target(register, TYPES["b32"] if is_half else TYPES[form.accumulator])
        self._dtype, self._combine = _combiner(form)
        self.block = RegisterBlock(d.machine, registers)
        self._n = form.n
        self._count = count
        self._is_half = is_half

    def products(self, matrix: Array) -> Array:
        """Products [register, lane] (f16: [register, lane, 2]) from [group, 64, n]."""
        index = fragment_index(matrix.shape[0], self._n)
        if self._is_half:
            index = index.reshape(self._count, 2, -1).transpose(0, 2, 1)
        return matrix.reshape(-1).take(index)

    def combine(self, products: Array, before: Array, keeps: Array | None) -> Array:
        """New register bits [register, lane]; keeps: the lanes that add to their accumulator, None for all."""
        old = before.view(self._dtype)
        if self._is_half:
            old = old.reshape(products.shape)
        if keeps is not None:
            shape = (1, -1, 1) if self._is_half else (1, -1)
            old = np.where(keeps.reshape(shape), old, self._dtype.type(0))
        new = self._combine(products, old)
        return np.ascontiguousarray(new).view(np.uint32).reshape(self._count, -1)


def decode_wgmma(d: Decode) -> Step | None:
    """wgmma.mma_async{.sp}, wgmma.fence, wgmma.commit_group, wgmma.wait_group."""
    if d.flag("mma_async"):
        return _mma_async(d)
    action = d.need("fence", "commit_group", "wait_group")
    d.need("sync")
    d.need("aligned")
    d.finish(1 if action == "wait_group" else 0)
    all_members(d)
    pending = d.constant_int(0) if action == "wait_group" else 0
    if pending < 0:
        raise d.error(OperandError, "wgmma.wait_group needs a number of groups from 0 on")
    tracker = d.binding.hazards
    if tracker is None:
        opened = _open_products(d)
        return (lambda mask: opened.close(d.machine.active(mask))) if action == "wait_group" else None
    if action == "wait_group":
        return lambda mask: tracker.wgmma_wait(mask, pending)
    return tracker.flights.fence if action == "fence" else tracker.flights.commit


def _open_products(d: Decode) -> OpenProducts:
    """The pending sums of the launch, created when its first wgmma is decoded."""
    for part in d.binding.transfers.parts:
        if isinstance(part, OpenProducts):
            return part
    made = OpenProducts()
    d.binding.transfers.parts.append(made)
    return made


def _operands(d: Decode, form: Form) -> tuple["SharedOperand | RegisterOperand", SharedOperand, Metadata | None, int]:
    """A, B, the metadata of a sparse A, and the number of the scale-d operand."""
    a_in_shared = not isinstance(d.operands[1], Vector)
    scale = 3 + 2 * form.is_sparse
    immediates = _immediates(d, form, scale + 1, a_in_shared)
    stored_k = form.k // 2 if form.is_sparse else form.k
    if a_in_shared:
        a: SharedOperand | RegisterOperand = SharedOperand(d, 1, form.a, 64, stored_k, not immediates.a_transposed)
    else:
        a = RegisterOperand(d, d.operands[1], form.a)
    b = SharedOperand(d, 2, form.b, form.n, form.k, not immediates.b_transposed)
    metadata = Metadata(d, 3, form) if form.is_sparse else None
    return a, b, metadata, immediates.sign


class Operation:
    """A decoded wgmma.mma_async."""

    def __init__(self, d: Decode) -> None:
        self.form = _form(d)
        self.pc = d.pc
        all_members(d)
        if len(d.operands) < 4 + 2 * self.form.is_sparse:
            raise d.error(OperandError, "wgmma.mma_async is missing operands")
        self.a, self.b, self._metadata, self._sign = _operands(d, self.form)
        self.accumulator = Accumulator(d, self.form)
        d.checks.update(self.accumulator.block.indices)
        self._scale = d.read(3 + 2 * self.form.is_sparse, TYPES["pred"])

    def product(self, chosen: Selection) -> Array:
        """A times B [group, 64, n]."""
        rows, which_a = self.a.values(chosen)
        if self._metadata is not None:
            rows = self._metadata.dense(rows, which_a, chosen)
        elif which_a is not None:
            rows = rows[which_a]
        columns, which_b = self.b.values(chosen)
        product = _multiply(rows, columns, which_b)
        return product if self._sign == 1 else -product

    def products(self, chosen: Selection) -> Array:
        """A times B as the accumulator registers hold it."""
        return self.accumulator.products(self.product(chosen))

    def keeps(self, chosen: Selection) -> Array | None:
        """The lanes that add to their accumulators, None for all."""
        lanes = self._scale if chosen.lanes is None else self._scale[chosen.lanes]
        return None if lanes.all() else lanes


def _mma_async(d: Decode) -> Step:
    operation = Operation(d)
    groups = Warpgroups(d.machine)
    site = Site(d.machine, d.instruction)
    tracker = d.binding.hazards
    run = _eager(operation, _open_products(d)) if tracker is None else Late(operation, site, tracker).run

    def step(mask: Array | None) -> None:
        try:
            chosen = groups.select(mask)
            if chosen.first.size:
                run(chosen)
        except DescriptorError as problem:
            raise site.error(OperandError, str(problem)) from None
        except PartialWarpgroupError as problem:
            who = d.machine.describe(problem.lane)
            raise site.error(
                OperandError, f"{who} is not in a whole warpgroup of {SIZE} threads; make the block a multiple of that"
            ) from None

    return step


def _eager(operation: Operation, opened: OpenProducts) -> Callable[[Selection], None]:
    """The result is in the registers at once, or, for f32, at the wait."""
    accumulator = operation.accumulator
    may_open = operation.form.accumulator == "f32"

    def run(chosen: Selection) -> None:
        product, keeps = operation.product(chosen), operation.keeps(chosen)
        if may_open and opened.add(accumulator.block, chosen, product, keeps):
            return
        before = accumulator.block.read(chosen.lanes)
        _write(accumulator, chosen, accumulator.combine(accumulator.products(product), before, keeps))

    return run


def _write(accumulator: Accumulator, chosen: Selection, values: Array) -> None:
    if chosen.active is None:
        accumulator.block.write(values, chosen.lanes)
    elif chosen.lanes is not None:
        accumulator.block.write(values[:, chosen.active], chosen.lanes[chosen.active])


_NO_ROWS = np.zeros(0, np.int64)


class Late:
    """Hazard mode: the result arrives at the wait that covers it, and everything that the operation reads is
    tracked.
    """

    def __init__(self, operation: Operation, site: Site, tracker: Tracker) -> None:
        self._operation = operation
        self._site = site
        self._tracker = tracker
        flights = tracker.flights
        self._rows = flights.rows(operation.accumulator.registers)
        a = operation.a
        self._sources = flights.rows(a.registers if isinstance(a, RegisterOperand) else [])
        self._known: dict[int, tuple[Selection, Array, Array, Array, list[int]]] = {}
        self._all = np.arange(site.machine.lanes)
        form = operation.form
        self._may_add_up = form.accumulator == "f32"
        self._form = hash((form.n, form.k, form.a, form.b, form.accumulator)) & 0x7FFFFFFF

    def run(self, chosen: Selection) -> None:
        """Check, compute, and keep the result until the wait."""
        operation, site, flights = self._operation, self._site, self._tracker.flights
        every = self._all if chosen.lanes is None else chosen.lanes
        lanes = every if chosen.active is None else every[chosen.active]
        keeps, block = operation.keeps(chosen), operation.accumulator.block
        under_way = flights.sum_of(block, chosen, self._form)
        flights.check_issue(site, _NO_ROWS if under_way is not None else self._rows, self._sources, lanes, self._form)
        adding = every if keeps is None else every[keeps]
        adding = adding if chosen.active is None else np.intersect1d(adding, lanes)
        self._tracker.registers.check_written(site, operation.pc, block.indices, adding)
        self._read_shared(chosen, lanes)
        if self._may_add_up and chosen.active is None and not (keeps is not None and keeps.any()):
            self._add_up(chosen, every, under_way, keeps is None)
            return
        if under_way is not None:
            flights.close(under_way)
        before = flights.current(self._rows, every, block.read(every))
        after = operation.accumulator.combine(operation.products(chosen), before, keeps)
        if chosen.active is not None:
            after = after[:, chosen.active]
        flights.issue(site, self._rows, self._sources, lanes, after, self._form)
        block.write(np.full_like(after, FRESH_WORD), lanes)

    def _add_up(self, chosen: Selection, lanes: Array, before: Sum | None, keeps: bool) -> None:
        """Add f32 products to a pending sum, or start one; keeps: whether the accumulator is added to."""
        operation, flights, product = self._operation, self._tracker.flights, self._operation.product(chosen)
        block = operation.accumulator.block
        if not keeps:
            held: Array | float = 0.0
        elif before is not None:
            held = before.total
        else:
            bits = flights.current(self._rows, lanes, block.read(lanes))
            flat = np.ascontiguousarray(bits).view(np.float32).reshape(-1)
            held = flat.take(matrix_index(product.shape[0], product.shape[2])).reshape(product.shape)
        total = np.add(product, held, dtype=np.float32)
        flights.own_sources(self._site, self._sources, lanes)
        if before is not None:
            flights.add_to(self._site, before, total)
            return
        flights.begin_sum(self._site, block, chosen, self._rows, lanes, self._form, total)
        block.write(np.full((self._rows.size, lanes.size), FRESH_WORD, np.uint32), lanes)

    def _read_shared(self, chosen: Selection, lanes: Array) -> None:
        found = self._known.get(id(chosen))
        if found is None:
            self._known.clear()
            found = self._known[id(chosen)] = chosen, *self._readers(chosen, lanes)
        _, first, warps, numbers, readers = found
        for operand in (self._operation.a, self._operation.b):
            if isinstance(operand, SharedOperand):
                grains, regions = operand.grains(chosen, self._tracker.grain), self._tracker.regions
                self._tracker.async_read(self._site, grains, readers, numbers, regions.of_tiles(grains))
                self._tracker.async_read_begins(self._site, regions.of_tiles(grains), first, warps)

    def _readers(self, chosen: Selection, lanes: Array) -> tuple[Array, Array, Array, list[int]]:
        """The first warps of the warpgroups, which of the four warps of each start [warpgroup, 4], and for those that
        do, the position of the warpgroup and the first lane.
        """
        starting = np.zeros(self._site.machine.lanes, np.bool_)
        starting[lanes] = True
        first = self._tracker.warpgroups(chosen.first)
        warps = (warp_words(starting) != 0)[first[:, None] + np.arange(4)]
        numbers, readers = np.nonzero(warps)
        return first, warps, numbers, (WARP * (first[numbers] + readers)).tolist()


OPCODES = {"wgmma": decode_wgmma}
FLOORS = (
    Floor("wgmma", "90a", "8.0"),
    Floor("wgmma.mma_async.sp", "", "8.2"),
    Floor("wgmma s8.u8|u8.s8", "", "8.4"),
)

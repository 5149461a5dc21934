"""tcgen05.ld{.red} and tcgen05.st: between registers of a warp and its 32 lanes of tensor memory.

.pack::16b takes the low halves of two columns into one register, .unpack::16b is its inverse: such a move covers twice
as many columns. Source: PTX ISA, "tcgen05.ld", "tcgen05.st", "Data Movement Shape".
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ptxsim.addresses import address_values
from ptxsim.decode import Decode, Step
from ptxsim.errors import OperandError, OutOfBoundsError
from ptxsim.families.matrix import all_members
from ptxsim.families.tcgen05_site import TensorSite
from ptxsim.geometry import WARP
from ptxsim.program import Register
from ptxsim.ptx_types import TYPES, Array
from ptxsim.register_block import RegisterBlock
from ptxsim.tensor_memory import COLUMNS, LANES, MOVES, SLAB, TensorMemoryError, move_places
from ptxsim.tensor_order import TensorOrder

_REPEATS = tuple(f"x{1 << power}" for power in range(8))
_MOST_REGISTERS = 128
_HALF = np.uint32(0xFFFF)
_PLANS = 64  # plans that an instruction caches


@dataclass(frozen=True, slots=True)
class Form:
    """A data movement: registers, [register, thread] lanes and columns relative to the address, the set of columns
    used.

    is_plain: register r of thread t is column r of lane t.
    """

    registers: int
    lanes: Array
    columns: Array
    is_packed: bool
    used: Array
    is_plain: bool


def _form(d: Decode, packing: str, split: int) -> Form:
    d.need("sync")
    d.need("aligned")
    all_members(d)
    shape = d.need(*MOVES)
    repeats = int(d.need(*_REPEATS)[1:])
    is_packed = d.flag(packing)
    registers = MOVES[shape] * repeats
    if registers > _MOST_REGISTERS or (is_packed and 2 * registers > _MOST_REGISTERS):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    lanes, columns = move_places(shape, repeats, split)
    scaled = 2 * columns if is_packed else columns
    used = np.unique(np.concatenate([scaled, scaled + 1]) if is_packed else scaled)
    return Form(registers, lanes, scaled, is_packed, used, shape == "32x32b" and not is_packed)


class Places:
    """Whether the warps that take part may use the cells of a move."""

    def __init__(self, site: TensorSite, form: Form) -> None:
        self._site, self._form = site, form
        self._least, self._most = int(form.lanes.min()), int(form.lanes.max())

    def check(self, lane: int, address: int) -> int:
        """The CTA of the warp of a lane. Raises."""
        site, form = self._site, self._form
        machine = site.machine
        cta, warp = lane // machine.slots, lane % machine.slots // WARP
        slab = warp % 4 * SLAB
        low, high = self._least + (address >> 16), self._most + (address >> 16)
        if low < slab or high >= slab + SLAB or high >= LANES:
            raise site.error(
                OutOfBoundsError,
                f"{machine.describe(lane)} moves lanes {low} to {high} of tensor memory; warp {warp} may use "
                f"{slab} to {slab + SLAB - 1}",
            )
        try:
            site.core.memory.check_all(cta, (address & 0xFFFF) + form.used)
        except TensorMemoryError as problem:
            raise site.wrong(lane, str(problem)) from None
        return cta


@dataclass(slots=True)
class Box:
    """Cells of tensor memory that registers are copied from or to as they are: register r of thread t is column r and
    lane t.

    ctas, columns, rows: of the cells; threads: which of the participating threads of a CTA; warps: first lanes of their
    warps [cta, warp].
    """

    ctas: slice
    columns: slice
    rows: slice
    threads: slice
    warps: Array

    def of(self, cells: Array) -> Array:
        """A view of cells [cta, column, lane] as [register, cta, thread]."""
        return cells[self.ctas, self.columns, self.rows].transpose(1, 0, 2)


@dataclass(slots=True)
class Plan:
    """The cells accessed by the lanes of a move.

    lanes: their numbers; index: the cells [register, lane] of all CTAs; used: the columns of all CTAs that must be
    allocated; starts: for each warp its first lane, CTA, lane and column of its address, and participating lanes;
    boxes: what each part copies, for a move of whole warps, the same ones in consecutive CTAs (None otherwise).
    """

    lanes: Array
    used: Array
    starts: list[tuple[int, int, int, int, Array]]
    boxes: "list[Box] | None"
    _index: Array | None = None

    @property
    def threads(self) -> int:
        """The number of participating threads of each CTA, if equal in all."""
        return self.boxes[-1].threads.stop if self.boxes else 0

    def index(self, form: Form) -> Array:
        """The cells [register, lane] among those of all CTAs."""
        if self._index is None:
            first = [(cta * COLUMNS + column) * LANES + row for _, cta, row, column, _ in self.starts]
            sizes = [active.size for *_, active in self.starts]
            inside = form.columns * LANES + form.lanes
            self._index = inside[:, self.lanes % WARP] + np.repeat(first, sizes)
        return self._index

    def warps(self, form: Form) -> Iterator[tuple[int, int, Array, Array]]:
        """First lane, CTA, lanes and columns of the cells [register, lane] of each warp."""
        for lane, cta, row, column, active in self.starts:
            threads = active % WARP
            yield lane, cta, form.lanes[:, threads] + row, form.columns[:, threads] + column


def _note_moves(order: TensorOrder, site: TensorSite, form: Form, plan: Plan, is_store: bool) -> None:
    """Report the moves of all warps to hazard tracking."""
    left = {lane for lane, *_ in plan.starts}
    for box in plan.boxes or ():
        if order.moves(box.warps, (box.ctas, box.rows, box.columns), is_store):
            left.difference_update(box.warps.reshape(-1).tolist())
    for lane, cta, lanes, columns in plan.warps(form) if left else ():
        if lane in left:
            order.move(site, lane, cta, lanes, columns, is_store)
            if form.is_packed:
                order.move(site, lane, cta, lanes, columns + 1, is_store)


class Plans:
    """The plans of an instruction, remembered by lanes and addresses."""

    def __init__(self, site: TensorSite, form: Form, address: Callable[[], Array]) -> None:
        self._site, self._form, self._address = site, form, address
        self._places = Places(site, form)
        self._known: dict[tuple[bytes, bytes], Plan] = {}

    def of(self, mask: Array | None) -> Plan | None:
        """The plan for lanes of the scheduler, None if there are none. Raises as Places does."""
        site = self._site
        here = site.machine.active(mask)
        here = site.machine.live_mask() if here is None else here
        addresses = self._address()[here]
        if not addresses.size:
            return None
        key = here.tobytes(), addresses.tobytes()
        plan = self._known.get(key)
        owned = site.core.memory.owned.reshape(-1)
        if plan is None or not owned.take(plan.used).all():
            if len(self._known) >= _PLANS:
                self._known.clear()
            plan = self._known[key] = self._make(mask)
        return plan

    def _make(self, mask: Array | None) -> Plan:
        addresses, columns = self._address(), self._form.used
        starts: list[tuple[int, int, int, int, Array]] = []
        used = np.zeros(self._site.core.memory.owned.shape, np.bool_)
        for lane, active in _warps(self._site, mask):
            address = int(addresses[lane])
            cta = self._places.check(lane, address)
            used[cta, (address & 0xFFFF) + columns] = True
            starts.append((lane, cta, address >> 16, address & 0xFFFF, active))
        lanes = np.concatenate([active for *_, active in starts])
        return Plan(lanes, np.flatnonzero(used), starts, self._boxes(starts))

    def _boxes(self, starts: Sequence[tuple[int, int, int, int, Array]]) -> list[Box] | None:
        form, first = self._form, starts[0][1]
        ctas = len({cta for _, cta, *_ in starts})
        each = len(starts) // ctas
        regular = [(first + number // each, *starts[number % each][2:4], WARP) for number in range(len(starts))]
        given = [(cta, row, column, active.size) for _, cta, row, column, active in starts]
        if not form.is_plain or given != regular:
            return None
        warps = np.array([lane for lane, *_ in starts]).reshape(ctas, each)
        boxes: list[Box] = []
        for number, (_, _, row, column, _) in enumerate(starts[:each]):
            last = boxes[-1] if boxes else None
            if last is not None and (last.rows.stop, last.columns.start) == (row, column):
                last.rows = slice(last.rows.start, row + WARP)
                last.threads = slice(last.threads.start, (number + 1) * WARP)
                last.warps = warps[:, last.threads.start // WARP : number + 1]
                continue
            columns, threads = slice(column, column + form.registers), slice(number * WARP, (number + 1) * WARP)
            rows = slice(row, row + WARP)
            boxes.append(Box(slice(first, first + ctas), columns, rows, threads, warps[:, number : number + 1]))
        return boxes


def _warps(site: TensorSite, mask: Array | None) -> list[tuple[int, Array]]:
    """(first active lane, numbers of the active lanes) of every warp that takes part."""
    lanes = site.machine.active(mask)
    here = site.machine.live_mask() if lanes is None else lanes
    by_warp = here.reshape(-1, WARP)
    found: list[tuple[int, Array]] = []
    for warp in np.flatnonzero(by_warp.any(axis=1)).tolist():
        numbers = warp * WARP + np.flatnonzero(by_warp[warp])
        found.append((int(numbers[0]), numbers))
    return found


def _registers(d: Decode, number: int, count: int) -> list[Register]:
    items = [item for item in d.vector(number, (count,)) if isinstance(item, Register)]
    if len(items) != count:
        raise d.error(OperandError, f"operand {number + 1} must list {count} registers")
    return items


def decode_load(d: Decode) -> Step:
    """tcgen05.ld{.red}."""
    reduces = d.flag("red")
    split = d.constant_int(len(d.operands) - 1) if "16x32bx2" in d.instruction.modifiers else 0
    form = _form(d, "pack::16b", split)
    reduction = _reduction(d) if reduces else None
    if not reduces and d.type().name != "b32":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(2 + reduces + ("16x32bx2" in d.instruction.modifiers))
    registers = _registers(d, 0, form.registers)
    if isinstance(d.operands[1], Register) and reduction is not None:
        registers = [*registers, d.operands[1]]
    for register in registers:
        d.target(register, TYPES["b32"])
    block = RegisterBlock(d.machine, registers)
    address = address_values(d, d.address(1 + reduces), 32)
    site = TensorSite(d)
    plans, order, tracker = Plans(site, form, address), site.core.order, d.binding.hazards
    memory = site.core.memory
    cells = memory.cells.reshape(-1)
    rows = None if tracker is None else tracker.flights.rows(registers)

    def step(mask: Array | None) -> None:
        plan = plans.of(mask)
        if plan is None:
            return
        if plan.boxes is not None:
            values = np.empty((form.registers, len(plan.boxes[0].warps), plan.threads), np.uint32)
            for box in plan.boxes:
                values[:, :, box.threads] = box.of(memory.cells)
            values = values.reshape(form.registers, -1)
        else:
            values = cells.take(plan.index(form))
        if form.is_packed:
            values = values & _HALF | cells.take(plan.index(form) + LANES) << np.uint32(16)
        if order is not None:
            _note_moves(order, site, form, plan, is_store=False)
        if reduction is not None:
            values = np.concatenate([values, reduction.of(values)[None, :]])
        where = plan.lanes
        if tracker is not None and rows is not None:
            tracker.flights.load(site, rows, where, values)
            values = np.full_like(values, 0xFFFFFFFF)
        block.write(values, None if where.size == d.machine.lanes else where)

    return step


@dataclass(frozen=True, slots=True)
class Reduction:
    """.red of tcgen05.ld: the smallest or largest of a thread's values."""

    dtype: np.dtype[np.generic]
    is_max: bool
    is_absolute: bool
    keeps_nan: bool

    def of(self, values: Array) -> Array:
        """The reduced bits [thread] of register bits [register, thread]."""
        typed = values.view(self.dtype)
        if self.is_absolute:
            typed = np.abs(typed)
        if self.dtype.kind == "f" and not self.keeps_nan:
            result: Array = (np.fmax if self.is_max else np.fmin).reduce(typed, axis=0)
        else:
            result = (np.maximum if self.is_max else np.minimum).reduce(typed, axis=0)
        return result.view(np.uint32)


def _reduction(d: Decode) -> Reduction:
    operation = d.need("min", "max")
    is_absolute, keeps_nan = d.flag("abs"), d.flag("NaN")
    name = d.type().name
    types = {"f32": np.dtype(np.float32), "u32": np.dtype(np.uint32), "s32": np.dtype(np.int32)}
    allowed = name in types and (name == "f32" or not (is_absolute or keeps_nan))
    if not allowed or not any(shape in d.instruction.modifiers for shape in ("32x32b", "16x32bx2")):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    return Reduction(types[name], operation == "max", is_absolute, keeps_nan)


def decode_store(d: Decode) -> Step:
    """tcgen05.st."""
    has_split = "16x32bx2" in d.instruction.modifiers
    split = d.constant_int(1) if has_split else 0
    form = _form(d, "unpack::16b", split)
    if d.type().name != "b32":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(2 + has_split)
    registers = _registers(d, 1 + has_split, form.registers)
    for register in registers:
        d.value(register, TYPES["b32"])
    block = RegisterBlock(d.machine, registers)
    address = address_values(d, d.address(0), 32)
    site = TensorSite(d)
    plans, order = Plans(site, form, address), site.core.order
    memory = site.core.memory
    cells = memory.cells.reshape(-1)

    def step(mask: Array | None) -> None:
        plan = plans.of(mask)
        if plan is None:
            return
        values = block.read(None if plan.lanes.size == d.machine.lanes else plan.lanes)
        if order is not None:
            _note_moves(order, site, form, plan, is_store=True)
        if form.is_packed:
            cells[plan.index(form)] = values & _HALF
            cells[plan.index(form) + LANES] = values >> np.uint32(16)
        elif plan.boxes is not None:
            given = values.reshape(form.registers, len(plan.boxes[0].warps), plan.threads)
            for box in plan.boxes:
                box.of(memory.cells)[...] = given[:, :, box.threads]
        else:
            cells[plan.index(form)] = values

    return step

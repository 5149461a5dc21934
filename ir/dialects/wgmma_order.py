"""The order of a warpgroup's products: fence, products, commit, wait; a dataflow check for nvgpu and nvvm.

    fence       before the first product, and between any other access to a register of a product (an accumulator, a
                fragment of A) and the product
    commit      an unclosed group is never waited for
    wait        before a register of a product in flight is read
    overwrite   before a stage of shared memory that a product in flight reads is written or released (nvgpu only,
                where addresses still identify their stage)
A register is shared by values that are updated in place, pass through a wait or are carried by a loop or a branch, but
not by a loop-carried sum and the next one if that starts while the first is still read: one is then copied. A condition
that may hold on one path is assumed to hold. Sources: PTX ISA 8.8, wgmma.fence, wgmma.commit_group, wgmma.wait_group;
ptxas does not report a missing fence.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TypeVar

from ir.core import Block, Op, Value
from ir.descriptors import BARRIER_BYTES, BarrierGroupType
from ir.dialects import arith, llvm, nvgpu, nvvm, scf, vector
from ir.instruction import DESCRIPTOR
from ir.records import dataclass
from ir.types import SHARED_PTR

PRODUCTS = (nvgpu.WarpgroupMma, nvvm.WgmmaMmaAsync)
WAITS = (nvgpu.WarpgroupWait, nvvm.WgmmaWaitGroup)
PASSING = (scf.For, scf.While, scf.If, scf.Yield, scf.Condition, llvm.Br, llvm.CondBr)
CONSTANTS = (arith.Constant, llvm.Constant)
OPEN = -1
"""The age of a product whose group is not closed; of the newest group it is 0."""
K = TypeVar("K")
Key = tuple[Value | None, int, int]
"""A stage of shared memory: its number, None for one of an iteration before this one, the bytes from one to the next,
and where the barriers of its ring lie.
"""
UNKNOWN = -1
"""The ring of a buffer that no tensor copy fills."""
LOADS = (nvvm.TensorLoad, nvvm.TensorLoadCluster)


def verify_wgmma(kernel: Op) -> None:
    """Raises VerifyError, at the operation that comes too early."""
    if any(isinstance(op, PRODUCTS) for op in kernel.walk()):
        order = _Order(kernel)
        blocks = kernel.regions[0].blocks
        if len(blocks) == 1:
            order.block(blocks[0], State())
        else:
            order.graph(blocks)


@dataclass
class State:
    """Facts that may hold at a point: registers accessed since the last fence, and by which op; the age and the product
    of registers and stages in flight.
    """

    fenced: bool = False
    touched: dict[Value, Op] = field(default_factory=dict[Value, Op])
    flying: dict[Value, tuple[int, Op]] = field(default_factory=dict[Value, tuple[int, Op]])
    stages: dict[Key, tuple[int, Op]] = field(default_factory=dict[Key, tuple[int, Op]])

    def copy(self) -> State:
        """A copy that changes independently."""
        return State(self.fenced, dict(self.touched), dict(self.flying), dict(self.stages))

    def joined(self, other: State) -> State:
        """Facts that may hold on either path."""
        return State(
            self.fenced and other.fenced,
            {**other.touched, **self.touched},
            _younger(self.flying, other.flying),
            _younger(self.stages, other.stages),
        )

    def same(self, other: State) -> bool:
        """Whether the same is in flight and accessed."""
        ages = [{k: age for k, (age, _) in each.items()} for each in (self.flying, other.flying)]
        stages = [{k: age for k, (age, _) in each.items()} for each in (self.stages, other.stages)]
        return (
            self.fenced == other.fenced
            and self.touched.keys() == other.touched.keys()
            and ages[0] == ages[1]
            and stages[0] == stages[1]
        )

    def aged(self, by: int) -> None:
        """A group is closed."""
        self.flying = {k: (age + by, op) for k, (age, op) in self.flying.items()}
        self.stages = {k: (age + by, op) for k, (age, op) in self.stages.items()}


def _younger(one: dict[K, tuple[int, Op]], other: dict[K, tuple[int, Op]]) -> dict[K, tuple[int, Op]]:
    """The smaller age of each."""
    made = dict(one)
    for key, flight in other.items():
        if key not in made or flight[0] < made[key][0]:
            made[key] = flight
    return made


class _Order:
    """The walk; `register` maps a value to the one that represents its register."""

    def __init__(self, kernel: Op):
        self.parent: dict[Value, Value] = {}
        self.apart: list[tuple[Value, Value]] = []  # values that must not share a register
        self.unite(kernel)
        self.registers = {self.find(v) for op in kernel.walk() if isinstance(op, PRODUCTS) for v in registers_of(op)}
        self.seen: dict[Block, list[tuple[Op, list[Value]]]] = {}
        self.rings = sorted(filled(op) for op in kernel.walk() if isinstance(op, LOADS))
        self.late = released_late(kernel)

    # --- registers

    def find(self, value: Value) -> Value:
        """The value that represents a register."""
        parent = self.parent
        while value in parent:
            value = parent[value]
        return value

    def join(self, one: Value, other: Value) -> None:
        """Two values share a register, unless one is a constant, or others that share it must not."""
        if not (constant(one) or constant(other)):
            one, other = self.find(one), self.find(other)
            if one is not other and all({self.find(a), self.find(b)} != {one, other} for a, b in self.apart):
                self.parent[one] = other

    def unite(self, kernel: Op) -> None:
        """All values that share a register."""
        for op in kernel.walk():
            if isinstance(op, (*PRODUCTS, *WAITS)):
                for one, other in zip(kept(op), op.results, strict=False):
                    self.join(one, other)
        readers = _Readers(kernel)
        carried = [pair for op in kernel.walk() for pair in handed(op)]
        self.apart = [pair for pair in carried if readers.outlived(*pair)]
        for one, other in carried:
            self.join(one, other)

    def known(self, values: Iterable[Value]) -> list[Value]:
        """The registers of products among values."""
        return [each for each in map(self.find, values) if each in self.registers]

    # --- paths

    def block(self, block: Block, state: State) -> State:
        """Run the relevant ops of a block."""
        found = self.seen.get(block)
        if found is None:
            found = self.seen[block] = list(self.events(block))
        for op, registers in found:
            if isinstance(op, scf.For | scf.While):
                state = self.loop(op, state)
            elif isinstance(op, scf.If):
                state = self.branch(op, state)
            else:
                self.op(op, registers, state)
        return state

    def branch(self, op: scf.If, state: State) -> State:
        """Both sides."""
        sides: list[State] = []
        for region in op.regions:
            end, left = self.block(region.block, state.copy()), region.block.terminator.operands
            self.enter(op, zip(left, op.results, strict=True), end)
            sides.append(renamed(end, zip(left, op.results, strict=True)))
        return sides[0].joined(sides[1])

    def enter(self, op: Op, pairs: Iterable[tuple[Value, Value]], state: State) -> None:
        """Values passed on in another register, as constants are, are copied there."""
        for value, target in pairs:
            one, other = self.find(value), self.find(target)
            if one is not other:
                for each in (one, other):
                    if each in self.registers:
                        self.access(op, each, state)

    def events(self, block: Block) -> Iterator[tuple[Op, list[Value]]]:
        """The relevant ops, with the registers of products that they access."""
        for op in block.ops:
            registers = self.known((*op.operands, *op.results))
            if registers or op.regions or isinstance(op, ORDERING):
                yield op, registers

    def loop(self, op: scf.For | scf.While, state: State) -> State:
        """A loop: its body runs until no more facts are added."""
        block, counted = op.body.block, isinstance(op, scf.For)
        arguments = block.args[1:] if counted else block.args
        left = block.terminator.operands[-len(arguments) :] if arguments else []
        head = renamed(state, zip(op.init, arguments, strict=True))
        self.enter(op, zip(op.init, arguments, strict=True), head)
        while True:
            end = self.block(block, head.copy())
            self.enter(op, zip(left, arguments, strict=True), end)
            following = head.joined(renamed(end, zip(left, arguments, strict=True), inside=block))
            if following.same(head):
                break
            head = following
        if counted:
            return renamed(head, zip(arguments, op.results, strict=True), inside=block)
        return renamed(end, zip(left, op.results, strict=True), inside=block)

    def graph(self, blocks: Sequence[Block]) -> None:
        """Blocks of a control-flow graph, until no more facts are added at any entry."""
        entry = {blocks[0]: State()}
        waiting = [blocks[0]]
        while waiting:
            block = waiting.pop()
            end = self.block(block, entry[block].copy())
            successors: tuple[Block, ...] = block.terminator.attributes.get("successors", ())
            for each in successors:
                before = entry.get(each)
                after = end if before is None else before.joined(end)
                if before is None or not after.same(before):
                    entry[each] = after
                    waiting.append(each)

    # --- one operation

    def op(self, op: Op, registers: list[Value], state: State) -> None:
        """The effect of an op on a state, which is updated."""
        if isinstance(op, PRODUCTS):
            self.product(op, registers, state)
        elif isinstance(op, nvvm.WgmmaFence):
            state.fenced = True
            state.touched.clear()
        elif isinstance(op, nvvm.WgmmaCommitGroup):
            state.aged(1)
        elif isinstance(op, WAITS):
            self.wait(op, registers, state)
        elif isinstance(op, PASSING):
            if isinstance(op, llvm.Br | llvm.CondBr):
                self.enter(op, handed(op), state)
        else:
            for each in registers:
                self.access(op, each, state)
            self.overwrite(op, state)

    def access(self, op: Op, register: Value, state: State) -> None:
        """An op reads or writes a register, which must not belong to a product in flight."""
        if register in state.flying:
            age, product = state.flying[register]
            op.fail("accesses a register of the product at {}, which is {}", product.location, in_flight(age))
        state.touched[register] = op

    def product(self, op: nvgpu.WarpgroupMma | nvvm.WgmmaMmaAsync, registers: list[Value], state: State) -> None:
        """It needs a fence, and its registers and stages are in flight from here on."""
        op.expect(state.fenced, "needs nvvm.wgmma.fence.aligned before the first product")
        for each in registers:
            if each in state.touched:
                before = state.touched[each]
                place = f"'{before.name}' at {before.location}"
                op.fail("needs nvvm.wgmma.fence.aligned after {}, which accesses one of its registers", place)
            state.flying[each] = OPEN, op
        for value in op.operands:
            if isinstance(value.owner, nvgpu.MatrixDescriptor):
                stage = self.stage(value.owner.pointer)
                if stage is not None:
                    state.stages[stage] = OPEN, op

    def wait(self, op: nvgpu.WarpgroupWait | nvvm.WgmmaWaitGroup, registers: list[Value], state: State) -> None:
        """Older groups are complete. Their sums must come through the wait, since otherwise they may have been read
        before it. Code that rebuilds fragments of A meanwhile accesses registers in flight, and is reported there.
        """
        pending = op.pending if isinstance(op, nvgpu.WarpgroupWait) else op.group
        for each, (age, product) in state.flying.items():
            if age >= pending and age != OPEN and each in self.known(product.results):
                op.expect(
                    each in registers, "ends the product at {}: all its registers must pass through", product.location
                )
        state.flying = {k: v for k, v in state.flying.items() if v[0] < pending}
        state.stages = {k: v for k, v in state.stages.items() if v[0] < pending}

    def overwrite(self, op: Op, state: State) -> None:
        """Stages that are being read must not be written or released."""
        if not state.stages:
            return
        written = target_of(op)
        if written is not None and (found := self.stage(written)) in state.stages:
            age, product = state.stages[found]
            op.fail("writes the stage that the product at {} reads, which is {}", product.location, in_flight(age))
        if isinstance(op, nvvm.MBarrierArrive) and (barrier := self.stage(op.addr)) is not None:
            for (stage, _, ring), (age, product) in state.stages.items():
                known, late = UNKNOWN not in (ring, barrier[2]), barrier[2] in self.late
                released = stage is None if late else stage is barrier[0]
                if released and (ring == barrier[2] or not (known or late)):
                    op.fail("releases the stage that the product at {} reads, which is {}", product.location,
                            in_flight(age))  # fmt: skip

    def stage(self, pointer: Value) -> Key | None:
        """The stage of a pointer, or of an empty barrier; None if nothing is added to the base of memory."""
        found = stage_of(pointer)
        if found is None or isinstance(pointer.owner, nvgpu.MBarrierGet):
            return found and (*found, barriers_of(pointer))
        at = bisect_right(self.rings, (displacement(pointer), sys.maxsize)) - 1
        return (*found, self.rings[at][1] if at >= 0 else UNKNOWN)


class _Readers:
    """The readers of the arguments of blocks, with their positions."""

    def __init__(self, kernel: Op):
        self.users: dict[Value, list[Op]] = {}
        for op in kernel.walk():
            for value in op.operands:
                if isinstance(value.owner, Block):
                    self.users.setdefault(value, []).append(op)

    def outlived(self, sum: Value, argument: Value) -> bool:
        """Whether an argument, the previous iteration's sum, is read after this iteration's first product."""
        start, block = first_product(sum), argument.owner
        if start is None or not isinstance(block, Block) or (begin := place(start, block)) is None:
            return False
        return any((at := place(user, block)) is not None and at > begin for user in self.users.get(argument, ()))


def first_product(sum: Value) -> Op | None:
    """The product with which a sum starts, from zero; None for values that are not such sums."""
    while isinstance(op := sum.owner, (*PRODUCTS, *WAITS)):
        held = kept(op)
        if sum.index >= len(held) or constant(held[sum.index]):
            return op if isinstance(op, PRODUCTS) else None
        sum = held[sum.index]
    return None


def place(op: Op, block: Block) -> int | None:
    """The index in a block of an op, or of the op there that contains it."""
    while op.parent is not block:
        outer = op.parent.parent_op if op.parent is not None else None
        if outer is None:
            return None
        op = outer
    return block.ops.index(op)


WRITING = (nvgpu.Store, nvgpu.StMatrix, nvgpu.DeviceAsyncCopy)
ORDERING = (nvvm.WgmmaFence, nvvm.WgmmaCommitGroup, nvvm.MBarrierArrive, llvm.Br, llvm.CondBr, *WAITS, *WRITING)


def in_flight(age: int) -> str:
    """Why a product is not complete."""
    what = "its group is not committed: expected nvvm.wgmma.commit.group" if age == OPEN else "wait for its group first"
    return f"in flight; {what}"


def kept(op: nvgpu.WarpgroupMma | nvvm.WgmmaMmaAsync | nvgpu.WarpgroupWait | nvvm.WgmmaWaitGroup) -> list[Value]:
    """The values that an op leaves in the registers of its results."""
    return list(op.operands) if isinstance(op, WAITS) else accumulators(op)


def accumulators(op: nvgpu.WarpgroupMma | nvvm.WgmmaMmaAsync) -> list[Value]:
    """The values that it updates; none if it starts from zero."""
    return op.accumulators if isinstance(op, nvgpu.WarpgroupMma) else op.c


def registers_of(op: nvgpu.WarpgroupMma | nvvm.WgmmaMmaAsync) -> list[Value]:
    """The values in registers that a product reads and writes."""
    held = [op.a] if isinstance(op, nvgpu.WarpgroupMma) else op.a
    values = [*accumulators(op), *(v for v in held if not DESCRIPTOR(v.type)), *op.results]
    return [v for v in values if not constant(v)]


def constant(value: Value) -> bool:
    """Whether it is a number, or a vector of the same number; each use has a separate register."""
    owner = value.owner
    several = isinstance(owner, vector.FromElements) and all(map(constant, owner.operands))
    return several or isinstance(owner, CONSTANTS)


def handed(op: Op) -> Iterator[tuple[Value, Value]]:
    """The values that a control-flow op passes on, each with its new value."""
    if isinstance(op, scf.For | scf.While):
        arguments = op.body.block.args[1:] if isinstance(op, scf.For) else op.body.block.args
        left = op.body.block.terminator.operands[-len(arguments) :] if arguments else []
        for values in (op.init, left, op.results):
            yield from zip(values, arguments, strict=True)
    elif isinstance(op, scf.If):
        for region in op.regions:
            yield from zip(region.block.terminator.operands, op.results, strict=True)
    elif isinstance(op, llvm.Br):
        yield from zip(op.args, op.successors[0].args, strict=True)
    elif isinstance(op, llvm.CondBr):
        for values, block in zip((op.true_args, op.false_args), op.successors, strict=True):
            yield from zip(values, block.args, strict=True)


def renamed(state: State, pairs: Iterable[tuple[Value, Value]], inside: Block | None = None) -> State:
    """A state over an edge: numbers of stages have new names, and lose those that are made in a loop's body, which are
    stages of an iteration before.
    """
    if not state.stages:
        return state
    named = list(pairs)
    made: dict[Key, tuple[int, Op]] = {}
    for (stage, size, ring), flight in state.stages.items():
        names: list[Value | None] = [new for old, new in named if old is stage]
        if inside is not None:
            names.append(None)
        if stage is None or inside is None or block_of(stage) is not inside:
            names.append(stage)
        for name in dict.fromkeys(names):
            if (name, size, ring) not in made or flight[0] < made[name, size, ring][0]:
                made[name, size, ring] = flight
    return State(state.fenced, state.touched, state.flying, made)


def block_of(value: Value) -> Block | None:
    """Where a value is made, or whose argument it is."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


def released_late(kernel: Op) -> frozenset[int]:
    """The rings whose stages are released an iteration late, by where their barriers begin: the empty barrier of a
    stage lies in the place of the following one, so their producer waits at another number than that which it fills.
    """
    fills = indices(kernel, LOADS, True, {})
    waits = indices(kernel, (nvvm.MBarrierTryWaitParity,), False, fills)
    return frozenset(ring for ring, numbers in fills.items() if waits.get(ring, numbers) - numbers)


def indices(kernel: Op, kinds: tuple[type[Op], ...], full: bool, others: Mapping[int, object]) -> dict[int, set[Value]]:
    """The numbers at which ops use the full or the empty barriers of rings, but for constants, and for full barriers
    that begin where `others` say.
    """
    found: dict[int, set[Value]] = {}
    for value in (v for op in kernel.walk() if isinstance(op, kinds) for v in op.operands):
        get = value.owner
        if not isinstance(get, nvgpu.MBarrierGet) or barriers_of(value, full=True) in others or get.index is None:
            continue
        if not isinstance(get.index.owner, CONSTANTS):
            found.setdefault(barriers_of(value, full), set()).add(get.index)
    return found


def filled(load: Op) -> tuple[int, int]:
    """The destination of a tensor copy, without its stage, and the start of its ring's barriers."""
    barrier = next((v for v in load.operands if isinstance(v.owner, nvgpu.MBarrierGet)), None)
    return displacement(load.operands[0]), UNKNOWN if barrier is None else barriers_of(barrier, full=True)


def displacement(pointer: Value) -> int:
    """The constants that are added to the base of shared memory."""
    total = 0
    while isinstance(pointer.owner, llvm.GetElementPtr):
        total += pointer.owner.offset
        pointer = pointer.owner.base
    return total


def barriers_of(barrier: Value, full: bool = False) -> int:
    """The start of a ring's barriers: the full ones, followed by the same number of empty ones."""
    get = barrier.owner
    group = get.barriers.owner if isinstance(get, nvgpu.MBarrierGet) else None
    if not isinstance(group, nvgpu.MBarrierCreate) or not isinstance(group.result.type, BarrierGroupType):
        return UNKNOWN
    return group.offset if full else group.offset - BARRIER_BYTES * group.result.type.count


def stage_of(pointer: Value) -> tuple[Value, int] | None:
    """The number added first to the base of shared memory, with its factor; None if there is none."""
    if isinstance(pointer.owner, nvgpu.MBarrierGet):
        index = pointer.owner.index
        return None if index is None else (index, BARRIER_BYTES)
    found: tuple[Value, int] | None = None
    while isinstance(pointer.owner, llvm.GetElementPtr):
        step = pointer.owner
        if step.index is not None and not isinstance(step.index.owner, CONSTANTS):
            found = step.index, step.element_bytes
        pointer = step.base
    return found


def target_of(op: Op) -> Value | None:
    """The shared memory that an op writes."""
    return next((v for v in op.operands if v.type == SHARED_PTR), None) if isinstance(op, WRITING) else None

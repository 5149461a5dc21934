"""Instruction selection: walks each block backwards and covers every needed value by one PTX instruction.

Going backwards, a value that was folded into its users (an immediate, an address displacement, a comparison inside
another) is never asked for and prints nothing; dead code disappears the same way. Effects keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import PURE, Block, Op, Type, Value
from ir.dialects import llvm
from ir.instruction import Instruction
from ir.types import I1, I8, TENSOR_MAP
from lowering.dispatch import Lowerings
from lowering.ptx.machine import Copy, Edge, MachineBlock, MachineInstruction, immediate, register_bits, takes_immediate
from lowering.ptx.mixed import extensions
from lowering.symbols import symbol
from lowering.targets import Feature, target

CASTS = (llvm.Bitcast, llvm.Trunc, llvm.PtrToInt, llvm.IntToPtr)
DISPLACEMENT = range(-(1 << 31), 1 << 31)  # PTX ISA, operands: [reg+imm] has a 32-bit signed offset


class Selector:
    """Selects for one function; the templates, declared by `lowers`, call use, address and emit."""

    def __init__(self, func: llvm.Func):
        self.func = func
        self.blocks = func.body.blocks
        self.roots: dict[Value, Value] = {}
        self.needed: set[Value] = set()
        self.counts: dict[Value, int] = {}
        self.code: list[MachineInstruction] = []
        self.origin: Op | None = None
        self.labels = 0
        has_mixed = target(func.target).has(Feature.MIXED)
        self.extensions: frozenset[Value] = extensions(self.blocks) if has_mixed else frozenset()
        self.alive = self._live_values()

    # What templates use

    def root(self, value: Value) -> Value:
        """The value whose register holds this one: casts between types of one register size share it.

        Values that pass through a wait do too.
        """
        found = self.roots.get(value)
        if found is None:
            found, op = value, value.owner
            if isinstance(op, CASTS) and register_bits(op.operands[0].type) == register_bits(value.type):
                found = self.root(op.operands[0])
            elif isinstance(op, Instruction) and op.held:
                found = self.root(getattr(op, op.held)[value.index])
            self.roots[value] = found
        return found

    def register(self, value: Value, uses: list[Value]) -> str:
        """Ask for `value` in a register; returns the hole for its name."""
        value = self.root(value)
        self.needed.add(value)
        uses.append(value)
        return "%s"

    def use(self, value: Value, uses: list[Value]) -> str:
        """An operand: an immediate if it is a constant that PTX accepts as one, otherwise a register."""
        value = self.root(value)
        op = value.owner
        if type(op) is llvm.Constant and takes_immediate(value.type):
            return immediate(value.type, op.attributes["value"])
        self.needed.add(value)
        uses.append(value)
        return "%s"

    def address(self, pointer: Value, uses: list[Value]) -> str:
        """The operand [base+displacement], constant getelementptrs folded. The address of an array is in a register:
        from sm_90 on ptxas 13.5 rematerialises it (S2UR of the CTA in its cluster, UMOV, ULEA) in each block that names
        it.
        """
        offset, pointer = 0, self.root(pointer)
        op = pointer.owner
        while type(op) is llvm.GetElementPtr and not op.segments[1] and offset + op.offset in DISPLACEMENT:
            offset += op.offset
            pointer = self.root(op.operands[0])
            op = pointer.owner
        base = self.register(pointer, uses)
        return f"[{base}+{offset}]" if offset else f"[{base}]"

    def predicate(self, value: Value, uses: list[Value]) -> str:
        """A predicate operand, `!` folded."""
        plain, negated = self.stripped(value)
        return ("!" if negated else "") + self.register(plain, uses)

    def stripped(self, value: Value) -> tuple[Value, bool]:
        """A predicate without its negation, and whether it had one."""
        op = value.owner
        if type(op) is llvm.Xor and type(op.operands[1].owner) is llvm.Constant:
            return op.operands[0], True
        return value, False

    def foldable(self, value: Value, into: Op, *kinds: type[Op]) -> Op | None:
        """The op behind `value` if it is of a kind, in the block of `into`, and used nowhere else."""
        op = value.op
        fits = isinstance(op, kinds) and op.parent is into.parent and self.counts.get(value) == 1
        return op if fits else None

    def emit(
        self,
        text: str,
        defs: list[Value],
        uses: list[Value],
        args: list[Value] | None = None,
        ties: Sequence[Copy] = (),
        after_copies: str = "",
    ) -> None:
        """Put an instruction before those already emitted in this block."""
        self.code.append(MachineInstruction(text, defs, uses, args, self.origin, ties, after_copies))

    def label(self) -> str:
        """A fresh label for a loop inside one op."""
        self.labels += 1
        return f"$W{self.labels}"

    # The walk

    def run(self) -> list[MachineBlock]:
        """All blocks, in layout order."""
        done = [self._block(block) for block in reversed(self.blocks)]
        done.reverse()
        return done

    def _block(self, block: Block) -> MachineBlock:
        made = MachineBlock(block)
        self.code = made.code
        ops, needed = block.ops, self.needed
        self._branch(made, ops[-1])
        for op in ops[-2::-1]:
            if op.effect is PURE:
                for result in op.results:
                    if result in needed:
                        break
                else:
                    continue
            self.origin = op
            lowers.of(op)(self, op)
        self.origin = None
        if block is self.blocks[0]:
            self._parameters(block)
        made.code.reverse()
        return made

    def _branch(self, made: MachineBlock, op: Op) -> None:
        if isinstance(op, llvm.Br):
            made.edges = [self._edge(op.successors[0], op.operands)]
        elif isinstance(op, llvm.CondBr):
            condition, made.negated = self.stripped(op.condition)
            made.condition = self.root(condition)
            self.needed.add(made.condition)
            pairs = zip(op.successors, (op.true_args, op.false_args), strict=True)
            made.edges = [self._edge(to, args) for to, args in pairs]

    def _edge(self, to: Block, args: list[Value]) -> Edge:
        edge = Edge(to)
        for arg, value in zip(to.args, args, strict=True):
            if arg in self.alive:
                value = self.root(value)
                op = value.owner
                if type(op) is llvm.Constant:
                    edge.copies.append((arg, immediate(arg.type, op.attributes["value"])))
                else:
                    self.needed.add(value)
                    edge.copies.append((arg, value))
        return edge

    def _parameters(self, entry: Block) -> None:
        for arg in reversed(entry.args):
            if arg in self.needed:
                self.parameter(arg, arg.type, f"{symbol(self.func.sym_name)}_param_{arg.index}")

    def parameter(self, arg: Value, kind: Type, name: str) -> None:
        """Load one parameter; a pointer becomes a global address, a boolean byte becomes a predicate."""
        bits = register_bits(kind)
        if kind == TENSOR_MAP:
            raw = Value(kind, arg.owner, arg.index)
            self.emit("cvta.param.u64 %s, %s;", [arg], [raw])
            self.emit(f"mov.b64 %s, {name};", [raw], [])
        elif kind == I1:
            byte = Value(I8, arg.owner, arg.index)
            self.emit("setp.ne.s16 %s, %s, 0;", [arg], [byte])
            self.emit(f"ld.param.b8 %s, [{name}];", [byte], [])
        elif bits == 64 and hasattr(kind, "space"):
            raw = Value(kind, arg.owner, arg.index)
            self.emit("cvta.to.global.u64 %s, %s;", [arg], [raw])
            self.emit(f"ld.param.b64 %s, [{name}];", [raw], [])
        else:
            self.emit(f"ld.param.b{8 if kind == I8 else bits} %s, [{name}];", [arg], [])

    def _live_values(self) -> set[Value]:
        """Values that some effect depends on, block arguments through the edges that feed them; counts uses too."""
        incoming: dict[Value, list[Value]] = {}
        counts, work = self.counts, list[Value]()
        for block in self.blocks:
            for op in block.ops:
                for value in op.operands:
                    counts[value] = counts.get(value, 0) + 1
                if op.effect is PURE:
                    continue
                if isinstance(op, (llvm.Br, llvm.CondBr)):
                    _collect(op, incoming, work)
                else:
                    work.extend(op.operands)
        alive: set[Value] = set()
        reached: set[Op] = set()  # an op of many results, such as a wgmma, propagates to its operands once
        while work:
            value = work.pop()
            if value in alive:
                continue
            alive.add(value)
            owner = value.owner
            if isinstance(owner, Block):
                work.extend(incoming.get(value, ()))
            elif owner not in reached:
                reached.add(owner)
                work.extend(owner.operands)
        return alive


def _collect(op: llvm.Br | llvm.CondBr, incoming: dict[Value, list[Value]], work: list[Value]) -> None:
    groups = [op.args] if isinstance(op, llvm.Br) else [op.true_args, op.false_args]
    for to, args in zip(op.successors, groups, strict=True):
        for arg, value in zip(to.args, args, strict=True):
            incoming.setdefault(arg, []).append(value)
    if isinstance(op, llvm.CondBr):
        work.append(op.condition)


lowers: Lowerings[Selector, [], None] = Lowerings("PTX template")
"""The PTX of an operation: a function (selector, op) that emits instructions."""

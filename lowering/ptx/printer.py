"""PTX text of a selected function: header, parameters, register declarations, blocks, moves on edges and, on request,
the source locations of the instructions.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Block, Location, Type, Value
from ir.dialects import llvm
from ir.dialects.gpu import GlobalArray
from ir.quoting import escape
from ir.types import I1, I8, TENSOR_MAP, LLVMPointerType
from lowering.ptx.boundary import DIRECTIVES, ENTRY, TARGET, version
from lowering.ptx.grant import grant
from lowering.ptx.machine import DECLARED, Copy, Edge, MachineBlock, MachineInstruction, move_type, register_bits
from lowering.ptx.program import MachineProgram
from lowering.ptx.registers import Names
from lowering.symbols import symbol

SHARED_ALIGNMENT = 1024  # bytes; the widest swizzle period of shared memory
Move = tuple[str, str, str]
"""Type, destination register, source register or immediate."""


def emit(func: llvm.Func, annotate: bool = False, lineinfo: bool = False) -> str:
    """The PTX module of one kernel; `annotate`: comment each line with its op and source location, `lineinfo`: the same
    locations as .loc directives, which ptxas -lineinfo turns into a table for profilers.
    """
    program = MachineProgram.select(func)
    grant(func, program.blocks, program.live)
    program.coalesce()
    return Printer(program, annotate, lineinfo).text()


class Printer:
    """Prints one function."""

    def __init__(self, program: MachineProgram, annotate: bool = False, lineinfo: bool = False):
        self.func = program.func
        self.annotate = annotate
        self.lineinfo = lineinfo
        self.files: dict[str, int] = {}  # source files named by .loc directives, and their numbers
        self.place: Location | None = None  # that of the previous instruction in the same block
        self.blocks = program.blocks
        self.live_in = program.live.live_in
        self.names = Names(program.groups)
        self.labels: dict[Block, str] = {}
        self.lines: list[str] = []
        self.extra = 0

    def text(self) -> str:
        """The whole module."""
        self._label_targets()
        for at, block in enumerate(self.blocks):
            following = self.blocks[at + 1].source if at + 1 < len(self.blocks) else None
            self._block(block, following)
        files = [f".file {number} {escape(name)}" for name, number in self.files.items()]
        return "\n".join([*self._header(), *self._declarations(), "", *self.lines, "}", *files, ""])

    def _header(self) -> list[str]:
        func = self.func
        major, minor = version(func)
        shared = [f".extern .shared .align {SHARED_ALIGNMENT} .b8 dynamic_smem[];"] if func.dynamic_smem else []
        name = symbol(func.sym_name)
        params = [f"    {parameter(a.type, f'{name}_param_{a.index}')}" for a in self.blocks[0].source.args]
        return [
            f".version {major}.{minor}", TARGET.line(func), ".address_size 64", "", *shared,
            *[declaration(array) for array in func.arrays], *self._externs(),
            ENTRY.line(func), ",\n".join(params), ")", *filter(None, (row.line(func) for row in DIRECTIVES)), "{",
        ]  # fmt: skip

    def _externs(self) -> list[str]:
        """Functions that the driver links."""
        used = {getattr(type(op), "extern", "") for block in self.func.body.blocks for op in block.ops}
        return sorted(used - {""})

    def _declarations(self) -> list[str]:
        counts = self.names.counts
        return [f"    .reg .{DECLARED[p]} {p}<{counts[p]}>;" for p in DECLARED if p in counts]

    def _label_targets(self) -> None:
        for at, block in enumerate(self.blocks):
            for edge in block.edges:
                following = self.blocks[at + 1].source if at + 1 < len(self.blocks) else None
                if edge.to is not following or len(block.edges) == 2:
                    self.labels.setdefault(edge.to, "")
        number = 0
        for block in self.blocks:
            if block.source in self.labels:
                self.labels[block.source] = f"$L{number}"
                number += 1

    def _block(self, block: MachineBlock, following: Block | None) -> None:
        if block.source in self.labels:
            self.lines.append(f"{self.labels[block.source]}:")
        names, lines = self.names, self.lines
        self.place = None  # a jump to here comes from elsewhere
        for each in block.code:
            if self.lineinfo and each.origin is not None:
                self._locate(each.origin.location)
            if each.ties:
                self._copy_tied(each)
            lines.append("    " + each.text % tuple([names[v] for v in each.args]))
            if self.annotate and each.origin is not None:
                lines[-1] += f"  // {each.origin.name} {escape(str(each.origin.location))[1:-1]}"
        if not block.edges:
            lines.append("    ret;")
        elif len(block.edges) == 1:
            self._moves(self._needed(block.edges[0]))
            if block.edges[0].to is not following:
                lines.append(f"    bra {self.labels[block.edges[0].to]};")
        else:
            self._fork(block, following)

    def _locate(self, place: Location) -> None:
        """Print the source location of the next instructions, if it is known and differs from the previous one. Source:
        PTX ISA 8.8, .loc and .file.
        """
        if place.line and place != self.place:
            file = self.files.setdefault(place.file, len(self.files) + 1)
            self.lines.append(f"    .loc {file} {place.line} {place.column}")
            self.place = place

    def _copy_tied(self, each: MachineInstruction) -> None:
        """Copies for registers that an instruction updates in place although their old value is needed later."""
        moves = self._changes(each.ties)
        if moves:
            self._moves(moves)
            if each.after_copies:
                self.lines.append(f"    {each.after_copies}")

    def _fork(self, block: MachineBlock, following: Block | None) -> None:
        """A conditional branch: the edge to the next block falls through, the other one jumps."""
        taken, other = block.edges
        condition = self.names[self._condition(block)]
        negated = block.negated
        if taken.to is following:
            taken, other, negated = other, taken, not negated
        jump, stay = self._needed(taken), self._needed(other)
        common = [m for m in jump if m in stay]
        rest = [m for m in stay if m not in common]
        written = {m[1] for m in jump}
        early = len(common) == len(jump) and not any(m[2] in written for m in rest) and condition not in written
        if not early and condition not in written and not self._harmed(written, other):
            early = True  # the jump's moves clobber nothing on the fall-through path
        if early:
            self._moves(jump)
            self.lines.append(f"    @{'!' if negated else ''}{condition} bra {self.labels[taken.to]};")
        else:
            self.extra += 1
            skip = f"$E{self.extra}"
            self.lines.append(f"    @{'' if negated else '!'}{condition} bra {skip};")
            self._moves(jump)
            self.lines += [f"    bra {self.labels[taken.to]};", f"{skip}:"]
            rest = stay
        self._moves(rest)
        if other.to is not following:
            self.lines.append(f"    bra {self.labels[other.to]};")

    @staticmethod
    def _condition(block: MachineBlock) -> Value:
        if block.condition is None:
            raise ValueError("a block with two edges has no condition")
        return block.condition

    def _harmed(self, written: set[str], edge: Edge) -> bool:
        """Whether a register in `written` is passed by `edge` or live in its target."""
        handed = {self.names[v] for _, v in edge.copies if isinstance(v, Value)}
        return not written.isdisjoint(handed) or not written.isdisjoint(self.live_registers(edge.to))

    def live_registers(self, block: Block) -> set[str]:
        """Names of the registers that hold a value live into `block`."""
        return {self.names[v] for v in self.live_in[block] if v in self.names.names}

    def _needed(self, edge: Edge) -> list[Move]:
        """The moves of an edge that are not identities."""
        return self._changes(edge.copies)

    def _changes(self, copies: Sequence[Copy]) -> list[Move]:
        made: list[Move] = []
        for arg, value in copies:
            target = self.names[arg]
            source = value if isinstance(value, str) else self.names[value]
            if target != source:
                made.append((move_type(arg.type), target, source))
        return made

    def _moves(self, moves: list[Move]) -> None:
        """Parallel moves in an order that reads each register before it is written; a cycle needs a spare register."""
        pending = list(moves)
        while pending:
            read = {m[2] for m in pending}
            ready = [m for m in pending if m[1] not in read]
            if not ready:
                kind, target, source = pending[0]
                prefix = target.rstrip("0123456789")
                spare = self.names.fresh(prefix)
                self.lines.append(f"    mov.{kind} {spare}, {target};")
                pending = [(k, t, spare if s == target else s) for k, t, s in pending]
                continue
            for kind, target, source in ready:
                self.lines.append(f"    mov.{kind} {target}, {source};")
            pending = [m for m in pending if m not in ready]


def declaration(array: GlobalArray) -> str:
    """An array of the module with its initial bytes, in words; zeros are the default (PTX ISA, Initializers)."""
    if not any(array.data):
        return f".global .align {max(4, array.alignment)} .b8 {array.name}[{len(array.data)}];"
    data = array.data + bytes(-len(array.data) % 4)
    words = ", ".join(str(int.from_bytes(data[i : i + 4], "little")) for i in range(0, len(data), 4))
    return f".global .align {max(4, array.alignment)} .b32 {array.name}[{len(data) // 4}] = {{{words}}};"


def parameter(kind: Type, name: str) -> str:
    """Declaration of a kernel parameter; a tensor map is opaque, with the alignment of PTX ISA, tensor maps."""
    if kind == TENSOR_MAP:
        return f".param .align 64 .b8 {name}[128]"
    if isinstance(kind, LLVMPointerType):
        return f".param .u64 .ptr .global .align 1 {name}"
    return f".param .b{8 if kind in (I1, I8) else register_bits(kind)} {name}"

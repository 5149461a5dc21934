"""A function of machine instructions on its way to PTX: selection, register grant, then coalescing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

from ir.core import Block, Value
from ir.dialects import llvm
from ir.records import dataclass
from lowering.ptx.delayed import hand_over_early
from lowering.ptx.machine import Edge, MachineBlock
from lowering.ptx.registers import Liveness, Names, coalesce
from lowering.ptx.select import Selector


@dataclass
class MachineProgram:
    """Selected blocks of `func`; `groups` are values that share a register, none before `coalesce`."""

    func: llvm.Func
    blocks: list[MachineBlock]
    groups: dict[Value, list[Value]] = field(default_factory=dict[Value, list[Value]])

    @staticmethod
    def select(func: llvm.Func) -> MachineProgram:
        """The instructions of a kernel."""
        return MachineProgram(func, Selector(func).run())

    @cached_property
    def live(self) -> Liveness:
        """Where values are live; the instructions keep their order."""
        return Liveness(self.blocks)

    def coalesce(self) -> None:
        """Let values share registers."""
        if hand_over_early(self.blocks, self.live):
            del self.live  # coalescing added copies
        self.groups = coalesce(self.blocks, self.live)

    def text(self) -> str:
        """The blocks with the current register names."""
        names, labels = Names(self.groups), {block.source: f"$B{at}" for at, block in enumerate(self.blocks)}
        return "\n".join(line for block in self.blocks for line in _lines(block, names, labels)) + "\n"


def _lines(block: MachineBlock, names: Names, labels: dict[Block, str]) -> Iterator[str]:
    yield f"{labels[block.source]}({', '.join(names[arg] for arg in block.source.args)}):"
    for each in block.code:
        yield "    " + each.text % tuple([names[value] for value in each.args])
    if not block.edges:
        yield "    ret;"
    edges = [_edge(edge, names, labels) for edge in block.edges]
    if block.condition is not None:
        edges[0] = f"@{'!' if block.negated else ''}{names[block.condition]} {edges[0]}"
    yield from (f"    {edge}" for edge in edges)


def _edge(edge: Edge, names: Names, labels: dict[Block, str]) -> str:
    given = (f"{names[arg]} = {value if isinstance(value, str) else names[value]}" for arg, value in edge.copies)
    return f"bra {labels[edge.to]}({', '.join(given)});"

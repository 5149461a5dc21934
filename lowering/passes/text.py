"""Each level as text, for --print-after and for the output of `tilesat opt`. Levels that can be read back print in
that form.
"""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import Block, Op, Region
from ir.dialects import cuda_tile as ct
from ir.text import print_generic, print_text
from lowering.passes.manager import Context
from lowering.passes.source import Encoded, Prepared
from lowering.ptx.program import MachineProgram
from lowering.selection import Selection


def source(entry: ct.Entry, context: Context) -> str:
    """The module of an entry, with this form of the entry in it."""
    block = Block()
    module = entry.parent.parent_op if entry.parent is not None else None
    if not isinstance(module, ct.Module):
        block.ops = [entry]
        return print_text(ct.Module((), (), {}, [Region([block])], entry.location))
    block.ops = [entry if _same(each, entry) else each for each in module.body.block.ops]
    return print_text(ct.Module((), (), module.attributes, [Region([block])], module.location))


def _same(op: Op, entry: ct.Entry) -> bool:
    return isinstance(op, ct.Entry) and op.sym_name == entry.sym_name


def operations(kernel: Op, context: Context) -> str:
    """MLIR's generic form."""
    return print_generic(kernel)


def encoded(encoded: Encoded, context: Context) -> str:
    """The rows of each table, a line a row."""
    facts = encoded.program.facts
    rows = (f"({' '.join([name, *map(str, row)])})" for name in sorted(facts) for row in facts[name])
    return "\n".join(rows) + "\n"


def egraph(prepared: Prepared, context: Context) -> str:
    """A paragraph a class."""
    from lowering.egraph_text import egraph_text

    return egraph_text(prepared.saturated, prepared.oracle)


def chosen(selection: Selection, context: Context) -> str:
    """A line for each placed class with its node and layout, then the choices for stores and loops."""
    return "\n".join(_chosen(selection)) + "\n"


def _chosen(selection: Selection) -> Iterator[str]:
    answer = selection.answer
    yield f"{selection.warps} warps on {selection.target}, cost {answer.cost:g}, bound {answer.bound:g}"
    for cls, node in selection.node.items():
        value, layout = selection.owner.get(cls, (0, 0))
        stages = f", {selection.stages[cls]} stages" if selection.stages.get(cls) else ""
        yield f"p{cls}: c{value} in L{layout} = {node.op}({', '.join(f'p{c}' for c in node.children)}){stages}"
    for item, choice in selection.stores.items():
        yield f"store {item}: L{choice.layout}, {choice.width} bytes or elements per access, {choice.way}"
    for (loop, index), layout in selection.carried.items():
        yield f"carried {loop}.{index}: L{layout}"


def machine(program: MachineProgram, context: Context) -> str:
    """Instructions on values, the values passed along edges, and which share a register."""
    return program.text()


def ptx(text: str, context: Context) -> str:
    """The text itself."""
    return text

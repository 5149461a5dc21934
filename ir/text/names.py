"""Names of values in printed text, as MLIR gives them: hints made unique by a counter, numbers for the rest.

Each region is numbered whole before the regions inside it, which start from the counters it left (MLIR's
SSANameState; checked against disassembled kernels).
"""

from __future__ import annotations

from dataclasses import replace

from ir.core import Block, Op, Region, Value
from ir.dialects.cuda_tile import Assume, Constant, Entry, For, Reduce, TestingFunc, TileOp, tile_type
from ir.records import dataclass
from ir.text.literals import constant_name


@dataclass(slots=True)
class _Counters:
    value: int = 0
    argument: int = 0
    conflict: int = 0


class Names:
    """What each value is called: `%name`, or `%name#i` for one of a pack."""

    __slots__ = ("hinted", "packs", "texts")

    def __init__(self, root: Op, hinted: bool = True):
        self.texts: dict[Value, str] = {}
        self.packs: dict[Op, str] = {}
        self.hinted = hinted
        self._regions(root.regions, _Counters(), set())

    def _regions(self, regions: list[Region], counters: _Counters, used: set[str]) -> None:
        for region in regions:
            own, names = replace(counters), set(used)
            for block in region.blocks:
                self._arguments(block, own, names)
                for op in block.ops:
                    self._results(op, own, names)
            inner = [op for block in region.blocks for op in block.ops if op.regions]
            for op in inner:
                # An entry is isolated from above, and MLIR's counters carry on only within a function.
                self._regions(op.regions, _Counters() if isinstance(op, Entry | TestingFunc) else own, names)

    def _arguments(self, block: Block, counters: _Counters, used: set[str]) -> None:
        hints = argument_names(block) if self.hinted else []
        for index, value in enumerate(block.args):
            if index < len(hints):
                self.texts[value] = "%" + _unique(hints[index], counters, used)
            else:
                self.texts[value] = "%" + _unique(f"arg{counters.argument}", counters, used)
                counters.argument += 1

    def _results(self, op: Op, counters: _Counters, used: set[str]) -> None:
        if not op.results:
            return
        hints = result_names(op) if self.hinted else ()
        if len(hints) == len(op.results) and len(hints) > 1:
            for value, hint in zip(op.results, hints, strict=True):
                self.texts[value] = "%" + _unique(hint, counters, used)
            return
        if hints:
            base = "%" + _unique(hints[0], counters, used)
        else:
            base = f"%{counters.value}"
            counters.value += 1
        if len(op.results) == 1:
            self.texts[op.results[0]] = base
        else:
            self.packs[op] = f"{base}:{len(op.results)}"
            for index, value in enumerate(op.results):
                self.texts[value] = f"{base}#{index}"

    def targets(self, op: Op) -> str:
        """The text before " = " where the op is printed."""
        return self.packs.get(op) or ", ".join(self.texts[value] for value in op.results)


def _unique(name: str, counters: _Counters, used: set[str]) -> str:
    found = name
    while found in used:
        found = f"{name}_{counters.conflict}"
        counters.conflict += 1
    used.add(found)
    return found


def result_names(op: Op) -> tuple[str, ...]:
    """The disassembler's names for results, before they are made unique; empty where results are numbered."""
    if isinstance(op, Constant):
        return (constant_name(op.value, tile_type(op.result)),)
    if isinstance(op, Assume):
        return (_assume_name(op),)
    return op.result_names if isinstance(op, TileOp) else ()


def _assume_name(op: Assume) -> str:
    maker = op.value.op
    if maker is None:
        return "assume"
    names = result_names(maker)
    if not names:
        return "assume"
    return f"assume_{names[op.value.index] if op.value.index < len(names) else ''}"


def argument_names(block: Block) -> list[str]:
    """The disassembler's names for block arguments; those without a name are numbered."""
    op = block.parent_op
    if isinstance(op, For):
        return ["loopIdx", *(f"iterArg{i}" for i in range(len(block.args) - 1))]
    if isinstance(op, Reduce):
        if len(block.args) == 2:
            return ["reduce_lhs", "reduce_rhs"]
        return [f"reduce_{'lhs' if i % 2 == 0 else 'rhs'}{i // 2}" for i in range(len(block.args))]
    return []

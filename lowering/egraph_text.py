"""The saturated e-graph as text: a paragraph an e-class, a line an e-node.

    c12: tile<64xf32> = %tile                   a value: its type, its names in the source
      mulf(c3, c4; rounding=nearest_even)
      mulf(c4, c3; rounding=nearest_even)

    p40: c12 in L3                              the same, placed: held in layout L3
      p.mulf(p21, p22; rounding=nearest_even)
      p.broadcast(p20; tile<64xf32>, layout=L3)

Columns have the names of the op's declaration, or of the term's in egraph/leaves.py and egraph/placed.py. The layouts
come last. If provenance was recorded, each e-node shows its origin.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from egraph.encode import EncodedProgram
from egraph.forms import Form
from egraph.interner import Interner
from egraph.saturate import Saturated
from egraph.term import AttributeId, ChoiceId, Column, Enumerated, LayoutId, Node, Operand, Term, TypeId, TypesId, Value
from egraph.why import Provenance
from ir.text.names import Names
from lowering.placement import LayoutOracle

OWN = ("ty", "type", "types")
"""Columns with the type of the term itself, printed without a name."""
MISSING = -1
"""Stands for an absent attribute (`egraph.terms.integer_of`)."""
MOST_SHOWN = 120
"""Characters of one attribute: a literal of many elements is cut."""


def egraph_text(saturated: Saturated, oracle: LayoutOracle) -> str:
    """All classes with their nodes, values first, then placed classes, then the layouts."""
    return "\n\n".join(_Text(saturated, oracle).paragraphs()) + "\n"


def value_names(program: EncodedProgram) -> dict[int, str]:
    """Source names of values, by number; unnamed ones get the names that the disassembler would use."""
    texts = Names(program.entry).texts
    return {
        number: f"%{value.name}" if value.name else texts[value]
        for value, number in program.numbers.items()
        if value.name or value in texts
    }


class Columns:
    """The integers of e-nodes in words."""

    def __init__(self, interner: Interner, oracle: LayoutOracle):
        self.interner = interner
        self.oracle = oracle

    def of(self, node: Node) -> Iterator[str]:
        """The integers of a node, by name and meaning."""
        if not isinstance(node, Term):
            yield from map(str, node.literals)
            return
        for column in node.columns:
            number = node.args[column.place]
            if isinstance(column, Operand | Value) or (number == MISSING and isinstance(node, Form)):
                continue
            text = self.column(column, number)
            yield text if column.name in OWN else f"{column.name}={text}"

    def column(self, column: Column[object], number: int) -> str:
        """The meaning of a number in a column."""
        interner = self.interner
        match column:
            case TypeId():
                return str(interner.types[number])
            case TypesId():
                types: tuple[object, ...] = interner.attributes[number]
                return f"({', '.join(map(str, types))})"
            case AttributeId():
                text = str(interner.attributes[number])
                return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "..."
            case LayoutId():
                return f"L{number}"
            case ChoiceId():
                return str(self.oracle.choice(number))
            case Enumerated():
                return str(column.kind(number))
            case _:
                return str(number)


class _Text:
    def __init__(self, saturated: Saturated, oracle: LayoutOracle):
        self.frozen = saturated.frozen
        self.program = saturated.program
        self.oracle = oracle
        self.columns = Columns(self.program.interner, oracle)
        self.names = self._names()
        self.provenance = self._provenance(saturated)
        self.places = {
            cls: place for kind in ("native", "out", "held_in") for place, cls in getattr(self.frozen, kind).items()
        }

    def _names(self) -> dict[int, list[str]]:
        """The source's names of each value class."""
        found = defaultdict[int, list[str]](list)
        for number, name in value_names(self.program).items():
            if number in self.frozen.numbers:
                found[self.frozen.class_of(number)].append(name)
        return found

    def _provenance(self, saturated: Saturated) -> Provenance | None:
        if saturated.recorder is None:
            return None
        return Provenance(saturated.recorder, self.frozen, saturated.source.commands, value_names(self.program))

    def paragraphs(self) -> Iterator[str]:
        """A heading, the classes, the layouts."""
        sorts, layouts = Counter(self.frozen.sort), sorted({layout for _, layout in self.places.values()})
        yield (
            f"e-graph of @{self.program.entry.sym_name}: {sorts['V']} value classes, {sorts['P']} placed classes, "
            f"{len(self.frozen.nodes)} e-nodes, {len(layouts)} layouts"
        )
        for sort in ("V", "P"):
            for cls, nodes in sorted(self.frozen.by_class.items()):
                if self.frozen.sort[cls] == sort:
                    yield "\n".join([f"{self.ref(cls)}{self.head(cls)}", *(f"  {self.node(n)}" for n in nodes)])
        yield "\n".join(f"L{id}: {self.oracle.layouts[id] if id else 'every thread holds the value'}" for id in layouts)

    def ref(self, cls: int) -> str:
        """A class by its sort and number."""
        return f"{'c' if self.frozen.sort[cls] == 'V' else 'p'}{cls}"

    def head(self, cls: int) -> str:
        """The heading of a class: type and names of a value, value and layout of a placed class."""
        place = self.places.get(cls)
        if place is not None:
            return f": {self.ref(place[0])} in L{place[1]}"
        kind = self.frozen.analysis["type"].get(cls)
        names = f" = {', '.join(self.names[cls])}" if cls in self.names else ""
        return f"{'' if kind is None else f': {self.program.interner.types[kind]}'}{names}"

    def node(self, node: Node) -> str:
        """An e-node: operands, then attributes."""
        operands = ", ".join(map(self.ref, node.children))
        columns = ", ".join(self.columns.of(node))
        origin = "" if self.provenance is None else f"    ; {self.provenance.origin(node) or 'not known'}"
        return f"{node.op}({operands}{'; ' if operands and columns else ''}{columns}){origin}"

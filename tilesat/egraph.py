"""The saturated e-graph of a kernel: its size, its text, and files that other programs read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from egraph.frozen import Frozen
    from lowering.layouts.layout import Layout
    from lowering.layouts.shared import SharedLayout
    from lowering.selection import Selection


@dataclass(frozen=True)
class EGraph:
    """The result of saturation for a kernel compiled in this process."""

    selection: Selection

    def __repr__(self) -> str:
        """One line; `text` has all of it."""
        sorts = self.sorts
        entry = self.selection.saturated.program.entry.sym_name
        return f"<EGraph of @{entry}: {sorts['V']} value classes, {sorts['P']} placed classes, {self.n_nodes} e-nodes>"

    @property
    def frozen(self) -> Frozen:
        """Nodes, facts and relations as plain data."""
        return self.selection.saturated.frozen

    @property
    def sorts(self) -> Counter[str]:
        """Classes of values (V) and of placed values (P)."""
        return Counter(self.frozen.sort)

    @property
    def n_nodes(self) -> int:
        """Number of e-nodes that are not subsumed."""
        return len(self.frozen.nodes)

    @property
    def layouts(self) -> dict[int, Layout | SharedLayout]:
        """The layouts of placed classes, by the numbers that `text` and `--explain` call them."""
        places = (*self.frozen.held_in, *self.frozen.native, *self.frozen.out)
        used = sorted({layout for _, layout in places if layout})
        return {layout: self.selection.oracle.layouts[layout] for layout in used}

    @property
    def text(self) -> str:
        """A paragraph a class, as `--emit egraph` prints it."""
        from lowering.egraph_text import egraph_text

        return egraph_text(self.selection.saturated, self.selection.oracle)

    @property
    def json(self) -> str:
        """The input of extraction in the format of extraction-gym and egraph-serialize, with costs from the target's
        tables, choice groups and resource rows; `python -m extract` reads it.
        """
        from extract.gym import write

        return write(self.selection.by_tables)

    @property
    def egglog(self) -> str:
        """A program that saturates it in egglog: declarations, rules, the kernel as facts, a schedule."""
        from egraph.egglog_program import egglog_program

        return egglog_program(self.selection.saturated)

    def _repr_html_(self) -> str:
        """Its size, for notebooks."""
        from tilesat.html import facts

        report = self.selection.saturated.report
        stop = report.ended or "saturated"
        return facts(repr(self)[1:-1], [("rows", report.size), ("matches", report.matches()), ("ended", stop)])

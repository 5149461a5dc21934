"""A program at any level as a dataflow graph: boxes are operations, edges values, clusters loops and branches.

Dotted edges keep the order of effects; a dashed edge leads into a region."""

from __future__ import annotations

from ir.core import CONTROL, WRITE, Block, Op, Region, Value
from viz.picture import FAINT, Drawing, Picture, shorten

MAX_OPS = 400
"""`dot` lays out 400 boxes in about a second and a screen shows no more; the rest is cut and the title says so."""


def draw_program(root: Op, name: str = "program", max_ops: int = MAX_OPS) -> Picture:
    """Draw `root` and what it holds; at most `max_ops` operations, and a note when there are more. Scalar constants
    stand in the boxes of those who read them.
    """
    total = sum(1 for op in root.walk() if _scalar(op) is None)
    constants = sum(1 for op in root.walk() if _scalar(op) is not None)
    notes = [f"cut: the first {max_ops} of {total} operations"] if total > max_ops else []
    notes += [f"{constants} scalar constants are in the boxes that read them"] if constants else []
    note = "; ".join(notes)
    graph = Drawing.new(name, f"{root.name} {_symbol(root)}" + (f"\n{note}" if note else ""))
    _Painter(graph, max_ops).region_op(root, graph)
    return Picture(name, graph.source, note)


class _Painter:
    """Numbers operations and values as they are met, so that names in the DOT text are stable."""

    def __init__(self, graph: Drawing, limit: int):
        self.graph = graph
        self.left = limit
        self.node_of: dict[Value, str] = {}
        self.entry_of: dict[Block, str] = {}
        self.count = 0

    def region_op(self, op: Op, parent: Drawing) -> None:
        """An operation with regions: a cluster for each region that has blocks."""
        for region in op.regions:
            self._region(op, region, parent)

    def _region(self, op: Op, region: Region, parent: Drawing) -> None:
        for number, block in enumerate(region.blocks):
            if self.left <= 0:
                return
            label = f"{op.name} {_symbol(op)}".strip()
            if len(region.blocks) > 1:
                label += f" ^bb{number}"
            with parent.cluster(self._fresh(), label) as cluster:
                self._block(block, cluster)

    def _block(self, block: Block, cluster: Drawing) -> None:
        if block.args:
            node = self._fresh()
            cluster.node(node, ", ".join(_value(arg) for arg in block.args), shape="ellipse")
            self.entry_of[block] = node
            for arg in block.args:
                self.node_of[arg] = node
        before = ""
        for op in block.ops:
            if self.left <= 0:
                cluster.node(self._fresh(), "…", shape="plaintext")
                return
            if _scalar(op) is not None:
                continue
            self.left -= 1
            node = self._op(op, cluster)
            if op.effect in (WRITE, CONTROL) or not op.results:
                if before:  # effects keep their order; it is no dataflow
                    self.graph.edge(before, node, style="dotted", color=FAINT)
                before = node

    def _op(self, op: Op, cluster: Drawing) -> str:
        node = self._fresh()
        cluster.node(node, _label(op))
        for value in dict.fromkeys(op.operands):
            source = self.node_of.get(value)
            if source is not None:
                self.graph.edge(source, node)
        for result in op.results:
            self.node_of[result] = node
        self.region_op(op, cluster)
        for region in op.regions:
            for block in region.blocks[:1]:
                if block in self.entry_of:  # what goes round: initial values into the block's arguments
                    self.graph.edge(node, self.entry_of[block], style="dashed")
        return node

    def _fresh(self) -> str:
        self.count += 1
        return f"n{self.count}"


def _symbol(op: Op) -> str:
    name = op.attributes.get("sym_name", "")
    return f"@{name}" if name else ""


def _value(value: Value) -> str:
    return f"%{value.name or value.index}: {shorten(str(value.type), 40)}"


def _label(op: Op) -> str:
    """Name, operands that are constants, attributes that fit, and result types."""
    read = [_scalar(value.op) if value.op is not None else None for value in op.operands]
    said = [f"operand {place} {constant}" for place, constant in enumerate(read) if constant is not None]
    attributes = ", ".join([*said, *(f"{key}={value}" for key, value in op.attributes.items())])
    types = ", ".join(str(result.type) for result in op.results)
    lines = [op.name, shorten(attributes, 60), shorten(types, 60)]
    return "\n".join(line for line in lines if line)


def _scalar(op: Op) -> str | None:
    """The value of a constant that is no tile; None for anything else."""
    if not op.name.endswith(".constant") or len(op.results) != 1 or getattr(op.results[0].type, "shape", ()):
        return None
    return shorten(str(op.attributes.get("value", "?")), 20)

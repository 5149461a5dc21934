"""The e-graph in the record of a compilation: values with their names in the source, every way to make them, what was
chosen and what came second.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from egraph import placed
from egraph.leaves import Cons, Missing, Nil, Splat
from egraph.placed import Mechanism
from egraph.skeleton import SkeletonEffect, SkeletonLoop
from egraph.term import LOGICAL, PLACED, Node
from ir.core import TileError
from ir.types import TileType, TokenType
from lowering.egraph_text import Columns
from lowering.explain import COPIES, Explanation, place_of, title
from lowering.layouts.conversions import Identity, RegisterPermute, Shuffle, plan
from lowering.layouts.elements import moved_bits
from lowering.layouts.layout import Layout
from lowering.loops import paths
from lowering.selection import Selection, StoreChoice
from lowering.selection.pricing import NodeContext, Pricer
from lowering.selection.trips import Trips, trip_counts
from tilesat.pictures.layouts import Layouts
from tilesat.pictures.places import Places
from tilesat.provenance import provenance_of
from viz.picture import shorten
from viz.record import Effect, Form, Loop, Value, Way
from viz.record import Term as ETerm

LISTS = (Cons, Nil, Missing, placed.TileList)
"""Cells of operand lists and operands that are left out: no values of their own."""
CONVERSIONS: dict[type, str] = {
    Identity: "the same registers",
    RegisterPermute: "renamed registers",
    Shuffle: "shuffles",
}
PIPES = ("tensor", "alu", "memory", "latency")
"""The parts of a cost, whose sum it is (`lowering.cost.Cost`)."""
SAME = 1e-6
MOST_MATCHED = 160
"""Characters of the terms that a rule matched: some hold half a program."""


class EGraph:
    """Fills values, forms, effects and loops."""

    def __init__(self, selection: Selection, places: Places, layouts: Layouts):
        self.selection, self.places, self.layouts = selection, places, layouts
        self.frozen, self.program = selection.saturated.frozen, selection.saturated.program
        self.explanation = Explanation(selection)
        self.provenance = None if selection.saturated.recorder is None else provenance_of(selection)
        self.columns = Columns(self.program.interner, selection.oracle)
        self.pricer = Pricer(selection.saturated, selection.oracle, selection.target, selection.forbid, selection.owner)
        self.paths = paths(self.program.skeleton)
        self.trips = Trips(trip_counts(selection.saturated), self.paths)
        self.loop_items = [item for item in self.program.skeleton.walk() if isinstance(item, SkeletonLoop)]
        self.loop_number = {item.loop: number for number, item in enumerate(self.loop_items)}
        first: dict[int, int] = {}
        for number, cls in sorted(self.frozen.numbers.items()):
            first.setdefault(cls, number)  # the order of the source, then what rewriting made
        values = [c for c in self.frozen.by_class if self.frozen.sort[c] == LOGICAL and not self.is_list(c)]
        self.classes = sorted(values, key=lambda cls: (first.get(cls, len(self.program.values)), cls))
        self.number = {cls: number for number, cls in enumerate(self.classes)}
        self.values = [Value("") for _ in self.classes]
        self.forms: list[Form] = []
        self.form_number: dict[int, int] = {}
        self.way_of: dict[int, Way] = {}  # node of the extraction graph -> its way

    def is_list(self, cls: int) -> bool:
        """Is a class a list of operands, or a missing one, or such a one placed?"""
        value = self.selection.owner.get(cls, (cls, 0))[0]
        return any(isinstance(node, LISTS) for each in (cls, value) for node in self.frozen.by_class.get(each, ()))

    def listed(self, cls: int) -> Iterator[int]:
        """A class, or the elements of the list that it is, of either sort."""
        if not self.is_list(cls):
            yield cls
            return
        nodes = self.frozen.by_class.get(cls, ())
        cell = next((n for n in nodes if isinstance(n, LISTS)), next(iter(nodes), None))
        for child in () if cell is None else cell.children:
            yield from self.listed(child)

    def fill(self) -> tuple[list[Value], list[Form], list[Effect], list[Loop]]:
        """Everything; forms are numbered as values and their layouts are met."""
        self.name_values()
        self.make_forms()
        self.make_terms()
        self.run_up()
        return self.values, self.forms, list(self.effects()), list(self.loops())

    # --- values

    def name_values(self) -> None:
        """Names, types and places of the source; what rewriting made is called by what it is made of."""
        names, typed = self.explanation.names, self.frozen.analysis.get("type", {})
        for number, value in enumerate(self.program.values):
            found = self.number.get(self.frozen.numbers.get(number, -1))
            if value is None or found is None:
                continue
            each, name = self.values[found], names.of(value)
            if name not in each.names:
                each.names.append(name)
            each.places = self.places.add([place_of(value)], each.places)
            op = self.program.source.get(number)
            if op is not None and not each.op:
                each.op = op.name
        deps = self.frozen.analysis.get("deps", {})
        for cls, each in zip(self.classes, self.values, strict=True):
            each.type = str(self.program.interner.types[typed[cls]]) if cls in typed else ""
            each.loop = self.loop_number.get(self.innermost(deps.get(cls, 0)), -1)
            each.op = each.op or title(self.frozen.by_class[cls][0])
            each.name = " = ".join(each.names)
        for cls, each in zip(self.classes, self.values, strict=True):
            each.name = each.name or self.described(cls)

    def described(self, cls: int) -> str:
        """A class without a name: its first node, with the names of its operands."""
        node = self.frozen.by_class[cls][0]
        kids = [self.values[self.number[kid]] for child in node.children for kid in self.listed(child)]
        words = [kid.names[0] if kid.names else "…" for kid in kids]
        if isinstance(node, Splat) or title(node) == "constant":
            words = list(self.columns.of(node))[:1]
        return f"{title(node)}({', '.join(words)})" if words else title(node)

    def innermost(self, deps: int) -> int:
        """The id of the innermost loop of a dependence mask, -1 for none."""
        return max((path for path in self.paths.values() if deps >> path[-1] & 1), key=len, default=(-1,))[-1]

    def make_terms(self) -> None:
        """The e-nodes of each value, before placement."""
        for cls, each in zip(self.classes, self.values, strict=True):
            for node in self.frozen.by_class[cls]:
                kids = [self.number[kid] for child in node.children for kid in self.listed(child)]
                each.terms.append(ETerm(title(node), kids, ", ".join(self.columns.of(node)), *self.origin(node)))

    # --- forms

    def make_forms(self) -> None:
        """A form for each placed class that extraction saw, with its nodes."""
        found: dict[int, dict[Node, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, node in self.selection.enodes.items():
            found[node.cls][node].append(number)
        shown = {cls: nodes for cls, nodes in found.items() if self.value_of(cls) >= 0 and not self.is_list(cls)}
        natural = set(self.frozen.native.values())
        for cls in sorted(shown, key=lambda cls: (self.value_of(cls), self.selection.owner[cls][1], cls)):
            value = self.value_of(cls)
            self.form_number[cls] = len(self.forms)
            self.values[value].forms.append(len(self.forms))
            layout = self.layouts.of(self.selection.owner[cls][1], self.values[value].type)
            self.forms.append(Form(value, layout, cls in natural))
        for cls, number in self.form_number.items():
            self.forms[number].ways = [self.way(node, numbers) for node, numbers in shown[cls].items()]

    def value_of(self, cls: int) -> int:
        """The number of the value that a placed class holds, -1 where that is none."""
        return self.number.get(self.selection.owner.get(cls, (-1, -1))[0], -1)

    def way(self, node: Node, numbers: Sequence[int]) -> Way:
        """One e-node; `numbers`: of the extraction graph, one for each number of stages or of warps."""
        costs = [self.selection.graph.columns.cost[n] for n in numbers]
        taken = next((n for n in numbers if self.selection.answer.chosen.get(self.explanation.class_of(n)) == n), None)
        cost = min(costs) if taken is None else self.selection.graph.columns.cost[taken]
        text = self.explanation.how(node).partition(": ")[2]
        way = Way(
            title(node), text, self.explanation.atom(node), self.mechanism(node, taken is not None),
            cost if math.isfinite(cost) else None,
            "" if math.isfinite(cost) else self.explanation.why_not(node).partition(": ")[2],
            self.parts(node, cost), self.kids(node), taken is not None,
            self.selection.stages.get(node.cls, 0) if taken is not None else 0, len(numbers),
        )  # fmt: skip
        way.rule, way.origin = self.origin(node)
        self.way_of |= dict.fromkeys(numbers, way)
        return way

    def origin(self, node: Node) -> tuple[str, str]:
        """The rule that made a node, and when and from what; nothing where that was not recorded."""
        found = None if self.provenance is None else self.provenance.origin(node)
        if found is None:
            return "", ""
        if found.loaded:
            return "", str(found)
        matched = shorten(" and ".join(found.matched), MOST_MATCHED)
        return found.rule, f"iteration {found.iteration} of {found.phase}, from {matched}"

    def kids(self, node: Node) -> list[int]:
        """The forms that a placed node reads."""
        below = [kid for c in node.children if self.frozen.sort[c] == PLACED for kid in self.listed(c)]
        return [self.form_number[kid] for kid in below if kid in self.form_number]

    def mechanism(self, node: Node, chosen: bool) -> str:
        """How data travel."""
        match node:
            case placed.GatherCopy():
                return COPIES[Mechanism.CP_ASYNC]
            case placed.Copy():
                return COPIES[node.mechanism]
            case placed.SharedRead():
                return str(self.program.interner.attributes[node.atom])
            case placed.Hold() | placed.WriteShared():
                return str(self.program.interner.attributes[node.atom])
            case placed.LoadView() | placed.LoadPointer():
                return "ld.global"
            case placed.Convert() if chosen:
                here, there = self.selection.layout(node.source_layout), self.selection.layout(node.layout)
                if not isinstance(here, Layout) or not isinstance(there, Layout):
                    return ""
                bits = moved_bits(self.selection.oracle.tile(node.type).element)
                return CONVERSIONS.get(type(plan(here, there, bits, self.selection.target)), "through shared memory")
            case _:
                return ""

    def parts(self, node: Node, cost: float) -> dict[str, float]:
        """A cost by pipe, over all iterations; nothing where the sum is not that of the extraction graph."""
        if not cost or math.isinf(cost):
            return {}
        value, layout = self.selection.owner[node.cls]
        deps = self.frozen.analysis.get("deps", {}).get(value, 0)
        held = self.selection.oracle.layouts[layout] if layout > 0 else None
        warps = held.n_warps if isinstance(held, Layout) else self.selection.warps
        try:
            price = self.pricer.price(node, NodeContext(layout, warps, self.innermost(deps)))
        except TileError:  # a term of the user's that has no price of its own
            return {}
        trips = self.trips.product(deps)
        if price is None or abs(trips * price.cost.scalar() - cost) > SAME * cost:
            return {}
        parts = {pipe: trips * getattr(price.cost, pipe) for pipe in PIPES}
        return {pipe: cycles for pipe, cycles in parts.items() if cycles}

    # --- runners-up

    def run_up(self) -> None:
        """What comes second for each chosen tile, as `--explain` finds it."""
        for cls, node in self.selection.node.items():
            value = self.value_of(cls)
            if value < 0 or cls not in self.form_number or isinstance(node, placed.Identity | placed.Convert):
                continue
            kind = self.pricer.value_type(self.classes[value])
            chosen = self.explanation.chosen[cls]
            tile = isinstance(kind, TileType) and kind.size > 1 and bool(self.values[value].names)
            if tile and self.selection.graph.columns.cost[chosen] > 0:
                found = self.explanation.runner_up(self.classes[value], chosen)
                self.forms[self.form_number[cls]].second = found.text
                for each in found.nodes:
                    if each in self.way_of and found.more is not None:
                        self.way_of[each].runner_up = found.more

    # --- effects and loops

    def effects(self) -> Iterator[Effect]:
        """Stores, updates and ordered loads with their ways."""
        around = self.around()
        ways = self.effect_ways()
        for item in self.program.skeleton.walk():
            if isinstance(item, SkeletonEffect):
                loop = self.loop_number.get(around.get(item.item, -1), -1)
                yield Effect(
                    item.op.name, self.places.add([item.op.location]), loop,
                    [self.effect_way(number, item) for number in ways.get(item.item, ())],
                )  # fmt: skip

    def effect_ways(self) -> dict[int, list[int]]:
        """The nodes of the extraction graph for each item."""
        found: dict[int, list[int]] = defaultdict(list)
        for number, choice in self.selection.choices.items():
            if isinstance(choice, StoreChoice):
                found[choice.item].append(number)
        return found

    def effect_way(self, number: int, item: SkeletonEffect) -> Way:
        """One way of an effect."""
        choice = self.selection.choices[number]
        assert isinstance(choice, StoreChoice)
        cost = self.selection.graph.columns.cost[number]
        of_dense = {
            self.explanation.class_of(n): cls for n, node in self.selection.enodes.items() for cls in [node.cls]
        }
        classes = [of_dense[c] for c in map(int, self.selection.graph.children(number)) if c in of_dense]
        return Way(
            item.op.name.rpartition(".")[2], self.explanation.store(choice, item.op), choice.way,
            cost=cost if math.isfinite(cost) else None,
            reason="" if math.isfinite(cost) else "not legal on this target",
            kids=[self.form_number[c] for c in classes if c in self.form_number],
            chosen=self.selection.answer.chosen.get(self.explanation.class_of(number)) == number,
        )  # fmt: skip

    def around(self) -> dict[int, int]:
        """The innermost loop around each store."""
        found: dict[int, int] = {}
        for item in self.loop_items:  # outer before inner
            found |= {each.item: item.loop for each in item.body.walk() if isinstance(each, SkeletonEffect)}
        return found

    def loops(self) -> Iterator[Loop]:
        """The loops in program order."""
        for item in self.loop_items:
            path = self.paths[item.loop]
            parent = self.loop_number[path[-2]] if len(path) > 1 else -1
            carried = list(zip(item.inits, item.carried, item.yields, item.results, strict=False))
            around = [[self.number.get(self.frozen.numbers.get(k, -1), -1) for k in each] for each in carried]
            kinds = [type(kind) for kind in item.types]
            around = [each for each, kind in zip(around, kinds, strict=False) if kind is not TokenType]
            place = item.op.location
            name = f"loop at line {place.line}" if place.line else "loop"
            yield Loop(name, self.places.add([place]), parent, self.trips.counts.get(item.loop, 1.0), around)

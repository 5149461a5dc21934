"""Explains a program: statistics of saturation, the choice of extraction for every tile, and the runner-up.

The runner-up of a choice is found by forbidding the choice and extracting again, so its cost is that of a whole program
and includes everything else that would have to change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from egraph import placed
from egraph.forms import PlacedForm
from egraph.placed import Mechanism
from egraph.skeleton import SkeletonEffect
from egraph.term import Node, Term
from extract import Answer, Budget, ExtractionError, extract
from ir.checked import checked
from ir.core import Block, Location, Op, Value
from ir.dialects import llvm
from ir.dialects.cuda_tile import AtomicCAS, AtomicRMW, Entry, IToF, LoadPtr, StoreView
from ir.dialects.nv_tileas import Func
from ir.records import dataclass
from ir.text.names import Names
from ir.types import TileType
from lowering.atoms.bytes import bytes_atom
from lowering.atoms.copy import BYTE_MATRICES
from lowering.atoms.evictions import NAME as EVICTION
from lowering.atoms.evictions import streamed_classes
from lowering.atoms.forbidden import forbidden
from lowering.atoms.pairs import pairs_atom
from lowering.atoms.wgmma import IMM_SCALE
from lowering.compiled import Compiled
from lowering.counts import Form, modifiers, type_names
from lowering.layouts.layout import Layout
from lowering.modulo.explain import masks, powers, schedules
from lowering.modulo.predict import predicted
from lowering.ptx.grant import resident
from lowering.schedule.explain import agents
from lowering.selection import Selection, StoreChoice
from lowering.selection.resources import SPILLS
from lowering.selection.units import least_time
from lowering.targets import Feature, target

COPIES = {Mechanism.REGISTERS: "ld.global and st.shared", Mechanism.CP_ASYNC: "cp.async", Mechanism.TMA: "tma"}
NEEDED = {
    "cp.async": frozenset({Feature.CP_ASYNC}),
    "tma": frozenset({Feature.TMA}),
    "ldmatrix": frozenset({Feature.LDMATRIX}),
    BYTE_MATRICES.name: BYTE_MATRICES.features,
}
TRIALS = 10_000.0
"""Units of work (`extract.budget`) for all runners-up of a report, which a user waits for."""


def explain(compiled: Compiled) -> str:
    """The report: saturation, sizes, cost and bound, tile values and stores in the source's order, agents, loops."""
    report = Explanation(compiled.selection)
    cut = ["large tiles are cut into slices of rows or columns: values below are listed once per slice"]
    sections = (
        report.saturation(), cut if compiled.slices else (), report.extraction(), report.tile_blocks(),
        clusters(compiled), report.consumers(), report.loops(), (*report.shape(), *ctas(compiled)), report.values(),
        report.stores(), report.legend(),
        agents(checked(compiled.modules["nv_tileas"], Func)), schedules(compiled.selection), masks(compiled.selection),
        report.straight(),
    )  # fmt: skip
    return "\n\n".join(text for text in map("\n".join, sections) if text)


def clusters(compiled: Compiled) -> Iterator[str]:
    """The cost of each number of CTAs, if it was a choice, and of one CTA, if a hint or an option asks for more."""
    ways = compiled.ways()
    if ways:
        yield "clusters, by the cycles of a CTA times CTAs of a tile block, or rounds over the device"
        least = min(compiled.selection.clusters or ways[-1:], key=lambda each: each.total)
        yield from (f"    {each}" + ", taken" * (each is least) for each in ways)


def ctas(compiled: Compiled) -> Iterator[str]:
    """The occupancy in CTAs, by the registers needed."""
    func = checked(compiled.modules["nvvm"], llvm.Func)
    registers = min(func.registers, int(target(func.target).registers_per_thread))
    yield str(resident(func))
    given = f", {func.maxnreg} given" if func.maxnreg else ""
    yield f"    {registers} registers per thread needed{given}, {func.dynamic_smem} bytes of shared memory"


@dataclass(frozen=True)
class RunnerUp:
    """The replacement of a forbidden choice, in words; the `nodes` of the extraction graph that are then chosen, and
    the extra cost of the whole program, if there is one.
    """

    text: str
    nodes: tuple[int, ...] = ()
    more: float | None = None


class Explanation:
    """Queries on a chosen program; descriptions by value class and by node of its extraction graph."""

    def __init__(self, selection: Selection):
        self.selection = selection
        self.graph = selection.graph
        self.answer = selection.answer
        self.frozen = selection.saturated.frozen
        self.program = selection.saturated.program
        self.oracle = selection.oracle
        self.streamed = streamed_classes(selection.saturated, selection.forbid)
        self.layouts: set[int] = set()
        self.trials = Budget(TRIALS)
        self.names = SourceNames(self.program.entry)
        self.chosen = {e.cls: n for n in self.answer.chosen.values() if (e := selection.enodes.get(n)) is not None}
        self.candidates: dict[int, list[int]] = {}  # value class -> graph nodes that compute it, in any layout
        for node, enode in selection.enodes.items():
            place = selection.owner.get(enode.cls)
            if place is not None and not isinstance(enode, placed.Identity | placed.Convert):
                self.candidates.setdefault(place[0], []).append(node)

    # --- saturation and totals

    def tile_blocks(self) -> Iterator[str]:
        """The cost of each schedule and each order of tile blocks, if that was a choice."""
        if self.selection.schedules:
            yield "tile blocks, by cycles of a launch, or of an SM for each of many"
            yield from (f"    {each}" for each in self.selection.schedules)
        if len(self.selection.orders) > 1:
            yield "order of tile blocks"
            first = min(self.selection.orders, key=lambda each: each.cycles)
            yield from (f"    {each}" + ", taken" * (each is first) for each in self.selection.orders)

    def loops(self) -> Iterator[str]:
        """Alternatives to the source's loops that were tried."""
        if self.selection.loops:
            yield "alternative loops (lowering/skeletons/table.py)"
            yield from (f"    {each}" for each in self.selection.loops)

    def straight(self) -> Iterator[str]:
        """Straight-line code in which loads could come before barriers, with its predicted time both ways."""
        if self.selection.straight:
            yield "straight-line code (predicted cycles)"
            yield from (f"  {each}" for each in self.selection.straight)

    def consumers(self) -> Iterator[str]:
        """How warpgroups share the tiles of a persistent loop, with the time of each way, if that was a choice."""
        if self.selection.consumers:
            yield "warpgroups per tile of the persistent loop, by predicted cycles per tile"
            yield from (f"    {each}" for each in self.selection.consumers)

    def saturation(self) -> Iterator[str]:
        """The report of saturation and the sizes it ended with."""
        report = self.selection.saturated.report
        yield "saturation"
        table = str(report).splitlines()
        yield from (f"  {line}" for line in table if not line.startswith("phase "))
        for phase, reason in report.stop.items():
            count = sum(each.phase == phase for each in report.iterations)
            sizes = [rows for name, _, rows in report.sizes if name == phase]
            if sizes:
                yield f"  {phase}: {count} iterations, {sizes[-1]} rows at its end, stopped: {reason.value}"

    def extraction(self) -> Iterator[str]:
        """Sizes, cost, bound and resources."""
        sorts = Counter(self.frozen.sort)
        yield f"e-graph: {sorts['V']} value classes, {sorts['P']} placed classes, {len(self.frozen.nodes)} nodes"
        yield f"extraction graph for {self.selection.target.name}: {self.graph.n_classes} classes, " + (
            f"{self.graph.n_nodes} nodes, {sum(map(math.isinf, self.graph.columns.cost))} of them not legal"
        )
        answer = self.answer
        yield f"extracted by {answer.method}: cost {answer.cost:g}, no program costs less than {answer.bound:g} " + (
            f"(gap {100 * answer.gap:.1f} %)"
        )
        if answer.ended:
            yield f"{answer.ended} ended the search"
        time = predicted(self.selection)
        looped = sum(each.cycles for each in time.loops)
        yield (
            f"predicted: {time.cycles:.0f} cycles of a CTA, {looped:.0f} of them in innermost loops, whose operations "
            + "overlap; cost and bound are sums without overlap"
        )
        yield from (
            f"    {each.shape}: {each.cycles:.0f} cycles predicted, cost {each.cost:g}"
            for each in self.selection.ranked
        )
        yield from (f"    {each}" for each in powers(self.selection))
        least = least_time(self.selection)
        if least.time.loops:
            limits = ", ".join(dict.fromkeys(least.time.busiest().values()))
            yield (
                f"units: {least.time.cycles:.0f} cycles if operations of a loop overlap (busiest: {limits}), no "
                + f"program takes fewer than {least.bound:.0f} (gap {100 * least.gap:.1f} %)"
                + (f"; one of {least.best.cycles:.0f} costs more" if least.best.cycles < least.time.cycles else "")
            )
        for name, limit in zip(self.graph.resource_names, self.graph.columns.limit, strict=True):
            spilled = self.selection.spilled.get(name)
            if spilled is None:
                yield f"{name}: {answer.resources[name]:g} of {limit:g} bytes"
            else:
                beyond = SPILLS[-1]  # capacity that the row has for spilled registers, which come from the others
                used = answer.resources[name] - beyond + spilled
                yield f"{name}: {used:g} of {limit - beyond:g} per thread" + (f", {spilled} spill" if spilled else "")

    def shape(self) -> Iterator[str]:
        """Warps of the CTA and stages of the rings, each with the cost of the program without that choice."""
        yield f"{self.selection.warps} warps compute"
        for cls, node in self.answer.chosen.items():
            if cls in self.selection.shape:
                yield f"    {self.selection.shape[cls]}, {self.cost(node)}"
                trial = self.without([node])
                others = [] if trial is None else [self.selection.shape.get(c) for c in trial.chosen]
                kind = self.selection.shape[cls].split(" ", 1)[1]
                other = next((text for text in others if text is not None and text.split(" ", 1)[1] == kind), None)
                if trial is None:
                    yield "        else none: every program needs it"
                else:
                    yield f"        else {other or 'a program that needs none'}; {self.difference(trial)}"

    # --- the choice for each value

    def values(self) -> Iterator[str]:
        """One entry for each class of tile values: its layouts, the node that computes it, and the runner-up."""
        yield "tile values (cost: SM cycles of one CTA over all iterations; else: the choice without it)"
        known: dict[int, list[Value]] = {}
        for number, value in enumerate(self.program.values):
            if value is not None and isinstance(value.type, TileType) and value.type.size > 1:
                known.setdefault(self.frozen.class_of(number), []).append(value)
        for cls, values in known.items():
            names = " = ".join(dict.fromkeys(map(self.names.of, values)))
            yield f"{names} : {values[0].type}, {place_of(values[0])}"
            lines = list(self.value(cls))
            yield from lines or ["    not computed: the program does not need it"]

    def value(self, cls: int) -> Iterator[str]:
        """All forms in which a value is computed or converted, and its candidates that are not legal."""
        for made, node in self.selection.node.items():
            place = self.selection.owner.get(made)
            if place is not None and place[0] == cls and not isinstance(node, placed.Identity):
                graph_node = self.chosen[made]
                yield f"    {self.how(node)}, {self.cost(graph_node)}{self.permitted(node)}"
                if not isinstance(node, placed.Convert) and self.graph.columns.cost[graph_node] > 0:
                    yield f"        {self.runner_up(cls, graph_node).text}"
        if cls in self.selection.written:
            yield "    as written: a replacement by permission was cheaper in one of its layouts, not in all"
        reasons = {self.why_not(self.selection.enodes[n]) for n in self.candidates.get(cls, ()) if self.illegal(n)}
        yield from (f"    not legal: {reason}" for reason in sorted(reasons))

    def permitted(self, node: Node) -> str:
        """The chosen replacement of the value by a permission, if any."""
        kept = node
        while isinstance(kept, placed.Instead):
            kept = self.selection.node[kept.source]
        return "" if kept is node else f": by permission {self.how(kept)}, {self.cost(self.chosen[kept.cls])}"

    def stores(self) -> Iterator[str]:
        """The layout and width of each store."""
        yield "stores"
        ops = {item.item: item.op for item in self.program.skeleton.walk() if isinstance(item, SkeletonEffect)}
        for node in self.answer.chosen.values():
            choice = self.selection.choices.get(node)
            if isinstance(choice, StoreChoice):
                yield f"{ops[choice.item].name}, {ops[choice.item].location}"
                yield f"    {self.store(choice, ops[choice.item])}, {self.cost(node)}"
                trial = self.without(self.same_way(node, choice))
                other = None if trial is None else self.selection.choices.get(trial.chosen[self.class_of(node)])
                if isinstance(other, StoreChoice) and trial is not None:
                    yield f"        else {self.store(other, ops[other.item])}; {self.difference(trial)}"

    def same_way(self, node: int, choice: StoreChoice) -> list[int]:
        """The nodes that store by the same instructions in any layout; those of one layout if all do."""
        known = self.selection.choices
        owner, cls = self.graph.columns.node_class, self.class_of(node)
        ways = {n: c for n, c in known.items() if owner[n] == cls and isinstance(c, StoreChoice)}
        same = [n for n, other in ways.items() if other.atom == choice.atom]
        return same if len(same) < len(ways) else [node]

    def store(self, choice: StoreChoice, op: Op) -> str:
        """A lowering of a store in words."""
        if choice.atom:
            buffer = self.layout(choice.shared)
            kind = "reduction" if choice.reduces else "store"
            parts = f" in {choice.parts} parts" if choice.parts > 1 else ""
            return f"TMA {kind} of {buffer}{parts}, written by {choice.atom} from {self.layout(choice.layout)}"
        unit, name = "bytes" if isinstance(op, StoreView) else "elements", "st.global"
        if isinstance(op, LoadPtr | AtomicRMW | AtomicCAS):
            name = "ld.global" if isinstance(op, LoadPtr) else "atom"
        return f"from {self.layout(choice.layout)}, {name} of {choice.width} {unit}"

    def runner_up(self, cls: int, node: int) -> RunnerUp:
        """The choice for a value when a node is forbidden, and the cost of that program."""
        same = [n for n in self.candidates.get(cls, ()) if self.selection.enodes[n] == self.selection.enodes[node]]
        if all(self.illegal(n) for n in self.candidates.get(cls, ()) if n not in same):
            return RunnerUp("else none: there is no other legal way")
        if not self.trials.left:
            return RunnerUp(f"else not tried: the {TRIALS:g} work units for runners-up are used up")
        trial = self.without(same)
        if trial is None:
            return RunnerUp("else none: every program needs it")
        before = {self.selection.enodes[n] for n in self.answer.chosen.values() if n in self.selection.enodes}
        ways = set(self.candidates.get(cls, ()))
        chosen = [n for n in trial.chosen.values() if n in ways]
        now = [n for n in chosen if self.selection.enodes[n] not in before]
        if not now:
            words = "the same, used less often" if chosen else "a program without this value"
        else:
            here = self.how(self.selection.enodes[node])
            texts = [self.how(self.selection.enodes[n]) for n in now]
            words = " and ".join(text + (", with other operands" if text == here else "") for text in texts)
        return RunnerUp(f"else {words}; {self.difference(trial)}", tuple(now), trial.cost - self.answer.cost)

    def without(self, nodes: list[int]) -> Answer | None:
        """The best program without these nodes: those of one e-node, or of one choice."""
        try:
            return extract(self.graph.forbid(nodes), "auto", budget=self.trials, branch=self.selection.branch)
        except ExtractionError:
            return None

    def difference(self, trial: Answer) -> str:
        change = trial.cost - self.answer.cost
        return f"the program then costs {trial.cost:g} ({change:+g})"

    # --- words

    def how(self, node: Node) -> str:
        """A node in words, with the layout of its result."""
        held = self.layout(self.selection.owner[node.cls][1])
        match node:
            case placed.Convert():
                return f"{held}: converted from {self.layout(node.source_layout)}"
            case placed.LoadView():
                return f"{held}: ld.global of {node.bytes} bytes{self.evicted(node)}"
            case placed.LoadPointer():
                return f"{held}: ld.global of {node.width} elements"
            case placed.GatherCopy():
                return f"{held}: cp.async of {node.width} elements"
            case placed.Copy():
                policy = self.evicted(node) if node.mechanism == Mechanism.TMA else ""
                return f"{held}: {self.atom(node)} of {node.bytes} bytes{policy}"
            case placed.SharedRead():
                return f"{held}: {self.atom(node)} from {self.layout(self.selection.owner[node.source][1])}"
            case placed.Product():
                return f"{held}: {self.oracle.choice(node.choice)}"
            case placed.PlacedReduce() | placed.PlacedFold():
                return f"{held}: reduced from {self.layout(node.source_layout)}{self.folded(node)}"
            case _:
                return f"{held}: {title(node)}{self.paired(node)}"

    def evicted(self, node: placed.Load) -> str:
        """The L2 cache policy of a load."""
        return f", {EVICTION}" if self.selection.owner[node.cls][0] in self.streamed else ""

    def folded(self, node: Node) -> str:
        """The instructions that reduce the registers of a thread, and its lanes."""
        if not isinstance(node, placed.PlacedReduce | placed.PlacedFold):
            return ""
        of, _ = self.selection.owner[node.list]
        kind = self.frozen.analysis["type"][next(iter(self.frozen.listed(of)), of)]
        folding = self.selection.folds.of(node, self.oracle.tile(kind).shape)
        lanes = folding.lanes if folding.plan.lane_bits else ""
        atoms = [each for each in (folding.thread, lanes) if each]
        return f" by {', '.join(atoms)}" if atoms else ""

    def paired(self, node: Node) -> str:
        """The instruction by which an elementwise operation processes several elements at once."""
        value, id = self.selection.owner[node.cls]
        type = self.frozen.analysis["type"].get(value)
        kind = None if type is None else self.program.interner.type(type)
        layout = self.oracle.layouts[id]
        if not isinstance(kind, TileType) or not isinstance(layout, Layout):
            return ""
        target, forbid = self.selection.target, self.selection.forbid
        atom = pairs_atom(target, forbid, title(node), kind.element, layout.n_regs)
        if isinstance(node, PlacedForm) and node.operation is IToF:
            source = self.frozen.analysis["type"].get(self.selection.owner[node.operand(IToF.from_)][0])
            types = type_names(None if source is None else self.program.interner.type(source), kind)
            form = Form(title(node), modifiers(node.operation, node.numbers), types)
            atom = bytes_atom(target, forbid, form, layout)
        return f" by {atom}" if atom else ""

    def atom(self, node: Node) -> str:
        """The name under which an instruction can be forbidden."""
        match node:
            case placed.GatherCopy():
                return COPIES[Mechanism.CP_ASYNC]
            case placed.Copy():
                return COPIES[node.mechanism]
            case placed.SharedRead():
                return self.program.interner.attributes[node.atom]
            case placed.Product():
                return self.oracle.choice(node.choice).atom.name
            case _:
                return title(node)

    def why_not(self, node: Node) -> str:
        """Why a candidate is not legal here."""
        name, target = self.atom(node), self.selection.target
        if placed.negated(node) and forbidden(IMM_SCALE, self.selection.forbid):
            return f"{IMM_SCALE}: forbidden by the caller"
        if forbidden(name, self.selection.forbid):
            return f"{name}: forbidden by the caller"
        needed = NEEDED.get(name, frozenset())
        if isinstance(node, placed.Product):
            needed = self.oracle.choice(node.choice).atom.features
        missing = sorted(feature.value for feature in needed - target.features)
        if missing:
            return f"{name}: {target.name} lacks {', '.join(missing)}"
        match node:
            case placed.Product() if not all(map(self.illegal, self.candidates[self.value_of(node)])):
                return f"{name}: tensor cores compute this product"
            case placed.Product():
                return f"{name}: no target multiplies elements this narrow one at a time"
            case placed.Convert():
                source = self.layout(node.source_layout)
                return f"{name}: from {source}, for another number of warps, or with too much scratch memory"
            case placed.Copy():
                return f"{name}: {self.why_no_copy(node)}"
            case _:
                return f"{name}: does not fit {self.layout(self.selection.owner[node.cls][1])}"

    def why_no_copy(self, node: placed.Copy) -> str:
        """Why an asynchronous copy that the target supports is not legal."""
        view = self.program.interner.types[node.view_type]
        if view.padding not in (None, "zero"):
            return f"pads with {view.padding}, but asynchronous copies pad with zeros only"
        if node.mechanism != Mechanism.TMA:
            return f"no access of {node.bytes} bytes in {self.layout(node.shared)}"
        if not self.frozen.analysis.get("deps", {}).get(self.value_of(node), 0):
            return "not in a loop, and no producer loads tiles of one"
        return f"no boxes make {self.layout(node.shared)}"

    def value_of(self, node: Node) -> int:
        """The value class that a node computes."""
        return self.selection.owner[node.cls][0]

    def layout(self, id: int) -> str:
        """A layout by its short name, which the legend explains."""
        self.layouts.add(id)
        return f"L{id}"

    def legend(self) -> Iterator[str]:
        """The layouts that were named."""
        yield "layouts"
        yield from (f"L{id} = {self.oracle.layouts[id]}" for id in sorted(self.layouts))

    def cost(self, node: int) -> str:
        cost = self.graph.columns.cost[node]
        return f"cost {cost:g}" if cost else "free"

    def illegal(self, node: int) -> bool:
        """Is its cost infinite on this target?"""
        return math.isinf(self.graph.columns.cost[node])

    def class_of(self, node: int) -> int:
        """The extraction class of a graph node."""
        return self.graph.columns.node_class[node]


class SourceNames:
    """Source names of values; unnamed ones get the names that the disassembler would use."""

    def __init__(self, entry: Entry):
        self.entry = entry
        self.made: dict[Any, str] | None = None

    def of(self, value: Value) -> str:
        """`%name`."""
        if value.name:
            return f"%{value.name}"
        if self.made is None:
            self.made = dict(Names(self.entry).texts)
        return self.made.get(value, "%?")


def title(node: Node) -> str:
    """The display name of an operation."""
    return node.title() if isinstance(node, Term) else node.op


def place_of(value: Value) -> Location:
    """Where a value is defined."""
    owner = value.owner
    op: Op | None = owner.parent_op if isinstance(owner, Block) else owner
    return op.location if op is not None else Location()


__all__ = ["explain"]

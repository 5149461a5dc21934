"""The passes from the source to a scheduled kernel of nv_tileas: cuda_tile, the e-graph, the choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from egraph.encode import EncodedProgram
from egraph.encode import encode as encode_entry
from egraph.rulefile import own_rules
from egraph.saturate import Limits, Saturated
from egraph.saturate import saturate as saturate_program
from egraph.schedulers import TURNS
from extract import CostFunction, Extractor
from ir.core import Op, UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.dialects.nv_tileas import PartialSum
from ir.dialects.nv_tileas_tokens import verify_pipelines
from ir.records import dataclass
from lowering.clusters import Division, Refusal, divisions, promising, refuse_cluster
from lowering.decode import decode as decode_choice
from lowering.launch import parameters
from lowering.modulo.ahead import choose
from lowering.modulo.assignment import assign
from lowering.modulo.powers import choose_powers
from lowering.modulo.transforming import choose_agents
from lowering.passes.manager import Context
from lowering.persistence import already, best_order, persistent
from lowering.placement import LayoutOracle, seed
from lowering.schedule import lower_pipelines, map_agents, materialize
from lowering.schedule.masked import peel
from lowering.schedule.rotation import rotate
from lowering.schedule.tensor import place_accumulators
from lowering.selection import Selection, first_bound, select
from lowering.slicing import HELD, THREADS, Product, fitted, in_slices
from lowering.source.half_bytes import in_bytes, of_halves
from lowering.source.induction import from_counters, growing
from lowering.source.inserts import by_places, of_few
from lowering.source.sliced_loops import in_trips
from lowering.source.supported import refuse_on_target, refuse_oversized, refuse_unsupported, registers_of
from lowering.source.unit_batches import of_one, without_unit_batches
from lowering.source.unrolling import unrolled
from lowering.targets import Feature
from lowering.targets.target import LEAST_WARPS, WARP

INFINITE = float("inf")
FOLDED = 64  # registers a thread for a reduced tile for which 4 warps suffice: as many again are computed from it
SPREAD = 16  # the same for tiles whose elements are independent: more only make the code of a thread longer
SINK = "sink-negf"  # the theory of egraph/rules/sink-negf.egg


@dataclass(frozen=True)
class Encoded:
    """A kernel as facts, and the oracle for queries about its layouts."""

    program: EncodedProgram
    oracle: LayoutOracle


@dataclass(frozen=True)
class Prepared:
    """A saturated e-graph and the oracle of its queries: one serves all targets."""

    saturated: Saturated
    oracle: LayoutOracle
    problems: dict[Any, Any] = field(default_factory=dict[Any, Any], compare=False)
    """Extraction problems that were built from it."""


def pack_half_bytes(entry: ct.Entry, context: Context) -> ct.Entry:
    """Let arrays of f4E2M1FN be arrays of bytes, two elements each: loads are unpacked, what is stored is packed."""
    made = in_bytes(entry)
    context.count(accesses=lambda: sum(map(accesses_halves, entry.walk())))
    return made


def accesses_halves(op: Op) -> bool:
    """Is this a load or a store of f4E2M1FN?"""
    return isinstance(op, ct.LoadView | ct.StoreView) and of_halves(op.view.type)


def drop_unit_batches(entry: ct.Entry, context: Context) -> ct.Entry:
    """Let products with a batch dimension of one be products of two dimensions, and loops carry their sums so."""
    made = without_unit_batches(entry)
    context.count(products=lambda: sum(map(of_one, entry.walk())))
    return made


def select_small_inserts(entry: ct.Entry, context: Context) -> ct.Entry:
    """Let inserts of fewer elements than a CTA has threads be selects that compare places."""
    made = by_places(entry)
    context.count(inserts=lambda: sum(map(of_few, entry.walk())))
    return made


def make_persistent(entry: ct.Entry, context: Context, schedule: str, group: int, blocks: int) -> ct.Entry:
    """Let as many tile blocks as fit the device at once process all tiles, each in a loop around the kernel.

    *dynamic* depends on the target: a CTA takes over tile blocks that have not started, or draws the next from a
    counter. Tile blocks are ordered to load the fewest bytes into the L2 cache.
    """
    targets = context.shared.targets
    if schedule == "dynamic":
        has = all(tier.has(Feature.CLUSTER_LAUNCH) for tier in targets)
        schedule = "taken" if has else "atomic"
    made = entry
    if schedule != "off" and not already(entry):
        width = group or best_order(entry, targets[0], blocks).width
        made = persistent(entry, schedule, width)
    context.count(loops=int(made is not entry))
    return made


def plan_ctas(entry: ct.Entry, context: Context, ctas: int, cut: str) -> ct.Entry:
    """Divide a tile block among the CTAs of a cluster, if an option or a hint asks for several. Other divisions are
    left to `best-of-candidates`, which compares their costs.
    """
    asked = ctas or context.target.asked_cluster
    if ctas:
        refuse_cluster(ctas, context.target, entry)
    found: list[Division] | Refusal = [Division(entry, ())]
    if asked > 1:  # the same entries for all targets with this number: they share what follows
        parts = tuple(map(int, cut.split("x"))) if cut else ()
        found = context.shared.once(("cluster", entry, asked, cut), lambda: divided(entry, asked, parts))
    if isinstance(found, Refusal):
        if ctas:
            raise UnsupportedError(found.message(ctas), found.op.location, "compile without --num-ctas")
        found = [Division(entry, ())]
    context.divisions = tuple(found)
    context.count(ctas=found[0].entry.cluster)
    return found[0].entry


def divided(entry: ct.Entry, ctas: int, parts: tuple[int, ...] = ()) -> list[Division] | Refusal:
    """The ways to divide a tile block that are worth a trial."""
    found = divisions(entry, ctas, parts)
    return found if isinstance(found, Refusal) else promising(found)


def prepared(entry: ct.Entry) -> ct.Entry:
    """A division in the form that the passes before `best-of-candidates` produce."""
    return from_counters(unrolled(in_bytes(entry)))


def unroll(entry: ct.Entry, context: Context) -> ct.Entry:
    """Unroll counted loops of one trip, and small ones of a few."""
    made = unrolled(entry)
    context.count(loops=lambda: loops(entry) - loops(made))
    return made


def simplify_induction_variables(entry: ct.Entry, context: Context) -> ct.Entry:
    """Compute carried values that loads need, and that grow by a constant in each iteration, from loop counters."""
    made = from_counters(entry)
    context.count(variables=lambda: sum(len(list(growing(op))) for op in entry.walk() if isinstance(op, ct.For)))
    return made


def loops(entry: ct.Entry) -> int:
    """Counted loops of a kernel."""
    return sum(isinstance(op, ct.For) for op in entry.walk())


def check_supported(entry: ct.Entry, context: Context) -> ct.Entry:
    """Reject operations, parameters, conversions and tile sizes without a lowering, before any work is done."""
    parameters(entry)
    refuse_unsupported(entry)
    refuse_oversized(entry, WARP * max(warp_counts(entry)))
    for tier in context.shared.targets:
        refuse_on_target(entry, tier)
    return entry


def slice_products(entry: ct.Entry, context: Context, half: int, count: int) -> ct.Entry:
    """Cut products whose accumulators do not fit in a CTA into slices of rows or columns, each with its own loop. On
    request cut loops into slices of one iteration each, whose loads come before the first store.
    """
    made, cut = entry, 0
    try:
        made = fitted(entry)
    except UnsupportedError as error:
        if half or count:
            raise
        context.shared.unfit[entry] = error
    if count:
        made, cut = in_trips(made, count)
    if half:
        ways = in_slices(made)
        if half > len(ways):
            message = f"expected half up to {len(ways)}, the number of ways to cut the largest products, got {half}"
            raise UnsupportedError(message, entry.location, "slices have at least 64 rows or columns of a product")
        made = ways[half - 1]
    context.count(products=lambda: products(made) - products(entry), loops=cut)
    context.shared.sliced = made is not entry
    context.shared.uncut[made] = entry
    return made


def products(entry: ct.Entry) -> int:
    """Matrix products of a kernel."""
    return sum(isinstance(op, Product) for op in entry.walk())


def encode(entry: ct.Entry, context: Context, warps: int) -> Encoded:
    """Number the values, turn each pure operation and weak load into a row, keep effects as an ordered skeleton."""
    tiers = context.shared.targets
    asked = {tier.asked_warps for tier in tiers}
    offered = sorted({*(warp_counts(entry) if 0 in asked else ()), *asked} - {0})
    program = encode_entry(entry)
    features = frozenset[Feature]().union(*(tier.features for tier in tiers))
    boxed = all(tier.has(Feature.TMA) for tier in tiers)
    paired = Feature.MULTICAST in features and divided_in_tiles(entry)
    oracle = LayoutOracle(program, [warps] if warps else offered, features, boxed, offered, paired)
    program.facts.update(seed(program, oracle))
    context.count(values=len(program.values), rows=lambda: sum(map(len, program.facts.values())))
    return Encoded(program, oracle)


def divided_in_tiles(entry: ct.Entry) -> bool:
    """Do the CTAs of a cluster divide a tile, rather than the K steps of its products?"""
    return entry.cluster > 1 and not any(isinstance(op, PartialSum) for op in entry.walk())


def saturate(
    encoded: Encoded,
    context: Context,
    rules: tuple[str, ...],
    budget: int,
    without: tuple[str, ...],
    fast: tuple[str, ...] = (),
    scheduler: str = TURNS,
    rows: int = 0,
    iterations: int = 0,
    counting: bool = False,
    provenance: bool = False,
) -> Prepared:
    """Run all rules: rewrites and analyses to their fixpoint, then the placement of values in layouts."""
    program = encoded.program
    limits = Limits.of(program, budget or None, rows or None, iterations or None)
    ahead = frozenset(context.shared.operations)
    found = saturate_program(
        program, encoded.oracle, rules, without, limits, fast, scheduler, counting, provenance, ahead
    )
    report = found.report
    context.count(matches=report.matches, iterations=len(report.iterations), rows=report.size)
    return Prepared(found, encoded.oracle)


def sink_negf(encoded: Encoded, context: Context, budget: int) -> Prepared:
    """Move negations before shape operations and into products, and do nothing else: `saturate` with the rewrites of
    egraph/rules/sink-negf.egg alone.
    """
    rewrites = (rule.name for rule in own_rules() if rule.is_rule and rule.ruleset in ("canon", "algebra"))
    others = sorted({name for name in rewrites if not name.startswith(SINK)})
    return saturate(encoded, context, (), budget, tuple(others))


def extract(
    prepared: Prepared,
    context: Context,
    forbid: tuple[str, ...],
    method: str | Extractor,
    budget: float,
    apart: bool,
    below: float,
    unspilled: bool,
    aside: bool = False,
    costs: CostFunction | None = None,
    warps: int = 0,
    ctas: int = 0,
    sliced: bool = False,
) -> Selection:
    """Choose the cheapest program of the e-graph that the resources of the target allow."""
    found = select(
        prepared.saturated,
        prepared.oracle,
        context.target,
        frozenset(forbid),
        method,
        budget or None,
        apart,
        below,
        unspilled,
        costs,
        prepared.problems,
        aside,
        {"warps": warps, "ctas": ctas},
        sliced,
    )
    answer = found.answer
    context.count(classes=len(answer.chosen), cost=answer.cost, bound=answer.bound)
    return found


def glance(prepared: Prepared, context: Context, options: Mapping[str, Any]) -> float:
    """A lower bound on the cost of programs that `extract` finds with these options, from its first steps."""
    return first_bound(
        prepared.saturated,
        prepared.oracle,
        context.target,
        frozenset(options["forbid"]),
        options["apart"],
        options["below"],
        prepared.problems,
    )


def decode(selection: Selection, context: Context) -> nv_tileas.Func:
    """Write the chosen nodes as a program: each value hoisted out of loops as far as its operands allow; mark the
    products to issue one iteration early, powers of two computed in part by polynomials, the gathered
    tiles that a producer loads, and the tiles that a transformer computes, if that is predicted to make loops faster.
    """
    func = decode_choice(selection, selection.saturated.program.entry.sym_name)
    func.attributes["placed"] = True
    chosen = choose(selection, func)
    context.count(
        early=chosen,
        powers=choose_powers(selection, func),
        producers=assign(selection, func),
        transformers=choose_agents(selection, func),
        operations=lambda: sum(1 for _ in func.walk()),
        conversions=lambda: sum(isinstance(op, nv_tileas.ConvertLayout) for op in func.walk()),
    )
    return func


def rotate_loops(func: nv_tileas.Func, context: Context) -> nv_tileas.Func:
    """Rotate the loops whose first product is to be issued one iteration early."""
    made = rotate(func, context.target)
    context.count(loops=made)
    return func


def place_in_tensor_memory(func: nv_tileas.Func, context: Context) -> nv_tileas.Func:
    """Keep accumulators of tensor-memory products there: loops no longer carry them, they are loaded afterwards."""
    context.count(products=place_accumulators(func))
    return func


def materialize_schedule(
    func: nv_tileas.Func, context: Context, consumers: str, forbid: tuple[str, ...]
) -> nv_tileas.Func:
    """Assign copies a time, a buffer and an agent: pipelines whose stages have no numbers yet, regions that fill and
    read them, producer warps, scratch memory.
    """
    made = materialize(func, context.target, consumers, forbid)
    made.attributes.pop("placed", None)
    verify_pipelines(made)
    context.count(
        buffers=lambda: sum(isinstance(op, nv_tileas.AllocTensor) for op in made.walk()),
        pipelines=lambda: sum(isinstance(op, nv_tileas.CreatePipeline) for op in made.walk()),
        shared_bytes=made.shared_bytes,
    )
    return made


WAITS = (nv_tileas.BarrierWait, nv_tileas.AsyncWait)
ARRIVALS = (nv_tileas.BarrierArrive, nv_tileas.BarrierArriveCopies, nv_tileas.BarrierExpectTx)


def lower_regions(func: nv_tileas.Func, context: Context) -> nv_tileas.Func:
    """Turn iterators into stage and parity, and the regions of producers and consumers into waits, copies, arrivals."""
    made = lower_pipelines(func, context.target)
    context.count(
        waits=lambda: sum(isinstance(op, WAITS) for op in made.walk()),
        arrivals=lambda: sum(isinstance(op, ARRIVALS) for op in made.walk()),
    )
    return made


def peel_masks(func: nv_tileas.Func, context: Context, forbid: tuple[str, ...]) -> nv_tileas.Func:
    """Split loops at the iterations where masks are all true, if that is predicted to pay off."""
    made = peel(func, context.target, forbid)
    context.count(loops=made)
    return func


def map_execution_units(func: nv_tileas.Func, context: Context) -> nv_tileas.Func:
    """Align agents to whole warpgroups, the unit of setmaxnreg, and put small ones into the gaps between them."""
    made = map_agents(func, context.target)
    switches = [op for op in made.walk() if isinstance(op, nv_tileas.AgentSwitch)] if context.shared.counting else []
    context.count(
        agents=sum(len(each.regions) for each in switches), warps=sum(sum(each.agent_strides) for each in switches)
    )
    return made


def warp_counts(entry: ct.Entry) -> tuple[int, ...]:
    """Candidate numbers of warps for the CTA; extraction chooses. A single number for kernels without products, because
    cost alone never asks for more: the fewest warps that hold a reduced tile, which must be held whole, or that share
    others well.
    """
    products = max((registers_of(op.acc, THREADS) for op in entry.walk() if isinstance(op, Product)), default=0)
    if products:
        return (LEAST_WARPS, 2 * LEAST_WARPS) if products <= HELD else (2 * LEAST_WARPS,)
    folds = [op for op in entry.walk() if isinstance(op, ct.Combining)]
    if folds:
        most, few = max(registers_of(value, THREADS) for op in folds for value in op.operands), FOLDED
    else:
        results = [value for op in entry.walk() for value in op.results]
        most, few = max((registers_of(value, THREADS) for value in results), default=0), SPREAD
    if most <= few:
        return (LEAST_WARPS,)
    return (2 * LEAST_WARPS if most <= 2 * HELD else 4 * LEAST_WARPS,)

"""The compilation of a program, from a verified cuda_tile entry to PTX and a launch manifest, as a pipeline of
passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from egraph.permissions import of_entry
from egraph.saturate import Saturated
from extract import CostFunction, Extractor
from ir.checked import checked
from ir.core import Op, TileError
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.records import dataclass
from lowering.atoms.names import BELOW, STREAM, check_forbidden
from lowering.clusters.price import Way, clustered
from lowering.compiled import Compiled
from lowering.launch import manifest_of
from lowering.levels import printers
from lowering.passes.manager import Outcome, Shared, Watcher, run
from lowering.passes.registry import Step
from lowering.passes.syntax import parse, with_options, with_pass
from lowering.passes.table import ROAD
from lowering.persistence import already, best_order
from lowering.persistence.choice import SCHEDULES, cheapest_schedule
from lowering.persistence.order import orders
from lowering.placement import LayoutOracle
from lowering.ptx.grant import lacking
from lowering.selection import Selection
from lowering.selection.choices import Clustered
from lowering.selection.hints import as_asked
from lowering.targets import Feature, Target
from lowering.targets import target as target_named
from lowering.targets.changed import changed

CHOSEN = -1  # CTAs of a cluster: the number with the cheapest tile block
AUTO = "auto"  # a schedule of tile blocks: the cheapest one


@dataclass(frozen=True)
class Options:
    """Options of the caller: additional rule files, rules and atoms to leave out (by prefix), the extraction method (a
    name, or a user's function), and the work limits of extraction (units of `extract.budget`) and saturation (matches
    of rules, rows, iterations of a phase); None: the default. `fast`: permissions, NAME or ENTRY=NAME
    (`egraph.permissions`); `scheduler`: one of `egraph.schedulers`; `counting`: rows of the e-graph after every
    iteration; `provenance`: record what each rule matches; `costs`: a user's function that prices the nodes; `rates`:
    changed numbers in the target's tables (`lowering.targets.changed`). `verify_each`: verify every level, not only the
    placed program. `annotate`, `lineinfo`: source locations in PTX, as comments or as .loc directives. `persistent`:
    how persistent CTAs take their tiles (`lowering.persistence`), `AUTO`: the cheapest way. `ocg_knobs`:
    pragmas for the scheduler of ptxas (`lowering.ptx.knobs`). `ctas`: CTAs of a cluster that share a tile block, 0: as
    hints ask, `CHOSEN`: the cheapest number, for a launch of `tile_blocks`, 0: more than fill the device; `cut`: the
    parts, such as 1x2, into which they must divide its largest tile. `consumers`: whether warpgroups share one tile of
    a persistent loop or alternate on successive ones, `AUTO`: whichever is faster. `own_maps`: the kernel builds its
    tensor maps itself, so that its parameters are those of the entry.
    """

    rules: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()
    forbid: frozenset[str] = frozenset()
    extractor: str | Extractor = "auto"
    extract_budget: float | None = None
    saturate_budget: int | None = None
    verify_each: bool = False
    annotate: bool = False
    lineinfo: bool = False
    fast: frozenset[str] = frozenset()
    scheduler: str = "turns"
    rows: int | None = None
    iterations: int | None = None
    counting: bool = False
    provenance: bool = False
    costs: CostFunction | None = None
    rates: tuple[tuple[str, float], ...] = ()
    persistent: str = "off"
    ocg_knobs: bool = False
    ctas: int = 0
    cut: str = ""
    tile_blocks: int = 0
    consumers: str = AUTO
    own_maps: bool = False


def road(options: Options) -> tuple[Step, ...]:
    """The pass pipeline for these options."""
    steps = with_options(
        parse(ROAD),
        "saturate",
        rules=options.rules,
        without=tuple(sorted(options.without)),
        budget=options.saturate_budget or 0,
        fast=tuple(sorted(options.fast)),
        scheduler=options.scheduler,
        rows=options.rows or 0,
        iterations=options.iterations or 0,
        counting=options.counting,
        provenance=options.provenance,
    )
    steps = with_options(
        steps,
        "extract",
        forbid=tuple(sorted(options.forbid)),
        method=options.extractor,
        budget=float(options.extract_budget or 0),
        costs=options.costs,
    )
    steps = with_options(steps, "tileas-dynamic-persistent", schedule=options.persistent, blocks=options.tile_blocks)
    choose = options.ctas == CHOSEN
    steps = with_options(steps, "tileas-plan-cta", ctas=1 if choose else options.ctas, cut=options.cut)
    steps = with_options(
        steps, "best-of-candidates", clusters=choose, blocks=options.tile_blocks, consumers=options.consumers
    )
    for name, atoms in BELOW.items():
        given = sorted(prefix for prefix in options.forbid if any(atom.startswith(prefix) for atom in atoms))
        steps = with_options(steps, name, forbid=tuple(given))
    if options.ocg_knobs:
        steps = with_pass(steps, "tileas-insert-ocg-knobs", before="select-instructions")
    return with_options(steps, "print-ptx", annotate=options.annotate, lineinfo=options.lineinfo)


def compile_entry(
    module: ct.Module,
    entry: ct.Entry,
    targets: Sequence[str],
    options: Options,
    watchers: Sequence[Watcher] = (),
    counting: bool = False,
    shared: Shared | None = None,
) -> list[Compiled]:
    """Compile one entry of a verified module for some targets: one e-graph, an extraction and a lowering for each.
    `shared`: results of earlier compilations of this entry for these targets, to which this one adds its own.

    Raises TargetError for an unknown target, UnsupportedError or TileError, located, for what cannot be compiled.
    """
    if options.persistent == AUTO:
        return [
            _cheapest(module, entry, target, options, watchers, counting, shared if len(targets) == 1 else None)
            for target in targets
        ]
    tiers = tuple(_tier(entry, target, options) for target in targets)
    check_forbidden(options.forbid)
    options = replace(options, fast=of_entry(options.fast, entry.sym_name, (each.sym_name for each in module.entries)))
    parts, made = _of_one_program(entry, tiers, options), dict[int, Outcome]()
    for part in parts:
        some, known = tuple(tiers[i] for i in part), shared if len(parts) == 1 else None
        outcomes = run(road(options), entry, (), watchers, options.verify_each, counting, tiers=some, shared=known)
        made.update(zip(part, outcomes, strict=True))
    return [_compiled(module, entry, made[i], options) for i in range(len(tiers))]


def _tier(entry: ct.Entry, name: str, options: Options) -> Target:
    """A target as requested by the kernel and the options."""
    found = changed(target_named(name), options.rates)
    return as_asked(entry, found.making_maps() if options.own_maps and found.has(Feature.TMA) else found)


def _cheapest(
    module: ct.Module,
    entry: ct.Entry,
    target: str,
    options: Options,
    watchers: Sequence[Watcher],
    counting: bool,
    shared: Shared | None,
) -> Compiled:
    """The cheapest of the unchanged and the persistent kernel, for one target. Raises the error of the unchanged kernel
    if none can be compiled.
    """
    made: dict[str, Compiled] = {}
    errors: dict[str, TileError] = {}
    for schedule in SCHEDULES[:1] if already(entry) else SCHEDULES:
        given = replace(options, persistent=schedule, forbid=options.forbid | {STREAM})  # it loops over tiles itself
        try:
            (made[schedule],) = compile_entry(module, entry, [target], given, watchers, counting, shared)
        except TileError as error:
            errors[schedule] = error
    if not made:
        raise next(iter(errors.values()))
    tier = _tier(entry, target, options)
    return cheapest_schedule(entry, tier, made, errors, options.tile_blocks)


def _of_one_program(entry: ct.Entry, tiers: Sequence[Target], options: Options) -> list[list[int]]:
    """Numbers of the targets that share a source program: with dynamic tiles, targets with and without
    clusterlaunchcontrol are separate, and so are those with different orders.
    """
    parts: dict[tuple[bool, int], list[int]] = {}
    for number, tier in enumerate(tiers):
        taken = options.persistent == "dynamic" and tier.has(Feature.CLUSTER_LAUNCH)
        width = 0 if options.persistent == "off" else best_order(entry, tier, options.tile_blocks).width
        parts.setdefault((taken, width), []).append(number)
    return list(parts.values())


def _compiled(module: ct.Module, entry: ct.Entry, outcome: Outcome, options: Options) -> Compiled:
    levels = outcome.context.levels
    selection: Selection = levels["chosen"]
    program = selection.saturated.program
    modules = {name: levels[name] for name in ("nv_tileas", "nvgpu", "nvvm")}
    stages: dict[str, Callable[[], str]] = {
        "cuda_tile": lambda: _as_text(module),
        "nv_tileaa": lambda: _generic(levels["nv_tileaa"]),
        "egraph": lambda: _egraph(selection.saturated, selection.oracle),
        **printers(modules, outcome.program),
    }
    if options.persistent != "off" and not already(entry):
        selection.orders = tuple(orders(entry, outcome.context.target, options.tile_blocks))
    divided = bool(selection.clusters) and max(program.entry.cluster, program.entry.split) > 1  # from the uncut kernel
    slices = (outcome.context.shared.sliced and not divided) or program.entry is not levels["cuda_tile"]
    return Compiled(
        outcome.program,
        manifest_of(levels["nvvm"]),
        stages,
        selection,
        modules,
        levels["nv_tileaa"],
        _explained,
        outcome.context.seconds,
        slices,
        outcome.context.counts,
        options.persistent,
        levels["nvvm"].minctas,
        lacking(levels["nvvm"]),
        lambda: _ways(module, entry, outcome, options),
    )


def _explained(compiled: Compiled) -> str:
    from lowering.explain import explain  # only reports need it

    return explain(compiled)


def _ways(module: ct.Module, entry: ct.Entry, outcome: Outcome, options: Options) -> Sequence[Clustered]:
    """The costs of the ways tried for a cluster, and of a single CTA, which is compiled for comparison."""
    context = outcome.context
    selection: Selection = context.levels["chosen"]
    placed: nv_tileas.Func = context.levels["nv_tileas"]
    found, ctas = selection.clusters, placed.cluster[0]
    if ctas == 1 or any(way.ctas == 1 for way in found):
        return found
    if not found:
        parts = context.divisions[0].parts if context.divisions else ()
        found = (clustered(selection, placed, Way(ctas, parts=parts), options.tile_blocks),)
    try:
        (one,) = compile_entry(module, entry, [context.target.name], replace(options, ctas=1, cut=""))
    except TileError as error:
        return Clustered(1, reason=error.message), *found
    placed = checked(one.modules["nv_tileas"], nv_tileas.Func)
    return clustered(one.selection, placed, Way(1), options.tile_blocks), *found


def _as_text(module: ct.Module) -> str:
    from ir.text import print_text  # printers, like their output, are imported on demand

    return print_text(module)


def _generic(op: Op) -> str:
    from ir.text import print_generic

    return print_generic(op)


def _egraph(saturated: Saturated, oracle: LayoutOracle) -> str:
    from lowering.egraph_text import egraph_text

    return egraph_text(saturated, oracle)

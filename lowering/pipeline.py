"""The road of a program, from a verified cuda_tile entry to PTX and a launch manifest, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from egraph.encode import Program, encode
from egraph.saturate import Limits, Saturated, saturate
from ir.core import Op, TileError
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas import Func
from lowering.atoms.names import check_forbidden
from lowering.clock import Clock
from lowering.decode import decode
from lowering.launch import parameters
from lowering.levels import descend, verified
from lowering.placement import LayoutOracle, seed
from lowering.schedule import MemoryExceededError, schedule
from lowering.selection import Selection, select
from lowering.selection.hints import as_asked
from lowering.slicing import HELD, THREADS, Product, fitted, in_slices
from lowering.supported import refuse_on_target, refuse_oversized, refuse_unsupported, registers_of
from lowering.targets import Feature, Target
from lowering.targets import target as target_named
from lowering.targets.target import LEAST_WARPS, WARP
from lowering.unrolling import unrolled

INFINITE = float("inf")
FOLDED = 64  # registers a thread for a reduced tile, with which 4 warps do: as many again are computed from it
SPREAD = 16  # the same for tiles of which each element goes its own way: more only make the code of a thread longer
UNSPILLED = 1.05  # an estimate: of attention's priced registers ptxas 13.5 stored 0 of 32, 134 of 32, 175 of 128


@dataclass(frozen=True)
class Options:
    """What the caller may vary: more rule files, rules and atoms left out (by prefix), the extraction method, and how
    much work extraction (units of `extract.budget`) and saturation (matches of rules) may do; None: the default.
    `verify_each`: every level is verified, not only the placed program.
    """

    rules: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()
    forbid: frozenset[str] = frozenset()
    extractor: str = "auto"
    extract_budget: float | None = None
    saturate_budget: int | None = None
    verify_each: bool = False


@dataclass(frozen=True)
class Prepared:
    """A saturated e-graph and what answered its questions: one serves all targets."""

    saturated: Saturated
    oracle: LayoutOracle

    @property
    def program(self) -> Program:
        """The encoded kernel."""
        return self.saturated.program


@dataclass
class Compiled:
    """A compiled entry. `stages` print a level when called, `modules` are the levels below the e-graph as ops."""

    ptx: str
    manifest: dict[str, Any]
    stages: dict[str, Callable[[], str]]
    selection: Selection
    modules: dict[str, Op]
    timings: dict[str, float] = field(default_factory=dict[str, float])
    slices: bool = False  # is the kernel cut into slices of rows or columns?

    @property
    def cost(self) -> float:
        """Cost of the extracted program."""
        return self.selection.answer.cost

    @property
    def bound(self) -> float:
        """No program of the e-graph costs less."""
        return self.selection.answer.bound

    @property
    def saturated(self) -> Saturated:
        """The e-graph and its report."""
        return self.selection.saturated

    @property
    def limits(self) -> list[str]:
        """What a limit on counted work ended early, in words."""
        answer, found = self.selection.answer, list[str]()
        if self.saturated.report.ended:
            found.append(f"saturation ended early, {self.saturated.report.ended}; --saturate-budget allows more")
        if answer.ended:
            found.append(
                f"{answer.ended} ended the search: cost {answer.cost:g}, no program costs less than {answer.bound:g}; "
                "--extract-budget allows more"
            )
        return found

    def explain(self) -> str:
        """What saturation did and what extraction chose."""
        from lowering.explain import explain

        return explain(self)


def compile_entry(module: ct.Module, entry: ct.Entry, targets: Sequence[str], options: Options) -> list[Compiled]:
    """Compile one entry of a verified module for some targets: one e-graph, an extraction and a lowering for each.

    Raises TargetError for an unknown target, UnsupportedError or TileError, located, for what cannot be compiled.
    """
    clock = Clock()
    tiers = [as_asked(entry, target_named(target)) for target in targets]
    asked = {tier.asked_warps for tier in tiers}
    check_forbidden(options.forbid)
    parameters(entry)
    refuse_unsupported(entry)
    features = frozenset[Feature]().union(*(tier.features for tier in tiers))
    given, entry = entry, unrolled(entry)
    refuse_oversized(entry, WARP * max(warp_counts(entry)))
    whole = prepare(fitted(entry), asked, features, options, clock)
    again = cache(lambda: [prepare(each, asked, features, options, clock) for each in in_slices(whole.program.entry)])
    return [lower(module, given, entry, whole, again, tier, options, Clock(clock.seconds)) for tier in tiers]


def prepare(entry: ct.Entry, asked: Set[int], features: frozenset[Feature], options: Options, clock: Clock) -> Prepared:
    """The saturated e-graph of an entry. `asked`: warps that some targets' hints want, 0 for those without a hint."""
    counts = warp_counts(entry) if 0 in asked else ()
    with clock.stage("encode"):
        program = encode(entry)
        oracle = LayoutOracle(program, sorted({*counts, *asked} - {0}), features)
        program.facts.update(seed(program, oracle))
    with clock.stage("saturate"):
        limits = Limits.of(program, options.saturate_budget)
        return Prepared(saturate(program, oracle, options.rules, options.without, limits), oracle)


def lower(
    module: ct.Module, given: ct.Entry, source: ct.Entry, whole: Prepared, again: Callable[[], list[Prepared]],
    tier: Target, options: Options, clock: Clock,
) -> Compiled:  # fmt: skip
    """From a saturated e-graph to one target's PTX; `again` are those of the kernel in slices, which are tried where
    registers spill. `given` is the entry as it was read, `source` what was encoded of it. `clock` counts on.
    """
    entry = whole.program.entry
    refuse_on_target(entry, tier)
    prepared, (selection, scheduled) = whole, choose(whole, tier, options, clock)
    for other in again() if any(selection.spilled.values()) else ():
        try:
            tried = choose(other, tier, options, clock, most(selection))
        except TileError:
            continue  # where slices do not fit or cost more, the whole stays
        if preferable(tried[0], selection):
            prepared, (selection, scheduled) = other, tried
    verified(scheduled, clock)
    lowered = descend(scheduled, clock, options.verify_each)
    stages: dict[str, Callable[[], str]] = {
        "cuda_tile": lambda: _as_text(module),
        "nv_tileaa": lambda: _logical(given),
        "egraph": lambda: _egraph(prepared.saturated, prepared.oracle),
        **lowered.stages,
    }
    slices = prepared.program.entry is not source
    return Compiled(lowered.ptx, lowered.manifest, stages, selection, lowered.modules, clock.seconds, slices)


def preferable(tried: Selection, best: Selection) -> bool:
    """Does it cost less? Where fewer registers spill it may cost a little more: ptxas spills more than is priced."""
    fewer = sum(tried.spilled.values()) < sum(best.spilled.values())
    return tried.answer.cost < (most(best) if fewer else best.answer.cost)


def most(best: Selection) -> float:
    """What is preferable to a program that spills costs less than this."""
    return best.answer.cost * UNSPILLED


def choose(
    prepared: Prepared, tier: Target, options: Options, clock: Clock, below: float = INFINITE
) -> tuple[Selection, Func]:
    """The cheapest program, scheduled. Raises TileError where none costs less than `below`."""
    try:
        return attempt(prepared, tier, options, clock, below)
    except MemoryExceededError:  # rings that were to share memory could not: agents fill one of them, threads another
        return attempt(prepared, tier, options, clock, below, apart=True)


def attempt(
    prepared: Prepared, tier: Target, options: Options, clock: Clock, below: float, apart: bool = False
) -> tuple[Selection, Func]:
    """The cheapest program, scheduled. `apart`: no two loops share the memory of a ring."""
    saturated, oracle = prepared.saturated, prepared.oracle
    with clock.stage("extract"):
        budget = options.extract_budget
        selection = select(saturated, oracle, tier, options.forbid, options.extractor, budget, apart, below)
    with clock.stage("decode"):
        placed = decode(selection, saturated.program.entry.sym_name)
    with clock.stage("schedule"):
        return selection, schedule(placed, tier)


def _as_text(module: ct.Module) -> str:
    from ir.text import print_text  # printers, like what they print, are for those who ask

    return print_text(module)


def _logical(entry: ct.Entry) -> str:
    from ir.text import print_generic
    from lowering.convert.cuda_tile_to_tileaa import convert

    return print_generic(convert(entry))


def _egraph(saturated: Saturated, oracle: LayoutOracle) -> str:
    from lowering.egraph_text import egraph_text

    return egraph_text(saturated, oracle)


def warp_counts(entry: ct.Entry) -> tuple[int, ...]:
    """Numbers of warps that the CTA may have; extraction chooses. Where no product is computed, one, since cost alone
    never asks for more: the fewest that hold a tile which is reduced, and so held whole, or that share others well.
    """
    products = max((registers_of(op.acc, THREADS) for op in entry.walk() if isinstance(op, Product)), default=0)
    if products:
        return (LEAST_WARPS, 2 * LEAST_WARPS) if products <= HELD else (2 * LEAST_WARPS,)
    folds = [op for op in entry.walk() if isinstance(op, ct.Reduce | ct.Scan)]
    if folds:
        most, few = max(registers_of(value, THREADS) for op in folds for value in op.operands), FOLDED
    else:
        results = [value for op in entry.walk() for value in op.results]
        most, few = max((registers_of(value, THREADS) for value in results), default=0), SPREAD
    if most <= few:
        return (LEAST_WARPS,)
    return (2 * LEAST_WARPS if most <= 2 * HELD else 4 * LEAST_WARPS,)

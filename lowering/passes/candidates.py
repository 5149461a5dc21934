"""The programs of a kernel that are worth a trial: whole and in slices by cost, numbers of warps and CTAs by time.

Extraction adds up the work of the machine's units, because only sums have provable bounds. A loop takes as long as its
busiest unit, or as the waits of a warp, so programs of similar cost are scheduled too, and the one with the shortest
predicted time is kept (`lowering/modulo/predict.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import takewhile

from egraph.permissions import REASSOC, granted
from egraph.skeleton import SkeletonLoop
from egraph.vocabulary import operations
from ir.core import TileError, VerifyError
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from lowering.atoms.forbidden import forbidden
from lowering.atoms.names import STREAM
from lowering.atoms.tcgen05 import BY_AGENT, BY_SCALES, PAIR
from lowering.clusters import Division, Refusal
from lowering.clusters.grid import in_grid
from lowering.clusters.price import Way, clustered
from lowering.clusters.split import split
from lowering.clusters.stream import streamed
from lowering.modulo.predict import SOONER, predicted
from lowering.modulo.tiles import PING_PONG
from lowering.passes.consumers import choice, in_groups, quicker
from lowering.passes.manager import Context
from lowering.passes.registry import Step
from lowering.passes.source import divided, glance, prepared
from lowering.passes.syntax import with_options
from lowering.passes.trial import UNSPILLED, Trial
from lowering.persistence import best_order
from lowering.schedule import MemoryExceededError
from lowering.schedule.pairs import TensorPairError
from lowering.schedule.tensor import TensorAgentError, TensorMemoryError, TensorScaledError
from lowering.selection import Selection
from lowering.selection.choices import Clustered, OtherLoops, Ranked
from lowering.skeletons.table import Skeleton, permitted
from lowering.slicing import fits, fitted, in_slices
from lowering.targets import Feature
from lowering.targets.devices import multiprocessors
from lowering.targets.target import PORTABLE

CLUSTERS = tuple(1 << bits for bits in range(1, PORTABLE.bit_length()))  # CTAs of a cluster that are tried
MOST_PARTS = 16  # of a product's steps in a grid: the last CTA reads all of them, 64 KB each of 128 x 128 f32
MIN_GAIN = 1.05  # the whole kernel is not searched again, half a second of CPU, where it could save less than 5 %
NEAR = 1.1  # times the bound of a whole: attention_varlen's slices have 1.06 times its bound and a quarter of its cost
AUTO = "auto"
TENSOR = "tcgen05"  # prefix of the names of atoms in tensor memory
CLOSE = 1.08
"""Times the lowest cost: programs above it are not ranked. Of 345 kernels of the corpus (sm_80, sm_90a) five have a
program with more warps that is predicted to take 3 % less time and costs up to 15 % more; `tilesat mca` of the
assembled loops agrees if it costs 5 and 7 % more (1,613 to 1,136 and 1,704 to 1,654 cycles), but not if it costs 11 to
14 % more (1 to 8 % longer).
"""


class CandidateError(Exception):
    """A compiler bug: a candidate is not legal at its level. Not a user error, so it is never caught where candidates
    are dropped for their cost or size.
    """

    def __init__(self, candidate: str, broken: VerifyError):
        super().__init__(f"candidate '{candidate}' is not legal at its level: {broken}")
        self.candidate = candidate


@contextmanager
def lawful(context: Context) -> Generator[None]:
    """Raises CandidateError, which names the candidate, for a VerifyError inside."""
    try:
        yield
    except VerifyError as error:
        raise CandidateError(context.path[-1] if context.path else "whole", error) from error


def best_of_candidates(
    entry: ct.Entry,
    context: Context,
    steps: Sequence[Step],
    clusters: bool = False,
    blocks: int = 0,
    consumers: str = AUTO,
) -> nv_tileas.Func:
    """Run the inner passes on the kernel and, if its loops spill registers, also on the kernel in slices of rows and of
    columns, and keep the cheapest; among programs that cost little more with another number of warps or CTAs an SM,
    keep the one with the shortest predicted time. Rings that cannot share memory as planned are tried separately. On
    request, do this for each number of CTAs of a cluster, which divide tiles or, if sums may be reordered, the K steps
    of products, the latter also in a grid, and keep the one with the cheapest tile block. For a product in a loop over
    tiles, let warpgroups alternate on tiles if that is predicted to be clearly faster than sharing one tile.
    """
    trials: list[Trial] = []
    if clusters:
        best = cheapest_way(of_clusters(entry, steps, context, blocks), steps, context, blocks, trials)
    elif len(context.divisions) > 1 and consumers != PING_PONG:
        best = cheapest_way(of_divisions(entry, context), steps, context, blocks, trials)
    elif consumers == PING_PONG:
        best = in_groups(entry, lambda steps: attempt(entry, context, steps), steps)
        trials.append(best)
    else:
        best = best_of(entry, steps, context, trials)
        if consumers == AUTO and choice(best, context.target):
            other = context.trying(PING_PONG)
            best = quicker(best, lambda steps: attempt(best.entry, other, steps), SOONER)
            trials.append(best)
    context.levels.update(best.context.levels)
    context.count(programs=len(trials))
    return best.made


def best_of(entry: ct.Entry, steps: Sequence[Step], context: Context, tried: list[Trial]) -> Trial:
    """The best program of a kernel for its number of CTAs; all candidates are recorded in `tried`."""
    trials = of_skeletons(entry, steps, context)
    best = cheapest_of_slices(trials, slices_of(trials[0].entry, context), steps, context)
    best = soonest(best, trials, context)
    best.found.loops = trials[0].found.loops
    tried += trials
    return best


Ways = Iterable[tuple[Way, ct.Entry | Refusal]]
Plan = Callable[[ct.Entry, int], ct.Entry | list[Division] | Refusal]


def cheapest_way(ways: Ways, steps: Sequence[Step], context: Context, blocks: int, tried: list[Trial]) -> Trial:
    """The best program of the division among CTAs with the cheapest tile block, of equal ones the first. Raises the
    error of the first division if none has a program.
    """
    found: list[Clustered] = []
    best: tuple[float, Trial] | None = None
    errors: list[TileError] = []
    for way, made in ways:
        unpriced = partial(Clustered, way.ctas, along=way.along, grid=way.grid, even=way.even, parts=way.parts)
        if isinstance(made, Refusal):
            found.append(unpriced(reason=f"'{made.op.name}': {made.reason}"))
            continue
        inside = context if way == Way(1) else context.trying(way.name)
        inside.levels["cuda_tile"] = made
        try:
            kernel = made if made in context.shared.unfit else fitted(made)  # an alternative of it may fit
            trial = best_of(kernel, steps, inside, tried)
        except TileError as error:
            errors.append(error)
            found.append(unpriced(reason=error.message))
            continue
        found.append(clustered(trial.found, trial.made, way, blocks))
        if best is None or found[-1].total < best[0]:
            best = found[-1].total, trial
    if best is None:
        raise errors[0]
    best[1].found.clusters = tuple(found)
    return best[1]


def of_divisions(entry: ct.Entry, context: Context) -> Iterator[tuple[Way, ct.Entry]]:
    """The kernel divided among the requested CTAs, in each way that is worth a trial: `entry` is the planned one."""
    first, *others = context.divisions
    ctas = first.entry.cluster
    yield Way(ctas, parts=first.parts), context.shared.uncut.get(entry, entry)
    for other in others:
        yield Way(ctas, parts=other.parts), context.shared.once(("prepared", other), partial(prepared, other.entry))


def of_clusters(
    entry: ct.Entry, steps: Sequence[Step], context: Context, blocks: int
) -> Iterator[tuple[Way, ct.Entry | Refusal]]:
    """The kernel as the work of one CTA and of several: on targets with clusters by dividing tiles and, if sums may be
    taken in `any_order`, by dividing K steps; then also by CTAs of the grid, including as many as fill the device with
    that many tile `blocks`, and, if it `streams`, by the CTAs that fit the device with even shares of all steps, if a
    last round would leave some of them idle.
    """
    (fast,) = (step.options["fast"] for step in steps if step.work.name == "saturate")
    (forbid,) = (step.options["forbid"] for step in steps if step.work.name == "extract")
    any_order, streams = REASSOC in granted(fast), not forbidden(STREAM, forbid)
    yield Way(1), entry
    whole = context.shared.uncut.get(entry, entry)
    plans: list[tuple[Plan, Way]] = [(divided, Way(ctas)) for ctas in CLUSTERS]
    if any_order:
        plans += [(split, Way(ctas, along=True)) for ctas in CLUSTERS]
    plans = plans if context.target.has(Feature.CLUSTER) else []
    if any_order:
        fill = min(MOST_PARTS, multiprocessors(context.target.name) // max(1, blocks)) if blocks else 1
        counts = sorted({*CLUSTERS, fill} - {0, 1})
        plans += [(in_grid, Way(ctas, along=True, grid=True)) for ctas in counts]
    for plan, way in sorted(plans, key=lambda each: each[1].ctas):
        made: ct.Entry | list[Division] | Refusal
        made = context.shared.once((way, whole), partial(plan, whole, way.ctas))
        if isinstance(made, ct.Entry | Refusal):
            yield way, made
        else:
            yield from ((replace(way, parts=each.parts), each.entry) for each in made)
    ctas = multiprocessors(context.target.name)
    if any_order and streams and blocks % ctas and blocks * MOST_PARTS >= ctas:
        way, width = Way(ctas, along=True, even=True), best_order(whole, context.target, blocks).width
        yield way, context.shared.once((way, whole, width), lambda: streamed(whole, ctas, blocks, width))


def slices_of(entry: ct.Entry, context: Context) -> list[ct.Entry]:
    """The kernel in slices, computed once for all targets."""
    return context.shared.once(("slices", entry), lambda: in_slices(entry))


def of_skeletons(entry: ct.Entry, steps: Sequence[Step], context: Context) -> list[Trial]:
    """The kernel as written, and with the alternative loops that permissions allow: the best comes first."""
    (fast,) = (step.options["fast"] for step in steps if step.work.name == "saturate")
    (forbid,) = (step.options["forbid"] for step in steps if step.work.name == "extract")
    skeletons = tuple(permitted(fast, forbid))
    entry = fitting(entry, skeletons, context)
    foresee(entry, skeletons, steps, context)
    best = whole(entry, steps, context, "whole")
    trials, tried = [best], list[OtherLoops]()
    for skeleton in skeletons:
        other = other_way(skeleton, best, context)
        if other is best.entry:
            continue
        if crowded := skeleton.crowded(other, best.found):
            tried.append(OtherLoops(skeleton.name, crowded=crowded))
            continue
        try:
            trial = whole(other, with_options(steps, "extract", below=best.most), context, skeleton.name)
        except TileError:  # it costs more
            tried.append(OtherLoops(skeleton.name))
            continue
        times = (predicted(trial.found).cycles, predicted(best.found).cycles) if skeleton.timed else ()
        better = trial.preferable(best) and (not times or times[0] < skeleton.timed * times[1])
        tried.append(OtherLoops(skeleton.name, trial.found.answer.cost, times, better))
        best = trial if better else best
        trials.insert(0 if better else 1, trial)
    best.found.loops = tuple(tried)
    return trials


def foresee(entry: ct.Entry, skeletons: Sequence[Skeleton], steps: Sequence[Step], context: Context) -> None:
    """Note the operations of the alternatives that the source lets expect, each made of the one before it: rules are
    loaded once for all of them. To load them again for one with other operations takes 60 to 100 ms of CPU, more than
    its saturation.
    """
    encoding = [*takewhile(lambda step: step.work.name != "saturate", steps)]
    for skeleton in skeletons:
        other = skeleton.foreseen(entry, context.shared.once)
        if other is entry:
            continue
        try:
            encoded = context.trying(skeleton.name).through(encoding, other)
        except TileError:  # it is refused again where it is tried
            continue
        entry = other
        context.shared.operations |= operations(encoded.program.facts)


def other_way(skeleton: Skeleton, best: Trial, context: Context) -> ct.Entry:
    """A kernel done a skeleton's way, before it was cut where the skeleton finds nothing in slices."""
    uncut = context.shared.uncut.get(best.entry, best.entry)
    for entry in (best.entry, uncut) if uncut is not best.entry and skeleton.seen is None else (best.entry,):
        other = skeleton.instead(entry, best.found, context.shared.once)
        if other is not entry and (entry is best.entry or fits(other)):
            return other
    return best.entry


def fitting(entry: ct.Entry, skeletons: Sequence[Skeleton], context: Context) -> ct.Entry:
    """The kernel, or, if its tiles do not fit in a CTA and cannot be cut, the first alternative whose tiles do. Raises
    the error of the kernel as written where there is none.
    """
    refusal = context.shared.unfit.get(entry)
    if refusal is None:
        return entry
    for skeleton in skeletons:
        other = entry if skeleton.seen else skeleton.made(entry)
        if other is not entry and fits(other):
            return other
    raise refusal


def whole(entry: ct.Entry, steps: Sequence[Step], context: Context, name: str) -> Trial:
    """The uncut kernel; if it spills, its search is suspended until slices have been tried."""
    first = with_options(steps, "extract", aside=True, sliced=bool(slices_of(entry, context)))
    return attempt(entry, context.trying(name), first)


def cheapest_of_slices(
    trials: list[Trial], slices: Sequence[ct.Entry], steps: Sequence[Step], context: Context
) -> Trial:
    """The best of the whole kernel, the first of the trials, and, if it spills registers, the kernel in slices:
    slices use as many warps as the whole, and those that spill are tried again without spills, with other numbers of
    warps if necessary. The suspended search for the whole continues if it is still the best; otherwise a program that
    spills is searched for if one could still be preferable. Of what was compiled on the way, a program that costs
    little more is kept if it is predicted to be clearly faster.
    """
    first = trials[0]
    if not first.spills:
        return first
    met = [first]
    best = searched(met, slices, steps, context)
    trials += met[1:]
    return quickest(best, met)


def quickest(best: Trial, met: Sequence[Trial]) -> Trial:
    """The program with the shortest predicted time among the cheapest one and those `met` by its search that cost
    little more and spill no more registers, if it is clearly the shortest.
    """
    limit, others = CLOSE * best.found.answer.cost, [each for each in met if each is not best]
    near = [each for each in others if each.found.answer.cost < limit and each.spills <= best.spills]
    if not near:
        return best
    times = [predicted(each.found).cycles for each in (best, *near)]
    least = min(times)
    taken = (best, *near)[times.index(least)] if least < SOONER * times[0] else best
    taken.found.ranked = tuple(
        Ranked(each.name, each.found.answer.cost, time) for each, time in zip((best, *near), times, strict=True)
    )
    return taken


def searched(met: list[Trial], slices: Sequence[ct.Entry], steps: Sequence[Step], context: Context) -> Trial:
    """The cheapest program; the search begins with the whole kernel in `met`, and adds all others that it compiles."""
    best = first = met[0]
    entry, least = first.entry, first.found.answer.bound  # of the whole kernel
    same = first.found.warps  # what slices chose themselves whenever one was the cheapest in the corpus
    others = in_order(first, slices, steps, context)
    for name, other, unspilled, warps in others:  # grows while it is walked
        if other is entry and best.most < MIN_GAIN * least:
            continue
        try:
            wanted = searching(steps, best.most, warps, unspilled=unspilled)
            trial = attempt(other, context.trying(name), wanted)
        except TileError:  # if it does not fit or costs more, the best so far stays
            if unspilled and warps == same:
                rest = first.found.offered.get("warps", ())
                others += [(f"{name}, {count} warps", other, True, count) for count in rest if count != same]
            continue
        met.append(trial)
        if trial.spills:
            others.append((f"{name} unspilled", other, True, warps))
        if trial.preferable(best):
            best = trial
    if not first.found.aside:
        return best
    if best is first:
        met.append(attempt(entry, context.trying("whole"), steps))
        return met[-1]
    below = best.found.answer.cost / (1.0 if best.spills else UNSPILLED)  # without spills it has been searched
    if below < MIN_GAIN * least:
        return best
    try:
        met.append(attempt(entry, context.trying("whole"), with_options(steps, "extract", below=below)))
    except TileError:  # what is left costs more
        return best
    return met[-1]


Candidate = tuple[str, ct.Entry, bool, int]
"""A candidate: its name, the kernel, whether spills are forbidden, its warps (0: any)."""


def in_order(first: Trial, slices: Sequence[ct.Entry], steps: Sequence[Step], context: Context) -> list[Candidate]:
    """Slices, and the whole kernel without spills: potentially cheaper ones come first, and limit the cost of the
    others. A first look at slices gives bounds; those clearly above the bound of the whole come after it. Candidates
    that cost too much by that bound are left out.
    """
    near: list[Candidate] = []
    far: list[Candidate] = []
    for number, other in enumerate(slices, 1):
        name, warps = f"slices {number}", first.found.warps
        bound = least_cost(other, context.trying(name), searching(steps, first.most, warps))
        if bound < first.most:
            (near if bound <= NEAR * first.found.answer.bound else far).append((name, other, False, warps))
    return [*near, ("unspilled", first.entry, True, 0), *far]


def searching(steps: Sequence[Step], below: float, warps: int, *, unspilled: bool = False) -> tuple[Step, ...]:
    """The passes, set to search for a program with `warps` warps that costs less than `below`."""
    return with_options(with_options(steps, "extract", below=below, unspilled=unspilled), "encode", warps=warps)


def least_cost(entry: ct.Entry, context: Context, steps: Sequence[Step]) -> float:
    """A lower bound on the cost of programs of these passes, from a first look that extraction continues from; infinite
    if none fits or is cheap enough, 0 if another method or price is requested.
    """
    extracting = [step.work.name for step in steps].index("extract")
    options = steps[extracting].options
    if not usual(options) or options["budget"]:
        return 0.0
    try:
        with lawful(context):
            return glance(context.through(steps[:extracting], entry), context, options)
    except TileError:
        return float("inf")


def soonest(best: Trial, trials: list[Trial], context: Context) -> Trial:
    """If the loops of the best program wait, the program with more warps or more CTAs an SM that costs little more and
    has the shortest predicted time; the best program if none is predicted to be clearly faster, or if its cost is
    further from the bound: then a search takes long (half a second of CPU in intra_chunk_prepare of TileGym).
    """
    (options,) = (step.options for step in best.steps if step.work.name == "extract")
    rivals = list(larger(best.found)) if usual(options) and best.found.answer.gap <= 1 - SOONER else []
    time = predicted(best.found) if rivals else None
    if time is None or time.exposed < (1 - SOONER) * time.cycles:
        return best
    cheapest, cycles = best, time.cycles
    ranked = list(best.found.ranked) or [Ranked(best.found.shaped, best.found.answer.cost, cycles)]
    for name, count in rivals:
        below = CLOSE * cheapest.found.answer.cost
        wanted = with_options(cheapest.steps, "extract", below=below, aside=False, **{name: count})
        try:
            trial = attempt(cheapest.entry, context.trying(f"{name} {count}"), wanted)
        except TileError:  # it does not fit, or costs much more
            continue
        trials.append(trial)
        found = predicted(trial.found).cycles
        ranked.append(Ranked(trial.found.shaped, trial.found.answer.cost, found))
        if trial.spills <= cheapest.spills and found < min(SOONER * time.cycles, cycles):
            best, cycles = trial, found
    best.found.ranked = tuple(ranked)
    return best


def usual(options: Mapping[str, object]) -> bool:
    """Is the program searched for by the usual method, at the target's prices?"""
    return options["method"] == "auto" and options["costs"] is None


def larger(found: Selection) -> Iterator[tuple[str, int]]:
    """Larger numbers of warps and of CTAs an SM than those chosen, if the kernel has loops."""
    if any(isinstance(item, SkeletonLoop) for item in found.saturated.program.skeleton.walk()):
        for name, taken in (("warps", found.warps), ("ctas", found.ctas)):
            yield from ((name, count) for count in found.offered.get(name, ()) if count > taken)


def scheduled(entry: ct.Entry, context: Context, steps: Sequence[Step]) -> nv_tileas.Func:
    """The program that passes produce from a kernel; rings that were to share memory but cannot are separated."""
    try:
        return context.through(steps, entry)
    except MemoryExceededError:  # agents fill one of them, threads another
        return context.through(with_options(steps, "extract", apart=True), entry)


def attempt(entry: ct.Entry, context: Context, steps: Sequence[Step]) -> Trial:
    """The choice and the program that passes make of a kernel. Raises TileError if none is cheap enough, CandidateError
    if it is not legal at a level.
    """
    try:
        with lawful(context):
            made = scheduled(entry, context, steps)
    except TensorPairError:
        return attempt(entry, context, forbidding(steps, PAIR))
    except TensorAgentError:
        return attempt(entry, context, forbidding(steps, BY_AGENT))
    except TensorScaledError:
        return attempt(entry, context, forbidding(steps, BY_SCALES))
    except TensorMemoryError:  # the choice has revealed what else the loop does besides its product
        return attempt(entry, context, forbidding(steps, TENSOR))
    return Trial(entry, tuple(steps), context.levels["chosen"], made, context)


def forbidding(steps: Sequence[Step], atoms: str) -> tuple[Step, ...]:
    """The passes, whose extraction may not choose these atoms either."""
    (given,) = (step.options["forbid"] for step in steps if step.work.name == "extract")
    return with_options(steps, "extract", forbid=(*given, atoms))

"""Running pipelines: levels are checked before anything runs, results are shared among targets, watchers are
notified of every pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from ir.core import Op, TileError, verify
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileaa
from ir.records import dataclass
from lowering.passes.levels import LEVELS, level_of
from lowering.passes.registry import Step
from lowering.passes.syntax import check_levels, names
from lowering.passes.table import PASSES
from lowering.targets import Target
from lowering.targets import target as target_named

VERIFYING = "verify levels"


class Watcher:
    """Notified of each pass as it runs; passes whose result another target already computed do not run again."""

    def before(self, step: Step, program: object, context: Context) -> None:
        """A pass begins."""

    def after(self, step: Step, program: object, context: Context) -> None:
        """A pass has produced this."""


@dataclass
class Shared:
    """State shared by the targets of one compilation: results of shared passes, and run options; `sliced`: the kernel
    had to be cut; `uncut`: the original kernel, by cut kernel; `unfit`: why a kernel cannot be cut that had to
    be, for alternatives to it may fit; `operations`: those of programs that may follow, beside the one that is
    saturated (`egraph.vocabulary.operations`).
    """

    targets: tuple[Target, ...]
    watchers: Sequence[Watcher] = ()
    verify_each: bool = False
    counting: bool = False
    sliced: bool = False
    uncut: dict[Any, Any] = field(default_factory=dict[Any, Any])
    unfit: dict[Any, TileError] = field(default_factory=dict[Any, TileError])
    results: dict[Any, Any] = field(default_factory=dict[Any, Any])
    operations: set[str] = field(default_factory=set[str])

    def once(self, key: object, make: Callable[[], Any]) -> Any:
        """The result of `make`, cached under this key."""
        if key not in self.results:
            self.results[key] = make()
        return self.results[key]


@dataclass
class Context:
    """The compilation of one program for one target: its levels, seconds and counts of each pass.

    `path` names the enclosing passes and the variant of the kernel that they try.
    """

    target: Target
    shared: Shared
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    counts: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    levels: dict[str, Any] = field(default_factory=dict[str, Any])
    path: tuple[str, ...] = ()
    running: str = ""
    divisions: tuple[Any, ...] = ()  # possible divisions of a tile block among CTAs, the planned one first

    def through(self, steps: Sequence[Step], program: object) -> Any:
        """Run a program through a pipeline, already checked by `check_levels`."""
        for step in steps:
            program = self.levels[step.work.gives] = self.step(step, program)
        return program

    def step(self, step: Step, program: object) -> Any:
        """Run a program through one pass, or reuse the result of another target of the compilation."""
        if not step.work.shared:
            return self.run(step, program)
        key = (id(program), step)
        found = self.shared.results.get(key)
        if found is None:
            before = self.seconds.get(step.work.name, 0.0)
            made = self.run(step, program)
            spent = self.seconds[step.work.name] - before
            self.shared.results[key] = made, spent, self.counts.get(step.work.name), program  # kept: its id is a key
            return made
        made, spent, counts, _ = found
        self.seconds[step.work.name] = self.seconds.get(step.work.name, 0.0) + spent
        if counts is not None:
            self.counts[step.work.name] = counts
        return made

    def run(self, step: Step, program: object) -> Any:
        """One pass, timed; its result checked, and shown to the watchers."""
        work, seconds = step.work, self.seconds
        for watcher in self.shared.watchers:
            watcher.before(step, program, self)
        outer, self.running = self.running, work.name
        inside, start = sum(seconds.values()), time.perf_counter()
        made = step.run(program, self)
        spent = time.perf_counter() - start - (sum(seconds.values()) - inside)
        seconds[work.name] = seconds.get(work.name, 0.0) + spent
        self.running = outer
        self.check(step, made)
        for watcher in self.shared.watchers:
            watcher.after(step, made, self)
        return made

    def check(self, step: Step, made: object) -> None:
        """Check that the result is legal at its level, and verify it if requested. Raises VerifyError."""
        work = step.work
        if not isinstance(made, Op) or work.around:
            return
        start = time.perf_counter()
        if work.takes != work.gives:
            LEVELS[work.gives].refuse_illegal(made, work.name)
        if work.verified or self.shared.verify_each:
            verify(made)
        self.seconds[VERIFYING] = self.seconds.get(VERIFYING, 0.0) + time.perf_counter() - start

    def count(self, **numbers: float | Callable[[], float]) -> None:
        """Add to the statistics of the pass that runs; functions are called only if statistics are requested."""
        if self.shared.counting:
            known = self.counts.setdefault(self.running, {})
            for name, number in numbers.items():
                known[name] = known.get(name, 0) + (number() if callable(number) else number)

    def trying(self, variant: str) -> Context:
        """A context for a variant of the kernel: separate levels, shared seconds and counts."""
        path = (*self.path, variant)
        return Context(self.target, self.shared, self.seconds, self.counts, dict(self.levels), path)


@dataclass(frozen=True)
class Outcome:
    """The result of a pipeline for one target."""

    program: Any
    level: str
    context: Context

    def text(self) -> str:
        """It as text."""
        return LEVELS[self.level].text(self.program, self.context)


def tiers_of(program: Op, targets: Sequence[str]) -> tuple[Target, ...]:
    """The targets as requested by a kernel: the named ones for a source, its own for a kernel below the e-graph."""
    if isinstance(program, ct.Entry | nv_tileaa.Func):
        from lowering.selection.hints import as_asked  # brings the e-graph, which the levels below do without

        return tuple(as_asked(program, target_named(name)) for name in targets)
    tier = target_named(str(program.attributes["target"]))
    asked = int(program.attributes.get("asked_ctas", 0))
    return (tier.shared_by(asked) if asked else tier,)


def run(
    steps: Sequence[Step],
    program: Op,
    targets: Sequence[str] = (),
    watchers: Sequence[Watcher] = (),
    verify_each: bool = False,
    counting: bool = False,
    seconds: Mapping[str, float] | None = None,
    tiers: tuple[Target, ...] | None = None,
    shared: Shared | None = None,
) -> list[Outcome]:
    """Run a verified kernel through a pipeline, once for each target; `seconds` are those already spent; `shared`:
    results of shared passes of earlier runs on this same program, for targets with these features.

    Raises VerifyError, at the column of the pipeline, for a pass at the wrong level, and located for an operation that
    is not legal at the program's level; TileError, located, as its passes do.
    """
    level = check_levels(steps, level_of(program))
    LEVELS[level_of(program)].refuse_illegal(program)
    for name in names(steps):
        assert PASSES[name].function  # imported now, so that no pass is charged for it
    made = Shared(tiers_of(program, targets) if tiers is None else tiers, watchers, verify_each, counting)
    if shared is not None:
        made.results = shared.results
    shared = made
    outcomes: list[Outcome] = []
    for tier in shared.targets:
        context = Context(tier, shared, dict(seconds or {}), levels={level_of(program): program})
        outcomes.append(Outcome(context.through(steps, program), level, context))
    return outcomes

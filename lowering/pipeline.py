"""The road of a program, from a verified cuda_tile entry to PTX and a launch manifest, stage by stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from egraph.encode import encode
from egraph.saturate import Limits, Saturated, saturate
from ir.core import Op, UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.dialects.gpu import GpuFunc
from ir.dialects.nv_tileas import Func
from ir.types import PointerType, TileType
from lowering import ptx
from lowering.atoms.names import check_forbidden
from lowering.convert import nvgpu_to_nvvm, tileas_to_nvgpu
from lowering.decode import decode
from lowering.placement import LayoutOracle, seed
from lowering.schedule import MemoryExceededError, schedule
from lowering.selection import Selection, select
from lowering.supported import refuse_on_target, refuse_oversized, refuse_unsupported, registers_of
from lowering.symbols import symbol
from lowering.targets import Feature, Target
from lowering.targets import target as target_named
from lowering.targets.target import WARP

WARPS = 4  # a CTA of one warpgroup, the fewest
THREADS = WARP * WARPS
HELD = 128  # registers a thread for the tiles that must be held whole: half of what a thread has


@dataclass(frozen=True)
class Options:
    """What the caller may vary: more rule files, rules and atoms left out (by prefix), the extraction method, and how
    much work extraction (units of `extract.budget`) and saturation (matches of rules) may do; None: the default.
    """

    rules: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()
    forbid: frozenset[str] = frozenset()
    extractor: str = "auto"
    extract_budget: float | None = None
    saturate_budget: int | None = None


@dataclass
class Compiled:
    """A compiled entry. `stages` print a level when called, `modules` are the levels below the e-graph as ops."""

    ptx: str
    manifest: dict[str, Any]
    stages: dict[str, Callable[[], str]]
    selection: Selection
    modules: dict[str, Op]
    timings: dict[str, float] = field(default_factory=dict[str, float])

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


class Clock:
    """Seconds of each stage, in order."""

    def __init__(self, before: Mapping[str, float] | None = None) -> None:
        self.seconds: dict[str, float] = dict(before or {})

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Time a block of code as stage `name`."""
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def compile_entry(module: ct.Module, entry: ct.Entry, targets: Sequence[str], options: Options) -> list[Compiled]:
    """Compile one entry of a verified module for some targets: one e-graph, an extraction and a lowering for each.

    Raises TargetError for an unknown target, UnsupportedError or TileError, located, for what cannot be compiled.
    """
    clock = Clock()
    tiers = [target_named(target) for target in targets]
    check_forbidden(options.forbid)
    check_parameters(entry)
    refuse_unsupported(entry)
    warps = warp_counts(entry)
    refuse_oversized(entry, WARP * max(warps))
    with clock.stage("encode"):
        program = encode(entry)
        oracle = LayoutOracle(program, warps, frozenset[Feature]().union(*(tier.features for tier in tiers)))
        program.facts.update(seed(program, oracle))
    with clock.stage("saturate"):
        limits = Limits.of(program, options.saturate_budget)
        saturated = saturate(program, oracle, options.rules, options.without, limits)
    return [lower(module, entry, saturated, oracle, tier, options, Clock(clock.seconds)) for tier in tiers]


def lower(
    module: ct.Module, entry: ct.Entry, saturated: Saturated, oracle: LayoutOracle, tier: Target, options: Options,
    clock: Clock,
) -> Compiled:  # fmt: skip
    """From a saturated e-graph to one target's PTX; `clock` counts on."""
    refuse_on_target(entry, tier)
    try:
        selection, scheduled = choose(entry, saturated, oracle, tier, options, clock)
    except MemoryExceededError:  # rings that were to share memory could not: agents fill one of them, threads another
        selection, scheduled = choose(entry, saturated, oracle, tier, options, clock, apart=True)
    with clock.stage("nvgpu"):
        threads = tileas_to_nvgpu.expand(scheduled, tier)
    with clock.stage("nvvm"):
        low = nvgpu_to_nvvm.convert(threads)
    with clock.stage("ptx"):
        text = ptx.emit(low)
    manifest = manifest_of(entry, threads, scheduled)
    stages: dict[str, Callable[[], str]] = {
        "cuda_tile": lambda: _as_text(module),
        "nv_tileaa": lambda: _logical(entry),
        "egraph": lambda: _egraph(saturated, oracle),
        "nv_tileas": lambda: _generic(scheduled),
        "nvgpu": lambda: _generic(threads),
        "nvvm": lambda: _generic(low),
        "ptx": lambda: text,
    }
    modules: dict[str, Op] = {"nv_tileas": scheduled, "nvgpu": threads, "nvvm": low}
    return Compiled(text, manifest, stages, selection, modules, clock.seconds)


def choose(
    entry: ct.Entry, saturated: Saturated, oracle: LayoutOracle, tier: Target, options: Options, clock: Clock,
    apart: bool = False,
) -> tuple[Selection, Func]:  # fmt: skip
    """The cheapest program, scheduled. `apart`: no two loops share the memory of a ring."""
    with clock.stage("extract"):
        selection = select(saturated, oracle, tier, options.forbid, options.extractor, options.extract_budget, apart)
    with clock.stage("decode"):
        placed = decode(selection, entry.sym_name)
    with clock.stage("schedule"):
        return selection, schedule(placed, tier)


def _as_text(module: ct.Module) -> str:
    from ir.text import print_text  # printers, like what they print, are for those who ask

    return print_text(module)


def _logical(entry: ct.Entry) -> str:
    from lowering.convert.cuda_tile_to_tileaa import convert

    return _generic(convert(entry))


def _egraph(saturated: Saturated, oracle: LayoutOracle) -> str:
    from lowering.egraph_text import egraph_text

    return egraph_text(saturated, oracle)


def _generic(op: Op) -> str:
    from ir.text import print_generic

    return print_generic(op)


def check_parameters(entry: ct.Entry) -> None:
    """Only scalars and pointers are passed."""
    for argument in entry.parameters:
        kind = argument.type
        if not isinstance(kind, TileType) or kind.shape:
            raise UnsupportedError(f"parameter of type {kind} is not supported", entry.location, "pass a scalar")


def warp_counts(entry: ct.Entry) -> tuple[int, ...]:
    """Numbers of warps that the CTA may have; extraction chooses. Where no product is computed, one: the fewest that
    hold a tile which is reduced, and so held whole, since cost alone never asks for more.

    Raises UnsupportedError, located, for a product whose accumulator fits no CTA.
    """
    products = reduced = 0
    for op in entry.walk():
        if isinstance(op, ct.MmaF | ct.MmaI | ct.MmaFScaled):
            each = registers_of(op.acc, THREADS)
            if each > 2 * HELD:
                raise UnsupportedError(
                    f"'{op.name}': an accumulator of {op.acc.type} takes {each // 2} registers of each of "
                    f"{2 * THREADS} threads, {HELD} leave room for the operands",
                    op.location, "use a smaller tile",
                )  # fmt: skip
            products = max(products, each)
        elif isinstance(op, ct.Reduce | ct.Scan):
            reduced = max(reduced, *(registers_of(value, THREADS) for value in op.operands))
    if products:
        return (WARPS, 2 * WARPS) if products <= HELD else (2 * WARPS,)
    return (next((n * WARPS for n in (1, 2) if reduced <= n * HELD), 4 * WARPS),)


def manifest_of(entry: ct.Entry, threads: GpuFunc, scheduled: Func) -> dict[str, Any]:
    """The launch manifest: all that a launcher needs beside the PTX."""
    params: list[dict[str, Any]] = []
    for number, argument in enumerate(entry.parameters):
        element = argument.type.element if isinstance(argument.type, TileType) else argument.type
        if isinstance(element, PointerType):
            params.append({"kind": "pointer", "arg": number, "dtype": str(element.pointee)})
        else:
            params.append({"kind": "scalar", "arg": number, "dtype": str(element)})
    return {
        "entry": symbol(entry.sym_name),
        "name": entry.sym_name,
        "target": threads.target,
        "block": list(threads.block),
        "cluster": [1, 1, 1],
        "dynamic_smem": threads.dynamic_smem,
        "global_scratch": 0,
        "params": [*params, *scheduled.tensormaps],
    }

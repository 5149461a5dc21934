"""A compiled kernel: its PTX, launch manifest, every stage as text, what it cost, and how to run it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a kernel out of the cache needs none of the compiler
    from egraph.report import Report as SaturationReport
    from egraph.why import Provenance
    from extract import Answer, Graph
    from ir.core import TileError
    from ir.dialects.cuda_tile import Entry, Module
    from ir.launch_records import LaunchManifest
    from lowering.compiled import Compiled
    from ptxsim import Report
    from tilesat.calling import Calling
    from tilesat.egraph import EGraph
    from tilesat.grid import Grid
    from tilesat.launching import Launch
    from tilesat.stored import Stored


class Stages(Mapping[str, str]):
    """Stage name to text, printed at first use: the printers of stages nobody asks for never run."""

    def __init__(self, printers: Mapping[str, Callable[[], str]]):
        self._printers = dict(printers)
        self._texts: dict[str, str] = {}

    def __getitem__(self, stage: str) -> str:
        if stage not in self._texts:
            self._texts[stage] = self._printers[stage]()
        return self._texts[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._printers)

    def __len__(self) -> int:
        return len(self._printers)


@dataclass(frozen=True, eq=False)
class Kernel:
    """What `tilesat.compile` returns. It pickles: as text, without the e-graph, with `report` if it was read."""

    module: Module
    entry: Entry
    target: str
    compiled: Compiled | Stored
    seconds: dict[str, float]
    """Wall-clock seconds per stage, in the order of the road."""
    calling: Calling | None = None
    """Of a cuTile kernel: what its calls take."""

    def __repr__(self) -> str:
        """One line; the texts are in `ptx`, `stages` and `report`."""
        lines = self.ptx.count("\n")
        return f"<Kernel @{self.entry.sym_name} for {self.target}: {lines} lines of PTX, cost {self.cost:.6g} cycles>"

    def _repr_html_(self) -> str:
        """What it is and costs, for notebooks."""
        from tilesat.html import facts

        block, shared = self.manifest["block"], self.manifest["dynamic_smem"]
        pairs: list[tuple[str, object]] = [
            ("PTX", f"{self.ptx.count(chr(10))} lines"),
            ("block", " x ".join(map(str, block))),
            ("dynamic shared memory", f"{shared} bytes"),
            ("cost", f"{self.cost:g} cycles, at least {self.bound:g}"),
            ("compiled in", f"{sum(self.seconds.values()):.3f} s"),
        ]
        return facts(f"@{self.entry.sym_name} for {self.target}", pairs)

    @property
    def ptx(self) -> str:
        """PTX text, ready for ptxas or the driver."""
        return self.compiled.ptx

    @property
    def manifest(self) -> LaunchManifest:
        """All that a launcher needs beside the PTX (block, shared memory, parameters in order); JSON-ready."""
        return self.compiled.manifest

    @property
    def stages(self) -> Stages:
        """The program at each level, by the names of `--emit` (sass needs ptxas and nvdisasm)."""
        more = {
            "egraph-json": lambda: self.egraph.json,
            "egglog": lambda: self.egraph.egglog,
            "sass": lambda: sass(self.ptx, self.target),
        }
        return Stages({**self.compiled.stages, **more})

    @property
    def cost(self) -> float:
        """The extracted program's cost in the target's cycles."""
        return self.compiled.cost

    @property
    def bound(self) -> float:
        """No program in the saturated e-graph costs less."""
        return self.compiled.bound

    @property
    def counts(self) -> dict[str, dict[str, float]]:
        """Statistics of the passes, where they were asked for."""
        return self.compiled.counts

    @property
    def limits(self) -> list[str]:
        """What a limit on counted work (`extract_budget`, `saturate_budget`) ended early, in words; mostly empty."""
        return self.compiled.limits

    @property
    def saturation(self) -> SaturationReport:
        """What saturation did: iterations, matches and seconds by rule, rows, why each phase stopped."""
        return self.compiled.selection.saturated.report

    @property
    def egraph(self) -> EGraph:
        """The saturated e-graph: to look at, to write to a file."""
        from tilesat.egraph import EGraph

        return EGraph(self.compiled.selection)

    @cached_property
    def provenance(self) -> Provenance:
        """Which rule made which node, and why terms are equal. Raises TileError where it was not asked for."""
        from tilesat.provenance import provenance_of

        return provenance_of(self.compiled.selection)

    @property
    def graph(self) -> Graph:
        """What extraction chose from: classes, nodes with their costs, choice groups, resource rows."""
        return self.compiled.selection.graph

    @property
    def extraction(self) -> Answer:
        """What extraction chose of `graph`: a node for each class, cost, bound, method, seconds."""
        return self.compiled.selection.answer

    @property
    def warps(self) -> int:
        """Warps of a CTA that compute; agents that only move data come on top."""
        return self.compiled.selection.warps

    @property
    def cost_parts(self) -> dict[str, float]:
        """The cost by the target's tables in cycles of tensor cores, other pipes, memory and waiting."""
        from lowering.selection.parts import cost_parts

        return cost_parts(self.compiled.selection)

    @property
    def busy(self) -> dict[str, float]:
        """Cycles for which each unit of the SM is busy; those of memory may overlap."""
        from lowering.selection.parts import busy

        return busy(self.compiled.selection)

    @property
    def ignored_hints(self) -> list[TileError]:
        """Optimization hints for this target that have no effect, or that make it spill, each with its place;
        mostly empty.
        """
        from lowering.selection.hints import ignored_hints
        from lowering.targets import target

        made, cluster = self.compiled, self.manifest["cluster"][0]
        return list(ignored_hints(self.entry, target(self.target), made.minctas, cluster, made.lacking))

    @property
    def already_persistent(self) -> list[TileError]:
        """That the kernel goes through tiles itself, where it should be made to; mostly empty."""
        from ir.core import TileError
        from ir.dialects.nv_tileas import CancelNextProgramId

        made = self.compiled.selection.saturated.program.entry
        if (
            self.compiled.persistent == "off"
            or made.given
            or any(isinstance(o, CancelNextProgramId) for o in made.walk())
        ):
            return []
        return [TileError("Kernel is already dynamic persistent", self.entry.location)]

    @property
    def scalar_products(self) -> list[TileError]:
        """Products that tensor cores of this target could compute, but for the forbidden atoms; mostly empty."""
        return self.compiled.selection.scalar_products()

    @cached_property
    def report(self) -> str:
        """What saturation did, rule by rule, and what extraction chose and why."""
        return self.compiled.explain()

    @cached_property
    def source_lines(self) -> dict[int, str]:
        """File and line of the source for each PTX line that computes something of it; nothing for a pickled kernel."""
        from lowering.levels import descend, road_from
        from ptxsim import source_lines
        from tilesat.stored import Stored

        if "\n.file " in self.ptx:
            return source_lines(self.ptx)
        if isinstance(self.compiled, Stored):
            return {}
        code = self.compiled.modules["nvvm"]
        return source_lines(descend(code, {}, steps=road_from(code, lineinfo=True)).ptx, plain=True)

    def run(
        self,
        grid: int | Sequence[int],
        *args: object,
        on: str = "sim",
        hazards: bool | str | None = None,
        max_instructions: int | None = None,
        suppress: Sequence[str] = (),
        check: bool = False,
        tolerance: float | None = None,
        schedule: str = "together",
        workers: int = 1,
    ) -> Report | None:
        """Run over `grid` tile blocks; array arguments are written in place.

        Arrays are those of any library (`tilesat.arrays`). A cuTile kernel takes what its Python function takes, whose
        sizes and strides come from the arrays, or all that the entry takes, one after the other.

        `on`: sim (the PTX simulator), ref (the reference interpreter, which never sees the PTX) or cuda (a GPU).
        On the simulator, `hazards` also finds races, missing waits and reads of what is not there yet, at several times
        the cost ("report" goes on after the first, `suppress` names some that do not count), and a launch ends after
        `max_instructions` instructions of warps. `schedule`: "together", or "skewed:SEED", where each warp runs alone
        until it must wait. `workers`: processes that share the grid, where its CTAs do not talk to each other (the
        simulator's `launch` says when that is refused). Returns the simulator's report, None elsewhere.
        `check`: the reference interpreter runs the source on the same arguments, and what it has in the arrays must be
        there, within `tolerance` (by default that of the element type, `tilesat.execution.type_tolerance`); then
        hazards count unless they are turned off.
        Raises TileError where the arguments do not fit the entry, SimulatorError where the PTX goes wrong,
        WrongResultError where the check fails, CudaError where there is no GPU, one of another architecture, or one
        that refuses.
        """
        from tilesat.grid import as_grid
        from tilesat.launching import prepared

        blocks = as_grid(grid)
        launch = prepared(self.entry, self.calling, args, {}, on, whole=False)
        if workers != 1 and on != "sim":
            from tilesat.execution import refuse_workers

            refuse_workers(on, self.entry)
        return self.launched(
            blocks,
            launch,
            on,
            hazards,
            check,
            tolerance,
            max_instructions=max_instructions,
            suppress=suppress,
            schedule=schedule,
            workers=workers,
        )

    def __getitem__(self, grid: int | Sequence[int]) -> Callable[..., Report | None]:
        """A function that launches over `grid` tile blocks: it takes what the kernel's Python function takes, in order
        or by name, and runs where the arrays are: on the simulator for those of the host, else on the card. PyTorch's
        fake tensors, with which torch.compile traces (`tilesat.torch_op`), launch nothing.
        """
        return partial(self._called, grid)

    def _called(self, grid: int | Sequence[int], *args: object, **named: object) -> Report | None:
        from tilesat.on_card import Launches, key_of, stream_of

        launches: Launches = self.__dict__.setdefault("launches", Launches())  # Kernel is frozen; nothing pickles them
        stream = stream_of((*args, *named.values()))
        key = key_of(grid, stream, args, named)
        if launches.again(key):
            return None
        from tilesat.grid import as_grid
        from tilesat.launching import only_traced, place_of, prepared

        if only_traced(args, named):
            return None
        blocks, on = as_grid(grid), place_of(args, named)
        launch = prepared(self.entry, self.calling, args, named, on, whole=True, stream=stream)
        return self.launched(blocks, launch, on, card=partial(launches.first, key, stream))

    def launched(
        self,
        blocks: Grid,
        launch: Launch,
        on: str,
        hazards: bool | str | None = None,
        check: bool = False,
        tolerance: float | None = None,
        output: Callable[[str, str], object] | None = None,
        card: Callable[[Kernel, Grid, Sequence[object]], None] | None = None,
        **simulator: Any,
    ) -> Report | None:
        """Run with arguments that are prepared; otherwise as `run`. `output` takes what the kernel prints, with file
        and line of the source that prints it (on the simulator); by default it goes to standard output.
        `card` launches on a card, by default so that the kernel has ended.
        """
        from tilesat import execution

        values = execution.check_arguments(self.entry, launch.values)
        if check:
            execution.refuse_overlaps(values, self.entry)
            execution.refuse_card(values, self.entry)
        expected = execution.copied(values) if check else []
        report: Report | None = None
        if on == "ref":
            execution.interpret(self.module, self.entry, blocks, values, output and (lambda text: output(text, "")))
        elif on == "sim":
            with execution.located(lambda: self.source_lines):
                wanted = check if hazards is None else hazards
                simulator["output"] = self._with_lines(output)
                report = execution.simulate(self.ptx, self.manifest, blocks, values, wanted, **simulator)
            execution.locate(report.hazards, lambda: self.source_lines)
        elif on == "cuda":
            from tilesat.on_card import at_once

            (card or at_once)(self, blocks, values)
        else:
            execution.refuse(on, self.entry)
        launch.end(self.entry)
        if check:
            execution.interpret(self.module, self.entry, blocks, expected, output=lambda _: None)  # the run printed it
            comparisons = execution.compare(values, expected, tolerance)
            if not all(each.ok for each in comparisons):
                raise execution.WrongResultError(self.entry.sym_name, comparisons)
        return report

    def _with_lines(self, output: Callable[[str, str], object] | None) -> Callable[[str, int], object] | None:
        """What takes texts that PTX lines print, and hands them to `output` with lines of the source."""

        def say(text: str, line: int) -> object:
            return None if output is None else output(text, self.source_lines.get(line, ""))

        return None if output is None else say

    def __reduce__(self) -> tuple[Callable[..., Kernel], tuple[object, ...]]:
        """Operations refer to each other in chains as long as the program, which pickle would follow by recursion."""
        from tilesat.stored import Stored

        texts = {name: text() for name, text in self.compiled.stages.items()}
        report: str | None = self.__dict__.get("report")
        stored = Stored(self.ptx, self.manifest, texts, self.cost, self.bound, self.limits, report)
        return _restored, (stored, self.module.entries.index(self.entry), self.target, self.seconds, self.calling)


def sass(ptx: str, target: str) -> str:
    """What ptxas makes of PTX, disassembled; with source lines between where the PTX has them."""
    from runtime.ptxas import assemble, disassemble

    located = "\n.file " in ptx
    return disassemble(assemble(ptx, target, ["-lineinfo"] if located else []), located)


def _restored(
    stored: Stored, entry: int, target: str, seconds: dict[str, float], calling: Calling | None = None
) -> Kernel:
    """The kernel of a pickle; its source is what the stage cuda_tile printed."""
    from ir.load import load

    module = load(stored.texts["cuda_tile"])
    return Kernel(module, module.entries[entry], target, stored, seconds, calling)

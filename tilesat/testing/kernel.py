"""A compiled kernel under test: expectations of what it costs, what it holds, what was chosen, and what it computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from ir.dialects.cuda_tile.constraints import tile_type
from lowering.explain import Explanation, ctas
from lowering.targets import target as target_named
from ptxsim import SimulatorError, hazard_table
from runtime.ptxas import Cubin, PtxasNotFoundError, assemble, disassemble
from tilesat import Kernel
from tilesat.cli import STAGES
from tilesat.execution import WrongResultError, check_arguments, compare
from tilesat.grid import as_grid
from tilesat.multicast import Multicast
from tilesat.spec import Argument, parse
from tilesat.testing import golden, sass
from tilesat.testing.choices import Chosen, chosen
from tilesat.testing.conditions import ExpectationError, ExpectationFailed, MissingTool, Quantity, check, hidden
from tilesat.testing.levels import Level
from tilesat.testing.origin import Origin
from tilesat.testing.sass import CodeLoop

__tracebackhide__ = hidden

if TYPE_CHECKING:
    import numpy.typing as npt

    from lowering.compiled import Compiled

DEAREST = 3
"""Choices that a failure about cost lists."""


class CheckedKernel:
    """What `tile.compile` returns. `kernel` is what `tilesat.compile` returns; `ptx`, `nv_tileas` and the other stages
    of `--emit` are levels.
    """

    def __init__(
        self, kernel: Kernel, origin: Origin, golden_file: Callable[[str], Path], bless: bool, left_out: list[str]
    ):
        self.kernel = kernel
        self._origin = origin
        self._golden_file = golden_file
        self._bless = bless
        self._left_out = left_out
        self._what = f"@{kernel.entry.sym_name} for {kernel.target}"

    def __repr__(self) -> str:
        return repr(self.kernel)

    def __getattr__(self, name: str) -> Level:
        """A level by its name. Raises AttributeError that lists them."""
        if name not in STAGES:
            raise AttributeError(f"a tested kernel has no {name!r}; its levels are {', '.join(STAGES)}")
        return self.level(name)

    def level(self, name: str) -> Level:
        """The text of a stage of `--emit`."""
        text = partial(self._listing, False) if name == "sass" else partial(self.kernel.stages.__getitem__, name)
        more = partial(self._origin.command, "compile", "--emit", name)
        return Level(name, text, f"{name} of {self._what}", more, self._left_out.extend)

    def expect(self, **conditions: object) -> None:
        """Expect of the whole kernel: cost, bound and gap of extraction; nodes of its e-graph; instructions of PTX;
        shared_memory, bytes; threads of a CTA; warps of them that compute; and where ptxas is there registers of a
        thread, spills and stack in bytes, warnings, and sass, instructions. Also with __le, __lt, __ge, __gt, __ne.
        """
        self._left_out.extend(check(conditions, self._quantities(), self._what))

    def loop(self, name: str = "") -> CodeLoop:
        """The innermost loop of SASS with the most of an instruction, named as in PTX (wgmma, ldmatrix) or as in SASS
        (HGMMA, MUFU.EX2); without a name the longest one. Where ptxas or nvdisasm is missing it expects nothing, and
        the test ends as skipped.
        """
        what = f"the loop of {name or 'most instructions'} in {self._what}"
        try:
            found = sass.find(self._listing(True), name, self._what)
        except MissingTool as error:
            self._left_out.append(f"{what}: {error}")
            return _NoLoop()
        more = f"{self._origin.command('compile', '-o', 'k.ptx')} && tilesat mca k.ptx"
        warps = int(self.kernel.compiled.selection.warps)
        return CodeLoop(found, target_named(self.kernel.target), warps, what, lambda: more)

    def chosen(self, name: str) -> Chosen:
        """What was chosen for the tile that the source calls `name`."""
        return chosen(self._explanation, name, self._what, partial(self._explained))

    def runs(
        self,
        grid: int | Sequence[int],
        args: Sequence[str | Argument | int | float],
        hazards: bool = True,
        tolerance: float | None = None,
        expected: Mapping[int, npt.ArrayLike] | None = None,
        suppress: Sequence[str] = (),
        max_instructions: int | None = None,
        schedule: str = "together",
    ) -> list[Argument]:
        """Run the PTX on the simulator, the source on the interpreter: all arrays must agree, and one must change.

        args: arrays, numbers, or SPECs of `tilesat run` ('f16[64,64]=normal:1'). hazards: also find races and missing
        waits. tolerance: in place of that of the element type. expected: what arrays, by position, must hold besides.
        schedule: of the simulator; "skewed:SEED" runs each warp alone until it must wait.
        Returns the arguments after the run; arrays that were given stay as they are.
        """
        made = [parse(each, place).make() if isinstance(each, str) else each for place, each in enumerate(args)]
        before = check_arguments(self.kernel.entry, made)
        after = [each.copy() if isinstance(each, np.ndarray | Multicast) else each for each in before]
        command = self._run_command(grid, args, tolerance)
        try:
            self.kernel.run(
                grid,
                *after,
                hazards=hazards,
                check=True,
                tolerance=tolerance,
                suppress=suppress,
                max_instructions=max_instructions,
                schedule=schedule,
            )
        except WrongResultError as error:
            raise ExpectationFailed(f"{self._what}: {error}\n  more: {command}") from None
        except SimulatorError as error:
            table = [hazard_table(error.hazards)] if error.hazards else []
            raise ExpectationFailed("\n".join([f"{self._what}: {error}", *table, f"  more: {command}"])) from None
        if all(a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True)):
            raise ExpectationFailed(f"{self._what} changed no array: nothing was compared\n  more: {command}")
        for position, wanted in (expected or {}).items():
            array = after[position]
            (found,) = compare([array], [np.asarray(wanted).astype(array.dtype)], tolerance)
            if not found.ok:
                raise ExpectationFailed(f"{self._what} beside `expected`: {replace(found, position=position)}")
        return after

    def matches_golden(self, level: str) -> None:
        """The text of a level is what the golden file of this test holds; `pytest --bless` renews it."""
        if level not in STAGES:
            raise ExpectationError(f"there is no level {level!r}; there are {', '.join(STAGES)}")
        name = f"{self.kernel.entry.sym_name}.{self.kernel.target}.{level}"
        try:
            text = self.level(level).text
        except MissingTool as error:
            self._left_out.append(f"golden file of {level}: {error}")
            return
        golden.check(self._golden_file(name), text, self._bless, self._origin.command("compile", "--emit", level))

    # --- what expectations look up

    @cached_property
    def _explanation(self) -> Explanation:
        return Explanation(self.kernel.compiled.selection)

    @cached_property
    def _cubin(self) -> Cubin:
        try:
            return assemble(self.kernel.ptx, self.kernel.target)
        except PtxasNotFoundError as error:
            raise MissingTool(str(error)) from None

    def _listing(self, encodings: bool) -> str:
        try:
            return disassemble(self._cubin, encodings=encodings)
        except PtxasNotFoundError as error:
            raise MissingTool(str(error)) from None

    def _quantities(self) -> dict[str, Quantity]:
        kernel, selection = self.kernel, self.kernel.compiled.selection
        resources = lambda: [*ctas(cast("Compiled", kernel.compiled)), f"more: {self._explained()}"]  # noqa: E731
        compiled = self._origin.command("compile", "-o", "k.ptx")
        assembled = lambda: [f"more: {compiled} && ptxas -v -arch={kernel.target} k.ptx"]  # noqa: E731
        remarks = lambda: [*self._cubin.warnings, *self._cubin.infos, *assembled()]  # noqa: E731
        return {
            "cost": Quantity(lambda: kernel.cost, self._dearest),
            "bound": Quantity(lambda: kernel.bound, self._dearest),
            "gap": Quantity(lambda: selection.answer.gap, lambda: [*kernel.limits, f"more: {self._explained()}"]),
            "nodes": Quantity(lambda: len(selection.saturated.frozen.nodes), lambda: [f"more: {self._explained()}"]),
            "instructions": Quantity(lambda: len(self.level("ptx").lines), lambda: [f"more: {self._emitted('ptx')}"]),
            "shared_memory": Quantity(lambda: kernel.manifest["dynamic_smem"], resources),
            "threads": Quantity(lambda: prod(kernel.manifest["block"]), resources),
            "warps": Quantity(lambda: selection.warps, resources),
            "registers": Quantity(lambda: self._cubin.registers, lambda: [*resources(), *assembled()]),
            "spills": Quantity(lambda: self._cubin.spill_stores, lambda: [*resources(), *assembled()]),
            "stack": Quantity(lambda: self._cubin.stack, assembled),
            "warnings": Quantity(lambda: len(self._cubin.warnings) + len(self._cubin.infos), remarks),
            "sass": Quantity(self._length, lambda: [f"more: {self._emitted('sass')}"]),
        }

    def _length(self) -> int:
        """Instructions of SASS; NOP pads the code."""
        lines = self.level("sass").lines
        return sum(line.name != "NOP" for line in lines)

    def _dearest(self) -> list[str]:
        """The choices that cost most, with what came second."""
        explanation = self._explanation
        costs = [
            (explanation.graph.columns.cost[explanation.chosen[cls]], place[0])
            for cls, place in explanation.selection.owner.items()
            if cls in explanation.selection.node and cls in explanation.chosen
        ]
        lines: list[str] = []
        for _, value in dict.fromkeys((0.0, value) for _, value in sorted(costs, reverse=True)[:DEAREST]):
            names = [
                explanation.names.of(each)
                for number, each in enumerate(explanation.program.values)
                if each is not None and explanation.frozen.class_of(number) == value
            ]
            lines += [" = ".join(dict.fromkeys(names)), *explanation.value(value)]
        return [*lines, f"more: {self._explained()}"]

    def _emitted(self, level: str) -> str:
        return self._origin.command("compile", "--emit", level)

    def _explained(self) -> str:
        return self._origin.command("compile", "--explain", "-o", "k.ptx")

    def _run_command(
        self, grid: int | Sequence[int], args: Sequence[str | Argument | int | float], tolerance: float | None
    ) -> str:
        """The command that repeats a run; arrays of the test are named by their place, as it does not have them."""
        words = ["--grid", ",".join(map(str, as_grid(grid))), "--check"]
        words += [] if tolerance is None else ["--tolerance", str(tolerance)]
        for position, (each, kind) in enumerate(zip(args, self.kernel.entry.parameters, strict=True)):
            text = each if isinstance(each, str) else f"@arg{position}.npy"
            if not isinstance(each, str | np.ndarray):
                text = f"{tile_type(kind).element}={each}"
            words += ["--arg", text]
        return self._origin.command("run", *words)


class _NoLoop(CodeLoop):
    """In place of a loop that cannot be looked at."""

    def __init__(self) -> None:
        """Nothing to hold."""

    def expect(self, *opcode: str, **conditions: object) -> None:
        """Expects nothing; the test is reported as skipped."""

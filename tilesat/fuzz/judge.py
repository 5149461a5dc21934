"""What is wrong with a program on a target: it is compiled, assembled, and simulated beside the interpreter."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import tilesat
from ir.core import UnsupportedError
from runtime.ptxas import assemble
from tilesat import execution
from tilesat.fuzz.bounds import About, Permitted, UndecidedError, bounds, outside
from tilesat.fuzz.generated import generated
from tilesat.fuzz.mixed import mixed
from tilesat.fuzz.ordered import ordered
from tilesat.fuzz.permitted import permitted, special
from tilesat.fuzz.program import Made, Program
from tilesat.fuzz.promises import promised
from tilesat.grid import as_grid
from tilesat.kernel import Kernel
from tilesat.spec import Argument

KINDS: dict[str, Callable[[int], Program]] = {
    "mixed": mixed,
    "generated": generated,
    "ordered": ordered,
    "promised": promised,
    "permitted": permitted,
    "special": special,
}
"""Generators by name: a program for each seed."""
MIX = ("mixed", "generated", "mixed", "ordered", "mixed", "generated", "mixed", "promised")
"""The kind of seed n is entry n modulo 8."""
FAR_APART = ("skewed:0", "skewed:1")
"""Schedules of the simulator in which each warp runs alone until it must wait, in two orders."""
OK, REFUSED, WRONG = "ok", "refused", "wrong"
_NUMBER = re.compile(r"\d[\d.e+-]*|inf")
_RAISED = re.compile(r"(\w+(?:Error|Exception)): .*?(\(\w+\))?$")


@dataclass(frozen=True)
class Verdict:
    """Of a program on a target; reason: empty where it is right."""

    program: str
    target: str
    found: str
    reason: str = ""


@dataclass(frozen=True)
class Wanted:
    """The arguments after a run of the source; about: under permissions, of each array of floats what it may be."""

    arguments: Sequence[Argument]
    about: Sequence[About | None] | None = None

    def missed(self, found: Sequence[Argument], tolerance: float) -> str:
        """How a run differs by more than it may; empty if it does not."""
        if self.about is None:
            for each in execution.compare(found, self.arguments, tolerance):
                if each.error > tolerance:
                    return f"argument {each.position} is off by {each.error:.3g}"
            return ""
        for position, (given, wanted, about) in enumerate(zip(found, self.arguments, self.about, strict=True)):
            if isinstance(given, np.ndarray) and (said := outside(given, np.asarray(wanted), about)):
                return f"argument {position}: {said}"
        return ""


@dataclass(frozen=True)
class Judge:
    """How programs are judged. rules: files of rewrite rules to compile with; assembled: ptxas must not complain; fast:
    permissions to compile with, by which results are held against bounds and not against a tolerance.
    """

    rules: tuple[str, ...] = ()
    assembled: bool = True
    fast: tuple[str, ...] = ()

    def judge(self, program: Program, targets: Sequence[str]) -> Iterator[Verdict]:
        """A verdict for each target. Whatever is raised is wrong, but for a refusal in words."""
        try:
            kernels = tilesat.compile_for(program.source(), targets, rules=self.rules, unchecked=True, fast=self.fast)
            wanted = self.wanted(kernels[0], program)
        except UndecidedError as undecided:
            said = f"roundings decide what '{undecided}' does"
            yield from (Verdict(program.name, target, REFUSED, said) for target in targets)
            return
        except UnsupportedError as refusal:
            if len(targets) > 1:  # another target may take it
                for target in targets:
                    yield from self.judge(program, [target])
            else:
                yield Verdict(program.name, targets[0], REFUSED, str(refusal).splitlines()[0])
            return
        except Exception as error:  # noqa: BLE001 (a traceback is a finding as much as a wrong number)
            yield from (Verdict(program.name, target, WRONG, raised(error)) for target in targets)
            return
        for target, kernel in zip(targets, kernels, strict=True):
            try:
                reason = self.fault(kernel, program, wanted, target)
            except Exception as error:  # noqa: BLE001
                reason = raised(error)
            yield Verdict(program.name, target, WRONG if reason else OK, reason)

    def wanted(self, kernel: Kernel, program: Program) -> Wanted:
        """What the interpreter says, and, under permissions, how far results may be off that."""
        if not self.fast:
            return Wanted(run(kernel, program, "ref"))
        arguments = execution.check_arguments(kernel.entry, program.arguments())
        permitted = Permitted.by(self.fast, program.steps)
        about = bounds(kernel.module, kernel.entry.sym_name, as_grid(program.grid), arguments, permitted)
        return Wanted(arguments, about)

    def fault(self, kernel: Kernel, program: Program, wanted: Wanted, target: str) -> str:
        """What is wrong with a compiled program; empty where nothing is."""
        if self.assembled:
            found = assemble(kernel.ptx, target)
            if found.warnings or found.infos:
                return f"ptxas: {(*found.warnings, *found.infos)[0]}"
        for schedule in ("together", *(FAR_APART if isinstance(program, Made) and program.apart else ())):
            found = run(kernel, program, "sim", schedule)
            if said := wanted.missed(found, program.tolerance):
                return said if schedule == "together" else f"{said} where warps run {schedule}"
        if program.expected is not None:
            for position, array in program.expected(*program.arguments()).items():
                given = np.asarray(wanted.arguments[position])
                if (error := execution.largest_error(given, array)) > program.tolerance:
                    return f"argument {position} of the interpreter is off by {error:.3g} from NumPy"
        return ""


def run(kernel: Kernel, program: Program, on: str, schedule: str = "together") -> list[Argument]:
    """The arguments after a run; on the simulator in hazard mode, and in one of its schedules."""
    arguments = execution.check_arguments(kernel.entry, program.arguments())
    grid = as_grid(program.grid)
    if on == "ref":
        execution.interpret(kernel.module, kernel.entry, grid, arguments, output=lambda _: None)
    else:
        execution.simulate(kernel.ptx, kernel.manifest, grid, arguments, hazards=True, schedule=schedule)
    return arguments


def raised(error: Exception) -> str:
    """An exception in one line: its class, what it says, and where in the code it came from."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {' '.join(str(error).split())} ({last.name})"


def likeness(reason: str) -> str:
    """What the reasons of one fault in two programs have in common: class and place of an exception, no numbers."""
    exception = _RAISED.match(reason)
    if exception:
        return f"{exception[1]} {exception[2]}"
    return reason.partition(":")[0] if reason.startswith("ptxas") else _NUMBER.sub("#", reason)


def of_seed(seed: int, kinds: Sequence[str] = MIX) -> Program:
    """The program of a seed."""
    return KINDS[kinds[seed % len(kinds)]](seed)

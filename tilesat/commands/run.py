"""`tilesat run`: run a kernel on made or loaded arguments, print what came out, compare it with the interpreter."""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ir.core import TileError
from ir.dialects.cuda_tile import Entry, Module
from tilesat import execution, inputs
from tilesat.cli import DEFAULT_TARGET, FAILED, OK
from tilesat.commands import from_level
from tilesat.output import write_file
from tilesat.source import find_entry, read
from tilesat.spec import Argument, Spec, parse

if TYPE_CHECKING:
    from ptxsim import Report
    from tilesat.levels import LoweredKernel


def run(arguments: argparse.Namespace) -> int:
    """Run, then report each array, `--check` and `--save`; 1 when the check fails."""
    specs = [parse(text, position) for position, text in enumerate(arguments.arg)]
    seconds: dict[str, float] = {}
    source, name = inputs.source(arguments.file)
    kernel = from_level.kernel_of(source, name, arguments.level, seconds)
    if kernel is not None:
        from lowering.levels import road_from

        steps = road_from(kernel, lineinfo=True)  # hazards are listed with their places in the source
        return _run_lowered(from_level.lowered(kernel, arguments, seconds, steps=steps), specs, arguments)
    module, entry = find_entry(read(source, seconds, name), arguments.entry)
    given = execution.check_arguments(entry, [spec.make() for spec in specs])
    values = [value.copy() for value in given]
    spent, report = _execute(arguments, module, entry, values, seconds)
    _tell(arguments, entry.sym_name, values, spent)
    code = _list_hazards(arguments, report)
    if not arguments.check:
        return code
    expected = [value.copy() for value in given]
    execution.interpret(module, entry, arguments.grid, expected, output=lambda _: None)  # it was printed by the run
    return max(code, _report(execution.compare(values, expected, arguments.tolerance)))


def _run_lowered(kernel: LoweredKernel, specs: Sequence[Spec], arguments: argparse.Namespace) -> int:
    """Run the kernel of a level on the simulator and report each array."""
    if arguments.on != "sim":
        raise TileError(f"a kernel of {kernel.level} cannot run on {arguments.on}", kernel.location, "leave --on out")
    values = execution.checked(kernel.signature, [spec.make() for spec in specs])
    start = time.perf_counter()
    with _hazards_shown():
        report = kernel.run(
            arguments.grid,
            *values,
            hazards=arguments.hazards or False,
            max_instructions=arguments.max_instructions,
            suppress=arguments.suppress,
            workers=arguments.workers,
        )
    _tell(arguments, kernel.name, values, time.perf_counter() - start)
    return _list_hazards(arguments, report)


def _tell(arguments: argparse.Namespace, name: str, values: Sequence[Argument], spent: float) -> None:
    """Report each array, and save them where that is asked."""
    print(f"{name}: {arguments.on} over {arguments.grid} tile blocks in {spent:.2f} s")
    _summarise(values)
    if arguments.save is not None:
        _save(arguments, values)


def _execute(
    arguments: argparse.Namespace,
    module: Module,
    entry: Entry,
    values: Sequence[Argument],
    seconds: dict[str, float],
) -> tuple[float, Report | None]:
    """Compile where the backend needs it, run; the seconds of the run alone, and the simulator's report."""
    if arguments.on == "ref":
        if arguments.workers != 1:
            execution.refuse_workers(arguments.on, entry)
        start = time.perf_counter()
        execution.interpret(module, entry, arguments.grid, values)
        return time.perf_counter() - start, None
    from tilesat.commands.options import pipeline_options, print_reports
    from tilesat.compiler import compile_module

    target = DEFAULT_TARGET if arguments.target is None else arguments.target
    options = replace(pipeline_options(arguments), lineinfo=arguments.on == "sim")  # hazards name source lines
    kernel = compile_module(module, entry, [target], options, seconds)[0]
    print_reports(kernel, arguments)
    start = time.perf_counter()
    hazards = arguments.check if arguments.hazards is None else arguments.hazards or False
    with _hazards_shown():
        report = kernel.run(
            arguments.grid,
            *values,
            on=arguments.on,
            hazards=hazards,
            max_instructions=arguments.max_instructions,
            suppress=arguments.suppress,
            workers=arguments.workers,
        )
    return time.perf_counter() - start, report


@contextmanager
def _hazards_shown() -> Generator[None]:
    """List the hazards collected before an error that ends the run."""
    from ptxsim import SimulatorError, hazard_table

    try:
        yield
    except SimulatorError as error:
        if error.hazards:
            print(hazard_table(error.hazards))
        raise


def _list_hazards(arguments: argparse.Namespace, report: Report | None) -> int:
    """With --hazards=report, the hazards by PTX line; 1 where there are any that are not suppressed."""
    if arguments.hazards != "report" or report is None:
        return OK
    from ptxsim import hazard_table

    print(hazard_table(report.hazards, report.suppressed))
    return FAILED if report.hazards else OK


def _summarise(values: Sequence[Argument]) -> None:
    for position, value in enumerate(values):
        if isinstance(value, np.ndarray) and value.size:
            wide = value.astype(np.float64)
            print(
                f"  arg{position} {value.dtype}{list(value.shape)}: "
                f"min {wide.min():.6g}, max {wide.max():.6g}, mean {wide.mean():.6g}"
            )


def _save(arguments: argparse.Namespace, values: Sequence[Argument]) -> None:
    held = io.BytesIO()
    arrays = {f"arg{k}": value for k, value in enumerate(values) if isinstance(value, np.ndarray)}
    np.savez(held, allow_pickle=False, **arrays)
    write_file(arguments.save, held.getvalue())


def _report(comparisons: Sequence[execution.Comparison]) -> int:
    for each in comparisons:
        print(f"  check {each}")
    return OK if all(each.ok for each in comparisons) else FAILED

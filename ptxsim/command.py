"""The command line: runs PTX on NumPy arrays, without a host program.

Without a grid it decodes and lists every entry, which reveals what is not simulated; with a grid it runs an entry,
checks it for hazards, and summarises each array.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ptxsim import GlobalMemory, LaunchError, Module, Report, SimulatorError, hazard_table

OK, FOUND = 0, 1
TYPES: dict[str, type[np.generic]] = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
}
Array = npt.NDArray[np.generic]
CONTENTS: dict[str, Callable[[tuple[int, ...], int], Array]] = {
    "zeros": lambda shape, _: np.zeros(shape),
    "ones": lambda shape, _: np.ones(shape),
    "arange": lambda shape, _: np.arange(int(np.prod(shape))).reshape(shape),
    "normal": lambda shape, seed: np.random.default_rng(seed).standard_normal(shape),
    "uniform": lambda shape, seed: np.random.default_rng(seed).uniform(-1, 1, shape),
    "integers": lambda shape, seed: np.random.default_rng(seed).integers(0, 100, shape),
}
SPEC = re.compile(r"(?P<type>\w+)(?:\[(?P<shape>\d+(?:,\d+)*)\])?=(?P<contents>[^:]+)(?::(?P<seed>\d+))?")
EXPECTED = f"expected TYPE[SHAPE]=CONTENTS, such as f32[64,32]=normal:1, or TYPE=NUMBER; types are {', '.join(TYPES)}"


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="ptxsim", description="Run PTX on NumPy arrays, and look for hazards.")
    made.add_argument("file", metavar="FILE.ptx")
    made.add_argument("--entry", metavar="NAME", help="the entry to run, if the file has several")
    made.add_argument("--grid", type=extent, metavar="X[,Y[,Z]]", help="CTAs; without it, entries are only decoded")
    made.add_argument("--block", type=extent, metavar="X[,Y[,Z]]", help="threads of a CTA; default .reqntid")
    made.add_argument("--cluster", type=extent, default=(1, 1, 1), metavar="X[,Y[,Z]]", help="CTAs of a cluster")
    made.add_argument("--dynamic-smem", type=int, default=0, metavar="BYTES")
    made.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="SPEC",
        help=f"one for each parameter: TYPE[SHAPE]=CONTENTS of {', '.join(CONTENTS)} (the last three with :SEED) or a "
        "file of NumPy's, or TYPE=NUMBER",
    )
    made.add_argument("--hazards", choices=("stop", "report", "off"), default="report", help="default report")
    made.add_argument("--suppress", action="append", default=[], metavar="KIND[:LINE]")
    made.add_argument("--schedule", default="together", metavar="together|skewed:SEED")
    made.add_argument("--max-instructions", type=int, metavar="N", help="end after so many instructions of warps")
    made.add_argument("--workers", type=int, default=1, metavar="N", help="processes that share the grid")
    made.add_argument("--save", type=Path, metavar="OUT.npz", help="write all arrays as arg0, arg1, ...")
    return made


def extent(text: str) -> tuple[int, int, int]:
    """X, X,Y or X,Y,Z as three numbers."""
    numbers = [int(each) for each in text.split(",")]
    if not 1 <= len(numbers) <= 3:
        raise ValueError(text)
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


def argument(spec: str) -> int | float | Array:
    """The value of a SPEC: an array of any rank, or a scalar. Raises LaunchError."""
    match = SPEC.fullmatch(spec)
    if match is None or match["type"] not in TYPES:
        raise LaunchError(f"cannot parse argument {spec!r}: {EXPECTED}")
    dtype, contents = TYPES[match["type"]], match["contents"]
    if match["shape"] is None:
        try:
            return float(contents) if match["type"].startswith("f") else int(contents, 0)
        except ValueError:
            raise LaunchError(f"cannot parse argument {spec!r}: {contents!r} is not a number") from None
    shape = tuple(int(size) for size in match["shape"].split(","))
    if contents in CONTENTS:
        return CONTENTS[contents](shape, int(match["seed"] or 0)).astype(dtype)
    if not Path(contents).is_file():
        raise LaunchError(f"argument {spec!r}: contents are {', '.join(CONTENTS)} or a file; there is no {contents!r}")
    found: Array = np.load(contents, allow_pickle=False)
    if found.shape != shape or found.dtype != dtype:
        raise LaunchError(f"argument {spec!r}: {contents} holds {found.dtype}{list(found.shape)}")
    return found


def listing(module: Module) -> str:
    """The entries of a module, with the arguments that a launch must supply. Raises SimulatorError for what is not
    simulated.
    """
    module.check()
    lines = [f"PTX {'.'.join(map(str, module.version))} for {module.target}: all of it is simulated"]
    for name in module.entries:
        kernel = module.kernel(name)
        sizes = ", ".join(f"{each.name} ({each.size} bytes)" for each in kernel.parameters)
        lines.append(
            f"{name}: up to {kernel.max_threads} threads, {kernel.static_shared} bytes of static shared memory"
        )
        lines.append(f"  parameters: {sizes or 'none'}")
    return "\n".join(lines)


def launched(module: Module, options: argparse.Namespace) -> tuple[Report, list[int | float | Array]]:
    """Run an entry; returns the report, and the arguments as they are afterwards. Raises SimulatorError."""
    kernel = module.kernel(options.entry)
    block = options.block or kernel.required
    if block is None:
        raise LaunchError(f"--block is needed: entry `{kernel.name}` has no .reqntid")
    values = [argument(spec) for spec in options.arg]
    memory = module.memory
    given = [memory.put(value) if isinstance(value, np.ndarray) else value for value in values]
    report = module.launch(
        options.grid,
        block,
        given,
        options.cluster,
        options.dynamic_smem,
        kernel.name,
        hazards=False if options.hazards == "off" else options.hazards,
        max_instructions=options.max_instructions,
        schedule=options.schedule,
        suppress=options.suppress,
        workers=options.workers,
    )
    for place, value in zip(given, values, strict=True):
        if isinstance(value, np.ndarray):
            value[...] = memory.get(int(place), value.shape, value.dtype)
    return report, values


def summary(report: Report, values: list[int | float | Array]) -> str:
    """The output of the kernels' printf, instructions, a line for each array, and the hazards."""
    lines = [*(text.rstrip("\n") for text in report.printed), f"{report.instructions.total()} instructions of warps"]
    for position, value in enumerate(values):
        if isinstance(value, np.ndarray) and value.size:
            low, high = value.min(), value.max()
            lines.append(f"arg{position} {value.dtype}{list(value.shape)}: {low:.6g} to {high:.6g}")
    if report.hazards or report.suppressed:
        lines.append(hazard_table(report.hazards, report.suppressed))
    return "\n".join(lines)


def main(words: list[str] | None = None) -> None:
    """Run the command; exits with 1 if there is an error or a hazard was found."""
    options = parser().parse_args(words)
    try:
        module = Module(Path(options.file).read_text(), GlobalMemory())
        if options.grid is None:
            print(listing(module))
            sys.exit(OK)
        report, values = launched(module, options)
    except (OSError, UnicodeDecodeError, SimulatorError) as error:
        hazards = error.hazards if isinstance(error, SimulatorError) else []
        sys.exit("\n".join([*([hazard_table(hazards)] if hazards else []), f"ptxsim: error: {error}"]))
    print(summary(report, values))
    if options.save is not None:
        arrays: dict[str, Any] = {f"arg{i}": value for i, value in enumerate(values) if isinstance(value, np.ndarray)}
        np.savez(options.save, **arrays)
    sys.exit(FOUND if report.hazards else OK)

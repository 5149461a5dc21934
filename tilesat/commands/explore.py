"""`tilesat explore`: one HTML page of a compilation, or of several that are compared."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from ir.core import Location, TileError
from tilesat.cli import OK
from tilesat.commands.compile import source_of, targets_of
from tilesat.commands.from_level import kernel_of
from tilesat.commands.options import pipeline_options, print_reports
from tilesat.compiler import compile_module
from tilesat.kernel import Kernel
from tilesat.output import STANDARD_OUTPUT, deliver
from tilesat.pictures.record import record_of
from tilesat.source import find_entry, read
from viz.explorer import page


def run(arguments: argparse.Namespace) -> int:
    """Compile every file for every target, make the page of all, write it."""
    made = [(kernel, str(file)) for file in arguments.file for kernel in _kernels(file, arguments)]
    text = page([record_of(kernel, name) for kernel, name in made])
    deliver([(arguments.output, text)])
    for kernel, _ in made:
        print_reports(kernel, arguments)
    if arguments.output != STANDARD_OUTPUT:
        print(f"{arguments.output}: {len(text.encode()) / 1e6:.1f} MB; open it in a browser", file=sys.stderr)
    return OK


def _kernels(file: Path, arguments: argparse.Namespace) -> list[Kernel]:
    """A file compiled for each target."""
    seconds: dict[str, float] = {}
    source, name = source_of(file, arguments)
    if kernel_of(source, name, arguments.level, seconds) is not None:
        raise TileError(
            "a kernel of this level has no e-graph to explore", Location(name, 1, 1), "pass Tile IR or nv_tileaa"
        )
    module, entry = find_entry(read(source, seconds, name), arguments.entry)
    targets = list(dict.fromkeys(targets_of(arguments)))
    options = replace(pipeline_options(arguments), counting=True)  # growth is shown by iteration
    return compile_module(module, entry, targets, options, seconds)

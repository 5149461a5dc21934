"""`tilesat compile`: every output is made before the first file is written."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tilesat.cli import DEFAULT_TARGET, OK
from tilesat.commands import from_level
from tilesat.output import with_target, write_file
from tilesat.source import find_entry, read

STANDARD_OUTPUT = Path("-")


def run(arguments: argparse.Namespace) -> int:
    """Compile for each target; write or print the asked stage, the manifest and the pictures."""
    seconds: dict[str, float] = {}
    source, name = _source(arguments)
    kernel = from_level.kernel_of(source, name, arguments.level, seconds)
    if kernel is not None:
        return _deliver(from_level.compile_kernel(kernel, arguments, seconds))
    modules = read(source, seconds, name)
    if arguments.emit == "cuda_tile":  # says what was read, also where nothing can be compiled
        from ir.text import print_text

        return _deliver([(arguments.output, "// -----\n".join(map(print_text, modules)))])
    from tilesat.commands.options import pipeline_options, print_reports
    from tilesat.compiler import compile_module

    module, entry = find_entry(modules, arguments.entry)
    options = pipeline_options(arguments)
    targets: list[str] = list(dict.fromkeys(_targets(arguments)))
    several = len(targets) > 1
    outputs: list[tuple[Path | None, str]] = []
    kernels = compile_module(module, entry, targets, options, seconds)
    for kernel in kernels:
        outputs.append((_named(arguments.output, kernel.target, several), kernel.stages[arguments.emit]))
        if arguments.manifest is not None:
            text = json.dumps(kernel.manifest, indent=2) + "\n"
            outputs.append((_named(arguments.manifest, kernel.target, several), text))
    _deliver(outputs)
    for kernel in kernels:
        if arguments.viz is not None:
            from tilesat.pictures import draw

            draw(kernel, arguments.viz / kernel.target if several else arguments.viz)
        print_reports(kernel, arguments)
    return OK


def _source(arguments: argparse.Namespace) -> tuple[Path | bytes, str]:
    """The file itself, standard input, or the bytecode of the cuTile kernel that it names; and its name."""
    from tilesat import cutile, inputs

    if cutile.names_kernel(arguments.file):
        kernel = cutile.load_kernel(arguments.file)
        return cutile.export(kernel, arguments.sig, _targets(arguments)[0]), str(arguments.file)
    if arguments.sig is not None:
        raise cutile.no_kernel(str(arguments.file))
    return inputs.source(arguments.file)


def _targets(arguments: argparse.Namespace) -> list[str]:
    return (DEFAULT_TARGET if arguments.target is None else str(arguments.target)).split(",")


def _named(path: Path | None, target: str, several: bool) -> Path | None:
    return None if path is None else with_target(path, target, several)


def _deliver(outputs: list[tuple[Path | None, str]]) -> int:
    """Print what has no path, or the path `-`, and write the rest."""
    for path, text in outputs:
        if path in (None, STANDARD_OUTPUT):
            print(text, end="" if text.endswith("\n") else "\n")
        else:
            write_file(path, text)
    return OK

"""`tilesat compile`: every output is made before the first file is written."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ir.core import TileError
from ir.levels import LOGICAL
from tilesat.cli import DEFAULT_TARGET, OK
from tilesat.commands import from_level, partial
from tilesat.commands.partial import watching
from tilesat.output import deliver, named
from tilesat.source import find_entry, logical_kernel, read

if TYPE_CHECKING:
    from tilesat.calling import Calling
    from tilesat.kernel import Kernel

Outputs = list[tuple[Path | None, str | bytes]]


def run(arguments: argparse.Namespace) -> int:
    """Compile for each target; write or print the asked stage, the manifest and the pictures."""
    seconds: dict[str, float] = {}
    source, name = source_of(arguments.file, arguments)
    kernel = from_level.kernel_of(source, name, arguments.level, seconds)
    if kernel is not None:
        from lowering.levels import road_from

        steps = road_from(kernel, arguments.annotate, arguments.lineinfo)
        if partial.asked(arguments):
            from tilesat.levels import own_target

            from_level.refuse_options(kernel, arguments)
            return partial.run(kernel, [own_target(kernel, arguments.target)], steps, arguments, seconds)
        deliver(from_level.compile_kernel(kernel, steps, arguments, seconds))
        return OK
    if arguments.viz_focus and arguments.viz is None:
        raise TileError("--viz-focus selects what --viz DIR draws", hint="add --viz DIR")
    modules = read(source, seconds, name)
    if arguments.emit == "cuda_tile":  # says what was read, also where nothing can be compiled
        from ir.text import print_text

        deliver([(arguments.output, "// -----\n".join(map(print_text, modules)))])
        return OK
    from lowering.passes.syntax import since
    from lowering.pipeline import road
    from tilesat import ahead_of_time
    from tilesat.commands.options import pipeline_options, print_reports
    from tilesat.compiler import compile_module

    module, entry = find_entry(modules, arguments.entry)
    options = pipeline_options(arguments)
    steps = road(options)
    if arguments.print_pipeline and logical_kernel(source, name, {}) is not None:  # read as it, compiled as Tile IR
        steps = since(steps, LOGICAL)
    targets: list[str] = list(dict.fromkeys(targets_of(arguments)))
    if partial.asked(arguments):
        return partial.run(entry, targets, steps, arguments, seconds)
    several = len(targets) > 1
    outputs: Outputs = []
    with watching(arguments, steps) as watchers:
        kernels = compile_module(module, entry, targets, options, seconds, watchers, arguments.pass_statistics)
    if ahead_of_time.is_image(arguments.output) and arguments.emit == "ptx":
        outputs += ahead_of_time.images(kernels, arguments.output)
    else:
        outputs += [(named(arguments.output, each.target, several), each.stages[arguments.emit]) for each in kernels]
    if arguments.header is not None:
        outputs.append((arguments.header, ahead_of_time.header(kernels, _calling(arguments))))
    for kernel in kernels:
        if arguments.manifest is not None:
            text = json.dumps(kernel.manifest, indent=2) + "\n"
            outputs.append((named(arguments.manifest, kernel.target, several), text))
    if arguments.trace is not None:
        from tilesat.pictures.traces import trace_of

        outputs += [(named(arguments.trace, kernel.target, several), trace_of(kernel)) for kernel in kernels]
    write_pictures = _pictures(kernels, arguments)
    deliver(outputs)
    write_pictures()
    for kernel in kernels:
        print_reports(kernel, arguments)
    return OK


def _pictures(kernels: list[Kernel], arguments: argparse.Namespace) -> Callable[[], object]:
    """What writes the pictures, which are drawn by then."""
    if arguments.viz is None:
        return list
    from tilesat.pictures import draw_all

    return draw_all(kernels, arguments.viz, arguments.viz_focus)


def _calling(arguments: argparse.Namespace) -> Calling | None:
    """What the calls of a cuTile kernel take, whose names the header has; None for other sources."""
    from tilesat import cutile_kernels

    if not cutile_kernels.names_kernel(arguments.file):
        return None
    from tilesat.specialise import calling_of

    kernel = cutile_kernels.load_kernel(arguments.file)
    return calling_of(kernel, cutile_kernels.full_signature(kernel, arguments.sig))


def source_of(file: Path, arguments: argparse.Namespace) -> tuple[bytes, str]:
    """What the file or standard input holds, or the bytecode of the cuTile kernel that it names; and its name."""
    from tilesat import cutile_kernels, inputs

    if cutile_kernels.names_kernel(file):
        kernel = cutile_kernels.load_kernel(file)
        return cutile_kernels.export(kernel, arguments.sig, targets_of(arguments)[0]), str(file)
    if arguments.sig is not None:
        raise cutile_kernels.no_kernel(str(file))
    return inputs.source(file)


def targets_of(arguments: argparse.Namespace) -> list[str]:
    """The targets that the command line names, in its order."""
    return (DEFAULT_TARGET if arguments.target is None else str(arguments.target)).split(",")

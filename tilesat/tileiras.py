"""A drop-in for NVIDIA's `tileiras`: Tile IR bytecode to a cubin, by this compiler and ptxas.

cuTile looks for a program called `tileiras` (see docs/command-line.md); it reads the exit code and lines of standard
error that look like `loc("file":line:column): error: message`. Source of options and codes: cuda-tile 1.7.0 and
nvidia-cuda-tileiras 13.4.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ir.dataclass import dataclass
from tilesat.short_lived import short_lived

if TYPE_CHECKING:
    from ir.core import TileError
    from ir.dialects.cuda_tile import Module

OK, WRONG_USE, NOT_READ, NOT_COMPILED = 0, 1, 3, 5
"""Exit codes of tileiras 13.4: 1 a bad option or no input, 3 not bytecode of a version it reads, 5 not compiled."""
DESCRIPTION = "tilesat-tileiras 0.1.0, Tile IR bytecode 13.1 to 13.5"
"""Part of cuTile's disk-cache key: change it where the same bytecode gives another cubin."""
READ_VERSIONS = ("13.1", "13.2", "13.3", "13.4", "13.5")
DEFAULT_GPU = "sm_100"
TARGETS = {
    "sm_80": "sm_80", "sm_86": "sm_86", "sm_87": "sm_86", "sm_88": "sm_86", "sm_89": "sm_89", "sm_90": "sm_90a",
    "sm_100": "sm_100a", "sm_103": "sm_103a", "sm_120": "sm_120a",
}  # fmt: skip
"""Which target compiles for a GPU: its own features (`a`) from Hopper on, as tileiras does; a cubin of 8.6 runs on 8.7
and 8.8. Of the GPUs that tileiras knows, sm_110 and sm_121 have no target here."""
_EMPTY = ".version 8.8\n.target {}\n.address_size 64\n"
_FLAGS = ("--lineinfo", "--device-debug")
_IGNORED = re.compile(r"-O[0-3]|--opt-level=[0-3]|--preview=.+|--remark-format=\w+|--remarks=.+")
"""Accepted, without effect: there is one level of optimisation, and no remarks are made."""
_PTX_HEADER = re.compile(r"^\.(version|target|address_size)\b.*\n", re.MULTILINE)


class UsageError(Exception):
    """A command line that is wrong."""


@dataclass
class Arguments:
    """What the command line asks for."""

    source: Path | None = None
    output: Path = Path("elf.o")
    gpu: str = DEFAULT_GPU
    lineinfo: bool = False
    remarks: Path | None = None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    if "--version" in given:
        print(DESCRIPTION)
        return OK
    if "--list-versions" in given:
        print("\n".join(READ_VERSIONS))
        return OK
    if "--help" in given or "-h" in given:
        print("usage: tilesat-tileiras FILE -o OUT --gpu-name sm_XY [-O0..3] [--lineinfo | --device-debug]")
        return OK
    try:
        arguments = parse_arguments(given)
        if arguments.source is None:
            raise UsageError("no input file")
        data = arguments.source.read_bytes()
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_USE
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror or error}", file=sys.stderr)
        return WRONG_USE
    with short_lived():
        return _assemble(data, arguments)


def parse_arguments(given: Sequence[str]) -> Arguments:
    """Read the options. Raises UsageError."""
    found = Arguments()
    rest = iter(given)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in ("-o", "--gpu-name", "-l", "--remarks-output-file"):
            text = value if equals else next(rest, None)
            if text is None:
                raise UsageError(f"{name} needs a value")
            _take(found, name, text)
        elif word in _FLAGS:
            found.lineinfo |= word == "--lineinfo"
        elif not _IGNORED.fullmatch(word):
            if word.startswith("-"):
                raise UsageError(f"unknown option '{word}'")
            if found.source is not None:
                raise UsageError(f"more than one input file: '{word}'")
            found.source = Path(word)
    return found


def _take(found: Arguments, name: str, text: str) -> None:
    if name == "-o":
        found.output = Path(text)
    elif name == "--remarks-output-file":
        found.remarks = Path(text)
    elif name == "-l":
        raise UsageError(f"linking '{text}' is not supported: write the kernel without foreign functions")
    elif text not in TARGETS:
        raise UsageError(f"unknown GPU '{text}'; known: {', '.join(TARGETS)}")
    else:
        found.gpu = text


def _assemble(data: bytes, arguments: Arguments) -> int:
    """Read, compile, write; each failure is told as tileiras tells it."""
    from ir.bytecode import BytecodeError, read_bytecode
    from ir.core import TileError, UnsupportedError, verify
    from tilesat.failures import describe, user_errors

    try:
        module = read_bytecode(data, str(arguments.source))
        verify(module)
    except (BytecodeError, UnsupportedError) as error:
        return _failed(error, NOT_READ)
    except TileError as error:
        return _failed(error, NOT_COMPILED)
    try:
        cubin = _cubin(module, arguments)
    except TileError as error:
        return _failed(error, NOT_COMPILED)
    except user_errors() as error:
        print(f"error: {describe(error)}\nerror: failed to compile Tile IR program", file=sys.stderr)
        return NOT_COMPILED
    try:
        arguments.output.write_bytes(cubin)
        if arguments.remarks is not None:
            arguments.remarks.write_text("")
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror or error}", file=sys.stderr)
        return WRONG_USE
    return OK


def _failed(error: TileError, code: int) -> int:
    """`loc("file":line:column): error: message` where the place is known."""
    place = error.location
    where = f'loc("{place.file}":{place.line}:{place.column}): ' if place.line else ""
    print(f"{where}error: {error.message}", file=sys.stderr)
    if code == NOT_COMPILED:
        print("error: failed to compile Tile IR program", file=sys.stderr)
    return code


def _cubin(module: Module, arguments: Arguments) -> bytes:
    """Every entry in one cubin; parameters are the entry's own, so no tensor maps are made."""
    from lowering.pipeline import Options
    from runtime.ptxas import assemble
    from tilesat.compiler import compile_module

    target = TARGETS[arguments.gpu]
    options = Options(forbid=frozenset(("tma",)))
    texts = [compile_module(module, entry, [target], options, {})[0].ptx for entry in module.entries]
    ptx = texts[0] + "".join(_PTX_HEADER.sub("", text) for text in texts[1:]) if texts else _EMPTY.format(target)
    return assemble(ptx, target, ("-lineinfo",) if arguments.lineinfo else ()).binary


if __name__ == "__main__":
    sys.exit(main())

"""`tilesat cat FILE --as text|generic|bytecode`: one form of Tile IR to another."""

from __future__ import annotations

import argparse
import sys

from ir.bytecode import write_bytecode
from ir.core import Location, TileError, verify
from ir.dialects.cuda_tile import Module
from ir.text import print_text
from tilesat.cli import OK
from tilesat.inputs import content
from tilesat.output import write_file
from tilesat.source import programs

VERSIONS = {"13.1": (13, 1), "13.2": (13, 2), "13.3": (13, 3), "13.4": (13, 4), "13.5": (13, 5)}


def run(arguments: argparse.Namespace) -> int:
    """Verify what was read, then print it or write it to `--output`."""
    data, name = content(arguments.file)
    modules = programs(data, name)
    for module in modules:
        verify(module)
    made = _bytecode(modules, name, arguments.bytecode_version) if arguments.form == "bytecode" else None
    written = made if made is not None else _text(modules, arguments).encode()
    if arguments.output is not None:
        write_file(arguments.output, written)
    else:
        sys.stdout.buffer.write(written)
    return OK


def _text(modules: list[Module], arguments: argparse.Namespace) -> str:
    form = "generic" if arguments.form == "generic" else "tile"
    return "// -----\n".join(print_text(module, form, locations=arguments.locations) for module in modules)


def _bytecode(modules: list[Module], name: str, version: str) -> bytes:
    if len(modules) != 1:
        hint = "pass one program, without `// -----` lines"
        raise TileError(f"bytecode holds one module, the file has {len(modules)}", Location(name), hint)
    return write_bytecode(modules[0], VERSIONS[version])

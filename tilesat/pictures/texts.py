"""The levels of a program as lines, each with the places of the source that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

from ir.core import Location, Op
from ir.dialects import llvm
from ir.text import located_lines, print_text
from lowering.compiled import Compiled
from lowering.ptx.printer import emit
from runtime.ptxas import PtxasError, PtxasNotFoundError
from tilesat.kernel import Kernel, sass
from tilesat.pictures.layouts import Layouts
from tilesat.pictures.places import Places
from viz.record import Level

_LOC = re.compile(r'^(.*?)(?: loc\((?:"((?:[^"\\]|\\.)*)":(\d+):(\d+)|unknown)\))$')
_PTX_FILE = re.compile(r'^\.file (\d+) "(.*)"$')
_PTX_LOC = re.compile(r"^\s*\.loc (\d+) (\d+) (\d+)$")
_SASS_LINE = re.compile(r'^\s*//## File "(.*)", line (\d+)')
MOST_BYTES = 400_000
"""Of a source file that goes into a record; larger ones are no kernels."""


def levels(kernel: Kernel, compiled: Compiled, places: Places, layouts: Layouts) -> Iterator[Level]:
    """The source first, then every level of the road that a kernel has."""
    tile_ir = tile_text(kernel, places)
    operations = {"nv_tileaa": compiled.nv_tileaa, **compiled.modules}
    below = [operation_level(name, op, places, layouts) for name, op in operations.items()]
    found = list(source_files(places))
    yield from found
    if not any("entry @" in line for level in found for line in level.lines):  # else they are Tile IR themselves
        yield tile_ir
    yield from below
    located = emit(cast(llvm.Func, compiled.modules["nvvm"]), lineinfo=True)
    yield ptx_level(located, places)
    yield from sass_level(located, kernel.target, places)


def source_files(places: Places) -> Iterator[Level]:
    """The files that places are in, where they can be read."""
    for file in places.files:
        path = Path(file)
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            lines = path.read_text(errors="replace").splitlines()
            yield Level(file, lines, [places.on_line(file, number) for number in range(1, len(lines) + 1)])


def tile_text(kernel: Kernel, places: Places) -> Level:
    """Tile IR as the disassembler prints it."""
    lines: list[str] = []
    found: list[list[int]] = []
    for line in print_text(kernel.module, locations=True).splitlines():
        match = _LOC.match(line)
        lines.append(match[1] if match else line)
        where = [Location(match[2], int(match[3]), int(match[4]))] if match and match[2] else []
        found.append(places.add(where))
    return Level("cuda_tile", lines, found)


def operation_level(name: str, op: Op, places: Places, layouts: Layouts) -> Level:
    """A level of operations, with the names of layouts in place of their bases."""
    printed = located_lines(op)
    lines = [layouts.shortened(text) for text, _ in printed]
    return Level(name, lines, [places.add([] if each is None else [each.location]) for _, each in printed])


def ptx_level(located: str, places: Places) -> Level:
    """PTX; the places are those of its .loc directives, which are left out."""
    text = located.splitlines()
    files = {number: name for line in text for number, name in _PTX_FILE.findall(line)}
    lines: list[str] = []
    found: list[list[int]] = []
    here: list[int] = []
    for line in text:
        place = _PTX_LOC.match(line)
        if place:
            here = places.add([Location(files[place[1]], int(place[2]), int(place[3]))])
        elif not _PTX_FILE.match(line):
            if line.endswith(":"):
                here = []  # whoever jumps here comes from somewhere else
            lines.append(line)
            found.append(here if line.startswith("    ") and not line.startswith("    .reg") else [])
    return Level("ptx", lines, found)


def sass_level(located: str, target: str, places: Places) -> Iterator[Level]:
    """What ptxas makes of PTX with places, where it is installed, or why it makes nothing. It knows lines and no
    columns: a line has all places on it.
    """
    try:
        listing = sass(located, target)
    except PtxasNotFoundError:
        return
    except PtxasError as error:  # an older ptxas that lacks the target, for one: all other levels are there
        lines = str(error).splitlines()
        yield Level("sass", lines, [[] for _ in lines])
        return
    yield sass_lines(code_of(listing.splitlines()), places)


def code_of(listing: list[str]) -> Iterable[str]:
    """The part of a listing that is code: its text section, without directives."""
    begun = False
    for line in listing:
        if line.startswith("//----"):
            begun = ".text." in line
        elif begun and not line.lstrip().startswith((".global", ".type", ".size", ".other", ".section", ".align")):
            yield line


def sass_lines(listing: Iterable[str], places: Places) -> Level:
    """Instructions and labels, with the places of the line that the listing names above them."""
    lines: list[str] = []
    found: list[list[int]] = []
    here: list[int] = []
    for line in listing:
        place = _SASS_LINE.match(line)
        if place:
            here = places.on_line(place[1], int(place[2]))
        elif line.strip():
            text = re.sub(r"\s{2,}", " ", line.strip())
            code = text.startswith("/*")
            lines.append(f"    {text}" if code else text)
            found.append(here if code else [])
    return Level("sass", lines, found)

"""From the user's source (a path, bytecode, text) to a cuda_tile module; only the reader needed is loaded."""

from __future__ import annotations

from pathlib import Path

from ir.content import content, is_text
from ir.core import Location, ParseError, TileError
from ir.dialects.cuda_tile import Module

MAGIC = b"\x7fTileIR\x00"
"""First bytes of Tile IR bytecode (CUDA Tile IR 13.4, bytecode header)."""


def load(source: bytes | str | Path, name: str = "<bytes>") -> Module:
    """The single module of a source, as `load_modules` reads it. Also raises TileError if there are several."""
    found = load_modules(source, name)
    if len(found) != 1:
        raise TileError(f"the source has {len(found)} modules, expected one", found[-1].location, "read load_modules")
    return found[0]


def load_modules(source: bytes | str | Path, name: str = "<bytes>") -> list[Module]:
    """Read one or more modules, unverified: bytes are bytecode or text, a str is text if it contains a brace or a
    newline, otherwise a path.

    Messages call bytes `name`. Raises TileError if the file cannot be read or is malformed.
    """
    if isinstance(source, bytes):
        return _decode(source, name)
    if is_text(source):
        from ir.text import parse_modules

        return parse_modules(source)
    return _decode(content(Path(source)), str(source))


def load_all(data: bytes, name: str) -> list[Module]:
    """The modules of a file's content, unverified: one for bytecode; for text, those of each program between `// -----`
    lines.
    """
    if data.startswith(MAGIC[:1]):
        from ir.bytecode import read_bytecode

        return [read_bytecode(data, name)]
    from ir.text import parse_all

    return parse_all(_text(data, name), name)


def _decode(data: bytes, name: str) -> list[Module]:
    if data.startswith(MAGIC[:1]):
        from ir.bytecode import read_bytecode

        return [read_bytecode(data, name)]
    from ir.text import parse_modules

    return parse_modules(_text(data, name), name)


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        hint = "Tile IR is UTF-8 text, or bytecode that starts with 7F 54 69 6C 65 49 52 00"
        raise ParseError(f"neither bytecode nor text (byte {error.start})", Location(name), hint) from error

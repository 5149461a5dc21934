"""From a path, text or bytecode to a verified module and one of its entries."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ir.core import TileError, VerifyError, verify
from ir.dialects.cuda_tile import Entry, Module
from ir.levels import LOGICAL, level_of, level_text
from ir.load import content, is_text, load_all, load_modules

if TYPE_CHECKING:
    from ir.dialects.nv_tileaa import Func

Source = str | bytes | Path


def read(source: Source, seconds: dict[str, float], name: str = "<bytes>") -> list[Module]:
    """Parse text or bytecode of Tile IR, or a kernel of nv_tileaa, and verify its modules; adds `read` and `verify` to
    `seconds`. Raises TileError.

    Messages call a source of bytes `name`.
    """
    with timed(seconds, "read"):
        if not isinstance(source, bytes) and not is_text(source):  # a file, or a pipe: read once
            source, name = content(Path(source)), str(source)
    logical = _logical(source, name)
    if logical is not None:
        return [_raised(*logical, seconds)]
    with timed(seconds, "read"):
        modules = load_modules(source, name)
    with timed(seconds, "verify"):
        for module in modules:
            verify(module)
    return modules


def programs(data: bytes, name: str) -> list[Module]:
    """The modules of a file's content as `load_all` has them, unverified; of a kernel of nv_tileaa the one it means."""
    logical = _logical(data, name)
    return load_all(data, name) if logical is None else [_raised(*logical, {})]


def _logical(source: str | bytes | Path, name: str) -> tuple[str, str] | None:
    """The text of a kernel of nv_tileaa, and what messages call it; None for another source."""
    if not isinstance(source, bytes):
        return (source, "<text>") if isinstance(source, str) and level_of(source) == LOGICAL else None
    text = level_text(source)
    return (text, name) if text is not None and level_of(text) == LOGICAL else None


def logical_kernel(source: bytes, name: str, seconds: dict[str, float]) -> Func | None:
    """The verified kernel of nv_tileaa that a file's content is; None for another one. Raises TileError."""
    logical = _logical(source, name)
    return None if logical is None else _kernel(*logical, seconds)


def _kernel(text: str, name: str, seconds: dict[str, float]) -> Func:
    from ir.dialects.nv_tileaa import Func  # readers of text are for those who have text
    from ir.text.level_input import read_level

    with timed(seconds, "read"):
        kernel = read_level(text, name)
    with timed(seconds, "verify"):
        verify(kernel)
    assert isinstance(kernel, Func)  # its name said so
    return kernel


def _raised(text: str, name: str, seconds: dict[str, float]) -> Module:
    """The module that a kernel of nv_tileaa means, verified at both levels."""
    from lowering.convert.tileaa_to_cuda_tile import as_tile_ir

    kernel = _kernel(text, name, seconds)
    with timed(seconds, "verify"):
        module = as_tile_ir(kernel)[0]
        try:
            verify(module)
        except VerifyError as error:
            hint = "operations of nv_tileaa are verified as those of Tile IR that they mean"
            raise VerifyError(error.message, error.location, hint) from error
    return module


def find_entry(modules: Sequence[Module], name: str | None) -> tuple[Module, Entry]:
    """The entry called `name`, which may be MODULE::ENTRY, or the only one; and its module.

    Raises TileError that lists the entries.
    """
    every = [(module, entry) for module in modules for entry in module.entries]
    found = [(m, e) for m, e in every if name in (None, e.sym_name, f"{m.sym_name}::{e.sym_name}")]
    if len(found) == 1:
        return found[0]
    place, what = modules[0].location, "the module has" if len(modules) == 1 else "the modules have"
    if not every:
        raise TileError(f"{what} no entry to compile", place)
    plain = [entry.sym_name for _, entry in every]
    names = ", ".join(e.sym_name if plain.count(e.sym_name) == 1 else f"{m.sym_name}::{e.sym_name}" for m, e in every)
    if not found:
        raise TileError(f"{what} no entry {name!r}", place, f"entries: {names}")
    several = f"several entries {name!r}" if name else "several entries"
    raise TileError(f"{what} {several}", place, f"name one with --entry (entry=): {names}")


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Generator[None]:
    """Add the wall-clock seconds of the block to `seconds[stage]`."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - start

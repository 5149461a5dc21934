"""From a path, text or bytecode to a verified module and one of its entries."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ir.core import TileError, verify
from ir.dialects.cuda_tile import Entry, Module
from ir.load import load_modules

Source = str | bytes | Path


def read(source: Source, seconds: dict[str, float], name: str = "<bytes>") -> list[Module]:
    """Parse text or bytecode and verify its modules; adds `read` and `verify` to `seconds`. Raises TileError.

    Messages call a source of bytes `name`.
    """
    with timed(seconds, "read"):
        modules = load_modules(source, name)
    with timed(seconds, "verify"):
        for module in modules:
            verify(module)
    return modules


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

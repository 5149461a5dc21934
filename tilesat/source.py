"""From a path, text or bytecode to a verified module and one of its entries."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ir.core import TileError, verify
from ir.dialects.cuda_tile import Entry, Module
from ir.load import load

Source = str | bytes | Path


def read(source: Source, seconds: dict[str, float], name: str = "<bytes>") -> Module:
    """Parse text or bytecode and verify it; adds `read` and `verify` to `seconds`. Raises TileError.

    Messages call a source of bytes `name`.
    """
    with timed(seconds, "read"):
        module = load(source, name)
    with timed(seconds, "verify"):
        verify(module)
    return module


def find_entry(module: Module, name: str | None) -> Entry:
    """The entry called `name`, or the only one. Raises TileError that lists the entries."""
    found = [entry for entry in module.entries if name is None or entry.sym_name == name]
    if len(found) == 1:
        return found[0]
    if not module.entries:
        raise TileError("the module has no entry to compile", module.location)
    names = ", ".join(entry.sym_name for entry in module.entries)
    if not found:
        raise TileError(f"the module has no entry {name!r}", module.location, f"its entries: {names}")
    raise TileError("the module has several entries", module.location, f"name one with --entry (entry=): {names}")


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Generator[None]:
    """Add the wall-clock seconds of the block to `seconds[stage]`."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - start

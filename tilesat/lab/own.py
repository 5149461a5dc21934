"""Functions of the user's by name, FILE.py:NAME, so that command lines and other processes can name them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ir.core import Location, TileError


def function(name: object) -> Callable[..., Any]:
    """The function NAME of FILE.py. Raises TileError where there is no such file or function, or the file raises."""
    path, _, own = str(name).rpartition(":")
    if not path.endswith(".py"):
        raise TileError(f"expected FILE.py:NAME, got {name!r}")
    return _load(str(Path(path).resolve()), own)


@cache
def _load(path: str, name: str) -> Callable[..., object]:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise TileError("cannot read this file", Location(path), "pass FILE.py:NAME of a function")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise TileError(
            f"{type(error).__name__}: {error}", Location(path), "the file was run to find the function"
        ) from error
    found = getattr(module, name, None)
    if not callable(found):
        raise TileError(f"there is no function {name!r}", Location(path))
    return found

"""Compiled kernels on disk: a file for each source, target and set of options, found again by any process.

The folder is TILESAT_CACHE_DIR, by default the user's cache folder (platformdirs); TILESAT_CACHE=off turns it off,
TILESAT_CACHE_BYTES bounds it (1 GiB): the least recently used files are removed first. Files appear atomically, so any
number of processes may write. This module loads no part of the compiler, so a cached kernel costs a new process little.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from threading import get_ident
from time import monotonic_ns
from typing import cast

FORMAT = 1
"""Of the files; one of another format is not looked for."""
LIMIT = 1 << 30
"""Bytes of all files: some 5,000 kernels of 200 KB."""
FOLDER, SWITCH, BYTES = "TILESAT_CACHE_DIR", "TILESAT_CACHE", "TILESAT_CACHE_BYTES"
ROOT = Path(__file__).resolve().parent.parent
OURS = ("ir", "egraph", "extract", "lowering", "tilesat")
"""Packages that affect compilation."""
OTHERS = ("egglog", "highspy", "cuda.tile")
"""Third-party packages that do."""


LISTED, LISTS = ("rules", "without", "forbid"), (list, tuple, set, frozenset)
"""Options that are lists of names or paths, and what a list may be."""
PERMISSIONS = (*LISTS, dict)
"""What permissions may be: a list of names, or one for each entry."""


@dataclass(frozen=True)
class Cache:
    """A folder of compiled kernels, and how many bytes it may hold."""

    folder: Path
    limit: int = LIMIT

    def get(self, key: str) -> dict[str, object] | None:
        """The record of a key; None if there is none, or it cannot be read."""
        path = self._path(key)
        try:
            record: object = json.loads(path.read_bytes())
            path.touch()
        except (OSError, ValueError):
            return None
        return cast("dict[str, object]", record) if isinstance(record, dict) else None

    def put(self, key: str, record: Mapping[str, object]) -> None:
        """Store a JSON-compatible record. An unwritable folder stores nothing."""
        path = self._path(key)
        partial = path.with_name(f"{key}.{os.getpid()}.{get_ident()}.{monotonic_ns()}.partial")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial.write_text(json.dumps(record))
            partial.replace(path)
        except OSError:
            with suppress(OSError):
                partial.unlink()
            return
        self._shrink()

    def entries(self) -> list[tuple[float, int, Path]]:
        """Time of the last use, bytes and path of each file, oldest first."""
        return sorted(self._files("*.json"))

    def clear(self) -> int:
        """Remove all files; returns how many kernels there were."""
        found = len(self.entries())
        for *_, path in self._files("*.*"):
            path.unlink(missing_ok=True)
        return found

    def _files(self, pattern: str) -> Iterator[tuple[float, int, Path]]:
        for path in self.folder.glob(pattern):
            with suppress(FileNotFoundError):  # another process has removed it
                status = path.stat()
                yield status.st_mtime, status.st_size, path

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _shrink(self) -> None:
        """Remove the least recently used files until the rest fits, and leftovers of processes that ended while
        writing.
        """
        found = sorted(self._files("*.*"))
        held = sum(size for _, size, _ in found)
        for _, size, path in found:
            if held <= self.limit:
                return
            path.unlink(missing_ok=True)
            held -= size


def opened() -> Cache | None:
    """The cache of this process as the environment says; None where it is off. Raises TileError for a wrong bound."""
    if os.environ.get(SWITCH) == "off":
        return None
    asked = os.environ.get(FOLDER)
    if asked is None:
        from platformdirs import user_cache_path

        folder = user_cache_path("tilesat", appauthor=False)
    else:
        folder = Path(asked)
    limit = os.environ.get(BYTES, str(LIMIT))
    if not limit.isdecimal():
        from ir.core import TileError  # loaded on demand

        raise TileError(f"{BYTES}: expected a number of bytes, got {limit!r}")
    return Cache(folder, int(limit))


def key_of(source: bytes, name: str, target: str, options: Mapping[str, object]) -> str | None:
    """The key of a compilation: source, what messages call it, target, options, rule files, and the compiler itself.

    None if an option is a function, which cannot be compared, or of an invalid kind, or if a rule file cannot be read.
    """
    listed = all(isinstance(options[what], LISTS) for what in LISTED) and isinstance(options["fast"], PERMISSIONS)
    if any(map(callable, options.values())) or not listed:
        return None
    digest = blake2b(digest_size=20)
    try:
        rules = [Path(path).read_bytes() for path in cast("Iterable[str]", options["rules"])]
    except (OSError, TypeError, ValueError):
        return None
    plain = {what: _in_order(value) for what, value in options.items()}
    for part in (compiler(), source, name, target, json.dumps(plain, sort_keys=True, default=str), *rules):
        data = part if isinstance(part, bytes) else part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def _in_order(value: object) -> object:
    """A set as a list that is always the same, and so the lists of a mapping."""
    if isinstance(value, dict):
        return {str(name): _in_order(each) for name, each in cast("dict[object, object]", value).items()}
    return sorted(map(str, cast("set[object]", value))) if isinstance(value, set | frozenset) else value


@cache
def compiler() -> str:
    """The compiler: sizes and times of its files, of the packages that it uses, and Python's version."""
    stamps = [stamp for package in OURS for stamp in _stamps(str(ROOT / package))]
    for package in OTHERS:
        with suppress(ImportError):
            found = find_spec(package)
            if found is not None and found.origin:
                status = os.stat(found.origin)
                stamps.append((found.origin, status.st_mtime_ns, status.st_size))
    return repr((FORMAT, sys.version_info[:3], sorted(stamps)))


def _stamps(folder: str) -> Iterator[tuple[str, int, int]]:
    """Path, time and size of each file of a package that decides; `Path.rglob` takes four times as long."""
    with os.scandir(folder) as found:
        for each in found:
            if each.name.endswith((".py", ".egg", ".json")):
                status = each.stat()
                yield each.path, status.st_mtime_ns, status.st_size
            elif "." not in each.name and each.name != "__pycache__" and each.is_dir():
                yield from _stamps(each.path)

"""The extension module of egglog 13.2.0 without the package around it.

`import egglog` runs 0.16 s of Python (measured, process time on one core: its high-level API and the formatter black)
that the adapter never uses; the extension alone loads in 0.015 s. It is registered under its own name, so that a
program which imports egglog as well shares it.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import struct
import sys
import tempfile
from pathlib import Path
from types import ModuleType

NAME = "egglog.bindings"


def load() -> ModuleType:
    """The module `egglog.bindings`. Raises ImportError where egglog is not installed."""
    found = sys.modules.get(NAME)
    if found is not None:
        return found
    path = _extension()
    if path is None:
        return importlib.import_module(NAME)
    module = _load_from(path)
    sys.modules[NAME] = module
    return module


def load_again() -> ModuleType:
    """A second copy of the extension, with state of its own, for a process that was forked from one that used egglog.

    The extension keeps a pool of threads (rayon), which a fork does not copy: the first e-graph that is dropped in the
    child, by `pop` as well, waits for it forever. The loader gives the same library for the same file, so this one is
    loaded from a copy, which is removed at once. Raises ImportError where egglog is not installed.
    """
    path = _extension()
    if path is None:
        raise ImportError("egglog is not installed: pip install egglog==13.2.0")
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with path.open("rb") as file, tempfile.NamedTemporaryFile(suffix=path.suffix, dir=memory) as copy:
        copy.write(file.read(_loaded_bytes(path)))
        copy.flush()
        return _load_from(Path(copy.name))


def _extension() -> Path | None:
    """The file of the extension, None where there is none beside the package."""
    package = importlib.util.find_spec("egglog")
    if package is None or package.origin is None:
        raise ImportError("egglog is not installed: pip install egglog==13.2.0")
    paths = [Path(package.origin).with_name("bindings" + end) for end in importlib.machinery.EXTENSION_SUFFIXES]
    return next((path for path in paths if path.exists()), None)


def _load_from(path: Path) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader(NAME, str(path))
    spec = importlib.util.spec_from_file_location(NAME, path, loader=loader)
    if spec is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _loaded_bytes(path: Path) -> int:
    """How many bytes of a library the loader maps: 11 of the 218 MB, whose rest is debug information (13.2.0 on Linux).

    64-bit little-endian ELF: program headers of 56 bytes, at the offset 32 and in the number 56 of the file header; of
    each the offset 8 and the size 32 of its segment (System V ABI, chapter 5). All of another format.
    """
    with path.open("rb") as file:
        header = file.read(64)
        if header[:6] != b"\x7fELF\x02\x01":
            return path.stat().st_size
        (start,), (count,) = struct.unpack_from("<Q", header, 32), struct.unpack_from("<H", header, 56)
        file.seek(start)
        table = file.read(56 * count)
    segments = [struct.unpack_from("<QQQQ", table, 56 * i + 8) for i in range(count)]
    return max(offset + size for offset, _, _, size in segments)

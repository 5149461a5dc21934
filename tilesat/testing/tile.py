"""The fixture `tile`: compiles kernels for one test."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Unpack, cast

import tilesat
from tilesat import cutile_kernels
from tilesat.compiler import DEFAULT_TARGET, CompileOptions
from tilesat.kernel import Kernel
from tilesat.testing import runs
from tilesat.testing.conditions import hidden
from tilesat.testing.kernel import CheckedKernel
from tilesat.testing.origin import Origin, read

__tracebackhide__ = hidden

KEPT = 16
"""Kernels that a session keeps, those used last: each has its e-graph."""
GOLDEN = "golden"
"""The folder of golden files, beside the test."""


class Tile:
    """What a test gets. path, name: of the test; bless: renew golden files; left_out: what a missing tool cannot say;
    cache: of the session; folder: for programs that have no file.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        bless: bool,
        left_out: list[str],
        cache: dict[object, object],
        folder: Callable[[], Path],
    ):
        self._path = path
        self._name = name
        self._bless = bless
        self._left_out = left_out
        self._cache = cache
        self._folder = folder

    def compile(
        self,
        source: object,
        target: str = DEFAULT_TARGET,
        *,
        signature: object = None,
        **options: Unpack[CompileOptions],
    ) -> CheckedKernel:
        """Compile Tile IR, given as a file (from the test's folder or from here), as text or as bytecode, or a cuTile
        kernel with its signature, which may also be a text MODULE.py:KERNEL. `options` are those of `tilesat.compile`.

        A program is compiled once a session for the same target and options. Raises TileError as `tilesat.compile`.
        """
        path: Path | None = None
        if isinstance(source, str) and cutile_kernels.names_kernel(Path(source)):
            file, _, name = source.rpartition(":")
            module, _ = read(file, self._path.parent)
            source = cutile_kernels.load_kernel(Path(f"{module}:{name}"))
        if cutile_kernels.is_kernel(source):
            content: str | bytes = cutile_kernels.export(source, signature, target)
        elif signature is not None:
            raise cutile_kernels.no_kernel("the program")
        else:
            path, content = read(source, self._path.parent)
        origin = Origin(path, content, target, options, self._folder)
        key = (str(path), content, target, repr(sorted(options.items())))
        kernel = cast("Kernel | None", self._cache.pop(key, None))
        if kernel is None:
            kernel = tilesat.compile(origin.file if path is not None else content, target, **options)
        self._cache[key] = kernel
        while len(self._cache) > KEPT:
            del self._cache[next(iter(self._cache))]
        return CheckedKernel(kernel, origin, self._golden_file, self._bless, self._left_out)

    def filecheck(self, source: str | Path) -> None:
        """Run the commands that a file states in its `// RUN:` lines, tilesat and filecheck."""
        path, _ = read(source, self._path.parent)
        assert path is not None
        runs.check(path)

    def _golden_file(self, name: str) -> Path:
        """`golden/<test file>/<test>.<kernel>.<target>.<level>` beside the test file."""
        test = re.sub(r"[^\w.=-]+", "-", self._name).strip("-")
        return self._path.parent / GOLDEN / self._path.stem / f"{test}.{name}"

"""Files appear whole or not at all: an interrupted or failed run leaves the earlier file, or none."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

STANDARD_OUTPUT = Path("-")


def deliver(outputs: Iterable[tuple[Path | None, str | bytes]]) -> None:
    """Print texts that have no path, or the path `-`, and write the rest. Raises OSError."""
    for path, content in outputs:
        if isinstance(content, str) and path in (None, STANDARD_OUTPUT):
            print(content, end="" if content.endswith("\n") else "\n")
        elif path is not None:
            write_file(path, content)


def write_file(path: Path, content: str | bytes) -> None:
    """Write `content` under a temporary name in the same folder, then rename it to `path` (atomic on POSIX).

    A device or a pipe is written to as it is: renaming would put a file in its place. Makes missing parent folders.
    Raises OSError when the folder cannot be written.
    """
    try:
        data = content.encode() if isinstance(content, str) else content
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            _replace(path, data)
    except OSError as error:
        if error.errno is not None:
            error.filename = str(path)  # the user named this file, not the temporary one
        raise


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp makes files private; a result is an ordinary file
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def with_target(path: Path, target: str, several: bool) -> Path:
    """`gemm.ptx` becomes `gemm.sm_80.ptx` when one command compiles for several targets."""
    return path.with_name(f"{path.stem}.{target}{path.suffix}") if several else path


def named(path: Path | None, target: str, several: bool) -> Path | None:
    """The same where there is a path at all."""
    return None if path is None else with_target(path, target, several)

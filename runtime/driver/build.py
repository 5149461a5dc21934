"""Compiling the C library at first use, into a folder of its own."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from runtime.driver.stubs import SOURCES, source

LIBRARY = "libcuda.so.1"
# Names under which programs ask for the runtime; a version node each keeps the loader from warnings.
_RUNTIMES = ("libcudart.so.12", "libcudart.so.13")
_FLAGS = ("-std=gnu11", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra")
# Aliases share one body by intent, and refused functions take anything.
_QUIET = ("-Wno-attribute-alias", "-Wno-strict-prototypes")


class BuildError(RuntimeError):
    """The library cannot be compiled; the message says why and what to do."""


def default_folder() -> Path:
    """Where libraries are kept: $XDG_CACHE_HOME/tilesat/driver, or the same in ~/.cache."""
    kept = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(kept) if Path(kept).is_absolute() else Path.home() / ".cache") / "tilesat" / "driver"


def compiler() -> list[str] | None:
    """The command of the C compiler: $CC, else cc; None where there is none."""
    command = shlex.split(os.environ.get("CC", "cc")) or ["cc"]
    return command if shutil.which(command[0]) else None


def build(folder: Path | None = None) -> Path:
    """The folder with libcuda.so.1 and the names of the runtime, compiled if it is not there yet.

    folder: in which a subfolder is made for each state of the sources. Raises BuildError.
    """
    command = compiler()
    if command is None:
        raise BuildError("no C compiler: install gcc or clang (Debian: apt install gcc), or set CC")
    text = source()
    parts = [text, *(path.read_text() for path in sorted(SOURCES.glob("*.[ch]"))), *command, *_FLAGS]
    made = (folder or default_folder()) / hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    if (made / LIBRARY).exists():
        return made
    try:
        made.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=made.parent) as temporary:
            _compile(Path(temporary), text, command)
            try:
                Path(temporary).rename(made)
            except OSError:  # another process was faster
                if not (made / LIBRARY).exists():
                    raise
            Path(temporary).mkdir(exist_ok=True)  # for TemporaryDirectory to remove
    except OSError as error:
        raise BuildError(f"cannot build the library in {made.parent}: {error}; pass another folder") from None
    return made


def _compile(folder: Path, text: str, command: list[str]) -> None:
    unit, script = folder / "unit.c", folder / "versions"
    unit.write_text(text)
    script.write_text("".join(f"{name} {{}};\n" for name in _RUNTIMES))
    arguments = [
        *command,
        *_FLAGS,
        *_QUIET,
        f"-I{SOURCES}",
        f"-Wl,-soname,{LIBRARY}",
        f"-Wl,--version-script={script}",
        "-o",
        str(folder / LIBRARY),
        str(unit),
        "-ldl",
    ]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode or not (folder / LIBRARY).exists():
        raise BuildError(f"`{shlex.join(arguments)}` failed:\n{done.stderr.strip()}")
    for name in ("libcuda.so", "libcudart.so", *_RUNTIMES):
        (folder / name).symlink_to(LIBRARY)

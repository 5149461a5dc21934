"""Running a program, or a Python script, on the simulated device."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.driver.answers import Options
from runtime.driver.build import LIBRARY, build
from runtime.driver.report import Summary
from runtime.driver.scripts import assembler, script_environment
from runtime.driver.server import Server

_START = Path(__file__).parent / "start.py"


def run_program(command: Sequence[str], options: Options, folder: Path | None = None) -> tuple[int, Summary]:
    """Run a command whose CUDA calls go to the simulator; its exit status (128 + signal), and what was found.

    command: a program, or a file that ends in .py, which this interpreter runs; folder: where the library is built.
    Raises BuildError, and OSError where the command cannot be started.
    """
    library = build(folder)
    wanted = _command(command)
    with Server(options) as server:
        added = {
            **server.environment,
            "LD_PRELOAD": _joined(str(library / LIBRARY), "LD_PRELOAD"),
            "LD_LIBRARY_PATH": _joined(str(library), "LD_LIBRARY_PATH"),
            **script_environment(library, assembler(library)),
        }
        status = _wait(wanted, {**os.environ, **added})
    return status, server.summary


def _command(given: Sequence[str]) -> list[str]:
    if not given[0].endswith(".py"):
        if shutil.which(given[0]) is None:
            raise FileNotFoundError(2, "there is no such program", given[0])
        return list(given)
    if not Path(given[0]).is_file():
        raise FileNotFoundError(2, "there is no such script", given[0])
    return [sys.executable, str(_START), *given]


def _joined(first: str, name: str) -> str:
    return ":".join(filter(None, (first, os.environ.get(name))))


def _wait(command: Sequence[str], environment: Mapping[str, str]) -> int:
    with subprocess.Popen(command, env=environment) as process:
        try:
            status = process.wait()
        except BaseException:
            process.send_signal(signal.SIGTERM)
            raise
    return 128 - status if status < 0 else status

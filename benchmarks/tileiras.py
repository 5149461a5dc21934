"""NVIDIA's tileiras for comparison: where it is, a CUDA installation for it, and one run of it."""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Run:
    """How one run of tileiras ended: exit status, standard error, wall, CPU and ptxas seconds."""

    code: int
    stderr: str
    wall: float
    cpu: float
    ptxas: float


def find(python: str = sys.executable) -> Path | None:
    """tileiras of an interpreter's environment, if its NVVM is there too."""
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    purelib = sysconfig.get_path("purelib")
    if python != sys.executable:
        purelib = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    folder = Path(purelib) / "nvidia" / "cu13"
    program = folder / "bin" / "tileiras"
    return program if program.is_file() and (folder / "nvvm").is_dir() else None


def version(program: Path) -> str:
    """The line of --version that names the release."""
    said = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=True).stdout
    return said.strip().splitlines()[-1].strip()


def cuda_home(folder: Path, program: Path) -> Path:
    """A CUDA installation as tileiras looks for it: its own NVVM, and the ptxas that all use, timed."""
    from runtime.ptxas import find as find_ptxas

    (folder / "bin").mkdir(parents=True)
    (folder / "nvvm").symlink_to(program.parent.parent / "nvvm")
    (folder / "lib").symlink_to(program.parent.parent / "lib")
    wrapper = folder / "bin" / "ptxas"
    wrapper.write_text(
        f'#!/bin/sh\nstart=$(date +%s%N)\n{shlex.quote(str(find_ptxas()))} "$@"\ncode=$?\n'
        f"echo $(($(date +%s%N) - start)) >> {shlex.quote(str(folder / 'ptxas.log'))}\nexit $code\n"
    )
    wrapper.chmod(0o755)
    return folder


def run(
    program: Path, home: Path, target: str, bytecode: Path, cubin: Path, *, seconds: int = 600, memory: int = 0
) -> Run:
    """Compile one file; `seconds` of CPU and bytes of `memory` (0: any) are limits of each process."""
    log = home / "ptxas.log"
    log.write_text("")
    command = [str(program), str(bytecode), "-o", str(cubin), "--gpu-name", target.rstrip("a"), "-O3"]
    environment: Mapping[str, str] = {**os.environ, "CUDA_HOME": str(home)}

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    before, start = os.times(), time.perf_counter()
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, preexec_fn=limit
    )
    wall, after = time.perf_counter() - start, os.times()
    ptxas = sum(int(line) for line in log.read_text().split()) / 1e9
    return Run(done.returncode, done.stderr, wall, sum(after[2:4]) - sum(before[2:4]), ptxas)

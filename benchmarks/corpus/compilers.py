"""One kernel by this compiler, in a warm worker process with limits, and by tileiras, whose results are kept."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import tileiras
from benchmarks.cubin import read_code

ROOT = Path(__file__).resolve().parents[2]
WARMING = ROOT / "examples" / "vecadd_ptr.mlir"


@dataclass(frozen=True)
class Limits:
    """CPU seconds of a compilation, and bytes of address space."""

    seconds: int = 120
    memory: int = 12 << 30


@dataclass(frozen=True)
class Outcome:
    """A compiler's result for a kernel: `error` is empty if it compiled. Spills are LDL and STL instructions."""

    error: str = ""
    defect: bool = False
    """Whether the error is a traceback rather than a message."""
    seconds: float = 0.0
    registers: int = 0
    spills: int = 0
    instructions: int = 0
    mma: int = 0
    loops: tuple[int, ...] = ()
    work: tuple[tuple[int, float], ...] = ()
    """For each loop with products: instructions, and multiply-adds of a thread."""

    @property
    def compiled(self) -> bool:
        return not self.error


def _made(cubin: Path, seconds: float) -> Outcome:
    code = read_code(cubin)
    return Outcome("", False, seconds, code.registers, code.spills, code.instructions, code.mma, code.loops, code.work)


def _read(row: dict[str, Any]) -> Outcome:
    work = tuple((int(length), float(done)) for length, done in row.get("work", ()))
    return Outcome(**{**row, "loops": tuple(row.get("loops", ())), "work": work})


# Ours


class Worker:
    """A process of this compiler that has compiled before; recreated after each crash or limit."""

    def __init__(self, limits: Limits):
        self.limits = limits
        self._process: subprocess.Popen[str] | None = None

    def compile(self, bytecode: Path, target: str, cubin: Path) -> Outcome:
        """Compile one kernel; seconds are CPU seconds from bytecode to PTX."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(bytecode), target, str(cubin)]) + "\n")
        process.stdin.flush()
        # CPU time ends the worker; the wall clock ends it only if it sleeps indefinitely.
        ready, _, _ = select.select([process.stdout], [], [], 20 * self.limits.seconds)
        line = process.stdout.readline() if ready else ""
        if line:
            return _read(json.loads(line))
        code = self.close()
        if code == -signal.SIGXCPU or not ready:
            return Outcome(f"longer than {self.limits.seconds} s of CPU time", True)
        return Outcome(f"the compiler ended with status {code}", True)

    def close(self) -> int:
        """End the process; its exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            process.kill()
        return process.wait()

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            command = [sys.executable, "-m", "benchmarks.corpus.compilers", json.dumps(asdict(self.limits))]
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
        return self._process


def serve(limits: Limits) -> None:
    """The worker: one request per line on standard input, one outcome per line on standard output."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    import tilesat

    tilesat.compile(WARMING, "sm_80")
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    for line in sys.stdin:
        source, target, cubin = json.loads(line)
        spent = int(time.process_time()) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (spent + limits.seconds, resource.RLIM_INFINITY))
        replies.write(json.dumps(asdict(_one(Path(source), target, Path(cubin)))) + "\n")


def _one(source: Path, target: str, cubin: Path) -> Outcome:
    import tilesat
    from runtime.ptxas import assemble
    from tilesat.failures import describe, user_errors

    start = time.process_time()
    try:
        kernel = tilesat.compile(source, target)
        seconds = time.process_time() - start
        cubin.write_bytes(assemble(kernel.ptx, target).binary)
        return _made(cubin, seconds)
    except user_errors() as error:
        return Outcome(describe(error), False, time.process_time() - start)
    except (Exception, MemoryError) as error:  # noqa: BLE001 - a defect of the compiler is a row of the table
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).parent.name}/{Path(place.filename).name}:{place.lineno}"
        return Outcome(f"{type(error).__name__}: {error} ({where})", True, time.process_time() - start)


# tileiras


class Tileiras:
    """tileiras with a folder of results; a result counts for one version, one target and one bytecode."""

    def __init__(self, program: Path, cache: Path, limits: Limits):
        self.program, self.cache, self.limits = program, cache, limits
        self.version = tileiras.version(program)
        self._folder = tempfile.TemporaryDirectory()
        self._home = tileiras.cuda_home(Path(self._folder.name) / "cuda", program)

    def compile(self, bytecode: Path, target: str) -> Outcome:
        key = hashlib.sha256(f"{self.version} {target} {self.limits.seconds} ".encode() + bytecode.read_bytes())
        kept = self.cache / f"{key.hexdigest()}.json"
        row = json.loads(kept.read_text()) if kept.is_file() else {}
        if "work" in row or row.get("error"):  # entries without it are from an older version of this benchmark
            return _read(row)
        outcome = self._run(bytecode, target)
        self.cache.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(asdict(outcome)))
        return outcome

    def _run(self, bytecode: Path, target: str) -> Outcome:
        cubin = Path(self._folder.name) / "kernel.cubin"
        limits = self.limits
        done = tileiras.run(
            self.program, self._home, target, bytecode, cubin, seconds=limits.seconds, memory=limits.memory
        )
        if done.code == 0:
            return _made(cubin, done.cpu)
        if done.code == -signal.SIGXCPU:
            return Outcome(f"longer than {limits.seconds} s of CPU time", True)
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[-1:]
        return Outcome(lines[0] if lines else f"tileiras ended with status {done.code}", False, done.cpu)


if __name__ == "__main__":
    serve(Limits(**json.loads(sys.argv[1])))

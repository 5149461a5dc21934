"""The GEMM 128x128x64 (f16 in, f32 out) by this compiler, by Triton and by tileiras, side by side in one run.

python -m benchmarks.peers.timings [--target sm_80,sm_90a] [--repeat 5] [--peers PYTHON] [--json OUT.json]

PYTHON is an interpreter whose environment has the extra `peers` (default: this one). Ours and tileiras compile the same
bytecode, Triton its own source of the same kernel (benchmarks/triton_gemm.py); all three use the same ptxas. A round
measures each once, so that other work on the machine affects all of them; medians over the rounds are printed. Seconds:
`process` is a whole process from its start to the cubin; `compile` leaves out starting the interpreter, imports and
one-time costs of the first compile (for tileiras, a native program, it is the process); `front` is `compile` without
ptxas.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import tileiras
from benchmarks.cubin import Code, read_code

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "examples" / "gemm.mlir"
BYTECODE_VERSION = "13.3"
"""Both tileiras 13.4 and later read it."""
LOOP_GOALS = {"sm_80": 260, "sm_90a": 60}
RATIO_GOAL = 0.6
"""Compile seconds against the better peer. Source: the project's goals, docs/roadmap.md."""


@dataclass(frozen=True)
class Seconds:
    """Wall-clock seconds of one compilation (see the module), and CPU seconds of `compile` and `process`."""

    front: float
    compile: float
    process: float
    compile_cpu: float
    process_cpu: float


def main() -> None:
    arguments = _arguments()
    if arguments.worker is not None:
        print(json.dumps(ours_in_this_process(*arguments.worker)))
        return
    found = {target: measure(target, arguments.peers, arguments.repeat) for target in arguments.target.split(",")}
    for target, rows in found.items():
        report(target, rows)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the GEMM by this compiler and by its peers")
    parser.add_argument("--target", default="sm_80,sm_90a")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", nargs=3, metavar=("TARGET", "BYTECODE", "CUBIN"), help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(target: str, peers: str, repeat: int) -> dict[str, dict[str, Any]]:
    """Medians and code of every available compiler."""
    seconds: dict[str, list[Seconds]] = {}
    code: dict[str, Code] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bytecode = folder / "gemm.tileirbc"
        bytecode.write_bytes(_bytecode())
        runs = {"ours": lambda out: run_ours(target, bytecode, out)}
        if _has(peers, "triton"):
            for variant in ("pointers",) if target == "sm_80" else ("pointers", "descriptors"):
                runs[f"Triton, {variant}"] = lambda out, v=variant: run_triton(peers, target, v, out)
        program = tileiras.find(peers)
        if program is not None:
            home = tileiras.cuda_home(folder / "cuda", program)
            runs["tileiras"] = lambda out: run_tileiras(program, home, target, bytecode, out)
        runs["ours"](folder / "first.cubin")  # Python writes the compiled modules; installed packages include theirs
        for _ in range(repeat):
            for compiler, run in runs.items():
                output = folder / "kernel.cubin"
                seconds.setdefault(compiler, []).append(run(output))
                code[compiler] = read_code(output)
    return {
        compiler: {
            **{key: statistics.median(asdict(each)[key] for each in rows) for key in asdict(rows[0])},
            **asdict(code[compiler]),
        }
        for compiler, rows in seconds.items()
    }


def _bytecode() -> bytes:
    from ir.bytecode.writer import write_bytecode
    from ir.load import load

    version = tuple(int(part) for part in BYTECODE_VERSION.split("."))
    return write_bytecode(load(SOURCE), version)  # type: ignore[arg-type]


# Ours


def run_ours(target: str, bytecode: Path, output: Path) -> Seconds:
    """A fresh interpreter that compiles twice: the second counts for `compile`, all before it for `process`."""
    command = [sys.executable, "-m", "benchmarks.peers.timings", "--worker", target, str(bytecode), str(output)]
    return _from_worker(*_timed(command))


def ours_in_this_process(target: str, bytecode: str, output: str) -> dict[str, dict[str, float]]:
    """The worker's output: wall, CPU and ptxas seconds of the first and the second compile."""
    from tilesat.one_shot_process import one_shot_process

    found: dict[str, dict[str, float]] = {}
    with one_shot_process(ending=False):  # as the command line does
        import tilesat
        from runtime.ptxas import assemble

        for order in ("first", "second"):
            before, start = os.times(), time.perf_counter()
            kernel = tilesat.compile(Path(bytecode), target)
            middle = time.perf_counter()
            cubin = assemble(kernel.ptx, target)
            end, after = time.perf_counter(), os.times()
            found[order] = {"wall": end - start, "cpu": sum(after[:4]) - sum(before[:4]), "ptxas": end - middle}
        Path(output).write_bytes(cubin.binary)
    return found


# Triton


def run_triton(peers: str, target: str, variant: str, output: Path) -> Seconds:
    """As ours: a fresh interpreter with an empty cache, compiling twice."""
    with tempfile.TemporaryDirectory() as cache:
        from runtime.ptxas import find

        more = {"TRITON_CACHE_DIR": cache, "TRITON_PTXAS_PATH": str(find()), "TRITON_DEFAULT_FP_FUSION": "1"}
        command = [peers, "-m", "benchmarks.triton_gemm", target, variant, str(output)]
        return _from_worker(*_timed(command, more))


def _from_worker(said: str, wall: float, cpu: float) -> Seconds:
    told = json.loads(said.strip().splitlines()[-1])
    second = told["second"]
    return Seconds(
        front=second["wall"] - second["ptxas"],
        compile=second["wall"],
        process=wall - second["wall"],
        compile_cpu=second["cpu"],
        process_cpu=cpu - second["cpu"],
    )


# tileiras


def run_tileiras(program: Path, home: Path, target: str, bytecode: Path, output: Path) -> Seconds:
    """One process; the ptxas that it starts records its own time."""
    done = tileiras.run(program, home, target, bytecode, output)
    if done.code:
        raise RuntimeError(f"tileiras for {target}: {done.stderr}")
    return Seconds(
        front=done.wall - done.ptxas, compile=done.wall, process=done.wall, compile_cpu=done.cpu, process_cpu=done.cpu
    )


def _has(python: str, module: str) -> bool:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def _timed(command: list[str], more: dict[str, str] | None = None) -> tuple[str, float, float]:
    """Standard output, wall and CPU seconds of a process and its children. Raises CalledProcessError, shown first."""
    before, start = os.times(), time.perf_counter()
    environment = {**os.environ, **(more or {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, os.times()
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        done.check_returncode()
    return done.stdout, wall, sum(after[2:4]) - sum(before[2:4])


def report(target: str, rows: dict[str, dict[str, Any]]) -> None:
    """Print one target as a Markdown table, and how ours compares with the better peer."""
    print(f"\n{target}: GEMM 128x128x64, f16 in, f32 out; seconds of wall clock (of CPU)\n")
    print("| | front | compile | process | MMA loop | of it MMA | registers | LDL + STL | SASS |")
    print("|---|---|---|---|---|---|---|---|---|")
    for compiler, row in rows.items():
        compiled, process = (f"{row[k]:.2f} ({row[k + '_cpu']:.2f})" for k in ("compile", "process"))
        print(
            f"| {compiler} | {row['front']:.2f} | {compiled} | {process} | {row['loop']} | {row['mma']} | "
            f"{row['registers']} | {row['spills']} | {row['instructions']} |"
        )
    peers = [row for compiler, row in rows.items() if compiler != "ours"]
    if not peers:
        print("\nno peer is installed: pip install 'tilesat[peers]', or name an environment with --peers")
        return
    print()
    for key in ("front", "compile", "compile_cpu", "process", "process_cpu"):
        best = min(row[key] for row in peers)
        print(f"{key}: {rows['ours'][key] / best:.2f} of the better peer (goal for compile: {RATIO_GOAL})")
    print(f"MMA loop: {rows['ours']['loop']} instructions (goal {LOOP_GOALS.get(target, '-')})")


if __name__ == "__main__":
    main()

"""A fresh process from bytecode to cubin, ours and tileiras', in turns: CPU seconds.

python -m benchmarks.fresh FILE.bc [FILE.bc ...] [--target sm_80,sm_90a] [--repeat 7] [--peers peers/bin/python]

FILE: Tile IR bytecode, or text, which is written as bytecode first. `--peers`: the interpreter of the environment that
has tileiras (docs/benchmarks.md), by default this one. Both run ptxas; the cache is off. The minimum of the repeated
runs is the least disturbed one; the median is printed next to it.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.tileiras import cuda_home, find
from ir.bytecode import write_bytecode
from ir.load import load


def cpu_of(command: list[str], environment: dict[str, str]) -> float:
    """CPU seconds of a process and its children. Raises CalledProcessError."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fresh", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--target", default="sm_80,sm_90a")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--peers", default=sys.executable, help="the interpreter of an environment with tileiras")
    given = parser.parse_args()
    peer = find(given.peers)
    if peer is None:
        print("tileiras is not in that environment: pip install nvidia-cuda-tileiras nvidia-nvvm", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        home = cuda_home(Path(folder), peer)
        plain = {**os.environ, "TILESAT_CACHE": "off", "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        plain.pop("PYTHONDONTWRITEBYTECODE", None)
        theirs = {**plain, "CUDA_HOME": str(home), "CUDA_PATH": str(home)}
        print("file target | ours least median | tileiras least median | ratio of least")
        for path in given.files:
            source = path
            if path.suffix == ".mlir":
                source = Path(folder) / f"{path.stem}.bc"
                source.write_bytes(write_bytecode(load(path)))
            for target in given.target.split(","):
                out, gpu = str(Path(folder) / "k.cubin"), target.rstrip("a")
                own = [sys.executable, "-m", "tilesat", "compile", str(source), "--target", target, "-o", out]
                peers = [str(peer), str(source), "-o", out, "--gpu-name", gpu]
                cpu_of(own, plain)  # Python writes its bytecode, which a user's later processes also have
                pairs = [(cpu_of(own, plain), cpu_of(peers, theirs)) for _ in range(given.repeat)]
                ours, other = ([pair[n] for pair in pairs] for n in (0, 1))
                shown = [f"{min(each):.2f} {statistics.median(each):.2f}" for each in (ours, other)]
                print(f"{path.name} {target} | {shown[0]} | {shown[1]} | {min(ours) / min(other):.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

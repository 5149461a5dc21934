"""Real cuTile kernels by this compiler and by tileiras on every tier, as a table.

python -m benchmarks.corpus --python PYTHON [--suite DIR]... [--target sm_80,sm_90a,...] [--work DIR] [--only TEXT]
[--every N] [--no-calls] [--failures FILE] [--json FILE]

PYTHON is an interpreter whose environment has the extra `corpus` (docs/benchmarks.md says how to make one). It runs the
calls of benchmarks/corpus/calls.py, which use the package tilegym, and the programs of each suite DIR (samples of
cuTile, say, or a folder of tests) on fake tensors and records the kernels that they launch; none of their files is kept
in this repository. One process compiles them one after another, each under a limit of CPU time and memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from zlib import crc32

from benchmarks import tileiras
from benchmarks.corpus.compilers import Limits, Outcome, Tileiras, Worker
from benchmarks.corpus.table import Row, failures, report

ROOT = Path(__file__).resolve().parents[2]
TIERS = "sm_80,sm_90a,sm_100a,sm_120a"


def main() -> None:
    arguments = _arguments()
    sources = [path.resolve().name if path.name != "." else "here" for path in arguments.suite]
    names = (["tilegym"] if arguments.calls else []) + sources
    targets = arguments.target.split(",")
    rows = list(_measured(arguments, names, targets))
    print(report(rows, names, targets))
    if arguments.failures is not None:
        arguments.failures.write_text(failures(rows))
    if arguments.json is not None:
        found = [
            {"source": r.source, "kernel": r.kernel, "target": r.target, "ours": asdict(r.ours)}
            | {"tileiras": asdict(r.theirs) if r.theirs else None}
            for r in rows
        ]
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus", description="cuTile kernels on every tier")
    kept = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tilesat-corpus"
    parser.add_argument("--python", default=sys.executable, help="an interpreter with the extra `corpus`")
    parser.add_argument("--suite", action="append", type=Path, default=[], metavar="DIR")
    parser.add_argument("--no-calls", dest="calls", action="store_false", help="leave the table of calls out")
    parser.add_argument("--target", default=TIERS)
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels whose name holds TEXT")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one kernel of N, by its name: a quick look")
    parser.add_argument("--variants", type=int, default=1, help="signatures of each kernel (default 1)")
    parser.add_argument("--export", choices=("again", "once"), default="once", help="once: what was exported stays")
    parser.add_argument("--work", type=Path, default=kept, metavar="DIR", help=f"bytecode and results ({kept})")
    parser.add_argument("--seconds", type=int, default=120, help="CPU seconds a compilation may take (default 120)")
    parser.add_argument("--failures", type=Path, metavar="FILE", help="a list of what is refused, spills or is longer")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def _measured(arguments: argparse.Namespace, names: list[str], targets: list[str]) -> Iterator[Row]:
    """Every kernel on every target."""
    limits = Limits(seconds=arguments.seconds)
    program = tileiras.find()
    peer = Tileiras(program, arguments.work / "tileiras", limits) if program is not None else None
    worker = Worker(limits)
    suites = dict(zip(reversed(names), reversed(arguments.suite), strict=False))
    for target in targets:
        for name in names:
            folder = arguments.work / "bytecode" / target / name
            if arguments.export == "again" or not (folder / "index.json").is_file():
                _export(arguments, folder, target, suites.get(name))
            for kernel in sorted(json.loads((folder / "index.json").read_text())["kernels"]):
                bytecode = folder / f"{kernel}.bc"
                if arguments.only not in kernel or crc32(kernel.encode()) % arguments.every or not bytecode.is_file():
                    continue
                theirs = peer.compile(bytecode, target) if peer is not None else None
                ours = worker.compile(bytecode, target, arguments.work / "kernel.cubin")
                _progress(target, name, kernel, ours, theirs)
                yield Row(name, kernel, target, ours, theirs)
    worker.close()


def _progress(target: str, source: str, kernel: str, ours: Outcome, theirs: Outcome | None) -> None:
    texts = [o.error.splitlines()[0][:90] if o.error else f"{o.instructions}" for o in (ours, theirs) if o is not None]
    print(f"{target} {source} {kernel}: {' | '.join(texts)}", file=sys.stderr, flush=True)


def _export(arguments: argparse.Namespace, folder: Path, target: str, suite: Path | None) -> None:
    """Let the environment of the corpus write the bytecode of one source for one target."""
    what = ["--calls"] if suite is None else ["--suite", str(suite.resolve())]
    command = [arguments.python, "-m", "benchmarks.corpus.export", str(folder), "--target", target, *what]
    command += ["--variants", str(arguments.variants)]
    environment = dict(os.environ)
    program = tileiras.find()
    if program is not None:  # tests of cuTile query which bytecode it reads
        environment["PATH"] += f"{os.pathsep}{program.parent}"
    arguments.work.mkdir(parents=True, exist_ok=True)
    with (arguments.work / "export.log").open("a") as log:
        subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=log, stderr=log, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    main()

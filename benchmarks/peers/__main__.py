"""Code of the same kernels by this compiler, tileiras and Triton: loops, spills, round trips to memory, length.

python -m benchmarks.peers [--target sm_80,sm_90a] [--only TEXT] [--peers PYTHON] [--json OUT.json]

PYTHON is an interpreter whose environment has the extra `peers` (default: this one). Ours and tileiras compile the same
bytecode, Triton its own source of the same work (benchmarks/peers/cases.py). All counts are of SASS: the longest
innermost loop, or, if there are products, the loop of the products; LDL and STL; serial round trips
(tilesat.mca.waits.round_trips); all instructions. A cell loses if ours is more than the better peer's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import tileiras
from benchmarks.cubin import Code, read_code
from benchmarks.peers.cases import CASES, ROOT, Case

Row = dict[str, Code | str]
"""A compiler's code, or why it rejects the case."""
COLUMNS = {"loop": "loop", "spills": "LDL + STL", "round_trips": "round trips", "instructions": "SASS"}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description="code compared with Triton and tileiras"
    )
    parser.add_argument("--target", default="sm_80,sm_90a")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds TEXT")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found: dict[str, dict[str, Row]] = {}
    for target in arguments.target.split(","):
        cases = [case for case in CASES if arguments.only in case.name and target in case.targets]
        found[target] = compiled(cases, target, arguments.peers)
        print(report(target, found[target]))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1, default=asdict) + "\n")


def compiled(cases: Sequence[Case], target: str, python: str) -> dict[str, Row]:
    """Every case by every available compiler."""
    with tempfile.TemporaryDirectory() as folder:
        made = cubins(cases, target, python, Path(folder))
        return {
            name: {who: read_code(found) if isinstance(found, Path) else found for who, found in row.items()}
            for name, row in made.items()
        }


def cubins(
    cases: Sequence[Case], target: str, python: str, folder: Path, fast: Sequence[str] = ()
) -> dict[str, dict[str, Path | str]]:
    """The cubin of every case by every available compiler, in a folder, or why a compiler rejects it; `fast`:
    permissions of ours.
    """
    rows: dict[str, dict[str, Path | str]] = {}
    program = tileiras.find(python)
    home = tileiras.cuda_home(folder / "cuda", program) if program is not None else None
    triton = _triton(cases, target, folder, python)
    for case in cases:
        bytecode, ours, theirs = (folder / f"{case.name}.{end}" for end in ("tileirbc", "ours.cubin", "tileiras.cubin"))
        bytecode.write_bytes(source(case, target))
        row = rows[case.name] = {"ours": _ours(bytecode, target, ours, fast)}
        if program is not None and home is not None:
            done = tileiras.run(program, home, target, bytecode, theirs)
            row["tileiras"] = theirs if done.code == 0 else done.stderr.strip().splitlines()[0]
        if case.name in triton:
            row["Triton"] = triton[case.name]
    return rows


def source(case: Case, target: str) -> bytes:
    """Bytecode of a case."""
    if isinstance(case.source, Path):
        from ir.bytecode.writer import write_bytecode
        from ir.load import load

        return write_bytecode(load(case.source), (13, 3))
    from benchmarks.peers import kernels
    from tilesat.cutile_kernels import export

    return export(getattr(kernels, case.source), case.signature, target)


def _ours(bytecode: Path, target: str, cubin: Path, fast: Sequence[str]) -> Path | str:
    import tilesat
    from ir.core import TileError
    from runtime.ptxas import assemble

    try:
        cubin.write_bytes(assemble(tilesat.compile(bytecode, target, fast=fast).ptx, target).binary)
    except TileError as error:
        return error.message
    return cubin


def _triton(cases: Sequence[Case], target: str, folder: Path, python: str) -> dict[str, Path | str]:
    """Triton's results, by the name of the case; nothing if it is not installed."""
    from runtime.ptxas import find

    asked = [[c.name, c.triton, c.types, c.constants, c.warps, c.stages] for c in cases]
    command = [python, "-m", "benchmarks.peers.triton_kernels", target, str(folder), json.dumps(asked)]
    environment = {**os.environ, "TRITON_PTXAS_PATH": str(find()), "TRITON_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if "No module named 'triton'" in done.stderr:
        return {}
    done.check_returncode()
    refused = json.loads(done.stdout.strip().splitlines()[-1])
    return {name: why or folder / f"{name}.cubin" for name, why in refused.items()}


def report(target: str, rows: dict[str, Row]) -> str:
    """A table of Markdown with ours / tileiras / Triton in each cell, in bold where ours loses, and those cells."""
    order = ("ours", "tileiras", "Triton")
    lines = [f"\n{target}: ours / tileiras / Triton\n", f"| | {' | '.join(COLUMNS.values())} |"]
    lines.append("|---" * (len(COLUMNS) + 1) + "|")
    lost: list[str] = []
    for name, row in rows.items():
        cells: list[str] = []
        for field, title in COLUMNS.items():
            values = [_count(row.get(each, "-"), field) for each in order]
            if loses(row, field):
                lost.append(f"- {name}, {title}: {' / '.join(values)}")
                values[0] = f"**{values[0]}**"
            cells.append(" / ".join(values))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    refusals = [
        f"- {each} refuses {name}: {row[each]}" for name, row in rows.items() for each in row if _why(row[each])
    ]
    return "\n".join([*lines, "", f"Lost: {len(lost)} of {len(rows) * len(COLUMNS)} cells", *lost, *refusals])


def loses(row: Row, field: str) -> bool:
    """Whether ours is more than the better peer's."""
    ours = row["ours"]
    peers = [getattr(code, field) for who, code in row.items() if who != "ours" and isinstance(code, Code)]
    return bool(peers) and (not isinstance(ours, Code) or getattr(ours, field) > min(peers))


def _count(code: Code | str, field: str) -> str:
    return str(getattr(code, field)) if isinstance(code, Code) else "-"


def _why(code: Code | str) -> str:
    return code if isinstance(code, str) else ""


if __name__ == "__main__":
    main()

"""Every benchmark that needs no card and no other compiler, in one record; records are compared.

python -m benchmarks.all [--only NAME,NAME] [-o OUT.json] (`make bench-all`: out/bench/DATE.json) python -m
benchmarks.all --compare OLD.json NEW.json [--threshold PERCENT]

Each runs in a separate process, one after the other. For those with --json the record contains their output file, for
the others the numbers of each line that they print. A comparison lists what differs by more than the threshold, entries
in only one record, and failures in the new one. Seconds depend on what else runs on the machine; costs, instructions
and predicted cycles do not.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS: dict[str, Sequence[str]] = {
    "gemm": (), "extraction": (), "tile_ir": (), "variants": (), "ablation": (), "schedules": (), "peers": (),
    "saturation": (), "depth": (), "lane_sums": (), "divisions": (), "launch": (), "byte_conversions": (),
    "pieces": (), "score_widths": (), "time_bound": ("examples",),
    "pictures": (), "simulator": (),
    "diverged": (), "calibrate": ("--check",),
}  # fmt: skip
"""By the module's name, with arguments. Not included: gpu needs a card; compile_time, corpus, fresh, llvm and
triton_gemm need the output of another package; options answers a question posed by its arguments.
"""
WITH_JSON = {"gemm", "extraction", "tile_ir", "variants", "ablation", "schedules", "peers"}
THRESHOLD = 2.0
"""Percent. Counts do not vary at all; seconds of a quiet machine vary by about this much."""
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w])")


def run(name: str) -> dict[str, Any]:
    """Run one; its command, CPU and wall seconds, and the result, or the error that ended it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        command = ["-m", f"benchmarks.{name}", *BENCHMARKS[name], *(["--json", str(file)] if name in WITH_JSON else [])]
        wall, before = time.monotonic(), _cpu()
        done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
        found: dict[str, Any] = {
            "command": f"python {' '.join(command[: 2 + len(BENCHMARKS[name])])}",
            "cpu_seconds": round(_cpu() - before, 1), "wall_seconds": round(time.monotonic() - wall, 1),
        }  # fmt: skip
        if file.is_file():
            found["result"] = json.loads(file.read_text())
        elif done.returncode == 0 or name == "calibrate":  # fails if a price differs
            found["result"] = printed(done.stdout)
        else:
            found["error"] = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    return found


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def printed(text: str) -> dict[str, list[float]]:
    """The numbers of each line that contains some, by the words before the first; a repeated label is numbered."""
    found: dict[str, list[float]] = {}
    seen = Counter[str]()
    for line in text.splitlines():
        if first := _NUMBER.search(line):
            label = " ".join(line[: first.start()].split()).strip("| ")
            seen[label] += 1
            numbers = [float(each) for each in _NUMBER.findall(line[first.start() :])]
            found[f"{label} ({seen[label]})" if seen[label] > 1 else label] = numbers
    return found


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a result with its path; items of lists are named by the texts that they contain."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, int | float):
        yield path, float(value)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, f"{path}/{key}" if path else str(key))
    else:
        seen = Counter[str]()
        for each in value:
            texts = [text for text in each.values() if isinstance(text, str)] if isinstance(each, dict) else []
            name = " ".join(texts)[:80]
            seen[name] += 1
            yield from leaves(each, f"{path}/{name} {seen[name]}" if name else f"{path}/{seen[name]}")


def compare(old: dict[str, Any], new: dict[str, Any], threshold: float) -> list[str]:
    """The differences, one per line, and a last line with the counts."""
    lines = [f"{old['commit']} ({old['date']}) to {new['commit']} ({new['date']})"]
    same = 0
    for name in sorted({*old["benchmarks"], *new["benchmarks"]}):
        if name not in old["benchmarks"] or name not in new["benchmarks"]:
            lines.append(f"{name}: only in the {'new' if name in new['benchmarks'] else 'old'} record")
            continue
        before, after = (record["benchmarks"][name] for record in (old, new))
        if "error" in after:
            lines.append(f"{name}: failed: {' '.join(after['error'])}")
        first, second = (dict(leaves(each.get("result", {}))) for each in (before, after))
        for path in sorted({*first, *second}):
            if path not in first or path not in second:
                lines.append(f"{name}: {path}: only in the {'new' if path in second else 'old'} record")
            elif 100 * abs(second[path] - first[path]) > threshold * abs(first[path]):
                change = f"{100 * (second[path] / first[path] - 1):+.1f} %" if first[path] else "was 0"
                lines.append(f"{name}: {path}: {first[path]:g} to {second[path]:g} ({change})")
            else:
                same += 1
    return [*lines, f"{len(lines) - 1} differ, {same} the same within {threshold:g} %"]


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.all", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", metavar="NAME[,NAME]", default=",".join(BENCHMARKS), help="default: %(default)s")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT.json", help="default: out/bench/DATE.json")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"), help="run nothing, compare records")
    parser.add_argument("--threshold", type=float, default=THRESHOLD, metavar="PERCENT", help="default: %(default)s")
    given = parser.parse_args()
    given.only = given.only.split(",")
    if unknown := [name for name in given.only if name not in BENCHMARKS]:
        parser.error(f"unknown benchmark {unknown[0]!r}: choose from {', '.join(BENCHMARKS)}")
    return given


def commit() -> str:
    """The commit being measured, with a + if the tree has changes."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main() -> int:
    """Run and record, or compare."""
    given = options()
    if given.compare:
        old, new = (json.loads(path.read_text()) for path in given.compare)
        print("\n".join(compare(old, new, given.threshold)))
        return 0
    now = datetime.now(UTC)
    output: Path = given.output or ROOT / "out" / "bench" / f"{now:%Y-%m-%d-%H%M}.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    record: dict[str, Any] = {
        "date": f"{now:%Y-%m-%d %H:%M} UTC", "commit": commit(), "python": platform.python_version(),
        "machine": f"{platform.machine()}, {platform.processor() or platform.system()}", "benchmarks": {},
    }  # fmt: skip
    for name in given.only:
        found = record["benchmarks"][name] = run(name)
        output.write_text(
            json.dumps(record, indent=1) + "\n"
        )  # results so far are kept if the next benchmark is stopped
        said = (
            f"failed: {' '.join(found['error'])}"
            if "error" in found
            else f"{len(dict(leaves(found['result'])))} numbers"
        )
        print(f"{name}: {said}, {found['cpu_seconds']} s of CPU, {found['wall_seconds']} s", flush=True)
    print(output)
    return int(any("error" in each for each in record["benchmarks"].values()))


if __name__ == "__main__":
    sys.exit(main())

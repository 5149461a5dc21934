"""Extraction: the public extraction-gym files, the speed of greedy, and the project's own kernels.

python -m benchmarks.extraction [gym] [speed] [kernels] [--gym DIR] [--budget 10000] [--json OUT.json]

All three parts by default. Seconds are wall-clock; the CPU seconds next to them show how much other work on the machine
disturbed them. Every answer is re-checked before it is printed; everything but reading JSON is timed.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from extract import Answer, Graph, GraphWarning, check, extract, top
from extract.errors import GraphError
from extract.export import from_nodes
from extract.gym import read

ROOT = Path(__file__).resolve().parent.parent
GYM = ROOT.parent / "shared" / "data" / "extraction-gym"

PARTS = ("gym", "speed", "kernels")

KERNELS = ("gemm", "softmax", "layernorm", "gemm_negated")

KERNEL_BUDGET = 500.0

ROUNDING = {"baseline.csv": 5e-5, "pruned_ilp.csv": 5e-4}
"""The tables round costs to four and to three digits after the point."""

GREEDY_GOALS = {10_000: 0.050, 40_000: 0.400}
"""Seconds that greedy may take on a graph of this many nodes, export included."""

SPEED_FILES = ("lean-egg/Math Lie", "impress/mul512", "rover/fir_8", "herbie/5799")
"""Three files of about 10,000 nodes (one with all of them in use and few choices, one with many) and the largest."""

REPEATS = 9

Result = TypeVar("Result")


def main() -> None:
    parser = argparse.ArgumentParser(description="extraction: quality, bounds and speed")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--gym", type=Path, default=GYM)
    parser.add_argument("--budget", type=float, default=10_000.0, help="units of work for each file")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    parts = arguments.parts or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}")
    if set(parts) & {"gym", "speed"} and not next(arguments.gym.rglob("*.json"), None):
        parser.error(f"no extraction-gym files in {arguments.gym}; name their folder with --gym")
    results: dict[str, Any] = {}
    if "gym" in parts:
        results["gym"] = gym(arguments.gym, arguments.budget)
    if "speed" in parts:
        results["speed"] = speed(arguments.gym)
    if "kernels" in parts:
        results["kernels"] = kernels()
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


def timed(work: Callable[[], Result]) -> tuple[Result, float, float]:
    """What it returns, its seconds, its CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def load(path: Path) -> Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)
        return read(path)


# --- extraction-gym


@dataclass(frozen=True)
class Best:
    """The minimum cost in the two tables, and by how much rounding may have changed it."""

    cost: float
    rounding: float


@dataclass(frozen=True)
class Row:
    """One file."""

    file: str
    nodes: int
    simplified: int
    greedy: float
    auto: float
    bound: float
    optimal: bool
    best_known: float | None
    verdict: str
    reached: float
    """Seconds to the final cost."""
    seconds: float
    cpu: float


def gym(folder: Path, budget: float) -> list[dict[str, Any]]:
    """`auto` on every JSON file in `folder` and below. Where the tables have it, its cost is compared with theirs."""
    best = best_known(folder)
    header = ("file", "nodes", "left", "greedy", "auto", "bound", "gap %", "best known", "", "at s", "s", "cpu s")
    print(f"\nextraction-gym, auto with {budget:g} units of work a file\n" + line(*header))
    rows: list[Row] = []
    refused = 0
    for path in sorted(folder.rglob("*.json")):
        try:
            row = gym_row(path, best.get(path.name), budget)
        except GraphError as error:  # a file without an answer
            refused += 1
            print(f"{path.name[:24]}: {error}", flush=True)
            continue
        rows.append(row)
        gap = 0.0 if row.optimal else 100 * (row.auto - row.bound) / abs(row.auto)
        print(
            line(
                row.file, row.nodes, row.simplified, number(row.greedy), number(row.auto), number(row.bound),
                f"{gap:.2f}", known(row.best_known), row.verdict, f"{row.reached:.2f}", f"{row.seconds:.2f}",
                f"{row.cpu:.2f}",
            ),
            flush=True,
        )  # fmt: skip
    proved = sum(row.optimal for row in rows)
    worse = [row.file for row in rows if row.verdict == "worse"]
    seconds, cpu = sum(row.seconds for row in rows), sum(row.cpu for row in rows)
    print(
        f"total {seconds:.1f} s, {cpu:.1f} s of CPU, {max(row.cpu for row in rows):.1f} s at most; "
        f"{proved} of {len(rows)} proved optimal; costlier: {worse or 'none'}; without an answer: {refused}"
    )
    return [asdict(row) for row in rows]


def known(cost: float | None) -> str:
    return "" if cost is None else number(cost)


def gym_row(path: Path, best: Best | None, budget: float) -> Row:
    graph = load(path)
    first = extract(graph, "greedy")
    fresh = load(path)
    answer, seconds, cpu = timed(lambda: extract(fresh, "auto", budget=budget))
    check(fresh, answer)
    if answer.report is None:
        raise SystemExit("auto made no report")
    reached = next(moment.seconds for moment in answer.report.trace if moment.cost <= answer.cost + 1e-9)
    verdict = "" if best is None else compared(answer.cost - best.cost, best.rounding)
    left, least = answer.report.after["nodes"], best.cost if best else None
    return Row(
        path.name[:24], graph.n_nodes, left, first.cost, answer.cost, answer.bound, answer.optimal, least, verdict,
        reached, seconds, cpu,
    )  # fmt: skip


def compared(difference: float, rounding: float) -> str:
    return "worse" if difference > rounding else "better" if difference < -rounding else "same"


def best_known(folder: Path) -> dict[str, Best]:
    """The minimum cost of each file in the tables; of two that round to the same value, the more precise one."""
    found: dict[str, Best] = {}
    columns = {"baseline.csv": ("tree_dagcost", "greedy_dag_cost", "ilp_cost"), "pruned_ilp.csv": ("cost",)}
    for name, keys in columns.items():
        if not (folder / name).exists():
            continue
        for record in csv.DictReader((folder / name).open()):
            cost = min(float(record[key]) for key in keys)
            old = found.get(record["file"])
            if old is None or cost < old.cost - ROUNDING[name]:
                found[record["file"]] = Best(cost, ROUNDING[name])
    return found


# --- speed of greedy


@dataclass(frozen=True, slots=True)
class ENode:
    """An e-node as the e-graph engine hands it out."""

    op: str
    cls: int
    children: tuple[int, ...]
    cost: float


def speed(folder: Path) -> list[dict[str, Any]]:
    """Greedy from e-nodes to a checked answer: the least of several runs, on files and on a made-up graph."""
    print(f"\ngreedy, milliseconds of CPU (least of {REPEATS}), export, simplification and check included")
    print(line("graph", "nodes", "in use", "export", "extract", "total", "goal", "cost"))
    graphs = {name: load(next(folder.glob(name + "*"))) for name in SPEED_FILES}
    graphs["layered, 10,000"] = layered(2500)
    graphs["layered, 40,000"] = layered(10_000)
    results: list[dict[str, Any]] = []
    for name, graph in graphs.items():
        goal = GREEDY_GOALS[10_000 if graph.n_nodes < 20_000 else 40_000]
        export, work, answer = greedy_speed(graph)
        used = len(graph.topology.nodes)
        print(
            line(
                name, graph.n_nodes, used, f"{1e3 * export:.1f}", f"{1e3 * work:.1f}", f"{1e3 * (export + work):.1f}",
                f"< {1e3 * goal:.0f}", number(answer.cost),
            ),
            flush=True,
        )  # fmt: skip
        results.append({"graph": name, "nodes": graph.n_nodes, "export": export, "extract": work, "goal": goal})
    return results


def greedy_speed(graph: Graph) -> tuple[float, float, Answer]:
    """CPU seconds of the export and of the extraction with its check, and the answer."""
    nodes = [
        ENode(graph.node_op[node], int(graph.node_class[node]), tuple(graph.children(node)), float(graph.cost[node]))
        for node in range(graph.n_nodes)
    ]
    roots = graph.root.tolist()
    runs: list[tuple[float, float, Answer]] = []
    for _ in range(REPEATS):
        fresh, _, export = timed(lambda: from_nodes(nodes, roots, lambda node: node.cost))
        answer, _, work = timed(lambda fresh=fresh: extract(fresh, "greedy"))
        runs.append((export, work, answer))
    return min(runs, key=lambda run: run[0] + run[1])


def layered(classes: int) -> Graph:
    """Four nodes per class over operands slightly further down: much sharing, nothing to prune."""
    import numpy as np

    random = np.random.default_rng(classes)
    nodes: list[ENode] = []
    for cls in range(classes):
        for _ in range(4):
            span = min(60, classes - 1 - cls)
            children = tuple(cls + 1 + int(step) for step in random.integers(0, span, 2)) if span else ()
            nodes.append(ENode("f", cls, children, float(random.integers(1, 100))))
    return from_nodes(nodes, [0], lambda node: node.cost)


# --- the project's kernels


def kernels() -> list[dict[str, Any]]:
    """Greedy and `auto` on the graphs that the compiler extracts from, for every target."""
    import tilesat
    from ir.core import TileError
    from lowering.targets import ALL_TARGETS

    print(
        f"\nkernels, auto with {KERNEL_BUDGET:g} units; gaps in %, milliseconds of CPU; 2nd: the next cheapest program"
    )
    header = ("kernel", "target", "nodes", "left", "greedy", "bound", "gap", "ms", "auto", "bound", "gap", "ms", "2nd")
    print(line(*header))
    results: list[dict[str, Any]] = []
    for kernel in KERNELS:
        for target in ALL_TARGETS:
            try:
                compiled = tilesat.compile(ROOT / "examples" / f"{kernel}.mlir", target).compiled
            except TileError as error:
                print(f"{kernel} {target}: {error}", file=sys.stderr)
                continue
            results.append(kernel_row(kernel, target, compiled.selection.graph))
    worst = max(result["gap"] for result in results)
    slowest = max(result["seconds"] for result in results)
    print(f"largest gap of auto {100 * worst:.2f} %, longest {slowest:.3f} s")
    return results


def kernel_row(kernel: str, target: str, graph: Graph) -> dict[str, Any]:
    fresh = graph.copy()
    first, _, first_cpu = timed(lambda: extract(fresh, "greedy"))
    fresh = graph.copy()
    answer, seconds, cpu = timed(lambda: extract(fresh, "auto", budget=KERNEL_BUDGET))
    left = answer.report.after["nodes"] if answer.report else graph.n_nodes
    second = top(graph, 2, budget=KERNEL_BUDGET)[-1]
    print(
        line(
            kernel, target, graph.n_nodes, left, number(first.cost), number(first.bound), f"{100 * first.gap:.1f}",
            f"{1e3 * first_cpu:.1f}", number(answer.cost), number(answer.bound), f"{100 * answer.gap:.2f}",
            f"{1e3 * cpu:.1f}", number(second.cost),
        ),
        flush=True,
    )  # fmt: skip
    return {
        "kernel": kernel, "target": target, "nodes": graph.n_nodes, "simplified": left, "greedy": first.cost,
        "greedy_bound": first.bound, "cost": answer.cost, "bound": answer.bound, "gap": answer.gap,
        "seconds": seconds, "cpu": cpu,
    }  # fmt: skip


# --- print


def number(value: float) -> str:
    return f"{value:.7g}"


def line(first: object, *cells: object) -> str:
    """A row of the tables: the first column to the left, the others to the right."""
    return f"{first!s:<25}" + "".join(f"{cell!s:>10}" for cell in cells)


if __name__ == "__main__":
    main()

"""How costs and predicted times order programs of one kernel: rank correlations with the resulting code.

python -m benchmarks.variants [--target sm_80,sm_90a] [--only TEXT] [--json OUT.json]

Each case of benchmarks/peers/cases.py with matrix products is compiled as it is chosen, and with one decision forced:
atoms forbidden, warps, CTAs an SM, how warps divide products (rows x columns). The code's time is that of `tilesat.mca`
for its loop of products: cycles of an SM for as many multiply-adds, with the CTAs that registers and shared memory of
the cubin allow; its instructions are those that the warps of an SM issue for them. Equal PTX counts once. Nothing is
measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.__main__ import source
from benchmarks.peers.cases import CASES, Case
from egraph.placed import Product
from extract import Graph
from ir.core import TileError
from ir.dialects import llvm
from lowering.compiled import Compiled
from lowering.modulo.predict import predicted
from lowering.passes.manager import Shared
from lowering.pipeline import Options, compile_entry
from lowering.selection.hints import as_asked
from lowering.targets import target as target_named
from lowering.targets.occupancy import occupancy
from lowering.targets.target import WARP
from runtime.ptxas import PtxasError, assemble, disassemble
from tilesat.mca import units
from tilesat.mca.flow import loops, product_loop
from tilesat.mca.listing import functions
from tilesat.mca.timing import timing
from tilesat.source import find_entry, read

FORBIDDEN = ("ldmatrix", "cp.async", "tma", "wgmma", "stmatrix")
FORCED = ("4 warps", "8 warps", "1 CTAs", "2 CTAs", "3 CTAs", "4 CTAs")
"""Nodes of the extraction problem; those of the same kind and another number are forbidden."""
UNIT = 1 << 20
"""Multiply-adds for which times and instructions are given."""


@dataclass(frozen=True)
class Row:
    """A variant: the forced decision, cost and predicted cycles of a CTA; for the code, cycles and warp instructions of
    an SM for `UNIT` multiply-adds, CTAs that it holds, bytes that ptxas spills.
    """

    forced: str
    cost: float
    predicted: float
    code: float
    instructions: float
    ctas: int
    spills: int


def force(wanted: str, graph: Graph) -> NDArray[np.float64]:
    """Costs that allow one of the numbers of a decision."""
    kind = wanted.partition(" ")[2]
    others = [op != wanted and op.partition(" ")[2] == kind and op[0].isdigit() for op in graph.node_op]
    return np.where(others, np.inf, graph.cost)


def divided(made: Compiled) -> Iterator[tuple[str, Options]]:
    """How warps may divide all products of tensor cores (rows x columns of warps), each in turn. The graph is the one
    that `made` was extracted from, since the same kernel is compiled again.
    """
    chosen = made.selection
    divisions = {
        node: str(chosen.oracle.choice(each.choice)).rpartition(" on ")[2]
        for node, each in chosen.enodes.items() if isinstance(each, Product)
    }  # fmt: skip
    for name in sorted(set(divisions.values())):
        others = [node for node, division in divisions.items() if division != name]
        yield name, Options(costs=partial(without, others))


def without(nodes: Sequence[int], graph: Graph) -> NDArray[np.float64]:
    """Costs that forbid nodes."""
    cost = graph.cost.copy()
    cost[nodes] = np.inf
    return cost


def variants(case: Case, target: str) -> Iterator[tuple[str, Compiled]]:
    """The distinct programs of a case, with the forced decision."""
    module, entry = find_entry(read(source(case, target), {}), None)
    shared = Shared((as_asked(entry, target_named(target)),))
    choices = {"": Options()}
    choices |= {f"no {name}": Options(forbid=frozenset({name})) for name in FORBIDDEN}
    choices |= {name: Options(costs=partial(force, name)) for name in FORCED}
    ways, seen = list(choices.items()), set[str]()
    for name, options in ways:  # grows behind the first
        try:
            (made,) = compile_entry(module, entry, [target], options, shared=shared)
        except TileError:
            continue  # a kernel that has no such program
        if not name:
            ways += divided(made)
        if made.ptx not in seen:
            seen.add(made.ptx)
            yield name, made


def measured(name: str, made: Compiled, target: str) -> Row | None:
    """The result for a program; None if ptxas rejects it or it has no loop of products."""
    tier = target_named(target)
    try:
        cubin = assemble(made.ptx, target)
    except PtxasError:
        return None
    found = [loop for each in functions(disassemble(cubin)) for loop in loops(each)]
    loop = product_loop(found)
    if loop is None:
        return None
    func = made.modules["nvvm"]
    assert isinstance(func, llvm.Func)
    ctas = max(1, occupancy(tier, prod(func.block), cubin.registers, func.dynamic_smem).count)
    warps, shapes = made.selection.warps * ctas, [units.product(each.opcode) for each in loop.path]
    share = WARP * 4 if any("GMMA" in each.opcode for each in loop.path) else WARP
    work = sum(prod(shape) for shape in shapes if shape) * warps * WARP / share / UNIT
    cycles = timing(loop.path, tier).with_warps(max(1, -(-warps // int(tier.throughput.issue))))
    return Row(
        name, made.cost, predicted(made.selection, ctas).cycles, cycles / work, len(loop.path) * warps / work, ctas,
        cubin.spill_stores,
    )  # fmt: skip


def ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks, with those of equal values averaged."""
    given = np.asarray(values)
    return np.array([((given < each).sum() + (given <= each).sum() - 1) / 2 for each in given])


def correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's; 0 if the values of either are all equal."""
    a, b = ranks(first), ranks(second)
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / norm if norm else 0.0


def correlations(rows: Sequence[Row]) -> dict[str, float]:
    """Correlations of costs and predicted times with cycles and instructions of the code."""
    return {
        f"{mine} / {theirs}": correlation([getattr(r, mine) for r in rows], [getattr(r, theirs) for r in rows])
        for mine in ("cost", "predicted") for theirs in ("code", "instructions")
    }  # fmt: skip


def report(found: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """Tables of the variants, and of the correlations."""
    for name, rows in found.items():
        yield f"\n{name}\n"
        yield "| forced | cost | predicted | code | instructions | CTAs | spills |\n|---|---|---|---|---|---|---|"
        for r in rows:
            yield (
                f"| {r.forced or 'nothing'} | {r.cost:.0f} | {r.predicted:.0f} | {r.code:.0f} | {r.instructions:.0f} "
                f"| {r.ctas} | {r.spills} |"
            )
    each = {name: correlations(rows) for name, rows in found.items() if len(rows) > 2}
    titles = [title for row in list(each.values())[:1] for title in row]
    yield f"\n| | variants | {' | '.join(titles)} |\n|{'---|' * (2 + len(titles))}"
    for name, row in each.items():
        yield f"| {name} | {len(found[name])} | {' | '.join(f'{row[title]:.2f}' for title in titles)} |"
    means = [float(np.mean([row[title] for row in each.values()])) for title in titles]
    yield f"| mean | {sum(len(found[name]) for name in each)} | {' | '.join(f'{mean:.2f}' for mean in means)} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.variants", description="costs compared with code")
    parser.add_argument("--target", default="sm_80,sm_90a")
    parser.add_argument("--only", default="attention", metavar="TEXT", help="cases whose name holds TEXT")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found: dict[str, list[Row]] = {}
    for target in arguments.target.split(","):
        for case in CASES:
            if arguments.only in case.name and target in case.targets:
                rows = (measured(name, made, target) for name, made in variants(case, target))
                found[f"{case.name}, {target}"] = [row for row in rows if row is not None]
    print("\n".join(report(found)))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1, default=asdict) + "\n")


if __name__ == "__main__":
    main()

"""SASS of a persistent GEMM's loops beside CUTLASS's: consumers and producer, by step of K and by tile of work.

python -m benchmarks.schedules.persistent --packages PYTHON

Both have tiles of 256 x 256 x 64 in f16 for a cluster of two CTAs (128 x 256 each), sums in f32, results in f16, A and
the transpose of B by rows, and go through tiles by a stride; PYTHON has quack-kernels and CUTLASS DSL (packages.py). A
step is the path of the innermost loop with products, with copies. A tile is the code of the surrounding loop outside
its innermost loops, on all branches: coordinates, hand-overs, the epilogue.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tilesat
from benchmarks.schedules.__main__ import package_cubin
from lowering.targets import target as target_of
from runtime.ptxas import assemble, disassemble
from tilesat.fuzz.writer import Writer
from tilesat.mca.flow import blocks, loops, reached, working
from tilesat.mca.listing import Function, functions
from tilesat.mca.timing import timing

TARGET = "sm_90a"
AGENTS = {"consumers": "HGMMA", "producer": "UTMALDG"}
"""The package, and the contents of an agent's innermost loop."""
STORES = ("STG", "UTMASTG", "STSM", "STS")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.schedules.persistent", description=__doc__)
    parser.add_argument("--packages", metavar="PYTHON", help="with quack-kernels and CUTLASS DSL")
    python = parser.parse_args().packages
    print(
        "| | agent | a step | cycles of a step, two warps | a tile beside | stores in it | SASS |\n" + "|---" * 7 + "|"
    )
    with tempfile.TemporaryDirectory() as name:
        for who, cubin in compiled(Path(name), python):
            if isinstance(cubin, str):
                print(f"| {who} | {cubin} |")
                continue
            (function,) = functions(disassemble(cubin.read_bytes(), encodings=True))
            for row in rows(function):
                print(f"| {who} | {' | '.join(row)} |")


def compiled(folder: Path, python: str | None) -> Iterator[tuple[str, Path | str]]:
    """The package, and its cubin, or why there is none."""
    kernel = tilesat.compile(gemm(), TARGET, num_ctas=2, persistent="static")
    ours = folder / "ours.cubin"
    ours.write_bytes(assemble(kernel.ptx, TARGET).binary)
    yield "ours", ours
    if python is not None:
        yield "CUTLASS", package_cubin(python, ("gemm", TARGET), TARGET, folder)


def gemm() -> str:
    """D = A B^T of a tile block's 256 x 256, in f16 except for the sums."""
    w = Writer("gemm", a="ptr<f16>", b="ptr<f16>", d="ptr<f16>", m="i32", n="i32", k="i32")
    w.promise(a=16, b=16, d=16, m=1, n=8, k=8)
    a = w.view(w.a, [w.m, w.k], [w.k, 1], [256, 64], "zero")
    b = w.view(w.b, [w.n, w.k], [w.k, 1], [256, 64], "zero")
    d = w.view(w.d, [w.m, w.n], [w.n, 1], [256, 256])
    x, y, _ = w.ids
    with w.loop(0, w.tiles(a)[1], carried=[w.const(0, "f32", 256, 256)]) as loop:
        loop.values = [w.dot(w.load(a, x, loop.counter), w.load(b, y, loop.counter).T, loop.values[0])]
    w.store(loop.values[0].to("f16"), d, x, y)
    return w.text()


def rows(function: Function) -> Iterator[list[str]]:
    """A row for each agent."""
    made = blocks(function)
    bodies = working(function, made, reached(made))
    total = sum(each.family != "NOP" for each in function.instructions)
    for agent, opcode in AGENTS.items():
        inner = min(
            (each for each in loops(function) if any(i.family == opcode for i in each.path)),
            key=lambda each: len(each.path),
        )
        around = min((body for body in bodies.values() if body > inner.body), key=len, default=inner.body)
        within = {at for body in bodies.values() if body < around for at in body}
        tile = [i for at in around - within for i in function.instructions[made[at].first : made[at].end]]
        stores = ", ".join(f"{count} {family}" for family in STORES if (count := sum(i.family == family for i in tile)))
        cycles = timing(inner.path, target_of(TARGET)).with_warps(2)
        yield [agent, str(len(inner.path)), f"{cycles:,.0f}", str(len(tile)), stores, str(total)]


if __name__ == "__main__":
    main()

"""Attention whose row of scores is one tile, in blocks of 32, 64 and 128 keys.

python -m benchmarks.score_widths [--target T[,T]] [--shape WIDTHxROWSxKEYS[,...]]

Cost, predicted time, and of the hot loop, for the work of 128 keys: SASS instructions of a scheduler, and cycles of an
SM by `tilesat mca` with as many CTAs as it holds. Steps are not joined (loop.pairs forbidden), so blocks are as wide as
the row says; `as chosen`: without such limits. Nothing is measured on a card.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence

import tilesat
from benchmarks.ablation.__main__ import TARGETS
from benchmarks.ablation.figures import kernels
from benchmarks.pieces import held
from lowering.atoms.names import PAIRS
from lowering.modulo.predict import predicted
from lowering.skeletons import score_blocks
from lowering.targets import target as tier_of
from runtime.ptxas import assemble, disassemble
from tilesat.mca.flow import loops, product_loop
from tilesat.mca.listing import functions
from tilesat.mca.timing import timing

FAST = ("triton", "reassoc", "afn")
WIDTHS, WORK = (32, 64, 128), 128
SHAPES = "64x64x512,128x64x512,128x128x512"


def rows(target: str, shape: str) -> Iterator[str]:
    """A line for each width, and one for what is chosen."""
    width, tall, keys = map(int, shape.split("x"))
    cube = f"f16[?,?,{width}]:[?/8,?/8,1]"
    signature = f"{'; '.join([cube] * 4)}; f32; ={width}; ={tall}; ={keys}"
    for size in (*WIDTHS, 0):
        before, score_blocks.WIDTH = score_blocks.WIDTH, size or score_blocks.WIDTH
        try:
            kernel = tilesat.compile(
                kernels()["attention_row"], target, fast=FAST, signature=signature, forbid=(PAIRS,) if size else ()
            )
        finally:
            score_blocks.WIDTH = before
        cubin = assemble(kernel.ptx, target)
        (function,) = functions(disassemble(cubin, encodings=True))
        hot = product_loop(loops(function))
        found = kernel.compiled.selection
        blocks = max((loop.trips for loop in predicted(found).loops), default=0)
        if hot is None or not blocks:
            yield f"| {target} | {shape} | {size or 'as chosen'} | whole, {kernel.cost:.0f} | | | | | |"
            continue
        ctas, turns = held(kernel, cubin), max(1, found.warps // int(tier_of(target).throughput.issue))
        cycles = timing(hot.path, tier_of(target)).with_warps(turns * ctas) / ctas
        figures = [round(each * WORK * blocks / keys) for each in (len(hot.path) * turns, cycles)]
        code = sum(each.family != "NOP" for each in function.instructions)
        yield (
            f"| {target} | {shape} | {size or f'as chosen, {keys / blocks:.0f}'} | {kernel.cost:.0f} | "
            f"{predicted(found).cycles:.0f} | {' | '.join(map(str, figures))} | {ctas} | {code} | {cubin.registers} |"
        )


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.score_widths", description="rows of scores in blocks")
    parser.add_argument("--target", default=TARGETS, metavar="T[,T]")
    parser.add_argument("--shape", default=SHAPES, metavar="WIDTHxROWSxKEYS[,...]")
    arguments = parser.parse_args(given)
    warnings.simplefilter("ignore")
    print("| target | shape | keys | cost | predicted | hot loop | cycles | CTAs | SASS | registers |")
    print(f"|{'---|' * 10}")
    for target in arguments.target.split(","):
        for shape in arguments.shape.split(","):
            for row in rows(target, shape):
                print(row, flush=True)


if __name__ == "__main__":
    main()

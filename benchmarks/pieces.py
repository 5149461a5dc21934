"""Rows in pieces, two in an iteration instead of one: what loops without products gain from a second load in flight.

python -m benchmarks.pieces [--kernel NAME[,NAME]] [--target T[,T]] [--column TITLE[;TITLE]]
python -m benchmarks.pieces --waits [--target T] FILE...
python -m benchmarks.pieces --ranges FILE...

The first compares forms of kernels of the ablation. *apart*: two iterations one after the other, with both loads first
(lowering/source/sliced_loops.py), exact; *joined*: one iteration with tiles of twice the size
(lowering/skeletons/joined_steps.py), which needs reassoc where floats are added up. Cycles are those by `tilesat mca`
in which an SM takes 1 KB of loaded tiles, with one CTA and with as many as it holds by its warps, its shared memory and
the registers that ptxas assigns. The second finds such loops in other kernels, and how much of the predicted time they
wait, with as many CTAs as the choice assumes and with as many as an SM holds. The third counts pairs of loops over the
same range in one block, by whether the later one needs a value that the earlier one leaves. Nothing is measured on a
card.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import tilesat
from benchmarks.ablation.__main__ import TARGETS, chosen
from benchmarks.ablation.cases import CASES, COLUMNS, Case
from benchmarks.ablation.figures import compiled
from egraph.permissions import granted
from ir.core import Block, Op, TileError, Value
from ir.dialects import cuda_tile as ct
from ir.load import load
from ir.text import print_text
from ir.types import TokenType
from ir.walks import blocks
from lowering.atoms.names import LANES, PEELING
from lowering.modulo.predict import predicted
from lowering.skeletons.joined_steps import steps_joined
from lowering.skeletons.passes import same_bounds
from lowering.skeletons.step_folds import PRODUCTS
from lowering.source.sliced_loops import LOADS, few, in_trips, innermost, refuse_unsliceable
from lowering.targets import target as tier_of
from lowering.targets.occupancy import occupancy
from lowering.targets.target import WARP
from runtime.ptxas import Cubin, assemble, disassemble
from tilesat.failures import user_errors
from tilesat.kernel import Kernel
from tilesat.mca.flow import loops
from tilesat.mca.listing import Instruction, functions
from tilesat.mca.timing import timing

KERNELS = "softmax_passes,cross_entropy"
WIDTHS = {".128": 16, ".64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}
"""Bytes of a thread's load, by a part of its opcode; 4 of others."""

Form = Callable[[ct.Entry, frozenset[int]], ct.Entry]
FORMS: dict[str, tuple[Form, tuple[str, ...]]] = {
    "one": (lambda entry, _: entry, ()),
    "two apart": (lambda entry, _: in_trips(entry, 2)[0], ()),
    "two joined": (steps_joined, (LANES,)),
}
"""How forms are made, each of the one that is chosen without some skeletons: folds are joined before they are carried
as tiles.
"""


def held(kernel: Kernel, cubin: Cubin) -> int:
    """CTAs that an SM holds."""
    threads, shared = kernel.manifest["block"][0], kernel.manifest["dynamic_smem"]
    return occupancy(tier_of(kernel.target), threads, cubin.registers, shared).count


def loaded(path: Sequence[Instruction]) -> int:
    """Bytes that a thread loads into registers on a path."""
    opcodes = [each.opcode for each in path if each.family == "LDG"]
    return sum(next((size for part, size in WIDTHS.items() if part in opcode), 4) for opcode in opcodes)


def formed(kernel: Kernel, form: Form, fast: Sequence[str]) -> Kernel:
    """The form of a kernel that was chosen, with two pieces in an iteration, compiled as it is then written."""
    entry = kernel.compiled.selection.saturated.program.entry
    module, ops = kernel.module, kernel.module.body.block.ops
    place = next(k for k, op in enumerate(ops) if isinstance(op, ct.Entry))
    before, ops[place] = ops[place], form(entry, granted(fast))
    try:
        text = print_text(module)
    finally:
        ops[place] = before
    return tilesat.compile(text, kernel.target, fast=fast, forbid=(PEELING,))


def rows(case: Case, target: str, column: str) -> Iterator[str]:
    """A line for each loop of each form."""
    fast, tier = COLUMNS[column], tier_of(target)
    for name, (form, without) in FORMS.items():
        made = formed(compiled(case, target, fast, without), form, fast)
        cubin = assemble(made.ptx, target)
        (function,) = functions(disassemble(cubin, encodings=True))
        count, warps = held(made, cubin), made.manifest["block"][0] // WARP
        found: list[str] = []
        for loop in loops(function):
            time, size = timing(loop.path, tier), loaded(loop.path)
            for ctas in (1, count) if size else ():
                turns = max(1, ctas * warps // int(tier.throughput.issue))
                work = turns * tier.throughput.issue * WARP * size / 1024
                found.append(f"{time.with_warps(turns) / work:.1f}")
        pairs = ", ".join(f"{one} / {all_}" for one, all_ in zip(found[::2], found[1::2], strict=True))
        code = sum(each.family != "NOP" for each in function.instructions)
        yield f"| {case.name} | {target} | {column} | {name} | {code} | {cubin.registers} | {count} | {pairs} |"


def plain(entry: ct.Entry) -> int:
    """Loops with loads, without products, whose iterations can be done two at a time."""
    found = 0
    for op in entry.walk():
        kinds = {type(each) for each in op.walk()}
        if (
            isinstance(op, ct.For)
            and innermost(op)
            and not few(op, 2)
            and kinds.isdisjoint(PRODUCTS)
            and not kinds.isdisjoint(LOADS)
        ):
            try:
                refuse_unsliceable(op, 2)
            except TileError:
                continue
            found += 1
    return found


def waits(path: Path, target: str) -> str:
    """A line for a kernel with such loops; empty for others and for what is refused."""
    count = sum(map(plain, load(path).entries))
    if not count:
        return ""
    try:
        kernel = tilesat.compile(path, target)
    except user_errors():
        return ""
    found, most = kernel.compiled.selection, held(kernel, assemble(kernel.ptx, target))
    assumed, full = predicted(found), predicted(found, most)
    shares = " | ".join(f"{each.exposed / each.cycles:.2f}" for each in (assumed, full))
    return f"| {path.stem} | {count} | {found.ctas} to {most} | {shares} |"


def ranges(paths: Sequence[Path]) -> Iterator[str]:
    """Pairs of loops over the same range, by what the later one needs of the earlier one, and files with some."""
    found = Counter[str]()
    for path in paths:
        pairs = [kind for entry in load(path).entries for block in blocks(entry.body.block) for kind in of_block(block)]
        found.update(pairs)
        found["files"] += 1
        found["files with such pairs"] += bool(pairs)
    yield from (f"{what}: {number}" for what, number in sorted(found.items()))


def of_block(block: Block) -> Iterator[str]:
    """What the later loop of each such pair of a block needs; a token is an order of accesses."""
    inside = [op for op in block.ops if isinstance(op, ct.For)]
    for place, first in enumerate(inside):
        for second in (each for each in inside[place + 1 :] if same_bounds(first, each)):
            left = set(first.results)
            for op in block.ops[block.ops.index(first) + 1 : block.ops.index(second)]:
                if not left.isdisjoint(read_by(op)):
                    left.update(op.results)
            needed = left & read_by(second)
            tokens = all(isinstance(each.type, TokenType) for each in needed)
            yield "needs nothing" if not needed else "needs a token" if tokens else "needs a value"


def read_by(op: Op) -> set[Value]:
    """All values that an operation, or one in it, reads."""
    return {value for each in op.walk() for value in each.operands}


def main(given: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pieces", description="rows in pieces, two at a time")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--waits", action="store_true", help="of FILES: the share of the time that such loops wait")
    parser.add_argument("--ranges", action="store_true", help="of FILES: pairs of loops over the same range")
    parser.add_argument("--kernel", default=KERNELS, metavar="NAME[,NAME]")
    parser.add_argument("--target", default=TARGETS, metavar="T[,T]")
    parser.add_argument("--column", default="IEEE;triton,reassoc,afn", metavar="TITLE[;TITLE]")
    arguments = parser.parse_args(given)
    warnings.simplefilter("ignore")
    targets = arguments.target.split(",")
    if arguments.ranges:
        lines = ranges(arguments.files)
    elif arguments.waits:
        print("| kernel | loops | CTAs, assumed and held | waits | waits if full |\n|---|---|---|---|---|")
        lines = (waits(path, target) for target in targets for path in arguments.files)
    else:
        names = chosen(arguments.kernel, [case.name for case in CASES], "kernel")
        columns = chosen(arguments.column, list(COLUMNS), "column")
        print("| kernel | target | fast | pieces | SASS | registers | CTAs | cycles per KB, one CTA / all |")
        print(f"|{'---|' * 8}")
        cases = [case for case in CASES if case.name in names]
        lines = (line for t in targets for column in columns for case in cases for line in rows(case, t, column))
    for line in filter(None, lines):
        print(line, flush=True)


if __name__ == "__main__":
    main()

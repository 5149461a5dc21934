"""CPU seconds by the number of operations: chains, elementwise and mixed kernels of 300, 1,000 and 3,000.

python -m benchmarks.depth [TARGET] [--sizes N,N] [--only NAME,NAME] [--passes]

Each kernel is compiled to PTX once, after a small one that loads the rules. `growth` is the exponent of the time from
one size to the next: 1 is linear, 2 quadratic. --passes: the passes that take most of the time, for each size.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from math import log

import tilesat
from tilesat.fuzz.writer import Tile, Writer

SIZES = (300, 1000, 3000)
WIDTH, ROWS, COLUMNS, KINDS, RECENT = 256, 16, 64, 8, 12
ENDED = " (a budget ended)"
SMALL = 10  # operations of the kernel that loads the rules


def chain(operations: int) -> str:
    """Each operation takes the result of the one before, and a tile or a literal."""
    w = Writer("chain", x="ptr<f32>", y="ptr<f32>")
    value, other = (w.load(w.view(each, [WIDTH], [1], [WIDTH]), 0) for each in (w.x, w.y))
    for number in range(operations):
        value = (value + other, value * 0.5, value - other, value.max(other))[number % 4]
    return stored(w, value)


def integers(operations: int) -> str:
    """The same of integers, about which facts are derived: bounds, divisors, runs."""
    w = Writer("integers", x="ptr<i32>", y="ptr<i32>")
    value, other = (w.load(w.view(each, [WIDTH], [1], [WIDTH]), 0) for each in (w.x, w.y))
    for number in range(operations):
        value = (value + other, value * 3, value - 7, value.min(other))[number % 4]
    return stored(w, value)


def literals(operations: int) -> str:
    """Sums of the one before and a literal: each is the first value and one literal."""
    w = Writer("literals", x="ptr<i32>", y="ptr<i32>")
    value = w.load(w.view(w.x, [WIDTH], [1], [WIDTH]), 0)
    for number in range(operations):
        value = value + (1 + number % 7)
    return stored(w, value)


def elementwise(operations: int) -> str:
    """Each operation takes two of the last results: a graph in which half of the results are used twice."""
    w = Writer("elementwise", x="ptr<f32>", y="ptr<f32>")
    values = [w.load(w.view(each, [WIDTH], [1], [WIDTH]), 0) for each in (w.x, w.y)]
    for number in range(operations):
        left, right = values[-1], values[-2]
        values.append((left * right, left + right, left - right, left.max(right))[number % 4])
    return stored(w, values[-1])


def tree(operations: int) -> str:
    """Random operations on integers, each of two of the last results, or of one and a literal."""
    w, rng = Writer("tree", x="ptr<i32>", y="ptr<i32>"), random.Random(2)
    values = [w.load(w.view(each, [WIDTH], [1], [WIDTH]), 0) for each in (w.x, w.y)]
    for _ in range(operations):
        a = rng.choice(values[-RECENT:])
        b = rng.choice(values[-RECENT:]) if rng.random() < 0.5 else rng.randrange(1, 9)
        kinds = (a.__add__, a.__sub__, a.__mul__, a.min, a.max, a.__xor__)
        values.append(rng.choice(kinds)(b))
    return stored(w, reduce(Tile.__xor__, values[-RECENT:]))


def mixed(operations: int) -> str:
    """Sums of rows spread over their rows, comparisons and choices, conversions, index arithmetic, among others."""
    w = Writer("mixed", x="ptr<f32>", y="ptr<f32>")
    value, other = (w.load(w.view(each, [ROWS, COLUMNS], [COLUMNS, 1], [ROWS, COLUMNS]), 0, 0) for each in (w.x, w.y))
    place = w.iota(COLUMNS).reshape(1, COLUMNS).broadcast(ROWS, COLUMNS)
    for number in range(operations // KINDS):  # each of KINDS operations
        row = value.reduce(1).reshape(ROWS, 1).broadcast(ROWS, COLUMNS)
        value = (value < row).where(value * other, (place + number).to("f32"))
    return stored(w, value, (ROWS, COLUMNS))


def stored(w: Writer, value: Tile, shape: tuple[int, ...] = (WIDTH,)) -> str:
    """The text of a kernel that stores a tile."""
    strides = [COLUMNS, 1] if len(shape) > 1 else [1]
    w.store(value, w.view(w.y, [*shape], strides, [*shape]), *(0 for _ in shape))
    return w.text()


KERNELS: Mapping[str, Callable[[int], str]] = {
    "chain": chain, "integers": integers, "literals": literals, "elementwise": elementwise, "tree": tree,
    "mixed": mixed,
}  # fmt: skip


def timed(source: str, target: str) -> tuple[float, dict[str, float], bool]:
    """CPU seconds of a compilation to PTX, its wall-clock seconds by pass, and whether a budget ended part of it."""
    gc.collect()
    start = time.process_time()
    kernel = tilesat.compile(source, target)
    spent = time.process_time() - start
    return spent, kernel.seconds, bool(kernel.limits)


def rows(target: str, sizes: Sequence[int], names: Sequence[str], passes: bool) -> Iterator[str]:
    """A line for each kernel: seconds for each size, and the growth from one to the next."""
    for name in names:
        timed(KERNELS[name](SMALL), target)
        found = [timed(KERNELS[name](size), target) for size in sizes]
        seconds = [spent for spent, *_ in found]
        pairs = zip(pairwise(seconds), pairwise(sizes), strict=True)
        growth = [f"{log(more / less) / log(large / small):.2f}" for (less, more), (small, large) in pairs]
        shown = [f"{spent:.2f}{ENDED if ended else ''}" for spent, _, ended in found]
        yield f"| {name} | {' | '.join(shown)} | {' | '.join(growth)} |"
        if passes:
            yield from (f"|   {line} |" for line in of_passes([each for _, each, _ in found], len(growth)))


def of_passes(found: Sequence[Mapping[str, float]], blanks: int) -> Iterator[str]:
    """Passes that take a twentieth of the time of the largest kernel, longest first."""
    last = found[-1]
    for name in sorted(last, key=lambda each: -last[each]):
        if 20 * last[name] >= sum(last.values()):
            shown = " | ".join(f"{each.get(name, 0.0):.2f}" for each in found)
            yield f"{name} | {shown} |{' |' * blanks}"[:-2]


def main(given: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.depth", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target", nargs="?", default="sm_80")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), metavar="N[,N]", help="default: %(default)s")
    parser.add_argument("--only", default=",".join(KERNELS), metavar="NAME[,NAME]", help="default: %(default)s")
    parser.add_argument("--passes", action="store_true", help="wall-clock seconds of the longest passes too")
    chosen = parser.parse_args(given)
    sizes, names = [int(each) for each in chosen.sizes.split(",")], chosen.only.split(",")
    if unknown := [name for name in names if name not in KERNELS]:
        parser.error(f"unknown kernel {unknown[0]!r}: choose from {', '.join(KERNELS)}")
    titles = [*(f"{size:,}" for size in sizes), *(f"growth to {size:,}" for size in sizes[1:])]
    print(f"| {chosen.target}, CPU s | {' | '.join(titles)} |\n|{'---|' * (1 + len(titles))}")
    for line in rows(chosen.target, sizes, names, chosen.passes):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

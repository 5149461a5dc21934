"""Random programs under permissions: what bounds say, and that neither loops done another way nor compiled kernels
leave them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import Block, Region
from ir.dialects import cuda_tile as ct
from ir.interpreter import run
from lowering.skeletons.by_lane import exact_by_lane, folds, sums_by_lane
from lowering.skeletons.joined_steps import even_steps, levelled_steps
from lowering.skeletons.lagging import lagging_levels
from lowering.skeletons.merged_folds import merged_folds
from lowering.skeletons.moments import moments_online
from lowering.skeletons.online_sums import (
    attention_online,
    finite_attention_online,
    finite_sums_online,
    sums_online,
)
from lowering.skeletons.scaled_products import scales_behind
from lowering.skeletons.score_blocks import finite_online_by_blocks, online_by_blocks
from tilesat.fuzz.bounds import Permitted, UndecidedError, bounds, outside
from tilesat.fuzz.judge import Judge
from tilesat.fuzz.permitted import FAMILIES, permitted, special
from tilesat.fuzz.program import Made, Random, made
from tilesat.fuzz.writer import Tile, Writer
from tilesat.source import find_entry, read

Way = Callable[[ct.Entry], ct.Entry]


def merged(entry: ct.Entry) -> ct.Entry:
    return merged_folds(entry, [True] * len(folds(entry)))


WAYS: dict[str, Way] = {
    "scales": scales_behind, "sums": sums_online, "attention": attention_online, "blocks": online_by_blocks,
    "moments": moments_online, "even pairs": even_steps, "pairs": levelled_steps, "lagging": lagging_levels,
    "maxima": exact_by_lane, "sums by lane": sums_by_lane, "merged": merged,
}  # fmt: skip
FINITE: dict[str, Way] = {
    "finite sums": finite_sums_online, "finite attention": finite_attention_online,
    "finite blocks": finite_online_by_blocks,
}  # fmt: skip


def one_after_another(entry: ct.Entry) -> ct.Entry:
    for way in WAYS.values():
        entry = way(entry)
    return entry


def faults(program: Made, ways: dict[str, Way]) -> Iterator[tuple[str, str]]:
    """The ways that change a program, and what is wrong with each: interpreted, beside the bounds of the source."""
    (module,) = read(program.source(), {})
    entry = find_entry([module], None)[1]
    wanted = program.arguments()
    about = bounds(module, entry.sym_name, (1,), wanted, Permitted.by(("reassoc", "afn", "contract"), program.steps))
    for name, way in {**ways, "all": one_after_another}.items():
        other = way(entry)
        if other is not entry:
            block, found = Block(), program.arguments()
            block.append(other)
            with np.errstate(all="ignore"):
                run(ct.Module((), (), {"sym_name": "m"}, [Region([block])]), (1,), found)
            pairs = zip(found, wanted, about, strict=True)
            said = [outside(a, np.asarray(b), each) for a, b, each in pairs if isinstance(a, np.ndarray)]
            yield name, "; ".join(filter(None, said))


TEN = 10


@pytest.mark.sampled(40)
@pytest.mark.parametrize("first", range(0, 800, TEN))
def test_loops_done_another_way_stay_within_bounds(first: int) -> None:
    for seed in range(first, first + TEN):
        program, ways = (special(seed), WAYS) if seed % 2 else (permitted(seed), WAYS | FINITE)
        try:
            wrong = [(name, said) for name, said in faults(program, ways) if said]
        except UndecidedError:
            continue
        assert not wrong, program.name


@pytest.mark.in_turn
def test_a_missing_guard_is_found() -> None:
    """Sums in one pass that take no care of rows that begin with a tile of nothing but -inf."""
    said = [found for seed in range(24) for found in faults(special(seed, "softmax"), FINITE)]
    assert any(reason for name, reason in said if name == "finite sums")
    assert not any(reason for name, reason in said if name == "all")


SETS = (
    ("nsz",), ("contract",), ("reassoc",), ("arcp",), ("afn",), ("ftz",), ("nnan",), ("ninf",), ("triton",),
    ("triton", "reassoc", "afn"), ("nsz", "contract", "reassoc", "arcp", "afn", "ftz", "nnan", "ninf"),
)  # fmt: skip
TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")


@pytest.mark.sampled(220)
@pytest.mark.parametrize("fast", SETS, ids="-".join)
@pytest.mark.parametrize("seed", range(20))
def test_kernels_stay_within_bounds(seed: int, fast: tuple[str, ...]) -> None:
    write = permitted if seed % 2 or {"nnan", "ninf"}.intersection(fast) else special
    for verdict in Judge(fast=fast).judge(write(100 + seed), TARGETS):
        assert verdict.found == "ok" or "roundings decide" in verdict.reason, verdict


def test_programs_are_of_all_families() -> None:
    assert {name for name in FAMILIES for seed in range(2) if permitted(seed, name).source() != special(seed).source()}
    assert permitted(3).source() == permitted(3).source()
    finite = [x for seed in range(20) for x in permitted(seed).arguments() if isinstance(x, np.ndarray)]
    assert all(np.isfinite(x.astype(np.float64)).all() for x in finite)
    wild = [x for seed in range(20) for x in special(seed).arguments() if isinstance(x, np.ndarray)]
    assert not all(np.isfinite(x.astype(np.float64)).all() for x in wild)


def stored(write: Callable[[Writer], Tile], *given: np.ndarray, fast: tuple[str, ...]) -> tuple[Any, Any]:
    """What the interpreter stores of a program on vectors a, b, c, and its bounds."""
    w = Writer("k", **dict.fromkeys(("a", "b", "c", "y"), "ptr<f32>"))
    size = given[0].size
    w.store(write(w), w.view(w.y, [size], [1], [size]), 0)
    (module,) = read(w.text(), {})
    arguments = [*(x.copy() for x in given), np.zeros(size, np.float32)]
    about = bounds(module, "k", (1,), arguments, Permitted.by(fast, 1))
    return arguments[-1], about[-1]


def loaded(w: Writer, size: int) -> list[Tile]:
    return [w.load(w.view(w.args[name], [size], [1], [size]), 0) for name in "abc"]


def test_a_fused_sum_is_within_bounds_and_little_else_is() -> None:
    a, b, c = (np.random.default_rng(n).standard_normal(64).astype(np.float32) for n in range(3))

    def write(w: Writer) -> Tile:
        x, y, z = loaded(w, 64)
        return x * y + z

    found, about = stored(write, a, b, c, fast=("contract",))
    fused = (a.astype(np.float64) * b + c).astype(np.float32)
    assert np.any(fused != found)
    assert outside(fused, found, about) == ""
    size = np.abs(a * b) + np.abs(c)
    for off, said in ((1e-6, "differ"), (1e-9, "")):
        assert said in outside(np.float32(found + off * size), found, about)
    assert "64 of 64 differ" in outside(np.full(64, np.nan, np.float32), found, about)


def test_special_values_are_certain_and_what_roundings_decide_is_not() -> None:
    a = np.array([np.inf, np.nan, 3e38, -np.inf], np.float32)
    b = np.array([1.0, 1.0, 3e38, -np.inf], np.float32)

    def write(w: Writer) -> Tile:
        x, y, _ = loaded(w, 4)
        return x - y

    found, about = stored(write, a, b, b, fast=("reassoc",))
    assert outside(found, found, about) == ""
    for place in range(4):
        other = found.copy()
        other[place] = 5.0 if place != 2 else 1e36
        assert outside(other, found, about)

    def decided(w: Writer) -> Tile:
        x, y, z = loaded(w, 4)
        return (x * y + z).to("i32").to("f32")

    one = np.full(4, 1.1, np.float32)
    with pytest.raises(UndecidedError):
        stored(decided, one, one, one, fast=("contract",))


# --- contraction, exactly


Choices = list[np.ndarray]


def chain(seed: int, length: int = 7) -> tuple[str, Callable[[list[np.ndarray]], Choices]]:
    """Products, sums and differences of three tiles, some read twice; and all that they may be, bit by bit."""
    rng = np.random.default_rng([seed, 3])
    w = Writer("k", **dict.fromkeys(("a", "b", "c", "y"), "ptr<f32>"))
    tiles = loaded(w, 64)
    steps = [(str(rng.choice(["mul", "mul", "add", "sub", "neg", "fma"])), *rng.integers(0, 3 + n, 3).tolist())
             for n in range(length)]  # fmt: skip
    steps = [(kind, 2 + n if n and rng.integers(2) else i, j, k) for n, (kind, i, j, k) in enumerate(steps)]
    for kind, i, j, k in steps:
        x, y, z = tiles[i], tiles[j], tiles[k]
        tiles.append({"mul": lambda x=x, y=y: x * y, "add": lambda x=x, y=y: x + y, "sub": lambda x=x, y=y: x - y,
                      "neg": lambda x=x: -x, "fma": lambda x=x, y=y, z=z: w.op(ct.Fma, x, y, z)}[kind]())  # fmt: skip
    w.store(tiles[-1], w.view(w.y, [64], [1], [64]), 0)

    def choices(given: list[np.ndarray]) -> Choices:
        found: list[Choices] = [[x] for x in given]
        for kind, i, j, k in steps:
            made = [one(kind, *each) for each in product(found[i], found[j], found[k])]
            for place, other, first in ((i, j, True), (j, i, False)):
                factors = multiplied(steps, place) if kind in ("add", "sub") else None
                if factors is not None:
                    negated, left, right = factors
                    minus = negated != (kind == "sub" and not first), kind == "sub" and first
                    made += [fma(-p if minus[0] else p, q, -r if minus[1] else r)
                             for p, q, r in product(found[left], found[right], found[other])]  # fmt: skip
            found.append(list({x.tobytes(): x for x in made}.values()))
        return found[-1]

    return w.text(), choices


def multiplied(steps: list[Any], place: int) -> tuple[bool, int, int] | None:
    """Whether a tile is a product or the negative of one, and its factors; signs are exact."""
    negated = False
    while place >= 3 and steps[place - 3][0] == "neg":
        negated, place = not negated, steps[place - 3][1]
    return (negated, *steps[place - 3][1:3]) if place >= 3 and steps[place - 3][0] == "mul" else None


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    return ct.Fma.reference(a, b, c)


def one(kind: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return {"mul": lambda: a * b, "add": lambda: a + b, "sub": lambda: a - b, "neg": lambda: -a,
                "fma": lambda: fma(a, b, c)}[kind]()  # fmt: skip


@pytest.mark.sampled(20)
@pytest.mark.parametrize("first", range(0, 100, 5))
def test_contracted_chains_are_fused_or_not_and_nothing_between(first: int) -> None:
    given = [made(Random((64,), "f32", seed)) for seed in range(3)]
    for seed in range(first, first + 5):
        text, choices = chain(seed)
        (kernel,) = tilesat.compile_for(text, ["sm_80"], fast=("contract",))
        y = np.zeros(64, np.float32)
        kernel.run((1,), *(np.array(x) for x in given), y, on="sim")
        may = choices([np.array(x) for x in given])
        known = np.any([(x == y) | (np.isnan(x) & np.isnan(y)) for x in may], axis=0)
        assert known.all(), (seed, len(may))

"""Products of few rows, computed as products of their columns: simulator = interpreter = NumPy."""

from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from lowering.skeletons.swapped_products import heights, swapped
from lowering.targets import target as target_named
from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Tile, Writer
from tilesat.source import find_entry, read

STEPS, STEP = 5, 64
TARGETS = ["sm_80", "sm_90a", "sm_100a", "sm_120a"]


def products(
    m: int = 16, n: int = 128, kind: str = "f16", batch: bool = False, transposed: bool = False, way: str = "loop",
    start: float = 0.0, signed: tuple[bool, bool] = (True, True),
) -> str:  # fmt: skip
    """y = a b of m rows and n columns. batch: with a dimension of one before; transposed: b has rows of K; start: of
    the sum; way: how it comes about, a key of WAYS.
    """
    total = {"i8": "i32", "f64": "f64"}.get(kind, "f32")
    w = Writer("products", a=f"ptr<{kind}>", b=f"ptr<{kind}>", y=f"ptr<{total}>", s="ptr<f32>", count="i32")
    w.promise(a=16, b=16, y=16)
    size, lead, more = STEPS * STEP, [1] if batch else [], [1 << 20] if batch else []
    views = [
        w.view(w.a, [*lead, m, size], [*more, size, 1], [*lead, m, STEP]),
        w.view(w.b, [*lead, *((n, size) if transposed else (size, n))], [*more, size if transposed else n, 1],
               [*lead, *((n, STEP) if transposed else (STEP, n))]),
    ]  # fmt: skip
    out = w.view(w.y, [*lead, m, n], [*more, n, 1], [*lead, m, n])

    def factors(k: Tile | int) -> tuple[Tile, Tile]:
        at = [0] * len(lead)
        a = w.load(views[0], *at, 0, k)
        b = w.load(views[1], *at, *((0, k) if transposed else (k, 0)))
        return a, b.permute(*range(len(lead)), len(lead) + 1, len(lead)) if transposed else b

    begin = w.const(start if total.startswith("f") else int(start), total, *lead, m, n)
    found = WAYS[way](w, factors, lambda a, b, c: w.dot(a, b, c, total, signed), begin)
    w.store(found, out, *[0] * len(lead), 0, 0)
    return w.text()


def loop(w: Writer, factors: Any, dot: Any, begin: Tile) -> Tile:
    with w.loop(0, w.count, carried=[begin]) as steps:
        steps.values = [dot(*factors(steps.counter), steps.values[0])]
    return steps.values[0]


def rescaled(w: Writer, factors: Any, dot: Any, begin: Tile) -> Tile:
    """What attention does with its sums."""
    with w.loop(0, w.count, carried=[begin]) as steps:
        factor = w.gather(w.s[(steps.counter * 16).splat(begin.shape[0]) + w.iota(begin.shape[0])])[0]
        steps.values = [dot(*factors(steps.counter), steps.values[0] * factor.column(begin.shape[1]))]
    return steps.values[0]


def twice(w: Writer, factors: Any, dot: Any, begin: Tile) -> Tile:
    """Two products one after the other, whose sum is read in between iterations too."""
    with w.loop(0, w.count, carried=[begin, w.const(0.0, "f32", begin.shape[0])]) as steps:
        total, highest = steps.values
        total = dot(*factors(steps.counter), dot(*factors(0), total))
        steps.values = [total, highest.max(total.reduce(1, "max"))]
    return steps.values[0] + steps.values[1].column(begin.shape[1])


def alone(w: Writer, factors: Any, dot: Any, begin: Tile) -> Tile:
    return dot(*factors(1), begin)


def chosen(w: Writer, factors: Any, dot: Any, begin: Tile) -> Tile:
    """In a branch, of a loop that ends some iterations early."""
    with w.loop(0, w.count, carried=[begin]) as steps:
        (total,) = steps.values
        odd = (steps.counter & 1).eq(1)
        w.branch(odd, lambda: w.leave(ct.Continue, total))
        steps.values = w.branch(steps.counter < 3, lambda: [dot(*factors(steps.counter), total)], lambda: [total])
    return steps.values[0]


WAYS = {"loop": loop, "rescaled": rescaled, "twice": twice, "alone": alone, "chosen": chosen}


def entry_of(text: str) -> ct.Entry:
    return find_entry(read(text, {}), None)[1]


def arguments(m: int = 16, n: int = 128, kind: str = "f16", transposed: bool = False, count: int = STEPS) -> list[Any]:
    size = STEPS * STEP
    total = {"i8": np.int32, "f64": np.float64}.get(kind, np.float32)
    b = random((n, size) if transposed else (size, n), kind, 2)
    return [random((m, size), kind, 1), b, np.zeros((m, n), total), random((256,), "f32", 3), count]


CASES: dict[str, dict[str, Any]] = {
    "8 rows": {"m": 8}, "16 rows": {}, "32 rows, bf16": {"m": 32, "kind": "bf16"},
    "f32": {"kind": "f32"}, "rows of K": {"transposed": True}, "a sum from one": {"start": 1.0},
    "a sum from less than one": {"start": 0.5},
    "bytes": {"kind": "i8", "m": 8, "signed": (True, False)}, "a batch": {"batch": True},
    "rescaled": {"way": "rescaled"}, "twice": {"way": "twice"}, "alone": {"way": "alone"}, "chosen": {"way": "chosen"},
}  # fmt: skip


@pytest.mark.sampled(60)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_products_of_few_rows(name: str, target: str) -> None:
    given = CASES[name]
    text = products(**given)
    own = {key: given[key] for key in ("m", "n", "kind", "transposed") if key in given}
    check(Program(name, lambda: text, lambda: arguments(**own), (1,), None, 2e-3), target)
    entry = entry_of(text)
    assert swapped(entry, (64, 16)) is not entry
    assert (swapped(entry, (128,)) is entry) == (given.get("way", "loop") != "loop")  # there, only sums alone


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("count", range(5))
def test_few_steps_of_swapped_products(count: int, target: str) -> None:
    """Also of none: the sum is then what it began with."""
    program = Program("steps", products, lambda: arguments(count=count), (1,), None, 1e-3)
    if count:
        check(program, target)
    else:
        kernel = tilesat.compile(products(), target)
        given = arguments(count=0)
        given[2][:] = 7.0
        kernel.run((1,), *given, on="sim")
        assert not given[2].any()


TAKEN = {
    "sm_80": (8, "mma.sync"), "sm_90a": (16, "wgmma.mma_async"), "sm_100a": (32, "tcgen05.mma"),
    "sm_120a": (8, "mma.sync"),
}  # fmt: skip


@pytest.mark.in_turn
@pytest.mark.parametrize("target", TAKEN)
def test_swapped_products_cost_less(target: str) -> None:
    """Eight rows are one instruction's columns on any target; sixteen a warpgroup's, 32 those of a product in tensor
    memory.
    """
    m, instruction = TAKEN[target]
    text = products(m=m)
    plain, taken = tilesat.compile(text, target, forbid=("product.swapped",)), tilesat.compile(text, target)
    assert instruction in taken.ptx
    assert instruction not in plain.ptx
    assert taken.cost < plain.cost


def test_what_is_tall_enough_stays() -> None:
    entry = entry_of(products(m=16, n=128))
    assert swapped(entry, (16,)) is entry
    assert swapped(entry, (256, 16)) is entry
    assert swapped(entry, (64, 16)) is not entry
    assert [heights(target_named(name)) for name in ("sm_80", "sm_90a", "sm_100a")] == [(16,), (64, 16), (128, 16)]


@pytest.mark.in_turn
@pytest.mark.parametrize("start", [0.5, -0.0, float("inf"), float("nan")])
def test_sums_begin_with_what_they_began_with(start: float) -> None:
    """A literal of any number, to the bit, of a loop without steps."""
    kernel = tilesat.compile(products(start=start), "sm_90a")
    assert any(each.taken for each in kernel.compiled.selection.loops if each.name == "product.swapped")
    given = arguments(count=0)
    kernel.run((1,), *given, on="sim")
    assert given[2].tobytes() == np.full_like(given[2], start).tobytes()

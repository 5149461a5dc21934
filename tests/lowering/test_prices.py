"""Prices say what ptxas makes of an operation, tensor rates those of the white papers; no price is a default."""

import importlib.util
import itertools
import math
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesat
from egraph import placed
from egraph.encode import encode
from egraph.forms import placed_classes
from egraph.saturate import saturate
from ir.core import OPS, TileError
from ir.dialects import cuda_tile as ct
from ir.load import load
from lowering import cost
from lowering.cost import Machine
from lowering.selection import pricing
from lowering.selection.graph import STAGES
from lowering.selection.trips import Pace
from lowering.targets import ALL_TARGETS, SM_80
from runtime.ptxas import assemble, disassemble
from tilesat.fuzz.writer import Tile, Writer

EXAMPLES = Path(__file__).parents[2] / "examples"
Body = Callable[[Writer, Tile, Tile], Tile]

# --- every operation has a price


def test_operation_without_a_row_is_an_error_where_the_tables_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pricing.unpriced(placed_classes()) == []
    monkeypatch.delitem(cost._PIPES, "xori")
    monkeypatch.delitem(pricing.PRICES.declared, placed.PlacedReduce)
    assert pricing.unpriced(placed_classes()) == ["p.reduce", "p.xori"]
    spec = importlib.util.spec_from_file_location("pricing_again", pricing.__file__)
    assert spec is not None
    assert spec.loader is not None
    again = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "pricing_again", again)
    with pytest.raises(LookupError, match=r"no price for p\.xori: add rows to lowering/cost\.py"):
        spec.loader.exec_module(again)


def test_operation_without_a_row_costs_what_it_lowers_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Declaring an operation is one class: its price follows from the scalar operation that it names."""
    monkeypatch.setattr(ct.Exp2, "lowers_to", "math.tanh")
    assert pricing.priced_as("exp2") == "exp2"
    monkeypatch.setitem(OPS, "cuda_tile.twice_exp2", ct.Exp2)
    assert pricing.priced_as("twice_exp2") == "tanh"
    pricing.priced_as.cache_clear()


def test_no_row_is_without_an_operation() -> None:
    """A misspelt row would leave its operation to another one."""
    known = {cls.title() for cls in placed_classes()}
    assert {row.removeprefix("f64.").split(".")[0] for row in cost.priced()} <= known


def test_unknown_operation_is_refused() -> None:
    with pytest.raises(TileError, match="the cost tables do not know 'frobnicate'"):
        Machine(SM_80, 4).elementwise("frobnicate", 1, 32)


def test_placed_term_of_a_rule_file_is_refused_in_words(tmp_path: Path) -> None:
    rules = tmp_path / "mine.egg"
    rules.write_text("""(constructor mine (P) P)
        (rule ((= v (addf a b r f)) (want v l)) ((union (nat v l) (mine (at v l))) (has v l))
          :ruleset place :name "mine/place")""")
    with pytest.raises(TileError, match="the cost tables do not know 'mine'"):
        tilesat.compile(EXAMPLES / "vecadd_view.mlir", rules=[rules])


# --- prices against SASS

ELEMENTS = 8
"""Elements a thread: what stands around them is counted once."""

PIPES = {
    "MUFU": "mufu", "FCHK": "mufu", "F2F": "convert", "F2I": "mufu", "I2F": "mufu", "FRND": "convert",
    "FFMA": "fma_f32", "FADD": "fma_f32", "FMUL": "fma_f32", "FSETP": "fma_f32", "FSEL": "fma_f32", "FMNMX": "fma_f32",
}  # fmt: skip
"""The pipe of a SASS instruction; all others are integer instructions. I2F and F2I between integers and floats run at
16 a cycle as MUFU does (CUDA C++ Best Practices Guide, throughput of native arithmetic instructions)."""


@cache
def sass(body: Body, kind: str) -> Counter[str]:
    """The instructions of a kernel of 8 elements a thread, up to its first exit: slow paths are called behind it."""
    w = Writer("priced", x=f"ptr<{kind}>", z=f"ptr<{kind}>", y=f"ptr<{kind}>")
    w.promise(x=16, z=16, y=16)
    x, z, y = (w.view(base, [128 * ELEMENTS], [1], [128 * ELEMENTS]) for base in (w.x, w.z, w.y))
    a, b = w.load(x, 0), w.load(z, 0)
    w.store(body(w, a + b, b), y, 0)
    text = disassemble(assemble(tilesat.compile(w.text()).ptx, "sm_80"))
    found = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w*)", text)
    return Counter(found[: found.index("EXIT")])


def nothing(w: Writer, a: Tile, b: Tile) -> Tile:
    return a


def op(cls: Any, **more: Any) -> Body:
    return lambda w, a, b: w.op(cls, *(a, b, b)[: len(cls.info.operands)], **more)


FLOATS: dict[str, tuple[Body, tuple[str, ...]]] = {
    "divf": (op(ct.DivF), ()),
    "divf full": (op(ct.DivF, rounding=ct.Rounding.FULL), ("full",)),
    "divf approx": (op(ct.DivF, rounding=ct.Rounding.APPROX), ("approx",)),
    "exp": (op(ct.Exp), ()),
    "exp2": (op(ct.Exp2), ()),
    "exp2 ftz": (op(ct.Exp2, flush_to_zero=True), ("ftz",)),
    "log": (op(ct.Log), ()),
    "rsqrt": (op(ct.Rsqrt), ()),
    "sqrt": (op(ct.Sqrt), ()),
    "maxf": (lambda w, a, b: a.max(b), ()),
    "fma": (op(ct.Fma), ()),
    "floor": (op(ct.Floor), ()),
}
INTEGERS: dict[str, Body] = {
    "divi": lambda w, a, b: a.div(b),
    "remi": lambda w, a, b: a.rem(b),
    "divi constant": lambda w, a, b: a.div(7),
    "remi constant": lambda w, a, b: a.rem(7),
    "muli": lambda w, a, b: a * b,
    "absi": op(ct.AbsI),
    "mini": lambda w, a, b: a.min(b),
    "xori": lambda w, a, b: a ^ b,
}
TOLERANCE = 0.4
"""What compilers differ in, and moves that ptxas adds: more than that, or less, is another instruction."""


def check(mnemonic: str, body: Body, kind: str, modifiers: tuple[str, ...] = ()) -> None:
    machine = Machine(SM_80, 4)
    counted = Counter(sass(body, kind))
    counted.subtract(sass(nothing, kind))
    measured = sum(machine.instructions(PIPES.get(name, "int_add"), n / ELEMENTS) for name, n in counted.items())
    assert machine.elementwise(mnemonic, 1, 32, modifiers).scalar() == pytest.approx(measured, rel=TOLERANCE)


@pytest.mark.parametrize("name", FLOATS)
def test_price_of_a_float_operation_is_that_of_its_sass(name: str) -> None:
    body, modifiers = FLOATS[name]
    check(name.split()[0], body, "f32", modifiers)


@pytest.mark.parametrize("name", INTEGERS)
def test_price_of_an_integer_operation_is_that_of_its_sass(name: str) -> None:
    mnemonic, *modifiers = name.split()
    check(mnemonic, INTEGERS[name], "i32", tuple(modifiers))


def test_division_by_a_constant_is_cheaper() -> None:
    """Extraction sees that a divisor is a number."""

    def priced(divide: Callable[[Tile, Tile], Tile]) -> float:
        w = Writer("priced", x="ptr<i32>", y="ptr<i32>")
        x, y = (w.view(base, [1024], [1], [1024]) for base in (w.x, w.y))
        a = w.load(x, 0)
        w.store(divide(a, w.load(y, 0)), y, 0)
        return tilesat.compile(w.text()).cost

    plain, constant, variable = (
        priced(f) for f in (lambda a, b: a + b, lambda a, b: a.div(7) + b, lambda a, b: a.div(b))
    )
    assert plain < constant < variable


# --- tensor cores against the white papers

PEAKS = {
    "sm_80": (312e12, 108, 1.41e9, 512),  # A100 white paper, table 1
    "sm_86": (
        142e12,
        84,
        1.695e9,
        512,
    ),  # GA102 white paper, RTX A6000 beside f32: 38.7 TFLOP/s at 128 FMA, f16 4 times
    "sm_89": (365e12, 142, 2.505e9, 512),  # Ada white paper, RTX 6000: 91.1 TFLOP/s f32 at 128 FMA, f16 4 times
    "sm_90a": (989.4e12, 132, 1.83e9, 1024),  # H100 white paper, SXM5
    "sm_100a": (2.25e15, 148, 1.85e9, 2048),  # Blackwell architecture brief, B200
    "sm_103a": (2.25e15, 148, 1.85e9, 2048),  # taken over for B300
    "sm_120a": (504e12, 188, 2.617e9, 512),  # RTX Blackwell PRO white paper, 6000: 126 TFLOP/s f32, f16 4 times
}
"""Dense f16 operations a second, SMs, clock. A multiply-add counts as two."""


def test_every_target_has_a_peak() -> None:
    assert {name for name, each in ALL_TARGETS.items() if str(each) == name} >= PEAKS.keys()


@pytest.mark.parametrize("name", PEAKS)
def test_tensor_rate_is_that_of_the_white_paper(name: str) -> None:
    flops, sms, clock, _ = PEAKS[name]
    rates = ALL_TARGETS[name].throughput.tensor
    assert rates["f16"] == pytest.approx(flops / (sms * clock), rel=0.03)
    assert rates["bf16"] == rates["f16"]
    assert rates["tf32"] == rates["f16"] / 2
    assert all(rates[f8] == 2 * rates["f16"] for f8 in ("f8E4M3FN", "f8E5M2") if f8 in rates)


@pytest.mark.parametrize("name", ["sm_80", "sm_90a"])
def test_a_loop_of_products_takes_the_time_of_the_tensor_cores(name: str) -> None:
    """An iteration of examples/gemm.mlir: 128 x 128 x 64 multiply-adds of f16."""
    flops, sms, clock, _ = PEAKS[name]
    saturated = saturate(encode(load(EXAMPLES / "gemm.mlir")))
    (cycles,) = Pace(saturated, ALL_TARGETS[name]).cycles.values()
    assert cycles == pytest.approx(2 * 128 * 128 * 64 / (flops / sms / clock), rel=0.03)


# --- waiting for a ring of stages


@pytest.mark.parametrize("name", ["sm_80", "sm_90a"])
def test_wait_for_a_stage_is_what_a_random_copy_is_late_by(name: str) -> None:
    """A copy that starts n iterations ahead and takes a random time T, exponentially distributed around the latency of
    global memory, is late by max(0, T - n c), where c is what an iteration takes: its mean is drawn, not derived.
    """
    target = ALL_TARGETS[name]
    pace = Pace(saturate(encode(load(EXAMPLES / "gemm.mlir"))), target)
    ((loop, cycles),) = pace.cycles.items()
    taken = np.random.default_rng(5).exponential(float(target.latency.global_), 400_000)
    for stages in range(1, 6):
        late = np.maximum(0, taken - (stages - 1) * cycles).mean()
        assert pace.wait(loop, stages) == pytest.approx(late, rel=0.05), stages
    waits = [pace.wait(loop, stages) for stages in range(1, 8)]
    gains = [a - b for a, b in itertools.pairwise(waits)]
    assert all(gain > 0 for gain in gains)
    assert gains == sorted(gains, reverse=True)
    assert math.isclose(waits[0], target.latency.global_)


def test_small_tile_is_reduced_where_it_is_loaded() -> None:
    """Elements that lie in the lanes of a warp are not spread over registers first: the steps that saves take as many
    shuffles, and lane numbers (TileGym's group_norm: three tiles of 8 elements in each of two rows).
    """
    w = Writer("sums", x="ptr<f32>", y="ptr<f32>", z="ptr<f32>")
    lane = w.iota(16)
    x, _ = w.gather(w.x[lane])
    w.scatter(w.y, x.reduce(0))
    w.scatter(w.z, (x * x).reduce(0))
    ptx = tilesat.compile(w.text()).ptx
    assert (ptx.count("shfl.sync.bfly"), ptx.count("shfl.sync.idx")) == (8, 0)


def test_tile_that_nothing_loads_is_folded_in_one_warp() -> None:
    """How many of 8 numbers are each of 0 to 15: a lane for each pair, the 8 beside one another, and three shuffles;
    16 neighbours a thread took twelve, and the columns side by side memory (TileGym's moe_align_block).
    """
    w = Writer("count", x="ptr<i32>", y="ptr<i32>")
    numbers, _ = w.gather(w.x[w.iota(8)])
    same = numbers.column(16).eq(w.iota(16).row(8))
    w.scatter(w.y[w.iota(16)], same.to("i32", signed=False).reduce(0))
    kernel = tilesat.compile(w.text())
    assert (kernel.ptx.count("shfl.sync"), kernel.ptx.count("bar.sync")) == (3, 0)
    x, y = np.random.default_rng(3).integers(0, 20, 8, np.int32), np.zeros(16, np.int32)
    kernel.run((1, 1, 1), x, y)
    np.testing.assert_array_equal(y, [(x == i).sum() for i in range(16)])


@pytest.mark.parametrize(("kind", "selects"), [("add", 4), ("last", 10)])
def test_scan_by_a_commutative_operation_puts_nothing_in_order(kind: str, selects: int) -> None:
    """Each step chooses whether the sibling's total comes in front; of the total alone the order does not matter."""
    w = Writer("prefixes", x="ptr<i32>", y="ptr<i32>")
    lane = w.iota(16)
    x, _ = w.gather(w.x[lane])
    combine = (lambda a, b: [a[0] + b[0]]) if kind == "add" else (lambda a, b: [a[0] * 3 + b[0]])
    (found,) = w.fold([x], 0, combine, [0], scan=True)
    w.scatter(w.y[lane], found)
    assert tilesat.compile(w.text()).ptx.count("selp") == selects


@pytest.mark.parametrize("name", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("ctas", [2, 3, 4])
def test_ctas_that_share_an_sm_wait_while_others_compute(name: str, ctas: int) -> None:
    """Each has the SM for its share of the time, so an iteration takes as many times as long; drawn, not derived."""
    target = ALL_TARGETS[name]
    pace = Pace(saturate(encode(load(EXAMPLES / "layernorm.mlir"))), target)
    loop, cycles = min(pace.cycles.items(), key=lambda item: item[1])
    taken = np.random.default_rng(6).exponential(float(target.latency.global_), 400_000)
    for stages in (2, 4, 6):
        late = np.maximum(0, taken - (stages - 1) * ctas * cycles).mean() / ctas
        assert pace.wait(loop, stages, ctas) == pytest.approx(late, rel=0.05), stages


@pytest.mark.parametrize(("example", "waits"), [("layernorm", True), ("gemm", False), ("flash_attention", False)])
def test_loops_that_wait_for_memory_with_the_deepest_ring(example: str, waits: bool) -> None:
    """Only there CTAs an SM are a choice."""
    pace = Pace(saturate(encode(load(EXAMPLES / f"{example}.mlir"))), ALL_TARGETS["sm_80"])
    assert pace.waits(dict.fromkeys(pace.cycles, 32.0), STAGES[-1]) == waits


@pytest.mark.parametrize(("size", "reduced", "threads"), [
    (2048, False, 128), (4096, False, 256), (4096, True, 128), (16384, True, 256), (65536, True, 512),
])  # fmt: skip
def test_large_tiles_are_shared_by_more_warps(size: int, reduced: bool, threads: int) -> None:
    """16 registers a thread for a tile whose elements go their own way, 64 for one that is reduced."""
    w = Writer("shared", x="ptr<f32>", y="ptr<f32>")
    w.promise(x=16, y=16)
    x, y = (w.view(base, [size], [1], [size]) for base in (w.x, w.y))
    row = w.load(x, 0)
    w.store(row - row.reduce(0).splat(size) if reduced else row * 2.0, y, 0)
    assert tilesat.compile(w.text()).manifest["block"] == [threads, 1, 1]

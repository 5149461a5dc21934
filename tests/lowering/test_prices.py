"""Prices say what ptxas makes of an operation, tensor rates those of the white papers; no price is a default."""

import importlib.util
import itertools
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesat
from benchmarks.calibrate import forms, table
from egraph import placed
from egraph.encode import encode
from egraph.forms import placed_classes
from egraph.saturate import saturate
from ir.core import OPS, TileError
from ir.dialects import cuda_tile as ct
from ir.load import load
from lowering import cost, counts
from lowering.cost import Machine
from lowering.counts import Form
from lowering.selection import pricing
from lowering.selection.graph import STAGES
from lowering.selection.trips import Pace
from lowering.targets import ALL_TARGETS, SM_80
from tilesat.fuzz.writer import Tile, Writer

EXAMPLES = Path(__file__).parents[2] / "examples"
# --- every operation has a price


def test_operation_without_a_row_is_an_error_where_the_tables_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pricing.unpriced(placed_classes()) == []
    monkeypatch.delitem(counts.DECLARED, "get_global")
    monkeypatch.delitem(pricing.prices.declared, placed.PlacedReduce)
    assert pricing.unpriced(placed_classes()) == ["p.get_global", "p.reduce"]
    spec = importlib.util.spec_from_file_location("pricing_again", pricing.__file__)
    assert spec is not None
    assert spec.loader is not None
    again = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "pricing_again", again)
    with pytest.raises(LookupError, match=r"no price for p\.get_global, p\.reduce: run benchmarks\.calibrate"):
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
    assert cost.priced() <= known


def test_unknown_operation_is_refused() -> None:
    with pytest.raises(TileError, match="the cost tables do not know 'frobnicate'"):
        Machine(SM_80, 4).elementwise(Form("frobnicate", (), ("f32",)), 1)


def test_placed_term_of_a_rule_file_is_refused_in_words(tmp_path: Path) -> None:
    rules = tmp_path / "mine.egg"
    rules.write_text("""(constructor mine (P) P)
        (rule ((= v (addf a b r f)) (want v l)) ((union (native v l) (mine (held_in v l))) (has v l))
          :ruleset place :name "mine/place")""")
    with pytest.raises(TileError, match="the cost tables do not know 'mine'"):
        tilesat.compile(EXAMPLES / "vecadd_view.mlir", rules=[rules])


# --- prices against SASS

SAMPLE = (
    "exp2.f32", "exp2.ftz.f32", "exp.f32", "log.f32", "tanh.f32", "divf.f32", "divf.full.f32", "rsqrt.f32", "sqrt.f32",
    "maxf.f32", "divi.i32", "remi.constant.i32", "addf.f16", "exp.bf16", "muli.i64", "ftof.f16.f32", "itof.i8.f32",
    "cmpi.i64.i1", "select.i1.f64",
)  # fmt: skip
"""One form of each kind: with flags, packed, of 64 bits, converting, through a call, by two kernels."""


def differing(names: str, target: str) -> list[str]:
    """What `python -m benchmarks.calibrate --check --targets TARGET --forms NAMES` prints."""
    chosen = [case for case in forms.cases() if re.search(names, case.form.key)]
    found = table.count(chosen, target)
    assert found
    return [str(each) for each in table.differences(found, counts.rows(target), target)]


@pytest.mark.in_turn
def test_prices_are_those_of_sass() -> None:
    chosen = {case.form.key: case for case in forms.cases()}
    found = table.count([chosen[name] for name in SAMPLE], "sm_80")
    assert len(found) == len(SAMPLE)
    assert list(table.differences(found, counts.rows("sm_80"), "sm_80")) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", [name for name in ALL_TARGETS if name not in table.COUNTED])
def test_prices_of_all_float_functions_are_those_of_sass(target: str) -> None:
    """Also on the tiers that are taken to be like another one."""
    assert differing(r"\.f32$|\.f16$", target) == []


@pytest.mark.slow
@pytest.mark.parametrize("target", table.COUNTED)
def test_every_price_is_that_of_its_sass(target: str) -> None:
    assert differing(table.COUNTED[target], target) == []


def test_a_wrong_price_is_found() -> None:
    form = Form("log", (), ("f32",))
    right = counts.rows("sm_80")
    found = {form: right[form.key]}
    assert list(table.differences(found, right, "sm_80")) == []
    wrong = {**right, form.key: {**right[form.key], "fma_f32": right[form.key]["fma_f32"] / 2}}
    (difference,) = table.differences(found, wrong, "sm_80")
    assert str(difference) == (
        "sm_80 log.f32: mufu 1, fma_f32 8, int_add 8, int_mul 1, convert 1 in the table, "
        "mufu 1, fma_f32 16, int_add 8, int_mul 1, convert 1 counted"
    )


def test_rows_say_where_they_are_from() -> None:
    sources = {row["source"] for found in counts.load().values() for row in found}
    assert sources
    assert all(re.fullmatch(r"SASS count, ptxas [\d.]+, \d{4}-\d\d-\d\d", each) for each in sources)
    tiers = {tier for found in counts.load().values() for row in found for tier in row["tiers"].split()}
    assert tiers == {name for name in ALL_TARGETS if not name.endswith("f")}
    assert counts.rows("sm_103f") == counts.rows("sm_103a") != {}


def test_form_is_priced_as_the_nearest_row_says() -> None:
    """Flags that make no difference have no row; an operation of one instruction has none."""
    assert Form("exp2", ("ftz",), ("f32",)).key == "exp2.ftz.f32"
    assert counts.counts("sm_80", Form("exp2", ("ftz",), ("f32",))) == {"mufu": 1}
    directed, plain = (counts.counts("sm_80", Form("addf", each, ("f32",))) for each in (("directed",), ()))
    assert directed == plain == {"fma_f32": 1}
    assert counts.counts("sm_80", Form("divi", ("unsigned",), ("i1",))) == counts.counts(
        "sm_80", Form("divi", (), ("i32",))
    )
    assert counts.counts("sm_80", Form("frobnicate", (), ("f32",))) is None


@pytest.mark.parametrize(("cls", "values", "words"), [
    (ct.DivF, {"rounding": ct.Rounding.FULL, "flush_to_zero": 1}, ("full", "ftz")),
    (ct.AddF, {"rounding": ct.Rounding.NEAREST_EVEN, "flush_to_zero": 0}, ()),
    (ct.AddF, {"rounding": ct.Rounding.ZERO}, ("directed",)),
    (ct.DivI, {"rounding": ct.Rounding.NEGATIVE_INF, "signedness": 0}, ("negative_inf", "unsigned")),
    (ct.Exp, {"rounding": ct.Rounding.FULL}, ()),
    (ct.MaxF, {"propagate_nan": 1}, ("nan",)),
])  # fmt: skip
def test_modifiers_of_a_form(cls: Any, values: dict[str, int], words: tuple[str, ...]) -> None:
    assert counts.modifiers(cls, values) == words


def test_rows_are_those_that_are_needed_and_tiers_share_them() -> None:
    plain, flushed = Form("sqrt", (), ("f32",)), Form("sqrt", ("ftz",), ("f32",))
    single = Form("addf", (), ("f32",))
    found = {flushed: {"mufu": 1.0}, plain: {"mufu": 1.0}, single: {"fma_f32": 1.0}}
    old = {"sqrt.f32": table.Known({"mufu": 3.0}, "before"), "exp.f32": table.Known({"mufu": 1.0}, "before")}
    rows = table.needed(old, found, "now")
    assert rows == {"sqrt.f32": table.Known({"mufu": 1.0}, "now"), "exp.f32": old["exp.f32"]}
    assert table.merged({"sm_80": rows, "sm_86": {"sqrt.f32": rows["sqrt.f32"]}}) == {
        "exp.f32": [{"tiers": "sm_80", "mufu": 1.0, "source": "before"}],
        "sqrt.f32": [{"tiers": "sm_80 sm_86", "mufu": 1.0, "source": "now"}],
    }


def test_what_is_called_is_counted() -> None:
    """Division rounded towards zero is a function of ptxas' own."""
    (case,) = (case for case in forms.cases() if case.form.key == "divf.directed.f32")
    (found,) = table.count([case], "sm_80").values()
    assert found["int_add"] + found["int_mul"] > 10


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


def test_loads_wait_once_for_each_32_registers_of_a_thread() -> None:
    """Loads and copies through registers alike; what is narrower than a register still fills one."""
    once = cost.exposed(SM_80).latency
    assert once == SM_80.latency.global_
    waits = [cost.exposed(SM_80, accesses, nbytes).latency / once for accesses, nbytes in ((8, 16), (9, 16), (33, 2))]
    assert waits == [1, 2, 2]


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

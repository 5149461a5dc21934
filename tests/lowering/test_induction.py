"""Carried numbers that grow by constants come from loops' counters: right whatever wraps, and copies run ahead."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from ir.text import parse
from lowering.source.induction import from_counters, growing
from tests.programs.program import Program, check, random

SIZE, DEPTH, STEP = 64, 320, 64


A = f"tensor_view<{SIZE}x{DEPTH}xf16, strides=[{DEPTH},1]>"
B = f"tensor_view<{DEPTH}x{SIZE}xf16, strides=[{SIZE},1]>"
D = f"tensor_view<{SIZE}x{SIZE}xf32, strides=[{SIZE},1]>"
TA = f"partition_view<tile=({SIZE}x{STEP}), padding_value = zero, {A}>"
TB = f"partition_view<tile=({STEP}x{SIZE}), padding_value = zero, {B}>"
TD = f"partition_view<tile=({SIZE}x{SIZE}), {D}>"
LEFT, RIGHT, SUM = f"tile<{SIZE}x{STEP}xf16>", f"tile<{STEP}x{SIZE}xf16>", f"tile<{SIZE}x{SIZE}xf32>"
PRODUCT = f"""
cuda_tile.module @m {{
  entry @product(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %d: tile<ptr<f32>>, %lo: tile<i32>, %hi: tile<i32>) {{
    %a16 = assume div_by<16>, %a : tile<ptr<f16>>
    %b16 = assume div_by<16>, %b : tile<ptr<f16>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %step = constant <i32: {STEP}> : tile<i32>
    %none = constant <f32: 0.0> : {SUM}
    %va = make_tensor_view %a16, shape = [{SIZE}, {DEPTH}], strides = [{DEPTH}, 1] : {A}
    %vb = make_tensor_view %b16, shape = [{DEPTH}, {SIZE}], strides = [{SIZE}, 1] : {B}
    %vd = make_tensor_view %d, shape = [{SIZE}, {SIZE}], strides = [{SIZE}, 1] : {D}
    %pa = make_partition_view %va : {TA}
    %pb = make_partition_view %vb : {TB}
    %pd = make_partition_view %vd : {TD}
    %begin = divi %lo, %step signed : tile<i32>
    %sum, %last = for %i in (%lo to %hi, step %step) : tile<i32>
        iter_values(%acc = %none, %at = %begin) -> ({SUM}, tile<i32>) {{
      %x, %t = load_view_tko weak %pa[%zero, %at] : {TA}, tile<i32> -> {LEFT}, token
      %y, %u = load_view_tko weak %pb[%at, %zero] : {TB}, tile<i32> -> {RIGHT}, token
      %more = mmaf %x, %y, %acc : {LEFT}, {RIGHT}, {SUM}
      %next = addi %at, %one : tile<i32>
      continue %more, %next : {SUM}, tile<i32>
    }}
    %s = store_view_tko weak %sum, %pd[%zero, %zero] : {SUM}, {TD}, tile<i32> -> token
    return
  }}
}}
"""


def run_of(low: int, high: int) -> Program:
    def arguments() -> list[Any]:
        return [random((SIZE, DEPTH), "f16"), random((DEPTH, SIZE), "f16", 1), random((SIZE, SIZE)), low, high]

    def expected(a: Any, b: Any, d: Any, *_: Any) -> dict[int, Any]:
        part = slice(low, max(low, -(-(high - low) // STEP) * STEP + low))
        return {2: a[:, part].astype(np.float64) @ b[part].astype(np.float64)}

    return Program("product", lambda: PRODUCT, arguments, (1,), expected, 2e-3)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.parametrize(("low", "high"), [(0, 320), (64, 300), (128, 64)])
def test_a_product_over_a_carried_tile(target: str, low: int, high: int) -> None:
    check(run_of(low, high), target)


@pytest.mark.parametrize("target", ["sm_80", "sm_120a"])
def test_its_copies_run_ahead(target: str) -> None:
    """Readers that fill their own ring know of the next iterations what the counter says: there was no ring."""
    kernel = tilesat.compile(PRODUCT, target)
    assert re.search(r"cp\.async\.wait_group [1-9]|mbarrier\.try_wait", kernel.ptx)


def number(kind: str, step: int, begin: int, change: str, read: bool = False, guard: str = "") -> str:
    """y[0] = the sum of x[at], each time doubled, for the number `at` of each iteration; y[1] the last one (`read`)."""
    return f"""
cuda_tile.module @m {{
  entry @numbers(%x: tile<ptr<i32>>, %y: tile<ptr<i32>>, %first: tile<{kind}>, %last: tile<{kind}>) {{
    %step = constant <{kind}: {step}> : tile<{kind}>
    %begin = constant <{kind}: {begin}> : tile<{kind}>
    %one = constant <{kind}: 1> : tile<{kind}>
    %three = constant <{kind}: 3> : tile<{kind}>
    %zero = constant <i32: 0> : tile<i32>
    %token = make_token : token
    %sum, %end = for %i in (%first to %last, step %step) : tile<{kind}>
        iter_values(%all = %zero, %at = %begin) -> (tile<i32>, tile<{kind}>) {{{guard}
      %p = offset %x, %at : tile<ptr<i32>>, tile<{kind}> -> tile<ptr<i32>>
      %v, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
      %twice = addi %all, %all : tile<i32>
      %next = addi %twice, %v : tile<i32>
      %further = {change} : tile<{kind}>
      continue %next, %further : tile<i32>, tile<{kind}>
    }}
    %s = store_ptr_tko weak %y, %sum : tile<ptr<i32>>, tile<i32> -> token
    {f"%q = offset %y, %one : tile<ptr<i32>>, tile<{kind}> -> tile<ptr<i32>>" if read else ""}
    {f"%w = store_ptr_tko weak %q, %end : tile<ptr<i32>>, tile<{kind}> -> token" if read and kind == "i32" else ""}
    return
  }}
}}
"""


FORMS = {  # source, bounds, what comes first, what is added
    "up": (number("i32", 2, 3, "addi %at, %one", read=True), (5, 14, 2), 3, 1),
    "other way round": (number("i32", 1, 0, "addi %three, %at"), (-3, 4, 1), 0, 3),
    "down": (number("i32", 7, 30, "subi %at, %three"), (0, 50, 7), 30, -3),
    "wide": (number("i64", 2, 3, "addi %at, %three"), (-(1 << 40), -(1 << 40) + 9, 2), 3, 3),
    "across the sign": (
        number("i32", 1 << 30, 0, "addi %at, %one", read=True), (-(1 << 31), (1 << 31) - 1, 1 << 30), 0, 1,
    ),
    "none": (number("i32", 2, 3, "addi %at, %one", read=True), (5, 5, 2), 3, 1),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_numbers(form: str) -> None:
    source, bounds, begin, added = FORMS[form]
    places = [begin + n * added for n in range(len(range(*bounds)))]

    def arguments() -> list[Any]:
        return [random((64,), "i32"), random((2,), "i32", 1), bounds[0], bounds[1]]

    def expected(x: Any, y: Any, *_: Any) -> dict[int, Any]:
        total = 0
        for at in places:
            total = 2 * total + int(x[at])
        found = [total, begin + added * len(places) if "%q = " in source else y[1]]
        return {1: np.array(found).astype(np.int32)}

    entry = parse(source).entries[0]
    (loop,) = [op for op in entry.walk() if isinstance(op, ct.For)]
    assert dict(growing(loop)) == {1: added}
    check(Program(form, lambda: source, arguments, (1,), expected, 0.0), "sm_80")


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_what_takes_the_least_number_away(width: int) -> None:
    """It adds as much, which is beyond the type."""
    kind, least = f"i{width}", -(1 << width - 1)
    source = number(kind, 2, 7, "subi %at, %three").replace(f"<{kind}: 3>", f"<{kind}: {least}>")
    entry = from_counters(parse(source).entries[0])
    (loop,) = [op for op in entry.walk() if isinstance(op, ct.For)]
    assert least in [int(op.value.item) for op in loop.walk() if isinstance(op, ct.Constant)]
    tilesat.compile(source, "sm_80")


LEFT_ALONE = {
    "grows by what is not constant": number("i32", 2, 3, "addi %at, %i"),
    "grows by a factor": number("i32", 2, 3, "muli %at, %three"),
    "is taken away from": number("i32", 2, 3, "subi %three, %at"),
    "step unknown": number("i32", 2, 3, "addi %at, %one").replace("step %step", "step %first"),
    "ends early": number(
        "i32", 2, 3, "addi %at, %one",
        guard="""
      %odd = cmpi equal %i, %three, signed : tile<i32> -> tile<i1>
      if %odd {
        continue %all, %at : tile<i32>, tile<i32>
      }""",
    ),
    "loads nothing": number("i32", 2, 3, "addi %at, %one").replace("%x, %at", "%x, %i"),
}  # fmt: skip


@pytest.mark.parametrize("form", LEFT_ALONE)
def test_left_alone(form: str) -> None:
    entry = parse(LEFT_ALONE[form]).entries[0]
    assert from_counters(entry) is entry

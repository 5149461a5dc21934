"""What a region promises about alignment is used in the region, and no access that needs it leaves the region."""

import numpy as np
import pytest

from egraph.encode import encode
from egraph.saturate import saturate
from ir.text import parse
from lowering.selection.host import Host
from tests.programs.program import Program, check

TILE = "tensor_view<64x64xf16, strides=[64,1]>"
SUM = "tensor_view<64x64xf32, strides=[64,1]>"
TARGETS = ("sm_80", "sm_90a")


def product(place: str, left: str) -> Program:
    """x @ y once a trip: `place` the first and last line of the region, `left` the lines that make %a, x's address."""
    text = f"""cuda_tile.module @m {{
    entry @k(%x: tile<ptr<f16>>, %y: tile<ptr<f16>>, %z: tile<ptr<f32>>, %n: tile<i32>, %k: tile<i32>) {{
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %nothing = constant <f32: 0.0> : tile<64x64xf32>
      %py = assume div_by<16>, %y : tile<ptr<f16>>
      %px = assume div_by<16>, %x : tile<ptr<f16>>
      %off = offset %x, %k : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>
      %some = cmpi not_equal %n, %zero, signed : tile<i32> -> tile<i1>
      {place.partition("...")[0]}
        {left}
        %va = make_tensor_view %a, shape = [64, 64], strides = [64, 1] : {TILE}
        %ta = make_partition_view %va : partition_view<tile=(64x64), {TILE}>
        %left, %t1 = load_view_tko weak %ta[%zero, %zero] : partition_view<tile=(64x64), {TILE}>, tile<i32>
          -> tile<64x64xf16>, token
        %vb = make_tensor_view %py, shape = [64, 64], strides = [64, 1] : {TILE}
        %tb = make_partition_view %vb : partition_view<tile=(64x64), {TILE}>
        %right, %t2 = load_view_tko weak %tb[%zero, %zero] : partition_view<tile=(64x64), {TILE}>, tile<i32>
          -> tile<64x64xf16>, token
        %sum = mmaf %left, %right, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      {place.partition("...")[2]}
      %vz = make_tensor_view %z, shape = [64, 64], strides = [64, 1] : {SUM}
      %tz = make_partition_view %vz : partition_view<tile=(64x64), {SUM}>
      %end = store_view_tko weak %r, %tz[%zero, %zero] : tile<64x64xf32>, partition_view<tile=(64x64), {SUM}>, tile<i32>
        -> token
      return }} }}"""
    return Program("product", lambda: text, list)


LOOP = """%r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %nothing) -> (tile<64x64xf32>) {
    ... continue %sum : tile<64x64xf32> }"""
BRANCH = """%r = if %some -> (tile<64x64xf32>) { %acc = addf %nothing, %nothing : tile<64x64xf32>
    ... yield %sum : tile<64x64xf32> } else { yield %nothing : tile<64x64xf32> }"""
OUTSIDE = "%a = assume div_by<16>, %off : tile<ptr<f16>>"
OF_COUNTER = """%o = muli %i, %k : tile<i32>
    %p = offset %px, %o : tile<ptr<f16>>, tile<i32> -> tile<ptr<f16>>
    %a = assume div_by<16>, %p : tile<ptr<f16>>"""


def run(made: Program, target: str, trips: int, k: int) -> str:
    """Check the program with x long enough for its trips; returns the PTX."""

    def arguments() -> list[object]:
        rng = np.random.default_rng(trips)
        x, y = (rng.standard_normal(n).astype(np.float16) for n in (64 * 64 + trips * k + k, 64 * 64))
        return [x, y, np.full(64 * 64, 7, np.float32), trips, k]

    return check(Program(made.name, made.source, arguments), target).ptx


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("place", [LOOP, BRANCH], ids=["loop", "branch"])
@pytest.mark.parametrize(("trips", "k"), [(0, 3), (1, 8)])
def test_promised_alignment_is_used_in_its_region_only(target, place, trips, k):
    """With no trip the address is not aligned: an access of 16 bytes before the region would end the simulation."""
    assert "cp.async.cg" in run(product(place, OUTSIDE), target, trips, k)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("trips", "k"), [(0, 3), (1, 3), (3, 8)])
def test_iterations_that_do_not_exist_promise_nothing(target, trips, k):
    """The second iteration's address is not aligned, so no ring may ask for it ahead of one that exists."""
    assert "cp.async.cg" in run(product(LOOP, OF_COUNTER), target, trips, k)


@pytest.mark.parametrize(
    ("promise", "maps"), [("", True), ("div_by<16>", False), ("bounded<0, ?>", True)], ids=["none", "div_by", "bounded"]
)
def test_no_tensor_map_rests_on_what_a_region_promises(promise, maps):
    """The host makes it at the launch: the base that a region promises may not be aligned where the region is idle."""
    promised = f"%q = assume {promise}, %a : tile<i64>" if promise else "%q = ori %a, %a : tile<i64>"
    text = f"""cuda_tile.module @m {{ entry @k(%a: tile<i64>, %flag: tile<i1>) {{
      if %flag {{
        {promised}
        %r = addi %q, %a : tile<i64>
      }}
      return }} }}"""
    program = encode(parse(text))
    host = Host(saturate(program).frozen, program.interner)
    (q,) = (k for k, value in enumerate(program.values) if value is not None and value.name == "q")
    assert host.maps(host.frozen.class_of(q)) == maps

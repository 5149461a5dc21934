"""Policies of the L2 cache: what one tile block reads once makes room first for what several read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilesat
from tests.lowering.report import outline
from tests.programs.program import Program, check, random
from tilesat import TileError

VIEW = "tensor_view<?x?xf32, strides=[?,1]>"
TILE = f"partition_view<tile=(16x64), {VIEW}>"
ROW = "partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>"
KERNEL = f"""
cuda_tile.module @m {{{{ entry @scale(
    %x0: tile<ptr<f32>>, %w0: tile<ptr<f32>>, %y0: tile<ptr<f32>>, %m: tile<i32>, %n0: tile<i32>) {{{{
  %x = assume div_by<16>, %x0 : tile<ptr<f32>>
  %w = assume div_by<16>, %w0 : tile<ptr<f32>>
  %y = assume div_by<16>, %y0 : tile<ptr<f32>>
  %n1 = assume bounded<0, ?>, %n0 : tile<i32>
  %n = assume div_by<16>, %n1 : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %width = constant <i32: 64> : tile<i32>
  %tiles = divi %n, %width signed : tile<i32>
  %vx = make_tensor_view %x, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {VIEW}
  %vy = make_tensor_view %y, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {VIEW}
  %vw = make_tensor_view %w, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %px = make_partition_view %vx : {TILE}
  %py = make_partition_view %vy : {TILE}
  %pw = make_partition_view %vw : {ROW}
  %b:3 = get_tile_block_id : tile<i32>
  %g:3 = get_num_tile_blocks : tile<i32>
{{body}}
  return
}}}} }}}}"""
STEP = f"""  %a, %s = load_view_tko weak %px[{{row}}, {{column}}] : {TILE}, tile<i32> -> tile<16x64xf32>, token
  %v, %t = load_view_tko weak %pw[{{column}}] : {ROW}, tile<i32> -> tile<64xf32>, token
  %r = reshape %v : tile<64xf32> -> tile<1x64xf32>
  %rr = broadcast %r : tile<1x64xf32> -> tile<16x64xf32>
  %c = mulf %a, %rr : tile<16x64xf32>
  %d = store_view_tko weak %c, %py[{{row}}, {{column}}] : tile<16x64xf32>, {TILE}, tile<i32> -> token
"""
PLAIN = STEP.format(row="%b#0", column="%b#1")
COLUMNS = "  for %k in (%zero to %tiles, step %one) : tile<i32> {{\n" + STEP + "    continue\n  }}\n"
ROWS = "  for %i in (%b#0 to %four, step %g#0) : tile<i32> {{\n" + STEP + "    continue\n  }}\n"
STREAMED = {
    "plain": (PLAIN, (4, 4)),
    "columns": (COLUMNS.format(row="%b#0", column="%k"), (4,)),
    "rows": (ROWS.format(row="%i", column="%zero"), (2,)),
    "offset": ("  %h = subi %b#0, %zero : tile<i32>\n" + STEP.format(row="%h", column="%b#1"), (4, 4)),
}
AGAIN = f"""  %e, %u = load_view_tko weak %px[%b#0, %zero] : {TILE}, tile<i32> -> tile<16x64xf32>, token
  %f = store_view_tko weak %e, %py[%b#0, %one] : tile<16x64xf32>, {TILE}, tile<i32> -> token
"""
NOT_STREAMED = {
    "read twice": PLAIN + AGAIN,
    "in every iteration": COLUMNS.format(row="%b#0", column="%b#1"),
    "written": PLAIN.replace("%py[", "%px["),
    "a quotient": "  %h = divi %b#0, %four signed : tile<i32>\n" + STEP.format(row="%h", column="%b#1"),
    "nothing to protect": STEP.format(row="%zero", column="%b#0"),
}  # fmt: skip


def program(body: str, grid: tuple[int, ...], left: int = 256) -> Program:
    """y = x * w; columns from `left` on are not computed."""
    text = KERNEL.format(body=body)

    def expected(x: Any, w: Any, y: Any, *_: Any) -> dict[int, Any]:
        return {2: np.where(np.arange(256) < left, x * w, y)}

    arguments = lambda: [random((64, 256), seed=1), random((256,), seed=2), random((64, 256), seed=3), 64, 256]  # noqa: E731
    return Program("scale", lambda: text, arguments, grid, expected)


LOOPS = {(name, target) for name in ("columns", "rows") for target in ("sm_80",)}
"""Where rings are filled by cp.async, whose copies carry no policy."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("name", "target"),
    [(n, t) for n in STREAMED for t in ("sm_80", "sm_90a", "sm_100a") if (n, t) not in LOOPS],
)
def test_what_is_read_once(name: str, target: str) -> None:
    body, grid = STREAMED[name]
    kernel = check(program(body, grid, 64 if name == "rows" else 256), target)
    assert kernel.ptx.count("createpolicy.fractional.L2::evict_first.b64") == 1
    lines = [line for line in kernel.ptx.splitlines() if "ld.global" in line or "complete_tx::bytes" in line]
    hinted = [line for line in lines if "L2::cache_hint" in line]
    assert hinted
    assert len(hinted) < len(lines), "what all read has no policy"


@pytest.mark.parametrize("name", NOT_STREAMED)
def test_what_is_read_again(name: str) -> None:
    assert "L2::" not in tilesat.compile(KERNEL.format(body=NOT_STREAMED[name]), "sm_80").ptx


def test_policies_can_be_forbidden_and_are_named() -> None:
    source = KERNEL.format(body=PLAIN)
    made, without = tilesat.compile(source, "sm_80"), tilesat.compile(source, "sm_80", forbid=["l2"])
    assert "L2::" not in without.ptx
    assert "l2.evict_first" in outline(made.compiled)
    assert "l2.evict_first" not in outline(without.compiled)
    assert made.cost == without.cost, "no cost decides this"


def test_a_policy_of_shared_memory_is_refused_at_its_place() -> None:
    text = tilesat.compile(KERNEL.format(body=PLAIN), "sm_80").stages["nvgpu"]
    assert 'evict = "evict_first"' in text
    with pytest.raises(TileError, match="only accesses to global memory take an L2 cache policy"):
        tilesat.lower(text.replace("!llvm.ptr<1>", "!llvm.ptr<3>"))

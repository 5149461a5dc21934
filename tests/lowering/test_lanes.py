"""Lanes of a warp folded by one redux.sync where it has the operation, else by shuffles."""

from __future__ import annotations

import numpy as np
import pytest

import tilesat
from tilesat import TileError

KERNEL = """
cuda_tile.module @m {{ entry @fold(%x: tile<ptr<{element}>>, %y: tile<ptr<{element}>>) {{
  %start = make_token : token
  %rows = iota : tile<32xi32>
  %columns = iota : tile<256xi32>
  %r = reshape %rows : tile<32xi32> -> tile<32x1xi32>
  %rr = broadcast %r : tile<32x1xi32> -> tile<32x256xi32>
  %c = reshape %columns : tile<256xi32> -> tile<1x256xi32>
  %cc = broadcast %c : tile<1x256xi32> -> tile<32x256xi32>
  %wide = constant <i32: 256> : tile<32x256xi32>
  %scaled = muli %rr, %wide : tile<32x256xi32>
  %at = addi %scaled, %cc : tile<32x256xi32>
  %p = reshape %x : tile<ptr<{element}>> -> tile<1x1xptr<{element}>>
  %pp = broadcast %p : tile<1x1xptr<{element}>> -> tile<32x256xptr<{element}>>
  %ptrs = offset %pp, %at : tile<32x256xptr<{element}>>, tile<32x256xi32> -> tile<32x256xptr<{element}>>
  %a, %t = load_ptr_tko weak %ptrs token = %start : tile<32x256xptr<{element}>> -> tile<32x256x{element}>, token
  %sum = reduce %a dim=1 identities=[{identity}] : tile<32x256x{element}> -> tile<32x{element}>
    (%left: tile<{element}>, %right: tile<{element}>) {{
      %both = {operation} %left, %right {flags}: tile<{element}>
      yield %both : tile<{element}>
    }}
  %q = reshape %y : tile<ptr<{element}>> -> tile<1xptr<{element}>>
  %qq = broadcast %q : tile<1xptr<{element}>> -> tile<32xptr<{element}>>
  %out = offset %qq, %rows : tile<32xptr<{element}>>, tile<32xi32> -> tile<32xptr<{element}>>
  %done = store_ptr_tko weak %out, %sum token = %start : tile<32xptr<{element}>>, tile<32x{element}> -> token
  return
}} }}"""
SIGNED = ("addi", "", "0 : i32", lambda x: x.sum(1, dtype=np.int32))
FOLDS = {
    "add": SIGNED, "and": ("andi", "", "-1 : i32", lambda x: np.bitwise_and.reduce(x, 1)),
    "or": ("ori", "", "0 : i32", lambda x: np.bitwise_or.reduce(x, 1)),
    "xor": ("xori", "", "0 : i32", lambda x: np.bitwise_xor.reduce(x, 1)),
    "max.s32": ("maxi", "signed ", "-2147483648 : i32", lambda x: x.max(1)),
    "min.u32": ("mini", "unsigned ", "-1 : i32", lambda x: x.view(np.uint32).min(1).view(np.int32)),
}  # fmt: skip


def kernel(name: str, target: str = "sm_80", **options) -> tilesat.Kernel:
    operation, flags, identity, _ = FOLDS[name]
    source = KERNEL.format(element="i32", operation=operation, flags=flags, identity=identity)
    return tilesat.compile(source, target, **options)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", FOLDS)
def test_integers_are_folded_by_one_instruction(name: str) -> None:
    x = np.random.default_rng(3).integers(-(1 << 31), 1 << 31, (32, 256), dtype=np.int64).astype(np.int32)
    for target in ("sm_80", "sm_90a"):
        made = kernel(name, target)
        assert f"redux.sync.{name}" in made.ptx
        assert "shfl" not in made.ptx
        for on in ("ref", "sim"):
            y = np.zeros(32, np.int32)
            made.run(1, x.copy(), y, on=on)
            assert (y == FOLDS[name][3](x)).all(), on


def test_redux_costs_less_and_can_be_forbidden() -> None:
    made, without = kernel("add"), kernel("add", forbid=["redux"])
    assert "redux" not in without.ptx
    assert "shfl" in without.ptx
    assert made.cost < without.cost


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_floats_have_it_on_blackwell(target: str) -> None:
    source = KERNEL.format(element="f32", operation="maxf", flags="propagate_nan ", identity="0xFF800000 : f32")
    made = tilesat.compile(source, target)
    assert ("redux.sync.max.NaN.f32" in made.ptx) == (target == "sm_100a")
    x = np.random.default_rng(4).standard_normal((32, 256)).astype(np.float32)
    x[3, 17] = np.nan
    y = np.zeros(32, np.float32)
    made.run(1, x, y, on="sim")
    assert np.array_equal(y, x.max(1), equal_nan=True)


def test_a_fold_that_redux_lacks_is_refused_at_its_place() -> None:
    """Text of level nv_tileas that asks for redux of a product."""
    operation, flags, identity = "muli", "", "1 : i32"
    source = KERNEL.format(element="i32", operation=operation, flags=flags, identity=identity)
    text = tilesat.compile(source, "sm_80").stages["nv_tileas"]
    asked = text.replace("dim = 1", 'atom = "redux", dim = 1')
    assert asked != text
    with pytest.raises(TileError, match="redux folds 32 lanes by one operation"):
        tilesat.lower(asked)

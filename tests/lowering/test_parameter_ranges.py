"""Ranges that every execution promises of parameters reach the instructions of a thread."""

import re

import numpy as np
import pytest

import tilesat
from lowering.decode import decoder
from tests.programs.program import Program, check

VIEW = "tensor_view<?xi32, strides=[1]>"
TILES = f"partition_view<tile=(128), {VIEW}>"


def tiles(promise: str) -> str:
    """How many tiles an array of %m elements has."""
    return f"""cuda_tile.module @m {{ entry @k(%x: tile<ptr<i32>>, %m: tile<i32>, %other: tile<i32>, %flag: tile<i1>) {{
      %n = {promise}
      if %flag {{
        %known = assume bounded<0, 7>, %other : tile<i32>
        %s = store_ptr_tko weak %x, %known : tile<ptr<i32>>, tile<i32> -> token
      }}
      %v = make_tensor_view %x, shape = [%n], strides = [1] : tile<i32> -> {VIEW}
      %p = make_partition_view %v : {TILES}
      %c = get_index_space_shape %p : {TILES} -> tile<i32>
      %t = store_ptr_tko weak %x, %c : tile<ptr<i32>>, tile<i32> -> token
      return }} }}"""


BOUNDED = tiles("assume bounded<0, 100000>, %m : tile<i32>")


def test_only_what_every_execution_promises_is_said_of_parameters() -> None:
    for level in ("nv_tileas", "nvgpu"):
        assert "ranges = [array<i64: 1, 0, 100000, 1>]" in tilesat.compile(BOUNDED).stages[level]
    assert "ranges" not in tilesat.compile(tiles("addi %m, %other : tile<i32>")).stages["nvgpu"]


COPY = """cuda_tile.module @m {{ entry @k(%x: tile<ptr<i8>>, %y: tile<ptr<i8>>, %m: tile<i32>) {{
  %n = {promise}
  %start = make_token : token
  %b, %j, %k = get_tile_block_id : tile<i32>
  %c1024 = constant <i32: 1024> : tile<i32>
  %base = muli %b, %c1024 : tile<i32>
  %i = iota : tile<1024xi32>
  %bases = reshape %base : tile<i32> -> tile<1xi32>
  %all = broadcast %bases : tile<1xi32> -> tile<1024xi32>
  %at = addi %all, %i : tile<1024xi32>
  %ns = reshape %n : tile<i32> -> tile<1xi32>
  %n_all = broadcast %ns : tile<1xi32> -> tile<1024xi32>
  %inside = cmpi less_than %at, %n_all, signed : tile<1024xi32> -> tile<1024xi1>
  %zero = constant <i8: 0> : tile<1024xi8>
  %ys = reshape %y : tile<ptr<i8>> -> tile<1xptr<i8>>
  %ys_all = broadcast %ys : tile<1xptr<i8>> -> tile<1024xptr<i8>>
  %py = offset %ys_all, %at : tile<1024xptr<i8>>, tile<1024xi32> -> tile<1024xptr<i8>>
  %one = constant <i8: 1> : tile<1024xi8>
  %t = store_ptr_tko weak %py, %one, %inside token = %start : tile<1024xptr<i8>>, tile<1024xi8>, tile<1024xi1> -> token
  return }} }}"""


def test_elements_below_a_multiple_share_a_comparison() -> None:
    """Of a tile that starts at a multiple of 1024 all elements lie below another one, or none."""
    source = COPY.format(promise="assume div_by<1024>, %m : tile<i32>")
    known = tilesat.compile(source)
    assert "ranges = [array<i64: 2, -2147483648, 2147483647, 1024>]" in known.stages["nvgpu"]
    assert known.ptx.count("setp") == 2  # one and its opposite, which is made again where it is used again
    promises = ("assume div_by<512>, %m : tile<i32>", "assume bounded<0, 1000000>, %m : tile<i32>")
    assert [tilesat.compile(COPY.format(promise=p)).ptx.count("setp") for p in promises] == [3, 8]
    y = np.random.default_rng(3).integers(-9, 9, 2048).astype(np.int8)

    def expected(x: np.ndarray, y: np.ndarray, n: int) -> dict[int, np.ndarray]:
        return {1: np.where(np.arange(2048) < n, 1, y).astype(np.int8)}

    for n in (1024, 2048):
        arguments = lambda n=n: [np.zeros(1, np.int8), y.copy(), n]  # noqa: E731
        check(Program("copy", lambda: source, arguments, (2,), expected), "sm_80")


def test_a_sum_that_cannot_wrap_is_rounded_up_by_adding(monkeypatch: pytest.MonkeyPatch) -> None:
    known = tilesat.compile(BOUNDED).ptx
    assert re.search(r"add\.s32 %r\d+, %r\d+, 127;", known)
    monkeypatch.setattr(decoder, "ranges", lambda d, parameters: ())
    assert known.count(";") < tilesat.compile(BOUNDED).ptx.count(";")


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, 100000])
def test_results_up_to_the_bounds(target: str, n: int) -> None:
    def expected(x: np.ndarray, *rest: object) -> dict[int, np.ndarray]:
        return {0: np.array([-(-n // 128)], np.int32)}

    check(Program("tiles", lambda: BOUNDED, lambda: [np.array([-7], np.int32), n, 3, False], (1,), expected), target)

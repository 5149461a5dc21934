"""Ranges that every execution promises of parameters reach the instructions of a thread."""

import re

import numpy as np
import pytest

import tilesat
from lowering.decode.decoder import Decoder
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
        assert "ranges = [array<i64: 1, 0, 100000>]" in tilesat.compile(BOUNDED).stages[level]
    assert "ranges" not in tilesat.compile(tiles("addi %m, %other : tile<i32>")).stages["nvgpu"]


def test_a_sum_that_cannot_wrap_is_rounded_up_by_adding(monkeypatch: pytest.MonkeyPatch) -> None:
    known = tilesat.compile(BOUNDED).ptx
    assert re.search(r"add\.s32 %r\d+, %r\d+, 127;", known)
    monkeypatch.setattr(Decoder, "ranges", lambda self, parameters: ())
    assert known.count(";") < tilesat.compile(BOUNDED).ptx.count(";")


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, 100000])
def test_results_up_to_the_bounds(target: str, n: int) -> None:
    def expected(x: np.ndarray, *rest: object) -> dict[int, np.ndarray]:
        return {0: np.array([-(-n // 128)], np.int32)}

    check(Program("tiles", lambda: BOUNDED, lambda: [np.array([-7], np.int32), n, 3, False], (1,), expected), target)

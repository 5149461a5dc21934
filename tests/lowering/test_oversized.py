"""What no thread could hold is refused before any work is spent on it."""

import pytest

import tilesat
from ir.core import UnsupportedError

COPY = """cuda_tile.module @m {{ entry @copy(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>) {{
  %start = make_token : token
  %i = iota : tile<{n}xi32>
  %b = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p = broadcast %b : tile<1xptr<f32>> -> tile<{n}xptr<f32>>
  %q = offset %p, %i : tile<{n}xptr<f32>>, tile<{n}xi32> -> tile<{n}xptr<f32>>
  %v, %t = load_ptr_tko weak %q token = %start : tile<{n}xptr<f32>> -> tile<{n}xf32>, token
  %t2 = store_ptr_tko weak %q, %v token = %t : tile<{n}xptr<f32>>, tile<{n}xf32> -> token
  return }} }}"""


def test_a_tile_that_no_thread_can_hold_is_refused_before_saturation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("lowering.passes.source.saturate_program")
    with pytest.raises(UnsupportedError) as caught:
        tilesat.compile(COPY.format(n=1 << 24))
    assert caught.value.message == (
        "'cuda_tile.broadcast': tile<16777216xptr<f32>> takes 65536 registers in each of 512 threads (255 available), "
        "and the kernel about 196609 instructions (at most 65536)"
    )
    assert caught.value.hint == "use smaller tiles, in a loop or over more tile blocks"


def test_a_tile_that_passes_through_registers_compiles() -> None:
    assert tilesat.compile(COPY.format(n=1 << 16)).ptx.count("st.global") == 128

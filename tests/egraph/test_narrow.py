"""Elements on which there is no arithmetic: i4 and floats of eight bits only convert."""

import numpy as np

import tilesat

KERNEL = """
entry @k(%x: tile<ptr<i8>>, %y: tile<ptr<i32>>) {
  %i = iota : tile<128xi32>
  %xs = reshape %x : tile<ptr<i8>> -> tile<1xptr<i8>>
  %xb = broadcast %xs : tile<1xptr<i8>> -> tile<128xptr<i8>>
  %xp = offset %xb, %i : tile<128xptr<i8>>, tile<128xi32> -> tile<128xptr<i8>>
  %ys = reshape %y : tile<ptr<i32>> -> tile<1xptr<i32>>
  %yb = broadcast %ys : tile<1xptr<i32>> -> tile<128xptr<i32>>
  %yp = offset %yb, %i : tile<128xptr<i32>>, tile<128xi32> -> tile<128xptr<i32>>
  %a, %t = load_ptr_tko weak %xp : tile<128xptr<i8>> -> tile<128xi8>, token
  %n = trunci %a : tile<128xi8> -> tile<128xi4>
  %b = exti %n signed : tile<128xi4> -> tile<128xi32>
  %z = constant <i32: 3> : tile<128xi32>
  %p = cmpi less_than %b, %z, signed : tile<128xi32> -> tile<128xi1>
  %c = select %p, %b, %z : tile<128xi1>, tile<128xi32>
  %d = store_ptr_tko weak %yp, %c token=%t : tile<128xptr<i32>>, tile<128xi32> -> token
  return
}
"""


def test_i4_is_compared_as_it_was_extended():
    kernel = tilesat.compile(KERNEL, target="sm_90a")
    x, y = np.arange(-128, 0, dtype=np.int8), np.zeros(128, np.int32)
    kernel.run((1, 1, 1), x, y, on="sim")
    narrow = (x.astype(np.int32) + 8) % 16 - 8
    assert np.array_equal(y, np.minimum(narrow, 3))

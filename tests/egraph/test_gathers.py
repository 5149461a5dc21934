"""Which gathers are taken as transposed tiles: those whose pointers run along the first of two dimensions only."""

import pytest

from egraph.encode import encode
from egraph.gathers import is_turned
from ir.dialects import cuda_tile as ct
from ir.text import parse

PLACES = {
    "addi %down, %across : tile<8x4xi32>": True,
    "addi %across, %down : tile<8x4xi32>": True,
    "subi %down, %across : tile<8x4xi32>": True,
    "subi %across, %down : tile<8x4xi32>": False,
    "addi %down, %runs : tile<8x4xi32>": False,  # along both
    "addi %runs, %across : tile<8x4xi32>": False,
    "muli %down, %ones : tile<8x4xi32>": True,
    "muli %down, %twos : tile<8x4xi32>": False,
    "assume bounded<0, ?>, %down : tile<8x4xi32>": True,
    "permute %upright [1, 0] : tile<4x8xi32> -> tile<8x4xi32>": True,
    "reshape %line : tile<32xi32> -> tile<8x4xi32>": False,
    "andi %down, %across : tile<8x4xi32>": False,
}


def program(place: str, load: str = "load_ptr_tko weak %p, %mask, %zeros") -> str:
    kinds = "tile<8x4xptr<f32>>, tile<8x4xi1>, tile<8x4xf32>"
    return f"""cuda_tile.module @m {{ entry @k(%x: tile<ptr<f32>>, %n: tile<i32>) {{
      %run = iota : tile<8xi32>
      %column = reshape %run : tile<8xi32> -> tile<8x1xi32>
      %down = broadcast %column : tile<8x1xi32> -> tile<8x4xi32>
      %four = iota : tile<4xi32>
      %row = reshape %four : tile<4xi32> -> tile<1x4xi32>
      %runs = broadcast %row : tile<1x4xi32> -> tile<8x4xi32>
      %one = reshape %n : tile<i32> -> tile<1x1xi32>
      %many = broadcast %one : tile<1x1xi32> -> tile<8x4xi32>
      %across = muli %runs, %many : tile<8x4xi32>
      %ones = constant <i32: 1> : tile<8x4xi32>
      %twos = constant <i32: 2> : tile<8x4xi32>
      %eight = reshape %run : tile<8xi32> -> tile<1x8xi32>
      %upright = broadcast %eight : tile<1x8xi32> -> tile<4x8xi32>
      %line = iota : tile<32xi32>
      %mask = cmpi less_than %down, %many, signed : tile<8x4xi32> -> tile<8x4xi1>
      %zeros = constant <f32: 0.0> : tile<8x4xf32>
      %place = {place}
      %base = reshape %x : tile<ptr<f32>> -> tile<1x1xptr<f32>>
      %bases = broadcast %base : tile<1x1xptr<f32>> -> tile<8x4xptr<f32>>
      %p = offset %bases, %place : tile<8x4xptr<f32>>, tile<8x4xi32> -> tile<8x4xptr<f32>>
      %v, %t = {load} : {kinds} -> tile<8x4xf32>, token
      return }} }}"""


@pytest.mark.parametrize("place", PLACES)
def test_pointers_that_run_along_the_first_dimension(place):
    module = parse(program(place))
    (load,) = (op for op in module.walk() if isinstance(op, ct.LoadPtr))
    assert is_turned(load) == PLACES[place]
    (row,) = encode(module).facts["r.load_ptr_tko"]
    assert (row[1] == encode(module).numbers.get(load.source)) != PLACES[place]


def test_loads_that_stay_in_order_are_not_turned():
    module = parse(program("addi %down, %across : tile<8x4xi32>", "load_ptr_tko relaxed device %p, %mask, %zeros"))
    (load,) = (op for op in module.walk() if isinstance(op, ct.LoadPtr))
    assert not is_turned(load)

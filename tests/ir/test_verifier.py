"""The rules of the dialect: each refused program names its op, the operand and its place."""

import numpy as np
import pytest

from ir.core import Block, Builder, Location, Region, VerifyError, verify
from ir.dialects import cuda_tile as ct
from ir.text import parse
from ir.types import F32, I32, TileType

PARAMETERS = "%p: tile<ptr<f32>>, %q: tile<ptr<f16>>, %n: tile<i32>, %w: tile<i64>, %b: tile<i1>, %r: tile<f32>"
SETUP = """
  %tok = make_token : token
  %i = iota : tile<8xi32>
  %l = exti %i signed : tile<8xi32> -> tile<8xi64>
  %f = itof %i signed : tile<8xi32> -> tile<8xf32>
  %h = ftof %f : tile<8xf32> -> tile<8xf16>
  %m = cmpi less_than %i, %i, signed : tile<8xi32> -> tile<8xi1>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %ps = broadcast %p1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %x = reshape %f : tile<8xf32> -> tile<2x4xf32>
  %a = constant <f16: 0.5> : tile<16x32xf16>
  %c = constant <f32: 0.5> : tile<16x16xf32>
  %v = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
  %pv = make_partition_view %v : partition_view<tile=(2x4), tensor_view<?x64xf32, strides=[64,1]>>
"""
LINE = SETUP.count("\n") + 2

ACCEPTED = """
%0 = divi %i, %i signed rounding<negative_inf> : tile<8xi32>
%0 = addf %f, %f rounding<zero> flush_to_zero : tile<8xf32>
%0 = assume div_by<4, every 2 along 0>, %i : tile<8xi32>
%0 = assume same_elements<[4]>, %ps : tile<8xptr<f32>>
%0 = assume div_by<16>, %v : tensor_view<?x64xf32, strides=[64,1]>
%0 = mmaf %a, %bt, %c : tile<16x32xf16>, tile<32x16xf16>, tile<16x16xf32>
%0, %1 = load_ptr_tko relaxed device %ps, %m, %f token=%tok : tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token
%0, %1 = load_ptr_tko weak %ps, %f token=%tok : tile<8xptr<f32>>, tile<8xf32> -> tile<8xf32>, token
%0, %1 = load_view_tko weak %pv[%n, %n] : partition_view<tile=(2x4), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<2x4xf32>, token
%0 = scan %f dim=0 reverse=true identities=[1.0 : f32] : tile<8xf32> -> tile<8xf32> (%s: tile<f32>, %t: tile<f32>) { %u = mulf %s, %t : tile<f32> yield %u : tile<f32> }
if %b { return }
""".strip().splitlines()  # noqa: E501

REFUSED = """
%0 = addi %i, %l : tile<8xi32> | addi | operand 'rhs' has type tile<8xi64>, must have the type of 'lhs', tile<8xi32>
%0 = addi %f, %f : tile<8xf32> | addi | operand 'lhs' must be a tile of integers, is tile<8xf32>
%0 = addf %i, %i : tile<8xi32> | addf | operand 'lhs' must be a tile of f16, bf16, f32 or f64, is tile<8xi32>
%0 = addf %h, %h flush_to_zero : tile<8xf16> | addf | flush_to_zero needs f32, operand is tile<8xf16>
%0 = addf %f, %f rounding<approx> : tile<8xf32> | addf | rounding must be one of nearest_even, zero
%0 = divf %h, %h rounding<full> : tile<8xf16> | divf | rounding<full> needs f32
%0 = divi %i, %i unsigned rounding<negative_inf> : tile<8xi32> | divi | rounding<negative_inf> needs signed operands
%0 = divi %i, %i signed rounding<full> : tile<8xi32> | divi | rounding must be one of zero, negative_inf, positive_inf
%0 = maxf %f, %h : tile<8xf32> | maxf | operand 'rhs' has type tile<8xf16>
%0 = exp %h rounding<approx> : tile<8xf16> | exp | rounding<approx> needs f32
%0 = sqrt %f rounding<full> : tile<8xf32> | sqrt | rounding must be one of
%0 = cmpi equal %i, %i, signed : tile<8xi32> -> tile<4xi1> | cmpi | 'result' has type tile<4xi1>, must have the shape of 'lhs'
%0 = cmpi equal %i, %i, signed : tile<8xi32> -> tile<8xi8> | cmpi | result 'result' must be a tile of i1, is tile<8xi8>
%0 = select %m, %i, %l : tile<8xi1>, tile<8xi32> | select | operand 'val_if_false' has type tile<8xi64>
%0 = select %b, %i, %i : tile<i1>, tile<8xi32> | select | 'cond' has type tile<i1>, must have the shape of 'val_if_true'
%0 = offset %ps, %n : tile<8xptr<f32>>, tile<i32> -> tile<8xptr<f32>> | offset | 'offset' has type tile<i32>, must have the shape of 'ptr'
%0 = iota : tile<2x4xi32> | iota | result must have one dimension
%0 = iota : tile<512xi8> | iota | 512 values do not fit result tile<512xi8>
%0 = iota : tile<6xi32> | iota | type tile<6xi32> does not exist: dimension 6 is not a positive power of two
%0 = constant <f32: 0.0> : tile<8192x8192xf32> | constant | a tile has at most 16777216 elements
%0 = reshape %x : tile<2x4xf32> -> tile<16xf32> | reshape | operand 'source' tile<2x4xf32> cannot be reshaped to tile<16xf32>
%0 = broadcast %x : tile<2x4xf32> -> tile<4x4xf32> | broadcast | operand 'source' tile<2x4xf32> cannot be broadcast
%0 = permute %x [0, 0] : tile<2x4xf32> -> tile<2x2xf32> | permute | permutation (0, 0) must name each dimension
%0 = permute %x [1, 0] : tile<2x4xf32> -> tile<2x4xf32> | permute | result must be tile<4x2xf32>, is tile<2x4xf32>
%0 = cat %x, %x dim = 2 : tile<2x4xf32>, tile<2x4xf32> -> tile<4x4xf32> | cat | dim 2 does not exist in operand 'lhs'
%0 = cat %x, %x dim = 0 : tile<2x4xf32>, tile<2x4xf32> -> tile<2x8xf32> | cat | result must be tile<4x4xf32>
%0 = extract %x[%n] : tile<2x4xf32> -> tile<1x2xf32> | extract | 1 indices for operand 'source' tile<2x4xf32>
%0 = extract %x[%n, %n] : tile<2x4xf32> -> tile<4x4xf32> | extract | operand 'source' tile<2x4xf32> cannot be cut into
%0 = exti %l signed : tile<8xi64> -> tile<8xi32> | exti | result tile<8xi32> must be wider than operand 'from', tile<8xi64>
%0 = trunci %i : tile<8xi32> -> tile<8xi64> | trunci | must be narrower
%0 = ftof %f : tile<8xf32> -> tile<8xf32> | ftof | operand and result have the same type
%0 = ftof %f rounding<positive_inf> : tile<8xf32> -> tile<8xf16> | ftof | rounding must be one of nearest_even, zero, is positive_inf
%0 = bitcast %f : tile<8xf32> -> tile<8xi64> | bitcast | 32 bits cannot be read as 64
%0 = int_to_ptr %n : tile<i32> -> tile<ptr<f32>> | int_to_ptr | operand 'source' must be a tile of i64
%0 = assume div_by<3>, %i : tile<8xi32> | assume | the divisor of div_by must be a positive power of two, is 3
%0 = assume div_by<4, every 2 along 1>, %i : tile<8xi32> | assume | 'along 1' does not exist
%0 = assume div_by<4, every 16 along 0>, %i : tile<8xi32> | assume | 'every 16' must be 0 to 8
%0 = assume div_by<4>, %f : tile<8xf32> | assume | div_by needs integers, pointers or a tensor view
%0 = assume bounded<5, 4>, %i : tile<8xi32> | assume | the lower bound 5 is above the upper bound 4
%0 = assume bounded<0, 4294967296>, %i : tile<8xi32> | assume | do not fit in operand 'value'
%0 = assume bounded<0, ?>, %ps : tile<8xptr<f32>> | assume | bounded needs integers
%0 = assume same_elements<[1, 1]>, %i : tile<8xi32> | assume | same_elements has 2 sizes
%0 = mmaf %a, %a, %c : tile<16x32xf16>, tile<16x32xf16>, tile<16x16xf32> | mmaf | operand 'rhs' tile<16x32xf16> does not match 'lhs' tile<16x32xf16>: its shape must be 32xN
%0 = mmaf %a, %bt, %a : tile<16x32xf16>, tile<32x16xf16>, tile<16x32xf16> | mmaf | operand 'acc' tile<16x32xf16> must have shape 16x16
%0 = mmaf %c, %c, %ch : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf16> | mmaf | operand 'acc' has element type f16, f32 accumulates in f32
%0 = join_tokens %tok : token | join_tokens | operand 'tokens' must be at least two
%0, %1 = load_ptr_tko weak device %ps : tile<8xptr<f32>> -> tile<8xf32>, token | load_ptr_tko | attribute 'scope' is device, but a weak access has no scope
%0, %1 = load_ptr_tko relaxed %ps : tile<8xptr<f32>> -> tile<8xf32>, token | load_ptr_tko | attribute 'scope' is missing, relaxed needs one
%0, %1 = load_ptr_tko release device %ps : tile<8xptr<f32>> -> tile<8xf32>, token | load_ptr_tko | attribute 'order' must be weak or relaxed or acquire, is release
%0, %1 = load_ptr_tko weak %ps : tile<8xptr<f32>> -> tile<8xf16>, token | load_ptr_tko | 'result' has type tile<8xf16>, 'source' tile<8xptr<f32>> requires tile<8xf32>
%0, %1 = load_ptr_tko weak %ps, %b : tile<8xptr<f32>>, tile<i1> -> tile<8xf32>, token | load_ptr_tko | 'mask' has type tile<i1>
%0, %1 = load_ptr_tko weak %ps, %m, %h : tile<8xptr<f32>>, tile<8xi1>, tile<8xf16> -> tile<8xf32>, token | load_ptr_tko | operand 'padding_value' has type tile<8xf16>
%0 = store_ptr_tko weak %ps, %i : tile<8xptr<f32>>, tile<8xi32> -> token | store_ptr_tko | 'value' has type tile<8xi32>, 'destination'
%0, %1 = atomic_rmw_tko weak device %ps, addf, %f : tile<8xptr<f32>>, tile<8xf32> -> tile<8xf32>, token | atomic_rmw_tko | attribute 'order' must be relaxed
%0, %1 = atomic_rmw_tko relaxed device %ps, add, %f : tile<8xptr<f32>>, tile<8xf32> -> tile<8xf32>, token | atomic_rmw_tko | mode add needs i32 or i64
%0 = make_tensor_view %q, shape = [64], strides = [1] : tensor_view<64xf32, strides=[1]> | make_tensor_view | operand 'base' points to f16, the view's element is f32
%0 = make_tensor_view %p, shape = [%n], strides = [%w] : tile<i32> -> tensor_view<?xf32, strides=[?]> | make_tensor_view | has type tile<i64>, must have the type of 'the first of them'
%0 = make_partition_view %v : partition_view<tile=(2x4), tensor_view<?x64xf32, strides=[1,64]>> | make_partition_view | operand 'tensor_view' has type
%0 = make_partition_view %v : partition_view<tile=(8), tensor_view<?x64xf32, strides=[64,1]>> | make_partition_view | the tile has 1 dimensions, the view 2
%0 = make_partition_view %v : partition_view<tile=(2x4), tensor_view<?x64xf32, strides=[64,1]>, dim_map=[0, 0]> | make_partition_view | dim_map [0, 0] must name each dimension
%0, %1 = load_view_tko weak %pv[%n] : partition_view<tile=(2x4), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<2x4xf32>, token | load_view_tko | operand 'index' has 1 values, the view 2 dimensions
%0, %1 = load_view_tko weak %pv[%n, %w] : partition_view<tile=(2x4), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<2x4xf32>, token | load_view_tko | operand 'index' has type tile<i64>
%0, %1 = load_view_tko weak %pv[%n, %n] : partition_view<tile=(2x4), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<4x2xf32>, token | load_view_tko | 'tile' has type tile<4x2xf32>, the view's tiles are tile<2x4xf32>
for %k in (%n to %w, step %n) : tile<i32> { } | for | operand 'upper_bound' has type tile<i64>
for %k in (%n to %n, step %n) : tile<i32> iter_values(%y = %f) -> (tile<8xf32>) { continue %i : tile<8xi32> } | continue | operands: types are (tile<8xi32>), must be (tile<8xf32>)
for %k in (%n to %n, step %n) : tile<i32> { break } | break | cannot end a region of 'cuda_tile.for'
%0 = if %b -> (tile<i32>) { yield %n : tile<i32> } | if | must have an else region to yield its results
%0 = if %b -> (tile<i32>) { yield %n : tile<i32> } else { yield %w : tile<i64> } | yield | operands: types are (tile<i64>), must be (tile<i32>)
if %m { } | if | operand 'condition' must be a scalar tile of i1, is tile<8xi1>
if %b { continue } | continue | must be inside a for or loop
yield | yield | must be the last operation of its block
%0 = loop : tile<i32> { break %w : tile<i64> } | break | operands: types are (tile<i64>), must be (tile<i32>)
%0 = reduce %f dim=1 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%s: tile<f32>, %t: tile<f32>) { yield %s : tile<f32> } | reduce | dim 1 does not exist in operand tile<8xf32>
%0 = reduce %f dim=0 identities=[0.0 : f32, 1.0 : f32] : tile<8xf32> -> tile<f32> (%s: tile<f32>, %t: tile<f32>) { yield %s : tile<f32> } | reduce | 2 identities for 1 operands
%0 = reduce %f dim=0 identities=[0 : i32] : tile<8xf32> -> tile<f32> (%s: tile<f32>, %t: tile<f32>) { yield %s : tile<f32> } | reduce | identity 0 is not of the element type
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%s: tile<i32>, %t: tile<f32>) { yield %t : tile<f32> } | reduce | region arguments: types are (tile<i32>, tile<f32>)
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<8xf32> (%s: tile<f32>, %t: tile<f32>) { yield %t : tile<f32> } | reduce | results: types are (tile<8xf32>), must be (tile<f32>)
%0 = reduce %f dim=0 identities=[0.0 : f32] : tile<8xf32> -> tile<f32> (%s: tile<f32>, %t: tile<f32>) { %u, %z = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token yield %t : tile<f32> } | load_ptr_tko | must be pure
""".strip().splitlines()  # noqa: E501


def program(line):
    more = "%bt = constant <f16: 0.5> : tile<32x16xf16>  %ch = constant <f16: 0.5> : tile<16x16xf16>\n"
    return f"entry @k({PARAMETERS}) {{{SETUP}{more}  {line}\n  return\n}}\n"


@pytest.mark.parametrize("line", ACCEPTED)
def test_accepted(line):
    verify(parse(program(line)))


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_op_operand_and_place(case):
    line, name, message = (part.strip() for part in case.split(" | "))
    module = parse(program(line), "k.mlir")
    with pytest.raises(VerifyError) as caught:
        verify(module)
    assert caught.value.message.startswith(f"'cuda_tile.{name}': ")
    assert message in caught.value.message
    assert caught.value.location.line == LINE
    assert caught.value.location.column > 2


def test_entries_have_scalar_parameters_and_names_of_their_own():
    verify(parse("entry @k(%t: token) { %u = join_tokens %t, %t : token return }"))
    with pytest.raises(VerifyError, match="parameter 0 of @k must be a rank-0 tile or a token, is tile<8xi32>"):
        verify(parse("entry @k(%x: tile<8xi32>) {}"))
    with pytest.raises(VerifyError, match="symbol @k is already defined at <text>:1:1"):
        verify(parse("entry @k() {}\nentry @k() {}"))


def test_a_use_before_its_definition_is_found_in_made_modules():
    block = Block([TileType((), I32)])
    builder = Builder(block, Location("made", 4, 2))
    first = builder.add(ct.AddI, block.args[0], block.args[0])
    second = builder.add(ct.AddI, block.args[0], block.args[0])
    first.operands[1] = second.result
    builder.add(ct.Return)
    body = Block()
    body.append(ct.Entry((), (), {"sym_name": "k"}, [Region([block])]))
    with pytest.raises(VerifyError, match=r"made:4:2: error: 'cuda_tile.addi': operand 1 .* before its use"):
        verify(ct.Module((), (), {}, [Region([body])]))


def test_a_constant_has_the_elements_and_dtype_of_its_tile():
    def constant(array):
        return ct.Constant((), [TileType((4,), F32)], {"value": ct.DenseElements(array)}, (), Location("c", 1, 1))

    verify(constant(np.float32([1, 2, 3, 4])))
    with pytest.raises(VerifyError, match="attribute 'value' is float64, result is"):
        verify(constant(np.array([1.0, 2, 3, 4])))
    with pytest.raises(VerifyError, match="attribute 'value' has 2 elements, result is"):
        verify(constant(np.float32([1, 2])))

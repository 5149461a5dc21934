"""nv_tileaa as a file: what is wrong with it is said at its place."""

import re

import pytest

import tilesat
from ir.core import ParseError, TileError, VerifyError
from ir.text.level_types import level_type
from ir.text.type_text import TypeTextError
from tilesat.source import read

FUNC = '"nv_tileaa.func"() <{{sym_name = "k"}}> ({{\n{}\n}}) : () -> ()\n'
ARRAY = "!nv_tileaa.memref<?xf32, strides=[1], global>"
VIEW = f"!nv_tileaa.tiled_view<64, {ARRAY}>"
TOKEN = '%t = "nv_tileaa.create_mem_token"() : () -> !nv_tileaa.mem_token'
VIEWED = (
    TOKEN,
    '%m = "nv_tileaa.make_memref"(%p, %n) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : '
    f"(!nv_tileaa.ptr<f32>, i32) -> {ARRAY}",
    f'%w = "nv_tileaa.partition"(%m) : ({ARRAY}) -> {VIEW}',
)
LOADED = f"({VIEW}, i32, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)"
TILES = ('%i = "nv_tileaa.iota"() : () -> tensor<8xi32>', '%x = "arith.sitofp"(%i) : (tensor<8xi32>) -> tensor<8xf32>')
MAXIMUM = """({
^bb0(%a: f32, %b: f32):
%c = "arith.maxnumf"(%a, %b) : (f32, f32) -> f32
"scf.yield"(%c) : (f32) -> ()
}) : (tensor<8xf32>) -> f32"""


def func(*lines: str) -> str:
    """A kernel of a pointer and an integer with these operations and a return."""
    entry, end = "^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32):", '"nv_tileaa.return"() : () -> ()'
    return FUNC.format("\n".join([entry, *lines, end]))


def said(text: str, kind: type[TileError]) -> str:
    with pytest.raises(kind) as error:
        read(text, {})
    return f"{error.value.location}: {error.value.message} ({error.value.hint})"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*VIEWED, f'%v:2 = "nv_tileaa.tiled_load"(%w, %n, %t) <{{order = "strong"}}> : {LOADED}'],
         "6:8: 'nv_tileaa.tiled_load': attribute 'order' must be one of weak, relaxed, acquire, release, acq_rel"),
        ([*VIEWED, f'%v:2 = "nv_tileaa.tiled_load"(%w, %n, %t) <{{hints = {{sm_80 = 3}}}}> : {LOADED}'],
         "attribute 'hints' must be a dictionary of hints for each architecture"),
        ([*VIEWED, f'%v:2 = "nv_tileaa.tiled_load"(%w, %n, %t) <{{hints = "fast"}}> : {LOADED}'],
         "attribute 'hints' must be a dictionary of hints for each architecture"),
        (['%a = "nv_tileaa.assume"(%n) <{predicate = #cuda_tile.div_by<x>}> : (i32) -> i32'],
         "cannot read '#cuda_tile.div_by<x>': expected a divisor, or one with 'every' and 'along'"),
        (['%a = "nv_tileaa.assume"(%n) <{predicate = #cuda_tile.bounded<0>}> : (i32) -> i32'], "expected two bounds"),
        (['%a = "nv_tileaa.assume"(%n) <{predicate = #cuda_tile.bounded<0, 99999999999999999999>}> : (i32) -> i32'],
         "99999999999999999999 does not fit in 64 bits"),
        (['%a = "nv_tileaa.assume"(%n) <{predicate = #cuda_tile.same_elements<4>}> : (i32) -> i32'],
         "expected a list of sizes"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(lines: list[str], message: str) -> None:
    assert message in said(func(*lines), ParseError)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*VIEWED, f'%v:2 = "nv_tileaa.tiled_load"(%w, %n, %t) <{{inbounds = ["x"]}}> : {LOADED}'],
         "attribute 'inbounds' must be of true and false"),
        ([*VIEWED, f'%v:2 = "nv_tileaa.tiled_load"(%w, %n, %t) : {LOADED.replace("64xf32", "32xf32")}'],
         "the tile is tensor<32xf32>, the view's is"),
        (['%q = "nv_tileaa.addptr"(%p, %n) <{element_bytes = 8}> : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.ptr<f32>'],
         "3:6: 'nv_tileaa.addptr': element_bytes must be 4 for !nv_tileaa.ptr<f32>"),
        (['"nv_tileaa.return"() : () -> ()', '"scf.if"(%n) ({\n}, {\n}) : (i32) -> ()'],
         "'scf.if': a region must have one block, which ends in a terminator"),
        ([*TILES, '%d = "nv_tileaa.dot"(%x, %x, %x) <{signed = [true, 1]}> : '
          "(tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>"], "does not add to"),
        ([*TILES, f'%r = "nv_tileaa.reduce"(%x) <{{dim = 0, identities = ["x"]}}> {MAXIMUM}'],
         "identity 'x' is not a number of f32"),
        ([*TILES, f'%r = "nv_tileaa.reduce"(%x) <{{dim = 0, identities = [0]}}> {MAXIMUM}'],
         "identity 0 is not a number of f32"),
        ([*TILES, f'%r = "nv_tileaa.reduce"(%x) <{{dim = 0, identities = []}}> {MAXIMUM}'],
         "needs 1 identities, has 0"),
        ([*TILES, '%r = "nv_tileaa.permute"(%x) <{permutation = ["0"]}> : (tensor<8xf32>) -> tensor<8xf32>'],
         "permuted by ('0',) is not"),
        (['%g = "nv_tileaa.get_program_id"() <{axis = 3}> : () -> i32'], "'axis' must be one of 0, 1, 2, is 3"),
    ],
)  # fmt: skip
def test_what_the_level_does_not_allow(lines: list[str], message: str) -> None:
    assert message in said(func(*lines), VerifyError)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FUNC.format('"nv_tileaa.create_mem_token"() : () -> !nv_tileaa.mem_token'), "must end in nv_tileaa.return"),
        (FUNC.format('^bb0(%a: tensor<8xf32>):\n"nv_tileaa.return"() : () -> ()'),
         "a parameter must be an integer, a float, a pointer or a memory token, is tensor<8xf32>"),
        (func().replace("sym_name", 'names = ["p"], sym_name'), "'names' must be a string for each of 2 parameters"),
        (func().replace("sym_name", "names = [1, 2], sym_name"), "'names' must be a string for each of 2 parameters"),
    ],
)  # fmt: skip
def test_what_is_not_a_kernel(text: str, message: str) -> None:
    assert message in said(text, VerifyError)


def test_integers_of_a_product_are_read_as_signed_or_not() -> None:
    zero = '%z = "nv_tileaa.constant_tensor"() <{value = dense<KIND> : tensor<8x8xTYPE>}> : () -> tensor<8x8xTYPE>'
    kind = "tensor<8x8xTYPE>"
    dot = f'%d = "nv_tileaa.dot"(%z, %z, %z) <{{GIVEN}}> : ({kind}, {kind}, {kind}) -> {kind}'
    for given, type_, number, message in (
        ("signed = [true]", "i32", "0", "'signed' must be two of true and false, is (True,)"),
        ("signed = [true, false]", "f32", "0.0", "'signed' applies to integers, the sum is tensor<8x8xf32>"),
        ("fast_acc = true", "i32", "0", "'fast_acc' applies to floats, the sum is tensor<8x8xi32>"),
    ):
        lines = [line.replace("TYPE", type_).replace("KIND", number).replace("GIVEN", given) for line in (zero, dot)]
        assert message in said(func(*lines), VerifyError)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*TILES, '%c = "arith.cmpf"(%x, %x) <{predicate = 7 : i64}> : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>'],
         "5:6: 'arith.cmpf' with predicate = 'ord' is not an operation of nv_tileaa"),
        (['%c = "llvm.add"(%n, %n) <{overflowFlags = #llvm.overflow<nsw>}> : (i32, i32) -> i32'],
         "'llvm.add' with nsw = True is not an operation of nv_tileaa (nv_tileaa has exactly the operations"),
        (['%c = "arith.index_cast"(%n) : (i32) -> !llvm.ptr<1>'], "is not an operation of nv_tileaa"),
        ([*TILES, '%c = "arith.extf"(%x) : (tensor<8xf32>) -> vector<8xf64>'],
         "'arith.extf': vector<8xf64> is not a type of nv_tileaa (its types are integers, floats, !nv_tileaa.ptr"),
        (['%c = "arith.constant"() <{value = 1}> : () -> tensor<8xi32>'],
         "'arith.constant': must be a scalar, is tensor<8xi32>: use constant_tensor for tensors"),
        (['%c = "arith.constant"() <{value = 300}> : () -> i8'], "'arith.constant': 300 does not fit i8"),
        (['%a = "nv_tileaa.get_global"() <{symbol = "x", type = tensor<2xi32>, value = dense<1> : tensor<2xi32>}> : () '
          "-> !nv_tileaa.ptr<i32>",
          '%b = "nv_tileaa.get_global"() <{symbol = "x", type = tensor<2xi32>, value = dense<2> : tensor<2xi32>}> : () '
          "-> !nv_tileaa.ptr<i32>"], "4:6: 'nv_tileaa.get_global': @x differs from the array at <text>:3:6"),
        ([*TILES, '%s = "arith.addi"(%i, %n) : (tensor<8xi32>, i32) -> tensor<8xi32>'], "operands differ"),
        ([*TILES, '%s = "nv_tileaa.view"(%x) : (tensor<8xf32>) -> tensor<16xf32>'],
         "'cuda_tile.reshape': operand 'source' tile<8xf32> cannot be reshaped to tile<16xf32>: 8 elements are not 16 "
         "(operations of nv_tileaa are verified as those of Tile IR that they mean)"),
        (['%s = "nv_tileaa.constant_tensor"() <{value = dense<1> : tensor<3xi32>}> : () -> tensor<3xi32>'],
         "dimension 3 is not a positive power of two"),
    ],
)  # fmt: skip
def test_what_tile_ir_cannot_say(lines: list[str], message: str) -> None:
    assert message in said(func(*lines), TileError)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("!nv_tileaa.mem_token<3>", "it has no parameters"),
        ("!nv_tileaa.ptr<f33>", "'f33' is not one of i1"),
        ("!nv_tileaa.ptr<f32, 3 4>", "expected an element type"),
        ("!nv_tileaa.memref<4xf32>", "expected sizes, an element type, strides and global"),
        ("!nv_tileaa.memref<4xf32, strides=[1, 2], global>", "1 sizes and 2 strides"),
        ("!nv_tileaa.tiled_view<4, f32>", "expected the sizes of a tile and a memref"),
        (f"!nv_tileaa.tiled_view<4, {ARRAY}, padding=ones>", "'ones' is not one of zero, neg_zero, nan"),
        (f"!nv_tileaa.tiled_view<4, {ARRAY}, dim_map=[?]>", "invalid literal"),
    ],
)
def test_types_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(TypeTextError, match=re.escape(message)):
        level_type(text)


def test_the_first_token_becomes_one_where_more_than_accesses_ask_for_it() -> None:
    kind = "!nv_tileaa.mem_token"
    joined = f'%j = "nv_tileaa.join_mem_tokens"(%t, %t) : ({kind}, {kind}) -> {kind}'
    (module,) = read(func(TOKEN.replace("()", "() <{start = true}>", 1), joined), {})
    assert [op.name for op in module.entries[0].body.block.ops] == [
        "cuda_tile.make_token", "cuda_tile.join_tokens", "cuda_tile.return",
    ]  # fmt: skip


def test_questions_about_the_grid_are_asked_once() -> None:
    asked = [f'%g{axis} = "nv_tileaa.get_program_id"() <{{axis = {axis}}}> : () -> i32' for axis in (0, 2, 1)]
    (module,) = read(func(*asked, asked[0].replace("%g0", "%h")), {})
    names = [op.name for op in module.entries[0].body.block.ops]
    assert names == ["cuda_tile.get_tile_block_id"] * 2 + ["cuda_tile.return"]


def test_lower_says_who_takes_it() -> None:
    with pytest.raises(ParseError, match=r"not a kernel of nv_tileas, nvgpu, nvvm") as error:
        tilesat.lower(func())
    assert error.value.hint == "tilesat.compile takes Tile IR and nv_tileaa"

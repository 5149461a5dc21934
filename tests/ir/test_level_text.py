"""The reader of levels: every message, with its place; attributes and types that only a text can hold."""

import re

import pytest

from ir.core import Op, ParseError, VerifyError, verify
from ir.dialects import gpu, llvm, nv_tileas, nvgpu, nvvm, scf, vector  # noqa: F401  (operations that texts name)
from ir.dialects.gpu import GlobalArray
from ir.dialects.nv_tileas_types import BufferType, ChannelType, PipelineType, TensorMemoryType
from ir.text import print_generic
from ir.text.level_input import read_level
from ir.text.level_types import level_attribute, level_type
from ir.text.type_text import TypeTextError
from ir.types import F16, F32, I32, PartitionViewType, TensorType, VectorType
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout

FUNC = '"llvm.func"() <{{block = array<i64: 32, 1, 1>, sym_name = "f", target = "sm_80"}}> ({{\n{}\n}}) : () -> ()\n'


def func(*lines: str) -> str:
    """A kernel of the nvvm level with these operations and a return."""
    return FUNC.format("\n".join(["^bb0(%a: i32, %p: !llvm.ptr<1>):", *lines, '"llvm.return"() : () -> ()']))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (func('"llvm.addd"(%a, %a) : (i32, i32) -> i32'), "3:1: 'llvm.addd' is not an operation (did you"),
        (func("llvm.add"), "3:1: expected a string for the name of an operation, found 'llvm.add'"),
        (func('%0 = "llvm.add"(%a, %b) : (i32, i32) -> i32'), "3:21: %b is not defined here"),
        (func('%0 = "llvm.add"(%a, a) : (i32, i32) -> i32'), "3:21: expected an operand, found 'a'"),
        (func('%0 = "llvm.add"(%a, %a) : (i32) -> i32'), "3:6: 2 operands, but 1 types"),
        (func('%0 = "llvm.add"(%a, %a) : (i32, i64) -> i32'), "3:6: operand 1 has type i32, written as i64"),
        (func('%0 = "llvm.add"(%a) : (i32) -> i32'), "3:6: 'llvm.add' has 2 operands, got 1"),
        (func('%a = "llvm.add"(%a, %a) : (i32, i32) -> i32'), "3:6: %a is defined twice"),
        (func('%0:2 = "llvm.add"(%a, %a) : (i32, i32) -> i32'), "'llvm.add' has 1 results, but another number"),
        (func('%0, a = "llvm.add"(%a, %a) : (i32, i32) -> i32'), "3:5: expected the name of a result, found 'a'"),
        (func('%0 = "llvm.add"(%a, %a) <{nuw = true}> : (i32, i32) -> i32'), "'llvm.add' has no attribute nuw"),
        (func('%0 = "llvm.fneg"(%a) <{ftz = 1}> : (i32) -> i32'), "attribute 'ftz' must be true or false"),
        (func('%0 = "llvm.mlir.addressof"() <{global_name = 3}> : () -> !llvm.ptr<3>'), "must be a string"),
        (func('"nvvm.barrier"() <{barrierId = "x", numberOfThreads = 3}> : () -> ()'), "must be an integer"),
        (func('"nvvm.cp.async.wait.group"() <{n = 3.0 : f64}> : () -> ()'), "must be an integer"),
        (func('%0 = "llvm.mlir.constant"() <{value = "x"}> : () -> i32'), "must be a number"),
        (func('%0 = "llvm.mlir.constant"() <{value = 1 : !llvm.ptr}> : () -> i32'), "cannot have type !llvm.ptr"),
        (func('%0 = "llvm.mlir.constant"() <{value = 0x1FFFFFFFF : f32}> : () -> f32'), "more than the 32 bits of f32"),
        (func('%0 = "llvm.mlir.constant"() <{value = 1.0 : f32, value = 2.0 : f32}> : () -> f32'), "is written twice"),
        (func('%0 = "llvm.mlir.constant"() <{value = dense<[1.0, 2.0]> : i32}> : () -> f32'), "a literal has a tensor"),
        (func('%0 = "llvm.mlir.constant"() <{value = dense 1.0}> : () -> f32'), "expected '<' after dense"),
        (func('%0 = "nv_tileas.constant"() <{value = dense<[1, 2]> : tensor<4xi32>}> : () -> tensor<4xi32>'),
         "the literal does not have the elements of tensor<4xi32>"),
        (func('"llvm.br"()[bb1] : () -> ()'), "expected the label of a block, found 'bb1'"),
        (func('"llvm.br"()[^bb7] : () -> ()'), "the region has no block ^bb7"),
        (func("^bb0:"), "block ^bb0 is defined twice"),
        (func('%0 = "nvvm.ld"(%p) : (!llvm.ptr<1>) -> i32'), "'nvvm.ld' needs operandSegmentSizes"),
        (func('%0 = "nvvm.ld"(%p) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!llvm.ptr<1>) -> i32'),
         "operandSegmentSizes does not match the 1 operands of 'nvvm.ld'"),
        (func('%0 = "nvvm.ld"(%p) <{operandSegmentSizes = ["x", 0, 0]}> : (!llvm.ptr<1>) -> i32'),
         "operandSegmentSizes does not match the 1 operands of 'nvvm.ld'"),
        (func('%0 = "llvm.add"(%a, %a) : (i32, i32) -> i33'), "'i33' is not a type"),
        (func('%0 = "llvm.add"(%a, %a) : (i32, i32) -> vector<2x!llvm.ptr>'), "is not a type (vectors are of integers"),
        (func('%0 = "llvm.add"(%a, %a) : (i32, i32) -> !nv_tileas.pipeline<x>'), "cannot read '!nv_tileas.pipeline<x"),
        (func('"scf.yield"() ({}) : () -> ()'), "'scf.yield' has 0 regions, got 1"),
        (func('"scf.if"(%a) ({}) : (i32) -> ()'), "'scf.if' has 2 regions, got 1"),
        (func()[: -len(" : () -> ()\n")], "expected ':' before the types of the operation"),
        (func()[: -len("}) : () -> ()\n")], "unclosed '{'"),
        (func() + "x", "expected the end of the text, found 'x'"),
        (func('"nvvm.barrier"() <{barrierId = [' + "[" * 80 + "}> : () -> ()"), "attributes are nested deeper than 64"),
        (func('"scf.if"(%a) ({' * 70), "regions are nested deeper than 64"),
        (func('"nvvm.barrier"() <{barrierId = #x.y<3>}> : () -> ()'), "attribute 'barrierId' must be an integer"),
        (func('"nvvm.mma.sync"() <{shape = array<f32: 1.0>}> : () -> ()'), "arrays are of integers"),
    ],
)  # fmt: skip
def test_message(text: str, message: str) -> None:
    with pytest.raises(ParseError) as error:
        read_level(text, "k")
    said = f"{error.value.location}: {error.value.message} ({error.value.hint}"
    assert message in said, said


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"llvm.br"(%a)[^bb0] : (i32) -> ()\n^bb1:', "its block expects ['i32', '!llvm.ptr<1>'], got ['i32']"),
        ('"llvm.br"() : () -> ()\n^bb1:', "attribute 'successors' is missing"),
        (
            '%c = "llvm.mlir.constant"() <{value = true}> : () -> i1\n"scf.if"(%c) ({\n}, {\n}) : (i1) -> ()',
            "'scf.if': a region must have one block, which ends in a terminator",
        ),
        (
            '"scf.while"() ({\n^bb9:\n}) : () -> ()',
            "'scf.while': a region must have one block, which ends in a terminator",
        ),
        ('"llvm.return"() : () -> ()', "each block must end in its only branch"),
        ('%0 = "llvm.mlir.constant"() : () -> i32', "attribute 'value' is missing"),
        ('%0 = "llvm.icmp"(%a, %a) <{predicate = 0}> : (i32, i32) -> i32', "result 'result' must be"),
    ],
)
def test_verifier_message(line: str, message: str) -> None:
    with pytest.raises(VerifyError, match=re.escape(message)):
        verify(read_level(func(line), "k"))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("[{}]", "has 2 parameters, params 1 records"),
        ('[{kind = "pointer"}, {kind = "pointer"}]', 'params: record 0 must have kind = "scalar"'),
        ('["x", "y"]', 'params: record 0 must have kind = "scalar"'),
        ('[{kind = "scalar", arg = "x", dtype = "i32"}, {kind = "pointer"}]', "params: record 0 needs arg, a number"),
        (
            '[{kind = "scalar", arg = 0, dtype = "i32"}, {kind = "pointer", arg = 1, dtype = "i33"}]',
            "record 1 needs arg",
        ),
    ],
)
def test_records_of_parameters(params: str, message: str) -> None:
    text = func().replace("sym_name", f"params = {params}, sym_name")
    with pytest.raises(VerifyError, match=re.escape(message)):
        verify(read_level(text, "k"))


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (VectorType((2, 2), F16), "vector<2x2xf16>"),
        (TensorType((8, 4), F32), "tensor<8x4xf32>"),
        (PipelineType(3), "!nv_tileas.pipeline<3>"),
        (ChannelType(I32), "!nv_tileas.channel<i32>"),
        (BufferType(2, (4, 2), F16, SharedLayout((1, 2, 4), 3, 2)),
         "!nv_tileas.smem<2x4x2xf16, #nv_tileas.shared<offset = [1, 2, 4], bytes = 2>>"),
        (TensorMemoryType((128, 64), F16, apart=True), "!nv_tileas.tmem<128x64xf16, apart>"),
        (TensorType((64,), F32, Layout((32,), (1, 2, 4, 8, 16), (), 6)),
         "tensor<64xf32, #nv_tileas.linear<reg = [32], lane = [1, 2, 4, 8, 16], warp = [], size = 64>>"),
    ],
)  # fmt: skip
def test_types_are_spelled_and_read(type_: object, text: str) -> None:
    assert level_type(text) == type_
    assert level_type(text).mlir() == text


def test_types_of_cuda_tile_carry_their_dialect() -> None:
    text = "!cuda_tile.partition_view<tile=(8x4), padding_value = zero, tensor_view<?x?xf16, strides=[?,1]>>"
    found = level_type(text)
    assert isinstance(found, PartitionViewType)
    assert found.mlir() == text


@pytest.mark.parametrize(
    "text",
    [
        "#nv_tileas.linear<reg = [64], lane = [1, 2, 4, 8, 16], warp = [], size = 64>",  # a base outside of the tile
        "#nv_tileas.linear<reg = [32], lane = [1], warp = [], size = 64>",
        "#nv_tileas.linear<reg = [32]>",
        "#nv_tileas.linear<reg = [x], lane = [1, 2, 4, 8, 16], warp = [], size = 64>",
        "#nv_tileas.linear<reg = [32], lane = [1, 2, 4, 8, 16], warp = [], size = 63>",
        "#nv_tileas.shared<bytes = 2>",
        "#nv_tileas.array<x, 3>",
    ],
)
def test_attributes_that_cannot_be_read(text: str) -> None:
    with pytest.raises(TypeTextError, match="cannot read"):
        level_attribute(text)


def test_an_array_keeps_its_bytes() -> None:
    array = GlobalArray("text_0", 16, b"\x00\xffab")
    assert level_attribute(array.mlir()) == array


def test_forward_branches_nested_regions_and_numbers() -> None:
    text = func(
        '%0 = "llvm.mlir.constant"() <{value = -7 : i32}> : () -> i32',
        '%1 = "llvm.mlir.constant"() <{value = true}> : () -> i1',
        '%2 = "llvm.mlir.constant"() <{value = 0x7F800001 : f32}> : () -> f32',
        '%3 = "llvm.mlir.constant"() <{value = 1.500000e+00 : bf16}> : () -> bf16',
        '%4 = "llvm.mlir.constant"() <{value = dense<0x7E01> : vector<2xf16>}> : () -> vector<2xf16>',
        '%5 = "llvm.mlir.constant"() <{value = 0x3F801 : tf32}> : () -> tf32',
        '"llvm.cond_br"(%1, %0)[^bb2, ^bb1] <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i1, i32) -> ()',
        "^bb1:",
        '"llvm.return"() : () -> ()',
        "^bb2(%arg2: i32):",
    )
    kernel = read_level(text.replace("%a", "%arg0").replace("%arg0rg2", "%arg2").replace("%p", "%arg1"))
    verify(kernel)
    again: Op = read_level(print_generic(kernel))
    assert print_generic(again) == print_generic(kernel)
    assert "value = 0x7F800001 : f32" in print_generic(kernel)

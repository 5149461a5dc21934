"""Types of tensor maps and matrix descriptors: what they say is checked where a copy or a product uses them."""

from __future__ import annotations

import re

import pytest

from ir.core import TileError, verify
from ir.descriptors import MatrixDescriptorType, TensorMapDescriptor, Tile
from ir.text.level_input import read_level
from ir.text.level_types import level_type
from ir.text.type_text import TypeTextError
from ir.types import F16
from lowering.passes import code as code  # declares what texts hold
from tests.tilesat.example_cases import EXAMPLES
from tilesat import compile, lower

MAP = """!nvgpu.tensormap.descriptor<tensor = memref<{box}, 3>, swizzle = {swizzle}, l2promo = l2promo_128b, \
oob = {oob}, interleave = {interleave}>"""
RECORD = """{{kind = "tensormap", dtype = "{dtype}", box = {extents}, swizzle = "{span}", l2_promotion = "128B", \
oob_fill = "{oob}", interleave = "{apart}", \
global_strides = [{{mul = [{{const = {stride} : i64}}, {{const = 2 : i64}}]}}]}}"""
GOOD = {
    "box": "64x64xf16", "swizzle": "swizzle_128b", "oob": "zero", "interleave": "none", "dtype": "f16",
    "extents": "array<i64: 64, 64>", "span": "128B", "apart": "none", "stride": "512", "at": "1024", "bytes": "8192",
    "places": "%i, %i", "types": "i32, i32", "count": "2",
}  # fmt: skip


def kernel(**changes: str) -> str:
    """One thread announces the bytes of one box and copies it."""
    said = GOOD | changes
    kind = MAP.format(**said)
    return f""""gpu.func"() <{{block = array<i64: 128, 1, 1>, sym_name = "f", target = "sm_90a", params = [
  {{kind = "scalar", arg = 0 : i64, dtype = "i32"}}, {RECORD.format(**said)}]}}> ({{
^bb0(%i: i32, %map: {kind}):
  %base = "tilesat.gpu.dynamic_shared_memory"() : () -> !llvm.ptr<3>
  %box = "tilesat.llvm.getelementptr"(%base) <{{offset = {said["at"]} : i64, operandSegmentSizes = array<i32: 1, 0>}}> \
: (!llvm.ptr<3>) -> !llvm.ptr<3>
  "tilesat.nvvm.mbarrier.arrive.expect_tx.shared"(%base) <{{txcount = {said["bytes"]} : i64}}> : (!llvm.ptr<3>) -> ()
  "tilesat.nvvm.cp.async.bulk.tensor.shared.cluster.global"(%box, %map, {said["places"]}, %base) \
<{{operandSegmentSizes = array<i32: 1, 1, {said["count"]}, 1, 0, 0>}}> : (!llvm.ptr<3>, {kind}, {said["types"]}, \
!llvm.ptr<3>) -> ()
  "gpu.return"() : () -> ()
}}) : () -> ()
"""


def test_a_copy_of_a_typed_map() -> None:
    verify(read_level(kernel()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"places": "%i", "types": "i32", "count": "1"}, "has 1 coordinates, the boxes of its map 2 dimensions"),
        ({"box": "512x64xf16"}, "a box has 1 to 256 elements per dimension, its map 512"),
        ({"box": "64x4xf16"}, "rows of a box are multiples of 16 bytes, its map's have 8"),
        ({"swizzle": "swizzle_64b"}, "a swizzle of 64B spans rows of at most 64 bytes, its map's have 128"),
        ({"interleave": "interleave_16b"}, "interleaved maps have at least 3 dimensions, its map 2"),
        ({"interleave": "interleave_32b", "box": "8x64x64xf16", "places": "%i, %i, %i", "types": "i32, i32, i32",
          "count": "3"}, "an interleave of 32B takes a swizzle of 32B, its map's is 128B"),
        ({"box": "64x64xi16", "oob": "nan"}, "only floats out of bounds can be NaN, the elements of its map are i16"),
        ({"at": "1088"}, "its box in shared memory must be aligned to 128 bytes, is to 64"),
        ({"bytes": "4096"}, "announces 4096 bytes, the boxes of its tensor copies have 8192"),
        ({"stride": "20"}, "dimension 1 of its array has a stride of 40 bytes; it must be a multiple of 16"),
        ({"extents": "array<i64: 64, 32>"}, "its map is !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>"),
        ({"span": "16B"}, "the record of a tensor map must have swizzle, one of none, 32B, 64B, 128B"),
        ({"dtype": "f99"}, "the record of a tensor map must have dtype, one of"),
        ({"extents": '"64"'}, "the record of a tensor map must have box, the extents of its boxes"),
    ],
)  # fmt: skip
def test_refused_where_it_is_used(changes: dict[str, str], message: str) -> None:
    with pytest.raises(TileError, match=re.escape(message)) as caught:
        verify(read_level(kernel(**changes)))
    assert caught.value.location.line > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MAP.format(**GOOD | {"swizzle": "swizzle_96b"}), "swizzle_96b is not one of none, swizzle_32b, swizzle_64b"),
        (MAP.format(**GOOD | {"oob": "one"}), "one is not one of zero, nan"),
        (MAP.format(**GOOD).replace(", interleave = none", ""), "it has tensor, swizzle, l2promo, oob, interleave"),
        (MAP.format(**GOOD).replace(", 3>", ">"), "is not a memref in shared memory"),
        ("!nvgpu.warpgroup.descriptor<tensor = memref<xf16, 3>>", "is not a type"),
    ],
)
def test_types_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(TypeTextError, match=re.escape(message)):
        level_type(text)


def test_types_read_back() -> None:
    types = [
        TensorMapDescriptor(Tile((2, 64, 32), F16), "64B", "256B", "nan", "none"),
        TensorMapDescriptor(Tile((8, 8, 16), F16), "32B", "none", "zero", "32B"),
        MatrixDescriptorType(Tile((64, 16), F16)),
    ]
    for kind in types:
        assert level_type(kind.mlir()) == kind


def test_a_product_reads_what_its_descriptors_describe() -> None:
    text = compile(EXAMPLES / "gemm.mlir", "sm_90a").stages["nvgpu"]
    tile = "!nvgpu.warpgroup.descriptor<tensor = memref<128x16xf16, 3>>"
    assert text.count(tile) > 4
    with pytest.raises(TileError, match=r"b must describe memref<128x16xf16, 3>, describes memref<128x8xf16, 3>"):
        lower(text.replace(tile, tile.replace("x16x", "x8x")))


GROUP = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = {}>"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("number = 5 :", "number = 6 :", "barrier 6 does not exist: the group has 6"),
        ("offset = 196608 :", "offset = 196612 :", "offset must be a multiple of 8, is 196612"),
        ("num_barriers = 1>", "num_barriers = 2>", "result 'result' must be an mbarrier, is !nvgpu.mbarrier.group"),
    ],
)
def test_groups_of_barriers(old: str, new: str, message: str) -> None:
    text = compile(EXAMPLES / "gemm.mlir", "sm_90a").stages["nvgpu"]
    assert text.count(GROUP.format(6)) > 4
    assert old in text
    with pytest.raises(TileError, match=re.escape(message)):
        lower(text.replace(old, new))


def test_what_is_in_shared_memory_is_not_a_parameter() -> None:
    with pytest.raises(TileError, match=re.escape("a parameter cannot be !nvgpu.mbarrier.group")):
        verify(read_level(kernel().replace("^bb0(", f"^bb0(%g: {GROUP.format(2)}, ")))


def test_a_barrier_is_no_place_for_a_box() -> None:
    """Nor is any number a group."""
    text = compile(EXAMPLES / "gemm.mlir", "sm_90a").stages["nvgpu"]
    copy = re.search(r'cluster.global"\((%\w+), %arg11, %\w+, %\w+, (%\w+)\) .*?: \((!llvm.ptr<3>)', text)
    assert copy is not None
    place, barrier = copy[1], copy[2]
    changed = copy[0].replace(f"({place},", f"({barrier},").replace("(!llvm.ptr<3>", f"({GROUP.format(1)}")
    message = re.escape("operand 'dstMem' must be a pointer to shared memory, is !nvgpu.mbarrier.group")
    with pytest.raises(TileError, match=message):
        lower(text.replace(copy[0], changed))
    with pytest.raises(TileError, match="mbarriers are in shared memory"):
        lower(text.replace("#gpu.address_space<workgroup>", "#gpu.address_space<global>"))


def test_a_map_that_is_not_there() -> None:
    text = compile(EXAMPLES / "gemm.mlir", "sm_90a").stages["nv_tileas"]
    with pytest.raises(TileError, match="there is no tensor map 7"):
        lower(text.replace("tensormap = 1 :", "tensormap = 7 :"))
    with pytest.raises(TileError, match="the record of a tensor map must have oob_fill, one of zero, nan"):
        lower(text.replace('oob_fill = "zero"', 'oob_fill = "one"', 1))

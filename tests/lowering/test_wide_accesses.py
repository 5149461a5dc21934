"""Global accesses of 32 bytes a thread, where the target has them and somebody promises that much alignment."""

from __future__ import annotations

import numpy as np
import pytest

import tilesat
from lowering.targets import ALL_TARGETS
from runtime.ptxas import assemble, disassemble
from tests.programs.program import DTYPES, Program, check, random
from tilesat import TileError

VIEW = """
cuda_tile.module @m {{ entry @double(%x0: tile<ptr<{element}>>, %y0: tile<ptr<{element}>>, %n0: tile<i32>) {{
  %start = make_token : token
  %x = assume div_by<{aligned}>, %x0 : tile<ptr<{element}>>
  %y = assume div_by<{aligned}>, %y0 : tile<ptr<{element}>>
  %n = assume div_by<{whole}>, %n0 : tile<i32>
  %v = make_tensor_view %x, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?x{element}, strides=[1]>
  %w = make_tensor_view %y, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?x{element}, strides=[1]>
  %pv = make_partition_view %v : partition_view<tile=(8192), tensor_view<?x{element}, strides=[1]>>
  %pw = make_partition_view %w : partition_view<tile=(8192), tensor_view<?x{element}, strides=[1]>>
  %b:3 = get_tile_block_id : tile<i32>
  %a, %t = load_view_tko weak %pv[%b#0]
    : partition_view<tile=(8192), tensor_view<?x{element}, strides=[1]>>, tile<i32> -> tile<8192x{element}>, token
  %s = {operation} %a, %a : tile<8192x{element}>
  %done = store_view_tko weak %s, %pw[%b#0]
    : tile<8192x{element}>, partition_view<tile=(8192), tensor_view<?x{element}, strides=[1]>>, tile<i32> -> token
  return
}} }}"""
POINTERS = """
cuda_tile.module @m { entry @double(%x0: tile<ptr<f32>>, %y0: tile<ptr<f32>>, %n0: tile<i32>) {
  %start = make_token : token
  %x = assume div_by<32>, %x0 : tile<ptr<f32>>
  %y = assume div_by<32>, %y0 : tile<ptr<f32>>
  %n = assume div_by<8>, %n0 : tile<i32>
  %at = iota : tile<4096xi32>
  %end = reshape %n : tile<i32> -> tile<1xi32>
  %ends = broadcast %end : tile<1xi32> -> tile<4096xi32>
  %inside = cmpi less_than %at, %ends, signed : tile<4096xi32> -> tile<4096xi1>
  %p = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
  %pp = broadcast %p : tile<1xptr<f32>> -> tile<4096xptr<f32>>
  %from = offset %pp, %at : tile<4096xptr<f32>>, tile<4096xi32> -> tile<4096xptr<f32>>
  %minus = constant <f32: -1.0> : tile<4096xf32>
  %a, %t = load_ptr_tko weak %from, %inside, %minus token = %start
    : tile<4096xptr<f32>>, tile<4096xi1>, tile<4096xf32> -> tile<4096xf32>, token
  %s = addf %a, %a : tile<4096xf32>
  %q = reshape %y : tile<ptr<f32>> -> tile<1xptr<f32>>
  %qq = broadcast %q : tile<1xptr<f32>> -> tile<4096xptr<f32>>
  %to = offset %qq, %at : tile<4096xptr<f32>>, tile<4096xi32> -> tile<4096xptr<f32>>
  %done = store_ptr_tko weak %to, %s, %inside token = %start
    : tile<4096xptr<f32>>, tile<4096xf32>, tile<4096xi1> -> token
  return
} }"""
HAVING = [name for name, target in ALL_TARGETS.items() if name.startswith(("sm_10", "sm_11", "sm_12"))]


def program(element: str = "f32", aligned: int = 32, whole: int = 32) -> Program:
    operation = "addf" if element[0] in "fb" else "addi"
    text = VIEW.format(element=element, aligned=aligned, whole=whole, operation=operation)
    size = 2 * 8192 + 96  # the last tile ends in the middle

    def arguments() -> list[object]:
        return [random((size,), element), np.full(size + 64, 7).astype(DTYPES[element]), size]

    return Program(element, lambda: text, arguments, (3,))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("element", ["i8", "f16", "bf16", "f32", "i64", "f64"])
def test_elements_of_every_size(element: str) -> None:
    kernel = check(program(element), "sm_100a")
    vector = "v4.b64" if element.endswith("64") else "v8.b32"
    assert f"ld.global.nc.{vector}" in kernel.ptx
    assert f"st.global.{vector}" in kernel.ptx


@pytest.mark.parametrize("target", ["sm_103", "sm_110", "sm_120a"])
def test_other_targets_that_have_them(target: str) -> None:
    assert "ld.global.nc.v8.b32" in check(program(), target).ptx


def test_the_hardware_has_them() -> None:
    sass = disassemble(assemble(tilesat.compile(program().source(), "sm_100a").ptx, "sm_100a"))
    assert "LDG.E.ENL2.256" in sass
    assert "STG.E.ENL2.256" in sass


def test_masked_accesses_through_pointers() -> None:
    def arguments() -> list[object]:
        return [random((4096,)), np.full(4096, 7, np.float32), 4096 - 40]

    kernel = check(Program("pointers", lambda: POINTERS, arguments), "sm_100a")
    assert "ld.global.nc.v8.b32" in kernel.ptx
    assert "st.global.v8.b32" in kernel.ptx


@pytest.mark.parametrize(("aligned", "whole"), [(16, 32), (32, 4)])
def test_less_alignment_or_a_ragged_end_is_not_enough(aligned: int, whole: int) -> None:
    kernel = check(program(aligned=aligned, whole=whole), "sm_100a")
    assert ".v8" not in kernel.ptx
    assert ".v4.b32" in kernel.ptx


def test_they_cost_less_and_can_be_forbidden() -> None:
    source = program().source()
    made, old = tilesat.compile(source, "sm_100a"), tilesat.compile(source, "sm_90a")
    assert ".v8" not in old.ptx
    without = tilesat.compile(source, "sm_100a", forbid=["ld.global.v8", "st.global.v8"])
    assert ".v8" not in without.ptx
    assert made.cost < without.cost
    report = made.compiled.explain()
    assert "ld.global of 32 bytes" in report
    assert "st.global of 32 bytes" in report
    assert ".v8" not in tilesat.compile(source, "sm_100a", forbid=["ld.global.v8"]).ptx, "one layout serves both"


def test_one_egraph_serves_targets_with_and_without() -> None:
    found = tilesat.compile_for(program().source(), ["sm_90a", "sm_100a"])
    assert [".v8" in kernel.ptx for kernel in found] == [False, True]


def test_text_that_asks_for_more_is_refused_at_its_place() -> None:
    text = tilesat.compile(program().source(), "sm_100a").stages["nvvm"]
    with pytest.raises(TileError, match="needs sm_100, the kernel is for sm_90a"):
        tilesat.lower(text.replace("sm_100a", "sm_90a"))
    shared = text.replace("!llvm.ptr<1>", "!llvm.ptr<3>")
    with pytest.raises(TileError, match="only accesses to global memory exceed 16 bytes"):
        tilesat.lower(shared)

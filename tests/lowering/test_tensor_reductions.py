"""Atomic updates of whole tiles of a view by reducing tensor copies, where the accelerator has the operation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesat
from tests.lowering.report import outline
from tests.programs.program import DTYPES, Program, check, random
from tilesat import TileError
from tilesat.cli import main

KERNEL = """
cuda_tile.module @m {{ entry @update(%x0: tile<ptr<{element}>>, %h0: tile<ptr<{element}>>, %m: tile<i32>, %n0: tile<i32>) {{
  %x = assume div_by<16>, %x0 : tile<ptr<{element}>>
  %h = assume div_by<16>, %h0 : tile<ptr<{element}>>
  %n1 = assume bounded<0, ?>, %n0 : tile<i32>
  %n = assume div_by<{whole}>, %n1 : tile<i32>
  %v = make_tensor_view %x, shape = [%m, %n], strides = [%n, 1]
    : tile<i32> -> tensor_view<?x?x{element}, strides=[?,1]>
  %w = make_tensor_view %h, shape = [%m, %n], strides = [%n, 1]
    : tile<i32> -> tensor_view<?x?x{element}, strides=[?,1]>
  %pv = make_partition_view %v : partition_view<tile=(32x64), padding_value = zero, tensor_view<?x?x{element}, strides=[?,1]>>
  %pw = make_partition_view %w : partition_view<tile=(32x64), tensor_view<?x?x{element}, strides=[?,1]>>
  %b:3 = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %a, %t = load_view_tko weak %pv[%b#0, %b#1]
    : partition_view<tile=(32x64), padding_value = zero, tensor_view<?x?x{element}, strides=[?,1]>>, tile<i32>
    -> tile<32x64x{element}>, token
{update}  return
}} }}"""  # noqa: E501
ONCE = """  %u = atomic_red_view_tko relaxed device %pw[{index}], {mode}, %a token = %t
    : tile<32x64x{element}>, partition_view<tile=(32x64), tensor_view<?x?x{element}, strides=[?,1]>>, tile<i32> -> token
"""
THRICE = """  %upper = constant <i32: 3> : tile<i32>
  %step = constant <i32: 1> : tile<i32>
  %u = for %k in (%zero to %upper, step %step) : tile<i32> iter_values(%before = %t) -> (token) {{
    %added = atomic_red_view_tko relaxed device %pw[{index}], {mode}, %a token = %before
      : tile<32x64x{element}>, partition_view<tile=(32x64), tensor_view<?x?x{element}, strides=[?,1]>>, tile<i32>
      -> token
    continue %added : token
  }}
  %again, %done = load_view_tko weak %pw[{index}] token = %u
    : partition_view<tile=(32x64), tensor_view<?x?x{element}, strides=[?,1]>>, tile<i32> -> tile<32x64x{element}>, token
  %px = make_partition_view %v : partition_view<tile=(32x64), tensor_view<?x?x{element}, strides=[?,1]>>
  %last = store_view_tko weak %again, %px[{index}] token = %done
    : tile<32x64x{element}>, partition_view<tile=(32x64), tensor_view<?x?x{element}, strides=[?,1]>>, tile<i32> -> token
"""
"""The buffer is used again once it has been read, and a load that comes after the updates sees them all."""
UPDATES = {
    "f32": ("addf", np.add), "f16": ("addf", np.add), "bf16": ("addf", np.add), "i32": ("add", np.add),
    "i32-max": ("max", np.maximum), "i32-min": ("min", np.minimum), "i32-and": ("and", np.bitwise_and),
    "i32-or": ("or", np.bitwise_or), "i32-xor": ("xor", np.bitwise_xor),
}  # fmt: skip
M, N = 70, 120  # tiles overhang on both sides


def program(name: str, whole: int = 8, index: str = "%b#0, %b#1", update: str = ONCE) -> Program:
    mode, combine = UPDATES[name]
    element = name.partition("-")[0]
    body = update.format(element=element, mode=mode, index=index)
    text = KERNEL.format(element=element, whole=whole, update=body)

    def expected(x: Any, held: Any, *_: Any) -> dict[int, Any]:
        return {1: combine(held, x).astype(held.dtype)}

    arguments = lambda: [random((M, N), element, 1), random((M, N), element, 2), M, N]  # noqa: E731
    return Program(name, lambda: text, arguments, (3, 2), expected, 2e-2 if element == "bf16" else 2e-3)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", UPDATES)
def test_each_update_of_whole_tiles(name: str) -> None:
    kernel = check(program(name), "sm_90a")
    operation = UPDATES[name][0].removesuffix("f")
    assert f"cp.reduce.async.bulk.tensor.2d.global.shared::cta.{operation}.tile.bulk_group" in kernel.ptx
    assert "atom." not in kernel.ptx


@pytest.mark.parametrize("target", ["sm_90", "sm_100a", "sm_120a"])
def test_other_targets_that_have_them(target: str) -> None:
    assert "cp.reduce.async.bulk.tensor" in check(program("f32"), target).ptx


def test_they_cost_less_and_can_be_forbidden() -> None:
    made, without = check(program("f32"), "sm_90a"), check(program("f32"), "sm_90a", forbid=["tma.reduce"])
    assert "atom.relaxed.gpu.global.add.f32" in without.ptx
    assert "cp.reduce" not in without.ptx
    assert made.cost < without.cost
    assert "TMA reduction of" in outline(made.compiled)
    assert "atom of" in outline(without.compiled)
    assert "cp.reduce" not in tilesat.compile(program("f32").source(), "sm_80").ptx


def test_rows_that_are_not_aligned_are_updated_one_by_one() -> None:
    assert "cp.reduce" not in check(program("f32", whole=1), "sm_90a").ptx


def test_ctas_that_update_one_tile_add_up() -> None:
    """All tile blocks add to one tile: no update is lost, whatever comes first."""
    asked = program("i32", index="%zero, %zero")

    def expected(x: Any, held: Any, *_: Any) -> dict[int, Any]:
        padded = np.zeros((96, 128), DTYPES["i32"])
        padded[:M, :N] = x
        found = held.copy()
        found[:32, :64] += padded.reshape(3, 32, 2, 64).sum((0, 2), dtype=np.int32)
        return {1: found}

    kernel = check(Program("one", asked.source, asked.arguments, (3, 2), expected), "sm_90a")
    assert "cp.reduce" in kernel.ptx


def test_updates_of_a_loop_and_what_is_read_behind_them() -> None:
    asked = program("i32", update=THRICE)

    def expected(x: Any, held: Any, *_: Any) -> dict[int, Any]:
        return {0: held + 3 * x, 1: held + 3 * x}

    kernel = check(Program("loop", asked.source, asked.arguments, (3, 2), expected), "sm_90a")
    assert "cp.reduce" in kernel.ptx
    assert "cp.async.bulk.wait_group 0" in kernel.ptx


def test_text_of_an_unknown_update_is_refused() -> None:
    text = tilesat.compile(program("f32").source(), "sm_90a").stages["nv_tileas"]
    assert 'reduction = "add"' in text
    with pytest.raises(TileError, match="attribute 'reduction' must be one of"):
        tilesat.lower(text.replace('reduction = "add"', 'reduction = "mul"'))


def test_an_array_that_the_host_cannot_describe_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Placed text whose array has as many rows as the number of its tile block: an update has no way but the map."""
    source, placed = tmp_path / "source.mlir", tmp_path / "placed.mlir"
    source.write_text(program("f32").source())
    steps = "encode,saturate,extract,decode"
    assert main(["opt", str(source), "--target", "sm_90a", "--passes", steps, "-o", str(placed)]) == 0
    text = placed.read_text()
    array = '%6 = "nv_tileas.make_memref"(%arg1, %arg2,'
    assert array in text
    placed.write_text(text.replace(array, array.replace("%arg2", "%2")))
    assert main(["opt", str(placed), "--passes", "tileas-materialize-schedule"]) == 1
    said = capsys.readouterr().err
    assert "the host cannot describe the array of the updated tile" in said
    assert "--forbid tma.reduce" in said

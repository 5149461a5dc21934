"""Registers of a thread folded in pairs (f32x2) or by three (minmax3), where the hardware has it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilesat
from lowering.convert.tileas_to_nvgpu.folds import in_threes
from tests.lowering.report import outline
from tests.programs.program import Program, check, interpret, simulate
from tilesat import TileError

KERNEL = """
cuda_tile.module @m {{ entry @fold(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>) {{
  %start = make_token : token
  %shape = assume div_by<16>, %x : tile<ptr<f32>>
  %v = make_tensor_view %shape, shape = [64, 256], strides = [256, 1] : tensor_view<64x256xf32, strides=[256,1]>
  %pv = make_partition_view %v : partition_view<tile=(64x256), tensor_view<64x256xf32, strides=[256,1]>>
  %zero = constant <i32: 0> : tile<i32>
  %a, %t = load_view_tko weak %pv[%zero, %zero] : partition_view<tile=(64x256), tensor_view<64x256xf32, strides=[256,1]>>, tile<i32> -> tile<64x256xf32>, token
  %r = reduce %a dim={dim} identities=[{identity}] : tile<64x256xf32> -> tile<{size}xf32>
    (%left: tile<f32>, %right: tile<f32>) {{
      %both = {operation} %left, %right {flags}: tile<f32>
      yield %both : tile<f32>
    }}
  %at = iota : tile<{size}xi32>
  %q = reshape %y : tile<ptr<f32>> -> tile<1xptr<f32>>
  %qq = broadcast %q : tile<1xptr<f32>> -> tile<{size}xptr<f32>>
  %out = offset %qq, %at : tile<{size}xptr<f32>>, tile<{size}xi32> -> tile<{size}xptr<f32>>
  %done = store_ptr_tko weak %out, %r token = %start : tile<{size}xptr<f32>>, tile<{size}xf32> -> token
  return
}} }}"""  # noqa: E501
LEAST, GREATEST = "0xFF800000 : f32", "0x7F800000 : f32"
FOLDS = {
    "add.rn.f32x2": ("addf", "", "0.0 : f32"),
    "add.rz.ftz.f32x2": ("addf", "rounding<zero> flush_to_zero ", "0.0 : f32"),
    "mul.rn.f32x2": ("mulf", "", "1.0 : f32"),
    "max.f32": ("maxf", "", LEAST),
    "max.NaN.f32": ("maxf", "propagate_nan ", LEAST),
    "min.ftz.NaN.f32": ("minf", "flush_to_zero propagate_nan ", GREATEST),
}
SIZES = {0: 256, 1: 64}


def numbers(exact: bool) -> np.ndarray:
    """Numbers near 1; where the fold is exact also zeros of both signs, infinities, subnormal numbers and NaN, some
    rows and columns of nothing else.
    """
    rng = np.random.default_rng(11)
    found = rng.uniform(0.9, 1.1, (64, 256)).astype(np.float32)
    if exact:
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -3e-39], np.float32)
        found = np.where(rng.random(found.shape) < 0.01, rng.choice(special, found.shape), found - 1)
        found[3:5], found[:, 9] = np.nan, np.nan
        found[5], found[6, ::2], found[6, 1::2] = -0.0, -0.0, 0.0
    return found.astype(np.float32)


def program(name: str, dim: int) -> Program:
    operation, flags, identity = FOLDS[name]
    text = KERNEL.format(dim=dim, size=SIZES[dim], operation=operation, flags=flags, identity=identity)
    exact = operation in ("maxf", "minf")
    return Program(name, lambda: text, lambda: [numbers(exact), np.full(SIZES[dim], 7, np.float32)], tolerance=1e-4)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", FOLDS)
def test_rows_and_columns(name: str, dim: int) -> None:
    asked = program(name, dim)
    kernel = check(asked, "sm_100a")
    instruction, atom = name.partition(".")[0], "f32x2" if "f32x2" in name else "minmax3"
    lines = [line for line in kernel.ptx.splitlines() if name.removesuffix("f32") in line]
    assert any(line.count(",") == 3 for line in lines) if atom == "minmax3" else lines
    if instruction in ("max", "min"):
        found, wanted = (run(kernel, asked)[1] for run in (simulate, interpret))
        same = (found.view(np.uint32) == wanted.view(np.uint32)) | (np.isnan(found) & np.isnan(wanted))
        assert same.all(), "signs of zeros too"
    without = tilesat.compile(asked.source(), "sm_100a", forbid=[atom])
    assert kernel.cost < without.cost
    assert "thread_atom" not in without.stages["nv_tileas"]


HAVING = {"sm_90a": "", "sm_120a": "", "sm_110a": "minmax3", "sm_103a": "both"}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("target", "atoms"), HAVING.items())
@pytest.mark.parametrize("name", ["add.rn.f32x2", "max.NaN.f32"])
def test_a_target_without_the_hardware_folds_by_two(name: str, target: str, atoms: str) -> None:
    kernel = check(program(name, 1), target)
    wanted = atoms == "both" or (atoms == "minmax3" and name.startswith("max"))
    assert ("thread_atom" in kernel.stages["nv_tileas"]) == wanted


def test_explain_names_the_way_to_fold() -> None:
    kernel = tilesat.compile(program("max.f32", 1).source(), "sm_100a")
    assert "by minmax3" in outline(kernel.compiled)
    assert "by minmax3" not in outline(tilesat.compile(program("max.f32", 1).source(), "sm_90a").compiled)


@pytest.mark.parametrize(
    ("name", "atom", "says"),
    [("max.f32", "f32x2", "f32x2 folds pairs of f32 by one operation that it has"),
     ("add.rn.f32x2", "minmax3", "minmax3 folds f32 by one minimum or maximum")],
)  # fmt: skip
def test_an_atom_that_does_not_fit_is_refused_at_its_place(name: str, atom: str, says: str) -> None:
    text = tilesat.compile(program(name, 1).source(), "sm_90a").stages["nv_tileas"]
    asked = text.replace("dim = 1", f'dim = 1 : i64, thread_atom = "{atom}"', 1)
    asked = asked.replace(" : i64 : i64", " : i64").replace(f'"{atom}" : i64', f'"{atom}"')
    assert asked != text
    with pytest.raises(TileError, match=says):
        tilesat.lower(asked)


def test_numbers_of_32_bits_are_joined_by_three_in_their_order() -> None:
    """(a + b) + c, which ptxas makes one instruction."""
    text = KERNEL.format(dim=1, size=64, operation="addi", flags="", identity="0 : i32").replace("f32", "i32")
    rng = np.random.default_rng(5)
    given = [rng.integers(-9, 9, (64, 256)).astype(np.int32), np.zeros(64, np.int32)]
    kernel = check(Program("sums", lambda: text, lambda: [each.copy() for each in given]), "sm_80")
    sums = {made: terms for made, *terms in re.findall(r"add.s32 (%r\d+), (%r\d+), (%r\d+);", kernel.ptx)}
    loaded = set(re.findall(r"%r\d+", " ".join(re.findall(r"ld\..*?\{(.*?)\}", kernel.ptx))))
    assert any(first in sums and second in loaded for first, second in sums.values())


def test_three_at_a_time_keep_their_order() -> None:
    for count in range(1, 12):
        letters = [(chr(ord("a") + i),) for i in range(count)]
        joined = in_threes(lambda x, y: (f"({x[0]}{y[0]})",), letters)[0]  # pyright: ignore
        assert joined.replace("(", "").replace(")", "") == "abcdefghijklmn"[:count]
    assert in_threes(lambda x, y: (f"({x[0]}{y[0]})",), [(c,) for c in "abcd"])[0] == "(((ab)c)d)"  # pyright: ignore

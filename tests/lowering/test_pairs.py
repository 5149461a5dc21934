"""f32 arithmetic of a thread on pairs of elements (f32x2), where the hardware has it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilesat
from tests.lowering.report import outline
from tests.programs.program import Program, check, interpret, simulate
from tilesat import TileError

KERNEL = """
cuda_tile.module @m {{ entry @kernel(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %z: tile<ptr<f32>>, %o: tile<ptr<f32>>) {{
  %start = make_token : token
  %at = iota : tile<1024xi32>
{loads}
  %three = constant <f32: 3.0> : tile<1024xf32>
{body}
  %p = reshape %o : tile<ptr<f32>> -> tile<1xptr<f32>>
  %pp = broadcast %p : tile<1xptr<f32>> -> tile<1024xptr<f32>>
  %out = offset %pp, %at : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
  %done = store_ptr_tko weak %out, %r token = %start : tile<1024xptr<f32>>, tile<1024xf32> -> token
  return
}} }}"""
LOAD = """  %p{0} = reshape %{0} : tile<ptr<f32>> -> tile<1xptr<f32>>
  %pp{0} = broadcast %p{0} : tile<1xptr<f32>> -> tile<1024xptr<f32>>
  %at{0} = offset %pp{0}, %at : tile<1024xptr<f32>>, tile<1024xi32> -> tile<1024xptr<f32>>
  %l{0}, %t{0} = load_ptr_tko weak %at{0} token = %start : tile<1024xptr<f32>> -> tile<1024xf32>, token"""
LOADS = "\n".join(LOAD.format(name) for name in "xyz")
BODIES = {
    "add": "%r = addf %lx, %ly {} : tile<1024xf32>",
    "sub": "%r = subf %lx, %ly {} : tile<1024xf32>",
    "mul": "%r = mulf %lx, %ly {} : tile<1024xf32>",
    "fma": "%r = fma %lx, %ly, %lz {} : tile<1024xf32>",
}
MODES = {"rn": "", "rz": "rounding<zero>", "rm.ftz": "rounding<negative_inf> flush_to_zero", "rn.ftz": "flush_to_zero"}
CHAIN = """  %a = mulf %lx, %three : tile<1024xf32>
  %b = fma %a, %ly, %lz : tile<1024xf32>
  %e = exp2 %b flush_to_zero : tile<1024xf32>
  %r = subf %e, %b : tile<1024xf32>"""


def numbers() -> list[np.ndarray]:
    """Normal and subnormal numbers, zeros of both signs, infinities and NaN in every pairing."""
    rng = np.random.default_rng(7)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -3e-39, 3e38, -3e38, 1.0], np.float32)
    found = [rng.standard_normal(1024) * 10.0 ** rng.integers(-40, 38, 1024) for _ in "xyz"]
    for stride, array in zip((1, 10, 100), found, strict=True):
        array[:1000] = np.where(rng.random(1000) < 0.5, special[np.arange(1000) // stride % 10], array[:1000])
    return [x.astype(np.float32) for x in found] + [np.full(1024, 7, np.float32)]


def program(name: str, mode: str = "rn") -> Program:
    body = CHAIN if name == "chain" else "  " + BODIES[name].format(MODES[mode])
    tolerance = 1e-5 if name == "chain" else 0.0
    return Program(name, lambda: KERNEL.format(loads=LOADS, body=body), numbers, tolerance=tolerance)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", BODIES)
def test_each_rounding_is_exact(name: str, mode: str) -> None:
    asked = program(name, mode)
    kernel = check(asked, "sm_100a")
    found, wanted = simulate(kernel, asked)[3], interpret(kernel, asked)[3]
    same = (found.view(np.uint32) == wanted.view(np.uint32)) | (np.isnan(found) & np.isnan(wanted))
    assert same.all(), "signs of zeros too"
    assert f"{name}.{mode}.f32x2" in kernel.ptx
    assert f"{name}.{mode}.f32 " not in kernel.ptx


@pytest.mark.parametrize("target", ["sm_100", "sm_103a"])
def test_pairs_pass_through_a_chain(target: str) -> None:
    """What one instruction leaves as a pair the next one takes as it is; MUFU takes the halves."""
    kernel = check(program("chain"), target)
    pairs, packed = kernel.ptx.count(".f32x2"), len(re.findall(r"mov\.b64 %rd\d+, \{", kernel.ptx))
    assert pairs == 3 * kernel.ptx.count("ex2.approx.ftz.f32") // 2
    assert packed <= 4 * pairs // 3 + 1


@pytest.mark.parametrize("target", ["sm_90a", "sm_110a", "sm_120a"])
def test_a_target_that_splits_pairs_has_none(target: str) -> None:
    assert "f32x2" not in check(program("chain"), target).ptx


def test_pairs_cost_less_and_can_be_forbidden() -> None:
    source = program("chain").source()
    made, without = tilesat.compile(source, "sm_100a"), tilesat.compile(source, "sm_100a", forbid=["f32x2"])
    assert "f32x2" not in without.ptx
    assert made.cost < without.cost
    assert "fma by f32x2" in outline(made.compiled)
    assert "f32x2" not in outline(without.compiled)


def test_pairs_of_other_elements_are_refused_at_their_place() -> None:
    asked = tilesat.compile(program("add").source(), "sm_100a").stages["nv_tileas"].replace("f32", "f16")
    assert "paired" in asked
    with pytest.raises(TileError, match="pairs are of two f32 that a thread holds"):
        tilesat.lower(asked)

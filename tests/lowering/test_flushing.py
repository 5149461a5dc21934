"""flush_to_zero, full and approx: never dropped on the way to PTX, priced apart, and right on subnormal numbers."""

import re

import ml_dtypes
import numpy as np
import pytest

import tilesat
from ir.core import OPS, UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.dialects import math
from ir.dialects.cuda_tile.constraints import TileOp
from lowering.convert.elementwise import scalar_op
from lowering.cost import Machine
from lowering.counts import Form
from lowering.targets import SM_80
from tests.lowering.nvgpu_harness import BF16, F16, F32, TF32, elementwise, one

KERNEL = """cuda_tile.module @m {{ entry @k(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>) {{
  %start = make_token : token
  %n = iota : tile<128xi32>
  %x0 = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
  %x1 = broadcast %x0 : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %xp = offset %x1, %n : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
  %y0 = reshape %y : tile<ptr<f32>> -> tile<1xptr<f32>>
  %y1 = broadcast %y0 : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %yp = offset %y1, %n : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
  %a, %ta = load_ptr_tko weak %xp token = %start : tile<128xptr<f32>> -> tile<128xf32>, token
  %b, %tb = load_ptr_tko weak %yp token = %start : tile<128xptr<f32>> -> tile<128xf32>, token
  %r = {operation} : tile<128xf32>
  %t = store_ptr_tko weak %yp, %r token = %tb : tile<128xptr<f32>>, tile<128xf32> -> token
  return }} }}"""

FLUSHING = {
    cls.info.mnemonic: len(cls.info.operands)
    for cls in OPS.values()
    if issubclass(cls, TileOp) and any(a.name == "flush_to_zero" for a in cls.info.attributes)
}
"""Operations of Tile IR that have the flag, and how many operands they take."""


def compiled(operation: str) -> tilesat.Kernel:
    return tilesat.compile(KERNEL.format(operation=operation), target="sm_80")


def arithmetic(ptx: str) -> list[str]:
    """The f32 instructions but moves and accesses."""
    return re.findall(r"^\s*((?!ld|st|mov)[a-z0-9]+\.[a-zA-Z0-9.]*f32)\b", ptx, re.M)


def test_flushing_operations_are_known() -> None:
    assert FLUSHING.keys() == {"addf", "subf", "mulf", "divf", "fma", "maxf", "minf", "exp2", "sqrt", "rsqrt"}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mnemonic", FLUSHING)
def test_flag_reaches_ptx_and_costs_no_more(mnemonic: str) -> None:
    operation = f"{mnemonic} {', '.join(['%a', '%b', '%b'][: FLUSHING[mnemonic]])}"
    flushed, kept = compiled(f"{operation} flush_to_zero"), compiled(operation)
    (instruction,) = arithmetic(flushed.ptx)
    assert ".ftz." in instruction
    assert arithmetic(kept.ptx) == [instruction.replace(".ftz", "")]
    assert flushed.cost <= kept.cost
    if mnemonic in ("exp2", "rsqrt"):  # one MUFU, where subnormals take three instructions more
        assert flushed.cost < kept.cost


def test_a_flag_without_a_scalar_form_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"'cuda_tile\.tanh' cannot flush subnormals per thread"):
        scalar_op(ct.Tanh, {"flush_to_zero": True}, F32, F32)


def test_a_pipe_counts_what_a_form_takes() -> None:
    machine = Machine(SM_80, 4)

    def busy(mnemonic: str, *modifiers: str, kind: str = "f32") -> float:
        return machine.elementwise(Form(mnemonic, modifiers, (kind,)), 8).alu

    rates = SM_80.throughput
    mufu, fma, add = (128 / float(rate) for rate in (rates.mufu, rates.fma_f32, rates.int_add))
    assert busy("exp2", "ftz") == 8 * mufu
    assert busy("exp2") == 8 * (mufu + 2 * fma + add)
    assert busy("divf", "approx", "ftz") == 8 * (mufu + fma)
    assert busy("tanh", "full") == busy("tanh")
    assert busy("tanh") > busy("tanh", "approx")
    division = [busy("divf", *each) for each in ((), ("full",), ("approx",), ("approx", "ftz"))]
    assert division == sorted(division, reverse=True)
    assert busy("addf", kind="f64") == 8 * 128 / float(rates.fma_f64)


@pytest.mark.parametrize("operation", ["exp %a", "tanh %a", "exp %a rounding<full>", "tanh %a rounding<full>"])
def test_full_is_accurate(operation: str) -> None:
    """tanh.approx has 11 bits; ex2.approx of a product loses as many bits as its integer part has."""
    ptx = compiled(operation).ptx
    assert "tanh.approx" not in ptx
    assert ptx.count("fma.rn.f32") >= 2


def test_full_at_the_level_of_one_thread_is_accurate() -> None:
    x = np.linspace(-80, 80, 384).astype(np.float32)
    exp, tanh = elementwise([F32], [one(math.Exp, rounding="full"), one(math.Tanh, rounding="full")], [x])
    wide = x.astype(np.float64)
    for found, exact in ((exp, np.exp(wide)), (tanh, np.tanh(wide))):
        assert (abs(found - exact) <= 2.5 * np.spacing(abs(exact).astype(np.float32))).all()


@pytest.mark.parametrize("kind", [F32, BF16, TF32], ids=str)
def test_subnormal_powers_are_kept_without_the_flag(kind) -> None:
    """bf16 and tf32 have f32's exponents."""
    exponents = np.resize(np.array([-127.0, -130, -132, -126, -125, 3]), 384)
    dtype = ml_dtypes.bfloat16 if kind == BF16 else np.float32
    cases = [one(math.Exp2), one(math.Exp), one(math.Exp, rounding="approx")]
    powers, *natural = elementwise([kind], cases, [exponents.astype(dtype)])
    assert (powers.astype(np.float64) == np.exp2(exponents)).all()
    arguments = np.resize(np.array([-87.5, -88.0, -90.0, -86.0, 1.0]), 384)
    _, *natural = elementwise([kind], cases, [arguments.astype(dtype)])
    for found in natural:
        assert (abs(found.astype(np.float64) / np.exp(arguments) - 1) < 2e-2).all()


def test_subnormal_powers_go_with_the_flag() -> None:
    exponents = np.resize(np.array([-127.0, -130, -126, 3]), 384)
    (found,) = elementwise([F32], [one(math.Exp2, ftz=True)], [exponents.astype(np.float32)])
    assert (found == np.where(exponents < -126, 0, np.exp2(exponents))).all()


def test_subnormal_results_of_f16_are_kept() -> None:
    exponents = np.resize(np.array([-15.0, -24, -20, 3]), 384)
    (found,) = elementwise([F16], [one(math.Exp2)], [exponents.astype(np.float16)])
    assert (found.astype(np.float64) == np.exp2(exponents)).all()

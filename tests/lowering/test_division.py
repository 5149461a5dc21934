"""Quotients and reciprocals: the cheapest form that the rounding allows, and right to the last bit where it must be."""

import re

import numpy as np
import pytest

import tilesat
from ir.dialects import arith
from tests.lowering.nvgpu_harness import BF16, F16, F32, F64, GLOBAL_PTR, Kernel, elementwise, floats
from tests.lowering.test_flushing import KERNEL
from tests.lowering.test_nvgpu_floats import rounded, same

FORMS = {
    # divf of what, rounding and flags -> the PTX instructions of an element
    ("%one, %a", ""): ["rcp.rn.f32"],
    ("%one, %a", "flush_to_zero"): ["rcp.rn.ftz.f32"],
    ("%one, %a", "rounding<zero>"): ["rcp.rz.f32"],
    ("%one, %a", "rounding<full>"): ["rcp.approx.f32"],
    ("%one, %a", "rounding<full> flush_to_zero"): ["rcp.approx.ftz.f32"],
    ("%one, %a", "rounding<approx>"): ["div.approx.f32"],
    ("%one, %a", "rounding<approx> flush_to_zero"): ["rcp.approx.ftz.f32"],
    ("%a, %b", ""): ["div.rn.f32"],
    ("%a, %b", "rounding<full>"): ["div.full.f32"],
    ("%a, %b", "rounding<full> flush_to_zero"): ["div.full.ftz.f32"],
    ("%a, %b", "rounding<approx>"): ["div.approx.f32"],
    ("%a, %b", "rounding<approx> flush_to_zero"): ["rcp.approx.ftz.f32", "mul.rn.ftz.f32"],
    ("%a, %three", ""): ["div.rn.f32"],
    ("%a, %three", "rounding<full>"): ["mul.rn.f32"],
    ("%a, %three", "rounding<approx> flush_to_zero"): ["mul.rn.ftz.f32"],
    ("%a, %tiny", "rounding<full>"): ["div.full.f32"],
    ("%a, %eight", ""): ["mul.rn.f32"],
    ("%a, %eight", "rounding<approx>"): ["mul.rn.f32"],
}
CONSTANTS = {"one": "1.0", "three": "3.0", "eight": "8.0", "tiny": "1.0e-44"}


WITHOUT = {
    # the same without reciprocals
    ("%one, %a", ""): ["div.rn.f32"],
    ("%one, %a", "rounding<zero>"): ["div.rz.f32"],
    ("%one, %a", "rounding<full>"): ["div.full.f32"],
    ("%one, %a", "rounding<full> flush_to_zero"): ["div.full.ftz.f32"],
    ("%one, %a", "rounding<approx> flush_to_zero"): ["div.approx.ftz.f32"],
    ("%a, %b", "rounding<approx> flush_to_zero"): ["div.approx.ftz.f32"],
}


def kernel(operands: str, flags: str, forbid: tuple[str, ...] = ()) -> tilesat.Kernel:
    constants = "".join(f"%{n} = constant <f32: {v}> : tile<128xf32>\n" for n, v in CONSTANTS.items())
    text = KERNEL.format(operation=f"divf {operands} {flags}").replace("%r =", constants + "  %r =")
    return tilesat.compile(text, target="sm_80", forbid=forbid)


def arithmetic(made: tilesat.Kernel) -> list[str]:
    return re.findall(r"^\s*((?!ld|st|mov)[a-z0-9]+\.[a-zA-Z0-9.]*f32)\b", made.ptx, re.M)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("operands", "flags"), FORMS)
def test_the_cheapest_form_that_the_rounding_allows(operands: str, flags: str) -> None:
    assert arithmetic(kernel(operands, flags)) == FORMS[operands, flags]


@pytest.mark.parametrize(("operands", "flags"), WITHOUT)
def test_reciprocals_can_be_forbidden(operands: str, flags: str) -> None:
    """The quotients stay within the 2 ulp that both ways have."""
    made = kernel(operands, flags, ("rcp",))
    assert arithmetic(made) == WITHOUT[operands, flags] != FORMS[operands, flags]
    a, b = (np.exp2(np.random.default_rng(i).uniform(-60, 60, 128)).astype(np.float32) for i in (1, 2))
    y = b.copy()
    made.run(1, a, y, on="sim")
    exact = (1 / a if "one" in operands else a.astype(np.float64) / b).astype(np.float32)
    assert (abs(y - exact) <= 2 * np.spacing(exact)).all()


def inverse(rounding: str = "rn", **flags: bool):
    return lambda k, x: k.value(arith.DivF, k.const(1.0, x.type), x, rounding=rounding, **flags)


@pytest.mark.parametrize("kind", [F16, BF16, F32, F64], ids=str)
def test_reciprocals_are_quotients_bit_for_bit(kind) -> None:
    x = floats(np.random.default_rng(kind.width), kind, 2048)
    (found,) = elementwise([kind], [inverse()], [x])
    same(found, rounded(lambda v: 1 / v, kind, x), f"1 / {kind}")


def test_fast_forms_stay_within_their_error() -> None:
    """2 ulp; with ftz what is below 2^-126 is zero, by a divisor beyond 2^126 too."""
    rng = np.random.default_rng(3)
    x, y = (np.exp2(rng.uniform(-60, 60, 2048)).astype(np.float32) for _ in range(2))

    def over(divisor: float | None, rounding: str, **flags: bool):
        return lambda k, a, b: k.value(
            arith.DivF, a, b if divisor is None else k.const(divisor, F32), rounding=rounding, **flags
        )

    forms = [(r, f) for r in ("approx", "full") for f in ({}, {"ftz": True})]
    cases = [over(divisor, r, **f) for r, f in forms for divisor in (None, 3.0, 1e-10)]
    results = elementwise([F32] * 2, cases, [x, y])
    for found, divisor in zip(results, [y, 3.0, np.float32(1e-10)] * len(forms), strict=True):
        exact = x.astype(np.float64) / divisor
        assert (abs(found - exact) <= 2 * np.spacing(exact.astype(np.float32))).all()


def test_one_reciprocal_serves_all_quotients_by_one_number() -> None:
    k = Kernel(GLOBAL_PTR, F32, F32, F32)
    out, x, y, z = k.params
    for place, top in enumerate((x, y)):
        made = k.value(arith.DivF, top, z, rounding="approx", ftz=True)
        k.store(made, k.element(out, k.const(place), F32))
    text = k.ptx()
    assert text.count("rcp.approx.ftz.f32") == 1
    assert text.count("mul.rn.ftz.f32") == 2

"""Arithmetic of f32 with sources of 16 bits: the same results as with extensions, on targets that have it."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from ir.core import Value
from ir.dialects import arith, math
from tests.lowering.nvgpu_harness import BF16, F16, F32, GLOBAL_PTR, Kernel, floats, run

COUNT = 256
Made = Callable[[Kernel, Value, Value, Value], Value]


def of(cls: type, at: str, **flags: object) -> Made:
    """An operation on some of a, b and c."""
    return lambda k, *given: k.value(cls, *(given["abc".index(name)] for name in at), **flags)


ALL = [of(math.Fma, "abc"), of(arith.AddF, "ac"), of(arith.AddF, "cb"), of(arith.SubF, "ac"), of(arith.MulF, "ab")]
NEEDED = [*ALL, of(arith.SubF, "ca")]
OTHERS = [of(math.Fma, "acb"), of(arith.MulF, "ac"), of(arith.AddF, "ab"), of(arith.MulF, "ab", rounding="rm"),
          of(arith.AddF, "cb", ftz=True)]  # fmt: skip


def text_of(kind, cases: list[Made], target: str) -> str:
    """a and b, which are of 16 bits, and c, an f32: each case stored as f32."""
    k = Kernel(*[GLOBAL_PTR] * 4)
    at = k.index()
    a, b = (k.value(arith.ExtF, k.load(k.element(p, at, kind), kind), types=[F32]) for p in k.params[:2])
    c = k.load(k.element(k.params[2], at, F32), F32)
    for place, case in enumerate(cases):
        spot = k.value(arith.AddI, at, k.const(COUNT * place), nsw=True)
        k.store(case(k, a, b, c), k.element(k.params[3], spot, F32))
    return k.ptx(target)


@pytest.mark.parametrize("kind", [F16, BF16], ids=str)
@pytest.mark.parametrize(
    ("cases", "mixed", "extensions"),
    [
        (ALL, ["fma", "add", "add", "sub", "fma"], 0),
        (NEEDED, ["fma", "add", "fma"], 1),  # c - a needs a in f32: what reads a alone may as well
        (OTHERS, [], 2),  # factors of two types; a b rounded down may be another zero than by fma; nothing flushes
    ],
)
def test_sources_of_16_bits_give_what_extensions_do(kind, cases: list[Made], mixed: list[str], extensions: int) -> None:
    text, before = text_of(kind, cases, "sm_120a"), text_of(kind, cases, "sm_90a")
    found = rf"(\w+)\.rn\.f32\.{kind} "
    assert (re.findall(found, text), text.count("cvt.f32.")) == (mixed, extensions)
    assert (re.findall(found, before), before.count("cvt.f32.")) == ([], 2)
    rng = np.random.default_rng(4)
    a, b, c = (floats(rng, each, COUNT) for each in (kind, kind, F32))
    a[-60:-20], b[-40:] = -0.0, 0.0
    c[-50:] = np.resize([0.0, -0.0, -1.0], 50)
    given = [a, b, c, np.zeros((len(cases), COUNT), np.float32)]
    got, wanted = run(text, 2, 128, given)[-1], run(before, 2, 128, given)[-1]
    assert wanted.any(axis=1).all()
    np.testing.assert_array_equal(got.view(np.int32), wanted.view(np.int32))

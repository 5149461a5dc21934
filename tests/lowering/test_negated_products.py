"""Negated factors of warpgroup products: the instruction negates what it reads, whatever the type and place of A."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.programs.program import DTYPES, Program, check, random, simulate
from tilesat.fuzz.writer import Tile, Writer

M, N, K, STEPS = 64, 64, 64, 2


def product(
    kind: str, negated: str, computed: bool = False, to: str = "", m: int = M, n: int = N
) -> Program:  # fmt: skip
    """D = -(A B) over some steps of k, the sign on A or B; `computed`: A is made in registers; `to`: A is converted
    behind the sign.
    """

    def source() -> str:
        w = Writer("negated", a=f"ptr<{kind}>", b=f"ptr<{to or kind}>", d="ptr<f32>")
        w.promise(a=16, b=16, d=16)
        a = w.view(w.a, [m, K * STEPS], [K * STEPS, 1], [m, K])
        b = w.view(w.b, [n, K * STEPS], [K * STEPS, 1], [n, K])
        with w.loop(0, STEPS, carried=[w.const(0.0, "f32", m, n)]) as loop:
            left, right = w.load(a, 0, loop.counter), w.load(b, 0, loop.counter)
            if computed:
                left = left * 0.5
            left = -left if "a" in negated else left
            right = -right if "b" in negated else right
            factors: list[Tile] = [left.to(to) if to else left, right.T]
            loop.values = [w.dot(*factors, loop.values[0])]
        w.store(loop.values[0], w.view(w.d, [m, n], [n, 1], [m, n]), 0, 0)
        return w.text()

    def arguments() -> list[Any]:
        return [random((m, K * STEPS), kind, 1), random((n, K * STEPS), to or kind, 2), random((m, n), "f32", 3)]

    def expected(a: Any, b: Any, d: Any) -> dict[int, Any]:
        a = a.astype(DTYPES[to]) if to else a
        return {2: (0.5 if computed else 1.0) * (-1.0) ** len(negated) * a.astype(float) @ b.astype(float).T}

    return Program(f"negated-{kind}-{negated}", source, arguments, (1,), expected, 1e-2 if to else 2e-3)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("negated", ["a", "b"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_negation_of_a_loaded_factor_is_free(kind: str, negated: str) -> None:
    kernel = check(product(kind, negated), "sm_90a")
    assert "wgmma.mma_async" in kernel.ptx
    assert "neg." not in kernel.ptx
    assert kernel.ptx.count("1, -1, 1") == kernel.ptx.count("wgmma.mma_async")


def test_negation_of_a_computed_factor_is_free() -> None:
    kernel = check(product("f16", "a", computed=True), "sm_90a", forbid=("wgmma.m64n64k16.f16.f16.ss",))
    assert "wgmma.mma_async" in kernel.ptx
    assert "neg." not in kernel.ptx


@pytest.mark.in_turn
def test_imm_scale_can_be_forbidden() -> None:
    """The sign is computed then, and costs something; the explanation says why."""
    made = check(product("f16", "a"), "sm_90a")
    without = check(product("f16", "a"), "sm_90a", forbid=("imm-scale",))
    assert "wgmma.mma_async" in without.ptx
    assert "-1, 1" in made.ptx
    assert "-1, 1" not in without.ptx
    assert made.cost < without.cost
    assert "imm-scale: forbidden by the caller" in without.compiled.explain()
    assert "imm-scale" not in made.compiled.explain()


@pytest.mark.in_turn
@pytest.mark.parametrize(("kind", "to"), [("f32", "tf32"), ("f16", "f8E5M2")])
def test_negation_before_a_conversion_is_free(kind: str, to: str) -> None:
    """Rules move it behind the conversion: neither type has a negf of its own."""
    kernel = check(product(kind, "a", to=to), "sm_90a")
    assert "wgmma.mma_async" in kernel.ptx
    assert "neg." not in kernel.ptx
    assert kernel.ptx.count(", -1, 1") == kernel.ptx.count(
        "wgmma.mma_async"
    )  # a group of f8 begins from zero: 0, -1, 1


def test_the_sign_reaches_the_result() -> None:
    """Without it the simulator's result is another one: the tests above could fail."""
    program = product("f16", "a")
    kernel = check(program, "sm_90a")
    plain = simulate(kernel, program, ptx=kernel.ptx.replace("1, -1, 1", "1, 1, 1"))[2]
    assert abs(plain - simulate(kernel, program)[2]).max() > 1


@pytest.mark.sampled(5)
@pytest.mark.parametrize("negated", ["a", "b"])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_negation_is_free_in_tensor_memory(kind: str, negated: str) -> None:
    """The instruction descriptor says it: the loop is that of a product without."""
    plain, kernel = (check(product(kind, each, m=128, n=128), "sm_100a") for each in ("", negated))
    assert kernel.cost == plain.cost
    assert "neg." not in kernel.ptx
    (with_sign,), (without,) = (set(re.findall(r"tcgen05\.mma.*, (\d{9}), ", k.ptx)) for k in (kernel, plain))
    assert int(with_sign) - int(without) == 1 << 13  # PTX ISA, tcgen05.mma, Instruction descriptor, Negate A Matrix


@pytest.mark.in_turn
def test_both_signs_are_gone_and_a_sign_that_others_read_stays() -> None:
    """-A times -B is A times B; a tile that is negated and scaled is computed."""
    assert "neg." not in check(product("f16", "ab", m=128, n=128), "sm_100a").ptx
    check(product("f16", "a", computed=True, m=128, n=128), "sm_100a")

"""Factors of warpgroup products that come from registers: turned tiles, computed and gathered ones."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilesat
from lowering.atoms.names import BY_TRANSFORMER
from ptxsim import HazardError, SimulatorError
from tests.programs import products  # noqa: F401
from tests.programs.program import PROGRAMS, Program, check, random, simulate
from tilesat.fuzz.writer import Writer

M, N, K, STEPS = 64, 64, 64, 5


def product(name: str, kind: str, right: str, out: str = "f32") -> Program:
    """D = A B over some steps of k, B by columns (n contiguous): `right` is loaded, computed or gathered; `both`
    factors are gathered.
    """
    depth = K * STEPS

    def source() -> str:
        w = Writer("held", a=f"ptr<{kind}>", b=f"ptr<{kind}>", d="ptr<f32>", stride="i32")
        w.promise(a=16, b=16, d=16)
        a = w.view(w.a, [M, depth], [depth, 1], [M, K])
        b = w.view(w.b, [depth, N], [N, 1], [K, N])
        rows, columns = (w.iota(K) * w.stride.splat(K)).column(N), w.iota(N).row(K)
        lefts = (w.iota(M) * depth).column(K)
        with w.loop(0, STEPS, carried=[w.const(0.0, "f32", M, N)]) as loop:
            k = loop.counter
            x = w.load(a, 0, k)
            if right == "both":
                at = lefts + ((k * K).splat(K) + w.iota(K)).row(M)
                x = w.gather(w.a[at])[0]
            if right in ("gathered", "both"):
                y = w.gather(w.b[(k * K * w.stride).splat(K, N) + rows + columns])[0]
            else:
                y = w.load(b, k, 0)
            if right == "computed":
                y = y * 0.5
            loop.values = [w.dot(x, y, loop.values[0])]
        w.store(loop.values[0], w.view(w.d, [M, N], [N, 1], [M, N]), 0, 0)
        return w.text()

    def arguments() -> list[Any]:
        return [random((M, depth), kind, 1), random((depth, N), kind, 2), random((M, N), "f32", 3), N]

    def expected(a: Any, b: Any, *rest: Any) -> dict[int, Any]:
        return {2: a.astype(np.float64) @ b.astype(np.float64) * (0.5 if right == "computed" else 1.0)}

    return Program(name, source, arguments, (1,), expected, 4e-3)


@pytest.mark.in_turn
@pytest.mark.parametrize("name", ["matmul-tf32-b-straight", "matmul-tf32-a-transposed"])
def test_tiles_that_lie_the_other_way_round(name: str) -> None:
    kernel = check(PROGRAMS[name], "sm_90a")
    assert "wgmma.mma_async" in kernel.ptx
    assert "mma.sync" not in kernel.ptx


@pytest.mark.in_turn
@pytest.mark.parametrize("name", ["matmul-i8-straight-wide", "matmul-f8E5M2-straight-wide"])
def test_bytes_that_lie_the_other_way_round(name: str) -> None:
    """In tiles so small mma.sync is as cheap."""
    kernel = check(PROGRAMS[name], "sm_90a", forbid=("mma.sync", "fma", "mad"))
    assert "wgmma.mma_async" in kernel.ptx


@pytest.mark.sampled(12)
@pytest.mark.parametrize("right", ["computed", "gathered", "both"])
@pytest.mark.parametrize("kind", ["f16", "tf32"])
def test_factors_that_no_copy_brings(kind: str, right: str) -> None:
    if (kind, right) == ("tf32", "computed"):
        pytest.skip("there is no arithmetic on tf32")
    kernel = check(product(f"{kind}-{right}", kind, right), "sm_90a")
    assert "wgmma.mma_async" in kernel.ptx
    assert "mma.sync" not in kernel.ptx


@pytest.mark.parametrize(
    ("what", "pattern"),
    [("barrier", r"bar\.sync \d+[^;]*;|barrier\.sync[^;]*;"), ("fence", r"fence\.proxy\.async[^;]*;")],
)
def test_what_orders_the_buffer_is_needed(what: str, pattern: str) -> None:
    """The buffers alternate, so there is one barrier an iteration; without it, or the fence before it, hazards show."""
    program = product("turned", "tf32", "loaded")
    kernel = tilesat.compile(program.source(), "sm_90a", forbid=[BY_TRANSFORMER])
    loop = kernel.ptx.index("wgmma.fence")
    places = [m for m in re.finditer(pattern, kernel.ptx) if m.start() < loop]
    assert places, what
    last = places[-1]
    simulate(kernel, program)
    with pytest.raises(SimulatorError):
        simulate(kernel, program, ptx=kernel.ptx[: last.start()] + kernel.ptx[last.end() :])


def test_one_buffer_would_be_overwritten() -> None:
    """Both stages in one place: a warp writes what the products of another one still read."""
    program = product("turned", "tf32", "loaded")
    kernel = tilesat.compile(program.source(), "sm_90a", forbid=[BY_TRANSFORMER])
    broken, found = re.subn(r"(\n +)xor\.b32 (%r\d+), (?!\2)(%r\d+), 1;", r"\1mov.b32 \2, \3;", kernel.ptx)
    assert found == 1
    with pytest.raises(HazardError):
        simulate(kernel, program, ptx=broken, schedule="skewed:0")


def test_one_value_in_two_shared_layouts() -> None:
    """C as the right factor of two products, by rows and by columns: two buffers, each in its own layout."""
    size = 64

    def source() -> str:
        w = Writer("twice", a="ptr<f16>", c="ptr<f16>", d="ptr<f32>")
        w.promise(a=16, c=16, d=16)
        a = w.load(w.view(w.a, [size, size], [size, 1], [size, size]), 0, 0)
        c = w.load(w.view(w.c, [size, size], [size, 1], [size, size]), 0, 0) * 0.5
        straight, turned = w.dot(a, c), w.dot(a, c.T)
        w.store(straight + turned * 2.0, w.view(w.d, [size, size], [size, 1], [size, size]), 0, 0)
        return w.text()

    def arguments() -> list[Any]:
        return [random((size, size), "f16", 1), random((size, size), "f16", 2), random((size, size), "f32", 3)]

    def expected(a: Any, c: Any, d: Any) -> dict[int, Any]:
        a, c = a.astype(np.float64), c.astype(np.float64) / 2
        return {2: a @ c + 2 * (a @ c.T)}

    kernel = check(Program("twice", source, arguments, (1,), expected, 4e-3), "sm_90a", forbid=("mma.sync", "fma"))
    assert "wgmma.mma_async" in kernel.ptx

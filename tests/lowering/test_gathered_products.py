"""Products of gathered rows, as in grouped GEMMs: runs that are proved travel by cp.async into a ring."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilesat
from ptxsim import SimulatorError
from tests.programs.program import Program, check, random, simulate
from tilesat.fuzz.writer import Writer

TIERS = ("sm_80", "sm_90a", "sm_120a")
M, N, K = 64, 64, 64


def grouped(
    name: str, depth: int = 5 * K, divisor: int = 8, kind: str = "f16", both: bool = False, carried: bool = False,
    padding: float = 0.0, turned: bool = False, m: int = M, n: int = N,
) -> Program:  # fmt: skip
    """D = A[rows] B, K elements a step: rows of A come from an array, some of them out of range and so zero. Rows of A
    lie `divisor` elements further than they are long. `both`: B is gathered too, `turned`: from an array that holds its
    columns. `carried`: the loop carries the place along k, so it is not known ahead.
    """
    pitch, rows = depth + divisor, 100

    def source() -> str:
        w = Writer("grouped", a=f"ptr<{kind}>", b=f"ptr<{kind}>", rows="ptr<i32>", d="ptr<f32>", lda="i32", k="i32")
        w.promise(a=16, b=16, rows=16, d=16, lda=divisor, k=divisor)
        row = w.gather(w.rows[w.iota(m) + (w.ids[0] * m).splat(m)])[0]
        known = (row < rows).column(K)
        starts = (row * w.lda.splat(m)).column(K)
        b = w.view(w.b, [w.k, n], [n, 1], [K, n])
        steps = (w.k + (K - 1)).div(K)
        with w.loop(0, steps, carried=[w.const(0.0, "f32", m, n), w.const(0, "i32")]) as loop:
            total, at = loop.values
            first = at if carried else loop.counter * K
            along = first.splat(K) + w.iota(K)
            mask = known & (along < w.k.splat(K)).row(m)
            x = w.gather(w.a[starts + along.row(m)], mask, padding)[0]
            if turned:
                inside = (along < w.k.splat(K)).column(n)
                y = w.gather(w.b[(w.iota(n) * w.lda.splat(n)).row(K) + along.column(n)], inside, 0.0)[0]
            elif both:
                inside = (along < w.k.splat(K)).column(n)
                y = w.gather(w.b[(along * n).column(n) + w.iota(n).row(K)], inside, 0.0)[0]
            else:
                y = w.load(b, loop.counter, 0)
            loop.values = [w.dot(x, y, total), at + K]
        w.store(loop.values[0], w.view(w.d, [2 * m, n], [n, 1], [m, n]), w.ids[0], 0)
        return w.text()

    def arguments() -> list[Any]:
        order = np.random.default_rng(7).permutation(2 * m).astype(np.int32)  # 100 and more: no such rows
        shape = (n, pitch) if turned else (depth, n)
        arrays = [random((rows, pitch), kind, 1), random(shape, kind, 2), order, random((2 * m, n), "f32", 3)]
        return [*arrays, pitch, depth]

    def expected(a: Any, b: Any, order: Any, *rest: Any) -> dict[int, Any]:
        held = np.full((2 * m, depth), padding)
        inside = order < rows
        held[inside] = a[order[inside], :depth]
        right = b.astype(np.float64)
        return {3: held @ (right[:, :depth].T if turned else right)}

    return Program(name, source, arguments, (2,), expected, 4e-3)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", TIERS)
@pytest.mark.parametrize("depth", [5 * K, 2 * K + 24, 40])
def test_gathered_rows_travel_in_a_ring(target: str, depth: int) -> None:
    """Sizes that end inside a tile, and fewer iterations than stages."""
    kernel = check(grouped("rows", depth), target, spills=target == "sm_120a")
    assert re.search(r"cp\.async\.cg\.shared\.global \[[^]]*\], \[[^]]*\], 16", kernel.ptx)
    assert ("wgmma.mma_async" if target == "sm_90a" else "mma.sync") in kernel.ptx
    loop = kernel.ptx[kernel.ptx.rindex("cp.async.cg") :]
    assert "ld.global" not in loop.split("st.global")[0]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("target", TIERS)
def test_columns_that_are_gathered_travel_in_a_ring(target: str) -> None:
    """As in x @ w.T: the pointers of the right factor run along k, its first dimension."""
    kernel = check(grouped("columns", turned=True), target)
    copies = re.findall(r"cp\.async\.cg\.shared\.global \[[^]]*\], \[[^]]*\], 16", kernel.ptx)
    assert len(copies) >= 2 * (M + N) * K // 8 // 256
    assert ".b16 " not in "".join(line for line in kernel.ptx.splitlines() if "ld.global" in line)
    assert ("wgmma.mma_async" if target == "sm_90a" else "mma.sync") in kernel.ptx


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", TIERS)
@pytest.mark.parametrize("form", ["both", "narrow", "carried", "padded"])
def test_other_gathers(target: str, form: str) -> None:
    """Both factors gathered; runs of 4 bytes; places that are not known ahead; padding that is not zero."""
    more: dict[str, dict[str, Any]] = {
        "both": {"both": True}, "narrow": {"divisor": 2, "depth": 2 * K + 6}, "carried": {"carried": True},
        "padded": {"padding": 1.0},
    }  # fmt: skip
    kernel = check(grouped(form, **more[form]), target, spills=target == "sm_120a")
    if form == "narrow":
        assert re.search(r"cp\.async\.ca\.shared\.global \[[^]]*\], \[[^]]*\], 4", kernel.ptx)
    if form == "padded":
        assert "ld.global" in kernel.ptx


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("wait", r"cp\.async\.wait_group \d+;"),
        ("barrier", r"bar\.sync \d+[^;]*;|barrier\.sync[^;]*;"),
        ("fence", r"fence\.proxy\.async[^;]*;"),
    ],
)
def test_what_orders_the_ring_is_needed(target: str, what: str, pattern: str) -> None:
    program = grouped("rows")
    kernel = tilesat.compile(program.source(), target)
    first = kernel.ptx.index("wgmma.fence" if target == "sm_90a" else "mma.sync")
    places = [m for m in re.finditer(pattern, kernel.ptx) if m.start() < first]
    if what == "fence" and target == "sm_80":
        assert not places
        return
    last = places[-1]
    with pytest.raises(SimulatorError):
        simulate(kernel, program, ptx=kernel.ptx[: last.start()] + kernel.ptx[last.end() :])


def test_rows_out_of_range_are_not_read() -> None:
    """The mask reaches the copies: without it they read far outside of the array."""
    program = grouped("rows")
    kernel = tilesat.compile(program.source(), "sm_90a")
    broken = re.sub(r"(cp\.async\.cg\.shared\.global \[[^]]*\], \[[^]]*\], 16), %r\d+;", r"\1;", kernel.ptx)
    assert broken != kernel.ptx
    try:
        found = simulate(kernel, program, ptx=broken)[3]
    except SimulatorError:
        return
    assert abs(found - simulate(kernel, program)[3]).max() > 1


@pytest.mark.parametrize("divisor", [2, 4])
def test_a_gathered_ring_has_no_producer_of_tensor_copies(divisor: int) -> None:
    """Runs of two elements were read as mechanism 2, so a producer took its share of the registers."""
    kernel = tilesat.compile(grouped("rows", divisor=divisor).source(), "sm_120a", forbid=["tma"])
    assert re.search(rf"cp\.async\.ca\.shared\.global \[[^]]*\], \[[^]]*\], {2 * divisor}", kernel.ptx)
    selection = kernel.compiled.selection
    assert selection.graph.class_name is not None
    chosen = [selection.graph.class_name[cls] for cls in selection.answer.chosen]
    assert [name for name in chosen if "producer" in name] == []

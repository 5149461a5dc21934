"""Block-scaled products on tensor cores that take the scales: chosen by cost, right for every step, major and tail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilesat
from egraph.permissions import GRANTS
from ir.dialects import cuda_tile as ct
from ir.types import F4E2M1FN, TileType
from lowering.atoms.names import UNSIGNED
from lowering.skeletons import unsigned_scales
from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Writer

TARGETS = ("sm_120a", "sm_121a")
ATOM, BLOCK, SCALE = "mma.sync.m16n8k32.mxf8f6f4", 32, "f8E8M0FNU"


def block_scaled(
    tile: tuple[int, int, int], steps: int, kind: str = "f8E4M3FN", turned: bool = True, rows: int = 0,
    scales: tuple[Any, Any] | None = None,
) -> Program:  # fmt: skip
    """D = sum over k of (A * spread S) (B * spread T); `turned`: B and T lie in memory with k contiguous. `rows` of A
    there are, by default all of the tile.
    """
    (m, n, k), depth, held = tile, tile[2] * steps, rows or tile[0]

    def source() -> str:
        w = Writer("scaled", a=f"ptr<{kind}>", b=f"ptr<{kind}>", s=f"ptr<{SCALE}>", t=f"ptr<{SCALE}>", d="ptr<f32>")
        w.promise(a=16, b=16, s=16, t=16, d=16)
        a = w.view(w.a, [held, depth], [depth, 1], [m, k])
        s = w.view(w.s, [held, depth // BLOCK], [depth // BLOCK, 1], [m, k // BLOCK])

        def right(base: Any, deep: int, each: int) -> Any:
            if turned:
                return w.view(base, [n, deep], [deep, 1], [each, n], dim_map=[1, 0])
            return w.view(base, [deep, n], [n, 1], [each, n])

        b, t = right(w.b, depth, k), right(w.t, depth // BLOCK, k // BLOCK)
        with w.loop(0, steps, carried=[w.const(0.0, "f32", m, n)]) as loop:
            i, total = loop.counter, loop.values[0]
            loaded = [w.load(x, 0, i) for x in (a, s)] + [w.load(x, i, 0) for x in (b, t)]
            left, left_scale, across, across_scale = loaded
            loop.values = [w.op(ct.MmaFScaled, left, across, total, left_scale, across_scale, types=[total.type])]
        w.store(loop.values[0], w.view(w.d, [held, n], [n, 1], [m, n]), 0, 0)
        return w.text()

    def across(deep: int) -> tuple[int, int]:
        return (n, deep) if turned else (deep, n)

    def arguments() -> list[Any]:
        shapes = ((held, depth), across(depth), (held, depth // BLOCK), across(depth // BLOCK), (held, n))
        kinds = (kind, kind, SCALE, SCALE, "f32")
        made = [random(shape, each, i) for i, (shape, each) in enumerate(zip(shapes, kinds, strict=True))]
        for place, of in zip((2, 3), scales or (), strict=False):
            made[place] = of(made[place])
        return made

    def expected(a: Any, b: Any, s: Any, t: Any, d: Any) -> dict[int, Any]:
        a, b, s, t = (x.astype(np.float64) for x in (a, b, s, t))
        if turned:
            b, t = b.T, t.T
        return {4: (a * np.repeat(s, BLOCK, axis=1)) @ (b * np.repeat(t, BLOCK, axis=0))}

    return Program(f"block-scaled-{m}x{n}x{k}", source, arguments, (1,), expected, 2e-3)


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def of_bytes(
    tile: tuple[int, int, int], steps: int, scale: str = SCALE, turned: bool = True, each: int = 0,
    signed: bool = False,
) -> Program:  # fmt: skip
    """D = sum over k of (A * spread S) (B * spread T), of f4 that lie two in a byte along k; `turned`: columns of B.
    `each`: so many along k have one scale. `signed`: half of the scales are negative.
    """
    (m, n, k), block, depth = tile, each or (32 if scale == SCALE else 16), tile[2] * steps

    def source() -> str:
        w = Writer("halves", a="ptr<i8>", b="ptr<i8>", s=f"ptr<{scale}>", t=f"ptr<{scale}>", d="ptr<f32>")
        w.promise(a=16, b=16, s=16, t=16, d=16)
        a, b = (w.view(x, [rows, depth // 2], [depth // 2, 1], [rows, k // 2]) for x, rows in ((w.a, m), (w.b, n)))
        s = w.view(w.s, [m, depth // block], [depth // block, 1], [m, k // block])
        t = w.view(w.t, [n, depth // block], [depth // block, 1], [k // block, n], dim_map=[1, 0])

        def unpacked(view: Any, rows: int, at: Any) -> Any:
            flat = w.load(view, 0, at).reshape(rows * k // 2)
            whole = w.op(ct.Unpack, flat, types=[TileType((rows * k,), F4E2M1FN)])
            return whole.reshape(rows, k)

        with w.loop(0, steps, carried=[w.const(0.0, "f32", m, n)]) as loop:
            i, total = loop.counter, loop.values[0]
            left, across = unpacked(a, m, i), unpacked(b, n, i)
            across = across.permute(1, 0) if turned else across.reshape(k, n)
            factors = (left, across, total, w.load(s, 0, i), w.load(t, i, 0))
            loop.values = [w.op(ct.MmaFScaled, *factors, types=[total.type])]
        w.store(loop.values[0], w.view(w.d, [m, n], [n, 1], [m, n]), 0, 0)
        return w.text()

    def arguments() -> list[Any]:
        rng = np.random.default_rng(tile)
        bytes_ = [rng.integers(-128, 128, (rows, depth // 2)).astype(np.int8) for rows in (m, n)]
        scales = [random((rows, depth // block), scale, 3 + rows) for rows in (m, n)]
        scales = scales if signed else [abs(each) for each in scales]
        return [*bytes_, *scales, random((m, n), "f32", 4)]

    def expected(a: Any, b: Any, s: Any, t: Any, d: Any) -> dict[int, Any]:
        def numbers(packed: Any) -> Any:
            codes = np.stack([packed & 15, packed >> 4 & 15], axis=-1).reshape(len(packed), -1)
            return np.where(codes > 7, -1, 1) * E2M1[codes & 7]

        left, right = (numbers(x) * np.repeat(y.astype(np.float64), block, axis=1) for x, y in ((a, s), (b, t)))
        if not turned:
            return {}
        return {4: left @ right.T}

    return Program(f"halves-{m}x{n}x{k}", source, arguments, (1,), expected, 2e-3)


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("tile", "steps"), [((128, 64, 128), 2), ((64, 32, 64), 3), ((32, 64, 256), 1), ((16, 8, 64), 1)], ids=str
)
@pytest.mark.parametrize(
    ("scale", "each", "kind", "version"),
    [
        (SCALE, 32, "mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", "8.8"),
        (SCALE, 16, "mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0", "9.1"),
        ("f8E4M3FN", 16, "mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "8.8"),
    ],
)
def test_bytes_of_two_f4_go_to_tensor_cores(
    tile: tuple[int, int, int], steps: int, scale: str, each: int, kind: str, version: str
) -> None:
    kernel = check(of_bytes(tile, steps, scale, each=each), "sm_120a", fast=["uscale"])
    assert f"kind::{kind}" in kernel.ptx
    assert f".version {version}\n" in kernel.ptx
    assert "bf16" not in kernel.ptx


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_100a", "sm_121a"])
def test_powers_of_two_for_16_elements(target: str) -> None:
    """Both families of Blackwell take such scales."""
    kernel = check(of_bytes((128, 64, 256), 2, each=16), target)
    assert "kind::mxf4nvf4.block_scale" in kernel.ptx


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("tile", "steps"), [((64, 32, 64), 3), ((32, 64, 256), 2), ((16, 8, 64), 1)], ids=str)
def test_signs_of_scales_go_into_the_factors(tile: tuple[int, int, int], steps: int, target: str) -> None:
    """PTX's ue4m3 has no sign; E8M0 has none either, and needs nothing."""
    program = of_bytes(tile, steps, "f8E4M3FN", signed=True)
    assert all((each.astype(np.float32) < 0).any() for each in program.arguments()[2:4])
    kernel = check(program, target)
    assert "kind::mxf4nvf4" in kernel.ptx
    assert "bf16" not in kernel.ptx
    assert kernel.cost < tilesat.compile(program.source(), target, forbid=[UNSIGNED]).cost


def test_scales_that_may_be_negative_are_not_read_without_their_sign() -> None:
    program = of_bytes((16, 8, 64), 1, "f8E4M3FN", signed=True)
    assert "block_scale" not in check(program, "sm_120a", forbid=[UNSIGNED]).ptx
    assert "block_scale" in check(of_bytes((16, 8, 64), 1), "sm_120a", forbid=[UNSIGNED]).ptx


def test_factors_of_which_some_are_not_unpacked_keep_the_signs_of_scales() -> None:
    """Tensor cores would read the scales of all products of these types without their signs."""
    program = of_bytes((32, 32, 64), 1, "f8E4M3FN", turned=False, signed=True)
    assert "block_scale" not in check(program, "sm_120a").ptx


def test_a_sign_that_is_lost_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsigned_scales, "SIGNS", 0x08)  # of the first of two neighbours alone
    with pytest.raises(AssertionError, match="off the interpreter"):
        check(of_bytes((64, 32, 64), 3, "f8E4M3FN", signed=True), "sm_120a", cache=False)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", GRANTS)
def test_one_permission_alone_is_about_signs_of_scales(name: str) -> None:
    source = of_bytes((16, 8, 64), 1, "f8E4M3FN").source()
    kernel = tilesat.compile(source, "sm_120a", fast=[name], forbid=[UNSIGNED])
    assert ("block_scale" in kernel.ptx) == (name == "uscale")


def test_f4_with_neighbours_along_n_are_scaled() -> None:
    """Tensor cores take f4 with k contiguous alone."""
    kernel = check(of_bytes((32, 32, 64), 1, turned=False), "sm_120a")
    assert "block_scale" not in kernel.ptx


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("tile", "steps"),
    [((128, 64, 128), 2), ((64, 64, 32), 3), ((64, 128, 64), 2), ((32, 32, 256), 1), ((16, 8, 32), 1)],
    ids=str,
)
def test_tensor_cores_take_the_scales(tile: tuple[int, int, int], steps: int) -> None:
    """One, two, four and eight scales of a row a step: parts of a register, a register, and more."""
    kernel = check(block_scaled(tile, steps), "sm_120a")
    m, n, k = tile
    warps = kernel.manifest["block"][0] // 32
    assert kernel.ptx.count(".block_scale.") >= m * n * k // (16 * 8 * 32) // warps
    assert "bf16" not in kernel.ptx


@pytest.mark.sampled(5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("kind", "letters"), [("f8E4M3FN", "e4m3"), ("f8E5M2", "e5m2")])
def test_types_and_rows_that_overhang(kind: str, letters: str, target: str) -> None:
    kernel = check(block_scaled((64, 64, 64), 2, kind, rows=50), target)
    assert f".block_scale.scale_vec::1X.f32.{letters}.{letters}.f32.ue8m0" in kernel.ptx


def test_factors_whose_columns_are_contiguous() -> None:
    """Scales of one column are gathered from as many rows."""
    assert ".block_scale." in check(block_scaled((64, 64, 128), 2, turned=False), "sm_120a").ptx


@pytest.mark.in_turn
def test_scales_at_the_ends_of_their_range() -> None:
    """2^-127 and 2^127 in one product leave 1; in bf16 the factors would be subnormal and infinite."""

    def filled(value: float) -> Any:
        return lambda scales: np.full_like(scales, value)

    program = block_scaled((32, 32, 64), 2, scales=(filled(2.0**-127), filled(2.0**127)))
    kernel = tilesat.compile(program.source(), "sm_120a")
    arguments = program.arguments()
    kernel.run(program.grid, *arguments, on="sim")
    wanted = program.expected(*program.arguments())[4]
    assert ".block_scale." in kernel.ptx
    assert np.abs(arguments[4] - wanted).max() <= 2e-3 * np.abs(wanted).max()


def test_the_atom_may_be_forbidden() -> None:
    kernel = check(block_scaled((32, 32, 64), 1), "sm_120a", forbid=[ATOM])
    assert ".block_scale." not in kernel.ptx
    assert "mma.sync" in kernel.ptx


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_90a", "sm_120"])
def test_other_targets_scale_the_factors(target: str) -> None:
    kernel = tilesat.compile(block_scaled((32, 32, 64), 1).source(), target)
    assert ".block_scale." not in kernel.ptx
    assert kernel.cost > tilesat.compile(block_scaled((32, 32, 64), 1).source(), "sm_120a").cost

"""Programs whose stores go through shared memory and tensor copies: simulator with hazards = interpreter."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilesat
from ir.core import UnsupportedError
from ir.dialects import cuda_tile as ct
from ptxsim import SimulatorError
from tests.programs.program import TOLERANCE, Program, check, random, simulate
from tilesat.fuzz.writer import Writer

FROM_REGISTERS = ("st.global",)  # forbidden where cost would choose it
Sizes = tuple[int, ...]


def pitches(size: Sizes, kind: str) -> Sizes:
    """Extents of an allocation whose rows are multiples of 16 bytes, and longer than those of the array."""
    unit = {"f32": 4, "i32": 4, "i8": 16}.get(kind, 8)
    return (*size[:-1], -(-size[-1] // unit) * unit + unit)


def scaled(tile: Sizes, size: Sizes, kind: str = "f32") -> Program:
    """y = 2 x, tile by tile, for arrays of any rank: all but three dimensions lie in one tile."""
    held = pitches(size, kind)
    strides = [int(np.prod(held[i + 1 :])) for i in range(len(size))]

    def source() -> str:
        w = Writer("scaled", x=f"ptr<{kind}>", y=f"ptr<{kind}>")
        w.promise(x=16, y=16)
        x, y = (w.view(base, size, strides, tile) for base in (w.x, w.y))
        index = [*w.ids[: len(size)], *[0] * (len(size) - 3)]
        value = w.load(x, *index)
        w.store(value + value, y, *index)
        return w.text()

    grid = tuple(-(-n // t) for n, t in zip(size, tile, strict=True))[:3]
    return Program("scaled", source, lambda: [random(held, kind, 1), random(held, kind, 2)], grid)


def copied() -> Program:
    """y = x, of bytes that no arithmetic takes."""

    def source() -> str:
        w = Writer("copied", x="ptr<f8E4M3FN>", y="ptr<f8E4M3FN>")
        w.promise(x=16, y=16)
        x, y = (w.view(base, (40, 100), (128, 1), (32, 128)) for base in (w.x, w.y))
        w.store(w.load(x, w.ids[0], 0), y, w.ids[0], 0)
        return w.text()

    def arguments() -> list[Any]:
        return [random((40 + seed, 128), "f32", seed).astype(ml_dtypes.float8_e4m3fn) for seed in (0, 1)]

    return Program("copied", source, arguments, (2,), tolerance=0.0)


def pairs(body: Callable[[Writer, Any], None], rows: int = 64, kind: str = "f16", padding: str = "zero") -> Program:
    """A kernel on two arrays of `rows` x 128, given as views of 32 x 128 tiles."""

    def source() -> str:
        w = Writer("pairs", x=f"ptr<{kind}>", y=f"ptr<{kind}>")
        w.promise(x=16, y=16)
        body(w, lambda base, tile=(32, 128): w.view(base, (rows, 128), (128, 1), tile, padding))
        return w.text()

    return Program("pairs", source, lambda: [random((rows, 128), kind, 1), random((rows, 128), kind, 2)], (1,))


def in_a_loop(w: Writer, view: Any) -> None:
    x, y = view(w.x), view(w.y)
    with w.loop(0, 2) as loop:
        w.store(w.load(x, loop.counter, 0) * 0.5, y, loop.counter, 0)


def twice(w: Writer, view: Any) -> None:
    value = w.load(view(w.x), 0, 0)
    w.store(value * 0.5, view(w.y), 0, 0)
    w.store(value * 0.25, view(w.y), 1, 0)


def then_load(w: Writer, view: Any) -> None:
    """Other threads than those that stored load what they stored."""
    y = view(w.y)
    token = w.store(w.load(view(w.x), 0, 0) * 0.5, y, 0, 0)
    back, _ = w.load_token(y, 0, 0, token=token)
    w.store(back.reshape(128, 32).T.reshape(32, 128), y, 1, 0)


def in_place(w: Writer, view: Any) -> None:
    """Every element is read before another one takes its place."""
    y = view(w.y)
    value, token = w.load_token(y, 0, 0)
    w.store(value.reshape(128, 32).T.reshape(32, 128), y, 0, 0, token=token)


def past_another_barrier(w: Writer, view: Any) -> None:
    """A load of what was stored before threads met for another tile's sake."""
    y = view(w.y)
    first = w.store(w.load(view(w.x), 0, 0) * 0.5, y, 0, 0)
    value, token = w.load_token(y, 1, 0)
    w.store(value.reshape(128, 32).T.reshape(32, 128), y, 1, 0, token=token)
    back, token = w.load_token(y, 0, 0, token=first)
    w.store(back.reshape(128, 32).T.reshape(32, 128), y, 0, 0, token=token)


def round_the_loop(w: Writer, view: Any) -> None:
    """An iteration loads what the one before stored."""
    y = view(w.y)
    with w.loop(0, 3, carried=[w.token]) as loop:
        value, token = w.load_token(y, 0, 0, token=loop.values[0])
        moved = value.reshape(128, 32).T.reshape(32, 128)
        loop.values = [w.store(moved * 0.5, y, 0, 0, token=token)]


def after_pointers(w: Writer, view: Any) -> None:
    """A tile stored through pointers, then one over it by the accelerator."""
    y = view(w.y)
    at = w.iota(32 * 128)
    token = w.scatter(w.y[(at * 5) & (32 * 128 - 1)], w.const(1.5, "f16", 32 * 128))
    w.store(w.load(view(w.x), 0, 0), y, 0, 0, token=token)


def in_a_branch(w: Writer, view: Any) -> None:
    value = w.load(view(w.x), 0, 0)
    w.branch(
        w.ids[0] < 1,
        lambda: [w.store(value * 0.5, view(w.y), 0, 0)][:0],
        lambda: [w.store(value * 0.25, view(w.y), 1, 0)][:0],
    )
    w.store(value.reshape(128, 32).T.reshape(32, 128), view(w.y), 1, 0)


PROGRAMS = {
    "rank 1": scaled((2048,), (5000,)),
    "rank 2": scaled((32, 64), (70, 72)),
    "rank 2 of f16": scaled((32, 64), (70, 72), "f16"),
    "rank 2 of bf16": scaled((32, 128), (40, 200), "bf16"),
    "rank 2 of i8": scaled((32, 128), (40, 208), "i8"),
    "rank 2 of f8": copied(),
    "rank 3": scaled((2, 16, 64), (3, 40, 72), "f16"),
    "rank 4": scaled((2, 2, 8, 64), (3, 5, 20, 60), "f16"),
    "rank 5": scaled((1, 2, 2, 8, 64), (2, 3, 5, 8, 60), "f16"),
    "in a loop": pairs(in_a_loop),
    "twice": pairs(twice),
    "then a load": pairs(then_load),
    "in place": pairs(in_place),
    "past another barrier": pairs(past_another_barrier),
    "round the loop": pairs(round_the_loop),
    "after pointers": pairs(after_pointers),
    "in a branch": pairs(in_a_branch),
}


ELSEWHERE = ("rank 2 of f16", "then a load", "in place")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    scattered = name == "after pointers"
    kernel = check(PROGRAMS[name], "sm_90a", forbid=() if scattered else FROM_REGISTERS)
    assert ("cp.async.bulk.tensor" in kernel.ptx) == (not scattered)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("target", ["sm_100a", "sm_120a"])
@pytest.mark.parametrize("name", ELSEWHERE)
def test_program_for_other_targets(name: str, target: str) -> None:
    assert "cp.async.bulk.tensor" in check(PROGRAMS[name], target, forbid=FROM_REGISTERS).ptx


def test_target_without_the_accelerator_has_no_other_way() -> None:
    with pytest.raises(UnsupportedError, match="no lowering for sm_80"):
        tilesat.compile(PROGRAMS["rank 2"].source(), "sm_80", forbid=FROM_REGISTERS)


MUTATIONS = {
    "stores are not waited for": ("then a load", r"cp\.async\.bulk\.wait_group 0;", ""),
    "stores have only read their source": ("then a load", r"bulk\.wait_group 0;", "bulk.wait_group.read 0;"),
    "earlier iterations are not waited for": ("round the loop", r"cp\.async\.bulk\.wait_group 0;", ""),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_lost_order_is_caught(name: str) -> None:
    program, old, new = MUTATIONS[name]
    kernel = tilesat.compile(PROGRAMS[program].source(), "sm_90a", forbid=FROM_REGISTERS)
    changed, count = re.subn(old, new, kernel.ptx)
    assert count
    with pytest.raises(SimulatorError):
        simulate(kernel, PROGRAMS[program], ptx=changed)


# --- the choice


def product(out: str, n: int = 136, hint: str = "") -> Program:
    """out = A B^T of 128 x 128 x 64 tiles, with what the f32 sums are rounded to."""

    def source() -> str:
        w = Writer("product", a="ptr<f16>", b="ptr<f16>", d=f"ptr<{out}>", m="i32", n="i32", pitch="i32")
        w.promise(a=16, b=16, d=16, m=1, n=n & -n, pitch=8)
        a = w.view(w.a, [w.m, 128], [128, 1], [128, 64])
        b = w.view(w.b, [w.n, 128], [128, 1], [128, 64])
        d = w.view(w.d, [w.m, w.n], [w.pitch, 1], [128, 128])
        with w.loop(0, 2, carried=[w.const(0.0, "f32", 128, 128)]) as loop:
            left, right = w.load(a, w.ids[0], loop.counter), w.load(b, w.ids[1], loop.counter)
            loop.values = [w.dot(left, right.T, loop.values[0])]
        result = loop.values[0]
        w.store(result if out == "f32" else result.to(out), d, w.ids[0], w.ids[1])
        text = w.text()
        return re.sub(r"(store_view_tko.* token = %\w+)", rf"\1{hint}", text) if hint else text

    def arguments() -> list[Any]:
        return [random((130, 128), "f16", 1), random((n, 128), "f16", 2), random((131, 144), out, 3), 130, n, 144]

    return Program("product", source, arguments, (2, 2), tolerance=TOLERANCE[out])


@pytest.mark.in_turn
@pytest.mark.parametrize("out", ["f16", "bf16"])
def test_narrow_sums_leave_by_stmatrix_and_tensor_copies(out: str) -> None:
    """Straight from the accumulators' layout: a 16-byte store from registers would need a conversion first."""
    kernel = check(product(out), "sm_90a")
    assert kernel.ptx.count("stmatrix") == 16
    assert "st.global" not in kernel.ptx
    assert kernel.cost < tilesat.compile(product(out).source(), "sm_90a", forbid=("stmatrix",)).cost
    assert kernel.cost < tilesat.compile(product(out).source(), "sm_90a", forbid=("tma.store",)).cost


def test_rows_that_end_anywhere_leave_by_tensor_copies() -> None:
    """The accelerator clips by the element where vectors of registers would straddle the edge."""
    kernel = check(product("f16", 131), "sm_90a")
    assert "st.global" not in kernel.ptx


def test_wide_sums_leave_from_registers() -> None:
    """Eight bytes of f32 a lane fill whole sectors, so the buffer would only add to them."""
    kernel = check(product("f32"), "sm_90a")
    assert "st.global.v2" in kernel.ptx
    assert kernel.cost < tilesat.compile(product("f32").source(), "sm_90a", forbid=FROM_REGISTERS).cost


def persistent(rows: int) -> Program:
    """A block makes `rows` tiles of D = A B^T in f16, one after the other: the buffer is reused next to the ring."""

    def source() -> str:
        w = Writer("persistent", a="ptr<f16>", b="ptr<f16>", d="ptr<f16>")
        w.promise(a=16, b=16, d=16)
        size = 64 * rows - 8
        a = w.view(w.a, [size, 192], [192, 1], [64, 64])
        b = w.view(w.b, [64, 192], [192, 1], [64, 64])
        d = w.view(w.d, [size, 64], [64, 1], [64, 64])
        with w.loop(0, rows) as tiles:
            with w.loop(0, 3, carried=[w.const(0.0, "f32", 64, 64)]) as loop:
                left, right = w.load(a, tiles.counter, loop.counter), w.load(b, 0, loop.counter)
                loop.values = [w.dot(left, right.T, loop.values[0])]
            w.store(loop.values[0].to("f16"), d, tiles.counter, 0)
        return w.text()

    shapes = [(64 * rows - 8, 192), (64, 192), (64 * rows, 64)]
    arguments = lambda: [random(shape, "f16", seed) for seed, shape in enumerate(shapes)]  # noqa: E731
    return Program("persistent", source, arguments, (1,), tolerance=TOLERANCE["f16"])


def test_tiles_of_a_persistent_block_leave_while_the_next_ones_come() -> None:
    """Beside two tensor copies that load, one that stores; the loads run on over it."""
    kernel = check(persistent(3), "sm_90a")
    assert len(re.findall(r"tensor\.2d\.shared::cta\.global", kernel.ptx)) == 2
    assert len(re.findall(r"tensor\.2d\.global\.shared::cta", kernel.ptx)) == 1
    with pytest.raises(SimulatorError):
        simulate(kernel, persistent(3), ptx=kernel.ptx.replace("cp.async.bulk.wait_group.read 0;", ""))


def two_warpgroups() -> Program:
    """128 x 256 tiles of D = A B^T in f16: accumulators of 256 threads, which all write one buffer."""

    def source() -> str:
        w = Writer("wide", a="ptr<f16>", b="ptr<f16>", d="ptr<f16>")
        w.promise(a=16, b=16, d=16)
        a = w.view(w.a, [120, 128], [128, 1], [128, 64])
        b = w.view(w.b, [250, 128], [128, 1], [256, 64])
        d = w.view(w.d, [120, 250], [264, 1], [128, 256])
        with w.loop(0, 2, carried=[w.const(0.0, "f32", 128, 256)]) as loop:
            left, right = w.load(a, 0, loop.counter), w.load(b, 0, loop.counter)
            loop.values = [w.dot(left, right.T, loop.values[0])]
        w.store(loop.values[0].to("f16"), d, 0, 0)
        return w.text()

    shapes = [(120, 128), (250, 128), (121, 264)]
    arguments = lambda: [random(shape, "f16", seed) for seed, shape in enumerate(shapes)]  # noqa: E731
    return Program("wide", source, arguments, (1,), tolerance=TOLERANCE["f16"])


def test_all_warpgroups_write_one_buffer() -> None:
    kernel = check(two_warpgroups(), "sm_90a")
    assert kernel.manifest["block"] == [384, 1, 1]
    assert len(re.findall(r"tensor\.2d\.global\.shared::cta", kernel.ptx)) == 4  # panels of 64 columns
    barrier = re.search(r"fence\.proxy\.async\S*;\s*(bar\.sync 1, 256;)", kernel.ptx)
    assert barrier is not None
    with pytest.raises(SimulatorError):
        simulate(kernel, two_warpgroups(), ptx=kernel.ptx.replace(barrier[1], ""))


@pytest.mark.in_turn
@pytest.mark.parametrize("forbid", ["tma.store", "tma", "stmatrix"])
def test_forbidden_ways_are_not_taken(forbid: str) -> None:
    ptx = check(product("f16"), "sm_90a", forbid=(forbid,)).ptx
    assert "stmatrix" not in ptx
    assert (".global.shared::cta" in ptx) == (forbid == "stmatrix")


def test_hint_forbids_tensor_copies() -> None:
    with_hint = product("f16", hint=" optimization_hints = <sm_90 = {allow_tma = false}>")
    assert ".global.shared::cta" not in tilesat.compile(with_hint.source(), "sm_90a").ptx


def test_base_that_the_host_cannot_tell_is_stored_to_from_registers() -> None:
    w = Writer("moved", x="ptr<f16>", y="ptr<f16>")
    w.promise(x=16, y=16)
    base = w.y[w.ids[0] * 64].assume(ct.DivBy(16))
    w.store(w.load(w.view(w.x, (64, 64), (64, 1), (64, 64)), 0, 0), w.view(base, (64, 64), (64, 1), (64, 64)), 0, 0)
    source = w.text()
    assert "cp.async.bulk" not in tilesat.compile(source, "sm_90a").ptx
    with pytest.raises(UnsupportedError, match="no lowering"):
        tilesat.compile(source, "sm_90a", forbid=FROM_REGISTERS)


@pytest.mark.in_turn
def test_explanation_names_the_way_and_its_runner_up() -> None:
    text = tilesat.compile(product("f16").source(), "sm_90a").report
    assert re.search(r"TMA store of L\d+, written by stmatrix from L\d+, cost \d+", text)
    assert re.search(r"else TMA store of L\d+, written by st\.shared from L\d+; the program then costs", text)
    text = tilesat.compile(product("f32").source(), "sm_90a").report
    assert re.search(r"else TMA store of L\d+, written by st\.shared from L\d+; the program then costs", text)


def stored_then_multiplied() -> Program:
    """X = 2 A leaves by tensor copies; a ring of tensor copies then brings it for D = X B^T."""

    def source() -> str:
        w = Writer("both", a="ptr<f16>", x="ptr<f16>", b="ptr<f16>", d="ptr<f32>")
        w.promise(a=16, x=16, b=16, d=16)
        value = w.load(w.view(w.a, [64, 256], [256, 1], [64, 256]), 0, 0)
        token = w.store(value + value, w.view(w.x, [64, 256], [256, 1], [64, 256]), 0, 0)
        x, b = (w.view(base, [64, 256], [256, 1], [64, 64]) for base in (w.x, w.b))
        with w.loop(0, 4, carried=[w.const(0.0, "f32", 64, 64)]) as loop:
            left, _ = w.load_token(x, 0, loop.counter, token=token)
            loop.values = [w.dot(left, w.load(b, 0, loop.counter).T, loop.values[0])]
        w.store(loop.values[0], w.view(w.d, [64, 64], [64, 1], [64, 64]), 0, 0)
        return w.text()

    shapes = [((64, 256), "f16"), ((64, 256), "f16"), ((64, 256), "f16"), ((64, 64), "f32")]
    arguments = lambda: [random(shape, kind, seed) for seed, (shape, kind) in enumerate(shapes)]  # noqa: E731
    return Program("both", source, arguments, (1,), tolerance=TOLERANCE["f16"])


def test_producer_waits_for_what_tensor_copies_store() -> None:
    kernel = check(stored_then_multiplied(), "sm_90a", forbid=FROM_REGISTERS)
    assert len(re.findall(r"tensor\.2d\.shared::cta\.global", kernel.ptx)) == 2
    changed = kernel.ptx.replace("cp.async.bulk.wait_group 0;", "")
    assert changed != kernel.ptx
    with pytest.raises(SimulatorError):
        simulate(kernel, stored_then_multiplied(), ptx=changed)


def test_a_long_row_does_not_leave_in_swizzled_pieces() -> None:
    """4096 f32 in one row are 128 boxes of 128 bytes, each with its own address and coordinate; registers do better."""
    w = Writer("row", x="ptr<bf16>", y="ptr<f32>", m="i32")
    w.promise(x=16, y=16, m=1)
    x, _ = w.gather(w.x[w.iota(4096) + w.ids[0].splat(4096) * 4096])
    y = w.view(w.y, [w.m, 4096], [4096, 1], [1, 4096])
    w.store(x.to("f32").exp().reshape(1, 4096), y, w.ids[0], 0)
    ptx = tilesat.compile(w.text(), "sm_90a").ptx
    assert ptx.count("cp.async.bulk.tensor") <= 4096 // 256

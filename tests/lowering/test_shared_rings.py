"""Loops that follow one another share a ring, or the memory of their rings; every barrier of that is needed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilesat
from ptxsim import SimulatorError
from tests.programs.program import Program, check, random, simulate
from tests.programs.rings import causal_attention, two_products
from tilesat.fuzz.writer import Writer

PAIR = (64, 64, 64)
TIERS = ("sm_80", "sm_90a", "sm_120a")


def rings(program: Program, target: str) -> tuple[int, list[int]]:
    """Rings that agents fill, and the offsets of all buffers."""
    text = tilesat.compile(program.source(), target).stages["nv_tileas"]
    return text.count("create_pipeline"), [int(x) for x in re.findall(r"alloc_tensor.*?offset = (\d+)", text)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("target", TIERS)
def test_causal_attention_in_two_loops(target: str) -> None:
    program = causal_attention(64, 64, 32, 2)
    kernel = check(program, target, spills=target == "sm_120a")  # ptxas 13.5: a stack of 8 bytes, no store
    pipelines, offsets = rings(program, target)
    assert pipelines == {"sm_80": 0, "sm_90a": 3, "sm_120a": 0}[target]  # two CTAs an SM have no room for a producer
    assert kernel.manifest["dynamic_smem"] < 8 * 8192 + 8192 + 256  # at most six stages of 8 KB, the queries, barriers
    assert len(offsets) > len(set(offsets))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
def test_persistent_causal_attention(target: str) -> None:
    """Stage and parity go through both loops and around the outer one."""
    kernel = check(causal_attention(64, 64, 32, 3, persistent=True), target)
    assert ("mbarrier.try_wait" in kernel.ptx) == (target == "sm_90a")  # two CTAs an SM have no room for a producer


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", TIERS)
@pytest.mark.parametrize("form", ["plain", "branch", "repeated"])
def test_products_in_two_loops(target: str, form: str) -> None:
    program = two_products(form, PAIR, branch=form == "branch", repeated=form == "repeated")
    kernel = check(program, target, spills=target == "sm_120a")
    assert kernel.manifest["dynamic_smem"] <= 6 * 16384 + 256


def test_more_iterations_than_stages() -> None:
    check(two_products("long", (64, 64, 32), steps=(7, 9)), "sm_90a")


@pytest.mark.in_turn
def test_rings_of_tensor_copies_and_of_threads_lie_apart() -> None:
    """One of each kind does not fit with as many stages as one ring for both: fewer are chosen."""
    kernel = check(two_products("mixed", (128, 128, 64), pitches=(0, 2)), "sm_90a")
    assert kernel.ptx.count("cp.async.bulk.tensor") > 0
    assert "cp.async.mbarrier.arrive" in kernel.ptx
    assert kernel.manifest["dynamic_smem"] <= 232448


def test_what_the_first_loop_leaves_in_use_is_released() -> None:
    """Its last products run until it has ended; the producer needs their stage for the second loop."""
    program = two_products("plain", PAIR, steps=(7, 9))
    kernel = tilesat.compile(program.source(), "sm_90a")
    waits = [m.end() for m in re.finditer(r"wgmma\.wait_group\.sync\.aligned 0;", kernel.ptx)]
    after = kernel.ptx[waits[0] :]
    broken = kernel.ptx[: waits[0]] + re.sub(
        r"(@%p\d+ )?mbarrier\.arrive\.shared::cta\.b64 _,[^;]*;", "", after, count=1
    )
    assert broken != kernel.ptx
    with pytest.raises(SimulatorError):
        simulate(kernel, program, ptx=broken)


def test_threads_wait_before_they_fill_memory_of_the_former_ring() -> None:
    """Without the barrier between the loops, one warp overwrites what another one still reads."""
    program = two_products("plain", PAIR, steps=(7, 9))
    kernel = tilesat.compile(program.source(), "sm_80")
    barriers = list(re.finditer(r"bar\.sync 0;|barrier\.sync 0;", kernel.ptx))
    found = 0
    for each in barriers:
        try:
            simulate(kernel, program, ptx=kernel.ptx[: each.start()] + kernel.ptx[each.end() :])
        except SimulatorError:
            found += 1
    assert found == len(barriers) == 3  # one in each loop, one between them


def test_scratch_behind_a_ring_in_a_branch_lies_over_it() -> None:
    """Extraction relies on it: next to the ring, it would exceed the shared memory."""
    size, depth = 128, 8 * 64

    def source() -> str:
        w = Writer("guarded", a="ptr<f16>", b="ptr<f16>", d="ptr<f16>", flag="i32")
        w.promise(a=16, b=16, d=16)
        a = w.view(w.a, [size, depth], [depth, 1], [size, 64])
        b = w.view(w.b, [size, depth], [depth, 1], [size, 64])
        out = w.view(w.d, [size, size], [size, 1], [size, size])

        def product() -> None:
            with w.loop(0, 8, carried=[w.const(0.0, "f32", size, size)]) as loop:
                left, right = w.load(a, 0, loop.counter), w.load(b, 0, loop.counter)
                loop.values = [w.dot(left, right.T, loop.values[0])]
            w.store(loop.values[0].to("f16"), out, 0, 0)

        w.branch(w.flag > 0, product)
        return w.text()

    def arguments() -> list[Any]:
        shapes = ((size, depth), (size, depth), (size, size))
        return [*(random(shape, "f16", i) for i, shape in enumerate(shapes)), 1]

    def expected(a: Any, b: Any, *rest: Any) -> dict[int, Any]:
        return {2: a.astype(np.float64) @ b.astype(np.float64).T}

    kernel = check(Program("guarded", source, arguments, (1,), expected, 2e-2), "sm_90a")
    assert "cp.async.bulk.tensor.2d.global" in kernel.ptx, "nothing is staged: the test could not fail"
    assert kernel.manifest["dynamic_smem"] <= 6 * 32768 + 1024


def scaled_rows(pieces: int, width: int = 1024) -> Program:
    """A row times its sum, in pieces: two loops read it, and nothing in shared memory comes after the second."""
    length = pieces * width - 4 * (pieces > 1)

    def source() -> str:
        w = Writer("scaled", x="ptr<f32>", y="ptr<f32>", n="i32")
        w.promise(x=16, y=16, n=4)
        x, y = (w.view(p, [w.n], [1], [width]) for p in (w.x, w.y))
        with w.loop(0, w.tiles(x)[0], carried=[w.const(0.0, "f32", width)]) as first:
            first.values = [first.values[0] + w.load(x, first.counter)]
        factor = first.values[0].reduce(0).splat(width)
        with w.loop(0, w.tiles(x)[0]) as second:
            w.store(w.load(x, second.counter) * factor, y, second.counter)
        return w.text()

    def arguments() -> list[Any]:
        return [random((length,), "f32", 1), random((length,), "f32", 2), length]

    def expected(x: Any, y: Any, n: int) -> dict[int, Any]:
        return {1: x * x.astype(np.float64).sum()}

    return Program("scaled", source, arguments, (1,), expected, 1e-3)


@pytest.mark.in_turn
@pytest.mark.parametrize("pieces", [1, 2, 9])
def test_the_last_ring_starts_nothing_past_its_end(pieces: int) -> None:
    """It waited for zeros that were still being filled in; and tiles that come ahead by cp.async leave by 16 bytes."""
    kernel = check(scaled_rows(pieces), "sm_80")
    first, second = kernel.ptx.split("st.shared.b32")
    guards = [re.findall(r"^ *(\S*) ?cp\.async\.cg", part, re.MULTILINE) for part in (first, second)]
    assert set(guards[0]) == {""}
    assert guards[1]
    assert all(guard.startswith("@%p") for guard in guards[1])
    assert [part.count("cp.async.wait_group 0;") for part in (first, second)] == [1, 0]
    assert "ld.shared.v4" in second
    assert "st.global.v4" in second

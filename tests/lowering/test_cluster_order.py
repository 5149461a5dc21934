"""What one CTA of a cluster does for all, and the order of accesses of several: atomic updates whose results all get,
tokens between CTAs, in hazard mode and in skewed orders of warps.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.load import load
from ir.types import TOKEN
from lowering.clusters import planned
from tests.lowering.test_clusters import compiled, error, program
from tests.programs.program import Program, interpret, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

ORDERS = ("together", *(f"skewed:{seed}" for seed in range(5)))
TARGETS = ("sm_90a", "sm_120a")
N = 512


def same(kernel: Kernel, given: Program, **options: Any) -> bool:
    """Do the simulator, in hazard mode, and the interpreter agree on all arrays?"""
    found, wanted = simulate(kernel, given, **options), interpret(kernel, given)
    return all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


def numbers(*shape: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(-1000, 1000, shape).astype(np.int32)


def entry_of(text: str) -> ct.Entry:
    return next(op for op in load(text).walk() if isinstance(op, ct.Entry))


def ticket() -> str:
    """A tile block draws a number, and stores its tile where that says, with it."""
    w = Writer("ticket", counter="ptr<i32>", x="ptr<i32>", y="ptr<i32>")
    w.promise(x=16, y=16)
    drawn = w.update(w.counter, w.const(1, "i32"), mode="add")[0]
    tile = w.load(w.view(w.x, [4 * N], [1], [N]), w.ids[0])
    w.store(tile + drawn.splat(N), w.view(w.y, [4 * N], [1], [N]), drawn)
    return w.text()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ctas", [2, 8])
@pytest.mark.parametrize("order", ORDERS[:3])
def test_a_number_is_drawn_once_a_tile_block(order: str, ctas: int, target: str) -> None:
    kernel = tilesat.compile(ticket(), target, num_ctas=ctas)
    x = numbers(4 * N)
    given = Program("ticket", ticket, lambda: [np.zeros(1, np.int32), x, np.zeros(4 * N, np.int32)], (4,), None)
    counter, _, y = simulate(kernel, given, schedule=order)
    assert counter[0] == 4
    rows = {tuple(row - at) for at, row in enumerate(y.reshape(4, N))}
    assert rows == {tuple(row) for row in x.reshape(4, N)}


def histogram() -> str:
    """Each element counts somewhere, and all are counted."""
    w = Writer("histogram", bins="ptr<i32>", count="ptr<i32>", x="ptr<i32>")
    w.promise(x=16)
    tile = w.load(w.view(w.x, [2 * N], [1], [N]), w.ids[0])
    w.update(w.bins.splat(N)[tile & 63], w.const(1, "i32", N), mode="add")
    w.update(w.count, tile.reduce(0, "max"), mode="max")
    return w.text()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ctas", [2, 4])
def test_updates_of_a_tile_are_divided(ctas: int, target: str) -> None:
    """Each CTA counts its part; one of them updates what is whole, a maximum that all have."""
    kernel = tilesat.compile(histogram(), target, num_ctas=ctas)
    x = numbers(2 * N)
    given = Program("h", histogram, lambda: [np.zeros(64, np.int32), np.zeros(1, np.int32), x], (2,), None)
    assert same(kernel, given)
    entry = planned(entry_of(histogram()), ctas)
    assert isinstance(entry, ct.Entry)
    updates = [op for op in entry.walk() if isinstance(op, ct.AtomicRMW)]
    assert [int(np.prod(op.arg.type.shape)) for op in updates] == [N // ctas, 1]  # type: ignore[union-attr]


def turned() -> str:
    """A tile is stored, and read again from its end on: what another CTA has stored."""
    w = Writer("turned", x="ptr<i32>", y="ptr<i32>", z="ptr<i32>")
    w.promise(x=16, y=16, z=16)
    view = [w.view(each, [N], [1], [N]) for each in (w.x, w.y, w.z)]
    stored = w.store(w.load(view[0], 0) * 3, view[1], 0)
    back, _ = w.gather(w.y.splat(N)[N - 1 - w.iota(N)], token=stored)
    w.store(back, view[2], 0)
    return w.text()


def in_turn(steps: int) -> str:
    """A tile in memory goes on from step to step, each element by its neighbours: everything is read before it is
    written, and written before it is read.
    """
    w = Writer("steps", x="ptr<i32>", steps="i32")
    w.promise(x=16)
    place = w.iota(N)
    right, left = (place + 1) & N - 1, (place + N - 1) & N - 1
    view = w.view(w.x, [N], [1], [N])
    with w.loop(0, w.steps, carried=[w.token]) as loop:
        a, one = w.gather(w.x.splat(N)[right], token=loop.values[0])
        b, other = w.gather(w.x.splat(N)[left], token=loop.values[0])
        loop.values = [w.store((a ^ b) + loop.counter.splat(N), view, 0, token=w.join(one, other))]
    return w.text()


def given_turned() -> Program:
    zeros = np.zeros(N, np.int32)
    return Program("turned", turned, lambda: [numbers(N), zeros.copy(), zeros.copy()], (1,), None)


def given_steps(steps: int) -> Program:
    return Program("steps", lambda: in_turn(1), lambda: [numbers(N), steps], (1,), None)


@cache
def steps_compiled(ctas: int, target: str = "sm_90a") -> Kernel:
    return tilesat.compile(in_turn(1), target, num_ctas=ctas)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("target", TARGETS)
def test_what_another_cta_has_stored(target: str, order: str) -> None:
    kernel = tilesat.compile(turned(), target, num_ctas=4)
    assert kernel.ptx.count("mbarrier.arrive.release.cluster") == 1
    assert same(kernel, given_turned(), schedule=order)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ctas", [2, 8])
def test_steps(ctas: int, order: str) -> None:
    """Two meetings a step: behind all reads, and behind all writes."""
    kernel = steps_compiled(ctas)
    assert kernel.ptx.count("mbarrier.arrive.release.cluster") == 2
    assert same(kernel, given_steps(7), schedule=order)


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_any_number_of_steps(steps: int) -> None:
    assert same(steps_compiled(4, "sm_120a"), given_steps(steps))


@pytest.mark.parametrize("place", [0, 1])
def test_without_a_meeting_steps_are_wrong(place: int) -> None:
    """Each of the two, in some order of warps."""
    kernel, given = steps_compiled(8), given_steps(7)
    ptx = without_meeting(kernel.ptx, place)
    wanted = interpret(kernel, given)[0]
    found = (simulate(kernel, given, ptx=ptx, schedule=order)[0] for order in ORDERS)
    assert any(not np.array_equal(each, wanted) for each in found)


def without_meeting(ptx: str, place: int) -> str:
    """Neither arrival nor wait of one of the meetings."""
    lines = ptx.splitlines()
    starts = [k for k, line in enumerate(lines) if "mbarrier.arrive.release.cluster" in line]
    wait = next(k for k in range(starts[place], len(lines)) if "mbarrier.try_wait.parity.acquire.cluster" in lines[k])
    gone = {starts[place], wait, wait + 1}
    return "\n".join(line for k, line in enumerate(lines) if k not in gone)


def by_views() -> str:
    """As `turned`, by views, whose tiles tensor copies may bring."""
    w = Writer("views", x="ptr<i32>", y="ptr<i32>", z="ptr<i32>")
    w.promise(x=16, y=16, z=16)
    x, y, z = (w.view(each, [N], [1], [size]) for each, size in ((w.x, N), (w.y, N), (w.z, N // 2)))
    half = w.view(w.y, [N], [1], [N // 2])
    stored = w.store(w.load(x, 0) * 3, y, 0)
    w.store(w.load(half, 1, token=stored) * 5 + w.load(half, 0, token=stored), z, 0)
    return w.text()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ctas", [2, 4])
def test_views_of_what_another_cta_has_stored(ctas: int, target: str, order: str) -> None:
    zeros = np.zeros(N, np.int32)
    given = Program("views", by_views, lambda: [numbers(N), zeros.copy(), zeros.copy()], (1,), None)
    assert same(tilesat.compile(by_views(), target, num_ctas=ctas), given, schedule=order)


def flags() -> str:
    """A tile is published by a release and read behind an acquire, by whoever comes."""
    w = Writer("flags", x="ptr<i32>", y="ptr<i32>", flag="ptr<i32>", z="ptr<i32>")
    w.promise(x=16, y=16, z=16)
    tile = w.load(w.view(w.x, [N], [1], [N]), 0)
    stored = w.store(tile + 1, w.view(w.y, [N], [1], [N]), 0)
    old, published = w.update(w.flag, w.const(5, "i32"), mode="xchg", token=stored, order="release")
    seen, read = w.gather(w.flag, token=published, order=ct.MemoryOrder.ACQUIRE, scope=ct.Scope.DEVICE)
    back, _ = w.gather(w.y.splat(N)[N - 1 - w.iota(N)], token=read)
    again, _ = w.update(w.flag, w.const(5, "i32"), w.const(9, "i32"), token=read, order="acq_rel")
    w.store(back + (seen * 100 + old * 10 + again).splat(N), w.view(w.z, [N], [1], [N]), 0)
    return w.text()


@pytest.mark.sampled(24)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ctas", [2, 4])
def test_strong_accesses(ctas: int, target: str, order: str) -> None:
    """All CTAs have what one has read, and what comes after it comes after it in all."""
    zeros = np.zeros(N, np.int32)
    arguments = [numbers(N), zeros, np.full(1, 3, np.int32), zeros]
    given = Program("flags", flags, lambda: [each.copy() for each in arguments], (1,), None)
    assert same(tilesat.compile(flags(), target, num_ctas=ctas), given, schedule=order)


def test_a_tile_changed_in_place_needs_no_meeting() -> None:
    w = Writer("k", x="ptr<f32>")
    view = w.view(w.x, [N], [1], [256])
    tile, read = w.load_token(view, 0)
    w.store(tile + 1.0, view, 0, token=read)
    entry = planned(entry_of(w.text()), 4)
    assert isinstance(entry, ct.Entry)
    assert not [op for op in entry.walk() if isinstance(op, nv_tileas.Meet)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("order", ORDERS[:3])
def test_tiles_are_drawn_once_a_cluster(order: str) -> None:
    """A counter gives a cluster its next tile, as it gives a CTA's; what one CTA has sent the others is alike in them,
    so that copies are multicast.
    """
    kernel = compiled(persistent="dynamic")
    assert kernel.ptx.count("atom.") == 1
    assert ".multicast::cluster" in kernel.ptx
    assert error(kernel, program(520, 300, 72), resident=4, schedule=order) < 1e-4


def reduced_into_a_view(kind: str, mode: str) -> str:
    """held [128, 128] += x [n, 128, 128], a tile block each, by its tile of 128 x 128."""
    w = Writer("k", x=f"ptr<{kind}>", held=f"ptr<{kind}>", m="i32")
    w.promise(x=16, held=16, m=1)
    x = w.view(w.x, [384, 128], [128, 1], [128, 128])
    held = w.view(w.held, [w.m, 128], [128, 1], [128, 128], None)
    at = [held, w.const(0, "i32"), w.const(0, "i32"), w.load(x, w.ids[0], 0), w.token]
    w.builder.add(
        ct.AtomicRedView, *[each.value for each in at], types=[TOKEN], segments=(1, 2, 1, 1),
        mode=ct.AtomicMode[mode], order=ct.MemoryOrder.RELAXED, scope=ct.Scope.DEVICE,
    )  # fmt: skip
    return w.text()


@pytest.mark.sampled(30)
@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
@pytest.mark.parametrize(("kind", "mode"), [("i32", "ADD"), ("f32", "ADDF"), ("i32", "MAX")])
@pytest.mark.parametrize("rows", [128, 100, 64, 40])
def test_updates_of_views_are_cut_with_their_tiles(rows: int, kind: str, mode: str, target: str) -> None:
    """Each CTA updates its part, also where the view ends in one, or the other is wholly outside."""

    def arguments() -> list[Any]:
        return [random((384, 128), kind, 1), random((128, 128), kind, 2), rows]

    text = reduced_into_a_view(kind, mode)
    made, given = updating(text, target), Program("k", lambda: text, arguments, (3,), None)
    found, wanted = simulate(made, given, schedule="skewed:1")[1], interpret(made, given)[1]
    assert largest_error(found, wanted) <= (0 if kind == "i32" else 1e-5)
    assert np.array_equal(found[rows:], arguments()[1][rows:])


@cache
def updating(text: str, target: str) -> Kernel:
    made = tilesat.compile(text, target, num_ctas=4)
    assert made.manifest["cluster"] == [4, 1, 1]
    entry = planned(entry_of(text), 4)
    assert isinstance(entry, ct.Entry)
    (update,) = (op for op in entry.walk() if isinstance(op, ct.AtomicRedView))
    assert str(update.value.type).startswith("tile<64x64x")
    assert update.parent is entry.body.block  # of all CTAs
    return made

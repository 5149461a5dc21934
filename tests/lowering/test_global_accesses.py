"""Loads and stores of global memory: what may be read through the read-only path, how many wait for one another, and
bounds that odd sizes, negative and distant tiles put to the test."""

from __future__ import annotations

import re
from itertools import groupby

import numpy as np
import pytest

import tilesat
from tests.tilesat.example_cases import EXAMPLES
from tilesat.fuzz.writer import Writer


def in_place(joined: bool) -> str:
    """x = x + y by views; the store comes after the load of x by its token, or is not ordered with it (a race)."""
    w = Writer("in_place", x="ptr<f32>", y="ptr<f32>", n="i32")
    w.promise(x=16, y=16, n=1)
    x, y = (w.view(base, [w.n], [1], (128,)) for base in (w.x, w.y))
    old, token = w.load_token(x, w.ids[0])
    w.store(old + w.load(y, w.ids[0]), x, w.ids[0], token=token if joined else None)
    return w.text()


def test_what_a_store_is_ordered_with_is_no_read_only_memory() -> None:
    """x is written after it is read, y never."""
    ordered, free = (tilesat.compile(in_place(joined), forbid=["load.ahead"]).ptx for joined in (True, False))
    assert (ordered.count("ld.global.nc.b32"), ordered.count("ld.global.b32")) == (1, 1)
    assert (free.count("ld.global.nc.b32"), free.count("ld.global.b32")) == (2, 0)


def test_what_is_stored_and_read_again_is_no_read_only_memory() -> None:
    """A gather behind a store, by its token; the gather in front of both is not ordered with it."""
    w = Writer("twice", x="ptr<f32>", y="ptr<f32>", z="ptr<f32>")
    lane = w.iota(128)
    first, _ = w.gather(w.x[lane])
    done = w.scatter(w.y[lane], first)
    again, _ = w.gather(w.y[lane], token=done)
    w.scatter(w.z[lane], again)
    ptx = tilesat.compile(w.text()).ptx
    assert (ptx.count("ld.global.nc.b32"), ptx.count("ld.global.b32")) == (1, 1)


def test_atomic_update_makes_memory_written() -> None:
    """What is read behind an update that acquires was perhaps stored by another block."""
    w = Writer("updated", flag="ptr<i32>", x="ptr<f32>", y="ptr<f32>")
    one = w.const(1, "i32")
    _, behind = w.update(w.flag, one, mode="add", order="acquire")
    lane = w.iota(128)
    found, _ = w.gather(w.x[lane], token=behind)
    w.scatter(w.y[lane], found)
    ptx = tilesat.compile(w.text()).ptx
    assert "ld.global.nc" not in ptx
    assert ptx.count("ld.global.b32") == 1


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_epilogue_loads_many_vectors_before_it_stores_them(target: str) -> None:
    """C of a product is read in two halves of 32 vectors of 8 bytes, each with one wait; ptxas may take the first half
    before any store. The halves are 256 bytes of a thread: with both in flight the accumulators spill.
    """
    ptx = tilesat.compile(EXAMPLES / "gemm.mlir", target, forbid=["l2.evict_first"]).ptx
    assert (ptx.count("ld.global.nc.v2.b32"), ptx.count("ld.global.v2.b32")) == (32, 32)
    runs = [(kind, len(list(group))) for kind, group in groupby(re.findall(r"(ld|st)\.global", ptx))]
    assert runs == [("ld", 32), ("st", 32)] * 2


@pytest.mark.parametrize(("terms", "window"), [(1, 16), (2, 8), (4, 4)])
def test_tiles_that_a_store_is_computed_from_share_what_is_in_flight(terms: int, window: int) -> None:
    """Sums of tiles, 32 accesses of 16 bytes each: as many of each are loaded at once as 256 bytes of a thread hold."""
    w = Writer("sums", x="ptr<f32>", z="ptr<f32>", n="i32")
    w.promise(x=16, z=16, n=16)
    parts = [w.load(w.view(w.x, [w.n, 128], [128, 1], (256, 128)), w.ids[0] + k, 0) for k in range(terms)]
    total = parts[0] + parts[0]
    for each in parts[1:]:
        total = total + each
    w.store(total, w.view(w.z, [w.n, 128], [128, 1], (256, 128)), w.ids[0], 0)
    ptx = tilesat.compile(w.text(), "sm_80").ptx
    runs = [(kind, len(list(group))) for kind, group in groupby(re.findall(r"(ld|st)\.global", ptx))]
    assert runs == [("ld", terms * window), ("st", window)] * (32 // window)


@pytest.mark.parametrize(("size", "again"), [(512, 0), (1024, 2), (4096, 0)])
def test_masks_that_a_thread_has_no_predicates_for_are_compared_again(size: int, again: int) -> None:
    """ptxas kept the last pair of loads back until the first store had freed a predicate: two waits, not one."""
    text = (EXAMPLES / "vecadd_ptr.mlir").read_text().replace("1024", str(size))
    kernel = tilesat.compile(text, "sm_80")
    ptx, threads = kernel.ptx, kernel.manifest["block"][0]
    loaded, stored = (set(re.findall(rf"@!?(%p\d+) {access}\.global", ptx)) for access in ("ld", "st"))
    assert len(loaded) == len(stored) == size // threads
    assert len(stored - loaded) == again == len(re.findall(r"@!%p\d+ st\.global", ptx)) == ptx.count("setp.ge.s32")


def test_stores_do_not_share_predicates_with_loads() -> None:
    """A predicate that lives from a load to its store takes one of a thread's seven."""
    ptx = tilesat.compile(EXAMPLES / "gemm.mlir", "sm_90a").ptx
    loaded, stored = (set(re.findall(rf"@(%p\d+) {access}\.global", ptx)) for access in ("ld", "st"))
    assert len(loaded) == len(stored) == 64
    assert not loaded & stored


def shifted(kind: str, tile: tuple[int, int]) -> str:
    """y[i, j] = x[i + shift] of whole tiles, `shift` tiles away: padding where x has no such tile."""
    w = Writer("shifted", x="ptr<f32>", y="ptr<f32>", m=kind, n=kind, down="i32", right="i32")
    w.promise(m=1, n=1)
    x = w.view(w.x, [w.m, w.n], [w.n, 1], tile, "zero")
    y = w.view(w.y, [w.m, w.n], [w.n, 1], tile)
    here = [w.ids[0], w.ids[1]]
    there = [i + by for i, by in zip(here, (w.down, w.right), strict=True)]
    w.store(w.load(x, *there), y, *here)
    return w.text()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["i32", "i64"])
@pytest.mark.parametrize("tile", [(16, 64), (64, 16), (32, 32)])
def test_bounds_of_overhanging_negative_and_distant_tiles(kind: str, tile: tuple[int, int]) -> None:
    rng = np.random.default_rng(len(kind) + tile[0])
    kernel = tilesat.compile(shifted(kind, tile))
    assert re.search(r"min\.u", kernel.ptx)  # a thread has so many accesses that they share what room there is
    shape = (45, 71)
    grid = [-(-n // t) for n, t in zip(shape, tile, strict=True)]
    for by in ((0, 0), (-1, 0), (0, -1), (1, 1), (-2, 1), (1000, 0), (0, 1000)):
        x, y = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
        kernel.run(grid, x, y, *shape, *by, on="sim")
        padded = np.zeros(tuple(n * t for n, t in zip(grid, tile, strict=True)), np.float32)
        for i in range(shape[0]):
            for j in range(shape[1]):
                a, b = i + by[0] * tile[0], j + by[1] * tile[1]
                padded[i, j] = x[a, b] if 0 <= a < shape[0] and 0 <= b < shape[1] else 0.0
        assert np.array_equal(y, padded[: shape[0], : shape[1]]), by


def summed(kind: str) -> str:
    """y[i] = sum of x[i + shift, j] over tiles j of 16 rows: the loop changes one coordinate, `shift` another."""
    w = Writer("summed", x="ptr<f32>", y="ptr<f32>", m=kind, n=kind, first="i32", past="i32", shift="i32")
    w.promise(x=16, y=16)
    x = w.view(w.x, [w.m, w.n, 64], [w.n * 64, 64, 1], (1, 16, 64), "zero")
    y = w.view(w.y, [w.m, 16, 64], [1024, 64, 1], (1, 16, 64))
    with w.loop(w.first, w.past, carried=[w.const(0.0, "f32", 1, 16, 64)]) as loop:
        (total,) = loop.values
        loop.values = [total + w.load(x, w.ids[0] + w.shift, loop.counter, 0)]
    w.store(loop.values[0], y, w.ids[0], 0, 0)
    return w.text()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["i32", "i64"])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_bounds_that_a_loop_does_not_change_are_part_of_the_size(kind: str, target: str) -> None:
    """Each access of an iteration compared all coordinates; where one is outside before the loop, nothing is inside."""
    kernel = tilesat.compile(summed(kind), target, forbid=["tma"])
    if target == "sm_80":
        assert "setp.lt.and" not in kernel.ptx.partition("$L0:")[2].partition("$L1:")[0]
    rng = np.random.default_rng(7)
    x = rng.standard_normal((3, 71, 64)).astype(np.float32)
    for first, past, shift in ((0, 5, 0), (-2, 7, 1), (3, 3, 0), (0, 5, -1), (0, 5, 1000), (-1, 5, -1000)):
        y = rng.standard_normal((3, 16, 64)).astype(np.float32)
        kernel.run([3], x, y, 3, 71, first, past, shift, on="sim", hazards=True)
        rows = np.zeros((3, 12 * 16, 64))  # of tiles -2 to 9
        rows[:, 2 * 16 : 2 * 16 + 71] = x
        whole = rows.reshape(3, 12, 16, 64)
        found = whole[:, first + 2 : past + 2].sum(1)
        expected = np.stack([found[i + shift] if 0 <= i + shift < 3 else np.zeros((16, 64)) for i in range(3)])
        assert np.abs(y - expected).max() < 1e-5, (first, past, shift)

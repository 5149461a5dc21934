"""Tensor copies of rank 1 to 5 on sm_90a, brought ahead of a loop by the producer: tiles that overhang every edge."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilesat
from lowering.atoms.tma import prefetches
from lowering.targets import target
from lowering.targets.changed import changed
from runtime.ptxas import assemble
from tests.programs.program import DTYPES, Program, check, random
from tests.tilesat.example_cases import EXAMPLES
from tilesat.fuzz.writer import Tile, Writer

TILES: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {
    1: ((1024,), (5000,)),
    2: ((16, 64), (70, 52)),
    3: ((4, 4, 64), (14, 3, 60)),
    4: ((2, 4, 4, 32), (9, 3, 7, 28)),
    5: ((2, 2, 2, 4, 32), (9, 2, 1, 3, 28)),
}
"""By rank: a tile and an array, which ends inside a tile along most dimensions."""


def row_major(sizes: list[Any]) -> list[Any]:
    """Strides of dense rows; sizes are numbers or scalars of the program."""
    strides: list[Any] = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, size if strides[0] == 1 else size * strides[0])
    return strides


def total(rank: int, kind: str, dynamic: bool = False, divisor: int = 16) -> Program:
    """y = the sum of all tiles of x along its first dimension; `dynamic`: sizes and so strides are parameters."""
    tile, shape = TILES[rank]
    unit = 16 // np.dtype(DTYPES[kind]).itemsize
    held = (*shape[:-1], -(-shape[-1] // unit) * unit) if rank > 1 else shape  # rows start at multiples of 16 bytes
    names = [f"n{i}" for i in range(rank)]

    def source() -> str:
        w = Writer("total", x=f"ptr<{kind}>", y=f"ptr<{kind}>", pitch="i32", **dict.fromkeys(names, "i32"))
        w.promise(x=divisor, y=16, pitch=unit if rank > 1 else 1, **dict.fromkeys(names, 1))
        sizes: list[Any] = [w.args[name] for name in names] if dynamic else list(shape)
        pitches = [*sizes[:-1], w.pitch] if dynamic else list(held)
        x = w.view(w.x, sizes, row_major(pitches), tile)
        with w.loop(0, w.tiles(x)[0], carried=[w.const(0, kind, *tile)]) as loop:
            loop.values = [loop.values[0] + w.load(x, loop.counter, *[0] * (rank - 1))]
        w.store(loop.values[0], w.view(w.y, tile, row_major(list(tile)), tile), *[0] * rank)
        return w.text()

    def arguments() -> list[Any]:
        return [random(held, kind, 1), random(tile, kind, 2), held[-1], *shape]

    def expected(x: Any, y: Any, *rest: Any) -> dict[int, Any]:
        steps = -(-shape[0] // tile[0])
        inside = tuple(slice(min(s, t)) for s, t in zip(shape[1:], tile[1:], strict=True))
        padded = np.zeros((steps, *tile), x.dtype).reshape(steps * tile[0], *tile[1:])
        padded[(slice(shape[0]), *inside)] = x[tuple(slice(s) for s in shape)][(slice(None), *inside)]
        found = np.zeros(tile, x.dtype)
        for step in padded.reshape(steps, *tile):
            found = found + step
        return {1: found}

    return Program(f"total-{rank}-{kind}", source, arguments, (1,), expected, 0.0)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("rank", TILES)
@pytest.mark.parametrize(("kind", "dynamic"), [("f32", False), ("f16", True)])
def test_sums_of_tiles_of_every_rank(rank: int, kind: str, dynamic: bool) -> None:
    """Registers could load full vectors here too, but not ahead of the loop."""
    kernel = check(total(rank, kind, dynamic), "sm_90a")
    assert kernel.ptx.count(f"cp.async.bulk.tensor.{rank}d") == kernel.ptx.count("cp.async.bulk.tensor") > 0
    assert "ld.global" not in kernel.ptx


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("rank", "kind"), [(1, "i8"), (2, "i16"), (3, "bf16"), (4, "i32"), (5, "i64")])
def test_sums_of_tiles_of_other_types(rank: int, kind: str) -> None:
    assert f"cp.async.bulk.tensor.{rank}d" in check(total(rank, kind), "sm_90a").ptx


@pytest.mark.parametrize("rank", [1, 3])
def test_bases_at_any_element_are_not_for_tensor_copies(rank: int) -> None:
    """What is not promised to be 16-byte aligned is copied four bytes at a time."""
    kernel = check(total(rank, "f32", divisor=4), "sm_90a")
    assert "cp.async.bulk" not in kernel.ptx
    assert "cp.async.ca" in kernel.ptx


def batched(rank: int, kind: str) -> Program:
    """C = A B^T for each of the leading indices of arrays of `rank` dimensions."""
    m, n, k = 100, 72, 136
    batch, lead = (2, 1, 2)[: rank - 2], (1,) * (rank - 2)

    def source() -> str:
        w = Writer("batched", a=f"ptr<{kind}>", b=f"ptr<{kind}>", c="ptr<f32>", m="i32", n="i32", k="i32")
        w.promise(a=16, b=16, c=16, m=4, n=8, k=8)

        def view(base: Tile, rows: Tile, columns: Tile) -> Tile:
            sizes = [*batch, rows, columns]
            return w.view(base, sizes, row_major(sizes), [*lead, 64, 64])

        a, b, c = view(w.a, w.m, w.k), view(w.b, w.n, w.k), view(w.c, w.m, w.n)
        rest, index = w.ids[2], list[Tile]()
        for extent in reversed(batch):
            index.insert(0, rest.rem(extent))
            rest = rest.div(extent)
        with w.loop(0, w.tiles(a)[-1], carried=[w.const(0.0, "f32", 64, 64)]) as loop:
            left = w.load(a, *index, w.ids[0], loop.counter).reshape(64, 64)
            right = w.load(b, *index, w.ids[1], loop.counter).reshape(64, 64)
            loop.values = [w.dot(left, right.T, loop.values[0])]
        w.store(loop.values[0].reshape(*lead, 64, 64), c, *index, *w.ids[:2])
        return w.text()

    def arguments() -> list[Any]:
        return [
            random((*batch, m, k), kind, 1),
            random((*batch, n, k), kind, 2),
            random((*batch, m, n), "f32", 3),
            m,
            n,
            k,
        ]

    def expected(a: Any, b: Any, *rest: Any) -> dict[int, Any]:
        return {2: a.astype(np.float64) @ b.astype(np.float64).swapaxes(-1, -2)}

    return Program(f"batched-{rank}", source, arguments, (2, 2, int(np.prod(batch))), expected, 2e-3)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("rank", "kind"), [(2, "bf16"), (3, "f16"), (4, "bf16"), (5, "f16")])
def test_batched_products_of_every_rank(rank: int, kind: str) -> None:
    kernel = check(batched(rank, kind), "sm_90a")
    assert kernel.ptx.count(f"cp.async.bulk.tensor.{rank}d") >= 2
    assert "wgmma.mma_async" in kernel.ptx


@pytest.mark.sampled(4)
@pytest.mark.parametrize("tile", [(4096,), (2, 32, 64), (4, 4, 4, 64), (2, 2, 4, 4, 64)])
def test_products_of_tiles_that_fold_dimensions(tile: tuple[int, ...]) -> None:
    """The 64 x 64 operand is a tile of another rank and shape; its boxes are cut as the swizzle wants them."""
    rank, steps = len(tile), 7
    shape = (tile[0] * steps - 1, *(max(1, t - 1) for t in tile[1:-1]), *((56,) if rank > 1 else ()))

    def source() -> str:
        w = Writer("folded", a="ptr<f16>", b="ptr<f16>", c="ptr<f32>")
        w.promise(a=16, b=16, c=16)
        a = w.view(w.a, shape, row_major(list(shape)), tile)
        b, c = w.view(w.b, [64, 64 * steps], [64 * steps, 1], (64, 64)), w.view(w.c, [64, 64], [64, 1], (64, 64))
        with w.loop(0, steps, carried=[w.const(0.0, "f32", 64, 64)]) as loop:
            left = w.load(a, loop.counter, *[0] * (rank - 1)).reshape(64, 64)
            loop.values = [w.dot(left, w.load(b, 0, loop.counter).T, loop.values[0])]
        w.store(loop.values[0], c, 0, 0)
        return w.text()

    def expected(a: Any, b: Any, c: Any) -> dict[int, Any]:
        padded = np.zeros((steps * tile[0], *tile[1:]))
        padded[tuple(slice(s) for s in shape)] = a
        blocks = padded.reshape(steps, 64, 64)
        return {2: sum(block @ b[:, 64 * i : 64 * i + 64].astype(np.float64).T for i, block in enumerate(blocks))}

    def arguments() -> list[Any]:
        return [random(shape, "f16", 1), random((64, 64 * steps), "f16", 2), random((64, 64), "f32", 3)]

    kernel = check(Program(f"folded-{rank}", source, arguments, (1,), expected, 2e-3), "sm_90a")
    assert f"cp.async.bulk.tensor.{rank}d" in kernel.ptx


def test_a_load_after_a_store_of_its_loop_stays_in_it() -> None:
    """x[i + 1] += x[i], token by token: no producer may run ahead."""

    def source() -> str:
        w = Writer("chain", x="ptr<f32>")
        w.promise(x=16)
        x = w.view(w.x, [1024 * 6], [1], (1024,))
        with w.loop(0, 5, carried=[w.token]) as loop:
            following = loop.counter + 1
            old, read = w.load_token(x, loop.counter, token=loop.values[0])
            new, again = w.load_token(x, following, token=read)
            loop.values = [w.store(old + new, x, following, token=again)]
        return w.text()

    program = Program("chain", source, lambda: [random((6144,), "f32", 1)], (1,), lambda x: {
        0: np.cumsum(x.reshape(6, 1024), axis=0, dtype=np.float32).reshape(-1)
    }, 1e-6)  # fmt: skip
    assert "cp.async" not in check(program, "sm_90a").ptx


def test_without_asynchronous_copies_registers_load_full_vectors() -> None:
    text = total(2, "f32").source()
    kernel = tilesat.compile(text, "sm_90a", forbid=("tma", "cp.async"))
    assert "cp.async" not in kernel.ptx
    assert "ld.global.nc.v4" in kernel.ptx
    assert kernel.manifest["block"] == [128, 1, 1]


def test_host_evaluates_what_strides_became() -> None:
    """The e-graph writes 2 (m k) as a shift, and a size as a difference where the source does."""

    def source() -> str:
        w = Writer("shifted", x="ptr<f32>", y="ptr<f32>", m="i32", n="i32")
        w.promise(x=16, y=16, m=1, n=4)
        x = w.view(w.x, [8, w.m - 1, w.n], [w.m * w.n * 2, w.n, 1], (1, 16, 64))
        with w.loop(0, 8, carried=[w.const(0.0, "f32", 1, 16, 64)]) as loop:
            loop.values = [loop.values[0] + w.load(x, loop.counter, 0, 0)]
        w.store(loop.values[0], w.view(w.y, [1, 16, 64], [1024, 64, 1], (1, 16, 64)), 0, 0, 0)
        return w.text()

    def expected(x: Any, y: Any, *rest: Any) -> dict[int, Any]:
        found = np.zeros_like(y)
        for step in x[:, 0, :12, :60]:
            found[0, :12, :60] = found[0, :12, :60] + step
        return {1: found}

    def arguments() -> list[Any]:
        return [random((8, 2, 13, 60), "f32", 1), random((1, 16, 64), "f32", 2), 13, 60]

    kernel = check(Program("shifted", source, arguments, (1,), expected, 0.0), "sm_90a")
    (record,) = (p for p in kernel.manifest["params"] if p["kind"] == "tensormap")
    assert {"mul": [{"mul": [{"arg": 2}, {"arg": 3}]}, {"const": 2}]} in [
        stride["mul"][0] for stride in record["global_strides"]
    ]
    assert "add" in str(record["global_dim"])


def test_tensor_maps_are_prefetched_once() -> None:
    """By one thread, before anything waits for a copy."""
    kernel = tilesat.compile(total(2, "f16").source(), "sm_90a")
    maps = [p["kind"] for p in kernel.manifest["params"]].count("tensormap")
    lines = kernel.ptx.splitlines()
    prefetches = [i for i, line in enumerate(lines) if re.search(r"@%p\d+ prefetch\.tensormap \[%rd\d+\];", line)]
    assert len(prefetches) == maps > 0
    assert prefetches[-1] < next(i for i, line in enumerate(lines) if "bra" in line)
    assert "prefetch" not in tilesat.compile(total(2, "f16").source(), "sm_80").ptx


def test_prefetches_of_tensor_maps_can_be_forbidden() -> None:
    kernel = check(total(2, "f16"), "sm_90a", forbid=("prefetch.tensormap",))
    assert "cp.async.bulk.tensor" in kernel.ptx
    assert "prefetch" not in kernel.ptx
    assert prefetches(target("sm_90a"), frozenset())
    assert not prefetches(changed(target("sm_90a"), [("latency.global", 1e-9)]), frozenset())  # nothing to spare


def test_one_row_travels_in_the_widest_boxes() -> None:
    """No swizzle cuts it into 128 bytes: a piece of 1024 elements takes 4 copies of 256, for each of 5 loads."""
    kernel = tilesat.compile(EXAMPLES / "layernorm.mlir", "sm_90a")
    maps = [each for each in kernel.manifest["params"] if each["kind"] == "tensormap"]
    assert {(each["box"][0], each["swizzle"]) for each in maps} == {(256, "none")}
    assert kernel.ptx.count("cp.async.bulk.tensor") == 20


def test_copies_into_this_block_call_nothing() -> None:
    """On sm_120a a copy into the cluster's shared memory brought a call and 8 bytes of stack."""
    kernel = tilesat.compile(EXAMPLES / "layernorm.mlir", "sm_120a")
    assert "cp.async.bulk.tensor" in kernel.ptx
    assembled = assemble(kernel.ptx, "sm_120a")
    assert (assembled.stack, assembled.warnings, assembled.infos) == (0, (), ())


def test_small_tiles_of_loops_come_ahead() -> None:
    """128 bytes of factors a step: loaded by the threads that multiply, they would be waited for in each iteration."""
    kernel = tilesat.compile(EXAMPLES / "gemm_negated.mlir", "sm_90a")
    assert "cp.async.bulk.tensor.1d" in kernel.ptx
    assert "ld.global" not in kernel.ptx
    boxes = [each["box"] for each in kernel.manifest["params"] if each["kind"] == "tensormap"]
    assert [64] in boxes

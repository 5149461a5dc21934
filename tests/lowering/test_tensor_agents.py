"""Sums in tensor memory of loops that have others around them: an agent of its own begins the products, on the next
accumulator while the last one is read. In hazard mode, in skewed orders of warps, and with each part of the protocol
changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import nv_tileas
from lowering.atoms.tcgen05 import BY_AGENT
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.lowering.test_clusters import ORDERS, UNIT, error, product, program
from tests.programs.program import Program, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

ERROR = 1e-4
SCHEDULES = ("static", "atomic", "dynamic")
ROLES = ("consume", "produce", "multiply")


def clean(source: str | bytes, target: str = "sm_100a", **options: Any) -> Kernel:
    kernel = tilesat.compile(source, target, **options)
    assembled = assemble(kernel.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    return kernel


def switch(kernel: Kernel) -> nv_tileas.AgentSwitch:
    (found,) = (
        op for op in kernel.compiled.modules["nv_tileas"].walk() if isinstance(op, nv_tileas.AgentSwitch)
    )  # fmt: skip
    return found


@cache
def persistent(
    schedule: str = "static", kind: str = "f16", right: str = "nk", ctas: int = 1, target: str = "sm_100a"
) -> Kernel:
    kernel = clean(product(kind, right), target, persistent=schedule, num_ctas=ctas)
    assert switch(kernel).roles == ROLES
    return kernel


@pytest.mark.sampled(120)
@pytest.mark.parametrize("size", [(600, 520, 136), (300, 272, 144), (1, 16, 64), (200, 136, 0)])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("kind", "right", "ctas", "target"),
    [
        ("f16", "nk", 1, "sm_100a"), ("f16", "nk", 2, "sm_100a"), ("bf16", "nk", 1, "sm_103a"),
        ("f16", "kn", 2, "sm_100a"), ("f8E4M3FN", "nk", 1, "sm_100a"), ("f16", "nk", 4, "sm_110a"),
    ],
)  # fmt: skip
def test_persistent_products(
    kind: str, right: str, ctas: int, target: str, schedule: str, size: tuple[int, int, int]
) -> None:
    """More tile blocks than CTAs; tails in each dimension; no step at all."""
    m, n, k = size
    n, k = (-(-each // UNIT[kind]) * UNIT[kind] for each in (n, k))
    kernel = persistent(schedule, kind, right, ctas, target)
    assert error(kernel, program(m, n, k, kind, right), right, resident=ctas) < ERROR


@pytest.mark.sampled(12)
@pytest.mark.parametrize("steps", range(8))
def test_any_number_of_steps(steps: int) -> None:
    assert error(persistent(), program(600, 72, 64 * steps), resident=1) < ERROR


@pytest.mark.sampled(30)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("order", ORDERS)
def test_skewed_orders(schedule: str, order: str) -> None:
    assert error(persistent(schedule), program(600, 272, 136), resident=1, schedule=order) < ERROR


M, N, K, TILES, STEPS = 128, 64, 64, 5, 3
"""A tile of A is M x K of TILES x M rows and STEPS x K columns, one of B K x N of STEPS x K x 2 N, one of D M x N."""


class Rows:
    """A kernel over rows of tiles, which its CTAs go through themselves."""

    def __init__(self, w: Writer):
        self.w = w
        deep = STEPS * K
        self.a = w.view(w.a, [TILES * M, deep], [deep, 1], [M, K])
        self.b = w.view(w.b, [deep, 2 * N], [2 * N, 1], [K, N])
        self.d = w.view(w.d, [TILES * M, N], [N, 1], [M, N])

    def sum(self, row: Tile, column: int = 0, steps: Any = STEPS) -> Tile:
        with self.w.loop(0, steps, carried=[self.w.const(0.0, "f32", M, N)]) as loop:
            k = loop.counter
            loop.values = [self.w.dot(self.w.load(self.a, row, k), self.w.load(self.b, k, column), loop.values[0])]
        return loop.values[0]

    def all(self, body: Callable[[Tile], None]) -> None:
        with self.w.loop(self.w.ids[0], TILES, self.w.grid[0]) as tiles:
            body(tiles.counter)

    def store(self, tile: Tile, row: Tile) -> None:
        self.w.store(tile, self.d, row, 0)


def one(rows: Rows) -> None:
    rows.all(lambda row: rows.store(rows.sum(row), row))


def two(rows: Rows) -> None:
    """Two sums of a tile, one behind the other."""
    rows.all(lambda row: rows.store(rows.sum(row) * rows.sum(row, 1), row))


def uneven(rows: Rows) -> None:
    """As many steps as a table says, none among them."""

    def tile(row: Tile) -> None:
        steps = rows.w.gather(rows.w.table[row])[0]
        rows.store(rows.sum(row, steps=steps), row)

    rows.all(tile)


def branch(rows: Rows) -> None:
    """Tiles of odd rows only."""

    def tile(row: Tile) -> None:
        rows.w.branch((row & 1).eq(1), lambda: rows.store(rows.sum(row), row))

    rows.all(tile)


def nest(rows: Rows) -> None:
    """Two loops around the steps, one of which starts again."""

    def tile(row: Tile) -> None:
        with rows.w.loop(0, row) as again:
            rows.store(rows.sum(again.counter), again.counter)

    rows.all(tile)


def handed(rows: Rows) -> None:
    """The steps of a tile are what the last one has stored."""
    w = rows.w
    mine = w.table[w.ids[0]]
    with w.loop(w.ids[0], TILES, w.grid[0], carried=[w.token]) as tiles:
        steps, read = w.gather(mine, token=tiles.values[0])
        tiles.values = [w.scatter(mine, (steps + 2).rem(STEPS + 1), token=read)]
        rows.store(rows.sum(tiles.counter, steps=steps), tiles.counter)


def products(a: Any, b: Any, column: int = 0, steps: int = STEPS) -> Any:
    return a[:, : K * steps].astype(np.float64) @ b[: K * steps, N * column : N * (column + 1)].astype(np.float64)


def tiled(a: Any, b: Any, d: Any, steps: list[int | None]) -> Any:
    """D with the tiles that have a number of steps."""
    found = d.astype(np.float64)
    for row, count in enumerate(steps):
        if count is not None:
            here = slice(M * row, M * (row + 1))
            found[here] = products(a[here], b, 0, count)
    return found


TABLE = np.array([2, 0, 3, 1, 3], np.int32)
KERNELS: dict[str, tuple[Callable[[Rows], None], Callable[[Any, Any, Any], Any]]] = {
    "one": (one, lambda a, b, d: products(a, b)),
    "two": (two, lambda a, b, d: products(a, b) * products(a, b, 1)),
    "uneven": (uneven, lambda a, b, d: tiled(a, b, d, [*map(int, TABLE)])),
    "branch": (branch, lambda a, b, d: tiled(a, b, d, [None, STEPS, None, STEPS, None])),
    "nest": (nest, lambda a, b, d: tiled(a, b, d, [STEPS] * (TILES - 1) + [None])),
    "handed": (handed, lambda a, b, d: tiled(a, b, d, [2, 0, 0, 2, 2])),
}


def own(name: str, blocks: int = 2) -> Program:
    def source() -> str:
        w = Writer(name, a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", table="ptr<i32>")
        w.promise(a=16, b=16, d=16)
        KERNELS[name][0](Rows(w))
        return w.text()

    def arguments() -> list[Any]:
        a, b = random((TILES * M, STEPS * K), "f16", 1, 0.3), random((STEPS * K, 2 * N), "f16", 2, 0.3)
        return [a, b, random((TILES * M, N), "f32", 3), TABLE]

    return Program(name, source, arguments, (blocks,), None)


@cache
def owned(name: str) -> Kernel:
    return clean(own(name).source())


@pytest.mark.sampled(24)
@pytest.mark.parametrize("order", ["together", *ORDERS[:2]])
@pytest.mark.parametrize("name", KERNELS)
def test_loops_of_the_kernel_itself(name: str, order: str) -> None:
    kernel, given = owned(name), own(name)
    a, b, d, *_ = given.arguments()
    assert switch(kernel).roles == ROLES
    found = simulate(kernel, given, schedule=order)[2]
    assert largest_error(found, KERNELS[name][1](a, b, d)) < ERROR


def accumulators(kernel: Kernel) -> list[tuple[int, int, int]]:
    """Of each its first column, those of the allocation, stages."""
    found = (op for op in kernel.compiled.modules["nv_tileas"].walk() if isinstance(op, nv_tileas.AllocTensorMemory))
    return [(op.column, op.columns, op.stages) for op in found]


@pytest.mark.in_turn
def test_as_many_stages_as_there_are_columns_for() -> None:
    """Two accumulators of 256 columns in turn; of two sums of a tile each has two of 64, of four of 128 one."""
    assert accumulators(persistent(ctas=2)) == [(0, 512, 2)]
    assert accumulators(owned("two")) == [(0, 256, 2), (128, 256, 2)]
    assert {stages for *_, stages in accumulators(persistent())} == {1}


def test_the_agent_can_be_forbidden() -> None:
    """All warps then read each product."""
    given = own("one")
    kernel = clean(given.source(), forbid=[BY_AGENT])
    assert switch(kernel).roles == ROLES[:2]
    assert "tcgen05.mma" in kernel.ptx
    assert owned("one").cost < kernel.cost
    a, b, *_ = given.arguments()
    assert largest_error(simulate(kernel, given)[2], products(a, b)) < ERROR


@pytest.mark.in_turn
def test_what_no_producer_brings_all_warps_read() -> None:
    """Each tile is read behind the one before, so no agent brings them ahead: the same as where it is forbidden."""

    def source() -> str:
        w = Writer("ordered", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", table="ptr<i32>")
        w.promise(a=16, b=16, d=16)
        rows = Rows(w)
        with w.loop(w.ids[0], TILES, w.grid[0], carried=[w.token]) as tiles:
            with w.loop(0, STEPS, carried=[w.const(0.0, "f32", M, N), tiles.values[0]]) as loop:
                total, token = loop.values
                x, token = w.load_token(rows.a, tiles.counter, loop.counter, token=token)
                loop.values = [w.dot(x, w.load(rows.b, loop.counter, 0), total), token]
            total, token = loop.values
            tiles.values = [w.store(total, rows.d, tiles.counter, 0, token=token)]
        return w.text()

    given = Program("ordered", source, own("one").arguments, (2,), None)
    kernel = clean(source())
    assert kernel.ptx == clean(source(), forbid=[BY_AGENT]).ptx
    assert "tcgen05.mma" in kernel.ptx
    a, b, *_ = given.arguments()
    assert largest_error(simulate(kernel, given)[2], products(a, b)) < ERROR


COMMIT = r"tcgen05\.commit\.\S+ "
WAIT = r"mbarrier\.try_wait\S+ %p\d+, "
AGAIN = r"\n\s+@!%p\d+ bra \S+;"
MUTANTS: dict[str, tuple[str, str, str]] = {
    "no wait for an empty accumulator": ("uneven", WAIT + r"\[%r33\+73792\].*" + AGAIN, ""),
    "empty in the round of now": ("uneven", r"(\[%r33\+73792\]), %r36;", r"\1, %r34;"),
    "always empty": ("uneven", r"(\[%r33\+73792\]), %r36;", r"\1, 1;"),
    "empty at the stage of another": ("uneven", r"(%p\d+, \[%r33\+)73792\]", r"\g<1>73800]"),
    "no wait for a full accumulator": ("uneven", WAIT + r"\[%r51\+73776\].*" + AGAIN, ""),
    "full in the round before": ("uneven", r"(\[%r51\+73776\]), %r52;", r"\1, 1;"),
    "full in the first round": ("uneven", r"(\[%r51\+73776\]), %r52;", r"\1, 0;"),
    "the last product not committed": ("uneven", COMMIT + r"\[%r33\+73776\];", ""),
    "committed to the stage of another": ("uneven", r"(" + COMMIT + r"\[%r33\+)73776\]", r"\g<1>73784]"),
    "committed before the products": (
        "uneven", r"(?s)(shl\.b32 %r37, .*?)(" + COMMIT + r"\[%r33\+73776\];)", r"\2 \1"
    ),
    "a stage given back to nobody": ("uneven", COMMIT + r"\[%r31\+73752\];", ""),
    "an accumulator given back to nobody": ("uneven", r"@%p20 mbarrier\.arrive.*73792\];", ""),
    "given back before it is loaded": (
        "uneven",
        r"(?s)(\$L17:)(.*?)(bar\.warp\.sync -1;\s+@%p20 mbarrier\.arrive\S+ _, \[%r51\+73792\];)", r"\1 \3 \2"
    ),
    "not loaded when it is given back": ("uneven", r"tcgen05\.wait::ld.*;", ""),
    "given back by three warps": ("uneven", r"(mbarrier\.init.*73792\], )4;", r"\g<1>3;"),
    "given back by five warps": ("uneven", r"(mbarrier\.init.*73792\], )4;", r"\g<1>5;"),
    "filled by two commits": ("uneven", r"(mbarrier\.init.*73776\], )1;", r"\g<1>2;"),
    "the readers' parity never changes": ("uneven", r"xor\.b32 %r52, .*;", ""),
    "the readers' stage never changes": ("uneven", r"selp\.b32 %r51, .*;", ""),
    "the agent's parity never changes": ("uneven", r"selp\.b32 %r34, .*;", ""),
    "the agent's stage never changes": ("uneven", r"selp\.b32 %r33, .*;", ""),
    "the agent adds up in the first stage": ("uneven", r"shl\.b32 %r37, %r33, 3;", "shl.b32 %r37, %r1, 3;"),
    "the readers load the first stage": ("uneven", r"shl\.b32 %r54, %r51, 3;", "shl.b32 %r54, %r1, 3;"),
    "stages of half the columns": ("uneven", r"shl\.b32 (%r37|%r54), (%r\d+), 3;", r"shl.b32 \1, \2, 2;"),
    "columns of one stage": ("uneven", r"(tcgen05\.(?:de)?alloc.*), 128;", r"\1, 64;"),
    "the first product adds": ("uneven", r"(tcgen05\.mma.*), %p15;", r"\1, 1;"),
    "no zeros without steps": ("uneven", r"tcgen05\.st\..*;", ""),
    "zeros not there when loaded": ("uneven", r"tcgen05\.wait::st.*;", ""),
    "memory given back before all have read": ("uneven", r"bar\.sync 1, 128;(?=\s+@!%p1 bra)", ""),
    "memory kept": ("uneven", r"tcgen05\.dealloc.*;", ""),
    "memory given back twice": ("uneven", r"(tcgen05\.dealloc.*;)", r"\1 \1"),
    "no wait for what is handed over": ("handed", r"\$W6:\s+" + WAIT + r"\S+ %r36;" + AGAIN, ""),
    "not said that it is handed over": ("handed", r"(st\.shared\.b32 \[%r1\+73824\].*\n)\s+mbarrier\.arrive.*;", r"\1"),
    "not said that it is taken": ("handed", r"mbarrier\.arrive\S+ _, \[%r1\+73840\];", ""),
    "handed over in the round of now": ("handed", r"xor\.b32 %r59, %r56, 1;", "mov.b32 %r59, %r56;"),
}  # fmt: skip
"""Kernel, pattern in its PTX and what is there instead."""


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    """One CTA for all tiles: the accumulators go round more than twice."""
    which, *change = MUTANTS[name]
    kernel, given = owned(which), own(which, blocks=1)
    a, b, d, *_ = given.arguments()
    wanted = tiled(a, b, d, [*map(int, TABLE)] if which == "uneven" else [2, 0, 2, 0, 2])
    ptx = changed(kernel.ptx, (change[0], change[1]))

    def right(order: str) -> bool:
        return largest_error(simulate(kernel, given, ptx=ptx, schedule=order)[2], wanted) < ERROR

    caught(right, ("together", *ORDERS))

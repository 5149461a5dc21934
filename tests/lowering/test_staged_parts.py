"""Stores through a buffer of a part of the tile: which registers a part is, persistent products that store so, and the
protocol of the buffer with each of its parts changed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import nv_tileas
from lowering.atoms.tma import PARTS
from lowering.layouts.boxes import boxes
from lowering.layouts.shared import swizzled
from lowering.layouts.staged import by_parts, in_parts
from lowering.layouts.tensor import rows_by_lane
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.lowering.test_clusters import ORDERS
from tests.programs.program import Program, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

SHAPE = (128, 256)


@pytest.mark.parametrize(("size", "warps", "parts"), [(4, 8, (2, 4)), (2, 8, (2,)), (4, 4, (2, 4, 8)), (2, 4, (2, 4))])
def test_parts_are_boxes_that_registers_choose(size: int, warps: int, parts: tuple[int, ...]) -> None:
    """All elements once, each where the boxes of its part have it; more parts would be chosen by warps, or no boxes."""
    layout = rows_by_lane(*SHAPE, warps)
    plain = swizzled(SHAPE, (1, 0), size, 128)
    plan = boxes(SHAPE, 1, plain)
    assert plan is not None
    shared = by_parts(layout, plain, 128 * 128 // size)
    moved = boxes(SHAPE, 1, shared)
    assert moved is not None
    assert (moved.box, sorted(o for o, _ in moved.places)) == (plan.box, sorted(o for o, _ in plan.places))
    for count in parts:
        cut = in_parts(layout, shared, count)
        assert cut is not None
        held = layout.element_map()
        lies, within = shared.offset_map(), cut.shared.offset_map()[cut.layout.element_map()]
        for number, registers in enumerate(cut.registers):
            at = lies[held.reshape(-1, layout.n_regs)[:, registers]]
            assert np.array_equal(at, within.reshape(-1, len(registers)) + number * (1 << cut.shared.bits))
    assert in_parts(layout, shared, 2 * parts[-1]) is None or 128 * 256 // (2 * parts[-1]) < 128 * 128 // size


def source(out: str, kind: str = "f16", tile: tuple[int, int, int] = (256, 256, 64)) -> str:
    """D = A B, f16, D of type `out`."""
    tm, tn, tk = tile
    w = Writer("product", a=f"ptr<{kind}>", b=f"ptr<{kind}>", d=f"ptr<{out}>", m="i32", n="i32", k="i32")
    w.promise(a=16, b=16, d=16, m=1, n=8, k=8)
    a = w.view(w.a, [w.m, w.k], [w.k, 1], [tm, tk], "zero")
    b = w.view(w.b, [w.n, w.k], [w.k, 1], [tn, tk], "zero")
    d = w.view(w.d, [w.m, w.n], [w.n, 1], [tm, tn])
    x, y, _ = w.ids
    with w.loop(0, w.tiles(a)[1], carried=[w.const(0, "f32", tm, tn)]) as loop:
        k = loop.counter
        loop.values = [w.dot(w.load(a, x, k), w.load(b, y, k).T, loop.values[0])]
    w.store(loop.values[0] if out == "f32" else loop.values[0].to(out), d, x, y)
    return w.text()


def program(m: int, n: int, k: int, out: str, tile: tuple[int, int, int] = (256, 256, 64)) -> Program:
    def arguments() -> list[Any]:
        a, b = random((m, k), "f16", 1, 0.3), random((n, k), "f16", 2, 0.3)
        return [a, b, random((m, n), out, 3), m, n, k]

    return Program("product", lambda: source(out, tile=tile), arguments, (-(-m // tile[0]), -(-n // tile[1])), None)


@cache
def compiled(
    out: str, ctas: int = 2, tile: tuple[int, int, int] = (256, 256, 64), forbid: tuple[str, ...] = ()
) -> Kernel:
    options: dict[str, Any] = {"num_ctas": ctas, "persistent": "static", "forbid": list(forbid)}
    kernel = tilesat.compile(source(out, tile=tile), "sm_100a", **options)
    assembled = assemble(kernel.ptx, "sm_100a")
    assert (assembled.warnings, assembled.infos, assembled.spill_stores, assembled.stack) == ((), (), 0, 0)
    return kernel


def of(kernel: Kernel, kind: Any) -> list[Any]:
    return [op for op in kernel.compiled.modules["nv_tileas"].walk() if isinstance(op, kind)]


def error(kernel: Kernel, given: Program, **options: Any) -> float:
    a, b, d, *_ = simulate(kernel, given, **options)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    return largest_error(d.astype(np.float64), wanted) / (1e-4 if d.dtype == np.float32 else 2e-3)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("size", [(300, 40, 72), (520, 296, 136)])
@pytest.mark.parametrize(("ctas", "tile"), [(2, (256, 256, 64)), (1, (128, 256, 64)), (1, (128, 128, 64))])
@pytest.mark.parametrize("out", ["f32", "f16"])
def test_persistent_products(out: str, ctas: int, tile: tuple[int, int, int], size: tuple[int, int, int]) -> None:
    assert error(compiled(out, ctas, tile), program(*size, out, tile), resident=ctas) <= 1


@pytest.mark.sampled(100)
@pytest.mark.parametrize("order", ORDERS)
def test_skewed_orders(order: str) -> None:
    assert error(compiled("f16"), program(520, 200, 136, "f16"), resident=2, schedule=order) <= 1


@pytest.mark.in_turn
def test_six_stages_with_a_persistent_kernels_stores() -> None:
    """As CUTLASS's pair: two accumulators of 256 columns, six stages, and a buffer of half of the CTA's 64 KB."""
    kernel, whole = compiled("f16"), compiled("f16", forbid=(PARTS,))
    (store,), (memory,) = of(kernel, nv_tileas.TiledTmaStore), of(kernel, nv_tileas.AllocTensorMemory)
    assert (store.parts, memory.columns, memory.stages) == (2, 512, 2)
    rings = [op.result.type.stages for op in of(kernel, nv_tileas.CreatePipeline) if not op.accumulators]
    assert rings == [6]
    assert kernel.cost < whole.cost
    assert {op.parts for op in of(whole, nv_tileas.TiledTmaStore)} <= {1}
    assert "in 2 parts" in kernel.report


READ = r"cp\.async\.bulk\.wait_group\.read 0;\s+bar\.sync 1, 256;"
WRITTEN = r"fence\.proxy\.async\.shared::cta;\s+bar\.sync 1, 256;"
MUTANTS: dict[str, tuple[str, str, int]] = {
    "a part written over one that is read": (READ, "bar.sync 1, 256;", 0),
    "no meeting before a part is written": (READ, "cp.async.bulk.wait_group.read 0;", 0),
    "not fenced": (WRITTEN, "bar.sync 1, 256;", 0),
    "no meeting before it is stored": (WRITTEN, "fence.proxy.async.shared::cta;", 0),
    "the first part stored twice": (
        r"(?s)(bulk_group \[%rd1, \{)(%r\d+)(, %r\d+\}\], \[%r5\+196608\];.*bulk_group \[%rd1, \{)%r\d+(?=, %r\d+\}\], "
        r"\[%r5\+196608\];)", r"\1\2\3\2", 1,
    ),
    "boxes of a part change places": (r"\[%r5\+(?:196608|212992)\];", "[%r5+196608];", 0),
    "no group closed": (r"cp\.async\.bulk\.commit_group;", "", 0),
}  # fmt: skip
"""Pattern in PTX, what stands there instead, how often."""


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name: str) -> None:
    kernel, given = compiled("f16"), program(520, 200, 72, "f16")
    pattern, text, count = MUTANTS[name]
    ptx = changed(kernel.ptx, (pattern, text), count)
    caught(lambda order: error(kernel, given, ptx=ptx, schedule=order, resident=2) <= 1, ("together", *ORDERS))

"""The next tile block is asked for at the start of one and waited for behind its main loop, where a producer is told
what it is, in clusters too (clusterlaunchcontrol): hazard mode, skewed orders of warps, and the protocol's mutants.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import nv_tileas, scf
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.programs.program import Program, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

ORDERS = ("together", *(f"skewed:{seed}" for seed in range(5)))
TILE = (128, 64, 32)
SIZES = (300, 100, 72)
"""Tails in M, N and K: six tile blocks."""


def product() -> str:
    """D = A B + C of tile blocks' 128 x 64."""
    w = Writer("product", a="ptr<f16>", b="ptr<f16>", c="ptr<f32>", d="ptr<f32>", m="i32", n="i32", k="i32")
    w.promise(a=16, b=16, c=16, d=16, m=1, n=8, k=8)
    tm, tn, tk = TILE
    a = w.view(w.a, [w.m, w.k], [w.k, 1], [tm, tk], "zero")
    b = w.view(w.b, [w.n, w.k], [w.k, 1], [tn, tk], "zero")
    c, d = (w.view(each, [w.m, w.n], [w.n, 1], [tm, tn], pad) for each, pad in ((w.c, "zero"), (w.d, None)))
    x, y, _ = w.ids
    with w.loop(0, w.tiles(a)[1], carried=[w.const(0, "f32", tm, tn)]) as loop:
        loop.values = [w.dot(w.load(a, x, loop.counter), w.load(b, y, loop.counter).T, loop.values[0])]
    w.store(loop.values[0] + w.load(c, x, y), d, x, y)
    return w.text()


@cache
def compiled(ctas: int) -> Kernel:
    made = tilesat.compile(product(), "sm_120a", num_ctas=ctas, persistent="dynamic")
    assembled = assemble(made.ptx, "sm_120a")
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    return made


def right(kernel: Kernel, ptx: str = "", k: int = SIZES[2], **options: Any) -> bool:
    """Is each tile block done once, by two that run at once?"""
    m, n, _ = SIZES

    def arguments() -> list[Any]:
        return [random((m, max(k, 8)), "f16", 1), random((n, max(k, 8)), "f16", 2), random((m, n), "f32", 3),
                np.full((m, n), 7, np.float32), m, n, k]  # fmt: skip

    ctas = kernel.manifest["cluster"][0]
    program = Program("product", product, arguments, (-(-m // TILE[0]), -(-n // TILE[1])), None)
    a, b, c, d, *_ = simulate(kernel, program, ptx=ptx, resident=2 * ctas, **options)
    return largest_error(d, a[:, :k].astype(np.float32) @ b[:, :k].astype(np.float32).T + c) < 1e-4


@pytest.mark.in_turn
@pytest.mark.parametrize("ctas", [1, 2])
def test_the_answer_is_waited_for_behind_the_main_loop(ctas: int) -> None:
    """By the consumers; the producer gets it after its loop."""
    (switch,) = (
        op for op in compiled(ctas).compiled.modules["nv_tileas"].walk() if isinstance(op, nv_tileas.AgentSwitch)
    )
    consumer, producer = ([each for op in r.block.ops for each in op.walk()] for r in switch.regions)
    kinds = (nv_tileas.RequestProgramId, scf.For, nv_tileas.CancelNextProgramId, nv_tileas.Send)
    order = dict.fromkeys(type(op) for op in consumer if isinstance(op, kinds))
    assert tuple(order) == kinds
    assert tuple(dict.fromkeys(type(op) for op in producer if isinstance(op, scf.For | nv_tileas.Receive))) == (
        scf.For, nv_tileas.Receive,
    )  # fmt: skip


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ctas", [1, 2])
def test_skewed_orders(ctas: int, order: str) -> None:
    assert right(compiled(ctas), schedule=order)


# --- the protocol

WAIT = r"\s+\$W\d+:\s+mbarrier\.try_wait\S+ %p\d+, \[%r\d+\+\d+\], 0;\s+@!%p\d+ bra \$W\d+;"
RECEIVED = r"\s+\$W{0}:\s+mbarrier\.try_wait\S+ %p\d+, \[%r4\+\d+\], %r64;\s+@!%p\d+ bra \$W{0};"
SENT = r"\s+\$W{0}:\s+mbarrier\.try_wait\S+ %p\d+, \[%r4\+\d+\], %r\d+;\s+@!%p\d+ bra \$W{0};"
NO_STEPS = "consumers: over what the producer reads"
MUTANTS: dict[str, tuple[str, str]] = {
    "answer: no barrier": (r"mbarrier\.init\S+ \[%r4\+\d+\], 1;(?=\s+fence\.proxy)", ""),
    "answer: counts two": (r"(mbarrier\.init\S+ \[%r4\+\d+\]), 1;(?=\s+fence\.proxy)", r"\1, 2;"),
    "answer: nothing expected": (r"mbarrier\.arrive\.expect_tx\S+ _, \S+, 16;", ""),
    "answer: eight bytes expected": (r"(mbarrier\.arrive\.expect_tx\S+ _, \S+), 16;", r"\1, 8;"),
    "answer: one more byte": (r"(mbarrier\.arrive\.expect_tx\S+ _, \S+), 16;", r"\1, 17;"),
    "answer: no request": (r"clusterlaunchcontrol\.try_cancel.*", ""),
    "answer: two requests": (r"(clusterlaunchcontrol\.try_cancel.*)", r"\1 \1"),
    "answer: not waited for": (WAIT, ""),
    "answer: the other parity": (r"(try_wait\S+ %p\d+, \[%r4\+\d+\]), 0;", r"\1, 1;"),
    "answer: read before the wait": (f"({WAIT})" + r"((?:\s+ld\.shared\.b64 .*){2})", r"\2\1"),
    "answer: barrier left as it was": (r"mbarrier\.inval.*", ""),
    "answer: not the fence": (r"fence\.proxy\.async\.shared::cta;", ""),
    "answer: over what it says": (r"(try_cancel\S+) \[%r4\+\d+\]", r"\1 [%r4+32768]"),
    "answer: over the ring": (r"(try_cancel\S+) \[%r4\+\d+\]", r"\1 [%r4]"),
    "asked by each warp": (r"and\.b32 (%r9), (%r3), 127;", r"and.b32 \1, \2, 31;"),
    "asked by every CTA": (r"@!%p16 bra \$L13;", ""),
    "asked by nobody of the first CTA": (r"@!%p16 bra \$L13;", "@%p16 bra $L13;"),
    "no barrier behind the answer": (r"(?<=\$L18:\n)\s+bar\.sync 1, 128;", ""),
    "asks on when there is none": (r"setp\.ne\.s16 (%p18), (%rs\d+), 0;", r"setp.lt.u32 \1, %r102, 9;"),
    "id: of a CTA": (r"shr\.u32 (%r52), (%r92), 1;", r"mov.b32 \1, \2;"),
    "producer: is not told whether there is one": (RECEIVED.format(9), ""),
    "producer: is not told x": (RECEIVED.format(8), ""),
    "producer: the parity stays": (r"mov\.b32 %r64, %r91;", ""),
    "producer: gives nothing back": (r"mbarrier\.arrive\S+ _, \[%r4\+33240\];", ""),
    NO_STEPS: (SENT.format(3), ""),
    "consumers: do not say that they have told": (r"mbarrier\.arrive\S+ _, \[%r4\+33184\];", ""),
    "consumers: the parity stays": (r"xor\.b32 %r105, %r105, 1;", ""),
    "the round of the exchange stays": (r"add\.s32 %r102, %r102, 1;", ""),
}
"""Pattern in PTX and what is written there instead. One change is a right program, and is not here: the producer need
not wait for y, which the same thread has stored before x. That the consumers wait until it has read the last answer is
seen only where their main loop waits for nothing of it: of no steps.
"""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("order", ORDERS[:3])
def test_products_of_no_steps(order: str, ctas: int) -> None:
    assert right(compiled(ctas), k=0, schedule=order)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    ptx = changed(compiled(2).ptx, MUTANTS[name])
    k = 0 if name == NO_STEPS else SIZES[2]
    caught(lambda order: right(compiled(2), ptx, k, schedule=order), ORDERS)

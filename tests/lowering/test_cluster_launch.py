"""Clusters that take the tile blocks of clusters which have not started (clusterlaunchcontrol, sm_100 on): one CTA asks
for its cluster and tells the others. Each tile block once, in hazard mode and in skewed orders of warps; mutants.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.lowering.test_cluster_reductions import ERROR as OF_ROWS
from tests.lowering.test_cluster_reductions import error as error_of_rows
from tests.lowering.test_cluster_reductions import of_rows, rows, standardised
from tests.lowering.test_clusters import error, product, program
from tilesat.execution import simulate as simulate_ptx
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

TARGETS = ("sm_100a", "sm_120a")
ORDERS = ("together", *(f"skewed:{seed}" for seed in range(5)))
SIZE = 64


def marked() -> str:
    """Each tile block adds to its own 64 elements of y [z, y, x, 64]; each CTA has a part of them."""
    w = Writer("marked", y="ptr<i32>")
    w.promise(y=16)
    x, y, z = w.ids
    place = ((z * w.grid[1] + y) * w.grid[0] + x) * SIZE
    w.update(w.y[w.iota(SIZE) + place.splat(SIZE)], w.iota(SIZE) * 3 + 1, mode="add")
    return w.text()


@cache
def compiled(ctas: int, target: str) -> Kernel:
    made = tilesat.compile(marked(), target, num_ctas=ctas, persistent="dynamic")
    assembled = assemble(made.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    assert made.ptx.count("clusterlaunchcontrol.try_cancel") == 1
    return made


def right(kernel: Kernel, grid: tuple[int, int, int], ptx: str = "", **options: Any) -> bool:
    """Is each tile block done once?"""
    found = np.full((*grid[::-1], SIZE), 7, np.int32)
    options = {"hazards": True, "max_instructions": 100_000, **options}
    simulate_ptx(ptx or kernel.ptx, kernel.manifest, grid, [found], **options)
    return bool((found == 8 + 3 * np.arange(SIZE)).all())


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ctas", [2, 4])
@pytest.mark.parametrize("grid", [(1, 1, 1), (9, 1, 1), (3, 2, 3), (1, 7, 1)])
def test_every_tile_once(grid: tuple[int, int, int], ctas: int, target: str) -> None:
    """By one cluster, and by several."""
    for resident in (ctas, 3 * ctas):
        assert right(compiled(ctas, target), grid, resident=resident)


@pytest.mark.parametrize("resident", [2, 6, 148])
@pytest.mark.parametrize("tiles", [1, 2, 5, 8, 13])
def test_every_tile_once_for_any_number_of_them(tiles: int, resident: int) -> None:
    assert right(compiled(2, "sm_100a"), (tiles, 1, 1), resident=resident)


def test_eight_ctas() -> None:
    text = marked().replace("64", "128")
    made = tilesat.compile(text, "sm_100a", num_ctas=8, persistent="dynamic")
    found = np.zeros((5, 128), np.int32)
    simulate_ptx(made.ptx, made.manifest, (5, 1, 1), [found], hazards=True, resident=8)
    assert (found == 1 + 3 * np.arange(128)).all()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ctas", [2, 4])
def test_skewed_orders(ctas: int, order: str) -> None:
    assert right(compiled(ctas, "sm_100a"), (7, 2, 1), schedule=order, resident=2 * ctas)


def test_all_of_the_grid_is_launched() -> None:
    """The grid counts tile blocks, a cluster each; nothing but the kernel's own parameters is passed."""
    made = compiled(2, "sm_100a")
    assert made.manifest["cluster"] == [2, 1, 1]
    assert [each.get("launch") for each in made.manifest["params"]] == [None]


@cache
def products(ctas: int, target: str) -> Kernel:
    made = tilesat.compile(product("f16", "nk"), target, num_ctas=ctas, persistent="dynamic")
    assembled = assemble(made.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    return made


@pytest.mark.in_turn
@pytest.mark.parametrize(("target", "ctas"), [("sm_100a", 2), ("sm_120a", 2), ("sm_100a", 4)])
def test_products(target: str, ctas: int) -> None:
    """Rings go on from one tile to the next, and what CTAs share is multicast on sm_100a; a tail in M, N and K."""
    made = products(ctas, target)
    assert (".multicast::cluster" in made.ptx) == (target == "sm_100a")
    assert error(made, program(300, 500, 72)) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS[1:])
def test_products_in_skewed_orders(order: str) -> None:
    assert error(products(2, "sm_100a"), program(300, 500, 72), schedule=order) < 1e-4


@pytest.mark.in_turn
@pytest.mark.parametrize("order", ORDERS[:3])
def test_rows_that_a_cluster_folds(order: str) -> None:
    """Their exchanges and those of tile blocks are in one loop."""
    made = tilesat.compile(of_rows(1024, standardised), "sm_120a", num_ctas=2, persistent="dynamic")
    assert error_of_rows(made, rows(1024, standardised), schedule=order) < OF_ROWS


def test_the_choice_by_cost() -> None:
    """Clusters and persistence are chosen together."""
    made = tilesat.compile(marked(), "sm_100a", num_ctas=2, persistent="auto")
    assert [each.reason for each in made.compiled.selection.schedules] == ["", "", ""]


# --- the protocol

CLUSTER = r"barrier\.cluster\.arrive\.release\.aligned;\s+barrier\.cluster\.wait\.acquire\.aligned;"
ASKER = r"@!(%p4) bra (\$L7);"
STORES = r"((?:\s+@%p1 st\.shared::cluster\.\S+ .*|\s+add\.s32 (?!%r5[23]).*|\s+selp\.b16.*)+)"
ARRIVAL = r"(@%p2) mbarrier\.arrive\.release\.cluster\.shared::cluster\.b64 _, \[(%r\d+)\];"
WAIT = r"\s+\$W1:\s+mbarrier\.try_wait.*\n.*bra \$W1;"
ANSWER = r"\s+\$W2:\s+mbarrier\.try_wait.*\n.*bra \$W2;"
ROUND = r"(and\.b32 (%r\d+), (%r\d+), 1;\s+shr\.u32 %r\d+, \3, 1;\s+and\.b32 (%r\d+), %r\d+, 1;)"
"""The place (2) and the parity (4) of a round (3)."""

MUTANTS: dict[str, tuple[str, str]] = {
    "no barrier at the start": (CLUSTER, "bar.sync 0;"),
    "every CTA asks": (ASKER, ""),
    "the other CTA asks": (ASKER, r"@\1 bra \2;"),
    "asked by each warp": (r"setp\.eq\.s32 %p0, %r1, 0;", r"and.b32 %r50, %r1, 31; setp.eq.s32 %p0, %r50, 0;"),
    "answer: no barrier": (r"mbarrier\.init\.shared::cta\.b64 \[%r0\+16\], 1;", ""),
    "answer: counts two": (r"(mbarrier\.init\.shared::cta\.b64 \[%r0\+16\]), 1;", r"\1, 2;"),
    "answer: nothing expected": (r"mbarrier\.arrive\.expect_tx.*", ""),
    "answer: eight bytes expected": (r"(mbarrier\.arrive\.expect_tx.*), 16;", r"\1, 8;"),
    "answer: one more byte": (r"(mbarrier\.arrive\.expect_tx.*), 16;", r"\1, 17;"),
    "answer: no request": (r"clusterlaunchcontrol\.try_cancel.*", ""),
    "answer: two requests": (r"(clusterlaunchcontrol\.try_cancel.*)", r"\1 \1"),
    "answer: not waited for": (ANSWER, ""),
    "answer: the other parity": (r"(\[%r0\+16\]), 0;(\s+@!%p7)", r"\1, 1;\2"),
    "answer: read before the wait": (f"({ANSWER})" + r"((?:\s+ld\.shared\.b64 .*){2})", r"\2\1"),
    "answer: barrier left as it was": (r"mbarrier\.inval.*", ""),
    "answer: not the fence": (r"fence\.proxy\.async\.shared::cta;", ""),
    "answer: no barrier behind": (r"(?<=\$L6:\n)\s+bar\.sync 0;", ""),
    "answer: asks on when there is none": (r"@!%p5 bra \$L8;", "setp.gt.u32 %p8, %r29, 40; @%p8 bra $L8;"),
    "id: that of a CTA": (r"shr\.u32 (%r23, %r\d+), 1;(?=\s+mov)", r"shr.u32 \1, 0;"),
    "id: the first CTA's of the next cluster": (r"(ld\.shared\.b32 (%r55).*)", r"\1 add.u32 \2, \2, 2;"),
    "id: y for x": (r"(ld\.shared\.b32 %r55, \[%r54)\+80", r"\1+96"),
    "id: what this CTA knows": (r"(mov\.b32 %r3), %r57;", r"\1, %r31;"),
    "sent to nobody of x": (r"@%p1 st\.shared::cluster\.b32 \[%r46\], %r30;", ""),
    "sent to nobody whether there is one": (r"@%p1 st\.shared::cluster\.b8 .*", ""),
    "sent to this CTA only": (r"(mapa\.shared::cluster\.u32 %r1[3579], %r\d+), %r12;", r"\1, %r8;"),
    "sent to the first CTA only": (r"(mapa\.shared::cluster\.u32 %r1[3579], %r\d+), %r12;", r"\1, 0;"),
    "sent by one lane": (r"setp\.lt\.u32 %p1, %r1, 2;", "setp.lt.u32 %p1, %r1, 1;"),
    "one place for both CTAs": (r"shl\.b32 (%r41), %r9, 6;", r"mov.b32 \1, 0;"),
    "no arrival": (ARRIVAL, ""),
    "arrival at this CTA only": (r"(mapa\.shared::cluster\.u32 %r22, %r21), %r12;", r"\1, %r8;"),
    "arrival relaxed": (ARRIVAL, r"\1 mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [\2];"),
    "arrival at CTA scope": (ARRIVAL, r"\1 mbarrier.arrive.release.cta.shared::cluster.b64 _, [\2];"),
    "arrival of four lanes": (r"and\.b32 %r20, %r1, 30;", "and.b32 %r20, %r1, 28;"),
    "arrival before the stores": (
        STORES + r"(\s+bar\.warp\.sync -1;)(\s+shl.*\s+add.*\s+@%p2 mbarrier\.arrive.*)", r"\3\2\1"
    ),
    "no wait": (WAIT, ""),
    "wait relaxed": (r"parity\.acquire\.cluster", "parity.relaxed.cluster"),
    "parity is 0": (r"(parity\.acquire\.cluster.*), (%r\d+);", r"\1, 0;"),
    "parity of the next round": (ROUND, r"\1 xor.b32 \4, \4, 1;"),
    "reads before the wait": (f"({WAIT})" + r"(\s+add\.s32.*)((?:\s+(?:ld\.shared|and\.b16|setp).*)+)", r"\2\3\1"),
    "one place for all rounds": (r"shl\.b32 (%r43), %r38, 7;", r"mov.b32 \1, 0;"),
    "one barrier for all rounds": (r"shl\.b32 (%r51), %r38, 3;", r"mov.b32 \1, 0;"),
    "the round stays": (r"add\.s32 %r29, %r29, 1;", ""),
    "counts one CTA": (r"(mbarrier\.init.*), 8;", r"\1, 4;"),
    "counts one more": (r"(mbarrier\.init.*), 8;", r"\1, 9;"),
    "counts one less": (r"(mbarrier\.init.*), 8;", r"\1, 7;"),
}  # fmt: skip
"""Pattern in PTX and what is written there instead. One change is a right program, and is not here: without the barrier
before a request the exchange behind the last answer orders its readers before it.
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    kernel = compiled(2, "sm_100a")
    ptx = changed(kernel.ptx, MUTANTS[name])
    caught(lambda order: right(kernel, (5, 2, 1), ptx, schedule=order, resident=4), ORDERS)

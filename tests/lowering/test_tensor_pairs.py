"""Products in tensor memory by pairs of CTAs: each brings its rows of A and half of B, one begins them for both. In
hazard mode, in skewed orders of warps, and with each part of the protocol changed.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import nv_tileas
from lowering.atoms.tcgen05 import PAIR
from lowering.atoms.tma import PARTS
from lowering.layouts.shared import SharedLayout
from lowering.layouts.wgmma import operand_layout
from lowering.passes import candidates
from lowering.schedule.pairs import TensorPairError
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.lowering.test_clusters import ORDERS, UNIT, error, product, program
from tests.programs.products import product as general
from tests.programs.program import Program, check, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

ERROR = 1e-4
GROUPS = r"cta_group::(\d)"


@cache
def compiled(
    kind: str = "f16", right: str = "nk", ctas: int = 2, target: str = "sm_100a", persistent: str = "off",
    forbid: tuple[str, ...] = (),
) -> Kernel:  # fmt: skip
    kernel = tilesat.compile(product(kind, right), target, num_ctas=ctas, persistent=persistent, forbid=[*forbid])
    assembled = assemble(kernel.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores, assembled.stack) == ((), (), 0, 0)
    assert set(re.findall(GROUPS, kernel.ptx)) == {"2"}
    return kernel


def ops(kernel: Kernel, *kinds: Any) -> list[Any]:
    return [op for op in kernel.compiled.modules["nv_tileas"].walk() if isinstance(op, kinds)]


@pytest.mark.sampled(30)
@pytest.mark.parametrize("size", [(200, 136, 184), (100, 272, 128), (1, 16, 64), (300, 272, 144), (256, 120, 8)])
@pytest.mark.parametrize(
    ("kind", "right", "ctas", "target"),
    [
        ("f16", "nk", 2, "sm_100a"), ("f16", "kn", 4, "sm_100a"), ("bf16", "nk", 2, "sm_103a"),
        ("f8E4M3FN", "nk", 2, "sm_100a"), ("f16", "nk", 4, "sm_110a"), ("f16", "kn", 2, "sm_103a"),
    ],
)  # fmt: skip
def test_products(kind: str, right: str, ctas: int, target: str, size: tuple[int, int, int]) -> None:
    """Tails in each dimension; one CTA of the pair wholly out of bounds."""
    m, n, k = size
    n, k = (-(-each // UNIT[kind]) * UNIT[kind] for each in (n, k))
    assert error(compiled(kind, right, ctas, target), program(m, n, k, kind, right), right) < ERROR


@pytest.mark.sampled(8)
@pytest.mark.parametrize("steps", range(8))
def test_any_number_of_steps(steps: int) -> None:
    assert error(compiled(), program(136, 72, 64 * steps)) < ERROR


@pytest.mark.sampled(12)
@pytest.mark.parametrize("ctas", [2, 4])
@pytest.mark.parametrize("order", ORDERS)
def test_skewed_orders(ctas: int, order: str) -> None:
    assert error(compiled(ctas=ctas), program(136, 72, 576), schedule=order) < ERROR


PERSISTENT = ("static", "atomic", "dynamic")


@pytest.mark.sampled(100)
@pytest.mark.parametrize("size", [(300, 272, 144), (600, 520, 136), (100, 16, 64), (520, 264, 0)])
@pytest.mark.parametrize("ctas", [2, 4])
@pytest.mark.parametrize("schedule", PERSISTENT)
def test_persistent_products(schedule: str, ctas: int, size: tuple[int, int, int]) -> None:
    """An agent of one CTA begins the products of both on two accumulators in turn, which both read and give back."""
    kernel = compiled(ctas=ctas, persistent=schedule)
    assert error(kernel, program(*size), resident=ctas) < ERROR


@pytest.mark.sampled(100)
@pytest.mark.parametrize("schedule", PERSISTENT)
@pytest.mark.parametrize("order", ORDERS)
def test_skewed_orders_of_persistent_kernels(schedule: str, order: str) -> None:
    """Five tile blocks of a cluster: the accumulators go round more than twice."""
    kernel = compiled(persistent=schedule)
    assert error(kernel, program(1100, 72, 136), resident=2, schedule=order) < ERROR


def test_halves_are_what_a_stage_holds() -> None:
    """As CUTLASS's: A of 16 KB and half of B, six stages; two accumulators of 256 columns; one warp begins products."""
    (pipeline,) = ops(compiled(), nv_tileas.CreatePipeline)
    assert (pipeline.result.type.stages, pipeline.paired, pipeline.peers) == (6, True, 3)
    (memory,) = ops(compiled(persistent="static"), nv_tileas.AllocTensorMemory)
    assert (memory.paired, memory.columns, memory.stages) == (True, 512, 2)
    (switch,) = ops(compiled(persistent="static"), nv_tileas.AgentSwitch)
    assert (switch.roles, switch.num_warps) == (("consume", "produce", "multiply"), (8, 1, 1))


TYPES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "tf32": ((256, 128, 32), (264, 136, 72), {"kind": "tf32"}),
    "e5m2": ((256, 128, 64), (264, 144, 272), {"kind": "f8E5M2", "b_order": "kn"}),
    "both": ((256, 64, 64), (200, 136, 136), {"kind": "bf16", "a_order": "km", "b_order": "kn"}),
    "narrow": ((256, 32, 64), (264, 40, 136), {}),
    "wide-k": ((256, 128, 128), (136, 136, 264), {}),
    "short": ((256, 64, 16), (264, 72, 40), {}),
    "tall": ((512, 128, 64), (520, 136, 136), {}),
    "f16-out": ((256, 256, 64), (264, 264, 136), {"out": "f16"}),
}  # fmt: skip
"""Tile, size, and what differs from f16 to f32 of A (m, k) and B (n, k)."""


@pytest.mark.sampled(24)
@pytest.mark.parametrize("target", ["sm_100a", "sm_103a"])
@pytest.mark.parametrize("name", TYPES)
def test_types_majors_and_tiles(name: str, target: str) -> None:
    tile, size, more = TYPES[name]
    kernel = check(general(name, tile, size, **more), target, num_ctas=2)
    assert set(re.findall(GROUPS, kernel.ptx)) == {"2"}


@pytest.mark.sampled(100)
@pytest.mark.parametrize("signed", [(True, True), (True, False)])
def test_bytes(signed: tuple[bool, bool]) -> None:
    given = general("bytes", (256, 128, 128), (264, 144, 272), "i8", "i32", "i32", "mk", "kn", signed=signed)
    kernel = check(given, "sm_100a", num_ctas=2)
    assert kernel.ptx.count("tcgen05.mma.cta_group::2.kind::i8") == 4


@pytest.mark.in_turn
def test_pairs_can_be_forbidden_and_cost_less() -> None:
    """Without them each CTA has all of B, and so four stages."""
    kernel = tilesat.compile(product("f16", "nk"), "sm_100a", num_ctas=2, forbid=[PAIR])
    assert set(re.findall(GROUPS, kernel.ptx)) == {"1"}
    assert compiled().cost < kernel.cost
    (pipeline,) = ops(kernel, nv_tileas.CreatePipeline)
    assert pipeline.result.type.stages == 4
    assert f"{PAIR}.m256n256k16.f16.f16" in compiled().report
    assert "else L" in compiled().report


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("tile", "more", "ctas"),
    [
        ((128, 512, 64), {}, 2),
        ((256, 16, 64), {}, 2),
        ((128, 128, 64), {}, 2),
        ((256, 128, 64), {"promised": False}, 2),
    ],
    ids=["A is shared", "16 columns", "64 rows", "no tensor copies"],
)  # fmt: skip
def test_what_a_pair_cannot_do_each_cta_does(tile: Any, more: Any, ctas: int) -> None:
    kernel = check(general("alone", tile, (136, 136, 136), **more), "sm_100a", num_ctas=ctas)
    assert "2" not in re.findall(GROUPS, kernel.ptx)


def products(tiles: tuple[tuple[int, int, int], ...], steady: bool = False) -> str:
    """Tiles of A B stored one behind the other, each by a loop of its own; where `steady`, of one tile of A."""
    w = Writer("products", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", m="i32", n="i32", k="i32")
    w.promise(a=16, b=16, d=16, m=1, n=8, k=8)
    x, y, _ = w.ids
    for tm, tn, tk in tiles:
        a = w.view(w.a, [w.m, w.k], [w.k, 1], [tm, tk], "zero")
        b = w.view(w.b, [w.n, w.k], [w.k, 1], [tn, tk], "zero")
        d = w.view(w.d, [w.m, w.n], [w.n, 1], [tm, tn])
        with w.loop(0, w.tiles(a)[1], carried=[w.const(0, "f32", tm, tn)]) as loop:
            k = loop.counter
            rows = w.load(a, x, 0 if steady else k)
            loop.values = [w.dot(rows, w.load(b, y, k).T, loop.values[0])]
        w.store(loop.values[0], d, x, y)
    return w.text()


WIDE = (256, 128, 64)
REFUSED: dict[str, tuple[str, str]] = {
    "its CTAs need different tiles here": (products(((128, 512, 64),)), "nv_tileas.tiled_copy"),
    "a CTA computes other products of the kernel by itself": (products((WIDE, (256, 16, 64))), "nv_tileas.dot"),
    "another loop accumulates in the same place": (products((WIDE, WIDE)), "nv_tileas.dot"),
    "tensor copies cannot load all of its tiles": (products(((256, 32, 16),)), "nv_tileas.tensor_dot"),
    "it reads a tile that its loop does not load in every step": (
        products((WIDE,), steady=True), "nv_tileas.tensor_dot"
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_refused_says_why_and_is_made_without_pairs(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, place = REFUSED[why]
    kernel = tilesat.compile(text, "sm_100a", num_ctas=2)
    assert set(re.findall(GROUPS, kernel.ptx)) <= {"1"}

    def again(*_: object) -> None:
        error = sys.exc_info()[1]
        assert error is not None
        raise error

    monkeypatch.setattr(candidates, "forbidding", again)
    with pytest.raises(TensorPairError, match=f"'{place}' cannot be computed by a pair of CTAs: {why}") as raised:
        tilesat.compile(text, "sm_100a", num_ctas=2, cache=False)
    assert raised.value.hint == f"forbid the atom: --forbid {PAIR}"


@pytest.mark.in_turn
def test_sums_of_a_persistent_tile_each_have_their_ring() -> None:
    """Two loops of products in a loop over tiles: the agent fills two adjacent accumulators."""
    m, n, k = 520, 136, 136

    def arguments() -> list[Any]:
        return [random((m, k), "f16", 1), random((n, k), "f16", 2), np.full((m, n), 7, np.float32), m, n, k]

    text = products((WIDE, WIDE))
    kernel = tilesat.compile(text, "sm_100a", num_ctas=2, persistent="static")
    assert set(re.findall(GROUPS, kernel.ptx)) == {"2"}
    assert [op.column for op in ops(kernel, nv_tileas.AllocTensorMemory)] == [0, 256]
    given = Program("products", lambda: text, arguments, (3, 2), None)
    for order in ("together", ORDERS[0]):
        a, b, d, *_ = simulate(kernel, given, resident=2, schedule=order)
        assert largest_error(d, a.astype(np.float32) @ b.astype(np.float32).T) < ERROR


def test_a_pairs_layout_has_two_halves_that_are_alike() -> None:
    shape = (64, 256)
    half = operand_layout((64, 128), 0, 2, True, 128)
    whole = SharedLayout.of_pair(half, shape, 1)
    assert (whole.size_bytes, whole.own, whole.ctas) == (half.size_bytes, half, 2)
    assert SharedLayout.read(whole.mlir().removeprefix("#nv_tileas.shared<").removesuffix(">")) == whole
    places = whole.offset_map().reshape(shape)
    assert np.array_equal(places[:, :128].reshape(-1), half.offset_map())
    assert np.array_equal(places[:, 128:].reshape(-1), half.offset_map() + (1 << half.bits))
    assert sorted(places.reshape(-1)) == list(range(1 << whole.bits))
    assert whole.permute(shape, (1, 0)).own == half.permute((64, 128), (1, 0))


MEETING = r"barrier\.cluster\.arrive\.release\.aligned;\s+barrier\.cluster\.wait\.acquire\.aligned;"
END = MEETING + r"(?=\s+@!%p\d+ bra \$L\d+;\s+\$L\d+:\s+tcgen05\.fence::after)"
COMMIT = r"tcgen05\.commit\.cta_group::2\.mbarrier::arrive::one\.shared::cluster\.multicast::cluster\.b64 "
ALONE = "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 "
TILL = r".*\n\s+@!%p\d+ bra \$W\d;"
COPY = r"cp\.async\.bulk\.tensor\S+ "
LEADER = r"@!%p0 bra \$L14;\n(?=\$L8:)"
PLAIN: dict[str, tuple[str, str]] = {
    "no meeting at the start": (MEETING, "bar.sync 0;"),
    "a stage given back to nobody": (r"@%p1 " + COMMIT + r"\[%r59\+196656\], %rs0;", ""),
    "a stage given back to this CTA alone": (COMMIT + r"(\[%r59\+196656\]), %rs0;", ALONE + r"\1;"),
    "a stage given back at the place of the next": (r"(" + COMMIT + r"\[%r59\+)196656", r"\g<1>196664"),
    "given back before the products": (
        r"(?s)(setp\.ne\.s32 %p11.*?)(@%p1 " + COMMIT + r"\[%r59\+196656\], %rs0;)", r"\2 \1"
    ),
    "masks of this CTA": (r"(mov\.b16 %rs0), 3;", r"\1, 1;"),
    "masks of the other CTA": (r"(mov\.b16 %rs0), 3;", r"\1, 2;"),
    "masks of a CTA that is not there": (r"(mov\.b16 %rs0), 3;", r"\1, 7;"),
    "empty counts both CTAs": (r"(mbarrier\.init.*\+196(?:656|664|672|680|688|696)\]), 1;", r"\1, 2;"),
    "full counts both CTAs": (r"(mbarrier\.init.*\+196(?:608|616|624|632|640|648)\]), 1;", r"\1, 2;"),
    "the last barrier counts both CTAs": (r"(mbarrier\.init.*\+196704\]), 1;", r"\1, 2;"),
    "no wait for an empty stage": (r"\$W3:\s+mbarrier\.try_wait" + TILL, ""),
    "parity of an empty stage": (r"(parity\.acquire\.cluster.*), %r\d+;", r"\1, 1;"),
    "an empty stage in the round of now": (r"(mov\.b32 %r23), 1;", r"\1, 0;"),
    "no wait for a full stage": (r"\$W2:\s+mbarrier\.try_wait" + TILL, ""),
    "a full stage in the round before": (r"xor\.b32 %r60, %r60, %r64;", ""),
    "a full stage at the place of the next": (r"(try_wait.*\[%r59\+)196608", r"\g<1>196616"),
    "bytes of one CTA": (r"(expect_tx.*), 65536;", r"\1, 32768;"),
    "bytes of three CTAs": (r"(expect_tx.*), 65536;", r"\1, 98304;"),
    "bytes of A alone": (r"(expect_tx.*), 65536;", r"\1, 49152;"),
    "nobody announces bytes": (r"@%p0 mbarrier\.arrive\.expect_tx.*;", ""),
    "both CTAs announce bytes": (r"@%p0 (mbarrier\.arrive\.expect_tx)", r"\1"),
    "the other CTA announces bytes": (r"@%p0 (mbarrier\.arrive\.expect_tx)", r"@!%p0 \1"),
    "A told to its own CTA": (r"(" + COPY + r"\[%r28\], .*)%r26\+", r"\1%r25+"),
    "B told to its own CTA": (r"(" + COPY + r"\[%r28\+16384\], .*)%r26\+", r"\1%r25+"),
    "told to the other CTA": (r"(mapa.*), 0;", r"\1, 1;"),
    "told at the place of the next stage": (r"(" + COPY + r".*%r26\+)196608", r"\g<1>196616"),
    "both bring the same half of B": (r"(shl\.b32 %r18), %r\d+, 7;", r"\1, 0, 7;"),
    "halves the other way about": (r"shl\.b32 %r18, (%r\d+), 7;", r"xor.b32 %r18, \1, 1; shl.b32 %r18, %r18, 7;"),
    "both CTAs begin products": (LEADER, ""),
    "the other CTA begins products": (r"(setp\.eq\.s32 %p0, %r\d+), 0;", r"\1, 1;"),
    "no wait for the last product": (r"\$W1:\s+mbarrier\.try_wait" + TILL, ""),
    "the wait for it in the round before": (r"(try_wait.*\+196704\]), 0;", r"\1, 1;"),
    "the last product not committed": (COMMIT + r".*\+196704\], %rs0;", ""),
    "the last product committed to this CTA alone": (COMMIT + r"(.*\+196704\]), %rs0;", ALONE + r"\1;"),
    "the first product adds": (r"(tcgen05\.mma.*), %p11;", r"\1, 1;"),
    "no product adds": (r"(tcgen05\.mma.*), (?:%p11|1);", r"\1, 0;"),
    "rows of one CTA": ("272629776", "138412048"),
    "columns of the half": ("272629776", "270532624"),
    "another column": (r"(mma.*\+)0\]", r"\g<1>32]"),
    "loads not waited for": (r"tcgen05\.wait::ld.*;", ""),
    "memory given back before all have met": (
        r"(?s)(" + END + r")(.*?)(tcgen05\.fence::after\S+;\s+ld\.shared\.b32 %r83.*?dealloc.*?;)", r"\3 \1 \2"
    ),
    "memory given back twice": (r"(tcgen05\.dealloc.*;)", r"\1 \1"),
    "half of the memory given back": (r"(tcgen05\.dealloc.*), 256;", r"\1, 128;"),
    "memory kept": (r"tcgen05\.dealloc.*;", ""),
    "not asked for": (r"tcgen05\.alloc\..*;", ""),
    "half of it asked for": (r"(tcgen05\.alloc.*), 256;", r"\1, 128;"),
}  # fmt: skip
"""Pattern in the PTX of one tile block a cluster, and what stands there instead. Without the meeting at the end it is a
right program: a CTA's warps have met behind their loads, to store, and what the other one does to it came before.
"""
AGENTS: dict[str, tuple[str, str]] = {
    "both CTAs begin products": (r"@!%p3 bra \$L21;\n(?=\$L10:)", ""),
    "no meeting at the end": (END, ""),
    "a stage given back to this CTA alone": (COMMIT + r"(\[%r69\+229400\]), %rs0;", ALONE + r"\1;"),
    "no wait for an empty accumulator": (r"\$W3:\s+mbarrier\.try_wait" + TILL, ""),
    "an empty accumulator in the round of now": (r"(mov\.b32 %r72), 1;", r"\1, 0;"),
    "always empty": (r"(try_wait.*229440\]), %r72;", r"\1, 1;"),
    "empty at the place of the other": (r"(try_wait.*%r71\+)229440", r"\g<1>229448"),
    "given back by the warps of one CTA": (r"(mbarrier\.init.*), 16;", r"\1, 8;"),
    "given back by all warps but one": (r"(mbarrier\.init.*), 16;", r"\1, 15;"),
    "given back by a warp more": (r"(mbarrier\.init.*), 16;", r"\1, 17;"),
    "given back to nobody": (r"@%p21 mbarrier\.arrive\.release\.cluster.*;", ""),
    "given back by all lanes": (r"@%p21 (mbarrier\.arrive\.release\.cluster)", r"\1"),
    "given back to the other CTA": (r"(mapa\S+ %r88, %r5), 0;", r"\1, 1;"),
    "given back at the place of the other": (r"(arrive\.release\.cluster.*%r143\+)229440", r"\g<1>229448"),
    "given back before it is loaded": (
        r"(?s)(\$L18:)(.*?)(shl\.b32 %r142.*?@%p21 mbarrier\.arrive\S+ _, \[%r143\+229440\];)", r"\1 \3 \2"
    ),
    "not loaded when it is given back": (r"tcgen05\.wait::ld.*;", ""),
    "no wait for a full accumulator": (r"\$W1:\s+mbarrier\.try_wait" + TILL, ""),
    "full in the first round": (r"(try_wait.*229424\]), %r124;", r"\1, 0;"),
    "an accumulator not committed": (COMMIT + r"\[%r71\+229424\], %rs0;", ""),
    "committed to this CTA alone": (COMMIT + r"(\[%r71\+229424\]), %rs0;", ALONE + r"\1;"),
    "committed before the products": (
        r"(?s)(tcgen05\.fence::after\S+;\s+shl\.b32 %r73.*?)(" + COMMIT + r"\[%r71\+229424\], %rs0;)", r"\2 \1"
    ),
    "committed at the place of the other": (r"(" + COMMIT + r"\[%r71\+)229424", r"\g<1>229432"),
    "the agent's parity never changes": (r"@%p19 xor\.b32 %r72, .*;", ""),
    "the agent's stage never changes": (r"selp\.b32 %r71, .*;", ""),
    "the readers' parity never changes": (r"xor\.b32 %r124, .*;", ""),
    "the readers' stage never changes": (r"selp\.b32 %r123, .*;", ""),
    "the agent adds up in the first stage": (r"shl\.b32 %r73, %r71, 5;", "shl.b32 %r73, %r5, 5;"),
    "the readers load the first stage": (r"(shl\.b32 %r140), %r123, 5;", r"\1, %r5, 5;"),
    "stages of half the columns": (r"shl\.b32 (%r73|%r140), (%r\d+), 5;", r"shl.b32 \1, \2, 4;"),
    "columns of one stage": (r"(tcgen05\.(?:de)?alloc.*), 512;", r"\1, 256;"),
    "zeros not there when loaded": (r"tcgen05\.wait::st.*;", ""),
    "no zeros without steps": (r"tcgen05\.st\..*;", ""),
    "memory kept": (r"tcgen05\.dealloc.*;", ""),
}  # fmt: skip
"""The same of a persistent kernel that stores whole tiles; `EMPTY` without a step of K."""
EMPTY = ("zeros not there when loaded", "no zeros without steps")


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", PLAIN)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    kernel, given = compiled(), program(200, 136, 576)
    ptx = changed(kernel.ptx, PLAIN[name], count=1 if "start" in name else 0)
    caught(lambda order: error(kernel, given, ptx=ptx, schedule=order) <= ERROR, ("together", *ORDERS))


@pytest.mark.sampled(48)
@pytest.mark.parametrize("name", AGENTS)
def test_mutants_of_the_agents_protocol_are_caught(name: str) -> None:
    """One cluster for five tile blocks: the accumulators go round more than twice."""
    kernel, given = compiled(persistent="static", forbid=(PARTS,)), program(1100, 72, 0 if name in EMPTY else 136)
    ptx = changed(kernel.ptx, AGENTS[name])
    caught(lambda order: error(kernel, given, ptx=ptx, schedule=order, resident=2) <= ERROR, ("together", *ORDERS))

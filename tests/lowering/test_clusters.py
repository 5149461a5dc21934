"""Clusters of CTAs that divide a tile block: products with multicast in hazard mode and in skewed orders of warps,
other kernels, what is refused, and the protocol with each of its parts changed.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import TileError
from ir.dialects import cuda_tile as ct
from ir.load import load
from ir.types import TOKEN
from lowering.clusters import Refusal, planned
from lowering.layouts.boxes import Boxes, parted
from runtime.ptxas import assemble, disassemble
from tests.lowering.protocol import caught, changed
from tests.lowering.test_steady_states import attention
from tests.programs.program import Program, interpret, random, simulate
from tests.tilesat.example_cases import QUICK
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel
from tilesat.testing.sass import find

ORDERS = tuple(f"skewed:{seed}" for seed in range(5))
UNIT = {"f16": 8, "bf16": 8, "f8E4M3FN": 16}
TILE = {"f16": (256, 256, 64), "bf16": (256, 256, 64), "f8E4M3FN": (256, 256, 128)}
ERROR = 1e-4


def product(kind: str, right: str) -> str:
    """D = A B of tiles as CUTLASS's, 128 x 256 for each of two CTAs; B stored as `right` says, nk or kn."""
    tm, tn, tk = TILE[kind]
    w = Writer("product", a=f"ptr<{kind}>", b=f"ptr<{kind}>", d="ptr<f32>", m="i32", n="i32", k="i32")
    w.promise(a=16, b=16, d=16, m=1, n=4 if right == "nk" else UNIT[kind], k=UNIT[kind])
    a = w.view(w.a, [w.m, w.k], [w.k, 1], [tm, tk], "zero")
    if right == "nk":
        b = w.view(w.b, [w.n, w.k], [w.k, 1], [tn, tk], "zero")
    else:
        b = w.view(w.b, [w.k, w.n], [w.n, 1], [tk, tn], "zero")
    d = w.view(w.d, [w.m, w.n], [w.n, 1], [tm, tn])
    x, y, _ = w.ids
    with w.loop(0, w.tiles(a)[1], carried=[w.const(0, "f32", tm, tn)]) as loop:
        k = loop.counter
        columns = w.load(b, y, k).T if right == "nk" else w.load(b, k, y)
        loop.values = [w.dot(w.load(a, x, k), columns, loop.values[0])]
    w.store(loop.values[0], d, x, y)
    return w.text()


@cache
def compiled(kind: str = "f16", right: str = "nk", ctas: int = 2, persistent: str = "off") -> Kernel:
    kernel = tilesat.compile(product(kind, right), "sm_90a", num_ctas=ctas, persistent=persistent)
    assembled = assemble(kernel.ptx, "sm_90a")
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    assert kernel.manifest["cluster"] == [ctas, 1, 1]
    return kernel


def program(m: int, n: int, k: int, kind: str = "f16", right: str = "nk") -> Program:
    tm, tn, _ = TILE[kind]
    stored = (n, max(k, 1)) if right == "nk" else (max(k, 1), n)

    def arguments() -> list[Any]:
        a, b = random((m, max(k, 1)), kind, 1), random(stored, kind, 2)
        return [a, b, np.full((m, n), 7, np.float32), m, n, k]

    return Program("product", lambda: product(kind, right), arguments, (-(-m // tm), -(-n // tn)), None)


def error(kernel: Kernel, given: Program, right: str = "nk", **options: Any) -> float:
    """Of the sum, in hazard mode."""
    a, b, d, *_, k = simulate(kernel, given, **options)
    left, columns = (each.astype(np.float32) for each in (a, b.T if right == "nk" else b))
    return largest_error(d, left[:, :k] @ columns[:k])


SIZES = {
    "tails": (200, 136, 184), "a half out of bounds": (100, 272, 128), "a row": (1, 4, 64),
    "blocks": (300, 260, 136),
}  # fmt: skip


@pytest.mark.sampled(36)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("kind", "right", "ctas"),
    [
        ("f16", "nk", 2), ("f16", "nk", 4), ("f16", "kn", 2), ("bf16", "nk", 2),
        pytest.param("f8E4M3FN", "nk", 2, marks=pytest.mark.slow),
        pytest.param("f8E4M3FN", "nk", 4, marks=pytest.mark.slow), pytest.param("f16", "nk", 8, marks=pytest.mark.slow),
        pytest.param("bf16", "kn", 4, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_products(kind: str, right: str, ctas: int, size: str) -> None:
    m, n, k = SIZES[size]
    n, k = (-(-each // UNIT[kind]) * UNIT[kind] for each in (n, k))
    kernel = compiled(kind, right, ctas)
    assert ".multicast::cluster" in kernel.ptx
    assert error(kernel, program(m, n, k, kind, right), right) < ERROR


@pytest.mark.in_turn
def test_eight_bits() -> None:
    assert error(compiled("f8E4M3FN"), program(136, 144, 272, "f8E4M3FN")) < ERROR


@pytest.mark.sampled(10)
@pytest.mark.parametrize("steps", range(8))
def test_any_number_of_steps(steps: int) -> None:
    assert error(compiled(), program(136, 72, 64 * steps)) < ERROR


@pytest.mark.sampled(5)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ctas", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_skewed_orders(ctas: int, order: str) -> None:
    assert error(compiled(ctas=ctas), program(136, 72, 320), schedule=order) < ERROR


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["bf16", "f8E4M3FN"])
@pytest.mark.parametrize("steps", [1, 7])
def test_skewed_orders_of_other_types(kind: str, steps: int, order: str) -> None:
    given = program(100, 144, TILE[kind][2] * steps - 16, kind)
    assert error(compiled(kind), given, schedule=order) < ERROR


def test_each_cta_brings_half_of_the_shared_operand() -> None:
    """Counted by the simulator: boxes of both kinds of copies that are issued, with the bytes of their tensor maps."""
    kernel, steps = compiled(), 5
    a, b = random((256, 64 * steps), "f16", 1), random((256, 64 * steps), "f16", 2)
    report = kernel.run(1, a, b, np.empty((256, 256), np.float32), 256, 256, 64 * steps, hazards=False)
    assert report is not None
    boxes = [p["box"] for p in kernel.manifest["params"] if p["kind"] == "tensormap"]
    assert boxes == [[64, 128], [64, 128]]
    issued = {name: n for name, n in report.instructions.items() if name.startswith("cp.async.bulk.tensor.2d.shared")}
    shared = sum(n for name, n in issued.items() if name.endswith(".multicast::cluster"))
    own = sum(issued.values()) - shared
    assert shared * 64 * 128 == 2 * steps * 64 * 256 // 2
    assert own == 2 * steps
    (announced,) = re.findall(r"expect_tx.*, (\d+);", kernel.ptx)
    assert int(announced) == 2 * 64 * (128 + 256)


def test_a_step_is_short() -> None:
    """CUTLASS takes 58 and 33 instructions a step."""
    listing = disassemble(assemble(compiled().ptx, "sm_90a"))
    assert len(find(listing, "wgmma", "the product").path) <= 36
    assert len(find(listing, "cp.async.bulk.tensor", "the product").path) <= 33


@pytest.mark.in_turn
@pytest.mark.parametrize("resident", [1, 3, pytest.param(148, marks=pytest.mark.slow)])
def test_persistent_clusters(resident: int) -> None:
    """Clusters that go through all tile blocks; `resident` CTAs, or one cluster where they are fewer."""
    kernel = compiled(persistent="static")
    assert ".multicast::cluster" in kernel.ptx
    assert error(kernel, program(520, 300, 72), resident=resident) < ERROR


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ctas", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["vecadd_ptr-3000", "vecadd_view-3000", "gemm-200x136x72"])
@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
def test_examples(name: str, target: str, ctas: int) -> None:
    """On sm_120a, where ptxas would call a function for it, nothing is multicast: each CTA loads for itself."""
    case = QUICK[name]()
    kernel = tilesat.compile(case.source, target, num_ctas=ctas)
    arguments = case.fresh()
    kernel.run(case.grid, *arguments, check=True)
    assert case.outside_untouched(arguments)
    assert ("multicast" in kernel.ptx) == (target == "sm_90a" and name.startswith("gemm"))


@pytest.mark.in_turn
def test_keys_and_values_are_multicast() -> None:
    """The CTAs of a cluster divide the queries; each brings half of what both read."""
    given = attention(64, True, 200, rows=256)
    kernel = tilesat.compile(given.source(), "sm_90a", num_ctas=2)
    assert kernel.ptx.count(".multicast::cluster") == 3
    found, wanted = simulate(kernel, given), interpret(kernel, given)
    assert largest_error(found[3], wanted[3]) < 2e-3


def whole_and_divided() -> str:
    """Rows that CTAs divide, a maximum of columns that each holds whole, a print; each stored."""
    w = Writer("both", x="ptr<f32>", y="ptr<f32>", z="ptr<f32>")
    w.promise(x=16, y=16, z=16)
    tile = w.load(w.view(w.x, [256, 8], [8, 1], [256, 8]), w.ids[0], 0)
    whole = w.load(w.view(w.x, [16, 8], [8, 1], [16, 8]), 0, 0)
    w.store(tile + 1.0, w.view(w.y, [256, 8], [8, 1], [256, 8]), w.ids[0], 0)
    w.store(whole.reduce(0, "max").reshape(1, 8), w.view(w.z, [1, 8], [8, 1], [1, 8]), w.ids[0], 0)
    return w.text()


def test_what_is_whole_is_stored_once() -> None:
    """The second store is in a branch of the CTA whose rank is 0: without it two CTAs would race."""
    x = random((256, 8), "f32", 1)
    y, z = np.zeros((256, 8), np.float32), np.zeros((1, 8), np.float32)
    kernel = tilesat.compile(whole_and_divided(), "sm_90a", num_ctas=4)
    kernel.run(1, x, y, z, check=True)
    assert np.array_equal(z[0], x[:16].max(0))


def entry_of(text: str) -> ct.Entry:
    return next(op for op in load(text).walk() if isinstance(op, ct.Entry))


@pytest.mark.parametrize("ctas", [2, 4, 8])
def test_a_plan_is_a_program_for_a_grid_of_ctas(ctas: int) -> None:
    made = planned(entry_of(product("f16", "nk")), ctas)
    assert isinstance(made, ct.Entry)
    (dot,) = (op for op in made.walk() if isinstance(op, ct.MmaF))
    assert np.prod(dot.acc.type.shape) * ctas == 256 * 256  # type: ignore[union-attr]
    assert made.cluster == ctas


def in_place(index: int) -> str:
    """A tile is read and then written, at the same index or another one."""
    w = Writer("k", x="ptr<f32>")
    view = w.view(w.x, [512], [1], [256])
    tile, read = w.load_token(view, 0)
    w.store(tile + 1.0, view, index, token=read)
    return w.text()


def counted() -> str:
    w = Writer("k", x="ptr<i32>")
    w.update(w.x[w.ids[0]], w.const(1, "i32"), mode="add")
    return w.text()


def scanned() -> str:
    """By what does not commute."""
    w = Writer("k", x="ptr<f32>")
    view = w.view(w.x, [1024], [1], [1024])

    def combine(first: list[Tile], second: list[Tile]) -> list[Tile]:
        return [first[0] - second[0]]

    (made,) = w.fold([w.load(view, 0)], 0, combine, [0.0], scan=True)
    w.store(made, w.view(w.x, [1024], [1], [1024]), 0)
    return w.text()


def fenced() -> str:
    w = Writer("k", x="ptr<f32>")
    view = w.view(w.x, [256], [1], [256])
    stored = w.store(w.load(view, 0) + 1.0, view, 0)
    w.op(ct.MemoryFenceAlias, stored, types=[TOKEN])
    return w.text()


def nothing() -> str:
    w = Writer("k", x="ptr<f32>")
    return w.text()


REFUSED = [
    (counted, "'cuda_tile.offset': tile<ptr<i32>> cannot be cut in two: no dimension of it has 32 elements or more"),
    (fenced, "'cuda_tile.memory_fence_alias_tko': it happens once per tile block"),
    (
        scanned,
        "'cuda_tile.scan': tile<1024xf32> cannot be cut in two: its halves depend on each other by 'cuda_tile.scan' at "
        "<text>:10:10",
    ),
    (nothing, "'cuda_tile.entry': it computes no tiles that CTAs could divide"),
]


@pytest.mark.parametrize(("source", "message"), REFUSED)
def test_refusals(source: Any, message: str) -> None:
    found = planned(entry_of(source()), 2)
    assert isinstance(found, Refusal)
    assert found.message(2) == f"2 CTAs cannot divide a tile block: {message}"


def test_a_tile_may_be_changed_in_place() -> None:
    assert isinstance(planned(entry_of(in_place(0)), 4), ct.Entry)


@pytest.mark.parametrize(
    ("target", "ctas", "message"),
    [
        ("sm_80", 2, "clusters of 2 CTAs: sm_80 has no clusters"),
        ("sm_90a", 16, "clusters of 16 CTAs: expected a power of two up to 8"),
        ("sm_90a", 3, "clusters of 3 CTAs: expected a power of two up to 8"),
        ("sm_90a", 2, "2 CTAs cannot divide a tile block: 'cuda_tile.offset': tile<ptr<i32>> cannot be cut in two"),
    ],
)
def test_an_option_that_cannot_be_obeyed_is_an_error(target: str, ctas: int, message: str) -> None:
    with pytest.raises(TileError, match=re.escape(message)):
        tilesat.compile(counted(), target, num_ctas=ctas)


@pytest.mark.parametrize("given", [-1, "2", True, 2.0])
def test_a_number_of_ctas_is_a_number(given: Any) -> None:
    with pytest.raises(TileError, match="num_ctas: expected a number of CTAs, or 0"):
        tilesat.compile(counted(), "sm_90a", num_ctas=given)


def hinted(text: str, hints: str) -> str:
    made, count = re.subn(r"(entry @\w+\([^)]*\))( \{)", rf"\1 optimization_hints=<{hints}>\2", text)
    assert count == 1
    return made


@pytest.mark.in_turn
def test_a_hint_is_obeyed_by_target() -> None:
    text = hinted(product("f16", "nk"), "sm_90 = {num_cta_in_cga = 2}, sm_100 = {num_cta_in_cga = 4}")
    kernels = tilesat.compile_for(text, ["sm_80", "sm_90a", "sm_100a"])
    assert [kernel.manifest["cluster"][0] for kernel in kernels] == [1, 2, 4]
    assert [kernel.ignored_hints for kernel in kernels] == [[], [], []]


@pytest.mark.parametrize(
    ("source", "target", "hint", "message"),
    [
        (counted(), "sm_90a", 2, "has no effect: 2 CTAs cannot divide a tile block: 'cuda_tile.offset' at "),
        (counted(), "sm_80", 2, "has no effect: sm_80 has no clusters"),
        (counted(), "sm_90a", 3, "has no effect: a cluster has a power of two of CTAs"),
        (in_place(0), "sm_90a", 16, "is only partly honoured: clusters of 8 CTAs are the largest"),
    ],
)
def test_a_hint_that_is_not_obeyed_is_a_warning(source: str, target: str, hint: int, message: str) -> None:
    with pytest.warns(UserWarning, match=re.escape(f"hint 'num_cta_in_cga = {hint}' {message}")):
        kernel = tilesat.compile(hinted(source, f"default = {{num_cta_in_cga = {hint}}}"), target)
    assert kernel.manifest["cluster"][0] == (8 if hint == 16 else 1)


def test_parts_of_boxes() -> None:
    """Whole boxes where there are enough of them, else pieces on the atoms of the swizzle; else none."""
    one = Boxes((1, 0), (64, 256), "128B", (((0, 0), 0),))
    half = parted(one, 2, 64 * 256 * 2)
    assert half is not None
    assert (half.first.box, half.step, half.bytes) == ((64, 128), (0, 128), 16384)
    four = Boxes((0, 1), (64, 64), "128B", tuple(((64 * i, 0), 8192 * i) for i in range(4)))
    two = parted(four, 2, 4 * 8192)
    assert two is not None
    assert (two.first.box, two.first.places, two.step, two.bytes) == ((64, 64), four.places[:2], (128, 0), 16384)
    assert parted(Boxes((1, 0), (64, 8), "128B", (((0, 0), 0),)), 2, 1024) is None  # four rows are half of an atom
    assert parted(Boxes((1, 0), (64, 1), "128B", (((0, 0), 0),)), 2, 128) is None
    uneven = Boxes((1, 0), (64, 8), "128B", (((0, 0), 0), ((0, 8), 1024), ((0, 24), 2048), ((0, 16), 3072)))
    assert parted(uneven, 2, 4096) is None


ARRIVAL = r"(@%p\d+) mbarrier\.arrive\.release\.cluster\.shared::cluster\.b64 _, \[(%r\d+)\];"
MEETING = r"barrier\.cluster\.arrive\.release\.aligned;\s+barrier\.cluster\.wait\.acquire\.aligned;"
MUTANTS: dict[str, tuple[str, str]] = {
    "no barrier at the start": (MEETING, "bar.sync 0;"),
    "init released by nothing at the start": (
        r"fence\.mbarrier_init\.release\.cluster;(\s+\S+\s+barrier\.cluster\.arrive)\.release",
        r"\1.relaxed",
    ),
    "no barrier at the end": (MEETING + r"(?=\s+ret)", ""),
    "arrival at this CTA only": (ARRIVAL, r"\1 mbarrier.arrive.shared::cta.b64 _, [%r6];"),
    "arrival relaxed": (ARRIVAL, r"\1 mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [\2];"),
    "no arrival": (ARRIVAL, ""),
    "arrival of one lane": (r"(shr\.u32 %r\d+), 3, (%r\d+);", r"\1, 1, \2;"),
    "arrival of three lanes": (r"(shr\.u32 %r\d+), 3, (%r\d+);", r"\1, 7, \2;"),
    "arrival before the reads": (r"(wgmma\.wait_group\.sync\.aligned) 1;", r"\1 2;"),
    "wait for an empty stage relaxed": (r"parity\.acquire\.cluster", "parity.relaxed.cluster"),
    "wait for an empty stage at CTA scope": (r"parity\.acquire\.cluster", "parity.acquire.cta"),
    "wait for an empty stage without a scope": (r"parity\.acquire\.cluster", "parity"),
    "arrival at CTA scope": (r"mbarrier\.arrive\.release\.cluster", "mbarrier.arrive.release.cta"),
    "no wait for an empty stage": (r"\$W2:\s+mbarrier\.try_wait.*\n.*bra \$W2;", ""),
    "parity of an empty stage": (r"(parity\.acquire\.cluster.*), (%r\d+);", r"\1, 0;"),
    "no wait for a full stage": (r"\$W1:\s+mbarrier\.try_wait.*\n.*bra \$W1;", ""),
    "parity of a full stage": (r"(try_wait\.parity\.shared::cta.*), (%r\d+);", r"\1, 0;"),
    "mask of this CTA": (r"(mov\.b16 %rs\d+), 3;", r"\1, 1;"),
    "mask of the other CTA": (r"(mov\.b16 %rs\d+), 3;", r"\1, 2;"),
    "mask of a CTA that is not there": (r"(mov\.b16 %rs\d+), 3;", r"\1, 7;"),
    "no multicast": (r"\.multicast::cluster (.*), %rs\d+;", r" \1;"),
    "bytes of one part": (r"(expect_tx.*), 49152;", r"\1, 32768;"),
    "bytes of two whole tiles": (r"(expect_tx.*), 49152;", r"\1, 65536;"),
    "bytes off by 16": (r"(expect_tx.*), 49152;", r"\1, 49136;"),
    "bytes not announced": (r"mbarrier\.arrive\.expect_tx(.*), 49152;", r"mbarrier.arrive\1;"),
    "empty counts one CTA": (r"(mbarrier\.init.*), 16;", r"\1, 8;"),
    "empty counts one more": (r"(mbarrier\.init.*), 16;", r"\1, 17;"),
    "empty counts one less": (r"(mbarrier\.init.*), 16;", r"\1, 15;"),
    "full counts two": (r"(mbarrier\.init.*), 1;", r"\1, 2;"),
}
"""Pattern in PTX and what stands there instead. Two changes alone are right programs, and are not here: without
fence.mbarrier_init, or with a relaxed arrival at the first barrier of the cluster, the other of the two still orders
the initialisation.
"""


@pytest.mark.sampled(18)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    kernel, given = compiled(), program(200, 136, 448)
    ptx = changed(kernel.ptx, MUTANTS[name], count=1 if "start" in name else 0)
    caught(lambda order: error(kernel, given, ptx=ptx, schedule=order) <= ERROR, ("together", *ORDERS))

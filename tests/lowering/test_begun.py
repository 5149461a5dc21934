"""Products that threads read or write for, begun by agents of one thread each: attention of one tile and of two, by
shapes, numbers of keys, orders of warps, rows that see no key, loops that follow one another; and with each part of
the protocol changed.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from ir.dialects import nv_tileas
from lowering.atoms.names import BY_CORRECTION
from lowering.atoms.tcgen05 import BY_AGENT_READ
from tests.lowering.protocol import caught, changed
from tests.lowering.report import report
from tests.lowering.test_clusters import ORDERS
from tests.lowering.test_tensor_agents import clean, switch
from tests.programs.program import Program, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

HEADS, SHARED_HEADS = 2, 1  # of queries; of keys and values, where queries share them
LEAST = -1e30  # the maximum that rows without keys have
ERROR = {"f16": 2e-3, "bf16": 1.6e-2}
Shape = tuple[int, int, int, str, str]
"""Rows and keys of a tile, D, the type, and what hides keys: nothing, those behind the row ("causal"), those from
HIDDEN rows before it on ("far": the first rows see none), or nothing, where all heads have one of keys ("grouped") or
one loop for a tile of queries follows another ("twice").
"""
HIDDEN = 140


def source(shape: Shape) -> str:
    """Attention of m queries to n keys in one loop a tile, as TileGym writes it; sums without keys are 0."""
    rows, step, width, kind, hides = shape
    w = Writer("attention", q=f"ptr<{kind}>", k=f"ptr<{kind}>", v=f"ptr<{kind}>", o="ptr<f32>", m="i32", n="i32")
    w.promise(q=16, k=16, v=16, o=16, m=1, n=1)
    head = w.ids[1]
    shared = w.const(0, "i32") if hides == "grouped" else head

    def view(array: Tile, tile: int, count: Tile) -> Tile:
        return w.view(array, [HEADS, count, width], [count * width, width, 1], [1, tile, width])

    def load(array: Tile, tile: int, count: Tile, of: Tile, number: Tile) -> Tile:
        return w.load(view(array, tile, count), of, number, 0).reshape(tile, width)

    tiles = [w.ids[0] * 2, w.ids[0] * 2 + 1] if hides == "twice" else [w.ids[0]]
    queries = [load(w.q, rows, w.m, head, tile) for tile in tiles]
    for tile, q in zip(tiles, queries, strict=True):
        start = [w.const(LEAST, "f32", rows), w.const(0.0, "f32", rows), w.const(0.0, "f32", rows, width)]
        with w.loop(0, (w.n + (step - 1)).div(step), carried=start) as loop:
            highest, total, out = loop.values
            score = w.dot(q, load(w.k, step, w.n, shared, loop.counter).T)
            key = (loop.counter * step).splat(step) + w.iota(step)
            seen = (key < w.n.splat(step)).row(rows)
            if hides in ("causal", "far"):
                behind = ((tile * rows).splat(rows) + w.iota(rows)) - (HIDDEN if hides == "far" else 0)
                seen = seen & (key.row(rows) <= behind.column(step))
            score = seen.where(score, -np.inf)
            new = highest.max(score.reduce(1, "max") * 0.25)
            power = (score * 0.25 - new.column(step)).exp2()
            fade = (highest - new).exp2()
            value = load(w.v, step, w.n, shared, loop.counter)
            out = w.dot(power.to(kind), value, out * fade.column(width))
            loop.values = [new, total * fade + power.reduce(1), out]
        _, total, out = loop.values
        done = out / total.max(1e-30).column(width)
        w.store(done.reshape(1, rows, width), view(w.o, rows, w.m), head, tile, 0)
    return w.text()


def program(shape: Shape, queries: int, keys: int) -> Program:
    rows, _, width, kind, _ = shape

    def arguments() -> list[Any]:
        counts = (queries, max(keys, 1), max(keys, 1))
        inputs = [random((HEADS, count, width), kind, 1 + i) for i, count in enumerate(counts)]
        return [*inputs, random((HEADS, queries, width), "f32", 5), queries, keys]

    tiles = -(-queries // (2 * rows if shape[4] == "twice" else rows))
    return Program("attention", lambda: source(shape), arguments, (tiles, HEADS), None)


def expected(shape: Shape, q: Any, k: Any, v: Any, o: Any, m: Any, n: Any) -> Any:
    rows, keys = int(m), int(n)
    q, k, v = (x.astype(np.float64) for x in (q, k[:, :keys], v[:, :keys]))
    if shape[4] == "grouped":
        k, v = (np.repeat(x[:SHARED_HEADS], HEADS, axis=0) for x in (k, v))
    score = np.einsum("hqd,hkd->hqk", q, k) * 0.25
    if shape[4] in ("causal", "behind", "far"):
        behind = np.arange(rows) - (HIDDEN if shape[4] == "far" else 0)
        score = np.where(np.arange(keys) <= behind[:, None], score, -np.inf)
    power = np.exp2(score - score.max(2, keepdims=True, initial=LEAST))
    return power / np.maximum(power.sum(2, keepdims=True), 1e-30) @ v


@cache
def compiled(shape: Shape, target: str = "sm_100a", by_agents: bool = True) -> Kernel:
    """Without a spill or a warning; agents have the rows that they should."""
    forbid = [BY_CORRECTION] if by_agents else [BY_AGENT_READ]  # which has its own tests: test_correction.py
    kernel = clean(source(shape), target, fast=["triton"], forbid=forbid)
    made = switch(kernel)
    assert made.roles.count("multiply") == (by_agents and max(1, 1 + max(made.blocks, default=0)))
    return kernel


def error(shape: Shape, queries: int, keys: int, order: str = "together", ptx: str = "", **given: Any) -> float:
    kernel, run = compiled(shape, **given), program(shape, queries, keys)
    found = simulate(kernel, run, ptx=ptx, schedule=order)[3]
    return largest_error(found, expected(shape, *run.arguments())) / ERROR[shape[3]]


ONE: Shape = (128, 64, 64, "f16", "")
"""A tile of one warpgroup: the product of the next scores is begun while these are exponentiated; sums are read."""
KEPT: Shape = (128, 64, 128, "f16", "")
"""The same where sums are scaled where they lie."""
WIDE: Shape = (256, 64, 64, "f16", "")
"""Two blocks of rows of one warpgroup: sums are scaled where they lie, left factors lie over their scores."""
TALL: Shape = (256, 128, 128, "f16", "")
"""Two warpgroups, each with an agent: as FlashAttention-4 has them."""
SHAPES: dict[str, Shape] = {
    "one": ONE, "wide": WIDE, "tall": TALL,
    "causal": (128, 64, 128, "bf16", "causal"), "far": (128, 64, 64, "f16", "far"),
    "tall-causal": (256, 64, 128, "f16", "causal"), "tall-far": (256, 128, 128, "bf16", "far"),
    "grouped": (128, 128, 64, "bf16", "grouped"), "deep": (128, 128, 128, "f16", ""),
    "twice": (128, 64, 64, "f16", "twice"), "twice-kept": (128, 64, 128, "bf16", "twice"),
    "twice-tall": (256, 64, 64, "f16", "twice"),
    "tall-grouped": (256, 128, 64, "f16", "grouped"), "256": (128, 64, 256, "f16", "causal"),
}  # fmt: skip


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", SHAPES)
def test_attention_by_agents(name: str) -> None:
    """Queries and keys that fill no last tile; hazard mode."""
    assert error(SHAPES[name], 150, 200) < 1


@pytest.mark.sampled(16)
@pytest.mark.parametrize("target", ["sm_103a", "sm_110a"])
@pytest.mark.parametrize("name", ["one", "wide", "tall"])
def test_other_targets(name: str, target: str) -> None:
    assert error(SHAPES[name], 90, 200, target=target) < 1


@pytest.mark.sampled(30)
@pytest.mark.parametrize("steps", range(8))
@pytest.mark.parametrize("name", ["one", "wide", "tall"])
def test_any_number_of_steps(name: str, steps: int) -> None:
    shape = SHAPES[name]
    assert error(shape, 40, shape[1] * steps) < 1


@pytest.mark.sampled(77)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["one", "wide", "tall", "far", "tall-causal", "twice", "twice-kept", "twice-tall"])
def test_skewed_orders(name: str, order: str) -> None:
    assert error(SHAPES[name], 150, 200, order) < 1


def loops(kernel: Kernel) -> list[list[str]]:
    """The instructions of each loop that is innermost, by its label."""
    found: list[list[str]] = []
    lines = kernel.ptx.splitlines()
    places = {line[:-1]: n for n, line in enumerate(lines) if line.startswith("$L")}
    for n, line in enumerate(lines):
        back = re.search(r"bra (\$L\d+);", line)
        if back and places[back[1]] < n:
            found.append(lines[places[back[1]] : n])
    return found


@pytest.mark.in_turn
def test_threads_that_compute_begin_nothing_and_meet_nowhere() -> None:
    """Softmax warps wait once an iteration and arrive once; their agents wait for keys, scores, left factors."""
    computing = [loop for loop in loops(compiled(TALL)) if any("ex2" in line for line in loop)]
    assert len(computing) == 2  # without masks, and the last ones
    for loop in computing:
        text = "\n".join(loop)
        assert not re.search(r"tcgen05\.(mma|commit)|bar\.sync|cp\.async", text)
        assert (text.count("mbarrier.try_wait"), text.count("mbarrier.arrive")) == (1, 1)
    beginning = [loop for loop in loops(compiled(TALL)) if any("tcgen05.mma" in line for line in loop)]
    assert [sum("tcgen05.mma" in line for line in loop) for loop in beginning] == [16, 16]
    assert [sum("try_wait" in line for line in loop) for loop in beginning] == [3, 3]


@pytest.mark.parametrize("name", ["one", "tall"])
def test_fences_are_next_to_barriers(name: str) -> None:
    """The simulator runs what they order in program order, so the text must have them: one behind each wait for what
    lies in tensor memory, one before each arrival. Each that is left out is missed.
    """
    kernel = compiled(SHAPES[name])
    assert not missing_fences(kernel, kernel.ptx)
    for fence in ("after", "before"):
        places = re.finditer(rf"(?:\s+tcgen05\.fence::{fence}_thread_sync;)+", kernel.ptx)
        without = [kernel.ptx[: each.start()] + kernel.ptx[each.end() :] for each in places]
        assert sum(bool(missing_fences(kernel, ptx)) for ptx in without) == len(by_barriers(kernel, fence))


def by_barriers(kernel: Kernel, fence: str) -> list[str]:
    """Waits for, or arrivals at, barriers of rings in tensor memory."""
    return re.findall((waits if fence == "after" else arrivals)(kernel), kernel.ptx)


def missing_fences(kernel: Kernel, ptx: str) -> list[str]:
    """Those without a fence next to them."""
    behind = waits(kernel) + r"(?!\s+tcgen05\.fence::after)"
    before = r"(?<!before_thread_sync;)\n" + arrivals(kernel)
    return [*re.findall(behind, ptx), *re.findall(before, ptx)]


def waits(kernel: Kernel) -> str:
    return rf"try_wait\.parity\S* %p\d+, \[%r\d+\+(?:{places(kernel)})\], \S+;\n\s+@!%p\d+ bra \S+;"


def arrivals(kernel: Kernel) -> str:
    return rf"    bar\.warp\.sync -1;\n\s+@%p\d+ mbarrier\.arrive\S+ _, \[%r\d+\+(?:{places(kernel)})\]"


def places(kernel: Kernel) -> str:
    """The barriers of rings in tensor memory."""
    return "|".join(str(op.offset + 8 * i) for op in tensor_rings(kernel) for i in range(2 * op.groups))


def rings(kernel: Kernel) -> list[nv_tileas.CreatePipeline]:
    found = kernel.compiled.modules["nv_tileas"].walk()
    return [op for op in found if isinstance(op, nv_tileas.CreatePipeline)]


def tensor_rings(kernel: Kernel) -> list[nv_tileas.CreatePipeline]:
    """Of scores, of sums that are read, of what threads write, of the end."""
    return [op for op in rings(kernel) if op.accumulators]


@pytest.mark.in_turn
def test_the_report_says_who_begins_products_and_why() -> None:
    said = report(compiled(TALL))
    assert "warp 9: products, issued by one thread, for the rows of warpgroup 0" in said
    assert re.search(r"products are issued by agents of their own: predicted cycles per iteration \d+ if", said)
    forbidden = compiled(TALL, by_agents=False)
    assert f"consumer threads issue the products: {BY_AGENT_READ} is forbidden" in report(forbidden)
    assert compiled(TALL).cost == forbidden.cost


WAIT = r"mbarrier\.try_wait\S+ %p\d+, \[%r\d+\+"
AGAIN = r"\], [^\n]*\n\s+@!%p\d+ bra \S+;"
COMMIT = r"tcgen05\.commit\S* \[%r\d+\+"
ARRIVE = r"@%p\d+ mbarrier\.arrive\S* _, \[%r\d+\+"
PHASE = r"(try_wait\S+ %p\d+, \[%r\d+\+"
MUTANTS: dict[str, tuple[str, str, str]] = {
    "the agent waits for no queries": ("one", WAIT + "<Q>" + AGAIN, ""),
    "the agent waits for no keys": ("one", WAIT + "<K>" + AGAIN, ""),
    "the agent waits for no values": ("one", WAIT + "<V>" + AGAIN, ""),
    "keys of the round before": ("one", PHASE + r"<K>\]), %r\d+;", r"\1, 1;"),
    "keys are not given back": ("one", COMMIT + r"<K_>\];", ""),
    "values are not given back": ("one", COMMIT + r"<V_>\];", ""),
    "scores are not committed": ("one", COMMIT + r"<S>\];", ""),
    "scores are committed where sums are": ("one", r"(" + COMMIT + r")<S>\];", r"\g<1><O>];"),
    "scores are committed first": ("one", r"(?s)(tcgen05\.mma\S* \[%r\d+\+0\].*?)(" + COMMIT + r"<S>\];)", r"\2 \1"),
    "nobody waits for scores": ("one", WAIT + "<S>" + AGAIN, ""),
    "scores of the round before": ("one", PHASE + r"<S>\]), %r\d+;", r"\1, 1;"),
    "scores of the first round": ("one", PHASE + r"<S>\]), %r\d+;", r"\1, 0;"),
    "scores are made before they are read": ("one", WAIT + "<S_>" + AGAIN, ""),
    "always read": ("one", PHASE + r"<S_>\]), %r\d+;", r"\1, 1;"),
    "nobody says that scores are read": ("one", ARRIVE + r"<S_>\];", ""),
    "scores are read by three warps": ("one", r"(mbarrier\.init.*<S_>\], )4;", r"\g<1>3;"),
    "scores are read by five warps": ("one", r"(mbarrier\.init.*<S_>\], )4;", r"\g<1>5;"),
    "scores are not there when they are read": ("one", r"tcgen05\.wait::ld.*;", ""),
    "said before they are loaded": (
        "one", r"(?s)(" + WAIT + "<S>" + AGAIN + r".*?)(bar\.warp\.sync -1;\s+" + ARRIVE + r"<S_>\];)", r"\2 \1"
    ),
    "powers are read before they are there": ("one", WAIT + "<P>" + AGAIN, ""),
    "powers of the round before": ("one", PHASE + r"<P>\]), %r\d+;", r"\1, 1;"),
    "nobody says that powers are there": ("one", ARRIVE + r"<P>\];", ""),
    "powers of three warps": ("one", r"(mbarrier\.init.*<P>\], )4;", r"\g<1>3;"),
    "powers are on the way": ("one", r"tcgen05\.wait::st.*;", ""),
    "said before powers are stored": (
        "one", r"(?s)(tcgen05\.st\S* \[%r\d+\+128\].*?)(bar\.warp\.sync -1;\s+" + ARRIVE + r"<P>\];)", r"\2 \1"
    ),
    "powers are written before they are read": ("kept", WAIT + "<P_>" + AGAIN, ""),
    "powers are always read": ("kept", PHASE + r"<P_>\]), %r\d+;", r"\1, 1;"),
    "nobody says that powers are read": ("kept", COMMIT + r"<P_>\];", ""),
    "nobody waits for sums": ("one", WAIT + "<O>" + AGAIN, ""),
    "sums of the round before": ("one", PHASE + r"<O>\]), %r\d+;", r"\1, 1;"),
    "sums are not committed": ("one", COMMIT + r"<O>\];", ""),
    "nobody waits for the end": ("one", WAIT + "<E>" + AGAIN, ""),
    "no end is told": ("one", COMMIT + r"<E>\];", ""),
    "the agent's rounds stay": ("one", r"xor\.b32 <P:phase>, <P:phase>, 1;", ""),
    "the readers' rounds stay": ("one", r"xor\.b32 <S:phase>, <S:phase>, 1;", ""),
    "all products add": ("one", r"(tcgen05\.mma.*), 0;", r"\1, 1;"),
    "sums where scores are": ("one", r"(tcgen05\.mma\S* \[%r\d+)\+64\]", r"\1+0]"),
    "a warpgroup waits for no scores": ("tall", WAIT + "<S>" + AGAIN, ""),
    "scores of another round": ("tall", PHASE + r"<S>\]), %r\d+;", r"\1, 1;"),
    "an agent tells the other warpgroup of scores": ("tall", r"(" + COMMIT + r")<S+8>\];", r"\g<1><S>];"),
    "an agent makes the rows of the other": ("tall", r"(tcgen05\.mma\S* \[%r\d+\+)384\]", r"\g<1>256]"),
    "an agent reads the powers of the other": ("tall", r"(tcgen05\.mma\S* \[\S+\], \[%r\d+)\+128\]", r"\1+0]"),
    "an agent waits for the powers of the other": ("tall", r"(" + WAIT + r")<P+8>\]", r"\g<1><P>]"),
    "an agent waits for no powers": ("tall", WAIT + "<P>" + AGAIN, ""),
    "both warpgroups tell one agent": ("tall", r"(mbarrier\.arrive\S* _, \[)<S:base>(\+<P>\])", r"\1%r2\2"),
    "stages are given back by one agent": ("tall", r"(mbarrier\.init.*<K_>\], )2;", r"\g<1>1;"),
    "stages are given back by one too many": ("tall", r"(mbarrier\.init.*<K_>\], )2;", r"\g<1>3;"),
    "powers and sums are on the way": ("tall", r"tcgen05\.wait::st.*;", ""),
    "sums are scaled behind the arrival": (
        "tall", r"(?s)(vote\.sync.*?)(bar\.warp\.sync -1;\s+" + ARRIVE + r"<P>\];)", r"\2 \1"
    ),
    "the last sums are not waited for": ("tall", WAIT + "<E>" + AGAIN, ""),
    "the agent's rounds of powers stay": ("tall", PHASE + r"<P>\]), %r\d+;", r"\1, 0;"),
    "an agent never reads powers to their end": ("tall", COMMIT + r"<P_>\];", ""),
}  # fmt: skip
"""Kernel, pattern in its PTX and what is there instead; <S> scores, <P> powers, <O> sums, <E> the end, <Q>, <K>, <V>
tiles; with _ the barriers that say that these have been read, +8 those of the second warpgroup; the register of the
phase in which, and of the base at which, the last wait for one is.
"""
SHAPE_OF: dict[str, Shape] = {"one": ONE, "kept": KEPT, "tall": TALL}


def named(kernel: Kernel, text: str) -> str:
    """A pattern with the places of barriers for their names."""
    tiles, own = [op for op in rings(kernel) if not op.accumulators], tensor_rings(kernel)
    written = [op for op in own if op.written]
    scores, *sums, end = [op for op in own if not op.written]
    order = dict(zip("QKVSPOE", [*tiles[:2], tiles[-1], scores, *written, *(sums or [scores]), end], strict=True))
    for name, op in order.items():
        kind = op.result.type
        assert isinstance(kind, nv_tileas.PipelineType)
        empty = op.offset + 8 * kind.stages * op.groups
        for mark, place in (("", op.offset), ("+8", op.offset + 8), ("_", empty), ("_+8", empty + 8)):
            text = text.replace(f"<{name}{mark}>", str(place))
        waits = re.findall(rf"try_wait\S+ %p\d+, \[(%r\d+)\+{op.offset}\], (\S+);", kernel.ptx)
        for mark, register in zip(("base", "phase"), waits[-1], strict=True):
            text = text.replace(f"<{name}:{mark}>", register)
    return text


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    which, pattern, text = MUTANTS[name]
    shape = SHAPE_OF[which]
    kernel = compiled(shape)
    ptx = changed(kernel.ptx, (named(kernel, pattern), named(kernel, text)))
    caught(lambda order: error(shape, 40, 5 * shape[1] - 3, order, ptx) < 1, ("together", *ORDERS))


TURNS: dict[str, tuple[str, str, str]] = {
    "products of the next loop begin at once": ("twice-kept", WAIT + "<T>" + AGAIN, ""),
    "nobody says that they may begin": ("twice-kept", ARRIVE + r"<T>\];", ""),
    "the end of a loop is not waited for": ("twice-tall", WAIT + "<F>" + AGAIN, ""),
    "the end of a loop is not told": ("twice-tall", COMMIT + r"<F>\];", ""),
}
"""<T>: the turn of the second loop, <F>: the end of the first one. Eight warps read all sums in their loops, so that
the end says nothing new; four that scale them have the scores of both loops in one place, where the turn does not.
"""


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TURNS)
def test_mutants_between_loops_are_caught(name: str) -> None:
    which, *change = TURNS[name]
    kernel = compiled(SHAPES[which])
    *_, first, _, turn = tensor_rings(kernel)
    assert turn.written
    change = [each.replace("<T>", str(turn.offset)).replace("<F>", str(first.offset)) for each in change]
    ptx = changed(kernel.ptx, (change[0], change[1]))
    caught(lambda order: error(SHAPES[which], 300, 100, order, ptx) < 1, ("together", *ORDERS))


def test_products_of_one_thread_run_in_order() -> None:
    """Without the wait for the product that reads powers the scores that lie over them are made anew by the next one of
    the same thread: the same result where products of one thread run in order, as hardware runs them and the simulator.
    """
    kernel = compiled(TALL)
    ptx = changed(kernel.ptx, (named(kernel, WAIT + r"(?:<P_>|<P_+8>)" + AGAIN), ""))
    assert error(TALL, 40, 200, ptx=ptx) < 1

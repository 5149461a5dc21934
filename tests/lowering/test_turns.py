"""Warpgroups that take turns: no deadlock, at any number of iterations, in any order of warps."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import groupby, pairwise

import numpy as np
import pytest

import tilesat
from ir.core import Block
from ir.dialects import nv_tileas, scf
from ir.text.level_input import read_level
from lowering.modulo import ahead
from lowering.schedule import agents
from lowering.schedule.turns import Edge, Stage, edges_of, legal, most, stuck
from lowering.targets import target
from runtime.ptxas import assemble, disassemble
from tests.lowering.report import outline
from tests.lowering.test_pipelines import pipelined
from tests.programs.program import Program, interpret, simulate
from tests.programs.rings import causal_attention
from tests.tilesat.test_tileiras import has_ptxas
from tilesat.kernel import Kernel
from tilesat.mca.flow import loops, product_loop
from tilesat.mca.listing import functions
from tilesat.mca.timing import steady

TARGET = "sm_90a"


def fire(edges: list[Edge], rounds: int, but: object = None) -> tuple[list[int], set[object]]:
    """Let all events happen that can, so many times each at most: tokens of the edges, events that have happened."""
    tokens, nodes = [each.tokens for each in edges], {n for each in edges for n in (each.source, each.target)}
    count: dict[object, int] = dict.fromkeys(nodes, 0)
    moved = True
    while moved:
        moved = False
        for node in nodes - {but}:
            taken = [i for i, each in enumerate(edges) if each.target == node]
            if count[node] < rounds and all(tokens[i] for i in taken):
                count[node] += 1
                moved = True
                for i, each in enumerate(edges):
                    tokens[i] += (each.source == node) - (each.target == node)
    return tokens, {node for node, times in count.items() if times}


def graph(seed: int) -> list[Edge]:
    """A random marked graph of few events, most of them on cycles."""
    rng = random.Random(seed)
    nodes = range(rng.randint(2, 6))
    edges = [Edge(n, (n + 1) % len(nodes), rng.choice([0, 0, 1])) for n in nodes]
    return edges + [Edge(*rng.sample(nodes, 2), rng.choice([0, 1, 1, 2])) for _ in range(rng.randint(0, 6))]


@pytest.mark.parametrize("seed", range(300))
def test_random_graphs(seed: int) -> None:
    """Stuck is what never happens; an edge holds most tokens when all but its target goes on as long as it can."""
    edges = graph(seed)
    _, happened = fire(edges, 30)
    nodes = {each.source for each in edges}
    found = stuck(edges)
    assert bool(found) == (happened != nodes)
    assert not happened.intersection(found)
    if not found:
        assert [most(edges, each) for each in edges] == [
            fire(edges, 30, each.target)[0][i] for i, each in enumerate(edges)
        ]


def test_an_edge_on_no_cycle_holds_any_number() -> None:
    assert most([Edge(0, 0, 1), Edge(0, 1), Edge(1, 1, 1)], Edge(0, 1)) is None


def attention_body() -> Block:
    """The consumers' loop over keys and values."""
    kernel = read_level(pipelined("flash_attention", TARGET))
    return next(op for op in kernel.walk() if isinstance(op, scf.For)).body.block


def rings(body: Block, stages: int = 2) -> list[Stage]:
    """Keys, and values whose stage is released an iteration later."""
    pipelines = [op.pipeline for each in body.ops for op in each.walk() if isinstance(op, nv_tileas.ConsumerWait)]
    return [Stage(pipelines[0], stages, False), Stage(pipelines[1], stages, True)]


def test_attention_takes_turns() -> None:
    body = attention_body()
    ops = [op for each in body.ops for op in each.walk()]
    first, last = (place for place, op in enumerate(ops) if isinstance(op, nv_tileas.Dot))
    assert first < [type(op) for op in ops].index(nv_tileas.TakeTurn) < last
    assert [ops[place].attributes.get("passes", False) for place in (first, last)] == [False, True]
    assert legal(body, rings(body), 2, target(TARGET))
    assert not legal(body, rings(body), 16, target(TARGET))  # barriers are a row of 16


def test_a_ring_of_one_stage_that_is_held_is_refused() -> None:
    """The producer waits for the stage that is released when it has filled the next one."""
    body = attention_body()
    assert not legal(body, rings(body, 1), 2, target(TARGET))
    assert ("producer", 1) in stuck(edges_of(body, rings(body, 1), 2, target(TARGET)))


def test_a_meeting_within_a_turn_is_refused() -> None:
    """One warpgroup would wait at the barrier for the other one, which waits for its turn."""
    body = attention_body()
    take = next(op for each in body.ops for op in each.walk() if isinstance(op, nv_tileas.TakeTurn))
    read = take.parent
    assert read is not None
    barrier = nv_tileas.Barrier((), ())
    barrier.parent = read
    read.ops.insert(read.ops.index(take) + 1, barrier)
    assert not legal(body, rings(body), 2, target(TARGET))
    read.ops.remove(barrier)
    read.ops.insert(read.ops.index(take), barrier)  # before the turn all may meet
    assert legal(body, rings(body), 2, target(TARGET))


@pytest.mark.in_turn
def test_what_is_not_legal_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "legal", lambda *_: False)
    program = causal_attention(128, 64, 64, 3)
    assert "bar.arrive" not in tilesat.compile(program.source(), TARGET).ptx


def turning(program: Program) -> Kernel:
    """A kernel all of whose loops take turns, however short they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "trip_counts", lambda _: defaultdict(lambda: 100.0))
        return tilesat.compile(program.source(), TARGET)


@pytest.mark.slow
@pytest.mark.parametrize("persistent", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_two_loops_of_any_number_of_steps(persistent: bool) -> None:
    """The first block's first loop has no step, the second one's one; two loops in a row, and in a loop around."""
    program = causal_attention(128, 64, 64, 3, persistent=persistent)
    kernel = turning(program)
    assert kernel.ptx.count("bar.arrive") >= 2
    made = assemble(kernel.ptx, TARGET)
    assert (made.infos, made.spill_stores) == ((), 0)
    expected = interpret(kernel, program)[3]
    for schedule in ("together", "skewed:1"):
        assert np.abs(simulate(kernel, program, schedule=schedule)[3] - expected).max() <= 2e-3


@pytest.mark.in_turn
@pytest.mark.skipif(not has_ptxas(), reason="ptxas is not installed")
def test_warpgroups_alternate_in_time() -> None:
    """In the steady loop's SASS, two warps of a scheduler, one of each warpgroup: groups of products go in turns, no
    exponential of one is issued between those of the other, and the scores of one run under exponentials of the other.
    """
    cubin = assemble(turning(causal_attention(128, 64, 64, 8)).ptx, TARGET)
    every = [loop for each in functions(disassemble(cubin, encodings=True)) for loop in loops(each)]
    found = product_loop(loop for loop in every if loop.mix["BAR"])  # the second loop takes no turns
    assert found is not None
    issued = steady(found.path, target(TARGET), 4, 2)
    exponentials = [each for each in issued if each.instruction.opcode == "MUFU.EX2"]
    rounds = [(warp, len(list(run))) for warp, run in groupby(each.warp for each in exponentials)]
    assert len(rounds) >= 8
    assert all(a != b for (a, _), (b, _) in pairwise(rounds))
    assert {count for _, count in rounds[1:-1]} == {sum(each.opcode == "MUFU.EX2" for each in found.path)}
    ends = [each.warp for each in issued if "GMMA" in each.instruction.opcode and "gsb" in each.instruction.operands]
    assert all({a, b, c} == {0, 1} for a, b, c in zip(ends, ends[1:], ends[2:], strict=False))
    busy = [(each.begins, each.begins + each.taken, each.warp) for each in issued if "GMMA" in each.instruction.opcode]
    under = {
        each.warp for each in exponentials for begin, end, warp in busy if begin <= each.at < end and warp != each.warp
    }
    assert under == {0, 1}


@pytest.mark.in_turn
def test_explain_says_what_turns_bring() -> None:
    said = outline(tilesat.compile(causal_attention(128, 64, 64, 3).source(), TARGET).compiled)
    assert "; with its warpgroups taking turns" in said

"""The protocol of the agents that begin the products of persistent attention, the threads that compute and the
producer: each part of it left out or changed, in hazard mode and in skewed orders of warps.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from ir.dialects import nv_tileas
from ptxsim import SimulatorError
from tests.lowering.test_begun import rings, tensor_rings
from tests.lowering.test_begun_tiles import compiled, error
from tests.lowering.test_clusters import ORDERS

SIZES: dict[str, tuple[tuple[int, int], ...]] = {
    "two": ((300, 200), (300, 64), (600, 500)), "own-causal": ((257, 200), (257, 150), (257, 0)),
}  # fmt: skip
"""Queries and keys, in the order in which they are tried. "two": tiles of no to two steps in each loop, with masks and
without; of one step, so that rings begin tiles with other parities and stages; of up to six in the first loop, more
than rings have stages. "own-causal": tiles of four, of three and of no steps. One CTA has all of them, so that each
ring goes round from tile to tile.
"""
RINGS = {"two": "Q K V S1 P1 O1 S2 P2 O2 E T2 T1", "own-causal": "Q K V S P E"}
"""Tiles, then by main loop scores, powers and sums that threads read; the end of all products; turns."""

WAIT = re.compile(r"    (\$W\d+):\n    mbarrier\.try_wait\S+ %p\d+, \[%r\d+\+(\d+)\], (\S+);\n    @!%p\d+ bra \1;\n")
SIGNAL = re.compile(r"    (?:@%p\d+ )?(tcgen05\.commit|mbarrier\.arrive\S*?)\.\S*( _,)? \[%r\d+\+(\d+)\].*\n")
SYNCHRONISED = re.compile(r"    (tcgen05\.wait::\w\w|tcgen05\.dealloc|bar\.sync [1-9]).*\n")
PHASE = re.compile(r"xor\.b32 (%r\d+), (%r\d+), (?:1|%r\d+);")
COUNT = re.compile(r"mbarrier\.init\S* \[\S+\+(\d+)\], (\d+);")
ADDS = re.compile(r"tcgen05\.mma.*, (0|1|%p\d+);")


def barriers(name: str) -> dict[int, str]:
    """The barriers by their places: a ring's says full, with _ empty; +1 is that of the second stage or group."""
    kernel, found = compiled(name), dict[int, str]()
    ordered = [*(op for op in rings(kernel) if not op.accumulators), *tensor_rings(kernel)]
    for op, called in zip(ordered, RINGS[name].split(), strict=True):
        kind = op.result.type
        assert isinstance(kind, nv_tileas.PipelineType)
        count = kind.stages * op.groups
        for number in range(2 * count):
            rest = f"+{number % count}" if number % count else ""
            found[op.offset + 8 * number] = called + "_" * (number >= count) + rest
    return found


@cache
def mutants(name: str) -> list[tuple[str, str]]:
    """The change, numbered if it occurs again, and the text."""
    seen, found = Counter[str](), list[tuple[str, str]]()
    for what, ptx in changes(compiled(name).ptx, barriers(name)):
        seen[what] += 1
        found.append((f"{what}, {seen[what]}", ptx))
    return found


def changes(ptx: str, names: dict[int, str]) -> Iterator[tuple[str, str]]:
    """Each wait left out, and for one parity always; each commit, arrival, barrier, wait for accesses, release of
    memory, change of a phase left out; the count of each barrier that is waited for one more and one less; each product
    that begins a sum adding, and the other way round.
    """
    waited = {names[int(found[2])].partition("+")[0] for found in WAIT.finditer(ptx)}
    for found in WAIT.finditer(ptx):
        place = names[int(found[2])]
        yield f"no wait for {place}", ptx[: found.start()] + ptx[found.end() :]
        for parity in (each for each in ("0", "1") if each != found[3]):
            yield f"parity {parity} of {place}", replaced(ptx, found.span(3), parity)
    for found in SIGNAL.finditer(ptx):
        yield f"no {found[1]} at {names[int(found[3])]}", ptx[: found.start()] + ptx[found.end() :]
    for found in SYNCHRONISED.finditer(ptx):
        yield f"no {found[1]}", ptx[: found.start()] + ptx[found.end() :]
    for found in PHASE.finditer(ptx):
        yield "a phase stays", replaced(ptx, found.span(), f"mov.b32 {found[1]}, {found[2]};")
    for found in (each for each in COUNT.finditer(ptx) if names.get(int(each[1]), "").partition("+")[0] in waited):
        for count in (each for each in (int(found[2]) - 1, int(found[2]) + 1) if each):
            yield f"{count} arrivals at {names[int(found[1])]}", replaced(ptx, found.span(2), str(count))
    for found in ADDS.finditer(ptx):
        adds = "1" if found[1] == "0" else "0"
        yield f"a product adds: {adds} for {found[1][0]}", replaced(ptx, found.span(1), adds)


def replaced(ptx: str, span: tuple[int, int], text: str) -> str:
    """PTX with another text in a place."""
    return ptx[: span[0]] + text + ptx[span[1] :]


def shown(name: str, ptx: str) -> bool:
    """Does any order show a change, by a result or an error of the simulator?"""
    for size in SIZES[name]:
        for order in ("together", *ORDERS):
            try:
                if error(name, *size, order=order, ptx=ptx) >= 1:
                    return True
            except SimulatorError:
                return True
    return False


EQUIVALENT: dict[str, tuple[str, ...]] = {
    "two": (
        # Scores 0 of a loop lie where threads have read those of the last tile before they passed the loop's turn.
        "no wait for S1_, 1", "no wait for S2_, 1",
        # Threads have waited for the sum of this step. Its product is begun behind the next scores by the same thread,
        # whose commit covers all products that it has begun (PTX ISA 9.0, tcgen05.commit).
        "no wait for S1, 2", "no wait for S2, 2", "no wait for S2, 3",
        # The second loop has at most three steps, so its values overwrite those of another loop. The wait for keys just
        # before covers scores begun behind the product of those values: each loop has one more stage of keys.
        "no wait for V_, 2",
        # A tile has three stages of keys or more (without keys sums are 0, whatever the queries are): those that come
        # before the queries after the next have waited for all of this tile's scores but the last, which nobody uses.
        "no wait for Q_, 1",
    ),
    "own-causal": (
        # The producer has just waited for the stage of queries, which is released behind all products of the tile.
        "no wait for K_, 1",
        # Before the memory is given back: barriers of the store in parts lie behind the last loads of all warps.
        "no bar.sync 1, 9",
    ),
}  # fmt: skip
"""What no order can show, and why."""
PARTS = 60


@pytest.mark.sampled(2 * PARTS)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", SIZES)
def test_mutants_of_the_protocol_are_caught(name: str, part: int) -> None:
    tried = [(what, ptx) for what, ptx in mutants(name)[part::PARTS] if what not in EQUIVALENT[name]]
    assert [what for what, ptx in tried if not shown(name, ptx)] == []


@pytest.mark.slow
def test_few_mutants_are_equivalent() -> None:
    """At most a tenth; all of them occur, once."""
    for name, silent in EQUIVALENT.items():
        labels = [what for what, _ in mutants(name)]
        assert len({*labels}) == len(labels) >= 10 * len(silent)
        assert {*silent} <= {*labels}

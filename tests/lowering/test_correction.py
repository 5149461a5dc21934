"""Sums of attention in tensor memory scaled by warps of their own: by shapes, numbers of keys, orders of warps, in
loops over tiles; and with each part of the protocol changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from ir.dialects import nv_tileas
from lowering.atoms.names import BY_CORRECTION
from ptxsim import SimulatorError
from tests.lowering import test_begun as begun
from tests.lowering.report import report
from tests.lowering.test_begun import ERROR, Shape, expected
from tests.lowering.test_begun_mutants import COUNT, SIGNAL, SYNCHRONISED, WAIT, replaced
from tests.lowering.test_clusters import ORDERS
from tests.lowering.test_steady_states import attention
from tests.lowering.test_tensor_agents import clean, switch
from tests.programs.program import simulate
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

SHAPES: dict[str, Shape] = {
    "tall": (256, 128, 128, "f16", ""), "narrow": (256, 64, 128, "f16", ""),
    "causal": (256, 64, 128, "f16", "causal"), "far": (256, 128, 128, "bf16", "far"),
}  # fmt: skip


@cache
def compiled(name: str, target: str = "sm_100a", persistent: str = "", fast: tuple[str, ...] = ("triton",)) -> Kernel:
    """Without a spill or a warning, with warps that scale as many as compute."""
    more = {"persistent": persistent} if persistent else {}
    kernel = clean(begun.source(SHAPES[name]), target, fast=[*fast], **more)
    made = switch(kernel)
    assert made.num_warps[made.roles.index(nv_tileas.CORRECT)] == made.num_warps[0] == 8
    return kernel


def error(name: str, queries: int, keys: int, order: str = "together", ptx: str = "", **given: Any) -> float:
    kernel, run = compiled(name, **given), begun.program(SHAPES[name], queries, keys)
    found = simulate(kernel, run, ptx=ptx, schedule=order, resident=2)[3]
    return largest_error(found, expected(SHAPES[name], *run.arguments())) / ERROR[SHAPES[name][3]]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", SHAPES)
def test_attention(name: str) -> None:
    """Queries and keys that fill no last tile, two CTAs at once; hazard mode."""
    assert error(name, 300, 200) < 1


@pytest.mark.sampled(16)
@pytest.mark.parametrize("steps", range(8))
@pytest.mark.parametrize("name", ["tall", "narrow"])
def test_any_number_of_steps(name: str, steps: int) -> None:
    assert error(name, 150, SHAPES[name][1] * steps) < 1


@pytest.mark.sampled(25)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", SHAPES)
def test_skewed_orders(name: str, order: str) -> None:
    assert error(name, 150, 200, order) < 1


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ["together", *ORDERS])
@pytest.mark.parametrize("name", ["narrow", "causal"])
def test_tile_after_tile(name: str, order: str) -> None:
    """In a loop over tiles."""
    assert error(name, 600, 200, order, persistent="static") < 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "target"), [("tall", "sm_103a"), ("narrow", "sm_103a"), ("narrow", "sm_110a")])
@pytest.mark.parametrize("fast", ["triton", "ftz"])
def test_other_targets(name: str, target: str, fast: str) -> None:
    assert error(name, 90, 200, target=target, fast=(fast,)) < 1


@pytest.mark.parametrize(("name", "waits", "arrivals"), [("tall", 1, 2), ("narrow", 3, 3)])
def test_threads_that_compute_scale_nothing(name: str, waits: int, arrivals: int) -> None:
    """They hand factors over before they raise powers. Where scores lie apart from powers, so that the next are made
    before these are read, the rings of powers and factors have barriers that say that they are empty.
    """
    kernel = compiled(name)
    computing = ["\n".join(loop) for loop in begun.loops(kernel) if any("ex2" in line for line in loop)]
    assert computing
    for text in computing:
        assert "vote" not in text
        assert text.index("st.shared") < text.index("tcgen05.st")
        assert (text.count("mbarrier.try_wait"), text.count("mbarrier.arrive")) == (waits, arrivals)
    scaling = ["\n".join(loop) for loop in begun.loops(kernel) if any("vote" in line for line in loop)]
    assert [text.count("tcgen05.ld") for text in scaling] == [128 // 16]
    assert not begun.missing_fences(kernel, kernel.ptx)


def test_the_report_says_who_scales_and_why() -> None:
    said = report(compiled("narrow"))
    assert "warps 8 to 15: sums in tensor memory, scaled for the computation" in said
    assert re.search(r"sums are scaled by warps of their own: predicted cycles an iteration \d+ if", said)
    forbidden = clean(begun.source(SHAPES["narrow"]), "sm_100a", fast=["triton"], forbid=[BY_CORRECTION])
    assert f"sums are scaled by threads that compute: {BY_CORRECTION} is forbidden" in report(forbidden)
    assert nv_tileas.CORRECT not in switch(forbidden).roles
    assert forbidden.cost == compiled("narrow").cost


FEW: dict[str, tuple[Shape, str, int, int]] = {
    "two CTAs": ((128, 64, 128, "f16", ""), "sm_100a", 168, 176),
    "early": ((256, 128, 64, "bf16", "grouped"), "sm_100a", 184, 200),
    "split": ((256, 128, 128, "f16", ""), "sm_110a", 184, 200),
}
"""Where threads would have too few registers, and how many: each of two CTAs an SM has half of the columns; scores are
loaded an iteration early; packed operations are split.
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FEW)
def test_no_warps_that_scale_where_registers_are_few(name: str) -> None:
    shape, target, given, wanted = FEW[name]
    made = switch(clean(begun.source(shape), target, fast=["triton"]))
    assert nv_tileas.CORRECT not in made.roles
    assert made.products.endswith(f"threads that compute would have {given} registers and need {wanted}")


def test_levels_that_lag_are_scaled_where_they_are() -> None:
    """Seldom enough that nothing would be gained."""
    source = attention(128, False, 4096, "f16", 256, 128).source()
    assert nv_tileas.CORRECT not in switch(clean(source, "sm_100a", fast=["triton", "reassoc", "afn"])).roles
    assert nv_tileas.CORRECT in switch(clean(source, "sm_100a", fast=["triton"])).roles


SIZES: dict[str, tuple[tuple[int, int], ...]] = {
    "causal": ((300, 600), (300, 300), (300, 800)), "far": ((600, 600), (600, 500), (40, 0)),
}  # fmt: skip
"""Queries and keys, in the order in which they are tried. "causal": powers lie apart from scores, so rings of powers
and of factors have barriers that say that they are empty; ten, five and 13 steps, none or four of them without masks.
"far": powers lie over scores, which implies both; five and four steps, none or two without masks, and no step, after
which the zeros are read that were stored first. Rings go round more than once, and both loops have several steps, so
that more is tried than what follows the last one.
"""
RINGS = {"causal": "Q K V S P E F", "far": "Q K S P E F"}
"""Tiles of queries, of keys, of values (or of both in turn); scores, powers and sums, the end, factors."""
PHASE = re.compile(r"xor\.b32 (%r\d+), (%r\d+), (?:1|%r\d+);")
FACTOR = re.compile(r"    (?:st|ld)\.shared\.\w+ .*\n")


def barriers(name: str) -> dict[int, str]:
    """The barriers by their places: a ring's says full, with _ empty; +1 is that of the second stage or group."""
    kernel, found = compiled(name), dict[int, str]()
    ordered = [*(op for op in begun.rings(kernel) if not op.accumulators), *begun.tensor_rings(kernel)]
    for op, called in zip(ordered, RINGS[name].split(), strict=True):
        kind = op.result.type
        assert isinstance(kind, nv_tileas.PipelineType)
        count = kind.stages * op.groups
        for number in range(2 * count):
            rest = f"+{number % count}" if number % count else ""
            found[op.offset + 8 * number] = called + "_" * (number >= count) + rest
    return found


def changes(ptx: str, names: dict[int, str]) -> Iterator[tuple[str, str]]:
    """Each wait left out, and for one parity always; each commit, arrival, barrier and wait for accesses left out; each
    phase left as it is; one arrival more and one less at each barrier that is waited for.
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


@cache
def mutants(name: str) -> list[tuple[str, str]]:
    """What is changed, numbered where it occurs again, and the text."""
    seen, found = Counter[str](), list[tuple[str, str]]()
    for what, ptx in changes(compiled(name).ptx, barriers(name)):
        seen[what] += 1
        found.append((f"{what}, {seen[what]}", ptx))
    return found


def shown(name: str, ptx: str) -> bool:
    """Does any order show a change, by a result or an error of the simulator?"""
    for size in SIZES[name]:
        for order in ("together", *ORDERS):
            try:
                if error(name, *size, order, ptx) >= 1:
                    return True
            except SimulatorError:
                return True
    return False


EQUIVALENT: dict[str, tuple[str, ...]] = {
    "causal": (
        # Before tensor memory is given back: barriers of the store lie behind the last loads of all warps that load the
        # sums, which have waited for all products; those have waited for the last warp that scales.
        "no bar.sync 1, 3",
    ),
    "far": (
        # Scores are made anew where powers lie behind the product that reads these. PTX orders only products with the
        # same accumulator; all of one thread run in order in the simulator (test_begun.py,
        # test_products_of_one_thread_run_in_order).
        "no wait for P_, 1", "no wait for P_+1, 1",
        "no bar.sync 1, 3",  # as above
    ),
}  # fmt: skip
"""What no order can show, and why."""
PARTS = 20


@pytest.mark.slow
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
        assert len({*labels}) == len(labels) >= max(40, 10 * len(silent))
        assert {*silent} <= {*labels}

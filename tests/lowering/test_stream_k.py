"""Stream-K: the CTAs that fit a device share the steps of all tile blocks evenly. In hazard mode and in skewed orders
of warps, for any number of CTAs; where it is taken, what launchers give, what is refused, mutants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from lowering.clusters import Refusal
from lowering.clusters.price import Way
from lowering.clusters.stream import streamed
from lowering.passes import candidates
from runtime.cuda import Device
from runtime.manifest import parse
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.lowering.report import outline
from tests.lowering.test_grid_split import noted, noting, two_sums
from tests.lowering.test_split_k import (
    alone,
    beginning,
    begins_at,
    carries_more,
    entry_of,
    error,
    no_product,
    product,
    program,
)
from tests.programs.program import Program, interpret, random, simulate
from tests.runtime.fake_driver import FakeDriver
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

ORDERS = ("together", *(f"skewed:{seed}" for seed in range(5)))
TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
CTAS, TILE_BLOCKS = 3, 5  # that the price expects; what runs is any number
ERROR = 1e-4


@cache
def compiled(target: str = "sm_80", text: str = "", width: int = 0) -> Kernel:
    """With even shares, which only the choice by cost asks for."""

    def of_clusters(entry: ct.Entry, *_: Any) -> Iterator[tuple[Way, Any]]:
        yield Way(CTAS, along=True, even=True), streamed(entry, CTAS, TILE_BLOCKS, width)

    with patch.object(candidates, "of_clusters", of_clusters):
        kernel = tilesat.compile(text or product(), target, num_ctas="auto", fast=["reassoc"], tile_blocks=TILE_BLOCKS)
    assembled = assemble(kernel.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    assert parse(kernel.manifest).launched == ["grid x", "grid y", "grid z", "tickets", "shares"]
    return kernel


@pytest.mark.sampled(60)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("resident", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 7])
def test_any_number_of_ctas_and_steps(steps: int, resident: int, target: str) -> None:
    """Six tile blocks: rounds of wholes before shares, fewer tile blocks than CTAs, more CTAs than steps."""
    given = program(72, 136, max(64 * steps - 24, 0))
    assert error(compiled(target), given, resident=resident) < ERROR


@pytest.mark.sampled(15)
@pytest.mark.parametrize("width", [1, 2, 8])
@pytest.mark.parametrize("resident", [2, 5, 7])
def test_groups_of_tile_blocks(resident: int, width: int) -> None:
    assert error(compiled(width=width), program(200, 200, 200), resident=resident) < ERROR


@pytest.mark.sampled(77)
@pytest.mark.parametrize("order", ORDERS[1:])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("resident", [4, 7])
def test_skewed_orders(resident: int, target: str, order: str) -> None:
    assert error(compiled(target), program(72, 136, 328), schedule=order, resident=resident) < ERROR


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "sums"), [("bf16", "f32"), ("i8", "i32")])
def test_types(kind: str, sums: str) -> None:
    made = compiled("sm_80", product(kind, sums))
    assert error(made, program(72, 136, 320, kind, sums), resident=4) <= (0 if sums == "i32" else ERROR)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", TARGETS[:2])
def test_known_steps_and_larger_tiles(target: str) -> None:
    tile = (128, 128, 64)
    made = compiled(target, product(steps=7, tile=tile))
    assert error(made, program(200, 136, 448, tile=tile), resident=3) < ERROR


@pytest.mark.slow
def test_bits_do_not_depend_on_who_comes_last() -> None:
    given = program(72, 136, 328)
    first, *others = (simulate(compiled(), given, schedule=order, resident=4)[2] for order in ORDERS[:4])
    for each in others:
        assert np.array_equal(first, each)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("target", TARGETS[:2])
@pytest.mark.parametrize("init", ["C", "one"])
def test_sums_that_do_not_begin_at_zero(init: str, target: str) -> None:
    """What they begin at is added once, by who has the whole sum."""
    text = begins_at(init)
    kernel, given = compiled(target, text), beginning(text, 5)
    assert largest_error(simulate(kernel, given, resident=3)[2], interpret(kernel, given)[2]) < ERROR


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", TARGETS[:2])
def test_two_sums_and_ways_out(target: str) -> None:
    """Of equal steps; tile blocks that return before the loops, and behind."""
    text = two_sums(ways_out=True, steps=0)

    def arguments() -> list[Any]:
        made = [random((192, 256), "f16", 1), random((192, 256), "f16", 2), random((192, 128), "f16", 3)]
        return [*made, np.full((192, 128), 7, np.float16), np.full((192, 128), 7, np.float32), 256]

    kernel = compiled(target, text)
    given = Program("two", lambda: text, arguments, (3, 2), None)
    found, wanted = simulate(kernel, given, schedule="skewed:1", resident=4), interpret(kernel, given)
    assert largest_error(found[3], wanted[3]) < 2e-3
    assert largest_error(found[4], wanted[4]) < ERROR


# --- where it is refused, and taken


def uneven() -> str:
    """A tile block of number x has x steps."""
    w = Writer("k", a="ptr<f16>", d="ptr<f32>")
    a, d = w.view(w.a, [64, 640], [640, 1], [64, 64]), w.view(w.d, [64, 64], [64, 1], [64, 64])
    with w.loop(0, w.ids[0], carried=[w.const(0, "f32", 64, 64)]) as loop:
        tile = w.load(a, 0, loop.counter)
        loop.values = [w.dot(tile, tile.T, loop.values[0])]
    w.store(loop.values[0], d, 0, 0)
    return w.text()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (carries_more, "no loop only accumulates it"),
        (alone, "no loop only accumulates it"),
        (no_product, "it has no product whose K steps could be divided among CTAs"),
        (uneven, "its number of steps depends on the tile block"),
        (two_sums, "its loops have different numbers of steps"),
    ],
)
def test_refusals(text: Any, reason: str) -> None:
    found = streamed(entry_of(text()), CTAS, TILE_BLOCKS)
    assert isinstance(found, Refusal)
    assert found.reason == reason


@pytest.mark.in_turn
def test_taken_where_a_last_round_is_nearly_empty() -> None:
    """123 tile blocks on 108 multiprocessors; not where rounds are full, nor where it is forbidden or not known."""
    text = product(tile=(128, 128, 64))
    kernel = tilesat.compile(text, "sm_80", num_ctas="auto", tile_blocks=123, fast=["reassoc"])
    assert "shares" in parse(kernel.manifest).launched
    explained = r"    108 CTAs in even shares along K: \([\d,]+ \+ 1,500 through memory\) x 1 = [\d,]+, taken\n"
    assert re.search(explained, outline(kernel.compiled))
    assert error(kernel, program(200, 300, 200, tile=(128, 128, 64)), resident=4) < ERROR
    for blocks, fast, forbid in ((123, (), ()), (216, ("reassoc",), ()), (123, ("reassoc",), ("grid.stream",))):
        other = tilesat.compile(text, "sm_80", num_ctas="auto", tile_blocks=blocks, fast=fast, forbid=forbid)
        assert "shares" not in parse(other.manifest).launched


# --- launches


def test_the_manifest_says_what_the_launcher_gives() -> None:
    found = parse(compiled().manifest)
    assert (found.split, found.persistent, found.arguments) == (1, True, 6)
    assert found.launched_as((3, 1, 1), 132) == (132, 1, 1)
    assert found.memory((3, 2, 5), 132) == {"tickets": 30 * 4, "shares": 132 * 2 * 64 * 64 * 4}


def test_on_a_device() -> None:
    """Tickets are zero at each launch; as many CTAs as fit are launched, though there be fewer tile blocks."""
    kernel, given = compiled(), program(72, 136, 328)
    a, b, d, *sizes = given.arguments()
    device = Device(driver=FakeDriver())
    loaded = device.load(kernel.ptx, kernel.manifest)
    held = [device.put(each) for each in (a, b, d)]
    launch = loaded.prepare((2, 3, 1), [*held, *map(np.int32, sizes)])
    for _ in range(2):
        launch()
        assert largest_error(device.get(held[2]), (a.astype(np.float32) @ b.astype(np.float32).T) * 0.5) < ERROR


# --- the protocol
TICKET = r"(@%p\d+) atom\.acq_rel\.gpu\.global\.add\.u32 (%r\d+), \[(%rd\d+)\], (%r\d+);"
MUTANTS: dict[str, tuple[str, str]] = {
    "no ticket": (TICKET, r"mov.b32 \2, 0;"),
    "a ticket of each thread": (TICKET, r"atom.acq_rel.gpu.global.add.u32 \2, [\3], \4;"),
    "a ticket for all steps": (TICKET, r"\1 atom.acq_rel.gpu.global.add.u32 \2, [\3], 1;"),
    "tickets by none": (TICKET, r"\1 atom.acq_rel.gpu.global.add.u32 \2, [\3], 0;"),
    "no barrier behind the ticket": (r"(@%p0 st\.shared\.b32 .*)\s+bar\.sync 0;", r"\1"),
    "all add": (r"@!%p\d+ bra \$L8;(?=\s+\$L4:)", ""),
    "nobody adds": (r"@!%p\d+ bra \$L8;(?=\s+\$L4:)", "bra $L8;"),
    "parts end tile blocks": (r"@!%p\d+ bra \$L7;(?=\s+\$L3:)", "bra $L7;"),
    "one place for parts": (r"(\$L3:\s+selp\.b32 %r\d+), 1, 0,", r"\1, 0, 0,"),
    "places changed": (r"(\$L3:\s+selp\.b32 %r\d+), 1, 0,", r"\1, 0, 1,"),
    "CTAs share memory": (r"or\.b32 (%r219), %r\d+, (%r\d+);", r"mov.b32 \1, \2;"),
    "tile blocks share a ticket": (r"mul\.wide\.s32 (%rd\d+), %r109, 4;", r"mov.b64 \1, 0;"),
    "the last part is left out": (r"add\.s32 (%r231), (%r\d+), 1;", r"mov.b32 \1, \2;"),
    "one part too many": (r"add\.s32 (%r231), (%r\d+), 1;", r"add.s32 \1, \2, 2;"),
    "a step too few": (r"min\.s32 (%r104), (%r\d+), (%r\d+);", r"min.s32 \1, \2, \3;\n    sub.s32 \1, \1, 1;"),
    "a step too many": (r"(max\.s32 %r101), (%r\d+), 0;", r"\1, \2, 1;"),
}
"""Pattern in PTX and what is written there instead; a weaker order or scope of the ticket is not seen, as in
`test_grid_split`.
"""


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    kernel, given = compiled("sm_80", noted()), noting()
    ptx, wanted = changed(kernel.ptx, MUTANTS[name]), interpret(kernel, given)

    def right(order: str) -> bool:
        found = simulate(kernel, given, ptx=ptx, schedule=order, resident=3)
        return largest_error(found[2], wanted[2]) < ERROR and np.array_equal(found[3], wanted[3])

    caught(right, ORDERS)


def test_the_program_of_the_mutants_is_right() -> None:
    kernel, given = compiled("sm_80", noted()), noting()
    found, wanted = simulate(kernel, given, schedule="skewed:2", resident=3), interpret(kernel, given)
    assert largest_error(found[2], wanted[2]) < ERROR
    assert found[3].tolist() == [1, 1, 0, 0]

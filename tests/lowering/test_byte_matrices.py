"""ldmatrix of bytes: fragments of bytes that lie across, in place of four loads and packing."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

import tilesat
from lowering.atoms.mma import MMA_M16N8K32_E4M3
from lowering.layouts.access import byte_matrices, ldmatrix, reads
from lowering.layouts.f2 import apply
from lowering.layouts.mma import mma_tile
from lowering.layouts.shared import SharedLayout, swizzled
from ptxsim import SimulatorError
from tests.programs.products import product
from tests.programs.program import Program, check, interpret, simulate
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

LOAD = r"ldmatrix\.sync\.aligned\.m16n16\.x2\.trans\.shared\.b8"
BYTES: dict[str, Any] = {"kind": "i8", "out": "i32", "accumulator": "i32"}
F8: dict[str, Any] = {"kind": "f8E4M3FN"}
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "i8-b": ({**BYTES, "b_order": "kn"}, "sm_120a"),
    "i8-both": ({**BYTES, "a_order": "km", "b_order": "kn"}, "sm_121a"),
    "u8-a": ({**BYTES, "a_order": "km", "signed": (False, True)}, "sm_120a"),
    "e4m3-b": ({**F8, "b_order": "kn"}, "sm_121a"),
    "e5m2-both": ({"kind": "f8E5M2", "a_order": "km", "b_order": "kn"}, "sm_120a"),
    "i8-b-103": ({**BYTES, "b_order": "kn"}, "sm_103a"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_bytes_that_lie_across(name: str) -> None:
    """Right beside the interpreter and NumPy in hazard mode, with tails; cheaper than without."""
    more, target = CASES[name]
    given = product(name, (64, 64, 64), (72, 80, 144), **more)
    kernel = check(given, target)
    assert re.search(LOAD, kernel.ptx)
    assert kernel.cost < tilesat.compile(given.source(), target, forbid=["ldmatrix.b8"]).cost


def test_where_there_is_none() -> None:
    """On other targets, or forbidden, bytes are loaded one by one."""
    source = product("bytes", (64, 64, 64), (72, 80, 144), **BYTES, b_order="kn").source()
    for target, forbid in (("sm_90a", []), ("sm_120a", ["ldmatrix.b8"]), ("sm_120a", ["ldmatrix"])):
        assert ".m16n16." not in tilesat.compile(source, target, forbid=forbid).ptx


def plan_of(shared: SharedLayout) -> Any:
    tile = mma_tile(MMA_M16N8K32_E4M3, 64, 64, 64, 2, 2, 1, 1)
    return tile.b, byte_matrices(tile.b, shared)


def test_lanes_and_registers() -> None:
    """Lane l receives in register j of a matrix the bytes (row 4 (l & 3) + w, column (l >> 2) + 8 j) (PTX ISA)."""
    shared = swizzled((64, 64), (1, 0), 1, 64)
    layout, plan = plan_of(shared)
    offsets = shared.offset_map()
    assert plan is not None
    assert (plan.num, plan.tall, plan.trans) == (2, True, True)
    for warp, lane, instruction in ((w, each, x) for w in range(4) for each in (0, 5, 31) for x in plan.instructions):
        for number, registers in enumerate(instruction.registers):
            matrix, half = divmod(number, 2)
            for byte, register in enumerate(registers):
                row = apply(plan.address.lane, 16 * matrix + 4 * (lane & 3) + byte) ^ apply(plan.address.warp, warp)
                place = (row ^ instruction.xor) + instruction.add + (lane >> 2) + 8 * half
                assert offsets[layout.element(register, lane, warp)] == place


def test_rows_along_k_are_read_by_ldmatrix() -> None:
    """What lies along K is no case for it, and bytes across none for matrices of 16 bits."""
    across, along = (swizzled((64, 64), order, 1, 64) for order in ((1, 0), (0, 1)))
    layout, plan = plan_of(along)
    assert plan is None
    assert (reads(layout, along), reads(layout, across)) == (["ldmatrix", "ld.shared"], ["ldmatrix.b8", "ld.shared"])
    assert ldmatrix(layout, across) is None


@cache
def compiled() -> tuple[Program, Kernel]:
    given = product("bytes", (64, 64, 64), (72, 80, 272), **BYTES, b_order="kn")
    return given, tilesat.compile(given.source(), "sm_120a")


MUTANTS = {
    "another row": (rf"({LOAD} \{{[^}}]*\}}, \[%r\d+)\+(\d+)", r"\1+1024"),
    "matrices exchanged": (rf"({LOAD}) \{{(%r\d+), (%r\d+), (%r\d+), (%r\d+)\}}", r"\1 {\4, \5, \2, \3}"),
    "halves exchanged": (rf"({LOAD}) \{{(%r\d+), (%r\d+), (%r\d+), (%r\d+)\}}", r"\1 {\3, \2, \5, \4}"),
    "16 bits": (LOAD, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_changed_is_found(name: str) -> None:
    given, kernel = compiled()
    changed, count = re.subn(*MUTANTS[name], kernel.ptx)
    assert count, "the mutation does not apply"
    try:
        found = simulate(kernel, given, ptx=changed)[2]
    except SimulatorError:
        return
    assert largest_error(found, interpret(kernel, given)[2]) > 0, "nobody sees it"

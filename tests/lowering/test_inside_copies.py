"""Loops that are split at their masks copy whole tiles between: nothing is compared with the ends of arrays."""

from __future__ import annotations

import re
from functools import cache

import pytest

import tilesat
from tests.lowering.test_hopper import check as check_case
from tests.lowering.test_steady_states import attention
from tests.programs.program import simulate
from tests.tilesat.example_cases import EXAMPLES, gemm
from tilesat.execution import largest_error
from tilesat.kernel import Kernel


@cache
def compiled() -> Kernel:
    return tilesat.compile(attention(64, True, 64).source(), "sm_80")


def copies(kernel: Kernel) -> list[tuple[int, int]]:
    """Of each loop with copies, from its label to the branch back to it: copies, those that may fill in zeros."""
    bodies = re.findall(r"\n(\$L\d+):(.*?)bra \1;", kernel.ptx, re.S)
    found = [re.findall(r"cp\.async\.c\w\.\S+ \[\S+\], \[\S+\], \d+(, \S+)?;", text) for _, text in bodies]
    return [(len(each), sum(map(bool, each))) for each in found if each]


def test_copies_between_have_no_bounds() -> None:
    """Eight of a thread for keys and values, in the loop without masks; those of the last iterations have them."""
    assert copies(compiled()) == [(8, 0), (8, 8)]


@pytest.mark.parametrize("length", [1, 257, 320])
def test_every_number_of_keys(length: int) -> None:
    """No iteration between, one, two; the last tile one key, or whole: what is read beyond an array is an error."""
    program = attention(64, True, length)
    found = simulate(compiled(), program)
    assert program.expected is not None
    for position, wanted in program.expected(*program.arguments()).items():
        assert largest_error(found[position], wanted) <= program.tolerance


def test_a_tile_at_another_edge_keeps_its_bounds() -> None:
    """Rows and columns of a GEMM: tiles at its edges would stay in the loop with prefixes all the way."""
    text = (EXAMPLES / "gemm.mlir").read_text().replace("%depth = assume div_by<8>", "%depth = assume div_by<1>")
    kernel = tilesat.compile(text, "sm_80")
    between, last = copies(kernel)
    assert between[0] == between[1] == last[0] == last[1]
    check_case(gemm(130, 96, 72), kernel)

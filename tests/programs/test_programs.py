"""Every program of the corpus, compiled for sm_80, some for its successors: simulator = interpreter = NumPy."""

import re

import pytest

from tests.programs import control, cutile, elementwise, memory, products, reductions  # noqa: F401
from tests.programs.program import PROGRAMS, check

ELSEWHERE = (
    "cutile-matmul-f16", "cutile-attention-causal", "cutile-layer_norm-f16", "cutile-softmax_online", "matmul-bf16-out",
    "matmul-tf32-plain", "gather-2d-f16", "in-place-loop", "branch-with-load", "f16-mathematics",
)  # fmt: skip
"""One of each kind, for the other targets that need nothing new."""


LONG_TAIL = re.compile(
    r"i(8|16|64)-(bits|extrema|unsigned|division|compare|python)|i(8|16|64)-to-|-to-i(8|16|64)|-unsigned$|bf16-(fma|comp)"
    r"|reduce-1d-i(8|16|64)-(min|mul|or|xor)|padding-.*-(f16|bf16)|-bf16-(both|a-trans)|-tf32-(both|a-trans)"
)
"""Other types of what the fast tests check in one."""

FAST = [name for name in PROGRAMS if not LONG_TAIL.search(name)]


@pytest.mark.parametrize("name", FAST)
def test_program(name: str) -> None:
    check(PROGRAMS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in FAST])
def test_program_of_the_long_tail(name: str) -> None:
    check(PROGRAMS[name])


@pytest.mark.parametrize("target", ["sm_86", "sm_89"])
@pytest.mark.parametrize("name", ELSEWHERE)
def test_program_for_other_targets(name: str, target: str) -> None:
    check(PROGRAMS[name], target)


@pytest.mark.parametrize("name", cutile.VALUES)
def test_frozen_bytecode_is_what_cutile_exports(name: str) -> None:
    """The frozen files stand in where the package is missing, so they must be its output."""
    kernel, values = cutile.VALUES[name]
    assert (cutile.FROZEN / f"{name}.tileirbc").read_bytes() == cutile.export(kernel, values())

"""Random programs: simulator = interpreter; those on one ordered array also with the warps of a block far apart."""

from typing import Any

import numpy as np
import pytest

import tilesat
from tests.programs import branches, control, cutile_cases, memory, products  # noqa: F401
from tests.programs.program import FAR_APART, PROGRAMS, Program, check, interpret, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.generated import generated
from tilesat.fuzz.ordered import ordered
from tilesat.kernel import Kernel

FEW, MANY = 8, 150
IN_PLACE = [name for name in PROGRAMS if "in-place" in name or "in_place" in name]
ACROSS_WARPS = (
    "products-without-loop", "scratch-before-loop", "scratch-between-loops", "product-in-branch", "cutile-fused_mlp",
    "attention-bf16", "matmul-f16-both",
)  # fmt: skip


def errors(kernel: Kernel, program: Program) -> list[float]:
    """Errors with the first warp ahead, and with the last."""
    wanted = [a for a in interpret(kernel, program) if isinstance(a, np.ndarray)]
    found: list[float] = []
    for schedule in FAR_APART:
        run = simulate(kernel, program, hazards=False, schedule=schedule)
        arrays = [a for a in run if isinstance(a, np.ndarray)]
        found.append(max(largest_error(a, b) for a, b in zip(arrays, wanted, strict=True)))
    return found


def check_apart(program: Program, target: str = "sm_80") -> None:
    kernel = tilesat.compile(program.source(), target)
    assert max(errors(kernel, program)) <= program.tolerance


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(FEW))
def test_random_program(seed: int) -> None:
    check(generated(seed), spills=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FEW, MANY))
def test_more_random_programs(seed: int) -> None:
    check(generated(seed), spills=True)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(FEW))
def test_random_ordered_program(seed: int) -> None:
    check_apart(ordered(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FEW, MANY))
def test_more_random_ordered_programs(seed: int) -> None:
    check_apart(ordered(seed))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", [*IN_PLACE, *ACROSS_WARPS])
def test_program_with_warps_apart(name: str) -> None:
    check_apart(PROGRAMS[name])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", ACROSS_WARPS)
def test_program_with_agents_apart(name: str) -> None:
    """A producer that runs ahead must not fill a ring while the consumers use memory under it for something else."""
    check_apart(PROGRAMS[name], "sm_90a")


class Without:
    """A kernel whose PTX lacks its barriers."""

    def __init__(self, kernel: Kernel):
        self.kernel, self.entry = kernel, kernel.entry
        self.manifest = kernel.manifest
        self.ptx = "\n".join(line for line in kernel.ptx.splitlines() if "bar.sync" not in line) + "\n"

    def run(self, *arguments: Any, on: str) -> None:
        self.kernel.run(*arguments, on=on)


@pytest.mark.in_turn
def test_a_lost_barrier_would_show() -> None:
    """The check can fail: without its barriers nearly every ordered program goes wrong."""
    wrong = 0
    for seed in range(FEW):
        program = ordered(seed)
        wrong += max(errors(Without(tilesat.compile(program.source())), program)) > 0
    assert wrong >= FEW - 1


def test_defaults_come_although_the_last_answers_were_known() -> None:
    """A side of a branch reduces what nothing offers a layout for; other questions have equal answers."""
    check(generated(714), spills=True)

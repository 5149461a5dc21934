"""Every example on the GPU of this machine: `pytest -m gpu`. Elsewhere tests/runtime/test_cuda.py must do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tilesat
from benchmarks.gpu import best_target
from runtime.cuda import CudaError, Device
from tests.tilesat.example_cases import RAGGED, SWEEP, Case
from tests.tilesat.test_examples import BYTECODE
from tilesat.execution import largest_error

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    """The best target for this machine's card; the context stays open, so that launches need not make one."""
    with Device() as device:
        yield best_target(device.architecture)


def check(case: Case, kernel: tilesat.Kernel, cutile: bool = False) -> None:
    arguments = case.fresh()
    kernel.run(case.grid, *(case.as_cutile(arguments) if cutile else arguments), on="cuda")
    assert largest_error(case.logical(arguments), case.expected) <= case.tolerance
    assert case.outside_untouched(arguments)


@pytest.mark.parametrize("name", SWEEP)
def test_example_computes_right_on_the_card(name: str, target: str) -> None:
    case = SWEEP[name]()
    check(case, tilesat.compile(case.source, target))


@pytest.mark.parametrize("name", RAGGED)
def test_bytecode_computes_right_on_the_card(name: str, target: str) -> None:
    case = RAGGED[name]()
    check(case, tilesat.compile(BYTECODE / f"{case.example}.13.3.tileirbc", target), cutile=True)


def test_launches_repeat_and_agree(target: str) -> None:
    """A race shows as results that differ from launch to launch."""
    case = SWEEP["gemm-128x128x512"]()
    kernel = tilesat.compile(case.source, target)
    with Device() as device:
        loaded = device.load(kernel.ptx, kernel.manifest)
        held = [device.put(a) if isinstance(a, np.ndarray) else a for a in case.arguments]
        launch = loaded.prepare((*case.grid, 1, 1)[:3], held)
        first, found = None, None
        for _ in range(50):
            launch()
            found = device.get(held[case.output])[: case.expected.shape[0], : case.expected.shape[1]]
            first = found if first is None else first
            assert np.array_equal(found, first)
        assert largest_error(found, case.expected) <= case.tolerance


def test_a_kernel_for_another_card_is_refused(target: str) -> None:
    other = "sm_90a" if target != "sm_90a" else "sm_120a"
    case = SWEEP["vecadd_ptr-1"]()
    with pytest.raises(CudaError, match=f"compiled for {other}"):
        tilesat.compile(case.source, other).run(case.grid, *case.fresh(), on="cuda")

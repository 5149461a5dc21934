"""Grids that follow one another, heaps that are full: what programs run alone do not show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import tilesat
from ptxsim import GlobalMemory, launch
from ptxsim.errors import AssertionFailedError, HazardError
from runtime.manifest import parse
from tests.programs import effects
from tests.programs.program import PROGRAMS, check, random
from tilesat.execution import check_arguments, launch_arguments
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WAIT = "griddepcontrol.wait;"
LATER = ("sm_90a", "sm_120a")


@pytest.mark.sampled(24)
@pytest.mark.parametrize("target", LATER)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.startswith(("alloca", "fence-", "dependent"))])
def test_on_later_targets(name: str, target: str) -> None:
    check(PROGRAMS[name], target)


@pytest.mark.parametrize(("target", "count"), [("sm_80", 0), ("sm_89", 0), ("sm_90", 1), ("sm_90a", 1), ("sm_120a", 1)])
def test_grids_depend_on_each_other_from_sm_90_on(target: str, count: int) -> None:
    """Before, a grid begins when the one before has ended: tileiras 13.5 drops both operations too."""
    kernel = tilesat.compile(PROGRAMS["dependent"].source(), target)
    assert (kernel.ptx.count(WAIT), kernel.ptx.count("griddepcontrol.launch_dependents;")) == (count, count)
    assert parse(kernel.manifest).dependent == bool(count)


def chain(first: Kernel, ptx: str) -> np.ndarray[Any, Any]:
    """A grid and, before it has ended, another one that goes on with what it made: its result."""
    memory, manifest = GlobalMemory(), first.manifest
    arrays = [random((2 * effects.N,), "f32", seed) for seed in (1, 2, 3)]
    addresses = {id(array): memory.put(array) for array in arrays}
    for number, text in enumerate((first.ptx, ptx)):
        given = check_arguments(first.entry, [arrays[number], arrays[number + 1], 3])
        launch(
            text, grid=(2, 1, 1), block=manifest["block"], memory=memory, hazards=True, dependent=number > 0,
            args=launch_arguments(manifest, given, addresses, memory),
        )  # fmt: skip
    return memory.get(addresses[id(arrays[2])], arrays[2].shape, arrays[2].dtype)


def test_a_grid_waits_for_the_one_before() -> None:
    kernel = tilesat.compile(PROGRAMS["dependent"].source(), "sm_90a")
    np.testing.assert_array_equal(chain(kernel, kernel.ptx), random((2 * effects.N,), "f32", 1) + 1 + 1)
    with pytest.raises(HazardError, match=r"griddepcontrol\.wait must come first"):
        chain(kernel, kernel.ptx.replace(WAIT, ""))


ONES = """
.visible .entry ones(.param .u64 p) {
    .reg .b64 %rd<3>;
    .reg .b32 %r;
    .reg .b16 %h;
    ld.param.u64 %rd0, [p];
    mov.u32 %r, %tid.x;
    mul.wide.u32 %rd1, %r, 2;
    add.u64 %rd2, %rd0, %rd1;
    mov.b16 %h, 0x3C00;
    st.global.b16 [%rd2], %h;
    ret;
}
"""


def test_each_agent_waits() -> None:
    """The warps that compute and the one that starts tensor copies."""
    program, kernel = PROGRAMS["dependent-product"], tilesat.compile(PROGRAMS["dependent-product"].source(), "sm_90a")
    arguments, manifest = check_arguments(kernel.entry, program.arguments()), kernel.manifest
    a, b, c = (cast("np.ndarray[Any, Any]", each) for each in arguments[:3])
    head = kernel.ptx[: kernel.ptx.index(".visible")].partition(".extern")[0]

    def run(ptx: str) -> np.ndarray[Any, Any]:
        memory = GlobalMemory()
        addresses = {id(each): memory.put(each) for each in (a, b, c)}
        launch(head + ONES, grid=(1, 1, 1), block=(64, 1, 1), args=[addresses[id(a)]], memory=memory, hazards=True)
        launch(
            ptx, grid=(1, 1, 1), block=manifest["block"], memory=memory, hazards=True, dependent=True,
            args=launch_arguments(manifest, arguments, addresses, memory), dynamic_smem=manifest["dynamic_smem"],
        )  # fmt: skip
        return memory.get(addresses[id(c)], c.shape, c.dtype)

    made = a.copy()
    made.reshape(-1)[:64] = 1
    wanted = made.astype(np.float32) @ b.astype(np.float32)
    assert np.abs(run(kernel.ptx) - wanted).max() < 1e-2
    producer, consumers = (place.start() for place in re.finditer(re.escape(WAIT), kernel.ptx))
    assert producer < kernel.ptx.index("cp.async.bulk.tensor") < consumers
    with pytest.raises(HazardError, match=r"griddepcontrol\.wait must come first"):
        run(kernel.ptx.replace(WAIT, "", 1))


def test_waiting_keeps_tensor_copies_and_agents() -> None:
    """The GEMM of the examples behind a grid: the same code but for the waits."""
    source = (EXAMPLES / "gemm.mlir").read_text()
    plain, waiting = (
        tilesat.compile(text, "sm_90a").ptx for text in (source, source.replace("make_token :", "gdc_wait_tko ->"))
    )
    assert waiting.count(WAIT) == 2
    for word in ("cp.async.bulk.tensor", "mbarrier.try_wait", "wgmma.mma_async", "setmaxnreg"):
        assert waiting.count(word) == plain.count(word), word


def test_a_full_heap_ends_the_launch_with_a_message() -> None:
    w = Writer("large", y="ptr<f32>")
    i = w.iota(128)
    p = effects.memory(w, 1 << 24)
    w.scatter(w.y[i], w.gather(p[i], token=w.scatter(p[i], i.to("f32")))[0])
    kernel = tilesat.compile(w.text())
    with pytest.raises(AssertionFailedError, match="no room on the heap for 67108864 bytes of an alloca") as caught:
        kernel.run((1,), np.ones(128, np.float32), on="sim")
    assert caught.value.line


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name.startswith("alloca")])
def test_memory_is_given_back(name: str) -> None:
    kernel, program = tilesat.compile(PROGRAMS[name].source()), PROGRAMS[name]
    memory, manifest = GlobalMemory(), kernel.manifest
    arguments = check_arguments(kernel.entry, program.arguments())
    addresses = {id(a): memory.put(a) for a in arguments if isinstance(a, np.ndarray)}
    launch(
        kernel.ptx, grid=(*program.grid, 1, 1), block=manifest["block"], memory=memory, hazards=True,
        args=launch_arguments(manifest, arguments, addresses, memory), dynamic_smem=manifest["dynamic_smem"],
    )  # fmt: skip
    assert not memory.heap

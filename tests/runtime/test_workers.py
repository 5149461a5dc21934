"""A grid by several processes: results, counts and hazards are those of one; what cannot be split is refused."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptxsim import GlobalMemory, HazardError, LaunchError, Module, Report, TrapError, launch
from ptxsim.workers import stretches
from tests.runtime.triton_launch import Described, Launched

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")
NVCC = Path(__file__).parent / "data" / "nvcc" / "forms.ptx"
CTAS, THREADS = 7, 1024  # with hazards two CTAs a batch
KERNEL = """.version 8.8
.target sm_90
.address_size 64
.global .align 4 .u32 written[64];
.visible .entry kernel(.param .u64 out, .param .u32 first) {
  .reg .b32 %r<9>; .reg .b64 %rd<6>; .reg .pred %p<4>; .shared .align 4 .b32 tile[1024];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; ld.param.u64 %rd0, [out]; ld.param.u32 %r2, [first];
  mad.lo.u32 %r3, %r1, 1024, %r0; mov.u32 %r4, tile; shl.b32 %r5, %r0, 2; add.u32 %r4, %r4, %r5;
  setp.ge.u32 %p0, %r1, %r2;
  st.shared.u32 [%r4], %r3;
  @%p0 bra apart;
  bar.sync 0;
apart:
  mov.u32 %r6, tile; sub.u32 %r7, 4092, %r5; add.u32 %r6, %r6, %r7; ld.shared.u32 %r8, [%r6];
  mad.wide.u32 %rd1, %r3, 4, %rd0; st.global.u32 [%rd1], %r8;
  setp.eq.u32 %p1, %r0, 0; mov.u64 %rd2, written; mad.wide.u32 %rd3, %r1, 4, %rd2; @%p1 st.global.u32 [%rd3], %r1;
  EXTRA
  ret;
}"""


def run(workers: int, first: int = CTAS, extra: str = "", **options: Any) -> tuple[Report, np.ndarray[Any, Any]]:
    """The report and the output of a kernel whose CTAs from `first` on race."""
    memory = GlobalMemory()
    out = memory.put(np.zeros(CTAS * THREADS, np.uint32))
    ptx = KERNEL.replace("EXTRA", extra)
    report = launch(ptx, (CTAS,), (THREADS,), [out, first], memory, workers=workers, **options)
    memory.put(np.zeros(1 << 16))  # the memory can still grow
    return report, memory.get(out, CTAS * THREADS, np.uint32)


def same(one: Report, other: Report) -> None:
    assert one.instructions == other.instructions
    assert one.bank_conflicts == other.bank_conflicts
    assert one.sectors == other.sectors
    assert one.barrier_waits == other.barrier_waits
    assert one.printed == other.printed
    assert one.hazards == other.hazards
    assert one.suppressed == other.suppressed


@pytest.mark.sampled(5)
@needs_fork
@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize("workers", [2, 3, 20])
def test_a_grid_by_processes_is_that_of_one(hazards: bool, workers: int) -> None:
    (one, expected), (several, found) = run(1, hazards=hazards), run(workers, hazards=hazards)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found.reshape(CTAS, -1)[:, ::-1].reshape(-1), np.arange(CTAS * THREADS))
    same(one, several)
    np.testing.assert_array_equal(several.shared[-1], one.shared[-1])


@needs_fork
def test_hazards_of_all_processes_are_reported_as_those_of_one() -> None:
    (one, _), (several, _) = (run(workers, 1, hazards="report") for workers in (1, 2))
    assert [hazard.count for hazard in one.hazards] == [CTAS // 4 + 1]  # one a batch of 4096 threads
    same(one, several)


@needs_fork
@pytest.mark.parametrize("first", [0, 3, CTAS - 1])
def test_the_first_hazard_of_the_grid_stops(first: int) -> None:
    messages: list[str] = []
    for workers in (1, 3):
        with pytest.raises(HazardError) as caught:
            run(workers, first, hazards=True)
        messages.append(str(caught.value))
        assert caught.value.kind == "race"
        assert len(caught.value.hazards) == 1
    assert messages[0] == messages[1]
    assert f"CTA ({first},0,0)" in messages[1]


@needs_fork
def test_an_error_of_another_process_has_its_line() -> None:
    stops = "setp.eq.u32 %p2, %r1, 6; @%p2 trap;"
    messages: list[str] = []
    for workers in (1, 2):
        with pytest.raises(TrapError) as caught:
            run(workers, extra=stops)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "PTX line" in messages[1]


@needs_fork
def test_a_process_that_dies_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    parent = os.getpid()

    def dies(*_: object) -> None:
        if os.getpid() != parent:
            os._exit(1)

    monkeypatch.setattr("ptxsim.schedule.Scheduler.run", dies)
    with pytest.raises(RuntimeError, match="died without an answer"):
        run(2)


@needs_fork
def test_module_variables_have_what_all_processes_wrote() -> None:
    module = Module(KERNEL.replace("EXTRA", ""))
    out = module.memory.put(np.zeros(CTAS * THREADS, np.uint32))
    module.launch((CTAS,), (THREADS,), [out, CTAS], workers=4)
    np.testing.assert_array_equal(module.read("written", np.uint32)[:CTAS], np.arange(CTAS))


@pytest.mark.in_turn
@needs_fork
@pytest.mark.parametrize("hazards", [False, True])
def test_tma_and_tensor_memory(hazards: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton's specialised GEMM of sm_100, 16 CTAs: two batches with hazards."""
    rng = np.random.default_rng(0)
    size = 512
    a, b = (rng.standard_normal((size, size)).astype(np.float16) for _ in range(2))
    monkeypatch.setattr(Launched, "hazards", hazards)
    found: list[Launched] = []
    for workers in (1, 2):
        monkeypatch.setattr(Launched, "workers", workers)
        blocks = Described(a, (128, 64)), Described(b, (128, 64)), Described(np.zeros_like(a), (128, 128))
        found.append(Launched("gemm_specialised.sm_100", (size // 128, size // 128), *blocks, size))
    np.testing.assert_array_equal(found[0][2], found[1][2])
    assert found[0][2].any()
    same(found[0].report, found[1].report)


REFUSED = {
    "atom.global.add.u32 %r8, [%rd1], 1;": "may talk",
    "red.global.add.u32 [%rd1], 1;": "may talk",
    "atom.add.u32 %r8, [%rd1], 1;": "may talk",
    "ld.acquire.gpu.global.u32 %r8, [%rd1];": "may talk",
    "st.volatile.global.u32 [%rd1], %r8;": "may talk",
    "ld.relaxed.gpu.u32 %r8, [%rd1];": "may talk",
}


@needs_fork
@pytest.mark.parametrize("extra", REFUSED)
def test_ctas_that_may_talk_are_refused(extra: str) -> None:
    run(1, extra=extra)
    with pytest.raises(LaunchError, match=REFUSED[extra]) as caught:
        run(2, extra=extra)
    assert caught.value.text == extra


@needs_fork
@pytest.mark.parametrize(
    "extra", ["atom.shared.add.u32 %r8, [%r4], 1;", "ld.volatile.shared.u32 %r8, [%r4];", "membar.gl;"]
)
def test_what_stays_inside_a_cta_is_not(extra: str) -> None:
    same(run(1, extra=extra)[0], run(2, extra=extra)[0])


@needs_fork
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cooperative": True}, "cooperative"),
        ({"max_instructions": 1000}, "max_instructions counts the instructions of one process"),
    ],
)
def test_what_processes_cannot_do_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        run(2, **options)


@needs_fork
@pytest.mark.parametrize("entry", ["build", "reap"])
def test_the_heap_is_refused(entry: str) -> None:
    memory = GlobalMemory()
    with pytest.raises(LaunchError, match="share the heap of malloc"):
        launch(
            NVCC.read_text(),
            (2,),
            (1,),
            [memory.alloc(64), 4 if entry == "build" else memory.alloc(64)],
            memory,
            entry=entry,
            workers=2,
        )


@needs_fork
def test_printf_in_the_order_of_the_grid() -> None:
    memory = GlobalMemory()
    arguments = [memory.put(np.frombuffer(b"number\0", np.uint8)), -12.5, 7, 10, 2]
    one, several = (
        launch(NVCC.read_text(), (6,), (2,), arguments, memory, entry="print", workers=workers) for workers in (1, 3)
    )
    assert len(one.printed) == 12
    same(one, several)


def test_less_than_one_process_is_refused() -> None:
    with pytest.raises(LaunchError, match="workers 0 is below 1"):
        run(0)


def test_systems_without_fork_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork", raising=False)
    with pytest.raises(LaunchError, match="cannot fork"):
        run(2)


@pytest.mark.parametrize(("clusters", "resident", "workers"), [(7, 2, 2), (64, 16, 2), (5, 2, 9), (1, 4, 3), (9, 1, 4)])
def test_stretches_are_whole_batches_of_all_clusters(clusters: int, resident: int, workers: int) -> None:
    parts = stretches(clusters, resident, workers)
    assert [cluster for part in parts for cluster in part] == list(range(clusters))
    assert len(parts) <= workers
    assert all(len(part) for part in parts)
    assert all(part.start % resident == 0 for part in parts)

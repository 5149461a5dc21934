"""What makes hazard tracking cheap must not change what it finds: grains, definite assignment, moves of whole boxes."""

import numpy as np
import pytest

from ptxsim import GlobalMemory, HazardError, launch
from ptxsim.assigned import Use, doubtful
from ptxsim.control import Branch, Exit
from ptxsim.functions import with_functions
from ptxsim.geometry import Geometry
from ptxsim.grains import grain_of, tensor_grain_of
from ptxsim.lane_boxes import LaneBoxes, row_index
from ptxsim.machine import Machine
from ptxsim.mbarrier import Mbarriers
from ptxsim.memory import Fault
from ptxsim.parser import parse
from ptxsim.waiting import Condition
from tests.runtime.async_harness import INIT, wait
from tests.runtime.async_harness import kernel as async_kernel
from tests.runtime.test_memory import kernel
from tests.runtime.triton_launch import ptx_of

Array = np.ndarray


def _grain(body: str) -> int:
    module = parse(kernel(body))
    return grain_of(with_functions(module, module.entries["k"]))


@pytest.mark.parametrize(
    ("body", "grain"),
    [
        ("", 8),
        ("st.shared.v2.b32 [buffer], {%r1, %r2}; ld.global.b8 %r1, [%rd0];", 8),
        ("st.shared.b32 [buffer], %r1;", 4),
        ("st.b32 [%rd0], %r1;", 4),
        ("ld.shared.b8 %h1, [buffer];", 8),
        ("st.shared.v2.b8 [buffer], {%h1, %h2};", 2),
        ("atom.shared.add.u32 %r1, [buffer], 1;", 4),
        ("st.shared.b8 [buffer], %r1;", 1),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r1};", 4),
        ("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r2], {%r1};", 2),
        ("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r1}, [%r2];", 8),
        ("cp.async.ca.shared.global [buffer], [%rd0], 4;", 4),
        ("cp.async.cg.shared.global [buffer], [%rd0], 16;", 8),
        ("mbarrier.init.shared.b64 [buffer], 1;", 8),
    ],
)
def test_a_grain_is_what_every_write_covers(body: str, grain: int) -> None:
    assert _grain(body) == grain


def test_tensor_memory_has_grains_of_lanes() -> None:
    module = parse(ptx_of("gemm_specialised.sm_100"))
    entry = with_functions(module, next(iter(module.entries.values())))
    assert (grain_of(entry), tensor_grain_of(entry)) == (4, 16)
    entry.instructions[0].base, entry.instructions[0].modifiers = "tcgen05", ("shift", "cta_group::1", "down")
    assert tensor_grain_of(entry) == 1


@pytest.mark.parametrize("width", [1, 2, 4])
def test_neighbours_in_a_word_do_not_race(width: int) -> None:
    """Threads write pieces of one word without a barrier; reading a neighbour's piece is a race."""
    type_, register = {1: ("u8", "%h1"), 2: ("u16", "%h1"), 4: ("u32", "%r5")}[width]
    body = f"""mov.u32 %r1, buffer; mad.lo.u32 %r2, %r0, {width}, %r1; mov.u32 %r5, 7; mov.u16 %h1, 7;
      st.shared.{type_} [%r2], {register}; xor.b32 %r2, %r2, {{offset}}; ld.shared.{type_} {register}, [%r2];"""
    memory = GlobalMemory()
    arguments = [memory.alloc(64)] * 2
    launch(kernel(body.format(offset=0)), (1,), (64,), arguments, memory, hazards=True)
    with pytest.raises(HazardError, match=f"race: thread .0,0,0. of CTA .0,0,0. reads byte {width}"):
        launch(kernel(body.format(offset=width)), (1,), (64,), arguments, memory, hazards=True)


def test_a_byte_read_meets_the_word_written_over_it() -> None:
    body = """mov.u32 %r1, buffer; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r0; {sync}
      xor.b32 %r3, %r2, 5; ld.shared.u8 %r4, [%r3]; bar.sync 0; st.shared.u32 [%r2], %r4;"""
    memory = GlobalMemory()
    arguments = [memory.alloc(64)] * 2
    launch(kernel(body.format(sync="bar.sync 0;")), (1,), (64,), arguments, memory, hazards=True)
    with pytest.raises(HazardError, match=r"race: thread .0,0,0. of CTA .0,0,0. reads byte 4"):
        launch(kernel(body.format(sync="")), (1,), (64,), arguments, memory, hazards=True)


def _assigned(text: str) -> dict[int, set[int]]:
    """Doubtful reads of a small program: one line an instruction, "wanted > written @ target ?" (? conditional)."""
    uses, controls = [], {}
    lines = [line.split("@") for line in text.splitlines()]
    for pc, (registers, *target) in enumerate(lines):
        wanted, _, written = registers.partition(">")
        uses.append(Use(frozenset(map(int, wanted.split())), frozenset(map(int, written.split()))))
        condition = Condition(np.zeros(0, np.bool_), False) if target and "?" in target[0] else None
        if target and "end" in target[0]:
            controls[pc] = Exit(pc + 1, condition)
        elif target:
            controls[pc] = Branch(int(target[0].strip(" ?")), pc + 1, condition)
    targets = {control.target for control in controls.values() if isinstance(control, Branch)}
    leaders = sorted({0, *targets, *(pc + 1 for pc in controls)} & set(range(len(uses))))
    return {pc: found for pc, found in enumerate(doubtful(uses, controls, leaders, {0})) if found}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">1\n1>2\n2>", {}),
        ("1>\n>1", {0: {1}}),
        ("> @2?\n>1\n1>", {2: {1}}),  # one side of a branch
        ("> @3?\n>1\n> @4\n>1\n1>", {}),  # both sides
        (">\n1>2\n>1 @1?\n1 2>", {1: {1}}),  # around a loop: not written in its first round
        (">1\n1>2\n1>1 @1?\n2>", {}),
        ("> @end?\n>1\n1> @end\n1>", {}),  # behind an exit: nobody comes there
    ],
)
def test_reads_are_doubtful_where_a_path_does_not_write(text: str, expected: dict[int, set[int]]) -> None:
    assert _assigned(text) == expected


def test_a_write_under_a_guard_is_not_certain() -> None:
    body = "setp.lt.u32 %p0, %r0, {bound}; @%p0 mov.u32 %r1, 1; add.u32 %r2, %r1, 1;"
    memory = GlobalMemory()
    launch(kernel(body.format(bound=32)), (1,), (32,), [memory.alloc(64)] * 2, memory, hazards=True)
    with pytest.raises(HazardError, match=r"thread \(31,0,0\).*reads register `%r1`, which it has not written"):
        launch(kernel(body.format(bound=31)), (1,), (32,), [memory.alloc(64)] * 2, memory, hazards=True)


@pytest.mark.parametrize("seed", range(20))
def test_boxes_are_what_index_arrays_select(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ctas, slots = 4, 96
    chosen = np.sort(rng.choice(ctas, rng.integers(1, ctas + 1), replace=False))
    first, last = sorted(rng.choice(slots + 1, 2, replace=False))
    lanes = (chosen[:, None] * slots + np.arange(first, last)).reshape(-1)
    if seed % 4 == 0:
        lanes = np.sort(rng.choice(ctas * slots, 30, replace=False))
    rows = np.arange(2, 7) if seed % 2 else rng.permutation(9)[:5]
    array = rng.integers(0, 1 << 32, (9, ctas * slots), dtype=np.uint32)
    expected = array.copy()
    boxes = LaneBoxes(ctas, slots)
    np.testing.assert_array_equal(boxes.take(array, row_index(rows), lanes), array[rows[:, None], lanes])
    for values in (rng.integers(0, 9, (5, lanes.size)), rng.integers(0, 9, (1, lanes.size)), 3):
        boxes.put(array, row_index(rows), lanes, values)
        expected[rows[:, None], lanes] = values
        np.testing.assert_array_equal(array, expected)


def _mbarriers() -> Mbarriers:
    module = parse(kernel(""))
    geometry = Geometry((1, 1, 1), (32, 1, 1), (1, 1, 1))
    return Mbarriers(Machine(module.entries["k"], geometry, 1, GlobalMemory(), 64, 0))


def test_a_signal_is_an_addition_and_an_arrival() -> None:
    rng = np.random.default_rng(3)
    one, other = _mbarriers(), _mbarriers()
    cell = np.array([3])
    for count in (1, 2, 5):
        for mbarriers in (one, other):
            mbarriers.init(cell, np.array([count]))
        for _ in range(200):
            owed, arrivals = int(rng.integers(-3, 4)), int(rng.integers(0, 3))
            failed = []
            for mbarriers in (one, other):
                try:
                    if mbarriers is one:
                        mbarriers.signal(3, owed, arrivals)
                    else:
                        if owed:
                            mbarriers.add(cell, np.array([-owed]))
                        if arrivals:
                            mbarriers.arrive(cell, np.array([arrivals]))
                except Fault as fault:
                    failed.append(fault.reason)
            assert len(failed) in (0, 2)
            assert len(set(failed)) < 2
            assert one.describe(3) == other.describe(3)
            np.testing.assert_array_equal(one.states(cell), other.states(cell))


def test_arrivals_of_copies_may_belong_to_several_phases() -> None:
    """64 threads arrive on an mbarrier of 16: their copies land phase by phase, and all four phases complete."""
    body = (
        INIT.format(count=16)
        + """ld.param.u64 %rd2, [data]; mul.wide.u32 %rd3, %tid, 16; add.u64 %rd2, %rd2, %rd3;
      shl.b32 %r2, %tid, 4; add.u32 %r2, %r2, %tile; cp.async.cg.shared.global [%r2], [%rd2], 16;
      cp.async.mbarrier.arrive.noinc.shared.b64 [%bars];"""
    )
    body += "".join(wait(parity=number % 2, number=number) for number in range(4))
    body += """ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r2]; add.u64 %rd4, %rd2, 1024;
      st.global.v4.b32 [%rd4], {%r3, %r4, %r5, %r6};"""
    data = np.random.default_rng(4).integers(0, 1 << 32, (64, 4), dtype=np.uint32)
    memory = GlobalMemory()
    address = memory.put(np.concatenate([data, np.zeros_like(data)]))
    launch(async_kernel(body, [".param .u64 data"]), (1,), (64,), [address], memory, hazards=True)
    np.testing.assert_array_equal(memory.get(address, (128, 4), np.uint32)[64:], data)

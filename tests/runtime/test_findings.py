"""hazards="report": hazards are counted by PTX line while the run goes on, and some can be suppressed."""

from pathlib import Path

import numpy as np
import pytest

from ptxsim import DeadlockError, GlobalMemory, HazardError, LaunchError, Report, hazard_table, launch
from ptxsim import findings as module
from ptxsim.findings import source_lines
from ptxsim.kinds import Kind
from tests.runtime.test_memory import kernel

# Threads read each other's words with no barrier, twice; then one reads a byte that nothing wrote.
BODY = """mov.u32 %r1, buffer; mad.lo.u32 %r2, %r0, 4, %r1; xor.b32 %r3, %r0, 1; mad.lo.u32 %r3, %r3, 4, %r1;
st.shared.u32 [%r2], %r0;
.loc 1 7 3
ld.shared.u32 %r4, [%r3];
.loc 1 9 3, function_name $x, inlined_at 1 2 3
ld.shared.u32 %r5, [%r3];
ld.shared.u32 %r6, [%r1+1020];"""


def _launch(body: str = BODY, hazards: bool | str = "report", suppress: tuple[str, ...] = ()) -> Report:
    memory = GlobalMemory()
    args = [memory.alloc(4096)] * 2
    ptx = kernel(body) + '\n.file 1 "stencil.py"\n'
    return launch(ptx, (2,), (64,), args, memory, hazards=hazards, suppress=suppress)


def test_the_run_goes_on_and_every_line_is_listed() -> None:
    report = _launch()
    assert [(each.kind, each.source) for each in report.hazards] == [
        (Kind.RACE, "stencil.py:7"), (Kind.RACE, "stencil.py:9"), (Kind.UNWRITTEN_SHARED, "stencil.py:9"),
    ]  # fmt: skip
    first = report.hazards[0]
    assert first.thread == "thread (0,0,0) of CTA (0,0,0)"
    assert first.text == "ld.shared.u32 %r4, [%r3];"
    assert "with no barrier between" in first.message
    text = hazard_table(report.hazards)
    assert "stencil.py:7  race " in text
    assert text.splitlines()[0].split() == ["PTX", "line", "source", "kind", "count", "first", "instruction"]
    assert text.splitlines()[-1] == "3 hazards at 3 PTX lines"


def test_a_loop_counts() -> None:
    loop = BODY.replace("ld.shared.u32 %r5, [%r3];", "mov.u32 %r7, 0;\nagain: ld.shared.u32 %r5, [%r3];\n"
                        "add.u32 %r7, %r7, 1; setp.lt.u32 %p0, %r7, 5; @%p0 bra again;")  # fmt: skip
    assert [each.count for each in _launch(loop).hazards] == [1, 5, 1]


@pytest.mark.parametrize("mode", [True, "stop"])
def test_stop_ends_at_the_first(mode: bool | str) -> None:
    with pytest.raises(HazardError, match="race") as caught:
        _launch(hazards=mode)
    assert caught.value.kind == Kind.RACE.title


def test_suppressed_by_kind_line_or_both() -> None:
    lines = [each.line for each in _launch().hazards]
    assert len(_launch(suppress=("race",)).hazards) == 1
    assert [each.line for each in _launch(suppress=(f"race:{lines[0]}",)).hazards] == lines[1:]
    report = _launch(suppress=(f"{lines[1]}", f"{lines[2]}", f"unwritten-shared:{lines[0]}"))
    assert [each.line for each in report.hazards] == lines[:1]
    assert hazard_table(report.hazards, report.suppressed).endswith("1 hazards at 1 PTX lines, 2 suppressed")
    everything = _launch(hazards="stop", suppress=("race", "unwritten-shared"))
    assert everything.hazards == []
    assert sum(each.count for each in everything.suppressed) == 3


@pytest.mark.parametrize("rule", ["", "races", "race:", "race:x", ":12", "races:12"])
def test_what_cannot_be_suppressed_is_refused(rule: str) -> None:
    with pytest.raises(LaunchError, match=r"expected KIND, KIND:LINE or LINE; kinds are race, "):
        _launch(suppress=(rule,))


def test_a_mode_that_does_not_exist() -> None:
    with pytest.raises(LaunchError, match='expected False, True, "stop" or "report"'):
        _launch(hazards="all")


def test_a_deadlock_ends_the_run_with_what_was_found_before() -> None:
    stuck = BODY + "\nsetp.lt.u32 %p0, %r0, 32; @%p0 bar.sync 0, 64; @!%p0 bar.sync 1, 64;"
    with pytest.raises(DeadlockError) as caught:
        _launch(stuck)
    assert [each.kind for each in caught.value.hazards][-1] is Kind.DEADLOCK
    assert len(caught.value.hazards) == 4


def test_results_are_those_without_tracking() -> None:
    body = BODY.splitlines()
    store = "cvta.to.global.u64 %rd1, %rd0; mad.wide.u32 %rd1, %r0, 4, %rd1; st.global.u32 [%rd1], %r4;"
    found = []
    for hazards in (False, "report"):
        memory = GlobalMemory()
        out = memory.alloc(4096)
        launch(kernel("\n".join([*body, store])), (1,), (64,), [out, out], memory, hazards=hazards)
        found.append(memory.get(out, (64,), np.uint32))
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0], np.arange(64) ^ 1)


def test_source_lines_end_with_their_function() -> None:
    text = '.file 1 "a.cu"\n.entry f()\n{\n.loc 1 4 0\nret;\n}\n.entry g()\n{\nret;\n}\n'
    assert source_lines(text) == {5: "a.cu:4"}


def test_every_kind_is_found_somewhere() -> None:
    folder = Path(module.__file__).parent
    sources = "".join(path.read_text() for path in folder.rglob("*.py"))
    assert [kind.name for kind in Kind if f"Kind.{kind.name}" not in sources] == []

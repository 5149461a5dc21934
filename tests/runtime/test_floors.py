"""Whether an instruction exists on a .target and .version, compared with ptxas for every form."""

import pytest

from ptxsim import GlobalMemory, Module, SimulatorError, TargetError, check, floors, launch, link
from ptxsim.parser import parse
from ptxsim.program import Instruction
from tests.runtime import forms

FORMS = forms.read()
SAMPLE = [
    ("sm_75", (7, 8)), ("sm_80", (7, 0)), ("sm_89", (9, 5)), ("sm_90a", (8, 0)), ("sm_100", (8, 8)),
    ("sm_103f", (9, 0)), ("sm_110a", (9, 0)), ("sm_120a", (8, 7)),
]  # fmt: skip


def instructions() -> list[Instruction]:
    text, first = forms.module(FORMS, "sm_100a", (9, 5))
    [entry] = parse(text).entries.values()
    found = entry.instructions[:-1]
    assert [one.line - first for one in found] == list(range(len(FORMS)))
    return found


def compare(found: list[Instruction], target: str, version: tuple[int, int]) -> list[str]:
    """Forms on which the simulator and ptxas disagree."""
    said = forms.refused(FORMS, target, version)
    wrong: list[str] = []
    for number, one in enumerate(found):
        lacks = floors.problem(link.FLOORS.get(one.base, ()), one.opcode, floors.describe(one), target, version)
        if (lacks is None) != (number not in said):
            wrong.append(f"{target} {version} {FORMS[number]}: simulator {lacks}, ptxas {said.get(number)}")
    return wrong


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("target", "version"), SAMPLE)
def test_a_sample_of_targets(target: str, version: tuple[int, int]) -> None:
    assert compare(instructions(), target, version) == []


@pytest.mark.slow
def test_every_form_on_every_target_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    found = instructions()
    pairs = [
        (target, version) for target, first in floors.TARGETS.items() for version in forms.VERSIONS if version >= first
    ]
    wrong = [line for target, version in pairs for line in compare(found, target, version)]
    with capsys.disabled():
        total = len(pairs) * len(found)
        print(f"\n{len(found)} forms, {len(pairs)} pairs of target and version: {total - len(wrong)} of {total} agree")
    assert wrong == []


def test_every_target_has_its_first_version() -> None:
    for target, first in floors.TARGETS.items():
        before = forms.VERSIONS[max(0, forms.VERSIONS.index(first) - 1)]
        if before < first:
            with pytest.raises(AssertionError, match=r"does not support \.target"):
                forms.refused(["bar.sync 0;"], target, before)
            with pytest.raises(TargetError, match=f"does not have .target {target}, which came with"):
                parse(forms.module([], target, before)[0])
        assert forms.refused(["bar.sync 0;"], target, first) == {}


def test_every_row_has_a_form() -> None:
    fronts = {".".join(form.rstrip(";").split()[0].split(".")[:count]) for form in FORMS for count in (1, 2, 3)}
    assert set(link.TABLE) - fronts == {"call", "ret", "bra", "brx", "exit"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a", "sm_103a", "sm_120a"])
def test_every_form_is_simulated(target: str) -> None:
    said = forms.refused(FORMS, target, (9, 5))
    taken = [form for number, form in enumerate(FORMS) if number not in said]
    assert len(taken) > len(FORMS) // 2
    text, _ = forms.module(taken, target, (9, 5))
    check(text.replace("par[256])", "par[256])\n.reqnctapercluster 2, 1, 1"))  # for cta_group::2


HEAD = (
    ".version {}\n.target {}\n.address_size 64\n.visible .entry k()\n{{ .reg .b32 %r<4>; .reg .b64 %d<4>;\n{} ret; }}"
)


@pytest.mark.parametrize(
    ("version", "target", "statement", "message"),
    [
        ("8.0", "sm_80", "griddepcontrol.wait;",
         "PTX line 6 `griddepcontrol.wait;`: `griddepcontrol.wait`: it needs .target sm_90 or later; this module"),
        ("8.0", "sm_90", "wgmma.fence.sync.aligned;", "it needs .target sm_90a; this module is for sm_90"),
        ("8.8", "sm_100", "tcgen05.wait::ld.sync.aligned;",
         "it needs .target sm_100f or another f or a target of its family or sm_110f or another"),
        ("7.5", "sm_80", "bmsk.clamp.b32 %r0, %r1, %r2;", "it needs .version 7.6 or later; this module has 7.5"),
        ("7.8", "sm_90a", "", "PTX line 2 `.target sm_90a`: .version 7.8 does not have .target sm_90a, which came"),
    ],
)  # fmt: skip
def test_messages(version: str, target: str, statement: str, message: str) -> None:
    with pytest.raises(TargetError) as caught:
        check(HEAD.format(version, target, statement))
    assert message in str(caught.value)
    with pytest.raises(TargetError):
        launch(HEAD.format(version, target, statement), (1,), (1,), [], GlobalMemory())


def test_an_older_target_than_ptxas_takes() -> None:
    check(HEAD.format("6.0", "sm_60", "mov.u32 %r0, %tid.x;"))
    with pytest.raises(TargetError, match=r"it needs \.target sm_80 or later; this module is for sm_60"):
        check(HEAD.format("7.0", "sm_60", "cp.async.wait_all;"))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "tex.1d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%d0, {%r0}];",
            "textures and surfaces are not modelled; read the data",
        ),
        ("suld.b.1d.b32.trap %r0, [%d0, {%r0}];", "textures and surfaces are not modelled; read the data from global"),
        ("txq.width.b32 %r0, [%d0];", "opcode `txq` is not simulated: textures"),
        ("vadd4.u32.u32.u32 %r0, %r1, %r2, %r3;", "opcode `vadd4` is not simulated: it is a video instruction; use"),
        ("ex2.approx.f64 %d0, %d1;", "`ex2` of .f64 is not simulated"),
        ("nonsense.b32 %r0, %r1;", "opcode `nonsense` is not simulated"),
    ],
)
def test_what_stays_refused(statement: str, message: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        Module(HEAD.format("9.0", "sm_100a", statement)).check()
    assert message in str(caught.value)
    assert caught.value.line == 6

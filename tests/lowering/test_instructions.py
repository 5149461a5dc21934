"""Every declared instruction: ptxas takes each form on each tier that has it, and refuses it where it has not."""

from __future__ import annotations

import re

import pytest

from ir.core import VerifyError, verify
from ir.dialects import llvm
from ir.instruction import Instruction, legal_form, placed
from lowering.ptx import emit
from lowering.ptx.instructions import lines_of
from lowering.targets import ALL_TARGETS, target
from ptxsim.launch import check
from tests.lowering.instruction_kernels import Listing, complaint, instructions, listing, listings, samples
from tests.lowering.instruction_page import OUTPUT, page

SAMPLES = samples()


@pytest.mark.parametrize("cls", instructions(), ids=lambda cls: cls.info.name)
def test_forms_are_legal_and_texts_name_fields(cls) -> None:
    forms = list(cls.forms())
    assert forms, "an instruction must have a form that can be tried"
    assert all(legal_form(cls, form) for form in forms)
    assert all(lines_of(cls, placed(cls, form).text) for form in forms)
    assert cls.__doc__
    assert cls.reference


@pytest.mark.sampled(24)
@pytest.mark.parametrize("tier", ALL_TARGETS)
def test_ptxas_and_the_simulator_accept_what_a_tier_has(tier: str) -> None:
    had = [sample for sample in SAMPLES if placed(*sample).needs().met_by(tier)]
    assert len(had) > 100
    for ptx in listings(tier, had):
        assert complaint(ptx, tier) == ""
        check(ptx)  # the simulator decodes each form too


@pytest.mark.parametrize("tier", ALL_TARGETS)
def test_versions_of_tiers_cover_their_instructions(tier: str) -> None:
    """A kernel whose form needs more than its class (ue8m0 scales of 16) is printed as the version of that form."""
    found = [placed(*sample) for sample in SAMPLES]
    needs = [each.needs() for each in found if type(each).needs is Instruction.needs]
    assert all(each.ptx <= target(tier).ptx_version for each in needs if each.met_by(tier))


def lacking(tier: str) -> list:
    return [sample for sample in SAMPLES if not placed(*sample).needs().met_by(tier)]


def refused(tier: str, sample) -> str:
    """What ptxas says to a form that its tier has not; the verifier must refuse it too."""
    made = Listing("sm_90a")
    made.add(*sample)
    made.func.attributes["target"] = tier
    made.append(llvm.Return())
    with pytest.raises(VerifyError, match=f"needs .*, the kernel is for {tier}"):
        verify(made.func)
    return complaint(emit(made.func), tier)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("tier", ALL_TARGETS)
def test_ptxas_refuses_what_a_tier_has_not(tier: str) -> None:
    for sample in lacking(tier)[::20]:
        assert refused(tier, sample), f"{sample} is accepted"


@pytest.mark.slow
@pytest.mark.parametrize("tier", ALL_TARGETS)
def test_ptxas_refuses_all_that_a_tier_has_not(tier: str) -> None:
    for sample in lacking(tier):
        assert refused(tier, sample), f"{sample} is accepted"


VERSIONS = [(7, minor) for minor in range(9)] + [(8, minor) for minor in range(9)]


def at_version(ptx: str, version: tuple[int, int]) -> str:
    return re.sub(r"\.version \d+\.\d+", f".version {version[0]}.{version[1]}", ptx)


@pytest.mark.slow
@pytest.mark.parametrize("cls", instructions(), ids=lambda cls: cls.info.name)
def test_versions_are_the_least(cls) -> None:
    """ptxas takes a form at the version that it needs, and not at the one before."""
    for form in list(cls.forms())[::5]:
        needs = placed(cls, form).needs()
        tier = next(name for name in ALL_TARGETS if needs.met_by(name))
        ptx = listing(tier, [(cls, form)])
        assert not complaint(at_version(ptx, needs.ptx), tier), f"{form} needs more than {needs.ptx}"
        if needs.ptx > VERSIONS[0]:
            before = VERSIONS[VERSIONS.index(needs.ptx) - 1]
            assert complaint(at_version(ptx, before), tier), f"{form} is accepted at {before}"


def test_the_page_is_what_the_declarations_make() -> None:
    assert OUTPUT.read_text() == page(), "run python -m tests.lowering.instruction_page"

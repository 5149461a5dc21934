"""Ways to try an item of the seeds: each says what it found, or raises AssertionError where it is not so."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tilesat
from ir.core import Op, TileError, Type, VerifyError, verify
from ir.instruction import Form, Instruction, placed
from ir.text import print_generic
from ir.types import GLOBAL_PTR
from lowering.passes.table import PASSES
from lowering.targets import ALL_TARGETS
from ptxsim.launch import check
from tests.lowering.instruction_kernels import complaint, instructions, listing, listings
from tests.lowering.nvgpu_harness import Kernel
from tests.programs import loops  # noqa: F401
from tests.programs.program import PROGRAMS
from tests.programs.program import check as program_check
from tilesat.tileiras import joined

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Try = Callable[[], str]


@cache
def _class(name: str) -> type[Instruction]:
    found = [cls for cls in instructions() if cls.info.name == f"nvvm.{name}"]
    assert found, f"no instruction nvvm.{name}"
    return found[0]


def instruction(name: str, **wanted: Any) -> Try:
    """Forms of an instruction with these attributes are PTX that ptxas and the simulator take on the first tier with
    them; the verifier refuses them on one that has not.
    """

    return lambda: _assembled(name, tuple(sorted(wanted.items())))


@cache
def _assembled(name: str, wanted: tuple[tuple[str, Any], ...]) -> str:
    cls = _class(name)
    forms = [f for f in cls.forms() if all(f.attributes.get(key) == value for key, value in wanted)]
    assert forms, f"no form of {name} has {dict(wanted)}"
    needs = placed(cls, forms[0]).needs()
    tier = next(each for each in ALL_TARGETS if needs.met_by(each))
    for ptx in listings(tier, [(cls, form) for form in forms if placed(cls, form).needs().met_by(tier)]):
        assert not complaint(ptx, tier), f"ptxas refuses {name}"
        check(ptx)
    _refused_below(cls, forms[0])
    return f"`nvvm.{name}`: {_count(forms)} by ptxas and the simulator, from {needs}"


def _count(forms: list[Form]) -> str:
    return "one form" if len(forms) == 1 else f"{len(forms)} forms"


def _refused_below(cls: type[Instruction], form: Form) -> None:
    """The verifier refuses the form on a target that lacks it."""
    needs = placed(cls, form).needs()
    lacking = next((each for each in ALL_TARGETS if not needs.met_by(each)), None)
    if lacking is not None:
        with pytest.raises(VerifyError, match=f"the kernel is for {lacking}"):
            listing(lacking, [(cls, form)])


def operand(name: str, field: str) -> Try:
    """An instruction declares this operand or attribute."""

    def attempt() -> str:
        info = _class(name).info
        names = [each.name for each in (*info.operands, *info.attributes)]
        assert field in names, f"nvvm.{name} has {names}"
        return f"`{field}` of `nvvm.{name}`"

    return attempt


def refused(
    cls: type[Any], operands: list[Any], message: str, segments: tuple[int, ...] | None = None, **given: Any
) -> Try:
    """The verifier refuses an operation with these attributes and operands, in these words."""

    def attempt() -> str:
        made = cls(operands, [], given, segments=segments)
        with pytest.raises(VerifyError, match=message) as caught:
            verify(made)
        return f"refused: {caught.value.message}"

    return attempt


@cache
def _compiled(example: str, target: str) -> tilesat.Kernel:
    return tilesat.compile(EXAMPLES / example, target)


def ptx(example: str, target: str, *words: str) -> Try:
    """The PTX of an example holds these words."""

    def attempt() -> str:
        text = _compiled(example, target).ptx
        for word in words:
            assert word in text, f"no {word} in {example} for {target}"
        return f"{example}, {target}: `{'`, `'.join(words)}`"

    return attempt


def level(example: str, target: str, stage: str, *words: str) -> Try:
    """A level of an example holds these words."""

    def attempt() -> str:
        text = _compiled(example, target).stages[stage]
        for word in words:
            assert word in text, f"no {word} in {stage} of {example} for {target}"
        return f"{stage} of {example}, {target}: `{'`, `'.join(words)}`"

    return attempt


def without(example: str, target: str, stage: str, line: str, message: str) -> Try:
    """A level of an example without the first line that holds these words is refused, in these words."""

    def attempt() -> str:
        lines = _compiled(example, target).stages[stage].splitlines()
        place = next(number for number, each in enumerate(lines) if line in each)
        with pytest.raises(TileError, match=message) as caught:
            tilesat.lower("\n".join(lines[:place] + lines[place + 1 :]))
        return f"{stage} of {example} without `{line}`: {caught.value.message}"

    return attempt


def altered(example: str, target: str, stage: str, old: str, new: str, message: str) -> Try:
    """A level of an example with other words in place of these is refused, in these words."""

    def attempt() -> str:
        text = _compiled(example, target).stages[stage]
        assert old in text, f"no {old} in {stage} of {example}"
        with pytest.raises(TileError, match=message) as caught:
            tilesat.lower(text.replace(old, new))
        return f"{stage} of {example} with `{new}`: {caught.value.message}"

    return attempt


def from_text(cls: type[Op], kind: Type, *words: str) -> Try:
    """A text of nvgpu with this operation is read and compiled to PTX with these words, which ptxas takes."""

    def attempt() -> str:
        k = Kernel(GLOBAL_PTR)
        place = k.element(k.params[0], k.index(), kind)
        operands = [k.load(place, kind) for _ in cls.info.operands]
        k.store(k.value(cls, *operands, types=[kind]), place)
        text = print_generic(k.func())
        assert f'"{cls.info.name}"(' in text
        made = tilesat.lower(text).ptx
        assert not complaint(made, "sm_80"), "ptxas refuses it"
        for word in words:
            assert word in made, f"no {word}"
        return f"`{cls.info.name}` from a text of nvgpu: `{'`, `'.join(words)}`"

    return attempt


def forbidden(example: str, target: str, atoms: tuple[str, ...], stage: str, word: str) -> Try:
    """A level of an example holds a word, and does not where these atoms are forbidden."""

    def attempt() -> str:
        assert word in _compiled(example, target).stages[stage], f"no {word} in {stage} of {example} for {target}"
        made = tilesat.compile(EXAMPLES / example, target, forbid=atoms)
        assert word not in made.stages[stage], f"{word} in {stage} without {', '.join(atoms)}"
        return f"{stage} of {example}, {target}, has no `{word}` with `--forbid {' --forbid '.join(atoms)}`"

    return attempt


def agrees(name: str, target: str) -> Try:
    """A program of tests/programs computes on the simulator what the reference interpreter does."""

    def attempt() -> str:
        program_check(PROGRAMS[name], target)
        return f"program {name}, {target}, by the simulator"

    return attempt


def together(target: str, *examples: str) -> Try:
    """Kernels in one PTX module, which ptxas takes and in which each symbol is declared once."""

    def attempt() -> str:
        text = joined([_compiled(example, target).ptx for example in examples])
        assert not complaint(text, target), "ptxas refuses the kernels in one module"
        assert text.count("dynamic_smem[]") == 1
        assert text.count(".entry") == len(examples)
        return f"{' and '.join(examples)} in one module, {target}, by ptxas"

    return attempt


def named_pass(name: str) -> Try:
    """A pass of this name is registered."""

    def attempt() -> str:
        assert any(each.name == name for each in PASSES.values()), f"no pass {name}"
        return f"pass `{name}`"

    return attempt


def hinted(hint: str, target: str, *words: str, kernel: str = "layernorm") -> Try:
    """A kernel with this optimization hint, in PTX."""

    def attempt() -> str:
        source = (EXAMPLES / f"{kernel}.mlir").read_text()
        made = tilesat.compile(with_hint(source, hint), target)
        for word in words:
            assert word in made.ptx, f"no {word} with {hint}"
        return f"`{hint}`, {target}: `{'`, `'.join(words)}`"

    return attempt


def with_hint(source: str, hint: str) -> str:
    """A module whose entry asks for something on every target."""
    text, count = re.subn(r"(entry @\w+\([^)]*\))( \{)", rf"\1 optimization_hints=<default = {{{hint}}}>\2", source)
    assert count == 1
    return text

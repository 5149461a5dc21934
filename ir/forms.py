"""The forms of an instruction, derived from its declaration: tests assemble them and pages list them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ir.core import Attr, Block, Op, OperandGroup, OptionalOperand, Result, Type, Value, VerifyError, verify
from ir.instruction import Form, Instruction
from ir.types import Constraint


def forms_of(cls: type[Instruction]) -> Iterator[Form]:
    """The first form, one more for each other value of an attribute, for each type of an operand, and with optional
    operands. Only what the verifier accepts.
    """
    info = cls.info
    base = {a.name: legal(a)[0] for a in info.attributes if a.required}
    plain = tuple(() if isinstance(g, OptionalOperand) else (examples(g)[0],) for g in info.operands)
    tried = [(plain, base)]
    for attr in info.attributes:
        tried += [(plain, {**base, attr.name: value}) for value in legal(attr)]
    for at, group in enumerate(info.operands):
        tried += [((*plain[:at], (kind,), *plain[at + 1 :]), base) for kind in examples(group)]
    seen: set[str] = set()
    for operands, attributes in tried:
        form = Form(operands, _results(cls, operands), attributes)
        if repr(form) not in seen and legal_form(cls, form):
            seen.add(repr(form))
            yield form


def legal_form(cls: type[Instruction], form: Form) -> bool:
    """Whether the verifier accepts it."""
    try:
        verify(placed(cls, form))
    except VerifyError:
        return False
    return True


def built(cls: type[Instruction], form: Form, operands: list[Value]) -> Instruction:
    """The instruction of a form on these operands."""
    return cls(operands, form.results, form.attributes, segments=tuple(map(len, form.operands)))


def placed(cls: type[Instruction], form: Form) -> Instruction:
    """The instruction of a form on operands of a block of its own."""
    return built(cls, form, Block([kind for group in form.operands for kind in group]).args)


def legal(attr: Attr[Any]) -> list[Any]:
    """Values of an attribute to try: all if they are few, otherwise the bounds."""
    if attr.among:
        return list(attr.among)
    if attr.kind is bool:
        return [False, True]
    bounds = [bound for bound in (attr.least, attr.most) if bound is not None]
    return bounds or ([] if attr.default is ... else [attr.default])


def examples(declared: OperandGroup | Result) -> tuple[Type, ...]:
    """Types that an operand or a result may have."""
    check = declared.check
    return check.examples if isinstance(check, Constraint) else ()


def _results(cls: type[Op], operands: tuple[tuple[Type, ...], ...]) -> tuple[Type, ...]:
    """Types of the results, those of operands if they are tied to them."""
    groups = {group.name: kinds for group, kinds in zip(cls.info.operands, operands, strict=True)}
    return tuple(groups[r.like][0] if r.like else examples(r)[0] for r in cls.info.results if r.like or examples(r))

"""Hardware instructions: each is declared once; its verifier, text, PTX, page and tests derive from the declaration.

PTX is a text with placeholders, one line per instruction:
    {x}             an operand, a register or an immediate; a result; the text of an attribute or property
    {x:register}    an operand that PTX takes in a register only
    [{x}]           an operand as an address, with the constant part of it as displacement
    {x:vector}      a group in braces, in registers; {x:list} takes immediates; {x:group} has braces from two on
    {x:stored}      a group as {x:group}, one alone may be any constant; {x:bits} takes constants as bit patterns
    {x:sink}        results in braces from two on, `_` for unused results; {x:sink16} only for those of 16 bits
    {x.2}           one operand of a group
    {x?.ftz}        a suffix if the flag x is set; {x=col?.trans} if the attribute has that value
    {x|y}           an optional operand, otherwise the property y
    @{x}            the guard of the line: nothing where the operand is absent; so is a comma before an absent operand
    {label}         a label local to the operation; names in `temporaries` are registers local to it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar

from ir.core import AttrField, Block, Op, OperandGroup, OptionalOperand, Result, Type, Value, VerifyError, op, verify
from ir.descriptors import BARRIER_TYPE, MatrixDescriptorType, TensorMapDescriptor
from ir.records import dataclass
from ir.types import (
    BF16,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    SHARED_PTR,
    TENSOR_MAP,
    Constraint,
    FloatType,
    IntType,
    LLVMPointerType,
    VectorType,
)

DIMENSIONS = ("x", "y", "z")
"""Of grids, CTAs and clusters."""
InstructionT = TypeVar("InstructionT", bound="Instruction")


@dataclass(frozen=True)
class Needs:
    """What an instruction asks for: the least SM and version of PTX. `only`: it is of these targets and no later one;
    the family of one of them has it too (sm_100f where sm_100a is named), unless it is `architectural`.

    Source of each: "Target ISA Notes" of its section in the PTX ISA, and the generated tests, which check with ptxas.
    """

    sm: int = 80
    ptx: tuple[int, int] = (7, 0)
    only: frozenset[str] = frozenset()
    architectural: bool = False

    def met_by(self, target: str) -> bool:
        """Does a target, as ptxas spells it, have the instruction?"""
        if not self.only:
            return int(target.removeprefix("sm_").rstrip("af")) >= self.sm
        family = target.endswith("f") and not self.architectural
        return target in self.only or (family and f"{target[:-1]}a" in self.only)

    def __str__(self) -> str:
        return " or ".join(sorted(self.only, key=lambda name: (len(name), name))) if self.only else f"sm_{self.sm}"


SM_80 = Needs()
SM_89 = Needs(89, (8, 1))
SM_90 = Needs(90, (8, 0))


class Instruction(Op):
    """Base of all instructions; the specifics are passed to `instruction`."""

    ptx: ClassVar[str] = ""
    floor: ClassVar[Needs] = SM_80
    seed: ClassVar[str] = ""
    reference: ClassVar[str] = ""
    temporaries: ClassVar[Mapping[str, Type]] = {}
    tied: ClassVar[tuple[str, str] | None] = None
    after_copies: ClassVar[str] = ""
    held: ClassVar[str] = ""
    extern: ClassVar[str] = ""

    @property
    def text(self) -> str:
        """PTX with its placeholders, if they depend on attributes or operands."""
        return self.ptx

    def needs(self) -> Needs:
        """The requirements of this form, if they depend on attributes or types."""
        return self.floor

    def kept(self) -> list[Value | int]:
        """The contents of the results if the guard is false; empty if unspecified."""
        return []

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Forms of the instruction to assemble and to list. By default each attribute takes its legal values in turn,
        with the others at their first; operands have the types that the constraints name.
        """
        return forms_of(cls)


@dataclass(frozen=True)
class Form:
    """One form of an instruction: types of the operands, group by group, of the results, and attributes."""

    operands: tuple[tuple[Type, ...], ...]
    results: tuple[Type, ...]
    attributes: Mapping[str, object]


def instruction(
    name: str,
    ptx: str,
    needs: Needs = SM_80,
    *,
    source: str,
    seed: str = "",
    upstream: bool = False,
    temporaries: Mapping[str, Type] | None = None,
    tied: tuple[str, str] | None = None,
    after_copies: str = "",
    held: str = "",
    extern: str = "",
) -> Callable[[type[InstructionT]], type[InstructionT]]:
    """Declare an instruction.

    `seed`: its name in the seeds, if different. `tied`: results and operands that share registers because they are
    updated in place; if registers must be copied before it, `after_copies` is printed in between. `held`: operands that
    are read without a placeholder in the text, and whose registers the results share. `extern`: the declaration of a
    function that it calls. `source`: the section of the PTX ISA, or another source.
    """

    def declare(cls: type[InstructionT]) -> type[InstructionT]:
        cls.ptx, cls.floor, cls.reference, cls.seed = ptx, needs, source, seed
        cls.temporaries, cls.tied, cls.after_copies = temporaries or {}, tied, after_copies
        cls.held, cls.extern = held, extern
        return op(name, upstream=upstream)(cls)

    return declare


def verify_floors(func: Op, target: str) -> None:
    """Whether the target of a kernel has all its instructions. Raises VerifyError at the first one that it lacks."""
    for each in func.walk():
        if isinstance(each, Instruction):
            needs = each.needs()
            each.expect(needs.met_by(target), "needs {}, the kernel is for {}", needs, target)


# Types of operands. `examples` are used by generated tests.

PREDICATE = Constraint("a predicate (i1)", lambda t: t == I1, (I1,))
WORD = Constraint("i32", lambda t: t == I32, (I32,))
DOUBLE_WORD = Constraint("i64", lambda t: t == I64, (I64,))
SHARED = Constraint("a pointer to shared memory", lambda t: t == SHARED_PTR, (SHARED_PTR,))
GLOBAL = Constraint("a pointer to global memory", lambda t: t == LLVMPointerType(1), (LLVMPointerType(1),))
POINTER = Constraint("a pointer", lambda t: isinstance(t, LLVMPointerType), (LLVMPointerType(1), SHARED_PTR))
MAP = Constraint(
    "a tensor map",
    lambda t: t == TENSOR_MAP or t == LLVMPointerType(0) or isinstance(t, TensorMapDescriptor),
    (TENSOR_MAP,),
)
BARRIER = Constraint(
    "an mbarrier or a pointer to shared memory", lambda t: t in (SHARED_PTR, BARRIER_TYPE), (SHARED_PTR,)
)
DESCRIPTOR = Constraint("a matrix descriptor", lambda t: t == I64 or isinstance(t, MatrixDescriptorType), (I64,))
GLOBAL_OR_MAP = Constraint("a tensor map or a pointer to global memory", lambda t: MAP(t) or GLOBAL(t), (TENSOR_MAP,))
HALF_WORD = Constraint("i16", lambda t: t == I16, (I16,))
REGISTER = Constraint(
    "held in one register", lambda t: is_register(t), (I32, F32, VectorType((2,), F16), VectorType((4,), I8))
)
REGISTER_32 = Constraint(
    "held in a register of 32 bits", lambda t: is_register(t) and register_bits(t) == 32, (I32, F32)
)


def is_register(type: Type) -> bool:
    """Whether one register holds a value of this type."""
    if isinstance(type, VectorType):
        return len(type.shape) == 1 and type.shape[0] * type.element.width in (16, 32, 64)
    if isinstance(type, FloatType):
        return type.width >= 8
    return isinstance(type, LLVMPointerType) or (isinstance(type, IntType) and type.width in (1, 8, 16, 32, 64))


@cache
def register_bits(type: Type) -> int:
    """Size of the register that holds a value of `type`; 1 is a predicate, bytes live in 16 bits."""
    if isinstance(type, (IntType, FloatType)):
        return 1 if type.width == 1 else max(type.width, 16)
    if isinstance(type, LLVMPointerType):
        return 32 if type.space == 3 else 64
    return max(type.shape[0] * type.element.width, 16) if isinstance(type, VectorType) else 64


def memory_bits(type: Type) -> int:
    """Bits of a register's value in memory: a byte has its own size there."""
    return max(type.width if isinstance(type, (IntType, FloatType)) else register_bits(type), 8)


PTX_NAMES: dict[Type, str] = {
    F16: "f16", BF16: "bf16", F32: "f32", F64: "f64", F8E4M3FN: "e4m3", F8E5M2: "e5m2", I8: "b8", I16: "b16",
    I32: "b32", I64: "b64", I1: "pred",
}  # fmt: skip


def ptx_type(type: Type) -> str:
    """The PTX type of a number, packed or not: f32, bf16x2, e4m3x2."""
    if isinstance(type, VectorType):
        return f"{ptx_type(type.element)}x{type.shape[0]}"
    return PTX_NAMES.get(type) or ("f32" if str(type) == "tf32" else str(type))


def state_space(pointer: Value) -> str:
    """The state space of a pointer."""
    kind = pointer.type
    return "shared" if isinstance(kind, LLVMPointerType) and kind.space == 3 else "global"


# Forms, which tests assemble and pages list


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


def legal(attr: AttrField) -> list[Any]:
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

"""Accesses to multicast objects: one address, an element in each of several GPUs' memories."""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import WRITE, Attr, Operand, OptionalOperand, Result, Value
from ir.instruction import GLOBAL, PREDICATE, REGISTER, Form, Instruction, Needs, instruction, register_bits
from ir.types import BF16, F16, F32, F64, GLOBAL_PTR, I1, I32, I64, Type, VectorType

MULTIMEM = Needs(90, (8, 1))
ACCUMULATED = Needs(90, (8, 2))
HALVES = ("f16x2", "bf16x2")
SUMS = ("u32", "u64", "f32", "f64", *HALVES)
LOADED: dict[str, tuple[str, ...]] = {
    "add": SUMS,
    **dict.fromkeys(("min", "max"), ("s32", "u32", "s64", "u64", *HALVES)),
    **dict.fromkeys(("and", "or", "xor"), ("b32", "b64")),
}
"""Types by operation. Source: PTX ISA 8.8, multimem; ptxas 13.5 accepts each."""
UPDATED: dict[str, tuple[str, ...]] = {
    kind: types if kind == "add" else tuple(each for each in types if each not in HALVES)
    for kind, types in LOADED.items()
}
SCOPES = ("", "cta", "cluster", "gpu", "sys")


class Multimem(Instruction):
    """Base of the three operations: an order with a scope, or weak."""

    scope = Attr(str, "", among=SCOPES)
    effect = WRITE

    @property
    def strength(self) -> str:
        """`.relaxed.sys`, nothing if it is weak."""
        return f".{self.attributes['order']}.{self.scope}" if self.attributes["order"] else ""

    def check(self, kind: str, types: tuple[str, ...], value: Value) -> None:
        """A type that the operation supports, and a register of its size; a scope if there is an order."""
        type_: str = self.attributes["type"]
        self.expect(type_ in types, "no multimem {} of {}; there are {}", kind, type_, types)
        held, bits = register_bits(value.type), register_bits(multimem_register(type_))
        self.expect(held == bits, "the value must have {} bits, has {}", bits, held)
        self.expect(
            bool(self.attributes["order"]) == bool(self.scope), "an ordered access needs a scope, a weak one has none"
        )


@instruction(
    "nvvm.multimem.ld_reduce",
    "@{pred} multimem.ld_reduce{strength}.global.{kind}{accumulator}.{type} {out}, [{ptr}];",
    MULTIMEM,
    source="PTX ISA 8.8, multimem.ld_reduce",
)
class MultimemLdReduce(Multimem):
    """The elements of all copies at an address, reduced; `passthrough` if `pred` is false. Sums of 16-bit floats are
    rounded once.
    """

    ptr = Operand(GLOBAL)
    pred = OptionalOperand(PREDICATE)
    passthrough = OptionalOperand(REGISTER)
    kind = Attr(str, among=tuple(LOADED))
    type = Attr(str)
    order = Attr(str, "", among=("", "relaxed", "acquire"))
    out = Result(REGISTER)

    @property
    def accumulator(self) -> str:
        """Sums of halves in f32."""
        return ".acc::f32" if self.kind == "add" and self.type in HALVES else ""

    def needs(self) -> Needs:
        """Wider accumulators require PTX 8.2."""
        return ACCUMULATED if self.accumulator else self.floor

    def kept(self) -> list[Value | int]:
        """The value that passes through."""
        return [] if self.passthrough is None else [self.passthrough]

    def verify(self) -> None:
        """An operation and its type."""
        self.check(self.kind, LOADED[self.kind], self.out)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every operation and type, each order."""
        for kind, types in LOADED.items():
            for type_ in types:
                held = multimem_register(type_)
                for order, scope in (("", ""), ("relaxed", "gpu"), ("acquire", "sys")):
                    given = {"kind": kind, "type": type_, "order": order, "scope": scope}
                    yield Form(((GLOBAL_PTR,), (I1,), (held,)), (held,), given)


@instruction(
    "nvvm.multimem.red",
    "@{predicate} multimem.red{strength}.global.{kind}.{type} [{ptr}], {value:register};",
    MULTIMEM,
    source="PTX ISA 8.8, multimem.red",
)
class MultimemRed(Multimem):
    """Updates an element in every copy."""

    ptr = Operand(GLOBAL)
    predicate = OptionalOperand(PREDICATE)
    value = Operand(REGISTER)
    kind = Attr(str, among=tuple(UPDATED))
    type = Attr(str)
    order = Attr(str, among=("relaxed", "release"))

    def verify(self) -> None:
        """An operation and its type."""
        self.check(self.kind, UPDATED[self.kind], self.value)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every operation and type, each order."""
        for kind, types in UPDATED.items():
            for type_ in types:
                for order, scope in (("relaxed", "gpu"), ("release", "sys")):
                    given = {"kind": kind, "type": type_, "order": order, "scope": scope}
                    yield Form(((GLOBAL_PTR,), (I1,), (multimem_register(type_),)), (), given)


@instruction(
    "nvvm.multimem.st",
    "@{predicate} multimem.st{strength}.global.{type} [{ptr}], {value:register};",
    MULTIMEM,
    source="PTX ISA 8.8, multimem.st",
)
class MultimemSt(Multimem):
    """Stores an element in every copy."""

    ptr = Operand(GLOBAL)
    predicate = OptionalOperand(PREDICATE)
    value = Operand(REGISTER)
    type = Attr(str)
    order = Attr(str, "", among=("", "relaxed", "release"))

    def verify(self) -> None:
        """Its type."""
        self.check("st", ("b32", "b64", "f32", "f64", *HALVES), self.value)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every type, each order."""
        for type_ in ("b32", "b64", "f32", "f64", *HALVES):
            for order, scope in (("", ""), ("relaxed", "gpu"), ("release", "sys")):
                given = {"type": type_, "order": order, "scope": scope}
                yield Form(((GLOBAL_PTR,), (I1,), (multimem_register(type_),)), (), given)


def multimem_register(name: str) -> Type:
    """The register type of a value for this type of a multimem instruction."""
    known: dict[str, Type] = {
        "f32": F32, "f64": F64, "f16x2": VectorType((2,), F16), "bf16x2": VectorType((2,), BF16),
    }  # fmt: skip
    return known.get(name) or (I64 if name.endswith("64") else I32)

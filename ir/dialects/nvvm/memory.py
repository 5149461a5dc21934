"""Accesses of a thread to global and shared memory, atomic operations."""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import READ, WRITE, Attr, Operand, OptionalOperand, Value, Variadic, VariadicResult, flag
from ir.instruction import (
    DOUBLE_WORD,
    POINTER,
    PREDICATE,
    REGISTER,
    SM_80,
    Form,
    Instruction,
    Needs,
    instruction,
    memory_bits,
    register_bits,
    state_space,
)
from ir.types import BF16, F16, F32, F64, GLOBAL_PTR, I1, I8, I16, I32, I64, SHARED_PTR, Type, VectorType

CACHE_OPERATORS = ("", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt")
ORDERS = ("", "relaxed", "acquire", "release", "acq_rel")
SCOPES = ("", "cta", "cluster", "gpu", "sys")
WIDE = Needs(100, (8, 8))
HINTED = Needs(80, (7, 4))
ATOMIC_BF16 = Needs(90, (7, 8))
CLUSTERS = Needs(90, (7, 8))
ATOMIC_TYPES: dict[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64", "f32", "f64", "noftz.f16", "noftz.f16x2", "noftz.bf16", "noftz.bf16x2"),
    **dict.fromkeys(("and", "or", "xor", "exch"), ("b32", "b64")),
    "cas": ("b16", "b32", "b64"),
    **dict.fromkeys(("max", "min"), ("s32", "u32", "s64", "u64")),
    **dict.fromkeys(("inc", "dec"), ("u32",)),
}
"""Types by operation. Source: PTX ISA 8.8, atom; ptxas accepts each."""


class Access(Instruction):
    """Shape shared by accesses: spelling of their qualifiers."""

    cache = Attr(str, "", among=CACHE_OPERATORS)
    order = Attr(str, "", among=ORDERS)
    scope = Attr(str, "", among=SCOPES)

    def opcode(self, mnemonic: str, pointer: Value, moved: list[Value], hinted: str = "") -> str:
        """`ld.relaxed.gpu.global.v2.b32`."""
        space = state_space(pointer) + ("::cluster" if self.attributes.get("remote") else "")
        order = f".{self.order}.{self.scope}" if self.order else ""
        cache = f".{self.cache}" if self.cache and space == "global" else ""
        count = f".v{len(moved)}" if len(moved) > 1 else ""
        return f"{mnemonic}{order}.{space}{cache}{hinted}{count}.b{memory_bits(moved[0].type)}"

    def moves(self) -> list[Value]:
        """The registers that are read or written."""
        return self.results or self.operands[1 + self.segments[1] :]

    def wide(self) -> bool:
        """Whether it is more than 16 bytes."""
        moved = self.moves()
        return len(moved) * memory_bits(moved[0].type) > 128

    def needs(self) -> Needs:
        """Accesses of 32 bytes require sm_100."""
        return WIDE if self.wide() else self.floor

    def verify(self) -> None:
        """Accesses of 32 bytes are for global memory only."""
        if self.wide():
            self.expect(state_space(self.operands[0]) == "global", "only accesses to global memory exceed 16 bytes")


@instruction(
    "nvvm.ld",
    "@{pred} {load} {out:group}, [{ptr}], {l2CacheHint:register};",
    SM_80,
    source="PTX ISA 8.8, ld",
    seed="nvgpu.load",
)
class Ld(Access):
    """Registers from memory, 1 to 16 bytes, or 32 of global memory (ours); if `pred` is false they keep
    `passthrough`.
    """

    ptr = Operand(POINTER)
    pred = OptionalOperand(PREDICATE)
    passthrough = Variadic()
    l2CacheHint = OptionalOperand(DOUBLE_WORD)
    out = VariadicResult()
    effect = READ

    @property
    def load(self) -> str:
        """The opcode with its qualifiers."""
        return self.opcode("ld", self.operands[0], self.results, "" if self.l2CacheHint is None else ".L2::cache_hint")

    def kept(self) -> list[Value | int]:
        """The value that passes through."""
        first = 1 + self.segments[1]
        return [*self.operands[first : first + self.segments[2]]] if self.segments[1] else []

    def needs(self) -> Needs:
        """Policies of the L2 cache require PTX 7.4."""
        return super().needs() if self.wide() or self.l2CacheHint is None else HINTED

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every size from both memories, a predicate, cache operators, orders."""
        for pointer in (GLOBAL_PTR, SHARED_PTR):
            for kinds in ((I8,), (I32,), (I64,), (F32,) * 4, (I64, I64), (VectorType((2,), F16),) * 2):
                yield Form(((pointer,), (), (), ()), kinds, {})
                yield Form(((pointer,), (I1,), kinds, ()), kinds, {})
        for kinds in ((F32,) * 8, (I64,) * 4):
            yield Form(((GLOBAL_PTR,), (), (), ()), kinds, {"cache": "nc"})
            yield Form(((GLOBAL_PTR,), (I1,), kinds, ()), kinds, {})
        for kinds in ((I32,), (F32,) * 4, (F32,) * 8):
            yield Form(((GLOBAL_PTR,), (), (), (I64,)), kinds, {"cache": "nc"})
            yield Form(((GLOBAL_PTR,), (I1,), kinds, (I64,)), kinds, {})
        for cache in CACHE_OPERATORS[1:7]:
            yield Form(((GLOBAL_PTR,), (), (), ()), (I32,), {"cache": cache})
        for scope in ("cta", "gpu", "sys"):
            for order in ("relaxed", "acquire"):
                yield Form(((GLOBAL_PTR,), (), (), ()), (I32,), {"order": order, "scope": scope})


@instruction(
    "nvvm.st", "@{pred} {store} [{ptr}], {values:stored};", SM_80, source="PTX ISA 8.8, st", seed="nvgpu.store"
)
class St(Access):
    """Registers to memory, 1 to 16 bytes, or 32 to global memory (ours), only if `pred` holds. `remote`: to the shared
    memory of any CTA of the cluster (`nvvm.mapa`).
    """

    ptr = Operand(POINTER)
    pred = OptionalOperand(PREDICATE)
    values = Variadic(REGISTER)
    remote = flag()
    effect = WRITE

    def needs(self) -> Needs:
        """Clusters require sm_90."""
        return CLUSTERS if self.remote else super().needs()

    @property
    def store(self) -> str:
        """The opcode with its qualifiers."""
        return self.opcode("st", self.operands[0], self.operands[1 + self.segments[1] :])

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every size to both memories, a predicate, cache operators, orders."""
        for pointer in (GLOBAL_PTR, SHARED_PTR):
            for kinds in ((I8,), (I32,), (I64,), (F32,) * 4, (I64, I64), (VectorType((2,), F16),) * 2):
                yield Form(((pointer,), (), kinds), (), {})
                yield Form(((pointer,), (I1,), kinds), (), {})
        for kinds in ((F32,) * 8, (I64,) * 4):
            yield Form(((GLOBAL_PTR,), (), kinds), (), {})
            yield Form(((GLOBAL_PTR,), (I1,), kinds), (), {})
        for cache in ("cg", "cs", "wb", "wt"):
            yield Form(((GLOBAL_PTR,), (), (I32,)), (), {"cache": cache})
        for scope in ("cta", "gpu", "sys"):
            for order in ("relaxed", "release"):
                yield Form(((GLOBAL_PTR,), (), (I32,)), (), {"order": order, "scope": scope})
        for kinds in ((I8,), (I32,), (F32,) * 4):
            yield Form(((SHARED_PTR,), (), kinds), (), {"remote": True})
            yield Form(((SHARED_PTR,), (I1,), kinds), (), {"remote": True})


@instruction(
    "nvvm.atom",
    "@{pred} atom.{order}.{scope}.{space}.{kind}.{type} {out:sink}, [{ptr}], {values:registers};",
    SM_80,
    source="PTX ISA 8.8, atom",
    seed="nvgpu.atomic",
)
class Atom(Instruction):
    """Update of one register in memory (ours; llvm.atomicrmw and cmpxchg upstream), only if `pred` holds.

    `kind` and `type` are PTX's operation and type. The optional result is 0 if `pred` is false, or for cas the value to
    compare with.
    """

    ptr = Operand(POINTER)
    pred = OptionalOperand(PREDICATE)
    values = Variadic(REGISTER)
    kind = Attr(str, among=tuple(ATOMIC_TYPES))
    type = Attr(str)
    order = Attr(str, among=ORDERS[1:])
    scope = Attr(str, among=SCOPES[1:])
    out = VariadicResult()
    effect = WRITE

    @property
    def space(self) -> str:
        """The state space of the pointer."""
        return state_space(self.operands[0])

    def needs(self) -> Needs:
        """Sums of bf16 require sm_90."""
        return ATOMIC_BF16 if "bf16" in self.type else self.floor

    def kept(self) -> list[Value | int]:
        """Zero, or for cas the value to compare with."""
        if not self.segments[1]:
            return []
        return [self.operands[2] if self.kind == "cas" else 0]

    def verify(self) -> None:
        """A type that the operation supports; one value, two for cas, at most one result of their type, of its size."""
        known = ATOMIC_TYPES[self.kind]
        self.expect(self.type in known, "no {} of {}; there are {}", self.kind, self.type, known)
        wanted = 2 if self.kind == "cas" else 1
        self.expect(len(self.values) == wanted, "{} takes {} values, has {}", self.kind, wanted, len(self.values))
        kinds = {value.type for value in (*self.values, *self.results)}
        self.expect(len(kinds) == 1 and len(self.results) <= 1, "the old value and the new must have one type")
        bits = register_bits(atomic_register(self.type))
        held = register_bits(self.values[0].type)
        self.expect(held == bits, "values must have {} bits, have {}", bits, held)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every operation and type."""
        for kind, types in ATOMIC_TYPES.items():
            for type_ in types:
                held = atomic_register(type_)
                values = (held,) * (2 if kind == "cas" else 1)
                for guard in ((), (I1,)):
                    given = {"kind": kind, "type": type_, "order": "relaxed", "scope": "gpu"}
                    yield Form(((GLOBAL_PTR,), guard, values), (held,), given)


def atomic_register(name: str) -> Type:
    """The register type of a value for this type of an atomic operation: integers, except that pairs of halves
    stay pairs.
    """
    known: dict[str, Type] = {
        "f32": F32,
        "f64": F64,
        "noftz.f16": F16,
        "noftz.f16x2": VectorType((2,), F16),
        "noftz.bf16": BF16,
        "noftz.bf16x2": VectorType((2,), BF16),
        "b16": I16,
    }
    return known.get(name) or (I64 if name.endswith("64") else I32)

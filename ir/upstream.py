"""How operations meet upstream MLIR (LLVM 22.1): which of ours are its own, and how it spells their attributes.

An operation prints under upstream's name only where it is upstream's operation and would verify there as it is;
any other prints as `tilesat.` and its name, so that MLIR refuses it, or takes it as unknown, but never misreads it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Attribute, Op, Type
from ir.levels import OURS
from ir.records import dataclass
from ir.types import BF16, F16, F32, F64, IntType, LLVMPointerType, VectorType
from ir.upstream_form import UpstreamForm

UPSTREAM = ("arith", "gpu", "llvm", "math", "nvgpu", "nvvm", "scf", "ub", "vector")
"""Dialects of upstream MLIR among our levels; it knows no other, and takes operations of others as they are."""


@dataclass(frozen=True, slots=True)
class Opaque(Attribute):
    """`#dialect.name<...>` of a dialect whose attributes only forms read."""

    text: str

    def __str__(self) -> str:
        return self.text


SAME = UpstreamForm()
"""Upstream has the attribute as we do."""


def codes(names: Sequence[str], first: int = 0) -> UpstreamForm:
    """An enumeration that upstream numbers, from `first` on, in 64 bits."""

    def read(number: object) -> str:
        if not isinstance(number, int) or not 0 <= number - first < len(names):
            raise ValueError(f"must be a number from {first} to {first + len(names) - 1}")
        return names[number - first]

    return UpstreamForm("", lambda name: f"{names.index(name) + first} : i64", read)


def overflow(dialect: str) -> UpstreamForm:
    """The flag nsw among the overflow flags of arith or llvm."""
    text = f"#{dialect}.overflow<nsw>"

    def read(given: object) -> bool:
        if given != Opaque(text):
            raise ValueError(f"must be {text}")
        return True

    return UpstreamForm("overflowFlags", lambda _: text, read)


def enumeration(name: str, cases: Sequence[str]) -> UpstreamForm:
    """An enumeration that upstream spells as an attribute of its dialect, `#name<case>`."""

    def read(given: object) -> str:
        found = str(given).removeprefix(f"#{name}<").removesuffix(">") if isinstance(given, Opaque) else ""
        if found not in cases or given != Opaque(f"#{name}<{found}>"):
            raise ValueError(f"must be #{name}<{'|'.join(cases)}>")
        return found

    return UpstreamForm("", lambda case: f"#{name}<{case}>", read)


def renamed(name: str) -> UpstreamForm:
    """The same text under another name."""
    return UpstreamForm(name)


def unit(name: str) -> UpstreamForm:
    """A flag that upstream writes without a value."""

    def read(given: object) -> bool:
        if given is not True:
            raise ValueError("must be unit")
        return True

    return UpstreamForm(name, lambda _: "unit", read)


def width(bits: int) -> UpstreamForm:
    """An integer of other than 64 bits."""
    return UpstreamForm("", lambda number: f"{number} : i{bits}")


def written_name(op: Op) -> str:
    """The name under which an operation prints."""
    dialect = op.name.partition(".")[0]
    return op.name if dialect not in UPSTREAM or is_upstream(op) else OURS + op.name


def is_upstream(op: Op) -> bool:
    """Is this upstream's operation? Its class says so, no attribute of ours is set, all types are upstream's."""
    info = op.info
    if not info.upstream or not op.is_upstream():
        return False
    for attr in info.attributes:
        if attr.form is None and attr.name != "successors" and attr.name in op.attributes:
            value = op.attributes[attr.name]
            if attr.required or type(value) is not type(attr.default) or value != attr.default:
                return False
    dialect = op.name.partition(".")[0]
    return dialect != "llvm" or all(map(llvm_has, (value.type for value in (*op.operands, *op.results))))


def llvm_has(type: Type) -> bool:
    """Does LLVM have values of this type?"""
    element = type.element if isinstance(type, VectorType) else type
    return isinstance(element, IntType | LLVMPointerType) or element in (F16, BF16, F32, F64)

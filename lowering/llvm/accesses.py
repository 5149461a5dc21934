"""Plain loads and stores as LLVM's own, whose addresses its back end computes: those without a guard, a memory order,
or a cache operator other than `nc`, which is LLVM's `invariant`. All others are inline PTX.
"""

from __future__ import annotations

from typing import Protocol

from ir.core import Op, Value
from ir.dialects import llvm, nvvm
from ir.instruction import memory_bits
from ir.types import SHARED_PTR, LLVMPointerType
from lowering.llvm.values import llvm_type


class Body(Protocol):
    """What an access needs from the function being printed."""

    names: dict[Value, str]

    def line(self, name: str, operands: list[tuple[str, str]], to: str = "", attributes: str = "") -> str:
        """One operation in generic form; returns the name of its result."""
        ...

    def typed(self, value: Value) -> tuple[str, str]:
        """A value's name and its type in LLVM."""
        ...

    def constant(self, number: int, kind: str) -> tuple[str, str]:
        """A whole number."""
        ...


def is_plain(op: Op) -> bool:
    """Does LLVM have an equivalent load or store?"""
    if not isinstance(op, nvvm.Ld | nvvm.St) or op.order or op.wide() or op.cache not in ("", "nc"):
        return False
    guarded = op.pred is not None or (isinstance(op, nvvm.Ld) and op.l2CacheHint is not None)
    if isinstance(op, nvvm.St) and op.remote:
        return False
    return not guarded and not any(isinstance(value.type, LLVMPointerType) for value in op.moves())


def access(body: Body, op: nvvm.Ld | nvvm.St) -> None:
    """Print it; PTX requires addresses aligned to the access size."""
    moved = op.moves()
    bits = memory_bits(moved[0].type)
    one = f"i{bits}"
    kind = one if len(moved) == 1 else f"vector<{len(moved)}x{one}>"
    invariant = ", invariant" if op.cache == "nc" and isinstance(op, nvvm.Ld) else ""
    attributes = f" <{{alignment = {len(moved) * bits // 8} : i64{invariant}, ordering = 0 : i64}}>"
    pointer = _pointer(body, op.ptr)
    if isinstance(op, nvvm.St):
        body.line("llvm.store", [_together(body, moved, one, kind), pointer], "", attributes)
        return
    made = body.line("llvm.load", [pointer], kind, attributes)
    for at, value in enumerate(moved):
        if len(moved) == 1:
            part = made
        else:
            part = body.line("llvm.extractelement", [(made, kind), body.constant(at, "i32")], one)
        to = llvm_type(value.type)
        body.names[value] = part if to == one else body.line("llvm.bitcast", [(part, one)], to)


def _together(body: Body, moved: list[Value], one: str, kind: str) -> tuple[str, str]:
    """The registers of a store as one value."""
    parts = [body.typed(value) for value in moved]
    parts = [part if part[1] == one else (body.line("llvm.bitcast", [part], one), one) for part in parts]
    if len(parts) == 1:
        return parts[0]
    vector = body.line("llvm.mlir.poison", [], kind)
    for at, part in enumerate(parts):
        vector = body.line("llvm.insertelement", [(vector, kind), part, body.constant(at, "i32")], kind)
    return vector, kind


def _pointer(body: Body, pointer: Value) -> tuple[str, str]:
    """The address; in shared memory a register of 32 bits and a displacement, which LLVM adds to its 64."""
    if pointer.type != SHARED_PTR:
        return body.typed(pointer)
    offset, op = 0, pointer.owner
    while type(op) is llvm.GetElementPtr and op.index is None:
        offset, pointer = offset + op.offset, op.operands[0]
        op = pointer.owner
    kind = str(SHARED_PTR)
    made = body.line("llvm.inttoptr", [body.typed(pointer)], kind), kind
    if offset:
        size = " <{elem_type = i8, rawConstantIndices = array<i32: -2147483648>}>"
        made = body.line("llvm.getelementptr", [made, body.constant(offset, "i64")], kind, size), kind
    return made

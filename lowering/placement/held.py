"""Which factors of matrix products may be in registers before shared memory, and which are gathered in runs of
pointers.

Decided on the source program. Products of warps and of warpgroups take computed left factors from registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph.encode import EncodedProgram
from ir.core import Value
from ir.dialects import cuda_tile as ct

RENAMED = (ct.Permute, ct.Reshape, ct.Assume)  # the same elements: look at their operand instead
SPREAD = (ct.Broadcast, ct.Reshape)  # of one literal


def held(program: EncodedProgram, left: bool) -> Iterator[int]:
    """Numbers of right factors that are computed, and of left ones if products also read those from memory."""
    for op in program.source.values():
        if isinstance(op, ct.MmaF | ct.MmaI):
            for value in (origin(op.rhs), *([origin(op.lhs)] if left else [])):
                if value.op is not None and not isinstance(value.op, ct.LoadView | ct.LoadPtr):
                    yield program.number_of(value)


def runs(program: EncodedProgram) -> Iterator[int]:
    """Numbers of factors that are gathered by weak loads, with nothing or zeros for masked elements."""
    for op in program.source.values():
        if isinstance(op, ct.MmaF | ct.MmaI):
            for value in (origin(made(program, origin(v))) for v in (op.lhs, op.rhs)):
                load = value.op
                if isinstance(load, ct.LoadPtr) and load.order == ct.MemoryOrder.WEAK and zero(load.padding_value):
                    yield program.number_of(value)


def made(program: EncodedProgram, value: Value) -> Value:
    """A tile in its encoded form, if it is loaded transposed."""
    op = program.source.get(program.number_of(value))
    return op.results[0] if isinstance(op, ct.Permute) else value


def origin(value: Value) -> Value:
    """A tile before permutes and reshapes."""
    while isinstance(value.op, RENAMED):
        value = value.op.operands[0]
    return value


def zero(padding: Value | None) -> bool:
    """Is this value absent, or all bits of it zero?"""
    while padding is not None and isinstance(padding.op, SPREAD):
        padding = padding.op.operands[0]
    if padding is None:
        return True
    made = padding.op
    return isinstance(made, ct.Constant) and made.value.splat and not any(made.value.data)

"""Which bits of each number its users read, and operations that change none of them.

Source: LLVM, InstCombineSimplifyDemanded.cpp, of which this is the part of masks and sums. A value that is rewritten
keeps the bits that are read of it, and every operation that it reaches loses its promise not to wrap.
"""

from __future__ import annotations

from ir.core import Op, Value
from ir.dialects import llvm
from ir.types import IntType
from lowering.convert.nvgpu_to_nvvm.facts import Facts, trailing

MODULAR = (llvm.Add, llvm.Sub, llvm.Mul)
"""Operations whose lower bits follow from the lower bits of their operands."""
PARTIAL = {*MODULAR, llvm.And, llvm.Or, llvm.Xor, llvm.Trunc, llvm.ZExt, llvm.Select, llvm.LShr}
"""Operations that may not read all bits of their operands."""


JOINING = (llvm.And, llvm.Or, llvm.Xor, llvm.Add, llvm.Sub)
"""Operations whose result may have all bits that are read of it from one operand."""


def ones(value: Value) -> int:
    """All bits of an integer; 0 of what is none."""
    kind = value.type
    return (1 << kind.width) - 1 if isinstance(kind, IntType) else 0


def number(value: Value) -> int | None:
    """The bits of an integer constant."""
    op = value.owner
    known = op.attributes["value"] if isinstance(op, llvm.Constant) else None
    return int(known) & ones(value) if isinstance(known, int) else None


def demanded(ops: list[Op]) -> dict[Value, int]:
    """The bits that are read of each integer, by what follows it; `ops` in layout order, so that uses follow."""
    found: dict[Value, int] = {}
    for op in reversed(ops):
        if type(op) in PARTIAL:
            read = found.get(op.results[0], 0) if ones(op.results[0]) else -1
            for at, value in enumerate(op.operands):
                found[value] = found.get(value, 0) | (_read(op, at, read) & ones(value))
        else:
            for value in op.operands:
                kind = value.type
                if isinstance(kind, IntType):
                    found[value] = (1 << kind.width) - 1
    return found


def _read(op: Op, at: int, read: int) -> int:
    """The bits of an operand that the bits `read` of the result depend on; -1 for all."""
    other = number(op.operands[1 - at]) if len(op.operands) == 2 else None
    if read == 0:
        return 0
    if isinstance(op, llvm.And):
        return read if other is None else read & other
    if isinstance(op, llvm.Or):
        return read if other is None else read & ~other
    if isinstance(op, (llvm.Xor, llvm.Trunc)):
        return read
    if isinstance(op, llvm.ZExt):
        return read if read & ones(op.operands[0]) else 0
    if isinstance(op, llvm.Select):
        return read if at else -1
    if isinstance(op, MODULAR):
        below = (1 << read.bit_length()) - 1
        if isinstance(op, llvm.Mul) and at == 0 and other and not other & other - 1:
            return read >> other.bit_length() - 1
        scaled = isinstance(op, llvm.Mul) and at == 0 and other
        return below >> trailing(~other) if scaled and other is not None else below
    if isinstance(op, llvm.LShr) and at == 0 and other is not None and other < ones(op.operands[0]).bit_length():
        return read << other
    return -1


def unseen(op: Op, read: int, facts: Facts) -> Value | None:
    """The operand that has all the bits of the result that are read."""
    if not isinstance(op, JOINING):
        return None
    for x, y in (op.operands, op.operands[::-1]):
        known = number(y)
        if isinstance(op, llvm.And):
            if known is not None and not read & ~known & ~facts.zeros(x):
                return x
        else:
            seen = (1 << read.bit_length()) - 1 if isinstance(op, MODULAR) else read
            if not seen & ~facts.zeros(y):
                return x
            if isinstance(op, llvm.Sub):
                return None
    return None

"""Address arithmetic: a pointer is a root, varying terms ordered by how often they change, and one displacement."""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Value
from ir.dialects import llvm
from ir.types import I32, I64, SHARED_PTR
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, width_of, wrap
from lowering.convert.nvgpu_to_nvvm.facts import limits
from lowering.convert.nvgpu_to_nvvm.integers import add, extend, mul, narrowed, sub, truncate

WIDE = 8  # elements of an access: 16 bytes of the narrowest floats that products sum
PEEL_DEPTH = 6  # nesting of sums that is searched for constants; the producer's addresses nest about 4 deep


def element_pointer(
    e: Emitter, base: Value, index: Value | None, scale: int, offset: int, outermost: bool = False
) -> Value:
    """base + sext(index) * scale + offset, constants gathered into one outer displacement."""
    while type(base.owner) is llvm.GetElementPtr and not base.owner.segments[1]:
        offset += base.owner.offset
        base = base.owner.base
    shared = base.type == SHARED_PTR
    if index is not None:
        index = narrowed(e, index) or index  # the pointer extends it, in one mad.wide
    if index is not None:
        if shared:
            index = mul(e, truncate(e, extend(e, index, I64, True), I32), e.i32(scale))
            scale = 1
            index, constant = _peel(e, index, PEEL_DEPTH, False)
        else:
            index, constant = _peel(e, index, PEEL_DEPTH, index.type == I32)
        offset += constant * scale
        if e.integer(index) == 0:
            index = None
    if shared:
        offset = wrap(offset, 32)
    join = _joined if outermost else _indexed_by_terms
    root = base if index is None else _beside(e, base, index, scale) or join(e, base, index, scale)
    return _displaced(e, root, offset)


def _beside(e: Emitter, base: Value, index: Value, scale: int) -> Value | None:
    """A pointer a constant number of pitches after an existing one: one product instead of the whole index.

    None if the index is not such a multiple of the pitch, or there is no such pointer.
    """
    found = _pitches(e, index, PEEL_DEPTH) if index.type == I64 else None
    if found is None:
        return None
    first, pitch, count = found
    narrow, wide = _scaled(e, first, scale)
    there = e.found(llvm.GetElementPtr, base.type, base, narrow, **({"element_bytes": wide} if wide != 1 else {}))
    return None if there is None else _joined(e, there, pitch, scale * count)


def _pitches(e: Emitter, index: Value, depth: int) -> tuple[Value, Value, int] | None:
    """(rest, pitch, count) with index = rest + count * pitch, where one factor is a value plus a constant whose sum
    does not wrap: the row of a register of a tile.
    """
    inner = index.op
    if depth == 0 or not isinstance(inner, (llvm.Add, llvm.Mul)):
        return None
    for x, y in (inner.operands, inner.operands[::-1]):
        if isinstance(inner, llvm.Add):
            found = _pitches(e, x, depth - 1)
            if found is not None:
                return add(e, found[0], y), *found[1:]
        elif y not in e.known and x not in e.known and (row := narrowed(e, x)) is not None:
            count = e.integer(row.op.operands[1]) if isinstance(row.op, llvm.Add) else None
            if isinstance(row.op, llvm.Add) and count and e.facts.exact(row.op):
                return mul(e, extend(e, row.op.operands[0], I64, True), y), y, count
    return None


def _indexed_by_terms(e: Emitter, base: Value, index: Value, scale: int) -> Value:
    """An index that mixes terms of several loop levels joins the pointer term by term, the outermost first.

    Exact where the sum cannot wrap: always in the width of the address, for i32 indices of global pointers under nsw.
    """
    inner = index.op
    if isinstance(inner, llvm.Add) and base.type != SHARED_PTR and all(_is_wide(e, v) for v in inner.operands):
        return _indexed(e, _indexed(e, base, inner.operands[0], scale), inner.operands[1], scale)
    if isinstance(inner, llvm.Add) and (base.type == SHARED_PTR or index.type == I64 or inner.nsw):
        x, y = sorted(inner.operands, key=e.level.__getitem__)
        if e.landing(base, x) < e.level[index]:
            return _indexed_by_terms(e, _indexed_by_terms(e, base, x, scale), y, scale)
    return _indexed(e, base, index, scale)


def _is_wide(e: Emitter, term: Value) -> bool:
    """An i64 that extends an i32, possibly times a constant: one wide product scales it; a shift of i64 is two
    instructions.
    """
    inner = term.op
    if isinstance(inner, llvm.Mul) and e.integer(inner.operands[1]) is not None:
        inner = inner.operands[0].op
    return isinstance(inner, (llvm.ZExt, llvm.SExt)) and term.type == I64 and inner.operands[0].type == I32


def _displaced(e: Emitter, root: Value, offset: int) -> Value:
    if not offset:
        return root
    made = e.pure(llvm.GetElementPtr, [root.type], (root,), offset=offset)
    return made.results[0]


def _indexed(e: Emitter, base: Value, index: Value, scale: int) -> Value:
    """A varying term on top of `base`; the term that changes least often goes innermost."""
    inner = base.owner
    if type(inner) is llvm.GetElementPtr and inner.segments[1]:
        root, first = inner.operands
        if e.level[index] < e.level[first] and e.landing(root, index) < e.level[base]:
            swapped = _indexed(e, root, index, scale)
            return _indexed(e, swapped, first, inner.element_bytes)
    return _joined(e, base, index, scale)


def _joined(e: Emitter, base: Value, index: Value, scale: int) -> Value:
    """A varying term added to `base` as is. A 32-bit term is extended by the multiplication that scales it."""
    if base.type != SHARED_PTR:
        index, scale = _scaled(e, index, scale)
    attributes = {"element_bytes": scale} if scale != 1 else {}
    return e.value(llvm.GetElementPtr, base.type, base, index, **attributes)


def _scaled(e: Emitter, index: Value, scale: int) -> tuple[Value, int]:
    """An index and its scale: constant factors that cannot wrap are multiplied into the bytes of an element."""
    index = narrowed(e, index) or index
    inner = index.owner
    factor = e.integer(inner.operands[1]) if type(inner) is llvm.Mul else None
    if factor is None or type(inner) is not llvm.Mul or not 0 < factor * scale < 1 << 31:
        return index, scale
    if index.type == I32 and e.level[index] == 0 and factor <= WIDE and e.facts.range(index)[0] >= 0:
        return index, scale  # a thread's first element, which bounds are compared with too: one register for both
    exact = index.type == I64 or e.facts.exact(inner)  # addresses wrap at 64 bits, too
    return _scaled(e, inner.operands[0], scale * factor) if exact else (index, scale)


def _peel(e: Emitter, value: Value, depth: int, nsw: bool) -> tuple[Value, int]:
    """(rest, constant) with value = rest + constant; with `nsw` as signed numbers, so only if neither wraps."""
    known = e.integer(value)
    if known is not None:
        return e.constant(value.type, 0), known
    inner = value.op
    if depth == 0 or not isinstance(inner, (llvm.Add, llvm.Sub, llvm.Mul, llvm.SExt, llvm.ZExt)):
        return value, 0
    if isinstance(inner, llvm.ZExt) and e.facts.range(inner.operands[0])[0] < 0:
        return value, 0
    if isinstance(inner, (llvm.SExt, llvm.ZExt)):
        rest, constant = _peel(e, inner.operands[0], depth - 1, True)
        return (extend(e, rest, value.type, True), constant) if constant else (value, 0)
    if nsw and not e.facts.exact(inner):
        return value, 0
    x, y = inner.operands
    first, a = _peel(e, x, depth - 1, nsw)
    if isinstance(inner, llvm.Mul):
        factor = e.integer(y)
        if factor is None or not a:
            return value, 0
        low, high = e.facts.range(first)
        fits = nsw and _remains(e, value, a * factor, sorted((low * factor, high * factor)))
        return (mul(e, first, y, fits), a * factor) if fits or not nsw else (value, 0)
    second, b = _peel(e, y, depth - 1, nsw)
    if not a and not b:
        return value, 0
    if isinstance(inner, llvm.Sub):
        (low, high), (least, most) = e.facts.range(first), e.facts.range(second)
        fits = nsw and _remains(e, value, a - b, [low - most, high - least])
        return (sub(e, first, second, fits), a - b) if fits or not nsw else (value, 0)
    parts = [e.facts.range(each) for each in (first, second)]
    fits = nsw and _remains(e, value, a + b, [sum(r[0] for r in parts), sum(r[1] for r in parts)])
    return (add(e, first, second, fits), a + b) if fits or not nsw else (value, 0)


def _remains(e: Emitter, value: Value, constant: int, rest: Sequence[int]) -> bool:
    """Does a value minus a constant fit in the value's width? `rest`: the range of the remainder on its own."""
    low, high = e.facts.range(value)
    bottom, top = limits(width_of(value))
    return bottom <= max(low - constant, rest[0]) and min(high - constant, rest[1]) <= top

"""Integer ops with the folds that addresses need: constants, identities, strength, loop-invariant regrouping."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from ir.core import Op, Type, Value
from ir.dialects import llvm
from ir.types import I1, I4, I8, I16, I32, I64, IntType
from lowering.convert.nvgpu_to_nvvm.comparisons import (
    COMPARE,
    FLOAT_OUTCOMES,
    FLOAT_PREDICATE,
    INVERSE,
    OUTCOMES,
    SWAPPED,
    TERMS,
    apart_from_constant,
    both_exact,
    compared,
    constant_part,
    decided,
    holds,
    lowest_bit,
    reached,
    terms,
    unsigned,
    unsigned_part,
)
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, width_of, width_of_type, wrap
from lowering.convert.nvgpu_to_nvvm.facts import trailing
from lowering.convert.nvgpu_to_nvvm.fields import apart, in_place
from lowering.convert.nvgpu_to_nvvm.shared import flipped_sum, shared_sum


def add(e: Emitter, x: Value, y: Value, nsw: bool = False) -> Value:
    """x + y; a chain that mixes loop-invariant and varying terms is regrouped to combine the invariant ones."""
    if x in e.known:
        x, y = y, x
    kind = x.type
    a, b = e.integer(x), e.integer(y)
    if kind == I1:
        return xor(e, x, y)
    if b is not None and a is not None:
        return e.constant(kind, a + b)
    if (chosen := _chosen(e, add, x, y)) is not None:
        return chosen
    if (narrow := _narrow(e, x, y)) is not None and e.facts.adds(*narrow):
        return extend(e, add(e, *narrow, True), kind, True)
    if kind == I16 and {type(x.owner), type(y.owner)} in ({llvm.Trunc, llvm.SExt}, {llvm.Trunc, llvm.ZExt}):
        return truncate(e, add(e, _word(e, x), _word(e, y)), kind)
    if b is not None:
        if b == 0:
            return x
        inner = x.owner
        if type(inner) is llvm.Add and inner.operands[1] in e.known:
            total = b + int(e.known[inner.operands[1]])
            keeps = nsw and inner.nsw and wrap(total, width_of(x)) == total
            return add(e, inner.operands[0], e.constant(kind, total), keeps)
    else:
        if (flipped := flipped_sum(e, x, y) or flipped_sum(e, y, x)) is not None:
            return xor(e, *flipped)
        if kind == I64 and not nsw and (shared := shared_sum(e, x, y) or shared_sum(e, y, x)) is not None:
            return shared
        moved = _outward(e, x, y, nsw) or _outward(e, y, x, nsw)
        if moved is None and not nsw:
            moved = _regroup(e, x, y) or _regroup(e, y, x)
        if moved is not None:
            return moved
    if kind == I32 and type(y.owner) is llvm.Select and e.facts.zeros(x) | e.facts.zeros(y) == (1 << 32) - 1:
        return bit_or(e, x, y)  # of two values, with the bits of others: ptxas 13.5 combines three in one LOP3
    return e.symmetric(llvm.Add, x, y, nsw=True) if nsw else e.symmetric(llvm.Add, x, y)


def _word(e: Emitter, x: Value) -> Value:
    """An i16 in 32 bits: what it was truncated from, or its extension."""
    inner = x.owner
    if type(inner) is llvm.Trunc and inner.operands[0].type == I32:
        return inner.operands[0]
    return extend(e, x, I32, type(inner) is llvm.SExt)


def _outward(e: Emitter, x: Value, y: Value, nsw: bool) -> Value | None:
    """x + (p + constant) -> (x + p) + constant, whose inner sum other constants share; p + constant may stay outside a
    loop.

    Flags are kept, so this applies only if x + p cannot wrap either.
    """
    inner = y.owner
    if type(inner) is not llvm.Add or inner.operands[1] not in e.known:
        return None
    p, constant = inner.operands
    if e.level[x] > e.level[p]:
        return None
    if not nsw:
        return add(e, add(e, x, p), constant)
    if e.facts.exact(inner) and e.facts.adds(x, p):
        return add(e, add(e, x, p, True), constant, True)
    return None


def _regroup(e: Emitter, x: Value, y: Value) -> Value | None:
    """(varying + invariant) + invariant -> varying + (invariant + invariant)."""
    inner = x.owner
    if type(inner) is not llvm.Add:
        return None
    p, q = inner.operands
    here = e.level[x]
    if e.level[y] >= here or q in e.known:
        return None
    if e.landing(q, y) < here:
        return add(e, p, add(e, q, y))
    return add(e, q, add(e, p, y)) if e.landing(p, y) < here else None


def sub(e: Emitter, x: Value, y: Value, nsw: bool = False) -> Value:
    """x - y; a constant y becomes an addition."""
    b = e.integer(y)
    if x.type == I1:
        return xor(e, x, y)
    if b is not None:
        return add(e, x, e.constant(x.type, -b), nsw and wrap(-b, width_of(x)) == -b)
    if x is y:
        return e.constant(x.type, 0)
    inner = y.op
    a = e.integer(x)
    if a is not None and isinstance(inner, llvm.Add) and (term := e.integer(inner.operands[1])) is not None:
        return sub(e, e.constant(x.type, a - term), inner.operands[0])
    if a is not None and (seen := unsigned(~e.facts.zeros(y), width_of(y))) & ~unsigned(a, width_of(x)) == 0:
        return add(e, xor(e, y, e.constant(x.type, seen)), e.constant(x.type, a - seen))  # nothing is borrowed
    number = e.integer(inner.operands[1]) if isinstance(inner, llvm.Mul) else None
    quotient = inner.operands[0].op if isinstance(inner, llvm.Mul) else None
    if number and isinstance(quotient, (llvm.LShr, llvm.AShr)) and quotient.operands[0] is x:
        place = e.integer(quotient.operands[1])
        if place is not None and number == 1 << place:
            return bit_and(e, x, e.constant(x.type, number - 1))
    if isinstance(inner, llvm.Mul) and number is not None and number & number - 1 and x.type != I8:
        return add(e, x, mul(e, inner.operands[0], e.constant(x.type, -number)))  # one mad.lo, of 16, 32 or 64 bits
    return e.value(llvm.Sub, x.type, x, y, nsw=True) if nsw else e.value(llvm.Sub, x.type, x, y)


def mul(e: Emitter, x: Value, y: Value, nsw: bool = False) -> Value:
    """x * y; powers of two stay products here and print as shifts."""
    if x in e.known:
        x, y = y, x
    kind = x.type
    a, b = e.integer(x), e.integer(y)
    if kind == I1:
        return bit_and(e, x, y)
    if b is not None:
        if a is not None:
            return e.constant(kind, a * b)
        if b in (0, 1):
            return x if b else y
        if (chosen := _chosen(e, mul, x, y)) is not None:
            return chosen
        inner = x.owner
        if type(inner) is llvm.Mul and inner.operands[1] in e.known:
            total = b * int(e.known[inner.operands[1]])
            keeps = nsw and inner.nsw and wrap(total, width_of(x)) == total
            return mul(e, inner.operands[0], e.constant(kind, total), keeps)
    if kind in (I8, I16):  # ptxas 13.5 extends factors of 16 bits
        return truncate(e, mul(e, extend(e, x, I32, False), extend(e, y, I32, False)), kind)
    if (narrow := _narrow(e, x, y)) is not None and e.facts.multiplies(*narrow):
        return extend(e, mul(e, *narrow, True), kind, True)
    x, y = _alike(e, x, y), _alike(e, y, x)
    return e.symmetric(llvm.Mul, x, y, nsw=True) if nsw else e.symmetric(llvm.Mul, x, y)


def _chosen(e: Emitter, make: Callable[[Emitter, Value, Value], Value], x: Value, y: Value) -> Value | None:
    """An operation on a select of two constants and a constant, or on two such selects by one condition: a select of
    two other constants.
    """
    first, second = x.owner, y.owner
    if type(first) is not llvm.Select or first.operands[1] not in e.known or first.operands[2] not in e.known:
        return None
    condition, *arms = first.operands
    others = [y, y]
    if type(second) is llvm.Select and second.operands[0] is condition:
        others = second.operands[1:]
    if others[0] not in e.known or others[1] not in e.known:
        return None
    return select(e, condition, make(e, arms[0], others[0]), make(e, arms[1], others[1]))


def _narrow(e: Emitter, x: Value, y: Value) -> tuple[Value, Value] | None:
    """Two i64 as i32; None if one of them does not fit."""
    if x.type != I64 or (short := narrowed(e, x)) is None or (other := narrowed(e, y)) is None:
        return None
    return short, other


def _alike(e: Emitter, x: Value, y: Value) -> Value:
    """A factor extended like the other one, so that they form one product of i32 (mul.wide)."""
    number, inner = e.integer(y), x.owner
    signed = type(y.owner) is llvm.SExt or (number is not None and number < 0)
    if x.type == I64 and signed and type(inner) is llvm.ZExt and narrowed(e, x) is not None:
        return e.value(llvm.SExt, I64, inner.operands[0])
    return x


def shl(e: Emitter, x: Value, y: Value) -> Value:
    """x << y; a constant amount becomes a product, so that both forms are one value."""
    b = e.integer(y)
    if b is not None and x.type != I1:
        width = width_of(x)
        return mul(e, x, e.constant(x.type, 1 << b)) if 0 <= b < width else e.constant(x.type, 0)
    return e.value(llvm.Shl, x.type, x, y)


def shift_right(e: Emitter, cls: type[Op], x: Value, y: Value) -> Value:
    """x >> y, arithmetic (AShr) or logical (LShr)."""
    a, b = e.integer(x), e.integer(y)
    if b == 0:
        return x
    if a is not None and b is not None and 0 < b < width_of(x):
        return e.constant(x.type, (a if cls is llvm.AShr else unsigned(a, width_of(x))) >> b)
    if b is not None:
        x = _seen_above(e, x, b)
        inner = x.owner
        if cls is llvm.LShr and type(inner) is llvm.And and inner.operands[1] in e.known:  # masks share the shift
            mask = unsigned(int(e.known[inner.operands[1]]), width_of(x)) >> b
            return bit_and(e, shift_right(e, cls, inner.operands[0], y), e.constant(x.type, mask))
    return e.value(cls, x.type, x, y)


def _seen_above(e: Emitter, x: Value, place: int) -> Value:
    """x without a mask that clears only bits below a place, or bits that are zero anyway."""
    inner = x.owner
    mask = e.integer(inner.operands[1]) if type(inner) is llvm.And else None
    if mask is None or type(inner) is not llvm.And:
        return x
    cleared = unsigned(~mask, width_of(x)) & ~e.facts.zeros(inner.operands[0])
    return x if cleared >> place else inner.operands[0]


def bit_and(e: Emitter, x: Value, y: Value) -> Value:
    """x & y."""
    if x in e.known:
        x, y = y, x
    a, b = e.integer(x), e.integer(y)
    if b is not None:
        if a is not None:
            return e.constant(x.type, a & b)
        if b == 0:
            return y
        if b == -1 or (x.type == I1 and b == 1):
            return x
        return _masked(e, x, y, b)
    both = _one_comparison(e, x, y, True) if x.type == I1 else None
    if both is not None:
        return both
    return x if x is y else e.symmetric(llvm.And, x, y)


def _masked(e: Emitter, x: Value, y: Value, mask: int) -> Value:
    """x & mask: x itself if its other bits are zero; terms of a sum that do not affect the low bits are dropped."""
    width = width_of(x)
    if not unsigned(~mask, width) & ~e.facts.zeros(x):
        return x
    if x.type == I64 and 0 <= mask < 1 << 31:  # the upper half is zero, and so it is of sums with it
        return extend(e, bit_and(e, truncate(e, x, I32), e.i32(mask)), I64, False)
    rest, constant = apart(e, x)
    if constant:
        return add(e, bit_and(e, rest, y), e.constant(x.type, constant & mask))
    inner = x.owner
    if mask & mask + 1 == 0 and type(inner) is llvm.Add and inner.operands[1] in e.known:
        constant = int(e.known[inner.operands[1]])
        seen = constant & mask
        if seen != constant:
            return bit_and(e, add(e, inner.operands[0], e.constant(x.type, seen)), y)
    return e.symmetric(llvm.And, x, y)


def _one_comparison(e: Emitter, x: Value, y: Value, both: bool) -> Value | None:
    """The conjunction or disjunction of two comparisons of the same values as one comparison; None if there is none."""
    a, b = x.owner, y.owner
    if type(a) is not type(b) or not isinstance(a, (llvm.ICmp, llvm.FCmp)) or not isinstance(b, (llvm.ICmp, llvm.FCmp)):
        return None
    if a.operands != b.operands or a.attributes.get("ftz") != b.attributes.get("ftz"):
        return None
    if isinstance(a, llvm.FCmp):
        first, second = FLOAT_OUTCOMES[a.predicate], FLOAT_OUTCOMES[b.predicate]
        outcomes = first & second if both else first | second
        if outcomes in (0, 15):
            return e.boolean(bool(outcomes))
        kept = {"ftz": True} if a.attributes.get("ftz") else {}
        return e.value(llvm.FCmp, I1, *a.operands, predicate=FLOAT_PREDICATE[outcomes], **kept)
    signs = {p[0] for p in (a.predicate, b.predicate) if p not in ("eq", "ne")}
    if len(signs) > 1:
        return None
    first, second = OUTCOMES[a.predicate[-2:]], OUTCOMES[b.predicate[-2:]]
    outcomes = first & second if both else first | second
    if outcomes in (0, 7):
        return e.boolean(bool(outcomes))
    order = next(name for name, code in OUTCOMES.items() if code == outcomes)
    return icmp(e, order if order in ("eq", "ne") else next(iter(signs)) + order, *a.operands)


def bit_or(e: Emitter, x: Value, y: Value) -> Value:
    """x | y."""
    if x in e.known:
        x, y = y, x
    a, b = e.integer(x), e.integer(y)
    if b is not None:
        if a is not None:
            return e.constant(x.type, a | b)
        if b == 0:
            return x
        if b == -1 or (x.type == I1 and b == 1):
            return y
        rest, constant = apart(e, x)
        if constant and not constant & b:
            return add(e, bit_or(e, rest, y), e.constant(x.type, constant))
    if x.type == I1:
        either = _one_comparison(e, x, y, False)
        return either if either is not None else x if x is y else e.symmetric(llvm.Or, x, y)
    (root, these), (other, those) = in_place(e, x), in_place(e, y)
    if root is other and these | those != these:
        return bit_and(e, root, e.constant(x.type, these | those))
    return x if x is y else e.symmetric(llvm.Or, x, y)


def xor(e: Emitter, x: Value, y: Value) -> Value:
    """x ^ y; a negated comparison becomes the opposite comparison."""
    if x in e.known:
        x, y = y, x
    a, b = e.integer(x), e.integer(y)
    if b is not None:
        if a is not None:
            return e.constant(x.type, a ^ b)
        if b == 0:
            return x
        inner = x.owner
        if type(inner) is llvm.Xor and inner.operands[1] in e.known:
            return xor(e, inner.operands[0], e.constant(x.type, b ^ int(e.known[inner.operands[1]])))
        if x.type == I1 and type(inner) is llvm.ICmp:
            return icmp(e, INVERSE[inner.predicate], *inner.operands)
        rest, constant = apart(e, x)
        if constant and not constant & b:
            return add(e, xor(e, rest, y), e.constant(x.type, constant))
    return e.constant(x.type, 0) if x is y else e.symmetric(llvm.Xor, x, y)


def bit_not(e: Emitter, x: Value) -> Value:
    """All bits flipped."""
    return xor(e, x, e.constant(x.type, -1))


def icmp(e: Emitter, predicate: str, x: Value, y: Value) -> Value:
    """A comparison with its constant, if any, on the right."""
    if x in e.known and y not in e.known:
        x, y, predicate = y, x, SWAPPED[predicate]
    a, b = e.integer(x), e.integer(y)
    if a is not None and b is not None:
        return e.boolean(holds(predicate, a, b, width_of(x)))
    if x is y:
        return e.boolean(predicate[-2:] in ("eq", "le", "ge"))
    if x.type == I1:
        return _compare_bits(e, predicate, x, y)
    known = decided(e, predicate, x, y)
    if known is not None:
        return e.boolean(known)
    (base, a_), (other, b_) = constant_part(e, x), constant_part(e, y)
    if base is other and predicate[0] != "u" and (predicate in ("eq", "ne") or both_exact(e, x, y)):
        return e.boolean(COMPARE[predicate[-2:]](a_, b_))  # the same and two constants
    if b is not None and (next_ := reached(e, predicate, x, b)) != b:
        return icmp(e, predicate, x, e.constant(x.type, next_))
    if b is not None and (simpler := _against(e, predicate, x, b)) is not None:
        return simpler
    if (simpler := _by_multiples(e, predicate, x, y)) is not None:
        return simpler
    narrow_x, narrow_y = narrowed(e, x), narrowed(e, y)
    if narrow_x is not None and narrow_y is not None:
        return icmp(e, predicate, narrow_x, narrow_y)  # sign extension keeps both orders
    short = [unsigned_part(e, v) for v in (x, y)]
    if short[0] is not None and short[1] is not None:
        return icmp(e, predicate if predicate in ("eq", "ne") else f"u{predicate[1:]}", short[0], short[1])
    if predicate in ("eq", "ne"):
        equal = _equal(e, x, y, narrow_x) or _equal(e, y, x, narrow_y)
        if equal is not None:
            return equal if predicate == "eq" else bit_not(e, equal)
    for sides, order in (((x, y), SWAPPED[predicate]), ((y, x), predicate)):
        rest, number = apart_from_constant(e, *sides) if predicate[0] == "s" else ([], 0)
        if rest:
            base = reduce(partial(add, e), rest)
            return icmp(e, order, sub(e, sides[1], base, True), e.constant(x.type, number))
    return compared(e, predicate, x, y)


def _against(e: Emitter, predicate: str, x: Value, number: int) -> Value | None:
    """A select of two constants by its condition, or a multiple by its base, compared with a constant."""
    inner = x.owner
    if type(inner) is llvm.Select:
        other = e.constant(x.type, number)
        if all(arm in e.known or decided(e, predicate, arm, other) is not None for arm in inner.operands[1:]):
            return select(e, inner.operands[0], *(icmp(e, predicate, arm, other) for arm in inner.operands[1:]))
    if type(inner) is llvm.Xor and number == 0 and predicate in ("slt", "sge"):  # one of two signs is known
        signs = [v for v in inner.operands if e.facts.range(v)[0] < 0]
        return icmp(e, predicate, signs[0], e.constant(x.type, 0)) if len(signs) == 1 else None
    if type(inner) is llvm.Add and e.facts.exact(inner):
        return _without_constant(e, predicate, inner, number)
    factor = e.integer(inner.operands[1]) if type(inner) is llvm.Mul else None
    if factor is None or factor <= 1 or type(inner) is not llvm.Mul or not e.facts.exact(inner):
        return None
    base, order = inner.operands[0], predicate[-2:]
    if order == predicate:
        exact = e.constant(x.type, number // factor)
        return e.boolean(predicate == "ne") if number % factor else icmp(e, predicate, base, exact)
    if predicate[0] == "u" and (e.facts.range(base)[0] < 0 or number < 0):
        return None
    rounded = number // factor if order in ("le", "gt") else -(-number // factor)
    return icmp(e, predicate, base, e.constant(x.type, rounded))


def _without_constant(e: Emitter, predicate: str, x: llvm.Add, number: int) -> Value | None:
    """A sum with a constant, compared with a constant: compare the other term, so that one comparison serves both
    forms.
    """
    base, constant = x.operands[0], e.integer(x.operands[1])
    if constant is None or wrap(number - constant, width_of(base)) != number - constant:
        return None
    rest = number - constant
    apart = constant > 0 and not constant & ~e.facts.zeros(base)  # without a carry: exact as unsigned numbers too
    if predicate[0] == "u" and rest > 0 and number > 0 and apart:
        return icmp(e, predicate, base, e.constant(base.type, rest))
    if predicate[0] == "u" and (rest <= 0 or number < 0 or min(e.facts.range(v)[0] for v in (x.results[0], base)) < 0):
        return None
    if predicate[0] != "u" and predicate not in ("eq", "ne") and e.facts.range(base)[0] >= 0 and rest > 0:
        predicate, rest = (f"u{predicate[1:]}", rest) if predicate != "sge" else ("ugt", rest - 1)
    return icmp(e, predicate, base, e.constant(base.type, rest))


def _by_multiples(e: Emitter, predicate: str, x: Value, y: Value) -> Value | None:
    """a + r < y, if a and y are multiples of a power of two and r is below it: a < y, the same for all such r."""
    if predicate[1:] not in ("lt", "ge") or type(x.owner) is not llvm.Add:
        return None
    places = trailing(e.facts.zeros(y))
    if not places or e.integer(y) == 0:
        return None
    parts = list(terms(x, TERMS))
    constant = sum(int(e.known[t]) for t in parts if t in e.known)
    low, base = constant & (1 << places) - 1, constant_part(e, x)[0]
    if low and not low & ~e.facts.zeros(base):  # bits that the rest of the sum does not have
        return icmp(e, predicate, add(e, x, e.constant(x.type, -low)), y)
    varying = [t for t in parts if t not in e.known]
    for place in range(places, 0, -1):
        low = constant & (1 << place) - 1
        below = [e.facts.range(t) for t in varying if trailing(e.facts.zeros(t)) < place]
        if low + sum(r[0] for r in below) >= 0 and low + sum(r[1] for r in below) < 1 << place and (below or low):
            total = e.constant(x.type, constant - low)
            for term in (t for t in varying if trailing(e.facts.zeros(t)) >= place):
                total = add(e, total, term)
            return icmp(e, predicate, total, y)
    return None


def _equal(e: Emitter, x: Value, y: Value, narrow_x: Value | None) -> Value | None:
    """x = y, where x is a value plus a constant, as for the registers of one tile: the part that does not depend on the
    constant is then common to all of them, and an i32 is compared with it. Exact, since both sides may wrap alike.
    """
    base, constant = constant_part(e, x if narrow_x is None else narrow_x)
    if not constant or y in e.known:
        return None
    if narrow_x is None:
        return e.value(llvm.ICmp, I1, sub(e, y, base), e.constant(x.type, constant), predicate="eq")
    low = truncate(e, y, I32)
    return bit_and(e, icmp(e, "eq", narrow_x, low), icmp(e, "eq", extend(e, low, I64, True), y))


def narrowed(e: Emitter, x: Value) -> Value | None:
    """The i32 that an i64 is the sign extension of; None if it is not."""
    if x.type != I64:
        return None
    known = e.integer(x)
    if known is not None:
        return e.constant(I32, known) if wrap(known, I32.width) == known else None
    inner = x.op
    if isinstance(inner, (llvm.SExt, llvm.ZExt)) and inner.operands[0].type in (I8, I16):
        return extend(e, inner.operands[0], I32, isinstance(inner, llvm.SExt))
    if isinstance(inner, (llvm.SExt, llvm.ZExt)) and inner.operands[0].type == I32:
        fits = isinstance(inner, llvm.SExt) or e.facts.range(inner.operands[0])[0] >= 0
        return inner.operands[0] if fits else None
    return None


def _compare_bits(e: Emitter, predicate: str, x: Value, y: Value) -> Value:
    """Comparison of i1 as logic; signed, true is -1."""
    if predicate in ("eq", "ne"):
        differs = xor(e, x, y)
        return differs if predicate == "ne" else bit_not(e, differs)
    if predicate[0] == "s":
        x, y = y, x
    order = predicate[1:]
    if order in ("gt", "le"):
        x, y = y, x
    less = bit_and(e, bit_not(e, x), y)  # x < y, unsigned
    return less if order in ("lt", "gt") else bit_not(e, less)


def select(e: Emitter, condition: Value, x: Value, y: Value) -> Value:
    """x where the condition holds, else y."""
    known = e.integer(condition)
    if known is not None:
        return x if known else y
    if x is y:
        return x
    if x.type == I1:
        return _select_bit(e, condition, x, y)
    total = x.op
    if isinstance(total, llvm.Add) and y in total.operands and x.type == I64:  # the choice may serve several sums
        term = total.operands[1 - total.operands.index(y)]
        return add(e, y, select(e, condition, term, e.constant(I64, 0)))
    flipped = condition.owner
    if type(flipped) is llvm.Xor and flipped.operands[1] in e.known:
        return e.value(llvm.Select, x.type, flipped.operands[0], y, x)
    return e.value(llvm.Select, x.type, condition, x, y)


def _select_bit(e: Emitter, condition: Value, x: Value, y: Value) -> Value:
    """c ? y | a : y is y | (c & a), whose term may serve several selects; so for xor, and for and with a | !c."""
    opposite = bit_not(e, condition)
    for arm, other, chosen, left in ((x, y, condition, opposite), (y, x, opposite, condition)):
        made = arm.op
        if isinstance(made, llvm.And | llvm.Or | llvm.Xor) and other in made.operands:
            term = made.operands[1 - made.operands.index(other)]
            if isinstance(made, llvm.And):
                return bit_and(e, other, bit_or(e, left, term))
            return (bit_or if isinstance(made, llvm.Or) else xor)(e, other, bit_and(e, chosen, term))
    return bit_or(e, bit_and(e, condition, x), bit_and(e, opposite, y))


def widened(e: Emitter, x: Value, signed: bool) -> Value:
    """Bytes in 16 bits, for instructions that PTX lacks on bytes."""
    return extend(e, x, I16, signed) if x.type == I8 else x


def extend(e: Emitter, x: Value, to: Type, signed: bool) -> Value:
    """Sign or zero extension to a wider integer; non-negative values are zero-extended, which costs no instruction."""
    if x.type == to:
        return x
    signed = signed and (x.type == I1 or e.facts.range(x)[0] < 0)
    known = e.integer(x)
    if known is not None:
        if x.type == I1 and signed:
            return e.constant(to, -known)
        return e.constant(to, known if signed else unsigned(known, width_of(x)))
    if x.type == I1:
        bit = None if signed else lowest_bit(e, x)
        if bit is not None and isinstance(to, IntType):
            return truncate(e, bit, to) if to.width <= width_of(bit) else e.value(llvm.ZExt, to, bit)
        return select(e, x, e.constant(to, -1 if signed else 1), e.constant(to, 0))
    if x.type == I4:
        return _extend_half(e, x, to, signed)
    inner, cls = x.op, llvm.SExt if signed else llvm.ZExt
    if isinstance(inner, (cls, llvm.ZExt)) and (inner.operands[0].type != I4 or to == I16):
        return e.value(type(inner), to, inner.operands[0])
    if cls is llvm.ZExt and type(inner) is llvm.Trunc and inner.operands[0].type == to:
        return bit_and(e, inner.operands[0], e.constant(to, (1 << width_of(x)) - 1))
    return e.value(cls, to, x)


def _extend_half(e: Emitter, x: Value, to: Type, signed: bool) -> Value:
    """An i4, whose upper bits are undefined, as a wider integer."""
    if to == I16 and not signed:
        return e.value(llvm.ZExt, I16, x)
    cut = x.owner
    if type(cut) is llvm.Trunc and cut.operands[0].type == I32:
        held = bit_and(e, cut.operands[0], e.i32(15))
    else:
        held = e.value(llvm.ZExt, I8, x)
    if not signed:
        return extend(e, truncate(e, held, I8), to, False)
    word = extend(e, held, I32, False)
    wide = shift_right(e, llvm.AShr, shl(e, word, e.i32(28)), e.i32(28))
    return truncate(e, wide, to) if width_of_type(to) < 32 else extend(e, wide, to, True)


def truncate(e: Emitter, x: Value, to: Type) -> Value:
    """The low bits."""
    if x.type == to:
        return x
    known = e.integer(x)
    if known is not None:
        return e.constant(to, known)
    if to == I1:
        return icmp(e, "ne", bit_and(e, x, e.constant(x.type, 1)), e.constant(x.type, 0))
    inner = x.owner
    if isinstance(inner, (llvm.SExt, llvm.ZExt)) and width_of(inner.operands[0]) >= width_of_type(to):
        return truncate(e, inner.operands[0], to)
    return e.value(llvm.Trunc, to, x)


def wide_product(e: Emitter, x: Value, y: Value, signed: bool) -> Value:
    """i32 x i32 -> i64, which prints as mul.wide."""
    return mul(e, extend(e, x, I64, signed), extend(e, y, I64, signed))

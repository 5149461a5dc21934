"""Rules of `simplify-by-uses` on bytes: words of bytes become PRMT, which takes bytes of two registers at a time.

A byte of a word is followed through masks of bytes, shifts by bytes, extensions and truncations to the register that it
comes from; an i64 is two of them. ptxas 13.5 finds some of these itself, but not those of four registers.
"""

from __future__ import annotations

from ir.core import Op, Value
from ir.dialects import llvm, nvvm
from ir.types import I16, I32, I64, IntType
from lowering.convert.nvgpu_to_nvvm.demands import number
from lowering.convert.nvgpu_to_nvvm.readers import Uses

DEPTH = 12
"""Operations between a word and the register of one of its bytes."""
Byte = tuple[Value, int] | None
"""An i32 or i64 and the number of a byte of it; none for a byte of zeros."""
BYTE = 0xFF


def bytes_of(value: Value, depth: int = DEPTH) -> list[Byte] | None:
    """Where the bytes of an integer come from, the lowest first; none where one of them is no byte of an i32
    or i64.
    """
    kind = value.type
    if not isinstance(kind, IntType) or kind.width not in (8, 16, 32, 64):
        return None
    found = _of(value, kind.width // 8, depth - 1) if depth else None
    if found is None and kind in (I32, I64):
        return [(value, at) for at in range(kind.width // 8)]
    return found


def _of(value: Value, count: int, depth: int) -> list[Byte] | None:
    op = value.op
    if isinstance(op, llvm.Constant):
        zeros: list[Byte] = [None] * count
        return zeros if number(value) == 0 else None
    if isinstance(op, llvm.Or):
        return _joined(*(bytes_of(each, depth) for each in op.operands))
    if isinstance(op, llvm.ZExt):
        found = bytes_of(op.operands[0], depth)
        return None if found is None else [*found, *[None] * (count - len(found))]
    if isinstance(op, llvm.Trunc):
        found = bytes_of(op.operands[0], depth)
        return None if found is None else found[:count]
    if isinstance(op, nvvm.Permute):
        return _permuted(op, depth)
    if isinstance(op, llvm.And | llvm.LShr | llvm.Mul) and (known := number(op.operands[1])) is not None:
        return _masked_or_moved(op, known, count, depth)
    return None


def _masked_or_moved(op: Op, known: int, count: int, depth: int) -> list[Byte] | None:
    """Bytes of x & mask, of x >> places, of x * 2^places."""
    if isinstance(op, llvm.And):
        kept = [known >> 8 * at & BYTE for at in range(count)]
        found = bytes_of(op.operands[0], depth) if all(mask in (0, BYTE) for mask in kept) else None
        return None if found is None else [byte if mask else None for byte, mask in zip(found, kept, strict=True)]
    if isinstance(op, llvm.Mul):
        if not known or known & known - 1:
            return None
        known = known.bit_length() - 1
    places, rest = divmod(known, 8)
    found = bytes_of(op.operands[0], depth) if not rest and places < count else None
    if found is None:
        return None
    nothing: list[Byte] = [None] * places
    return [*found[places:], *nothing] if isinstance(op, llvm.LShr) else [*nothing, *found[: count - places]]


def _permuted(op: nvvm.Permute, depth: int) -> list[Byte] | None:
    """Bytes that a constant selects."""
    selector = number(op.selector)
    if selector is None or op.mode != "default" or any(selector >> 4 * at & 8 for at in range(4)):
        return None
    low, high = (bytes_of(each, depth) for each in (op.lo, op.hi))
    return None if low is None or high is None else [[*low, *high][selector >> 4 * at & 7] for at in range(4)]


def _joined(x: list[Byte] | None, y: list[Byte] | None) -> list[Byte] | None:
    """Bytes of x | y, where each is a byte of one of them."""
    if x is None or y is None or any(a is not None and b is not None for a, b in zip(x, y, strict=True)):
        return None
    return [a if b is None else b for a, b in zip(x, y, strict=True)]


def joined_bytes(u: Uses, op: Op) -> bool:
    """A number of bytes of several registers, where ors, masks and shifts would be more instructions."""
    result = op.results[0]
    if result.type not in (I16, I32, I64) or any(isinstance(user, llvm.Or) for user in u.users[result]):
        return False
    found = bytes_of(result) or []
    words = [found[at : at + 4] for at in range(0, len(found), 4)]
    roots = [_roots(word) for word in words]
    if not any(roots) or any(len(each) > 4 or (result, 0) in each for each in roots):
        return False
    if _given_up(u, op) <= 1 + sum(0 if _whole(word) else max(len(_roots(word)) - 1, 1) for word in words):
        return False
    made = [_word(u, op, word) for word in words]
    if result.type == I64:
        joined = u.computed(nvvm.Pack, op, *made, type=I64)
    else:
        joined = made[0] if result.type == I32 else u.computed(llvm.Trunc, op, made[0], type=I16)
    u.replace(op, joined)
    return True


def _roots(word: list[Byte]) -> list[tuple[Value, int]]:
    """The registers that bytes come from: the numbers, and which half of them."""
    return list(dict.fromkeys((byte[0], byte[1] // 4) for byte in word if byte is not None))


def _whole(word: list[Byte]) -> bool:
    """Are these bytes those of one register from its lowest on, or all zeros?"""
    places = [byte and byte[1] % 4 for byte in word]
    return not any(word) or (len(_roots(word)) == 1 and places == list(range(len(word))))


def _word(u: Uses, op: Op, word: list[Byte]) -> Value:
    """An i32 of these bytes; those that are not given may be any."""
    halves = {(value, half): register(u, op, value, half) for value, half in _roots(word)}
    if _whole(word):
        return next(iter(halves.values()), u.constant(I32, 0))
    moved = [byte and (halves[byte[0], byte[1] // 4], byte[1] % 4) for byte in word]
    return permuted(u, op, [*moved, *moved][:4], list(halves.values()))


def register(u: Uses, op: Op, value: Value, half: int) -> Value:
    """An i32, or a half of an i64, for `op`."""
    if value.type == I32:
        return value
    parts = u.parts.get(value)
    if parts is None or parts.parent not in (op.parent, u.blocks[0]):
        assert op.parent is not None
        parts = u.parts[value] = nvvm.Unpack((value,), [I32, I32], {}, (), op.location)
        u.append(parts, op.parent)
        u.users[value].append(parts)
    return parts.results[half]


def stored_words(u: Uses, op: nvvm.St) -> bool:
    """The words of i64 that are put together to be stored: ptxas 13.5 moves each of them to a pair of registers."""
    values = op.operands[1 + op.segments[1] :]
    words = [each.op for each in values]
    if op.attributes.get("order") or len(values) > 2:
        return False
    if not all(isinstance(each, nvvm.Pack) and [part.type for part in each.operands] == [I32, I32] for each in words):
        return False
    parts = [part for each in words if each is not None for part in each.operands]
    for value in values:
        u.users[value].remove(op)
    for part in parts:
        u.users[part].append(op)
    op.operands[:] = [*op.operands[: 1 + op.segments[1]], *parts]
    op.segments = (*op.segments[:2], len(parts))
    return True


def _given_up(u: Uses, op: Op, depth: int = DEPTH) -> int:
    """How many operations are of no use without this one, itself among them; truncations cost nothing."""
    kinds = (llvm.Or, llvm.And, llvm.LShr, llvm.Mul, llvm.ZExt, llvm.Trunc, nvvm.Permute)
    count = 0 if isinstance(op, llvm.Trunc) else 1
    for value in op.operands if depth else ():
        if (made := u.only(value, op, *kinds)) is not None:
            count += _given_up(u, made, depth - 1)
    return count


def permuted(u: Uses, op: Op, word: list[Byte], roots: list[Value]) -> Value:
    """The word by PRMT of two registers at a time, in place of `op`."""
    if None in word:
        roots = [*roots, zero := u.constant(I32, 0)]
        word = [(zero, 0) if byte is None else byte for byte in word]
    while True:
        first, second, *rest = roots if len(roots) > 1 else (*roots, roots[0])
        pair = {second: 4, first: 0}
        nibbles = [pair[byte[0]] + byte[1] if byte is not None and byte[0] in pair else 0 for byte in word]
        selector = u.constant(I32, sum(nibble << 4 * at for at, nibble in enumerate(nibbles)))
        made = u.computed(nvvm.Permute, op, first, second, selector, mode="default")
        if not rest:
            return made
        word = [(made, at) if byte is not None and byte[0] in pair else byte for at, byte in enumerate(word)]
        roots = [*rest, made]


def extracted_byte(u: Uses, op: Op) -> bool:
    """x >> 8 & 255 and x >> 16 & 255, which are two instructions."""
    moved = u.only(op.operands[0], op, llvm.LShr)
    if moved is None or op.results[0].type != I32 or number(op.operands[1]) != BYTE:
        return False
    place = number(moved.operands[1])
    if place not in (8, 16):
        return False
    x = moved.operands[0]
    u.replace(op, permuted(u, op, [(x, place // 8), None, None, None], [x]))
    return True


def high_half(u: Uses, op: llvm.Trunc) -> bool:
    """The high half of a word as a part of it (mov), which ptxas reads in place: a shift is an instruction."""
    moved = u.only(op.operands[0], op, llvm.LShr)
    if moved is None or op.parent is None or op.results[0].type != I16 or number(moved.operands[1]) != 16:
        return False
    word = moved.operands[0]
    if word.type != I32:
        return False
    parts = nvvm.Unpack((word,), [I16, I16], {}, (), op.location)
    u.append(parts, op.parent)
    u.users[word].append(parts)
    u.replace(op, parts.results[1])
    return True

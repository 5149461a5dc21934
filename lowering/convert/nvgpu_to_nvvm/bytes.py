"""Rules of `simplify-by-uses` on bytes: words of bytes become PRMT, which takes bytes of two registers at a time.

A byte of a word is followed through masks of bytes, shifts by bytes, extensions and truncations to the register that it
comes from. ptxas 13.5 finds some of these itself, but not those of four registers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir.core import Op, Value
from ir.dialects import llvm, nvvm
from ir.types import I16, I32, IntType
from lowering.convert.nvgpu_to_nvvm.demands import number

if TYPE_CHECKING:
    from lowering.convert.nvgpu_to_nvvm.uses import Uses

DEPTH = 12
"""Operations between a word and the register of one of its bytes."""
Byte = tuple[Value, int] | None
"""An i32 and the number of a byte of it; none for a byte of zeros."""
BYTE = 0xFF


def bytes_of(value: Value, depth: int = DEPTH) -> list[Byte] | None:
    """Where the bytes of an integer come from, the lowest first; none where one of them is no byte of an i32."""
    kind = value.type
    if not isinstance(kind, IntType) or kind.width not in (8, 16, 32):
        return None
    found = _of(value, kind.width // 8, depth - 1) if depth else None
    if found is None and kind == I32:
        return [(value, at) for at in range(4)]
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
    """A word, or half of one, of bytes of several registers, where ors, masks and shifts would be more instructions."""
    result = op.results[0]
    if result.type not in (I16, I32) or any(isinstance(user, llvm.Or) for user in u.users[result]):
        return False
    found = bytes_of(result)
    roots = list(dict.fromkeys(byte[0] for byte in found or () if byte is not None))
    if found is None or not 1 <= len(roots) <= 4 or result in roots:
        return False
    if _given_up(u, op) <= max(len(roots) - 1, 1) + 1:
        return False
    word = permuted(u, op, [*found, *found][:4], roots)
    u.replace(op, word if result.type == I32 else u.computed(llvm.Trunc, op, word, type=result.type))
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

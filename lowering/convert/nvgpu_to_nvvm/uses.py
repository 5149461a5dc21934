"""Simplifications that depend on the users of a value, and the bits they read.

Patterns (integers.py) see the operands of what they emit, but not its uses; these rules see the whole function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ir.core import Op, Value
from ir.dialects import llvm, nvvm
from ir.types import I1, I32, I64, SHARED_PTR
from lowering.convert.nvgpu_to_nvvm.between import between
from lowering.convert.nvgpu_to_nvvm.bits import (
    absorbed,
    masked_number,
    masked_sum,
    merged_masks,
    narrowed_shift,
    raised_sum,
    shifted_back,
    widened_back,
)
from lowering.convert.nvgpu_to_nvvm.bytes import extracted_byte, high_half, joined_bytes, stored_words
from lowering.convert.nvgpu_to_nvvm.chains import shared_terms, together
from lowering.convert.nvgpu_to_nvvm.choices import (
    chosen_constant,
    chosen_load,
    chosen_operand,
    chosen_result,
    chosen_twice,
)
from lowering.convert.nvgpu_to_nvvm.demands import MODULAR, number, ones, unseen
from lowering.convert.nvgpu_to_nvvm.readers import Uses
from lowering.convert.nvgpu_to_nvvm.sums import (
    chained,
    late_product,
    negated_term,
    one_difference,
    pairs,
    shared_pair,
)
from lowering.convert.nvgpu_to_nvvm.zeros import byte_compared, parity_compared, shared_conjunction, zeros_together

HIGH = (1 << 64) - (1 << 32)
"""Bits of the high half of an i64."""
GUARDED = (nvvm.St, nvvm.Atom, llvm.CondBr)
"""Operations that a comparison guards without a branch inserted by ptxas, and branches."""


def simplify_by_uses(func: llvm.Func) -> int:
    """Rewrite a function in place; returns how many operations changed."""
    count, changed = 0, 1
    while changed:  # until nothing changes, so that reading printed text again changes nothing
        changed = Rewriting(func).rewrite()
        count += changed
    return count


class Rewriting(Uses):
    """The walk that applies rules."""

    def __init__(self, func: llvm.Func):
        super().__init__(func)
        ops = [op for block in self.blocks for op in block.ops]
        self.pairs, self.together = pairs(self, ops), together(self, ops)

    def rewrite(self) -> int:
        """Rewrite each op by the first matching rule; returns how many changed."""
        count = 0
        for block in self.blocks:
            ops, block.ops = block.ops, []
            for op in ops:
                if self.same or self.loose:
                    self.renew(op)
                if isinstance(op, nvvm.St):
                    changed = stored_words(self, op)
                else:
                    changed = type(op) in REWRITTEN and self._simplified(op)
                count += changed
                if not changed or not op.results or op.results[0] not in self.same:
                    self.keep(op, block)
        return count

    def _simplified(self, op: Op) -> bool:
        """Was a rule applied?"""
        result = op.results[0]
        if not self.users.get(result):
            return False
        if ones(result) and result.type != I1:
            if (operand := unseen(op, self.bits.get(result, 0), self.facts)) is not None:
                self.replace(op, operand)
                return True
            for rule in INTEGER_RULES.get(type(op), ()):
                if rule(self, op):
                    return True
        rules = RULES.get(type(op))
        return rules is not None and any(rule(self, op) for rule in rules)


def scaled_index(u: Uses, op: Op) -> bool:
    """base[x * c] of elements of n bytes, if only addresses read x * c: base[x] of elements of c * n bytes."""
    if not isinstance(op, llvm.GetElementPtr) or op.index is None or op.base.type == SHARED_PTR:
        return False
    product = op.index.op
    if not isinstance(product, llvm.Mul) or op.index.type != I32 or not u.facts.exact(product):
        return False
    x, factor = product.operands[0], number(product.operands[1])
    if factor is None or not all(_can_scale(user, op.index, factor) for user in u.users[op.index]):
        return False
    u.users[op.index].remove(op)
    u.users[x].append(op)
    op.operands[1] = x
    op.attributes["element_bytes"] = op.element_bytes * factor
    return True


def shared_address(u: Uses, op: Op) -> bool:
    """(p + i) + j, where p + j exists: (p + j) + i."""
    if not isinstance(op, llvm.GetElementPtr) or op.index is None:
        return False
    inner = u.only(op.base, op, llvm.GetElementPtr)
    if not isinstance(inner, llvm.GetElementPtr) or inner.index is None:
        return False
    there = u.addresses.get((inner.base, op.index, op.element_bytes, op.offset))
    if there is None or there.op is None or there.op.parent not in (op.parent, u.blocks[0]) or there is op.base:
        return False
    made = llvm.GetElementPtr(
        (there, inner.index), [op.results[0].type], dict(inner.attributes), (), op.location, inner.segments
    )
    assert op.parent is not None
    for value in made.operands:
        u.users[value].append(made)
    u.replace(op, u.append(made, op.parent))
    return True


def _can_scale(user: Op, index: Value, factor: int) -> bool:
    """Is a user an address whose element size can be scaled that much?"""
    fits = isinstance(user, llvm.GetElementPtr) and user.index is index and user.base.type != SHARED_PTR
    return fits and isinstance(user, llvm.GetElementPtr) and user.element_bytes * factor < 1 << 31


def masked_product(u: Uses, op: llvm.Mul) -> bool:
    """(x >> k & m) << k as a mask of x. (x & m) << k, if combined with other bits, as a mask of x << k: ptxas 13.5
    makes one LOP3 of the mask and the combination, and several masks share the shift.
    """
    result, block = op.results[0], op.parent
    factor = number(op.operands[1])
    if result.type != I32 or block is None or not factor or factor & factor - 1:
        return False
    place, masked = factor.bit_length() - 1, u.only(op.operands[0], op, llvm.And)
    mask = number(masked.operands[1]) if masked is not None else ones(result) >> place
    moved = (masked.operands[0] if masked is not None else op.operands[0]).op
    if mask is None or isinstance(moved, llvm.Constant):
        return False
    if isinstance(moved, llvm.LShr) and moved.parent is block and number(moved.operands[1]) == place:
        if masked is None and u.only(moved.results[0], op) is None:
            return False
        source = moved.operands[0]
    elif masked is not None and (
        all(isinstance(user, llvm.Or | llvm.Xor) for user in u.users[result])
        or (masked.operands[0], factor) in u.products
    ):
        x = masked.operands[0]
        source = u.products.get((x, factor))
        if source is None or source.op is None or source.op.parent not in (block, u.blocks[0]):
            source = u.append(llvm.Mul((x, op.operands[1]), [I32], {}, (), op.location), block)
    else:
        return False
    made = llvm.And((source, u.constant(I32, mask << place)), [I32], {}, (), op.location)
    u.replace(op, u.append(made, block))
    for value in made.operands:
        u.users.setdefault(value, []).append(made)
    return True


def joined_bits(u: Uses, op: llvm.Add) -> bool:
    """x + (y & m), which have no common bits: x | y & m, one LOP3 in ptxas 13.5 if the mask has no other use, or one
    other use and only addresses and comparisons read the sum. Not for x * n, which is one instruction with the sum, nor
    if more is added, which ptxas reorders.
    """
    result, block = op.results[0], op.parent
    zeros = [u.facts.zeros(each) for each in op.operands]
    if result.type not in (I32, I64) or block is None or zeros[0] | zeros[1] != ones(result):
        return False
    if result.type == I64 and HIGH not in (zeros[0] & HIGH, zeros[1] & HIGH):
        return False
    place = all(isinstance(user, llvm.GetElementPtr | llvm.ICmp) for user in u.users[result])
    masks = [each.op for each in op.operands if len(u.users[each]) <= 1 + place and isinstance(each.op, llvm.And)]
    if result.type == I32 and not any(
        number(mask.operands[1]) is not None and (place or mask.parent is op.parent) for mask in masks
    ):
        return False
    if any(number(each) is not None or u.only(each, op, llvm.Mul) for each in op.operands):
        return False
    if any(isinstance(user, llvm.Add) for user in u.users[result]):
        return False
    u.replace(op, u.computed(llvm.Or, op, *op.operands))
    return True


def bits_compared(u: Uses, op: llvm.ICmp) -> bool:
    """x & m = 0, where m has all bits of x from some bit on: x less than that bit. Not for guards of loads, which then
    become branches in ptxas 13.5, nor for selects by a single bit: it combines several into one R2P.
    """
    masked = op.operands[0].op
    if op.predicate not in ("eq", "ne") or number(op.operands[1]) != 0 or not isinstance(masked, llvm.And):
        return False
    x, mask = masked.operands[0], number(masked.operands[1])
    least = mask & -mask if mask else 0
    if mask is None or least < 2 or ones(x) & ~u.facts.zeros(x) & ~mask >= least:
        return False
    guarded = GUARDED if least == mask else (*GUARDED, llvm.Select)
    if not all(_guards_no_load(u, user, guarded) for user in u.users[op.results[0]]):
        return False
    u.users[op.operands[0]].remove(op)
    u.users[x].append(op)
    op.operands[:] = [x, u.constant(x.type, least)]
    op.attributes["predicate"] = "ult" if op.predicate == "eq" else "uge"
    return True


BESIDE = {(1, 1): {"sge": "sgt", "slt": "sle"}, (0, 1): {"sgt": "sge", "sle": "slt"},
          (1, -1): {"sgt": "sge", "sle": "slt"}, (0, -1): {"sge": "sgt", "slt": "sle"}}  # fmt: skip
"""Keyed by the operand that is x + 1 or x - 1, and by the offset: the equivalent predicate on x."""


def next_compared(u: Uses, op: llvm.ICmp) -> bool:
    """x + 1 <= y, if only comparisons read a sum that does not wrap: x < y; likewise for the other side, and x - 1."""
    for at, value in enumerate(op.operands):
        total = value.op
        step = number(total.operands[1]) if isinstance(total, llvm.Add) else None
        if not isinstance(total, llvm.Add) or step is None:
            continue
        predicate = BESIDE.get((at, 1 if step == 1 else -1 if step == ones(value) else 0), {}).get(op.predicate)
        if predicate is None or not u.facts.exact(total) or value in u.loose:
            continue
        if all(isinstance(user, llvm.ICmp) for user in u.users[value]):
            u.users[value].remove(op)
            u.users[total.operands[0]].append(op)
            op.operands[at] = total.operands[0]
            op.attributes["predicate"] = predicate
            return True
    return False


def _guards_no_load(u: Uses, user: Op, guarded: tuple[type[Op], ...]) -> bool:
    if isinstance(user, llvm.And | llvm.Or | llvm.Xor) and user.results[0].type == I1:
        return all(_guards_no_load(u, each, guarded) for each in u.users[user.results[0]])
    return isinstance(user, guarded)


INTEGER_RULES: dict[type[Op], tuple[Callable[[Uses, Any], bool], ...]] = {
    llvm.Add: (negated_term, joined_bits, shared_pair, one_difference, chained, late_product),
    llvm.Sub: (negated_term, one_difference),
    llvm.Mul: (shifted_back, masked_product, raised_sum),
    llvm.ZExt: (widened_back,),
    llvm.And: (masked_sum, absorbed, extracted_byte),
    llvm.Xor: (merged_masks, chained),
    llvm.Trunc: (high_half, narrowed_shift),
    llvm.Or: (absorbed, joined_bytes, merged_masks),
}
"""Rules tried on an operation with an integer result, in order."""
RULES: dict[type[Op], tuple[Callable[[Uses, Any], bool], ...]] = {
    llvm.And: (zeros_together, between, shared_conjunction, shared_terms, chained),
    llvm.Or: (zeros_together, between, shared_terms, chained),
    llvm.ICmp: (byte_compared, parity_compared, bits_compared, next_compared),
    llvm.FAdd: (chosen_result,),
    llvm.FSub: (chosen_result,),
    llvm.FMul: (chosen_result,),
    llvm.UIToFP: (masked_number,),
    llvm.SIToFP: (masked_number,),
    llvm.GetElementPtr: (scaled_index, shared_address),
    llvm.Select: (chosen_twice, chosen_operand, chosen_constant, chosen_load),
}
"""Rules tried on any operation."""
REWRITTEN = {*MODULAR, *INTEGER_RULES, *RULES}
"""Operations at which a rule can match."""

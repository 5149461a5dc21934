"""What the generic form has in common at every level: sizes of operand groups, arrays of integers."""

from __future__ import annotations

from collections.abc import Callable

from ir.core import Op, Operand, OptionalOperand, Type
from ir.narrowing import is_tuple
from ir.text.literals import parse_scalar
from ir.text.tokens import Tokens
from ir.types import IntType


def operand_segments(tokens: Tokens, cls: type[Op], written: object, count: int, at: int) -> tuple[int, ...]:
    """Operands a group: as `written`, or where only one group can vary, what the others leave of `count`.

    Raises ParseError at token `at` where they do not fit.
    """
    name, groups = cls.info.name, cls.info.operands
    if written is None:
        free = [group for group in groups if not isinstance(group, Operand)]
        if len(free) > 1:
            tokens.fail(f"'{name}' needs operandSegmentSizes", index=at)
        rest = count - len(groups) + len(free)
        if rest < 0 or (rest and not free) or (rest > 1 and isinstance(free[0], OptionalOperand)):
            tokens.fail(f"'{name}' has {len(groups)} operands, got {count}", index=at)
        return tuple(1 if isinstance(group, Operand) else rest for group in groups)
    listed = written if is_tuple(written) else ()
    numbers = tuple(number for number in listed if isinstance(number, int) and number >= 0)
    if len(numbers) != len(listed) or len(numbers) != len(groups) or sum(numbers) != count:
        tokens.fail(f"operandSegmentSizes does not match the {count} operands of '{name}'", index=at)
    return tuple(map(int, numbers))


def integer_array(tokens: Tokens, read_type: Callable[[], Type]) -> tuple[object, ...]:
    """`array<i32: 1, 0>`."""
    tokens.take()
    tokens.expect("<", "after array")
    at = tokens.at
    element = read_type()
    if not isinstance(element, IntType):
        tokens.fail("arrays are of integers", index=at)
    found: list[object] = []
    if tokens.accept(":"):
        while tokens.current != ">":
            if found:
                tokens.expect(",", "between the elements")
            found.append(parse_scalar(tokens, element))
    tokens.expect(">", "after the array")
    return tuple(found)

"""Branches and loops inside the expansion of one op."""

from __future__ import annotations

from collections.abc import Callable

from ir.core import Block, Value
from ir.dialects import llvm
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter


def either(e: Emitter, condition: Value, make: Callable[[], list[Value]], otherwise: list[Value]) -> list[Value]:
    """What `make` emits, on a path taken only if the condition holds, otherwise the other values."""
    first = Block()
    e.enter(first, False)
    made = make()
    merge = Block([value.type for value in made])
    e.effect(llvm.Br, made, [], successors=(merge,))
    e.leave()
    e.effect(llvm.CondBr, [condition, *otherwise], [], (1, 0, len(otherwise)), successors=(first, merge))
    e.place(merge)
    return list(merge.args)


def repeat(
    e: Emitter, turn: Callable[..., list[Value]], start: list[Value], again: Callable[[list[Value]], Value]
) -> list[Value]:
    """The final carried values of `turn`: a loop that runs once and then as long as `again` holds."""
    body = Block([value.type for value in start])
    e.enter(body, True)
    made = turn(*body.args)
    after = Block([value.type for value in made])
    condition = again(made)
    e.effect(llvm.CondBr, [condition, *made, *made], [], (1, len(made), len(made)), successors=(body, after))
    e.leave()
    e.effect(llvm.Br, start, [], successors=(body,))
    e.place(after)
    return list(after.args)

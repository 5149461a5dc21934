"""One function on its way to the nvvm level: which registers hold each nvgpu value, and what each op becomes."""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import partial
from typing import Any, TypeVar

from ir.core import Block, Op, Value
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.dispatch import Entry, Lowerings
from lowering.targets import target as target_named

OpT = TypeVar("OpT", bound=Op)


class Conversion:
    """The function so far, and its registers."""

    def __init__(self, entry: Block, target: str, threads: tuple[int, ...], forbid: Set[str]):
        self.e = Emitter(entry, target_named(target), threads, forbid)
        self.held: dict[Value, list[Value]] = {}

    def registers(self, value: Value) -> list[Value]:
        """Registers of an nvgpu value."""
        return self.held[value]

    def register(self, value: Value) -> Value:
        """The register of an nvgpu value that takes one."""
        return self.held[value][0]

    def define(self, value: Value, registers: list[Value]) -> None:
        """Say which registers hold an nvgpu value."""
        self.held[value] = registers

    def ops(self, ops: list[Op]) -> None:
        """Convert a run of ops at the current place. Raises UnsupportedError, located, for one without a pattern."""
        e = self.e
        for op in ops:
            e.location = op.location
            lowers.of(op)(self, op)


lowers: Lowerings[Conversion, [], None] = Lowerings("nvvm pattern")
"""What an op becomes: a function (conversion, op) that defines its results."""


def lowers_each(*kinds: type[OpT]) -> Callable[[Entry[Emitter, OpT, ..., Value]], Entry[Emitter, OpT, ..., Value]]:
    """Declare an elementwise op by a function (emitter, op, *operand registers) -> result register."""

    def declare(pattern: Entry[Emitter, OpT, ..., Value]) -> Entry[Emitter, OpT, ..., Value]:
        lowers(*kinds)(partial(_mapped, pattern))
        return pattern

    return declare


def _mapped(pattern: Entry[Emitter, Any, ..., Value], c: Conversion, op: Op) -> None:
    """The pattern on each register; an operand with one register serves all."""
    e, operands = c.e, [c.held[v] for v in op.operands]
    count = max(map(len, operands))
    if count == 1:
        c.held[op.results[0]] = [pattern(e, op, *(o[0] for o in operands))]
    else:
        made = [pattern(e, op, *(o[i] if len(o) > 1 else o[0] for o in operands)) for i in range(count)]
        c.held[op.results[0]] = made

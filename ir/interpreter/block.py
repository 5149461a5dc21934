"""Execution of one tile block: its values, its structured control flow, and the handlers of operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, cast

import ir.dialects.cuda_tile as ct
from ir.core import UNKNOWN, Block, Op, Region, TileError, UnsupportedError, Value
from ir.dialects.cuda_tile.attributes import Array
from ir.dialects.cuda_tile.constraints import TileOp
from ir.interpreter.memory import InterpreterError, Memory
from ir.records import dataclass

Grid = tuple[int, int, int]
Environment = dict[Value, object]
Outcome = tuple[Op, list[Any]]
"""The terminator that ended a block, and its operands."""
TOKEN = None
"""The value bound to tokens."""


@dataclass
class Launch:
    """State shared by all tile blocks of a grid."""

    memory: Memory
    grid: Grid
    output: Callable[[str], object]
    """Receives what the kernel prints."""
    globals: dict[str, int] = field(default_factory=dict[str, int])
    """Addresses of the module's globals."""


class TileBlock:
    """One tile block: its position in the grid and the values bound so far."""

    __slots__ = ("batched", "block_id", "environment", "grid", "launch", "memory")

    def __init__(self, launch: Launch, block_id: Grid, environment: Environment):
        self.launch = launch
        self.memory = launch.memory
        self.block_id = block_id
        self.grid = launch.grid
        self.environment = environment
        self.batched = False
        """Inside a combiner region: rank-0 values represent arrays of them."""

    def run(self, region: Region) -> None:
        """Run the kernel body; its automatic memory is freed afterwards."""
        before = len(self.memory.arrays)
        try:
            self.block(region.block)
        except TileError as error:
            where = ", ".join(map(str, self.block_id))
            error.message = f"{error.message} [tile block ({where})]"
            raise
        self.memory.release(before)

    def block(self, block: Block) -> Outcome:
        """Run a block up to its terminator."""
        for op in block.ops:
            if isinstance(op, TileOp) and op.is_terminator:
                return op, self.values(op.operands)
            ended = self.operation(op)
            if ended is not None:
                return ended
        owner = block.parent_op
        where = block.ops[-1].location if block.ops else owner.location if owner else UNKNOWN
        raise InterpreterError("a block ends without a terminator", where)

    def operation(self, op: Op) -> Outcome | None:
        """Run one operation and bind its results; a `continue` or `break` met inside it is passed on."""
        handler = HANDLERS.get(type(op))
        if handler is not None:
            results = handler(self, op)
            if isinstance(results, tuple):
                return results
        elif isinstance(op, TileOp) and hasattr(type(op), "reference"):
            results = [self.pure(op)]
        else:
            raise UnsupportedError(f"the interpreter cannot run '{op.name}' yet", op.location)
        for value, result in zip(op.results, results, strict=True):
            self.environment[value] = result
        return None

    def pure(self, op: TileOp) -> Array:
        """A pure operation by its reference semantics."""
        operands = self.values(op.operands)
        if self.batched and isinstance(op, ct.Reshape | ct.Broadcast | ct.Permute):
            return operands[0]  # rank-0 to rank-0: no elements move
        return op.evaluate(operands)

    def values(self, operands: Sequence[Value]) -> list[Any]:
        """The values bound to the operands."""
        return [self.environment[v] for v in operands]

    def array(self, value: Value) -> Array:
        """The array bound to a tile value."""
        return cast("Array", self.environment[value])

    def integer(self, value: Value) -> int:
        """The number bound to a scalar integer tile."""
        return int(self.array(value))


Results = list[Any] | Outcome
Handler = Callable[[TileBlock, Any], Results]
HANDLERS: dict[type[Op], Handler] = {}
"""Handlers of operations other than pure arithmetic, registered by the modules of this package; everything else runs by
its `reference`.
"""

"""State of scheduling, and what its parts ask of others that are built on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ir.core import Block, Builder, Op, Value
from ir.dialects import nv_tileas, scf
from lowering.schedule.exchanges import Exchanges
from lowering.schedule.rings import Ring, Staged
from lowering.schedule.states import Site
from lowering.targets import Target


class Rewriter:
    """Rebuilds blocks op by op; `values` maps old values to new ones."""

    def __init__(self, func: nv_tileas.Func, target: Target):
        self.func = func
        self.target = target
        self.tensor = any(isinstance(each, nv_tileas.TensorDot) for each in func.walk())
        self.values: dict[Value, Value] = {}
        self.free = 0  # first free byte of shared memory
        self.once: list[nv_tileas.AllocTensor] = []  # buffers that are filled once: no scratch lies over them
        self.looped: list[nv_tileas.AllocTensor] = []  # buffers of one loop that all have read where it ends
        self.held: list[tuple[nv_tileas.WriteBuffer, nv_tileas.BufferView]] = []  # buffers in turn
        self.rings: list[list[Ring]] = []  # those that stand together are used at different times
        self.exchanges = Exchanges()
        self.own: dict[int, list[Ring]] = {}  # by depth of their loops: rings that the consumers fill themselves

    def clone(self, op: Op, b: Builder, values: dict[Value, Value] | None = None) -> Op:
        """A copy of an op without regions on new operands."""
        values = self.values if values is None else values
        b.location = op.location
        operands = [values.get(v, self.values.get(v, v)) for v in op.operands]
        made = b.add(
            type(op),
            *operands,
            types=[r.type for r in op.results],
            segments=op.segments,
            regions=op.regions,
            **op.attributes,
        )
        for region in op.regions:
            region.parent = made
        values.update(zip(op.results, made.results, strict=True))
        return made


class Scheduling(Protocol):
    """The walk that rebuilds a kernel (`lowering.schedule.pipelining.Scheduler`), as loops over rings see it."""

    rewriter: Rewriter
    depth: int
    """Loops around what is rebuilt."""

    def buffers(self, copies: Sequence[Staged], ring: Ring, b: Builder) -> list[Value]:
        """The buffers of a loop's copies in a ring."""
        ...

    def reading(
        self,
        copies: Sequence[Staged],
        buffers: Sequence[Value],
        iterator: Value,
        rest: list[Op],
        fence: bool,
        loop: scf.For,
    ) -> Block:
        """A block with the tiles in the stage of an iterator, and the `rest` of a loop's body behind them."""
        ...

    def values(self, operands: list[Value]) -> list[Value]:
        """New values of old operands."""
        ...

    def inner(self, ops: list[Op], b: Builder) -> None:
        """Rebuild part of a loop's body."""
        ...

    def rebuild(self, op: scf.For, operands: list[Value], body: Block, b: Builder) -> scf.For:
        """A loop with a new body, which may carry more."""
        ...


class Handed(Protocol):
    """A ring of one stage between the consumers, whose sites are the first, and agents that begin products."""

    pipeline: nv_tileas.CreatePipeline
    sites: list[dict[Op, Site]]


class Accumulated(Protocol):
    """A sum in tensor memory between the consumers and the agent that multiplies."""

    pipeline: nv_tileas.CreatePipeline
    memory: nv_tileas.AllocTensorMemory
    stages: int
    filled: dict[Op, Site]
    read: dict[Op, Site]

    def place(self, first: int) -> int:
        """Give it its columns, from the `first` on; how many they take."""
        ...

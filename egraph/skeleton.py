"""What stays in order: stores, loops, branches and the return, holding the numbers of the values they use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from ir.core import Op, Type
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas_cluster import Meet
from ir.dialects.nv_tileas_effects import CancelNextProgramId
from ir.records import dataclass
from ir.types import TokenType


@dataclass
class SkeletonRegion:
    """Items in program order."""

    items: list[Item] = field(default_factory=list["Item"])

    def walk(self) -> Iterator[Item]:
        """Every item below, outer before inner, in program order."""
        for item in self.items:
            yield item
            if isinstance(item, SkeletonLoop):
                yield from item.body.walk()
            elif isinstance(item, SkeletonBranch):
                yield from item.then.walk()
                yield from item.otherwise.walk()


@dataclass
class SkeletonEffect:
    """An operation with a memory effect: `operands` are value numbers in the op's own flat order, `results` those of
    its results (the tokens), `item` its id, unique in the program, which `(effect item index type)` names. `at`: for
    an update by pointers, the view and the index of the tile that it updates, if these are known.
    """

    op: Op
    item: int
    operands: tuple[int, ...]
    results: tuple[int, ...]
    at: tuple[int, ...] = ()

    @property
    def alone(self) -> bool:
        """Has it neither operands but tokens nor a text? Then there is one way to do it."""
        return isinstance(
            self.op,
            ct.Alloca | ct.GdcWait | ct.GdcLaunchDependents | ct.MemoryFenceAlias | CancelNextProgramId | Meet,
        )

    @property
    def placed(self) -> tuple[int, ...]:
        """Operands that are tiles or scalars: all but tokens."""
        pairs = zip(self.operands, self.op.operands, strict=True)
        return tuple([k for k, value in pairs if not isinstance(value.type, TokenType)])


@dataclass
class SkeletonLoop:
    """A loop; `loop` is its id and its bit in `deps`, `types` are those of its results. Other numbers are of values.

    A counted loop has bounds and an induction variable. Of an endless one they are 0, the missing operand: it goes on
    while `again`, which its body computes, is true, and its results are those of its last iteration.
    """

    op: Op
    loop: int
    lower: int
    upper: int
    step: int
    inits: tuple[int, ...]
    induction: int
    carried: tuple[int, ...]
    body: SkeletonRegion
    yields: tuple[int, ...]
    results: tuple[int, ...]
    types: tuple[Type, ...]
    again: int = 0


@dataclass
class SkeletonBranch:
    """A branch on a scalar; `scopes` are the ids (bits in `deps`) of the two sides, `types` those of its results.

    Where a side leaves the iteration or the kernel, what follows the source's branch is in the other side, and the
    results are what the block's terminator carries.
    """

    op: Op
    item: int
    condition: int
    scopes: tuple[int, int]
    then: SkeletonRegion
    then_yields: tuple[int, ...]
    otherwise: SkeletonRegion
    otherwise_yields: tuple[int, ...]
    results: tuple[int, ...]
    types: tuple[Type, ...]


@dataclass
class Return:
    """The end of the kernel."""

    op: Op


Item = SkeletonEffect | SkeletonLoop | SkeletonBranch | Return

"""Liveness of tiles, determined on the source program: tiles computed before and used after a point of a region.

Points lie between the operations that read or compute a tile as a whole (products, reductions, stores, loops), in the
order in which code is emitted: an effect after its operands. All other operations are computed piecewise at their first
use, so a value that only one of the former needs is never live.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import field

from egraph.saturate import Saturated
from egraph.skeleton import SkeletonLoop
from ir.core import Block, Effect, Op, Value
from ir.dialects import cuda_tile as ct
from ir.records import dataclass
from ir.types import FloatType, TileType
from lowering.selection.trips import PRODUCTS
from lowering.source.supported import registers_of
from lowering.targets.target import WARP

WHOLE = (*PRODUCTS, ct.Combining)
REGIONS = (ct.For, ct.Loop, ct.If)
MADE_ANYWHERE = (ct.Constant, ct.Broadcast)


class Points:
    """The points of a program, with the registers of the tiles live there, without replicas."""

    def __init__(self, saturated: Saturated):
        program, frozen = saturated.program, saturated.frozen
        loop = {item.op: item.loop for item in program.skeleton.walk() if isinstance(item, SkeletonLoop)}
        self._held: dict[tuple[int, ...], list[frozenset[Value]]] = {}
        self._beside: dict[int, list[frozenset[Value]]] = {}
        for op, loops, around, after in points(program.entry.body.block):
            if len(after) > 1 and loop.keys() >= set(loops):  # a single tile stays where its product computed it
                self._held.setdefault(tuple(loop[each] for each in loops), []).append(after)
            number = program.numbers.get(op.results[0]) if isinstance(op, PRODUCTS) else None
            if number is not None:
                self._beside.setdefault(frozen.class_of(number), []).append(around)

    def most(self, path: tuple[int, ...], warps: int) -> int:
        """Registers of a thread at the point of maximum pressure inside these loops."""
        return max((total(values, warps) for values in self._held.get(path, ())), default=0)

    def crowded(self, warps: int, budget: int) -> list[tuple[int, ...]]:
        """The loops around code, () at top level, where tiles take more than `budget` registers of a thread."""
        return [path for path in self._held if self.most(path, warps) > budget]

    def beside(self, value: int, warps: int) -> int:
        """Registers of a thread for the tiles live while a product is computed."""
        return max((total(values, warps) for values in self._beside.get(value, ())), default=0)


def total(values: frozenset[Value], warps: int) -> int:
    """Registers of a thread for all of them."""
    return sum(registers_of(value, WARP * warps) for value in values)


def points(
    block: Block, loops: tuple[Op, ...] = (), through: frozenset[Value] = frozenset()
) -> Iterator[tuple[Op, tuple[Op, ...], frozenset[Value], frozenset[Value]]]:
    """Every operation of a block and its nested blocks that is followed by a point, with its enclosing loops, the tiles
    live while it runs, and those live after it. `through`: tiles live throughout the block.
    """
    order = _Order(block)
    before = through
    for point, op in enumerate(order.points):
        after = through | order.held(point)
        yield op, loops, before & after, after
        if isinstance(op, REGIONS):
            inside = loops if isinstance(op, ct.If) else (*loops, op)
            for each in (block for region in op.regions for block in region.blocks):
                yield from points(each, inside, before & after)
        before = after


@dataclass
class _Order:
    """The points of one block and, for every value of it, the first and the last one that needs it."""

    block: Block
    points: list[Op] = field(default_factory=list[Op])
    first: dict[Value, int] = field(default_factory=dict[Value, int])
    last: dict[Value, int] = field(default_factory=dict[Value, int])

    def __post_init__(self) -> None:
        made: set[Op] = set()
        for op in self.block.ops:
            if op.effect in (Effect.WRITE, Effect.CONTROL):
                self.make(op, made)
        position = {op: point for point, op in enumerate(self.points)}
        for op in reversed(self.block.ops):
            point = position.get(op)
            if point is None:
                needed = [self.first[value] for value in op.results if value in self.first]
                if not needed:
                    continue
                point = min(needed)
            else:
                self.first.update(dict.fromkeys(op.results, point))
            for value in self.used(op):
                self.last[value] = max(self.last.get(value, point), point)
                if value.op not in position:
                    self.first[value] = min(self.first.get(value, point), point)

    def make(self, effect: Op, made: set[Op]) -> None:
        """Number an effect's operands, then the effect, as far as they are points."""
        stack = [(effect, False)]
        while stack:
            op, ready = stack.pop()
            if ready:
                if op is effect or isinstance(op, WHOLE):
                    self.points.append(op)
            elif op not in made:
                made.add(op)
                stack.append((op, True))
                used = self.used(op)
                if isinstance(op, ct.Continue):  # first those without a product of their own, as in lowering.decode
                    needed = [self.products(value) for value in used]
                    times = Counter(product for products in needed for product in products)
                    own = {value for value, products in zip(used, needed, strict=True)
                           if any(times[product] == 1 for product in products)}  # fmt: skip
                    used.sort(key=own.__contains__)
                stack.extend((value.op, False) for value in reversed(used) if value.op is not None)

    def products(self, value: Value) -> set[Op]:
        """The products of this block that a value needs."""
        seen, stack = set[Op](), [value.op]
        while stack:
            op = stack.pop()
            if op is not None and op not in seen:
                seen.add(op)
                stack.extend(each.op for each in self.used(op))
        return {op for op in seen if isinstance(op, PRODUCTS)}

    def used(self, op: Op) -> list[Value]:
        """Values of this block used by an operation and its regions."""
        inside = op.walk() if isinstance(op, REGIONS) else (op,)
        return [value for each in inside for value in each.operands if value.op and value.op.parent is self.block]

    def held(self, point: int) -> frozenset[Value]:
        """Tiles that exist at a point and are needed after it. A loop's next carried values take the place of the
        current ones.
        """
        carried = self.points[-1].operands if self.points and isinstance(self.points[-1], ct.Continue) else ()
        return frozenset(
            value
            for value, first in self.first.items()
            if first <= point < self.last.get(value, -1) and holds(value) and value not in carried
        )


def holds(value: Value) -> bool:
    """Does this take a significant number of registers? Indices and masks do not: they are sums and comparisons of
    rows and columns.
    """
    kind = value.type
    tile = isinstance(kind, TileType) and kind.size > 1 and isinstance(kind.element, FloatType)
    return tile and not isinstance(value.op, MADE_ANYWHERE)

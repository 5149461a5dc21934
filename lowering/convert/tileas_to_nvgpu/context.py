"""State of the lowering of a scheduled kernel to per-thread code: the result for each nv_tileas value, the services of
the lowerings (value, tile, scalar, stage, tensor map), and the table of lowerings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ir.core import Block, Op, Value
from ir.descriptors import TensorMapDescriptor
from ir.dialects import nv_tileas, scf
from ir.types import TensorType
from lowering.convert.tileas_to_nvgpu.compute import layout_of
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.registers import Computed, Grouped, Held, Registers
from lowering.dispatch import Lowerings
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout
from lowering.schedule.scratch import scratch_of
from lowering.targets.target import Target

Environment = dict[Value, Any]
T = TypeVar("T")
EntryT = TypeVar("EntryT", bound=Callable[..., None])


class SharedTile:
    """A tile in shared memory: its address and layout."""

    def __init__(self, pointer: Value, layout: SharedLayout):
        self.pointer = pointer
        self.layout = layout


class Ring:
    """Stages of one buffer: address of stage 0 and the bytes from one stage to the next."""

    def __init__(self, offset: int, stage_bytes: int, layout: SharedLayout):
        self.offset, self.stage_bytes, self.layout = offset, stage_bytes, layout


class Expander:
    """The walk over a scheduled kernel; `values` maps each nv_tileas value to its result."""

    def __init__(self, emitter: Emitter, values: Environment, target: Target, func: nv_tileas.Func):
        self.emitter, self.values, self.target = emitter, values, target
        self.kernel, self.records, self.shared_bytes = func.sym_name, func.tensormaps, func.shared_bytes
        self.mbarriers: list[tuple[Value, int, int]] = []  # group, number in it and arrivals of each
        self.maps: list[Value] = []  # tensor-map parameters, after the kernel's own, or maps the kernel builds itself
        self.at_end: list[Callable[[], None]] = []  # actions at the end of the thread
        self.maxnreg = 0
        self.consumers = 0  # threads that receive registers of the others
        self.threads = 0  # of the block, if agents split; otherwise all compute
        self.beside: list[Registers] = []  # computed together with the next stored tile
        self.elected: Value | None = None  # true in the thread that acts for its agent; None if it is the only one
        self.multiplies = False  # is this the code of the one thread that issues products?

    def tensor_map(self, number: int) -> Value:
        """A tensor map: a parameter, unless the kernel builds it."""
        while len(self.maps) <= number:
            at, entry = len(self.maps), self.emitter.block
            self.maps.append(Value(TensorMapDescriptor.of(self.records[at]), entry, len(entry.args) + at))
        return self.maps[number]

    def ops(self, block: Block) -> None:
        """Every op of a block in order."""
        self.run(block.ops)

    def run(self, ops: Sequence[Op]) -> None:
        """Ops in order."""
        done: set[Op] = set()
        for number, op in enumerate(ops):
            if isinstance(op, nv_tileas.Scatter | nv_tileas.TiledStore):
                rest = [each for each in ops[number + 1 :] if each not in done]
                self.beside = self.computed(rest, done) if in_loop(op) else []
            if op not in done:
                self.handle(op)

    def computed(self, rest: Sequence[Op], done: set[Op]) -> list[Registers]:
        """The carried tiles of a loop that can be computed before `rest`, the remainder of its body, together with a
        stored tile: both read the same tiles, which would otherwise stay live until the whole store is emitted.

        Lazy ops in `rest` whose operands are known are handled now and added to `done`.
        """
        later = {result for op in rest for result in op.results}
        for op in rest:
            if later.isdisjoint(op.operands) and self.lazy(op):
                self.handle(op)
                done.add(op)
                later.difference_update(op.results)
        block = rest[0].parent if rest else None
        ends = [] if block is None else [self.values.get(v) for v in block.terminator.operands if v not in later]
        return [found for found in ends if isinstance(found, Computed)]

    def handle(self, op: Op) -> None:
        """One op."""
        self.emitter.at(op.location)
        if (start := getattr(op, "scratch", None)) is not None:
            self.emitter.scratch_bytes = range(start, start + scratch_of(op, self.target))
        self.emitter.scratch_area = start if start is not None and getattr(op, "apart", False) else 0
        lowers.of(op)(self, op)

    def lazy(self, op: Op) -> bool:
        """Does an op on tiles emit nothing until its registers are requested?"""
        return lowers.find(type(op)) in LAZY and isinstance(op.results[0].type, TensorType)

    def scalar(self, value: Value) -> Value:
        """A value known to be uniform."""
        return self.held(value, Value)

    def scalars(self, values: Sequence[Value]) -> list[Value]:
        """Several uniform values."""
        return [self.scalar(v) for v in values]

    def tile(self, value: Value) -> Registers:
        """A value known to be a placed tile; a scalar counts as a tile of one."""
        found = self.values[value]
        if isinstance(found, Value):
            layout = Layout.trivial(self.emitter.warps)
            return Held(self.emitter, layout, value.type, [found])
        return self.held(value, Registers)

    def held(self, value: Value, kind: type[T]) -> T:
        """The result for a value, of this kind. Raises TypeError for another kind."""
        found = self.values[value]
        if not isinstance(found, kind):
            raise TypeError(f"{value} is {type(found).__name__}, not {kind.__name__}")
        return found

    def lazily(self, result: Value, loaded: Registers) -> None:
        """A tile whose registers are loaded on demand, or before memory changes."""
        self.emitter.pending.append(loaded)
        self.values[result] = loaded

    def stage(self, buffer: Value, stage: Value | None) -> SharedTile:
        """The tile of one stage: base + stage * stage_bytes + offset; the constant goes into the instructions."""
        ring, emitter = self.held(buffer, Ring), self.emitter
        base = emitter.shared_base
        if stage is not None:
            base = emitter.pointer(base, self.scalar(stage), ring.stage_bytes)
        return SharedTile(emitter.pointer(base, None, 1, ring.offset), ring.layout)

    def carried(self, value: Value, form: tuple[int, ...] | None) -> list[Value]:
        """The values that cross a loop edge for one nv_tileas value."""
        found = self.values[value]
        if isinstance(found, Value):
            return [found]
        registers = self.held(value, Registers)
        if form is None:
            return registers.carried()
        size = form[0] * form[1]
        return [registers.group(i, form) for i in range(0, registers.count, size)]

    def bind(
        self,
        targets: Sequence[Value],
        forms: Sequence[tuple[int, ...] | None],
        like: Sequence[list[Value]],
        values: Sequence[Value],
    ) -> None:
        """Give each nv_tileas value its share of the flat loop values."""
        at = 0
        for target, form, group in zip(targets, forms, like, strict=True):
            share = list(values[at : at + len(group)])
            at += len(group)
            kind = target.type
            if not isinstance(kind, TensorType):
                self.values[target] = share[0]
            elif form is None:
                self.values[target] = Held(self.emitter, layout_of(target), kind.element, share, carried=True)
            else:
                self.values[target] = Grouped(self.emitter, layout_of(target), kind.element, share, form)


lowers: Lowerings[Expander, [], None] = Lowerings("nvgpu lowering")
"""The lowering of an op: a function (expander, op) that defines its results."""
LAZY: set[Callable[..., None]] = set()
"""Lowerings that emit nothing until the registers of their result are requested."""


def lazy(entry: EntryT) -> EntryT:
    """Declare a lowering of tiles as lazy."""
    LAZY.add(entry)
    return entry


def in_loop(op: Op) -> bool:
    """Is an op in the body of a counted loop?"""
    return op.parent is not None and isinstance(op.parent.parent_op, scf.For)

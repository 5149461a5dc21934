"""Rewrites a kernel so that the operations in `Cuts` are performed slice by slice, each loop of a cut value once for
every slice.

One slice's operations come before the next slice's, as far as tokens allow, so that the next slice reuses its
registers. A token of a sliced operation stands for all slices.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ir.core import CONTROL, WRITE, Block, Builder, Op, Region, Type, Value
from ir.dialects import cuda_tile as ct
from ir.types import PartitionViewType, TileType, TokenType
from lowering.slicing.cuts import Cuts, Dim, OpCut, is_splat
from lowering.source.rewriting import constant

Instance = tuple[int, int]  # slice, position in the block: the default order of instances


def sliced(entry: ct.Entry, cuts: Cuts) -> ct.Entry:
    """The rewritten entry; its parameters, their names and all hints stay."""
    body = Block([argument.type for argument in entry.body.block.args])
    writer = _Writer(cuts)
    writer.bind(entry.body.block.args, body.args)
    writer.block(entry.body.block.ops, Builder(body, entry.location))
    return entry.with_body(body)


class _Writer:
    """`maps[s]` maps source values to those of slice s; uncut values are the same in all slices."""

    def __init__(self, cuts: Cuts):
        self.cuts = cuts
        self.slices = range(cuts.count)
        self.maps: list[dict[Value, Value]] = [{} for _ in self.slices]
        self.split: set[Value] = set()  # tokens that each slice has one of

    def bind(self, old: Sequence[Value], new: Sequence[Value], slices: Sequence[int] | None = None) -> None:
        """Map old values to new ones, in some slices or all."""
        for s in self.slices if slices is None else slices:
            self.maps[s].update(zip(old, new, strict=True))

    # --- blocks that all slices share

    def block(self, ops: Sequence[Op], b: Builder) -> None:
        """Emit the operations of a block, slice by slice as far as dependences allow."""
        waiting, users = self.dependences(ops)
        ready = [key for key, count in waiting.items() if not count]
        heapq.heapify(ready)
        while ready:
            key = heapq.heappop(ready)
            s, place = key
            self.put(ops[place], s, b)
            for user in users.get(key, ()):
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, user)

    def dependences(self, ops: Sequence[Op]) -> tuple[dict[Instance, int], dict[Instance, list[Instance]]]:
        """For each instance, how many others it depends on, and which depend on it."""
        several = [self.is_cut(op) for op in ops]
        place = {value: at for at, op in enumerate(ops) for value in op.results}
        waiting: dict[Instance, int] = {}
        users: dict[Instance, list[Instance]] = {}
        fixed = -1  # the last operation with a fixed relative order: uncut effects keep their order
        for at, op in enumerate(ops):
            needed = {place[v]: v for v in taken(op) if v in place}
            ordered = not several[at] and op.effect in (WRITE, CONTROL)
            for s in self.slices if several[at] else (0,):
                before: set[Instance] = set()
                for maker, value in needed.items():
                    if not several[maker]:
                        before.add((0, maker))
                    elif isinstance(value.type, TokenType) or not several[at]:  # cut operations inside read all slices
                        before.update((each, maker) for each in self.slices)
                    else:
                        before.add((s, maker))
                if ordered and fixed >= 0:
                    before.add((0, fixed))
                if at == len(ops) - 1:
                    before.update((each, m) for m, cut in enumerate(several[:-1]) for each in self.slices if cut)
                waiting[s, at] = len(before)
                for key in before:
                    users.setdefault(key, []).append((s, at))
            fixed = at if ordered else fixed
        return waiting, users

    def is_cut(self, op: Op) -> bool:
        """Is this performed once for every slice?"""
        return op in self.cuts.ops or any(value in self.cuts.values for value in op.results)

    def put(self, op: Op, s: int, b: Builder) -> None:
        """One instance."""
        b.location = op.location
        if self.is_cut(op):
            self.one(op, s, b)
            self.split.update(value for value in op.results if isinstance(value.type, TokenType))
            return
        regions = [self.shared_region(region, b) for region in op.regions]
        made = self.made(op, self.operands(op, 0, b), [v.type for v in op.results], regions, op.attributes, b)
        self.bind(op.results, made.results)

    def shared_region(self, region: Region, b: Builder) -> Region:
        """A region of an operation that is not cut; operations in it may be."""
        blocks: list[Block] = []
        for block in region.blocks:
            inner = Block([argument.type for argument in block.args])
            self.bind(block.args, inner.args)
            self.block(block.ops, Builder(inner, b.location))
            blocks.append(inner)
        return Region(blocks)

    # --- what one slice does

    def one(self, op: Op, s: int, b: Builder) -> None:
        """One operation, with all below it, for slice s."""
        b.location = op.location
        cut = self.cuts.ops.get(op)
        if cut is None:
            regions = [self.region_of(region, s, b) for region in op.regions]
            types = [self.narrowed(v.type, self.cuts.values.get(v)) for v in op.results]
            dims = [self.dim_of(op, slot) for slot in range(len(op.operands))]
            made = self.made(op, self.operands(op, s, b, dims), types, regions, op.attributes, b)
            self.bind(op.results, made.results, [s])
        elif isinstance(op, ct.Assume):  # an assumption about all elements of rows may not hold for a slice
            self.maps[s][op.result] = self.maps[s][op.value]
        else:
            self.cut_op(op, cut, s, b)

    def dim_of(self, op: Op, slot: int) -> Dim:
        """The cut of an operand of control flow: that of the value it becomes."""
        if isinstance(op, ct.For) and slot >= 3:
            return self.cuts.values.get(op.results[slot - 3])
        owner = op.parent.parent_op if op.parent else None
        if isinstance(op, ct.Continue):
            owner = ct.enclosing_loop(op)
        if isinstance(op, ct.Continue | ct.Yield) and isinstance(owner, ct.For | ct.If):
            return self.cuts.values.get(owner.results[slot])
        return None

    def region_of(self, region: Region, s: int, b: Builder) -> Region:
        """A region of slice s alone."""
        blocks: list[Block] = []
        for block in region.blocks:
            inner = Block([self.narrowed(argument.type, self.cuts.values.get(argument)) for argument in block.args])
            self.bind(block.args, inner.args, [s])
            inside = Builder(inner, b.location)
            for op in block.ops:
                self.one(op, s, inside)
            blocks.append(inner)
        return Region(blocks)

    def cut_op(self, op: Op, cut: OpCut, s: int, b: Builder) -> None:
        """An operation on slices of tiles."""
        attributes = dict(op.attributes)
        types = [self.narrowed(v.type, dim) for v, dim in zip(op.results, cut.results, strict=True)]
        if isinstance(op, ct.Constant):
            attributes["value"] = self.literal(op, cut.results[0], s)
        operands = self.operands(op, s, b, cut.operands)
        if isinstance(op, ct.LoadView | ct.StoreView):
            dim = cut.results[0] if isinstance(op, ct.LoadView) else cut.operands[0]
            operands = self.access(op, operands, dim, s, b)
        regions = [self.region_of(region, s, b) for region in op.regions]
        made = self.made(op, operands, types, regions, attributes, b)
        if isinstance(op, ct.Iota):
            kind = made.results[0].type
            assert isinstance(kind, TileType)
            first = self.splat(s * kind.size, kind, b)
            made = b.add(ct.AddI, made.results[0], first)
        self.bind(op.results, made.results, [s])

    def access(
        self, op: ct.LoadView | ct.StoreView, operands: list[Value], dim: Dim, s: int, b: Builder
    ) -> list[Value]:
        """The same tile in smaller ones: tile i of n slices begins with tile i * n."""
        view, maker, place = op.view.type, op.view.op, op.operands.index(op.view)
        assert isinstance(view, PartitionViewType)
        assert isinstance(maker, ct.MakePartitionView)
        assert dim is not None
        tile = tuple(size // self.cuts.count if d == dim else size for d, size in enumerate(view.tile))
        kind = PartitionViewType(tile, view.view, view.dim_map, view.padding)
        base = self.maps[s][maker.tensor_view]
        operands[place] = b.value(ct.MakePartitionView, base, types=[kind])
        at = place + 1 + dim
        index = operands[at].type
        assert isinstance(index, TileType)
        scaled = b.value(ct.MulI, operands[at], self.splat(self.cuts.count, index, b))
        operands[at] = b.value(ct.AddI, scaled, self.splat(s, index, b)) if s else scaled
        return operands

    def literal(self, op: ct.Constant, dim: Dim, s: int) -> ct.DenseElements:
        """Slice s of a constant's elements."""
        kind = op.result.type
        assert isinstance(kind, TileType)
        assert dim is not None
        size = kind.shape[dim] // self.cuts.count
        array = op.value.expand(kind.shape)
        return ct.DenseElements(np.take(array, range(s * size, (s + 1) * size), axis=dim))

    # --- values

    def operands(self, op: Op, s: int, b: Builder, dims: Sequence[Dim] | None = None) -> list[Value]:
        """New operands: slices of cut values, one token joining those of all slices."""
        found: list[Value] = []
        for slot, value in enumerate(op.operands):
            dim = None if dims is None else dims[slot]
            if dim is not None and is_splat(value):
                found.append(self.constant(value, dim, b))
            elif value in self.split:
                tokens = list(dict.fromkeys(self.maps[each][value] for each in self.slices))
                types: list[Type] = [value.type]
                found.append(b.add(ct.JoinTokens, *tokens, types=types).results[0] if len(tokens) > 1 else tokens[0])
            else:
                found.append(self.maps[s][value])
        return found

    def constant(self, value: Value, dim: int, b: Builder) -> Value:
        """A splat of the size of a slice."""
        assert isinstance(value.op, ct.Constant)
        return b.value(ct.Constant, types=[self.narrowed(value.type, dim)], value=value.op.value)

    def splat(self, number: int, kind: TileType, b: Builder) -> Value:
        """A constant of integers."""
        return constant(b, number, kind)

    def narrowed(self, kind: Type, dim: Dim) -> Type:
        """The type of a slice."""
        if dim is None or not isinstance(kind, TileType):
            return kind
        shape = tuple(size // self.cuts.count if d == dim else size for d, size in enumerate(kind.shape))
        return TileType(shape, kind.element)

    def made(
        self, op: Op, operands: Sequence[Value], types: Sequence[Type], regions: Sequence[Region],
        attributes: dict[str, Any], b: Builder,
    ) -> Op:  # fmt: skip
        """The rewritten operation."""
        made = b.add(type(op), *operands, types=types, regions=regions, segments=op.segments, **attributes)
        for old, new in zip(op.results, made.results, strict=True):
            new.name = old.name
        return made


def taken(op: Op) -> Iterator[Value]:
    """The values used by an operation and its regions."""
    for each in op.walk():
        yield from each.operands

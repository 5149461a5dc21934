"""Tiles of views from the point of view of the threads of a plan: addresses and bounds predicates.

An element's coordinates are linear over F2 in (thread bits, register bits), so an address is a thread part, computed
once, plus a constant or stride multiple for each access; bounds predicates split the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Value
from ir.dialects import arith
from ir.records import dataclass
from ir.types import I32, I64, PartitionViewType
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.layouts.access import GlobalAccess, ThreadPart
from lowering.layouts.elements import element_bytes

FEW = 4  # with fewer accesses along a dimension each compares with the size; a difference and a select cost more


@dataclass
class Memref:
    """A strided array: base pointer, sizes and strides (elements) as values; a static one is a constant."""

    base: Value
    sizes: list[Value]
    strides: list[Value]


@dataclass
class View:
    """A partition of an array into tiles."""

    memref: Memref
    type: PartitionViewType


class TileWindow:
    """One tile of a view for the threads of a plan: pointers and predicates of each access."""

    def __init__(
        self,
        emitter: Emitter,
        view: View,
        index: Sequence[Value],
        thread: Sequence[ThreadPart],
        accesses: Sequence[GlobalAccess],
        enable: Value | None = None,
        store: bool = False,
    ):
        """`thread`: the coordinate parts that depend on the thread, one a dimension; `index`: the tile's coordinates.

        `enable` is a condition on every access. A `store` has its own predicates, not those of a load with the same
        bounds: a thread has seven, and ptxas 13.5 keeps one from its load to its store rather than compare again, so
        that only six loads were in flight instead of a whole batch.
        """
        self.emitter = emitter
        self.view = view
        self.shape = view.type.tile
        self.element_bytes = element_bytes(view.type.view.element)
        sizes = [view.memref.sizes[axis] for axis in view.type.dim_map]
        self.index = [emitter.widen(i) if size.type == I64 else i for i, size in zip(index, sizes, strict=True)]
        self._depths = [emitter.depth_of.get(i, 0) for i in index]  # of the unwidened ones: widening comes at the use
        self.thread = thread
        self.enable = enable
        self.store = store
        self._starts: dict[tuple[int, int], Value] = {}
        self._pointers: dict[tuple[int, ...], Value] = {}
        self._conjunctions: dict[tuple[object, ...], Value] = {}
        self._inside: dict[tuple[int, int, int], Value] = {}
        self._rooms: dict[tuple[object, ...], Value] = {}
        self._prefixes: dict[tuple[int, int], Value] = {}
        self._by_depth = sorted(range(len(self.shape)), key=self._depths.__getitem__)
        self._ruler = self._longest(accesses)
        self._folds = self._ruler is None and self._agree(accesses)
        self._bound: Value | None = None

    def _longest(self, accesses: Sequence[GlobalAccess]) -> int | None:
        """The dimension along which one thread has the most accesses from one start; None if it has few."""
        places = [len({a.add[d] for a in accesses}) for d in range(len(self.shape))]
        best = max(self._by_depth, key=places.__getitem__)
        return best if places[best] > FEW else None

    def _agree(self, accesses: Sequence[GlobalAccess]) -> bool:
        """Do several accesses differ only along one dimension, which varies in more loops than all others?"""
        *rest, deep = self._by_depth
        places = {(d, a.xor[d], a.add[d]) for a in accesses for d in rest}
        slower = all(self._depths[d] < self._depths[deep] for d in rest)
        return len(accesses) > 1 and bool(rest) and slower and len(places) == len(rest)

    def _size(self, dim: int) -> Value:
        return self.view.memref.sizes[self.view.type.dim_map[dim]]

    def _stride(self, dim: int) -> Value:
        return self.view.memref.strides[self.view.type.dim_map[dim]]

    def _start(self, dim: int, xor: int) -> Value:
        """Coordinate of the thread's first element along `dim`: tile index * extent + thread part."""
        found = self._starts.get((dim, xor))
        if found is None:
            emitter = self.emitter
            part = emitter.linear((*self.thread[dim].lane, *self.thread[dim].warp))
            if xor:
                part = emitter.prelude.value(arith.XOrI, part, emitter.constant(xor))
            corner = emitter.multiply(self.index[dim], self.shape[dim])
            if corner.type == I64:
                part = emitter.widen(part)
            found = self._starts[dim, xor] = emitter.add(corner, part)
        return found

    def pointer(self, access: GlobalAccess) -> Value:
        """Address of an access of this thread."""
        emitter = self.emitter
        base = self._pointers.get(access.xor)
        if base is None:
            base = self._pointers[access.xor] = self._thread_pointer(access.xor)
        offset = 0
        for dim, added in enumerate(access.add):
            if added:
                stride = self._stride(dim)
                known = emitter.constant_of(stride)
                if known is not None:
                    offset += added * known * self.element_bytes
                else:  # one wide multiply-add
                    base = emitter.pointer(base, stride, added * self.element_bytes, outermost=True)
        return emitter.pointer(base, None, 1, offset)

    def _thread_pointer(self, xor: tuple[int, ...]) -> Value:
        """The thread's base address; dimensions that vary in fewer loops come first, so that they can be hoisted."""
        emitter = self.emitter
        pointer = self.view.memref.base
        for dim in self._by_depth:
            offset = emitter.product64(self._start(dim, xor[dim]), self._stride(dim))
            pointer = emitter.pointer(pointer, offset, self.element_bytes)
        return pointer

    def inside(self, access: GlobalAccess) -> Value | None:
        """Whether that element is in the array and the access is enabled; None if that is certain.

        Comparison is unsigned, so that a negative coordinate is outside. If a thread has many accesses along one
        dimension, each compares its constant distance from the first one with the room there, which is 0 if another
        dimension is outside.
        """
        ruler = self._ruler
        if self._folds:
            return self._below_bound(access)
        if ruler is None:
            return self._conjunction(access, self._by_depth)[0]
        xor, emitter = access.xor[ruler], self.emitter
        rest, key = self._conjunction(access, [d for d in self._by_depth if d != ruler])
        room = self._rooms.get((xor, key))
        if room is None:
            room = self._room(ruler, xor)
            if rest is not None:
                room = emitter.emit(arith.Select, rest, room, emitter.constant(0))
            self._rooms[xor, key] = room = emitter.add_constant(room, -1) if self.store else room
        return emitter.compare("sge" if self.store else "ugt", room, emitter.constant(access.add[ruler]))

    def _below_bound(self, access: GlobalAccess) -> Value:
        """Whether an access is enabled and inside, if all accesses agree in the dimensions that vary in fewer loops:
        the size along the last dimension counts as 0 if those are outside, which is known before its loop.
        """
        *rest, deep = self._by_depth
        key, emitter = (access.xor[deep], access.add[deep]), self.emitter
        found = self._conjunctions.get(key)
        if found is None:
            start, bound = self._bounds(deep, key[0])
            if self._bound is None:
                inside: Value | None = None
                for dim in rest:
                    inside = emitter.both(inside, self._inside_dim(dim, access.xor[dim], access.add[dim]))
                assert inside is not None
                self._bound = emitter.emit(arith.Select, inside, bound, emitter.constant(0, bound.type))
            below = emitter.compare("ult", emitter.add_constant(start, key[1]), self._bound)
            found = self._conjunctions[key] = emitter.both(self.enable, below) or below
        return found

    def _conjunction(self, access: GlobalAccess, dims: Sequence[int]) -> tuple[Value | None, tuple[object, ...]]:
        """Whether an access is enabled and inside along some dimensions, and what that depends on.

        Dimensions that vary in more loops come first and are shared by the accesses that agree in them, which leaves
        one predicate an access.
        """
        total = self.enable
        key: tuple[object, ...] = ()
        for dim in reversed(dims):
            part = (access.xor[dim], access.add[dim])
            key = (*key, dim, *part)
            found = self._conjunctions.get(key)
            if found is None:
                found = self.emitter.both(total, self._inside_dim(dim, *part))
                if found is not None:
                    self._conjunctions[key] = found
            total = found
        return total, key

    def _room(self, dim: int, xor: int) -> Value:
        """How many elements there are from the thread's first one along `dim` to the array's end: i32, at most a
        tile.
        """
        emitter = self.emitter
        start, size = self._bounds(dim, xor)
        room = emitter.emit(arith.SubI, size, emitter.emit(arith.MinUI, start, size))
        if room.type == I64:
            room = emitter.emit(arith.MinUI, room, emitter.constant(self.shape[dim], I64))
            room = emitter.emit(arith.TruncI, room, types=[I32])
        return room

    def _bounds(self, dim: int, xor: int) -> tuple[Value, Value]:
        """The thread's first coordinate along `dim` and the array's size there, in one type."""
        start, size = self._start(dim, xor), self._size(dim)
        if start.type != size.type:
            start, size = self.emitter.widen(start), self.emitter.widen(size)
        return start, size

    def bytes_inside(self, access: GlobalAccess, dim: int, nbytes: int) -> Value:
        """How many bytes of an access that starts inside the array lie inside along `dim`: i32, at most `nbytes`."""
        emitter = self.emitter
        key = (access.xor[dim], access.add[dim])
        found = self._prefixes.get(key)
        if found is None:
            start, size = self._bounds(dim, key[0])
            left = emitter.emit(arith.SubI, size, emitter.add_constant(start, key[1]))
            most = emitter.constant(nbytes // self.element_bytes, left.type)
            left = emitter.emit(arith.MinUI, left, most)
            if left.type == I64:
                left = emitter.emit(arith.TruncI, left, types=[I32])
            found = self._prefixes[key] = emitter.multiply(left, self.element_bytes)
        return found

    def _inside_dim(self, dim: int, xor: int, added: int) -> Value:
        emitter = self.emitter
        found = self._inside.get((dim, xor, added))
        if found is None:
            start, size = self._bounds(dim, xor)
            found = emitter.compare("ult", emitter.add_constant(start, added), size)
            self._inside[dim, xor, added] = found
        return found

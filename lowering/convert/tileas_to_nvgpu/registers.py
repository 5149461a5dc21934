"""A placed tile as one thread's registers, emitted on demand.

Laziness slices a program: `dot` requests the operand registers of one k step, a store those of one vector, and only
then are the loads and arithmetic that they depend on emitted. Each register is emitted once and cached. Elements of 16
bits come in packed pairs (registers 2i and 2i+1), as in fragments and f16x2 instructions; so do f32 elements when f32x2
instructions request them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ir.core import Type, Value
from ir.dialects import nvgpu, vector
from ir.types import F32, TF32, FloatType, IntType, VectorType
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.layouts.layout import Layout

Scalar = IntType | FloatType


class Registers:
    """The registers of a tile that one thread holds under `layout`; subclasses define how they are computed.

    `count` registers of type `element`. A subclass overrides `make_scalar`, and `make_pair` or `make_group` if its
    instruction yields packed pairs or whole fragments. `reads_shared`: they come from shared memory, so must be emitted
    before it changes; `reads_scratch`: from scratch memory, which every use of its area changes: area 0 unless the
    bytes lie apart.
    """

    reads_shared = False
    reads_scratch = False
    reads_area = 0

    def __init__(self, emitter: Emitter, layout: Layout, element: Type):
        self.emitter = emitter
        self.layout = layout
        self.element = element
        self.count = layout.n_regs
        self.location = emitter.builder.location  # of the defining op, whoever requests them
        self._scalars: dict[int, Value] = {}
        self._pairs: dict[int, Value] = {}
        self._groups: dict[tuple[int, tuple[int, ...]], Value] = {}

    @property
    def packed(self) -> bool:
        """True where registers come in pairs: a 16-bit float with at least two registers."""
        return isinstance(self.element, FloatType) and self.element.width == 16 and self.count > 1

    def scalar(self, i: int) -> Value:
        """Register i."""
        found = self._scalars.get(i)
        if found is None or not self.emitter.visible(found):
            found = self._scalars[i] = self.emitter.made(self.location, self.make_scalar, self.scalar, i)
        return found

    def pair(self, i: int) -> Value:
        """Registers 2i and 2i+1 as one vector<2xT>."""
        found = self._pairs.get(i)
        if found is None or not self.emitter.visible(found):
            found = self._pairs[i] = self.emitter.made(self.location, self.make_pair, self.pair, i)
        return found

    def group(self, start: int, shape: tuple[int, ...]) -> Value:
        """Registers from `start` on as a vector of `shape`."""
        found = self._groups.get((start, shape))
        if found is None or not self.emitter.visible(found):
            made = self.emitter.made(self.location, self.make_group, self.group, start, shape)
            found = self._groups[start, shape] = made
        return found

    def make_scalar(self, i: int) -> Value:
        """Emit register i; by default half of its pair."""
        return self.emitter.extract(self.pair(i // 2), (i % 2,))

    def make_pair(self, i: int) -> Value:
        """Emit pair i; by default packed from two scalars."""
        kind = VectorType((2,), self.scalar_type)
        return self.emitter.emit(vector.FromElements, self.scalar(2 * i), self.scalar(2 * i + 1), types=[kind])

    def make_group(self, start: int, shape: tuple[int, ...]) -> Value:
        """Emit a fragment; by default put together from pairs or scalars."""
        size = 1
        for extent in shape:
            size *= extent
        if self.packed:
            parts = [self.pair(start // 2 + i) for i in range(size // 2)]
            return self.emitter.emit(nvgpu.Fragment, *parts, types=[VectorType(shape, self.scalar_type)])
        parts = [self.scalar(start + i) for i in range(size)]
        element = F32 if self.scalar_type == TF32 else self.scalar_type
        kind = VectorType(shape, element)
        cls = nvgpu.Fragment if shape[-1] == 1 else vector.FromElements
        return self.emitter.emit(cls, *parts, types=[kind])

    @property
    def scalar_type(self) -> Scalar:
        """The element type, known to be numeric."""
        if not isinstance(self.element, IntType | FloatType):
            raise TypeError(f"{self.element} has no vector form")
        return self.element

    def force(self) -> None:
        """Emit every register now."""
        if self.packed:
            for i in range(self.count // 2):
                self.pair(i)
        else:
            for i in range(self.count):
                self.scalar(i)

    def carried(self) -> list[Value]:
        """The values that stand for the whole tile across a loop edge."""
        if self.packed:
            return [self.pair(i) for i in range(self.count // 2)]
        return [self.scalar(i) for i in range(self.count)]


class Computed(Registers):
    """Registers given by a function of the register number; `pairwise`, if set, gives packed pairs."""

    def __init__(
        self,
        emitter: Emitter,
        layout: Layout,
        element: Type,
        scalar: Callable[[int], Value] | None = None,
        pairwise: Callable[[int], Value] | None = None,
    ):
        super().__init__(emitter, layout, element)
        self._make_scalar = scalar
        self._make_pair = pairwise

    def make_scalar(self, i: int) -> Value:
        """Register i from the function, or from its pair."""
        return super().make_scalar(i) if self._make_scalar is None else self._make_scalar(i)

    def make_pair(self, i: int) -> Value:
        """Pair i from the function, or from its scalars."""
        return super().make_pair(i) if self._make_pair is None else self._make_pair(i)


class ByGroup(Registers):
    """Registers given as groups of one shape, rows of two, by a function of the first register and the shape."""

    def __init__(
        self,
        emitter: Emitter,
        layout: Layout,
        element: Type,
        shape: tuple[int, int],
        make: Callable[[int, tuple[int, int]], Value],
    ):
        super().__init__(emitter, layout, element)
        self.shape = shape
        self.size = shape[0] * shape[1]
        self._make = make

    def make_scalar(self, i: int) -> Value:
        """Register i out of its group."""
        return self.emitter.extract(self.group(i - i % self.size, self.shape), (i % self.size // 2, i % 2))

    def make_pair(self, i: int) -> Value:
        """A row of its group."""
        start = 2 * i - 2 * i % self.size
        return self.emitter.extract(self.group(start, self.shape), ((2 * i - start) // 2,))

    def make_group(self, start: int, shape: tuple[int, ...]) -> Value:
        """From the function, or put together."""
        whole = shape == self.shape and start % self.size == 0
        return self._make(start, self.shape) if whole else super().make_group(start, shape)


class Held(Registers):
    """Registers that exist already: carried by a loop (pairs where the tile is packed) or computed one by one."""

    def __init__(self, emitter: Emitter, layout: Layout, element: Type, values: Sequence[Value], carried: bool = False):
        super().__init__(emitter, layout, element)
        (self._pairs if carried and self.packed else self._scalars).update(enumerate(values))

    def make_scalar(self, i: int) -> Value:
        """Half of a held pair."""
        return self.emitter.extract(self._pairs[i // 2], (i % 2,))


class Grouped(Registers):
    """Registers held as vectors of `shape`: accumulators of an MMA, and loops that carry them."""

    def __init__(
        self, emitter: Emitter, layout: Layout, element: Type, groups: Sequence[Value], shape: tuple[int, ...]
    ):
        super().__init__(emitter, layout, element)
        self.shape = shape
        self.size = 1
        for extent in shape:
            self.size *= extent
        self._groups.update({(i * self.size, shape): v for i, v in enumerate(groups)})

    def make_scalar(self, i: int) -> Value:
        """Register i out of its group."""
        base = i - i % self.size
        row, column = divmod(i - base, self.shape[-1])
        return self.emitter.extract(self._groups[base, self.shape], (row, column))

    def make_pair(self, i: int) -> Value:
        """A row of its group, if a row is a pair."""
        if self.shape[-1] != 2:
            return super().make_pair(i)
        base = 2 * i - (2 * i) % self.size
        return self.emitter.extract(self._groups[base, self.shape], ((2 * i - base) // 2,))


class Renamed(Registers):
    """Another tile's registers under other numbers: broadcast, reshape, permute, register conversions."""

    def __init__(self, emitter: Emitter, layout: Layout, element: Type, source: Registers, numbers: Sequence[int]):
        super().__init__(emitter, layout, element)
        self.source = source
        self.numbers = numbers

    def make_scalar(self, i: int) -> Value:
        """The source's register of that number."""
        return self.source.scalar(self.numbers[i])

    def make_pair(self, i: int) -> Value:
        """The source's pair if the renaming keeps it together, otherwise two scalars packed."""
        low, high = self.numbers[2 * i], self.numbers[2 * i + 1]
        if self.source.packed and low % 2 == 0 and high == low + 1:
            return self.source.pair(low // 2)
        return super().make_pair(i)

    def make_group(self, start: int, shape: tuple[int, ...]) -> Value:
        """The source's group if the renaming keeps it whole."""
        size = 1
        for extent in shape:
            size *= extent
        first = self.numbers[start]
        if all(self.numbers[start + i] == first + i for i in range(size)):
            return self.source.group(first, shape)
        return super().make_group(start, shape)

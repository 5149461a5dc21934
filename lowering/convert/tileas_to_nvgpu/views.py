"""Global memory through views and pointers: loads, stores and copies to shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, product
from typing import Any

from ir.core import Type, Value
from ir.dialects import arith, nv_tileas, nvgpu, vector
from ir.types import F32, GLOBAL_PTR, TF32, FloatType, IntType, PartitionViewType, VectorType
from lowering.convert.tileas_to_nvgpu import beside
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.registers import Registers, Scalar
from lowering.convert.tileas_to_nvgpu.windows import TileWindow, View
from lowering.layouts.access import (
    Access,
    AccessPlan,
    GlobalAccess,
    GlobalPlan,
    MatrixAccess,
    ThreadPart,
    access_plan,
    async_copy,
    global_access,
    ldmatrix,
)
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import Free, Layout, LayoutError
from lowering.layouts.shared import SharedLayout

AHEAD = 256
"""Bytes of a tile in a thread that ptxas may load ahead of all stores: it loads as many as registers seem to allow, and
with 128 live accumulators 512 bytes spill (examples/cutile/gemm.py on sm_80, ptxas 13.5).
"""
BATCH = 64  # bytes of a thread computed before they are stored; with 128 a division of each spills on sm_80
REGISTER_BITS = 32  # of a row of a matrix in one thread; PTX ISA, stmatrix
PADDING = {"zero": 0.0, "neg_zero": -0.0, "nan": float("nan"), "pos_inf": float("inf"), "neg_inf": float("-inf")}


def contiguous_dim(kind: PartitionViewType) -> int:
    """The tile dimension with stride 1, the last one if several or none have it."""
    unit = [d for d in range(len(kind.tile)) if kind.view.strides[kind.dim_map[d]] == 1]
    return unit[-1] if unit else len(kind.tile) - 1


class Vectors(Registers):
    """Registers that come several at a time from one access; requesting any of them emits the access."""

    def __init__(self, emitter: Emitter, layout: Layout, element: Type, plan: GlobalPlan | AccessPlan, cache: str = ""):
        super().__init__(emitter, layout, element)
        self.width = plan.vector
        self.cache = cache
        self._place: dict[int, tuple[int, int]] = {}
        for number, access in enumerate(plan.accesses):
            self._place.update({r: (number, i) for i, r in enumerate(access.registers)})
        for copy, original in plan.copies:
            self._place[copy] = self._place[original]
        self._loaded: dict[int, Value] = {}

    def access(self, number: int) -> Value:
        """Emit access `number`; its vector."""
        raise TypeError("a kind of access must define how it is emitted")

    def _vector(self, number: int) -> Value:
        found = self._loaded.get(number)
        if found is None:
            found = self._loaded[number] = self.access(number)
        return found

    def fetch(self, registers: Sequence[int]) -> None:
        """Emit the accesses that cover registers at the place of the load, without waiting for them."""
        builder = self.emitter.builder
        asking, builder.location = builder.location, self.location
        for number in dict.fromkeys(self._place[r][0] for r in registers):
            self._vector(number)
        builder.location = asking

    def cached(self) -> str:
        """The cache operator of the next access; for a large tile only the first `AHEAD` bytes may move above
        stores.
        """
        taken = len(self._loaded) * self.width * element_bytes(self.element)
        return self.cache if taken < AHEAD else ""

    def make_scalar(self, i: int) -> Value:
        """Element of the access that covers register i."""
        number, place = self._place[i]
        loaded = self._vector(number)
        if self.width == 1:
            return loaded
        return self.emitter.extract(loaded, place_in(access_type(self.scalar_type, self.width), place))

    def make_pair(self, i: int) -> Value:
        """Two neighbours of one access, all of it or a 32-bit part."""
        (number, place), (other, next_place) = self._place[2 * i], self._place[2 * i + 1]
        whole = self.width == 2 or self.packed
        if self.width == 1 or number != other or place % 2 or next_place != place + 1 or not whole:
            return super().make_pair(i)
        loaded = self._vector(number)
        return loaded if self.width == 2 else self.emitter.extract(loaded, (place // 2,))


class ViewLoad(Vectors):
    """A tile of a view loaded straight into registers, `nbytes` at most an access."""

    def __init__(
        self,
        emitter: Emitter,
        layout: Layout,
        view: View,
        index: Sequence[Value],
        nbytes: int,
        enable: Value | None = None,
        cache: str = "",
        evict: str = "",
    ):
        element = view.type.view.element
        self.evict = {"evict": evict} if evict else {}
        width = max(1, nbytes // element_bytes(element))
        self.plan = global_access(layout, view.type.tile, contiguous_dim(view.type), width)
        super().__init__(emitter, layout, element, self.plan, cache)
        self.window = TileWindow(emitter, view, index, self.plan.thread, self.plan.accesses, enable)
        self.padding = PADDING[view.type.padding or "zero"] if isinstance(element, FloatType) else 0

    def access(self, number: int) -> Value:
        """One vector load, padded out of bounds."""
        where = self.plan.accesses[number]
        pointer, inside = self.window.pointer(where), self.window.inside(where)
        how = {**self.evict, "cache": self.cached()}
        return load(self.emitter, pointer, self.element, self.width, inside, self.padding, **how)


def access_type(element: Scalar, width: int) -> Scalar | VectorType:
    """What one access of `width` elements yields: 16-bit floats as rows of packed pairs."""
    if width == 1:
        return element
    packed = isinstance(element, FloatType) and element.width == 16 and width > 2
    return VectorType((width // 2, 2) if packed else (width,), element)


def place_in(kind: Scalar | VectorType, i: int) -> tuple[int, ...]:
    """Position of element i in an access."""
    return divmod(i, 2) if isinstance(kind, VectorType) and len(kind.shape) == 2 else (i,)


def cache_of(op: nv_tileas.TiledLoad | nv_tileas.Gather) -> str:
    """ld.global.nc for memory that no store or atomic update of the kernel is ordered with: it is not written while the
    kernel runs, so ptxas may move the load across any store. Source: PTX ISA, ld.global.nc.
    """
    return "" if op.ordered or op.ahead else "nc"


def load(
    emitter: Emitter,
    pointer: Value,
    element: object,
    width: int,
    inside: Value | None,
    padding: float | Value,
    **how: Any,
) -> Value:
    """One load of `width` elements, `how` its qualifiers; if `inside` is false the result is the padding."""
    if not isinstance(element, IntType | FloatType):
        return emitter.emit(nvgpu.Load, pointer, types=[GLOBAL_PTR], segments=(1, 0, 0), **how)
    kind = access_type(element, width)
    operands = [pointer] if inside is None else [pointer, inside]
    nonzero = isinstance(padding, Value) or padding != 0 or str(padding).startswith("-")
    if inside is not None and nonzero:
        fill = padding if isinstance(padding, Value) else emitter.splat(padding, kind)
        operands.append(fill)
    segments = (1, int(inside is not None), int(len(operands) == 3))
    made = emitter.builder.add(nvgpu.Load, *operands, types=[kind], segments=segments, **how)
    return made.results[0]


def store(emitter: Emitter, value: Value, pointer: Value, inside: Value | None, **ordering: Any) -> None:
    """One store; nothing if `inside` is false."""
    operands = [value, pointer] if inside is None else [value, pointer, inside]
    emitter.builder.add(nvgpu.Store, *operands, types=(), segments=(1, 1, len(operands) - 2), **ordering)


def vector_of(emitter: Emitter, source: Registers, registers: Sequence[int]) -> Value:
    """The given registers as one vector (or scalar) to store."""
    width = len(registers)
    if width == 1:
        return source.scalar(registers[0])
    kind = access_type(source.scalar_type, width)
    pairs = [(registers[i], registers[i + 1]) for i in range(0, width, 2)]
    if source.packed and all(low % 2 == 0 and high == low + 1 for low, high in pairs):
        rows = [source.pair(low // 2) for low, _ in pairs]
        return rows[0] if width == 2 else emitter.emit(nvgpu.Fragment, *rows, types=[kind])
    return emitter.emit(vector.FromElements, *(source.scalar(r) for r in registers), types=[kind])


def store_tile(
    emitter: Emitter,
    source: Registers,
    view: View,
    index: Sequence[Value],
    nbytes: int,
    together: Sequence[Registers] = (),
) -> None:
    """Write a tile, at most `nbytes` an access; only one of the threads that hold replicas writes. `together`: tiles
    computed alongside.
    """
    width = max(1, nbytes // element_bytes(source.element))
    plan = global_access(source.layout, view.type.tile, contiguous_dim(view.type), width)
    window = TileWindow(emitter, view, index, plan.thread, plan.accesses, owner(emitter, plan.free), True)
    for access, value in in_batches(emitter, source, plan.accesses, together):
        store(emitter, value, window.pointer(access), window.inside(access))


def in_batches(
    emitter: Emitter, source: Registers, accesses: Sequence[GlobalAccess], together: Sequence[Registers] = ()
) -> Iterator[tuple[GlobalAccess, Value]]:
    """Accesses and their values; a batch of at most `BATCH` bytes of a thread is computed before its first store.
    Inputs of several batches are loaded with one wait: pending tiles in the same layout, element by element, at most
    `AHEAD` bytes of a thread.
    """
    width = len(accesses[0].registers)
    count = max(1, BATCH // (element_bytes(source.element) * width))
    pending = [each for each in emitter.pending if isinstance(each, Vectors) and not each.reads_shared]
    sources = [each for each in pending if each.layout == source.layout]
    held = width * sum(element_bytes(each.element) for each in sources)
    window = max(1, AHEAD // (count * held)) * count if held else len(accesses)
    for start in range(0, len(accesses), count):
        batch = accesses[start : start + count]
        if start % window == 0:
            for access, each in product(accesses[start : start + window], sources):
                each.fetch(access.registers)
        values = [vector_of(emitter, source, access.registers) for access in batch]
        for access in batch:
            beside.make(together, source, access.registers)
        yield from zip(batch, values, strict=True)


def owner(emitter: Emitter, free: Free) -> Value | None:
    """True in the threads that hold the copy to write; None if nothing is replicated."""
    return emitter.when(free.thread)


def copy_to_shared(
    emitter: Emitter,
    view: View,
    index: Sequence[Value],
    target: Value,
    layout: SharedLayout,
    threads: Layout,
    nbytes: int,
    asynchronous: bool,
    ragged: bool,
    inside: bool,
    enable: Value | None,
    skips: bool,
) -> None:
    """Copy one tile from global to shared memory, `nbytes` an access, split among threads by `threads`.

    With cp.async the instruction zero-fills elements outside the array, and for `ragged` accesses copies the prefix
    inside; otherwise by loads and stores. No bounds are compared if the tile is `inside`. If `enable` is false the copy
    is zero-filled, or left out if it `skips`.
    """
    dim = contiguous_dim(view.type)
    if not asynchronous:
        loaded = ViewLoad(emitter, threads, view, index, nbytes, enable)
        store_shared(emitter, loaded, target, layout, enable)
        return
    plan = async_copy(threads, view.type.tile, dim, layout, nbytes)
    if plan is None or plan.bytes != nbytes:
        raise LayoutError(f"cp.async of {nbytes} bytes cannot copy {view.type} as {threads}")
    filled, started = (None, enable) if skips else (enable, None)
    window = TileWindow(emitter, view, index, plan.source_thread, [copy.source for copy in plan.copies], filled)
    place = SharedWindow(emitter, target, plan.target_thread, layout.element_bytes)
    for copy in plan.copies:
        within = filled if inside else window.inside(copy.source)
        prefix = window.bytes_inside(copy.source, dim, nbytes) if ragged else None
        start_copy(emitter, place.pointer(copy.target), window.pointer(copy.source), nbytes, within, prefix, started)


def start_copy(
    emitter: Emitter,
    target: Value,
    source: Value,
    nbytes: int,
    inside: Value | None,
    prefix: Value | None,
    enable: Value | None,
) -> None:
    """One cp.async: zeros if `inside` is false, `prefix` bytes and zeros if that is given, nothing if `enable` is
    false.
    """
    given = [[] if value is None else [value] for value in (inside, prefix, enable)]
    emitter.builder.add(
        nvgpu.DeviceAsyncCopy,
        target,
        source,
        *chain(*given),
        types=(),
        segments=(1, 1, *map(len, given)),
        bytes=nbytes,
        bypass_l1=nbytes == 16,
    )


class SharedWindow:
    """A buffer in shared memory as the threads of a plan address it."""

    def __init__(self, emitter: Emitter, base: Value, thread: ThreadPart, element_bytes: int, unused: int = 0):
        """`unused`: bits that are zero in the number of every thread with an access."""
        self.emitter = emitter
        self.base = base
        self.thread = unmasked([part * element_bytes for part in (*thread.lane, *thread.warp)], unused)
        self.element_bytes = element_bytes
        self._bases: dict[int, Value] = {}

    def pointer(self, access: Access | MatrixAccess) -> Value:
        """Address of an access: (thread part ^ xor) + add, the latter as the instruction's immediate."""
        emitter = self.emitter
        base = self._bases.get(access.xor)
        if base is None:
            part = emitter.linear(self.thread)
            if access.xor:
                part = emitter.prelude.value(arith.XOrI, part, emitter.constant(access.xor * self.element_bytes))
            base = self._bases[access.xor] = emitter.pointer(self.base, part)
        return emitter.pointer(base, None, 1, access.add * self.element_bytes)


def unmasked(parts: list[int], unused: int) -> list[int]:
    """What each bit of a thread's number adds, if that is a mask and a shift: `unused` bits are given the values that
    make it a shift only.
    """
    shifts = {part.bit_length() - 1 - i for i, part in enumerate(parts) if part}
    if len(shifts) != 1 or any(part & part - 1 for part in parts):
        return parts
    (shift,) = shifts
    free = [1 << i + shift if unused >> i & 1 and i + shift >= 0 else 0 for i in range(len(parts))]
    return [part or other for part, other in zip(parts, free, strict=True)]


def store_shared(
    emitter: Emitter, source: Registers, target: Value, layout: SharedLayout, enable: Value | None = None
) -> None:
    """Write a placed tile to a buffer; only one of the threads that hold replicas writes."""
    plan = access_plan(source.layout, layout, "store")
    window = SharedWindow(emitter, target, plan.thread, layout.element_bytes, plan.free.thread)
    condition = emitter.both(enable, owner(emitter, plan.free))
    for access in plan.accesses:
        store(emitter, vector_of(emitter, source, access.registers), window.pointer(access), condition)


def store_matrices(emitter: Emitter, source: Registers, target: Value, layout: SharedLayout) -> None:
    """Write a placed tile to a buffer by stmatrix. Raises LayoutError if the fragments do not fit it."""
    plan = ldmatrix(source.layout, layout)
    if plan is None or plan.free.warp:
        raise LayoutError(f"stmatrix cannot write {source.layout} to {layout}")
    window = SharedWindow(emitter, target, plan.address, layout.element_bytes)
    for instruction in plan.instructions:
        value = matrices(emitter, source, instruction.registers)
        emitter.effect(nvgpu.StMatrix, value, window.pointer(instruction), transpose=plan.trans)


def matrices(emitter: Emitter, source: Registers, rows: Sequence[Sequence[int]]) -> Value:
    """The given registers as the operand of stmatrix, a row (32 bits) for each matrix."""
    words = REGISTER_BITS // source.scalar_type.width
    kind = VectorType((len(rows), words), F32 if source.scalar_type == TF32 else source.scalar_type)
    if source.packed:
        return emitter.emit(nvgpu.Fragment, *(source.pair(row[0] // 2) for row in rows), types=[kind])
    cls = nvgpu.Fragment if words == 1 else vector.FromElements
    return emitter.emit(cls, *(source.scalar(r) for row in rows for r in row), types=[kind])


class SharedVectors(Vectors):
    """A tile read from a buffer by vector loads."""

    reads_shared = True

    def __init__(self, emitter: Emitter, layout: Layout, element: Type, source: Value, shared: SharedLayout):
        self.plan = access_plan(layout, shared)
        super().__init__(emitter, layout, element, self.plan)
        self.window = SharedWindow(emitter, source, self.plan.thread, shared.element_bytes)

    def access(self, number: int) -> Value:
        """One vector load."""
        return load(self.emitter, self.window.pointer(self.plan.accesses[number]), self.element, self.width, None, 0.0)


class SharedMatrices(Registers):
    """A tile read from a buffer by ldmatrix, one instruction when any of its registers is requested."""

    reads_shared = True

    def __init__(self, emitter: Emitter, layout: Layout, element: Type, source: Value, shared: SharedLayout):
        super().__init__(emitter, layout, element)
        plan = ldmatrix(layout, shared)
        if plan is None:
            raise LayoutError(f"ldmatrix cannot read {layout} from {shared}")
        self.plan = plan
        self.window = SharedWindow(emitter, source, plan.address, shared.element_bytes)
        self._place: dict[int, tuple[int, int, int]] = {}
        for number, instruction in enumerate(plan.instructions):
            for row, registers in enumerate(instruction.registers):
                self._place.update({r: (number, row, i) for i, r in enumerate(registers)})
        for copy, original in plan.copies:
            self._place[copy] = self._place[original]
        self._loaded: dict[int, Value] = {}

    def _matrix(self, number: int) -> Value:
        found = self._loaded.get(number)
        if found is None:
            num = self.plan.num
            words = 32 // self.scalar_type.width
            kind = VectorType((num, words), self.scalar_type)
            pointer = self.window.pointer(self.plan.instructions[number])
            found = self._loaded[number] = self.emitter.emit(
                nvgpu.LdMatrix, pointer, types=[kind], numTiles=num, transpose=self.plan.trans
            )
        return found

    def make_scalar(self, i: int) -> Value:
        """One element of a row of the instruction that covers register i."""
        number, row, place = self._place[i]
        return self.emitter.extract(self._matrix(number), (row, place))

    def make_pair(self, i: int) -> Value:
        """A row of the instruction, if it holds two."""
        if not self.packed:
            return super().make_pair(i)
        number, row, _ = self._place[2 * i]
        return self.emitter.extract(self._matrix(number), (row,))

    def make_group(self, start: int, shape: tuple[int, ...]) -> Value:
        """The whole instruction if it yields exactly this group, otherwise assembled from its rows."""
        rows, words = shape
        number, row, place = self._place[start]
        instruction = self.plan.instructions[number]
        flat = [r for registers in instruction.registers for r in registers]
        if (
            row == 0
            and flat == list(range(start, start + len(flat)))
            and shape == (self.plan.num, len(flat) // self.plan.num)
        ):
            return self._matrix(number)
        if self.packed or place or words != 32 // self.scalar_type.width:
            return super().make_group(start, shape)
        parts = [self._place[start + i * words] for i in range(rows)]
        values = [self.emitter.extract(self._matrix(n), (r,)) for n, r, _ in parts]
        return self.emitter.emit(nvgpu.Fragment, *values, types=[VectorType(shape, self.scalar_type)])

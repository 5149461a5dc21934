"""The builder of per-thread code: the current block, the thread's coordinates, integer arithmetic and its shortcuts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import Any, Protocol

from ir.core import UNKNOWN, Block, Builder, Location, Op, Type, Value
from ir.descriptors import BARRIER_TYPE, BarrierGroupType
from ir.dialects import arith, gpu, llvm, nvgpu, nvvm, vector
from ir.types import GLOBAL_PTR, I1, I32, I64, SHARED_PTR, FloatType, IntType, VectorType
from lowering.targets.target import WARP

DEEPEST = 100
"""Limit on the nesting of register requests: a longer chain of operations is emitted in pieces of this size, so that
Python's stack (some 1000 calls, four for each) does not limit its length.
"""


EVERYWHERE = range(1 << 31)
"""All of shared memory, in bytes."""


class Pending(Protocol):
    """Registers not yet requested; the memory they come from determines when they must be loaded."""

    reads_shared: bool
    reads_scratch: bool
    reads_area: int

    def force(self) -> None:
        """Emit the remaining ones."""
        ...


class _TooDeep(Exception):
    """Raised with the request that has to be emitted first."""

    def __init__(self, ask: Callable[[], Value]):
        self.ask = ask


class Emitter:
    """Builds the body of one gpu.func.

    `prelude` holds code that depends only on the thread: it comes first in the entry block, so that address parts can
    be requested anywhere. `depth` counts the loops around the current block.
    """

    def __init__(self, block: Block, warps: int, cluster: Sequence[int] = (1, 1, 1)):
        self.block = block
        self.ctas = prod(cluster)
        self.clustered = False  # do the CTAs of a cluster access each other's shared memory?
        self.outlived = False  # may they do so after this CTA has nothing left to wait for?
        self.prelude = Builder(Block())
        self.builder = Builder(block)
        self.open: set[Block] = {block}  # the blocks that enclose the insertion point
        self.warps = warps
        self.depth = 0
        self.making = 0  # nesting of register requests
        self.depth_of: dict[Value, int] = {}
        self._constants: dict[tuple[object, Type], Value] = {}
        self._linear: dict[tuple[int, ...], Value] = {}
        self._thread: Value | None = None
        self._shared_base: Value | None = None
        self._rank: Value | None = None
        self.arrays: dict[str, gpu.GlobalArray] = {}  # of the module, by name
        self.scratch_bytes = range(0)  # the scratch memory of the current op
        self.scratch_area = 0  # its first byte if nothing else lies there, else 0
        self.scratch_read = range(0)  # read since the last barrier: reuse needs a barrier first
        self.scratch_stored = False  # tensor stores may still read scratch: reuse waits for them
        self.pending: list[Pending] = []
        self._policies: dict[str, Value] = {}
        self.consumers = 0  # threads of a consumer agent while its code is emitted, 0 without agents
        self.named = 0  # the named barrier of those threads
        self.turns = 0  # first of the named barriers at which their warpgroups take turns
        self.groups = 1  # groups of an agent's warps, each of which runs its code
        self.group: Value | None = None  # the number of this thread's group, if there are several
        self.own_barrier: Value | None = None  # the named barrier of that group
        self.block_of_rows = -1  # the warpgroup whose products this agent issues; -1: all

    def finish(self) -> None:
        """Put the prelude in front of the entry block."""
        self.block.ops[:0] = self.prelude.block.ops
        for op in self.prelude.block.ops:
            op.parent = self.block

    @contextmanager
    def agent(self, first: int, warps: int, groups: int = 1) -> Generator[None]:
        """Code for each of `groups` groups of `warps` warps from thread `first` on: their thread numbers start at 0.

        Code that depends only on the thread comes at the start of the agent's code.
        """
        start, entry = self.builder.block, len(self.builder.block.ops)
        outer = self.prelude, self.warps, self._constants, self._linear, self._thread, self._shared_base, self._rank
        self.open.add(self.prelude.block)
        self.prelude, self.warps = Builder(Block()), warps
        self._constants, self._linear = {}, {}
        build, size = self.prelude.value, WARP * warps
        self._thread = build(arith.SubI, self.thread, self.constant(first)) if first else self.thread
        if groups > 1:
            self.group = build(arith.ShRUI, self._thread, self.constant(size.bit_length() - 1))
            self.own_barrier = build(arith.AddI, self.group, self.constant(self.named))
            self._thread = build(arith.AndI, self._thread, self.constant(size - 1))
            self.groups = groups
        yield
        self.groups, self.group, self.own_barrier = 1, None, None
        start.ops[entry:entry] = self.prelude.block.ops
        for op in self.prelude.block.ops:
            op.parent = start
        self.prelude, self.warps, self._constants, self._linear, self._thread, self._shared_base, self._rank = outer

    def visible(self, value: Value) -> bool:
        """Whether an earlier value may be used here: its block is still open."""
        owner = value.owner
        block = owner.parent if isinstance(owner, Op) else owner
        return block in self.open or block is self.prelude.block

    def at(self, location: Location) -> None:
        """Give the following ops the location of their source op."""
        if location is not UNKNOWN:
            self.builder.location = location

    def emit(self, cls: type[Op], *operands: Value, types: Sequence[Type] | None = None, **attributes: Any) -> Value:
        """Emit an op in the current block; its first result."""
        made = self.builder.add(cls, *operands, types=types, **attributes)
        result = made.results[0]
        if self.depth:
            self.depth_of[result] = self.depth
        return result

    def effect(self, cls: type[Op], *operands: Value, **attributes: Any) -> None:
        """Emit an op without results."""
        self.builder.add(cls, *operands, types=(), **attributes)

    def made(self, location: Location, make: Callable[..., Value], ask: Callable[..., Value], *which: Any) -> Value:
        """What `make` emits for a source location, for registers that cache it when requested by `ask`.

        If requests nest too deeply, the innermost is emitted first and the outermost restarts: what it has already
        emitted is cached, so the order of the code stays the same.
        """
        builder = self.builder
        asking, builder.location = builder.location, location
        if self.making:
            if self.making >= DEEPEST:
                builder.location = asking
                raise _TooDeep(partial(ask, *which))
            self.making += 1
            try:
                return make(*which)
            finally:
                self.making -= 1
                builder.location = asking
        waiting: list[Callable[[], Value]] = [partial(make, *which)]
        while True:
            self.making, builder.location = 1, location
            try:
                found = waiting[-1]()
            except _TooDeep as deeper:
                waiting.append(deeper.ask)
                continue
            finally:
                self.making, builder.location = 0, asking
            waiting.pop()
            if not waiting:
                return found

    # --- memory in order

    def flush_pending_loads(self, shared_only: bool = False) -> None:
        """Emit the unread part of pending loads: the next op may change memory.

        `shared_only`: only shared memory changes, loads from global memory stay pending.
        """
        waiting = [r for r in self.pending if shared_only and not r.reads_shared]
        ready = [r for r in self.pending if r not in waiting]
        self.pending = waiting
        for registers in ready:
            registers.force()

    def fence(self, everywhere: bool) -> None:
        """Order this thread's accesses to shared memory, or `everywhere`, before those of tensor copies and wgmma."""
        self.effect(nvvm.FenceProxy, kind="async", space="" if everywhere else "shared::cta")

    def barrier_sync(self) -> None:
        """bar.sync of all threads, or of the consumers if agents have split."""
        if self.own_barrier is not None:
            self.effect(nvvm.NumberedBarrier, self.own_barrier, numberOfThreads=self.consumers)
        elif self.consumers:
            self.effect(nvvm.NamedBarrier, barrierId=self.named, numberOfThreads=self.consumers)
        else:
            self.effect(gpu.Barrier)

    def barrier(self, publishes: bool = False) -> None:
        """A barrier of all threads, after which each sees the writes of the others. If it only `publishes`, pending
        tiles in shared memory stay there: a product requests its fragments step by step.
        """
        left = [r for r in self.pending if publishes and r.reads_shared]
        self.pending = [r for r in self.pending if r not in left]
        self.flush_pending_loads()
        self.pending = left
        self.stores_read()
        self.barrier_sync()
        self.scratch_read = EVERYWHERE if any(r.reads_scratch for r in left) else range(0)

    def leave(self) -> None:
        """Wait until no CTA accesses this CTA's shared memory or arrives at its barriers any more."""
        self.stores_read()
        if self.outlived:
            self.cluster_barrier()

    def cluster_barrier(self) -> None:
        """A barrier of all threads of the cluster, after which each sees the writes of the others."""
        self.flush_pending_loads()
        self.effect(nvvm.ClusterArrive)
        self.effect(nvvm.ClusterWait)

    def scratch(self) -> Value:
        """Scratch shared memory without remaining readers."""
        area = self.scratch_area
        for registers in [r for r in self.pending if r.reads_scratch and r.reads_area == area]:  # not rings, buffers
            self.pending.remove(registers)
            registers.force()
        if self.stores_read() or overlap(self.scratch_bytes, self.scratch_read):
            self.barrier_sync()
        return self.pointer(self.shared_base, None, 1, self.scratch_bytes.start)

    def stores_read(self) -> bool:
        """Wait until the tensor stores that this thread issued have read scratch; False if there are none."""
        waits, self.scratch_stored = self.scratch_stored, False
        if waits:
            self.effect(nvvm.BulkWaitGroup, group=0, read=True)
        return waits

    def scratch_written(self) -> None:
        """All threads have written scratch memory and may read it."""
        self.barrier_sync()
        left = any(r.reads_scratch for r in self.pending)
        self.scratch_read = EVERYWHERE if left else self.scratch_bytes

    # --- numbers

    def policy(self, evict: str) -> Value:
        """An L2 cache policy, created once."""
        if evict not in self._policies:
            self._policies[evict] = self.prelude.value(nvvm.CreatePolicy, types=[I64], primary=evict)
        return self._policies[evict]

    def constant(self, value: int | float, type: Type = I32) -> Value:
        """A constant, once a kernel, in the prelude."""
        key = (repr(value), type)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self.prelude.value(arith.Constant, types=[type], value=value)
        return found

    def constant_of(self, value: Value) -> int | None:
        """The integer of a constant value, None if it is not a constant."""
        op = value.op
        return int(op.value) if isinstance(op, arith.Constant) and isinstance(value.type, IntType) else None

    def add(self, a: Value, b: Value) -> Value:
        """Integer sum; zero costs nothing."""
        if self.constant_of(a) == 0:
            return b
        if self.constant_of(b) == 0:
            return a
        return self.emit(arith.AddI, a, b)

    def add_constant(self, a: Value, c: int) -> Value:
        """Sum with a number."""
        return a if c == 0 else self.add(a, self.constant(c, a.type))

    def multiply(self, a: Value, c: int) -> Value:
        """Product with a number."""
        known = self.constant_of(a)
        if known is not None:
            return self.constant(known * c, a.type)
        return a if c == 1 else self.emit(arith.MulI, a, self.constant(c, a.type))

    def both(self, a: Value | None, b: Value | None) -> Value | None:
        """Conjunction of predicates, None meaning true."""
        if a is None or b is None:
            return b if a is None else a
        return a if a is b else self.emit(arith.AndI, a, b)

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        """An integer comparison."""
        return self.emit(arith.CmpI, a, b, types=[I1], predicate=predicate)

    def widen(self, a: Value) -> Value:
        """An i32 as a sign-extended i64."""
        known = self.constant_of(a)
        if known is not None:
            return self.constant(known, I64)
        return a if a.type == I64 else self.emit(arith.ExtSI, a, types=[I64])

    def product64(self, a: Value, b: Value) -> Value:
        """The full signed product of two i32 or i64 values as i64: one instruction if both are i32."""
        if self.constant_of(a) == 1:
            return self.widen(b)
        if self.constant_of(b) == 1:
            return self.widen(a)
        if a.type == I32 and b.type == I32:
            return self.emit(arith.MulSIWide, a, b, types=[I64])
        return self.emit(arith.MulI, self.widen(a), self.widen(b))

    def extract(self, source: Value, position: tuple[int, ...]) -> Value:
        """Part of a vector."""
        return self.emit(
            vector.Extract, source, types=[vector.Extract.result_type(source.type, position)], position=position
        )

    def splat(self, value: float, kind: Type) -> Value:
        """A constant in every element of a scalar or vector type."""
        if not isinstance(kind, VectorType):
            return self.constant(value, kind)
        size = prod(kind.shape)
        return self.emit(vector.FromElements, *[self.constant(value, kind.element)] * size, types=[kind])

    # --- the thread

    @property
    def thread(self) -> Value:
        """%tid.x."""
        if self._thread is None:
            self._thread = self.prelude.value(gpu.ThreadId, types=[I32], dimension="x")
        return self._thread

    @property
    def rank(self) -> Value:
        """%cluster_ctarank."""
        if self._rank is None:
            self._rank = self.prelude.value(nvvm.CLUSTER_REGISTERS["cluster.ctarank"], types=[I32])
        return self._rank

    @property
    def shared_base(self) -> Value:
        """Base of dynamic shared memory."""
        if self._shared_base is None:
            self._shared_base = self.prelude.value(gpu.DynamicSharedMemory, types=[SHARED_PTR])
        return self._shared_base

    def leader_base(self) -> Value:
        """The same in the even CTA of the pair, which issues the products of both."""
        build = self.prelude.value
        rank = build(arith.AndI, self.rank, self.constant(~1)) if self.ctas > 2 else self.constant(0)
        return build(nvvm.Mapa, self.shared_base, rank, types=[SHARED_PTR])

    def linear(self, bases: Sequence[int]) -> Value:
        """XOR of `bases[i]` over the set bits i of the thread number: i32, in the prelude, once a map.

        Bits that move by the same distance share a mask and a shift, so a plain layout costs two or three instructions.
        """
        key = tuple(bases)
        found = self._linear.get(key)
        if found is None:
            found = self._linear[key] = self._emit_linear(key)
        return found

    def odd(self, bits: Sequence[int]) -> Value:
        """Whether the thread number has an odd number of these bits; a single bit needs no shift."""
        single = sum(bits) == 1
        parity = self.linear([bit << i for i, bit in enumerate(bits)] if single else bits)
        return self.compare("ne", parity, self.constant(0))

    def _emit_linear(self, bases: tuple[int, ...]) -> Value:
        masks: dict[int, int] = {}
        for i, basis in enumerate(bases):
            for out in range(basis.bit_length()):
                if basis >> out & 1:
                    masks[out - i] = masks.get(out - i, 0) | 1 << i
        total: Value | None = None
        written = 0
        build = self.prelude.value
        for shift, mask in sorted(masks.items()):
            term = self.thread
            if mask != 32 * self.warps - 1:  # consumers are the first threads, so their numbers have no higher bits
                term = build(arith.AndI, term, self.constant(mask))
            if shift:
                amount = self.constant(abs(shift))
                term = build(arith.ShLI if shift > 0 else arith.ShRUI, term, amount)
            moved = mask << shift if shift >= 0 else mask >> -shift
            combine = arith.XOrI if written & moved else arith.OrI
            total = term if total is None else build(combine, total, term)
            written |= moved
        return self.constant(0) if total is None else total

    def when(self, mask: int) -> Value | None:
        """True in the threads whose number has no bit of `mask`; None if the mask is empty."""
        if not mask:
            return None
        masked = self.prelude.value(arith.AndI, self.thread, self.constant(mask))
        return self.prelude.value(arith.CmpI, masked, self.constant(0), types=[I1], predicate="eq")

    # --- addresses

    def pointer(
        self, base: Value, index: Value | None = None, element_bytes: int = 1, offset: int = 0, outermost: bool = False
    ) -> Value:
        """base + index * element_bytes + offset; an `outermost` term is added last, even if others change more
        often.
        """
        if index is not None and (known := self.constant_of(index)) is not None:
            index, offset = None, offset + known * element_bytes
        if index is None and offset == 0:
            return base
        operands = [base] if index is None else [base, index]
        made = self.builder.add(
            llvm.GetElementPtr,
            *operands,
            types=[base.type],
            segments=(1, len(operands) - 1),
            element_bytes=element_bytes,
            offset=offset,
            outermost=outermost,
        )
        if self.depth:
            self.depth_of[made.results[0]] = self.depth
        return made.results[0]

    def mbarriers(self, count: int, offset: int) -> Value:
        """A group of mbarriers from byte `offset` of shared memory on."""
        kind = BarrierGroupType(count)
        return self.builder.value(nvgpu.MBarrierCreate, self.shared_base, types=[kind], offset=offset)

    def mbarrier(self, group: Value, index: Value | None = None, number: int = 0) -> Value:
        """One of them."""
        if index is not None and (known := self.constant_of(index)) is not None:
            index, number = None, number + int(known)
        operands = [group] if index is None else [group, index]
        made = self.builder.add(
            nvgpu.MBarrierGet, *operands, types=[BARRIER_TYPE], segments=(1, len(operands) - 1), number=number
        )
        if self.depth:
            self.depth_of[made.results[0]] = self.depth
        return made.results[0]

    def zero(self, type: Type) -> Value:
        """The zero of a scalar type."""
        if type == GLOBAL_PTR:
            return self.emit(llvm.IntToPtr, self.constant(0, I64), types=[GLOBAL_PTR])
        return self.constant(0.0 if isinstance(type, FloatType) else 0, type)


def overlap(first: range, second: range) -> bool:
    """Do two byte ranges overlap?"""
    return max(first.start, second.start) < min(first.stop, second.stop)

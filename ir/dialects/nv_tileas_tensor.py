"""nv_tileas in tensor memory: accumulators, the products that add to them, and their readers.

Part of the dialect of `nv_tileas`, which hands these names on. Source of names: PTX ISA 8.8, tcgen05.
"""

from __future__ import annotations

from ir.core import WRITE, Attr, Op, Operand, OptionalOperand, Result, flag, op
from ir.dialects.nv_tileas_types import TensorMemoryType, is_factor, is_i1, is_i32, is_stage, is_tensor_memory, is_tile
from ir.types import TensorType

SLOT_BYTES = 16  # of shared memory: the mbarrier that tells of the last product, the address of the allocation
DONE_BYTES = 8  # of that mbarrier; one for each warpgroup lie behind one another, and the address behind them


@op("nv_tileas.alloc_tensor_memory")
class AllocTensorMemory(Op):
    """Tensor memory for an accumulator until the CTA's threads have read all of it, or for a left factor or scales
    until products have: from `column` of the `columns` that the CTA allocates once, blocks of rows `pitch` columns
    behind one another, as many as they take where it is 0. An accumulator's barrier and the allocation's address are at
    byte `offset` of shared memory; a `left` factor, or scales, have neither, and a factor may lie over an accumulator,
    which its warps have read. `groups`: of so many warpgroups each begins and awaits the products of its own block of
    rows, if more than one. `meets`: all threads meet behind it, the last one of a kernel whose agents do not part,
    which they would do. `stages`: as many accumulators, one behind the other, in turn, which an agent of its own fills.
    `paired`: products of a pair of CTAs fill it, in both at once, and both allocate at the same place.
    """

    over = OptionalOperand(is_tensor_memory)
    offset = Attr(int, 0, least=0)
    column = Attr(int, 0, least=0)
    columns = Attr(int, 0, least=0)
    pitch = Attr(int, 0, least=0)
    left = flag()
    groups = Attr(int, 1, least=1)
    meets = flag()
    stages = Attr(int, 1, least=1)
    paired = flag()
    result = Result(is_tensor_memory)

    effect = WRITE


@op("nv_tileas.tensor_dot")
class TensorDot(Op):
    """a @ b + d in place of d, or a @ b where `adds` is false or absent: begun, by one thread of the warp that runs its
    loop, or of the first warp where all run it. b lies in shared memory, a there or in tensor memory. `stage`: of d.
    """

    a = Operand(is_factor)
    b = Operand(is_tile)
    d = Operand(is_tensor_memory)
    adds = OptionalOperand(is_i1)
    stage = OptionalOperand(is_stage)
    atom = Attr(str)
    negated = flag()

    effect = WRITE

    def verify(self) -> None:
        """Shapes that agree."""
        a, b, d = self.a.type, self.b.type, self.d.type
        if (
            isinstance(a, TensorType | TensorMemoryType)
            and isinstance(b, TensorType)
            and isinstance(d, TensorMemoryType)
        ):
            agree = a.shape[1] == b.shape[0] and d.shape == (a.shape[0], b.shape[1])
            self.expect(agree, "no product of {} and {} is {}", a.shape, b.shape, d.shape)


@op("nv_tileas.tensor_scaled_dot")
class TensorScaledDot(TensorDot):
    """The same of (a x a_scales) @ (b x b_scales), with a scale for each block of neighbours along k. The scales lie in
    shared memory as they can be copied to tensor memory, to the place `scales`, before the products are begun.
    """

    a_scales = Operand(is_tile)
    b_scales = Operand(is_tile)
    scales = Operand(is_tensor_memory)


@op("nv_tileas.tensor_store")
class TensorStore(Op):
    """A tile out of registers in place of an accumulator, or a left factor that no product reads any more."""

    d = Operand(is_tensor_memory)
    value = Operand(is_tile)

    effect = WRITE


@op("nv_tileas.tensor_scale")
class TensorScale(Op):
    """An accumulator times a tile in registers: loaded, multiplied element by element (`paired`: by f32x2), stored."""

    d = Operand(is_tensor_memory)
    factor = Operand(is_tile)
    paired = flag()

    effect = WRITE


@op("nv_tileas.tensor_meet")
class TensorMeet(Op):
    """Barrier of the threads of each warpgroup; orders their tensor memory accesses before and after it."""

    effect = WRITE


@op("nv_tileas.tensor_wait")
class TensorWait(Op):
    """Threads wait until all products issued on an accumulator are complete."""

    d = Operand(is_tensor_memory)
    phase = OptionalOperand(is_i32)

    effect = WRITE


@op("nv_tileas.tensor_commit")
class TensorCommit(Op):
    """Lets threads load the accumulator when all issued products are complete."""

    d = Operand(is_tensor_memory)

    effect = WRITE


@op("nv_tileas.tensor_load")
class TensorLoad(Op):
    """An accumulator in registers once it is complete, zeros where `written` is false: no product was begun. `base` is
    added to it in registers, where `paired` by f32x2. `waited`: all threads have waited for it. `phase`: of its
    barrier, where it is read more than once. `stage`: of accumulators in turn, which has been waited for.
    """

    d = Operand(is_tensor_memory)
    written = OptionalOperand(is_i1)
    base = OptionalOperand(is_tile)
    stage = OptionalOperand(is_stage)
    phase = OptionalOperand(is_i32)
    paired = flag()
    waited = flag()
    result = Result(is_tile)

    effect = WRITE

    def verify(self) -> None:
        """The tile that lies there."""
        held, kind = self.d.type, self.result.type
        if isinstance(held, TensorMemoryType) and isinstance(kind, TensorType):
            same = (held.shape, held.element) == (kind.shape, kind.element)
            self.expect(same, "{} holds no {} of {}", held, kind.shape, kind.element)

"""nv_tileas in tensor memory: accumulators, the products that add to them, and their readers.

Part of the dialect of `nv_tileas`, which re-exports these names. Source of names: PTX ISA 8.8, tcgen05.
"""

from __future__ import annotations

from ir.core import WRITE, Attr, Op, Operand, OptionalOperand, Result, flag, op
from ir.dialects.nv_tileas_types import TensorMemoryType, is_factor, is_i1, is_i32, is_stage, is_tensor_memory, is_tile
from ir.types import TensorType

SLOT_BYTES = 16  # of shared memory: the mbarrier that signals the last product, the address of the allocation
DONE_BYTES = 8  # of that mbarrier; those of several warpgroups are consecutive, followed by the address


@op("nv_tileas.alloc_tensor_memory")
class AllocTensorMemory(Op):
    """Tensor memory for an accumulator until the CTA's threads have read all of it, or for a left factor or scales
    until products have read it: from `column` of the `columns` that the CTA allocates once, blocks of rows `pitch`
    columns apart, or as many as they occupy if it is 0. An accumulator's barrier and the allocation's address are at
    byte `offset` of shared memory; a `left` factor, or scales, have neither, and a factor may overlap an accumulator
    that its warps have read. `groups`: this many warpgroups, if more than one, each issue and await the products of
    their own block of rows. `meets`: all threads meet behind it, the last one of a kernel whose agents do not part,
    which they would do. `stages`: this many accumulators, one after the other, used in turn and filled by a separate
    agent. `paired`: products of a pair of CTAs fill it, in both at once, and both allocate the same columns.
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
    """a @ b + d in place of d, or a @ b if `adds` is false or absent: issued by one thread of the warp that runs its
    loop, or of the first warp if all run it. b is in shared memory, a there or in tensor memory. `stage`: of d.
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
            self.expect(agree, "cannot multiply {} and {} into {}", a.shape, b.shape, d.shape)


@op("nv_tileas.tensor_scaled_dot")
class TensorScaledDot(TensorDot):
    """The same for (a x a_scales) @ (b x b_scales), with a scale for each block of adjacent elements along k. The
    scales are in shared memory in the form in which they are copied to tensor memory, to the location `scales`, before
    the products are issued.
    """

    a_scales = Operand(is_tile)
    b_scales = Operand(is_tile)
    scales = Operand(is_tensor_memory)


@op("nv_tileas.tensor_store")
class TensorStore(Op):
    """A tile from registers stored over an accumulator, or over a left factor that no product reads any more."""

    d = Operand(is_tensor_memory)
    value = Operand(is_tile)

    effect = WRITE


@op("nv_tileas.tensor_scale")
class TensorScale(Op):
    """An accumulator times a tile in registers: loaded, multiplied element by element (`paired`: by f32x2) and stored,
    so many `columns` at a time.
    """

    d = Operand(is_tensor_memory)
    factor = Operand(is_tile)
    paired = flag()
    columns = Attr(int, 32, least=1)

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
    """An accumulator in registers once it is complete, zeros if `written` is false: no product was issued. `base` is
    added to it in registers, by f32x2 if `paired`. `waited`: all threads have waited for it. `phase`: of its barrier,
    if it is read more than once. `stage`: of accumulators used in turn, which has been waited for.
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
        """The tile stored there."""
        held, kind = self.d.type, self.result.type
        if isinstance(held, TensorMemoryType) and isinstance(kind, TensorType):
            same = (held.shape, held.element) == (kind.shape, kind.element)
            self.expect(same, "{} holds no {} of {}", held, kind.shape, kind.element)

"""nv_tileas operations on the order of grids and addresses, on memory that a tile block asks for, on its next tile."""

from __future__ import annotations

from ir.core import WRITE, Attr, Op, Operand, Result, op
from ir.descriptors import BARRIER_BYTES
from ir.dialects.nv_tileas_types import is_pointer
from ir.types import I1, I32, Constraint, TileType

FLAG = Constraint("i1", lambda t: t in (I1, TileType((), I1)), (I1,))
ANSWER_BYTES = 16  # PTX ISA 8.8, clusterlaunchcontrol.try_cancel
WORD_BYTES = 4
SAID_BYTES = 4 * WORD_BYTES  # what the answer says
NEXT_BYTES = ANSWER_BYTES + BARRIER_BYTES + SAID_BYTES  # the answer, an mbarrier, what the answer says
NUMBER = Constraint("i32", lambda t: t in (I32, TileType((), I32)), (I32,))


@op("nv_tileas.wait_on_dependency")
class WaitOnDependency(Op):
    """Every thread waits until the grids that this one depends on are done and their writes can be seen; nothing where
    the target starts a grid only then. Each agent runs it: what it does later comes after it.
    """

    effect = WRITE


@op("nv_tileas.launch_dependents")
class LaunchDependents(Op):
    """Lets dependent grids start, if the target can start them before this one has ended."""

    effect = WRITE


@op("nv_tileas.fence_alias")
class FenceAlias(Op):
    """Orders a thread's accesses before those made, after the next barrier, through other addresses of the same
    memory.
    """

    effect = WRITE


@op("nv_tileas.alloca")
class Alloca(Op):
    """`bytes` of global memory for the tile block, at an address that is a multiple of `alignment`, until `free`. One
    thread asks for it and hands the address on at `scratch`; the launch ends with a message where there is none.
    """

    bytes = Attr(int, least=0)
    alignment = Attr(int, least=1)
    file = Attr(str)
    line = Attr(int, least=0)
    scratch = Attr(int, 0, least=0)
    result = Result(is_pointer)

    effect = WRITE


@op("nv_tileas.free")
class Free(Op):
    """Memory that `alloca` gave is given back by one thread; a barrier before it says that nobody uses it any more."""

    ptr = Operand(is_pointer)

    effect = WRITE


@op("nv_tileas.request_program_id")
class RequestProgramId(Op):
    """Ask for a tile block of the grid that has not started: one thread does, and an mbarrier behind `slot` completes
    with the answer, which `cancel_next_program_id` waits for.
    """

    slot = Attr(int, 0, least=0)

    effect = WRITE


@op("nv_tileas.cancel_next_program_id")
class CancelNextProgramId(Op):
    """Take a tile block of the grid that has not started, which then never does: is there one, and its coordinates,
    else zeros. One thread asks and hands the answer on at `scratch`. After there was none, nobody asks again. In the
    source program it has tiles of one element as results. `slot`: a request before it has asked, and what answers that
    is there; 0: none has.
    """

    scratch = Attr(int, 0, least=0)
    slot = Attr(int, 0, least=0)
    valid = Result(FLAG)
    x = Result(NUMBER)
    y = Result(NUMBER)
    z = Result(NUMBER)

    effect = WRITE

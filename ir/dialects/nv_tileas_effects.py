"""nv_tileas operations on the order of grids and addresses, on memory that a tile block allocates, and on its
next tile.
"""

from __future__ import annotations

from ir.core import WRITE, Attr, Op, Operand, Result, op
from ir.descriptors import BARRIER_BYTES
from ir.dialects.nv_tileas_types import is_pointer
from ir.types import I1, I32, Constraint, TileType

FLAG = Constraint("i1", lambda t: t in (I1, TileType((), I1)), (I1,))
ANSWER_BYTES = 16  # PTX ISA 8.8, clusterlaunchcontrol.try_cancel
WORD_BYTES = 4
SAID_BYTES = 4 * WORD_BYTES  # contents of the response
NEXT_BYTES = ANSWER_BYTES + BARRIER_BYTES + SAID_BYTES  # the response, an mbarrier, the response's contents
NUMBER = Constraint("i32", lambda t: t in (I32, TileType((), I32)), (I32,))


@op("nv_tileas.wait_on_dependency")
class WaitOnDependency(Op):
    """Every thread waits until the grids that this one depends on have completed and their writes are visible; does
    nothing if the target starts a grid only then. Each agent runs it: its later operations come after it.
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
    thread allocates it and shares the address through `scratch`; the launch ends with a message if none is available.
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
    """One thread frees memory allocated by `alloca`; a barrier before it ensures that it is no longer used."""

    ptr = Operand(is_pointer)

    effect = WRITE


@op("nv_tileas.request_program_id")
class RequestProgramId(Op):
    """Request a tile block of the grid that has not started: one thread does, and an mbarrier after `slot` completes
    with the response, for which `cancel_next_program_id` waits.
    """

    slot = Attr(int, 0, least=0)

    effect = WRITE


@op("nv_tileas.cancel_next_program_id")
class CancelNextProgramId(Op):
    """Take a tile block of the grid that has not started, which then never starts: whether there is one, and its
    coordinates, or zeros. One thread requests it and shares the response through `scratch`. After a negative response
    there are no further requests. In the source program its results are tiles of one element. `slot`: an earlier
    request was made, and its response is there; 0: none was.
    """

    scratch = Attr(int, 0, least=0)
    slot = Attr(int, 0, least=0)
    valid = Result(FLAG)
    x = Result(NUMBER)
    y = Result(NUMBER)
    z = Result(NUMBER)

    effect = WRITE

"""nv_tileas operations on the order of grids and addresses, and on memory that a tile block asks for."""

from __future__ import annotations

from ir.core import WRITE, Attr, Op, Operand, Result, op
from ir.dialects.nv_tileas_types import is_pointer


@op("nv_tileas.wait_on_dependency")
class WaitOnDependency(Op):
    """Every thread waits until the grids that this one depends on are done and their writes can be seen; nothing where
    the target starts a grid only then. Each agent runs it: what it does later comes after it.
    """

    effect = WRITE


@op("nv_tileas.launch_dependents")
class LaunchDependents(Op):
    """Lets the grids that depend on this one start, where the target can start them before this one has ended."""

    effect = WRITE


@op("nv_tileas.fence_alias")
class FenceAlias(Op):
    """What a thread has accessed comes before what is accessed, behind the next barrier, through other addresses of the
    same memory.
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

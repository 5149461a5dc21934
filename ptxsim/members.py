"""Member masks with hazards=True: participants of a warp exchange must be in their own mask, and the masks must
agree.
"""

from collections.abc import Callable

import numpy as np

from ptxsim.findings import Kind
from ptxsim.groups import FULL_WARP
from ptxsim.machine import WARP, Machine
from ptxsim.program import Instruction
from ptxsim.ptx_types import Array


def watch_members(
    machine: Machine, instruction: Instruction, step: Callable[[Array | None], None], members: Array
) -> Callable[[Array | None], None]:
    """A step that first checks that each lane is in its own member mask, and that the lanes it names have the same
    mask.

    Source: PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync", "bar.warp.sync": the behaviour
    is undefined for a thread that is not in its membermask.
    """
    if not members.flags.writeable and bool((members == FULL_WARP).all()):
        return step  # constants: every lane names all lanes
    bit = machine.special["lanemask_eq"]

    def found(bad: Array, what: str) -> None:
        lane = int(np.flatnonzero(bad)[0])
        who = machine.describe(lane)
        message = f"{who} names the members {int(members[lane]):#010x}, {what.format(lane=lane % WARP)}"
        machine.findings.found(Kind.MEMBER_MASK, message, instruction, who)

    def watched(mask: Array | None) -> None:
        lanes = machine.active(mask)
        outside = (members & bit) == 0
        if lanes is not None:
            outside &= lanes
        if outside.any():
            found(outside, "but is not one of them; it is lane {lane}")
        words = members.reshape(-1, WARP)
        if bool((words != words[:, :1]).any()):
            here = (np.ones(machine.lanes, np.bool_) if lanes is None else lanes).reshape(-1, WARP)
            named = (words[:, :, None] & bit[:WARP]) != 0
            other = named & here[:, :, None] & here[:, None, :] & (words[:, :, None] != words[:, None, :])
            if other.any():
                found(np.any(other, axis=2).reshape(-1), "one of which names other members")
        step(mask)

    return watched

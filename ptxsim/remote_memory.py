"""Shared memory of other CTAs of a cluster: it exists from when that CTA is known to run until its threads exit.

Source: PTX ISA, "Cluster of Cooperative Thread Arrays"; CUDA C++ Programming Guide, "Distributed Shared Memory".
"""

import numpy as np

from ptxsim.access import Site
from ptxsim.clocks import Clocks
from ptxsim.findings import Kind
from ptxsim.machine import WARP, Machine
from ptxsim.ptx_types import Array


def check_remote(machine: Machine, clocks: Clocks, site: Site, where: Array, lanes: Array, verb: str) -> None:
    """Report lanes [n, 1] that access bytes [n, m] of a CTA that may not have started, or whose threads have exited."""
    if clocks.cluster == 1:
        return
    target, own = where[:, 0] // machine.shared.stride, lanes[:, 0] // machine.slots
    remote = (target != own).nonzero()[0]
    if remote.size == 0:
        return
    alive: Array = np.any(machine.live_mask().reshape(machine.ctas, -1), axis=1)
    for row in remote[np.unique(target[remote], return_index=True)[1]].tolist():
        lane, cta = int(lanes[row, 0]), int(target[row])
        first = cta % clocks.cluster * clocks.warps
        known = clocks.known[lane // machine.slots, lane % machine.slots // WARP]
        is_known = known[first : first + clocks.warps].any() or clocks.meetings[cta // clocks.cluster] > 0
        if not is_known or not alive[cta]:
            reason = "whose threads have all exited" if is_known else "which may not have started"
            who = machine.describe(lane)
            machine.findings.found(
                Kind.REMOTE_MEMORY,
                f"{who} {verb} shared memory of CTA {machine.describe_cta(cta)}, {reason}; "
                "a barrier.cluster must keep them together",
                site.instruction,
                who,
            )

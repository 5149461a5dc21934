"""setmaxnreg: registers that move between the warps of a CTA."""

import numpy as np

from ptxsim.control import condition_of
from ptxsim.decode import Decode, Step
from ptxsim.errors import OperandError
from ptxsim.floors import Floor
from ptxsim.geometry import WARP
from ptxsim.ptx_types import Array
from ptxsim.waiting import Wait


def decode_setmaxnreg(d: Decode) -> Step | None:
    """setmaxnreg.{inc,dec}.sync.aligned.u32 count."""
    action = d.need("inc", "dec")
    d.need("sync")
    d.need("aligned")
    if d.type().name != "u32":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(1)
    count = d.constant_int(0)
    if count % 8 or not 24 <= count <= 256:
        raise d.error(OperandError, f"setmaxnreg takes a multiple of 8 from 24 to 256, not {count}")
    pool = d.machine.register_pool
    if not pool.limit:
        return None
    if action == "dec":
        return _give(d, count)
    d.control = _take(d, count)
    return None


def _check(d: Decode, lanes: Array, warps: Array, count: int, rises: bool) -> None:
    pool = d.machine.register_pool
    partial = (d.machine.live_mask() & ~lanes).reshape(-1, WARP).any(axis=1) & warps.reshape(-1)
    if partial.any():
        lane = int(np.flatnonzero(lanes & np.repeat(partial, WARP))[0])
        raise d.error(
            OperandError,
            f"setmaxnreg is .aligned, but not all threads of the warp of {d.machine.describe(lane)} execute it",
        )
    wrong = warps & ((pool.held > count) if rises else (pool.held < count))
    if wrong.any():
        cta, warp = (int(axis[0]) for axis in np.nonzero(wrong))
        lane = (cta * pool.held.shape[1] + warp) * WARP
        raise d.error(
            OperandError,
            f"the warp of {d.machine.describe(lane)} has {int(pool.held[cta, warp])} registers per thread; "
            f"setmaxnreg.{'inc' if rises else 'dec'} cannot make that {count}",
        )


def _give(d: Decode, count: int) -> Step:
    machine, pool, transfers = d.machine, d.machine.register_pool, d.binding.transfers

    def step(mask: Array | None) -> None:
        lanes = machine.live_mask() if mask is None else mask
        if not lanes.any():
            return
        warps = pool.warps(lanes)
        _check(d, lanes, warps, count, rises=False)
        pool.give(warps, count)
        transfers.mbarriers.note_change()

    return step


def _take(d: Decode, count: int) -> Wait:
    machine, pool, transfers = d.machine, d.machine.register_pool, d.binding.transfers

    def ready(lanes: Array) -> Array:
        return lanes & np.repeat(pool.grantable(pool.warps(lanes), count).reshape(-1), WARP)

    def resume(lanes: Array, is_complete: bool) -> None:
        pool.take(pool.warps(lanes), count)
        transfers.mbarriers.note_change()

    def arrive(lanes: Array) -> None:
        _check(d, lanes, pool.warps(lanes), count, rises=True)

    def describe(lane: int) -> str:
        free = int(pool.free[int(machine.cta_of_lane[lane])])
        return f"{count} registers per thread; the pool of its CTA has {free}, and no warp releases more"

    return Wait(d.pc, d.pc + 1, condition_of(d, d.instruction.guard), ready, resume, describe, arrive)


OPCODES = {"setmaxnreg": decode_setmaxnreg}
FLOORS = (Floor("setmaxnreg", "90a 100f 110f 120f", "8.0"),)

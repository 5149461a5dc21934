"""Schedules: the warps in step, or far apart so that a missing barrier affects the results.

In step, all lanes at one instruction run as one vector, which accidentally orders the accesses of different warps.
"""

import numpy as np

from ptxsim.errors import LaunchError
from ptxsim.machine import WARP, Machine
from ptxsim.ptx_types import Array
from ptxsim.schedule import GIVE_WAY, TURN, Code, Scheduler
from ptxsim.transfers import Transfers

TOGETHER = "together"
_SKEWED = "skewed:"


class Skewed(Scheduler):
    """Runs each warp alone until it must wait: of the runnable warps, the first in an order drawn from a seed.

    A warp that spins gives way after a while, as groups of lanes do in step.
    """

    def __init__(
        self,
        machine: Machine,
        code: Code,
        transfers: Transfers,
        limit: int,
        max_instructions: int | None,
        seed: int,
    ) -> None:
        super().__init__(machine, code, transfers, limit, max_instructions)
        self._order = np.random.default_rng(seed).permutation(machine.lanes // WARP)

    def _pick(self) -> tuple[int, Array | None]:
        masks = {pc: self.machine.live_mask() if mask is None else mask for pc, mask in self.ready.items()}
        present = {pc: np.any(mask.reshape(-1, WARP), axis=1) for pc, mask in masks.items()}
        able = self._order[np.any(np.stack(list(present.values())), axis=0)[self._order]]
        self._turn += 1
        phase = self._turn % TURN
        warp = int(able[0] if phase < TURN - GIVE_WAY else able[phase % able.size])
        pc = min(pc for pc, warps in present.items() if warps[warp])
        alone = np.zeros_like(masks[pc])
        alone[warp * WARP : (warp + 1) * WARP] = True
        del self.ready[pc]
        self.add(pc, masks[pc] & ~alone)
        return pc, masks[pc] & alone


def scheduler(
    schedule: str, machine: Machine, code: Code, transfers: Transfers, limit: int, max_instructions: int | None
) -> Scheduler:
    """The scheduler for a schedule: "together" or "skewed:SEED". Raises LaunchError for others."""
    if schedule == TOGETHER:
        return Scheduler(machine, code, transfers, limit, max_instructions)
    seed = schedule.removeprefix(_SKEWED)
    if seed == schedule or not (seed.isascii() and seed.isdigit()):
        raise LaunchError(f'schedule {schedule!r}: expected "{TOGETHER}" or "{_SKEWED}SEED" with a whole number')
    return Skewed(machine, code, transfers, limit, max_instructions, int(seed))

"""The simulator with its warps far apart: each runs alone until it must wait, so a missing barrier shows in the result.

The simulator otherwise runs all lanes of a block as one vector, in step, which orders global accesses by accident.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from runtime.simulator.machine import WARP
from runtime.simulator.schedule import Scheduler
from runtime.simulator.types import Array


def scheduler(last_first: bool) -> type[Scheduler]:
    """A scheduler that prefers the first warp that can run, or the last."""

    class WarpByWarp(Scheduler):
        def _pick(self) -> tuple[int, Array | None]:
            masks = {pc: self.machine.live_mask() if m is None else m for pc, m in self.ready.items()}
            warps = {pc: np.flatnonzero(m.reshape(-1, WARP).any(axis=1)) for pc, m in masks.items()}
            choose = max if last_first else min
            warp = choose(int(choose(found)) for found in warps.values())
            pc = min(pc for pc, found in warps.items() if warp in found)
            alone = np.zeros_like(masks[pc])
            alone[warp * WARP : (warp + 1) * WARP] = True
            del self.ready[pc]
            self.add(pc, masks[pc] & ~alone)
            return pc, masks[pc] & alone

    return WarpByWarp


@contextmanager
def skewed(last_first: bool) -> Iterator[None]:
    """Launches inside run warp by warp."""
    with patch("runtime.simulator.launch.Scheduler", scheduler(last_first)):
        yield

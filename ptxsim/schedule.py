"""Which lanes run next: basic blocks, divergence, warp rendezvous and barriers.

Lanes at one instruction run as one vector. If control flow splits them, the group with the smallest instruction number
runs first, which brings the groups together again after an if or a loop. A group that spins while others wait gives way
after a while, so that a lock held by a group further on is eventually released.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from math import inf

import numpy as np

from ptxsim.control import Barriers, Control, Fallthrough
from ptxsim.decode import Step
from ptxsim.errors import DeadlockError, StepLimitError
from ptxsim.groups import FULL_WARP, Group, warp_words
from ptxsim.machine import WARP, Machine
from ptxsim.pointwise import Bound, LaneStep
from ptxsim.program import Instruction
from ptxsim.ptx_types import Array
from ptxsim.transfers import Transfers
from ptxsim.waiting import Wait, Waiters

# Of every TURN group choices, the last GIVE_WAY rotate through all groups instead of choosing the smallest instruction
# number.
TURN = 4096
GIVE_WAY = 512
# The number of times that lanes may give up waiting in turn with nothing else happening before this counts as a
# deadlock.
_FRUITLESS = 8
# Maximum number of cached steps bound to groups of lanes, which bounds memory: about a kilobyte each.
_BOUND_STEPS = 50_000


@dataclass(slots=True)
class Block:
    """Instructions from first to last, only the last of which may redirect control."""

    first: int
    last: int
    steps: list[Step]
    control: Control
    runs: int = 0
    _whole: list[Bound] | None = None

    def whole(self) -> list[Bound]:
        """The steps bound to all lanes."""
        if self._whole is None:
            self._whole = [step.whole() if isinstance(step, LaneStep) else partial(step, None) for step in self.steps]
        return self._whole

    @property
    def length(self) -> int:
        """The number of instructions."""
        return self.last + 1 - self.first


@dataclass(slots=True)
class Code:
    """A decoded entry: for each instruction its step (None for control), and for `.sync` ones the member mask.

    targets: destinations of branches and calls; first: the entry's first instruction.
    """

    instructions: Sequence[Instruction]
    steps: list[Step | None]
    members: list[Array | None]
    controls: dict[int, Control]
    targets: set[int]
    first: int = 0
    blocks: dict[int, Block] = field(default_factory=dict[int, Block])
    block_of: list[Block] = field(default_factory=list[Block])
    meets: list[bool] = field(default_factory=list[bool])

    def meets_nobody(self, pc: int) -> bool:
        """Whether no lane waits for others of its warp between an instruction and the end of its basic block."""
        return not self.meets[pc]

    def leaders(self) -> list[int]:
        """The first instructions of the basic blocks."""
        return sorted({0, *self.targets, *(pc + 1 for pc in self.controls)} & set(range(len(self.steps))))

    def build_blocks(self) -> None:
        """Cut the instructions into basic blocks."""
        end = len(self.steps)
        leaders = self.leaders()
        self.block_of = []
        for first, following in zip(leaders, [*leaders[1:], end], strict=True):
            last = following - 1
            steps = [step for step in self.steps[first:following] if step is not None]
            control = self.controls.get(last, Fallthrough(following))
            block = Block(first, last, steps, control)
            self.blocks[first] = block
            self.block_of.extend([block] * (following - first))
        self.meets = [False] * end
        for pc in reversed(range(end)):
            block = self.block_of[pc]
            later = pc < block.last and self.meets[pc + 1]
            self.meets[pc] = later or (self.members[pc] is not None and self.steps[pc] is not None)


class State(Enum):
    """The progress of a batch: it can run on, all of its lanes have exited, or none can continue on its own."""

    RUNNING = auto()
    ENDED = auto()
    STUCK = auto()


class Scheduler:
    """Runs the decoded entry on the live lanes of a machine until all have exited."""

    def __init__(
        self, machine: Machine, code: Code, transfers: Transfers, limit: int, max_instructions: int | None
    ) -> None:
        self.machine = machine
        self.code = code
        self.transfers = transfers
        self.waiters = Waiters()
        self.waits: Counter[int] = Counter()
        self.barriers = Barriers(machine, code.instructions)
        self.ready: dict[int, Array | None] = {}
        self.parked: dict[int, Array] = {}
        self.issued = [0] * len(code.instructions)
        self._limit = limit
        self._blocks_run = 0
        self._until = inf
        self._max_instructions = max_instructions
        self._left: float = inf if max_instructions is None else max_instructions
        self._turn = 0
        self._stalled = 0
        self._fruitless = 0
        self._progress = -1
        self._runs: dict[tuple[int, Group], list[Bound]] = {}
        self._bound_steps = 0

    def run(self) -> None:
        """Run one batch. Raises DeadlockError and what the instructions raise."""
        self.begin()
        if self.advance() is not State.ENDED:
            raise self.deadlock()

    def begin(self) -> None:
        """A batch begins."""
        self.ready = {self.code.first: None}
        self.waiters.clear()
        self._turn = self._stalled = self._fruitless = 0  # a batch runs the same regardless of what ran before

    def advance(self, most: float = inf) -> "State":
        """Continue for about this many basic blocks. Raises what the instructions raise."""
        self._until = self._blocks_run + most
        self._fruitless = 0
        if self.waiters:
            self._wake()  # effects of other launches on the same multiprocessors
        if not self._can_run():
            return State.STUCK
        while self.ready:
            pc, mask = self._pick()
            if mask is None:
                self._converged(pc)
            else:
                self._diverged(pc, mask)
            self._blocks_run += 1
            if self.waiters:
                self._serve_waiters()
            if not self._can_run():
                return State.STUCK
            if self._blocks_run > self._limit or self._left < 0:
                raise self._too_long(pc)
            if self._blocks_run >= self._until:
                break
        return State.RUNNING if self.ready else State.ENDED

    def _can_run(self) -> bool:
        """Whether any lane can continue, if necessary after data has arrived, or all have exited."""
        if not self.ready and self.machine.live_count:
            self._retry_parked()
            while not self.ready and self._unblock():
                pass
        return bool(self.ready) or not self.machine.live_count

    def add(self, pc: int, mask: Array) -> None:
        """Let lanes continue at an instruction."""
        if not mask.any():
            return
        waiting = self.ready.get(pc)
        self.ready[pc] = mask if waiting is None else waiting | mask

    def park(self, wait: Wait, mask: Array) -> None:
        """Let lanes wait until `wait` allows them to continue."""
        self.waits[self.code.instructions[wait.pc].line] += self.live_warps(mask)
        self.waiters.park(wait, mask)

    def _serve_waiters(self) -> None:
        """Wake lanes after a change; if others spin for long, let what the lanes wait for arrive."""
        self._stalled += 1
        if self.transfers.mbarriers.changed:
            self._wake()
        elif self._stalled >= TURN and self.transfers.is_flying:
            self._stalled = 0
            if self.transfers.deliver(self.waiters.wanted_cells()):
                self._wake()

    def _wake(self) -> None:
        self.transfers.mbarriers.changed = False
        if self.waiters.wake(self.add):
            self._stalled = 0

    def _unblock(self) -> bool:
        """No lane can continue: let data arrive, or let lanes give up waiting; returns whether anything happened."""
        if not self.waiters:
            return False
        if self.transfers.deliver(self.waiters.wanted_cells()):
            self._wake()
            return True
        progress = self.transfers.mbarriers.progress + self.barriers.progress
        self._fruitless = self._fruitless + 1 if progress == self._progress else 0
        self._progress = progress
        return self._fruitless < _FRUITLESS and self.waiters.give_up(self.add)

    def counts(self) -> Counter[str]:
        """Instructions issued by warps, by opcode, over all runs."""
        result: Counter[str] = Counter()
        for block in self.code.blocks.values():
            for pc in range(block.first, block.last + 1):
                total = block.runs + self.issued[pc]
                if total:
                    result[self.code.instructions[pc].opcode] += total
        return result

    def exited(self) -> None:
        """Complete barriers that only waited for lanes that have now exited."""
        self.barriers.release(self.add)
        self.transfers.mbarriers.changed = True

    def live_warps(self, mask: Array | None) -> int:
        """Warps with at least one lane in a mask (None: live)."""
        lanes = self.machine.live if mask is None else mask
        return self.machine.warps if lanes is None else int(np.count_nonzero(warp_words(lanes)))

    def _pick(self) -> tuple[int, Array | None]:
        ready = self.ready
        if len(ready) == 1:
            pc, mask = ready.popitem()
            if mask is not None and int(np.count_nonzero(mask)) == self.machine.live_count:
                mask = None
            return pc, mask
        self._turn += 1
        phase = self._turn % TURN
        order = sorted(ready)
        pc = order[0] if phase < TURN - GIVE_WAY else order[phase % len(order)]
        return pc, ready.pop(pc)

    def _converged(self, pc: int) -> None:
        block = self.code.blocks.get(pc)
        if block is None:
            self._diverged(pc, self.machine.live_mask())
            return
        warps = self.live_warps(None)
        blocks = self.code.blocks
        while True:
            for run in block.whole():
                run()
            block.runs += warps
            self._left -= warps * block.length
            self._blocks_run += 1
            target = block.control.converged(self)
            if target is None:
                return
            block = blocks[target]
            if self._blocks_run > self._limit or self._left < 0:
                raise self._too_long(block.first)
            if self._blocks_run >= self._until:
                self.ready[target] = None
                return

    def _diverged(self, pc: int, mask: Array) -> None:
        block = self.code.block_of[pc]
        group = self.machine.groups.of(mask)
        if self.parked or not (group.whole or self.code.meets_nobody(pc)):
            self._step_by_step(pc, block, mask)
            return
        for run in self._bound(pc, block, group):
            run()
        if pc == block.first:
            block.runs += group.warps
        else:
            for number in range(pc, block.last + 1):
                self.issued[number] += group.warps
        self._left -= group.warps * (block.last + 1 - pc)
        block.control.diverged(self, group.mask)

    def _bound(self, pc: int, block: Block, group: Group) -> list[Bound]:
        """The steps from an instruction to the end of its block, bound to a group of lanes."""
        key = pc, group
        found = self._runs.get(key)
        if found is None:
            steps = [step for step in self.code.steps[pc : block.last + 1] if step is not None]
            if self._bound_steps > _BOUND_STEPS:
                self._runs.clear()
                self._bound_steps = 0
            self._bound_steps += len(steps)
            found = self._runs[key] = [
                step.bind(group) if isinstance(step, LaneStep) else partial(step, group.mask) for step in steps
            ]
        return found

    def _step_by_step(self, pc: int, block: Block, mask: Array) -> None:
        """Run a block in which lanes may have to wait for others of their warp."""
        steps, members = self.code.steps, self.code.members
        warps = self.live_warps(mask)
        for number in range(pc, block.last + 1):
            wanted, step = members[number], steps[number]
            if wanted is not None and step is not None:
                mask = self.meet(number, mask, wanted)
                if not mask.any():
                    return
                warps = self.live_warps(mask)
            self.issued[number] += warps
            self._left -= warps
            if step is not None:
                step(mask)
        block.control.diverged(self, mask)

    def meet(self, pc: int, mask: Array, members: Array) -> Array:
        """Park the lanes of warps whose member masks name live lanes that have not arrived; the others continue."""
        earlier = self.parked.pop(pc, None)
        here = mask if earlier is None else mask | earlier
        words = warp_words(here)
        if bool(((words == 0) | (words == FULL_WARP)).all()):
            return here  # only whole warps: every lane named is here
        lanes = here.reshape(-1, WARP)
        bits = (np.uint32(1) << np.arange(WARP, dtype=np.uint32))[None, :]
        # every lane of a rendezvous names the same members; absent lanes do not count
        named = np.bitwise_or.reduce(np.where(lanes, members.reshape(-1, WARP), np.uint32(0)), axis=1)
        wanted = (named[:, None] & bits) != 0
        if self.machine.live is not None:
            wanted &= self.machine.live.reshape(-1, WARP)
        complete = ~(wanted & ~lanes).any(axis=1)
        going = (lanes & complete[:, None]).reshape(-1)
        waiting = here & ~going
        if waiting.any():
            self.parked[pc] = waiting
        return going

    def _retry_parked(self) -> None:
        """Parked lanes may continue when those they waited for have exited."""
        for pc, mask in list(self.parked.items()):
            del self.parked[pc]
            wanted = self.code.members[pc]
            if wanted is not None:
                self.add(pc, self.meet(pc, mask, wanted))

    def deadlock(self) -> DeadlockError:
        """The error that states where all lanes wait, and for what."""
        places: list[str] = []
        first: Instruction | None = None
        waiting = [(pc, mask, "its warp") for pc, mask in self.parked.items()]
        waiting += [(pc, mask, f"barrier {number}") for number, pc, mask in self.barriers.waiting()]
        waiting += self.waiters.waiting()
        for pc, mask, what in sorted(waiting, key=lambda entry: entry[0]):
            instruction = self.code.instructions[pc]
            first = first or instruction
            lane = int(np.flatnonzero(mask)[0])
            count = int(np.count_nonzero(mask))
            places.append(
                f"line {instruction.line} `{instruction.text}`: {count} threads wait for {what}, "
                f"the first is {self.machine.describe(lane)}"
            )
        message = "deadlock, no thread can go on; " + "; ".join(places)
        return DeadlockError(message, first.line if first else None, first.text if first else None)

    def _too_long(self, pc: int) -> StepLimitError:
        instruction = self.code.instructions[min(pc, len(self.code.instructions) - 1)]
        spent, option = f"{self._limit} basic blocks", "max_blocks"
        if self._left < 0:
            spent, option = f"{self._max_instructions} instructions", "max_instructions"
        return StepLimitError(
            f"still running after {spent}; raise the launch's {option} if that is expected",
            instruction.line,
            instruction.text,
        )

"""Layout conversion inside warps: register exchanges around one shuffle a register.

Both layouts are linear, so for each place (register r, thread tau) of the destination a source register
rho = P r + N tau and a source lane sigma = S r + M tau exist (+ is XOR). A shuffle offers one register of each source
lane, so destination registers are filled in rounds t: thread tau receives register r = t + H tau, and the source lane
offers the same register to all who read it. That needs N tau to be a function of M tau; H and the choice among
replicas of the source are made such that it is. Then
    before: source register r <- r + G thread   (conditional exchanges)
    round t: shuffle of register F t from lane M tau + S t
    after:  destination register r <- r + H thread.
Source of the idea: Linear Layouts, arXiv 2505.23819, section on warp shuffles; the general construction is new here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ir.records import dataclass
from lowering.layouts.f2 import Bases, Echelon, apply, images, invert, kernel
from lowering.layouts.layout import LANE_BITS, Layout
from lowering.layouts.shapes import without_replicas


class Exchange(NamedTuple):
    """Threads whose number has odd parity under `mask` take register r ^ xor for register r.

    `mask` is over the thread number in the CTA (lane bits, then warp bits).
    """

    mask: int
    xor: int


class Round(NamedTuple):
    """Value t of the rounds is register `register` (after `before`) of lane (lane map of the thread) ^ `lane`."""

    register: int
    lane: int


@dataclass(frozen=True, slots=True)
class ShuffleSteps:
    """`before` on the source registers, one round a value, `after` on the values; register r is value reg_map[r].

    `lane_map` are the bases of the source lane over the thread's lane and warp bits. With `butterfly` it is the
    identity: the source lane is lane ^ round.lane, and rounds with lane 0 need no shuffle.
    """

    before: tuple[Exchange, ...]
    lane_map: Bases
    butterfly: bool
    rounds: tuple[Round, ...]
    after: tuple[Exchange, ...]
    reg_map: tuple[int, ...]

    @property
    def shuffles(self) -> int:
        """Shuffle instructions of a thread, for values of at most 32 bits."""
        return sum(1 for r in self.rounds if r.lane or not self.butterfly)

    @property
    def places(self) -> int:
        """Integer instructions of a thread that compute its source lane and its exchanges.

        A shift, a mask and an OR for each run of bits that move by the same distance, an XOR a round; a parity and a
        comparison for each exchange. Source: `shuffle` in lowering/convert/tileas_to_nvgpu/compute.py.
        """
        moves = {base.bit_length() - k for k, base in enumerate(self.lane_map) if base}
        lanes = 0 if self.butterfly else 3 * len(moves) - 1 + sum(1 for r in self.rounds if r.lane)
        return lanes + 2 * (len(self.before) + len(self.after))

    def selects(self, source_registers: int) -> int:
        """Select instructions of a thread."""
        return len(self.before) * source_registers + len(self.after) * len(self.rounds)


class _Routes:
    """Linear maps destination place -> source place: columns of register bits and of thread bits."""

    __slots__ = ("free", "reg_lane", "reg_reg", "thread_lane", "thread_reg")

    def __init__(self, reg: list[tuple[int, int]], thread: list[tuple[int, int]], free: list[tuple[int, int]]):
        self.reg_reg, self.reg_lane = [p for p, _ in reg], [s for _, s in reg]
        self.thread_reg, self.thread_lane = [p for p, _ in thread], [s for _, s in thread]
        self.free = free  # source places (register, lane) that hold the same element as (0, 0)


def _routes(src: Layout, dst: Layout) -> _Routes | None:
    """Where each destination place finds its element, in its own thread if possible; None if in another warp."""
    registers = len(src.reg)
    own, all_lanes = Echelon(src.reg), Echelon(src.reg + src.lane)

    def split(mask: int) -> tuple[int, int]:
        return mask & ((1 << registers) - 1), mask >> registers

    def find(wanted: int, at_home: int, lane: int) -> tuple[int, int] | None:
        near = own.solve(wanted ^ at_home)
        if near is not None:
            return near, lane
        far = all_lanes.solve(wanted if lane else wanted ^ at_home)
        return None if far is None else split(far)

    reg = [find(base, 0, 0) for base in dst.reg]
    thread = [find(d, s, 1 << k) for k, (d, s) in enumerate(zip(dst.lane, src.lane, strict=True))]
    thread += [find(d, s, 0) for d, s in zip(dst.warp, src.warp, strict=True)]
    found_reg, found_thread = [x for x in reg if x], [x for x in thread if x]
    if len(found_reg) < len(reg) or len(found_thread) < len(thread):
        return None
    return _Routes(found_reg, found_thread, [split(mask) for mask in kernel(src.reg + src.lane)])


def _separate(routes: _Routes) -> list[int] | None:
    """Make the offered register a function of the source lane. Returns H: register XOR of each thread bit.

    None if a warp holds too little of the tile: one lane would have to offer two registers in one round.

    Lane directions v that read one lane but different registers of it are sent to different lanes: by taking another
    replica of the source (free), or by receiving another register in that round (H).
    """
    lane_n, lane_m = routes.thread_reg[:LANE_BITS], routes.thread_lane[:LANE_BITS]
    shift = [0] * len(routes.thread_reg)
    same_lane = kernel(lane_m)
    clash, harmless = _split_clashes(same_lane, lane_n)
    if not clash:
        return shift
    duals = _duals(clash, harmless)
    image = Echelon(lane_m)
    options = [(lane, 0, (reg, lane)) for reg, lane in routes.free]
    options += [(lane, 1 << j, (0, 0)) for j, lane in enumerate(routes.reg_lane)]
    chosen = [option for option in options if image.add(option[0])][: len(clash)]
    if len(chosen) < len(clash):
        return None
    for mask, (_, registers, (free_reg, free_lane)) in zip(duals, chosen, strict=True):
        for k in range(LANE_BITS):
            if mask >> k & 1:
                shift[k] ^= registers
                routes.thread_reg[k] ^= free_reg
                routes.thread_lane[k] ^= free_lane
    return shift


def _split_clashes(same_lane: Sequence[int], lane_n: Sequence[int]) -> tuple[list[int], list[int]]:
    """Basis of the lane directions that read one lane: those that differ in the register, those that do not."""
    form = Echelon()
    clash: list[int] = []
    harmless: list[int] = []
    for vector in same_lane:
        rest, mask = form.reduce(apply(lane_n, vector))
        if rest:
            form.add(apply(lane_n, vector))
            clash.append(vector)
        else:
            harmless.append(vector ^ apply(clash, mask))
    return clash, harmless


def _duals(clash: Sequence[int], harmless: Sequence[int]) -> list[int]:
    """For each clash vector, the lane mask whose parity is 1 on it and 0 on all the other vectors."""
    form = Echelon([*clash, *harmless])
    basis = [*clash, *harmless, *(1 << k for k in range(LANE_BITS) if form.add(1 << k))]
    coordinates = invert(tuple(basis))
    return [sum(1 << k for k in range(LANE_BITS) if coordinates[k] >> i & 1) for i in range(len(clash))]


def _exchanges(columns: Sequence[int]) -> tuple[Exchange, ...]:
    """Fewest conditional exchanges whose XOR, over the thread bits set, is that of `columns`."""
    form = Echelon()
    basis: list[int] = []
    masks: list[int] = []
    for k, column in enumerate(columns):
        rest, mask = form.reduce(column)
        if rest:
            mask ^= 1 << len(basis)
            form.add(column)
            basis.append(column)
            masks.append(0)
            mask = 1 << (len(basis) - 1)
        for i in range(len(basis)):
            if mask >> i & 1:
                masks[i] |= 1 << k
    return tuple(Exchange(mask, xor) for mask, xor in zip(masks, basis, strict=True))


def shuffle_steps(src: Layout, dst: Layout) -> ShuffleSteps | None:
    """Steps that turn `src` into `dst` without leaving a warp, one shuffle a register.

    None where an element must cross warps, or if that is not enough (never if each warp holds the same part of the tile
    in both layouts).
    """
    slim, reg_map = without_replicas(dst)
    routes = _routes(src, slim)
    if routes is None:
        return None
    shift = _separate(routes)
    if shift is None:
        return None
    offered = [n ^ apply(routes.reg_reg, h) for n, h in zip(routes.thread_reg, shift, strict=True)]
    lane_map = tuple(m ^ apply(routes.reg_lane, h) for m, h in zip(routes.thread_lane, shift, strict=True))
    threads = len(lane_map)
    place = [lane | (1 << k if k >= LANE_BITS else 0) for k, lane in enumerate(lane_map)]
    form = Echelon([*place, *(1 << k for k in range(threads))])
    gather: list[int] = []
    for k in range(threads):
        mask = form.solve(1 << k)
        gather.append(apply(offered, (mask or 0) & ((1 << threads) - 1)))
    register = tuple(p ^ apply(gather, s) for p, s in zip(routes.reg_reg, routes.reg_lane, strict=True))
    rounds = tuple(map(Round, images(register), images(routes.reg_lane)))
    identity = tuple(1 << k if k < LANE_BITS else 0 for k in range(threads))
    return ShuffleSteps(_exchanges(gather), lane_map, lane_map == identity, rounds, _exchanges(shift), reg_map)


def register_permutation(src: Layout, dst: Layout) -> tuple[int, ...] | None:
    """For every destination register the source register of the same thread that holds its element, or None."""
    if src.lane != dst.lane or src.warp != dst.warp:
        return None
    form = Echelon(src.reg)
    columns = [form.solve(base) for base in dst.reg]
    if None in columns:
        return None
    return tuple(images(column for column in columns if column is not None))

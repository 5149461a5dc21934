"""Registers by liveness: the registers that an agent's code needs determine how many CTAs fit an SM.

The nvvm level gives a CTA all registers of an SM (or of the share that a hint asks for), and its producer a fixed
number. Liveness of the selected instructions gives the real demand: a small producer leaves more to the consumers; and
if another CTA fits, in shared memory and warps too, each CTA gets its share of that many.
"""

from __future__ import annotations

from math import ceil, prod

from ir.dialects import llvm
from ir.dialects.nvvm import SetMaxRegister, TensorLd, TensorLoad, TensorLoadCluster, TensorMma, WgmmaMmaAsync
from lowering.atoms.barrier import (
    BEGINNER_REGISTERS,
    CORRECTION_IN_LOOPS,
    CORRECTION_REGISTERS,
    LEAST_REGISTERS,
    PRODUCER_REGISTERS,
    REGISTER_MARGIN,
    REGISTER_STEP,
    Shares,
    register_shares,
)
from lowering.ptx.instructions import plain_text
from lowering.ptx.machine import MachineBlock
from lowering.ptx.registers import Liveness
from lowering.targets import target
from lowering.targets.occupancy import Occupancy, occupancy

SMALL = 40
"""The most registers that all values of a producer's block may take for `LEAST_REGISTERS` to be enough: tensor copies
read coordinates from uniform registers. ptxas 13.5 spills in none of 33 real kernels for sm_90a with at most 40, and 88
bytes in one with 50, which issues 32 copies in a row: it computes their coordinates ahead.
"""

COPIES = (TensorLoad, TensorLoadCluster)
MANY, MANY_REGISTERS = 32, 32
"""From this many tensor copies in a row, a producer keeps this many registers: ptxas 13.5 computes their coordinates
ahead. In 24 registers it spills 12 bytes in one of two kernels with 32 (tvd, sm_100a) and 8 in the other (LayerNorm,
backward, sm_90a), none in one with 64 (RMSNorm) and in those with 17 and fewer; in 32 registers none.
"""

BESIDE_PRODUCTS = 26
"""Registers added to those of the products of a warpgroup, which ptxas does not spill: with fewer at launch ptxas 13.5
rejects the kernel (C7602: 64 sums want 90 registers, 32 sums and 4 registers of A 62; C7600 after a softmax).
"""

UNIFORM = 9
"""How many values of a thread that issues products in tensor memory are in uniform registers: most are descriptors. If
values take 25 to 41 registers, ptxas 13.5 spills nothing in 32 registers and 4 to 104 bytes in 24; if they take 50, it
spills 60 bytes in 40 and nothing in 48 (attention of 7 shapes, sm_100a).
"""
IN_LOOPS, UNIFORM_IN_LOOPS = 34, 5
"""If its loop is inside a loop over tiles: the values that 32 registers do for, and how many of more are in uniform
ones. ptxas 13.5 spills none in 32 registers with up to 34 (ten GEMMs), 4 and 12 bytes with 35 and 39 (attention), which
fit in 40, as 42 do; 8 bytes in 40 with 46, which fit in 48, as 53 do.
"""


def grant(func: llvm.Func, blocks: list[MachineBlock], live: Liveness) -> None:
    """Set how many `registers` a thread needs. If agents reallocate registers, set `maxnreg` and the counts of
    setmaxnreg, in `func` and in `blocks`, for the largest number of CTAs that fit an SM.
    """
    asked, func.attributes["minctas"] = func.minctas, possible(func, blocks, live)
    sides = agents(blocks)
    needs = {role: live.pressure(side) + REGISTER_MARGIN for role, side in sides.items()}
    func.attributes["registers"] = max(needs.values())
    if not func.consumers or "increase" not in needs:
        if func.maxnreg and func.minctas < asked:
            func.attributes["maxnreg"] = at_launch(func, max(func.minctas, 1))
        return
    before, need, threads = needs[""], needs["increase"], prod(func.block)
    own = {role: kept(side, live) for role, side in sides.items() if role not in ("", "increase")}
    least = own["decrease"]
    if "correct" in own:  # by as many threads as compute
        others = threads - func.consumers
        least = (own["correct"] * func.consumers + least * (others - func.consumers)) / others
    held = ceil(need * func.consumers + least * (threads - func.consumers))
    shares = most_shared(func, before, need, least)
    func.attributes["maxnreg"] = shares.launch
    if not shares.moved:
        leave_out(blocks)
        return
    func.attributes["registers"] = max(before, -(-held // threads))
    counts = {"increase": shares.consumer, **(own if len(own) > 1 else {"decrease": shares.other})}
    for role, block in ((role, block) for role, side in sides.items() for block in side):
        for op in [op for op in block.source.ops if isinstance(op, SetMaxRegister)]:
            op.attributes["regCount"] = counts[role]
        for each in block.code:
            if isinstance(each.origin, SetMaxRegister):
                each.text = plain_text(each.origin)


def leave_out(blocks: list[MachineBlock]) -> None:
    """Remove each setmaxnreg: all threads may have as many registers as a thread can."""
    for block in blocks:
        for op in [op for op in block.source.ops if isinstance(op, SetMaxRegister)]:
            block.source.ops.remove(op)
        block.code = [each for each in block.code if not isinstance(each.origin, SetMaxRegister)]


def possible(func: llvm.Func, blocks: list[MachineBlock], live: Liveness) -> int:
    """The CTAs an SM that a hint asks for, or as many as leave registers for the products of a warpgroup: ptxas
    requires those of one instruction at launch, and those of all products in flight where they run.
    """
    products = [op for block in blocks for op in block.source.ops if isinstance(op, WgmmaMmaAsync)]
    if not products:
        return func.minctas
    one = max(len(op.results) + (len(op.a) if len(op.a) > 1 else 0) for op in products)
    held = {value for op in products for value in (*op.results, *op.c, *op.a)}
    together, ctas = live.pressure(blocks, held.__contains__), func.minctas
    moved = any(isinstance(op, SetMaxRegister) for block in blocks for op in block.source.ops)
    while ctas > 1:
        launch = at_launch(func, ctas)
        most = shares_of(func, ctas).consumer if moved else launch
        if min(launch - one, most - together) >= BESIDE_PRODUCTS:
            break
        ctas -= 1
    return ctas


def shares_of(func: llvm.Func, ctas: int, least: float = LEAST_REGISTERS) -> Shares:
    """The register shares of one of `ctas` CTAs an SM, with producers keeping `least`."""
    others = prod(func.block) - func.consumers
    return register_shares(func.consumers, others, least, target(func.target).shared_by(ctas))


def lacking(func: llvm.Func) -> int:
    """Registers that the values of a thread need in the order of our code, beyond those that `minctas` leaves it. ptxas
    13.5 spilled 18, 12, 12 and 195 for a shortage of 29, 11, 32 and 77 (GEMM, attention), and once none for 17.
    """
    given = func.maxnreg or at_launch(func, func.minctas) if func.minctas else func.registers
    return max(0, func.registers - REGISTER_MARGIN - given)


def resident(func: llvm.Func) -> Occupancy:
    """The CTAs an SM holds by needed registers; without agents, ptxas decides on the registers."""
    tier = target(func.target)
    registers = min(func.registers, int(tier.registers_per_thread))
    return occupancy(tier, prod(func.block), min(registers, func.maxnreg or registers), func.dynamic_smem)


def at_launch(func: llvm.Func, ctas: int) -> int:
    """Registers a thread starts with, given the CTAs an SM."""
    return int(target(func.target).registers_per_sm) // prod(func.block) // ctas // REGISTER_STEP * REGISTER_STEP


def kept(producer: list[MachineBlock], live: Liveness) -> int:
    """Registers a thread that the producer keeps, and the agents of its warpgroup; or one that scales sums."""
    if any(isinstance(op, TensorLd) for block in producer for op in block.source.ops):
        least = CORRECTION_IN_LOOPS if loops_in_loops(producer) else CORRECTION_REGISTERS
        return max(least, -(-live.pressure(producer) // REGISTER_STEP) * REGISTER_STEP)
    if not any(isinstance(op, TensorMma) for block in producer for op in block.source.ops):
        if max(map(live.together, producer)) > SMALL:
            return PRODUCER_REGISTERS
        copies = max(sum(isinstance(op, COPIES) for op in block.source.ops) for block in producer)
        return LEAST_REGISTERS if copies < MANY else MANY_REGISTERS
    values, inside = live.pressure(producer), loops_in_loops(producer)
    least = BEGINNER_REGISTERS + (REGISTER_STEP if inside and values > IN_LOOPS else 0)
    rest = values - (UNIFORM_IN_LOOPS if inside else UNIFORM)
    return max(least, -(-rest // REGISTER_STEP) * REGISTER_STEP)


def loops_in_loops(blocks: list[MachineBlock]) -> bool:
    """Does a loop stand in another one?"""
    places = {block.source: place for place, block in enumerate(blocks)}
    ends = [(places[edge.to], place) for place, block in enumerate(blocks) for edge in block.edges if edge.to in places]
    loops = [(first, last) for first, last in ends if first <= last]
    return any(first < begin and end < last for first, last in loops for begin, end in loops)


def most_shared(func: llvm.Func, before: int, need: int, least: float) -> Shares:
    """The shares for the most CTAs an SM that leave `before` registers at launch and `need` to consumers; if it needs
    all registers, for as many CTAs as a hint asks for, otherwise one.
    """
    asked = max(func.minctas, 1)
    most = occupancy(target(func.target), prod(func.block), int(least), func.dynamic_smem).count
    for ctas in range(asked if func.minctas else most, asked, -1):
        shares = shares_of(func, ctas, least)
        if shares.moved and shares.launch >= max(before, least) and shares.consumer >= need:
            return shares
    return shares_of(func, asked, least)


def agents(blocks: list[MachineBlock]) -> dict[str, list[MachineBlock]]:
    """The blocks after each setmaxnreg, by its action, those that load from tensor memory with fewer registers under
    "correct"; those before any of them under "".
    """
    parts: list[tuple[str, list[MachineBlock]]] = [("", [])]
    for block in blocks:
        action = next((op.action for op in block.source.ops if isinstance(op, SetMaxRegister)), "")
        if action:
            parts.append((action, []))
        parts[-1][1].append(block)
    found: dict[str, list[MachineBlock]] = {}
    for action, part in parts:
        loads = any(isinstance(op, TensorLd) for block in part for op in block.source.ops)
        found.setdefault("correct" if loads and action == "decrease" else action, []).extend(part)
    return found

"""Registers by need: what an agent's code keeps in registers says how many CTAs an SM may hold.

The nvvm level gives a CTA all registers of an SM (or of the share that a hint asks for), and its producer what any
needs. Liveness of the selected instructions says how many they need: a small producer leaves more to the consumers; and
where there is room for another CTA, in shared memory and warps too, the CTA is given what one of so many has.
"""

from __future__ import annotations

from math import prod

from ir.dialects import llvm
from ir.dialects.nvvm import SetMaxRegister, WgmmaMmaAsync
from lowering.atoms.barrier import LEAST_REGISTERS, PRODUCER_REGISTERS, REGISTER_STEP, Shares, register_shares
from lowering.ptx.instructions import plain_text
from lowering.ptx.machine import MachineBlock
from lowering.ptx.registers import Liveness
from lowering.targets import Target, target
from lowering.targets.occupancy import occupancy

MARGIN = 40
"""Registers beside those that values take at once in the order of our code. With 25 ptxas 13.5 spills none of 18
kernels for sm_90a (TileGym, examples); with 35 one loop (LayerNorm, forward) gets 5 instructions longer, with 67 none.
"""
SMALL = 40
"""Registers that the values of each block of a producer take together where `LEAST_REGISTERS` are enough: tensor copies
read coordinates from uniform registers. ptxas 13.5 spills in none of 33 real kernels for sm_90a with at most 40, and 88
bytes in one with 50, which starts 32 copies in a row: it computes their coordinates ahead.
"""


BESIDE_SUMS = 26
"""Registers beside the sums of a warpgroup's product: with fewer at launch ptxas 13.5 refuses the kernel (C7602: 64
sums want 90 registers).
"""


def grant(func: llvm.Func, blocks: list[MachineBlock], live: Liveness) -> None:
    """Say how many `registers` a thread needs. Where agents hand them over, set `maxnreg` and the counts of setmaxnreg,
    in `func` and in `blocks`, to what each of the most CTAs that fit an SM may have.
    """
    func.attributes["minctas"] = possible(func, blocks)
    sides = agents(blocks)
    needs = {action: live.pressure(side) + MARGIN for action, side in sides.items()}
    func.attributes["registers"] = max(needs.values())
    if not func.consumers or "increase" not in needs:
        return
    before, need, threads = needs[""], needs["increase"], prod(func.block)
    least = kept(sides["decrease"], live)
    held = need * func.consumers + least * (threads - func.consumers)
    func.attributes["registers"] = max(before, -(-held // threads))
    shares = most_shared(func, target(func.target), before, need, least)
    func.attributes["maxnreg"] = shares.launch
    for block in blocks:
        for op in [op for op in block.source.ops if isinstance(op, SetMaxRegister)]:
            op.attributes["regCount"] = shares.consumer if op.action == "increase" else shares.other
        for each in block.code:
            if isinstance(each.origin, SetMaxRegister):
                each.text = plain_text(each.origin)


def possible(func: llvm.Func, blocks: list[MachineBlock]) -> int:
    """The CTAs an SM that a hint asks for, or as many as leave registers for the largest product of a warpgroup."""
    sums = [len(op.results) for block in blocks for op in block.source.ops if isinstance(op, WgmmaMmaAsync)]
    least = max(sums) + BESIDE_SUMS if sums else 0
    held = int(target(func.target).registers_per_sm) // prod(func.block) // REGISTER_STEP * REGISTER_STEP
    ctas = func.minctas
    while ctas > 1 and held // ctas // REGISTER_STEP * REGISTER_STEP < least:
        ctas -= 1
    return ctas


def kept(producer: list[MachineBlock], live: Liveness) -> int:
    """Registers a thread that the producer keeps."""
    return LEAST_REGISTERS if max(map(live.together, producer)) <= SMALL else PRODUCER_REGISTERS


def most_shared(func: llvm.Func, tier: Target, before: int, need: int, least: int) -> Shares:
    """The shares of the most CTAs an SM that leave `before` registers at launch and `need` to consumers; those of as
    many as a hint asks for, else of one, where it needs them all.
    """
    threads, asked = prod(func.block), max(func.minctas, 1)
    most = occupancy(tier, threads, least, func.dynamic_smem).count
    for ctas in range(asked if func.minctas else most, asked, -1):
        shares = register_shares(func.consumers, threads - func.consumers, least, tier.shared_by(ctas))
        if shares.moved and shares.launch >= max(before, least) and shares.consumer >= need:
            return shares
    return register_shares(func.consumers, threads - func.consumers, least, tier.shared_by(asked))


def agents(blocks: list[MachineBlock]) -> dict[str, list[MachineBlock]]:
    """The blocks behind each setmaxnreg, by its action; those before any of them under ""."""
    found: dict[str, list[MachineBlock]] = {"": []}
    action = ""
    for block in blocks:
        action = next((op.action for op in block.source.ops if isinstance(op, SetMaxRegister)), action)
        found.setdefault(action, []).append(block)
    return found

"""Registers by need: what an agent's code keeps in registers says how many CTAs an SM may hold.

The nvvm level gives a CTA all registers of an SM (or of the share that a hint asks for). Liveness of the selected
instructions says how many it needs; where that leaves room for another CTA, and shared memory and warps do too, the
CTA is given what one of so many has.
"""

from __future__ import annotations

from math import prod

from ir.dialects import llvm
from ir.dialects.nvvm_hopper import SetMaxRegister
from lowering.atoms.barrier import PRODUCER_REGISTERS, Shares, register_shares
from lowering.ptx.hopper import setmaxnreg_text
from lowering.ptx.machine import MachineBlock
from lowering.ptx.registers import Liveness
from lowering.targets import Target, target
from lowering.targets.occupancy import occupancy

MARGIN = 40
"""Registers beside those that values take at once in the order of our code. With 25 ptxas 13.5 spills none of 18
kernels for sm_90a (TileGym, examples); with 35 one loop (LayerNorm, forward) gets 5 instructions longer, with 67 none.
"""


def grant(func: llvm.Func, blocks: list[MachineBlock], live: Liveness) -> None:
    """Say how many `registers` a thread needs. Where agents hand them over, set `maxnreg` and the counts of setmaxnreg,
    in `func` and in `blocks`, to what each of the most CTAs that fit an SM may have.
    """
    needs = {action: live.pressure(side) + MARGIN for action, side in agents(blocks).items()}
    func.attributes["registers"] = max(needs.values())
    if not func.consumers or "increase" not in needs:
        return
    before, need, threads = needs[""], needs["increase"], prod(func.block)
    held = need * func.consumers + PRODUCER_REGISTERS * (threads - func.consumers)
    func.attributes["registers"] = max(before, -(-held // threads))
    shares = None if func.minctas else most_shared(func, target(func.target), before, need)
    if shares is None:
        return
    func.attributes["maxnreg"] = shares.launch
    for block in blocks:
        for op in [op for op in block.source.ops if isinstance(op, SetMaxRegister)]:
            op.attributes["regCount"] = shares.consumer if op.action == "increase" else shares.other
        for each in block.code:
            if isinstance(each.origin, SetMaxRegister):
                each.text = setmaxnreg_text(each.origin)


def most_shared(func: llvm.Func, tier: Target, before: int, need: int) -> Shares | None:
    """The shares of the most CTAs an SM that leave `before` registers at launch and `need` to consumers; None where one
    CTA needs them all.
    """
    threads = prod(func.block)
    for ctas in range(occupancy(tier, threads, PRODUCER_REGISTERS, func.dynamic_smem).count, 1, -1):
        shares = register_shares(func.consumers, threads - func.consumers, tier.shared_by(ctas))
        if shares.moved and shares.launch >= max(before, PRODUCER_REGISTERS) and shares.consumer >= need:
            return shares
    return None


def agents(blocks: list[MachineBlock]) -> dict[str, list[MachineBlock]]:
    """The blocks behind each setmaxnreg, by its action; those before any of them under ""."""
    found: dict[str, list[MachineBlock]] = {"": []}
    action = ""
    for block in blocks:
        action = next((op.action for op in block.source.ops if isinstance(op, SetMaxRegister)), action)
        found.setdefault(action, []).append(block)
    return found

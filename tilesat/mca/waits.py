"""Round trips to global memory in code that is read once from its start to its end."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilesat.mca.listing import Instruction

LOADS = frozenset({"LDG", "LD", "ATOMG", "ATOM"})
"""Global loads and updates with a result; loads of constants, shared and local memory do not count."""
NO_RESULT = frozenset({"ST", "STG", "STS", "STL", "RED", "REDG", "BRA", "EXIT", "SYNCS"})
"""Families whose first operand is not a result."""
_REGISTER = re.compile(r"\bR\d+\b")
_PENDING = re.compile(r"0x([0-9a-f]+)")


def round_trips(code: Sequence[Instruction]) -> int:
    """Serial round trips to global memory: how often code waits for data that it has asked for, everything asked for
    before the wait counting as one trip.

    A wait is the first reading of a register that a load (LDG), or an atomic update with a result (ATOMG), writes; a
    DEPBAR after an LDGSTS; a try-wait on an mbarrier (SYNCS) after a tensor copy (UTMALDG). A loop's body counts once.
    """
    return len(_Trips(iteration=False).read(code))


def serial_loads(iteration: Sequence[Instruction]) -> list[Instruction]:
    """What waits in an iteration of a loop for what the same iteration asked for, as `round_trips` counts it, but that
    a DEPBAR counts where it waits for a group that the iteration committed (LDGDEPBAR) before, not for older ones.
    """
    return _Trips(iteration=True).read(iteration)


class _Trips:
    """What has been asked for and not yet waited for."""

    def __init__(self, iteration: bool):
        self.iteration = iteration
        self.registers: set[str] = set()
        self.copies = self.tensors = False
        self.groups = 0

    def read(self, code: Sequence[Instruction]) -> list[Instruction]:
        """The instructions that wait."""
        found: list[Instruction] = []
        for each in code:
            if self.waits(each):
                found.append(each)
                self.registers.clear()
                self.copies = self.tensors = False
                self.groups = 0
            self.ask(each)
        return found

    def waits(self, each: Instruction) -> bool:
        """Does an instruction wait for what was asked for?"""
        operands = each.operands.split(",")
        read = operands[0 if each.family in NO_RESULT else 1 :]
        if each.family == "SYNCS" and "TRYWAIT" in each.opcode and self.tensors:
            return True
        if each.family == "DEPBAR" and self.copies:
            pending = _PENDING.search(each.operands)
            return not self.iteration or self.groups > (int(pending[1], 16) if pending else 0)
        return any(register in self.registers for text in read for register in _REGISTER.findall(text))

    def ask(self, each: Instruction) -> None:
        """Note what an instruction asks for."""
        operands = each.operands.split(",")
        if each.family in LOADS:
            self.registers |= _written(each.opcode, operands)
        elif each.family not in NO_RESULT:
            self.registers.difference_update(_REGISTER.findall(operands[0]))
        self.copies |= each.family == "LDGSTS"
        self.groups += each.family == "LDGDEPBAR"
        self.tensors |= each.family == "UTMALDG"


def _written(opcode: str, operands: Sequence[str]) -> set[str]:
    """Registers that a load writes: as many after the first as its width says."""
    first = next((operand for operand in operands if _REGISTER.search(operand)), "")
    number = int(_REGISTER.findall(first)[0][1:]) if first else 0
    count = 4 if ".128" in opcode else 2 if ".64" in opcode else 1
    return {f"R{number + i}" for i in range(count)} if first else set()

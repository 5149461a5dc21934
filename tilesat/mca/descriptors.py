"""Of what shape products in tensor memory are: their opcodes do not say, a uniform register does.

tcgen05.mma takes its instruction descriptor in a register, which compilers fill with a number. Here the writes of that
register which reach a product are followed back to numbers; where they are none, or differ, the shape stays unknown.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import replace

from tilesat.mca.listing import Function, Instruction

IN_TENSOR_MEMORY = re.compile(r"^UTC[HQIO]MMA\b")
"""Products in tensor memory: of 16 bits and tf32, of 8 bits and narrower, of bytes, of f4."""
MOST = 8
"""Moves from register to register that are followed."""
LEAVES = frozenset({"EXIT", "RET", "KILL", "BRX", "JMX", "BRA", "JMP"})
"""What is not followed by the next instruction unless it is conditional."""
WIDE = {".64": 2, ".WIDE": 2, ".128": 4, ".256": 8}
"""Registers that an instruction writes, by a part of its opcode."""

_DESCRIPTOR = re.compile(r"idesc\[(UR\d+)\]")
_WRITTEN = re.compile(r"\s*(?:U?P\w+,\s*)*(U?R)(\d+)\b")
_HALF = re.compile(r"^[+-]?[\d.]+(e[+-]?\d+)?$")
_NUMBER = re.compile(r"^-?0x[0-9a-f]+$")


def described(function: Function) -> Function:
    """The same function, its products in tensor memory with their descriptors where these are known."""
    code = function.instructions
    products = [at for at, each in enumerate(code) if IN_TENSOR_MEMORY.match(each.opcode)]
    if not products or any(code[at].descriptor is not None for at in products):
        return function
    values = _Values(function)
    found = list(code)
    for at in products:
        register = _DESCRIPTOR.search(code[at].operands)
        if register:
            found[at] = replace(code[at], descriptor=values.constant(at, register[1]))
    return replace(function, instructions=tuple(found))


class _Values:
    """Numbers that registers hold."""

    def __init__(self, function: Function):
        self.code = function.instructions
        self.before: list[list[int]] = [[] for _ in self.code]
        for at, each in enumerate(self.code):
            falls = each.family not in LEAVES or each.predicate or "P" in each.operands.partition("`")[0]
            to = [at + 1] if falls else []
            to += [function.labels[each.target]] if each.target in function.labels else []
            for follow in to:
                if follow < len(self.code):
                    self.before[follow].append(at)

    def constant(self, at: int, register: str, depth: int = MOST) -> int | None:
        """The number that a register holds before an instruction, whichever way led there; None where none is known."""
        if register in ("URZ", "RZ"):
            return 0
        found = {self.written(write, depth) for write in self.writes(at, register)} if depth else {None}
        return found.pop() if len(found) == 1 else None

    def writes(self, at: int, register: str) -> Iterator[int]:
        """The instructions whose result a register may hold before another one. Code that is reached from outside
        without a write counts as none.
        """
        seen, rest = set[int](), list(self.before[at])
        while rest:
            place = rest.pop()
            if place in seen:
                continue
            seen.add(place)
            each = self.code[place]
            if register in _written(each):
                yield place
                if each.predicate in ("", self.code[at].predicate):  # else what was there before may reach too
                    continue
            rest += self.before[place]

    def written(self, at: int, depth: int) -> int | None:
        """The number that an instruction writes."""
        each = self.code[at]
        operands = [part.strip() for part in each.operands.split(",")][1:]
        if each.family == "HFMA2" and operands[:2] == ["-RZ", "RZ"] and all(map(_HALF.match, operands[2:])):
            return int.from_bytes(struct.pack("<ee", float(operands[3]), float(operands[2])), "little")
        moves = each.family in ("MOV", "UMOV", "R2UR", "MOV32I") and ".64" not in each.opcode
        if moves or each.opcode.startswith("IMAD.MOV"):
            source = operands[-1]
            if _NUMBER.match(source):
                return int(source, 16) & 0xFFFFFFFF
            return self.constant(at, source.partition(".")[0], depth - 1)
        return None


def _written(each: Instruction) -> list[str]:
    """The registers that an instruction writes."""
    found = _WRITTEN.match(each.operands)
    if not found or "SETP" in each.opcode or "PLOP3" in each.opcode or each.family in LEAVES:
        return []
    width = next((count for part, count in WIDE.items() if part in each.opcode), 1)
    return [f"{found[1]}{int(found[2]) + part}" for part in range(width)]

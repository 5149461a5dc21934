"""A disassembly (`nvdisasm -c -hex`) as functions of instructions, with what the compiler tells the schedulers.

The upper half of each instruction's 128 bits holds its control codes: cycles to wait before the next one is issued,
the barriers that it sets when its result is written or its operands are read, the barriers that it waits for. Source:
Z. Jia et al., Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking, arXiv 1804.06826, section 2.1; the
places are the same in all code of ptxas 13.5 for sm_80 to sm_120 that was looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ir.core import TileError

NO_BARRIER = 7
STALL, WRITES, READS, WAITS = 41, 46, 49, 52
"""First bits of the fields, in the upper 64: 4 bits of cycles, 3 and 3 of barriers, a mask of 6."""
NO_CODES = NO_BARRIER << WRITES | NO_BARRIER << READS
"""The upper half of an instruction whose bits a listing does not show."""

_FUNCTION = re.compile(r"^\s*\.section\s+\.text\.([^,]+),")
_LABEL = re.compile(r"^(\.L_\w+|\$[\w$]+):")
_INSTRUCTION = re.compile(
    r"^\s*/\*(?P<address>[0-9a-f]{4,})\*/\s+(?P<predicate>@!?U?P\w+\s+)?(?P<opcode>[A-Z][\w.]*)(?P<operands>[^;]*);"
)
_UPPER = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/\s*$")
_LINE = re.compile(r"^\s*//## File .*, line (\d+)")
_TARGET = re.compile(r"`\((\.L_\w+|\$[\w$]+)\)")


@dataclass(frozen=True)
class Instruction:
    """One instruction: what it is, and its control codes. writes, reads: barriers that it sets, or NO_BARRIER; line:
    what it was made of, where the listing says so, else 0; descriptor: the instruction descriptor of a product in
    tensor memory, where `mca.descriptors` has found it.
    """

    address: int
    predicate: str
    opcode: str
    operands: str
    target: str
    """The label that it may go to or calls, or empty."""
    stall: int
    writes: int
    reads: int
    waits: frozenset[int]
    line: int = 0
    descriptor: int | None = None

    @property
    def family(self) -> str:
        """The first part of the opcode."""
        return self.opcode.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.predicate}{self.opcode}{self.operands}".strip()


@dataclass(frozen=True)
class Function:
    """A function of a cubin; `labels`: the number of the instruction behind each."""

    name: str
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]


def functions(text: str) -> list[Function]:
    """The functions of a disassembly, in its order; without -hex its instructions have no control codes.

    Raises TileError where there is no code.
    """
    found: list[tuple[str, list[Instruction], dict[str, int]]] = []
    begun: tuple[re.Match[str], int] | None = None
    made_of = 0
    for line in text.splitlines():
        section, label, upper = _FUNCTION.match(line), _LABEL.match(line), _UPPER.match(line)
        instruction = _INSTRUCTION.match(line)
        if begun and found and (section or label or upper or instruction):
            found[-1][1].append(_instruction(*begun, int(upper[1], 16) if upper else NO_CODES))
            begun = None
        if section:
            found.append((section[1], [], {}))
        elif label and found:
            found[-1][2][label[1]] = len(found[-1][1])
        begun = (instruction, made_of) if instruction else begun
        if located := _LINE.match(line):
            made_of = int(located[1])
    if begun and found:
        found[-1][1].append(_instruction(*begun, NO_CODES))
    made = [Function(name, tuple(code), labels) for name, code, labels in found if code]
    if not made:
        raise TileError("the file holds no code that nvdisasm can show", hint="pass a cubin of one target, or PTX")
    return made


def _instruction(found: re.Match[str], line: int, upper: int) -> Instruction:
    target = _TARGET.search(found["operands"])
    mask = upper >> WAITS
    return Instruction(
        int(found["address"], 16), found["predicate"] or "", found["opcode"], found["operands"].rstrip(),
        target[1] if target else "", upper >> STALL & 15, upper >> WRITES & 7, upper >> READS & 7,
        frozenset(barrier for barrier in range(6) if mask >> barrier & 1), line,
    )  # fmt: skip

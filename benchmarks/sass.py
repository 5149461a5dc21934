"""What the assembled code holds: loops of an nvdisasm listing and their instruction mix."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_LABEL = re.compile(r"^(\.L_\w+):")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<mnemonic>[A-Z][A-Z0-9_.]*)(?P<rest>[^;]*);")
_REGISTER = re.compile(r"\bR\d+\b")
_TARGET = re.compile(r"\(?(\.L_\w+)\)?")

TENSOR_CORE = (
    "HMMA",
    "IMMA",
    "QMMA",
    "OMMA",
    "BMMA",
    "DMMA",
    "HGMMA",
    "IGMMA",
    "QGMMA",
    "UTCHMMA",
    "UTCQMMA",
    "UTCIMMA",
)
"""First parts of SASS mnemonics that run on tensor cores (nvdisasm, sm_80 to sm_120)."""


@dataclass(frozen=True)
class Loop:
    """The instructions from a label to the last branch back to it, in order."""

    label: str
    start: int
    mnemonics: tuple[str, ...]

    @property
    def length(self) -> int:
        """Instructions of one trip."""
        return len(self.mnemonics)

    def holds(self, other: Loop) -> bool:
        """Whether another loop lies inside this one."""
        inside = self.start <= other.start and other.start + other.length <= self.start + self.length
        return inside and self.length > other.length

    @property
    def tensor_core(self) -> int:
        """MMA instructions of one trip."""
        return sum(is_tensor_core(mnemonic) for mnemonic in self.mnemonics)

    @property
    def mix(self) -> Counter[str]:
        """Counts by the mnemonic's first part (HMMA, LDSM, LDGSTS, ...)."""
        return Counter(mnemonic.partition(".")[0] for mnemonic in self.mnemonics)


def is_tensor_core(mnemonic: str) -> bool:
    """Whether an instruction is an MMA."""
    return mnemonic.partition(".")[0] in TENSOR_CORE


def loops(listing: str) -> list[Loop]:
    """Every loop of an `nvdisasm -c` listing, one a label that a later branch goes back to."""
    starts: dict[str, int] = {}
    mnemonics: list[str] = []
    ends: dict[str, int] = {}
    for line in listing.splitlines():
        label = _LABEL.match(line)
        if label:
            starts[label[1]] = len(mnemonics)
            continue
        instruction = _INSTRUCTION.match(line)
        if not instruction:
            continue
        mnemonics.append(instruction["mnemonic"])
        if mnemonics[-1].partition(".")[0] in ("BRA", "BRX"):
            target = _TARGET.search(instruction["rest"])
            if target and target[1] in starts:
                ends[target[1]] = len(mnemonics)
    found = [Loop(label, starts[label], tuple(mnemonics[starts[label] : end])) for label, end in ends.items()]
    # An endless branch to itself pads the code after EXIT; it is no loop of the program.
    return [loop for loop in found if loop.length > 1]


def mnemonics(listing: str) -> list[str]:
    """Every instruction of a listing, in order."""
    return [match["mnemonic"] for match in map(_INSTRUCTION.match, listing.splitlines()) if match]


def round_trips(listing: str) -> int:
    """Serial round trips to global memory: how often the code, read once from its start to its end, waits for data that
    it has asked for, everything asked for before the wait counting as one trip.

    A wait is the first reading of a register that a load (LDG), or an atomic update with a result (ATOMG), writes; a
    DEPBAR after an LDGSTS; a try-wait on an mbarrier (SYNCS) after a tensor copy (UTMALDG). A loop's body counts once;
    loads of constants, shared and local memory do not count.
    """
    pending: set[str] = set()
    copies = tensors = False
    trips = 0
    for line in listing.splitlines():
        found = _INSTRUCTION.match(line)
        if not found:
            continue
        name = found["mnemonic"].partition(".")[0]
        operands = found["rest"].split(",")
        stores = name in ("ST", "STG", "STS", "STL", "RED", "REDG", "BRA", "EXIT", "SYNCS")
        read = {register for text in operands[0 if stores else 1 :] for register in _REGISTER.findall(text)}
        waits = bool(read & pending)
        waits |= copies and name == "DEPBAR"
        waits |= tensors and name == "SYNCS" and "TRYWAIT" in found["mnemonic"]
        if waits:
            trips += 1
            pending.clear()
            copies = tensors = False
        if name in ("LDG", "LD", "ATOMG", "ATOM"):
            pending |= _written(found["mnemonic"], operands)
        elif not stores:
            pending.difference_update(_REGISTER.findall(operands[0]))
        copies |= name == "LDGSTS"
        tensors |= name == "UTMALDG"
    return trips


def _written(mnemonic: str, operands: list[str]) -> set[str]:
    """Registers that a load writes: as many after the first as its width says."""
    first = next((operand for operand in operands if _REGISTER.search(operand)), "")
    number = int(_REGISTER.findall(first)[0][1:]) if first else 0
    count = 4 if ".128" in mnemonic else 2 if ".64" in mnemonic else 1
    return {f"R{number + i}" for i in range(count)} if first else set()


def innermost(listing: str) -> list[Loop]:
    """The loops that hold no other, in order of the code."""
    found = loops(listing)
    return [loop for loop in found if not any(loop.holds(other) for other in found)]


def mma_loop(listing: str) -> Loop | None:
    """Of the innermost loops with MMA instructions the one with the most, and of these the shortest."""
    with_mma = [loop for loop in loops(listing) if loop.tensor_core]
    innermost = [loop for loop in with_mma if not any(loop.holds(other) for other in with_mma)]
    return min(innermost, key=lambda loop: (-loop.tensor_core, loop.length)) if innermost else None

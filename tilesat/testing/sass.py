"""Loops of assembled code, found by control flow, by what they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from lowering.targets import Target
from tilesat.mca.flow import Loop, loops
from tilesat.mca.listing import Instruction, functions
from tilesat.mca.timing import timing
from tilesat.mca.waits import serial_loads
from tilesat.testing.conditions import ExpectationError, Quantity, check, hidden

__tracebackhide__ = hidden

OPCODES: dict[str, tuple[str, ...]] = {
    "wgmma": ("HGMMA", "IGMMA", "QGMMA", "BGMMA"), "mma": ("HMMA", "IMMA", "QMMA", "OMMA", "DMMA", "BMMA"),
    "tcgen05.mma": ("UTC*MMA",), "ldmatrix": ("LDSM",), "stmatrix": ("STSM",), "cp.async": ("LDGSTS",),
    "cp.async.bulk.tensor": ("UTMALDG", "UTMASTG"), "ld.global": ("LDG",), "st.global": ("STG",),
    "ld.shared": ("LDS",), "st.shared": ("STS",), "ex2": ("MUFU.EX2",), "shfl": ("SHFL",), "fma": ("FFMA", "HFMA2"),
    "bar.sync": ("BAR",), "mbarrier.try_wait": ("SYNCS.PHASECHK",),
}  # fmt: skip
"""What ptxas 13.5 makes of PTX instructions that a loop may be asked by; SASS opcodes do as well."""
SCHEDULERS = 4
"""Of an SM, which share its warps (`lowering.targets`, Throughput.issue)."""


def opcodes(name: str) -> tuple[str, ...]:
    """The patterns of SASS opcodes that a name of PTX or SASS means."""
    known = [key for key in OPCODES if name == key or name.startswith(key + ".")]
    return OPCODES[max(known, key=len)] if known else (name,)


def holds(each: Instruction, patterns: Sequence[str]) -> bool:
    """Is the opcode of an instruction one of these, or one of these and more behind a dot?"""
    return any(fnmatchcase(each.opcode, p) or fnmatchcase(each.opcode, f"{p}.*") for p in patterns)


@dataclass(frozen=True)
class CodeLoop:
    """A loop; `warps` compute. what: how messages call it; more: the command that shows more."""

    loop: Loop
    target: Target
    warps: int
    what: str
    more: Callable[[], str]

    def expect(self, *opcode: str, **conditions: object) -> None:
        """Expect of an iteration, along its longer way: instructions; beside, off that way; length of the body up to
        its last branch back; products, on tensor cores; serial_loads, waits for global memory that the iteration itself
        asked for; spills, loads and stores of local memory; cycles, predicted by the target's tables for the warps that
        share a scheduler. With the name of an instruction: count.
        """
        if opcode:
            names = [pattern for each in opcode for pattern in opcodes(each)]
            count = sum(holds(each, names) for each in self.loop.path)
            known = {"count": Quantity(lambda: count, self._mix)}
            check(conditions or {"count__ge": 1}, known, f"{' or '.join(opcode)} in {self.what}")
        else:
            check(conditions, self._quantities(), self.what)

    def _quantities(self) -> dict[str, Quantity]:
        path = self.loop.path
        spills = [each for each in path if each.family in ("LDL", "STL")]
        return {
            "instructions": Quantity(lambda: len(path), self._mix),
            "beside": Quantity(lambda: self.loop.beside, self._mix),
            "length": Quantity(lambda: self.loop.length, self._mix),
            "products": Quantity(lambda: self.loop.products, self._mix),
            "serial_loads": Quantity(lambda: len(serial_loads(path)), lambda: self._listed(serial_loads(path))),
            "spills": Quantity(lambda: len(spills), lambda: self._listed(spills)),
            "cycles": Quantity(self._cycles, self._mix),
        }

    def _cycles(self) -> float:
        return timing(self.loop.path, self.target).with_warps(-(-self.warps // SCHEDULERS))

    def _mix(self) -> list[str]:
        most = ", ".join(f"{family} {count}" for family, count in self.loop.mix.most_common(10))
        return [f"loop at 0x{self.loop.address:x}: {most}", f"more: {self.more()}"]

    def _listed(self, found: Sequence[Instruction]) -> list[str]:
        return [*(f"0x{each.address:x}: {each}" for each in found[:5]), f"more: {self.more()}"]


def find(listing: str, name: str, what: str) -> Loop:
    """Of the innermost loops of a listing that hold an instruction the one with the most of them, and of these the
    shortest; without a name the longest. Raises ExpectationError that says what loops there are.
    """
    found = [loop for function in functions(listing) for loop in loops(function)]
    if not name and found:
        return max(found, key=lambda loop: len(loop.path))
    patterns = opcodes(name)
    counts = [sum(holds(each, patterns) for each in loop.path) for loop in found]
    if not any(counts):
        listed = "".join(f"\n  {_summary(loop)}" for loop in found) or " none"
        named = name or "anything"
        raise ExpectationError(f"{what} has no innermost loop with {named} in SASS; its loops:{listed}")
    return min(zip(found, counts, strict=True), key=lambda pair: (-pair[1], len(pair[0].path)))[0]


def _summary(loop: Loop) -> str:
    most = ", ".join(f"{family} {count}" for family, count in loop.mix.most_common(4))
    return f"{len(loop.path)} instructions: {most}, ..."

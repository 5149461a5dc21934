"""Definite assignment: which reads of registers need no check because every path to them has written the register.

A lane that reaches an instruction has run one path of the control flow graph, so what holds on all paths holds for it.
Writes under a guard do not count. Source: the Java Language Specification, "Definite Assignment", for the idea.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ptxsim.control import Branch, BranchTable, Control, Exit


@dataclass(frozen=True, slots=True)
class Use:
    """Registers that an instruction needs to have been written, and those it writes on all lanes that run it."""

    wanted: frozenset[int]
    written: frozenset[int]


def doubtful(
    uses: Sequence[Use], controls: dict[int, Control], leaders: Sequence[int], starts: set[int]
) -> list[set[int]]:
    """For each instruction the needed registers that are not written on some path to it.

    leaders: first instructions of basic blocks, ascending; starts: where lanes start with nothing written.
    """
    ends = dict(zip(leaders, [*leaders[1:], len(uses)], strict=True))
    following = {first: _successors(end - 1, controls, len(uses)) for first, end in ends.items()}
    gains = {first: _bits(uses[first:end]) for first, end in ends.items()}
    before: dict[int, int] = dict.fromkeys(starts, 0)
    work = list(starts)
    while work:
        block = work.pop()
        after = before[block] | gains[block]
        for target in following[block]:
            found = after if target not in before else before[target] & after
            if before.get(target) != found:
                before[target] = found
                work.append(target)
    result: list[set[int]] = [set() for _ in uses]
    for first, known in before.items():
        for pc in range(first, ends[first]):
            result[pc] = {register for register in uses[pc].wanted if not known >> register & 1}
            for register in uses[pc].written:
                known |= 1 << register
    return result


def _bits(uses: Sequence[Use]) -> int:
    registers = {register for use in uses for register in use.written}
    bits = bytearray((max(registers, default=0) >> 3) + 1)
    for register in registers:
        bits[register >> 3] |= 1 << (register & 7)
    return int.from_bytes(bits, "little")


def _successors(pc: int, controls: dict[int, Control], end: int) -> tuple[int, ...]:
    """The possible successors of an instruction; unless it is a branch or an exit, the next one."""
    control = controls.get(pc)
    following = (pc + 1,) if pc + 1 < end else ()
    if isinstance(control, Branch):
        return (control.target,) if control.condition is None else (control.target, *following)
    if isinstance(control, BranchTable):
        return control.targets if control.condition is None else (*control.targets, *following)
    if isinstance(control, Exit) and control.condition is None:
        return ()
    return following

"""The first .target and .version on which an instruction exists, according to ptxas.

Each family declares its floors next to its opcodes; an instruction must satisfy every floor that matches it. An
instruction that no floor matches exists on every target. Source of all floors: ptxas 13.5.37, every form on every
target and version (tests/runtime/test_floors.py compares them again); the PTX ISA states most under "Target ISA Notes".
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from ptxsim.errors import TargetError
from ptxsim.program import Immediate, Instruction, Operand, Sink, Special, Vector

Version: TypeAlias = tuple[int, int]
# The .version that introduced a .target; a suffix has its own if it came later.
TARGETS: dict[str, Version] = {
    "sm_75": (6, 3), "sm_80": (7, 0), "sm_86": (7, 1), "sm_87": (7, 4), "sm_88": (9, 0), "sm_89": (7, 8),
    "sm_90": (7, 8), "sm_90a": (8, 0), "sm_100": (8, 6), "sm_100a": (8, 6), "sm_100f": (8, 8), "sm_103": (8, 8),
    "sm_103a": (8, 8), "sm_103f": (8, 8), "sm_110": (9, 0), "sm_110a": (9, 0), "sm_110f": (9, 0), "sm_120": (8, 7),
    "sm_120a": (8, 7), "sm_120f": (8, 8), "sm_121": (8, 8), "sm_121a": (8, 8), "sm_121f": (8, 8),
}  # fmt: skip
_TARGET = re.compile(r"(?:sm_)?(\d+)([af]?)(?:@([\d.]+))?$")


@dataclass(frozen=True, slots=True)
class Floor:
    """Instructions that exist from a target and a version on.

    form: words that must all match: first the opcode or a prefix of it ("cp.async", "*" for any), then modifiers, `a.b`
    for neighbours, `a|b` for alternatives, `!a` for none of them, `a*` for a prefix, `#3` for the number of operands,
    `%a` for a special register, `_` for a sink and `imm` for a constant among the operands. targets: any of "90" (that
    and later ones), "90a" (that alone), "100f" (a and f targets of its family from it on), with "@8.1" if a target has
    its own first .version; version: the first .version.
    """

    form: str
    targets: str = ""
    version: str = ""


# Floors of modifiers that many opcodes share.
COMMON = (
    Floor("* bf16|bf16x2", "80", "7.0"),
    Floor("* shared::cta", "", "7.8"),
    Floor("* shared::cluster|cluster", "90", "7.8"),
    Floor("* param::entry|param::func", "", "8.3"),
)


def _operands(operands: Sequence[Operand]) -> Iterable[str]:
    for operand in operands:
        if isinstance(operand, Special):
            yield "%" + operand.name
        elif isinstance(operand, Vector):
            yield from (word for word in _operands(operand.items) if word[0] == "%")
        elif isinstance(operand, Sink):
            yield "_"
        elif isinstance(operand, Immediate):
            yield "imm"


def describe(instruction: Instruction) -> tuple[str, ...]:
    """The properties of an instruction's operands that the words of a floor can test."""
    return (f"#{len(instruction.operands)}", *sorted(set(_operands(instruction.operands))))


def _neighbours(word: str, modifiers: tuple[str, ...]) -> bool:
    wanted = word.split(".")
    return any(list(modifiers[n : n + len(wanted)]) == wanted for n in range(len(modifiers)))


def _fits(word: str, modifiers: tuple[str, ...], operands: tuple[str, ...]) -> bool:
    if word[0] == "!":
        return not _fits(word[1:], modifiers, operands)
    if "|" in word:
        return any(_fits(part, modifiers, operands) for part in word.split("|"))
    if word[-1] == "*":
        return any(name.startswith(word[:-1]) for name in (*modifiers, *operands))
    return word in operands or _neighbours(word, modifiers)


def matches(floor: Floor, opcode: str, operands: tuple[str, ...]) -> bool:
    """Whether a floor applies to an instruction, given by its opcode and `describe`."""
    front, *words = floor.form.split()
    names, wanted = tuple(opcode.split(".")), front.split(".")
    is_front = front == "*" or list(names[: len(wanted)]) == wanted
    return is_front and all(_fits(word, names[1:], operands) for word in words)


def needed_version(floor: Floor, target: str) -> Version | None:
    """The first .version of a floor for a target, None if the floor does not include the target."""
    own = _TARGET.match(target)
    least = parse_version(floor.version or "0.0")
    if own is None or not floor.targets:
        return least
    number, suffix = int(own.group(1)), own.group(2)
    versions: list[Version] = []
    for one in floor.targets.split():
        found = _TARGET.match(one)
        if found is None:
            raise ValueError(f"cannot parse target {one!r} of floor {floor.form!r}")
        first, kind = int(found.group(1)), found.group(2)
        in_family = number // 10 == first // 10 and number >= first and suffix != ""
        if {"": number >= first, "a": (number, suffix) == (first, "a"), "f": in_family}[kind]:
            versions.append(parse_version(found.group(3) or floor.version or "0.0"))
    return min(versions, default=None)


def parse_version(text: str) -> Version:
    """A .version as a pair."""
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def problem(
    floors: Iterable[Floor], opcode: str, operands: tuple[str, ...], target: str, version: Version
) -> str | None:
    """What an instruction needs that a module lacks, None if it exists."""
    needed: Version = (0, 0)
    for floor in (*COMMON, *floors):
        if not matches(floor, opcode, operands):
            continue
        own = needed_version(floor, target)
        if own is None:
            return f"it needs .target {_words(floor.targets)}; this module is for {target}"
        needed = max(needed, own)
    if version < needed:
        return f"it needs .version {needed[0]}.{needed[1]} or later; this module has {version[0]}.{version[1]}"
    return None


def _words(targets: str) -> str:
    named = {"": "sm_{} or later", "a": "sm_{}a", "f": "sm_{}f or another f or a target of its family"}
    found = [_TARGET.match(one) for one in targets.split()]
    return " or ".join(named[one.group(2)].format(one.group(1)) for one in found if one is not None)


def check_target(target: str, version: Version, line: int) -> None:
    """Raise TargetError if a .version does not have a .target yet."""
    first = TARGETS.get(target)
    if first is not None and version < first:
        raise TargetError(
            f".version {version[0]}.{version[1]} does not have .target {target}, which came with {first[0]}.{first[1]}",
            line,
            f".target {target}",
        )


@lru_cache(maxsize=1 << 14)
def cached_problem(
    floors: tuple[Floor, ...], opcode: str, operands: tuple[str, ...], target: str, version: Version
) -> str | None:
    """`problem`, cached for the instructions of a program."""
    return problem(floors, opcode, operands, target, version)

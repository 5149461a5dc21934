"""Blocks, loops, and the instructions of one iteration of a loop.

An iteration goes along the path that the steady state takes: of two ways through a body the longer one, never one
that was put out of line (behind the loop's last instruction); a loop that only polls a barrier counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tilesat.mca.descriptors import described
from tilesat.mca.listing import Function, Instruction
from tilesat.mca.units import multiplies, unit

LEAVES = frozenset({"EXIT", "RET", "KILL", "BRX", "JMX"})
"""Behind these nothing follows that is known here, unless they have a predicate."""
JUMPS = frozenset({"BRA", "JMP"})
WAITING = frozenset({"control", "uniform", "int_add", "int_mul"})
"""Units of what a loop that polls does beside."""
RELOADS = frozenset({"LDL"})
"""What it may load: the address of its barrier, where that was spilled."""
POLLS = ("SYNCS.PHASECHK", "USETMAXREG.TRY_ALLOC", "LD.E.STRONG", "LDG.E.STRONG", "NANOSLEEP", "CCTL")


@dataclass
class Block:
    """Instructions from `first` up to `end` that run one after the other; numbers of the blocks that may follow."""

    first: int
    end: int
    follow: list[int] = field(default_factory=list[int])


@dataclass(frozen=True)
class Loop:
    """A loop of a function. path: the instructions of an iteration; beside: those of the body that it passes over;
    length: of the body, from where it begins to its last branch back.
    """

    function: Function
    header: int
    body: frozenset[int]
    path: tuple[Instruction, ...]
    beside: int
    length: int

    @property
    def products(self) -> int:
        """Instructions of an iteration that run on tensor cores."""
        return sum(multiplies(each.opcode) for each in self.path)

    @property
    def mix(self) -> Counter[str]:
        """Instructions of an iteration by the first part of their opcodes."""
        return Counter(each.family for each in self.path)

    @property
    def address(self) -> int:
        """Where it begins."""
        return self.path[0].address


def blocks(function: Function) -> list[Block]:
    """The blocks of a function, in the order of its code."""
    code = function.instructions
    starts = {0, *(at for at in function.labels.values() if at < len(code))}
    starts |= {at + 1 for at, each in enumerate(code) if each.family in LEAVES | JUMPS and at + 1 < len(code)}
    firsts = sorted(starts)
    made = [Block(first, end) for first, end in zip(firsts, [*firsts[1:], len(code)], strict=True)]
    number = {each.first: at for at, each in enumerate(made)}
    for at, each in enumerate(made):
        last = code[each.end - 1]
        if last.family in JUMPS and last.target in function.labels:
            target = number.get(function.labels[last.target])
            each.follow += [] if target is None else [target]
        falls = last.family not in LEAVES | JUMPS or last.predicate or (last.family in JUMPS and _conditional(last))
        if falls and at + 1 < len(made):
            each.follow.append(at + 1)
    return made


def _conditional(jump: Instruction) -> bool:
    """Does a jump without a predicate in front depend on one among its operands (BRA.U UP0, ...)?"""
    return "P" in jump.operands.partition("`")[0]


def loops(function: Function) -> list[Loop]:
    """The innermost loops of a function in the order of its code, but for those that only poll."""
    function = described(function)
    made = blocks(function)
    order = reached(made)
    found: list[Loop] = []
    bodies = working(function, made, order)
    for header, body in sorted(bodies.items()):
        if not any(other != header and other in body for other in bodies):
            path = _path(made, order, header, body)
            code = [each for at in path for each in function.instructions[made[at].first : made[at].end]]
            sizes = {at: made[at].end - made[at].first for at in body}
            last = max(at for at in body if header in made[at].follow)
            length = sum(size for at, size in sizes.items() if header <= at <= last)
            beside = sum(sizes.values()) - len(code)
            found.append(Loop(function, header, frozenset(body), tuple(code), beside, length))
    return [loop for loop in found if len(loop.path) > 1]  # a branch to itself pads the code behind EXIT


def working(function: Function, made: list[Block], order: list[int]) -> dict[int, set[int]]:
    """The bodies of loops by their headers, but for those that only poll."""
    bodies = _bodies(made, _dominators(made, order))
    return {header: body for header, body in bodies.items() if not _polls(function, made, body)}


def product_loop(found: Iterable[Loop]) -> Loop | None:
    """Of innermost loops that with the most products an iteration, and of these the shortest; None without products."""
    with_products = [loop for loop in found if loop.products]
    return min(with_products, key=lambda loop: (-loop.products, loop.length), default=None)


def _bodies(made: list[Block], dominators: dict[int, frozenset[int]]) -> dict[int, set[int]]:
    """The body of each natural loop by its header: those of one header are one loop."""
    before: list[list[int]] = [[] for _ in made]
    for at, each in enumerate(made):
        for follow in each.follow:
            before[follow].append(at)
    bodies: dict[int, set[int]] = {}
    for at, each in enumerate(made):
        for header in each.follow:
            if at in dominators and header in dominators[at]:
                body = bodies.setdefault(header, {header})
                rest = [at]
                while rest:
                    block = rest.pop()
                    if block not in body:
                        body.add(block)
                        rest += before[block]
    return bodies


def reached(made: list[Block]) -> list[int]:
    """The blocks that are reached, each before those that follow it but for where loops go back (reverse postorder)."""
    order: list[int] = []
    seen = {0}
    stack = [(0, iter(made[0].follow))]
    while stack:
        at, follow = stack[-1]
        after = next((each for each in follow if each not in seen), None)
        if after is None:
            order.append(at)
            stack.pop()
        else:
            seen.add(after)
            stack.append((after, iter(made[after].follow)))
    return order[::-1]


def _dominators(made: list[Block], order: list[int]) -> dict[int, frozenset[int]]:
    """For each block that is reached those that every path to it goes through, itself among them."""
    before: dict[int, list[int]] = {at: [] for at in order}
    for at in order:
        for follow in made[at].follow:
            before[follow].append(at)
    found: dict[int, frozenset[int]] = {0: frozenset({0})}
    changed = True
    while changed:
        changed = False
        for at in order[1:]:
            known = [found[each] for each in before[at] if each in found]
            above = known[0].intersection(*known[1:]) | {at}
            if found.get(at) != above:
                found[at], changed = above, True
    return found


def _polls(function: Function, made: list[Block], body: set[int]) -> bool:
    """Does a loop only wait for a barrier or a flag?"""
    code = [each for at in body for each in function.instructions[made[at].first : made[at].end]]
    polls = [each.opcode.startswith(POLLS) for each in code]
    beside = [each for poll, each in zip(polls, code, strict=True) if not poll]
    return any(polls) and all(unit(each.opcode) in WAITING or each.family in RELOADS for each in beside)


def _path(made: list[Block], order: list[int], header: int, body: set[int]) -> list[int]:
    """The blocks of an iteration: the most instructions in line, the fewest out of line."""
    last = max((at for at in body if header in made[at].follow and header < at), default=header)
    while last + 1 in body:  # what a wait's retry interrupts still lies in line
        last += 1
    place = {at: number for number, at in enumerate(order)}
    best: dict[int, tuple[int, int]] = {}  # block -> instructions up to the end of the iteration, the next block or -1
    for at in reversed([at for at in order if at in body]):
        ways = [(0, -1)] if header in made[at].follow else []
        ways += [(best[to][0], to) for to in made[at].follow if to in best and place[to] > place[at]]
        if ways:
            length, to = max(ways)
            count = made[at].end - made[at].first
            best[at] = length + (count if header <= at <= last else -count), to
    path = [header]
    while (to := best[path[-1]][1]) >= 0:
        path.append(to)
    return path

"""A function's code by how often it runs: what stands outside of loops, and of each loop what no loop inside repeats.

Of ways that part, as those of agents do, the one counts whose instructions take the most of their units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lowering.targets import Target
from tilesat.mca import units
from tilesat.mca.descriptors import described
from tilesat.mca.flow import Block, blocks, loops, reached, working
from tilesat.mca.listing import Function, Instruction
from tilesat.mca.timing import once, timing


@dataclass(frozen=True)
class Times:
    """How often code runs in all, and as which loop of the source: what was made of one loop shares its iterations."""

    count: float
    loop: str = ""


ONCE = Times(1.0)


@dataclass(frozen=True)
class Level:
    """Code that runs as often: instructions one after the other, how often; `copies`: iterations of the source that
    ptxas has written out in it; `repeats`: is it a loop without others inside?
    """

    code: tuple[Instruction, ...]
    times: Times
    copies: int = 1
    repeats: bool = False

    def cycles(self, target: Target, warps: int) -> float:
        """Of all its iterations, where so many warps share a scheduler."""
        count = max(1.0, self.times.count / self.copies)
        if not self.repeats:
            return count * once(self.code, target, warps)
        return count * timing(self.code, target).of_many(warps)


Judge = Callable[[Sequence[Instruction], frozenset[str]], Times]
"""How often a loop's own code runs, which is none of the loops of the source that are named."""


def levels(function: Function, target: Target, times: Judge) -> list[Level]:
    """The levels of the way that takes longest, its instructions one behind the other."""
    function = described(function)
    made = blocks(function)
    order = reached(made)
    bodies = working(function, made, order)
    inside = {at: [header for header, body in bodies.items() if at in body] for at in order}
    innermost = {at: min(inside[at], key=lambda header: len(bodies[header]), default=-1) for at in order}
    known = {-1: ONCE}
    for header in sorted(bodies, key=lambda header: len(bodies[header])):  # from the inside out
        inner = frozenset(known[other].loop for other in known if other in bodies[header])
        own = [at for at in sorted(bodies[header]) if innermost[at] == header]
        known[header] = times(_code(function, made, own), inner)
    taken = {at: known[innermost[at]].count * _taken(_code(function, made, [at]), target) for at in order}
    way = _way(made, order, bodies, taken)
    paths = {loop.header: loop for loop in loops(function)}
    found: list[Level] = []
    for header in dict.fromkeys(innermost[at] for at in way):
        code = _code(function, made, [at for at in way if innermost[at] == header])
        loop = paths.get(header)
        found.append(Level(loop.path if loop else code, known[header], copies(code) if loop else 1, loop is not None))
    return _shared(found)


def copies(code: Sequence[Instruction]) -> int:
    """How often most lines of the PTX stand in code: a loop that ptxas has unrolled has them several times."""
    found: dict[int, Counter[str]] = {}
    for each in code:
        if each.line:
            found.setdefault(each.line, Counter())[each.opcode] += 1
    seen = Counter(min(each.values()) for each in found.values())
    return max(seen, key=lambda count: (seen[count], -count), default=1)


def _code(function: Function, made: list[Block], numbers: Sequence[int]) -> tuple[Instruction, ...]:
    return tuple(each for at in numbers for each in function.instructions[made[at].first : made[at].end])


def _taken(code: Sequence[Instruction], target: Target) -> float:
    """Cycles of units, one instruction behind the other."""
    return sum(max(1.0, units.cycles(each, target)) for each in code)


def _way(made: list[Block], order: list[int], bodies: dict[int, set[int]], taken: dict[int, float]) -> list[int]:
    """The blocks from the start to an end that take the most in all: where the code goes back to the begin of a loop,
    the way goes on behind the loop.
    """
    place = {at: number for number, at in enumerate(order)}
    ahead = [Block(each.first, each.end) for each in made]
    for at in order:
        for to in made[at].follow:
            onward = [to] if place[to] > place[at] else _behind(made, bodies.get(to, set()))
            ahead[at].follow += onward
    best: dict[int, tuple[float, int]] = {}  # block -> cycles up to the end, the next block or -1
    for at in reversed(reached(ahead)):
        after, to = max(((best[to][0], to) for to in ahead[at].follow), default=(0.0, -1))
        best[at] = after + taken[at], to
    way = [0]
    while (to := best[way[-1]][1]) >= 0:
        way.append(to)
    return way


def _behind(made: list[Block], body: set[int]) -> list[int]:
    """The blocks to which a loop is left."""
    return [to for at in sorted(body) for to in made[at].follow if to not in body]


def _shared(found: Sequence[Level]) -> list[Level]:
    """Of several loops made of one, as whole tiles and those with masks have each its own, the shortest has the
    iterations and the others run once.
    """
    shortest: dict[str, Level] = {}
    for each in found:
        if each.repeats and each.times.loop:
            before = shortest.setdefault(each.times.loop, each)
            if len(each.code) * before.copies < len(before.code) * each.copies:
                shortest[each.times.loop] = each
    kept = [shortest.get(each.times.loop, each) is each for each in found]
    return [
        each if keeps or not each.repeats else replace(each, times=replace(each.times, count=1.0))
        for each, keeps in zip(found, kept, strict=True)
    ]

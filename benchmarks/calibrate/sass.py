"""Instructions of assembled micro-kernels by pipe, on the path that ordinary numbers take."""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from lowering.counts import ISSUE, PIPES
from runtime.ptxas import assemble, disassemble
from tilesat.mca.flow import Block, blocks
from tilesat.mca.listing import Function, Instruction, functions
from tilesat.mca.units import RESULTS, unit

SLOW = 10_000
"""The length of a call when the shortest path is searched for: slow paths are called, or branched to."""
LEAST = 0.2
STORES = frozenset({"STG", "ST"})
MOVES = re.compile(r"^(?:MOV|CS2R|IMAD\.MOV)\b|^HFMA2\.MMA \w+, -RZ, RZ,")
"""Copies of registers and constants: they arrange the vectors of loads and stores, and ptxas folds them elsewhere."""
_SHARED = re.compile(r"^\s*\.(?:version|target|address_size|global|const)\b.*$", re.MULTILINE)
"""Lines that occur once in a module: its header, tables of constants."""


def listings(texts: Mapping[str, str], target: str) -> dict[str, Function]:
    """The functions of kernels by name, assembled as one module: starting the disassembler takes 0.25 s."""
    shared = dict.fromkeys(found.group() for text in texts.values() for found in _SHARED.finditer(text))
    module = "\n".join((*shared, *(_SHARED.sub("", text) for text in texts.values())))
    return {each.name: each for each in functions(disassemble(assemble(module, target)))}


def along_path(function: Function) -> Counter[str]:
    """Results by pipe along the shortest path from the entry to the exit, without loads and stores; instructions that
    take only an issue slot are `issue`. Raises ValueError if that path does not store everything.
    """
    made = blocks(function)
    code = list(_executed(function, made, 0, "EXIT"))
    stores = [sum(each.family in STORES for each in every) for every in (code, function.instructions)]
    if stores[0] != stores[1]:
        raise ValueError(f"{function.name}: the path has {stores[0]} of {stores[1]} stores")
    found: Counter[str] = Counter()
    for each in code:
        name = "" if MOVES.match(f"{each.opcode} {each.operands.strip()}") else unit(each.opcode)
        if name in PIPES:
            found[name] += RESULTS.get(each.family, 1)
        elif name not in ("load_store", "") and each.family != "NOP":
            found[ISSUE] += 1
    return found


def _executed(function: Function, made: Sequence[Block], start: int, end: str) -> Iterator[Instruction]:
    """The instructions of a path, with those of what it calls."""
    for at in _way(function, made, start, end):
        for each in function.instructions[made[at].first : made[at].end]:
            yield each
            if each.family == "CALL":
                first = function.labels[each.target]
                called = next(number for number, block in enumerate(made) if block.first == first)
                yield from _executed(function, made, called, "RET")


def _way(function: Function, made: Sequence[Block], start: int, end: str) -> list[int]:
    """The shortest path to EXIT or RET. In a called function it goes through a MUFU, if a path has one: this is where
    quotients and roots start, while zeros and infinities end at once.
    """

    def ends(at: int) -> bool:
        last = function.instructions[made[at].end - 1]
        return last.family == end and not last.predicate

    for middle, block in enumerate(made if end == "RET" else ()):
        if any(each.family == "MUFU" for each in function.instructions[block.first : block.end]):
            with suppress(LookupError):
                before = shortest(function, made, start, middle.__eq__)
                return before[:-1] + shortest(function, made, middle, ends)
    return shortest(function, made, start, ends)


def shortest(function: Function, made: Sequence[Block], start: int, ends: Callable[[int], bool]) -> list[int]:
    """The blocks of the shortest way from one to one that ends it; calls count as long. Raises LookupError."""
    code = function.instructions
    counted = [SLOW if each.family == "CALL" else int(each.family != "NOP") for each in code]
    weight = [sum(counted[block.first : block.end]) for block in made]
    heap, before = [(weight[start], start, -1)], dict[int, int]()
    while heap:
        length, at, came = heapq.heappop(heap)
        if at in before:
            continue
        before[at] = came
        if ends(at):
            path = [at]
            while before[path[-1]] >= 0:
                path.append(before[path[-1]])
            return path[::-1]
        for follow in made[at].follow:
            heapq.heappush(heap, (length + weight[follow], follow, at))
    raise LookupError(f"{function.name}: no way to its end")


def per_element(small: Counter[str], large: Counter[str], elements: int) -> dict[str, float]:
    """The cost of each of `elements` additional elements."""
    return {name: (large[name] - small[name]) / elements for name in PIPES}


def added(parts: Iterable[tuple[int, Mapping[str, float]]]) -> dict[str, float]:
    """Counts, each so many times, rounded; less than a fifth of an instruction is ptxas' choice of the moment."""
    total = defaultdict[str, float](float)
    for times, counts in parts:
        for name, count in counts.items():
            total[name] += times * count
    return {name: round(total[name], 2) for name in PIPES if total[name] >= LEAST}

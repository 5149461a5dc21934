"""The figures of a file's loops, as text and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lowering.targets import Target
from tilesat.mca import units
from tilesat.mca.agents import Together, together
from tilesat.mca.descriptors import IN_TENSOR_MEMORY
from tilesat.mca.flow import loops
from tilesat.mca.listing import Instruction, functions
from tilesat.mca.timing import timing


@dataclass(frozen=True)
class LoopFigures:
    """One innermost loop. instructions: of an iteration's path; beside: of its body that the path passes over; units:
    instructions and cycles of one warp; alone: cycles of a warp that has a scheduler for itself; waits: those in which
    it waits, by what for; predicted: of `warps` that share one, with what limits them; products: the matrix products of
    the path; unknown: opcodes without a unit.
    """

    address: int
    instructions: int
    beside: int
    counts: dict[str, int]
    cycles: dict[str, float]
    alone: float
    warps: int
    predicted: float
    limit: str
    waits: dict[str, float] = field(default_factory=dict[str, float])
    products: dict[str, int] = field(default_factory=dict[str, int])
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class FunctionFigures:
    """A function: its instructions in all, its innermost loops, and its agents where it has several."""

    name: str
    instructions: int
    loops: tuple[LoopFigures, ...]
    agents: Together | None = None


def figures(listing: str, target: Target, warps: int = 1) -> list[FunctionFigures]:
    """The figures of a disassembly (`nvdisasm -c -hex`), `warps` of which share a scheduler. Raises TileError."""
    found: list[FunctionFigures] = []
    for function in functions(listing):
        made: list[LoopFigures] = []
        inner = loops(function)
        for loop in inner:
            each = timing(loop.path, target)
            products = Counter(name for i in loop.path if (name := named(i)))
            unknown = sorted({i.family for i in loop.path if not units.unit(i.opcode)})
            made.append(
                LoopFigures(
                    loop.address,
                    len(loop.path),
                    loop.beside,
                    dict(each.counts.most_common()),
                    each.cycles,
                    each.alone,
                    warps,
                    each.with_warps(warps),
                    each.limit(warps),
                    each.waits,
                    dict(products),
                    tuple(unknown),
                )
            )
        agents = together(inner, target, warps)
        found.append(FunctionFigures(function.name, len(function.instructions), tuple(made), agents))
    return found


def named(each: Instruction) -> str:
    """A matrix product with its shape, which an opcode names but in tensor memory; "" of anything else."""
    if not IN_TENSOR_MEMORY.match(each.opcode):
        return each.opcode if units.product(each.opcode) is not None else ""
    shape = units.shape(each)
    return f"{each.opcode} {'x'.join(map(str, shape)) if shape else 'of a shape that is not known'}"


def lines(found: Sequence[FunctionFigures], target: Target) -> Iterator[str]:
    """The same for people."""
    yield f"predicted by the tables of {target.name}; cycles of one scheduler and its quarter of an SM"
    for function in found:
        yield f"{function.name}: {function.instructions} instructions, {count(len(function.loops), 'innermost loop')}"
        for loop in function.loops:
            beside = f", {loop.beside} more off its path" if loop.beside else ""
            yield f"  loop at 0x{loop.address:x}: {loop.instructions} instructions per iteration{beside}"
            shared = f"{count(loop.warps, 'warp')} per scheduler"
            alone = f"one warp alone {loop.alone:.0f}"
            yield f"    {loop.predicted:.0f} cycles with {shared}, limited by {loop.limit}; {alone}"
            waits = ", ".join(f"{cycles:.0f} for {what}" for what, cycles in loop.waits.items())
            issues = loop.alone - sum(loop.waits.values())
            yield f"    alone it issues for {issues:.0f} cycles, and waits {waits or 'for nothing'}"
            yield "    " + f"{'unit':13}{'instructions':>11}{'cycles':>9}"
            rows = {**dict.fromkeys(loop.cycles, 0), "issue": loop.instructions, **loop.counts}
            for unit, number in sorted(rows.items(), key=lambda row: -loop.cycles.get(row[0], 0.0)):
                taken = f"{loop.cycles[unit]:9.0f}" if unit in loop.cycles else f"{'-':>9}"
                yield f"    {unit:13}{number or '':11}{taken}"
            if loop.products:
                yield "    products: " + ", ".join(f"{number} {opcode}" for opcode, number in loop.products.items())
            if loop.unknown:
                yield f"    opcodes without a unit: {', '.join(loop.unknown)}"
        if function.agents is not None:
            yield from agents_together(function.agents)


def agents_together(found: Together) -> Iterator[str]:
    """What an iteration of all agents takes."""
    each = ", ".join(f"{cycles:.0f} of 0x{address:x}" for address, cycles in found.agents)
    yield f"  agents together: {found.predicted:.0f} cycles per iteration of each, limited by {found.limit}"
    yield f"    steady loops: {each}"
    busy = sorted(found.cycles.items(), key=lambda row: -row[1])
    yield f"    units, in all: {', '.join(f'{unit} {cycles:.0f}' for unit, cycles in busy)}"


def count(number: int, what: str) -> str:
    """A number of things."""
    return f"{number} {what}" + ("" if number == 1 else "s")

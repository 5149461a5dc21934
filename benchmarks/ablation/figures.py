"""What is counted in a kernel: SASS instructions of its hot loop, of all its code and of its slow paths, registers,
cost, matches and time.
"""

from __future__ import annotations

import runpy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tilesat
from benchmarks.ablation.cases import Case
from egraph import placed
from lowering.atoms.names import BY_TRANSFORMER, PAIRS, PEELING, all_names
from lowering.skeletons.joined_steps import PAIR
from runtime.ptxas import assemble, disassemble
from tilesat.mca.flow import Loop, blocks, loops, product_loop
from tilesat.mca.listing import Function, functions

INTERNAL = "$__internal_"
"""Names of functions of ptxas's own begin so."""
KERNELS = Path(__file__).with_name("kernels.py")
IN_PASSES, WITH_PRODUCTS = (PEELING, PAIRS), (BY_TRANSFORMER,)
"""What is forbidden where hot loops are counted: where all are, and where one with products is."""


@dataclass(frozen=True)
class Made:
    """The PTX of a kernel; whether an iteration of one of its loops does two steps of the source."""

    ptx: str
    pairs: bool


@dataclass(frozen=True)
class Code:
    """SASS instructions, those of them in slow paths, and registers per thread."""

    sass: int
    rare: int
    registers: int


@dataclass(frozen=True)
class Counts(Code):
    """The same for a kernel as it ships, and instructions of its hot loop: of all its code where it has none. steps: of
    the source's loop, performed by one iteration of the hot loop.
    """

    hot: int
    steps: int


@dataclass(frozen=True)
class Figures(Counts):
    """The same with its cost, rule matches, and CPU seconds of a warm compilation to PTX."""

    cost: float
    matches: int
    seconds: float


@cache
def code_of(ptx: str, target: str) -> Code:
    """The counts of all code of a kernel."""
    cubin = assemble(ptx, target)
    (function,) = functions(disassemble(cubin))
    counted = [each.family != "NOP" for each in function.instructions]  # NOP pads the code to a multiple of 128 bytes
    return Code(sum(counted), sum(counted[at] for at in rarely(function)), cubin.registers)


def rarely(function: Function) -> set[int]:
    """The instructions of slow paths: calls of ptxas's own functions and what only these reach. It calls one where an
    operand or the result of a quotient or a root may be subnormal or infinite, and moves the operands there.
    """
    code, made = function.instructions, blocks(function)
    calls = {at for at, op in enumerate(code) if op.family == "CALL" and INTERNAL in op.operands}
    calling = {at for at, each in enumerate(made) if not calls.isdisjoint(range(each.first, each.end))}
    reached, rest = set[int](), [0]
    while rest and calls:
        at = rest.pop()
        if at not in reached and at not in calling:
            reached.add(at)
            rest += made[at].follow
    return {i for at, each in enumerate(made) if calls and at not in reached for i in range(each.first, each.end)}


@cache
def rolled(ptx: str, target: str) -> list[Loop]:
    """The innermost loops of a kernel, none unrolled by ptxas."""
    if " bra " not in ptx:
        return []
    (function,) = functions(disassemble(assemble(not_unrolled(ptx), target)))
    return loops(function)


def not_unrolled(ptx: str) -> str:
    """PTX with loops that ptxas does not unroll: an iteration is then one of the source, in all columns."""
    head, brace, body = ptx.partition("\n{\n")
    assert brace, "expected an entry"
    return f'{head}\n.pragma "nounroll";{brace}{body}'


def counts(ptx: str, target: str, passes: bool, otherwise: Callable[[Sequence[str]], Made]) -> Counts:
    """The counts of a kernel. Its hot loop is that of the kernel compiled `otherwise`, without the given names: the one
    with the most products, or all where there is none, or with several `passes` over the same tiles (`Case`).
    """
    code, found = code_of(ptx, target), rolled(ptx, target)
    inner, pairs = code.sass, False
    if found:
        alone = not passes and product_loop(found) is not None
        made = otherwise(WITH_PRODUCTS if alone else IN_PASSES)
        found = rolled(made.ptx, target)
        hot = product_loop(found) if alone else None
        inner, pairs = (len(hot.path), made.pairs) if hot else (sum(len(loop.path) for loop in found), False)
    return Counts(code.sass, code.rare, code.registers, inner, PAIR if pairs else 1)


@cache
def kernels() -> dict[str, Any]:
    """The cuTile kernels by name."""
    return runpy.run_path(str(KERNELS))


def compiled(case: Case, target: str, fast: Sequence[str], family: Sequence[str]) -> Any:
    """The kernel of a case, without the rules and skeletons of a family."""
    without, forbid = ([name for name in family if (name in all_names()) is there] for there in (False, True))
    more: dict[str, Any]
    source, more = (case.file, {}) if case.file else (kernels()[case.name], {"signature": case.signature})
    return tilesat.compile(source, target, fast=fast, without=without, forbid=forbid, **more)


def counted(case: Case, target: str, fast: Sequence[str], kernel: Any, without: Sequence[str] = ()) -> Counts:
    """The counts of a compiled case."""

    def otherwise(names: Sequence[str]) -> Made:
        other = compiled(case, target, fast, (*without, *names))
        return Made(other.ptx, any(each.name == PAIRS and each.taken for each in other.compiled.selection.loops))

    return counts(kernel.ptx, target, case.passes, otherwise)


def reads(case: Case, target: str, fast: Sequence[str]) -> int:
    """How many tiles a kernel loads from global memory, each in one of its loops or outside."""
    nodes = compiled(case, target, fast, ()).compiled.selection.node.values()
    return sum(isinstance(node, placed.LoadView | placed.Copy) for node in nodes)


@cache
def figures(case: Case, target: str, fast: tuple[str, ...], without: tuple[str, ...]) -> Figures:
    """Compile and count; a second compilation is timed, since the first loads the rules."""
    kernel = compiled(case, target, fast, without)
    start = time.process_time()
    compiled(case, target, fast, without)
    seconds = time.process_time() - start
    matches = sum(sum(each.matches.values()) for each in kernel.compiled.saturated.report.iterations)
    found = counted(case, target, fast, kernel, without)
    return Figures(**vars(found), cost=kernel.cost, matches=matches, seconds=seconds)

"""The predicted time of a kernel's assembled code over a grid, for tuning without a GPU.

`tilesat.mca` simulates the warps of a scheduler on the code; the trip counts of its loops come from the program
compiled for the actual sizes, matched by source lines. Everything is predicted from the tables of the target.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilesat.grid import Grid

if TYPE_CHECKING:
    from ir.core import Op
    from tilesat.compiler import CompileOptions
    from tilesat.kernel import Kernel
    from tilesat.mca.levels import Times
    from tilesat.mca.listing import Instruction


def of_grid(
    program: object,
    general: object,
    target: str,
    exact: CompileOptions,
    options: CompileOptions,
    grid: Grid,
    multiprocessors: int,
) -> float | str:
    """Cycles of a grid by the code of `general`, which is compiled for all sizes, as the kernel is, or why ptxas makes
    none; loops run as often as in `program`, which is compiled for exactly these, with the options `exact`. A task of a
    process. Raises PtxasNotFoundError where ptxas or nvdisasm is not installed.
    """
    from runtime.ptxas import PtxasError
    from tilesat.compiler import compile

    given: CompileOptions = {**options, "lineinfo": True}
    kernel, known = compile(general, target, **given), work(compile(program, target, **exact))
    try:
        return cycles(kernel, known, grid, multiprocessors)
    except PtxasError as error:
        return str(error)


def lacking() -> str:
    """The missing tool for assembling or disassembling; "" if both are installed."""
    from runtime.ptxas import PtxasNotFoundError, find

    try:
        for each in ("ptxas", "nvdisasm"):
            find(each)
    except PtxasNotFoundError as error:
        return str(error)
    return ""


def assembler() -> str:
    """The release of ptxas, or what is missing."""
    from runtime.ptxas import version

    return lacking() or version()


@dataclass(frozen=True)
class Work:
    """What the sizes decide: for each line of the source that a loop repeats, that loop and how often it runs in a tile
    block; cycles for which the busiest unit of an SM has to do for a CTA, its share of the memory too.
    """

    loops: Mapping[str, tuple[str, float]]
    busy: float


def work(kernel: Kernel) -> Work:
    """That of a kernel which was compiled for exactly these sizes."""
    from egraph.skeleton import SkeletonLoop
    from lowering.cost import UNKNOWN_TRIPS
    from lowering.selection.trips import trip_counts

    saturated = kernel.compiled.selection.saturated
    items = {item.loop: item for item in saturated.program.skeleton.walk() if isinstance(item, SkeletonLoop)}
    counts = {_place(items[loop].op): count for loop, count in trip_counts(saturated).items()}
    tiles = 1 if kernel.compiled.persistent == "off" else UNKNOWN_TRIPS  # its own loop over tiles is in what it does
    busy = max((cycles for unit, cycles in kernel.busy.items() if unit != "latency"), default=0.0) / tiles
    return Work(dict(_loops(kernel.entry.body.block.ops, counts, "", 1.0)), busy)


def _loops(
    ops: Sequence[Op], counts: Mapping[str, float], loop: str, times: float
) -> Iterator[tuple[str, tuple[str, float]]]:
    """The lines inside of loops: of an inner loop's behind those of the one around it, which they replace."""
    from ir.dialects import cuda_tile as ct
    from lowering.cost import UNKNOWN_TRIPS
    from lowering.source.unrolling import trips_of

    for op in ops:
        inside, count = loop, times
        if isinstance(op, ct.For | ct.Loop):
            known = trips_of(op) if isinstance(op, ct.For) else None
            inside = _place(op)
            count *= counts.get(inside, UNKNOWN_TRIPS if known is None else known)
        elif loop:
            yield _place(op), (loop, times)
        for region in op.regions:
            for block in region.blocks:
                yield from _loops(block.ops, counts, inside, count)


def _place(op: Op) -> str:
    return f"{op.location.file}:{op.location.line}"


def cycles(kernel: Kernel, work: Work, grid: Grid, multiprocessors: int) -> float:
    """Cycles of a grid of tile blocks on so many multiprocessors: in rounds of as many CTAs as an SM holds, which share
    its schedulers. The kernel has been compiled with `lineinfo`.

    Raises PtxasNotFoundError where ptxas or nvdisasm is not installed.
    """
    from lowering.targets import target as target_named
    from lowering.targets.occupancy import occupancy
    from lowering.targets.target import WARP
    from ptxsim import source_lines
    from runtime.manifest import parse
    from runtime.ptxas import assemble, disassemble
    from tilesat.mca.levels import levels
    from tilesat.mca.listing import functions
    from tilesat.mca.units import QUARTERS

    tier, manifest = target_named(kernel.target), kernel.manifest
    cubin = assemble(kernel.ptx, kernel.target, ["-lineinfo"])
    (function,) = functions(disassemble(cubin, encodings=True, ptx_lines=True))
    lines = source_lines(kernel.ptx)
    found = levels(function, tier, lambda code, inner: _times(code, inner, lines, work))
    threads = math.prod(manifest["block"])
    held = max(1, occupancy(tier, threads, cubin.registers, manifest["dynamic_smem"] + cubin.smem).count)
    ctas = math.prod(grid) * math.prod(parse(manifest).along)
    warps = min(kernel.warps, threads // WARP)

    def together(count: int) -> float:
        sharing = max(1, -(-warps * count // QUARTERS))
        return max(sum(each.cycles(tier, sharing) for each in found), count * work.busy)

    rounds, left = divmod(ctas, held * multiprocessors)
    whole = rounds * together(held) if rounds else 0.0
    return whole + (together(math.ceil(left / multiprocessors)) if left else 0.0)


def _times(code: Sequence[Instruction], inner: frozenset[str], lines: Mapping[int, str], work: Work) -> Times:
    """Those of the loop that most of the code's lines are of: of a loop around it code may stand at its lines too."""
    from tilesat.mca.levels import Times

    known = [work.loops[place] for each in code if (place := lines.get(each.line, "")) in work.loops]
    known = [(loop, count) for loop, count in known if loop not in inner]
    if not known:
        return Times(1.0)
    loop, count = Counter(known).most_common(1)[0][0]
    return Times(count, loop)

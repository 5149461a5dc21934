"""Whether warpgroups share one tile of a persistent loop, or alternate on successive ones: whichever is faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ir.core import TileError
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.types import TokenType
from lowering.atoms.names import OUTER_COPIES
from lowering.modulo.ahead import registers_of, room_of
from lowering.modulo.tiles import PING_PONG, cooperative, in_turn
from lowering.passes.registry import Step
from lowering.passes.source import warp_counts
from lowering.passes.syntax import with_options
from lowering.passes.trial import Trial
from lowering.schedule.pingpong import EPILOGUE, GROUPS, refuse
from lowering.schedule.units import GROUP
from lowering.selection.choices import TileTime
from lowering.selection.trips import PRODUCTS
from lowering.targets import Feature, Target
from lowering.targets.target import RESERVED


def choice(best: Trial, target: Target) -> bool:
    """Is there a choice: a product in a loop over tiles, by warpgroups of the only CTA on an SM? CTAs that share an SM
    already overlap.
    """
    if not target.has(Feature.WGMMA) or best.made.cluster != (1, 1, 1) or not in_tiles(best.entry):
        return False
    alone = (int(target.smem_bytes) + RESERVED) // (best.made.shared_bytes + RESERVED) == 1
    return alone and GROUP in (best.found.warps, *best.found.offered.get("warps", ()))


def in_tiles(entry: ct.Entry) -> bool:
    """Is there a product in a loop within a loop over tiles, which carries no values?"""
    return any(
        isinstance(inner, ct.For) and any(isinstance(op, PRODUCTS) for op in inner.walk())
        for tiles in entry.body.block.ops
        if isinstance(tiles, ct.For)
        if all(isinstance(value.type, TokenType) for value in tiles.results)
        for inner in tiles.body.block.ops
    )


def grouped(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The passes, for groups of one warpgroup that alternate on tiles: they share the main loop's ring and scratch
    memory, and no other buffer.
    """
    made = with_options(steps, "tileas-materialize-schedule", consumers=PING_PONG)
    (given,) = (step.options["forbid"] for step in steps if step.work.name == "extract")
    made = with_options(made, "extract", warps=GROUP, forbid=(*given, OUTER_COPIES))
    return with_options(made, "encode", warps=GROUP)


def in_groups(entry: ct.Entry, attempt: Callable[[Sequence[Step]], Trial], steps: Sequence[Step]) -> Trial:
    """A program whose warpgroups alternate on tiles. Raises UnsupportedError, located, if one cannot hold a tile."""
    if GROUP not in warp_counts(entry):
        refuse(entry, "one warpgroup has too few registers for the accumulators of a tile")
    made = attempt(grouped(steps))
    made.found.consumers = (replace(of_groups(made), taken=True),)
    return made


def quicker(best: Trial, attempt: Callable[[Sequence[Step]], Trial], clearly: float) -> Trial:
    """The best program or, if predicted to be clearly faster, one whose warpgroups alternate on tiles."""
    now = cooperative(best.found)
    try:
        other = attempt(grouped(best.steps))
    except TileError as error:
        best.found.consumers = (replace(now, taken=True), TileTime(PING_PONG, reason=error.message))
        return best
    then = of_groups(other)
    fits = other.spills <= best.spills and held(other.made) <= room_of(other.found)
    wins = fits and then.total < clearly * now.total
    taken = other if wins else best
    taken.found.consumers = (replace(now, taken=not wins), replace(then, taken=wins))
    return taken


def of_groups(made: Trial) -> TileTime:
    """The time of a program whose warpgroups alternate on tiles, and take turns in epilogues too, if they do."""
    epilogues = any(isinstance(op, nv_tileas.TakeTurn) and op.of == EPILOGUE for op in made.made.walk())
    return in_turn(made.found, GROUPS, epilogues)


def held(func: nv_tileas.Func) -> int:
    """Registers of a thread for sums and for the tiles read alongside them, whose order keeps reading and storing
    apart; all others are read piece by piece.
    """
    sums = (registers_of(op.result) for op in func.walk() if isinstance(op, nv_tileas.Dot))
    read = (registers_of(op.result) for op in func.walk() if isinstance(op, nv_tileas.TiledLoad) and op.ordered)
    return max(sums, default=0) + sum(read)

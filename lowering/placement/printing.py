"""Layouts of print operands: every thread holds them all, so that any can print them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from egraph.skeleton import SkeletonEffect
from ir.types import TileType
from lowering.layouts.layout import Layout

if TYPE_CHECKING:
    from lowering.placement.oracle import LayoutOracle


def wanted(item: SkeletonEffect, oracle: LayoutOracle) -> list[tuple[int, int]]:
    """Each operand's number with each layout that it may have."""
    return [(number, layout) for warps in oracle.warps for number, layout in copies(item, oracle, warps)]


def copies(item: SkeletonEffect, oracle: LayoutOracle, warps: int) -> list[tuple[int, int]]:
    """Each operand's number with the layout that replicates it in all threads of `warps` warps."""
    kinds = [cast(TileType, value.type) for value in item.op.operands]
    layouts = [oracle.layout_id(Layout.copies(warps, kind.size)) for kind in kinds]
    return list(zip(item.operands, layouts, strict=True))

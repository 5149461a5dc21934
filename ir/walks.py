"""Walks of what lies in a block, outer before inner."""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import Block, Op


def walked(block: Block) -> Iterator[Op]:
    """Every operation in a block and below, in program order."""
    return (each for op in block.ops for each in op.walk())


def blocks(block: Block) -> Iterator[Block]:
    """A block and the blocks below it."""
    yield block
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                yield from blocks(inner)

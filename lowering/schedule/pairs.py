"""Products that a pair of CTAs computes together: requirements on their loops, and the loads of both CTAs.

Each CTA loads its own rows of A and half of the columns of B; the even rank waits for the bytes of both, issues the
products, and signals both when they are complete. Both must therefore run the loop in lockstep, and all operands of the
products must come by tensor copies, whose bytes another CTA's barrier can count. Source: PTX ISA 8.8, tcgen05,
.cta_group::2; CUTLASS's 2SM main loop for sm_100.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Op, TileError, Value
from ir.dialects import nv_tileas, scf
from lowering.atoms.tcgen05 import PAIR, tensor_named
from lowering.schedule.rings import Copy, tile_of
from lowering.schedule.states import LOOPS, enclosing

RENAMES = (nv_tileas.Permute, nv_tileas.Reshape)
BIT = 1  # of the rank, in which the CTAs of a pair differ


class TensorPairError(TileError):
    """A product that a pair of CTAs cannot compute."""


def refuse(op: Op, why: str) -> None:
    """Raise TensorPairError at an op."""
    message = f"'{op.name}' cannot be computed by a pair of CTAs: {why}"
    raise TensorPairError(message, op.location, f"forbid the atom: --forbid {PAIR}")


def paired(op: nv_tileas.Dot | nv_tileas.TensorDot) -> bool:
    """Is a product computed by a pair?"""
    atom = tensor_named(op.atom)
    return atom is not None and atom.ctas > 1


def refuse_mixed(products: Sequence[nv_tileas.Dot]) -> None:
    """Raises TensorPairError where some of a kernel's products in tensor memory are a pair's and others are not: ptxas
    takes one .cta_group in a kernel. Or if loops of a pair's products follow one another: the later sums overlay data
    that the threads of both CTAs must have read, which only an agent's rings can signal to the other CTA.
    """
    ways = {paired(op): op for op in products}
    if len(ways) > 1:
        refuse(ways[True], "a CTA computes other products of the kernel by itself")
    alone = [op for op in products if paired(op) and sum(isinstance(each, LOOPS) for each in enclosing(op)) == 1]
    if len(alone) > 1 or (alone and len(products) > 1):
        refuse(alone[0], "another loop accumulates in the same place without waiting for the other CTA")


def of_loop(loop: scf.For) -> list[nv_tileas.TensorDot]:
    """The products of a pair in a loop."""
    return [op for op in loop.walk() if isinstance(op, nv_tileas.TensorDot) and paired(op)]


def refuse_unfed(products: Sequence[nv_tileas.TensorDot], copies: Sequence[Copy]) -> None:
    """Raises TensorPairError if a pair's product reads something that these copies of its loop do not load."""
    for product in products:
        for factor in (product.a, product.b):
            if source(factor) not in copies:
                refuse(product, "it reads a tile that its loop does not load in every step")


def source(value: Value) -> Op | None:
    """What brings a tile that is read under other names."""
    while isinstance(value.op, RENAMES):
        value = value.op.operands[0]
    return value.op


def told_apart(copy: Copy, alike: int) -> int:
    """The bits of the rank in which CTAs that bring parts of a tile for one another differ, of those in which it is
    `alike`: halves that a pair holds are not shared with other pairs. Raises TensorPairError where its tiles differ.
    """
    if tile_of(copy)[1].ctas == 1:
        return alike & ~BIT
    if not alike & BIT:
        refuse(copy, "its CTAs need different tiles here")
    return BIT


def together(peers: int) -> int:
    """The CTAs that those of a pair fill stages for or are filled by, as exclusive or of ranks; from what one has."""
    return peers | sum(1 << (rank ^ BIT) for rank in range(peers.bit_length()) if peers >> rank & 1)

"""Scales of products in tensor memory, in per-thread code: copied there from shared memory, named by products.

Copies and products of one thread execute in issue order, so the scales of an iteration overwrite those of the previous
one. Source: for copies before products PTX ISA 8.8, tcgen05, Pipelined Instructions; for products before copies
CUTLASS's block-scaled main loop for sm_100, which copies the scales of all stages to one place.
"""

from __future__ import annotations

from typing import Protocol

from ir.core import Value
from ir.dialects import nv_tileas, nvgpu, nvvm
from ir.types import I64
from lowering.atoms.tcgen05 import TensorAtom
from lowering.convert.tileas_to_nvgpu.compute import tensor_of
from lowering.convert.tileas_to_nvgpu.context import Expander, SharedTile
from lowering.layouts.shared import CHUNK_BYTES
from lowering.layouts.tensor import SCALE_BYTES, scale_columns, scale_copies, scale_place
from lowering.layouts.wgmma import CORE_ROWS


class Allocation(Protocol):
    """Tensor memory of an accumulator: its first column, and its address after the CTA's barrier."""

    column: int

    @property
    def address(self) -> Value:
        """The address of the CTA's allocation."""
        ...


class Scales:
    """The scales of both factors of a product, those of B after those of A."""

    def __init__(self, x: Expander, op: nv_tileas.TensorScaledDot, atom: TensorAtom, memory: Allocation):
        assert atom.scales is not None
        self.emitter, self.memory, self.atom, self.kind = x.emitter, memory, atom, atom.scales
        self.tiles = [x.values[each] for each in (op.a_scales, op.b_scales)]
        (rows, count), (_, columns) = tensor_of(op.a_scales).shape, tensor_of(op.b_scales).shape
        self.rows, self.count = (rows, columns), count
        self.first = (memory.column, memory.column + scale_columns(rows, count))

    def copy(self, predicate: list[Value]) -> None:
        """Issue all copies of an iteration."""
        for tile, rows, first in zip(self.tiles, self.rows, self.first, strict=True):
            if not isinstance(tile, SharedTile):
                raise TypeError(f"scales are {type(tile).__name__}, not in shared memory")
            for block, column in enumerate(scale_copies(rows, self.count)):
                pointer = self.emitter.pointer(tile.pointer, None, 1, SCALE_BYTES * block)
                source = self.emitter.emit(
                    nvgpu.MatrixDescriptor,
                    pointer,
                    types=[I64],
                    lbo=CHUNK_BYTES,
                    sbo=CORE_ROWS * CHUNK_BYTES,
                    swizzle="none",
                    tensor=True,
                )
                self.emitter.effect(
                    nvvm.TensorCopy,
                    self.memory.address,
                    source,
                    *predicate,
                    segments=(1, 1, len(predicate)),
                    shape="32x128b.warpx4",
                    column=first + column,
                )

    def multiply(
        self, d: Value, a: Value, b: Value, block: tuple[int, int, int], enable: list[Value], predicate: list[Value],
        column: int, left_major: bool, right_major: bool,
    ) -> None:  # fmt: skip
        """The instruction of a block (along m, n and k), with the scales of its rows and columns."""
        (m, n, k), (i, j, step), kind = self.atom.shape, block, self.kind
        scale = step * kind.each
        places = [scale_place(rows, first, scale) for rows, first in zip(self.rows, (i * m, j * n), strict=True)]
        (column_a, byte_a), (column_b, byte_b) = places
        self.emitter.effect(
            nvvm.TensorMmaScaled, d, a, b, self.memory.address, *enable, *predicate,
            segments=(1, 1, 1, 1, len(enable), len(predicate)), shape=(m, n, 2 * k if self.atom.of_f4 else k),
            kind=kind.kind, typeA=kind.factors, typeB=kind.factors, scale=kind.name,
            layoutA="row" if left_major else "col", layoutB="col" if right_major else "row", accumulate=step > 0,
            column=column, columnA=self.first[0] + column_a, columnB=self.first[1] + column_b, byteA=byte_a,
            byteB=byte_b,
        )  # fmt: skip

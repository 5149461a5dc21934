"""Tensor memory of a placed program in the record of a compilation: its tiles, where they lie, and who uses them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ir.core import Op, Value
from ir.dialects import nv_tileas
from lowering.atoms.tcgen05 import M as LANES
from lowering.convert.tileas_to_nvgpu.compute import tensor_of
from lowering.layouts.f2 import log2
from lowering.layouts.tensor import (
    COLUMN_BITS,
    SCALE_ROWS,
    column_of,
    element_bits,
    lane_of,
    left_pitch,
    memory_columns,
    scale_columns,
    scale_place,
)
from lowering.schedule.explain import warps
from viz.record import TensorTile

QUARTERS = LANES // SCALE_ROWS
"""Of the lanes, which all hold the same scales (PTX ISA, tcgen05.cp, .warpx4)."""
USES: dict[type[Op], str] = {
    nv_tileas.TensorLoad: "read",
    nv_tileas.TensorStore: "written",
    nv_tileas.TensorScale: "rows scaled",
}
"""What operations other than products do with a tile."""


class TensorTiles:
    """Tiles of tensor memory of a placed program; `lines`: the number of the line on which each operation begins."""

    def __init__(self, program: Op, lines: dict[Op, int]):
        self.allocations = [op for op in program.walk() if isinstance(op, nv_tileas.AllocTensorMemory)]
        self.lines = lines
        self._uses: dict[Value, list[str]] = {op.result: [] for op in self.allocations}
        self._scaled: dict[Value, nv_tileas.TensorScaledDot] = {}
        switch = next((op for op in program.walk() if isinstance(op, nv_tileas.AgentSwitch)), None)
        inside = set[Op]()
        for agent, region in enumerate(switch.regions if switch else ()):
            assert switch is not None
            ops = [each for op in region.block.ops for each in op.walk()]
            inside.update(ops)
            self._note(ops, f"by {warps(switch.warp_id[agent], switch.num_warps[agent])}")
        self._note([op for op in program.walk() if op not in inside], "by all warps")

    @property
    def columns(self) -> int:
        """That the CTA allocates, once."""
        return max((op.columns for op in self.allocations), default=0)

    def __iter__(self) -> Iterator[TensorTile]:
        """Each tile, in the order of the program; scales of both factors of a product apart."""
        for number, op in enumerate(self.allocations):
            kind, name, line = op.result.type, f"T{number}", self.lines.get(op, -1)
            assert isinstance(kind, nv_tileas.TensorMemoryType)
            uses = list(dict.fromkeys(self._uses[op.result]))
            product = self._scaled.get(op.result)
            if product is not None:
                yield from scales(product, name, op.column, line, uses)
                continue
            width, (rows, columns) = element_bits(kind), kind.shape
            pitch = op.pitch or left_pitch(columns, width)
            what = "left factor" if op.left else "accumulator"
            text = f"{what} of {kind.element}" + (" over an accumulator that has been read" if op.over else "")
            taken = pitch * max(1, rows // LANES) if op.left else memory_columns(kind)
            bits = [place(1 << i, (rows, columns), width, pitch) for i in range(log2(rows * columns))]
            yield TensorTile(name, text, [rows, columns], bits, op.column, taken, line, op.stages, uses=uses)

    def _note(self, ops: Sequence[Op], whose: str) -> None:
        """What operations do with tiles of tensor memory."""
        for op in ops:
            if isinstance(op, nv_tileas.TensorDot):
                self._uses[op.d].append(f"products begun {whose}")
                if op.a in self._uses:
                    self._uses[op.a].append(f"left factor of products begun {whose}")
            if isinstance(op, nv_tileas.TensorScaledDot):
                self._uses[op.scales].append(f"copied there, and products begun, {whose}")
                self._scaled[op.scales] = op
            for operand in op.operands if type(op) in USES else ():
                if operand in self._uses:
                    self._uses[operand].append(f"{USES[type(op)]} {whose}")


def place(element: int, shape: tuple[int, int], width: int, pitch: int) -> tuple[int, int, int]:
    """Lane, column and bit of an element of a tile whose rows lie in lanes."""
    bit = element % shape[1] * width % COLUMN_BITS
    return lane_of(element, shape), column_of(element, shape[1], width, pitch), bit


def scales(
    product: nv_tileas.TensorScaledDot, name: str, first: int, line: int, uses: list[str]
) -> Iterator[TensorTile]:
    """The scales of both factors of a product, those of B behind those of A."""
    of_a, of_b = tensor_of(product.a_scales), tensor_of(product.b_scales)
    (rows, count), (_, others) = of_a.shape, of_b.shape
    for factor, extent, of in (("A", rows, of_a), ("B", others, of_b)):
        at = [scale_at(1 << i, extent, count) for i in range(log2(extent * count))]
        text = f"scales of {factor}, {of.element}, alike in each quarter of the lanes"
        taken = scale_columns(extent, count)
        yield TensorTile(f"{name}{factor}", text, [extent, count], at, first, taken, line, 1, QUARTERS - 1, uses)
        first += taken


def scale_at(element: int, rows: int, count: int) -> tuple[int, int, int]:
    """Lane, column and bit of a scale, `count` of each of the `rows`."""
    row, scale = divmod(element, count)
    column, byte = scale_place(rows, row, scale)
    return row % SCALE_ROWS, column, 8 * byte

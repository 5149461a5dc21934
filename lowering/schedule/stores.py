"""Stores through shared memory: tensor copies if the host can describe the array, otherwise stores from registers."""

from __future__ import annotations

from collections.abc import Sequence

from ir.checked import checked
from ir.core import Builder, UnsupportedError, Value
from ir.dialects import nv_tileas
from ir.launch_records import TensorMapRecord
from ir.types import PartitionViewType
from lowering.atoms.tma import TMA_REDUCE
from lowering.layouts.boxes import Boxes, boxes
from lowering.layouts.shared import SharedLayout
from lowering.placement.copied import contiguous_dim
from lowering.schedule.agents import Agents
from lowering.schedule.tensormaps import tensor_map


def store(op: nv_tileas.StagedStore, operands: Sequence[Value], agents: Agents, b: Builder) -> None:
    """A staged store on new operands; the buffer is scratch."""
    value, view, *index = operands
    found = plan(op, agents)
    if found is None and op.reduction:
        raise UnsupportedError(
            "the host cannot describe the array of the updated tile", op.location, f"--forbid {TMA_REDUCE}"
        )
    if found is None:
        b.add(nv_tileas.TiledStore, value, view, *index, types=(), segments=(1, 1, len(index)), bytes=op.bytes)
        return
    way, record = found
    tile = checked(op.view.type, PartitionViewType).tile
    b.add(
        nv_tileas.TiledTmaStore,
        value,
        *index,
        types=(),
        segments=(1, len(index)),
        shared=op.shared,
        atom=op.atom,
        tensormap=agents.map_number(record),
        dims=way.dims,
        boxes=way.places,
        tile=tuple(tile[d] for d in way.dims),
        ordered=op.ordered,
        reduction=op.reduction,
        parts=op.parts,
    )


def plan(op: nv_tileas.StagedStore, agents: Agents) -> tuple[Boxes, TensorMapRecord] | None:
    """Boxes and tensor map of a store, None where the accelerator or the host cannot make them."""
    view = checked(op.view.type, PartitionViewType)
    contiguous = contiguous_dim(view)
    way = None if contiguous is None else boxes(view.tile, contiguous, checked(op.shared, SharedLayout))
    record = None if way is None else tensor_map(op.view, way, agents.arguments)
    return None if way is None or record is None else (way, record)

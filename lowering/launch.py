"""The launch manifest: everything a launcher needs besides the PTX, collected from a kernel's levels."""

from __future__ import annotations

from typing import cast

from ir.core import UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.dialects import nvvm
from ir.dialects.gpu import GpuFunc
from ir.dialects.llvm import Func
from ir.launch_records import LaunchManifest, ParameterRecord, PointerRecord, ScalarRecord
from ir.narrowing import is_mapping, is_row
from ir.types import PointerType, TileType
from lowering.symbols import symbol

GRID = ("grid x", "grid y", "grid z")
COUNTER = "tile counter"
"""What the launcher of a persistent kernel passes: the extents of the logical grid, and four bytes of memory that
are zero at launch. `launch` in a record of the manifest says so.
"""
TICKETS, SUMS = "tickets", "sums"
"""What the launcher passes if CTAs of the grid divide a tile block: `bytes` of memory for each tile block, zeroed
for tickets; `ctas` is the number of CTAs launched for one.
"""
TICKET_BYTES = 4
SHARES = "shares"
"""What the launcher passes if the CTAs that fit the device take equal shares of a product's steps: `bytes` of
memory for the sums of each launched CTA.
"""


def parameters(entry: ct.Entry) -> tuple[ParameterRecord, ...]:
    """A record of each parameter, in order. Raises UnsupportedError, located, for one that is neither scalar nor
    pointer.
    """
    records: list[PointerRecord | ScalarRecord] = []
    for number, argument in enumerate(entry.parameters):
        kind = argument.type
        if not isinstance(kind, TileType) or kind.shape:
            raise UnsupportedError(f"parameter of type {kind} is not supported", entry.location, "pass a scalar")
        if isinstance(kind.element, PointerType):
            records.append({"kind": "pointer", "arg": number, "dtype": str(kind.element.pointee)})
        else:
            records.append({"kind": "scalar", "arg": number, "dtype": str(kind.element)})
    for record, name in zip(records[len(records) - len(entry.given) :], entry.given, strict=True):
        record["launch"] = name
        if record["kind"] == "pointer" and name in (TICKETS, SUMS, SHARES):
            record["bytes"] = TICKET_BYTES if name == TICKETS else entry.sums
            record["ctas"] = entry.split
    return tuple(records)


def manifest_of(func: GpuFunc | Func) -> LaunchManifest:
    """The manifest of a kernel of the nvgpu or the nvvm level, JSON-ready."""
    waits = any(isinstance(op, nvvm.GridDependencyWait) for op in func.walk())
    made: LaunchManifest = {
        "entry": symbol(func.sym_name),
        "name": func.sym_name,
        "target": func.target,
        "block": list(func.block),
        "cluster": list(func.cluster),
        "dynamic_smem": func.dynamic_smem,
        "global_scratch": 0,
        "params": [cast("ParameterRecord", _plain(each)) for each in func.params],
    }
    if waits:
        made["dependent"] = True
    return made


def _plain(value: object) -> object:
    """With lists instead of tuples, as in JSON."""
    if is_mapping(value):
        return {key: _plain(each) for key, each in value.items()}
    if is_row(value):
        return [_plain(each) for each in value]
    return value

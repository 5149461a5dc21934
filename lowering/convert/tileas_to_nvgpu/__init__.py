"""nv_tileas to nvgpu: a placed, scheduled kernel as the program of one thread."""

from lowering.convert.tileas_to_nvgpu import (
    agents,
    assertions,
    atomics,
    channels,
    control,
    effects,
    endless,
    exchanges,
    memory,
    parts,
    printing,
    scans,
    stores,
    switch,
    tensor,
    tiles,
)
from lowering.convert.tileas_to_nvgpu.expand import expand

__all__ = [
    "agents", "assertions", "atomics", "channels", "control", "effects", "endless", "exchanges", "expand", "memory",
    "parts", "printing", "scans", "stores", "switch", "tensor", "tiles",
]  # fmt: skip
"""Importing them fills the table of lowerings."""

"""From the nvvm level to PTX text: selection (select, templates), register names (registers), printing (printer)."""

from lowering.ptx import conversions as conversions  # registers its templates, like hopper
from lowering.ptx import hopper as hopper
from lowering.ptx.printer import emit

__all__ = ["emit"]

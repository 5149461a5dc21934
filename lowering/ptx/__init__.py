"""From the nvvm level to PTX text: selection (select, templates of llvm's operations, instructions), register names
(registers), printing (printer).
"""

from lowering.ptx import instructions, templates
from lowering.ptx.printer import emit

__all__ = ["emit", "instructions", "templates"]
"""Importing them fills the table of templates."""

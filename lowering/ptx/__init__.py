"""From the nvvm level to PTX text: selection (select, templates of llvm's operations, instructions), register names
(registers), printing (printer).
"""

from lowering.ptx.printer import emit

__all__ = ["emit"]

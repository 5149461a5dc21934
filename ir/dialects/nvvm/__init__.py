"""nvvm: the instructions of the last level, each declared once (`ir.instruction`); names as in MLIR where MLIR has
them.

Deviation: an instruction that fills several registers has several results where upstream returns one !llvm.struct. They
also occur in nvgpu, where values of several registers are lowered to their operands.
"""

from ir.dialects.nvvm.barriers import *  # noqa: F403
from ir.dialects.nvvm.bulk import *  # noqa: F403
from ir.dialects.nvvm.calls import *  # noqa: F403
from ir.dialects.nvvm.copies import *  # noqa: F403
from ir.dialects.nvvm.matrix import *  # noqa: F403
from ir.dialects.nvvm.memory import *  # noqa: F403
from ir.dialects.nvvm.multimem import *  # noqa: F403
from ir.dialects.nvvm.numbers import *  # noqa: F403
from ir.dialects.nvvm.packed import *  # noqa: F403
from ir.dialects.nvvm.sparse_and_scaled import *  # noqa: F403
from ir.dialects.nvvm.tensor import *  # noqa: F403
from ir.dialects.nvvm.tensor_variants import *  # noqa: F403
from ir.dialects.nvvm.warp import *  # noqa: F403

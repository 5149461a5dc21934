"""NumPy reference interpreter: the meaning of a cuda_tile module, one tile block after another.

It shares nothing with the compiler. Memory accesses are bounds-checked, assumptions of `assume` are checked, and values
that the language leaves unspecified are NaN (floats) or a conspicuous pattern (integers), so that dependence on them
shows.
"""

from ir.interpreter.memory import InterpreterError
from ir.interpreter.run import run

__all__ = ["InterpreterError", "run"]

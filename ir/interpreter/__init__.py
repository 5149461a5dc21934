"""NumPy reference interpreter: what a cuda_tile module means, one tile block after another.

It shares nothing with the compiler. Memory accesses are bounds-checked, promises of `assume` are checked, and values
the language leaves unspecified are NaN (floats) or a conspicuous pattern (integers), so that a program that depends on
them shows it.
"""

from ir.interpreter.memory import InterpreterError
from ir.interpreter.run import run

__all__ = ["InterpreterError", "run"]

"""The public interface: `tilesat.compile(...)` in Python, `tilesat` on the command line.

Names resolve at first use (PEP 562): importing this package loads neither egglog nor NumPy, so `tilesat --help` and
usage errors answer at once and only a compile pays for the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ir.core import TileError
    from tilesat.compiler import compile, compile_for
    from tilesat.execution import WrongResultError
    from tilesat.just_in_time import Jit, jit
    from tilesat.kernel import Kernel
    from tilesat.levels import LoweredKernel, lower
    from tilesat.multicast import Multicast
    from tilesat.torch_ops import torch_op
    from tilesat.tuned import Tuned
    from tilesat.tuning import autotune

_HOME = {
    "autotune": "tilesat.tuning",
    "compile": "tilesat.compiler",
    "compile_for": "tilesat.compiler",
    "jit": "tilesat.just_in_time",
    "lower": "tilesat.levels",
    "torch_op": "tilesat.torch_ops",
    "Jit": "tilesat.just_in_time",
    "Kernel": "tilesat.kernel",
    "LoweredKernel": "tilesat.levels",
    "Multicast": "tilesat.multicast",
    "TileError": "ir.core",
    "Tuned": "tilesat.tuned",
    "WrongResultError": "tilesat.execution",
}

__all__ = [
    "Jit",
    "Kernel",
    "LoweredKernel",
    "Multicast",
    "TileError",
    "Tuned",
    "WrongResultError",
    "autotune",
    "compile",
    "compile_for",
    "jit",
    "lower",
    "torch_op",
]


def __getattr__(name: str) -> object:
    """Load a public name from the module that holds it."""
    if name == "cutile":  # a module, whose `backend` is as public
        return import_module("tilesat.cutile")
    if name not in _HOME:
        raise AttributeError(f"module 'tilesat' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)

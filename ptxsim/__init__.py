"""A PTX simulator on NumPy.

`launch` runs an entry of PTX text over a grid on a `GlobalMemory`; `check` only decodes; a `Module` is loaded once and
launched many times, and its variables keep their values. It shares no code with any compiler, so it can check PTX from
any source. Structure: parser -> program -> link (decode to closures) -> schedule; one module per instruction family
under `families`.
"""

from ptxsim.beside import Beside, launch_beside
from ptxsim.errors import (
    AssertionFailedError,
    DeadlockError,
    HazardError,
    LaunchError,
    MisalignedError,
    OperandError,
    OutOfBoundsError,
    ParseError,
    SimulatorError,
    StepLimitError,
    TargetError,
    TrapError,
    UnknownOpcodeError,
    UnsupportedModifierError,
)
from ptxsim.findings import Hazard, hazard_table, source_lines
from ptxsim.launch import Kernel, Module, Symbol, check, launch
from ptxsim.memory import Address, GlobalMemory
from ptxsim.report import Report, Sectors
from ptxsim.tensormap import TensorMap

__all__ = [
    "Address",
    "AssertionFailedError",
    "Beside",
    "DeadlockError",
    "GlobalMemory",
    "Hazard",
    "HazardError",
    "Kernel",
    "LaunchError",
    "MisalignedError",
    "Module",
    "OperandError",
    "OutOfBoundsError",
    "ParseError",
    "Report",
    "Sectors",
    "SimulatorError",
    "StepLimitError",
    "Symbol",
    "TargetError",
    "TensorMap",
    "TrapError",
    "UnknownOpcodeError",
    "UnsupportedModifierError",
    "check",
    "hazard_table",
    "launch",
    "launch_beside",
    "source_lines",
]

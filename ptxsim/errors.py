"""Every way a simulation can fail, each with its PTX line."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptxsim.findings import Hazard


class SimulatorError(Exception):
    """A PTX program that cannot be parsed, decoded or run.

    message: what is wrong and what to do; line: PTX line number from 1, None before any line is known; text: the
    statement as written; hazards: what hazards="report" had collected when this error ended the run; source: file and
    line of the program that the PTX was generated from, empty without a `.loc`; printed, printed_at: the output printed
    by then, and its PTX lines.
    """

    def __init__(self, message: str, line: int | None = None, text: str | None = None) -> None:
        self.message = message
        self.line = line
        self.text = text
        self.hazards: list[Hazard] = []
        self.source = ""
        self.printed: list[str] = []
        self.printed_at: list[int] = []
        super().__init__(message)

    def __str__(self) -> str:
        if self.line is None:
            return self.message
        shown = f" `{self.text}`" if self.text else ""
        source = f" ({self.source})" if self.source else ""
        return f"PTX line {self.line}{shown}{source}: {self.message}"


class ParseError(SimulatorError):
    """Text that is not PTX, or PTX syntax that the parser does not support."""


class UnknownOpcodeError(SimulatorError):
    """An opcode that the simulator does not implement."""


class UnsupportedModifierError(SimulatorError):
    """A modifier, type or combination of them that the simulator does not implement."""


class TargetError(SimulatorError):
    """An instruction that the module's .target or .version does not have, or a .target that its .version lacks."""


class OperandError(SimulatorError):
    """An operand of the wrong kind, number or width."""


class LaunchError(SimulatorError):
    """Arguments, grid, block or shared memory that are invalid for the entry."""


class OutOfBoundsError(SimulatorError):
    """An access to unallocated memory; names the thread and the address."""


class MisalignedError(SimulatorError):
    """An access whose address is not a multiple of its size; names the thread and the address."""


class DeadlockError(SimulatorError):
    """No thread can make progress; lists where the threads wait."""


class StepLimitError(SimulatorError):
    """The program ran for longer than the launch allows, most likely in a loop that never ends."""


class HazardError(SimulatorError):
    """A race, an uninitialised read, a use of data still in flight ...; kind: its name in `findings.Kind`."""

    def __init__(self, message: str, line: int | None = None, text: str | None = None, kind: str = "") -> None:
        self.kind = kind
        super().__init__(message, line, text)


class TrapError(SimulatorError):
    """The program executed `trap`."""


class AssertionFailedError(TrapError):
    """An `assert` of the program failed."""

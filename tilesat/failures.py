"""What the command line shows when something is wrong with what the user gave: one located message, no traceback."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ir.core import Location, TileError


LONGEST_LINE = 140
"""Characters of a source line that a message repeats."""


def user_errors() -> tuple[type[Exception], ...]:
    """Every exception that tells of the user's input or machine; anything else is a defect and keeps its traceback.

    A function, so that the classes are imported only once something has gone wrong.
    """
    from extract.errors import ExtractionError
    from ir.core import TileError
    from ptxsim.errors import SimulatorError
    from runtime.cuda import CudaError
    from runtime.driver.build import BuildError
    from runtime.manifest import ManifestError
    from runtime.ptxas import PtxasError, PtxasNotFoundError
    from tilesat.spec import SpecError

    tools = (SimulatorError, PtxasError, PtxasNotFoundError, CudaError, BuildError, ManifestError)
    return TileError, ExtractionError, *tools, SpecError, OSError, RecursionError


def is_usage(error: Exception) -> bool:
    """Whether the command line is at fault, not the program."""
    from tilesat.spec import SpecError

    return isinstance(error, SpecError)


def describe(error: Exception) -> str:
    """The message of any of `user_errors()`, as printed on standard error."""
    from ir.core import TileError

    if isinstance(error, TileError):
        return render(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'tilesat'}: error: {error.strerror or error}"
    if isinstance(error, RecursionError):
        return "tilesat: error: the program is nested too deeply"
    return _of_a_run(error) or f"tilesat: error: {error}"


def _of_a_run(error: Exception) -> str:
    """What the simulator says, at the line of the source where it is known: else nothing."""
    from ir.core import Location, TileError
    from ptxsim.errors import SimulatorError
    from tilesat.in_source import place_of

    place = place_of(error)
    if not isinstance(error, SimulatorError) or place is None:
        return ""
    hint = f"PTX line {error.line} is `{error.text}`"
    return render(TileError(error.message, Location(*place), hint))


def render(error: TileError, kind: str = "error") -> str:
    """`file:line:col: error: message`, then the line and a caret under the column, then the hint; or a warning."""
    from ir.core import UNKNOWN

    # What has no place in a source (an unknown target) is reported by the program itself, as argparse does.
    place = "tilesat" if error.location == UNKNOWN else error.location
    if error.location.line > 0 and not error.location.column:
        place = f"{error.location.file}:{error.location.line}"
    parts = [f"{place}: {kind}: {error.message}"]
    line = _source_line(error.location)
    if line is not None:
        parts.append(_with_caret(line, error.location))
    if error.hint:
        parts.append(f"hint: {error.hint}")
    return "\n".join(parts)


def _source_line(location: Location) -> str | None:
    if location.line <= 0:
        return None
    try:
        lines = Path(location.file).read_text().splitlines()
    except (OSError, ValueError):  # ValueError: a name with NUL bytes, or a file that is not UTF-8 text
        return None
    return lines[location.line - 1] if location.line <= len(lines) else None


def _excerpt(line: str, location: Location) -> tuple[str, Location]:
    """A line that is too long, cut down to what is around the column."""
    if len(line) <= LONGEST_LINE:
        return line, location
    start = max(0, min(location.column - LONGEST_LINE // 2, len(line) - LONGEST_LINE))
    end = start + LONGEST_LINE
    cut = f"{'... ' if start else ''}{line[start:end]}{' ...' if end < len(line) else ''}"
    return cut, replace(location, column=location.column - start + (4 if start else 0))


def _with_caret(line: str, location: Location) -> str:
    number = f"{location.line:>5}"
    line, location = _excerpt(line, location)
    # Tabs are kept before the caret, so that both lines are indented alike whatever the tab width.
    indent = "".join("\t" if c == "\t" else " " for c in line[: max(location.column - 1, 0)])
    caret = f"\n{' ' * len(number)} | {indent}^" if location.column > 0 else ""
    return f"{number} | {line}{caret}"

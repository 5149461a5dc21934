"""What tuning finds: a row a configuration, as a table, and pinned as JSON in the user's repository."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, TypeGuard

from ir.core import Location, TileError
from ir.narrowing import is_list, is_mapping
from tilesat.output import write_file

if TYPE_CHECKING:
    from ptxsim import Report
    from tilesat.kernel import Kernel

Values = dict[str, object]
PIN = ("kernel", "target", "arguments", "configuration")
"""What a pin must have."""


class Pin(TypedDict):
    """A pinned configuration, and by what it was the best."""

    kernel: str
    target: str
    arguments: str
    configuration: Values
    predicted: NotRequired[float]
    assembled: NotRequired[float]
    measured: NotRequired[float]


@dataclass(frozen=True)
class Row:
    """A configuration that was tried: its grid in tile blocks, the predicted cycles of the whole grid, by cost and by
    assembled code, the median of what was measured, in microseconds, of so many samples; or why it cannot be compiled.
    """

    configuration: Values
    grid: tuple[int, int, int]
    predicted: float | None = None
    assembled: float | None = None
    measured: float | None = None
    samples: int = 0
    error: str = ""
    program: str = ""
    """In what it differs from the cheapest program of its e-graph; empty for that."""

    @property
    def rank(self) -> tuple[float, ...]:
        """What is measured comes first, then what was assembled, then what is predicted by cost, then what failed."""
        infinite = float("inf")
        return tuple(infinite if each is None else each for each in (self.measured, self.assembled, self.predicted))

    def __str__(self) -> str:
        """The configuration, as tables name it."""
        return ", ".join(f"{name}={value}" for name, value in self.configuration.items()) or "default"


@dataclass(frozen=True)
class Tuned:
    """What `tilesat.autotune` returns: rows, the best first. `left`: how many configurations the budget left out.

    `found`: where the rows are from, "searched", "cached" or "pinned". `lacking`: what keeps code from being assembled.
    """

    name: str
    target: str
    arguments: str
    rows: tuple[Row, ...]
    left: int
    found: str
    compiled: Callable[[Values], Kernel] = field(repr=False)
    lacking: str = ""

    @property
    def best(self) -> Row:
        """The first row."""
        return self.rows[0]

    @property
    def measured(self) -> bool:
        """Was the best one timed on a card? Else it is predicted by the target's tables."""
        return self.best.measured is not None

    @property
    def how(self) -> str:
        """What the order of rows is by, for people."""
        if self.measured:
            return "measured on a card"
        if self.best.assembled is not None:
            return "predicted from assembled code by the target's tables, not measured"
        why = f" ({self.lacking})" if self.lacking else ""
        return f"predicted from costs by the target's tables, not from assembled code{why} and not measured"

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel of the best configuration, for all arguments of the same kind."""
        return self.compiled(self.best.configuration)

    def __call__(self, *args: object, **named: object) -> Report | None:
        """Launch the best one over its grid, as `Kernel[grid]` does; constants may be left out."""
        return self.kernel[self.best.grid](*args, **named)

    def __str__(self) -> str:
        """A table."""
        head = f"@{self.name}{self.arguments} for {self.target}: {self.how}; {self.found}"
        names = "configuration", "tile blocks", "cycles by cost", "by code", "measured us", "samples", "program"
        cells: list[Sequence[str]] = [names]
        for each in self.rows:
            if each.error:
                continue
            cells.append(
                (
                    str(each),
                    " x ".join(map(str, each.grid)),
                    _number(each.predicted, 0),
                    _number(each.assembled, 0),
                    _number(each.measured, 1),
                    str(each.samples or ""),
                    each.program,
                )
            )
        shown = [place for place in range(len(names)) if place < 3 or any(row[place] for row in cells[1:])]
        cells = [[row[place] for place in shown] for row in cells]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells
        ]
        lines += [f"{each}: {each.error}" for each in self.rows if each.error]
        lines += [f"{self.left} more were left out: the budget was spent"] if self.left else []
        return "\n".join([head, *lines])

    def pin(self, path: str | Path) -> None:
        """Write the best configuration into a file of pins, in place of an earlier one of this kernel, target and
        arguments. Raises TileError for a file that holds no pins, OSError.
        """
        own = self.name, self.target, self.arguments
        kept = [each for each in pins(path) if (each["kernel"], each["target"], each["arguments"]) != own]
        best = self.best
        made = Pin(kernel=self.name, target=self.target, arguments=self.arguments, configuration=best.configuration)
        if best.predicted is not None:
            made["predicted"] = best.predicted
        if best.assembled is not None:
            made["assembled"] = best.assembled
        if best.measured is not None:
            made["measured"] = best.measured
        kept.append(made)
        kept.sort(key=lambda each: (each["kernel"], each["target"], each["arguments"]))
        write_file(Path(path), json.dumps(kept, indent=2) + "\n")


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def is_pin(given: object) -> TypeGuard[Pin]:
    """Has this all that a pin must have?"""
    return is_mapping(given) and set(PIN) <= set(given)


def pins(path: str | Path) -> list[Pin]:
    """The pins of a file; none where there is no file. Raises TileError for a file that holds something else."""
    try:
        found: object = json.loads(Path(path).read_text())
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise TileError(f"cannot parse the pins: {error}", Location(str(path))) from None
    pins = [each for each in found if is_pin(each)] if is_list(found) else []
    if not is_list(found) or len(pins) != len(found):
        raise TileError(f"cannot read the pins: expected a list of objects with {', '.join(PIN)}", Location(str(path)))
    return pins


def pinned(path: str | Path, name: str, target: str, arguments: str, tried: Sequence[Values]) -> Values | None:
    """The configuration that a file pins for a kernel, a target and arguments; None where there is none.

    Raises TileError where what is pinned is no configuration of those `tried`.
    """
    for each in pins(path):
        if (each["kernel"], each["target"], each["arguments"]) == (name, target, arguments):
            wanted = dict(each["configuration"])
            found = [one for one in tried if plain(one) == wanted]
            if not found:
                message = f"the pin of @{name} for {target} is not one of the configurations: {wanted}"
                raise TileError(message, Location(str(path)), "remove it to search again")
            return found[0]
    return None


def plain(configuration: Values) -> Values:
    """A configuration as JSON has it."""
    return json.loads(json.dumps(configuration, default=str))


def plain_text(configuration: Values) -> str:
    """A configuration as JSON text, by which two are compared."""
    return json.dumps(plain(configuration))

"""What `tilesat sanitize` found, and how it is printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from ptxsim import SimulatorError
from ptxsim.findings import Hazard, source_lines

_RULE = "========="


@dataclass(slots=True)
class Finding:
    """Something wrong at one place of a kernel: what, how often, and its first case.

    what: the kind; source: file and line of the program, "" where no `.loc` says it; thread: the first one, "" where
    it does not matter.
    """

    what: str
    message: str
    kernel: str = ""
    line: int | None = None
    text: str = ""
    source: str = ""
    thread: str = ""
    launch: int = 0
    count: int = 1


@dataclass(slots=True)
class Summary:
    """All that a program did and what was found: hazards, errors that ended a kernel or a call, and what is refused."""

    launches: int = 0
    suppressed: int = 0
    hazards: dict[tuple[str, str, int | None], Finding] = field(
        default_factory=dict[tuple[str, str, "int | None"], Finding]
    )
    errors: dict[tuple[str, str, int | None], Finding] = field(
        default_factory=dict[tuple[str, str, "int | None"], Finding]
    )
    refused: dict[tuple[str, str, int | None], Finding] = field(
        default_factory=dict[tuple[str, str, "int | None"], Finding]
    )

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found and everything was run."""
        return not (self.hazards or self.errors or self.refused)

    def add_hazards(self, kernel: str, hazards: list[Hazard]) -> None:
        """Note what hazard tracking found in the current launch."""
        for hazard in hazards:
            finding = Finding(
                hazard.kind.title,
                hazard.message,
                kernel,
                hazard.line,
                hazard.text,
                hazard.source,
                hazard.thread,
                self.launches,
                hazard.count,
            )
            _note(self.hazards, finding)

    def add_error(self, kernel: str, what: str, error: SimulatorError, ptx: str, refused: bool = False) -> None:
        """Note what ended a launch, or why it did not start."""
        source = source_lines(ptx).get(error.line or 0, "")
        finding = Finding(what, error.message, kernel, error.line, error.text or "", source, "", self.launches)
        _note(self.refused if refused else self.errors, finding)

    def add_call(self, call: str, message: str, refused: bool = False) -> None:
        """Note a call of the driver that fails."""
        _note(self.refused if refused else self.errors, Finding(call, message))

    def text(self, most: int | None = None) -> str:
        """The report, in the manner of compute-sanitizer; most: places of each sort that are printed, None for all."""
        lines = [f"{_RULE} TILESAT SANITIZE"]
        for title, found in (("", self.hazards), ("error: ", self.errors), ("refused: ", self.refused)):
            for finding in islice(found.values(), most):
                lines += [f"{_RULE} {line}" if line else _RULE for line in _block(title, finding)]
            if most is not None and len(found) > most:
                lines.append(f"{_RULE} {len(found) - most} more places are omitted; --report OUT lists them all")
        kinds = Counter(finding.what for finding in self.hazards.values())
        if len(self.hazards) > 1:
            lines.append(f"{_RULE} places: {', '.join(f'{kinds[kind]} {kind}' for kind in sorted(kinds))}")
        lines.append(f"{_RULE} {self._counts()}")
        return "\n".join(lines) + "\n"

    def _counts(self) -> str:
        hazards = sum(finding.count for finding in self.hazards.values())
        parts = [_number(hazards, "hazard") + (f" at {_number(len(self.hazards), 'place')}" if hazards else "")]
        parts += [_number(len(found), name, name) for name, found in (("refused", self.refused),) if found]
        if self.errors:
            parts.append(_number(len(self.errors), "error"))
        if self.suppressed:
            parts.append(f"{self.suppressed} suppressed")
        return f"SUMMARY: {', '.join(parts)} in {_number(self.launches, 'launch', 'launches')}"


def _number(count: int, name: str, names: str = "") -> str:
    return f"{count} {name if count == 1 else names or name + 's'}"


def _note(found: dict[tuple[str, str, int | None], Finding], finding: Finding) -> None:
    place = finding.kernel, finding.what if finding.line is not None else finding.what + finding.message, finding.line
    earlier = found.setdefault(place, finding)
    if earlier is not finding:
        earlier.count += finding.count


def _block(title: str, finding: Finding) -> Iterator[str]:
    yield f"{title}{finding.what}: {finding.message.removeprefix(finding.what + ': ')}"
    if finding.kernel:
        at = f" at {finding.source}" if finding.source else ""
        line = f", PTX line {finding.line}" if finding.line is not None else ""
        yield f"    in {finding.kernel}{at}{line}"
    if finding.text:
        yield f"    {' '.join(finding.text.split())}"
    if finding.thread:
        yield f"    first by {finding.thread}"
    if finding.launch:
        times = f", {finding.count} times in all" if finding.count > 1 else ""
        yield f"    first in launch {finding.launch}{times}"
    yield ""

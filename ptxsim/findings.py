"""What hazard tracking finds: its kinds, each declared once, and how findings are handled, by PTX line."""

import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from ptxsim.errors import DeadlockError, HazardError, LaunchError, SimulatorError
from ptxsim.program import Instruction

STOP, REPORT = "stop", "report"
_RULE = re.compile(r"(?P<kind>[a-z][a-z-]*)(?::(?P<line>[0-9]+))?|(?P<alone>[0-9]+)")


class Kind(Enum):
    """A kind of hazard: its name, used to suppress it, and its meaning."""

    RACE = "race", "threads access the same shared memory, one writes, and there is no barrier in between"
    COPY_RACE = (
        "copy-race",
        "bytes that a copy wrote are used by a thread that has not seen its mbarrier's phase complete",
    )
    COPY_IN_FLIGHT = (
        "copy-in-flight",
        "shared memory is used while a copy still writes it, or written while one reads it",
    )
    MATRIX_READS = "matrix-reads", "shared memory is written while wgmma or tcgen05 may still read it"
    REMOTE_MEMORY = (
        "remote-memory",
        "shared memory of a CTA of the cluster that may not have started or has ended is used",
    )
    GLOBAL_RACE = "global-race", "a copy reads global memory that another thread wrote without a barrier in between"
    GLOBAL_IN_FLIGHT = (
        "global-in-flight",
        "global memory is used while a bulk copy still writes it, or written while one reads",
    )
    PROXY_FENCE = "proxy-fence", "the async proxy uses what a generic write changed without fence.proxy.async between"
    UNWRITTEN_SHARED = "unwritten-shared", "shared memory is read before it has been written"
    UNWRITTEN_REGISTER = "unwritten-register", "a register is read before its thread has written it"
    UNWRITTEN_TENSOR = "unwritten-tensor", "tensor memory is used before it has been written"
    REGISTER_IN_FLIGHT = "register-in-flight", "a register is used while a wgmma or tcgen05.ld in flight owns it"
    WGMMA_FENCE = "wgmma-fence", "a register goes into a wgmma with no wgmma.fence after its last use"
    TENSOR_IN_FLIGHT = (
        "tensor-in-flight",
        "tensor memory is used before the operation or move on it is known to be complete",
    )
    TENSOR_RACE = "tensor-race", "warps access the same tensor memory, one writes, and there is no barrier in between"
    TENSOR_ALLOCATION = (
        "tensor-allocation",
        "a CTA ends with tensor memory allocated, or with the permit to allocate that another waits for",
    )
    MBARRIER_OBJECT = "mbarrier-object", "an mbarrier object is accessed by other than mbarrier instructions"
    MBARRIER_INIT = "mbarrier-init", "an mbarrier is used before its init is known to the thread, or without one"
    MBARRIER_INVAL = "mbarrier-inval", "an mbarrier is invalidated while others may still use it"
    MBARRIER_COUNT = "mbarrier-count", "more arrivals or bytes than the phase of an mbarrier has room for"
    TX_COUNT = "tx-count", "the bytes that an mbarrier's phase expects and the bytes that arrive differ"
    UNFINISHED_COPY = "unfinished-copy", "a thread or CTA ends while its copy is in flight"
    MEMBER_MASK = "member-mask", "a lane that is not in its own member mask, or whose members name others"
    SHUFFLE_SOURCE = "shuffle-source", "a shuffle reads from a lane that does not take part"
    CLUSTER_BARRIER = "cluster-barrier", "barrier.cluster.arrive twice, or barrier.cluster.wait without an arrive"
    CLUSTER_REQUEST = "cluster-request", "clusterlaunchcontrol.try_cancel after a request that failed"
    TENSOR_MAP = "tensor-map", "a changed tensor map is used before it is released, or before this CTA has acquired it"
    GRID_DEPENDENCY = (
        "grid-dependency",
        "global memory written by the preceding launch is used before griddepcontrol.wait",
    )
    DEADLOCK = "deadlock", "no thread can go on; it always ends the run"

    def __init__(self, title: str, meaning: str) -> None:
        self.title = title
        self.meaning = meaning


@dataclass(slots=True)
class Hazard:
    """A hazard of one kind at one PTX line (None: no line): how often it was seen, and its first case.

    count: checks of the instruction that found it, each for all threads that run it together; thread: the first one;
    source: file and line of the program that the PTX was generated from, empty without a `.loc`.
    """

    kind: Kind
    line: int | None
    text: str
    thread: str
    message: str
    count: int = 1
    source: str = ""


class Findings:
    """The hazards of a launch. mode: "stop" raises the first, "report" collects all and continues.

    suppress: "KIND", "KIND:LINE" or "LINE" of PTX, which are counted separately and never stop the run. After some
    hazards the run cannot continue (an mbarrier that does not exist, a deadlock): they are raised in either mode.
    Raises LaunchError for a mode or a kind that does not exist.
    """

    def __init__(self, mode: str = STOP, suppress: Iterable[str] = ()) -> None:
        if mode not in (STOP, REPORT):
            raise LaunchError(f'hazards {mode!r}: expected False, True, "{STOP}" or "{REPORT}"')
        self._stops = mode == STOP
        self._suppressed = {_rule(text) for text in suppress}
        self._found: dict[tuple[Kind, int | None, bool], Hazard] = {}

    def found(self, kind: Kind, message: str, instruction: Instruction | None, thread: str = "") -> None:
        """Record a hazard after which the run can continue. Raises HazardError in mode "stop"."""
        if not self._note(kind, message, instruction, thread) and self._stops:
            raise self._error(kind, message, instruction)

    def fatal(self, kind: Kind, message: str, instruction: Instruction | None, thread: str = "") -> HazardError:
        """Record a hazard after which the run cannot continue; returns the error to raise."""
        self._note(kind, message, instruction, thread)
        return self._error(kind, message, instruction)

    @contextmanager
    def attached(self, ptx: str) -> Generator[None]:
        """Attaches the earlier findings to an error that ends the run of a PTX text, and the error itself if it is a
        deadlock.
        """
        try:
            yield
        except SimulatorError as error:
            if isinstance(error, DeadlockError):
                self._add(Hazard(Kind.DEADLOCK, error.line, error.text or "", "", error.message), is_suppressed=False)
            error.hazards = self.hazards(ptx)
            error.source = source_lines(ptx).get(error.line or 0, "")
            raise

    def _note(self, kind: Kind, message: str, instruction: Instruction | None, thread: str) -> bool:
        line, text = (None, "") if instruction is None else (instruction.line, instruction.text)
        is_suppressed = not self._suppressed.isdisjoint({(kind, None), (kind, line), (None, line)})
        self._add(Hazard(kind, line, text, thread, message), is_suppressed)
        return is_suppressed

    def _add(self, hazard: Hazard, is_suppressed: bool) -> None:
        earlier = self._found.setdefault((hazard.kind, hazard.line, is_suppressed), hazard)
        if earlier is not hazard:
            earlier.count += 1

    def join(self, later: "Findings") -> None:
        """Take over the findings of a later part of the grid."""
        for key, hazard in later._found.items():
            earlier = self._found.setdefault(key, hazard)
            if earlier is not hazard:
                earlier.count += hazard.count

    def _error(self, kind: Kind, message: str, instruction: Instruction | None) -> HazardError:
        if instruction is None:
            return HazardError(message, kind=kind.title)
        return HazardError(message, instruction.line, instruction.text, kind.title)

    def hazards(self, ptx: str, suppressed: bool = False) -> list[Hazard]:
        """The findings (or suppressed ones) in a PTX text, by line, with source lines."""
        chosen = [hazard for (_, _, apart), hazard in self._found.items() if apart == suppressed]
        sources = source_lines(ptx) if chosen else {}
        for hazard in chosen:
            hazard.source = sources.get(hazard.line or 0, "")
        return sorted(chosen, key=lambda hazard: (hazard.line or 0, hazard.kind.title))


def _rule(text: str) -> tuple[Kind | None, int | None]:
    """What "KIND", "KIND:LINE" or "LINE" suppresses."""
    kinds = {kind.title: kind for kind in Kind}
    match = _RULE.fullmatch(text)
    if match is None or (match["kind"] and match["kind"] not in kinds):
        raise LaunchError(f"cannot suppress {text!r}: expected KIND, KIND:LINE or LINE; kinds are {', '.join(kinds)}")
    line = match["line"] or match["alone"]
    return kinds.get(match["kind"]), int(line) if line else None


def source_lines(ptx: str, plain: bool = False) -> dict[int, str]:
    """For each PTX line covered by a `.loc`: "file:line" of the program that the PTX was generated from.

    plain: lines are numbered as if the text had no `.loc`. Source: PTX ISA, "Debugging Directives": a `.loc` applies to
    the instructions that follow; `.file` may come later.
    """
    files: dict[str, str] = {}
    places: dict[int, tuple[str, str]] = {}
    current: tuple[str, str] | None = None
    skipped = 0
    for number, line in enumerate(ptx.splitlines(), 1):
        words = line.split(None, 3)
        skipped += plain and words[:1] == [".loc"]
        if len(words) > 2 and words[0] == ".file":
            files[words[1]] = line.split('"')[1] if line.count('"') > 1 else words[2]
        elif len(words) > 2 and words[0] == ".loc":
            current = words[1], words[2]
        elif line.startswith("}"):
            current = None
        elif current is not None:
            places[number - skipped] = current
    return {number: f"{files.get(file, 'file ' + file)}:{line}" for number, (file, line) in places.items()}


def hazard_table(hazards: Sequence[Hazard], suppressed: Sequence[Hazard] = ()) -> str:
    """The hazards in columns, one line for each kind at each PTX line, and below it how many were suppressed."""
    rows = [("PTX line", "source", "kind", "count", "first", "instruction")]
    for each in hazards:
        line = "" if each.line is None else str(each.line)
        rows.append((line, each.source, each.kind.title, str(each.count), each.thread, " ".join(each.text.split())))
    if not any(row[1] for row in rows[1:]):
        rows = [(row[0], *row[2:]) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    total = f"{sum(each.count for each in hazards)} hazards at {len({each.line for each in hazards})} PTX lines"
    if suppressed:
        total += f", {sum(each.count for each in suppressed)} suppressed"
    return "\n".join([*(lines if hazards else []), total])

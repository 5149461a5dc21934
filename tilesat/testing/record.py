"""A run over a folder of kernels as plain data, and two such runs compared: what became worse, and by how much."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TypedDict

from ir.core import Location, TileError
from tilesat.fuzz.judge import raised
from tilesat.kernel import Kernel

SUFFIXES = (".mlir", ".tileirbc", ".bc")
FORM = "tilesat-run-1"
"""What a file of a run begins with; another number means other fields."""


@dataclass(frozen=True)
class Figures:
    """Of a kernel: cost in cycles; instructions, of SASS, or of PTX where nothing is assembled; registers of a thread;
    spills and shared memory in bytes; CPU seconds of its compilation. error: why they are missing.
    """

    cost: float = 0.0
    instructions: int = 0
    registers: int = 0
    spills: int = 0
    shared_memory: int = 0
    seconds: float = 0.0
    error: str = ""


MEASURES = tuple(each.name for each in fields(Figures) if each.name != "error")
Run = dict[str, Figures]
"""Figures by `FILE@ENTRY TARGET`."""


@dataclass(frozen=True)
class Thresholds:
    """By how much a measure may grow: parts of its old value; seconds also by a least difference, as they are noisy."""

    figures: float = 0.02
    seconds: float = 0.5
    least_seconds: float = 0.1

    def worse(self, measure: str, before: float, after: float) -> bool:
        """Is a measure worse than it may be? Of spills and of what was nothing any growth counts."""
        if measure == "seconds":
            return after > before * (1 + self.seconds) and after - before > self.least_seconds
        return after > before * (1 + (0.0 if measure == "spills" else self.figures))


def files(folder: Path) -> list[Path]:
    """The kernels of a folder and those below. Raises TileError where there are none."""
    if not folder.exists():
        raise TileError("there is no such folder", Location(str(folder)))
    found = [folder] if folder.is_file() else sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES)
    if not found:
        raise TileError(f"no kernel: expected files that end in {', '.join(SUFFIXES)}", Location(str(folder)))
    return found


def record(folder: Path, targets: Sequence[str], told: Callable[[str], object], assembled: bool = True) -> Run:
    """Compile every entry of every file for each target. What does not compile has its error in place of figures.

    told: takes a line a kernel. assembled: count SASS, registers and spills.
    """
    run: Run = {}
    paths = files(folder)
    for number, path in enumerate(paths):
        for key, figures in _of_file(path, folder, targets, assembled, warm=number > 0):
            run[key] = figures
            told(f"{key}: {figures.error or f'cost {figures.cost:.6g}, {figures.instructions} instructions'}")
    return run


def _of_file(
    path: Path, folder: Path, targets: Sequence[str], assembled: bool, warm: bool
) -> Iterator[tuple[str, Figures]]:
    from tilesat.source import read

    name = str(path.relative_to(folder)) if path != folder else path.name
    try:
        entries = [entry.sym_name for module in read(path, {}) for entry in module.entries]
    except TileError as error:
        yield from ((f"{name} {target}", Figures(error=error.message)) for target in targets)
        return
    for entry in entries:
        for target in targets:
            if not warm:  # the first compilation of a process loads the engine
                _figures(path, entry, target, False)
                warm = True
            yield f"{name}@{entry} {target}", _figures(path, entry, target, assembled)


def _figures(path: Path, entry: str, target: str, assembled: bool) -> Figures:
    import tilesat

    begun = time.process_time()
    try:
        kernel = tilesat.compile(path, target, entry=entry)
    except TileError as error:
        return Figures(error=error.message)
    except Exception as error:  # noqa: BLE001 (a kernel that ends in a traceback is a row too)
        return Figures(error=raised(error))
    return _measured(kernel, time.process_time() - begun, assembled)


def _measured(kernel: Kernel, seconds: float, assembled: bool) -> Figures:
    from runtime.ptxas import assemble, disassemble
    from tilesat.mca.listing import functions
    from tilesat.testing.levels import lines_of

    cost, shared = float(kernel.cost), int(kernel.manifest["dynamic_smem"])
    if not assembled:
        return Figures(cost, len(lines_of("ptx", kernel.ptx)), shared_memory=shared, seconds=round(seconds, 3))
    cubin = assemble(kernel.ptx, kernel.target)
    code = [each for function in functions(disassemble(cubin)) for each in function.instructions]
    count = sum(each.family != "NOP" for each in code)  # NOP pads the code
    return Figures(cost, count, cubin.registers, cubin.spill_stores, shared, round(seconds, 3))


def write(run: Run, assembled: bool) -> str:
    """A run as a file."""
    kernels = {key: asdict(figures) for key, figures in run.items()}
    return json.dumps({"form": FORM, "assembled": assembled, "kernels": kernels}, indent=1) + "\n"


class _Measures(TypedDict, total=False):
    cost: float
    instructions: int
    registers: int
    spills: int
    shared_memory: int
    seconds: float
    error: str


class _File(TypedDict):
    form: str
    assembled: bool
    kernels: dict[str, _Measures]


def read_run(path: Path) -> tuple[Run, bool]:
    """A run from its file, and whether it counts SASS. Raises TileError where the file does not hold one."""
    try:
        data: _File = json.loads(path.read_text())
        if data["form"] != FORM:
            raise TileError(f"a run in another format: expected {FORM}, got {data['form']}", Location(str(path)))
        return {key: Figures(**figures) for key, figures in data["kernels"].items()}, bool(data["assembled"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "`tilesat bench-record DIR -o FILE` makes one"
        raise TileError("cannot read the file: expected a recorded run", Location(str(path)), hint) from error


@dataclass(frozen=True)
class Change:
    """A kernel that is not as it was: `rows` are measures before and after, worse those above their thresholds."""

    kernel: str
    rows: tuple[tuple[str, float, float], ...] = ()
    worse: frozenset[str] = frozenset()
    note: str = ""
    failed: bool = False


def changes(before: Run, after: Run, thresholds: Thresholds) -> Iterator[Change]:
    """What differs, in the order of the new run; seconds only where they are worse."""
    for kernel, new in after.items():
        old = before.get(kernel)
        if old is None:
            yield Change(kernel, note=f"new{': ' + new.error if new.error else ''}")
        elif old.error or new.error:
            if old.error != new.error:
                note = f"no longer compiles: {new.error}" if new.error and not old.error else ""
                note = note or (f"another error: {new.error}" if new.error else "compiles now")
                yield Change(kernel, note=note, failed=bool(new.error and not old.error))
        else:
            pairs = [(name, float(getattr(old, name)), float(getattr(new, name))) for name in MEASURES]
            worse = frozenset(name for name, a, b in pairs if thresholds.worse(name, a, b))
            rows = tuple((name, a, b) for name, a, b in pairs if a != b and (name != "seconds" or name in worse))
            if rows:
                yield Change(kernel, rows, worse)
    yield from (Change(kernel, note="gone", failed=True) for kernel in before if kernel not in after)


def table(found: Sequence[Change]) -> Iterator[str]:
    """The changes as a table in Markdown, which a terminal shows as well; `!` marks what is worse than it may be."""
    rows = [("kernel", "measure", "before", "after", "change", "")]
    for change in found:
        if change.note:
            rows.append((change.kernel, change.note, "", "", "", "!" if change.failed else ""))
        for name, before, after in change.rows:
            grown = f"{100 * (after - before) / before:+.1f} %" if before else "from 0"
            rows.append((change.kernel, name, f"{before:g}", f"{after:g}", grown, "!" if name in change.worse else ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        if number == 0:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"


def totals(before: Run, after: Run) -> Iterator[str]:
    """A line a measure: the sums over the kernels that both runs compiled."""
    both = [key for key in after if key in before and not before[key].error and not after[key].error]
    for name in MEASURES:
        old, new = (sum(float(getattr(run[key], name)) for key in both) for run in (before, after))
        grown = f" ({100 * (new - old) / old:+.2f} %)" if old else ""
        yield f"{name}: {old:.10g} -> {new:.10g}{grown}"

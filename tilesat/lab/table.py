"""Records as a table: a sequence, with files in CSV, JSON and Markdown, and a data frame where pandas is installed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import overload

from ir.core import TileError
from tilesat.lab.record import Record, Row

SHOWN = (
    "kernel", "target", "configuration", "seconds", "rows", "nodes", "cost", "gap", "registers", "spills", "loop",
    "correct", "error",
)  # fmt: skip
"""Columns of the Markdown table where none are named."""
FORMATS = ("csv", "json", "jsonl", "markdown")
ENDINGS = {".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".md": "markdown"}
FEW = 30
"""Rows that a notebook shows."""


class Table(Sequence[Record]):
    """Records, one a run."""

    def __init__(self, records: Iterable[Record] = ()):
        self.records = tuple(records)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Table: ...
    def __getitem__(self, index: int | slice) -> Record | Table:
        return Table(self.records[index]) if isinstance(index, slice) else self.records[index]

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} runs, {len(self.failed)} of them failed>"

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        from tilesat.html import rows

        return rows([each.row() for each in self.records[:FEW]], SHOWN, len(self))

    @property
    def failed(self) -> Table:
        """The runs that died."""
        return self.where(lambda record: bool(record.error))

    def where(self, keep: Callable[[Record], bool]) -> Table:
        """The records of which a function says yes."""
        return Table(filter(keep, self.records))

    def rows(self) -> list[Row]:
        """A dictionary a run."""
        return [each.row() for each in self.records]

    def rules(self) -> list[dict[str, object]]:
        """A dictionary for each run, iteration and rule: matches, seconds, and rows where they were measured."""
        return [
            {**_who(each), **asdict(use)} for each in self.records if each.saturation for use in each.saturation.rules
        ]

    def growth(self) -> list[dict[str, object]]:
        """A dictionary for each run and iteration: matches, seconds, rows of the e-graph where counted."""
        return [{**_who(each), **asdict(g)} for each in self.records if each.saturation for g in each.saturation.growth]

    def to_csv(self) -> str:
        """Comma-separated values with a heading."""
        out = io.StringIO()
        rows = self.rows()
        writer = csv.DictWriter(out, list(rows[0]) if rows else SHOWN, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def to_json(self) -> str:
        """All that is known of each run."""
        return json.dumps([json.loads(each.to_json()) for each in self.records], indent=1) + "\n"

    def to_jsonl(self) -> str:
        """One line a run, as sweeps write them."""
        return "".join(each.to_json() + "\n" for each in self.records)

    def to_markdown(self, columns: Sequence[str] = SHOWN) -> str:
        """A table for people; columns without anything in them are left out. Raises TileError for one there is not."""
        rows = self.rows()
        for name in columns:
            if rows and name not in rows[0]:
                raise TileError(f"a table has no column {name!r}", hint=f"it has {', '.join(rows[0])}")
        kept = [name for name in columns if any(row[name] not in (None, "") for row in rows)]
        lines = [kept, ["---"] * len(kept), *([_shown(row[name]) for name in kept] for row in rows)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def to_pandas(self) -> object:
        """A data frame. Raises TileError where pandas is not installed."""
        if find_spec("pandas") is None:
            raise TileError("pandas is not installed", hint="pip install pandas; rows() gives dictionaries")
        return import_module("pandas").DataFrame(self.rows())

    def text(self, form: str) -> str:
        """In a format of FORMATS."""
        made = {"csv": self.to_csv, "json": self.to_json, "jsonl": self.to_jsonl, "markdown": self.to_markdown}
        if form not in made:
            raise TileError(f"format: expected one of {', '.join(FORMATS)}, got {form!r}")
        return made[form]()

    @staticmethod
    def read(path: str | Path) -> Table:
        """Records that a sweep wrote as JSON lines. Raises TileError, located, for a line that is none, but for the
        last one, which a run that was ended may have left unfinished.
        """
        from ir.core import Location

        lines = Path(path).read_text().splitlines()
        found: list[Record] = []
        for number, line in enumerate(lines, 1):
            try:
                found.append(Record.from_json(line))
            except ValueError as error:
                if number < len(lines):
                    raise TileError(f"cannot read a record: {error}", Location(str(path), number)) from error
        return Table(found)


def _who(record: Record) -> dict[str, object]:
    return {"kernel": record.kernel, "target": record.target, "configuration": record.configuration}


def _shown(value: object) -> str:
    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return (text.splitlines() or [""])[0].replace("|", "\\|")

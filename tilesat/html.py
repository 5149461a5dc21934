"""A few lines of HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def facts(title: str, pairs: Iterable[tuple[str, object]]) -> str:
    """A heading and a line for each fact."""
    lines = "".join(f"<tr><td>{escape(name)}</td><td>{escape(_text(value))}</td></tr>" for name, value in pairs)
    return f"<b>{escape(title)}</b><table>{lines}</table>"


def rows(found: Sequence[Mapping[str, object]], columns: Sequence[str], total: int) -> str:
    """A table, of the columns that have anything in them; how many rows there are beside those shown."""
    kept = [name for name in columns if any(row.get(name) not in (None, "") for row in found)]
    head = "".join(f"<th>{escape(name)}</th>" for name in kept)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_text(row.get(name)))}</td>' for name in kept)}</tr>" for row in found)
    more = f"<p>{total - len(found)} more rows</p>" if total > len(found) else ""
    return f"<table><tr>{head}</tr>{body}</table>{more}"


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)

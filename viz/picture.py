"""A picture as Graphviz DOT, and as SVG if the `dot` program is installed."""

from __future__ import annotations

import html
import shutil
import subprocess
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import graphviz  # pyright: ignore[reportMissingTypeStubs]

RENDER_SECONDS = 60
"""`dot` is super-linear in edges; past this a picture stays DOT only (400 nodes render in about 1 s)."""

INK, FAINT, CHOSEN, GROUND = "#1f2933", "#9aa5b1", "#0b6e4f", "#f3f6f9"
"""Text, what was not chosen, what was, and the ground of loops and classes."""
MUTED = "#52606d"
"""Text of less weight: types, what has no node of its own."""
SECOND, ILLEGAL = "#b45309", "#9b1c1c"
"""Runners-up, and reasons why something is not legal."""

INSTALL = "apt-get install graphviz, brew install graphviz or conda install graphviz"


@dataclass(frozen=True)
class Picture:
    """A named drawing; `note` says what was left out, empty if everything is shown; `text` is a version for terminals,
    if any.
    """

    name: str
    source: str
    note: str = ""
    text: str = ""

    def write(self, folder: Path) -> list[Path]:
        """`write_pictures` of this one."""
        return write_pictures([self], folder)


def missing_dot() -> str:
    """The message for users without `dot`; empty if it is installed."""
    return "" if shutil.which("dot") else f"no SVG is made: Graphviz's program 'dot' is not installed; {INSTALL}"


def write_pictures(pictures: Sequence[Picture], folder: Path) -> list[Path]:
    """Write each as NAME.dot, as NAME.svg where `dot` is found, and its text as NAME.txt; returns the files written.

    One process draws them all: to start one takes as long as to draw a small picture. What takes it more than
    `RENDER_SECONDS` stays DOT.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = [(f"{each.name}.txt", each.text) for each in pictures if each.text]
    for name, content in (*((f"{each.name}.dot", each.source) for each in pictures), *texts):
        (folder / name).write_text(content)
    drawings, dot = [folder / f"{each.name}.dot" for each in pictures], shutil.which("dot")
    written = [*drawings, *(folder / name for name, _ in texts)]
    if dot is None or not drawings:
        return written
    with suppress(subprocess.TimeoutExpired):  # what is done by then is taken; -O: NAME.dot becomes NAME.dot.svg
        subprocess.run(
            [dot, "-Tsvg", "-O", *(path.name for path in drawings)],
            cwd=folder,
            capture_output=True,
            timeout=RENDER_SECONDS,
            check=False,
        )
    return written + [drawn for path in drawings if (drawn := _drawn(path)) is not None]


def _drawn(path: Path) -> Path | None:
    """NAME.svg of NAME.dot.svg where that is whole."""
    made, wanted = path.with_name(f"{path.name}.svg"), path.with_suffix(".svg")
    if not made.is_file():
        return None
    if not made.read_text(errors="replace").rstrip().endswith("</svg>"):
        made.unlink()
        return None
    return made.replace(wanted)


class Drawing:
    """A directed graph, or a cluster of one, in the house style; the typed face of graphviz.Digraph."""

    def __init__(self, digraph: Any):
        self._digraph = digraph

    @classmethod
    def new(cls, name: str, title: str, **attributes: str) -> Drawing:
        """An empty drawing with its title on top."""
        graph: Any = graphviz.Digraph(name)
        style = {"rankdir": "TB", "labelloc": "t", "fontname": "Helvetica", "fontcolor": INK, "compound": "true"}
        graph.attr(label=_escape(title), **(style | attributes))
        graph.attr("node", shape="box", fontname="Helvetica", fontsize="10", color=INK, fontcolor=INK)
        graph.attr("edge", color=INK, arrowsize="0.6")
        return cls(graph)

    @property
    def source(self) -> str:
        """DOT text."""
        return self._digraph.source

    def node(self, name: str, label: str, **style: str) -> None:
        """A node with plain text, which may hold newlines."""
        self._digraph.node(name, _escape(label), **style)

    def table(self, name: str, rows: str, **style: str) -> None:
        """A node that is a table in Graphviz's HTML-like markup."""
        self._digraph.node(name, f"<{rows}>", shape="plain", **style)

    def edge(self, tail: str, head: str, **style: str) -> None:
        """An edge between two nodes by name."""
        self._digraph.edge(tail, head, **style)

    @contextmanager
    def cluster(self, name: str, label: str, **style: str) -> Generator[Drawing]:
        """A framed group of nodes."""
        with self._digraph.subgraph(name=f"cluster_{name}") as inner:
            inner.attr(label=_escape(label), color=FAINT, **{"style": "rounded,filled", "fillcolor": GROUND, **style})
            yield Drawing(inner)


def rows(lines: Iterable[tuple[str, str]], ground: str = "white", border: str = INK) -> str:
    """A table of one column: a text and its colour a row, the first one bold."""
    cells = [
        f'<TR><TD ALIGN="LEFT"><FONT COLOR="{colour}">{"<B>" if not at else ""}{html.escape(text) or " "}'
        f"{'</B>' if not at else ''}</FONT></TD></TR>"
        for at, (text, colour) in enumerate(lines)
    ]
    head = f'<TABLE BORDER="1" CELLBORDER="0" CELLSPACING="0" CELLPADDING="2" COLOR="{border}" BGCOLOR="{ground}">'
    return f"{head}{''.join(cells)}</TABLE>"


def _escape(text: str) -> str:
    """Plain text as a DOT label: backslashes would start escapes, and the outer <> of a label would mean markup."""
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
    return f" {escaped}" if escaped.startswith("<") else escaped


def shorten(text: str, limit: int = 60) -> str:
    """`text`, cut in the middle where it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    keep = (limit - 1) // 2
    return f"{text[:keep]}…{text[-keep:]}"

"""A picture as Graphviz DOT, and as SVG and PNG where the `dot` program is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import graphviz  # pyright: ignore[reportMissingTypeStubs]

RENDER_SECONDS = 60
"""`dot` is super-linear in edges; past this a picture stays DOT only (400 nodes render in about 1 s)."""

INK, FAINT, CHOSEN, GROUND = "#1f2933", "#9aa5b1", "#0b6e4f", "#e8eef4"
"""Text, what was not chosen, what was, and the ground of loops and classes."""


@dataclass(frozen=True)
class Picture:
    """A named drawing; `note` says what was left out, empty when all is shown."""

    name: str
    source: str
    note: str = ""

    def write(self, folder: Path) -> list[Path]:
        """Write NAME.dot, and NAME.svg and NAME.png where `dot` is found; returns the files written."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.dot"
        path.write_text(self.source)
        return [path, *self._render(folder)]

    def _render(self, folder: Path) -> list[Path]:
        dot = shutil.which("dot")
        if dot is None:
            return []
        made: list[Path] = []
        for form in ("svg", "png"):
            path = folder / f"{self.name}.{form}"
            try:
                done = subprocess.run(
                    [dot, f"-T{form}"], input=self.source.encode(), capture_output=True, timeout=RENDER_SECONDS
                )
            except subprocess.TimeoutExpired:
                break  # the other form would take as long
            if done.returncode == 0 and done.stdout:
                path.write_bytes(done.stdout)
                made.append(path)
        return made


class Drawing:
    """A directed graph, or a cluster of one, in the house style; the typed face of graphviz.Digraph."""

    def __init__(self, digraph: Any):
        self._digraph = digraph

    @classmethod
    def new(cls, name: str, title: str) -> Drawing:
        """An empty drawing with its title on top."""
        graph: Any = graphviz.Digraph(name)
        graph.attr(
            rankdir="TB", label=_escape(title), labelloc="t", fontname="Helvetica", fontcolor=INK, compound="true"
        )
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

    def table(self, name: str, rows: str) -> None:
        """A node that is a table in Graphviz's HTML-like markup."""
        self._digraph.node(name, f"<{rows}>", shape="plain")

    def edge(self, tail: str, head: str, **style: str) -> None:
        """An edge between two nodes by name."""
        self._digraph.edge(tail, head, **style)

    @contextmanager
    def cluster(self, name: str, label: str, **style: str) -> Generator[Drawing]:
        """A framed group of nodes."""
        with self._digraph.subgraph(name=f"cluster_{name}") as inner:
            inner.attr(label=_escape(label), color=FAINT, **{"style": "rounded,filled", "fillcolor": GROUND, **style})
            yield Drawing(inner)


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

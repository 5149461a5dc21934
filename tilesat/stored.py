"""A kernel out of a pickle: its PTX, manifest, stages and source as text, without the e-graph that they came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from ir.core import TileError
from ir.launch_records import LaunchManifest


@dataclass(frozen=True)
class Stored:
    """What a pickle keeps of `lowering.compiled.Compiled`, in plain data: `texts` are the stages, `report` that of the
    compilation where it had been asked for.
    """

    ptx: str
    manifest: LaunchManifest
    texts: dict[str, str]
    cost: float
    bound: float
    limits: list[str]
    report: str | None
    persistent: str = "off"  # warnings were given when it was compiled
    minctas: int | None = None
    lacking: int = 0

    @property
    def stages(self) -> dict[str, Callable[[], str]]:
        """The stages as the printers that `Compiled` has."""
        return {name: partial(str, text) for name, text in self.texts.items()}

    @property
    def selection(self) -> NoReturn:
        """Raises TileError: the choice is gone."""
        _gone("no e-graph")

    @property
    def counts(self) -> NoReturn:
        """Raises TileError: nothing was counted for a pickle."""
        _gone("no statistics")

    @property
    def modules(self) -> NoReturn:
        """Raises TileError: the levels are text."""
        _gone("its levels only as text")

    def explain(self) -> str:
        """The report of the compilation. Raises TileError where it had not been read before the kernel was pickled."""
        return self.report if self.report is not None else _gone("no report")


def _gone(what: str) -> NoReturn:
    raise TileError(
        f"a kernel loaded from a pickle has {what}", hint="compile it again, or read `report` before pickling it"
    )

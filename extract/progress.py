"""One line on a terminal that follows a long run."""

from __future__ import annotations

from time import perf_counter
from typing import Final, TextIO

from extract.answer import Moment

FIRST: Final = 1.0
"""Seconds before the line appears: short runs leave no trace."""

PERIOD: Final = 0.2
"""Seconds between updates; faster ones cannot be read."""

ERASE: Final = "\r\x1b[K"
"""Back to the first column, and clear the line (ECMA-48 EL)."""


class Progress:
    """A listener that rewrites its line; `close` takes it away."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.shown = False
        self.began = self.last = perf_counter()

    def __call__(self, moment: Moment) -> None:
        """Show the state of the search."""
        now = perf_counter()
        if now - self.began < FIRST or now - self.last < PERIOD:
            return
        self.last = now
        gap = (moment.cost - moment.bound) / abs(moment.cost) if moment.cost else 0.0
        text = f"{moment.seconds:.1f} s  cost {moment.cost:.8g}  bound {moment.bound:.8g}  gap {100 * gap:.2f} %"
        self.stream.write(f"{ERASE}{text}  {moment.method}")
        self.stream.flush()
        self.shown = True

    def close(self) -> None:
        """Remove the line."""
        if self.shown:
            self.stream.write(ERASE)
            self.stream.flush()

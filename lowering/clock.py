"""Wall-clock seconds of the stages of a compilation."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager


class Clock:
    """Seconds of each stage, in order."""

    def __init__(self, before: Mapping[str, float] | None = None) -> None:
        self.seconds: dict[str, float] = dict(before or {})

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Time a block of code as stage `name`."""
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

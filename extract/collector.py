"""Python's garbage collector, held off where it only costs."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def gc_disabled() -> Generator[None]:
    """Hold off collections while tens of thousands of lists and tuples are made that live on.

    They would find nothing; on a graph of 10,000 nodes they take as long as the rest of a pass.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()

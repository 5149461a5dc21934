"""Disables Python's garbage collector where it only costs time."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def gc_disabled() -> Generator[None]:
    """Disable collections while tens of thousands of long-lived lists and tuples are created.

    They would find nothing; on a graph of 10,000 nodes they take as long as the rest of a pass.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()

"""The `--explain` report of a kernel, for tests that do not need runners-up."""

from __future__ import annotations

from unittest.mock import patch

import lowering.explain
from lowering.compiled import Compiled
from tilesat.kernel import Kernel


def outline(compiled: Compiled) -> str:
    """The report without runners-up: the search for them takes up to 8 s, the rest of the report 0.1 s."""
    with patch.object(lowering.explain, "TRIALS", 0.0):
        return compiled.explain()


def report(kernel: Kernel) -> str:
    """That of a kernel that has just been compiled."""
    assert isinstance(kernel.compiled, Compiled)
    return outline(kernel.compiled)

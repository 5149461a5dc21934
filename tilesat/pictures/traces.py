"""`compile --trace`: how the loops of a kernel are scheduled, as the choice allows and as ptxas has made them."""

from __future__ import annotations

from collections.abc import Iterator

from lowering.targets import target
from runtime.ptxas import PtxasNotFoundError, assemble, disassemble
from tilesat.kernel import Kernel
from tilesat.mca.traces import processes
from tilesat.pictures.record import scheduled
from viz.trace import Process, processes_of, trace


def trace_of(kernel: Kernel) -> str:
    """The trace of the modulo schedule of each innermost loop, and of the loops in SASS where ptxas is installed."""
    return trace([*processes_of(scheduled(kernel)), *_assembled(kernel)])


def _assembled(kernel: Kernel) -> Iterator[Process]:
    """The loops as `tilesat mca` sees them."""
    try:
        listing = disassemble(assemble(kernel.ptx, kernel.target), encodings=True)
    except PtxasNotFoundError:
        return
    yield from processes(listing, target(kernel.target))

"""What a process that ends after one compilation leaves out: a fifth of its time is neither reading nor compiling."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def one_shot_process(ending: bool) -> Generator[None]:
    """Hold off what only long or numeric processes need; to be entered before NumPy is loaded.

    OpenBLAS starts a thread a core when NumPy loads it, 60 ms of CPU time on two cores, and a compilation multiplies no
    matrices. The garbage collector finds nothing, since all that a compilation makes lives to its end: 50 ms. At exit
    it would search everything once more: 20 ms (all measured on `tilesat compile examples/gemm.mlir`). Where the
    process is `ending` it stays off, since it would begin with a search of everything: 30 ms.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    atexit.register(gc.freeze)
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running and not ending:
            gc.enable()

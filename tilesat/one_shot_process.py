"""What a process that ends after one compilation leaves out: a fifth of its time is neither reading nor compiling."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType


@contextmanager
def one_shot_process(ending: bool) -> Generator[None]:
    """Hold off what only long or numeric processes need; to be entered before NumPy is loaded.

    Most compilations compute with no arrays, so NumPy is loaded by the first that does: it takes a tenth of a process.
    OpenBLAS starts a thread a core when NumPy loads it, 60 ms of CPU time on two cores, and a compilation multiplies no
    matrices. The garbage collector finds nothing, since all that a compilation makes lives to its end: 50 ms. At exit
    it would search everything once more: 20 ms (all measured on `tilesat compile examples/gemm.mlir`). Where the
    process is `ending` it stays off, since it would begin with a search of everything: 30 ms.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.modules.setdefault("numpy", _WhenUsed("numpy"))
    atexit.register(gc.freeze)
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running and not ending:
            gc.enable()


class _WhenUsed(ModuleType):
    """A module that is loaded when something of it is asked for; until then `import` binds this one."""

    def __getattr__(self, name: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        loaded = import_module(self.__name__)
        self.__dict__.update(vars(loaded))
        return getattr(loaded, name)

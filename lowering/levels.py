"""The levels below the e-graph, one after the other: from a kernel of any of them to PTX and a launch manifest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ir.core import Op, TileError, verify
from ir.dialects import gpu, llvm, nv_tileas
from ir.levels import LEVEL_OF, PLACED
from lowering import ptx
from lowering.clock import Clock
from lowering.convert import nvgpu_to_nvvm, tileas_to_nvgpu
from lowering.launch import manifest_of
from lowering.targets import target as target_named


@dataclass(frozen=True)
class Lowered:
    """What a kernel became: `modules` are its levels as operations, the one that it was given in first."""

    ptx: str
    manifest: dict[str, Any]
    modules: dict[str, Op]

    @property
    def stages(self) -> dict[str, Callable[[], str]]:
        """Printers of the levels and of PTX."""
        printers: dict[str, Callable[[], str]] = {name: partial(_text, op) for name, op in self.modules.items()}
        return printers | {"ptx": lambda: self.ptx}


def verified(kernel: Op, clock: Clock) -> None:
    """Raises VerifyError, located, for what the level of a kernel does not allow."""
    with clock.stage("verify levels"):
        verify(kernel)


def descend(kernel: Op, clock: Clock, verify_each: bool = False) -> Lowered:
    """From a verified kernel of some level to PTX; with `verify_each` what each step makes is verified too.

    Raises TileError, located, for an operation that is not a kernel, and for what a level has no way down for.
    """
    modules: dict[str, Op] = {}
    if isinstance(kernel, nv_tileas.Func):
        modules["nv_tileas"] = kernel
        tier = target_named(kernel.target)
        with clock.stage("nvgpu"):
            kernel = tileas_to_nvgpu.expand(kernel, tier.shared_by(kernel.asked_ctas) if kernel.asked_ctas else tier)
        if verify_each:
            verified(kernel, clock)
    if isinstance(kernel, gpu.GpuFunc):
        modules["nvgpu"] = kernel
        with clock.stage("nvvm"):
            kernel = nvgpu_to_nvvm.convert(kernel)
        if verify_each:
            verified(kernel, clock)
    if not isinstance(kernel, llvm.Func):
        kernels = ", ".join(f"'{name}' ({level})" for name, level in LEVEL_OF.items() if level in PLACED)
        message = f"'{kernel.name}' is not a kernel of a level below the e-graph"
        raise TileError(message, kernel.location, f"kernels are {kernels}")
    modules["nvvm"] = kernel
    with clock.stage("ptx"):
        return Lowered(ptx.emit(kernel), manifest_of(kernel), modules)


def _text(op: Op) -> str:
    from ir.text import print_generic  # printers are for those who ask

    return print_generic(op)

"""The levels below the e-graph, one after the other: from a kernel of any of them to PTX and a launch manifest."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ir.core import Op, TileError, verify
from ir.dialects import gpu, llvm, nv_tileas
from ir.upstream import OURS
from lowering import ptx
from lowering.atoms.names import check_products
from lowering.clock import Clock
from lowering.convert import nvgpu_to_nvvm, tileas_to_nvgpu
from lowering.launch import manifest_of
from lowering.targets import target as target_named

Kernel = nv_tileas.Func | gpu.GpuFunc | llvm.Func
LEVELS: dict[type[Op], str] = {nv_tileas.Func: "nv_tileas", gpu.GpuFunc: "nvgpu", llvm.Func: "nvvm"}
"""Name of the level by the operation that is a kernel of it, from above."""

FIRST_OP = re.compile(r"(?:\s|//[^\n]*\n)*\"([a-z_]+\.[\w$.]+)\"\s*\(")


def first_operation(text: str) -> str:
    """The name of the operation that a generic text starts with: `gpu.func`; empty for other text."""
    match = FIRST_OP.match(text)
    return match[1].removeprefix(OURS) if match else ""


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


def descend(kernel: Op, clock: Clock, verify_each: bool = False) -> Lowered:
    """From a kernel of some level to PTX. The placed program is verified, with `verify_each` what each step made too.

    Raises TileError, located, for an operation that is not a kernel, one that its level does not allow, and for what a
    level has no way down for.
    """
    modules: dict[str, Op] = {}
    if isinstance(kernel, nv_tileas.Func):
        with clock.stage("verify levels"):
            verify(kernel)
            check_products(kernel)
        modules["nv_tileas"] = kernel
        tier = target_named(kernel.target)
        with clock.stage("nvgpu"):
            kernel = tileas_to_nvgpu.expand(kernel, tier.shared_by(kernel.asked_ctas) if kernel.asked_ctas else tier)
    if isinstance(kernel, gpu.GpuFunc):
        if verify_each:
            with clock.stage("verify levels"):
                verify(kernel)
        modules["nvgpu"] = kernel
        with clock.stage("nvvm"):
            kernel = nvgpu_to_nvvm.convert(kernel)
    if not isinstance(kernel, llvm.Func):
        kernels = ", ".join(f"'{cls.info.name}' ({level})" for cls, level in LEVELS.items())
        raise TileError(f"'{kernel.name}' is not a kernel of a level", kernel.location, f"kernels are {kernels}")
    if verify_each:
        with clock.stage("verify levels"):
            verify(kernel)
    modules["nvvm"] = kernel
    with clock.stage("ptx"):
        return Lowered(ptx.emit(kernel), manifest_of(kernel), modules)


def _text(op: Op) -> str:
    from ir.text import print_generic  # printers are for those who ask

    return print_generic(op)

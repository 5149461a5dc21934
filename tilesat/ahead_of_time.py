"""Kernels for programs without Python: cubins, a fat binary of several targets, and a C header that launches them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tilesat.output import with_target

if TYPE_CHECKING:
    from runtime.ptxas import Cubin
    from tilesat.calling import Calling, Parameter
    from tilesat.kernel import Kernel
    from tilesat.levels import LoweredKernel

    Compiled: TypeAlias = Kernel | LoweredKernel

CUBIN, FATBIN = ".cubin", ".fatbin"
"""File name suffixes."""


def cubin(kernel: Compiled) -> Cubin:
    """The kernel's PTX assembled, with source lines where the PTX has them. Raises PtxasError, PtxasNotFoundError."""
    from runtime import ptxas  # what makes PTX alone does without

    return ptxas.assemble(kernel.ptx, kernel.target, ["-lineinfo"] if "\n.file " in kernel.ptx else [])


def fatbin(kernels: Sequence[Compiled]) -> bytes:
    """One image with the cubin and the PTX of each kernel. Raises PtxasError, PtxasNotFoundError."""
    from runtime import ptxas

    return ptxas.fatbinary([(cubin(kernel), kernel.ptx) for kernel in kernels])


def header(kernels: Sequence[Compiled], calling: Calling | None = None) -> str:
    """The C header of one kernel, compiled for one or more targets: a function that launches it, its manifests.

    `calling`: the calling convention of a cuTile kernel, unless the kernels carry it. Raises ManifestError if each
    target needs its own header.
    """
    from runtime.header import header as c_header
    from runtime.manifest import parse

    first = kernels[0]
    names = argument_names(first, calling or getattr(first, "calling", None))
    return c_header([parse(kernel.manifest) for kernel in kernels], str(first.manifest["name"]), names)


def is_image(path: Path | None) -> bool:
    """Does a file name denote machine code?"""
    return path is not None and path.suffix in (CUBIN, FATBIN)


def images(kernels: Sequence[Compiled], path: Path) -> Iterator[tuple[Path, bytes]]:
    """What `-o path` writes: a fat binary of all kernels, or a cubin a kernel."""
    if path.suffix == FATBIN:
        yield path, fatbin(kernels)
        return
    for kernel in kernels:
        yield with_target(path, kernel.target, len(kernels) > 1), cubin(kernel).binary


def argument_names(kernel: Compiled, calling: Calling | None) -> list[str]:
    """Names of the entry's arguments: from the parameters of the cuTile kernel, otherwise from the source."""
    if calling is not None:
        return [each for name, parameter in calling.parameters for each in _entry_names(name, parameter)]
    entry = getattr(kernel, "entry", None)
    return [] if entry is None else [each.name or f"arg{n}" for n, each in enumerate(entry.parameters)]


def _entry_names(name: str, parameter: Parameter) -> Iterator[str]:
    """Names of what a parameter of a cuTile kernel becomes (`tilesat.calling`)."""
    from tilesat.calling import ArrayParameter, ListParameter, ScalarParameter, TupleParameter

    match parameter:
        case ArrayParameter():
            yield name
            for what in ("size", "stride"):
                yield from (f"{name}_{what}{axis}" for axis in range(len(parameter.shape)))
        case ScalarParameter():
            yield name
        case ListParameter():
            yield from (name, f"{name}_count")
        case TupleParameter():
            for place, item in enumerate(parameter.items):
                yield from _entry_names(f"{name}_{place}", item)
        case _:  # constants are folded in
            return

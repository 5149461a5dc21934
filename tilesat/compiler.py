"""`tilesat.compile`: read, verify, then the road of `lowering.pipeline`, with the seconds of every stage."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extract import Extractor
from extract.collector import collector_paused
from ir.dialects.cuda_tile import Entry, Module
from lowering.passes.manager import Shared, Watcher
from lowering.pipeline import Options, compile_entry
from tilesat import cutile, given
from tilesat.kernel import Kernel
from tilesat.source import Source, find_entry, read, timed

if TYPE_CHECKING:
    from tilesat.calling import Calling

DEFAULT_TARGET = "sm_80"


def compile(
    source: Source | Any,
    target: str = DEFAULT_TARGET,
    *,
    signature: Any = None,
    entry: str | None = None,
    rules: Iterable[str | Path] = (),
    without: Iterable[str] = (),
    forbid: Iterable[str] = (),
    extractor: str | Extractor = "auto",
    extract_budget: float | None = None,
    saturate_budget: int | None = None,
    lineinfo: bool = False,
    fast: Iterable[str] = (),
    provenance: bool = False,
    persistent: str = "off",
    num_ctas: int = 0,
) -> Kernel:
    """Compile a Tile IR program, given as a path, as text or as bytecode, or a cuTile kernel, for one target.

    `signature`, for a cuTile kernel only: a SPEC (`tilesat.cutile`), a list of cuTile's constraints, a KernelSignature;
    `rules`: files of egglog rules added to the e-graph; `without`: prefixes of rule names to leave out; `forbid`: names
    of atoms that may not be chosen; `extractor`: auto, tree, greedy, pruned or ilp, or a function from the graph to a
    node for each class (`extract.own`); `extract_budget`: units of work of the search for the cheapest program (10,000;
    `extract.budget`); `saturate_budget`: matches of rules (200,000). Both count work and no seconds: the same program
    on any machine at any load. `lineinfo`: PTX with the source places of its instructions as .loc directives.
    `fast`: permissions for inexact rewrites, nsz (the sign of zeros) and contract (a product and a sum become one fma).
    `provenance`: note which rule made which e-node (`Kernel.provenance`). `persistent`: static or dynamic, as many CTAs
    as fit the device at once go through all tile blocks of the grid (`lowering.persistent`). `num_ctas`: CTAs of a
    cluster that divide the work of a tile block, whatever its hints say (`lowering.clusters`); 0: as they say.
    Raises TileError, with the place in the source, for anything that cannot be compiled; warns of optimization hints
    that have no effect (`Kernel.ignored_hints`) and of products that forbidden atoms keep off the tensor cores.
    """
    seconds: dict[str, float] = {}
    target = given.name("target", target, "compile_for takes several")
    calling: Calling | None = None
    if cutile.is_kernel(source):
        from tilesat.specialise import calling_of  # brings NumPy's array types, for those who have such kernels

        with timed(seconds, "export"):
            signature = cutile.full_signature(source, signature)
            calling = calling_of(source, signature)
            source = cutile.export(source, signature, target)
    elif signature is not None:
        raise cutile.no_kernel("the program")
    options = given.options(
        rules, without, forbid, extractor, extract_budget, saturate_budget, lineinfo, fast, provenance, persistent,
        num_ctas,
    )  # fmt: skip
    found = find_entry(read(given.source(source), seconds), entry)
    (kernel,) = warned(compile_module(*found, [target], options, seconds))
    return kernel if calling is None else replace(kernel, calling=calling)


def compile_for(
    source: Source,
    targets: Sequence[str],
    *,
    entry: str | None = None,
    rules: Iterable[str | Path] = (),
    without: Iterable[str] = (),
    forbid: Iterable[str] = (),
    extractor: str | Extractor = "auto",
    extract_budget: float | None = None,
    saturate_budget: int | None = None,
    lineinfo: bool = False,
    fast: Iterable[str] = (),
    provenance: bool = False,
    persistent: str = "off",
    num_ctas: int = 0,
) -> list[Kernel]:
    """`compile` for several targets, of which each extracts its program from one saturated e-graph."""
    seconds: dict[str, float] = {}
    tiers = given.targets(targets)
    options = given.options(
        rules, without, forbid, extractor, extract_budget, saturate_budget, lineinfo, fast, provenance, persistent,
        num_ctas,
    )  # fmt: skip
    found = find_entry(read(given.source(source), seconds), entry)
    return warned(compile_module(*found, tiers, options, seconds))


def warned(kernels: list[Kernel]) -> list[Kernel]:
    """A Python warning, at the caller of `compile`, for each hint that has no effect, each product without tensor
    cores that they could compute, and a kernel that is persistent already.
    """
    found = (each for k in kernels for each in (*k.ignored_hints, *k.scalar_products, *k.already_persistent))
    for each in dict.fromkeys(str(each.location) + ": " + each.message for each in found):
        warnings.warn(each, stacklevel=3)
    return kernels


def compile_module(
    module: Module, entry: Entry, targets: Sequence[str], options: Options, seconds: dict[str, float],
    watchers: Sequence[Watcher] = (), counting: bool = False, shared: Shared | None = None,
) -> list[Kernel]:  # fmt: skip
    """Compile one entry of a verified module; `seconds` are those already spent on reading it. `counting`: passes keep
    statistics. `shared`: with what earlier compilations of this very entry have made.
    """
    with collector_paused():  # a tenth of the time: nothing that a compilation makes goes before its end
        compiled = compile_entry(module, entry, targets, options, watchers, counting, shared)
    return [
        Kernel(module, entry, target, each, {**seconds, **each.timings})
        for target, each in zip(targets, compiled, strict=True)
    ]

"""`tilesat.compile`: read, verify, then the pipeline of `lowering.pipeline`, with the seconds of every stage."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeGuard, cast

from tilesat.kernel import Kernel

if TYPE_CHECKING:  # readers and the compiler are loaded on demand: a cached kernel needs none of them
    from extract import Extractor
    from ir.dialects.cuda_tile import Entry, Module
    from lowering.passes.manager import Shared, Watcher
    from lowering.pipeline import Options
    from tilesat.calling import Calling
    from tilesat.source import Source

DEFAULT_TARGET = "sm_80"


class CompileOptions(TypedDict, total=False):
    """The options of `compile` and `compile_for`."""

    entry: str | None
    rules: Iterable[str | Path]
    unchecked: bool
    without: Iterable[str]
    forbid: Iterable[str]
    extractor: str | Extractor
    extract_budget: float | None
    saturate_budget: int | None
    lineinfo: bool
    fast: Iterable[str] | Mapping[str, Iterable[str]]
    provenance: bool
    persistent: str
    num_ctas: int | str
    tile_blocks: int
    consumers: str
    verify_each: bool


class CachedOptions(CompileOptions, total=False):
    """The options of `compile` for a kernel that its caller knows."""

    cache: bool


def compile(
    source: object,
    target: str = DEFAULT_TARGET,
    *,
    signature: object = None,
    entry: str | None = None,
    rules: Iterable[str | Path] = (),
    unchecked: bool = False,
    without: Iterable[str] = (),
    forbid: Iterable[str] = (),
    extractor: str | Extractor = "auto",
    extract_budget: float | None = None,
    saturate_budget: int | None = None,
    lineinfo: bool = False,
    fast: Iterable[str] | Mapping[str, Iterable[str]] = (),
    provenance: bool = False,
    persistent: str = "off",
    num_ctas: int | str = 0,
    tile_blocks: int = 0,
    consumers: str = "auto",
    verify_each: bool = False,
    cache: bool = False,
) -> Kernel:
    """Compile a Tile IR program, given as a path, as text or as bytecode, or a cuTile kernel, for one target.

    `signature`, for a cuTile kernel only: a SPEC (`tilesat.cutile_kernels`), a list of cuTile's constraints, a
    KernelSignature; `rules`: files of additional egglog rules, each tested on samples before it is used unless
    `unchecked`;
    `without`: prefixes of rule names to leave out; `forbid`: names of atoms to exclude; `extractor`: auto, tree,
    greedy, pruned or ilp, top:N for the Nth cheapest program (`extract.top`), or a function from the graph to a node
    for each class (`extract.own`); `extract_budget`: work limit of the search for the cheapest program (10,000 units of
    `extract.budget`); `saturate_budget`: limit on matches of rules (200,000). Both count work, not seconds: the result
    is the same on any machine under any load. `lineinfo`: emit source locations as .loc directives in the PTX. `fast`:
    permissions for inexact rewrites (`egraph.permissions`): nsz, contract, reassoc, arcp, afn, ftz, nnan, ninf, uscale,
    and triton, which allows what Triton does by default; for all entries or for each, {"softmax": ["afn"]}.
    `provenance`: record which rule created which e-node (`Kernel.provenance`). `persistent`: static or dynamic, as many
    CTAs as fit the device at once process all tile blocks of the grid (`lowering.persistence`). `num_ctas`: CTAs of a
    cluster that divide a tile block, overriding its hints (`lowering.clusters`); 0: as the hints ask; "auto": the
    cheapest number (`lowering.clusters.price`), for a launch of `tile_blocks`, 0: more than fill the device; "1x2": two
    CTAs that each take half of the columns, regardless of cost. `consumers`: whether warpgroups share one tile of a
    persistent loop (cooperative) or alternate on successive ones (ping-pong), auto: whichever is faster. `verify_each`:
    verify the result of each pass. `cache`: use the cache on disk (`tilesat.cache`). Raises TileError, with the source
    location, for anything that cannot be compiled; warns about optimization hints that have no effect
    (`Kernel.ignored_hints`) and about products that forbidden atoms keep off the tensor cores.
    """
    named = {"rules": rules, "without": without, "forbid": forbid, "fast": fast}
    options: dict[str, object] = {
        what: tuple(given) if isinstance(given, Iterator) else given for what, given in named.items()
    }
    options |= {
        "extractor": extractor,
        "extract_budget": extract_budget,
        "saturate_budget": saturate_budget,
        "lineinfo": lineinfo,
        "provenance": provenance,
        "persistent": persistent,
        "num_ctas": num_ctas,
        "tile_blocks": tile_blocks,
        "verify_each": verify_each,
        "unchecked": unchecked,
        "consumers": consumers,
    }
    seconds: dict[str, float] = {}
    program, calling = source, None
    if signature is not None or not _is_program(source):
        program, calling = _exported(source, signature, target, seconds)

    def compiled() -> Kernel:
        return _compiled(program, target, entry, options, calling, seconds)

    kernel, said = (
        _remembered(program, target, entry, options, calling, compiled) if cache else with_warnings(compiled())
    )
    for each in said:
        warnings.warn(each, stacklevel=2)
    return kernel


def _is_program(given: object) -> TypeGuard[str | bytes | os.PathLike[str]]:
    return isinstance(given, str | bytes | os.PathLike)


def _exported(
    source: object, signature: object, target: str, seconds: dict[str, float]
) -> tuple[object, Calling | None]:
    """Bytecode of a cuTile kernel, and its calling convention; anything else unchanged."""
    from tilesat import cutile_kernels, given
    from tilesat.source import timed

    target = given.name("target", target, "compile_for takes several")
    if not cutile_kernels.is_kernel(source):
        if signature is not None:
            raise cutile_kernels.no_kernel("the program")
        return source, None
    from tilesat.specialise import calling_of

    with timed(seconds, "export"):
        whole = cutile_kernels.full_signature(source, signature)
        return cutile_kernels.export(source, whole, target), calling_of(source, whole)


def _compiled(
    source: object,
    target: str,
    entry: str | None,
    options: dict[str, object],
    calling: Calling | None,
    seconds: dict[str, float],
) -> Kernel:
    """Read and compile."""
    from tilesat import given
    from tilesat.source import find_entry, read

    target = given.name("target", target, "compile_for takes several")
    asked = given.options(**options)
    (kernel,) = compile_module(*find_entry(read(given.source(source), seconds), entry), [target], asked, seconds)
    return kernel if calling is None else replace(kernel, calling=calling)


def _remembered(
    source: object,
    target: str,
    entry: str | None,
    options: dict[str, object],
    calling: Calling | None,
    compiled: Callable[[], Kernel],
) -> tuple[Kernel, list[str]]:
    """The cached kernel, with its warnings; a missing one is compiled and stored."""
    from tilesat.cache import key_of, opened
    from tilesat.recalled import CachedKernel, RecalledKernel, record_of

    store = opened()
    if store is None or not _is_program(source):
        return with_warnings(compiled())
    data, name = written(source)
    key = key_of(data, name, str(target), {**options, "entry": entry})
    found = store.get(key) if key is not None else None
    if found is not None:
        record = cast("CachedKernel", found)
        return RecalledKernel(record, target, calling, compiled), record["warned"]
    kernel, said = with_warnings(compiled())
    if key is not None:
        store.put(key, record_of(kernel, data, name, entry, said))
    return kernel, said


def compile_for(
    source: Source,
    targets: Sequence[str],
    *,
    entry: str | None = None,
    rules: Iterable[str | Path] = (),
    unchecked: bool = False,
    without: Iterable[str] = (),
    forbid: Iterable[str] = (),
    extractor: str | Extractor = "auto",
    extract_budget: float | None = None,
    saturate_budget: int | None = None,
    lineinfo: bool = False,
    fast: Iterable[str] | Mapping[str, Iterable[str]] = (),
    provenance: bool = False,
    persistent: str = "off",
    num_ctas: int | str = 0,
    tile_blocks: int = 0,
    consumers: str = "auto",
    verify_each: bool = False,
) -> list[Kernel]:
    """`compile` for several targets, each of which extracts its program from one saturated e-graph."""
    from tilesat import given
    from tilesat.source import find_entry, read

    seconds: dict[str, float] = {}
    tiers = given.targets(targets)
    options = given.options(
        rules, without, forbid, extractor, extract_budget, saturate_budget, lineinfo, fast, provenance, persistent,
        num_ctas, verify_each, unchecked, tile_blocks, consumers,
    )  # fmt: skip
    found = find_entry(read(given.source(source), seconds), entry)
    kernels = compile_module(*found, tiers, options, seconds)
    for each in dict.fromkeys(said for kernel in kernels for said in with_warnings(kernel)[1]):
        warnings.warn(each, stacklevel=2)
    return kernels


def written(source: str | bytes | os.PathLike[str]) -> tuple[bytes, str]:
    """The bytes of a source, and what messages call it."""
    from ir.content import content, is_text
    from tilesat.recalled import TEXT

    if isinstance(source, bytes):
        return source, "<bytes>"
    if isinstance(source, str) and is_text(source):
        return source.encode(), TEXT
    return content(Path(source)), str(source)


def with_warnings(kernel: Kernel) -> tuple[Kernel, list[str]]:
    """A kernel, and its warnings: each hint without effect, each product that tensor cores could compute but do not,
    and a kernel that is already persistent.
    """
    found = (*kernel.ignored_hints, *kernel.scalar_products, *kernel.already_persistent)
    return kernel, list(dict.fromkeys(f"{each.location}: {each.message}" for each in found))


def compile_module(
    module: Module,
    entry: Entry,
    targets: Sequence[str],
    options: Options,
    seconds: dict[str, float],
    watchers: Sequence[Watcher] = (),
    counting: bool = False,
    shared: Shared | None = None,
) -> list[Kernel]:
    """Compile one entry of a verified module; `seconds` are those already spent on reading it. `counting`: passes keep
    statistics. `shared`: results of earlier compilations of this same entry.
    """
    from extract.collector import gc_disabled
    from lowering.pipeline import compile_entry

    with gc_disabled():  # saves a tenth of the time: a compilation frees nothing before its end
        compiled = compile_entry(module, entry, targets, options, watchers, counting, shared)
    return [
        Kernel(module, entry, target, each, {**seconds, **each.timings})
        for target, each in zip(targets, compiled, strict=True)
    ]

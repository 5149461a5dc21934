"""Launching an entry: arguments, variables, batches of CTAs, the report."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import SupportsFloat, SupportsIndex, TypeAlias

import numpy as np

from runtime.simulator.access import Site
from runtime.simulator.callstack import CallStack
from runtime.simulator.declarations import constant_bytes
from runtime.simulator.decode import Binding
from runtime.simulator.errors import LaunchError
from runtime.simulator.functions import with_functions
from runtime.simulator.hazards import Tracker
from runtime.simulator.link import link
from runtime.simulator.machine import Geometry, Machine, check_geometry
from runtime.simulator.memory import Address, GlobalMemory
from runtime.simulator.parser import parse
from runtime.simulator.placement import place
from runtime.simulator.program import Entry, Module, Parameter
from runtime.simulator.report import Report, Sectors
from runtime.simulator.schedule import Code, Scheduler
from runtime.simulator.skew import TOGETHER, scheduler
from runtime.simulator.tensormap import MAP_ALIGNMENT, MAP_BYTES, TensorMap
from runtime.simulator.transfers import Transfers

Argument: TypeAlias = int | float | bytes | TensorMap | SupportsIndex | SupportsFloat
Extent: TypeAlias = Sequence[int]

# Lanes that run as one vector. Measured on a 512x512x512 f16 GEMM of 16 CTAs of 128 threads, one core: 0.51 s at 128
# lanes, 0.22 s from 512 to 2048, 0.28 s at 4096, where the registers no longer stay in the cache.
_BATCH_LANES = 2048
# The same with hazards, whose shadow state takes some hundred bytes for each byte of shared memory.
_HAZARD_LANES = 512
# Bytes of shared memory that a CTA may have. Source: CUDA C++ Programming Guide, "Technical Specifications per Compute
# Capability", maximum amount of shared memory per thread block.
_SHARED_LIMIT = {
    "sm_75": 64 << 10, "sm_80": 163 << 10, "sm_86": 99 << 10, "sm_87": 163 << 10, "sm_89": 99 << 10,
    "sm_90": 227 << 10, "sm_100": 227 << 10, "sm_103": 227 << 10, "sm_110": 227 << 10, "sm_120": 99 << 10,
    "sm_121": 99 << 10,
}  # fmt: skip
# Where CTAs take over the work of others, one in so many runs at first, so that there is work to take.
_STEALING_SHARE = 4
# Basic blocks before a launch is taken to loop forever.
MAX_BLOCKS = 10_000_000


def launch(
    ptx: str,
    grid: Extent,
    block: Extent,
    args: Sequence[Argument],
    memory: GlobalMemory,
    cluster: Extent = (1, 1, 1),
    dynamic_smem: int = 0,
    entry: str | None = None,
    hazards: bool = False,
    max_blocks: int = MAX_BLOCKS,
    max_instructions: int | None = None,
    schedule: str = TOGETHER,
) -> Report:
    """Run an entry of a PTX module over a grid.

    args: one per parameter, an int, a float, an address of `memory`, bytes for an array parameter, or a TensorMap;
    cluster: CTAs of a cluster, (1, 1, 1) for what the entry requires; dynamic_smem: bytes for `.extern .shared`;
    entry: needed where the module has several;
    hazards: also find races, uninitialised reads and uses of data still in flight, at several times the cost;
    max_blocks, max_instructions: basic blocks, and instructions of warps (`Report.instructions`), after which a launch
    that is still running ends with StepLimitError; no limit of instructions by default;
    schedule: "together" runs warps in step, "skewed:SEED" each alone until it must wait, in an order drawn from SEED.
    Raises SimulatorError with the PTX line.
    """
    module = parse(ptx)
    kernel = with_functions(module, _select(module, entry))
    clusters = _cluster(kernel, _triple("cluster", cluster))
    geometry = Geometry(_triple("grid", grid), _triple("block", block), clusters)
    check_geometry(geometry)
    _check_directives(kernel, geometry)
    parameter_bytes = _bind_arguments(kernel, args)
    if max_instructions is not None and max_instructions < 1:
        raise LaunchError(f"max_instructions {max_instructions} is below 1")
    if dynamic_smem < 0:
        raise LaunchError(f"dynamic_smem {dynamic_smem} is negative")
    mark = memory.mark()
    try:
        with np.errstate(all="ignore"):
            prepared = _prepare(module, kernel, geometry, parameter_bytes, memory, dynamic_smem, hazards)
            return _run(prepared, max_blocks, max_instructions, schedule)
    finally:
        memory.restore(mark)


def _triple(name: str, extent: Extent) -> tuple[int, int, int]:
    values = [int(value) for value in extent]
    if not 1 <= len(values) <= 3:
        raise LaunchError(f"{name} {tuple(extent)} must have one to three extents")
    values += [1] * (3 - len(values))
    return values[0], values[1], values[2]


def _select(module: Module, name: str | None) -> Entry:
    if name is not None:
        if name not in module.entries:
            known = ", ".join(module.entries) or "none"
            raise LaunchError(f"the module has no entry `{name}`; its entries are: {known}")
        return module.entries[name]
    if len(module.entries) != 1:
        known = ", ".join(module.entries) or "none"
        raise LaunchError(f"name the entry to launch; the module's entries are: {known}")
    return next(iter(module.entries.values()))


def _cluster(kernel: Entry, given: tuple[int, int, int]) -> tuple[int, int, int]:
    """The cluster extents of a launch: those of .reqnctapercluster where the caller names none."""
    required = kernel.directives.get("reqnctapercluster")
    if required is not None and given == (1, 1, 1):
        return _triple(".reqnctapercluster", required)
    return given


def _check_directives(kernel: Entry, geometry: Geometry) -> None:
    required = kernel.directives.get("reqntid")
    if required is not None and (*required, 1, 1)[:3] != geometry.block:
        raise LaunchError(
            f"entry `{kernel.name}` requires .reqntid {required}, not block {geometry.block}", kernel.line
        )
    most = kernel.directives.get("maxntid")
    if most is not None and int(np.prod(most)) < geometry.threads:
        raise LaunchError(f"block {geometry.block} is larger than .maxntid {most} of `{kernel.name}`", kernel.line)
    clusters = kernel.directives.get("reqnctapercluster")
    if clusters is not None and (*clusters, 1, 1)[:3] != geometry.cluster:
        raise LaunchError(f"entry `{kernel.name}` requires clusters of {clusters}", kernel.line)
    rank = kernel.directives.get("maxclusterrank")
    if rank is not None and rank[0] < geometry.cluster_size:
        raise LaunchError(
            f"cluster {geometry.cluster} has more CTAs than .maxclusterrank {rank[0]} of `{kernel.name}`", kernel.line
        )


def _bind_arguments(kernel: Entry, args: Sequence[Argument]) -> bytes:
    if len(args) != len(kernel.parameters):
        names = ", ".join(parameter.name for parameter in kernel.parameters)
        raise LaunchError(
            f"entry `{kernel.name}` has {len(kernel.parameters)} parameters ({names}), got {len(args)} arguments",
            kernel.line,
        )
    size = max((parameter.offset + parameter.size for parameter in kernel.parameters), default=0)
    result = bytearray(size)
    for parameter, value in zip(kernel.parameters, args, strict=True):
        result[parameter.offset : parameter.offset + parameter.size] = _argument_bytes(kernel, parameter, value)
    return bytes(result)


def _argument_bytes(kernel: Entry, parameter: Parameter, value: Argument) -> bytes:
    type_ = parameter.type

    def wrong(reason: str) -> LaunchError:
        return LaunchError(f"argument for parameter `{parameter.name}` (.{type_.name}): {reason}", kernel.line)

    if isinstance(value, TensorMap):
        if not parameter.is_array or parameter.size != MAP_BYTES or parameter.offset % MAP_ALIGNMENT:
            raise wrong(f"a tensor map needs `.param .align {MAP_ALIGNMENT} .b8 name[{MAP_BYTES}]`")
        return value.encode()
    if parameter.is_array or isinstance(value, bytes | bytearray):
        if not isinstance(value, bytes | bytearray) or len(value) != parameter.size:
            raise wrong(f"expected {parameter.size} bytes")
        return bytes(value)
    if isinstance(value, Address) and type_.bits != 64:
        raise wrong("an address needs a 64-bit parameter")
    if isinstance(value, SupportsIndex):
        number = value.__index__()
        if type_.kind == "float":
            return constant_bytes(number, type_)
        low, high = -(1 << (type_.bits - 1)), (1 << type_.bits) - 1
        if not low <= number <= high or (type_.kind == "signed" and number > high >> 1):
            raise wrong(f"{number} does not fit")
        return constant_bytes(number, type_)
    number = float(value)
    if type_.kind == "float":
        return constant_bytes(number, type_)
    if type_.kind == "bits" and type_.bits in (32, 64):
        return struct.pack("<f" if type_.bits == 32 else "<d", number)
    raise wrong(f"{number} is a float")


def check(ptx: str, entry: str | None = None) -> None:
    """Parse a PTX module and decode one entry, or all, without running anything.

    Raises SimulatorError at the first statement that is malformed or not simulated.
    """
    module = parse(ptx)
    names = [entry] if entry is not None else list(module.entries)
    for name in names:
        kernel = with_functions(module, _select(module, name))
        directives = kernel.directives
        block = directives.get("reqntid", (min(128, int(np.prod(directives.get("maxntid", (128,))))),))
        cluster = _triple("cluster", directives.get("reqnctapercluster", (1, 1, 1)))
        size = max((parameter.offset + parameter.size for parameter in kernel.parameters), default=0)
        geometry = Geometry(cluster, _triple("block", block), cluster)
        _prepare(module, kernel, geometry, bytes(size), GlobalMemory(), 0, hazards=False)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A decoded entry on its machine, ready to run."""

    machine: Machine
    binding: Binding
    code: Code
    sites: list[Site]
    shared_size: int


def _prepare(
    module: Module,
    kernel: Entry,
    geometry: Geometry,
    parameter_bytes: bytes,
    memory: GlobalMemory,
    dynamic_smem: int,
    hazards: bool,
) -> Prepared:
    placement = place(module, kernel, memory, parameter_bytes, dynamic_smem)
    shared_size = placement.shared
    limit = _SHARED_LIMIT.get(module.target.rstrip("af"), max(_SHARED_LIMIT.values()))
    if shared_size > limit:
        raise LaunchError(f"{shared_size} bytes of shared memory; {module.target} has {limit} for a CTA", kernel.line)
    lanes = _HAZARD_LANES if hazards else _BATCH_LANES
    size = geometry.cluster_size
    ctas = max(1, min(geometry.ctas, lanes // geometry.slots) // size) * size
    if any(instruction.base == "clusterlaunchcontrol" for instruction in kernel.instructions):
        ctas = min(ctas, -(-geometry.ctas // size // _STEALING_SHARE) * size)
    machine = Machine(kernel, geometry, ctas, memory, shared_size, placement.local)
    machine.special["dynamic_smem_size"] = np.full(machine.lanes, dynamic_smem, np.uint32)
    machine.special["total_smem_size"] = np.full(machine.lanes, shared_size, np.uint32)
    machine.special["aggr_smem_size"] = machine.special["total_smem_size"]  # no shared memory is reserved
    tracker = Tracker(machine, kernel) if hazards else None
    transfers = Transfers(machine, tracker)
    calls = CallStack(machine, placement.fixed)
    binding = Binding(
        machine, placement.symbols, parameter_bytes, placement.parameters, transfers, calls, kernel.functions,
        placement.code, tracker,
    )  # fmt: skip
    code, sites = link(kernel, binding)
    return Prepared(machine, binding, code, sites, shared_size)


def _run(prepared: Prepared, max_blocks: int, max_instructions: int | None, schedule: str) -> Report:
    machine, binding = prepared.machine, prepared.binding
    tracker, transfers = binding.hazards, binding.transfers
    running = scheduler(schedule, machine, prepared.code, transfers, max_blocks, max_instructions)
    if tracker is not None:
        running.barriers.observer = tracker
    live = 0
    for live in machine.batches():  # noqa: B007 - the last batch's count is used below
        if tracker is not None:
            tracker.start()
        transfers.start()
        binding.calls.start()
        running.run()
        transfers.end()
    shared = machine.shared.bytes.reshape(machine.ctas, -1)[:live, : prepared.shared_size].copy()
    report = _report(running, prepared.sites, shared, prepared.shared_size)
    report.printed = binding.printed
    return report


def _report(scheduler: Scheduler, sites: list[Site], shared: np.ndarray, shared_size: int) -> Report:
    waits = dict(scheduler.waits + scheduler.barriers.waits)
    report = Report(instructions=scheduler.counts(), shared=shared, shared_bytes=shared_size, barrier_waits=waits)
    for site in sites:
        line = site.instruction.line
        if site.counts_banks:
            report.bank_conflicts[line] = report.bank_conflicts.get(line, 0) + site.extra
        if site.counts_sectors:
            sectors = report.sectors.setdefault(line, Sectors())
            sectors.accesses += site.accesses
            sectors.sectors += site.sectors
    return report

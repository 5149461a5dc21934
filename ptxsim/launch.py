"""Loading a module and launching its entries: variables, arguments, batches of CTAs, the report."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ptxsim.access import Site
from ptxsim.arguments import Argument, bind_arguments, parameter_bytes
from ptxsim.callstack import CallStack
from ptxsim.decode import Binding
from ptxsim.errors import LaunchError, SimulatorError
from ptxsim.families.library import HEAP
from ptxsim.findings import STOP, Findings
from ptxsim.functions import calls, with_functions
from ptxsim.hazards import Tracker
from ptxsim.link import link
from ptxsim.machine import MAX_THREADS, Geometry, Machine, check_geometry
from ptxsim.memory import Address, GlobalMemory
from ptxsim.multiprocessor import Demand, Multiprocessors, Residents, check_demands
from ptxsim.parser import parse
from ptxsim.placement import Placement, place, place_statics
from ptxsim.program import Entry, Parameter, ParsedModule
from ptxsim.ptx_types import Array
from ptxsim.report import Report, Sectors
from ptxsim.schedule import Code, Scheduler
from ptxsim.skew import TOGETHER, scheduler
from ptxsim.transfers import Transfers
from ptxsim.workers import Share, check_apart, joined, run_apart, stretches

Extent: TypeAlias = Sequence[int]

# Lanes that run as one vector: as many CTAs as have this many threads run together, which bounds memory use. Measured
# on one core: FlashAttention-4 5.1 s at 2048 lanes, 2.9 s at 4096, 3.2 s at 8192; attention of sm_90a 2.8, 1.5, 1.5 s.
# With hazards attention takes 4.1 s at 2048 lanes, 3.7 s at 4096.
_BATCH_LANES = 4096
# Bytes of shared memory that a CTA may have. Source: CUDA C++ Programming Guide, "Technical Specifications per Compute
# Capability", maximum amount of shared memory per thread block.
_SHARED_LIMIT = {
    "sm_75": 64 << 10, "sm_80": 163 << 10, "sm_86": 99 << 10, "sm_87": 163 << 10, "sm_89": 99 << 10,
    "sm_90": 227 << 10, "sm_100": 227 << 10, "sm_103": 227 << 10, "sm_110": 227 << 10, "sm_120": 99 << 10,
    "sm_121": 99 << 10,
}  # fmt: skip
# If CTAs take over the work of others, one in this many runs at first, so that there is work left to take.
_STEALING_SHARE = 4
# Words of a grid's workspace: its size and the barrier. Source: cooperative groups as nvcc 13.0 compiles grid.sync().
_GRID_WORDS = 2
# Maximum size of the heap in the arena, relative to its size: small blocks take 256 bytes each.
_HEAP_ROOM = 4
# Basic blocks after which a launch is assumed to loop endlessly.
MAX_BLOCKS = 10_000_000


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable of a loaded module: name, state space ("global" or "const"), first byte and size in bytes."""

    name: str
    space: str
    address: Address
    size: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """The attributes of an entry.

    parameters: with offset and size in bytes inside the buffer of parameter_bytes; max_threads: of a CTA; required:
    block extents given by .reqntid; static_shared, local: bytes of each CTA and thread; const: bytes of the module's
    constants; max_registers: of .maxnreg. Only ptxas knows its register count.
    """

    name: str
    parameters: tuple[Parameter, ...]
    parameter_bytes: int
    max_threads: int
    required: tuple[int, int, int] | None
    cluster: tuple[int, int, int] | None
    static_shared: int
    local: int
    const: int
    max_registers: int | None


class Module:
    """PTX loaded into a memory: its variables keep their values from launch to launch until it is unloaded."""

    def __init__(self, ptx: str, memory: GlobalMemory | None = None) -> None:
        """Place the module's variables in a memory, by default a new one.

        Raises SimulatorError if the text cannot be parsed or a variable cannot be placed.
        """
        self.memory = GlobalMemory() if memory is None else memory
        self._text = ptx
        self._parsed = parse(ptx)
        self._statics = place_statics(self._parsed, self.memory)
        self._is_loaded = True

    @property
    def version(self) -> tuple[int, int]:
        """The .version of the text."""
        return self._parsed.version

    @property
    def target(self) -> str:
        """The .target of the text."""
        return self._parsed.target

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the entries."""
        return tuple(self._parsed.entries)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the variables in global and constant memory, those inside a function as `function::name`."""
        return tuple(self._statics.placed)

    def symbol(self, name: str) -> Symbol:
        """A variable in global or constant memory. Raises LaunchError for an unknown name."""
        self._check_loaded()
        placed = self._statics.placed.get(name)
        if placed is None:
            known = ", ".join(self._statics.placed) or "none"
            raise LaunchError(f"the module has no variable `{name}`; its variables are: {known}")
        return Symbol(name, placed.space, Address(placed.address), placed.size)

    def read(self, name: str, dtype: npt.DTypeLike = np.uint8) -> Array:
        """A copy of a variable as elements of a dtype. Raises LaunchError if its size is not a multiple of theirs."""
        symbol = self.symbol(name)
        size = np.dtype(dtype).itemsize
        if symbol.size % size:
            raise LaunchError(f"variable `{name}` has {symbol.size} bytes, not elements of {size}")
        return self.memory.get(symbol.address, symbol.size // size, dtype)

    def write(self, name: str, values: npt.ArrayLike, offset: int = 0) -> None:
        """Copy an array or bytes into a variable from byte `offset` on. Raises LaunchError if they do not fit."""
        symbol = self.symbol(name)
        data = np.frombuffer(values, np.uint8) if isinstance(values, bytes) else np.ascontiguousarray(values)
        if offset < 0 or offset + data.nbytes > symbol.size:
            raise LaunchError(f"{data.nbytes} bytes at byte {offset} of variable `{name}`, which has {symbol.size}")
        self.memory.set(symbol.address + offset, data)

    def kernel(self, entry: str | None = None) -> Kernel:
        """The attributes of an entry; `name` is required if there are several. Raises SimulatorError."""
        kernel = with_functions(self._parsed, _select(self._parsed, entry))
        placement = place(self._parsed, self._statics, kernel, 0)
        directives = kernel.directives
        required, most = directives.get("reqntid"), directives.get("maxntid")
        cluster, registers = directives.get("reqnctapercluster"), directives.get("maxnreg")
        constants = [placed.size for placed in self._statics.placed.values() if placed.space == "const"]
        return Kernel(
            kernel.name,
            tuple(kernel.parameters),
            parameter_bytes(kernel),
            int(np.prod(required or most or (MAX_THREADS,))),
            None if required is None else _triple(".reqntid", required),
            None if cluster is None else _triple(".reqnctapercluster", cluster),
            placement.shared,
            placement.local,
            sum(constants),
            None if registers is None else registers[0],
        )

    def launch(
        self,
        grid: Extent,
        block: Extent,
        args: Sequence[Argument],
        cluster: Extent = (1, 1, 1),
        dynamic_smem: int = 0,
        entry: str | None = None,
        hazards: bool | str = False,
        max_blocks: int = MAX_BLOCKS,
        max_instructions: int | None = None,
        schedule: str = TOGETHER,
        suppress: Sequence[str] = (),
        cooperative: bool = False,
        dependent: bool = False,
        workers: int = 1,
        resident: int | None = None,
        on_one_sm: int = 1,
    ) -> Report:
        """Run an entry over a grid; the arguments are those of the function `launch`. Raises SimulatorError."""
        if max_instructions is not None and max_instructions < 1:
            raise LaunchError(f"max_instructions {max_instructions} is below 1")
        if workers > 1 and max_instructions is not None:
            raise LaunchError("max_instructions counts the instructions of one process; leave workers at 1")
        for name, value in (("resident", resident), ("on_one_sm", on_one_sm), ("workers", workers)):
            if value is not None and value < 1:
                raise LaunchError(f"{name} {value} is below 1")
        findings = Findings(hazards if isinstance(hazards, str) else STOP, suppress)
        is_tracked = bool(hazards)
        options = Options(dynamic_smem, is_tracked, cooperative, workers, resident, on_one_sm)
        with (
            np.errstate(all="ignore"),
            findings.attached(self._text),
            self.prepared(grid, block, args, cluster, entry, options) as prepared,
        ):
            if on_one_sm > 1:
                check_demands([prepared.demand])
            prepared.machine.findings = findings
            tracker, before = prepared.binding.hazards, self.memory.arena.copy() if is_tracked else None
            if dependent and tracker is not None:
                tracker.grids.changed = self.memory.changed
            report = _run(prepared, max_blocks, max_instructions, schedule, workers)
            self.memory.note_changes(before)
        report.hazards, report.suppressed = findings.hazards(self._text), findings.hazards(self._text, suppressed=True)
        return report

    @property
    def text(self) -> str:
        """The PTX."""
        return self._text

    @contextmanager
    def prepared(
        self,
        grid: Extent,
        block: Extent,
        args: Sequence[Argument],
        cluster: Extent,
        entry: str | None,
        options: "Options",
    ) -> "Generator[Prepared]":
        """An entry decoded for a launch. Raises SimulatorError."""
        self._check_loaded()
        kernel = with_functions(self._parsed, _select(self._parsed, entry))
        clusters = _cluster(kernel, _triple("cluster", cluster))
        geometry = Geometry(_triple("grid", grid), _triple("block", block), clusters)
        check_geometry(geometry)
        _check_directives(kernel, geometry)
        parameters = bind_arguments(kernel, args)
        if options.dynamic_smem < 0:
            raise LaunchError(f"dynamic_smem {options.dynamic_smem} is negative")
        if options.workers > 1:
            check_apart(kernel, options.cooperative)
        with self._prepared(kernel, geometry, parameters, options) as prepared:
            yield prepared

    def check(self, entry: str | None = None) -> None:
        """Decode one entry, or all, without running anything. Raises SimulatorError."""
        for name in [entry] if entry is not None else self.entries:
            kernel = with_functions(self._parsed, _select(self._parsed, name))
            directives = kernel.directives
            block = directives.get("reqntid", (min(128, int(np.prod(directives.get("maxntid", (128,))))),))
            cluster = _triple("cluster", directives.get("reqnctapercluster", (1, 1, 1)))
            geometry = Geometry(cluster, _triple("block", block), cluster)
            with self._prepared(kernel, geometry, bytes(parameter_bytes(kernel)), Options()):
                pass

    def unload(self) -> None:
        """Free the memory of the variables."""
        self._check_loaded()
        self._is_loaded = False
        self._statics.free(self.memory)

    def _check_loaded(self) -> None:
        if not self._is_loaded:
            raise LaunchError("the module has been unloaded")

    @contextmanager
    def _prepared(
        self, kernel: Entry, geometry: Geometry, parameters: bytes, options: "Options"
    ) -> "Generator[Prepared]":
        """A decoded entry, whose parameters stay in memory as long as it is in use."""
        if calls(kernel, "malloc") or calls(kernel, "__cuda_syscall_aligned_malloc"):
            self.memory.reserve(_HEAP_ROOM * HEAP)
        address = self.memory.put(np.frombuffer(parameters, np.uint8))
        words = self.memory.put(np.zeros(_GRID_WORDS, np.uint32)) if options.cooperative else None
        try:
            placement = place(self._parsed, self._statics, kernel, options.dynamic_smem)
            source = Source(
                self._parsed.target,
                self._parsed.version,
                kernel,
                placement,
                self._statics.code,
                parameters,
                address,
                words,
            )
            if options.workers > 1:
                self.memory.share()
            yield _prepare(source, geometry, self.memory, options)
        finally:
            if words is not None:
                self.memory.drop(words)
            self.memory.drop(address)


def launch(
    ptx: str,
    grid: Extent,
    block: Extent,
    args: Sequence[Argument],
    memory: GlobalMemory,
    cluster: Extent = (1, 1, 1),
    dynamic_smem: int = 0,
    entry: str | None = None,
    hazards: bool | str = False,
    max_blocks: int = MAX_BLOCKS,
    max_instructions: int | None = None,
    schedule: str = TOGETHER,
    suppress: Sequence[str] = (),
    cooperative: bool = False,
    dependent: bool = False,
    workers: int = 1,
    resident: int | None = None,
    on_one_sm: int = 1,
) -> Report:
    """Load a PTX module, run an entry over a grid, unload the module.

    args: one per parameter, an int, a float, an address of `memory`, bytes, or a TensorMap;
    cluster: CTAs of a cluster, (1, 1, 1) for what the entry requires; dynamic_smem: bytes for `.extern .shared`;
    entry: needed where the module has several;
    hazards: also find races, uninitialised reads and uses of data still in flight, at several times the cost; True or
    "stop" raises HazardError at the first, "report" goes on and collects them in `Report.hazards` (an error that ends
    the run all the same has them as `hazards`); suppress: "KIND", "KIND:LINE" or "LINE", which do not count;
    max_blocks, max_instructions: basic blocks, and instructions of warps (`Report.instructions`), after which a launch
    that is still running ends with StepLimitError; no limit of instructions by default;
    schedule: "together" runs warps in step, "skewed:SEED" each alone until it must wait, in an order drawn from SEED;
    cooperative: all CTAs run at a time and may wait for each other, and %envreg1 and %envreg2 have the address of the
    words by which cooperative groups synchronise a grid;
    dependent: launched before the launch before it on this memory has ended (programmatic stream serialization), which
    only hazards look at: what that launch changed, as far as it ran with hazards, may be used after
    griddepcontrol.wait;
    workers: processes at most, each for a stretch of the grid, with the same results, counts and hazards; only where
    CTAs do not talk to each other (atomics, strong accesses of global memory, malloc, cooperative launches are
    refused). Limits count for each process. Where the grid fits in one batch with hazards, one process runs it.
    resident: CTAs that run at a time, whole clusters, of a kernel that takes over the work of others
    (clusterlaunchcontrol); a quarter of the grid by default, as far as they fit a batch.
    on_one_sm: CTAs that share a multiprocessor, and with it the columns of its tensor memory: those that follow each
    other in the grid, of clusters those of the same rank.
    Raises SimulatorError with the PTX line.
    """
    module = Module(ptx, memory)
    try:
        return module.launch(
            grid, block, args, cluster, dynamic_smem, entry, hazards, max_blocks, max_instructions, schedule, suppress,
            cooperative, dependent, workers, resident, on_one_sm,
        )  # fmt: skip
    finally:
        module.unload()


def check(ptx: str, entry: str | None = None) -> None:
    """Parse a PTX module and decode one entry, or all, without running anything.

    Raises SimulatorError at the first statement that is malformed or not simulated.
    """
    Module(ptx).check(entry)


def _triple(name: str, extent: Extent) -> tuple[int, int, int]:
    values = [int(value) for value in extent]
    if not 1 <= len(values) <= 3:
        raise LaunchError(f"{name} {tuple(extent)} must have one to three extents")
    values += [1] * (3 - len(values))
    return values[0], values[1], values[2]


def _select(module: ParsedModule, name: str | None) -> Entry:
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
    """The cluster extents of a launch: those of .reqnctapercluster unless the caller gives them."""
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


@dataclass(frozen=True, slots=True)
class Source:
    """What a launch runs: an entry with the functions it calls, the locations of its data, its parameters.

    grid_words: the address of the words by which a cooperative grid synchronises, None for other launches.
    """

    target: str
    version: tuple[int, int]
    kernel: Entry
    placement: Placement
    code: dict[str, int]
    parameters: bytes
    parameter_address: int
    grid_words: int | None


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a launch besides its extents and arguments. sms: None for separate multiprocessors."""

    dynamic_smem: int = 0
    hazards: bool = False
    cooperative: bool = False
    workers: int = 1
    resident: int | None = None
    on_one_sm: int = 1
    sms: Multiprocessors | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A decoded entry on its machine, ready to run."""

    machine: Machine
    binding: Binding
    code: Code
    sites: list[Site]
    shared_size: int
    demand: Demand


def _prepare(source: Source, geometry: Geometry, memory: GlobalMemory, options: Options) -> Prepared:
    kernel, placement = source.kernel, source.placement
    shared_size = placement.shared
    limit = _SHARED_LIMIT.get(source.target.rstrip("af"), max(_SHARED_LIMIT.values()))
    if shared_size > limit:
        raise LaunchError(f"{shared_size} bytes of shared memory; {source.target} has {limit} for a CTA", kernel.line)
    size = geometry.cluster_size
    ctas = max(1, min(geometry.ctas, _BATCH_LANES // geometry.slots) // size) * size
    if options.cooperative or options.sms is not None:
        ctas = geometry.ctas
    elif any(instruction.base == "clusterlaunchcontrol" for instruction in kernel.instructions):
        share = -(-geometry.ctas // size // _STEALING_SHARE)
        ctas = min(ctas, (share if options.resident is None else max(1, options.resident // size)) * size)
    elif not options.hazards:  # findings in a batch depend on its CTAs
        ctas = min(ctas, -(-geometry.ctas // size // options.workers) * size)
    machine = Machine(kernel, geometry, ctas, memory, shared_size, placement.local)
    machine.special["dynamic_smem_size"] = np.full(machine.lanes, options.dynamic_smem, np.uint32)
    machine.special["total_smem_size"] = np.full(machine.lanes, shared_size, np.uint32)
    machine.special["aggr_smem_size"] = machine.special["total_smem_size"]  # no shared memory is reserved
    machine.residents = Residents(machine, kernel.name, options.on_one_sm, options.sms)
    words = source.grid_words or 0
    machine.special["envreg1"] = np.full(machine.lanes, words >> 32, np.uint32)
    machine.special["envreg2"] = np.full(machine.lanes, words & 0xFFFFFFFF, np.uint32)
    tracker = Tracker(machine, kernel) if options.hazards else None
    transfers = Transfers(machine, tracker)
    calls = CallStack(machine, placement.fixed)
    binding = Binding(
        machine, placement.symbols, source.parameters, source.parameter_address, transfers, calls, kernel, source.code,
        source.target, source.version, tracker,
    )  # fmt: skip
    code, sites = link(kernel, binding)
    return Prepared(
        machine, binding, code, sites, shared_size, Demand(options.on_one_sm, geometry.threads, shared_size)
    )


def _run(prepared: Prepared, max_blocks: int, max_instructions: int | None, schedule: str, workers: int = 1) -> Report:
    clusters = prepared.machine.clusters
    running = scheduler(
        schedule, prepared.machine, prepared.code, prepared.binding.transfers, max_blocks, max_instructions
    )
    shares = stretches(len(clusters.all), clusters.resident, workers)
    if len(shares) == 1:
        return _batches(prepared, running)
    findings = prepared.machine.findings

    def work(mine: range) -> Share:
        clusters.mine = mine
        try:
            return Share(_batches(prepared, running), findings, None)
        except SimulatorError as error:
            return Share(Report(), findings, error)

    done = run_apart(work, shares)
    for share in done[1:]:
        findings.join(share.findings)
    total, error = joined([share.report for share in done]), done[-1].error
    if error is not None:
        error.printed, error.printed_at = total.printed + error.printed, total.printed_at + error.printed_at
        raise error
    return total


def _batches(prepared: Prepared, running: Scheduler) -> Report:
    """Run the clusters of this process."""
    binding = prepared.binding
    live = 0
    for live in started(prepared, running):  # noqa: B007 - the last batch's count is used below
        try:
            running.run()
        except SimulatorError as error:
            error.printed, error.printed_at = binding.printed, binding.printed_at
            raise
        binding.transfers.end()
    return reported(prepared, running, live)


def started(prepared: Prepared, running: Scheduler) -> Iterator[int]:
    """The batches of this process, each ready to run: how many CTAs are live."""
    binding = prepared.binding
    tracker = binding.hazards
    if tracker is not None:
        running.barriers.observer = tracker
    for live in prepared.machine.batches():
        if tracker is not None:
            tracker.start()
        binding.transfers.start()
        binding.calls.start()
        yield live


def reported(prepared: Prepared, running: Scheduler, live: int) -> Report:
    """The report of the executed part; live: CTAs of the last batch."""
    machine, binding = prepared.machine, prepared.binding
    shared = machine.shared.bytes.reshape(machine.ctas, -1)[:live, : prepared.shared_size].copy()
    report = _report(running, prepared.sites, shared, prepared.shared_size)
    report.printed, report.printed_at = binding.printed, binding.printed_at
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

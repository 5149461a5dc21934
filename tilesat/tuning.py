"""`tilesat.autotune`: the best of some configurations of a kernel, predicted, or measured on a card.

    tuned = tilesat.autotune(matmul, {"tm": (64, 128), "tk": (32, 64), "num_ctas": (1, 2)}, (a, b, c),
                             grid=lambda c: (m // c["tm"], n // 128), target="sm_90a")
    print(tuned)
    tuned(a, b, c)

A configuration names constants of a cuTile kernel, its hints (`HINTS`), and options of `tilesat.compile`. What is
predicted is the cost of the program that extraction chooses, compiled for exactly the sizes of the arrays, so that
loops count as often as they run, times the rounds in which a card takes the grid. The best by that are measured on the
card; without one the code that ptxas makes of them is gone through (`tilesat.assembled`).
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from inspect import signature as parameters_of
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypedDict, TypeVar, Unpack, cast

from ir.core import TileError
from tilesat import assembled, cutile_kernels
from tilesat.grid import Grid, as_grid
from tilesat.shown import shown
from tilesat.tuned import Row, Tuned, Values, pinned, plain, plain_text

if TYPE_CHECKING:
    from runtime.cuda import Device, DeviceArray
    from tilesat.calling import Calling, Parameter
    from tilesat.compiler import CompileOptions
    from tilesat.cutile_kernels import CuTileKernel
    from tilesat.kernel import Kernel

Made = TypeVar("Made")
GridOf: TypeAlias = int | Sequence[int] | Callable[[Values], int | Sequence[int]]
HINTS = ("occupancy", "num_worker_warps", "opt_level")
"""Of `cuda.tile.kernel.replace_hints`; `num_ctas` is an option of `tilesat.compile`, which stands above the hint."""
COLD_BYTES = 256 << 20
"""Overwritten before each launch that is timed: more than the L2 cache of any card so far, 126 MB on B200 (NVIDIA data
sheets)."""
REPEAT = 20
"""Launches of a kernel that are timed."""
FLYING = 64
"""Configurations that an executor of the user's is given at a time."""
FENCE = 1.5
"""Quartile distances above the upper quartile from which on a time is dropped (Tukey's fence)."""


def autotune(
    kernel: object,
    configurations: Mapping[str, Iterable[object]] | Iterable[Mapping[str, object]],
    args: Sequence[object],
    *,
    grid: GridOf,
    target: str | None = None,
    on: str | None = None,
    budget: float | None = None,
    measure: int = 8,
    workers: int | Executor = 0,
    pins: str | Path | None = None,
    cache: bool = True,
    progress: bool = False,
    programs: int = 1,
    **options: Unpack[CompileOptions],
) -> Tuned:
    """Try configurations of a kernel on arguments, and say which is the best.

    `kernel`: a cuTile kernel, Tile IR as `tilesat.compile` takes it, or a function that makes it of a configuration.
    `configurations`: a list of them, or the values of each name, of which all combinations are tried. `args`: what
    the kernel takes, without its constants where configurations have all of them. `grid`: tile blocks, or a function
    of the configuration. `on`: cuda measures the `measure` best predicted ones on the card, sim predicts them again of
    their assembled code, where ptxas is installed; by default as the arrays lie. Arrays of the card are written, those
    of the host are not.
    `budget`: seconds after which no configuration is begun any more, one is always tried; `workers`: processes, 0 for
    this one, or an executor (a Dask client's `get_executor()`); `pins`: a file of pins, of which a choice is taken, or
    to which it is added; `cache`: results of whole searches, and kernels, are kept on disk; `progress`: a line on
    standard error; `programs`: of each configuration's e-graph so many are tried, the cheapest first
    (`tilesat.alternatives`); `options`: as in `tilesat.compile`.
    Raises TileError for names and arguments that mean nothing, and where nothing can be compiled.
    """
    from tilesat.just_in_time import target_of
    from tilesat.launching import card_of, place_of

    place = on or place_of(args, {})
    if place not in ("sim", "cuda"):
        raise TileError(f"autotune: on: expected sim (predicts) or cuda (measures), got {shown(on)}")
    few = isinstance(workers, int) and workers < 0
    if min(measure, programs) < 1 or few or (budget is not None and not budget > 0):
        raise TileError("autotune: expected measure >= 1, workers >= 0, programs >= 1 and a budget above 0")
    card = card_of(args, {}) if place == "cuda" else None
    tier = target or target_of(place, card or 0)
    tried = combinations(configurations)
    first = [_Candidate.of(kernel, each, args, grid, tier, options) for each in tried]
    made = [each for candidate in first for each in candidate.of_programs(programs)]
    name, arguments = made[0].name, f"({', '.join(map(described, args))})"
    missing = "" if place == "cuda" else assembled.lacking()
    result = partial(Tuned, name, tier, arguments, compiled=partial(_compiled_for, made, tier, cache), lacking=missing)
    chosen = None if pins is None else pinned(pins, name, tier, arguments, [each.configuration for each in made])
    if chosen is not None:
        (row,) = (Row(each.configuration, each.grid) for each in made if each.configuration is chosen)
        return result((row,), 0, "pinned")
    deadline = math.inf if budget is None else time.monotonic() + budget
    search = _Search(made, tier, card, measure, workers, deadline, progress, cache, programs)
    rows, found = _remembered(search, arguments)
    if rows[0].error:
        raise TileError(f"autotune: no configuration of @{name} can be compiled, {rows[0]}: {rows[0].error}")
    reached = {plain_text(each.configuration) for each in rows}
    left = sum(plain_text(each.configuration) not in reached for each in first)
    tuned = result(rows, left, found)
    if pins is not None:
        tuned.pin(pins)
    return tuned


def combinations(given: Mapping[str, Iterable[object]] | Iterable[Mapping[str, object]]) -> list[Values]:
    """Configurations that are given, or all combinations of values. Raises TileError where there are none."""
    if isinstance(given, Mapping):
        axes = cast("Mapping[str, Iterable[object]]", given)
        for name, values in axes.items():
            if isinstance(values, str) or not isinstance(cast("object", values), Iterable):
                raise TileError(f"configurations: expected some values of '{name}', got {shown(values)}")
        found = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    else:
        found = [dict(each) for each in given]
    if not found:
        raise TileError("configurations: expected one or more, got none")
    return found


def described(argument: object) -> str:
    """An argument as pins and tables name it: an array by type and sizes, anything else by its value."""
    from tilesat.arrays import is_array, view_of

    return str(view_of(argument, "")) if is_array(argument) else shown(argument)


@dataclass(frozen=True)
class _Candidate:
    """A configuration to try: what is compiled for it, generic and, for predictions, of exactly these sizes."""

    name: str
    configuration: Values
    grid: Grid
    source: object
    program: object
    options: CompileOptions
    given: Sequence[object] = ()
    named: Mapping[str, object] = field(default_factory=dict[str, object])
    generic: Calling | None = None

    @staticmethod
    def of(
        kernel: object,
        configuration: Values,
        args: Sequence[object],
        grid: GridOf,
        target: str,
        options: CompileOptions,
    ) -> _Candidate:
        """Raises TileError for names that are none of the kernel's or the compiler's, and what cuTile refuses."""
        from tilesat.just_in_time import Jit

        kernel = kernel.source if isinstance(kernel, Jit) else kernel
        source: object = kernel(configuration) if callable(kernel) and not cutile_kernels.is_kernel(kernel) else kernel
        blocks = as_grid(grid(configuration) if callable(grid) else grid)
        constants, hints, own = _divided(source, configuration)
        given = cast("CompileOptions", {**options, **own})
        if not cutile_kernels.is_kernel(source):
            return _Candidate("program", configuration, blocks, source, source, given, args)
        from tilesat.calling import bound
        from tilesat.specialise import constraints_of, specialised, written_at

        source = source.replace_hints(**hints) if hints else source
        name, names = cutile_kernels.name_of(source), list(cutile_kernels.function_of(source).pysig.parameters)
        values = bound(names, (), {**_between(args, names, constants), **constants}, name, written_at(source))
        generic = specialised(source, values)
        exact = replace(
            generic, parameters=tuple((each, fixed(kind, values[each])) for each, kind in generic.parameters)
        )
        program = cutile_kernels.export(source, constraints_of(exact), target)
        return _Candidate(name, configuration, blocks, source, program, given, (), values, generic)

    def of_programs(self, count: int) -> list[_Candidate]:
        """This one, and the same with programs of the e-graph that cost more. Raises TileError where its extractor is
        asked for.
        """
        if count > 1 and "extractor" in self.options:
            raise TileError("autotune: programs are those of the usual extractor: leave the extractor out")
        others: list[CompileOptions] = [{"extractor": f"top:{number}"} for number in range(2, count + 1)]
        found: list[_Candidate] = [self]
        for each in others:
            found.append(replace(self, configuration=self.configuration | each, options=self.options | each))
        return found

    def general(self, target: str) -> object:
        """What is compiled for all arguments of the same kind, as other processes take it."""
        from tilesat.specialise import constraints_of

        if self.generic is None:
            return self.program
        return cutile_kernels.export(cast("CuTileKernel", self.source), constraints_of(self.generic), target)

    def kernel(self, target: str, cache: bool) -> Kernel:
        """The kernel for all arguments of the same kind; `cache`: out of it where it is there."""
        from tilesat.compiler import compile
        from tilesat.specialise import constraints_of

        signature = None if self.generic is None else constraints_of(self.generic)
        return compile(self.source, target, signature=signature, cache=cache, **self.options)

    @property
    def key(self) -> str:
        """All that decides what comes of it."""
        return repr((_bytes(self.program), self.generic, self.grid, sorted(map(str, self.options.items()))))


def _bytes(program: object) -> bytes:
    """The content of a program."""
    from tilesat.compiler import written

    return written(program)[0] if isinstance(program, str | bytes | Path) else bytes(cast("bytearray", program))


def _between(args: Sequence[object], names: Sequence[str], constants: Values) -> Values:
    """The arguments by name; configurations fill in their constants."""
    rest = [name for name in names if name not in constants]
    if len(args) != len(rest):
        raise TileError(f"autotune: expected {len(rest)} arguments ({', '.join(rest)}), got {len(args)}")
    return dict(zip(rest, args, strict=True))


def _divided(source: object, configuration: Values) -> tuple[Values, Values, Values]:
    """Constants of the kernel, its hints, options of the compiler. Raises TileError for any other name."""
    from tilesat.compiler import compile

    names = list(cutile_kernels.function_of(source).pysig.parameters) if cutile_kernels.is_kernel(source) else []
    hints = HINTS if cutile_kernels.is_kernel(source) else ()
    options = [each for each in list(parameters_of(compile).parameters)[2:] if each not in ("signature", "cache")]
    groups: tuple[Values, Values, Values] = ({}, {}, {})
    for name, value in configuration.items():
        place = next((n for n, known in enumerate((names, hints, options)) if name in known), None)
        if place is None:
            known = ", ".join((*names, *hints, *options))
            raise TileError(f"configurations: there is no '{name}'", hint=f"there are {known}")
        groups[place][name] = value
    return groups


def fixed(parameter: Parameter, value: object) -> Parameter:
    """A parameter that takes arrays of exactly these sizes and strides only."""
    from tilesat.arrays import view_of
    from tilesat.calling import ArrayParameter, TupleParameter

    if isinstance(parameter, TupleParameter):
        return TupleParameter(tuple(map(fixed, parameter.items, cast("Iterable[object]", value))))
    if not isinstance(parameter, ArrayParameter):
        return parameter
    view, ones = view_of(value, ""), (1,) * len(parameter.shape)
    return replace(parameter, shape=view.shape, strides=view.strides, shape_divisors=ones, stride_divisors=ones)


def _compiled_for(made: Sequence[_Candidate], target: str, cache: bool, configuration: Values) -> Kernel:
    """The kernel of a configuration."""
    (each,) = (one for one in made if plain(one.configuration) == plain(configuration))
    return each.kernel(target, cache)


Price = tuple[float, int, str, str]
"""Cycles of an SM for a CTA, CTAs of a tile block, why nothing could be compiled, in what the program differs."""
Task = tuple[object, ...]
"""The arguments of a function that a process may call."""


def price(program: object, target: str, options: CompileOptions, general: object = None, count: int = 1) -> list[Price]:
    """The price of a configuration, and those of the programs behind the cheapest, up to `count` in all: what they cost
    more is what they do in `general`, which is compiled for all sizes, as the kernels are. A task of a process.
    """
    from lowering.cost import UNKNOWN_TRIPS
    from runtime.manifest import parse
    from tilesat.alternatives import alternatives
    from tilesat.compiler import compile
    from tilesat.failures import describe, user_errors

    try:
        kernel = compile(program, target, **options)
        others = [] if count == 1 else alternatives(compile(general, target, **options), count)[1:]
    except user_errors() as error:
        return [(0.0, 1, describe(error).splitlines()[0], "")]
    tiles = 1 if kernel.compiled.persistent == "off" else UNKNOWN_TRIPS  # its own loop over tiles is in the cost
    cycles, ctas = kernel.cost / tiles, math.prod(parse(kernel.manifest).along)
    return [(cycles, ctas, "", ""), *((cycles * each.ratio, ctas, "", each.differs) for each in others)]


@dataclass
class _Search:
    """One search: prices of all candidates, times of the best on a card, by its number."""

    made: Sequence[_Candidate]
    target: str
    card: int | None
    measure: int
    workers: int | Executor
    deadline: float
    progress: bool
    cache: bool
    programs: int = 1

    def rows(self, device: Device | None) -> tuple[Row, ...]:
        """A row a candidate that the budget reached, the best first."""
        from lowering.targets.devices import multiprocessors

        count = multiprocessors(self.target) if device is None else device.multiprocessors
        found: dict[int, Row] = {}
        firsts = enumerate(self.made[:: self.programs])
        for first, prices in self._called(price, ((n * self.programs, self._task(each)) for n, each in firsts)):
            for number, (cycles, ctas, error, differs) in enumerate(prices, first):
                each = self.made[number]
                rounds = math.ceil(math.prod(each.grid) * ctas / count)
                cost = None if error else cycles * rounds
                found[number] = Row(each.configuration, each.grid, cost, error=error, program=differs)
            self._say(first + self.programs, "compiled", found.values())
        rows = sorted((found[number] for number in sorted(found)), key=lambda row: row.rank)
        if device is not None:
            rows[: self.measure] = self._timed(device, rows[: self.measure])
        elif not assembled.lacking():
            rows[: self.measure] = self._assembled(rows[: self.measure], count)
        if self.progress:
            print(file=sys.stderr)
        return tuple(sorted(rows, key=lambda row: row.rank))

    def _called(self, function: Callable[..., Made], tasks: Iterable[tuple[int, Task]]) -> Iterator[tuple[int, Made]]:
        """Numbers of tasks and what a function makes of them, as it comes; until the deadline, but for the first."""
        if not self.workers:
            for number, task in tasks:
                if number and time.monotonic() > self.deadline:
                    return
                yield number, function(*task)
            return
        many = self.workers if isinstance(self.workers, int) else FLYING
        with self._pool() as pool:
            flying: dict[Future[Made], int] = {}
            for number, task in tasks:
                if number and time.monotonic() > self.deadline:
                    break
                flying[pool.submit(function, *task)] = number
                if len(flying) >= many:
                    yield from _finished(flying)
            while flying:
                yield from _finished(flying)

    def _pool(self) -> AbstractContextManager[Executor]:
        """Processes of our own, or the user's executor, which stays open."""
        if not isinstance(self.workers, int):
            return nullcontext(self.workers)
        return ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"))

    def _task(self, each: _Candidate) -> Task:
        """What `price` takes for the programs of a configuration."""
        several = self.programs > 1
        return each.program, self.target, each.options, each.general(self.target) if several else None, self.programs

    def _assembled(self, rows: Sequence[Row], multiprocessors: int) -> list[Row]:
        """The rows with cycles of their code, until the deadline."""
        found, place = list(rows), {id(each.configuration): number for number, each in enumerate(self.made)}
        tasks: list[tuple[int, Task]] = []
        for number, row in enumerate(rows):
            if not row.error:
                at = place[id(row.configuration)]
                each, first = self.made[at], self.made[at - at % self.programs]
                general, exact = each.general(self.target), first.options
                task = each.program, general, self.target, exact, each.options, each.grid, multiprocessors
                tasks.append((number, task))
        for done, (number, cycles) in enumerate(self._called(assembled.of_grid, tasks), 1):
            failed = isinstance(cycles, str)
            made: Values = {"predicted": None, "error": cycles} if failed else {"assembled": cycles}
            found[number] = replace(rows[number], **made)
            self._say(done, "assembled", found)
        return found

    def _timed(self, device: Device, rows: Sequence[Row]) -> Iterator[Row]:
        """The rows with what their kernels take on the card, until the deadline."""
        import numpy as np

        cold = device.empty((COLD_BYTES,), np.uint8)
        for number, row in enumerate(rows):
            if row.error or (number and time.monotonic() > self.deadline):
                yield row
                continue
            kept = steady(self._launches(device, row, cold))
            yield replace(row, measured=1000 * statistics.median(kept), samples=len(kept))
            self._say(number + 1, "measured", rows)

    def _launches(self, device: Device, row: Row, cold: DeviceArray) -> list[float]:
        """Milliseconds of launches between events, the L2 cache cold."""
        from tilesat.launching import prepared
        from tilesat.spec import is_numpy

        (own,) = (one for one in self.made if one.configuration is row.configuration)
        kernel = own.kernel(self.target, self.cache)
        values = prepared(kernel.entry, kernel.calling, own.given, own.named, "cuda", whole=bool(own.named)).values
        copies = {number: device.put(each) for number, each in enumerate(values) if is_numpy(each)}
        held = [copies.get(number, each) for number, each in enumerate(values)]
        try:
            launch = device.load(kernel.ptx, kernel.manifest).prepare(row.grid, held)
            return device.time(launch, REPEAT, cold=cold)
        finally:
            for each in copies.values():
                device.free(each)

    def _say(self, done: int, what: str, rows: Iterable[Row]) -> None:
        if self.progress:
            best = min(rows, key=lambda row: row.rank)
            print(f"\r{what} {done}/{len(self.made)}, best {best}\x1b[K", end="", file=sys.stderr, flush=True)


def steady(times: Sequence[float]) -> list[float]:
    """The times without those far above the others (`FENCE`)."""
    lower, _, upper = statistics.quantiles(times, n=4, method="inclusive")
    return [each for each in times if each <= upper + FENCE * (upper - lower)]


def _finished(flying: dict[Future[Made], int]) -> Iterator[tuple[int, Made]]:
    """What is done first."""
    for future in wait(flying, return_when=FIRST_COMPLETED).done:
        yield flying.pop(future), future.result()


def _remembered(search: _Search, arguments: str) -> tuple[tuple[Row, ...], str]:
    """The rows of an earlier search for the same, or of this one; whole searches are kept."""
    from runtime.cuda import Device
    from tilesat.cache import compiler, opened

    with nullcontext() if search.card is None else Device(search.card) as device:
        store = opened() if search.cache else None
        where = assembled.assembler() if device is None else device.name
        digest = blake2b(repr((compiler(), search.target, arguments, where)).encode(), digest_size=20)
        for each in search.made:
            digest.update(each.key.encode())
        key = f"tuned-{digest.hexdigest()}"
        known = None if store is None else store.get(key)
        if known is not None:
            by_text = {plain_text(each.configuration): each for each in search.made}
            kept = cast("list[_Kept]", known["rows"])
            return tuple(_again(by_text[json.dumps(row["configuration"])], row) for row in kept), "cached"
        rows = search.rows(device)
    if store is not None and {plain_text(row.configuration) for row in rows} >= {
        plain_text(each.configuration) for each in search.made[:: search.programs]
    }:
        store.put(key, {"rows": [_kept(row) for row in rows]})
    return rows, "searched"


class _Kept(TypedDict):
    configuration: Values
    predicted: float | None
    assembled: float | None
    measured: float | None
    samples: int
    error: str
    program: str


def _again(each: _Candidate, row: _Kept) -> Row:
    """A row out of the cache."""
    predictions = row["predicted"], row["assembled"], row["measured"]
    return Row(each.configuration, each.grid, *predictions, row["samples"], row["error"], row["program"])


def _kept(row: Row) -> _Kept:
    """A row as the cache keeps it."""
    return {
        "configuration": plain(row.configuration),
        "predicted": row.predicted,
        "assembled": row.assembled,
        "measured": row.measured,
        "samples": row.samples,
        "error": row.error,
        "program": row.program,
    }

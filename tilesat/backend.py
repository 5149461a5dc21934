"""Runs unmodified cuTile programs with or without a GPU: `cuda.tile.launch` runs their kernels on the selected backend.

    with tilesat.cutile.backend("sim", target="sm_90a", check=True):
        program()

Tensors that a program puts on "cuda" are on the host if there is no GPU (`tilesat.card`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, TypeVar, Unpack

from ir.core import TileError
from tilesat.calling import ArgumentError
from tilesat.card import always, as_it_is, card, replaced
from tilesat.cli import BACKENDS
from tilesat.compiler import DEFAULT_TARGET
from tilesat.cutile_kernels import BYTECODE_VERSION, CuTileKernel, cutile_module, function_of, name_of
from tilesat.failures import user_errors
from tilesat.in_source import raised_in
from tilesat.just_in_time import Jit, JitOptions, jit

if TYPE_CHECKING:
    from ptxsim import Hazard, Report

Config = TypeVar("Config")
ASKED, ASKING = "get_compute_capability", ("cuda.tile._cext", "cuda.tile._execution", "cuda.tile._compile")
"""Modules of cuda-tile 1.7.0 that ask the driver for the card's architecture."""
INFERS = "get_parameter_constraints_from_pyargs"
"""Of cuda-tile 1.7.0: what KernelSignature.from_kernel_args asks the driver for."""
READS = "_get_max_supported_bytecode_version"
"""Of cuda-tile 1.7.0: asks tileiras, which is not there, for the newest bytecode that it reads."""

MOST_BLOCKS = 2**24 - 1
"""Of cuda-tile 1.7.0: the largest extent of a grid (cext/tile_kernel.cpp)."""


@dataclass
class Backend:
    """The destination of launches, and their results."""

    on: str
    target: str | None
    options: JitOptions
    output: Callable[[str, str], object] | None = None
    """Takes what kernels print, and file and line of their source; by default it goes to standard output."""
    launches: int = 0
    hazards: list[Hazard] = field(default_factory=list["Hazard"])
    kernels: dict[CuTileKernel, Jit] = field(default_factory=dict[CuTileKernel, Jit])
    """By cuTile kernel."""

    def launch(
        self, stream: object, grid: Sequence[int], kernel: CuTileKernel, arguments: Sequence[object], /, **_: object
    ) -> None:
        """As `cuda.tile.launch`; stream order does not matter because each launch ends before the next.

        Errors in a running kernel are raised at their source line.
        """
        __tracebackhide__ = True  # of pytest
        _refuse_launch(kernel, grid, arguments)
        if kernel not in self.kernels:
            self.kernels[kernel] = jit(kernel, target=self.target, on=self.on, **self.options)
        try:
            with as_it_is():
                handle = stream if self.on == "cuda" else None
                report: Report | None = self.kernels[kernel].launch(
                    tuple(grid) or 1, arguments, {}, self.output, handle
                )
        except user_errors() as error:
            raised = as_cutile(error) if isinstance(error, TileError) else error
            if isinstance(error, TileError) and not isinstance(raised, TileError):
                raise raised.with_traceback(None) from None
            code = function_of(kernel).pyfunc.__code__
            raise raised_in(raised.with_traceback(None), code) from None
        self.launches += 1
        self.hazards += report.hazards if report is not None else []

    def search(
        self,
        space: Iterable[Config],
        stream: object,
        grid_fn: Callable[[Config], Sequence[int]],
        kernel: CuTileKernel,
        args_fn: Callable[[Config], Sequence[object]],
        hints_fn: Callable[[Config], Mapping[str, object]] | None = None,
        **_: object,
    ) -> object:
        """As `cuda.tile.tune.exhaustive_search`, without times: the first configuration that compiles and runs."""
        tune, failures, configs = (
            cutile_module("cuda.tile.tune"),
            list[tuple[Config, type[Exception], str]](),
            list(space),
        )
        if not configs:
            raise ValueError("Search space is empty")
        refusals: tuple[type[Exception], ...] = (TileError, cutile_module("cuda.tile").TileError, TypeError, ValueError)
        for config in configs:
            try:
                chosen = kernel if hints_fn is None else kernel.replace_hints(**hints_fn(config))
                self.launch(stream, grid_fn(config), chosen, args_fn(config))
            except refusals as error:
                refused: Exception = error
                failures.append((config, type(refused), str(refused)))
                continue
            best = tune.Measurement(config=config, mean_us=1.0, num_samples=1, error_margin_us=0.0)
            return tune.TuningResult(best=best, successes=[best], failures=failures)
        first = f", the first: {failures[0][2]}" if failures else ""
        raise ValueError(f"No valid config found: none of {len(failures)} compiles{first}")


@contextmanager
def backend(
    on: str = "sim",
    target: str | None = None,
    output: Callable[[str, str], object] | None = None,
    **options: Unpack[JitOptions],
) -> Generator[Backend]:
    """Within it cuTile's launches run on `on`: sim, ref or cuda. `target`: what they are compiled for, by default sm_80
    or the card; `output` takes what kernels print, each time with file and line of the source; `options` as in
    `tilesat.jit`. Modules that have bound `launch` under their own name launch there too.

    Raises TileError for an unknown backend.
    """
    if on not in BACKENDS:
        raise TileError(f"backend: expected one of {', '.join(BACKENDS)}, got {on!r}")
    tile, tune = cutile_module("cuda.tile"), cutile_module("cuda.tile.tune")
    name = target or DEFAULT_TARGET
    made = Backend(on, target if on == "cuda" else name, {"lineinfo": True, **options}, output)
    versions, newest = cutile_module("cuda.tile._bytecode.version"), "V_" + BYTECODE_VERSION.replace(".", "_")
    with ExitStack() as stack:
        for taken, own in ((tile.launch, made.launch), (tune.exhaustive_search, made.search)):
            for module, bound in bindings(taken):
                stack.enter_context(replaced(module, bound, own))
            stack.callback(rebind, own, taken)  # modules that the program loads meanwhile bind ours
        stack.enter_context(replaced(cutile_module("cuda.tile.compilation._signature"), INFERS, inferred))
        reads = always(getattr(versions.BytecodeVersion, newest))
        stack.enter_context(replaced(cutile_module("cuda.tile._compile"), READS, reads))
        if on != "cuda":
            capability = capability_of(name)
            for module in map(cutile_module, ASKING):
                if hasattr(module, ASKED):
                    stack.enter_context(replaced(module, ASKED, always(capability)))
            stack.enter_context(card(capability))
        yield made


class ValueRefusal(TileError, ValueError):
    """Arguments for which cuTile raises a ValueError."""


class SizeRefusal(TileError, OverflowError):
    """Sizes and strides for which cuTile raises an OverflowError."""


def as_cutile(error: TileError) -> Exception:
    """What cuTile raises where a program may expect it, in cuTile's words; otherwise the error itself."""
    cause = error.__cause__
    if not isinstance(cause, Exception) or isinstance(cause, TileError):
        return error
    if not isinstance(error, ArgumentError):
        return cause  # of cuTile's own compiler
    match cause:
        case ValueError():
            return ValueRefusal(str(cause), error.location, error.message)
        case OverflowError():
            return SizeRefusal(str(cause), error.location, error.message)
        case _:
            return ArgumentError(str(cause), error.location, error.message)


def _refuse_launch(kernel: CuTileKernel, grid: Sequence[int], arguments: Sequence[object]) -> None:
    """Raise what cuTile's launch raises for a grid that is too large and for a wrong number of arguments."""
    for axis, extent in enumerate(grid):
        if extent > MOST_BLOCKS:
            hint = "Use multiple kernel launches for larger workloads."
            raise ValueRefusal(f"Grid[{axis}] exceeds 24-bit limit: max={MOST_BLOCKS}, got={extent}. {hint}")
    names, given = list(function_of(kernel).pysig.parameters), len(arguments)
    if len(names) != given:
        from tilesat.specialise import written_at

        wanted, got = f"{len(names)} argument{'s' * (len(names) != 1)}", "was" if given == 1 else "were"
        takes = f"@{name_of(kernel)} takes {', '.join(names)}"
        raise ArgumentError(f"Kernel expects {wanted} but {given} {got} given", written_at(kernel), takes)


def bindings(value: object) -> list[tuple[ModuleType, str]]:
    """Modules that are loaded, and their names of a value."""
    tables = [(module, dict(getattr(module, "__dict__", {}))) for module in list(sys.modules.values())]
    return [(module, name) for module, names in tables for name, each in names.items() if each is value]


def rebind(own: object, taken: object) -> None:
    """Give modules that have bound a value the one that it stood for."""
    for module, bound in bindings(own):
        setattr(module, bound, taken)


def inferred(kernel: CuTileKernel, arguments: Sequence[object], _convention: object) -> list[object]:
    """cuTile's constraints for the arguments of a launch."""
    from tilesat.specialise import constraints_of, specialised

    with as_it_is():
        names = function_of(kernel).pysig.parameters
        try:
            return constraints_of(specialised(kernel, dict(zip(names, arguments, strict=True))))
        except ArgumentError as error:
            raise as_cutile(error) from None


def capability_of(target: str) -> tuple[int, int]:
    """The compute capability of a target."""
    from lowering.targets import target as target_named

    digits = target_named(target).name.removeprefix("sm_").rstrip("af")
    return int(digits[:-1]), int(digits[-1])


def launched_at(trace: TracebackType | None) -> str:
    """File and line that called the backend's `launch` in a traceback; empty where nothing did."""
    place = ""
    while trace is not None:
        if trace.tb_frame.f_code is Backend.launch.__code__:
            return place
        place, trace = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}", trace.tb_next
    return ""

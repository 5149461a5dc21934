"""Runs unmodified cuTile programs with or without a GPU: `cuda.tile.launch` runs their kernels on the selected backend.

    with tilesat.cutile.backend("sim", target="sm_90a", check=True):
        program()

Tensors that a program puts on "cuda" are on the host if there is no GPU (`tilesat.card`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ir.core import TileError
from tilesat.card import always, as_it_is, card, replaced
from tilesat.cli import BACKENDS
from tilesat.compiler import DEFAULT_TARGET
from tilesat.cutile import BYTECODE_VERSION, cutile_module
from tilesat.failures import user_errors
from tilesat.in_source import raised_in
from tilesat.just_in_time import Jit, jit

if TYPE_CHECKING:
    from ptxsim import Hazard, Report

ASKED, ASKING = "get_compute_capability", ("cuda.tile._cext", "cuda.tile._execution", "cuda.tile._compile")
"""Modules of cuda-tile 1.7.0 that ask the driver for the card's architecture."""
INFERS = "get_parameter_constraints_from_pyargs"
"""Of cuda-tile 1.7.0: what KernelSignature.from_kernel_args asks the driver for."""
READS = "_get_max_supported_bytecode_version"
"""Of cuda-tile 1.7.0: asks tileiras, which is not there, for the newest bytecode that it reads."""


@dataclass
class Backend:
    """The destination of launches, and their results."""

    on: str
    target: str | None
    options: dict[str, Any]
    output: Callable[[str, str], object] | None = None
    """Takes what kernels print, and file and line of their source; by default it goes to standard output."""
    launches: int = 0
    hazards: list[Hazard] = field(default_factory=list["Hazard"])
    kernels: dict[Any, Jit] = field(default_factory=dict[Any, Jit])
    """By cuTile kernel."""

    def launch(self, stream: Any, grid: Sequence[int], kernel: Any, arguments: Sequence[Any], /, **_: Any) -> None:
        """As `cuda.tile.launch`; stream order does not matter because each launch ends before the next.

        Errors in a running kernel are raised at their source line.
        """
        __tracebackhide__ = True  # of pytest
        if kernel not in self.kernels:
            self.kernels[kernel] = jit(kernel, target=self.target, on=self.on, **self.options)
        try:
            with as_it_is():
                handle = stream if self.on == "cuda" else None
                report: Report | None = self.kernels[kernel].launch(tuple(grid), arguments, {}, self.output, handle)
        except user_errors() as error:
            cause = error.__cause__
            if isinstance(error, TileError) and cause is not None and not isinstance(cause, TileError):
                raise cause.with_traceback(None) from None  # programs may expect cuTile's own errors
            function = kernel._annotated_function.pyfunc.__code__
            raise raised_in(error.with_traceback(None), function) from None
        self.launches += 1
        self.hazards += report.hazards if report is not None else []

    def search(
        self, space: Iterable[Any], stream: Any, grid_fn: Callable[[Any], Any], kernel: Any,
        args_fn: Callable[[Any], Any], hints_fn: Callable[[Any], Any] | None = None, **_: Any,
    ) -> Any:  # fmt: skip
        """As `cuda.tile.tune.exhaustive_search`, without times: the first configuration that compiles and runs."""
        tune, failures = cutile_module("cuda.tile.tune"), list[Any]()
        refusals: tuple[type[Exception], ...] = (TileError, cutile_module("cuda.tile").TileError, TypeError, ValueError)
        for config in space:
            try:
                chosen = kernel if hints_fn is None else kernel.replace_hints(**hints_fn(config))
                self.launch(stream, grid_fn(config), chosen, args_fn(config))
            except refusals as error:
                failures.append((config, type(error), str(error)))
                continue
            best = tune.Measurement(config=config, mean_us=1.0, num_samples=1, error_margin_us=0.0)
            return tune.TuningResult(best=best, successes=[best], failures=failures)
        first = f", the first: {failures[0][2]}" if failures else ""
        raise ValueError(f"no configuration compiles, of {len(failures)}{first}")


@contextmanager
def backend(
    on: str = "sim", target: str | None = None, output: Callable[[str, str], object] | None = None, **options: Any
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


def bindings(value: Any) -> list[tuple[Any, str]]:
    """Modules that are loaded, and their names of a value."""
    tables = [(module, dict(getattr(module, "__dict__", {}))) for module in list(sys.modules.values())]
    return [(module, name) for module, names in tables for name, each in names.items() if each is value]


def rebind(own: Any, taken: Any) -> None:
    """Give modules that have bound a value the one that it stood for."""
    for module, bound in bindings(own):
        setattr(module, bound, taken)


def inferred(kernel: Any, arguments: Sequence[Any], _convention: Any) -> list[Any]:
    """cuTile's constraints for the arguments of a launch."""
    from tilesat.specialise import constraints_of, specialised

    with as_it_is():
        names = kernel._annotated_function.pysig.parameters
        return constraints_of(specialised(kernel, dict(zip(names, arguments, strict=True))))


def capability_of(target: str) -> tuple[int, int]:
    """The compute capability of a target."""
    from lowering.targets import target as target_named

    digits = target_named(target).name.removeprefix("sm_").rstrip("af")
    return int(digits[:-1]), int(digits[-1])

"""A kernel that enters at a level below the e-graph: the rest of the pipeline for it, to PTX and a launch manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ir.checked import checked
from ir.core import Op
from ir.dialects.llvm import Func
from ir.launch_records import LaunchManifest
from ir.records import dataclass
from lowering.launch import manifest_of
from lowering.passes import code as code  # registers what text of the levels may contain: operations, types, layouts
from lowering.passes.levels import level_of
from lowering.passes.manager import Watcher, run
from lowering.passes.registry import Step
from lowering.passes.syntax import parse, since, with_options
from lowering.passes.table import ROAD

OPERATIONS = ("nv_tileas", "nvgpu", "nvvm")


@dataclass(frozen=True)
class Lowered:
    """A lowered kernel: `modules` are its levels as operations, starting with the input level; seconds and statistics
    of each pass.
    """

    ptx: str
    manifest: LaunchManifest
    modules: dict[str, Op]
    seconds: dict[str, float]
    counts: dict[str, dict[str, float]]

    @property
    def stages(self) -> dict[str, Callable[[], str]]:
        """Printers of the levels and of PTX."""
        return printers(self.modules, self.ptx)


def printers(modules: Mapping[str, Op], ptx: str) -> dict[str, Callable[[], str]]:
    """What prints each level."""
    made: dict[str, Callable[[], str]] = {name: partial(_text, op) for name, op in modules.items()}
    return made | {"llvm": lambda: _module(modules["nvvm"]), "ptx": lambda: ptx}


def road_from(kernel: Op, annotate: bool = False, lineinfo: bool = False) -> tuple[Step, ...]:
    """The remaining passes for a kernel of a level; source locations in PTX as in `lowering.pipeline.Options`.
    Raises VerifyError for an operation that is not a kernel.
    """
    return with_options(since(parse(ROAD), level_of(kernel)), "print-ptx", annotate=annotate, lineinfo=lineinfo)


def descend(
    kernel: Op,
    seconds: Mapping[str, float],
    verify_each: bool = False,
    watchers: Sequence[Watcher] = (),
    counting: bool = False,
    steps: Sequence[Step] = (),
) -> Lowered:
    """From a verified kernel of some level to PTX by `steps`, by default its remaining passes; `seconds` are those
    already spent.

    Raises TileError, located, for an operation that is not a kernel, and for operations without a lowering.
    """
    (outcome,) = run(steps or road_from(kernel), kernel, (), watchers, verify_each, counting, seconds)
    levels = outcome.context.levels
    modules = {name: levels[name] for name in OPERATIONS if name in levels}
    manifest = manifest_of(levels["nvvm"])
    return Lowered(outcome.program, manifest, modules, outcome.context.seconds, outcome.context.counts)


def _module(op: Op) -> str:
    from lowering.llvm import print_module

    return print_module(checked(op, Func))


def _text(op: Op) -> str:
    from ir.text import print_generic  # printers are imported on demand

    return print_generic(op)

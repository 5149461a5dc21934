"""Kernels taken up at a level below the e-graph: `tilesat.lower`, and what the commands do with their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ir.core import Location, Op, ParseError, TileError, verify
from ir.dialects.nv_tileas import Func
from ir.launch_records import LaunchManifest
from ir.levels import LEVEL_OF, PLACED, level_of
from lowering.atoms.names import check_products
from lowering.levels import Lowered, descend
from lowering.passes.manager import Watcher
from lowering.passes.registry import Step
from lowering.targets import target as target_named
from tilesat.kernel import Stages, sass
from tilesat.source import timed

if TYPE_CHECKING:
    from ptxsim import Report
    from tilesat.execution import Signature
    from tilesat.spec import Argument


@dataclass(frozen=True, eq=False)
class LoweredKernel:
    """What `tilesat.lower` returns: the PTX of a kernel that was given at a level below the e-graph."""

    name: str
    location: Location
    level: str
    target: str
    lowered: Lowered
    seconds: dict[str, float]
    """Wall-clock seconds per stage, in the order of the road."""

    def __repr__(self) -> str:
        """One line; the texts are in `ptx` and `stages`."""
        lines = self.ptx.count("\n")
        return f"<LoweredKernel @{self.name} for {self.target}: {lines} lines of PTX, from {self.level}>"

    @property
    def ptx(self) -> str:
        """PTX text, ready for ptxas or the driver."""
        return self.lowered.ptx

    @property
    def manifest(self) -> LaunchManifest:
        """All that a launcher needs beside the PTX; JSON-ready."""
        return self.lowered.manifest

    @property
    def stages(self) -> Stages:
        """The program at its own level and those below it, by the names of `--emit`."""
        return Stages({**self.lowered.stages, "sass": lambda: sass(self.ptx, self.target)})

    def run(
        self,
        grid: int | Sequence[int],
        *args: Argument | int | float,
        hazards: bool | str = False,
        max_instructions: int | None = None,
        suppress: Sequence[str] = (),
        workers: int = 1,
    ) -> Report:
        """Run over `grid` tile blocks on the simulator; array arguments are written in place.

        `hazards`, `suppress` and `workers` as `Kernel.run` has them.
        Raises TileError where the arguments do not fit the parameters, SimulatorError where the PTX goes wrong.
        """
        from tilesat import execution
        from tilesat.grid import as_grid

        values = execution.checked(self.signature, args)
        return execution.simulate(
            self.ptx, self.manifest, as_grid(grid), values, hazards, max_instructions, suppress, workers=workers
        )

    @property
    def signature(self) -> Signature:
        """What the kernel takes."""
        from tilesat.execution import Signature

        return Signature.of(self.manifest["params"], self.name, self.location)


def lower(source: str | Path, target: str | None = None) -> LoweredKernel:
    """Lower a kernel of nv_tileas, nvgpu or nvvm, given as a path or as the text that `stages` prints, to PTX.

    `target`, where it is given, must be the one that the text names. Raises TileError, with its place.
    """
    is_text = isinstance(source, str) and ("\n" in source or "{" in source)
    name = "<text>" if is_text else str(source)
    text = str(source) if is_text else _read(Path(source))
    seconds: dict[str, float] = {}
    kernel = parse_kernel(text, name, seconds)
    if kernel is None:
        levels = ", ".join(PLACED)
        hint = "tilesat.compile takes Tile IR and nv_tileaa"
        raise ParseError(f"not a kernel of {levels}", Location(name, 1, 1), hint)
    return lower_kernel(kernel, target, seconds)


def parse_kernel(text: str, name: str, seconds: dict[str, float]) -> Op | None:
    """The verified kernel of a level below the e-graph that a text holds; None where it does not start with one.

    Raises TileError.
    """
    if level_of(text) not in PLACED:
        return None
    from ir.text.level_input import read_level  # readers of text are for those who have text

    with timed(seconds, "read"):
        kernel = read_level(text, name)
    with timed(seconds, "verify"):
        verify(kernel)
        if isinstance(kernel, Func):
            check_products(kernel)
    return kernel


def lower_kernel(
    kernel: Op,
    target: str | None,
    seconds: dict[str, float],
    verify_each: bool = False,
    watchers: Sequence[Watcher] = (),
    counting: bool = False,
    steps: Sequence[Step] = (),
) -> LoweredKernel:
    """The PTX of a verified kernel by `steps`, by default its road; `seconds` are those already spent. Raises
    TileError.
    """
    own = own_target(kernel, target)
    lowered = descend(kernel, seconds, verify_each, watchers, counting, steps)
    name, level = str(kernel.attributes["sym_name"]), LEVEL_OF[kernel.name]
    return LoweredKernel(name, kernel.location, level, own, lowered, lowered.seconds)


def own_target(kernel: Op, wanted: str | None) -> str:
    """The target of a kernel of a level. Raises TileError where another one is wanted, or where it is unknown."""
    own = str(kernel.attributes["target"])
    target_named(own)
    if wanted is not None and wanted != own:
        raise TileError(f"the kernel was compiled for {own}, not for {wanted}", kernel.location, f"pass --target {own}")
    return own


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise TileError(f"cannot read the file: {reason}", Location(str(path)), "pass a file of text") from error

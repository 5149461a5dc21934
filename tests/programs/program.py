"""A program with what it is run on, and the check that every program of the corpus goes through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import tilesat
from egraph.encode import encode
from ir.core import verify
from ir.text import print_generic
from ir.text.level_input import read_level
from lowering.source.unrolling import unrolled
from ptxsim import Beside, GlobalMemory, Report, launch, launch_beside
from runtime.ptxas import assemble
from tilesat.execution import RESIDENT, check_arguments, largest_error, launch_arguments, on_the_device
from tilesat.fuzz.judge import FAR_APART
from tilesat.fuzz.program import DTYPES, TOLERANCE, Array, Program, random
from tilesat.kernel import Kernel
from tilesat.source import read

__all__ = [
    "DTYPES", "FAR_APART", "TOLERANCE", "Array", "Program", "add", "check", "interpret", "random", "side_by_side",
    "simulate",
]  # fmt: skip

PROGRAMS: dict[str, Program] = {}
"""All programs by name, in the order in which the modules declare them."""


def add(program: Program) -> Program:
    """Add to the corpus."""
    if program.name in PROGRAMS:
        raise ValueError(f"two programs are called {program.name}")
    PROGRAMS[program.name] = program
    return program


def simulate(kernel: Kernel, program: Program, hazards: bool = True, **more: Any) -> list[Any]:
    """The arguments after a run of the kernel's PTX, or of `ptx`; `hazards` end it at races and late copies."""
    return reported(kernel, program, hazards, **more)[0]


def reported(
    kernel: Kernel,
    program: Program,
    hazards: bool = True,
    ptx: str = "",
    schedule: str = "together",
    resident: int = RESIDENT,
    on_one_sm: int = 1,
) -> tuple[list[Any], Report]:
    """The same, and what the simulator counted."""
    memory = GlobalMemory()
    one, results = placed(kernel, program, memory, ptx, resident, on_one_sm)
    report = launch(
        one.ptx, one.grid, one.block, one.args, memory, one.cluster, one.dynamic_smem,
        hazards=hazards and one.dynamic_smem > 0, schedule=schedule, on_one_sm=on_one_sm,
    )  # fmt: skip
    return results(), report


def placed(
    kernel: Kernel, program: Program, memory: GlobalMemory, ptx: str = "", resident: int = RESIDENT, on_one_sm: int = 1
) -> tuple[Beside, Callable[[], list[Any]]]:
    """A launch of a kernel on a program's arguments, put into a memory, and what reads them back."""
    manifest = kernel.manifest
    grid, arguments = on_the_device(
        manifest, (*program.grid, 1, 1)[:3], check_arguments(kernel.entry, program.arguments()), resident
    )
    addresses = {id(a): memory.put(a) for a in arguments if isinstance(a, np.ndarray)}
    own = arguments[: len(kernel.entry.parameters)]

    def results() -> list[Any]:
        return [memory.get(addresses[id(a)], a.shape, a.dtype) if isinstance(a, np.ndarray) else a for a in own]

    args = launch_arguments(manifest, arguments, addresses, memory)
    one = Beside(
        ptx or kernel.ptx, grid, manifest["block"], args, manifest["cluster"], manifest["dynamic_smem"],
        on_one_sm=on_one_sm,
    )  # fmt: skip
    return one, results


def side_by_side(
    given: Sequence[tuple[Kernel, Program]], schedule: str = "together", ptx: Mapping[int, str] = MappingProxyType({})
) -> list[list[Any]]:
    """The arguments of kernels that run on one SM at a time, in hazard mode; `ptx` of some in place of their own."""
    memory = GlobalMemory()
    made = [placed(kernel, program, memory, ptx.get(n, "")) for n, (kernel, program) in enumerate(given)]
    launch_beside([one for one, _ in made], memory, hazards=True, schedule=schedule)
    return [results() for _, results in made]


def interpret(kernel: Kernel, program: Program) -> list[Any]:
    """The arguments after a run of the source."""
    arguments = program.arguments()
    kernel.run(program.grid, *arguments, on="ref")
    return arguments


TENSOR_COPY_FRAME = 8
"""Bytes of stack: on sm_120 and sm_121 ptxas 13.5 makes a tensor copy a call of the driver."""


def check(program: Program, target: str = "sm_80", spills: bool = False, **options: Any) -> Kernel:
    """Compile with every level verified, assemble without complaint or spill; the simulator, the interpreter and NumPy
    must agree on every array, also where nothing is written. `spills`: registers may spill.
    """
    kernel = tilesat.compile(program.source(), target, verify_each=True, **options)
    clean(kernel, spills)
    right(kernel, program)
    return kernel


def clean(kernel: Kernel, spills: bool = False) -> None:
    """Assemble without complaint or spill."""
    assembled = assemble(kernel.ptx, kernel.target)
    assert (assembled.warnings, assembled.infos) == ((), ()), "ptxas complains"
    frame = TENSOR_COPY_FRAME if kernel.target.startswith("sm_12") and "cp.async.bulk.tensor" in kernel.ptx else 0
    spilled = assembled.spill_stores or assembled.stack > frame
    assert spills or not spilled, f"{assembled.spill_stores} bytes of spills, {assembled.stack} of stack"


def right(kernel: Kernel, program: Program) -> None:
    """The simulator, the interpreter and NumPy agree on every array."""
    found, reference = simulate(kernel, program), interpret(kernel, program)
    for position, (a, b) in enumerate(zip(found, reference, strict=True)):
        if isinstance(a, np.ndarray):
            error = largest_error(a, b)
            assert error <= program.tolerance, f"argument {position}: simulator is {error:.3g} off the interpreter"
    if program.expected is not None:
        wanted = program.expected(*program.arguments())
        for position, array in wanted.items():
            error = largest_error(reference[position], np.asarray(array))
            assert error <= program.tolerance, f"argument {position}: the interpreter is off by {error:.3g} from NumPy"
    changed = [
        k for k, (a, b) in enumerate(zip(program.arguments(), reference, strict=True))
        if isinstance(a, np.ndarray) and a.tobytes() != b.tobytes()
    ]  # fmt: skip
    assert changed, "the program wrote nothing: the test could not fail"


def read_back(kernel: Kernel) -> None:
    """Each level must verify and print as the same text when that is read; above the e-graph it encodes as the same."""
    text = kernel.stages["nv_tileaa"]
    logical = read_level(text, "nv_tileaa")
    verify(logical)
    assert print_generic(logical) == text, "nv_tileaa reads back as another text"
    (module,) = read(text, {})
    found, wanted = (encode(unrolled(entry)).facts for entry in (module.entries[0], kernel.entry))
    assert found == wanted, "nv_tileaa encodes as another program"
    for level in kernel.compiled.modules:
        text = kernel.stages[level]
        again = read_level(text, level)
        verify(again)
        assert print_generic(again) == text, f"{level} reads back as another text"

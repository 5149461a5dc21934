"""Running a kernel: arguments checked against the entry, then the reference interpreter, the PTX simulator or a GPU."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, cast

import ml_dtypes
import numpy as np

from ir.core import Location, TileError, Type
from ir.dialects.cuda_tile import Entry, Module
from ir.launch_records import LaunchManifest, ParameterRecord, TensorMapRecord
from ir.narrowing import is_list
from ir.types import I64, SCALARS, FloatType, IntType, PointerType, TileType
from tilesat import half_bytes
from tilesat.grid import Grid
from tilesat.multicast import Multicast
from tilesat.overlaps import overlap, stretches
from tilesat.shown import shown
from tilesat.spec import Argument, Array, is_numpy, is_scalar, numpy_type

if TYPE_CHECKING:
    from ptxsim import GlobalMemory, Hazard, Report, SimulatorError, TensorMap
    from ptxsim.arguments import Argument as Parameter

GARBAGE = 0x7FC0_1234
"""The contents of memory that a launcher has not zeroed: an f32 NaN."""
RESIDENT = 4
"""Concurrent CTAs in the simulator: fewer than on a device, so that persistent kernels loop."""
ROUNDINGS = 4
"""Of 16-bit values on the way to a result: an operand and the result, each rounded in both runs."""
SUMMANDS = 1 << 15
"""Of the longest sums; in another order a sum of n is off by about sqrt(n) roundings (Higham, Accuracy and Stability of
Numerical Algorithms, 2nd edition, section 2.8)."""


@dataclass(frozen=True)
class Signature:
    """What a kernel takes: its parameters' types, pointers and scalars of cuda_tile."""

    name: str
    location: Location
    types: Sequence[Type]

    @staticmethod
    def of(records: Sequence[ParameterRecord], name: str, location: Location) -> Signature:
        """From the parameters of a launch manifest."""
        taken = (each for each in records if each["kind"] != "tensormap" and not each.get("launch"))
        own = sorted(taken, key=lambda each: each["arg"])
        elements = [(each["kind"], SCALARS[each["dtype"]]) for each in own]
        types = [TileType((), PointerType(element) if kind == "pointer" else element) for kind, element in elements]
        return Signature(name, location, types)


def check_arguments(entry: Entry, arguments: Sequence[object]) -> list[Argument]:
    """`checked` for the parameters of an entry."""
    return checked(Signature(entry.sym_name, entry.location, [p.type for p in entry.parameters]), arguments)


def checked(signature: Signature, arguments: Sequence[object]) -> list[Argument]:
    """The arguments, with plain numbers as scalars of the parameter's type.

    Raises TileError that names the parameter and what it needs.
    """
    types = signature.types
    if len(arguments) != len(types):
        raise TileError(
            f"entry '{signature.name}' expects {len(types)} arguments, got {len(arguments)}",
            signature.location,
            "pass one for each of: " + ", ".join(map(_wanted, types)),
        )
    return [
        _check(signature, position, wanted, argument)
        for position, (wanted, argument) in enumerate(zip(types, arguments, strict=True))
    ]


def _check(signature: Signature, position: int, wanted: Type, given: object) -> Argument:
    element = wanted.element if isinstance(wanted, TileType) else wanted
    if isinstance(element, PointerType):
        if element.attr == "multicast":
            return _multicast(signature, position, wanted, element, given)
        if is_numpy(given) and _holds(given.dtype, in_memory(element)):
            if given.flags.c_contiguous and given.flags.writeable:
                return given
            raise _mismatch(signature, position, wanted, "an array that is not contiguous or not writeable")
        table = element.pointee == I64 and is_list(given)  # of a list of arrays
        if table or _on_card(given, in_memory(element)):
            return cast("Argument", given)
    elif isinstance(element, IntType | FloatType) and not is_numpy(given):
        kind = numpy_type(str(element))
        if isinstance(given, int) or (isinstance(given, float) and isinstance(element, FloatType)):
            try:
                made = kind.type(given)
            except OverflowError:
                raise _mismatch(signature, position, wanted, shown(given)) from None
            if kind.kind == "b" and given not in (0, 1):
                raise _mismatch(signature, position, wanted, shown(given))
            return made
        if is_scalar(given) and _holds(given.dtype, kind):
            return given.astype(kind)
    raise _mismatch(signature, position, wanted, shown(given))


def in_memory(pointer: PointerType) -> np.dtype[np.generic]:
    """NumPy's type of an array for a pointer: f4 lie two in a byte."""
    name = str(pointer.pointee)
    return half_bytes.MEMORY if name == half_bytes.NAME else numpy_type(name)


def _on_card(given: object, kind: np.dtype[np.generic]) -> bool:
    """Is this an array of that type in the memory of a card?"""
    from runtime.cuda import DeviceArray

    return isinstance(given, DeviceArray) and _holds(given.dtype, kind)


def _multicast(signature: Signature, position: int, wanted: Type, pointer: PointerType, given: object) -> Argument:
    """The copies of a multicast array; an array by itself is the only one."""
    copies = Multicast([given]) if is_numpy(given) else given
    if not isinstance(copies, Multicast):
        raise _mismatch(signature, position, wanted, shown(given))
    plain = TileType((), PointerType(pointer.pointee))
    for each in copies.arrays:
        _check(signature, position, plain, each)
    return copies


def _holds(given: np.dtype[np.generic], wanted: np.dtype[np.generic]) -> bool:
    """Is this type the wanted one, or its unsigned twin? Integers of Tile IR have no sign."""
    return given == wanted or (wanted.kind == "i" and given.kind == "u" and given.itemsize == wanted.itemsize)


def _mismatch(signature: Signature, position: int, wanted: Type, given: str) -> TileError:
    return TileError(
        f"parameter {position} of entry '{signature.name}' is {wanted}, the argument is {given}",
        signature.location,
        f"give {_wanted(wanted)}",
    )


def _wanted(parameter: object) -> str:
    element = parameter.element if isinstance(parameter, TileType) else parameter
    if isinstance(element, PointerType) and element.attr == "multicast":
        return f"tilesat.Multicast of contiguous {element.pointee} arrays"
    if isinstance(element, PointerType) and str(element.pointee) == half_bytes.NAME:
        return f"a contiguous array of bytes, {element.pointee} two in each"
    return f"a contiguous {element.pointee} array" if isinstance(element, PointerType) else f"one {element}"


def interpret(
    module: Module,
    entry: Entry,
    grid: Grid,
    arguments: Sequence[Argument],
    output: Callable[[str], object] | None = None,
) -> None:
    """Run the reference interpreter; arrays are written in place, the kernel's prints go to `output`, by default
    standard output. Multicast memory has a single copy here; raises TileError for more.
    """
    from ir.interpreter import run

    many = any(isinstance(each, Multicast) and len(each.arrays) > 1 for each in arguments)
    if many:
        message = f"entry '{entry.sym_name}': the reference interpreter has one copy of multicast memory"
        raise TileError(message, entry.location, "pass Multicast of one array, or run it on the simulator unchecked")
    given = [each.arrays[0] if isinstance(each, Multicast) else each for each in arguments]
    run(module, grid=grid, args=given, entry=entry.sym_name, output=output)


def simulate(
    ptx: str,
    manifest: LaunchManifest,
    grid: Grid,
    arguments: Sequence[Argument],
    hazards: bool | str = False,
    max_instructions: int | None = None,
    suppress: Sequence[str] = (),
    schedule: str = "together",
    resident: int = RESIDENT,
    workers: int = 1,
    output: Callable[[str, int], object] | None = None,
) -> Report:
    """Run PTX on the simulator according to its launch manifest; arrays are written in place.

    For a persistent kernel `resident` CTAs process the tile blocks of the grid, concurrently if it takes over those
    that have not started.

    An array given twice is one allocation, and so are those that share memory. What the kernel prints goes to `output`
    with the PTX line that prints it, by default to standard output, also where an error ends the run.
    `hazards`, `max_instructions`, `suppress`, `schedule` and `workers` as the simulator's `launch` has them, whose
    report is returned.
    Raises SimulatorError with the PTX line.
    """
    from ptxsim import GlobalMemory, SimulatorError, launch

    grid, arguments = on_the_device(manifest, grid, arguments, resident)
    memory = GlobalMemory()
    addresses: dict[int, int] = {}
    arrays: dict[int, Array] = {}
    multicasts = [each for each in arguments if isinstance(each, Multicast)]
    tables = [each for each in arguments if is_list(each)]
    everything: list[object] = [*arguments, *chain(*(each.arrays for each in multicasts)), *chain(*tables)]
    for argument in everything:
        if is_numpy(argument) and id(argument) not in arrays:
            arrays[id(argument)] = argument
    places = [(stretch, memory.put(stretch.memory)) for stretch in stretches(list(arrays.values()))]
    addresses |= {id(array): place + offset for stretch, place in places for array, offset in stretch.arrays}
    for each in tables:
        numbers = [addresses[id(item)] if is_numpy(item) else item for item in each]
        addresses[id(each)] = memory.put(np.array(numbers, np.int64))
    for each in multicasts:
        addresses[id(each)] = each.place([addresses[id(array)] for array in each.arrays], memory)
    x, y, z = manifest["block"]
    cx, cy, cz = manifest["cluster"]
    given = launch_arguments(manifest, arguments, addresses, memory)
    try:
        report = launch(
            ptx,
            grid=grid,
            block=(x, y, z),
            args=given,
            memory=memory,
            cluster=(cx, cy, cz),
            dynamic_smem=manifest["dynamic_smem"],
            entry=manifest["entry"],
            hazards=hazards,
            max_instructions=max_instructions,
            suppress=suppress,
            schedule=schedule,
            resident=resident,
            workers=workers,
        )
    except SimulatorError as error:
        _print(error, output)
        raise
    _print(report, output)
    for stretch, place in places:
        stretch.memory[...] = memory.get(place, stretch.memory.shape, stretch.memory.dtype)
    return report


def _print(said: Report | SimulatorError, output: Callable[[str, int], object] | None) -> None:
    """Hand on what a launch printed."""
    for text, line in zip(said.printed, said.printed_at, strict=True):
        if output is None:
            sys.stdout.write(text)
        else:
            output(text, line)


def on_the_device(
    manifest: LaunchManifest, grid: Grid, arguments: Sequence[Argument], resident: int = RESIDENT
) -> tuple[Grid, list[Argument]]:
    """The grid of CTAs and the arguments with those that the launcher gives, which a persistent kernel takes."""
    from runtime.manifest import GRID, ZEROED, parse

    given, whole = parse(manifest), list(arguments)
    known: dict[str, Argument] = {name: np.int32(extent) for name, extent in zip(GRID, grid, strict=True)}
    for name, size in given.memory(grid, resident // given.ctas).items():  # what is not zero may be anything
        known[name] = np.full(size // 4, 0 if name in ZEROED else GARBAGE, np.int32)
    whole += [known[name] for name in given.launched]
    return given.in_ctas(given.launched_as(grid, resident // given.ctas)), whole


@contextmanager
def located(lines: Callable[[], Mapping[int, str]]) -> Generator[None]:
    """An error of the simulator inside gets the source lines of its PTX lines, and so do its hazards."""
    from ptxsim import SimulatorError

    try:
        yield
    except SimulatorError as error:
        error.source = error.source or lines().get(error.line or 0, "")
        locate(error.hazards, lines)
        raise


def locate(hazards: Iterable[Hazard], lines: Callable[[], Mapping[int, str]]) -> None:
    """Give hazards the source lines of their PTX lines, where the PTX does not say them."""
    for each in hazards:
        each.source = each.source or lines().get(each.line or 0, "")


def launch_arguments(
    manifest: LaunchManifest, arguments: Sequence[Argument], addresses: dict[int, int], memory: GlobalMemory
) -> list[Parameter]:
    """What the simulator takes for each PTX parameter; `addresses` of arrays in `memory` by their id."""
    return [_simulator_argument(parameter, arguments, addresses, memory) for parameter in manifest["params"]]


def _simulator_argument(
    parameter: ParameterRecord, arguments: Sequence[Argument], addresses: dict[int, int], memory: GlobalMemory
) -> Parameter:
    """What the simulator takes for one PTX parameter of the manifest."""
    if parameter["kind"] == "tensormap":
        return _tensor_map(parameter, arguments, addresses, memory)
    argument = arguments[parameter["arg"]]
    return addresses[id(argument)] if parameter["kind"] == "pointer" else cast("np.generic", argument).item()


def _tensor_map(
    parameter: TensorMapRecord, arguments: Sequence[Argument], addresses: dict[int, int], memory: GlobalMemory
) -> TensorMap:
    """A tensor map of the manifest with its expressions evaluated for these arguments."""
    from ptxsim import TensorMap
    from runtime.manifest import FILLS, PADDING_BYTES, extents_of_map

    values = [addresses[id(a)] if id(a) in addresses else cast("np.generic", a).item() for a in arguments]
    padding = np.full(PADDING_BYTES, FILLS[parameter["oob_fill"]], np.uint8)
    base, dims, strides = extents_of_map(
        parameter["global_dim"], parameter["global_strides"], parameter["base"], values, lambda: memory.put(padding)
    )
    return TensorMap(
        base=base,
        dtype=parameter["dtype"],
        global_dim=dims,
        global_strides=strides,
        box=parameter["box"],
        element_strides=parameter["element_strides"],
        swizzle=parameter["swizzle"],
        interleave=parameter["interleave"],
        oob_fill=parameter["oob_fill"],
    )


def refuse(on: str, entry: Entry) -> NoReturn:
    """Raise the error for a place to run that is not known."""
    raise TileError(
        f"running on {shown(on)} is not supported", entry.location, "'sim' runs the PTX, 'ref' the source, 'cuda' a GPU"
    )


def refuse_overlaps(arguments: Sequence[Argument], entry: Entry) -> None:
    """Raise the error for a check with arrays that share memory: the interpreter's copies of them do not."""
    if overlap(list(filter(is_numpy, flat(arguments)))):
        raise TileError(
            f"entry '{entry.sym_name}': arrays that share memory cannot be checked",
            entry.location,
            "run it without check, or pass copies",
        )


def refuse_card(arguments: Sequence[Argument], entry: Entry) -> None:
    """Raise the error for a check with arrays on a card: the interpreter has no copies of them."""
    from runtime.cuda import DeviceArray

    if any(isinstance(each, DeviceArray) for each in flat(arguments)):
        raise TileError(
            f"entry '{entry.sym_name}': arrays on a card cannot be checked",
            entry.location,
            "pass arrays of the host, which are copied to the card and back, or leave out check",
        )


def refuse_workers(on: str, entry: Entry) -> NoReturn:
    """Raise the error for several processes where there is only one."""
    raise TileError(
        f"running on {shown(on)} takes one process",
        entry.location,
        "only the simulator has workers: leave them out",
    )


@dataclass(frozen=True)
class Comparison:
    """One array argument after two runs: the largest error, what is allowed, where it is, and both values there."""

    position: int
    error: float
    tolerance: float
    index: tuple[int, ...] = ()
    found: float = 0.0
    expected: float = 0.0

    @property
    def ok(self) -> bool:
        """Within the tolerance; NaN on one side only is not."""
        return self.error <= self.tolerance

    def __str__(self) -> str:
        verdict = f"largest error {self.error:.3g}, tolerance {self.tolerance:.3g}"
        if self.ok:
            return f"arg{self.position}: ok, {verdict}"
        place = f"[{', '.join(map(str, self.index))}]"
        return f"arg{self.position}: WRONG, {verdict}: {self.found:.9g} at {place}, expected {self.expected:.9g}"


class WrongResultError(Exception):
    """The simulator, or a GPU, gave a result that differs from the reference interpreter. comparisons: of each
    array.
    """

    def __init__(self, name: str, comparisons: Sequence[Comparison]):
        self.comparisons = tuple(comparisons)
        lines = [f"entry '{name}' computes something other than the interpreter", *map(str, comparisons)]
        super().__init__("\n  ".join(lines))


def copied(arguments: Sequence[Argument]) -> list[Argument]:
    """Copies of the arguments; an array given twice stays one array."""
    copies = {id(each): each.copy() for each in flat(arguments) if not isinstance(each, int)}

    def copy(each: object) -> object:
        return [copies.get(id(item), item) for item in each] if is_list(each) else copies[id(each)]

    return [cast("Argument", copy(each)) for each in arguments]


def flat(arguments: Sequence[Argument]) -> list[Argument]:
    """The arguments, the items of lists instead of them."""
    return [item for each in arguments for item in (cast("list[Argument]", each) if isinstance(each, list) else [each])]


def compare(
    found: Sequence[Argument], expected: Sequence[Argument], tolerance: float | None = None
) -> list[Comparison]:
    """Compare the array arguments of two runs.

    The error of an element is |found - expected| / max(1, |expected|): absolute near zero, relative beyond one.
    The tolerance follows from the narrowest float among the arguments (`type_tolerance`); integers must be equal.
    """

    def whole(run: Sequence[Argument]) -> list[object]:
        return [each.arrays[0] if isinstance(each, Multicast) else each for each in flat(run)]

    arrays = list(filter(is_numpy, whole(expected)))
    allowed = tolerance if tolerance is not None else max((type_tolerance(a.dtype) for a in arrays), default=0.0)
    return [
        _comparison(position, f, e, allowed if _is_float(e.dtype) else 0.0)
        for position, (f, e) in enumerate(zip(whole(found), whole(expected), strict=True))
        if is_numpy(e) and is_numpy(f)  # not numbers
    ]


def _comparison(position: int, found: Array, expected: Array, allowed: float) -> Comparison:
    if not found.size:
        return Comparison(position, 0.0, allowed)
    error = _errors(found, expected)
    at = tuple(map(int, np.unravel_index(int(error.argmax()), error.shape)))
    return Comparison(position, float(error[at]), allowed, at, float(found[at]), float(expected[at]))


def largest_error(found: Array, expected: Array) -> float:
    """Largest |found - expected| / max(1, |expected|); equal infinities and NaN on both sides count as equal."""
    return float(_errors(found, expected).max()) if found.size else 0.0


def _errors(found: Array, expected: Array) -> Array:
    with np.errstate(invalid="ignore"):  # NaNs that signal
        f, e = found.astype(np.float64), expected.astype(np.float64)
    same = (f == e) | (np.isnan(f) & np.isnan(e))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(f - e) / np.maximum(1.0, np.abs(e)))
    return np.where(np.isnan(error), np.inf, error)


def _is_float(kind: np.dtype[np.generic]) -> bool:
    return kind.kind == "f" or kind.name.startswith(("bfloat", "float"))


def type_tolerance(kind: np.dtype[np.generic]) -> float:
    """The error allowed where arrays hold this type: 2e-3 for f16, 1.6e-2 for bf16, 1.1e-5 for f32, 2e-14 for f64.

    f16 and bf16 differ by ROUNDINGS units of their roundoff, sums of them being f32's; f32 and f64 by those of a sum of
    SUMMANDS. 8-bit floats are exact on the way in and come out no better than bf16. Integers must be equal.
    """
    if not _is_float(kind):
        return 0.0
    if kind.itemsize == 1:
        kind = np.dtype(ml_dtypes.bfloat16)
    roundoff = float(cast(Any, ml_dtypes.finfo(kind)).eps) / 2
    return roundoff * (ROUNDINGS if kind.itemsize == 2 else SUMMANDS**0.5)

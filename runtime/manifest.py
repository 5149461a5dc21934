"""The launch manifest: everything a launcher needs besides the PTX or the cubin, checked, with its expressions
evaluated.

A manifest is JSON: entry (the kernel's name in PTX), name (in the source), target, block, cluster, dynamic_smem,
global_scratch, and params in the order of the PTX parameters. `arg` counts the arguments of the source's entry. The
fields of a tensor map are expressions in these arguments: {"arg": i}, {"const": c}, {"mul": [..]}, {"add": [..]},
{"ceildiv": [a, b]}. "dependent": true means that the kernel itself waits for preceding grids (griddepcontrol.wait), so
that it may be launched before they have ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsInt, TypeAlias, TypeGuard, TypeVar, cast

Expression: TypeAlias = "Mapping[str, int | Sequence[Expression]]"
T = TypeVar("T")

MOST_THREADS = 1024
"""Threads of a CTA. Source: CUDA C++ Programming Guide, technical specifications per compute capability."""
MOST_CLUSTER = 16
"""CTAs of a cluster, with the non-portable size. Source: CUDA C++ Programming Guide, thread block clusters."""

PADDING_BYTES = 128
"""Behind the map of a view without elements: more than one element, a multiple of all alignments of maps."""
FILLS = {"zero": 0, "nan": 0xFF}
"""The byte that fills it, by what a map reads outside of its view; all ones are a NaN of every floating-point type."""

GRID = ("grid x", "grid y", "grid z")
COUNTER = "tile counter"
"""What a persistent kernel takes from the launcher, after its own arguments: the extents of the logical grid, and
four bytes of memory that are zero at launch.
"""
TICKETS, SUMS = "tickets", "sums"
"""For kernels whose tile blocks are divided among several CTAs without a cluster: memory for each tile block of the
grid, zeroed for tickets.
"""
SHARES = "shares"
"""For persistent kernels whose CTAs share the steps of tile blocks: memory for each CTA, of which as many are
launched as fit the device, even if there are fewer tile blocks.
"""
COUNTER_BYTES = 4
ZEROED = (COUNTER, TICKETS)
"""Memory that is zero at launch."""
GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""CTAs of a grid. Source: CUDA C++ Programming Guide, technical specifications per compute capability."""
MOST_ELEMENTS = (1 << 31) - 1
"""Of an array along a dimension, for tensor copies: coordinates are i32. Source: PTX ISA, cp.async.bulk.tensor."""
MOST_TILES = 1 << 30
"""Of a logical grid: a persistent kernel counts them, and CTAs beyond them, in 32 bits with a sign."""

SIZES = {
    "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f8E4M3FN": 1, "f8E5M2": 1, "f8E8M0FNU": 1,
    "f16": 2, "bf16": 2, "f32": 4, "tf32": 4, "f64": 8,
}  # fmt: skip
"""Bytes of each element type in memory and as a parameter (Tile IR specification, element types)."""

POINTEES = {**SIZES, "f4E2M1FN": 1}
"""Bytes of an element of the array that a pointer takes; those of f4 are two in a byte."""

MAP_TYPES = {
    "i1": "UINT8", "i8": "UINT8", "f8E4M3FN": "UINT8", "f8E5M2": "UINT8", "f8E8M0FNU": "UINT8", "i16": "UINT16",
    "i32": "INT32", "i64": "INT64", "f16": "FLOAT16", "bf16": "BFLOAT16", "f32": "FLOAT32", "tf32": "TFLOAT32",
    "f64": "FLOAT64",
}  # fmt: skip
"""Element types as CU_TENSOR_MAP_DATA_TYPE_ names them; 8-bit floats move as bytes (cuda.h)."""
_ATOMS = ("32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B")
MAP_NAMES = {
    "interleave": {"none": "NONE", "16B": "16B", "32B": "32B"},
    "swizzle": {"none": "NONE", **{name: name for name in _ATOMS}},
    "l2_promotion": {"none": "NONE", "64B": "L2_64B", "128B": "L2_128B", "256B": "L2_256B"},
    "oob_fill": {"zero": "NONE", "nan": "NAN_REQUEST_ZERO_FMA"},
}
"""What a tensor map's other fields may be, and what CU_TENSOR_MAP_INTERLEAVE_ and its like name them (cuda.h)."""


class ManifestError(ValueError):
    """An invalid manifest; the message names the field."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """A parameter that takes the address of array argument `arg`; `launch`: of memory that the launcher gives, of so
    many `bytes` for each tile block, which is the work of `ctas` CTAs, or for each CTA (`SHARES`).
    """

    arg: int
    dtype: str
    launch: str = ""
    bytes: int = 0
    ctas: int = 1


@dataclass(frozen=True, slots=True)
class Scalar:
    """A parameter that takes the number given as argument `arg`; `launch`: a number that the launcher gives."""

    arg: int
    dtype: str
    launch: str = ""


@dataclass(frozen=True, slots=True)
class TensorMapRecord:
    """A tensor map to be encoded by the host: dimensions innermost first, strides in bytes without the innermost."""

    dtype: str
    base: Expression
    global_dim: tuple[Expression, ...]
    global_strides: tuple[Expression, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: str
    interleave: str
    l2_promotion: str
    oob_fill: str

    @property
    def members(self) -> tuple[str, str, str, str, str]:
        """Data type, interleave, swizzle, L2 promotion and fill as enumerations of the driver name them (cuda.h)."""
        names = MAP_NAMES
        return (
            f"CU_TENSOR_MAP_DATA_TYPE_{MAP_TYPES[self.dtype]}",
            f"CU_TENSOR_MAP_INTERLEAVE_{names['interleave'][self.interleave]}",
            f"CU_TENSOR_MAP_SWIZZLE_{names['swizzle'][self.swizzle]}",
            f"CU_TENSOR_MAP_L2_PROMOTION_{names['l2_promotion'][self.l2_promotion]}",
            f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{names['oob_fill'][self.oob_fill]}",
        )


Parameter: TypeAlias = "Pointer | Scalar | TensorMapRecord"


@dataclass(frozen=True, slots=True)
class Manifest:
    """A checked manifest. block: threads; cluster: CTAs; dynamic_smem: bytes a CTA; dependent: it waits for preceding
    grids, which may still be running when it starts.
    """

    entry: str
    target: str
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    dynamic_smem: int
    params: tuple[Parameter, ...]
    dependent: bool = False

    @property
    def ctas(self) -> int:
        """CTAs of a cluster, which shares one tile block."""
        return math.prod(self.cluster)

    @property
    def split(self) -> int:
        """CTAs without a cluster that share one tile block."""
        return max((each.ctas for each in self.params if isinstance(each, Pointer)), default=1)

    @property
    def along(self) -> tuple[int, int, int]:
        """CTAs of one tile block along each axis of the grid."""
        x, y, z = self.cluster
        return x * self.split, y, z

    @property
    def persistent(self) -> bool:
        """Do as many tile blocks as fit the device process all of them?"""
        return GRID[0] in self.launched

    def in_ctas(self, grid: tuple[int, int, int]) -> tuple[int, int, int]:
        """The CTAs that a grid of tile blocks is launched as."""
        x, y, z = self.along
        return grid[0] * x, grid[1] * y, grid[2] * z

    def launched_as(self, grid: tuple[int, int, int], resident: int) -> tuple[int, int, int]:
        """The tile blocks that a launch begins, of which so many are resident at once: those of the grid, or of a
        persistent kernel as many as fit. Raises ManifestError for more than `MOST_TILES` of a persistent kernel.
        """
        if not self.persistent:
            return grid
        found = persistent_grid(grid, resident)
        return (max(1, resident), 1, 1) if SHARES in self.launched else found

    def memory(self, grid: tuple[int, int, int], resident: int = 1) -> dict[str, int]:
        """Bytes of memory that the launcher provides for a grid of tile blocks, by purpose; `resident`: CTAs."""
        given = [each for each in self.params if isinstance(each, Pointer) and each.launch]
        times = {COUNTER: 1, SHARES: max(1, resident)}
        return {each.launch: (each.bytes or COUNTER_BYTES) * times.get(each.launch, math.prod(grid)) for each in given}

    @property
    def arguments(self) -> int:
        """How many arguments a launch must give at least: one more than the largest `arg` of them."""
        given = {
            parameter.arg
            for parameter in self.params
            if not isinstance(parameter, TensorMapRecord) and parameter.launch
        }
        used = (number for parameter in self.params for number in _used(parameter))
        return max((number for number in used if number not in given), default=-1) + 1

    @property
    def launched(self) -> list[str]:
        """What the launcher passes after the arguments, in order; nothing if the kernel takes no more."""
        given = [p for p in self.params if not isinstance(p, TensorMapRecord) and p.launch]
        return [each.launch for each in sorted(given, key=lambda each: each.arg)]


def parse(raw: Mapping[str, object]) -> Manifest:
    """Check a manifest read from JSON. Raises ManifestError that names the field and what it should be."""
    entry, target = _field(raw, "entry", str, ""), _field(raw, "target", str, "")
    block, cluster = _extents(raw, "block", MOST_THREADS), _extents(raw, "cluster", MOST_CLUSTER)
    smem = _field(raw, "dynamic_smem", int, "")
    if smem < 0:
        raise ManifestError(f"manifest: dynamic_smem = {smem} is negative")
    if raw.get("global_scratch", 0) != 0:
        raise ManifestError(
            f"manifest: global_scratch = {raw['global_scratch']!r}, but no parameter takes scratch memory: give 0"
        )
    listed = _list(raw, "params")
    params = tuple(_parameter(each, f"params[{number}]") for number, each in enumerate(listed))
    dependent = raw.get("dependent", False)
    if not isinstance(dependent, bool):
        raise ManifestError(f"manifest: dependent = {dependent!r}: expected true or false")
    return Manifest(entry, target, block, cluster, smem, params, dependent)


def extents_of_map(
    dims: Sequence[Expression],
    strides: Sequence[Expression],
    base: Expression,
    arguments: Sequence[SupportsInt],
    padding: Callable[[], int],
) -> tuple[int, list[int], list[int]]:
    """Address, extents and strides in bytes of a tensor map for these arguments.

    An extent may not be 0 (cuTensorMapEncodeTiled), so the map of a view without elements is that of one element at
    `padding()`: `PADDING_BYTES` that hold what is read outside of a view. Data stored there is never read otherwise.
    Raises ManifestError for an extent beyond the coordinates of tensor copies, which are i32.
    """
    extents = [evaluate(each, arguments) for each in dims]
    if max(extents) > MOST_ELEMENTS:
        raise ManifestError(
            f"tensor copies reach {MOST_ELEMENTS} elements along a dimension, the array has {max(extents)}: "
            "forbid them for its accesses (allow_tma = false)"
        )
    if 0 in extents:
        return padding(), [1] * len(dims), [PADDING_BYTES] * len(strides)
    return evaluate(base, arguments), extents, [evaluate(each, arguments) for each in strides]


def persistent_grid(grid: tuple[int, int, int], resident: int) -> tuple[int, int, int]:
    """The tile blocks that go through the tiles of a logical grid, where so many are resident at once.

    Raises ManifestError for more than `MOST_TILES` tiles.
    """
    tiles = math.prod(grid)
    if tiles > MOST_TILES:
        raise ManifestError(f"a persistent kernel counts at most {MOST_TILES} tile blocks, the grid has {tiles}")
    return min(tiles, max(1, resident)), 1, 1


def evaluate(expression: Expression, arguments: Sequence[SupportsInt]) -> int:
    """The value of an expression; `arguments` holds the addresses of arrays and the given numbers."""
    ((kind, value),) = expression.items()
    if isinstance(value, int):  # of Python: products of 32-bit numbers do not wrap
        return int(arguments[value]) if kind == "arg" else value
    parts = [evaluate(part, arguments) for part in value]
    if kind == "mul":
        return math.prod(parts)
    if kind == "add":
        return sum(parts)
    dividend, divisor = parts
    if divisor == 0:
        raise ManifestError("manifest: a ceildiv divides by an argument that is 0")
    return -(-dividend // divisor)


def _field(raw: Mapping[str, object], name: str, kind: type[T], place: str) -> T:
    path = f"{place}.{name}" if place else name
    if name not in raw:
        raise ManifestError(f"manifest: {path} is missing")
    value = raw[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ManifestError(f"manifest: {path} = {value!r}: expected {kind.__name__}")
    return value


def _integers(raw: Mapping[str, object], name: str, place: str = "") -> tuple[int, ...]:
    values = _list(raw, name, place)
    found = tuple(value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0)
    if len(found) != len(values):
        raise ManifestError(f"manifest: {place + '.' if place else ''}{name} = {values!r} must be positive integers")
    return found


def _list(raw: Mapping[str, object], name: str, place: str = "") -> list[object]:
    return cast("list[object]", _field(raw, name, list, place))


def _mapping(given: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(given, Mapping)


def _extents(raw: Mapping[str, object], name: str, most: int) -> tuple[int, int, int]:
    values = _integers(raw, name)
    if len(values) != 3 or math.prod(values) > most:
        raise ManifestError(f"manifest: {name} = {list(values)} must be three extents with a product of at most {most}")
    x, y, z = values
    return x, y, z


def _parameter(fields: object, place: str) -> Parameter:
    if not _mapping(fields):
        raise ManifestError(f"manifest: {place} = {fields!r} is not an object")
    kind, dtype = _field(fields, "kind", str, place), _field(fields, "dtype", str, place)
    if dtype not in SIZES and kind != "pointer":  # a pointer may point to pointers, or to anything else
        raise ManifestError(f"manifest: {place}.dtype = {dtype!r} is not one of {', '.join(SIZES)}")
    if kind == "tensormap":
        return _tensor_map(fields, dtype, place)
    if kind not in ("pointer", "scalar"):
        raise ManifestError(f"manifest: {place}.kind = {kind!r} is not one of pointer, scalar, tensormap")
    number = _field(fields, "arg", int, place)
    if number < 0:
        raise ManifestError(f"manifest: {place}.arg = {number} is negative")
    launch = _field(fields, "launch", str, place) if "launch" in fields else ""
    known = ("", COUNTER, TICKETS, SUMS, SHARES) if kind == "pointer" else ("", *GRID)
    if launch not in known:
        raise ManifestError(f"manifest: {place}.launch = {launch!r} is not one of {', '.join(known[1:])}")
    if kind == "scalar":
        return Scalar(number, dtype, launch)
    if launch not in (TICKETS, SUMS, SHARES):
        return Pointer(number, dtype, launch)
    size, ctas = (_field(fields, name, int, place) for name in ("bytes", "ctas"))
    if min(size, ctas) < 1:
        raise ManifestError(f"manifest: {place}.bytes = {size} and ctas = {ctas} must be positive")
    return Pointer(number, dtype, launch, size, ctas)


def _tensor_map(raw: Mapping[str, object], dtype: str, place: str) -> TensorMapRecord:
    lists: dict[str, tuple[Expression, ...]] = {}
    for name in ("global_dim", "global_strides"):
        parts = _list(raw, name, place)
        lists[name] = tuple(_expression(part, f"{place}.{name}[{i}]") for i, part in enumerate(parts))
    box, steps = _integers(raw, "box", place), _integers(raw, "element_strides", place)
    rank = len(lists["global_dim"])
    wanted = {"box": (len(box), rank), "element_strides": (len(steps), rank)}
    wanted["global_strides"] = (len(lists["global_strides"]), rank - 1)
    for name, (found, right) in wanted.items():
        if found != right:
            raise ManifestError(f"manifest: {place}.{name} has {found} entries, {rank} dimensions need {right}")
    names = [_field(raw, name, str, place) for name in ("swizzle", "interleave", "l2_promotion", "oob_fill")]
    for name, known in MAP_NAMES.items():
        if raw[name] not in known:
            raise ManifestError(f"manifest: {place}.{name} = {raw[name]!r} is not one of {', '.join(known)}")
    _field(raw, "base", dict, place)
    base = _expression(raw["base"], f"{place}.base")
    return TensorMapRecord(dtype, base, lists["global_dim"], lists["global_strides"], box, steps, *names)


def _expression(raw: object, place: str) -> Expression:
    """The expression itself, once every part of it is known to be one."""
    if not _mapping(raw) or len(raw) != 1:
        raise ManifestError(
            f"manifest: {place} = {raw!r} is not an expression: expected one of arg, const, mul, add, ceildiv"
        )
    ((kind, value),) = raw.items()
    if kind in ("arg", "const"):
        if _field(raw, kind, int, place) < 0 and kind == "arg":
            raise ManifestError(f"manifest: {place}.arg = {value} is negative")
        return cast("Expression", raw)
    if kind not in ("mul", "add", "ceildiv"):
        raise ManifestError(f"manifest: {place}: {kind!r} is not one of arg, const, mul, add, ceildiv")
    parts = _list(raw, kind, place)
    if len(parts) < 1 or (kind == "ceildiv" and len(parts) != 2):
        raise ManifestError(f"manifest: {place}.{kind} has {len(parts)} operands")
    for number, part in enumerate(parts):
        _expression(part, f"{place}.{kind}[{number}]")
    return cast("Expression", raw)


def _used(parameter: Parameter) -> list[int]:
    if not isinstance(parameter, TensorMapRecord):
        return [parameter.arg]
    return [n for e in (parameter.base, *parameter.global_dim, *parameter.global_strides) for n in _arguments_of(e)]


def _arguments_of(expression: Expression) -> list[int]:
    ((kind, value),) = expression.items()
    if isinstance(value, int):
        return [value] if kind == "arg" else []
    return [number for part in value for number in _arguments_of(part)]

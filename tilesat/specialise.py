"""What a cuTile kernel is compiled for: as cuTile's own launch infers it from arguments, or as a signature specifies.

Source of the inference: cuda-tile 1.7.0, cext/tile_kernel.cpp. KernelSignature.from_kernel_args says the same, but
needs NVIDIA's driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from types import CodeType
from typing import Any, TypeVar, cast

from ir.core import Location
from ir.narrowing import is_list, is_tuple
from tilesat.arrays import View, is_array, view_of
from tilesat.calling import (
    ArgumentError,
    ArrayParameter,
    Calling,
    ConstantParameter,
    ListParameter,
    Parameter,
    ScalarParameter,
    TupleParameter,
    located_at,
)
from tilesat.cutile_kernels import ELEMENTS, CuTileKernel, KernelSignature, cutile_module, function_of, name_of
from tilesat.shown import shown
from tilesat.spec import Array

Length = TypeVar("Length", int, int | None)

SPECIALISED_RANK = 5
"""cuTile specialises sizes and strides of arrays of at most this rank (TMA_MAX_NDIM)."""
UNIT = 128
"""Bits that a stride may be a multiple of."""
SIZES = 16
"""A size may be a multiple of so many elements, an address of so many bytes."""


def specialised(kernel: CuTileKernel, values: dict[str, object]) -> Calling:
    """What a kernel is compiled for with these arguments, by name; all of them must be there. Raises TileError."""
    function = function_of(kernel)
    names = list(function.pysig.parameters)
    notes = dict(zip(names, function.parameter_annotations, strict=True))
    with located_at(written_at(kernel)):
        found = tuple((name, _parameter(values[name], notes[name], name, (at,))) for at, name in enumerate(names))
    return Calling(name_of(kernel), written_at(kernel), found)


def written_at(kernel: CuTileKernel) -> Location:
    """Where the function of a kernel is."""
    code: CodeType | None = getattr(function_of(kernel).pyfunc, "__code__", None)
    return Location() if code is None else Location(code.co_filename, code.co_firstlineno)


def _parameter(value: object, note: object, name: str, place: tuple[int, ...]) -> Parameter:
    """What an argument is compiled for; `place`: its number, then those of the items of tuples that lead to it."""
    _refuse_records(value, name, place)
    if is_tuple(value):
        return TupleParameter(tuple(_items(value, note, name, place)))
    if is_array(value):
        if getattr(note, "constant", False):
            message = f"parameter '{name}': expected a constant, got an array: {view_of(value, name)}"
            cause = f"Could not interpret object of type '{type(value).__name__}' as a constant."
            raise ArgumentError(message) from _as_cutile(place, cause)
        return array_parameter(view_of(value, name), getattr(note, "array", None))
    if is_list(value):
        inner = getattr(getattr(note, "list", None), "element", None)
        return ListParameter(common([array_parameter(view_of(each, name), inner) for each in value], name, inner))
    if getattr(note, "constant", False) or value is None or not _is_number(value):
        return ConstantParameter(value)
    wanted: object = getattr(getattr(note, "scalar", None), "dtype", None)
    if wanted is not None:
        return ScalarParameter(_element(wanted))
    if getattr(value, "dtype", None) is not None:
        return ScalarParameter(view_of(cast(Array, value).reshape(1), name).dtype)
    return ScalarParameter("i1" if isinstance(value, bool) else "i32" if isinstance(value, int) else "f32")


def _as_cutile(place: tuple[int, ...], reason: str) -> TypeError:
    """The error of cuTile's own launch, which its programs may expect: `tilesat.backend` raises this cause of ours."""
    items = "".join(f"item #{at} of " for at in reversed(place[1:]))
    return TypeError(f"Invalid {items}kernel argument #{place[0]}: {reason}")


def _refuse_records(value: object, name: str, place: tuple[int, ...]) -> None:
    """Raise TileError for what cuTile 1.7.0 does not take: named tuples, and dataclasses (`cconv_v3_enabled` of its
    package says no: a build with development features would).
    """
    kind = type(value)
    named = kind is not tuple and tuple in kind.__mro__
    if named or (hasattr(kind, "__dataclass_fields__") and not is_array(value)):
        hint = f"give a tuple of its {'items' if named else 'fields'}"
        cause = f"'{kind.__name__}' is a subclass of 'tuple'. Only plain tuples are accepted."
        other = f"Objects of type '{kind.__name__}' are not supported."
        message = f"parameter '{name}': cuTile takes only plain tuples, got a {kind.__name__}"
        raise ArgumentError(message, hint=hint) from _as_cutile(place, cause if named else other)


def _items(values: tuple[object, ...], note: object, name: str, place: tuple[int, ...]) -> Iterator[Parameter]:
    """The items of a tuple, of which each may have an annotation of its own. Raises TileError for another length."""
    notes = getattr(note, "items", None)
    if notes is None:
        notes = (getattr(note, "each", note),) * len(values)
    if len(notes) != len(values):
        cause = f"Received a tuple of length {len(values)} for a parameter annotated as a tuple of length {len(notes)}"
        message = f"parameter '{name}': expected a tuple of {len(notes)}, got one of {len(values)}"
        raise ArgumentError(message) from TypeError(cause)
    for at, (value, each) in enumerate(zip(values, notes, strict=True)):
        yield _parameter(value, each, f"{name}[{at}]", (*place, at))


def calling_of(kernel: CuTileKernel, signature: KernelSignature) -> Calling | None:
    """What the calls of a kernel take that is compiled for a KernelSignature; None where no call can give it."""
    names = function_of(kernel).pysig.parameters
    found = [_taken(each) for each in signature.parameters]
    taken = [each for each in found if each is not None]
    if len(taken) < len(found):
        return None
    return Calling(name_of(kernel), written_at(kernel), tuple(zip(names, taken, strict=True)))


def _taken(constraint: Any) -> Parameter | None:
    """The parameter that one of cuTile's constraints describes."""
    match type(constraint).__name__:
        case "ArrayConstraint":
            shape = constraint.shape_constant or (None,) * constraint.ndim
            return ArrayParameter(
                _element(constraint.dtype),
                _element(constraint.index_dtype),
                shape,
                constraint.stride_constant,
                constraint.shape_divisible_by,
                constraint.stride_divisible_by,
                constraint.base_addr_divisible_by,
                constraint.may_alias_internally,
            )
        case "ScalarConstraint":
            return ScalarParameter(_element(constraint.dtype))
        case "ConstantConstraint":
            return ConstantParameter(constraint.value)
        case "ListConstraint":
            element = _taken(constraint.element)
            return ListParameter(element) if isinstance(element, ArrayParameter) else None
        case "TupleConstraint":
            items = [_taken(each) for each in constraint.items]
            return None if None in items else TupleParameter(tuple(each for each in items if each is not None))
        case _:
            return None


def _element(dtype: object) -> str:
    """The name in signatures of one of cuTile's element types."""
    tile = cutile_module("cuda.tile")
    return next(name for name, known in ELEMENTS.items() if getattr(tile, known, None) == dtype)


def _is_number(value: object) -> bool:
    """A number of Python's or NumPy's; other things are constants: types, enumerations."""
    return isinstance(value, bool | int | float) or (hasattr(value, "dtype") and hasattr(value, "item"))


def array_parameter(view: View, note: object = None) -> ArrayParameter:
    """Divisors of sizes, strides and address as cuTile's launch infers them; `note`: its annotation of the array."""
    rank, few = len(view.shape), len(view.shape) <= SPECIALISED_RANK
    wide: object = getattr(note, "index_dtype", None)
    index = _element(wide) if wide is not None else "i32"
    fixed_sizes, fixed_strides = _axes(note, "static_shape_dims", rank), _axes(note, "static_stride_dims", rank)
    unit = UNIT // bits_of(view.dtype)
    strides = tuple(
        stride if axis in fixed_strides else 1 if few and stride == 1 and not fixed_strides else None
        for axis, stride in enumerate(view.strides)
    )
    shape = tuple(size if axis in fixed_sizes else None for axis, size in enumerate(view.shape))
    divisors = (few and fixed is None and s % SIZES == 0 for s, fixed in zip(view.shape, shape, strict=True))
    steps = (few and fixed is None and s % unit == 0 for s, fixed in zip(view.strides, strides, strict=True))
    return ArrayParameter(
        view.dtype,
        index,
        shape,
        strides,
        tuple(SIZES if each else 1 for each in divisors),
        tuple(unit if each else 1 for each in steps),
        SIZES if view.address % SIZES == 0 else 1,
        not disjoint(view),
    )


def _axes(note: object, annotation: str, rank: int) -> list[int]:
    """The axes that an annotation of an array names. Raises TileError for one that the array lacks, or named twice."""
    named: list[int] = list(getattr(note, annotation, None) or ())
    for axis in named:
        if not -rank <= axis < rank:
            cause = ValueError(f"{annotation} contains axis {axis} but array rank is {rank}")
            raise ArgumentError(f"{annotation}: expected axes of an array of rank {rank}, got {axis}") from cause
    axes = [axis % rank for axis in named]
    for axis in axes:
        if axes.count(axis) > 1:
            cause = ValueError(f"{annotation} contains duplicate axis {axis}")
            raise ArgumentError(f"{annotation}: axis {axis} is given twice") from cause
    return axes


def disjoint(view: View) -> bool:
    """Are distinct indices distinct elements, as far as cuTile looks?"""
    order = sorted(zip(view.strides, view.shape, strict=True))
    if order and order[0][0] <= 0:
        return False
    return all(after[0] >= before[0] * before[1] for before, after in pairwise(order))


def common(arrays: Sequence[ArrayParameter], name: str, note: object = None) -> ArrayParameter:
    """What holds for every array of a list. Raises TileError where types or ranks differ, or what their annotation
    fixes does, and for an empty list.
    """
    kinds = sorted({f"{each.dtype} of rank {len(each.shape)}" for each in arrays})
    if len(kinds) != 1:
        got = " and ".join(kinds) or "an empty list"
        raise ArgumentError(f"parameter '{name}': expected a list of arrays of one type and rank, got {got}")
    first = arrays[0]
    rank = len(first.shape)
    _refuse_varying([each.shape for each in arrays], name, "shape", _axes(note, "static_shape_dims", rank))
    _refuse_varying([each.strides for each in arrays], name, "stride", _axes(note, "static_stride_dims", rank))

    def same(rows: Iterable[tuple[Length, ...]], lost: Length) -> tuple[Length, ...]:
        columns = zip(*rows, strict=True)
        return tuple(column[0] if len(set(column)) == 1 else lost for column in columns)

    return ArrayParameter(
        first.dtype,
        first.index,
        same((each.shape for each in arrays), None),
        same((each.strides for each in arrays), None),
        same((each.shape_divisors for each in arrays), 1),
        same((each.stride_divisors for each in arrays), 1),
        min(each.alignment for each in arrays),
        any(each.overlapping for each in arrays),
    )


def _refuse_varying(found: Sequence[Sequence[int | None]], name: str, what: str, axes: Sequence[int]) -> None:
    """Raise TileError where arrays differ in sizes or strides that the annotation of their list fixes."""
    for each, axis in product(found, axes):
        expected, got = found[0][axis], each[axis]
        if got != expected:
            message = f"parameter '{name}': expected arrays of one {what} at axis {axis}, got {expected} and {got}"
            cause = f"Arrays in list vary in static {what} at axis {axis} ({expected} vs {got})"
            raise ArgumentError(message) from ValueError(cause)


def bits_of(dtype: str) -> int:
    """Bits of an element in memory."""
    bits: int = getattr(cutile_module("cuda.tile"), ELEMENTS[dtype]).bitwidth
    return 8 if bits == 1 else bits


def constraints_of(calling: Calling) -> list[object]:
    """cuTile's constraints for the parameters. Raises TileError for a constant that cuTile has not."""
    found: list[object] = []
    for name, parameter in calling.parameters:
        try:
            found.append(_constraint(parameter))
        except TypeError as error:
            got = shown(parameter.value) if isinstance(parameter, ConstantParameter) else str(error)
            message = f"parameter '{name}': expected an array, a number or a constant of cuTile, got {got}"
            raise ArgumentError(message, calling.location) from error
    return found


def _constraint(parameter: Parameter) -> object:
    tile, compilation = cutile_module("cuda.tile"), cutile_module("cuda.tile.compilation")
    match parameter:
        case ArrayParameter():
            fixed = any(size is not None for size in parameter.shape)
            return compilation.ArrayConstraint(
                getattr(tile, ELEMENTS[parameter.dtype]),
                len(parameter.shape),
                index_dtype=getattr(tile, ELEMENTS[parameter.index]),
                stride_lower_bound_incl=0,
                alias_groups=(),
                may_alias_internally=parameter.overlapping,
                stride_constant=parameter.strides,
                shape_constant=parameter.shape if fixed else None,
                stride_divisible_by=parameter.stride_divisors,
                shape_divisible_by=parameter.shape_divisors,
                base_addr_divisible_by=parameter.alignment,
            )
        case ScalarParameter():
            return compilation.ScalarConstraint(getattr(tile, ELEMENTS[parameter.dtype]))
        case ListParameter():
            element = _constraint(parameter.element)
            return compilation.ListConstraint(element, alias_groups=(), elements_may_alias=True)
        case TupleParameter():
            return compilation.TupleConstraint([_constraint(each) for each in parameter.items])
        case ConstantParameter():
            return compilation.ConstantConstraint(parameter.value)

"""Arguments that a cuTile kernel does not take: our error names the parameter, cuTile's programs get cuTile's words."""

import re
from collections import namedtuple
from typing import Annotated, Any

import cuda.tile as ct
import numpy as np
import pytest

import tilesat
import tilesat.cutile

Point = namedtuple("Point", "x y")
Rows = Annotated[list, ct.ListAnnotation(element=ct.ArrayAnnotation(static_shape_dims=(0,)))]
Pitched = Annotated[list, ct.ListAnnotation(element=ct.ArrayAnnotation(static_stride_dims=(0,)))]


def pair(out, addends: tuple[ct.Constant[int], ct.Constant[int]]):
    ct.scatter(out, (0,), addends[0] + addends[1])


def constants(out, shape: ct.Constant[tuple]):
    ct.scatter(out, (0,), shape[0])


def plain(out, items):
    ct.scatter(out, (0,), items[0])


def rows(out, arrays: Rows):
    ct.store(out, (0, 0), ct.load(arrays[0], (0, 0), (4, 8)))


def pitched(out, arrays: Pitched):
    ct.store(out, (0, 0), ct.load(arrays[0], (0, 0), (4, 8)))


def padded(pitch: int) -> Any:
    return np.zeros((4, pitch), np.int32)[:, :8]


@pytest.mark.parametrize(
    ("function", "given", "ours", "kind", "cutiles"),
    [
        (
            pair, (1, 2, 3), "parameter 'addends': expected a tuple of 2, got one of 3", TypeError,
            "Received a tuple of length 3 for a parameter annotated as a tuple of length 2",
        ),
        (
            plain, Point(1, 2), "parameter 'items': cuTile takes only plain tuples, got a Point", TypeError,
            "Invalid kernel argument #1: 'Point' is a subclass of 'tuple'. Only plain tuples are accepted.",
        ),
        (
            plain, (1, (2, Point(2, 3))), "parameter 'items[1][1]': cuTile takes only plain tuples", TypeError,
            "Invalid item #1 of item #1 of kernel argument #1: 'Point' is a subclass of 'tuple'.",
        ),
        (
            constants, (np.zeros(8, np.int32), 1), "parameter 'shape[0]': expected a constant, got an array", TypeError,
            "Invalid item #0 of kernel argument #1: Could not interpret object of type 'ndarray' as a constant.",
        ),
        (
            rows, [np.zeros((4, 8), np.int32), np.zeros((6, 8), np.int32)],
            "parameter 'arrays': expected arrays of one shape at axis 0, got 4 and 6", ValueError,
            "Arrays in list vary in static shape at axis 0 (4 vs 6)",
        ),
        (
            pitched, [padded(10), padded(12)],
            "parameter 'arrays': expected arrays of one stride at axis 0, got 10 and 12", ValueError,
            "Arrays in list vary in static stride at axis 0 (10 vs 12)",
        ),
    ],
    ids=["length", "record", "record-inside", "array-as-constant", "shapes", "strides"],
)  # fmt: skip
def test_refusals(function: Any, given: Any, ours: str, kind: type[Exception], cutiles: str) -> None:
    kernel, out = ct.kernel(function), np.zeros((4, 8), np.int32)
    with pytest.raises(tilesat.TileError, match=re.escape(ours)) as caught:
        tilesat.jit(kernel)[1](out, given)
    assert caught.value.location.line > 0
    with tilesat.cutile.backend("sim"), pytest.raises(kind, match=re.escape(cutiles)):
        ct.launch(None, (1,), kernel, (out, given))


def row(out, x: Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(5,))]):
    ct.store(out, (0, 0), ct.load(x, (0, 0), (4, 8)))


def twice(out, x: Annotated[ct.Array, ct.ArrayAnnotation(static_stride_dims=(0, 0))]):
    ct.store(out, (0, 0), ct.load(x, (0, 0), (4, 8)))


def unread(out, x):
    ct.store(out, (0, 0), ct.zeros((4, 8), ct.int32))


def far() -> Any:
    """One row, whose stride no index of 32 bits reaches."""
    return np.lib.stride_tricks.as_strided(np.zeros((1, 8), np.int32), (1, 8), (2**33, 4))


@pytest.mark.parametrize(
    ("function", "x", "ours", "kind", "cutiles"),
    [
        (
            row, padded(8), "static_shape_dims: expected axes of an array of rank 2, got 5", ValueError,
            "static_shape_dims contains axis 5 but array rank is 2",
        ),
        (
            twice, padded(8), "static_stride_dims: axis 0 is given twice", ValueError,
            "static_stride_dims contains duplicate axis 0",
        ),
        (
            unread, far(), "parameter 'x': expected a stride that fits i32 in dimension 0, got 2147483648",
            OverflowError, "stride is too big",
        ),
    ],
    ids=["no-axis", "axis-twice", "stride"],
)  # fmt: skip
def test_refused_arrays(function: Any, x: Any, ours: str, kind: type[Exception], cutiles: str) -> None:
    test_refusals(function, x, ours, kind, cutiles)


def test_arrays_alike_in_what_their_annotation_fixes_run() -> None:
    out = np.zeros((4, 8), np.int32)
    filled = padded(10)
    filled[:] = np.arange(32).reshape(4, 8)
    tilesat.jit(ct.kernel(pitched))[1](out, [filled, padded(10)])
    np.testing.assert_array_equal(out, filled)

"""Arguments of f4E2M1FN: bytes of two as they are, numbers of ml_dtypes packed and unpacked, SPECs, messages."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilesat
from ir.core import TileError
from tilesat.arrays import of_bytes, view_of
from tilesat.fuzz.writer import Writer
from tilesat.half_bytes import packed, unpacked
from tilesat.kernel import Kernel
from tilesat.spec import SpecError, parse

F4 = ml_dtypes.float4_e2m1fn


@cache
def negated() -> Kernel:
    """y = -x, rows of 64."""
    w = Writer("negated", x="ptr<f4E2M1FN>", y="ptr<f4E2M1FN>", m="i32")
    w.promise(x=16, y=16, m=1)
    x, y = (w.view(p, [w.m, 64], [64, 1], [16, 64], None) for p in (w.x, w.y))
    w.store((-w.load(x, w.ids[0], 0).to("f32")).to("f4E2M1FN"), y, w.ids[0], 0)
    return tilesat.compile(w.text())


def numbers(seed: int) -> Any:
    return (np.random.default_rng(seed).standard_normal((40, 64)) * 2).astype(F4)


def test_bytes_of_two_and_back() -> None:
    """The first of two lies in the low half."""
    x = numbers(1)
    held = packed(x)
    assert held.shape == (40, 32)
    assert (held.view(np.uint8)[3, 5] & 15, held.view(np.uint8)[3, 5] >> 4) == tuple(x.view(np.uint8)[3, 10:12])
    assert (unpacked(held).view(np.uint8) == x.view(np.uint8)).all()


@pytest.mark.parametrize("on", ["ref", "sim"])
def test_numbers_are_packed_and_unpacked(on: str) -> None:
    x, y = numbers(1), numbers(2)
    before = x.copy()
    negated().run(3, x, y, 37, on=on)
    assert (x.view(np.uint8) == before.view(np.uint8)).all()
    assert (y[:37].astype(np.float32) == -x[:37].astype(np.float32)).all()
    assert (y[37:].view(np.uint8) == numbers(2)[37:].view(np.uint8)).all()


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_bytes_are_taken_as_they_are(kind: Any) -> None:
    x, y = packed(numbers(1)).view(kind), np.zeros((40, 32), kind)
    negated().run(3, x, y, 40, on="sim", check=True)
    assert (unpacked(y).astype(np.float32) == -numbers(1).astype(np.float32)).all()


def test_what_may_not_be_written_is_not() -> None:
    x, y = numbers(1), numbers(2)
    y.flags.writeable = False
    with pytest.raises(TileError, match=r"parameter '1': entry 'negated' writes f4E2M1FN.40,64., which is read-only"):
        negated().run(3, x, y, 40)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (numbers(1)[:, :63].copy(), "expected rows with an even number of contiguous elements, got sizes .40, 63."),
        (
            numbers(1)[:, ::2],
            "expected rows with an even number of contiguous elements, got sizes .40, 32. and strides .64, 2.",
        ),
        (numbers(1).astype(np.float32), "parameter 0 of entry 'negated' is tile<ptr<f4E2M1FN>>, the argument is float"),
    ],
)
def test_refused_arrays(x: Any, message: str) -> None:
    with pytest.raises(TileError, match=message) as caught:
        negated().run(3, x, numbers(2), 40)
    assert caught.value.hint


def test_views_count_elements() -> None:
    """Of PyTorch's tensors, which count bytes, too."""
    view = view_of(numbers(1), "x")
    assert (view.dtype, view.shape, view.strides) == ("f4E2M1FN", (40, 64), (64, 1))
    twice = of_bytes(view_of(np.zeros((40, 32), np.uint8), "x"))
    assert (twice.dtype, twice.shape, twice.strides) == ("f4E2M1FN", (40, 64), (64, 1))
    turned = of_bytes(view_of(np.zeros((40, 32), np.uint8).T, "x"))
    assert (turned.shape, turned.strides) == ((64, 40), (1, 64))


def test_specs() -> None:
    made = parse("f4E2M1FN[8,64]=normal:1").make()
    assert isinstance(made, np.ndarray)
    assert (made.shape, made.dtype) == ((8, 32), np.int8)
    assert len(np.unique(unpacked(made).view(np.uint8))) > 10
    with pytest.raises(SpecError, match="the last extent must be even"):
        parse("f4E2M1FN[8,63]=normal:1").make()

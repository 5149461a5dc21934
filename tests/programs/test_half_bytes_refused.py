"""Accesses to f4E2M1FN that begin or end inside a byte are refused where they stand, by compiler and interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.interpreter import InterpreterError, run
from ir.types import GatherScatterViewType, StridedViewType
from tests.programs.atomics import other_view
from tilesat.fuzz.writer import Tile, Writer

Body = Callable[[Writer], None]


def loaded(w: Writer, view: Tile, *at: int | Tile) -> None:
    """A tile of a view, turned into numbers and stored."""
    tile = w.load(view, *at).to("f32")
    w.store(tile, w.view(w.y, [64, 64], [64, 1], tile.shape, None), *[0] * len(tile.shape))


def of_view(*given: Any) -> Body:
    return lambda w: loaded(w, w.view(w.x, *given), 0, 0)


def of_strides(w: Writer) -> None:
    kind = lambda whole: StridedViewType((8, 32), (8, 5), whole, (0, 1), "zero")  # noqa: E731
    loaded(w, other_view(w, w.x, [64, 64], [64, 1], ct.MakeStridedView, kind), 0, 0)


def gathered(sparse: int, at: int | None) -> Body:
    def body(w: Writer) -> None:
        kind = lambda whole: GatherScatterViewType((8, 8), whole, sparse, "zero")  # noqa: E731
        view = other_view(w, w.x, [64, 64], [64, 1], ct.MakeGatherScatterView, kind)
        index: list[Any] = [w.ids[0] if at is None else at, w.ids[0] if at is None else at]
        index[sparse] = w.iota(8)
        loaded(w, view, *index)

    return body


REFUSED: dict[str, tuple[Body, str, str]] = {
    "a row of an odd size": (of_view([64, 63], [64, 1], [8, 32]), "make_tensor_view", "a size of 63 elements"),
    "an odd stride": (of_view([64, 64], [65, 1], [8, 32]), "make_tensor_view", "a stride of 65 elements"),
    "a tile of half a byte": (of_view([64, 64], [64, 1], [8, 1]), "make_partition_view", "end inside a byte"),
    "a column of a row": (of_view([64, 64], [1, 64], [1, 32]), "make_partition_view", "end inside a byte"),
    "a window inside a byte": (of_strides, "make_strided_view", "end inside a byte"),
    "padding that bytes have not": (of_view([64, 64], [64, 1], [8, 32], "nan"), "make_partition_view", "with nan"),
    "elements apart": (gathered(1, 0), "make_gather_scatter_view", "cannot gather single elements"),
    "a place that may be odd": (gathered(0, None), "load_view_tko", "index 1 of a gather of f4E2M1FN is not known"),
    "an odd place": (gathered(0, 3), "load_view_tko", "index 1 of a gather of f4E2M1FN is not known to be even"),
}


def text_of(body: Body) -> str:
    w = Writer("refused", x="ptr<f4E2M1FN>", y="ptr<f32>", n="i32")
    body(w)
    return w.text()


@pytest.mark.parametrize("name", REFUSED)
def test_rejected_at_its_location(name: str) -> None:
    body, op, message = REFUSED[name]
    text = text_of(body)
    with pytest.raises(UnsupportedError) as caught:
        tilesat.compile(text)
    assert message in caught.value.message
    assert op in text.splitlines()[caught.value.location.line - 1]
    assert caught.value.hint


@pytest.mark.parametrize(
    ("shape", "strides", "message"),
    [
        (lambda n: [8, n], lambda n: [64, 1], "a size of 63 elements of f4E2M1FN is odd, but two"),
        (lambda n: [8, 32], lambda n: [n, 1], "a stride of 63 elements of f4E2M1FN is odd, but two"),
    ],
)  # fmt: skip
def test_the_interpreter_refuses_odd_rows(shape: Any, strides: Any, message: str) -> None:
    def body(w: Writer) -> None:
        loaded(w, w.view(w.x, shape(w.n), strides(w.n), [8, 32]), 0, 0)

    kernel = tilesat.compile(text_of(body))
    arguments = [np.zeros((64, 32), np.int8), np.zeros((64, 64), np.float32)]
    run(kernel.module, (1,), [*arguments, 64])
    with pytest.raises(InterpreterError, match=message) as caught:
        run(kernel.module, (1,), [*arguments, 63])
    assert caught.value.location.line

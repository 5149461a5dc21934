"""assert: what holds changes nothing, what fails ends the launch with its message and its line, on every road."""

from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from ir.interpreter.memory import InterpreterError
from ptxsim.errors import TrapError
from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Writer


def source() -> str:
    w = Writer("asserted", x="ptr<f32>", y="ptr<f32>", n="i32")
    w.promise(x=16, y=16)
    i = w.iota(256)
    x = w.gather(w.x[i])[0]
    w.builder.add(ct.Assert, (x < 100.0).value, types=(), message='x is "large"')
    w.builder.add(ct.Assert, (w.n < 3).value, types=(), message="n < 3, 100 % sure")
    with w.loop(0, w.n, carried=[x]) as loop:
        w.builder.add(ct.Assert, (loop.values[0].reduce(0) < 4e4).value, types=(), message="below 40000")
        loop.values = [loop.values[0] * 2]
    w.scatter(w.y[i], loop.values[0])
    return w.text()


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_120a"])
def test_assertions_that_hold(target: str) -> None:
    arguments = lambda: [random((256,), "f32", 1), random((256,), "f32", 2), 2]  # noqa: E731
    check(Program("asserted", source, arguments, (1,), lambda x, y, n: {1: 4 * x}, 0.0), target)


FAILING: dict[str, tuple[list[Any], str]] = {
    "an element": ([np.arange(256, dtype=np.float32), np.ones(256, np.float32), 2], 'x is "large"'),
    "a scalar": ([random((256,)), random((256,)), 3], "n < 3, 100 % sure"),
    "in a loop": ([np.full(256, 90, np.float32), random((256,)), 2], "below 40000"),
}


@pytest.mark.parametrize("name", FAILING)
def test_assertion_that_fails(name: str) -> None:
    arguments, message = FAILING[name]
    text = source()
    line = 1 + next(i for i, each in enumerate(text.splitlines()) if "assert" in each and message[:5] in each)
    kernel = tilesat.compile(text)
    with pytest.raises(TrapError, match="fails the assertion") as caught:
        kernel.run((1,), *arguments, on="sim")
    assert f"`{message}` at <text>:{line} in asserted" in str(caught.value)
    with pytest.raises(InterpreterError, match="assertion failed"):
        kernel.run((1,), *arguments, on="ref")

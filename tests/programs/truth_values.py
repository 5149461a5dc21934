"""Every integer operation on truth values, signed (true is -1) and unsigned (true is 1), in one program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from tests.programs.program import Program
from tilesat.fuzz.writer import Tile, Writer

SIZE = 64
Both = Callable[[Tile, Tile], Tile]


def binary(cls: Any, **more: Any) -> Both:
    """An operation on two tiles."""
    return lambda x, y: x.writer.op(cls, x, y, **more)


def operations() -> dict[str, Both]:
    """By name: of two tiles of truth values, one of them."""
    found: dict[str, Both] = {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "neg": lambda x, _: -x,
        "abs": lambda x, _: x.writer.op(ct.AbsI, x), "shl": binary(ct.ShlI), "mulhi": binary(ct.MulHiI),
        "narrowed": lambda x, y: (x.to("i32") + y.to("i32") * 3).to("i1"),
    }  # fmt: skip
    for signed in (True, False):
        sign = {"signedness": ct.Signedness(signed)}
        found |= {
            f"{name}-{signed}": binary(cls, **sign)
            for name, cls in (("shr", ct.ShrI), ("max", ct.MaxI), ("min", ct.MinI))
        }
        for rounding in (ct.Rounding.ZERO, ct.Rounding.POSITIVE_INF):
            found[f"div-{rounding.name}-{signed}"] = lambda x, y, r=rounding, s=signed: x.div(y | True, r, s)
        found[f"rem-{signed}"] = lambda x, y, s=signed: x.rem(y | True, s)
        for predicate in ct.Predicate:
            found[f"{predicate.name}-{signed}"] = lambda x, y, p=predicate, s=signed: x.compare(p, y, signed=s)
    return found


def truth_values() -> Program:
    """Each operation's result is a row."""
    every = operations()

    def source() -> str:
        w = Writer("truth_values", x="ptr<i1>", y="ptr<i1>", o="ptr<i1>")
        x, y = (w.load(w.view(each, [SIZE], [1], [SIZE]), 0) for each in (w.x, w.y))
        out = w.view(w.o, [len(every), SIZE], [SIZE, 1], [1, SIZE])
        for row, make in enumerate(every.values()):
            w.store(make(x, y).reshape(1, SIZE), out, row, 0)
        return w.text()

    def arguments() -> list[Any]:
        x = np.arange(SIZE) % 2 == 0
        return [x, np.arange(SIZE) % 4 < 2, np.resize(x, (len(every), SIZE))]

    return Program("truth-values", source, arguments, tolerance=0.0)

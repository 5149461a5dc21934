"""Elementwise chains in every type, through 1-D views over arrays whose size is not a multiple of the tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from ir.types import F8E8M0FNU, TileType
from tests.programs.program import DTYPES, TOLERANCE, Program, add, random
from tilesat.fuzz.writer import Tile, Writer, element

SIZE, TILE = 1000, 256
R = ct.Rounding
Chain = Callable[..., Tile]


def chain(
    name: str,
    kinds: list[str],
    out: str,
    body: Chain,
    expected: Callable[..., Any] | None = None,
    tolerance: float | None = None,
    tile: int = TILE,
    size: int = SIZE,
    aligned: bool = True,
    data: list[Any] | None = None,
) -> None:
    """out[i] = body(inputs[i]...); `expected` the same in NumPy."""

    def source() -> str:
        parameters = {f"x{i}": f"ptr<{kind}>" for i, kind in enumerate(kinds)}
        w = Writer("chain", **parameters, y=f"ptr<{out}>", n="i32")
        if aligned:
            w.promise(**dict.fromkeys(parameters, 16), y=16)
        w.promise(n=1)
        inputs = [w.load(w.view(w.args[p], [w.n], [1], [tile]), w.ids[0]) for p in parameters]
        w.store(body(*inputs), w.view(w.y, [w.n], [1], [tile]), w.ids[0])
        return w.text()

    def arguments() -> list[Any]:
        inputs = data or [random((size,), kind, i) for i, kind in enumerate(kinds)]
        return [*inputs, random((size,), out, 99), size]

    def numpy_says(*given: Any) -> dict[int, Any]:
        assert expected is not None
        with np.errstate(all="ignore"):
            return {len(kinds): np.asarray(expected(*given[: len(kinds)])).astype(DTYPES[out])}

    allowed = TOLERANCE.get(out, 0.0) if tolerance is None else tolerance
    add(Program(name, source, arguments, (-(-size // tile),), numpy_says if expected else None, allowed))


def wide(x: Any) -> Any:
    return x.astype(np.float64)


for kind in ("f32", "f16", "bf16"):
    chain(f"{kind}-arithmetic", [kind] * 3, kind, lambda a, b, c: (a + b) * c - a, lambda a, b, c: (a + b) * c - a)
    chain(
        f"{kind}-extrema",
        [kind] * 2,
        kind,
        lambda a, b: (-a).max(b).min(a.absf()),
        lambda a, b: np.minimum(np.maximum(-a, b), np.abs(a)),
    )
    chain(
        f"{kind}-fma",
        [kind] * 3,
        kind,
        lambda a, b, c: a.writer.op(ct.Fma, a, b, c),
        lambda a, b, c: wide(a) * wide(b) + wide(c),
    )
    chain(
        f"{kind}-compare",
        [kind] * 2,
        kind,
        lambda a, b: (a < b).where(a, b * 2.0),
        lambda a, b: np.where(a < b, a, b + b),
    )
    chain(
        f"{kind}-compare-all",
        [kind] * 2,
        "i32",
        lambda a, b: sum(
            (
                (p.to("i32", signed=False)) * (1 << i)
                for i, p in enumerate(
                    [
                        a < b,
                        a <= 0.5,
                        a > b,
                        a >= -0.5,
                        a.eq(b),
                        a.ne(b),
                        a.compare(ct.Predicate.LESS_THAN, b, ordered=False),
                    ]
                )
            ),
            start=a.to("i32") * 0,
        ),
        lambda a, b: sum(
            p.astype(np.int32) << i for i, p in enumerate([a < b, a <= 0.5, a > b, a >= -0.5, a == b, a != b, a < b])
        ),
    )
    chain(
        f"{kind}-i1",
        [kind] * 2,
        "i1",
        lambda a, b: (a > 0.0) & (b < a) | (b > 1.0),
        lambda a, b: (a > 0) & (b < a) | (b > 1),
    )

chain("f32-division", ["f32"] * 2, "f32", lambda a, b: a / b, lambda a, b: a / b)
chain(
    "f32-division-approx",
    ["f32"] * 2,
    "f32",
    lambda a, b: a.writer.op(ct.DivF, a, b, rounding=R.APPROX, flush_to_zero=True),
    lambda a, b: a / b,
)
chain("f16-division", ["f16"] * 2, "f16", lambda a, b: a / b, lambda a, b: a / b)
chain("bf16-division", ["bf16"] * 2, "bf16", lambda a, b: a / b, lambda a, b: a / b)
chain(
    "f32-roundings",
    ["f32"] * 2,
    "f32",
    lambda a, b: a.writer.op(ct.AddF, a.writer.op(ct.MulF, a, b, rounding=R.ZERO), b, rounding=R.POSITIVE_INF),
)
chain("f32-exp", ["f32"], "f32", lambda a: a.exp(), lambda a: np.exp(wide(a)))
chain("f32-exp2", ["f32"], "f32", lambda a: a.exp2(), lambda a: np.exp2(wide(a)))
chain("f32-exp2-ftz", ["f32"], "f32", lambda a: a.exp2(flush_to_zero=True), lambda a: np.exp2(wide(a)))
chain(
    "f32-log",
    ["f32"],
    "f32",
    lambda a: a.absf().log() + a.absf().log2(),
    lambda a: np.log(np.abs(wide(a))) + np.log2(np.abs(wide(a))),
)
chain(
    "f32-roots",
    ["f32"],
    "f32",
    lambda a: (a * a + 0.25).rsqrt() + a.absf().sqrt(),
    lambda a: 1 / np.sqrt(wide(a) ** 2 + 0.25) + np.sqrt(np.abs(wide(a))),
)
chain("f32-tanh", ["f32"], "f32", lambda a: a.tanh(), lambda a: np.tanh(wide(a)))
chain(
    "f16-mathematics",
    ["f16"],
    "f16",
    lambda a: a.exp() + a.tanh() + (a.absf() + 0.5).rsqrt(),
    lambda a: np.exp(wide(a)) + np.tanh(wide(a)) + 1 / np.sqrt(np.abs(wide(a)) + 0.5),
    tolerance=4e-3,
)
chain("bf16-mathematics", ["bf16"], "bf16", lambda a: a.exp2() + (a.absf() + 0.5).log(), tolerance=3.2e-2)
chain(
    "f32-sigmoid",
    ["f32"],
    "f32",
    lambda a: a.writer.like(1.0, a) / ((-a).exp() + 1.0),
    lambda a: 1 / (1 + np.exp(-wide(a))),
)

for source, target in (
    ("f16", "f32"),
    ("f32", "f16"),
    ("bf16", "f32"),
    ("f32", "bf16"),
    ("f16", "bf16"),
    ("f32", "tf32"),
):
    chain(f"{source}-to-{target}", [source], target, lambda a, t=target: a.to(t), tolerance=TOLERANCE.get(target, 0.0))
SCALED = {"f8E4M3FN": 100.0, "f8E5M2": 1e4}
"""What normal numbers are multiplied by, so that a few are too large for the format."""
for eight, scale in SCALED.items():
    for floating in ("f32", "f16", "bf16", "f64", "tf32"):
        if floating != "tf32":
            chain(f"{floating}-to-{eight}", [floating], eight, lambda a, t=eight, s=scale: (a * s).to(t), tolerance=0.0)
        chain(f"{eight}-to-{floating}", [eight], floating, lambda a, t=floating: a.to(t), wide, tolerance=0.0)
    for integer in ("i8", "i32"):
        chain(f"{integer}-to-{eight}", [integer], eight, lambda a, t=eight: a.to(t), tolerance=0.0)
        chain(f"{eight}-to-{integer}", [eight], integer, lambda a, t=integer: a.to(t), np.trunc, tolerance=0.0)
    chain(f"{eight}-negated", ["f32"], eight, lambda a, t=eight: (-a).to(t), tolerance=0.0)
    chain(f"{eight}-constant", [eight, "i1"], eight, lambda a, p: p.where(a, 1.5), lambda a, p: np.where(p, a, 1.5))
    chain(f"{eight}-odd", ["f32"], eight, lambda a, t=eight: a.to(t), tile=2, size=7, aligned=False, tolerance=0.0)
for floating in ("f32", "f16", "bf16", "f64"):
    chain(f"f8E8M0FNU-to-{floating}", ["f8E8M0FNU"], floating, lambda a, t=floating: a.to(t), wide, tolerance=0.0)
    for rounding in (R.ZERO, R.POSITIVE_INF):
        chain(
            f"{floating}-to-f8E8M0FNU-{rounding.text}", [floating], "f8E8M0FNU", tolerance=0.0,
            body=lambda a, r=rounding: a.writer.op(
                ct.FToF, a.exp2() if r == R.ZERO and str(a.type.element) != "f64" else a, rounding=r,
                types=[TileType(a.shape, F8E8M0FNU)],
            ),
        )  # fmt: skip
chain("f8E4M3FN-to-f8E5M2", ["f8E4M3FN"], "f8E5M2", lambda a: a.to("f8E5M2"), tolerance=0.0)
chain("f8E5M2-to-f8E4M3FN", ["f8E5M2"], "f8E4M3FN", lambda a: (a.to("f32") * 300.0).to("f8E4M3FN"), tolerance=0.0)

chain("tf32-to-f32", ["tf32"], "f32", lambda a: a.to("f32") * 2.0, lambda a: a * 2)

for kind in ("i32", "i64", "i16", "i8"):
    chain(f"{kind}-arithmetic", [kind] * 3, kind, lambda a, b, c: (a + b) * c - a, lambda a, b, c: (a + b) * c - a)
    chain(f"{kind}-bits", [kind] * 3, kind, lambda a, b, c: (a & b) ^ c | b, lambda a, b, c: (a & b) ^ c | b)
    chain(
        f"{kind}-extrema",
        [kind] * 2,
        kind,
        lambda a, b: a.max(b).min(7) - (-a),
        lambda a, b: np.minimum(np.maximum(a, b), 7) + a,
    )
    chain(
        f"{kind}-unsigned-extrema",
        [kind] * 2,
        kind,
        lambda a, b: a.max(b, signedness=ct.Signedness.UNSIGNED) - a.min(b, signedness=ct.Signedness.UNSIGNED),
    )
    chain(
        f"{kind}-division",
        [kind] * 2,
        kind,
        lambda a, b: a.div((b & 15) + 1) + a.rem(7),
        lambda a, b: np.trunc(wide(a) / wide((b & 15) + 1)).astype(a.dtype) + np.fmod(a, a.dtype.type(7)),
    )
    chain(
        f"{kind}-division-rounded",
        [kind] * 2,
        kind,
        lambda a, b: a.div((b & 15) + 1, R.NEGATIVE_INF) - a.div((b & 7) + 1, R.POSITIVE_INF),
        lambda a, b: (np.floor(wide(a) / wide((b & 15) + 1)) - np.ceil(wide(a) / wide((b & 7) + 1))).astype(a.dtype),
    )
    chain(
        f"{kind}-division-unsigned",
        [kind] * 2,
        kind,
        lambda a, b: a.div((b & 15) + 3, signed=False) + a.rem(5, signed=False),
    )
    chain(
        f"{kind}-division-constant",
        [kind],
        kind,
        lambda a: a.div(8) + a.div(-3) + a.rem(16) - a.div(8, R.NEGATIVE_INF) + a.div(10, R.POSITIVE_INF),
    )
    chain(
        f"{kind}-python-modulo",
        [kind] * 2,
        kind,
        lambda a, b: (lambda m, r: (r.ne(0) & ((r < 0) ^ (m < 0))).where(r + m, r))(b | 1, a.rem(b | 1)),
        lambda a, b: np.mod(a, b | 1),
    )
    chain(
        f"{kind}-compare",
        [kind] * 2,
        "i1",
        lambda a, b: (a < b) ^ (a >= 3) ^ a.compare(ct.Predicate.LESS_THAN, b, signed=False),
        None,
    )

for narrow, wider in (("i8", "i32"), ("i16", "i64"), ("i32", "i64"), ("i8", "i16"), ("i1", "i32"), ("i1", "i8")):
    chain(f"{narrow}-extended-{wider}", [narrow], wider, lambda a, t=wider: a.to(t) + a.to(t, signed=False) * 3)
for wider, narrow in (("i64", "i32"), ("i32", "i8"), ("i32", "i16"), ("i64", "i8"), ("i32", "i1"), ("i16", "i8")):
    chain(f"{wider}-truncated-{narrow}", [wider], narrow, lambda a, t=narrow: a.to(t))
for integer in ("i1", "i8", "i16", "i32", "i64"):
    for floating in ("f32", "f16", "bf16"):
        chain(f"{integer}-to-{floating}", [integer], floating, lambda a, t=floating: a.to(t) * 0.5)
        chain(
            f"{integer}-to-{floating}-unsigned", [integer], floating, lambda a, t=floating: a.to(t, signed=False) * 0.5
        )
for floating in ("f32", "f16", "bf16"):
    for integer in ("i8", "i16", "i32", "i64"):
        chain(f"{floating}-to-{integer}", [floating], integer, lambda a, t=integer: (a * 10.0).to(t))
for floating in ("f16", "bf16", "f32", "f64", "f8E4M3FN"):
    chain(
        f"{floating}-to-i1",
        [floating],
        "i32",
        lambda a: a.to("i1", signed=False).to("i32", signed=False) + a.to("i1").to("i32", signed=False) * 2,
        lambda a: 3 * (np.abs(a.astype(np.float64)) >= 1),
    )

UNARY = {"tan": (ct.Tan, np.tan), "sinh": (ct.Sinh, np.sinh), "cosh": (ct.Cosh, np.cosh)}
BINARY = {"atan2": (ct.Atan2, np.arctan2), "remf": (ct.RemF, np.fmod)}
UNARY_DOUBLE = UNARY | {
    "exp": (ct.Exp, np.exp), "exp2": (ct.Exp2, np.exp2), "sin": (ct.Sin, np.sin), "cos": (ct.Cos, np.cos),
    "tanh": (ct.Tanh, np.tanh),
}  # fmt: skip
for name, (cls, function) in UNARY_DOUBLE.items():
    chain(f"f64-{name}", ["f64"], "f64", lambda a, c=cls: a.writer.op(c, a), function, tolerance=1e-14)
for name, (cls, function) in BINARY.items():
    chain(f"f64-{name}", ["f64"] * 2, "f64", lambda a, b, c=cls: a.writer.op(c, a, b), function, tolerance=1e-14)
chain(
    "f64-logarithms", ["f64"], "f64", lambda a: a.absf().log() + a.absf().log2() + a.absf().rsqrt(),
    lambda a: np.log(np.abs(a)) + np.log2(np.abs(a)) + 1 / np.sqrt(np.abs(a)), tolerance=1e-14,
)  # fmt: skip
chain(
    "f64-powers", ["f64", "f64", "i32"], "f64",
    lambda a, b, n: a.writer.op(ct.Pow, a.absf(), b) + a.writer.op(ct.FPowI, a, n.rem(5)),
    lambda a, b, n: np.power(np.abs(a), b) + np.power(a, np.fmod(n, 5)), tolerance=1e-13,
)  # fmt: skip
chain(
    "f64-huge-angles", ["f64"], "f64", lambda a: a.writer.op(ct.Sin, a * 1e200) + a.writer.op(ct.Cos, a * 3.0),
    lambda a: np.sin(a * 1e200) + np.cos(a * 3), tolerance=1e-14, tile=1024, size=1500,
)  # fmt: skip
for kind, scale in (("f32", 1e9), ("f16", 1e4), ("bf16", 1e30)):
    chain(
        f"{kind}-huge-angles", [kind], kind, lambda a, s=scale: a.writer.op(ct.Sin, a * s) - a.writer.op(ct.Cos, a),
        tolerance={"f32": 1e-6, "f16": 1e-3}.get(kind, 8e-3), tile=1024, size=1500,
    )  # fmt: skip
for kind in ("f32", "f16", "bf16"):
    for name, (cls, function) in UNARY.items():
        chain(
            f"{kind}-{name}", [kind], kind, lambda a, c=cls: a.writer.op(c, a), lambda a, f=function: f(wide(a)),
            tolerance=3e-7 if kind == "f32" else None,
        )  # fmt: skip
    for name, (cls, function) in BINARY.items():
        chain(
            f"{kind}-{name}", [kind] * 2, kind, lambda a, b, c=cls: a.writer.op(c, a, b),
            lambda a, b, f=function: f(wide(a), wide(b)), tolerance=3e-7 if kind == "f32" else None,
        )  # fmt: skip
    chain(
        f"{kind}-pow", [kind] * 2, kind, lambda a, b: a.writer.op(ct.Pow, a.absf(), b),
        lambda a, b: np.power(np.abs(wide(a)), wide(b)), tolerance=3e-7 if kind == "f32" else None,
    )  # fmt: skip
    for integer in ("i8", "i32", "i64"):
        chain(
            f"{kind}-fpowi-{integer}", [kind, integer], kind,
            lambda a, n: a.writer.op(ct.FPowI, a, n.rem(5)), lambda a, n: np.power(wide(a), np.fmod(wide(n), 5)),
            tolerance=3e-7 if kind == "f32" else None,
        )  # fmt: skip
for kind in ("i8", "i16", "i32", "i64"):
    chain(
        f"{kind}-magnitude", [kind] * 2, kind,
        lambda a, b: a.writer.op(ct.AbsI, a) + a.writer.op(ct.MulHiI, a, b ^ a.writer.op(ct.AbsI, b)),
    )  # fmt: skip
chain(
    "i1-extrema", ["i1"] * 3, "i1", lambda a, b, c: a.max(b) ^ b.min(c, signedness=ct.Signedness.UNSIGNED) ^ a.min(c),
    lambda a, b, c: (a & b) ^ (b & c) ^ (a | c),
)  # fmt: skip
chain("i32-absolute", ["i32"], "i32", lambda a: a.writer.op(ct.AbsI, a), np.abs)

chain(
    "mixed-types",
    ["f16", "f32", "i32"],
    "f32",
    lambda a, b, c: a.to("f32") * b + c.to("f32"),
    lambda a, b, c: a.astype(np.float32) * b + c,
)
chain(
    "mixed-widths-i64-i8",
    ["i64", "i8", "i1"],
    "i64",
    lambda a, b, c: c.where(a, b.to("i64")),
    lambda a, b, c: np.where(c, a, b),
)
chain(
    "constants-folded",
    ["f32"],
    "f32",
    lambda a: a * 1.0 + 0.0 - a * 0.0 + (a.writer.const(2, "i32", TILE) * 3).to("f32"),
    lambda a: a + 6,
)
chain("tile-one", ["f32"] * 2, "f32", lambda a, b: a + b, lambda a, b: a + b, tile=1, size=3)
chain("tile-two", ["f16"] * 2, "f16", lambda a, b: a + b, lambda a, b: a + b, tile=2, size=7)
chain("tile-32-i1", ["i1"] * 2, "i1", lambda a, b: a & b, lambda a, b: a & b, tile=32, size=70)
chain("tile-8192", ["f32"] * 2, "f32", lambda a, b: a + b, lambda a, b: a + b, tile=8192, size=10001)
chain("unaligned", ["f16"] * 2, "f16", lambda a, b: a + b, lambda a, b: a + b, aligned=False)


for middle in ("f32", "f16"):
    # every code: NaNs stay, infinities come back as the largest numbers
    for eight in SCALED:
        codes = np.arange(SIZE, dtype=np.uint8).view(DTYPES[eight])
        chain(
            f"{eight}-there-and-back-{middle}", [eight], eight, lambda a, m=middle, t=eight: a.to(m).to(t),
            tolerance=0.0, data=[codes],
        )  # fmt: skip


def packing(name: str, kind: str, unpack: bool, looped: int = 1) -> None:
    """Bytes of numbers, or numbers from bytes, of one tile a block."""
    width = 1 if kind == "i1" else DTYPES[kind]().itemsize * 8
    few, many = (256, 256 * width // 8) if width >= 8 else (256 // 8, 256)
    count, size = (few, many) if width >= 8 else (many, few)  # of numbers, of bytes
    before, after = (("i8", size), (kind, count)) if unpack else ((kind, count), ("i8", size))

    def source() -> str:
        w = Writer("packing", x=f"ptr<{before[0]}>", y=f"ptr<{after[0]}>")
        w.promise(x=16, y=16)
        x = w.load(w.view(w.x, [3 * before[1]], [1], [before[1]]), w.ids[0])
        made = w.op(ct.Unpack if unpack else ct.Pack, x, types=[TileType((after[1],), element(after[0]))])
        w.store(made, w.view(w.y, [3 * after[1]], [1], [after[1]]), w.ids[0])
        return w.text()

    def expected(x: Any, y: Any) -> dict[int, Any]:
        if kind == "i1":
            bits = np.unpackbits(x.view(np.uint8), bitorder="little").astype(np.bool_)
            return {1: bits if unpack else np.packbits(x, bitorder="little").view(np.int8)}
        return {1: x.view(DTYPES[after[0]])}

    add(Program(
        name, source, lambda: [random((3 * n,), k, i) for i, (k, n) in enumerate((before, after))], (3,), expected, 0.0
    ))  # fmt: skip


for kind in ("f32", "f16", "i64", "i1", "i16"):
    packing(f"pack-{kind}", kind, False)
    packing(f"unpack-{kind}", kind, True)

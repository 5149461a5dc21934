"""Argument SPECs of `tilesat run`, one for each parameter of the entry, in order.

    f16[512,256]=normal:7    an array: element type, shape, contents, seed
    f32[512,512]=zeros       contents: zeros, ones, full:VALUE, arange, normal, uniform (on [-1, 1)), ints (-8 .. 8)
    i32=512                  a scalar
    @file.npy                an array from a file

Of f4E2M1FN two neighbours along the last dimension share a byte: the array is one of bytes.

A seed that is not given is the argument's position, so that two operands never hold the same numbers by accident.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import TypeAlias, TypeGuard

import ml_dtypes
import numpy as np

from tilesat import half_bytes
from tilesat.multicast import Array, Multicast

Argument: TypeAlias = "Array | np.generic | Multicast"
Fill: TypeAlias = "Callable[[np.random.Generator, tuple[int, ...], str], Array]"  # quoted: np.random loads when named

_FORM = re.compile(r"(?P<type>[a-z][A-Za-z0-9]*)(?:\[(?P<shape>[^\]]*)\])?=(?P<contents>.+)")

NUMPY_NAMES = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "f16": "float16", "f32": "float32", "f64": "float64", "tf32": "float32",
    "bf16": "bfloat16", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E8M0FNU": "float8_e8m0fnu",
    "f4E2M1FN": "float4_e2m1fn",
}  # fmt: skip
"""Element types that NumPy or ml_dtypes can hold; tf32 lives in 32-bit words (Tile IR, element types)."""

_INTS = 8
"""Bound of `ints`: products of two and their sums over K = 512 stay exact in f32 (8*8*512 < 2^24)."""

_SEEDED = ("normal", "uniform", "ints")
_CONTENTS: dict[str, Fill] = {
    "zeros": lambda rng, shape, option: np.zeros(shape),
    "ones": lambda rng, shape, option: np.ones(shape),
    "full": lambda rng, shape, option: np.full(shape, float(option)),
    "arange": lambda rng, shape, option: np.arange(math.prod(shape)).reshape(shape),
    "normal": lambda rng, shape, option: rng.standard_normal(shape),
    "uniform": lambda rng, shape, option: rng.uniform(-1, 1, shape),
    "ints": lambda rng, shape, option: rng.integers(-_INTS, _INTS + 1, shape),
}

MAX_BYTES = 1 << 32
"""Arrays above 4 GiB are refused: a slip of the pen in a shape should not exhaust the machine."""


LONGEST = 4096
"""Characters of a SPEC: of the longest path (PATH_MAX of Linux)."""


NPY = b"\x93NUMPY"
"""How a file of one array starts (NumPy, numpy.lib.format)."""


def is_numpy(given: object) -> TypeGuard[Array]:
    """Is this an array of NumPy?"""
    return isinstance(given, np.ndarray)


def is_scalar(given: object) -> TypeGuard[np.generic]:
    """Is this a number of NumPy?"""
    return isinstance(given, np.generic)


class SpecError(Exception):
    """A SPEC that cannot be read; a usage error."""


@dataclass(frozen=True)
class Spec:
    """A parsed SPEC: `shape` is None for a scalar, `path` is set for `@file.npy`."""

    text: str
    dtype: str = ""
    shape: tuple[int, ...] | None = None
    contents: str = ""
    option: str = ""
    seed: int = 0
    path: Path | None = None

    def make(self) -> Argument:
        """The array or scalar. Raises SpecError when the value or the file does not fit."""
        if self.path is not None:
            return _from_file(self.path)
        kind = numpy_type(self.dtype)
        if self.shape is None:
            return _scalar(self.contents, kind, self.text)
        fill = _CONTENTS[self.contents]
        try:
            made = fill(np.random.default_rng(self.seed), self.shape, self.option)
        except (ValueError, MemoryError) as error:
            raise SpecError(f"{self.text}: {error}") from None
        found = np.ascontiguousarray(_as(made, kind, self.text))
        if kind != half_bytes.NUMBERS:
            return found
        if not self.shape or self.shape[-1] % 2:
            raise SpecError(f"{self.text}: two {self.dtype} share a byte: the last extent must be even")
        return half_bytes.packed(found)


def _as(numbers: Array, kind: np.dtype[np.generic], text: str) -> Array:
    """The numbers in another type. Raises SpecError where a finite one has no place in it, or any other in integers."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = numbers.astype(kind)
    if kind.kind in "ib":
        fits = np.isfinite(numbers).all() and (kind.kind == "b" or np.array_equal(found, np.trunc(numbers)))
    else:
        fits = not np.any(np.isfinite(numbers) & ~np.isfinite(found.astype(np.float64)))
    if not fits:
        raise SpecError(f"{text}: the numbers do not fit in {kind}")
    return found


def numpy_type(name: str) -> np.dtype[np.generic]:
    """NumPy's type for an element type of Tile IR. Raises SpecError for an unknown name."""
    if name not in NUMPY_NAMES:
        raise SpecError(f"unknown element type {name!r}; known: {', '.join(NUMPY_NAMES)}")
    numpy_name = NUMPY_NAMES[name]
    return np.dtype(getattr(ml_dtypes, numpy_name, None) or numpy_name)


def parse(text: str, position: int = 0) -> Spec:
    """Read one SPEC; `position` is the argument's place in the entry. Raises SpecError that says what was expected."""
    if len(text) > LONGEST:
        raise SpecError(f"an argument has {len(text)} characters, expected at most {LONGEST}")
    if text.startswith("@"):
        return Spec(text, path=Path(text[1:]))
    match = _FORM.fullmatch(text)
    if match is None:
        forms = "TYPE[SHAPE]=CONTENTS, TYPE=NUMBER or @FILE.npy, such as f16[512,256]=normal:7 or i32=512"
        raise SpecError(f"cannot parse argument {text!r}: expected {forms}")
    dtype = match["type"]
    if dtype not in NUMPY_NAMES:
        raise SpecError(f"{text}: unknown element type {dtype!r}; known: {', '.join(NUMPY_NAMES)}")
    if match["shape"] is None:
        return Spec(text, dtype, None, match["contents"])
    shape = _shape(text, match["shape"])
    contents, _, option = match["contents"].partition(":")
    if contents not in _CONTENTS:
        raise SpecError(f"{text}: unknown contents {contents!r}; known: {', '.join(_CONTENTS)}")
    seed = position
    if contents in _SEEDED and option:
        if not option.isdecimal():
            raise SpecError(f"{text}: the seed must be a number, not {option!r}")
        seed = int(option)
    elif contents == "full" and not option:
        raise SpecError(f"{text}: full needs a number, as in full:2.5")
    elif contents != "full" and option:
        raise SpecError(f"{text}: {contents} takes nothing after the colon")
    return Spec(text, dtype, shape, contents, option, seed)


def _shape(text: str, dims: str) -> tuple[int, ...]:
    parts = [part.strip() for part in dims.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise SpecError(f"{text}: the shape must be whole numbers separated by commas")
    shape = tuple(int(part) for part in parts)
    if math.prod(shape) * 8 > MAX_BYTES:
        raise SpecError(f"{text}: more than {MAX_BYTES >> 30} GiB")
    return shape


def _scalar(value: str, kind: np.dtype[np.generic], text: str) -> Argument:
    try:
        if kind.kind in "ib":
            number = int(value, 0)
            if kind.kind == "i" and not -(1 << (8 * kind.itemsize - 1)) <= number < 1 << (8 * kind.itemsize):
                raise SpecError(f"{text}: {value} does not fit in {8 * kind.itemsize} bits")
            if kind.kind == "b" and number not in (0, 1):
                raise SpecError(f"{text}: expected 0 or 1, got {value}")
            return np.array([number & ((1 << 64) - 1)], np.uint64).astype(kind)[0]  # wraps: i32=0xffffffff is -1
        return _as(np.array([float(value)]), kind, text)[0]
    except ValueError:
        raise SpecError(f"{text}: {value!r} is not a number") from None


def _from_file(path: Path) -> Argument:
    """The array of a file of NumPy's .npy format."""
    try:
        with path.open("rb") as file:
            if file.read(len(NPY)) != NPY:
                raise SpecError(f"@{path}: expected one array in NumPy's .npy format (numpy.save)")
        return np.load(path, allow_pickle=False)  # a pickle would run code from the file
    except (SyntaxError, TokenError) as error:
        raise SpecError(f"@{path}: the header is damaged: {error.args[0]}") from None
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise SpecError(f"@{path}: {error}") from None

"""The block-scaled examples: the text, the cuTile source and NumPy give the same numbers, on the interpreter and the
simulator; on sm_100a by products in tensor memory that take the scales.
"""

from __future__ import annotations

import io
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesat
from runtime.ptxas import assemble
from tests.lowering.scaled_products import FORMATS, expected, in_blocks
from tests.programs.program import random
from tests.tilesat.example_cases import EXAMPLES, up
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

TOLERANCE = 2e-3
KINDS = ("mxfp8", "nvfp4", "mxfp4")
FORMS = ("text", "cutile")


def exported(name: str, patch: Any) -> bytes:
    """The bytecode of the cuTile source."""
    patch.syspath_prepend(str(EXAMPLES / "cutile"))
    file = io.BytesIO()
    runpy.run_path(str(EXAMPLES / "cutile" / f"gemm_{name}.py"))["export"](file)
    return file.getvalue()


@cache
def compiled(name: str, form: str, target: str = "sm_100a") -> Kernel:
    source: Path | bytes = EXAMPLES / "blackwell" / f"gemm_{name}.mlir"
    if form == "cutile":
        pytest.importorskip("cuda.tile")
        with pytest.MonkeyPatch.context() as patch:
            source = exported(name, patch)
    return tilesat.compile(source, target, fast=["uscale"] if name == "nvfp4" else [])


def padded(data: Any, pitch: int) -> Any:
    """A matrix with a pitch; what lies between the rows nobody may read into the result: NaN, or other f4."""
    filler = np.nan if data.dtype.kind != "i" else 0x77
    held = np.full((data.shape[0] + 1, pitch), filler, data.dtype)
    held[:-1, : data.shape[1]] = data
    return held


def arguments(name: str, form: str, m: int, n: int, k: int) -> tuple[list[Any], Any, Any]:
    """Those of a launch, the result among them, and what that is to be."""
    kind, factors, held = FORMATS[name], list[Any](), list[Any]()
    blocks = -(-k // kind.block)
    if name == "mxfp8":
        factors = [random((rows, k), kind.factor, i) for i, rows in enumerate((m, n))]
        scales = [random((rows, blocks), kind.scale, 2 + i) for i, rows in enumerate((m, n))]
        wanted = expected([*factors, *scales], name, k)
        held = [padded(x, up(x.shape[1], 4) + 4) for x in scales]
    else:
        rng = np.random.default_rng([m, n, k])
        factors = [rng.integers(-128, 128, (rows, k // 2), np.int8) for rows in (m, n)]
        held = [in_blocks(abs(random((rows, up(blocks, 4)), kind.scale, 2 + i))) for i, rows in enumerate((m, n))]
        wanted = expected([*factors, *held], name, k)
    a, b = (padded(x, up(x.shape[1], 16) + 16) for x in factors)
    d = np.full((m + 1, up(n, 4) + 4), np.nan, np.float32)
    elements = 2 if name == "mxfp4" else 1  # of the views of A and B, in a byte
    arrays, depth = list[Any]([a, b, *held, d]), factors[0].shape[1] * elements
    pitches = [x.shape[1] * elements for x in (a, b)]
    if form == "text" and name == "mxfp8":
        return [*arrays, m, n, depth, blocks, *pitches, held[0].shape[1], d.shape[1]], d, wanted
    if form == "text":
        return [*arrays, m, n, depth, *(x.shape[0] for x in held), held[0].shape[1], *pitches, d.shape[1]], d, wanted
    if name != "mxfp8":
        arrays = [x.view(np.uint8) if x.dtype == np.int8 else x for x in arrays]
        arrays[2:4] = [x.reshape(*x.shape[:3], 16) for x in held]
        sizes: list[Any] = [(m, depth), (n, depth), arrays[2].shape, arrays[3].shape, (m, n)]
    else:
        sizes = [(m, depth), (n, depth), (m, blocks), (n, blocks), (m, n)]
    given: list[Any] = []
    for place, (array, size) in enumerate(zip(arrays, sizes, strict=True)):
        steps = [stride // array.itemsize for stride in array.strides]
        if place < 2:
            steps[0] *= elements
        given += [array, *size, *steps]
    return given, d, wanted


def checked(name: str, form: str, on: str, size: tuple[int, int, int]) -> None:
    m, n, k = size
    given, d, wanted = arguments(name, form, m, n, k)
    kernel = compiled(name, form)
    kernel.run((up(m, 128) // 128, up(n, 128) // 128), *given, on=on)
    assert largest_error(d[:m, :n], wanted) < TOLERANCE
    assert np.isnan(d[m:]).all()
    assert np.isnan(d[:, n:]).all()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("size", [(200, 136, 288), (128, 128, 512)])
@pytest.mark.parametrize("on", ["ref", "sim"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KINDS)
def test_examples_compute_right(name: str, form: str, on: str, size: tuple[int, int, int]) -> None:
    checked(name, form, on, size)


@pytest.mark.parametrize("name", KINDS)
def test_tensor_cores_take_the_scales(name: str) -> None:
    """Of a row four are copied by threads, or blocks of 512 bytes by tensor copies."""
    kernel = compiled(name, "text")
    assert f"kind::{FORMATS[name].kind}" in kernel.ptx
    assert ("cp.async.ca" in kernel.ptx) == (name == "mxfp8")
    assembled = assemble(kernel.ptx, "sm_100a")
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)

"""Cubins, fat binaries and C headers from the command line and in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilesat
from ir.core import UNKNOWN
from runtime.driver.images import parts
from tests.runtime.cuda_headers import headers
from tilesat import ahead_of_time
from tilesat.calling import (
    ArrayParameter,
    Calling,
    ConstantParameter,
    ListParameter,
    ScalarParameter,
    TupleParameter,
)
from tilesat.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
VECADD = str(EXAMPLES / "vecadd_view.mlir")
KERNELS = """
import cuda.tile as ct

@ct.kernel
def scale(x, y, factor, pair, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)
"""


def test_cubins_of_several_targets(tmp_path: Path) -> None:
    assert main(["compile", VECADD, "--target", "sm_80,sm_90a", "-o", str(tmp_path / "k.cubin")]) == 0
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == ["k.sm_80.cubin", "k.sm_90a.cubin"]
    assert all((tmp_path / name).read_bytes().startswith(b"\x7fELF") for name in made)


def test_a_fat_binary_and_a_header(tmp_path: Path) -> None:
    image, header = tmp_path / "k.fatbin", tmp_path / "k.h"
    assert main(["compile", VECADD, "--target", "sm_80,sm_90a", "-o", str(image), "--header", str(header)]) == 0
    assert {part.name for part in parts(image.read_bytes())} == {"sm_80", "sm_90a"}
    kernels = tilesat.compile_for(VECADD, ["sm_80", "sm_90a"])
    assert header.read_text() == ahead_of_time.header(kernels)
    assert image.read_bytes() == ahead_of_time.fatbin(kernels)
    assert "CUdeviceptr" in header.read_text()


def test_a_stage_that_is_asked_for_is_not_assembled(tmp_path: Path) -> None:
    """The name of a file determines its kind only if nothing else does."""
    out = tmp_path / "k.cubin"
    assert main(["compile", VECADD, "--emit", "nvvm", "-o", str(out)]) == 0
    assert "llvm.func" in out.read_text().splitlines()[0]


def test_a_level_below_the_source(tmp_path: Path) -> None:
    """Its arguments have no names."""
    level, out, header = tmp_path / "k.nvgpu", tmp_path / "k.cubin", tmp_path / "k.h"
    assert main(["compile", VECADD, "--emit", "nvgpu", "-o", str(level)]) == 0
    assert main(["compile", str(level), "-o", str(out), "--header", str(header)]) == 0
    assert out.read_bytes().startswith(b"\x7fELF")
    assert "CUdeviceptr arg0 /* f32 */" in header.read_text()


def test_arguments_of_a_cutile_kernel_have_its_names(tmp_path: Path) -> None:
    """Sizes and strides by dimension, items of tuples by their places; constants are gone."""
    (tmp_path / "kernels.py").write_text(KERNELS)
    header = tmp_path / "k.h"
    signature = "f32[?]; f32[?]; f32; i32; =64"
    words = ["compile", f"{tmp_path / 'kernels.py'}:scale", "--sig", signature, "-o", str(tmp_path / "k.ptx")]
    assert main([*words, "--header", str(header)]) == 0
    launch = header.read_text().rpartition("_launch(\n")[2].partition(") {")[0]
    assert [line.split("/*")[0].split()[-1].rstrip(",") for line in launch.splitlines()[5:]] == [
        "x", "x_size0", "x_stride0", "y", "y_size0", "y_stride0", "factor", "pair",
    ]  # fmt: skip


def test_names_of_tuples_and_lists() -> None:
    array = ArrayParameter("f32", "i32", (None,), (None,), (1,), (1,), 1)
    parameters = (
        ("pair", TupleParameter((ScalarParameter("i32"), array))), ("all", ListParameter(array)),
        ("n", ConstantParameter(3)),
    )  # fmt: skip
    kernel = tilesat.compile(VECADD)
    assert ahead_of_time.argument_names(kernel, Calling("k", UNKNOWN, parameters)) == [
        "pair_0", "pair_1", "pair_1_size0", "pair_1_stride0", "all", "all_count",
    ]  # fmt: skip


def test_targets_of_one_architecture_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compile", VECADD, "--target", "sm_90,sm_90a", "-o", str(tmp_path / "k.ptx")]
    assert main([*words, "--header", str(tmp_path / "k.h")]) == 1
    assert "sm_90 and sm_90a have the same architecture: name one of them" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_header_needs_the_whole_pipeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compile", VECADD, "--stop-after", "convert-cuda-tile-to-tileaa", "--header", str(tmp_path / "k.h")]
    assert main(words) == 1
    assert "--header needs the whole pipeline" in capsys.readouterr().err


def test_cuda_h_is_found() -> None:
    """Else the headers are not compiled by any test."""
    assert headers() is not None, "pip install --no-deps nvidia-cuda-runtime"

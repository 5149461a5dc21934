"""The cuTile bridge: kernels and signatures in, compiled kernels or one located error out."""

from pathlib import Path

import cuda.tile as ct
import numpy as np
import pytest
from cuda.tile.compilation import ScalarConstraint

import tilesat
from ir.core import TileError
from tilesat import cutile_kernels
from tilesat.cli import main

SOURCE = """import cuda.tile as ct


@ct.kernel
def scale(x, y, factor, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)


@ct.kernel
def odd(x):
    ct.store(x, (0,), ct.load(x, (0,), (3,)))
"""


@ct.kernel
def scale(x, y, factor, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(SOURCE)
    return path


def test_a_kernel_compiles_and_runs():
    kernel = tilesat.compile(scale, signature="f32[?]; f32[?]; f32; =64", target="sm_80")
    assert kernel.entry.sym_name == "scale"
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal(128).astype(np.float32), np.zeros(128, np.float32)
    kernel.run(2, x, np.int32(128), np.int32(1), y, np.int32(128), np.int32(1), np.float32(1.5))
    np.testing.assert_array_equal(y, x * np.float32(1.5))


def test_constraints_are_passed_unchanged():
    parts = cutile_kernels.parse_signature("f32[?]; f32[?/16]:[1]@64; =64")
    kernel = tilesat.compile(scale, signature=[*parts[:2], ScalarConstraint(ct.float32), parts[2]])
    assert "div_by<64>" in kernel.stages["cuda_tile"]


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        (None, "a cuTile kernel needs a signature"),
        ("f32[?]", "@scale takes 4 parameters (x, y, factor, n), the signature names 1"),
        ("f99[?]; f32[?]; f32; =64", "unknown element type 'f99'"),
        ("f32[x]; f32[?]; f32; =64", "'x' is not a size"),
        ("f32[?]:[1,1]; f32[?]; f32; =64", "2 strides for 1 sizes"),
        ("f32[?]; f32[?]; f32; =many", "a constant is a number, true or false"),
        ("f32[?]; f32[?]; f32; =3", "is not a power of two"),
        ("?", "is not a parameter"),
    ],
)
def test_wrong_signatures_are_reported(signature, message):
    with pytest.raises(TileError) as caught:
        tilesat.compile(scale, signature=signature)
    assert message in caught.value.message


def test_the_command_line_takes_a_kernel_of_a_module(module, capsys):
    assert main(["compile", f"{module}:scale", "--sig", "f32[?]; f32[?]; f32; =64"]) == 0
    assert ".visible .entry scale(" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "place", "message"),
    [
        ("odd", "kernels.py:11:23", "is not a power of two"),
        ("none", "kernels.py", "'none' is not a cuTile kernel"),
    ],
)
def test_errors_lead_to_the_python_source(module, name, place, message, capsys):
    assert main(["compile", f"{module}:{name}", "--sig", "f32[?]"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert place in error


def test_a_module_that_fails_is_reported_with_its_line(tmp_path, capsys):
    path = tmp_path / "broken.py"
    path.write_text("import math\nmath.sqroot(2)\n")
    assert main(["compile", f"{path}:k", "--sig", "f32[?]"]) == 1
    assert capsys.readouterr().err.startswith(f"{path}:2:1: error: AttributeError: ")
    assert main(["compile", f"{Path('nothing.py')}:k", "--sig", "f32[?]"]) == 1

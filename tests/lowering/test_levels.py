"""Levels as files: what is printed reads back as the same program, with the same PTX and manifest."""

from pathlib import Path

import numpy as np
import pytest

import tilesat
from ir.levels import first_operation
from tests.programs import cutile_others, literals, products  # noqa: F401  (they fill PROGRAMS)
from tests.programs.program import PROGRAMS
from tilesat import TileError

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.mlir"))
LEVELS = ("nv_tileas", "nvgpu", "nvvm")
TARGETS = ("sm_80", "sm_90a", "sm_120a")


@pytest.mark.sampled(24)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_each_level_compiles_to_the_same_ptx_and_manifest(example: Path, target: str) -> None:
    kernel = tilesat.compile(example, target)
    logical = tilesat.compile(kernel.stages["nv_tileaa"], target)
    assert (logical.ptx, logical.manifest) == (kernel.ptx, kernel.manifest)
    assert logical.stages["nv_tileaa"] == kernel.stages["nv_tileaa"]
    for level in LEVELS:
        lowered = tilesat.lower(kernel.stages[level], target)
        assert lowered.ptx == kernel.ptx
        assert lowered.manifest == kernel.manifest
        below = LEVELS[LEVELS.index(level) :]
        assert [lowered.stages[name] for name in below] == [kernel.stages[name] for name in below]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "name", ["literal-signalling-f32", "literal-signalling-bf16", "matmul-f32-by-fma", "cutile-decode-8"]
)
def test_what_a_text_could_lose(name: str) -> None:
    """NaNs that signal; scratch that lies at offset 0, which is the default and so not printed."""
    kernel = tilesat.compile(PROGRAMS[name].source(), "sm_80")
    assert [tilesat.lower(kernel.stages[level]).ptx for level in LEVELS] == [kernel.ptx] * len(LEVELS)


ASSERTED = """
cuda_tile.module @m { entry @checked(%x: tile<ptr<i32>>, %v: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %right = cmpi greater_than %v, %zero, signed : tile<i32> -> tile<i1>
  assert %right, "v must be positive" : tile<i1>
  %start = make_token : token
  %t = store_ptr_tko weak %x, %v token = %start : tile<ptr<i32>>, tile<i32> -> token
  return } }
"""


def test_an_assertion_keeps_its_place() -> None:
    kernel = tilesat.compile(ASSERTED)
    assert tilesat.compile(kernel.stages["nv_tileaa"]).ptx == kernel.ptx
    assert "line = 5 : i64" in kernel.stages["nv_tileas"]
    assert [tilesat.lower(kernel.stages[level]).ptx for level in LEVELS] == [kernel.ptx] * len(LEVELS)


HINTED = """
cuda_tile.module @m { entry @add(%x: tile<ptr<f32>>) optimization_hints=<sm_80 = {occupancy = 4}> {
  %i = iota : tile<128xi32>
  %p = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b = broadcast %p : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %at = offset %b, %i : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
  %v, %t = load_ptr_tko weak %at : tile<128xptr<f32>> -> tile<128xf32>, token
  %s = addf %v, %v : tile<128xf32>
  %u = store_ptr_tko weak %at, %s token = %t : tile<128xptr<f32>>, tile<128xf32> -> token
  return } }
"""


def test_the_occupancy_that_a_hint_asks_for_is_kept() -> None:
    kernel = tilesat.compile(HINTED)
    assert ".minnctapersm 4" in kernel.ptx
    assert tilesat.compile(kernel.stages["nv_tileaa"]).ptx == kernel.ptx
    assert [tilesat.lower(kernel.stages[level]).ptx for level in LEVELS] == [kernel.ptx] * len(LEVELS)


def test_a_kernel_of_a_level_runs() -> None:
    kernel = tilesat.compile(HINTED)
    for level in LEVELS:
        lowered = tilesat.lower(kernel.stages[level])
        x = np.random.default_rng(7).standard_normal(128).astype(np.float32)
        expected = x + x
        lowered.run(1, x, hazards=True)
        assert np.array_equal(x, expected)
        assert repr(lowered).startswith("<LoweredKernel @add for sm_80: ")
        assert lowered.level == level


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "entry 'add' expects 1 arguments, got 0"),
        ((np.zeros(128),), "parameter 0 of entry 'add' is tile<ptr<f32>>, the argument is"),
        ((3,), "parameter 0 of entry 'add' is tile<ptr<f32>>, the argument is 3"),
    ],
)
def test_arguments_are_checked_against_the_parameters(arguments: tuple[object, ...], message: str) -> None:
    lowered = tilesat.lower(tilesat.compile(HINTED).stages["nvvm"])
    with pytest.raises(TileError) as error:
        lowered.run(1, *arguments)  # pyright: ignore[reportArgumentType]
    assert message in error.value.message


def test_lower_takes_a_path(tmp_path: Path) -> None:
    kernel = tilesat.compile(HINTED)
    path = tmp_path / "add.mlir"
    path.write_text(kernel.stages["nvgpu"])
    assert tilesat.lower(path).ptx == kernel.ptx
    with pytest.raises(TileError, match="cannot read the file"):
        tilesat.lower(tmp_path / "none.mlir")
    with pytest.raises(TileError, match="not a kernel of nv_tileas, nvgpu, nvvm"):
        tilesat.lower(HINTED)
    with pytest.raises(TileError, match="the kernel was compiled for sm_80, not for sm_90a"):
        tilesat.lower(path, "sm_90a")


def test_the_first_operation_says_the_level() -> None:
    assert first_operation(' // a comment\n "tilesat.gpu.func"() <{}>') == "gpu.func"
    assert first_operation("cuda_tile.module @m {}") == ""

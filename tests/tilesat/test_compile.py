"""The Python API: what compile takes, what a kernel holds, and how misuse is told."""

import json
from pathlib import Path

import numpy as np
import pytest

import tilesat
from tests.tilesat.example_cases import EXAMPLES, softmax, vecadd

VECADD = EXAMPLES / "vecadd_view.mlir"
SOFTMAX = EXAMPLES / "softmax.mlir"
BYTECODE = Path(__file__).resolve().parents[1] / "data" / "bytecode" / "vecadd_view.13.3.tileirbc"


def test_path_string_and_text_give_the_same_kernel() -> None:
    kernels = [tilesat.compile(source) for source in (VECADD, str(VECADD), VECADD.read_text())]
    assert len({kernel.ptx for kernel in kernels}) == 1


def test_bytecode_is_taken_as_bytes_or_path() -> None:
    assert tilesat.compile(BYTECODE.read_bytes()).ptx == tilesat.compile(BYTECODE).ptx


def test_compiling_twice_gives_the_same_ptx() -> None:
    """The second run meets a warm engine: nothing of the first may leak into it."""
    first = tilesat.compile(SOFTMAX, "sm_80")
    tilesat.compile(VECADD, "sm_89")
    assert tilesat.compile(SOFTMAX, "sm_80").ptx == first.ptx


def test_kernel_says_what_it_cost_and_how_long_each_stage_took() -> None:
    kernel = tilesat.compile(SOFTMAX)
    assert 0 < kernel.bound <= kernel.cost
    assert list(kernel.seconds)[:2] == ["read", "verify"]
    assert {"encode", "saturate", "extract", "ptx"} <= set(kernel.seconds)
    assert all(seconds >= 0 for seconds in kernel.seconds.values())
    assert json.loads(json.dumps(kernel.manifest)) == kernel.manifest


def test_stages_are_printed_once_and_only_when_asked() -> None:
    kernel = tilesat.compile(SOFTMAX)
    assert set(kernel.stages) == {
        "cuda_tile", "nv_tileaa", "egraph", "nv_tileas", "nvgpu", "nvvm", "ptx", "sass",
    }  # fmt: skip
    assert kernel.stages["ptx"] == kernel.ptx
    assert "nvgpu.load" in kernel.stages["nvgpu"]
    with pytest.raises(KeyError):
        kernel.stages["llvm"]


def test_printed_cuda_tile_compiles_to_the_same_ptx() -> None:
    kernel = tilesat.compile(SOFTMAX)
    assert tilesat.compile(kernel.stages["cuda_tile"]).ptx == kernel.ptx


@pytest.mark.parametrize("on", ["sim", "ref"])
def test_kernel_runs_in_place(on: str) -> None:
    case = vecadd("vecadd_view", 1500)
    arguments = case.fresh()
    tilesat.compile(VECADD).run(case.grid, *arguments, on=on)
    assert np.abs(case.logical(arguments) - case.expected).max() < 1e-6


def test_extractors_agree_on_what_the_bound_allows() -> None:
    costs = {method: tilesat.compile(SOFTMAX, extractor=method) for method in ("tree", "greedy", "ilp")}
    best = costs["ilp"].cost
    for method, kernel in costs.items():
        assert kernel.bound <= best * (1 + 1e-9), method
        assert kernel.cost >= best * (1 - 1e-9), method
        case = softmax(2, 1000)
        arguments = case.fresh()
        kernel.run(case.grid, *arguments)
        assert np.abs(case.logical(arguments) - case.expected).max() <= case.tolerance


def two_entries() -> str:
    """A module that holds the vector addition twice."""
    head, _, body = VECADD.read_text().partition("  entry @vecadd_view")
    body = body.rstrip().removesuffix("}")
    return f"{head}  entry @first{body}  entry @second{body}}}\n"


def test_module_with_several_entries_needs_a_name() -> None:
    with pytest.raises(tilesat.TileError, match="several entries") as caught:
        tilesat.compile(two_entries())
    assert "first, second" in caught.value.hint
    assert tilesat.compile(two_entries(), entry="second").manifest["entry"] == "second"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no/such/file.mlir", "No such file"),
        ("entry @k( {", "error"),
        (b"\x7fTileIR\x00", "error"),
        (b"", "no entry"),
    ],
)
def test_bad_source_is_a_located_tile_error(source: str | bytes, message: str) -> None:
    with pytest.raises(tilesat.TileError) as caught:
        tilesat.compile(source)
    assert message in str(caught.value)


def test_unknown_place_to_run_is_refused() -> None:
    case = vecadd("vecadd_view", 10)
    with pytest.raises(tilesat.TileError, match="running on 'moon' is not supported"):
        tilesat.compile(VECADD).run(case.grid, *case.fresh(), on="moon")


def test_unknown_name_of_the_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'compiler_of_everything'"):
        tilesat.compiler_of_everything  # noqa: B018

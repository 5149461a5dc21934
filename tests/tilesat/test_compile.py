"""The Python API: what compile takes, what a kernel holds, and how misuse is told."""

import json
import re
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest

import tilesat
from lowering.atoms.names import MOVES, check_forbidden, every_name
from ptxsim import HazardError
from tests.tilesat.example_cases import EXAMPLES, softmax, vecadd

ROOT = Path(__file__).resolve().parents[2]
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
    assert {"encode", "saturate", "extract", "print-ptx"} <= set(kernel.seconds)
    assert all(seconds >= 0 for seconds in kernel.seconds.values())
    assert json.loads(json.dumps(kernel.manifest)) == kernel.manifest


def test_stages_are_printed_once_and_only_when_asked() -> None:
    kernel = tilesat.compile(SOFTMAX)
    assert set(kernel.stages) == {
        "cuda_tile", "nv_tileaa", "egraph", "egraph-json", "egglog", "nv_tileas", "nvgpu", "nvvm", "llvm", "ptx",
        "sass",
    }  # fmt: skip
    assert kernel.stages["ptx"] == kernel.ptx
    assert "nvgpu.load" in kernel.stages["nvgpu"]
    with pytest.raises(KeyError):
        kernel.stages["machine"]


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


MISUSED = {
    "the program: expected a path, text, bytecode or a cuTile kernel, got 3": ((3,), {}),
    "the program: expected a path, text, bytecode or a cuTile kernel, got None": ((None,), {}),
    "target: expected a name, got ['sm_80']": ((VECADD, ["sm_80"]), {}),
    "unknown target 'sm_1'": ((VECADD, "sm_1"), {}),
    "forbid: expected a list of names, got 'ldmatrix'": ((VECADD,), {"forbid": "ldmatrix"}),
    "fast: expected a list of names, got 'nsz'": ((VECADD,), {"fast": "nsz"}),
    "fast['vecadd']: expected a list of names, got 'nsz'": ((VECADD,), {"fast": {"vecadd": "nsz"}}),
    "fast: expected a name, got 1": ((VECADD,), {"fast": {1: ["nsz"]}}),
    "there is no permission 'quick'": ((VECADD,), {"fast": {"vecadd": ["quick"]}}),
    "permission 'gemm=nsz': there is no entry 'gemm'": ((VECADD,), {"fast": {"gemm": ["nsz"]}}),
    "forbid: expected a list of names, one of them is 3": ((VECADD,), {"forbid": [3]}),
    "forbid: no atom has a name that starts with 'ldmatrx'": ((VECADD,), {"forbid": ["mma", "ldmatrx"]}),
    "forbid: no atom has a name that starts with 'warp'": ((VECADD,), {"forbid": ["warp"]}),
    "without: expected a list of names, got 'sink-negf'": ((VECADD,), {"without": "sink-negf"}),
    "no rule has a name that starts with 'sinking'": ((VECADD,), {"without": ["sinking"]}),
    "rules: expected a list of names, got 'a.egg'": ((VECADD,), {"rules": "a.egg"}),
    "rules: expected a list of names, got 5": ((VECADD,), {"rules": 5}),
    "extractor: expected one of auto, tree, greedy, pruned, ilp, top:N, or a function, got 'best'": (
        (VECADD,),
        {"extractor": "best"},
    ),
    "the module has no entry 3": ((VECADD,), {"entry": 3}),
    "extract_budget: expected a number above 0, got 'x'": ((VECADD,), {"extract_budget": "x"}),
    "saturate_budget: expected a number above 0, got -1": ((VECADD,), {"saturate_budget": -1}),
    "cannot read the file: embedded null byte": (("a\0b",), {}),
    "cannot read the file: File name too long": (("x" * 5000,), {}),
}


@pytest.mark.parametrize("message", MISUSED)
def test_misuse_is_one_message(message: str) -> None:
    given, options = MISUSED[message]
    with pytest.raises(tilesat.TileError) as caught:
        tilesat.compile(*given, **options)
    assert message in caught.value.message
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ("sm_80", "targets: expected a list of names, got 'sm_80'"),
        ([], "targets: expected one name or more, got none"),
        ([80], "targets: expected a list of names, one of them is 80"),
    ],
)
def test_misuse_of_several_targets(targets: Any, message: str) -> None:
    with pytest.raises(tilesat.TileError) as caught:
        tilesat.compile_for(VECADD, targets)
    assert caught.value.message == message


def test_atoms_are_forbidden_by_the_names_that_there_are() -> None:
    """Each atom or family of atoms that the tables of cost ask for is declared, and each name of an atom is taken."""
    sources = [path.read_text() for path in (ROOT / "lowering/selection").glob("*.py")]
    asked = {name for source in sources for name in re.findall(r'forbidden\("([^"]+)"\)', source)}
    families = {name.partition(".")[0] for name in every_name()}
    assert asked <= {*MOVES, *families}
    assert {"st.global", "tcgen05"} <= asked
    check_forbidden(frozenset(every_name()))
    for name in ("wgmma.m64n64k16.f16.f16.ss", "wgmma.m64n8k32.s8.u8.rs", "mma.sync.m16n8k16.f16.f16"):
        assert name in set(every_name())


def test_bytes_of_any_kind_and_any_path_are_sources() -> None:
    text = VECADD.read_bytes()
    kernels = [tilesat.compile(source) for source in (bytearray(text), memoryview(text), PurePosixPath(VECADD))]
    assert len({kernel.ptx for kernel in kernels}) == 1


@pytest.mark.parametrize(
    ("position", "argument", "message"),
    [
        (0, list(range(4000)), "parameter 0 of entry 'vecadd_view' is tile<ptr<f32>>, the argument is a list of 4000 "),
        (3, 10**5000, "parameter 3 of entry 'vecadd_view' is tile<i32>, the argument is an integer of 16610 bits"),
        (3, np.zeros((50, 50)), "parameter 3 of entry 'vecadd_view' is tile<i32>, the argument is float64[50, 50]"),
        (3, "x" * 4000, "the argument is 'xxxx"),
    ],
    ids=["list", "number", "array", "string"],
)  # fmt: skip
def test_a_wrong_argument_is_not_repeated_whole(position: int, argument: Any, message: str) -> None:
    case = vecadd("vecadd_view", 10)
    arguments = case.fresh()
    arguments[position] = argument
    with pytest.raises(tilesat.TileError) as caught:
        tilesat.compile(VECADD).run(case.grid, *arguments)
    assert message in caught.value.message
    assert len(caught.value.message) < 200


def test_a_kernel_is_shown_in_one_line() -> None:
    kernel = tilesat.compile(VECADD)
    lines = len(kernel.ptx.splitlines())
    assert repr(kernel) == f"<Kernel @vecadd_view for sm_80: {lines} lines of PTX, cost {kernel.cost:.6g} cycles>"


def test_unknown_place_to_run_is_refused() -> None:
    case = vecadd("vecadd_view", 10)
    with pytest.raises(tilesat.TileError, match="running on 'moon' is not supported"):
        tilesat.compile(VECADD).run(case.grid, *case.fresh(), on="moon")


def test_unknown_name_of_the_package_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'compiler_of_everything'"):
        tilesat.compiler_of_everything  # noqa: B018


# --- run(check=True)


def spoiled(error: float) -> Any:
    """f16 sums whose PTX adds `error` times the sum to each; the right kernel and its arguments."""
    text = VECADD.read_text().replace("f32", "f16").replace("0.000000e+00 : f16", "0.000000e+00 : f16")
    kernel = tilesat.compile(text)
    factor = np.float16(1 + error).view(np.uint16)
    name, count = re.subn(
        r"add\.rn\.f16x2 (%\w+), (%\w+), (%\w+);",
        rf"add.rn.f16x2 \1, \2, \3; mul.rn.f16x2 \1, \1, 0x{int(factor):04x}{int(factor):04x};",
        kernel.ptx,
    )
    assert count
    object.__setattr__(kernel.compiled, "ptx", name)
    return kernel


@pytest.mark.parametrize(("error", "wrong"), [(0.0, False), (2.0**-10, False), (2.0**-7, True), (1.0, True)])
def test_check_finds_what_is_off_by_more_than_the_tolerance(error: float, wrong: bool) -> None:
    kernel = spoiled(error)
    x, y, z = (np.random.default_rng(i).standard_normal(3000).astype(np.float16) for i in range(3))
    if not wrong:
        kernel.run(3, x, y, z, 3000, check=True)
        assert np.abs(z.astype(np.float32) - x - y).max() < 0.02
        return
    with pytest.raises(tilesat.WrongResultError, match=r"arg2: WRONG, largest error .* at \[\d+\], expected") as caught:
        kernel.run(3, x, y, z, 3000, check=True)
    assert [each.ok for each in caught.value.comparisons] == [True, True, False]
    kernel.run(3, x, y, z, 3000, check=True, tolerance=2.0)


def test_check_looks_for_hazards_by_default() -> None:
    """The hazard names the source line, although the PTX has no line information."""
    kernel = tilesat.compile(EXAMPLES / "gemm.mlir")
    object.__setattr__(kernel.compiled, "ptx", re.sub(r"cp\.async\.wait_group \d+;", "", kernel.ptx))
    arguments = [np.random.default_rng(i).standard_normal((128, n)) for i, n in enumerate((64, 64, 128, 128))]
    a, b, c, d = (x.astype(kind) for x, kind in zip(arguments, ("f2", "f2", "f4", "f4"), strict=True))
    given = (1, a, b, c, d, 128, 128, 64, 64, 64, 128, 128)
    with pytest.raises(HazardError, match=r"PTX line \d+ .*gemm\.mlir:\d+\)") as caught:
        kernel.run(*given, check=True)
    assert caught.value.hazards[0].source == caught.value.source
    kernel.run(*given, check=True, hazards=False)
    report = kernel.run(*given, hazards="report")
    assert report is not None
    assert all(re.search(r"gemm\.mlir:\d+$", each.source) for each in report.hazards)
    assert kernel.run(*given) is not None


def test_an_array_given_twice_is_checked_as_one() -> None:
    x, y = (np.random.default_rng(i).standard_normal(3000).astype(np.float32) for i in range(2))
    wanted = x + y
    tilesat.compile(EXAMPLES / "vecadd_ptr.mlir").run(3, x, y, x, 3000, check=True)
    assert np.array_equal(x, wanted)

"""What prints under a name of upstream MLIR is upstream's operation, by its own parser and verifier (extra mlir)."""

import importlib
import sys
import types
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import OPS, Block, Op, Region
from ir.dialects import arith, llvm, nv_tileaa, nv_tileas, scf
from ir.dialects.cuda_tile.attributes import DenseElements
from ir.dialects.llvm import Constant
from ir.levels import OURS
from ir.text import print_generic
from ir.text.level_input import read_level
from ir.types import BF16, F16, F32, I1, I32, TF32, TensorType
from ir.upstream import UPSTREAM, written_name
from lowering import levels as levels  # declares the operations of every level
from tests.programs.program import PROGRAMS
from tests.programs.test_programs import NAMES

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.mlir"))
LEVELS = ("nv_tileaa", "nv_tileas", "nvgpu", "nvvm")
WHEEL = "numba_cuda_mlir"


def number(value: float, type_: Any = F32) -> Op:
    return Constant((), [type_], {"value": value})


def test_a_sum_that_rounds_otherwise_is_ours() -> None:
    x = arith.Constant((), [F32], {"value": 1.5}).results[0]
    assert written_name(arith.AddF((x, x))) == "arith.addf"
    assert written_name(arith.AddF((x, x), None, {"rounding": "rz"})) == OURS + "arith.addf"
    assert written_name(arith.AddF((x, x), None, {"ftz": True})) == OURS + "arith.addf"


def test_types_that_llvm_lacks_are_ours() -> None:
    assert written_name(number(1.5)) == "llvm.mlir.constant"
    assert written_name(number(1.5, TF32)) == OURS + "llvm.mlir.constant"


def test_conversions_that_upstream_refuses_are_ours() -> None:
    """It counts 19 bits of tf32, and truncf must make a float narrower."""

    def name(cls: type[Op], source: Any, result: Any) -> str:
        return written_name(cls(number(1.5, source).results, [result]))

    assert name(arith.TruncF, F32, TF32) == "arith.truncf"
    assert name(arith.TruncF, TF32, F32) == OURS + "arith.truncf"
    assert name(arith.TruncF, F16, BF16) == OURS + "arith.truncf"
    assert name(arith.ExtF, F16, F32) == "arith.extf"


def test_many_truth_values_are_a_list() -> None:
    """MLIR packs eight of them in a byte of raw data."""
    value = DenseElements(np.arange(128) % 3 == 0)
    made = nv_tileaa.ConstantTensor((), [TensorType((128,), I1)], {"value": value})
    text = print_generic(made)
    assert "dense<[true, false, false, true, " in text
    assert read_level(text).attributes["value"] == value


def test_a_yield_is_upstreams_in_loops_and_branches_only() -> None:
    region = Region([Block([F32, F32])])
    region.block.append(scf.Yield([region.block.args[0]]))
    nv_tileas.Reduce((), (), {"dim": 0, "identities": (0.0,)}, [region])
    assert written_name(region.block.terminator) == OURS + "scf.yield"
    sides = [Region([Block()]), Region([Block()])]
    for side in sides:
        side.block.append(scf.Yield())
    scf.If((arith.Constant((), [I1], {"value": 1}).results[0],), (), {}, sides)
    assert written_name(sides[0].block.terminator) == "scf.yield"


@pytest.mark.in_turn
def test_no_operation_of_ours_prints_under_a_dialect_of_upstream() -> None:
    text = "".join(tilesat.compile(EXAMPLES[0], "sm_90a").stages[level] for level in LEVELS)
    for name in (name for name, cls in OPS.items() if name.partition(".")[0] in UPSTREAM and not cls.info.upstream):
        assert f'"{name}"(' not in text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('"arith.cmpi"(%a, %a) <{predicate = 11 : i64}> : (i32, i32) -> i1', "must be a number from 0 to 9"),
        ('"arith.cmpi"(%a, %a) <{predicate = "eq"}> : (i32, i32) -> i1', "must be a number from 0 to 9"),
        ('"arith.addi"(%a, %a) <{overflowFlags = #arith.overflow<nuw>}> : (i32, i32) -> i32',
         "must be #arith.overflow<nsw>"),
        ('"scf.for"(%a, %a, %a) <{unsignedCmp = 3}> ({}) : (i32, i32, i32) -> ()', "must be unit"),
    ],
)  # fmt: skip
def test_upstreams_spelling_is_checked(text: str, wanted: str) -> None:
    with pytest.raises(tilesat.TileError, match=wanted):
        read_level(f'"t.r"() ({{\n^bb0(%a: i32):\n%r = {text}\n}}) : () -> ()'.replace('"t.r"', '"nv_tileas.func"'))


def test_spellings_of_upstream() -> None:
    block = Block([I32])
    x = block.args[0]
    block.append(llvm.ICmp((x, x), [I1], {"predicate": "uge"}))
    block.append(llvm.Add((x, x), None, {"nsw": True}))
    text = print_generic(nv_tileas.Func((), (), {"sym_name": "f", "target": "sm_80", "warps": 4}, [Region([block])]))
    assert "<{predicate = 9 : i64}>" in text
    assert "<{overflowFlags = #llvm.overflow<nsw>}>" in text
    assert print_generic(read_level(text)) == text


# With upstream's bindings


@pytest.fixture(scope="session")
def mlir() -> Any:
    """Upstream's Python bindings; the wheel's own package is not run, only theirs below it."""
    spec = find_spec(WHEEL)
    assert spec is not None, "the extra mlir is not installed: run make test-mlir"
    package = types.ModuleType(WHEEL)
    package.__path__ = list(spec.submodule_search_locations or ())
    sys.modules[WHEEL] = package
    return importlib.import_module(f"{WHEEL}._mlir.ir")


@pytest.fixture(scope="session")
def context(mlir: Any) -> Any:
    """A context that takes operations of dialects which it does not know."""
    made = mlir.Context()
    made.allow_unregistered_dialects = True
    return made


@pytest.mark.mlir
def test_upstream_has_every_operation_that_claims_it(mlir: Any, context: Any) -> None:
    with context:
        mlir.Module.parse("module {}")
        claimed = [name for name, cls in OPS.items() if cls.info.upstream]
        assert len(claimed) > 100
        assert [name for name in claimed if not context.is_registered_operation(name)] == []


@pytest.mark.mlir
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_120a"])
@pytest.mark.parametrize("example", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_upstream_verifies_every_level_of_examples(example: Path, target: str, mlir: Any, context: Any) -> None:
    judge(tilesat.compile(example, target), mlir, context)


@pytest.mark.mlir
@pytest.mark.parametrize("name", NAMES[::2])
def test_upstream_verifies_every_level_of_programs(name: str, mlir: Any, context: Any) -> None:
    try:
        kernel = tilesat.compile(PROGRAMS[name].source(), "sm_80")
    except tilesat.TileError:
        kernel = tilesat.compile(PROGRAMS[name].source(), "sm_90a")
    judge(kernel, mlir, context)


def judge(kernel: tilesat.Kernel, mlir: Any, context: Any) -> None:
    with context:
        for level in LEVELS:
            assert mlir.Module.parse(kernel.stages[level]).operation.verify()

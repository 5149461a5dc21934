"""Lowerings are declared in one way: a second one, and an operation with none, are errors; pyright checks the types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from egraph.forms import placed_form
from ir.core import OPS, Block, Location, Op, UnsupportedError
from ir.dialects import arith, gpu, nv_tileas, scf
from ir.dialects import cuda_tile as ct
from lowering.convert.nvgpu_to_nvvm import control, elementwise
from lowering.convert.nvgpu_to_nvvm.context import Conversion, lowers_each
from lowering.convert.nvgpu_to_nvvm.context import lowers as to_nvvm
from lowering.convert.tileas_to_nvgpu import tiles
from lowering.convert.tileas_to_nvgpu.context import LAZY
from lowering.convert.tileas_to_nvgpu.context import lowers as to_nvgpu
from lowering.decode.context import lowers as decoded
from lowering.decode.context import lowers_effect, lowers_item
from lowering.dispatch import Lowerings
from lowering.ptx.select import lowers as to_ptx
from lowering.selection.pricing import prices

TABLES = (to_nvvm, to_nvgpu, to_ptx, decoded, lowers_effect, lowers_item, prices)
AT = Location("kernel.mlir", 3, 5)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.what)
def test_a_second_entry_is_refused(table: Lowerings[object, ..., object]) -> None:
    kind, entry = next(iter(table.declared.items()))
    with pytest.raises(TypeError, match=f"{kind.__name__} already has a {table.what}"):
        table(kind)(entry)


def test_an_elementwise_op_has_no_other_pattern() -> None:
    with pytest.raises(TypeError, match="AddI already has a nvvm pattern"):
        to_nvvm(arith.AddI)(control.terminator)
    with pytest.raises(TypeError, match="Barrier already has a nvvm pattern"):
        lowers_each(gpu.Barrier)(elementwise.truncate)


@pytest.mark.parametrize("table", [to_nvvm, to_nvgpu, to_ptx, lowers_effect], ids=lambda table: table.what)
def test_an_operation_without_an_entry_is_refused_where_it_is(table: Lowerings[object, ..., object]) -> None:
    op = nv_tileas.Meet((), (), {"among": (1, 1, 1)}, (), AT)
    if table is lowers_effect:
        op = nv_tileas.Barrier((), (), {}, (), AT)
    with pytest.raises(UnsupportedError, match=f"no {table.what} for '{op.name}'") as refused:
        table.of(op)
    assert refused.value.location is AT


def test_the_walk_refuses_it() -> None:
    conversion = Conversion(Block(), "sm_80", (128, 1, 1), frozenset())
    with pytest.raises(UnsupportedError, match=r"no nvvm pattern for 'nv_tileas\.barrier'"):
        conversion.ops([nv_tileas.Barrier((), (), {}, (), AT)])


def test_the_nearest_entry_is_found() -> None:
    table: Lowerings[None, [], str] = Lowerings("name")
    table(Op)(lambda _, op: "any")
    table(arith.IntBinary)(lambda _, op: "integers")
    assert [table[kind](None, None) for kind in (arith.AddI, arith.AddF, arith.AddI)] == ["integers", "any", "integers"]
    table(arith.SubI)(lambda _, op: "difference")
    assert table[arith.SubI](None, None) == "difference"
    assert table.find(arith.AddI) is table.declared[arith.IntBinary]


def without_entry(table: Lowerings[..., ..., object], *dialects: str) -> set[str]:
    """Operations of these dialects that have none."""
    return {name for name, kind in OPS.items() if name.split(".")[0] in dialects and table.find(kind) is None}


def test_every_operation_of_a_level_has_an_entry() -> None:
    assert without_entry(to_nvvm, "arith", "math", "scf", "vector", "nvgpu", "gpu", "ub") == {"gpu.func"}
    branches = {"llvm.br", "llvm.cond_br", "llvm.return"}
    assert without_entry(to_ptx, "llvm", "nvvm") == {"llvm.func", "llvm.bitcast", *branches}  # a cast shares a register
    ends = {"scf.yield", "scf.condition"}
    found = without_entry(to_nvgpu, "arith", "math", "scf", "nv_tileas") - ends
    pipelines = {name for name in found if name.startswith("nv_tileas.async.pipeline.")}
    scheduled = {"staged_store", "tiled_copy", "gather_copy", "hold", "cluster.meet", "cluster.partial_sum", "func"}
    assert found - pipelines == {f"nv_tileas.{name}" for name in scheduled}  # scheduling has made other ops of these
    assert len(pipelines) == 14


def test_every_scalar_form_of_an_elementwise_operation_has_an_entry() -> None:
    forms = {name for kind in OPS.values() for name in [getattr(kind, "lowers_to", "")] if name}
    assert len(forms) > 50
    assert {name for name in forms if to_nvgpu.find(OPS[name]) is None} == {"llvm.getelementptr"}  # nv_tileas.addptr


def test_an_operation_without_a_placed_form_is_refused() -> None:
    assert placed_form(ct.GetGlobal).operation is ct.GetGlobal
    with pytest.raises(TypeError, match="StoreView has no placed form"):
        placed_form(ct.StoreView)


def test_what_is_lazy_is_declared_next_to_its_lowering() -> None:
    lazy = (nv_tileas.Iota, nv_tileas.Broadcast, nv_tileas.Reshape, nv_tileas.Permute, arith.AddF)
    assert all(to_nvgpu[kind] in LAZY for kind in lazy)
    assert not {to_nvgpu[kind] for kind in (nv_tileas.Gather, scf.For, nv_tileas.Dot)} & LAZY
    assert len(LAZY) == 4
    assert tiles.elementwise in LAZY


DECLARED = """
from ir.core import Op
from ir.dialects import nvgpu
from lowering.convert.nvgpu_to_nvvm.context import Conversion, lowers

@lowers(nvgpu.Load)
def exact(c: Conversion, op: nvgpu.Load) -> None: ...

@lowers(nvgpu.Load, nvgpu.Store)
def of_both(c: Conversion, op: nvgpu.Load | nvgpu.Store) -> None: ...

@lowers(nvgpu.Load)
def general(c: Conversion, op: Op) -> None: ...
"""
WRONG = """
@lowers({declared})
def wrong(c: Conversion, op: {taken}) -> {gives}: ...
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("declared", "taken", "gives"),
    [
        ("nvgpu.Load", "nvgpu.Store", "None"),
        ("nvgpu.Load, nvgpu.Store", "nvgpu.Load", "None"),
        ("nvgpu.Load", "nvgpu.Load", "int"),
        ("", "", ""),
    ],
)
def test_pyright_refuses_a_function_of_another_operation(declared: str, taken: str, gives: str, tmp_path: Path) -> None:
    root, pyright = Path(__file__).parents[2], Path(sys.executable).with_name("pyright")
    if not pyright.exists():
        pytest.skip("pyright is not installed: make lint")
    source = tmp_path / "declared.py"
    source.write_text(DECLARED + (WRONG.format(declared=declared, taken=taken, gives=gives) if declared else ""))
    (tmp_path / "pyrightconfig.json").write_text(f'{{"typeCheckingMode": "strict", "extraPaths": ["{root}"]}}')
    command = [pyright, "-p", tmp_path, "--pythonpath", sys.executable, source]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    errors = [line for line in told.splitlines() if " error: " in line]
    assert len(errors) == bool(declared), told
    assert all("reportArgumentType" in told and "declared.py:15:" in line for line in errors), told

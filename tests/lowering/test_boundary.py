"""The function boundary: each attribute of a kernel has its line of PTX, clusters too; returns hand nothing back."""

from __future__ import annotations

import numpy as np
import pytest

import tilesat
from ir.core import TileError
from ir.dialects import llvm
from lowering.ptx.boundary import DIRECTIVES, ROWS
from runtime.ptxas import assemble
from tests.tilesat.example_cases import EXAMPLES

LEVELS = ("nv_tileas", "nvgpu", "nvvm")
VECADD = EXAMPLES / "vecadd_view.mlir"


def changed(level: str, target: str, **attributes: str) -> str:
    """The text of a level with attributes of the kernel set."""
    text = tilesat.compile(VECADD, target).stages[level]
    given = ", ".join(f"{name} = {value}" for name, value in attributes.items())
    assert text.count("<{") > 1
    return text.replace("<{", f"<{{{given}, ", 1)


def test_rows_are_attributes_of_a_kernel() -> None:
    assert {row.attribute for row in ROWS} <= {attr.name for attr in llvm.Func.info.attributes}
    assert len({row.attribute for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("level", LEVELS)
def test_a_cluster_reaches_ptx_and_the_launch(level: str) -> None:
    """Three clusters of two CTAs; the simulator refuses a launch without them."""
    lowered = tilesat.lower(changed(level, "sm_90a", cluster="array<i64: 2, 1, 1>"))
    assert ".reqntid 128, 1, 1\n.reqnctapercluster 2, 1, 1\n{" in lowered.ptx
    assert lowered.manifest["cluster"] == [2, 1, 1]
    assemble(lowered.ptx, "sm_90a")
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal(6000).astype(np.float32) for _ in range(2))
    z = np.zeros_like(x)
    lowered.run(3, x, y, z, 6000)
    np.testing.assert_array_equal(z, x + y)


@pytest.mark.parametrize(
    ("attributes", "lines"),
    [
        ({"minctas": "3 : i64"}, [".reqntid 128, 1, 1", ".minnctapersm 3"]),
        ({"minctas": "3 : i64", "maxnreg": "64 : i64"}, [".reqntid 128, 1, 1", ".maxnreg 64"]),
        ({"dynamic_smem": "131072 : i64"}, [".reqntid 128, 1, 1", ".minnctapersm 1"]),  # one CTA fits: it may have all
        ({"cluster": "array<i64: 1, 4, 2>"}, [".reqntid 128, 1, 1", ".reqnctapercluster 1, 4, 2"]),
    ],
)
def test_directives(attributes: dict[str, str], lines: list[str]) -> None:
    ptx = tilesat.lower(changed("nvvm", "sm_90a", **attributes)).ptx
    assert ptx.partition("\n)\n")[2].partition("\n{")[0].splitlines() == lines
    assert len(DIRECTIVES) >= len(lines)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("target", "cluster", "message"),
    [
        ("sm_80", "2, 1, 1", "clusters of 2 CTAs: sm_80 has no clusters"),
        ("sm_90a", "4, 4, 1", "clusters of 16 CTAs: at most 8 are portable"),
        ("sm_90a", "2, 1", "cluster must have three dimensions above 0"),
        ("sm_90a", "2, 0, 1", "cluster must have three dimensions above 0"),
    ],
)
@pytest.mark.parametrize("level", LEVELS)
def test_bad_clusters(level: str, target: str, cluster: str, message: str) -> None:
    with pytest.raises(TileError, match=message) as caught:
        tilesat.lower(changed(level, target, cluster=f"array<i64: {cluster}>"))
    assert caught.value.location.line > 0


@pytest.mark.parametrize("level", LEVELS)
def test_a_kernel_returns_nothing(level: str) -> None:
    text = tilesat.compile(VECADD, "sm_80").stages[level]
    with pytest.raises(TileError, match="operand") as caught:
        tilesat.lower(text.replace('return"() : () -> ()', 'return"(%arg0) : (!llvm.ptr<1>) -> ()'))
    assert caught.value.location.line > 5

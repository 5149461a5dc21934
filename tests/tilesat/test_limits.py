"""Kernels at the edge of what a target holds: one located message, or another road that fits."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

import tilesat
from lowering import pipeline
from lowering.targets import ALL_TARGETS
from lowering.targets.target import Limit
from tests.tilesat.example_cases import EXAMPLES
from tilesat import TileError
from tilesat.fuzz.writer import Writer


def gemm_text(m: int, n: int, k: int) -> str:
    """examples/gemm.mlir with other tiles."""
    lines = (EXAMPLES / "gemm.mlir").read_text().splitlines()
    for i, line in enumerate(lines):
        rows = n if "%b_tiles" in line or "permute" in line else m
        line = line.replace("128x128", f"{m}x{n}").replace("(128x64)", f"({rows}x{k})")
        line = line.replace("tile<64x128xf16>", f"tile<{k}x{n}xf16>").replace(
            "tile<128x64xf16>", f"tile<{rows}x{k}xf16>"
        )
        lines[i] = line
    return "\n".join(lines)


def test_accumulator_that_no_registers_hold() -> None:
    """Rows of a tile times its transpose are its columns too: no slice stands alone."""
    w = Writer("square", a="ptr<f16>", d="ptr<f32>")
    x = w.load(w.view(w.a, [512, 16], [16, 1], [512, 16]), 0, 0)
    w.store(w.dot(x, x.T), w.view(w.d, [512, 512], [512, 1], [512, 512]), 0, 0)
    with pytest.raises(TileError, match=r"an accumulator of tile<512x512xf32> takes 1024 registers.*slicing") as caught:
        tilesat.compile(w.text())
    assert caught.value.location.line > 0
    assert caught.value.hint == "use a smaller tile"


def test_shared_memory_over_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that is reduced across warps needs 16 bytes of scratch whatever is chosen."""
    small = replace(ALL_TARGETS["sm_80"], smem_bytes=Limit(8, "of this test"))
    monkeypatch.setattr(pipeline, "target_named", lambda name: small)
    with pytest.raises(TileError, match=r"needs more than the 8 bytes of shared memory of sm_80") as caught:
        tilesat.compile(EXAMPLES / "softmax.mlir")
    assert caught.value.location.line > 0
    assert caught.value.hint == "use smaller tiles"


def test_rings_that_do_not_fit_give_way() -> None:
    """Two stages of both operands would take 384 KiB: one of them is not staged ahead, nothing is refused."""
    kernel = tilesat.compile(gemm_text(128, 256, 256))
    used = kernel.compiled.selection.answer.resources["shared memory"]
    assert 0 < used <= kernel.manifest["dynamic_smem"] <= ALL_TARGETS["sm_80"].smem_bytes


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 32), (128, 256, 64), (64, 256, 128), (128, 256, 256)])
def test_other_tiles_compute_right(m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(m + n + k)
    rows, cols, depth = m + 24, n - 8, 2 * k + 8
    a, b = (rng.standard_normal((r, depth)).astype(np.float16) for r in (rows, cols))
    c = rng.standard_normal((rows, cols)).astype(np.float32)
    d = np.full_like(c, np.nan)
    kernel = tilesat.compile(gemm_text(m, n, k))
    kernel.run((-(-rows // m), -(-cols // n)), a, b, c, d, rows, cols, depth, depth, depth, cols, cols)
    expected = a.astype(np.float64) @ b.astype(np.float64).T + c
    np.testing.assert_allclose(d, expected, atol=2e-3)


TURN = """
entry @turn(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>) {
  %start = make_token : token
  %xv = make_tensor_view %x, shape = [256, 256], strides = [256, 1] : tensor_view<256x256xf32, strides=[256,1]>
  %yv = make_tensor_view %y, shape = [256, 256], strides = [256, 1] : tensor_view<256x256xf32, strides=[256,1]>
  %xt = make_partition_view %xv : partition_view<tile=(256x256), tensor_view<256x256xf32, strides=[256,1]>>
  %yt = make_partition_view %yv : partition_view<tile=(256x256), tensor_view<256x256xf32, strides=[256,1]>>
  %zero = constant <i32: 0> : tile<i32>
  %a, %t = load_view_tko weak %xt[%zero, %zero] token = %start : partition_view<tile=(256x256), tensor_view<256x256xf32, strides=[256,1]>>, tile<i32> -> tile<256x256xf32>, token
  %b = permute %a [1, 0] : tile<256x256xf32> -> tile<256x256xf32>
  %done = store_view_tko weak %b, %yt[%zero, %zero] token = %start : tile<256x256xf32>, partition_view<tile=(256x256), tensor_view<256x256xf32, strides=[256,1]>>, tile<i32> -> token
  return
}
"""  # noqa: E501


def test_conversion_that_shared_memory_does_not_hold_is_not_chosen() -> None:
    """A tile of 256 KiB cannot be turned through shared memory, so it is read as it is written."""
    kernel = tilesat.compile(TURN)
    assert "convert_layout" not in kernel.stages["nv_tileas"]
    x = np.random.default_rng(5).standard_normal((256, 256)).astype(np.float32)
    y = np.full_like(x, np.nan)
    kernel.run(1, x, y)
    np.testing.assert_array_equal(y, x.T)


def test_kernel_without_effects_compiles_and_runs() -> None:
    kernel = tilesat.compile("entry @k(%n: tile<i32>) { return }")
    kernel.run(2, 5)
    assert "ret;" in kernel.ptx


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("target", "opcode"), [("sm_89", "mma.sync.aligned.m16n8k32"), ("sm_90a", "wgmma.mma_async")])
@pytest.mark.parametrize("kind", ["f8E4M3FN", "f8E5M2"])
def test_f8_products(kind: str, target: str, opcode: str) -> None:
    text = (EXAMPLES / "gemm.mlir").read_text().replace("xf16", f"x{kind}").replace("ptr<f16>", f"ptr<{kind}>")
    for name in ("lda", "ldb", "k_b"):
        text = text.replace(f"div_by<8>, %{name}", f"div_by<16>, %{name}")
    kernel = tilesat.compile(text, target)
    assert opcode in kernel.ptx
    rng = np.random.default_rng(8)
    dtype = ml_dtypes.float8_e4m3fn if kind == "f8E4M3FN" else ml_dtypes.float8_e5m2
    m, n, k = 200, 136, 80
    a, b = (rng.standard_normal((rows, k)).astype(dtype) for rows in (m, n))
    c = rng.standard_normal((m, n)).astype(np.float32)
    d = np.full_like(c, np.nan)
    kernel.run((2, 2), a, b, c, d, m, n, k, k, k, n, n)
    np.testing.assert_allclose(d, a.astype(np.float64) @ b.astype(np.float64).T + c, atol=1e-4)


def test_f8_products_are_refused_where_the_target_has_none() -> None:
    text = (EXAMPLES / "gemm.mlir").read_text().replace("xf16", "xf8E4M3FN").replace("ptr<f16>", "ptr<f8E4M3FN>")
    with pytest.raises(TileError, match="no matrix instruction of sm_80 fits tile<128x64xf8E4M3FN>"):
        tilesat.compile(text, "sm_80")

"""The hand-written 16x8 GEMMs: cp.async ring, ldmatrix, mma.sync, checked against NumPy."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ptxsim import GlobalMemory, launch

DATA = Path(__file__).parent / "data" / "ptx"


@pytest.mark.parametrize(("name", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_gemm16x8_equals_numpy(name: str, dtype: type) -> None:
    rng = np.random.default_rng(7)
    k = 96
    a = rng.standard_normal((16, k)).astype(dtype)
    b = rng.standard_normal((8, k)).astype(dtype)
    memory = GlobalMemory()
    pa, pb, pc = memory.put(a), memory.put(b), memory.alloc(16 * 8 * 4)
    ptx = (DATA / f"01_cpasync_ldmatrix_mma_{name}.ptx").read_text()
    report = launch(ptx, (1, 1, 1), (32, 1, 1), [pa, pb, pc, k, 8], memory)
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(memory.get(pc, (16, 8), np.float32), expected, atol=2e-5)
    assert report.instructions["bar.sync"] == 2 * k // 16

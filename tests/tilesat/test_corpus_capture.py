"""What the corpus writes down of a launch, on fake tensors; needs the extra `corpus`, so `make test` skips it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = '''
"""A program of someone's: two launches with gradients around the second."""
import cuda.tile as ct
import torch

@ct.kernel
def scale(x, y, factor, n: ct.Constant[int], deep: ct.Constant[bool]):
    at = ct.bid(0)
    ct.store(y, (at, 0), ct.astype(ct.load(x, (at, 0), (n, 64)) * factor, y.dtype))

class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        ct.launch(torch.cuda.current_stream(), (1,), scale, (x, y, 2.0, 16, True))
        return y

    @staticmethod
    def backward(ctx, dy):
        assert dy.device.type == "cuda" and dy.is_cuda
        dx = torch.empty(dy.shape, dtype=dy.dtype, device="cuda")
        ct.launch(torch.cuda.current_stream(), (1,), scale, (dy[:, 1:65], dx, 2, 8, False))
        return dx

if __name__ == "__main__":
    assert torch.cuda.get_device_capability() == (9, 0)
    x = torch.randn(100, 96, dtype=torch.bfloat16, device="cuda", requires_grad=True)
    assert x.sum().item() == 1.0
    Scaled.apply(x).sum().backward()
'''


@pytest.mark.skipif(find_spec("torch") is None, reason="needs the extra `corpus`")
def test_launches_on_fake_tensors_are_written_down(tmp_path: Path) -> None:
    """Divisors and alignment as cuTile's own launch finds them; each signature is one file of bytecode."""
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "scaled.py").write_text(PROGRAM)
    (suite / "broken.py").write_text("import cuda.tile as ct\n# ct.kernel\nif __name__ == '__main__': 1 / 0\n")
    command = [sys.executable, "-m", "benchmarks.corpus.export", str(tmp_path / "out"), "--target", "sm_90a"]
    subprocess.run(
        [*command, "--suite", str(suite), "--variants", "3"], cwd=ROOT, check=True, env={**os.environ, "PYTHONPATH": ""}
    )
    found = json.loads((tmp_path / "out" / "index.json").read_text())
    assert found["problems"] == ["broken.py: ZeroDivisionError: division by zero (broken.py:3)"]
    forward, backward = (row["signature"] for row in found["kernels"].values())
    assert "stride_divisible_by=(8, 1), shape_divisible_by=(1, 16), base_addr_divisible_by=16" in forward
    assert (
        "ScalarConstraint(dtype=<DType 'float32'>), ConstantConstraint(value=16), ConstantConstraint(value=True)"
        in forward
    )
    assert "shape_divisible_by=(1, 16), base_addr_divisible_by=1" in backward  # one element past an aligned base
    assert (
        "ScalarConstraint(dtype=<DType 'int32'>), ConstantConstraint(value=8), ConstantConstraint(value=False)"
        in backward
    )
    assert len(list((tmp_path / "out").glob("scaled_scale_*.bc"))) == 2

"""Operators of PyTorch: right when called, kept by torch.compile, with fake results that are those of the real ones.

All but the first two need PyTorch: pip install '.[test,torch]', then pytest tests/tilesat/test_torch_ops.py.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import cuda.tile as ct
import numpy as np
import pytest

import tilesat
from ir.core import TileError

try:
    import torch
except ImportError:
    torch: Any = None
needs_torch = pytest.mark.skipif(torch is None, reason="needs the extra `torch`")
N = 64


@ct.kernel
def scale(x, y, factor, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)


@pytest.mark.parametrize("library", [None, SimpleNamespace()])
def test_without_torch(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.library", library)
    with pytest.raises(TileError, match=r"operators of PyTorch need the package torch, 2\.4 or later") as caught:
        tilesat.torch_op("tests::none")
    assert caught.value.hint == "pip install 'tilesat[torch]'"


def test_mutates_is_a_list_of_names() -> None:
    with pytest.raises(TileError, match="mutates: expected a list of names, got 'y'"):
        tilesat.torch_op("tests::none", mutates="y")


@pytest.fixture(scope="module")
def scaled() -> Any:
    """An operator that returns what its kernel computes."""
    kernel = tilesat.jit(scale, target="sm_80")

    @tilesat.torch_op("tilesat_tests::scaled")
    def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
        y = torch.empty_like(x)
        kernel[x.numel() // N](x, y, factor, n=N)
        return y

    return scaled


@pytest.fixture(scope="module")
def scale_into() -> Any:
    """An operator that writes one of its parameters, by a kernel that is compiled before."""
    kernel = tilesat.compile(scale, signature=f"f32[?]; f32[?]; f32; ={N}")

    @tilesat.torch_op("tilesat_tests::scale_into", mutates=["y"])
    def scale_into(x: torch.Tensor, y: torch.Tensor, factor: float) -> None:
        kernel[x.numel() // N](x, y, factor)

    return scale_into


@needs_torch
def test_called_as_it_is(scaled: Any, scale_into: Any) -> None:
    x, y = torch.randn(4 * N), torch.zeros(4 * N)
    assert torch.equal(scaled(x, 2.0), 2 * x)
    scale_into(x, y, 3.0)
    assert torch.equal(y, 3 * x)
    assert torch.equal(torch.ops.tilesat_tests.scaled(x, 2.0), 2 * x)


@needs_torch
def test_what_pytorch_checks_of_an_operator(scaled: Any, scale_into: Any) -> None:
    """Schema, fake results, aot_autograd with fixed and with unknown sizes."""
    x = torch.randn(2 * N)
    torch.library.opcheck(scaled, (x, 2.0))
    torch.library.opcheck(scale_into, (x, torch.zeros(2 * N), 2.0))


@needs_torch
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_compiled_graph_keeps_it(scaled: Any, scale_into: Any, dynamic: bool) -> None:
    graphs: list[Any] = []

    def backend(module: Any, inputs: Any) -> Any:
        graphs.append(module)
        return module.forward

    @torch.compile(fullgraph=True, dynamic=dynamic, backend=backend)
    def program(x: Any) -> Any:
        y = torch.zeros_like(x)
        scale_into(scaled(x + 1, 2.0), y, 0.5)
        return y - 1

    for blocks in (2, 4):
        x = torch.randn(blocks * N)
        torch.testing.assert_close(program(x), x)
    assert len(graphs) == (1 if dynamic else 2)
    called = [str(node.target) for node in graphs[0].graph.nodes if node.op == "call_function"]
    assert {"tilesat_tests.scaled.default", "tilesat_tests.scale_into.default"} <= set(called)


@needs_torch
def test_a_graph_of_aot_autograd_keeps_it(scaled: Any) -> None:
    """With a gradient that the user registers."""

    def keep(ctx: Any, inputs: Any, output: Any) -> None:  # by these names
        ctx.factor = inputs[1]

    scaled.register_autograd(lambda ctx, grad: (scaled(grad.contiguous(), ctx.factor), None), setup_context=keep)
    program = torch.compile(lambda x: scaled(x, 3.0).sum(), fullgraph=True, backend="aot_eager")
    x = torch.randn(2 * N, requires_grad=True)
    program(x).backward()
    assert torch.equal(x.grad, torch.full_like(x, 3.0))


@needs_torch
def test_tensors_without_elements_launch_nothing() -> None:
    """Neither fake ones nor those on "meta"; one among real ones is enough."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    kernel = tilesat.jit(scale, target="sm_80")
    real = torch.zeros(N)
    with FakeTensorMode():
        fake = torch.zeros(N)
    for lost in (fake, torch.zeros(N, device="meta"), torch.nn.Parameter(torch.zeros(N, device="meta"))):
        assert kernel[1](lost, real, 2.0, n=N) is None
    assert not kernel.kernels
    assert kernel[1](np.zeros(N, np.float32), real, 2.0, n=N) is not None

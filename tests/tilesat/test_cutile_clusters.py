"""cuTile kernels that ask for a cluster: rows that one CTA would hardly hold, folded by all of them."""

import cuda.tile as ct
import numpy as np
import pytest

import tilesat

ROW = 32768
SIGNATURE = "f32[?,?/4]:[?/4,1]@16; f32[?,?/4]:[?/4,1]@16; =32768"


@ct.kernel(num_ctas=4)
def layer_norm(x, y, n: ct.Constant[int]):
    row = ct.load(x, (ct.bid(0), 0), (1, n))
    centred = row - ct.sum(row, axis=1, keepdims=True) / n
    variance = ct.sum(centred * centred, axis=1, keepdims=True) / n
    ct.store(y, (ct.bid(0), 0), centred * ct.rsqrt(variance + 1e-5))


@ct.kernel(num_ctas=4)
def softmax(x, y, n: ct.Constant[int]):
    row = ct.load(x, (ct.bid(0), 0), (1, n))
    powers = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(y, (ct.bid(0), 0), powers / ct.sum(powers, axis=1, keepdims=True))


def normed(x):
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


def powers(x):
    found = np.exp(x - x.max(1, keepdims=True))
    return found / found.sum(1, keepdims=True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
@pytest.mark.parametrize(("made", "wanted"), [(layer_norm, normed), (softmax, powers)])
def test_long_rows(made, wanted, target):
    kernel = tilesat.compile(made, signature=SIGNATURE, target=target)
    assert kernel.manifest["cluster"] == [4, 1, 1]
    assert kernel.ignored_hints == []
    x = np.random.default_rng(3).standard_normal((2, ROW)).astype(np.float32)
    y = np.zeros_like(x)
    sizes = (np.int32(2), np.int32(ROW), np.int32(ROW), np.int32(1))
    kernel.run(2, x, *sizes, y, *sizes, check=True)
    np.testing.assert_allclose(y, wanted(x.astype(np.float64)), rtol=2e-5, atol=2e-5 * wanted(x).max())

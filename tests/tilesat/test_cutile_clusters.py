"""cuTile kernels that ask for a cluster: rows that one CTA would hardly hold, folded by all of them; products."""

import re

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


@ct.kernel(num_ctas=2)
def gemm(a, b, d, m: ct.Constant[int], n: ct.Constant[int], k: ct.Constant[int]):
    sums = ct.full((m, n), 0, ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(m, k))):
        left = ct.load(a, (ct.bid(0), step), (m, k), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (step, ct.bid(1)), (k, n), padding_mode=ct.PaddingMode.ZERO)
        sums = ct.mma(left, right, sums)
    ct.store(d, (ct.bid(0), ct.bid(1)), sums)


def normed(x):
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


def powers(x):
    found = np.exp(x - x.max(1, keepdims=True))
    return found / found.sum(1, keepdims=True)


@pytest.mark.sampled(4)
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


MATRIX = "f16[?,?/16]:[?/8,1]@16"


@pytest.mark.in_turn
@pytest.mark.parametrize(("target", "shared"), [("sm_90a", True), ("sm_120a", False)])
def test_products_share_what_both_ctas_need(target, shared):
    """By multicast, where that is no call; the report says what one CTA would have cost."""
    tile = "=256; =256; =64" if shared else "=128; =128; =64"
    kernel = tilesat.compile(
        gemm, signature=f"{MATRIX}; {MATRIX}; f32[?,?/16]:[?/4,1]@16; {tile}", target=target, cache=False
    )
    assert kernel.manifest["cluster"] == [2, 1, 1]
    assert (".multicast::cluster" in kernel.ptx) == shared
    (ways,) = re.findall(r"clusters, by .*\n((?:    .*\n)+)", kernel.report)
    assert re.match(r"    1 CTA: \([\d,]+\) x 1 = [\d,]+\n    2 CTAs, ", ways)
    assert ways.count(", taken") == 1
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((260, 80), (80, 144)))
    d = np.zeros((260, 144), np.float32)
    sizes = [(np.int32(x.shape[0]), np.int32(x.shape[1]), np.int32(x.shape[1]), np.int32(1)) for x in (a, b, d)]
    kernel.run((3, 2), a, *sizes[0], b, *sizes[1], d, *sizes[2])
    np.testing.assert_allclose(d, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-3)

"""Reductions, scans, normalisations."""

import cuda.tile as ct

R, C = 8, 64


@ct.kernel
def softmax_rows(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (R, C), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(t - ct.max(t, 1, keepdims=True))
    ct.store(out, (i, 0), e / ct.sum(e, 1, keepdims=True))


@ct.kernel
def layer_norm(x, weight, bias, out, eps):
    i = ct.bid(0)
    t = ct.astype(ct.load(x, (i, 0), (R, C)), ct.float32)
    mean = ct.sum(t, 1, keepdims=True) / C
    centred = t - mean
    variance = ct.sum(centred * centred, 1, keepdims=True) / C
    w, b = ct.load(weight, (0,), (C,)), ct.load(bias, (0,), (C,))
    ct.store(out, (i, 0), ct.astype(centred * ct.rsqrt(variance + eps) * w + b, out.dtype))


@ct.kernel
def rms_norm(x, weight, out):
    i = ct.bid(0)
    t = ct.astype(ct.load(x, (i, 0), (R, C)), ct.float32)
    scale = ct.rsqrt(ct.sum(t * t, 1, keepdims=True) / C + 1e-6)
    ct.store(out, (i, 0), ct.astype(t * scale, out.dtype) * ct.load(weight, (0,), (C,)))


@ct.kernel
def batch_statistics(x, mean, variance, n):
    j = ct.bid(0)
    total = ct.zeros((16,), ct.float32)
    squares = ct.zeros((16,), ct.float32)
    for i in range(ct.cdiv(n, R)):
        t = ct.load(x, (i, j), (R, 16), padding_mode=ct.PaddingMode.ZERO)
        total = total + ct.sum(t, 0)
        squares = squares + ct.sum(t * t, 0)
    ct.store(mean, (j,), total / n)
    ct.store(variance, (j,), squares / n - (total / n) * (total / n))


@ct.kernel
def arg_extremes(x, lowest, highest):
    t = ct.load(x, (ct.bid(0), 0), (R, C))
    ct.store(lowest, (ct.bid(0),), ct.argmin(t, 1))
    ct.store(highest, (ct.bid(0),), ct.argmax(t, 1))


@ct.kernel
def products_and_minima(x, out):
    t = ct.load(x, (0, 0), (R, C))
    ct.store(out, (0, 0), ct.expand_dims(ct.prod(t, 0), 0))
    ct.store(out, (1, 0), ct.expand_dims(ct.min(t, 0), 0))


@ct.kernel
def prefix_sums(x, out):
    t = ct.load(x, (0, 0), (R, C))
    ct.store(out, (0, 0), ct.cumsum(t, 1))
    ct.store(out, (1, 0), ct.cumsum(t, 0, reverse=True))


@ct.kernel
def prefix_products(x, out):
    t = ct.load(x, (0, 0), (R, C))
    ct.store(out, (0, 0), ct.cumprod(t, 1, reverse=True))


@ct.kernel
def integer_sums(x, out):
    t = ct.load(x, (0, 0), (R, C))
    ct.store(out, (0,), ct.sum(t, 1))


@ct.kernel
def welford(x, out):
    t = ct.load(x, (0, 0), (R, C))

    def join(a, b, c, d, e, f):
        n = a + d
        delta = e - b
        return n, b + delta * d / n, c + f + delta * delta * a * d / n

    count, mean, spread = ct.reduce(
        (ct.ones((R, C), ct.float32), t, ct.zeros((R, C), ct.float32)), 1, join, (0.0, 0.0, 0.0)
    )
    ct.store(out, (0, 0), ct.expand_dims(count, 0))
    ct.store(out, (1, 0), ct.expand_dims(mean, 0))
    ct.store(out, (2, 0), ct.expand_dims(spread, 0))


@ct.kernel
def segmented_scan(x, starts, out):
    values, flags = ct.load(x, (0,), (C,)), ct.load(starts, (0,), (C,))

    def join(v0, f0, v1, f1):
        return ct.where(f1 != 0, v1, v0 + v1), f0 | f1

    totals, _ = ct.scan((values, flags), 0, join, (0.0, 0))
    ct.store(out, (0,), totals)


@ct.kernel
def cross_entropy(x, target, loss):
    i = ct.bid(0)
    t = ct.load(x, (i, 0), (R, C))
    label = ct.load(target, (i,), (R,))
    top = ct.max(t, 1, keepdims=True)
    log_sum = ct.log(ct.sum(ct.exp(t - top), 1)) + ct.reshape(top, (R,))
    picked = ct.sum(ct.where(ct.arange(C, dtype=ct.int32) == ct.expand_dims(label, 1), t, 0.0), 1)
    ct.store(loss, (i,), log_sum - picked)

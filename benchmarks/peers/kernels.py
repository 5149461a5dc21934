"""The kernels of the cases in cuTile; sizes that a case fixes are constants."""

# cuTile's range takes tiles, and a scalar has methods of tiles, which its types do not say.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import cuda.tile as ct

Constant = ct.Constant[int]
LOG2_E = 1.4426950408889634
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def attention(
    q, k, v, out, scale, queries: Constant, keys: Constant, width: Constant, causal: ct.Constant[bool]
):  # fmt: skip
    """q, out [H, M, D], k, v [H, N, D]; grid (ceil(M / queries), H); as cuTile's sample: exp2 flushes to zero."""
    block, head = ct.bid(0), ct.bid(1)
    scale = scale * LOG2_E
    length = k.shape[1]
    query = ct.load(q, index=(head, block, 0), shape=(1, queries, width), padding_mode=ZERO).reshape((queries, width))
    highest = ct.full((queries, 1), -float("inf"), ct.float32)
    total = ct.zeros((queries, 1), ct.float32)
    acc = ct.zeros((queries, width), ct.float32)
    rows = block * queries + ct.arange(queries, dtype=ct.int32)[:, None]
    last = ct.minimum((block + 1) * queries, length) if causal else length
    for j in range(ct.cdiv(last, keys)):
        key = ct.load(k, index=(head, j, 0), shape=(1, keys, width), padding_mode=ZERO).reshape((keys, width))
        score = ct.mma(query, ct.transpose(key), ct.zeros((queries, keys), ct.float32))
        columns = j * keys + ct.arange(keys, dtype=ct.int32)[None, :]
        inside = (columns < length) & (columns <= rows) if causal else columns < length
        score = ct.where(inside, score, -float("inf"))
        raised = ct.maximum(highest, ct.max(score, axis=1, keepdims=True) * scale)
        power = ct.exp2(score * scale - raised, flush_to_zero=True)
        fade = ct.exp2(highest - raised, flush_to_zero=True)
        total = total * fade + ct.sum(power, axis=1, keepdims=True)
        value = ct.load(v, index=(head, j, 0), shape=(1, keys, width), padding_mode=ZERO).reshape((keys, width))
        acc = ct.mma(ct.astype(power, q.dtype), value, acc * fade)
        highest = raised
    result = ct.astype(acc * (1.0 / total), out.dtype)
    ct.store(out, index=(head, block, 0), tile=result.reshape((1, queries, width)))


@ct.kernel
def gemm(a, b, d, rows: Constant, columns: Constant, depth: Constant):
    """d = a bT: a [M, K], b [N, K], d [M, N]; grid (ceil(M / rows), ceil(N / columns))."""
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((rows, columns), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(rows, depth))):
        left = ct.load(a, index=(m, k), shape=(rows, depth), padding_mode=ZERO)
        right = ct.load(b, index=(n, k), shape=(columns, depth), padding_mode=ZERO)
        acc = ct.mma(left, ct.transpose(right), acc)
    ct.store(d, index=(m, n), tile=ct.astype(acc, d.dtype))


@ct.kernel
def fused(a, b, bias, c, d, rows: Constant, columns: Constant, depth: Constant):
    """d = max(a bT + bias, 0) + c: bias [N], c and d [M, N]; grid as gemm's."""
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((rows, columns), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(rows, depth))):
        left = ct.load(a, index=(m, k), shape=(rows, depth), padding_mode=ZERO)
        right = ct.load(b, index=(n, k), shape=(columns, depth), padding_mode=ZERO)
        acc = ct.mma(left, ct.transpose(right), acc)
    acc = ct.maximum(acc + ct.load(bias, index=(n,), shape=(columns,), padding_mode=ZERO)[None, :], 0.0)
    acc = acc + ct.load(c, index=(m, n), shape=(rows, columns), padding_mode=ZERO)
    ct.store(d, index=(m, n), tile=ct.astype(acc, d.dtype))


@ct.kernel
def gather(x, index, y, size: Constant):
    """y[i] = x[index[i]]; grid (ceil(N / size),)."""
    at = ct.bid(0) * size + ct.arange(size, dtype=ct.int32)
    ct.scatter(y, at, ct.gather(x, ct.gather(index, at)))


@ct.kernel
def softmax(x, y, width: Constant):
    """Rows of at most `width`; grid (M,)."""
    row = ct.bid(0)
    values = ct.load(x, index=(row, 0), shape=(1, width), padding_mode=ct.PaddingMode.NEG_INF)
    power = ct.exp(values - ct.max(values, axis=1, keepdims=True))
    ct.store(y, index=(row, 0), tile=power / ct.sum(power, axis=1, keepdims=True))


@ct.kernel
def layernorm(x, weight, bias, y, eps, width: Constant):
    """Rows of any length, three passes in pieces of `width`; grid (M,)."""
    row, length = ct.bid(0), x.shape[1]
    pieces = ct.num_tiles(x, axis=1, shape=(1, width))
    total = ct.zeros((1, width), ct.float32)
    for j in range(pieces):
        total += ct.load(x, index=(row, j), shape=(1, width), padding_mode=ZERO)
    mean = ct.sum(total, axis=1, keepdims=True) / length
    squares = ct.zeros((1, width), ct.float32)
    for j in range(pieces):
        part = ct.load(x, index=(row, j), shape=(1, width), padding_mode=ZERO)
        centred = ct.where(j * width + ct.arange(width, dtype=ct.int32) < length, part - mean, 0.0)
        squares += centred * centred
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / length + eps)
    for j in range(pieces):
        part = ct.load(x, index=(row, j), shape=(1, width), padding_mode=ZERO)
        factor = ct.load(weight, index=(j,), shape=(width,), padding_mode=ZERO)
        shift = ct.load(bias, index=(j,), shape=(width,), padding_mode=ZERO)
        ct.store(y, index=(row, j), tile=(part - mean) * scale * factor + shift)


@ct.kernel
def grouped(a, b, d, rows: Constant, columns: Constant, depth: Constant, programs: Constant):
    """d[g] = a[g] b[g]T of lists of arrays: a [M, K], b [N, K], d [M, N] of any size each; grid (programs,)."""
    tile, first = ct.bid(0), 0
    for g in range(len(a)):
        left, right, out = a[g], b[g], d[g]
        wide = ct.num_tiles(right, 0, (columns, depth))
        past = first + ct.num_tiles(left, 0, (rows, depth)) * wide
        while first <= tile and tile < past:
            m, n = (tile - first) // wide, (tile - first) % wide
            acc = ct.zeros((rows, columns), ct.float32)
            for k in range(ct.num_tiles(left, 1, (rows, depth))):
                x = ct.load(left, (m, k), shape=(rows, depth), padding_mode=ZERO)
                y = ct.load(right, (n, k), shape=(columns, depth), padding_mode=ZERO)
                acc = ct.mma(x, ct.transpose(y), acc)
            ct.store(out, (m, n), tile=ct.astype(acc, out.dtype))
            tile += programs
        first = past

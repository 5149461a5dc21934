"""Matrix products."""

import cuda.tile as ct

M, N, K = 32, 16, 16


@ct.kernel
def matmul(a, b, c):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(a, 1, (M, K))):
        x = ct.load(a, (i, k), (M, K), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, (k, j), (K, N), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), ct.astype(acc, c.dtype))


@ct.kernel
def batched(a, b, c):
    p = ct.bid(0)
    x, y = ct.load(a, (p, 0, 0), (2, M, K)), ct.load(b, (p, 0, 0), (2, K, N))
    ct.store(c, (p, 0, 0), ct.mma(x, y, ct.zeros((2, M, N), ct.float32)))


@ct.kernel
def transposed(a, b, c):
    x = ct.load(a, (0, 0), (M, K))
    y = ct.transpose(ct.load(b, (0, 0), (N, K)))
    ct.store(c, (0, 0), ct.mma(ct.astype(x, ct.tfloat32), ct.astype(y, ct.tfloat32), ct.zeros((M, N), ct.float32)))


@ct.kernel
def persistent(a, b, c, tiles):
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        i, j = tile // ct.num_tiles(b, 1, (K, N)), tile % ct.num_tiles(b, 1, (K, N))
        acc = ct.zeros((M, N), ct.float32)
        for k in range(ct.num_tiles(a, 1, (M, K))):
            acc = ct.mma(ct.load(a, (i, k), (M, K)), ct.load(b, (k, j), (K, N)), acc)
        ct.store(c, (i, j), acc)


@ct.kernel
def eight_bit(a, b, c):
    x, y = ct.load(a, (0, 0), (M, K)), ct.load(b, (0, 0), (K, N))
    ct.store(c, (0, 0), ct.mma(x, y, ct.zeros((M, N), ct.float32)))


@ct.kernel
def integers(a, b, c):
    x, y = ct.load(a, (0, 0), (M, K)), ct.load(b, (0, 0), (K, N))
    ct.store(c, (0, 0), ct.mma(x, y, ct.zeros((M, N), ct.int32)))


@ct.kernel
def scaled(a, a_scale, b, b_scale, c):
    x, y = ct.load(a, (0, 0), (M, 64)), ct.load(b, (0, 0), (64, N))
    p, q = ct.load(a_scale, (0, 0), (M, 2)), ct.load(b_scale, (0, 0), (2, N))
    ct.store(c, (0, 0), ct.mma_scaled(x, p, y, q, ct.zeros((M, N), ct.float32)))


@ct.kernel
def attention(q, k, v, out, scale):
    i = ct.bid(0)
    query = ct.load(q, (i, 0), (M, K))
    top = ct.full((M, 1), float("-inf"), ct.float32)
    total = ct.zeros((M, 1), ct.float32)
    acc = ct.zeros((M, K), ct.float32)
    for j in range(ct.num_tiles(k, 0, (N, K))):
        keys = ct.transpose(ct.load(k, (j, 0), (N, K)))
        s = ct.mma(query, keys, ct.zeros((M, N), ct.float32)) * scale
        new = ct.maximum(top, ct.max(s, 1, keepdims=True))
        p = ct.exp2(s - new, flush_to_zero=True)
        decay = ct.exp2(top - new, flush_to_zero=True)
        total = total * decay + ct.sum(p, 1, keepdims=True)
        acc = ct.mma(ct.astype(p, v.dtype), ct.load(v, (j, 0), (N, K)), acc * decay)
        top = new
    ct.store(out, (i, 0), ct.astype(ct.truediv(acc, total, rounding_mode=ct.RoundingMode.APPROX), out.dtype))


@ct.kernel
def split_k(a, b, c):
    part = ct.bid(0)
    x, y = ct.load(a, (0, part), (M, K)), ct.load(b, (part, 0), (K, N))
    acc = ct.mma(x, y, ct.zeros((M, N), ct.float32))
    rows = ct.expand_dims(ct.arange(M, dtype=ct.int32), 1)
    columns = ct.expand_dims(ct.arange(N, dtype=ct.int32), 0)
    ct.atomic_add(c, (rows, columns), acc)


@ct.kernel
def grouped(a, b, c, groups):
    for g in range(groups):
        acc = ct.mma(ct.load(a[g], (0, 0), (M, K)), ct.load(b[g], (0, 0), (K, N)), ct.zeros((M, N), ct.float32))
        ct.store(c[g], (0, 0), acc)

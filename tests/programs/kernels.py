"""Kernels as people write them in cuTile: products, norms, attention, activations, rotary embeddings, gathers."""

import cuda.tile as ct

ZERO, NEG_INF = ct.PaddingMode.ZERO, ct.PaddingMode.NEG_INF
C = ct.Constant[int]


@ct.kernel
def matmul(a, b, c, tm: C, tn: C, tk: C):
    """c = a @ b; blocks numbered in groups of rows; accumulates in f32, result in c's type."""
    rows, columns = ct.cdiv(a.shape[0], tm), ct.cdiv(b.shape[1], tn)
    pid = ct.bid(0)
    group = 4 * columns
    first = pid // group * 4
    size = min(rows - first, 4)
    m, n = first + pid % group % size, pid % group // size
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.load(a, index=(m, k), shape=(tm, tk), padding_mode=ZERO)
        y = ct.load(b, index=(k, n), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, index=(m, n), tile=ct.astype(acc, c.dtype))


@ct.kernel
def matmul_tf32(a, b, c, tm: C, tn: C, tk: C):
    """c = a @ b for f32 arrays on tf32 tensor cores."""
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.astype(ct.load(a, index=(m, k), shape=(tm, tk), padding_mode=ZERO), ct.tfloat32)
        y = ct.astype(ct.load(b, index=(k, n), shape=(tk, tn), padding_mode=ZERO), ct.tfloat32)
        acc = ct.mma(x, y, acc)
    ct.store(c, index=(m, n), tile=acc)


@ct.kernel
def matmul_persistent(a, b, c, tm: C, tn: C, tk: C):
    """c = a @ b with as many blocks as fit the machine, each walking over output tiles."""
    rows, columns = ct.cdiv(a.shape[0], tm), ct.cdiv(b.shape[1], tn)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = tile // columns, tile % columns
        acc = ct.zeros((tm, tn), ct.float32)
        for k in range(ct.cdiv(a.shape[1], tk)):
            x = ct.load(a, index=(m, k), shape=(tm, tk), padding_mode=ZERO)
            y = ct.load(b, index=(k, n), shape=(tk, tn), padding_mode=ZERO)
            acc = ct.mma(x, y, acc)
        ct.store(c, index=(m, n), tile=ct.astype(acc, c.dtype))


@ct.kernel
def batch_matmul(a, b, c, tm: C, tn: C, tk: C):
    """c[i] = a[i] @ b[i] by 3-D tiles of one matrix."""
    i, m, n = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[2], tk)):
        x = ct.reshape(ct.load(a, index=(i, m, k), shape=(1, tm, tk), padding_mode=ZERO), (tm, tk))
        y = ct.reshape(ct.load(b, index=(i, k, n), shape=(1, tk, tn), padding_mode=ZERO), (tk, tn))
        acc = ct.mma(x, y, acc)
    ct.store(c, index=(i, m, n), tile=ct.reshape(ct.astype(acc, c.dtype), (1, tm, tn)))


@ct.kernel
def split_k(a, b, c, tm: C, tn: C, tk: C):
    """Partial products c[s] over a third of k each."""
    m, n, s = ct.bid(0), ct.bid(1), ct.bid(2)
    steps = ct.cdiv(a.shape[1], tk)
    each = ct.cdiv(steps, ct.num_blocks(2))
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(s * each, min(steps, (s + 1) * each)):
        x = ct.load(a, index=(m, k), shape=(tm, tk), padding_mode=ZERO)
        y = ct.load(b, index=(k, n), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, index=(s, m, n), tile=ct.reshape(acc, (1, tm, tn)))


@ct.kernel
def attention(q, k, v, out, scale, heads: C, width: C, tm: C, tn: C, causal: ct.Constant[bool]):
    """out = softmax(scale q kT) v, arrays [batch, heads, length, width]; online softmax in base 2."""
    block, batch, head = ct.bid(0), ct.bid(1) // heads, ct.bid(1) % heads
    scale = scale * 1.4426950408889634
    offset_m = block * tm + ct.arange(tm, dtype=ct.int32)
    offset_m = offset_m[:, None]
    highest = ct.full((tm, 1), -1e30, dtype=ct.float32)
    total = ct.full((tm, 1), 0.0, dtype=ct.float32)
    acc = ct.full((tm, width), 0.0, dtype=ct.float32)
    query = ct.load(q, index=(batch, head, block, 0), shape=(1, 1, tm, width), padding_mode=ZERO).reshape((tm, width))
    length = k.shape[2]
    steps = ct.cdiv(length, tn)
    if causal:
        steps = min(steps, ct.cdiv((block + 1) * tm, tn))
    for j in range(steps):
        keys = ct.load(k, index=(batch, head, 0, j), shape=(1, 1, width, tn), order=(0, 1, 3, 2), padding_mode=ZERO)
        score = ct.mma(query, keys.reshape((width, tn)), ct.full((tm, tn), 0.0, dtype=ct.float32))
        offset_n = j * tn + ct.arange(tn, dtype=ct.int32)[None, :]
        inside = offset_n < length
        if causal:
            inside = inside & (offset_m >= offset_n)
        score = ct.where(inside, score, -1e30)
        new = ct.maximum(highest, ct.max(score, axis=-1, keepdims=True) * scale)
        power = ct.exp2(score * scale - new, flush_to_zero=True)
        correction = ct.exp2(highest - new, flush_to_zero=True)
        total = total * correction + ct.sum(power, axis=-1, keepdims=True)
        acc = acc * correction
        values = ct.load(v, index=(batch, head, j, 0), shape=(1, 1, tn, width), padding_mode=ZERO)
        acc = ct.mma(power.astype(q.dtype), values.reshape((tn, width)), acc)
        highest = new
    acc = ct.truediv(acc, total, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(out, index=(batch, head, block, 0), tile=acc.reshape((1, 1, tm, width)).astype(out.dtype))


@ct.kernel
def rms_norm(x, weight, y, eps, tile: C):
    """y = x / sqrt(mean(x^2) + eps) * weight, row by row in pieces; half in, half out, f32 inside."""
    row = ct.bid(0)
    squares = ct.full((1, tile), 0.0, dtype=ct.float32)
    pieces = ct.cdiv(x.shape[1], tile)
    for j in range(pieces):
        piece = ct.load(x, index=(row, j), shape=(1, tile), padding_mode=ZERO).astype(ct.float32)
        squares += piece * piece
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / x.shape[1] + eps)
    for j in range(pieces):
        piece = ct.load(x, index=(row, j), shape=(1, tile), padding_mode=ZERO).astype(ct.float32)
        factor = ct.load(weight, index=(j,), shape=(tile,), padding_mode=ZERO).astype(ct.float32)
        ct.store(y, index=(row, j), tile=(piece * scale * factor).astype(y.dtype))


@ct.kernel
def rms_norm_gather(x, weight, y, eps, width: C):
    """The same for rows that fit one tile, by gathers with masks; persistent over rows."""
    columns = ct.arange(width, dtype=ct.int32)
    factor = ct.gather(weight, columns).astype(ct.float32)
    for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        piece = ct.gather(x, (row, columns)).astype(ct.float32)
        scale = ct.rsqrt(ct.sum(piece * piece, axis=0) / x.shape[1] + eps)
        ct.scatter(y, (row, columns), (piece * scale * factor).astype(y.dtype))


@ct.kernel
def layer_norm(x, weight, bias, y, mean, rstd, eps, tile: C):
    """Layer norm that also stores mean and reciprocal deviation; two passes over pieces of a row."""
    row = ct.bid(0)
    length = x.shape[1]
    pieces = ct.num_tiles(x, axis=1, shape=(1, tile))
    total = ct.full((1, tile), 0.0, dtype=ct.float32)
    squares = ct.full((1, tile), 0.0, dtype=ct.float32)
    for j in range(pieces):
        piece = ct.load(x, index=(row, j), shape=(1, tile), padding_mode=ZERO).astype(ct.float32)
        total += piece
        squares += piece * piece
    centre = ct.sum(total, axis=1) / length
    scale = ct.rsqrt(ct.sum(squares, axis=1) / length - centre * centre + eps)
    ct.store(mean, index=(row,), tile=centre)
    ct.store(rstd, index=(row,), tile=scale)
    for j in range(pieces):
        piece = ct.load(x, index=(row, j), shape=(1, tile), padding_mode=ZERO).astype(ct.float32)
        factor = ct.load(weight, index=(j,), shape=(tile,), padding_mode=ZERO)
        shift = ct.load(bias, index=(j,), shape=(tile,), padding_mode=ZERO)
        ct.store(y, index=(row, j), tile=((piece - centre) * scale * factor + shift).astype(y.dtype))


@ct.kernel
def softmax_online(x, y, tile: C):
    """Row softmax of any length: one pass for maximum and sum, carried as one number each, one to write."""
    row = ct.bid(0)
    pieces = ct.cdiv(x.shape[1], tile)
    highest, total = -1e30, 0.0
    for j in range(pieces):
        piece = ct.load(x, index=(row, j), shape=(1, tile), padding_mode=NEG_INF)
        new = max(highest, ct.max(piece))
        total = total * ct.exp(highest - new) + ct.sum(ct.exp(piece - new))
        highest = new
    for j in range(pieces):
        piece = ct.load(x, index=(row, j), shape=(1, tile), padding_mode=NEG_INF)
        ct.store(y, index=(row, j), tile=ct.exp(piece - highest) / total)


@ct.kernel
def softmax_rows(x, y, rows: C, width: C):
    """Softmax of several rows at once, in half precision, with a masked gather."""
    row = ct.bid(0) * rows + ct.arange(rows, dtype=ct.int32)
    columns = ct.arange(width, dtype=ct.int32)
    piece = ct.gather(x, (row[:, None], columns[None, :]), padding_value=-65504.0).astype(ct.float32)
    power = ct.exp(piece - ct.max(piece, 1, keepdims=True))
    ct.scatter(y, (row[:, None], columns[None, :]), (power / ct.sum(power, 1, keepdims=True)).astype(y.dtype))


@ct.kernel
def swiglu(gate, up, y, tile: C):
    """y = silu(gate) * up by gathers of one row."""
    row, at = ct.bid(0), ct.bid(1) * tile + ct.arange(tile, dtype=ct.int32)
    g = ct.gather(gate, (row, at), check_bounds=True).astype(ct.float32)
    u = ct.gather(up, (row, at), check_bounds=True).astype(ct.float32)
    sigmoid = 1.0 / (1.0 + ct.exp(-g))
    ct.scatter(y, (row, at), (g * sigmoid * u).astype(y.dtype), check_bounds=True)


@ct.kernel
def gelu(x, y, tile: C):
    """GELU by tanh, 2-D tiles, half precision."""
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=(i, j), shape=(tile, tile), padding_mode=ZERO).astype(ct.float32)
    inner = 0.7978845608028654 * (t + 0.044715 * t * t * t)
    ct.store(y, index=(i, j), tile=(0.5 * t * (1.0 + ct.tanh(inner))).astype(y.dtype))


@ct.kernel
def rope(x, cos, sin, y, half: C):
    """Rotary embedding: x [batch, heads, length, 2, half], one head and position a block; halves are turned."""
    b, h, s = ct.bid(0), ct.bid(1), ct.bid(2)
    c = ct.load(cos, index=(s, 0), shape=(1, half), padding_mode=ZERO).reshape((1, half))
    n = ct.load(sin, index=(s, 0), shape=(1, half), padding_mode=ZERO).reshape((1, half))
    low = ct.load(x, index=(b, h, s, 0, 0), shape=(1, 1, 1, 1, half), padding_mode=ZERO).reshape((1, half))
    high = ct.load(x, index=(b, h, s, 1, 0), shape=(1, 1, 1, 1, half), padding_mode=ZERO).reshape((1, half))
    ct.store(y, index=(b, h, s, 0, 0), tile=(low * c - high * n).reshape((1, 1, 1, 1, half)).astype(y.dtype))
    ct.store(y, index=(b, h, s, 1, 0), tile=(high * c + low * n).reshape((1, 1, 1, 1, half)).astype(y.dtype))


@ct.kernel
def rope_in_place(x, cos, sin, half: C):
    """The same, in place: both halves are read before either is written."""
    b, h, s = ct.bid(0), ct.bid(1), ct.bid(2)
    c = ct.load(cos, index=(s, 0), shape=(1, half), padding_mode=ZERO).reshape((1, half))
    n = ct.load(sin, index=(s, 0), shape=(1, half), padding_mode=ZERO).reshape((1, half))
    low = ct.load(x, index=(b, h, s, 0, 0), shape=(1, 1, 1, 1, half), padding_mode=ZERO).reshape((1, half))
    high = ct.load(x, index=(b, h, s, 1, 0), shape=(1, 1, 1, 1, half), padding_mode=ZERO).reshape((1, half))
    ct.store(x, index=(b, h, s, 0, 0), tile=(low * c - high * n).reshape((1, 1, 1, 1, half)).astype(x.dtype))
    ct.store(x, index=(b, h, s, 1, 0), tile=(high * c + low * n).reshape((1, 1, 1, 1, half)).astype(x.dtype))


@ct.kernel
def transpose(x, y, tm: C, tn: C):
    """y = x.T by tiles."""
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=(i, j), shape=(tm, tn), padding_mode=ZERO)
    ct.store(y, index=(j, i), tile=ct.transpose(t))


@ct.kernel
def embedding(table, tokens, y, width: C):
    """y[i, :] = table[tokens[i], :]."""
    i = ct.bid(0)
    token = ct.gather(tokens, i)
    columns = ct.arange(width, dtype=ct.int32)
    ct.scatter(y, (i, columns), ct.gather(table, (token, columns)))


@ct.kernel
def cross_entropy(logits, labels, losses, tile: C):
    """losses[i] = log(sum(exp(logits[i]))) - logits[i, labels[i]]."""
    row = ct.bid(0)
    highest, total = -1e30, 0.0
    for j in range(ct.cdiv(logits.shape[1], tile)):
        columns = j * tile + ct.arange(tile, dtype=ct.int32)
        piece = ct.gather(logits, (row, columns), padding_value=-1e30)
        new = max(highest, ct.max(piece, 0))
        total = total * ct.exp(highest - new) + ct.sum(ct.exp(piece - new), 0)
        highest = new
    label = ct.gather(labels, row)
    ct.scatter(losses, row, ct.log(total) + highest - ct.gather(logits, (row, label)))


@ct.kernel
def dropout(x, y, seed, keep, tile: C):
    """Keep elements by an integer hash of their position: shifts, multiplications, comparisons."""
    at = ct.bid(0) * tile + ct.arange(tile, dtype=ct.int32)
    mixed = (at + seed) * 747796405 + 1
    mixed = (mixed ^ (mixed // 65536)) * 277803737
    kept = (mixed & 0xFFFF).astype(ct.float32) < keep * 65536.0
    value = ct.gather(x, at)
    ct.scatter(y, at, ct.where(kept, value / keep, 0.0))


@ct.kernel
def clamp_branch(x, y, mode, tile: C):
    """A branch on a scalar argument around loads and stores."""
    i = ct.bid(0)
    t = ct.load(x, index=(i,), shape=(tile,), padding_mode=ZERO)
    if mode == 0:
        t = ct.maximum(t, 0.0)
    else:
        other = ct.load(x, index=(0,), shape=(tile,), padding_mode=ZERO)
        t = ct.minimum(t, other)
    ct.store(y, index=(i,), tile=t)


@ct.kernel
def moe_gemm(x, weight, experts, y, tm: C, tn: C, tk: C):
    """Rows of x times the weight of an expert that the block looks up."""
    m, n = ct.bid(0), ct.bid(1)
    expert = ct.gather(experts, m)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(x.shape[1], tk)):
        a = ct.load(x, index=(m, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(weight, index=(expert, n, k), shape=(1, tn, tk), padding_mode=ZERO).reshape((tn, tk))
        acc = ct.mma(a, ct.transpose(b), acc)
    ct.store(y, index=(m, n), tile=acc.astype(y.dtype))


@ct.kernel
def fused_mlp(x, w1, w2, y, tm: C, width: C, hidden: C, tk: C):
    """y = relu(x w1) w2: the first product's result is the operand of the second, inside a loop over hidden."""
    m = ct.bid(0)
    a = ct.load(x, index=(m, 0), shape=(tm, width), padding_mode=ZERO)
    acc = ct.zeros((tm, width), ct.float32)
    for h in range(ct.cdiv(w1.shape[1], hidden)):
        first = ct.load(w1, index=(0, h), shape=(width, hidden), padding_mode=ZERO)
        inner = ct.mma(a, first, ct.zeros((tm, hidden), ct.float32))
        inner = ct.maximum(inner, 0.0).astype(x.dtype)
        second = ct.load(w2, index=(h, 0), shape=(hidden, width), padding_mode=ZERO)
        acc = ct.mma(inner, second, acc)
    ct.store(y, index=(m, 0), tile=acc.astype(y.dtype))


@ct.kernel
def group_norm(x, weight, bias, y, eps, channels: C, tile: C):
    """Group norm: x [batch, groups, channels, pixels]; statistics over a group's channels and pixels."""
    b, g = ct.bid(0), ct.bid(1)
    count = channels * x.shape[3]
    total, squares = 0.0, 0.0
    for j in range(ct.cdiv(x.shape[3], tile)):
        t = ct.load(x, index=(b, g, 0, j), shape=(1, 1, channels, tile), padding_mode=ZERO).reshape((channels, tile))
        total += ct.sum(t)
        squares += ct.sum(t * t)
    centre = total / count
    scale = ct.rsqrt(squares / count - centre * centre + eps)
    factor = ct.load(weight, index=(g, 0), shape=(1, channels), padding_mode=ZERO).reshape((channels, 1))
    shift = ct.load(bias, index=(g, 0), shape=(1, channels), padding_mode=ZERO).reshape((channels, 1))
    for j in range(ct.cdiv(x.shape[3], tile)):
        t = ct.load(x, index=(b, g, 0, j), shape=(1, 1, channels, tile), padding_mode=ZERO).reshape((channels, tile))
        result = (t - centre) * scale * factor + shift
        ct.store(y, index=(b, g, 0, j), tile=result.reshape((1, 1, channels, tile)))


@ct.kernel
def column_sums(x, y, tm: C, tn: C):
    """Sums of columns, as a bias gradient needs them."""
    n = ct.bid(0)
    total = ct.zeros((tm, tn), ct.float32)
    for i in range(ct.cdiv(x.shape[0], tm)):
        total += ct.load(x, index=(i, n), shape=(tm, tn), padding_mode=ZERO).astype(ct.float32)
    ct.store(y, index=(n,), tile=ct.sum(total, axis=0))


@ct.kernel
def quantize(x, q, scales, tile: C):
    """Symmetric i8 quantisation of every row piece by its largest magnitude."""
    row, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=(row, j), shape=(1, tile), padding_mode=ZERO)
    scale = ct.max(ct.abs(t), axis=1, keepdims=True) / 127.0
    safe = ct.where(scale > 0.0, scale, 1.0)
    ct.store(q, index=(row, j), tile=(t / safe).astype(ct.int8))
    ct.store(scales, index=(row, j), tile=scale)


@ct.kernel
def early_return(x, y, n, tile: C):
    """Blocks beyond n leave at once; the others sum pieces of a row, skipping some, and stop storing above a bound."""
    i = ct.bid(0)
    if i >= n:
        return
    total = ct.zeros((1, tile), ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, tile))):
        if j % 3 == 1:
            continue
        total += ct.load(x, index=(i, j), shape=(1, tile), padding_mode=ZERO)
    ct.store(y, index=(i, 0), tile=total)


@ct.kernel
def skip_masked_blocks(a, b, c, tm: C, tn: C, tk: C):
    """A product whose steps above the diagonal are skipped inside the loop."""
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        if k * tk > (m + 1) * tm:
            continue
        x = ct.load(a, index=(m, k), shape=(tm, tk), padding_mode=ZERO)
        acc = ct.mma(x, ct.load(b, index=(k, n), shape=(tk, tn), padding_mode=ZERO), acc)
    ct.store(c, index=(m, n), tile=acc)


@ct.kernel
def linear(x, w, bias, res, y, tm: C, tn: C, tk: C):
    """y = relu(x wT + bias) + res, w stored [n, k] and read in reversed order."""
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(x.shape[1], tk)):
        a = ct.load(x, index=(m, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(w, index=(k, n), shape=(tk, tn), order="F", padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
    acc = acc + ct.load(bias, index=(n,), shape=(tn,), padding_mode=ZERO).astype(ct.float32)
    acc = ct.maximum(acc, 0.0) + ct.load(res, index=(m, n), shape=(tm, tn), padding_mode=ZERO).astype(ct.float32)
    ct.store(y, index=(m, n), tile=acc.astype(y.dtype))


@ct.kernel
def dual(x, w1, w2, y, tm: C, tn: C, tk: C):
    """y = silu(x w1) * (x w2): two accumulators."""
    m, n = ct.bid(0), ct.bid(1)
    a1 = ct.zeros((tm, tn), ct.float32)
    a2 = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(x.shape[1], tk)):
        a = ct.load(x, index=(m, k), shape=(tm, tk), padding_mode=ZERO)
        a1 = ct.mma(a, ct.load(w1, index=(k, n), shape=(tk, tn), padding_mode=ZERO), a1)
        a2 = ct.mma(a, ct.load(w2, index=(k, n), shape=(tk, tn), padding_mode=ZERO), a2)
    ct.store(y, index=(m, n), tile=(a1 / (1.0 + ct.exp(-a1)) * a2).astype(y.dtype))


@ct.kernel
def dequant(x, w, scale, y, tm: C, tn: C, tk: C):
    """y = x (w * scale) with w in i8."""
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(x.shape[1], tk)):
        a = ct.load(x, index=(m, k), shape=(tm, tk), padding_mode=ZERO)
        b = ct.load(w, index=(k, n), shape=(tk, tn)).astype(ct.float16)
        acc = ct.mma(a, b, acc)
    s = ct.load(scale, index=(n,), shape=(tn,), padding_mode=ZERO)
    ct.store(y, index=(m, n), tile=(acc * s).astype(y.dtype))


@ct.kernel
def at_b(a, b, c, tm: C, tn: C, tk: C):
    """c = aT b, as weight gradients need it."""
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[0], tk)):
        x = ct.load(a, index=(k, m), shape=(tk, tm), padding_mode=ZERO)
        acc = ct.mma(ct.transpose(x), ct.load(b, index=(k, n), shape=(tk, tn), padding_mode=ZERO), acc)
    ct.store(c, index=(m, n), tile=acc)


@ct.kernel
def conv(x, w, y, tm: C, tn: C, tk: C):
    """3x3 convolution, NHWC x [n,h,w,c], w [9*c, f], y [n*h*w, f]; im2col by gathers."""
    m, f = ct.bid(0), ct.bid(1)
    height, width, channels = x.shape[1], x.shape[2], x.shape[3]
    row = m * tm + ct.arange(tm, dtype=ct.int32)
    image, rest = row // (height * width), row % (height * width)
    r, q = rest // width, rest % width
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(9 * channels, tk)):
        column = k * tk + ct.arange(tk, dtype=ct.int32)
        tap, channel = column // channels, column % channels
        dy, dx = tap // 3 - 1, tap % 3 - 1
        rr = r[:, None] + dy[None, :]
        qq = q[:, None] + dx[None, :]
        a = ct.gather(x, (image[:, None], rr, qq, channel[None, :]), check_bounds=True, padding_value=0.0)
        b = ct.load(w, index=(k, f), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(y, index=(m, f), tile=acc)


@ct.kernel
def gemv(a, x, y, tm: C, tn: C):
    """y = a x, reduced piece by piece."""
    m = ct.bid(0)
    acc = ct.zeros((tm,), ct.float32)
    for j in range(ct.cdiv(a.shape[1], tn)):
        t = ct.load(a, index=(m, j), shape=(tm, tn), padding_mode=ZERO).astype(ct.float32)
        v = ct.load(x, index=(j,), shape=(tn,), padding_mode=ZERO).astype(ct.float32)
        acc += ct.sum(t * v, axis=1)
    ct.store(y, index=(m,), tile=acc.astype(y.dtype))


@ct.kernel
def topk(x, y, idx, k: C, width: C):
    """The largest k of a row by repeated maxima."""
    row = ct.bid(0)
    at = ct.arange(width, dtype=ct.int32)
    t = ct.gather(x, (row, at), padding_value=-1e30)
    for i in range(k):
        best = ct.max(t)
        where = ct.min(ct.where(t == best, at, width))
        ct.scatter(y, (row, i), best)
        ct.scatter(idx, (row, i), where)
        t = ct.where(at == where, -1e30, t)


@ct.kernel
def nchw(x, y, tc: C, tp: C):
    """y[n, p, c] = x[n, c, p]."""
    n, i, j = ct.bid(0), ct.bid(1), ct.bid(2)
    t = ct.load(x, index=(n, i, j), shape=(1, tc, tp), padding_mode=ZERO)
    ct.store(y, index=(n, j, i), tile=ct.permute(t, (0, 2, 1)))


@ct.kernel
def kv_write(k, slots, cache, heads: C, width: C):
    """cache[slots[i]] = k[i]."""
    i = ct.bid(0)
    slot = ct.gather(slots, i)
    t = ct.load(k, index=(i, 0, 0), shape=(1, heads, width), padding_mode=ZERO)
    ct.store(cache, index=(slot, 0, 0), tile=t)


@ct.kernel
def masked_softmax(x, mask, y, width: C):
    """Softmax of a row under a mask of bytes."""
    row = ct.bid(0)
    t = ct.load(x, index=(row, 0), shape=(1, width), padding_mode=NEG_INF)
    keep = ct.load(mask, index=(row, 0), shape=(1, width))
    t = ct.where(keep != 0, t, -1e30)
    p = ct.exp(t - ct.max(t, 1, keepdims=True))
    ct.store(y, index=(row, 0), tile=p / ct.sum(p, 1, keepdims=True))


@ct.kernel
def decode(q, k, v, out, scale, lengths, group: C, width: C, tn: C):
    """Attention of one new token: q [b, kvh, group, width], k v [b, kvh, length, width]."""
    b, h = ct.bid(0), ct.bid(1)
    length = ct.gather(lengths, b)
    query = ct.load(q, index=(b, h, 0, 0), shape=(1, 1, group, width), padding_mode=ZERO).reshape((group, width))
    highest = ct.full((group, 1), -1e30, dtype=ct.float32)
    total = ct.zeros((group, 1), ct.float32)
    acc = ct.zeros((group, width), ct.float32)
    for j in range(ct.cdiv(length, tn)):
        kt = ct.load(k, index=(b, h, j, 0), shape=(1, 1, tn, width), padding_mode=ZERO).reshape((tn, width))
        s = ct.mma(query, ct.transpose(kt), ct.zeros((group, tn), ct.float32)) * scale
        s = ct.where(j * tn + ct.arange(tn, dtype=ct.int32)[None, :] < length, s, -1e30)
        new = ct.maximum(highest, ct.max(s, 1, keepdims=True))
        p = ct.exp(s - new)
        c = ct.exp(highest - new)
        total = total * c + ct.sum(p, 1, keepdims=True)
        vt = ct.load(v, index=(b, h, j, 0), shape=(1, 1, tn, width), padding_mode=ZERO).reshape((tn, width))
        acc = ct.mma(p.astype(q.dtype), vt, acc * c)
        highest = new
    ct.store(out, index=(b, h, 0, 0), tile=(acc / total).astype(out.dtype).reshape((1, 1, group, width)))


@ct.kernel
def ln_backward(x, dy, w, mean, rstd, dx, dw, rows: C, width: C):
    """dx of layer norm, and partial sums of dw over the block's rows."""
    block = ct.bid(0)
    total = ct.zeros((1, width), ct.float32)
    wt = ct.load(w, index=(0,), shape=(width,), padding_mode=ZERO).astype(ct.float32)
    inside = (ct.arange(width, dtype=ct.int32) < x.shape[1])[None, :]
    for i in range(rows):
        r = block * rows + i
        m, s = ct.gather(mean, r), ct.gather(rstd, r)
        xt = ct.load(x, index=(r, 0), shape=(1, width), padding_mode=ZERO).astype(ct.float32)
        g = ct.load(dy, index=(r, 0), shape=(1, width), padding_mode=ZERO).astype(ct.float32)
        hat = ct.where(inside, (xt - m) * s, 0.0)
        wg = wt * g
        c1 = ct.sum(hat * wg, axis=1, keepdims=True) / x.shape[1]
        c2 = ct.sum(wg, axis=1, keepdims=True) / x.shape[1]
        ct.store(dx, index=(r, 0), tile=((wg - (hat * c1 + c2)) * s).astype(dx.dtype))
        total += g * hat
    ct.store(dw, index=(block, 0), tile=total)


@ct.kernel
def prefix_sums(x, y, n: C):
    """Prefix sums of rows by a product with a triangle of ones."""
    t = ct.load(x, index=(ct.bid(0), 0), shape=(n, n), padding_mode=ZERO)
    i = ct.arange(n, dtype=ct.int32)
    upper = ct.where(i[:, None] <= i[None, :], 1.0, 0.0).astype(ct.float16)
    ct.store(y, index=(ct.bid(0), 0), tile=ct.mma(t, upper, ct.zeros((n, n), ct.float32)))


@ct.kernel
def squares_i64(x, y, n, tile: C):
    """Indices and arithmetic of 64 bits."""
    at = ct.arange(tile, dtype=ct.int64) + ct.bid(0) * tile
    v = ct.gather(x, at)
    ct.scatter(y, at, v * v + n)


@ct.kernel
def unchecked(x, index, y, tile: C):
    """Gathers without bounds, which cuTile writes as loads with a padding value and no mask."""
    at = ct.bid(0) * tile + ct.arange(tile, dtype=ct.int32)
    where = ct.gather(index, at, check_bounds=False)
    ct.scatter(y, at, ct.gather(x, where, check_bounds=False) + 1, check_bounds=False)

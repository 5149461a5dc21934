"""The kernels of the ablation, written as by a cuTile user who leaves the algebra to the compiler.

Written before the rules that they measure, and not edited since: a kernel written differently is an additional kernel.
"""

# cuTile's range takes tiles, and a scalar has methods of tiles, which its type annotations do not show.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

import cuda.tile as ct

C = ct.Constant[int]
ZERO, NEG_INF = ct.PaddingMode.ZERO, ct.PaddingMode.NEG_INF


@ct.kernel
def gemm_row_scale(a, scale, b, y, tm: C, tn: C, tk: C):
    """y = (diag(scale) a) b: rows of a are scaled where they are loaded."""
    m, n = ct.bid(0), ct.bid(1)
    s = ct.load(scale, index=(m,), shape=(tm,), padding_mode=ZERO)[:, None]
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        left = ct.load(a, index=(m, k), shape=(tm, tk), padding_mode=ZERO)
        right = ct.load(b, index=(k, n), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma((left.astype(ct.float32) * s).astype(a.dtype), right, acc)
    ct.store(y, index=(m, n), tile=acc.astype(y.dtype))


@ct.kernel
def gemm_dequant(a, b, scale, y, tm: C, tn: C, tk: C):
    """y = a (b diag(scale)) with b of i8: columns of b are scaled where they are converted."""
    m, n = ct.bid(0), ct.bid(1)
    s = ct.load(scale, index=(n,), shape=(tn,), padding_mode=ZERO)[None, :]
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        left = ct.load(a, index=(m, k), shape=(tm, tk), padding_mode=ZERO)
        right = ct.load(b, index=(k, n), shape=(tk, tn), padding_mode=ZERO)
        acc = ct.mma(left, (right.astype(ct.float32) * s).astype(a.dtype), acc)
    ct.store(y, index=(m, n), tile=acc.astype(y.dtype))


@ct.kernel
def layernorm(x, weight, bias, y, eps, tile: C):
    """Layer norm of a row that fits: mean, variance of what is centred, and the affine map."""
    row, length = ct.bid(0), x.shape[1]
    inside = ct.arange(tile, dtype=ct.int32)[None, :] < length
    piece = ct.load(x, index=(row, 0), shape=(1, tile), padding_mode=ZERO).astype(ct.float32)
    mean = ct.sum(piece, axis=1, keepdims=True) / length
    centred = ct.where(inside, piece - mean, 0.0)
    deviation = ct.sqrt(ct.sum(centred * centred, axis=1, keepdims=True) / length + eps)
    factor = ct.load(weight, index=(0,), shape=(tile,), padding_mode=ZERO)
    shift = ct.load(bias, index=(0,), shape=(tile,), padding_mode=ZERO)
    ct.store(y, index=(row, 0), tile=(centred / deviation * factor + shift).astype(y.dtype))


@ct.kernel
def softmax_passes(x, y, tile: C):
    """Softmax of a row of any length in three passes: its maximum, the sum of exponentials, the quotients."""
    row, pieces = ct.bid(0), ct.cdiv(x.shape[1], tile)
    highest = ct.full((1, 1), -float("inf"), ct.float32)
    for j in range(pieces):
        piece = ct.load(x, index=(row, j), shape=(1, tile), padding_mode=NEG_INF)
        highest = ct.maximum(highest, ct.max(piece, axis=1, keepdims=True))
    total = ct.zeros((1, 1), ct.float32)
    for j in range(pieces):
        piece = ct.load(x, index=(row, j), shape=(1, tile), padding_mode=NEG_INF)
        total = total + ct.sum(ct.exp(piece - highest), axis=1, keepdims=True)
    for j in range(pieces):
        piece = ct.load(x, index=(row, j), shape=(1, tile), padding_mode=NEG_INF)
        ct.store(y, index=(row, j), tile=ct.exp(piece - highest) / total)


@ct.kernel
def softmax_scaled(x, y, scale, width: C):
    """Softmax of a scaled row that fits, with a temperature."""
    row = ct.bid(0)
    piece = ct.load(x, index=(row, 0), shape=(1, width), padding_mode=NEG_INF).astype(ct.float32) * scale
    power = ct.exp(piece - ct.max(piece, axis=1, keepdims=True))
    ct.store(y, index=(row, 0), tile=(power / ct.sum(power, axis=1, keepdims=True)).astype(y.dtype))


@ct.kernel
def attention(q, k, v, out, scale, width: C, tm: C, tn: C):
    """Flash attention in natural exponentials, arrays [heads, length, width]."""
    block, head, length = ct.bid(0), ct.bid(1), k.shape[1]
    query = ct.load(q, index=(head, block, 0), shape=(1, tm, width), padding_mode=ZERO).reshape((tm, width))
    highest = ct.full((tm, 1), -float("inf"), ct.float32)
    total = ct.zeros((tm, 1), ct.float32)
    acc = ct.zeros((tm, width), ct.float32)
    for j in range(ct.cdiv(length, tn)):
        keys = ct.load(k, index=(head, j, 0), shape=(1, tn, width), padding_mode=ZERO).reshape((tn, width))
        score = ct.mma(query, ct.transpose(keys), ct.zeros((tm, tn), ct.float32)) * scale
        score = ct.where(j * tn + ct.arange(tn, dtype=ct.int32)[None, :] < length, score, -float("inf"))
        raised = ct.maximum(highest, ct.max(score, axis=1, keepdims=True))
        power, fade = ct.exp(score - raised), ct.exp(highest - raised)
        total = total * fade + ct.sum(power, axis=1, keepdims=True)
        values = ct.load(v, index=(head, j, 0), shape=(1, tn, width), padding_mode=ZERO).reshape((tn, width))
        acc = ct.mma(power.astype(q.dtype), values, acc * fade)
        highest = raised
    ct.store(out, index=(head, block, 0), tile=(acc / total).astype(out.dtype).reshape((1, tm, width)))


@ct.kernel
def rope(x, cos, sin, y, half: C, tile: C):
    """Rotary embedding of positions [length, 2, half]: the halves of each row are turned by its angles."""
    s = ct.bid(0)
    c = ct.load(cos, index=(s, 0), shape=(tile, half), padding_mode=ZERO).astype(ct.float32)
    n = ct.load(sin, index=(s, 0), shape=(tile, half), padding_mode=ZERO).astype(ct.float32)
    low = ct.load(x, index=(s, 0, 0), shape=(tile, 1, half), padding_mode=ZERO).reshape((tile, half))
    high = ct.load(x, index=(s, 1, 0), shape=(tile, 1, half), padding_mode=ZERO).reshape((tile, half))
    low, high = low.astype(ct.float32), high.astype(ct.float32)
    ct.store(y, index=(s, 0, 0), tile=(low * c - high * n).astype(y.dtype).reshape((tile, 1, half)))
    ct.store(y, index=(s, 1, 0), tile=(high * c + low * n).astype(y.dtype).reshape((tile, 1, half)))


@ct.kernel
def swiglu(gate, up, y, tile: C):
    """y = gate sigmoid(gate) up, a piece of a row each block."""
    row, at = ct.bid(0), ct.bid(1)
    g = ct.load(gate, index=(row, at), shape=(1, tile), padding_mode=ZERO).astype(ct.float32)
    u = ct.load(up, index=(row, at), shape=(1, tile), padding_mode=ZERO).astype(ct.float32)
    ct.store(y, index=(row, at), tile=(g / (1.0 + ct.exp(-g)) * u).astype(y.dtype))


@ct.kernel
def cross_entropy(logits, labels, losses, tile: C):
    """losses[i] = log(sum(exp(logits[i]))) - logits[i, labels[i]], the maximum of a row first."""
    row, pieces = ct.bid(0), ct.cdiv(logits.shape[1], tile)
    highest = ct.full((1, 1), -float("inf"), ct.float32)
    for j in range(pieces):
        piece = ct.load(logits, index=(row, j), shape=(1, tile), padding_mode=NEG_INF).astype(ct.float32)
        highest = ct.maximum(highest, ct.max(piece, axis=1, keepdims=True))
    total = ct.zeros((1, 1), ct.float32)
    for j in range(pieces):
        piece = ct.load(logits, index=(row, j), shape=(1, tile), padding_mode=NEG_INF).astype(ct.float32)
        total = total + ct.sum(ct.exp(piece - highest), axis=1, keepdims=True)
    chosen = ct.gather(logits, (row, ct.gather(labels, row))).astype(ct.float32)
    ct.scatter(losses, row, ct.log(total.item()) + highest.item() - chosen)


@ct.kernel
def attention_passes(q, k, v, out, scale, width: C, tm: C, tn: C):
    """Attention in three passes over blocks of scores: their maxima, the sums of exponentials, products with values."""
    block, head, length = ct.bid(0), ct.bid(1), k.shape[1]
    query = ct.load(q, index=(head, block, 0), shape=(1, tm, width), padding_mode=ZERO).reshape((tm, width))
    highest = ct.full((tm, 1), -float("inf"), ct.float32)
    for j in range(ct.cdiv(length, tn)):
        keys = ct.load(k, index=(head, j, 0), shape=(1, tn, width), padding_mode=ZERO).reshape((tn, width))
        score = ct.mma(query, ct.transpose(keys), ct.zeros((tm, tn), ct.float32)) * scale
        score = ct.where(j * tn + ct.arange(tn, dtype=ct.int32)[None, :] < length, score, -float("inf"))
        highest = ct.maximum(highest, ct.max(score, axis=1, keepdims=True))
    total = ct.zeros((tm, 1), ct.float32)
    for j in range(ct.cdiv(length, tn)):
        keys = ct.load(k, index=(head, j, 0), shape=(1, tn, width), padding_mode=ZERO).reshape((tn, width))
        score = ct.mma(query, ct.transpose(keys), ct.zeros((tm, tn), ct.float32)) * scale
        score = ct.where(j * tn + ct.arange(tn, dtype=ct.int32)[None, :] < length, score, -float("inf"))
        total = total + ct.sum(ct.exp(score - highest), axis=1, keepdims=True)
    acc = ct.zeros((tm, width), ct.float32)
    for j in range(ct.cdiv(length, tn)):
        keys = ct.load(k, index=(head, j, 0), shape=(1, tn, width), padding_mode=ZERO).reshape((tn, width))
        values = ct.load(v, index=(head, j, 0), shape=(1, tn, width), padding_mode=ZERO).reshape((tn, width))
        score = ct.mma(query, ct.transpose(keys), ct.zeros((tm, tn), ct.float32)) * scale
        score = ct.where(j * tn + ct.arange(tn, dtype=ct.int32)[None, :] < length, score, -float("inf"))
        power = ct.exp(score - highest) / total
        acc = ct.mma(power.astype(q.dtype), values, acc)
    ct.store(out, index=(head, block, 0), tile=acc.astype(out.dtype).reshape((1, tm, width)))


@ct.kernel
def attention_row(q, k, v, out, scale, width: C, tm: C, length: C):
    """Attention with the scores of all keys in one tile: maximum, exponentials, sum, products with values."""
    block, head = ct.bid(0), ct.bid(1)
    query = ct.load(q, index=(head, block, 0), shape=(1, tm, width), padding_mode=ZERO).reshape((tm, width))
    keys = ct.load(k, index=(head, 0, 0), shape=(1, length, width), padding_mode=ZERO).reshape((length, width))
    values = ct.load(v, index=(head, 0, 0), shape=(1, length, width), padding_mode=ZERO).reshape((length, width))
    score = ct.mma(query, ct.transpose(keys), ct.zeros((tm, length), ct.float32)) * scale
    score = ct.where(ct.arange(length, dtype=ct.int32)[None, :] < k.shape[1], score, -float("inf"))
    power = ct.exp(score - ct.max(score, axis=1, keepdims=True))
    power = power / ct.sum(power, axis=1, keepdims=True)
    acc = ct.mma(power.astype(q.dtype), values, ct.zeros((tm, width), ct.float32))
    ct.store(out, index=(head, block, 0), tile=acc.astype(out.dtype).reshape((1, tm, width)))


@ct.kernel
def delta_step(q, k, v, beta, decay, y, next_state, width: C, tile: C):
    """The first step of the gated delta rule for a head and a part of its values, from a state of zeros."""
    head, part = ct.bid(0), ct.bid(1)
    query = ct.load(q, index=(head, 0), shape=(1, width), padding_mode=ZERO).astype(ct.float32).reshape((width, 1))
    key = ct.load(k, index=(head, 0), shape=(1, width), padding_mode=ZERO).astype(ct.float32).reshape((width, 1))
    value = ct.load(v, index=(head, part), shape=(1, tile), padding_mode=ZERO).astype(ct.float32)
    rate = ct.load(beta, index=(head,), shape=(1,), padding_mode=ZERO).reshape((1, 1))
    gate = ct.exp(ct.load(decay, index=(head,), shape=(1,), padding_mode=ZERO)).reshape((1, 1))
    state = ct.zeros((width, tile), ct.float32) * gate
    seen = ct.sum(state * key, axis=0, keepdims=True)
    state = state + key * ((value - seen) * rate)
    ct.store(y, index=(head, part), tile=ct.sum(state * query, axis=0, keepdims=True).astype(y.dtype))
    ct.store(next_state, index=(head, part), tile=state.reshape((1, width * tile)))

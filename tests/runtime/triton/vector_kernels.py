"""Triton kernels without a matrix product: elementwise work, row reductions, scans, atomics, random numbers."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    """out = x + y for n elements."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def softmax(x, out, columns, stride, BLOCK: tl.constexpr):
    """Softmax of each row; one program a row."""
    row = tl.program_id(0).to(tl.int64) * stride
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row + at, at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row + at, powers / tl.sum(powers, 0), at < columns)


@triton.jit
def layer_norm(x, scale, shift, out, mean_out, columns, epsilon, BLOCK: tl.constexpr):
    """Rows to mean 0 and variance 1 in pieces of BLOCK columns, then scaled and shifted; f16 in and out."""
    row = tl.program_id(0)
    x += row * columns
    out += row * columns
    total = tl.zeros((BLOCK,), tl.float32)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        piece = tl.load(x + at, at < columns, other=0.0).to(tl.float32)
        total += piece
        squares += piece * piece
    mean = tl.sum(total, 0) / columns
    factor = tl.rsqrt(tl.sum(squares, 0) / columns - mean * mean + epsilon)
    tl.store(mean_out + row, mean)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        piece = tl.load(x + at, inside, other=0.0).to(tl.float32)
        result = (piece - mean) * factor * tl.load(scale + at, inside) + tl.load(shift + at, inside)
        tl.store(out + at, result.to(tl.float16), inside)


@triton.jit
def dropout(x, out, mask_out, n, keep, seed, BLOCK: tl.constexpr):
    """Keep elements with probability `keep`, scaled; which ones comes from Philox on the element's number."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    random = tl.rand(seed, at)
    kept = random < keep
    values = tl.load(x + at, inside)
    tl.store(out + at, tl.where(kept, values / keep, 0.0), inside)
    tl.store(mask_out + at, random, inside)


@triton.jit
def transpose(x, out, rows, columns, TILE_R: tl.constexpr, TILE_C: tl.constexpr):
    """out[c, r] = x[r, c], through a tile that changes its layout."""
    r = tl.program_id(0) * TILE_R + tl.arange(0, TILE_R)
    c = tl.program_id(1) * TILE_C + tl.arange(0, TILE_C)
    tile = tl.load(x + r[:, None] * columns + c[None, :], (r < rows)[:, None] & (c < columns)[None, :])
    inside = (c < columns)[:, None] & (r < rows)[None, :]
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(tile), inside)


@triton.jit
def _decay(a_left, b_left, a_right, b_right):
    return a_left * a_right, b_left * a_right + b_right


@triton.jit
def scan(x, gate, sums, states, columns, BLOCK: tl.constexpr):
    """Running sums of each row, and the linear recurrence s = gate * s + x."""
    row = tl.program_id(0) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row + at, inside, other=0)
    gates = tl.load(gate + row + at, inside, other=1.0)
    tl.store(sums + row + at, tl.cumsum(values, 0), inside)
    _, state = tl.associative_scan((gates, values.to(tl.float32)), 0, _decay)
    tl.store(states + row + at, state, inside)


@triton.jit
def histogram(x, counts, extremes, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """Counts of the values below BINS, added up over programs with atomics; also the least and greatest value."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + at, inside, other=0)
    found = tl.histogram(values, BINS, mask=inside)
    tl.atomic_add(counts + tl.arange(0, BINS), found)
    tl.atomic_add(counts + BINS + values, tl.full((BLOCK,), 1, tl.int32), inside)
    tl.atomic_max(extremes, tl.max(values, 0))
    tl.atomic_min(extremes + 1, tl.min(tl.where(inside, values, BINS), 0))


@triton.jit
def sort_rows(x, out, where_out, BLOCK: tl.constexpr):
    """Rows in ascending order, and the place of the greatest element."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + row)
    tl.store(out + row, tl.sort(values))
    tl.store(where_out + tl.program_id(0), tl.argmax(values, 0))


@triton.jit
def narrow_floats(x, e5m2_out, bf16_out, back_out, n, BLOCK: tl.constexpr):
    """f32 to e5m2 and bf16 and back to f32, with an activation of transcendental functions."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + at, inside, other=0.0)
    small = values.to(tl.float8e5)
    tl.store(e5m2_out + at, small, inside)
    middle = (values * tl.sigmoid(values)).to(tl.bfloat16)
    tl.store(bf16_out + at, middle, inside)
    tl.store(
        back_out + at, small.to(tl.float32) + tl.sin(values) * tl.log(tl.abs(values) + 1.0) + tl.erf(values), inside
    )


@triton.jit
def integers(x, y, out, n, BLOCK: tl.constexpr):
    """64-bit and 32-bit division, remainder, high products and shifts."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, inside, other=1)
    b = tl.load(y + at, inside, other=1)
    narrow = (a.to(tl.int32) // (b.to(tl.int32) | 1)).to(tl.int64)
    high = tl.umulhi(a.to(tl.uint32), b.to(tl.uint32)).to(tl.int64)
    tl.store(out + at, (a // b) ^ ((a % b) << 3) ^ narrow ^ (high << 7), inside)

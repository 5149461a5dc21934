"""Triton kernels around tl.dot: products with pointers and with descriptors, attention, groups, block scales."""

import triton
import triton.language as tl


@triton.jit
def gemm_pointers(a, b, c, m, n, k, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """c[m, n] = a[m, k] @ b[k, n], f16 to f32, edges masked."""
    rows = tl.program_id(0) * TM + tl.arange(0, TM)
    columns = tl.program_id(1) * TN + tl.arange(0, TN)
    inner = tl.arange(0, TK)
    a_at = a + rows[:, None] * k + inner[None, :]
    b_at = b + inner[:, None] * n + columns[None, :]
    total = tl.zeros((TM, TN), tl.float32)
    for start in range(0, k, TK):
        left = k - start
        a_tile = tl.load(a_at, (rows < m)[:, None] & (inner < left)[None, :], other=0.0)
        b_tile = tl.load(b_at, (inner < left)[:, None] & (columns < n)[None, :], other=0.0)
        total = tl.dot(a_tile, b_tile, total)
        a_at += TK
        b_at += TK * n
    tl.store(c + rows[:, None] * n + columns[None, :], total, (rows < m)[:, None] & (columns < n)[None, :])


@triton.jit
def gemm_descriptors(a, b, c, k, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """c = a @ b.T with tensor descriptors that the host made; b is stored [n, k]; f16 out."""
    row = tl.program_id(0) * TM
    column = tl.program_id(1) * TN
    total = tl.zeros((TM, TN), tl.float32)
    for start in range(0, k, TK):
        total = tl.dot(a.load([row, start]), b.load([column, start]).T, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def gemm_device_descriptors(a, b, c, m, n, k, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """c = a @ b with tensor descriptors made in the kernel, b [k, n] as stored."""
    a_map = tl.make_tensor_descriptor(a, [m, k], [k, 1], [TM, TK])
    b_map = tl.make_tensor_descriptor(b, [k, n], [n, 1], [TK, TN])
    c_map = tl.make_tensor_descriptor(c, [m, n], [n, 1], [TM, TN])
    row = tl.program_id(0) * TM
    column = tl.program_id(1) * TN
    total = tl.zeros((TM, TN), tl.float32)
    for start in range(0, k, TK):
        total = tl.dot(a_map.load([row, start]), b_map.load([start, column]), total)
    c_map.store([row, column], total.to(tl.float16))


@triton.jit
def gemm_specialised(a, b, c, k, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """c = a @ b.T with loads, products and the epilogue in warps of their own."""
    row = tl.program_id(0) * TM
    column = tl.program_id(1) * TN
    total = tl.zeros((TM, TN), tl.float32)
    for start in tl.range(0, k, TK, warp_specialize=True):
        total = tl.dot(a.load([row, start]), b.load([column, start]).T, total)
    c.store([row, column], total.to(tl.float16))


@triton.jit
def gemm_fp8(a, b, c, m, n, k, scale, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """c = scale * a @ b.T of e4m3; whole tiles only."""
    rows = tl.program_id(0) * TM + tl.arange(0, TM)
    columns = tl.program_id(1) * TN + tl.arange(0, TN)
    total = tl.zeros((TM, TN), tl.float32)
    for start in range(0, k, TK):
        inner = start + tl.arange(0, TK)
        a_tile = tl.load(a + rows[:, None] * k + inner[None, :])
        b_tile = tl.load(b + columns[None, :] * k + inner[:, None])
        total = tl.dot(a_tile, b_tile, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total * scale)


@triton.jit
def gemm_int8(a, b, c, n, k, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """c = a @ b.T of signed bytes, exact in s32; whole tiles only."""
    rows = tl.program_id(0) * TM + tl.arange(0, TM)
    columns = tl.program_id(1) * TN + tl.arange(0, TN)
    total = tl.zeros((TM, TN), tl.int32)
    for start in range(0, k, TK):
        inner = start + tl.arange(0, TK)
        a_tile = tl.load(a + rows[:, None] * k + inner[None, :])
        b_tile = tl.load(b + columns[None, :] * k + inner[:, None])
        total = tl.dot(a_tile, b_tile, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def gemm_block_scaled(a, a_scale, b, b_scale, c, n, k, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """c = a @ b.T of e4m3 with a ue8m0 scale for each 32 elements of k; whole tiles only."""
    rows = tl.program_id(0) * TM + tl.arange(0, TM)
    columns = tl.program_id(1) * TN + tl.arange(0, TN)
    total = tl.zeros((TM, TN), tl.float32)
    for start in range(0, k, TK):
        inner = start + tl.arange(0, TK)
        blocks = start // 32 + tl.arange(0, TK // 32)
        a_tile = tl.load(a + rows[:, None] * k + inner[None, :])
        b_tile = tl.load(b + columns[None, :] * k + inner[:, None])
        a_factor = tl.load(a_scale + rows[:, None] * (k // 32) + blocks[None, :])
        b_factor = tl.load(b_scale + columns[:, None] * (k // 32) + blocks[None, :])
        total = tl.dot_scaled(a_tile, a_factor, "e4m3", b_tile, b_factor, "e4m3", total)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def grouped_gemm(
    addresses, shapes, groups, PROGRAMS: tl.constexpr, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr
):
    """Several products of different shapes in one launch.

    addresses: [groups, 3] pointers to a, b, c; shapes: [groups, 3] m, n, k. Programs take tiles in turn.
    """
    tile = tl.program_id(0)
    passed = 0
    for group in range(groups):
        m = tl.load(shapes + group * 3)
        n = tl.load(shapes + group * 3 + 1)
        k = tl.load(shapes + group * 3 + 2)
        across = tl.cdiv(n, TN)
        tiles = tl.cdiv(m, TM) * across
        while tile >= passed and tile < passed + tiles:
            a = tl.load(addresses + group * 3).to(tl.pointer_type(tl.float16))
            b = tl.load(addresses + group * 3 + 1).to(tl.pointer_type(tl.float16))
            c = tl.load(addresses + group * 3 + 2).to(tl.pointer_type(tl.float32))
            rows = (tile - passed) // across * TM + tl.arange(0, TM)
            columns = (tile - passed) % across * TN + tl.arange(0, TN)
            total = tl.zeros((TM, TN), tl.float32)
            for start in range(0, k, TK):
                inner = start + tl.arange(0, TK)
                a_tile = tl.load(
                    a + rows[:, None] * k + inner[None, :], (rows < m)[:, None] & (inner < k)[None, :], 0.0
                )
                b_tile = tl.load(
                    b + inner[:, None] * n + columns[None, :], (inner < k)[:, None] & (columns < n)[None, :], 0.0
                )
                total = tl.dot(a_tile, b_tile, total)
            tl.store(c + rows[:, None] * n + columns[None, :], total, (rows < m)[:, None] & (columns < n)[None, :])
            tile += PROGRAMS
        passed += tiles


@triton.jit
def attention(q, k, v, out, length, factor, CAUSAL: tl.constexpr, TQ: tl.constexpr, TK: tl.constexpr, D: tl.constexpr):
    """softmax(factor * q @ k.T) @ v a head at a time with a running maximum; factor includes log2(e)."""
    base = tl.program_id(1) * length * D
    first = tl.program_id(0) * TQ
    rows = first + tl.arange(0, TQ)
    d = tl.arange(0, D)
    query = tl.load(q + base + rows[:, None] * D + d[None, :], (rows < length)[:, None], other=0.0)
    greatest = tl.full((TQ,), -float("inf"), tl.float32)
    weight = tl.zeros((TQ,), tl.float32)
    total = tl.zeros((TQ, D), tl.float32)
    end = tl.minimum(first + TQ, length) if CAUSAL else length
    for start in range(0, end, TK):
        keys = start + tl.arange(0, TK)
        key = tl.load(k + base + keys[None, :] * D + d[:, None], (keys < length)[None, :], other=0.0)
        score = tl.dot(query, key) * factor
        visible = (keys < length)[None, :]
        if CAUSAL:
            visible = visible & (keys[None, :] <= rows[:, None])
        score = tl.where(visible, score, -1.0e30)
        peak = tl.maximum(greatest, tl.max(score, 1))
        power = tl.exp2(score - peak[:, None])
        fade = tl.exp2(greatest - peak)
        weight = weight * fade + tl.sum(power, 1)
        value = tl.load(v + base + keys[:, None] * D + d[None, :], (keys < length)[:, None], other=0.0)
        total = tl.dot(power.to(tl.float16), value, total * fade[:, None])
        greatest = peak
    tl.store(out + base + rows[:, None] * D + d[None, :], total / weight[:, None], (rows < length)[:, None])

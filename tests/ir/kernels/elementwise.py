"""Elementwise cuTile kernels: arithmetic, mathematics, comparison, conversion, random choice of elements."""

import cuda.tile as ct

N = 64


@ct.kernel
def saxpy(a, x, y):
    t = ct.load(x, (ct.bid(0),), (N,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (ct.bid(0),), a * t + ct.load(y, (ct.bid(0),), (N,)))


@ct.kernel
def rounding_modes(x, y, out):
    i = ct.bid(0)
    a, b = ct.load(x, (i,), (N,)), ct.load(y, (i,), (N,))
    ct.store(out, (0, i), ct.expand_dims(ct.add(a, b, rounding_mode=ct.RoundingMode.RZ), 0))
    ct.store(out, (1, i), ct.expand_dims(ct.sub(a, b, rounding_mode=ct.RoundingMode.RM), 0))
    ct.store(out, (2, i), ct.expand_dims(ct.mul(a, b, rounding_mode=ct.RoundingMode.RP, flush_to_zero=True), 0))
    ct.store(out, (3, i), ct.expand_dims(ct.truediv(a, b, rounding_mode=ct.RoundingMode.RZ), 0))
    ct.store(out, (4, i), ct.expand_dims(ct.sqrt(ct.abs(a), rounding_mode=ct.RoundingMode.RP), 0))


@ct.kernel
def swiglu(x, gate, out):
    i, j = ct.bid(0), ct.bid(1)
    g = ct.astype(ct.load(gate, (i, j), (8, 16)), ct.float32)
    t = ct.astype(ct.load(x, (i, j), (8, 16)), ct.float32)
    ct.store(out, (i, j), ct.astype(t * g / (1.0 + ct.exp(-g)), out.dtype))


@ct.kernel
def gelu(x, out):
    i = ct.bid(0)
    t = ct.load(x, (i,), (N,))
    inner = 0.7978845608 * (t + 0.044715 * t * t * t)
    ct.store(out, (i,), 0.5 * t * (1.0 + ct.tanh(inner)))


@ct.kernel
def trigonometry(x, out):
    t = ct.load(x, (0,), (N,))
    u = ct.sin(t) + ct.cos(t) * ct.tan(t) + ct.sinh(t) - ct.cosh(t) + ct.atan2(t, ct.abs(t) + 0.5)
    ct.store(out, (0,), u + ct.pow(ct.abs(t) + 0.25, t))


@ct.kernel
def powers_of_integers(x, out):
    t = ct.load(x, (0,), (N,))
    ct.store(out, (0,), t**3 + ct.floor(t) - ct.ceil(t) + ct.rsqrt(t * t + 1.0))


@ct.kernel
def logarithms(x, out):
    t = ct.load(x, (0,), (N,))
    ct.store(out, (0,), ct.log(t) + ct.log2(t) * ct.exp2(-t, flush_to_zero=True) + ct.exp(-t))


@ct.kernel
def integer_bits(x, y, out):
    a, b = ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,))
    u = (a << (b & 7)) | (a >> (b & 15)) ^ ct.bitwise_not(b)
    ct.store(out, (0,), u + ct.minimum(a, b) * ct.maximum(a, 3) - ct.abs(a))


@ct.kernel
def unsigned_division(x, y, out):
    a, b = ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,))
    ct.store(out, (0,), ct.cdiv(a, b) + a % b + (a >> 3))


@ct.kernel
def signed_division(x, y, out):
    a, b = ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,))
    ct.store(out, (0,), (a // b) * 1000 + a % b + ct.cdiv(a, b) * 7)


@ct.kernel
def comparisons(x, y, out):
    a, b = ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,))
    u = ct.where(a < b, 1, 0) + ct.where(a <= b, 2, 0) + ct.where(a == b, 4, 0) + ct.where(a != b, 8, 0)
    u = u + ct.where(a > b, 16, 0) + ct.where(a >= b, 32, 0) + ct.where(ct.isnan(a), 64, 0)
    ct.store(out, (0,), u)


@ct.kernel
def extremes_with_nan(x, y, out):
    a, b = ct.load(x, (0,), (N,)), ct.load(y, (0,), (N,))
    ct.store(out, (0, 0), ct.expand_dims(ct.maximum(a, b), 0))
    ct.store(out, (1, 0), ct.expand_dims(ct.minimum(a, b, propagate_nan=True), 0))
    ct.store(out, (2, 0), ct.expand_dims(ct.maximum(a, b, flush_to_zero=True), 0))


@ct.kernel
def conversions(x, i32, f16, bf16, i64):
    t = ct.load(x, (0,), (N,))
    ct.store(i32, (0,), ct.astype(t * 100.0, ct.int32))
    ct.store(f16, (0,), ct.astype(t, ct.float16))
    ct.store(bf16, (0,), ct.astype(t, ct.bfloat16))
    ct.store(i64, (0,), ct.astype(ct.astype(t * 1000.0, ct.int16), ct.int64))


@ct.kernel
def integers_to_floats(x, y, f32, f16):
    ct.store(f32, (0,), ct.astype(ct.load(x, (0,), (N,)), ct.float32))
    ct.store(f16, (0,), ct.astype(ct.load(y, (0,), (N,)), ct.float16))


@ct.kernel
def narrow_floats(x, e4, e5):
    t = ct.load(x, (0,), (N,))
    ct.store(e4, (0,), ct.astype(t, ct.float8_e4m3fn))
    ct.store(e5, (0,), ct.astype(ct.astype(ct.load(e4, (0,), (N,)), ct.float32) * 2.0, ct.float8_e5m2))


@ct.kernel
def reinterpreted(x, out):
    bits = ct.bitcast(ct.load(x, (0,), (N,)), ct.int32)
    ct.store(out, (0,), ct.bitcast(bits ^ 0x55, ct.float32))


@ct.kernel
def rotary(x, cos, sin, out):
    i = ct.bid(0)
    left, right = ct.load(x, (i, 0), (4, 16)), ct.load(x, (i, 1), (4, 16))
    c, s = ct.load(cos, (0,), (16,)), ct.load(sin, (0,), (16,))
    ct.store(out, (i, 0), left * c - right * s)
    ct.store(out, (i, 1), right * c + left * s)

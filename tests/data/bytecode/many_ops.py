"""cuTile kernels made to use many operations, for the tests of the bytecode reader and the interpreter."""

import cuda.tile as ct
from signatures import Output, array, write

TILE = 64


@ct.kernel
def floats(x, y):
    """Float arithmetic, comparison and mathematics; x, y [64] f32."""
    t = ct.load(x, index=(0,), shape=(TILE,))
    u = ct.where(t > 0.5, ct.exp(-t), ct.log(ct.abs(t) + 1.0))
    u = u + ct.sqrt(ct.abs(t)) + ct.tanh(t) + ct.rsqrt(t * t + 1.0) + ct.exp2(t) + ct.log2(t * t + 2.0)
    u = ct.maximum(u, ct.minimum(t, 0.25)) + ct.floor(t) - ct.ceil(t * 0.5) + ct.sin(t) * ct.cos(t)
    u = ct.truediv(u, 3.0, rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True)
    u = ct.astype(ct.astype(u, ct.float16), ct.float32) + ct.astype(ct.astype(t, ct.bfloat16), ct.float32)
    ct.store(y, index=(0,), tile=u)


@ct.kernel
def integers(x, y):
    """Integer arithmetic with Python's signs, shifts and bits; x, y [64] i32."""
    t = ct.load(x, index=(0,), shape=(TILE,))
    u = (t // 7) + (t % 5) * 3 - (t >> 2) + (t << 3)
    u = u ^ (t & 0x55) | (t * t)
    u = ct.minimum(ct.maximum(u, -1000), 100000) + ct.cdiv(t, 3)
    w = ct.astype(t, ct.int64) * 3 + ct.arange(TILE, dtype=ct.int64)
    u = u + ct.astype(w, ct.int32) + ct.astype(ct.astype(t, ct.float32) * 0.5, ct.int32)
    ct.store(y, index=(0,), tile=ct.where(u == 4, -u, u))


@ct.kernel
def control(x, y, n):
    """A loop left early, branches, scans, argmax; x [64] f32, y [4] i32, n i32; grid (2,)."""
    t = ct.load(x, index=(0,), shape=(TILE,))
    best = ct.argmax(t, 0)
    count = 0
    for i in range(n):
        if i * i > 50:
            break
        count = count + i
    total = ct.astype(ct.sum(ct.cumsum(t, 0, reverse=True), 0), ct.int32)
    if ct.bid(0) == 1:
        ct.scatter(y, ct.bid(0) + 0, best)
        ct.scatter(y, 2, count)
    else:
        ct.scatter(y, 0, total)
        ct.atomic_add(y, 3, ct.num_blocks(0))


@ct.kernel
def shapes(x, y):
    """Permute, cat, extract, batched products of bf16, gathers with a mask; x [16, 16] bf16, y [32, 16] f32."""
    t = ct.load(x, index=(0, 0), shape=(16, 16), order="F", latency=3)
    both = ct.cat((t, ct.transpose(t)), 0)
    top = ct.extract(both, (1, 0), (16, 16))
    product = ct.mma(ct.reshape(t, (1, 16, 16)), ct.reshape(top, (1, 16, 16)), ct.zeros((1, 16, 16), ct.float32))
    rows = ct.reshape(ct.arange(16, dtype=ct.int32), (16, 1))
    columns = ct.reshape(ct.arange(16, dtype=ct.int32), (1, 16))
    extra = ct.gather(x, (rows, columns), mask=columns > rows, padding_value=2.0)
    ct.store(y, index=(0, 0), tile=ct.cat((ct.reshape(product, (16, 16)), ct.astype(extra, ct.float32)), 0))


def export(name: str, output: Output, version: str = "13.3") -> None:
    """Write one of the kernels as Tile IR bytecode."""
    from cuda.tile.compilation import ScalarConstraint

    vector, numbers = array(ct.float32, 1), array(ct.int32, 1)
    kernel, parameters = {
        "floats": (floats, [vector, vector]),
        "integers": (integers, [numbers, numbers]),
        "control": (control, [vector, numbers, ScalarConstraint(ct.int32)]),
        "shapes": (shapes, [array(ct.bfloat16, 2), array(ct.float32, 2)]),
    }[name]
    write(kernel, parameters, name, output, version)

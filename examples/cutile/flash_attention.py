"""Flash attention, forward, in cuTile: out = softmax(scale * Q K^T) V for each head; f16, sums in f32.

One tile block owns 128 queries of a head and walks the keys in steps of 64. It keeps a running maximum and a running
sum for each query (in base 2) and rescales what it has when the maximum rises, so that the scores are never stored.
Usage: python flash_attention.py OUT.tileirbc [BYTECODE_VERSION]
"""

import sys

import cuda.tile as ct
from cuda.tile.compilation import ScalarConstraint
from signatures import Output, array, write

QUERIES, KEYS, WIDTH = 128, 64, 64
LOG2_E = 1.4426950408889634


@ct.kernel
def flash_attention(q, k, v, out, scale):
    """q, out [H, M, 64] f16, k, v [H, N, 64] f16, scale f32, N >= 1; grid (ceil(M / 128), H)."""
    block, head = ct.bid(0), ct.bid(1)
    scale = scale * LOG2_E
    length = k.shape[1]
    query = ct.load(q, index=(head, block, 0), shape=(1, QUERIES, WIDTH), padding_mode=ct.PaddingMode.ZERO)
    query = ct.reshape(query, (QUERIES, WIDTH))
    highest = ct.full((QUERIES, 1), -float("inf"), ct.float32)
    total = ct.zeros((QUERIES, 1), ct.float32)
    acc = ct.zeros((QUERIES, WIDTH), ct.float32)
    for j in range(ct.cdiv(length, KEYS)):  # pyright: ignore[reportArgumentType] - cuTile's
        keys = ct.load(k, index=(head, j, 0), shape=(1, KEYS, WIDTH), padding_mode=ct.PaddingMode.ZERO)
        keys = ct.transpose(ct.reshape(keys, (KEYS, WIDTH)))
        score = ct.mma(query, keys, ct.zeros((QUERIES, KEYS), ct.float32))
        inside = j * KEYS + ct.arange(KEYS, dtype=ct.int32)[None, :] < length
        score = ct.where(inside, score, -float("inf"))
        raised = ct.maximum(highest, ct.max(score, axis=1, keepdims=True) * scale)
        power = ct.exp2(score * scale - raised)
        fade = ct.exp2(highest - raised)
        total = total * fade + ct.sum(power, axis=1, keepdims=True)
        values = ct.load(v, index=(head, j, 0), shape=(1, KEYS, WIDTH), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(ct.astype(power, q.dtype), ct.reshape(values, (KEYS, WIDTH)), acc * fade)
        highest = raised
    result = ct.astype(acc * (1.0 / total), out.dtype)
    ct.store(out, index=(head, block, 0), tile=ct.reshape(result, (1, QUERIES, WIDTH)))


def export(output: Output, bytecode_version: str = "13.3") -> None:
    """Write the kernel as Tile IR bytecode."""
    parameters = [array(ct.float16, 3, pitch=8)] * 4 + [ScalarConstraint(ct.float32)]
    write(flash_attention, parameters, "flash_attention", output, bytecode_version)


if __name__ == "__main__":
    export(*sys.argv[1:])

"""Layer norm over the last dimension in cuTile, f32: y = (x - mean) / sqrt(variance + eps) * weight + bias.

Each tile block owns one row of any length N and passes over it three times in pieces of 1024: mean, variance,
result. Padding reads zero; the variance pass masks it, because zero minus the mean is not zero.
Usage: python layernorm.py OUT.tileirbc [BYTECODE_VERSION]
"""

import sys

import cuda.tile as ct
from cuda.tile.compilation import ScalarConstraint
from signatures import Output, array, write

TILE = 1024


@ct.kernel
def layernorm(x, weight, bias, y, eps):
    """x, y [M, N], weight, bias [N], eps scalar, all f32; grid (M,)."""
    row = ct.bid(0)
    length = x.shape[1]
    pieces = ct.num_tiles(x, axis=1, shape=(1, TILE))

    total = ct.zeros((1, TILE), ct.float32)
    for j in range(pieces):
        total += ct.load(x, index=(row, j), shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO)
    mean = ct.sum(total, axis=1, keepdims=True) / length

    squares = ct.zeros((1, TILE), ct.float32)
    for j in range(pieces):
        x_tile = ct.load(x, index=(row, j), shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO)
        inside = j * TILE + ct.arange(TILE, dtype=ct.int32) < length
        centred = ct.where(inside, x_tile - mean, 0.0)
        squares += centred * centred
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / length + eps)

    for j in range(pieces):
        x_tile = ct.load(x, index=(row, j), shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO)
        weight_tile = ct.load(weight, index=(j,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
        bias_tile = ct.load(bias, index=(j,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(y, index=(row, j), tile=(x_tile - mean) * scale * weight_tile + bias_tile)


def export(output: Output, bytecode_version: str = "13.3") -> None:
    """Write the kernel as Tile IR bytecode."""
    matrix, vector = array(ct.float32, 2, pitch=4), array(ct.float32, 1)
    parameters = [matrix, vector, vector, matrix, ScalarConstraint(ct.float32)]
    write(layernorm, parameters, "layernorm", output, bytecode_version)


if __name__ == "__main__":
    export(*sys.argv[1:])

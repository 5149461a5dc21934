"""GEMM in cuTile whose A operand is scaled by a negated broadcast: D = (A * -s[None, :]) * B^T, f16 in, f32 out.

s holds one scale for each k. The negation is written where a frontend would leave it, inside the K loop on the
128 x 64 operand; sinking it below the broadcast, or into the accumulator's sign, is the compiler's work.
Usage: python gemm_negated.py OUT.tileirbc [BYTECODE_VERSION]
"""

import sys

import cuda.tile as ct
from signatures import Output, array, write

TILE_M, TILE_N, TILE_K = 128, 128, 64


@ct.kernel
def gemm_negated(a, b, s, d):
    """a [M, K] f16, b [N, K] f16, s [K] f16, d [M, N] f32; grid (ceil(M / 128), ceil(N / 128))."""
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))):
        a_tile = ct.load(a, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        b_tile = ct.load(b, index=(n, k), shape=(TILE_N, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        scale = ct.load(s, index=(k,), shape=(TILE_K,), padding_mode=ct.PaddingMode.ZERO)
        scale = ct.broadcast_to(ct.reshape(scale, (1, TILE_K)), (TILE_M, TILE_K))
        acc = ct.mma(a_tile * -scale, ct.transpose(b_tile), acc)
    ct.store(d, index=(m, n), tile=acc)


def export(output: Output, bytecode_version: str = "13.3") -> None:
    """Write the kernel as Tile IR bytecode."""
    half, single = array(ct.float16, 2, pitch=8), array(ct.float32, 2, pitch=4)
    write(gemm_negated, [half, half, array(ct.float16, 1), single], "gemm_negated", output, bytecode_version)


if __name__ == "__main__":
    export(*sys.argv[1:])

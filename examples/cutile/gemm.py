"""Fused GEMM in cuTile: D = A * B^T + C with f16 inputs and f32 C, D; any M, N, K.

One tile block makes one 128 x 128 tile of D and walks K in steps of 64. Tiles that overhang an array read zeros and
store nothing outside it. Row pitches are promised to be multiples of 16 bytes.
Usage: python gemm.py OUT.tileirbc [BYTECODE_VERSION]
"""

import sys

import cuda.tile as ct
from signatures import Output, array, write

TILE_M, TILE_N, TILE_K = 128, 128, 64


@ct.kernel
def gemm(a, b, c, d):
    """a [M, K] f16, b [N, K] f16, c [M, N] f32, d [M, N] f32; grid (ceil(M / 128), ceil(N / 128))."""
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))):
        a_tile = ct.load(a, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        b_tile = ct.load(b, index=(n, k), shape=(TILE_N, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(a_tile, ct.transpose(b_tile), acc)
    c_tile = ct.load(c, index=(m, n), shape=(TILE_M, TILE_N), padding_mode=ct.PaddingMode.ZERO)
    ct.store(d, index=(m, n), tile=acc + c_tile)


def export(output: Output, bytecode_version: str = "13.3") -> None:
    """Write the kernel as Tile IR bytecode."""
    half, single = array(ct.float16, 2, pitch=8), array(ct.float32, 2, pitch=4)
    write(gemm, [half, half, single, single], "gemm", output, bytecode_version)


if __name__ == "__main__":
    export(*sys.argv[1:])

"""MXFP8 GEMM in cuTile: D = (A x scales) (B x scales)^T of f8 in blocks of 32 with an E8M0 scale each; any M, N, K.

One tile block makes one 128 x 128 tile of D and walks K in steps of 128. Scales lie in rows as the factors do. Tiles
that overhang an array read zeros and store nothing outside it. Row pitches are promised to be multiples of 16 bytes, of
scales of 4.
Usage: python gemm_mxfp8.py OUT.tileirbc [BYTECODE_VERSION]
"""

import sys

import cuda.tile as ct
from signatures import Output, array, write

TILE_M, TILE_N, TILE_K, BLOCK = 128, 128, 128, 32


@ct.kernel
def gemm_mxfp8(a, b, a_scales, b_scales, d):
    """a [M, K], b [N, K] f8E4M3FN, a_scales [M, K / 32], b_scales [N, K / 32] f8E8M0FNU, d [M, N] f32; grid
    (ceil(M / 128), ceil(N / 128)).
    """
    m, n = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO
    acc = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))):
        a_tile = ct.load(a, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=zero)
        b_tile = ct.load(b, index=(n, k), shape=(TILE_N, TILE_K), padding_mode=zero)
        a_scale = ct.load(a_scales, index=(m, k), shape=(TILE_M, TILE_K // BLOCK), padding_mode=zero)
        b_scale = ct.load(b_scales, index=(n, k), shape=(TILE_N, TILE_K // BLOCK), padding_mode=zero)
        acc = ct.mma_scaled(a_tile, a_scale, ct.transpose(b_tile), ct.transpose(b_scale), acc)
    ct.store(d, index=(m, n), tile=acc)


def export(output: Output, bytecode_version: str = "13.3") -> None:
    """Write the kernel as Tile IR bytecode."""
    factors, scales = array(ct.float8_e4m3fn, 2, pitch=16), array(ct.float8_e8m0fnu, 2, pitch=4)
    sums = array(ct.float32, 2, pitch=4)
    write(gemm_mxfp8, [factors, factors, scales, scales, sums], "gemm_mxfp8", output, bytecode_version, "sm_100")


if __name__ == "__main__":
    export(*sys.argv[1:])

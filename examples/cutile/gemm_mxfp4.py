"""MXFP4 GEMM in cuTile: D = (A x scales) (B x scales)^T of f4 in blocks of 32 with an E8M0 scale each; any M, N, K.

Arrays are of float4_e2m1fn: two neighbours share a byte, the first one in its low half. Scales lie as cuBLAS and
CUTLASS have them, in blocks of 128 rows and four scales. One tile block makes one 128 x 128 tile of D and walks K in
steps of 256. Tiles that overhang an array read zeros and store nothing outside it. Row pitches are promised to be
multiples of 16 bytes.
Usage: python gemm_mxfp4.py OUT.tileirbc [BYTECODE_VERSION]
"""

import sys

import cuda.tile as ct
from signatures import Output, array, write

TILE_M, TILE_N, TILE_K, BLOCK = 128, 128, 256, 32
DEEP = TILE_K // BLOCK // 4  # blocks of scales that a step of K takes


@ct.kernel
def gemm_mxfp4(a, b, a_scales, b_scales, d):
    """a [M, K], b [N, K] f4E2M1FN, a_scales [M / 128, K / 128, 32, 16] and b_scales
    [N / 128, K / 128, 32, 16] f8E8M0FNU, d [M, N] f32; grid (ceil(M / 128), ceil(N / 128)).
    """
    m, n = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO
    acc = ct.zeros((TILE_M, TILE_N), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TILE_M, TILE_K))):
        a_tile = ct.load(a, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=zero)
        b_tile = ct.load(b, index=(n, k), shape=(TILE_N, TILE_K), padding_mode=zero)
        a_packed = ct.load(a_scales, index=(m, k, 0, 0), shape=(1, DEEP, 32, 16), padding_mode=zero)
        b_packed = ct.load(b_scales, index=(n, k, 0, 0), shape=(1, DEEP, 32, 16), padding_mode=zero)
        a_scale = a_packed.reshape((1, DEEP, 32, 4, 4)).permute((0, 3, 2, 1, 4)).reshape((TILE_M, TILE_K // BLOCK))
        b_scale = b_packed.reshape((1, DEEP, 32, 4, 4)).permute((0, 3, 2, 1, 4)).reshape((TILE_N, TILE_K // BLOCK))
        acc = ct.mma_scaled(a_tile, a_scale, ct.transpose(b_tile), ct.transpose(b_scale), acc)
    ct.store(d, index=(m, n), tile=acc)


def export(output: Output, bytecode_version: str = "13.3") -> None:
    """Write the kernel as Tile IR bytecode."""
    factors, scales = array(ct.float4_e2m1fn, 2, pitch=32), array(ct.float8_e8m0fnu, 4, pitch=16)
    sums = array(ct.float32, 2, pitch=4)
    write(gemm_mxfp4, [factors, factors, scales, scales, sums], "gemm_mxfp4", output, bytecode_version, "sm_100")


if __name__ == "__main__":
    export(*sys.argv[1:])

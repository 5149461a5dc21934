"""Row softmax in cuTile, f32, for rows of up to 1024 elements.

Each tile block holds one row in registers. Elements past the row's end read as minus infinity, so they add nothing
to the maximum or to the sum.
Usage: python softmax.py OUT.tileirbc [BYTECODE_VERSION]
"""

import sys

import cuda.tile as ct
from signatures import Output, array, write

TILE = 1024


@ct.kernel
def softmax(x, y):
    """x, y [M, N] f32 with N <= 1024; grid (M,)."""
    row = ct.bid(0)
    x_tile = ct.load(x, index=(row, 0), shape=(1, TILE), padding_mode=ct.PaddingMode.NEG_INF)
    shifted = x_tile - ct.max(x_tile, axis=1, keepdims=True)
    power = ct.exp(shifted)
    ct.store(y, index=(row, 0), tile=power / ct.sum(power, axis=1, keepdims=True))


def export(output: Output, bytecode_version: str = "13.3") -> None:
    """Write the kernel as Tile IR bytecode."""
    write(softmax, [array(ct.float32, 2, pitch=4)] * 2, "softmax", output, bytecode_version)


if __name__ == "__main__":
    export(*sys.argv[1:])

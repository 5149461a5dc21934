"""Vector addition in cuTile, twice: by pointers with a mask, and by views.

Usage: python vecadd.py OUT.tileirbc [BYTECODE_VERSION [ptr|view]]
"""

import sys

import cuda.tile as ct
from signatures import Output, array, write

TILE = 1024


@ct.kernel
def vecadd_ptr(a, b, c):
    """a, b, c [N] f32; grid (ceil(N / 1024),). Elements past N are masked, loads there give zero."""
    index = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(c, index, ct.gather(a, index) + ct.gather(b, index))


@ct.kernel
def vecadd_view(a, b, c):
    """a, b, c [N] f32; grid (ceil(N / 1024),). Views pad with zeros and never write past N."""
    block = ct.bid(0)
    a_tile = ct.load(a, index=(block,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    b_tile = ct.load(b, index=(block,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(c, index=(block,), tile=a_tile + b_tile)


KERNELS = {"ptr": vecadd_ptr, "view": vecadd_view}


def export(output: Output, bytecode_version: str = "13.3", form: str = "ptr") -> None:
    """Write one of the two kernels as Tile IR bytecode."""
    write(KERNELS[form], [array(ct.float32, 1)] * 3, f"vecadd_{form}", output, bytecode_version)


if __name__ == "__main__":
    export(*sys.argv[1:])

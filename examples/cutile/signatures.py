"""What the example kernels promise about their arrays, and how they are written out as Tile IR bytecode."""

from os import PathLike
from typing import IO, Any

import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature, export_kernel

Output = str | PathLike[str] | IO[bytes]


def array(dtype: Any, rank: int, *, pitch: int = 1) -> ArrayConstraint:
    """A row-major array that aliases nothing and starts on a 16-byte boundary.

    pitch: what the row stride is promised to be a multiple of, in elements; 16 bytes' worth lets 16-byte copies be
    proven legal.
    """
    return ArrayConstraint(
        dtype,
        rank,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=(None,) * (rank - 1) + (1,),
        stride_divisible_by=(pitch,) * (rank - 1) + (1,),
        base_addr_divisible_by=16,
    )


def write(
    kernel: Any, parameters: list[Any], symbol: str, output: Output, bytecode_version: str, gpu_code: str = "sm_80"
) -> None:
    """Export `kernel` for these parameters as Tile IR bytecode, entry named `symbol`.

    Versions below 13.3 need an architecture (`gpu_code`), and cuTile asks for one that has the types of the kernel; the
    code is the same for every one.
    """
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1(), symbol=symbol)
    export_kernel(
        kernel,
        [signature],
        output,
        gpu_code=gpu_code,
        output_format="tileir_bytecode",
        bytecode_version=bytecode_version,
    )

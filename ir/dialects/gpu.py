"""gpu: the kernel function, thread coordinates, barriers and shuffles of per-thread code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ir.core import (
    CONTROL,
    WRITE,
    Attr,
    Attribute,
    Op,
    Operand,
    RegionField,
    Result,
    Variadic,
    op,
    same_type_as,
    spelled,
)
from ir.descriptors import BarrierGroupType, MatrixDescriptorType, TensorMapDescriptor
from ir.dialects.scf import verify_ends
from ir.instruction import DIMENSIONS, verify_floors
from ir.launch_records import ParameterRecord
from ir.narrowing import is_mapping, is_tuple
from ir.printf import conversions
from ir.records import dataclass
from ir.types import F64, GLOBAL_PTR, I32, I64, SCALARS, SHARED_PTR, TENSOR_MAP, LLVMPointerType, TensorType, Type
from ir.upstream import SAME

PRINTED = (I32, I64, F64)
"""The type as which C passes a number as a variable argument."""
SHUFFLE_MODES = ("xor", "up", "down", "idx")


@spelled("#nv_tileas.array")
@dataclass(frozen=True, slots=True)
class GlobalArray(Attribute):
    """An array of the module in global memory: its initial bytes and its alignment in bytes."""

    name: str
    alignment: int
    data: bytes

    def __str__(self) -> str:
        return f'"{self.name}: {len(self.data)} bytes"'

    def mlir(self) -> str:
        """Name, alignment and all bytes, or their number if they are zeros."""
        bytes_ = f'"{self.data.hex()}"' if any(self.data) else len(self.data)
        return f"#nv_tileas.array<{self.name}, {self.alignment}, {bytes_}>"

    @staticmethod
    def read(body: str, *_: object) -> GlobalArray:
        """Parses the output of `mlir`."""
        name, alignment, data = (part.strip() for part in body.split(","))
        return GlobalArray(name, int(alignment), bytes.fromhex(data[1:-1]) if data[0] == '"' else bytes(int(data)))


@op("gpu.func")
class GpuFunc(Op):
    """A kernel: entry-block arguments are its parameters (!llvm.ptr<1>, integers, floats, !tilesat.tensormap).

    `block` is the number of threads along x, y, z; `dynamic_smem` is in bytes; `target` as ptxas spells it (sm_80).
    `maxnreg`: registers per thread at launch, 0 leaves the number to ptxas; setmaxnreg takes effect only if it is
    given. `minctas`: CTAs that must fit on an SM, 0: not specified. `consumers`: threads to which setmaxnreg gives
    registers of the others, 0 if none are moved. `cluster`: CTAs of a cluster along x, y, z. `params`: the launch
    manifest's records of the parameters. `ranges`: parameters, by number, the least and greatest value that each may
    have, and a power of two that divides it.
    """

    sym_name = Attr(str)
    target = Attr(str)
    block: Attr[tuple[int, ...]] = Attr(tuple)
    cluster: Attr[tuple[int, ...]] = Attr(tuple, (1, 1, 1))
    dynamic_smem = Attr(int, 0)
    maxnreg = Attr(int, 0)
    minctas = Attr(int, 0)
    consumers = Attr(int, 0)
    params: Attr[tuple[ParameterRecord, ...]] = Attr(tuple, ())
    ranges: Attr[tuple[tuple[int, int, int, int], ...]] = Attr(tuple, ())
    arrays: Attr[tuple[GlobalArray, ...]] = Attr(tuple, ())
    body = RegionField()
    effect = CONTROL

    def verify(self) -> None:
        """Three block dimensions, a record of each parameter, a final gpu.return."""
        verify_parameters(self, self.params, [value.type for value in self.body.block.args])
        self.expect(len(self.block) == 3, "block must have three dimensions, has {}", self.block)
        verify_cluster(self, self.cluster)
        verify_ranges(self, self.ranges, len(self.body.block.args))
        verify_ends(self, Return)

    def verify_inside(self) -> None:
        """The target has all instructions; warpgroup products are in order."""
        from ir.dialects.tensor_map_use import verify_tensor_maps  # the instructions need this dialect
        from ir.dialects.wgmma_order import verify_wgmma

        verify_floors(self, self.target)
        verify_tensor_maps(self.body.block, self.params)
        verify_wgmma(self)


def verify_cluster(func: Op, cluster: tuple[object, ...]) -> None:
    """CTAs of a cluster along three dimensions. Raises VerifyError."""
    whole = len(cluster) == 3 and all(type(each) is int and each > 0 for each in cluster)
    func.expect(whole, "cluster must have three dimensions above 0, has {}", cluster)


def verify_ranges(func: Op, ranges: tuple[object, ...], count: int) -> None:
    """Facts about some of `count` parameters: number, minimum and maximum value, a divisor. Raises VerifyError."""
    for given in ranges:
        listed = [*given] if is_tuple(given) else []
        numbers = [number for number in listed if type(number) is int]
        whole = len(numbers) == len(listed) == 4 and 0 <= numbers[0] < count
        func.expect(
            whole,
            "ranges must be of parameter, least and greatest value, divisor, one is {}",
            repr([*given] if is_tuple(given) else []),
        )


def verify_parameters(func: Op, records: tuple[object, ...], types: Sequence[Type]) -> None:
    """A record for each parameter, with its kind; no parameter is in shared memory. Raises VerifyError."""
    for kind in types:
        func.expect(not isinstance(kind, BarrierGroupType | MatrixDescriptorType), "a parameter cannot be {}", kind)
    func.expect(len(records) in (0, len(types)), "has {} parameters, params {} records", len(types), len(records))
    for position, (record, kind) in enumerate(zip(records, types, strict=False)):
        mapped = kind == TENSOR_MAP or isinstance(kind, TensorMapDescriptor)
        wanted = "tensormap" if mapped else "pointer" if isinstance(kind, LLVMPointerType) else "scalar"
        said: Mapping[str, object] = record if is_mapping(record) else {}
        func.expect(said.get("kind") == wanted, 'params: record {} must have kind = "{}"', position, wanted)
        whole = wanted == "tensormap" or (type(said.get("arg")) is int and said.get("dtype") in SCALARS)
        func.expect(whole, "params: record {} needs arg, a number, and dtype, an element type", position)
        if isinstance(kind, TensorMapDescriptor):
            verify_map(func, said)


def verify_map(func: Op, record: object) -> None:
    """The record of a tensor map agrees with its type. Raises VerifyError."""
    try:
        TensorMapDescriptor.of(record)
    except ValueError as error:
        func.fail("the record of a tensor map {}", error)


@op("gpu.return")
class Return(Op):
    """Ends the thread."""

    effect = CONTROL


class Coordinate(Op):
    """Shape shared by the coordinate reads; `dimension` is x, y or z."""

    dimension = Attr(str, "x")
    result = Result(lambda t: t == I32)

    def verify(self) -> None:
        """A known dimension."""
        self.expect(self.dimension in DIMENSIONS, "dimension must be x, y or z, is {}", self.dimension)


@op("gpu.thread_id")
class ThreadId(Coordinate):
    """Index of the thread in its block."""


@op("gpu.block_id")
class BlockId(Coordinate):
    """Index of the block in the grid."""


@op("gpu.grid_dim")
class GridDim(Coordinate):
    """Number of blocks in the grid."""


@op("gpu.barrier", upstream=True)
class Barrier(Op):
    """Barrier of all threads of the block; shared and global memory is consistent among them afterwards."""

    effect = WRITE


def verify_text(op: Op, text: str, types: Sequence[Type]) -> None:
    """Whether a format has a conversion for each element of operands of these types; texts pass i32, i64 and f64."""
    count = 0
    for each in types:
        element = each.element if isinstance(each, TensorType) else each
        op.expect(element in PRINTED, "texts take i32, i64 and f64, not {}", each)
        count += prod(each.shape) if isinstance(each, TensorType) else 1
    wanted = conversions(text)
    op.expect(wanted == count, "format converts {} numbers, the operands have {}", wanted, count)


@op("gpu.printf", upstream=True)
class Printf(Op):
    """The thread prints a text in which C's conversions represent the operands."""

    args = Variadic()
    format = Attr(str, form=SAME)
    effect = WRITE

    def verify(self) -> None:
        """A conversion for each operand."""
        verify_text(self, self.format, [value.type for value in self.args])


@op("gpu.shuffle")
class Shuffle(Op):
    """The value of another lane of the warp: lane ^ offset (xor), lane - offset (up), lane + offset, offset.

    All 32 lanes take part. Out-of-range sources give the lane's own value (up, down), as PTX shfl.sync does.
    """

    value = Operand()
    offset = Operand(lambda t: t == I32)
    mode = Attr(str)
    result = same_type_as("value")
    effect = WRITE  # convergent: keeps its position among effects

    def verify(self) -> None:
        """A known mode."""
        self.expect(self.mode in SHUFFLE_MODES, "mode must be one of {}, is {}", SHUFFLE_MODES, self.mode)


@op("gpu.dynamic_shared_memory")
class DynamicSharedMemory(Op):
    """Base of the block's dynamic shared memory, 1024-byte aligned."""

    result = Result(lambda t: t == SHARED_PTR)


@op("gpu.get_global")
class GetGlobal(Op):
    """The address of an array of the module (ours; memref.get_global upstream)."""

    symbol = Attr(str)
    result = Result(lambda t: t == GLOBAL_PTR)


def kernel_attributes(func: GpuFunc) -> dict[str, object]:
    """The attributes that survive in every later level of the function."""
    return {
        "sym_name": func.sym_name,
        "target": func.target,
        "block": func.block,
        "cluster": func.cluster,
        "dynamic_smem": func.dynamic_smem,
        "maxnreg": func.maxnreg,
        "minctas": func.minctas,
        "consumers": func.consumers,
        "arrays": func.arrays,
        "params": func.params,
    }

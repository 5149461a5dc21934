"""Types of every level: scalars, tiles and views of cuda_tile, placed tensors, vectors, pointers."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod

from ir.core import Attribute, Type, spelled
from ir.records import dataclass

_DIM = re.compile(r"\s*(\d{1,18})\s*x\s*")


class Constraint:
    """A named predicate on types; the name completes "must be ..." in messages. `examples`: types that it accepts."""

    __slots__ = ("examples", "meaning", "test")

    def __init__(self, meaning: str, test: Callable[[Type], bool], examples: tuple[Type, ...] = ()):
        self.meaning = meaning
        self.test = test
        self.examples = examples

    def __call__(self, type: Type) -> bool:
        """Whether the type is accepted."""
        return self.test(type)


@dataclass(frozen=True, slots=True)
class IntType(Type):
    """A signless integer of `width` bits."""

    width: int

    def __str__(self) -> str:
        return f"i{self.width}"


@dataclass(frozen=True, slots=True)
class FloatType(Type):
    """A floating-point format, named as MLIR and Tile IR do; `width` is its storage in bits."""

    name: str
    width: int

    def __str__(self) -> str:
        return self.name


I1, I4, I8, I16, I32, I64 = (IntType(w) for w in (1, 4, 8, 16, 32, 64))
F16, BF16, F32, F64 = FloatType("f16", 16), FloatType("bf16", 16), FloatType("f32", 32), FloatType("f64", 64)
TF32 = FloatType("tf32", 32)
F8E4M3FN, F8E5M2 = FloatType("f8E4M3FN", 8), FloatType("f8E5M2", 8)
F8E8M0FNU, F4E2M1FN, F8E5M3FNU = FloatType("f8E8M0FNU", 8), FloatType("f4E2M1FN", 4), FloatType("fnv8E5M3FNU", 8)
SCALARS: dict[str, IntType | FloatType] = {
    str(t): t
    for t in (
        *(I1, I4, I8, I16, I32, I64, F16, BF16, F32, F64, TF32, F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN),
        F8E5M3FNU,
    )
}


@dataclass(frozen=True, slots=True)
class IndexType(Type):
    """MLIR's index, used only for printing generic scf forms."""

    def __str__(self) -> str:
        return "index"


class CudaTileType(Type):
    """A type of cuda_tile, which its own text writes without the dialect."""

    __slots__ = ()

    def mlir(self) -> str:
        """With its dialect."""
        return f"!cuda_tile.{self}"


@dataclass(frozen=True, slots=True)
class PointerType(CudaTileType):
    """cuda_tile.ptr: a global-memory address of a numeric element; `attr` is the pointer attribute of 13.4, if any."""

    pointee: IntType | FloatType
    attr: str | None = None

    def __str__(self) -> str:
        attr = f", <{self.attr}>" if self.attr is not None else ""
        return f"ptr<{self.pointee}{attr}>"

    @property
    def width(self) -> int:
        """Bits of an address."""
        return 64


Element = IntType | FloatType | PointerType


@dataclass(frozen=True, slots=True)
class TileType(CudaTileType):
    """cuda_tile.tile: static power-of-two dimensions; rank 0 is a scalar."""

    shape: tuple[int, ...]
    element: Element

    def __str__(self) -> str:
        return f"tile<{dims_text(self.shape)}{self.element}>"

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class TensorViewType(CudaTileType):
    """cuda_tile.tensor_view: a strided array in global memory; None is a dynamic size or stride (in elements)."""

    shape: tuple[int | None, ...]
    element: IntType | FloatType
    strides: tuple[int | None, ...]
    attr: str | None = None

    def __str__(self) -> str:
        dims = "".join(f"{'?' if d is None else d}x" for d in self.shape)
        strides = ",".join("?" if s is None else str(s) for s in self.strides)
        strides = f", strides=[{strides}]" if self.shape else ""
        attr = f", #cuda_tile.ptr_attr<{self.attr}>" if self.attr is not None else ""
        return f"tensor_view<{dims}{self.element}{strides}{attr}>"


@dataclass(frozen=True, slots=True)
class PartitionViewType(CudaTileType):
    """cuda_tile.partition_view: a tensor view cut into tiles; tile dim i runs along view dim `dim_map[i]`.

    `padding` is None (unspecified) or one of zero, neg_zero, nan, pos_inf, neg_inf: what a load gives out of bounds.
    """

    tile: tuple[int, ...]
    view: TensorViewType
    dim_map: tuple[int, ...]
    padding: str | None = None

    def __str__(self) -> str:
        head = f"{_tile_text(self.tile)}{_padding_text(self.padding)}"
        return f"partition_view<{head}, {self.view}{_map_text(self.dim_map)}>"


@dataclass(frozen=True, slots=True)
class StridedViewType(CudaTileType):
    """cuda_tile.strided_view: tiles of a tensor view whose origins lie `traversal` elements apart, so they may overlap.

    Tile dimension i runs along view dimension `dim_map[i]`; `padding` as of a partition view.
    """

    tile: tuple[int, ...]
    traversal: tuple[int, ...]
    view: TensorViewType
    dim_map: tuple[int, ...]
    padding: str | None = None

    def __str__(self) -> str:
        strides = f", traversal_strides=[{','.join(map(str, self.traversal))}]"
        head = f"{_tile_text(self.tile)}{strides}{_padding_text(self.padding)}"
        return f"strided_view<{head}, {self.view}{_map_text(self.dim_map)}>"


@dataclass(frozen=True, slots=True)
class GatherScatterViewType(CudaTileType):
    """cuda_tile.gather_scatter_view: tiles whose places along `sparse_dim` are given one by one, by a 1-D tile.

    The other dimensions start at a scalar index, counted in elements.
    """

    tile: tuple[int, ...]
    view: TensorViewType
    sparse_dim: int
    padding: str | None = None

    @property
    def dim_map(self) -> tuple[int, ...]:
        """Tile dimension i runs along view dimension i."""
        return tuple(range(len(self.tile)))

    def __str__(self) -> str:
        head = f"{_tile_text(self.tile)}{_padding_text(self.padding)}"
        return f"gather_scatter_view<{head}, {self.view}, sparse_dim={self.sparse_dim}>"


def dims_text(shape: tuple[int, ...]) -> str:
    """`128x64x`, which an element type follows."""
    return "".join(f"{d}x" for d in shape)


def read_dims(text: str) -> tuple[tuple[int, ...], str]:
    """The sizes and the rest of `128x64xf16`."""
    dims: list[int] = []
    while (match := _DIM.match(text)) is not None:
        dims.append(int(match[1]))
        text = text[match.end() :]
    return tuple(dims), text.strip()


def _tile_text(tile: tuple[int, ...]) -> str:
    return f"tile=({'x'.join(map(str, tile))})"


def _padding_text(padding: str | None) -> str:
    return f", padding_value = {padding}" if padding else ""


def _map_text(dim_map: tuple[int, ...]) -> str:
    identity = dim_map == tuple(range(len(dim_map)))
    return "" if identity else f", dim_map=[{', '.join(map(str, dim_map))}]"


TileViewType = PartitionViewType | StridedViewType | GatherScatterViewType
"""Views that give tiles by index."""


@dataclass(frozen=True, slots=True)
class TokenType(CudaTileType):
    """A memory-ordering token: a value without run-time content."""

    def __str__(self) -> str:
        return "token"


TOKEN = TokenType()


@dataclass(frozen=True, slots=True)
class FunctionType(Type):
    """Parameters and results of a function."""

    params: tuple[Type, ...]
    results: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.params))}) -> ({', '.join(map(str, self.results))})"


@dataclass(frozen=True, slots=True)
class TensorType(Type):
    """tensor of nv_tileaa (layout None) and nv_tileas (placed: `layout` says which thread and register holds what)."""

    shape: tuple[int, ...]
    element: Type
    layout: Attribute | None = None

    def __str__(self) -> str:
        layout = f", {self.layout}" if self.layout is not None else ""
        return f"tensor<{dims_text(self.shape)}{self.element}{layout}>"

    def mlir(self) -> str:
        """The layout as an attribute of its dialect."""
        layout = f", {self.layout.mlir()}" if self.layout is not None else ""
        return f"tensor<{dims_text(self.shape)}{self.element.mlir()}{layout}>"


@dataclass(frozen=True, slots=True)
class VectorType(Type):
    """MLIR vector: a static array of scalars held in registers."""

    shape: tuple[int, ...]
    element: IntType | FloatType

    def __str__(self) -> str:
        return f"vector<{dims_text(self.shape)}{self.element}>"


@dataclass(frozen=True, slots=True)
class LLVMPointerType(Type):
    """!llvm.ptr<space>: 1 global (64-bit), 3 shared (32-bit), 0 generic."""

    space: int = 0

    def __str__(self) -> str:
        return f"!llvm.ptr<{self.space}>" if self.space else "!llvm.ptr"


GLOBAL_PTR, SHARED_PTR = LLVMPointerType(1), LLVMPointerType(3)


@dataclass(frozen=True, slots=True)
class StructType(Type):
    """!llvm.struct: several values returned by one instruction."""

    elements: tuple[Type, ...]

    def __str__(self) -> str:
        return f"!llvm.struct<({', '.join(map(str, self.elements))})>"


@spelled("!tilesat.tensormap")
@dataclass(frozen=True, slots=True)
class TensorMapType(Type):
    """!tilesat.tensormap: the generic address of a 128-byte tensor map that the host encodes; a kernel parameter."""

    def __str__(self) -> str:
        return "!tilesat.tensormap"

    @staticmethod
    def read(body: str, *_: object) -> TensorMapType:
        """From nothing."""
        if body:
            raise ValueError("it has no parameters")
        return TENSOR_MAP


TENSOR_MAP = TensorMapType()

"""Existence of types in cuda_tile: the sizes, ranks and element types that a type may combine."""

from __future__ import annotations

from ir.core import Op, Region, Type, Value
from ir.types import (
    F4E2M1FN,
    I4,
    FloatType,
    GatherScatterViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TileViewType,
)

MAX_ELEMENTS = 1 << 24
"""Elements of a tile (CUDA Tile IR 13.4, tile type)."""

LARGEST_SIZE = (1 << 31) - 1
"""Maximum size of a view's tile along one dimension: bytecode holds a signed 32-bit number."""


def verify_all_types(root: Op) -> None:
    """Every result and block argument below `root` has a type that exists; raises VerifyError at its op."""
    known: dict[Type, str] = {}
    for op in root.walk():
        arguments = [value for region in op.regions for block in region.blocks for value in block.args]
        for value in (*op.results, *arguments):
            reason = known.get(value.type)
            if reason is None:
                reason = known[value.type] = why_not(value.type)
            if reason:
                op.fail("type {} does not exist: {}", value.type, reason)


def verify_scopes(region: Region, visible: set[Value]) -> None:
    """Every operand is defined before its use, in the region or an enclosing one; raises VerifyError at the use."""
    inside = set(visible)
    for block in region.blocks:
        inside.update(block.args)
        for op in block.ops:
            for number, value in enumerate(op.operands):
                if value not in inside:
                    op.fail("operand {} ({!r}) is not defined before its use", number, value)
            for inner in op.regions:
                verify_scopes(inner, inside)
            inside.update(op.results)


def why_not(type_: Type) -> str:
    """Why a type does not exist, empty if it does."""
    if isinstance(type_, TileType):
        return _element(type_.element, type_.shape) or _tile(type_.shape, type_.size, type_.element)
    if isinstance(type_, TensorViewType):
        return _tensor_view(type_)
    if isinstance(type_, TileViewType):
        return _tile_view(type_)
    return ""


def _element(element: Type, shape: tuple[int, ...]) -> str:
    pointee = element.pointee if isinstance(element, PointerType) else None
    if pointee == I4:
        return "i4 cannot be stored in memory"
    half = pointee == F4E2M1FN and shape
    return "half bytes have no addresses of their own: keep one pointer and load through a view" if half else ""


def _tile(shape: tuple[int, ...], size: int, element: Type) -> str:
    wrong = [d for d in shape if d <= 0 or d & (d - 1)]
    if wrong:
        return f"dimension {wrong[0]} is not a positive power of two"
    if element == F4E2M1FN and size % 2:
        return "a tile of f4E2M1FN must have an even number of elements"
    return f"a tile has at most {MAX_ELEMENTS} elements, got {size}" if size > MAX_ELEMENTS else ""


def _tensor_view(type_: TensorViewType) -> str:
    if len(type_.shape) != len(type_.strides):
        return f"{len(type_.shape)} sizes and {len(type_.strides)} strides"
    if type_.element == I4:
        return "i4 cannot be stored in memory"
    for what, sizes in (("size", type_.shape), ("stride", type_.strides)):
        wrong = [n for n in sizes if n is not None and n <= 0]
        if wrong:
            return f"static {what} {wrong[0]} is not positive"
    return ""


def _tile_view(type_: TileViewType) -> str:
    rank, view = len(type_.tile), type_.view
    large = [n for n in type_.tile if n > LARGEST_SIZE]
    if large:
        return f"tile dimension {large[0]} does not fit in 32 bits"
    size = 1
    for dimension in type_.tile:
        size *= dimension
    if not rank:
        return "a partition needs a dimension"
    if rank != len(view.shape):
        return f"the tile has {rank} dimensions, the view {len(view.shape)}"
    if isinstance(type_, GatherScatterViewType) and not 0 <= type_.sparse_dim < rank:
        return f"sparse_dim {type_.sparse_dim} is not a dimension of the view"
    if isinstance(type_, StridedViewType) and (len(type_.traversal) != rank or any(t <= 0 for t in type_.traversal)):
        return f"traversal_strides {list(type_.traversal)} must be {rank} positive numbers"
    if sorted(type_.dim_map) != list(range(rank)):
        return f"dim_map {list(type_.dim_map)} must name each dimension of the view once"
    if type_.padding not in (None, "zero") and not isinstance(view.element, FloatType):
        return f"padding_value {type_.padding} needs a float element, the view has {view.element}"
    return _tile(type_.tile, size, view.element) or _tensor_view(view)

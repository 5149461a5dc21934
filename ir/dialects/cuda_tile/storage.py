"""cuda_tile memory of the module itself: globals and automatic memory of a tile block."""

from __future__ import annotations

from ir.core import CONTROL, WRITE, Attr, Op, Result, flag, op
from ir.dialects.cuda_tile.attributes import SKELETON, UNIFORM, DenseElements, Visibility, dtype_name
from ir.dialects.cuda_tile.constraints import SCALAR_POINTER, TileOp, tile_type
from ir.types import PointerType, TileType

LARGEST_ALIGNMENT = 1 << 32
"""Larger alignments mean damage: no GPU aligns an object to more than its memory."""


def verify_alignment(op: TileOp, alignment: int) -> None:
    """A power of two; 0 leaves the choice to the compiler."""
    power = 0 <= alignment <= LARGEST_ALIGNMENT and alignment & (alignment - 1) == 0
    op.expect(power, "attribute 'alignment' must be a power of two, is {}", alignment)


@op("cuda_tile.global", opcode=49)
class Global(TileOp):
    """A named array in global memory with its initial elements; `type` is its rank-1 tile type.

    `constant` asserts that it is never written. `alignment` is in bytes, 0 if not given.
    """

    sym_name = Attr(str)
    type = Attr(TileType)
    value = Attr(DenseElements)
    alignment = Attr(int, 0)
    constant = flag(since=(13, 3))
    symbol_visibility = Attr(Visibility, Visibility.PUBLIC, since=(13, 3))

    effect = CONTROL
    placement = SKELETON

    def verify(self) -> None:
        """One dimension; as many elements as the type has, or one for all of them."""
        tile = self.type
        self.expect(len(tile.shape) == 1, "attribute 'type' must have one dimension, is {}", tile)
        self.expect(not isinstance(tile.element, PointerType), "attribute 'type' cannot be {}", tile)
        size, dtype = self.value.size, self.value.dtype
        self.expect(size in (1, tile.size), "attribute 'value' has {} elements, the type is {}", size, tile)
        self.expect(dtype == dtype_name(tile.element), "attribute 'value' is {}, the type is {}", dtype, tile)
        verify_alignment(self, self.alignment)


@op("cuda_tile.get_global", opcode=44)
class GetGlobal(TileOp):
    """A pointer to the first element of a global."""

    syntax = "@{name} : result"

    name_ = Attr(str)
    result = Result(SCALAR_POINTER)

    placement = UNIFORM

    def verify(self) -> None:
        """The module must have such a global, of the pointee's type."""
        module: Op = self
        while module.parent is not None and module.parent.parent_op is not None:
            module = module.parent.parent_op
        if module.name != "cuda_tile.module":
            return
        found = find_global(module, self.name_)
        if found is None:
            self.fail("the module has no global @{}", self.name_)
        pointee = tile_type(self.result).element
        element = found.type.element
        fits = isinstance(pointee, PointerType) and pointee.pointee == element
        self.expect(fits, "result {} does not point to the elements of @{}, {}", self.result.type, self.name_, element)


def find_global(module: Op, name: str) -> Global | None:
    """The global of that name in a module."""
    return next((g for g in module.regions[0].block.ops if isinstance(g, Global) and g.sym_name == name), None)


@op("cuda_tile.alloca", since=(13, 3), opcode=113)
class Alloca(TileOp):
    """Automatic memory of a tile block for `num_elem` elements of the pointee; `global_` asks for global memory."""

    num_elem = Attr(int)
    alignment = Attr(int)
    global_ = flag()
    result = Result(SCALAR_POINTER)

    effect = WRITE
    placement = SKELETON

    def verify(self) -> None:
        """An alignment that is a power of two; the size is not negative."""
        self.expect(self.num_elem >= 0, "attribute 'num_elem' must not be negative, is {}", self.num_elem)
        verify_alignment(self, self.alignment)
        self.expect(self.alignment > 0, "attribute 'alignment' must be positive")
        pointee = tile_type(self.result).element
        if isinstance(pointee, PointerType):
            least = max(pointee.pointee.width // 8, 1)
            message = "attribute 'alignment' must be at least {}, the bytes of {}, is {}"
            self.expect(self.alignment >= least, message, least, pointee.pointee, self.alignment)

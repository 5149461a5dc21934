"""The way back from nv_tileaa to the operations of Tile IR, in which the e-graph's terms are declared.

The inverse of `cuda_tile_to_tileaa`: its output becomes the same entry again. A program from a file is verified as
nv_tileaa before and as Tile IR after the conversion, which covers everything the two share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ir.bits import bit_pattern, number_of
from ir.core import Block, Builder, Location, Op, OptionalOperand, Region, TileError, Type, Value
from ir.dialects import arith, nv_tileaa, scf
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.numerics import from_bits
from ir.types import BF16, F16, F32, F64, TOKEN, FloatType, IntType
from lowering.convert.logical_forms import TYPES, bind, tile_ir_arithmetic, tile_ir_type


def as_tile_ir(func: nv_tileaa.Func) -> tuple[ct.Module, ct.Entry]:
    """The module that holds a verified kernel and its arrays, and its entry.

    Raises TileError, located, for an operation or a type that Tile IR does not have.
    """
    return _Raiser(func).whole()


class _Raiser:
    """`values` are those of Tile IR by those of nv_tileaa, `starts` first tokens, `grids` the latest grid queries, with
    their axes.
    """

    def __init__(self, func: nv_tileaa.Func):
        self.func = func
        self.values: dict[Value, Value] = {}
        self.starts: set[Value] = set()
        self.globals: dict[str, ct.Global] = {}
        self.grids: dict[tuple[Block, type[Op]], tuple[Op, set[int]]] = {}
        self.body = Block()

    def whole(self) -> tuple[ct.Module, ct.Entry]:
        func = self.func
        self.body = self.block(func.body.block, func)
        for value, name in zip(self.body.args, func.names, strict=False):
            value.name = name
        self.ops(func.body.block, Builder(self.body, func.location))
        hints = {} if func.hints is None else {"hints": func.hints}
        entry = ct.Entry((), (), {"sym_name": func.sym_name, **hints}, [Region([self.body])], func.location)
        inside = Block()
        for each in (*self.globals.values(), entry):
            inside.append(each)
        return ct.Module((), (), {"sym_name": func.module}, [Region([inside])], func.location), entry

    def type(self, kind: Type, op: Op) -> Type:
        """The type of Tile IR."""
        found = tile_ir_type(kind)
        if found is None:
            raise TileError(f"'{op.name}': {kind.mlir()} is not a type of nv_tileaa", op.location, TYPES)
        return found

    def types(self, op: Op) -> list[Type]:
        """Those of an operation's results."""
        return [self.type(value.type, op) for value in op.results]

    def block(self, source: Block, op: Op) -> Block:
        """A block with the arguments of another one, of a region of `op`."""
        made = Block([self.type(value.type, op) for value in source.args])
        bind(self.values, source.args, made.args)
        return made

    def region(self, region: Region, op: Op) -> Region:
        made = self.block(region.block, op)
        self.ops(region.block, Builder(made, op.location))
        return Region([made])

    def ops(self, block: Block, b: Builder) -> None:
        for op in block.ops:
            b.location = op.location
            special = _SPECIAL.get(type(op))
            means = op.means if isinstance(op, nv_tileaa.Logical) else None
            if special is not None:
                results = special(self, op, b)
            else:
                results = self.elementwise(op, b) if means is None else self.same(op, means, b)
            bind(self.values, op.results, results)

    def of(self, values: Sequence[Value]) -> list[Value]:
        """The values of Tile IR; the function's first token becomes one only if more than accesses use it."""
        for value in values:
            if value not in self.values and value in self.starts:
                made = ct.MakeToken((), [TOKEN], location=self.func.location)
                made.parent = self.body
                self.body.ops.insert(0, made)
                self.values[value] = made.result
        return [self.values[value] for value in values]

    def same(self, op: Op, cls: type[Op], b: Builder) -> list[Value]:
        """The operation that has the same parts; an access ordered after the function's first token has no token."""
        operands, segments = op.operands, [*op.segments, *([0] * (len(cls.info.operands) - len(op.segments)))]
        for at, (group, start) in enumerate(zip(cls.info.operands, accumulate(segments, initial=0), strict=False)):
            if isinstance(group, OptionalOperand) and segments[at] and operands[start] in self.starts:
                operands, segments[at] = [*operands[:start], *operands[start + 1 :]], 0
        regions = [self.region(each, op) for each in op.regions]
        made = b.add(
            cls, *self.of(operands), types=self.types(op), regions=regions, segments=tuple(segments), **op.attributes
        )
        return made.results

    def elementwise(self, op: Op, b: Builder) -> list[Value]:
        found = tile_ir_arithmetic(op)
        if found is None:
            said = ", ".join(f"{name} = {value!r}" for name, value in op.attributes.items())
            message = f"'{op.name}'{' with ' if said else ''}{said} is not an operation of nv_tileaa"
            raise TileError(message, op.location, "nv_tileaa has exactly the operations of Tile IR")
        cls, attributes = found
        return b.add(cls, *self.of(op.operands), types=self.types(op), **attributes).results

    # Control flow

    def loop(self, op: scf.For, b: Builder) -> list[Value]:
        body = self.region(op.body, op)
        compared = {"unsigned_cmp": True} if op.unsigned else {}
        sizes, operands = op.segments, self.of(op.operands)
        return b.add(ct.For, *operands, types=self.types(op), regions=[body], segments=sizes, **compared).results

    def branch(self, op: scf.If, b: Builder) -> list[Value]:
        regions = [self.region(each, op) for each in op.regions]
        return b.add(ct.If, *self.of(op.operands), types=self.types(op), regions=regions).results

    def end(self, op: scf.Yield, b: Builder) -> list[Value]:
        around = op.parent.parent_op if op.parent else None
        cls = ct.Continue if isinstance(around, scf.For) else ct.Yield
        b.add(cls, *self.of(op.operands), types=())
        return []

    def check(self, op: nv_tileaa.Assert, b: Builder) -> list[Value]:
        if (op.file, op.line) != (op.location.file, max(0, op.location.line)):
            b.location = Location(op.file, op.line)
        b.add(ct.Assert, *self.of(op.operands), types=(), message=op.message)
        return []

    # Values

    def token(self, op: nv_tileaa.CreateMemToken, b: Builder) -> list[Value]:
        if op.start:
            self.starts.add(op.result)
            return []
        return [b.value(ct.MakeToken, types=[TOKEN])]

    def grid(self, op: nv_tileaa.ProgramId | nv_tileaa.NumPrograms, b: Builder) -> list[Value]:
        """One operation of Tile IR returns all axes."""
        cls = ct.GetTileBlockId if isinstance(op, nv_tileaa.ProgramId) else ct.GetNumTileBlocks
        made, axes = self.grids.get((b.block, cls), (None, set[int]()))
        if made is None or op.axis in axes:
            made, axes = b.add(cls, types=self.types(op) * 3), set[int]()
            self.grids[b.block, cls] = made, axes
        axes.add(op.axis)
        return [made.results[op.axis]]

    def constant(self, op: arith.Constant, b: Builder) -> list[Value]:
        kind = op.result.type
        if not isinstance(kind, IntType | FloatType):
            op.fail("must be a scalar, is {}: use constant_tensor for tensors", kind)
        if isinstance(kind, IntType):
            fits = type(op.value) in (int, bool) and holds(kind, int(op.value))
            op.expect(fits, "{!r} does not fit {}", op.value, kind)
            literal = ct.DenseElements.of(number_of(kind, bit_pattern(kind, op.value)), kind)
        elif kind in (F16, BF16, F32, F64):
            literal = ct.DenseElements.of(op.value, kind)
        else:
            bits = bit_pattern(kind, op.value)
            array = from_bits(np.array([bits], f"u{ct.dtype_of(kind).itemsize}"), kind)
            literal = ct.DenseElements(array)
        return [b.value(ct.Constant, types=self.types(op), value=literal)]

    def get_global(self, op: nv_tileaa.GetGlobal, b: Builder) -> list[Value]:
        """The array becomes one of the module."""
        kind = self.type(op.type, op)
        made = ct.Global(
            (), (), {"sym_name": op.symbol, "type": kind, "value": op.value, "alignment": op.alignment,
                     **({"constant": True} if op.constant else {})}, (), op.location,
        )  # fmt: skip
        known = self.globals.setdefault(op.symbol, made)
        same = known.attributes == made.attributes
        op.expect(same, "@{} differs from the array at {}", op.symbol, known.location)
        return [b.value(ct.GetGlobal, types=self.types(op), name=op.symbol)]

    def offset(self, op: nv_tileaa.AddPtr, b: Builder) -> list[Value]:
        return [b.value(ct.Offset, *self.of(op.operands), types=self.types(op))]

    def product(self, op: nv_tileaa.Dot, b: Builder) -> list[Value]:
        if isinstance(nv_tileaa.element_of(op.c.type), IntType):
            lhs, rhs = (ct.Signedness(int(value)) for value in op.signed)
            return [b.value(ct.MmaI, *self.of(op.operands), signedness_lhs=lhs, signedness_rhs=rhs)]
        fast: dict[str, Any] = {"fast_acc": True} if op.fast_acc else {}
        return [b.value(ct.MmaF, *self.of(op.operands), **fast)]


def holds(kind: IntType, number: int) -> bool:
    """Does an integer type hold a number, signed or not?"""
    return -(1 << (kind.width - 1)) <= number < 1 << kind.width


_SPECIAL: dict[type[Op], Callable[[_Raiser, Any, Builder], list[Value]]] = {
    scf.For: _Raiser.loop,
    scf.If: _Raiser.branch,
    scf.Yield: _Raiser.end,
    nv_tileaa.Assert: _Raiser.check,
    nv_tileaa.CreateMemToken: _Raiser.token,
    nv_tileaa.ProgramId: _Raiser.grid,
    nv_tileaa.NumPrograms: _Raiser.grid,
    arith.Constant: _Raiser.constant,
    nv_tileaa.GetGlobal: _Raiser.get_global,
    nv_tileaa.AddPtr: _Raiser.offset,
    nv_tileaa.Dot: _Raiser.product,
}
"""The inverse of the special cases of `cuda_tile_to_tileaa`."""

"""ConvertCudaTileToTileAA: a cuda_tile entry as an nv_tileaa function, one op of the source at a time.

Part A: arithmetic and control flow; part B: memory and views; part C: matrix products and reductions (the three parts
of the seeds' pass). Nothing is lost: `tileaa_to_cuda_tile` restores the same program, except that i8 and i16 indices
and offsets are extended. An access without a token in the source is unordered: it gets the function's first token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ir.core import Block, Builder, Op, Operand, Region, Type, UnsupportedError, Value
from ir.dialects import arith, nv_tileaa, scf
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.constraints import TileOp
from ir.dialects.cuda_tile.storage import find_global
from ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, I32, TF32, IntType, TensorType, TileType
from lowering.convert.logical_forms import arithmetic, bind, logical_type, same_parts

SPELLED = (F16, BF16, F32, F64, TF32, F8E4M3FN, F8E5M2)
"""Floats whose every value arith.constant can express; a scalar of another type is a literal like those of tensors."""


INDEX = "index"
"""Operands that select the tile of a view: read as unsigned (CUDA Tile IR 13.4, load_view_tko)."""


def at_least_32_bits(value: Value, extended: type[Op], b: Builder) -> Value:
    """Indices of tiles or elements, extended to i32 if they are narrower."""
    kind, element = value.type, nv_tileaa.element_of(value.type)
    if not isinstance(element, IntType) or element.width >= I32.width:
        return value
    return b.value(extended, value, types=[TensorType(kind.shape, I32) if isinstance(kind, TensorType) else I32])


def convert(entry: ct.Entry) -> nv_tileaa.Func:
    """The logical program of an entry. Raises UnsupportedError, located, for operations without a logical form."""
    return _Converter(entry).func


class _Converter:
    def __init__(self, entry: ct.Entry):
        self.values: dict[Value, Value] = {}
        self.body = self.block(entry.body.block.args)
        self.first_token: Value | None = None
        self.entry = entry
        self.ops(entry.body.block, Builder(self.body, entry.location))
        attributes: dict[str, Any] = {"sym_name": entry.sym_name}
        names = tuple([value.name for value in entry.body.block.args])
        if any(names):
            attributes["names"] = names
        if entry.hints is not None:
            attributes["hints"] = entry.hints
        module = entry.parent.parent_op if entry.parent else None
        if isinstance(module, ct.Module):
            attributes["module"] = module.sym_name
        self.func = nv_tileaa.Func((), (), attributes, [Region([self.body])], entry.location)

    def block(self, arguments: Sequence[Value]) -> Block:
        """A block with the logical form of these arguments."""
        made = Block([logical_type(a.type) for a in arguments])
        bind(self.values, arguments, made.args)
        return made

    def region(self, region: Region, op: Op) -> Region:
        """A region with the logical form of its operations; an absent optional one yields nothing."""
        made = self.block(region.block.args if region.blocks else ())
        inside = Builder(made, op.location)
        if region.blocks:
            self.ops(region.block, inside)
        else:
            inside.add(scf.Yield, types=())
        return Region([made])

    def ops(self, block: Block, b: Builder) -> None:
        for op in block.ops:
            b.location = op.location
            special, same = SPECIAL.get(type(op)), same_parts().get(type(op))
            if special is not None:
                results = special(self, op, b)
            else:
                results = self.elementwise(op, b) if same is None else self.same(op, same, b)
            bind(self.values, op.results, results)

    def of(self, values: Sequence[Value]) -> list[Value]:
        """The logical values of source values."""
        return [self.values[v] for v in values]

    def types(self, op: Op) -> list[Type]:
        """The logical types of an op's results."""
        return [logical_type(r.type) for r in op.results]

    def same(self, op: Op, cls: type[Op], b: Builder) -> list[Value]:
        """The operation with the same parts; only a required token may be missing, and tile indices are at least i32,
        so that halves of tiles can be indexed too.
        """
        operands, segments = self.of(op.operands), list(op.segments)
        for at, group in enumerate(cls.info.operands):
            if isinstance(group, Operand) and not segments[at]:
                operands.insert(sum(segments[:at]), self.start())
                segments[at] = 1
            if group.name == INDEX:
                span = slice(sum(segments[:at]), sum(segments[: at + 1]))
                operands[span] = [at_least_32_bits(v, arith.ExtUI, b) for v in operands[span]]
        regions = [self.region(each, op) for each in op.regions]
        sizes = tuple(segments[: len(cls.info.operands)])
        made = b.add(cls, *operands, types=self.types(op), regions=regions, segments=sizes, **op.attributes)
        return made.results

    def start(self) -> Value:
        """The function's first token, created on demand."""
        if self.first_token is None:
            made = nv_tileaa.CreateMemToken((), [nv_tileaa.MEM_TOKEN], {"start": True}, location=self.entry.location)
            made.parent = self.body
            self.body.ops.insert(0, made)
            self.first_token = made.result
        return self.first_token

    # --- part A: arithmetic and control flow

    def elementwise(self, op: Op, b: Builder) -> list[Value]:
        """The scalar op of the next level, on tensors."""
        if not isinstance(op, TileOp) or not op.lowers_to:
            message = f"'{op.name}' is not supported by the compiler yet"
            raise UnsupportedError(message, op.location, "see the table of operations in docs/")
        kind = self.types(op)[0]
        source = nv_tileaa.element_of(self.values[op.operands[0]].type)
        found, extra = arithmetic(type(op), op.attributes, source, nv_tileaa.element_of(kind), op)
        return [b.value(found, *self.of(op.operands), types=[kind], **extra)]

    def constant(self, op: ct.Constant, b: Builder) -> list[Value]:
        kind = self.types(op)[0]
        if isinstance(kind, IntType) or kind in SPELLED:
            return [b.value(arith.Constant, types=[kind], value=op.value.item)]
        return [b.value(nv_tileaa.ConstantTensor, types=[kind], value=op.value)]

    def grid(self, op: Op, b: Builder) -> list[Value]:
        cls = nv_tileaa.ProgramId if isinstance(op, ct.GetTileBlockId) else nv_tileaa.NumPrograms
        return [b.value(cls, types=[I32], axis=axis) for axis in range(3)]

    def loop(self, op: ct.For, b: Builder) -> list[Value]:
        made = b.add(
            scf.For,
            *self.of(op.operands),
            types=self.types(op),
            regions=[self.region(op.body, op)],
            segments=op.segments,
            **({"unsigned": True} if op.unsigned_cmp else {}),
        )
        return made.results

    def branch(self, op: ct.If, b: Builder) -> list[Value]:
        """scf.if, unless a side has an early exit."""
        cls = nv_tileaa.If if any(isinstance(each, _LEAVING) for each in _ends(op)) else scf.If
        regions = [self.region(each, op) for each in (op.then_, op.else_)]
        made = b.add(cls, self.values[op.condition], types=self.types(op), regions=regions)
        return made.results

    def end(self, op: ct.Continue | ct.Yield, b: Builder) -> list[Value]:
        """The terminator of a region in order, or a `continue` from inside a branch or a while loop."""
        around = op.parent.parent_op if op.parent else None
        ordered = isinstance(op, ct.Yield) or isinstance(around, ct.For)
        b.add(scf.Yield if ordered else nv_tileaa.Continue, *self.of(op.operands), types=())
        return []

    def check(self, op: ct.Assert, b: Builder) -> list[Value]:
        where: dict[str, Any] = {"file": op.location.file, "line": max(0, op.location.line)}
        b.add(nv_tileaa.Assert, self.values[op.condition], types=(), message=op.message, **where)
        return []

    # --- part B: memory

    def get_global(self, op: ct.GetGlobal, b: Builder) -> list[Value]:
        module = self.entry.parent.parent_op if self.entry.parent else None
        found = None if module is None else find_global(module, op.name_)
        if found is None:
            op.fail("the module has no global @{}", op.name_)
        optional = {name: found.attributes[name] for name in ("alignment", "constant") if name in found.attributes}
        kind = TensorType(found.type.shape, logical_type(TileType((), found.type.element)))
        symbol = {"symbol": op.name_, "type": kind, "value": found.value}
        return [b.value(nv_tileaa.GetGlobal, types=self.types(op), **symbol, **optional)]

    def offset(self, op: ct.Offset, b: Builder) -> list[Value]:
        operands = self.of(op.operands)
        operands[1] = at_least_32_bits(operands[1], arith.ExtSI, b)
        return [b.value(nv_tileaa.AddPtr, *operands, element_bytes=nv_tileaa.pointee_bytes(operands[0].type))]

    # --- part C: matrix products

    def product(self, op: ct.MmaF | ct.MmaI, b: Builder) -> list[Value]:
        more: dict[str, Any] = {}
        if isinstance(op, ct.MmaI):
            more["signed"] = (bool(op.signedness_lhs), bool(op.signedness_rhs))
        elif op.fast_acc:
            more["fast_acc"] = True
        return [b.value(nv_tileaa.Dot, *self.of(op.operands), **more)]


_LEAVING = ct.Continue | ct.Break | ct.Return


def _ends(op: ct.If) -> list[Op]:
    return [region.block.terminator for region in (op.then_, op.else_) if region.blocks]


SPECIAL: dict[type[Op], Callable[[_Converter, Any, Builder], list[Value]]] = {
    ct.Constant: _Converter.constant,
    ct.GetTileBlockId: _Converter.grid,
    ct.GetNumTileBlocks: _Converter.grid,
    ct.For: _Converter.loop,
    ct.If: _Converter.branch,
    ct.Continue: _Converter.end,
    ct.Yield: _Converter.end,
    ct.Assert: _Converter.check,
    ct.GetGlobal: _Converter.get_global,
    ct.Offset: _Converter.offset,
    ct.MmaF: _Converter.product,
    ct.MmaI: _Converter.product,
}
"""Operations with different parts at this level; the rest is in the declarations of nv_tileaa and of arithmetic."""

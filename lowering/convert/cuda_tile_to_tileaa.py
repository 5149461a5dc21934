"""ConvertCudaTileToTileAA: a cuda_tile entry as an nv_tileaa function, one op of the source at a time.

Part A: arithmetic and control flow; part B: memory and views; part C: matrix products and reductions (the three parts
of the seeds' pass). An access whose token the source leaves out comes after nothing: it gets the function's first
token. The compiler itself goes from cuda_tile to the e-graph; this level is what the e-graph's terms mean, in text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from egraph.packing import by_shifts
from egraph.printing import Text, by_texts
from egraph.scaled import by_factors
from ir.core import Block, Builder, Op, Region, Type, UnsupportedError, Value
from ir.dialects import arith, nv_tileaa, scf
from ir.dialects import cuda_tile as ct
from ir.types import GLOBAL_PTR, I32, PartitionViewType, PointerType, TensorViewType, TileType, TokenType
from lowering.convert.elementwise import scalar_op


def convert(entry: ct.Entry) -> nv_tileaa.Func:
    """The logical program of an entry. Raises UnsupportedError, located, for operations without a logical form."""
    return _Converter(entry).func


def logical_type(kind: Type) -> Type:
    """Tiles as tensors (rank 0 as scalars), views as memrefs and tiled views, tokens as memory tokens."""
    match kind:
        case TileType():
            return nv_tileaa.tensor(kind.shape, GLOBAL_PTR if isinstance(kind.element, PointerType) else kind.element)
        case TensorViewType():
            return _memref(kind)
        case PartitionViewType():
            return nv_tileaa.TiledViewType(kind.tile, _memref(kind.view), kind.dim_map, kind.padding)
        case TokenType():
            return nv_tileaa.MEM_TOKEN
        case _:
            return kind


def _memref(kind: TensorViewType) -> nv_tileaa.MemrefType:
    return nv_tileaa.MemrefType(kind.shape, kind.element, kind.strides)


class _Converter:
    def __init__(self, entry: ct.Entry):
        self.values: dict[Value, Value] = {}
        self.body = self.block(entry.body.block.args)
        self.first_token: Value | None = None
        self.location = entry.location
        b = Builder(self.body, entry.location)
        self.ops(entry.body.block, b)
        self.func = nv_tileaa.Func((), (), {"sym_name": entry.sym_name}, [Region([self.body])], entry.location)

    def block(self, arguments: Sequence[Value]) -> Block:
        """A block with the logical form of these arguments."""
        made = Block([logical_type(a.type) for a in arguments])
        self.values.update(zip(arguments, made.args, strict=True))
        return made

    def ops(self, block: Block, b: Builder) -> None:
        for op in block.ops:
            b.location = op.location
            self.define(op, _PARTS.get(type(op), _Converter.elementwise)(self, op, b))

    def define(self, op: Op, values: Sequence[Value]) -> None:
        self.values.update(zip(op.results, values, strict=True))

    def of(self, values: Sequence[Value]) -> list[Value]:
        """The logical values of source values."""
        return [self.values[v] for v in values]

    def types(self, op: Op) -> list[Type]:
        """The logical types of an op's results."""
        return [logical_type(r.type) for r in op.results]

    def token(self, token: Value | None) -> Value:
        """The token of an access: the source's, or the function's first, which is made when it is needed."""
        if token is not None:
            return self.values[token]
        if self.first_token is None:
            made = nv_tileaa.CreateMemToken((), [nv_tileaa.MEM_TOKEN], location=self.location)
            made.parent = self.body
            self.body.ops.insert(0, made)
            self.first_token = made.result
        return self.first_token

    # --- part A: arithmetic and control flow

    def elementwise(self, op: Op, b: Builder) -> list[Value]:
        """The scalar op of the next level, on tensors."""
        if not isinstance(op, ct.TileOp) or not op.lowers_to:
            raise _formless(op)
        operands = self.of(op.operands)
        kind = self.types(op)[0]
        if isinstance(op, ct.NegI):  # arith has no integer negation
            zero = self.zero(kind, cast(TileType, op.results[0].type), b)
            return [b.value(arith.SubI, zero, *operands, types=[kind])]
        attributes = {a.name: op.attributes.get(a.name, a.default) for a in op.info.attributes}
        source = nv_tileaa.element_of(operands[0].type)
        found, extra = scalar_op(type(op), attributes, source, nv_tileaa.element_of(kind), op)
        return [b.value(found, *operands, types=[kind], **extra)]

    def zero(self, kind: Type, tile: TileType, b: Builder) -> Value:
        if not tile.shape:
            return b.value(arith.Constant, types=[kind], value=0)
        literal = ct.DenseElements(ct.dtype_of(tile.element).type(0))
        return b.value(nv_tileaa.ConstantTensor, types=[kind], value=literal)

    def constant(self, op: ct.Constant, b: Builder) -> list[Value]:
        kind = self.types(op)[0]
        if nv_tileaa.shape_of(kind):
            return [b.value(nv_tileaa.ConstantTensor, types=[kind], value=op.value)]
        return [b.value(arith.Constant, types=[kind], value=op.value.item)]

    def get_global(self, op: ct.GetGlobal, b: Builder) -> list[Value]:
        return [b.value(nv_tileaa.GetGlobal, types=self.types(op), symbol=op.name_)]

    def offset(self, op: ct.Offset, b: Builder) -> list[Value]:
        element = cast(TileType, op.ptr.type).element
        width = cast(PointerType, element).pointee.width
        return [b.value(nv_tileaa.AddPtr, *self.of(op.operands), element_bytes=max(1, width // 8))]

    def assume(self, op: ct.Assume, b: Builder) -> list[Value]:
        return [b.value(nv_tileaa.Assume, self.values[op.value], predicate=op.predicate)]

    def grid(self, op: Op, b: Builder) -> list[Value]:
        cls = nv_tileaa.ProgramId if isinstance(op, ct.GetTileBlockId) else nv_tileaa.NumPrograms
        return [b.value(cls, types=[I32], axis=axis) for axis in range(3)]

    def shape(self, op: Op, b: Builder) -> list[Value]:
        """Iota, broadcast and reshape: all is in the types."""
        return [b.value(_SHAPES[type(op)], *self.of(op.operands), types=self.types(op))]

    def permute(self, op: ct.Permute, b: Builder) -> list[Value]:
        source = self.values[op.source]
        return [b.value(nv_tileaa.Permute, source, types=self.types(op), permutation=op.permutation)]

    def part(self, op: ct.Extract | ct.Cat | ct.Insert, b: Builder) -> list[Value]:
        """Parts of tiles: the same operands and attributes."""
        more: dict[str, Any] = {"dim": op.dim} if isinstance(op, ct.Cat) else {}
        cls = _PARTS_OF_TILES[type(op)]
        made = b.add(cls, *self.of(op.operands), types=self.types(op), segments=op.segments, **more)
        return made.results

    def loop(self, op: ct.For, b: Builder) -> list[Value]:
        body = self.block(op.body.block.args)
        self.ops(op.body.block, Builder(body, op.location))
        made = b.add(
            scf.For, *self.of(op.operands), types=self.types(op), regions=[Region([body])],
            segments=(1, 1, 1, len(op.init_values)), **({"unsigned": True} if op.unsigned_cmp else {}),
        )  # fmt: skip
        return made.results

    def branch(self, op: ct.If, b: Builder) -> list[Value]:
        regions: list[Region] = []
        for region in (op.then_, op.else_):
            block = Block()
            inside = Builder(block, op.location)
            if region.blocks:
                self.ops(region.block, inside)
            else:
                inside.add(scf.Yield, types=())
            regions.append(Region([block]))
        made = b.add(scf.If, self.values[op.condition], types=self.types(op), regions=regions)
        return made.results

    def end(self, op: Op, b: Builder) -> list[Value]:
        """Continue and yield give their region's values; only where they are that region's own end."""
        parent = op.parent.parent_op if op.parent else None
        if isinstance(op, ct.Continue) and not isinstance(parent, ct.For):
            raise _formless(op, " inside an if")
        b.add(scf.Yield, *self.of(op.operands), types=())
        return []

    def finish(self, op: ct.Return, b: Builder) -> list[Value]:
        if b.block is not self.body:
            raise _formless(op, " inside an if")
        b.add(nv_tileaa.Return, types=())
        return []

    # --- part B: memory and views

    def make_token(self, op: ct.MakeToken, b: Builder) -> list[Value]:
        return [b.value(nv_tileaa.CreateMemToken, types=[nv_tileaa.MEM_TOKEN])]

    def join(self, op: ct.JoinTokens, b: Builder) -> list[Value]:
        return [b.value(nv_tileaa.JoinMemTokens, *self.of(op.operands), types=[nv_tileaa.MEM_TOKEN])]

    def view(self, op: Op, b: Builder) -> list[Value]:
        """Views and questions about them: the same operands under the level's types."""
        made = b.add(_VIEWS[type(op)], *self.of(op.operands), types=self.types(op), segments=op.segments)
        return made.results

    def load_view(self, op: ct.LoadView, b: Builder) -> list[Value]:
        operands = [*self.of([op.view, *op.index]), self.token(op.token)]
        made = b.add(
            nv_tileaa.TiledLoad, *operands, types=self.types(op), segments=(1, len(op.index), 1),
            inbounds=op.inbounds, **_ordering(op),
        )  # fmt: skip
        return made.results

    def store_view(self, op: ct.StoreView, b: Builder) -> list[Value]:
        operands = [*self.of([op.tile, op.view, *op.index]), self.token(op.token)]
        made = b.add(
            nv_tileaa.TiledStore, *operands, types=self.types(op), segments=(1, 1, len(op.index), 1),
            inbounds=op.inbounds, **_ordering(op),
        )  # fmt: skip
        return made.results

    def load_ptr(self, op: ct.LoadPtr, b: Builder) -> list[Value]:
        optional = (op.mask, op.padding_value)
        operands = [*self.of([op.source, *(v for v in optional if v is not None)]), self.token(op.token)]
        segments = (1, *(int(v is not None) for v in optional), 1)
        made = b.add(nv_tileaa.Load, *operands, types=self.types(op), segments=segments, **_ordering(op))
        return made.results

    def store_ptr(self, op: ct.StorePtr, b: Builder) -> list[Value]:
        mask = [] if op.mask is None else [op.mask]
        operands = [*self.of([op.destination, op.value, *mask]), self.token(op.token)]
        made = b.add(nv_tileaa.Store, *operands, types=self.types(op), segments=(1, 1, len(mask), 1), **_ordering(op))
        return made.results

    def atomic(self, op: ct.AtomicRMW | ct.AtomicCAS, b: Builder) -> list[Value]:
        values = [op.arg] if isinstance(op, ct.AtomicRMW) else [op.cmp, op.val]
        mask = [] if op.mask is None else [op.mask]
        operands = [*self.of([op.pointers, *values, *mask]), self.token(op.token)]
        mode = op.mode.text if isinstance(op, ct.AtomicRMW) else "cas"
        made = b.add(
            nv_tileaa.Atomic, *operands, types=self.types(op), segments=(1, len(values), len(mask), 1), mode=mode,
            **_ordering(op),
        )  # fmt: skip
        return made.results

    def check(self, op: ct.Assert, b: Builder) -> list[Value]:
        b.add(nv_tileaa.Assert, self.values[op.condition], types=(), message=op.message)
        return []

    def print(self, op: Text, b: Builder) -> list[Value]:
        b.add(nv_tileaa.Print, *self.of(op.args), types=(), segments=(len(op.args),), format=op.str_)
        return [self.token(None)]

    # --- part C: matrix products and reductions

    def product(self, op: ct.MmaF, b: Builder) -> list[Value]:
        return [b.value(nv_tileaa.Dot, *self.of(op.operands), fast_acc=op.fast_acc)]

    def by_others(self, op: ct.MmaFScaled | ct.Pack | ct.Unpack | ct.Print, b: Builder) -> list[Value]:
        ops, results = _EXPANSIONS[type(op)](op)
        for each in ops:
            self.define(each, _PARTS.get(type(each), _Converter.elementwise)(self, each, b))
        return self.of(results)

    def integer_product(self, op: ct.MmaI, b: Builder) -> list[Value]:
        signed = (bool(op.signedness_lhs), bool(op.signedness_rhs))
        return [b.value(nv_tileaa.Dot, *self.of(op.operands), signed=signed)]

    def reduce(self, op: ct.Reduce | ct.Scan, b: Builder) -> list[Value]:
        combiner = self.block(op.body.block.args)
        self.ops(op.body.block, Builder(combiner, op.location))
        cls, more = (nv_tileaa.Scan, {"reverse": op.reverse}) if isinstance(op, ct.Scan) else (nv_tileaa.Reduce, {})
        made = b.add(
            cls, *self.of(op.operands), types=self.types(op), segments=(len(op.operands),),
            regions=[Region([combiner])], dim=op.dim, identities=tuple(op.identities), **more,
        )  # fmt: skip
        return made.results


def _formless(op: Op, where: str = "") -> UnsupportedError:
    message = f"'{op.name}'{where} has no form at level nv_tileaa"
    return UnsupportedError(message, op.location, "see the levels below it, or the e-graph")


Access = ct.LoadView | ct.StoreView | ct.LoadPtr | ct.StorePtr | ct.AtomicRMW | ct.AtomicCAS


def _ordering(op: Access) -> dict[str, Any]:
    """Memory order and scope, in words."""
    scope = {} if op.scope is None else {"scope": op.scope.text}
    return {"order": op.order.text, **scope}


_SHAPES: dict[type[Op], type[Op]] = {
    ct.Iota: nv_tileaa.Iota,
    ct.Broadcast: nv_tileaa.Broadcast,
    ct.Reshape: nv_tileaa.View,
}
_PARTS_OF_TILES: dict[type[Op], type[Op]] = {
    ct.Extract: nv_tileaa.Extract,
    ct.Cat: nv_tileaa.Cat,
    ct.Insert: nv_tileaa.Insert,
}
_VIEWS: dict[type[Op], type[Op]] = {
    ct.MakeTensorView: nv_tileaa.MakeMemref,
    ct.MakePartitionView: nv_tileaa.Partition,
    ct.GetTensorShape: nv_tileaa.MemrefShape,
    ct.GetIndexSpaceShape: nv_tileaa.IndexSpaceShape,
}
_EXPANSIONS: dict[type[Op], Callable[[Any], tuple[list[Op], list[Value]]]] = {
    ct.MmaFScaled: by_factors, ct.Pack: by_shifts, ct.Unpack: by_shifts, ct.Print: by_texts,
}  # fmt: skip
_PARTS: dict[type[Op], Callable[[_Converter, Any, Builder], list[Value]]] = {
    ct.Constant: _Converter.constant,
    ct.Offset: _Converter.offset,
    ct.Assume: _Converter.assume,
    ct.GetTileBlockId: _Converter.grid,
    ct.GetNumTileBlocks: _Converter.grid,
    **dict.fromkeys(_SHAPES, _Converter.shape),
    ct.Permute: _Converter.permute,
    **dict.fromkeys(_PARTS_OF_TILES, _Converter.part),
    ct.For: _Converter.loop,
    ct.If: _Converter.branch,
    ct.Continue: _Converter.end,
    ct.Yield: _Converter.end,
    ct.Return: _Converter.finish,
    ct.MakeToken: _Converter.make_token,
    ct.JoinTokens: _Converter.join,
    **dict.fromkeys(_VIEWS, _Converter.view),
    ct.LoadView: _Converter.load_view,
    ct.StoreView: _Converter.store_view,
    ct.LoadPtr: _Converter.load_ptr,
    ct.StorePtr: _Converter.store_ptr,
    ct.AtomicRMW: _Converter.atomic,
    ct.AtomicCAS: _Converter.atomic,
    ct.Assert: _Converter.check,
    Text: _Converter.print,
    ct.MmaF: _Converter.product,
    ct.MmaI: _Converter.integer_product,
    **dict.fromkeys(_EXPANSIONS, _Converter.by_others),
    ct.GetGlobal: _Converter.get_global,
    ct.Reduce: _Converter.reduce,
    ct.Scan: _Converter.reduce,
}

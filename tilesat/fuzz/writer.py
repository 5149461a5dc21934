"""Tile IR programs written in Python: operators on tiles, views and pointers, loops; printed as Tile IR text.

Promises that a frontend would make (aligned bases, pitches) are the writer's `assume`. Nothing here is shared with the
compiler but the op classes; the text goes through the parser and the verifier like anyone's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np

from ir.core import Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.text import print_text
from ir.types import (
    I1,
    I32,
    SCALARS,
    TOKEN,
    FloatType,
    IntType,
    PartitionViewType,
    PointerType,
    TensorViewType,
    TileType,
    Type,
)

Number = int | float | bool
Array = np.ndarray
Operand: TypeAlias = "Tile | Number"
"""Plain numbers become splats."""
Combine: TypeAlias = "Callable[[list[Tile], list[Tile]], Sequence[Tile]]"
Side: TypeAlias = "Callable[[], Sequence[Tile] | None]"
"""Writes a side of a branch, and returns what it yields."""
P = ct.Predicate


def element(name: str) -> IntType | FloatType | PointerType:
    """An element type by its name; `ptr<f32>` is a pointer."""
    return PointerType(SCALARS[name[4:-1]]) if name.startswith("ptr<") else SCALARS[name]


def _static(given: Sequence[int | Tile]) -> tuple[int | None, ...]:
    """Sizes or strides of a type: those that are values are not in it."""
    return tuple(None if isinstance(each, Tile) else each for each in given)


class Tile:
    """A value of the program with Python's operators; plain numbers become splats of the other operand's type."""

    def __init__(self, writer: Writer, value: Value):
        self.writer = writer
        self.value = value
        self.type: Any = value.type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def floating(self) -> bool:
        return isinstance(self.type.element, FloatType)

    def _binary(
        self, float_op: type[Op] | None, int_op: type[Op] | None, other: Operand, swap: bool = False, **more: Any
    ) -> Tile:
        other = self.writer.like(other, self)
        cls = float_op if self.floating else int_op
        assert cls is not None
        pair = (other, self) if swap else (self, other)
        return self.writer.op(cls, *pair, **more)

    def __add__(self, other: Operand) -> Tile:
        return self._binary(ct.AddF, ct.AddI, other)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Tile:
        return self._binary(ct.SubF, ct.SubI, other)

    def __rsub__(self, other: Operand) -> Tile:
        return self._binary(ct.SubF, ct.SubI, other, swap=True)

    def __mul__(self, other: Operand) -> Tile:
        return self._binary(ct.MulF, ct.MulI, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Tile:
        return self._binary(ct.DivF, None, other)

    def __neg__(self) -> Tile:
        return self.writer.op(ct.NegF if self.floating else ct.NegI, self)

    def __and__(self, other: Operand) -> Tile:
        return self._binary(None, ct.AndI, other)

    def __or__(self, other: Operand) -> Tile:
        return self._binary(None, ct.OrI, other)

    def __xor__(self, other: Operand) -> Tile:
        return self._binary(None, ct.XorI, other)

    def max(self, other: Operand, **more: Any) -> Tile:
        return self._binary(ct.MaxF, ct.MaxI, other, **self._signed(more))

    def min(self, other: Operand, **more: Any) -> Tile:
        return self._binary(ct.MinF, ct.MinI, other, **self._signed(more))

    def _signed(self, more: dict[str, Any]) -> dict[str, Any]:
        return more if self.floating else {"signedness": ct.Signedness.SIGNED, **more}

    def div(self, other: Operand, rounding: ct.Rounding = ct.Rounding.ZERO, signed: bool = True) -> Tile:
        return self._binary(None, ct.DivI, other, signedness=ct.Signedness(signed), rounding=rounding)

    def rem(self, other: Operand, signed: bool = True) -> Tile:
        return self._binary(None, ct.RemI, other, signedness=ct.Signedness(signed))

    def compare(self, predicate: ct.Predicate, other: Operand, ordered: bool = True, signed: bool = True) -> Tile:
        other = self.writer.like(other, self)
        kinds = [TileType(self.shape, I1)]
        if self.floating:
            return self.writer.op(ct.CmpF, self, other, types=kinds, predicate=predicate, ordering=ct.Ordering(ordered))
        return self.writer.op(ct.CmpI, self, other, types=kinds, predicate=predicate, signedness=ct.Signedness(signed))

    def __lt__(self, other: Operand) -> Tile:
        return self.compare(P.LESS_THAN, other)

    def __le__(self, other: Operand) -> Tile:
        return self.compare(P.LESS_THAN_OR_EQUAL, other)

    def __gt__(self, other: Operand) -> Tile:
        return self.compare(P.GREATER_THAN, other)

    def __ge__(self, other: Operand) -> Tile:
        return self.compare(P.GREATER_THAN_OR_EQUAL, other)

    def eq(self, other: Operand) -> Tile:
        return self.compare(P.EQUAL, other)

    def ne(self, other: Operand) -> Tile:
        return self.compare(P.NOT_EQUAL, other)

    def where(self, yes: Operand, no: Operand) -> Tile:
        """This i1 tile chooses."""
        like = yes if isinstance(yes, Tile) else no
        assert isinstance(like, Tile), "one of the two says the type"
        return self.writer.op(ct.Select, self, self.writer.like(yes, like), self.writer.like(no, like))

    def to(self, name: str, signed: bool = True) -> Tile:
        """The element type changed by value; to or from integers as `signed` says."""
        target, source = element(name), self.type.element
        kinds = [TileType(self.shape, target)]
        signedness = ct.Signedness(signed)
        if isinstance(source, FloatType) and isinstance(target, FloatType):
            return self.writer.op(ct.FToF, self, types=kinds)
        if isinstance(target, FloatType):
            return self.writer.op(ct.IToF, self, types=kinds, signedness=signedness)
        if isinstance(source, FloatType):
            return self.writer.op(ct.FToI, self, types=kinds, signedness=signedness)
        if target.width > source.width:
            return self.writer.op(ct.ExtI, self, types=kinds, signedness=signedness)
        return self.writer.op(ct.TruncI, self, types=kinds)

    def __getattr__(self, name: str) -> Any:
        """Float mathematics by name: x.exp(), x.sqrt()."""
        names = {"exp": ct.Exp, "exp2": ct.Exp2, "log": ct.Log, "log2": ct.Log2, "sqrt": ct.Sqrt, "rsqrt": ct.Rsqrt,
                 "tanh": ct.Tanh, "absf": ct.AbsF}  # fmt: skip
        if name not in names:
            raise AttributeError(name)
        return partial(self.writer.op, names[name], self)

    # --- shapes

    def reshape(self, *shape: int) -> Tile:
        return self.writer.op(ct.Reshape, self, types=[TileType(shape, self.type.element)])

    def broadcast(self, *shape: int) -> Tile:
        return self.writer.op(ct.Broadcast, self, types=[TileType(shape, self.type.element)])

    def row(self, rows: int) -> Tile:
        """A vector [n] as every row of [rows, n]."""
        return self.reshape(1, *self.shape).broadcast(rows, *self.shape)

    def column(self, columns: int) -> Tile:
        """A vector [m] as every column of [m, columns]."""
        return self.reshape(*self.shape, 1).broadcast(*self.shape, columns)

    def splat(self, *shape: int) -> Tile:
        """A scalar in every element."""
        return self.reshape(*(1,) * len(shape)).broadcast(*shape)

    def permute(self, *order: int) -> Tile:
        kinds = [TileType(tuple(self.shape[i] for i in order), self.type.element)]
        return self.writer.op(ct.Permute, self, types=kinds, permutation=order)

    @property
    def T(self) -> Tile:
        return self.permute(1, 0)

    def reduce(self, dim: int, kind: str = "add") -> Tile:
        """Fold a dimension by add, mul, max, min, and, or, xor."""
        return self.writer.reduce(self, dim, kind)

    # --- pointers

    def __getitem__(self, index: Tile) -> Tile:
        """Pointers `index` elements further: a scalar pointer is spread over the index."""
        base = self if self.shape == index.shape else self.splat(*index.shape)
        return self.writer.op(ct.Offset, base, index, types=[base.type])

    def assume(self, *predicates: object) -> Tile:
        found = self
        for predicate in predicates:
            found = self.writer.op(ct.Assume, found, predicate=predicate)
        return found


class Writer:
    """One entry; parameters are given as name="ptr<f32>" or name="i32" and read as attributes of `args`."""

    def __init__(self, name: str, **parameters: str):
        self.name = name
        self.globals: list[Op] = []
        self.body = Block([TileType((), element(kind)) for kind in parameters.values()])
        for value, given in zip(self.body.args, parameters, strict=True):
            value.name = given
        self.builder = Builder(self.body)
        self.args = {given: Tile(self, v) for given, v in zip(parameters, self.body.args, strict=True)}
        self.token = Tile(self, self.builder.value(ct.MakeToken, types=[TOKEN]))
        three = [TileType((), I32)] * 3
        self.ids = [Tile(self, r) for r in self.builder.add(ct.GetTileBlockId, types=three).results]
        self.grid = [Tile(self, r) for r in self.builder.add(ct.GetNumTileBlocks, types=three).results]

    def __getattr__(self, name: str) -> Tile:
        if name in self.args:
            return self.args[name]
        raise AttributeError(name)

    def promise(self, **divisors: int) -> None:
        """Parameters are divisible by these powers of two, integers also not negative."""
        for name, divisor in divisors.items():
            tile = self.args[name]
            if not isinstance(tile.type.element, PointerType):
                tile = tile.assume(ct.Bounded(0, None))
            self.args[name] = tile.assume(ct.DivBy(divisor))

    def op(
        self,
        cls: type[Op],
        *operands: Tile,
        types: Sequence[Type] | None = None,
        segments: tuple[int, ...] | None = None,
        **attributes: Any,
    ) -> Tile:
        if types is None and len(cls.info.results) == 1 and not cls.info.results[0].like:
            types = [operands[0].type]
        values = [o.value for o in operands]
        return Tile(self, self.builder.add(cls, *values, types=types, segments=segments, **attributes).results[0])

    def const(self, number: Number | Array, name: str, *shape: int) -> Tile:
        """A literal: one number, or an array of all elements."""
        kind = TileType(shape, element(name))
        literal = ct.DenseElements(np.asarray(number, ct.dtype_of(kind.element)))
        return Tile(self, self.builder.value(ct.Constant, types=[kind], value=literal))

    def array(self, name: str, numbers: Array | Sequence[Number], kind: str, alignment: int = 0) -> Tile:
        """A global of the module, as a pointer to its first element."""
        whole = TileType((len(numbers),), element(kind))
        literal = ct.DenseElements(np.asarray(numbers, ct.dtype_of(whole.element)))
        attributes = {"sym_name": name, "type": whole, "value": literal, "alignment": alignment}
        self.globals.append(ct.Global((), (), attributes))
        return self.op(ct.GetGlobal, types=[TileType((), PointerType(cast(Any, whole.element)))], name=name)

    def like(self, value: Operand, tile: Tile) -> Tile:
        if isinstance(value, Tile):
            return value
        return self.const(value, str(tile.type.element), *tile.shape)

    def i32(self, number: int | Tile) -> Tile:
        return number if isinstance(number, Tile) else self.const(number, "i32")

    def iota(self, size: int, name: str = "i32") -> Tile:
        return self.op(ct.Iota, types=[TileType((size,), element(name))])

    # --- views

    def view(
        self,
        base: Tile,
        shape: Sequence[int | Tile],
        strides: Sequence[int | Tile],
        tile: Sequence[int],
        padding: str | None = "zero",
        dim_map: Sequence[int] | None = None,
    ) -> Tile:
        """A partition view; numbers are static sizes and strides."""
        dynamic = [[x for x in given if isinstance(x, Tile)] for given in (shape, strides)]
        kind = TensorViewType(_static(shape), base.type.element.pointee, _static(strides))
        whole = self.op(
            ct.MakeTensorView,
            base,
            *dynamic[0],
            *dynamic[1],
            types=[kind],
            segments=(1, len(dynamic[0]), len(dynamic[1])),
        )
        order = tuple(range(len(tile))) if dim_map is None else tuple(dim_map)
        return self.op(ct.MakePartitionView, whole, types=[PartitionViewType(tuple(tile), kind, order, padding)])

    def tiles(self, view: Tile, name: str = "i32") -> list[Tile]:
        """How many tiles a view has along each dimension."""
        kinds = [TileType((), element(name))] * len(view.type.tile)
        return [Tile(self, r) for r in self.builder.add(ct.GetIndexSpaceShape, view.value, types=kinds).results]

    def load(self, view: Tile, *index: int | Tile, token: Tile | None = None, **more: Any) -> Tile:
        return self.load_token(view, *index, token=token, **more)[0]

    def load_token(self, view: Tile, *index: int | Tile, token: Tile | None = None, **more: Any) -> tuple[Tile, Tile]:
        """A tile and the token that comes after reading it."""
        kind = TileType(view.type.tile, view.type.view.element)
        at = [self.i32(i).value for i in index]
        made = self.builder.add(
            ct.LoadView,
            view.value,
            *at,
            (token or self.token).value,
            types=[kind, TOKEN],
            segments=(1, len(at), 1),
            **more,
        )
        return Tile(self, made.results[0]), Tile(self, made.results[1])

    def store(self, tile: Tile, view: Tile, *index: int | Tile, token: Tile | None = None, **more: Any) -> Tile:
        at = [self.i32(i).value for i in index]
        made = self.builder.add(
            ct.StoreView,
            tile.value,
            view.value,
            *at,
            (token or self.token).value,
            types=[TOKEN],
            segments=(1, 1, len(at), 1),
            **more,
        )
        return Tile(self, made.results[0])

    # --- pointers

    def gather(
        self,
        pointers: Tile,
        mask: Tile | None = None,
        padding: Operand | None = None,
        token: Tile | None = None,
        **more: Any,
    ) -> tuple[Tile, Tile]:
        kind = TileType(pointers.shape, pointers.type.element.pointee)
        operands = [pointers]
        if mask is not None:
            operands.append(mask)
        if padding is not None:
            filled = padding if isinstance(padding, Tile) else self.const(padding, str(kind.element), *kind.shape)
            operands.append(filled)
        operands.append(token or self.token)
        made = self.builder.add(
            ct.LoadPtr,
            *[o.value for o in operands],
            types=[kind, TOKEN],
            segments=(1, int(mask is not None), int(padding is not None), 1),
            **more,
        )
        return Tile(self, made.results[0]), Tile(self, made.results[1])

    def scatter(
        self, pointers: Tile, value: Tile, mask: Tile | None = None, token: Tile | None = None, **more: Any
    ) -> Tile:
        operands = [pointers, value, *([mask] if mask is not None else []), token or self.token]
        made = self.builder.add(
            ct.StorePtr, *[o.value for o in operands], types=[TOKEN], segments=(1, 1, int(mask is not None), 1), **more
        )
        return Tile(self, made.results[0])

    def update(
        self,
        pointers: Tile,
        *values: Tile,
        mode: str = "",
        mask: Tile | None = None,
        token: Tile | None = None,
        order: str = "relaxed",
        scope: str = "device",
    ) -> tuple[Tile, Tile]:
        """An atomic update by `mode`, or compare-and-swap of two values: the old value and the token behind it."""
        operands = [pointers, *values, *([mask] if mask is not None else []), token or self.token]
        cls = ct.AtomicRMW if mode else ct.AtomicCAS
        more: dict[str, Any] = {"mode": ct.AtomicMode[mode.upper()]} if mode else {}
        made = self.builder.add(
            cls,
            *[o.value for o in operands],
            types=[values[0].type, TOKEN],
            segments=(1, *[1] * len(values), int(mask is not None), 1),
            order=ct.MemoryOrder[order.upper()],
            scope=ct.Scope[scope.upper()],
            **more,
        )
        return Tile(self, made.results[0]), Tile(self, made.results[1])

    def join(self, *tokens: Tile) -> Tile:
        return self.op(ct.JoinTokens, *tokens, types=[TOKEN])

    # --- products, reductions, control

    def dot(
        self,
        a: Tile,
        b: Tile,
        c: Tile | None = None,
        accumulator: str = "f32",
        signed: tuple[bool, bool] = (True, True),
    ) -> Tile:
        shape = (*a.shape[:-1], b.shape[-1])
        c = self.const(0, accumulator, *shape) if c is None else c
        if a.floating:
            return self.op(ct.MmaF, a, b, c, types=[c.type])
        lhs, rhs = map(ct.Signedness, signed)
        return self.op(ct.MmaI, a, b, c, types=[c.type], signedness_lhs=lhs, signedness_rhs=rhs)

    def scan(self, x: Tile, dim: int, kind: str, reverse: bool = False) -> Tile:
        """Running folds along a dimension by add, mul, max, min, and, or, xor."""
        number = self.identity(x, kind)
        return self.fold([x], dim, partial(_folded, kind), [number], scan=True, reverse=reverse)[0]

    def reduce(self, x: Tile, dim: int, kind: str) -> Tile:
        """Fold a dimension."""
        return self.fold([x], dim, partial(_folded, kind), [self.identity(x, kind)])[0]

    def identity(self, x: Tile, kind: str) -> Number:
        """What changes nothing in a fold of a tile's elements."""
        info = None if x.floating else np.iinfo(str(ct.dtype_of(x.type.element))) if x.type.element != I1 else None
        low, high = (-np.inf, np.inf) if info is None else (info.min, info.max)
        found = {"add": 0, "mul": 1, "max": low, "min": high, "and": -1, "or": 0, "xor": 0}[kind]
        return float(found) if x.floating else bool(found) if x.type.element == I1 else int(found)

    def fold(
        self,
        tiles: Sequence[Tile],
        dim: int,
        combine: Combine,
        identities: Sequence[Number],
        scan: bool = False,
        **more: Any,
    ) -> list[Tile]:
        """Several tiles reduced, or scanned, by `combine`: (left of each, right of each) -> what is left of each."""
        block = Block([TileType((), x.type.element) for x in tiles for _ in range(2)])
        outside, self.builder.block = self.builder.block, block
        sides = [[Tile(self, v) for v in block.args[side::2]] for side in range(2)]
        self.builder.add(ct.Yield, *[t.value for t in combine(*sides)], types=())
        self.builder.block = outside
        shapes = [x.shape if scan else (*x.shape[:dim], *x.shape[dim + 1 :]) for x in tiles]
        made = self.builder.add(
            ct.Scan if scan else ct.Reduce,
            *[x.value for x in tiles],
            types=[TileType(shape, x.type.element) for shape, x in zip(shapes, tiles, strict=True)],
            regions=[Region([block])],
            dim=dim,
            identities=tuple(identities),
            **more,
        )
        return [Tile(self, r) for r in made.results]

    @contextmanager
    def loop(
        self, lower: int | Tile, upper: int | Tile, step: int | Tile = 1, carried: Sequence[Tile] = (), **more: Any
    ) -> Generator[Loop]:
        """A counted loop: set `values` of what it yields to the next carried ones; after it they are the results."""
        bounds = [self.i32(x) for x in (lower, upper, step)]
        block = Block([bounds[0].type, *(c.type for c in carried)])
        found = Loop(Tile(self, block.args[0]), [Tile(self, v) for v in block.args[1:]])
        outside, self.builder.block = self.builder.block, block
        yield found
        self.builder.add(ct.Continue, *[v.value for v in found.values], types=())
        self.builder.block = outside
        values = [b.value for b in bounds] + [c.value for c in carried]
        made = self.builder.add(
            ct.For,
            *values,
            types=[c.type for c in carried],
            regions=[Region([block])],
            segments=(1, 1, 1, len(carried)),
            **more,
        )
        found.values = [Tile(self, r) for r in made.results]

    def endless(
        self,
        carried: Sequence[Tile],
        body: Callable[[list[Tile]], Sequence[Tile] | None],
        results: Sequence[Tile] | None = None,
    ) -> list[Tile]:
        """A loop left by `leave`; `body(values)` writes it and returns the next values, `results` are like its own."""
        block = Block([c.type for c in carried])
        outside, self.builder.block = self.builder.block, block
        following = body([Tile(self, v) for v in block.args])
        if following is not None:
            self.builder.add(ct.Continue, *[v.value for v in following], types=())
        self.builder.block = outside
        made = self.builder.add(
            ct.Loop,
            *[c.value for c in carried],
            types=[r.type for r in (carried if results is None else results)],
            regions=[Region([block])],
            segments=(len(carried),),
        )
        return [Tile(self, r) for r in made.results]

    def leave(self, cls: type[Op], *values: Tile) -> None:
        """The end of a block by continue, break or return."""
        self.builder.add(cls, *[v.value for v in values], types=())

    def branch(self, condition: Tile, then: Side, otherwise: Side | None = None) -> list[Tile]:
        """`then()` and `otherwise()` write the two sides and return what they yield."""
        regions: list[Region] = []
        types: list[Type] = []
        for side in (then, otherwise):
            if side is None:
                regions.append(Region([]))
                continue
            block = Block()
            outside, self.builder.block = self.builder.block, block
            yields = side() or []
            types = types or [y.type for y in yields]
            if not block.ops or not isinstance(block.ops[-1], ct.Return | ct.Continue | ct.Break):
                self.builder.add(ct.Yield, *[y.value for y in yields], types=())
            self.builder.block = outside
            regions.append(Region([block]))
        made = self.builder.add(ct.If, condition.value, types=types, regions=regions)
        return [Tile(self, r) for r in made.results]

    def text(self, warps: int = 0) -> str:
        """The program, ended by a return; `warps` that compute, where that is asked for."""
        self.builder.add(ct.Return, types=())
        attributes: dict[str, object] = {"sym_name": self.name}
        if warps:
            asked = (("num_worker_warps_per_cta", warps),)
            attributes["hints"] = ct.OptimizationHints((("default", asked),))
        entry = ct.Entry((), (), attributes, [Region([self.body])])
        module = Block()
        for each in (*self.globals, entry):
            module.append(each)
        return print_text(ct.Module((), (), {"sym_name": "programs"}, [Region([module])]))


def _folded(kind: str, left: Sequence[Tile], right: Sequence[Tile]) -> list[Tile]:
    """One step of a reduction or scan by the name of an operation."""
    a, b = left[0], right[0]
    steps: dict[str, Callable[[], Tile]] = {
        "add": lambda: a + b,
        "mul": lambda: a * b,
        "max": lambda: a.max(b),
        "min": lambda: a.min(b),
        "and": lambda: a & b,
        "or": lambda: a | b,
        "xor": lambda: a ^ b,
    }
    return [steps[kind]()]


class Loop:
    """A loop being written: its counter and carried values."""

    def __init__(self, counter: Tile, values: list[Tile]):
        self.counter = counter
        self.values = values

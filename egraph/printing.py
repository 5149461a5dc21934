"""Printing as texts of numbers that the driver's vprintf knows: i32, i64 and f64, at most 32 a text.

    a few elements      one text, tiles as nested lists in brackets: no other thread's text stands between its parts
    more                texts one after the other; a large tile by a loop over pieces of its rows
Source of the form of a tile: the cubins of tileiras 13.5.
"""

from __future__ import annotations

from math import prod

from ir.core import Block, Builder, Op, Region, UnsupportedError, Value
from ir.dialects import cuda_tile as ct
from ir.printf import CONVERSION, LENGTH
from ir.types import F64, I1, I32, I64, TOKEN, FloatType, IntType, TileType

MOST = 32
"""Elements of a text. Source: CUDA C++ Programming Guide, formatted output: at most 32 arguments beside the format."""
FLOATING, UNSIGNED = "eEfFgGaA", "uoxX"


class Text(ct.Print):
    """A print whose format has a conversion for every element of its operands: i32, i64 and f64, at most `MOST`."""


def by_texts(op: ct.Print) -> tuple[list[Op], list[Value]]:
    """Operations that replace a print, and its token: that of its operand, since it writes no memory.

    Raises UnsupportedError, located, for a conversion that does not fit its operand.
    """
    if "\0" in op.str_:
        raise UnsupportedError(f"'{op.name}': a zero byte ends the text", op.location, "leave it out")
    block = Block()
    b = Builder(block, op.location)
    texts, values, end = _Texts(b), iter(op.args), 0
    for match in CONVERSION.finditer(op.str_):
        texts.text += op.str_[end : match.start()]
        end = match.end()
        if match[1] is None:
            texts.text += match[0]
        else:
            value = next(values)
            texts.tile(value, conversion(op, match[0], match[1], value))
    texts.text += op.str_[end:]
    texts.flush()
    token = op.token if op.token is not None else b.value(ct.MakeToken, types=[TOKEN])
    for each in block.ops:
        each.parent = op.parent  # loops and branches around it are those around the source
    return block.ops, [token] * len(op.results)


def conversion(op: ct.Print, text: str, kind: str, value: Value) -> str:
    """A conversion with the length that its operand has in a call."""
    element = ct.tile_type(value).element
    if (kind in FLOATING) != isinstance(element, FloatType):
        hint = "use %d, %u, %o or %x for integers, %e, %f, %g or %a for floats"
        raise UnsupportedError(f"'{op.name}': cannot print {element} with '{text}'", op.location, hint)
    plain = LENGTH.sub("", text[:-1])
    return f"{plain}{'ll' if element == I64 else ''}{kind}"


class _Texts:
    """Prints being made: a text with the tiles that it has so far, and how many elements these have."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.text = ""
        self.tiles: list[Value] = []
        self.count = 0

    def flush(self) -> None:
        """End the text, and begin another."""
        if self.text:
            tiles = self.tiles
            self.b.add(Text, *tiles, types=[TOKEN], segments=(len(tiles), 0), str=self.text)
        self.text, self.tiles, self.count = "", [], 0

    def tile(self, value: Value, conversion: str) -> None:
        """A tile as nested lists."""
        kind = ct.tile_type(value)
        if kind.size > MOST:
            self.flush()
            self.large(value, kind, conversion)
            return
        if self.count + kind.size > MOST:
            self.flush()
        self.text += nested(kind.shape, conversion)
        self.append(value, conversion)

    def append(self, value: Value, conversion: str) -> None:
        """The elements of a tile behind those of the text."""
        self.tiles.append(widened(self.b, value, conversion[-1]))
        self.count += ct.tile_type(value).size

    def large(self, value: Value, kind: TileType, conversion: str) -> None:
        """A tile piece by piece, each a part of a row."""
        b, shape = self.b, kind.shape
        piece = min(shape[-1], MOST)
        pieces = [prod(shape[j:]) // piece for j in range(len(shape))]  # of one list of each dimension
        self.text = "["
        self.flush()
        bounds = [constant(b, number) for number in (0, pieces[0], 1)]
        body = Block([TileType((), I32)])
        self.b = Builder(body, b.location)
        number = body.args[0]
        self.only_if(self.compared(number, ct.Predicate.NOT_EQUAL, 0), ", ")
        for count in pieces[1:]:
            if count > 1:
                self.only_if(self.compared(self.low_bits(number, count), ct.Predicate.EQUAL, 0), "[")
        around = pieces[1:].count(1)
        part = TileType((*(1,) * (len(shape) - 1), piece), kind.element)
        index = [self.place(number, after, size) for after, size in zip([*pieces[1:], 1], shape[:-1], strict=False)]
        cut = self.b.value(ct.Extract, value, *index, self.low_bits(number, pieces[-1]), types=[part])
        self.text = "[" * around + ", ".join([conversion] * piece) + "]" * around
        self.append(cut, conversion)
        self.flush()
        for count in pieces[1:]:
            if count > 1:
                self.only_if(self.compared(self.low_bits(number, count), ct.Predicate.EQUAL, count - 1), "]")
        self.b.add(ct.Continue, types=())
        self.b = b
        b.add(ct.For, *bounds, types=(), regions=[Region([body])], segments=(1, 1, 1, 0))
        self.text = "]"

    def only_if(self, condition: Value, text: str) -> None:
        """A text where a condition holds."""
        outside, block = self.b, Block()
        self.b, self.text = Builder(block, outside.location), text
        self.flush()
        self.b.add(ct.Yield, types=())
        self.b = outside
        outside.add(ct.If, condition, types=(), regions=[Region([block]), Region([])])

    def compared(self, value: Value, predicate: ct.Predicate, number: int) -> Value:
        """A scalar beside a number."""
        return self.b.value(
            ct.CmpI,
            value,
            constant(self.b, number),
            types=[TileType((), I1)],
            predicate=predicate,
            signedness=ct.Signedness.SIGNED,
        )

    def low_bits(self, number: Value, count: int) -> Value:
        """The rest of a division by a power of two."""
        return self.b.value(ct.AndI, number, constant(self.b, count - 1))

    def place(self, number: Value, after: int, size: int) -> Value:
        """Where a piece lies in a dimension: `after` pieces have the same place there."""
        shift = constant(self.b, after.bit_length() - 1)
        return self.low_bits(self.b.value(ct.ShrI, number, shift, signedness=ct.Signedness.UNSIGNED), size)


def constant(b: Builder, number: int) -> Value:
    """An i32."""
    return b.value(ct.Constant, types=[TileType((), I32)], value=ct.DenseElements.of(number, I32))


def widened(b: Builder, value: Value, kind: str) -> Value:
    """A tile in the type in which its elements are passed."""
    tile = ct.tile_type(value)
    element = tile.element
    if isinstance(element, FloatType):
        return value if element == F64 else b.value(ct.FToF, value, types=[TileType(tile.shape, F64)])
    if not isinstance(element, IntType) or element.width >= I32.width:
        return value
    unsigned = element == I1 or kind in UNSIGNED
    signedness = ct.Signedness.UNSIGNED if unsigned else ct.Signedness.SIGNED
    return b.value(ct.ExtI, value, types=[TileType(tile.shape, I32)], signedness=signedness)


def nested(shape: tuple[int, ...], conversion: str) -> str:
    """A conversion for each element, lists in brackets."""
    if not shape:
        return conversion
    return f"[{', '.join([nested(shape[1:], conversion)] * shape[0])}]"

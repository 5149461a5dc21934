"""Semantics of placed terms, for checking the rules that create them: which thread and register holds which element.

`(held_in v l)` and `(native v l)` are v's elements in layout l: an array of [threads, registers], or, for a value that
every thread holds whole, the value itself. A placed operation is evaluated on such arrays: an elementwise one register
by register, a conversion by its two maps, and one that renames registers leaves them unchanged. A rule that wants,
offers or has a value in a layout must name a layout of that value's size. Carried values and branch results are
arbitrary tiles, the same on both sides; a reduction takes the greatest element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness import meaning
from egraph.soundness.model import Datum, NotCovered, Reject, Unbound, Unsound
from egraph.soundness.sample import NO_HINTS, Bound, Hints, Sample
from egraph.soundness.sampling import Array
from egraph.term import PREFIX
from egraph.terms import ELEMENTWISE, UNIFORM, Signature, signatures
from ir.checked import checked
from ir.types import TileType
from lowering.layouts.anchors import coalesced
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import LANE_BITS, Layout, LayoutError
from lowering.layouts.shapes import permute, reduce_dim
from lowering.layouts.shared import SharedLayout
from lowering.placement import accesses, columns, gathers, memory, parts, products, values, views
from lowering.placement.context import Held, LayoutSample

_WANTS = ("want", "offer", "has", "held_in")
_OF_ANY = (*_WANTS, *memory.PLACES, "instead", "ask_default", "taken")
"""Relations that may be the only ones to mention a value."""
_MORE = (*memory.OF_LAYOUTS, *views.WIDTHS, "view_strides")
_YIELDS = ("loop_init", "loop_yield", "branch_yield")
_DEFAULTS = ("default_layout", "carry_default", "branch_default", "uniform_type")
_LIST = List((Atom("cons", 0), Atom("first of a list", 0), Atom("rest of a list", 0)), 0, 0, 0)
_LEAVES = ("carry", "res", "branch", "N")
_ANSWERS: dict[str, tuple[tuple[str, tuple[int, ...]], ...]] = {
    "broadcast_layout": (("ask_broadcast", (0, 1, 2)),),
    "reduce_layout": (("ask_reduce", (0, 1, 2)),),
    "permute_layout": (("ask_permute_forward", (0, 1, 2)), ("ask_permute", (0, 1, 3))),
    "part_layout": (("ask_whole", (0, 1, 2)), ("ask_part", (0, 1, 3))),
    "prefix_layout": (("ask_prefix", (0, 1, 2)),),
    "gather_layout": (("ask_gather", (0,)),),
    **{choice: (question,) for choice, question in products.QUESTIONS.items()},
    **accesses.ANSWERS,
    **memory.ANSWERS,
    **gathers.ANSWERS,
    **views.ANSWERS,
}
"""Relations of answers: the queries that produce their rows, with the columns that come from the query."""


class PlacedSample(LayoutSample):
    """A sample with layouts: those of want, offer and has are drawn, answers are those of the oracle."""

    runs_loops = False

    def __init__(self, rng: np.random.Generator, hints: Hints = NO_HINTS):
        super().__init__(rng, hints)
        self.matched: list[List] = []

    # --- layouts

    def layout(self, value: Datum) -> int:
        """Any layout of the value."""
        type_ = values.layout_of(value).type
        if not isinstance(type_, TileType) or type_.size == 1:
            return 0
        if self.random.chance(0.3):
            dim = int(self.random.rng.integers(len(type_.shape)))
            return self.oracle.layout_id(coalesced(type_.shape, dim, element_bytes(type_.element), self.warps))
        if memory.has_fragments(type_) and self.random.chance(0.4):
            return self.oracle.layout_id(memory.fragments(type_, self.warps))
        bits = type_.size.bit_length() - 1
        bases = [1 << int(k) for k in self.random.rng.permutation(bits)]
        for k in range(1, len(bases)):  # still one to one: each base keeps a bit of its own
            if self.random.chance(0.3):
                bases[k] ^= bases[int(self.random.rng.integers(k))]
        lanes = [bases.pop() if bases and self.random.chance(0.8) else 0 for _ in range(LANE_BITS)]
        warps = [bases.pop() if bases and self.random.chance(0.8) else 0 for _ in range(self.warps.bit_length() - 1)]
        return self.oracle.layout_id(Layout(tuple(bases), tuple(lanes), tuple(warps), bits))

    def fits(self, value: Datum, id_: int) -> bool:
        """Is it a layout of as many elements as the value has?"""
        if values.is_list(value):
            return values.fits_list(self, value, id_)
        if value.data is None and value.type is None:
            return True  # a missing operand is nowhere
        if id_ == 0:
            return not isinstance(value.type, TileType) or value.type.size == 1
        found = self.oracle.layouts[id_]
        return isinstance(value.type, TileType) and 1 << found.bits == value.type.size

    def held(self, value: Datum, id_: int) -> Held:
        """The value in a layout."""
        if values.is_list(value):
            return values.held_each(self, value, id_)
        if not self.fits(value, id_):
            raise Unsound(f"layout {id_} is not one of {value.type}")
        found = self.oracle.layouts[id_]
        if id_ == 0 or value.type is None or not isinstance(found, Layout):
            return Held(value.type, value.data)
        return Held(value.type, np.asarray(value.data).reshape(-1)[found.element_map()], found)

    def claim(self, target: List, value: int, contiguity: int | None) -> None:
        """Facts about runs and views beside the others."""
        if target.head in gathers.RUNS:
            gathers.claim(self, target.head, target.items[1], value)
        elif target.head in (*views.WIDTHS, views.DIVISOR):
            views.claim(self, target.head, target.items[1], value)
        else:
            super().claim(target, value, contiguity)

    def any_integer_tile(self) -> Datum:
        """Pointers too."""
        if self.random.chance(0.3):
            return gathers.pointers(self, self.tile_type(memory.tile(self)))
        return super().any_integer_tile()

    def located(self, value: Datum, id_: int) -> Datum:
        """The value in a layout of registers or of shared memory."""
        if isinstance(self.oracle.layouts[id_], SharedLayout):
            return memory.stored(self, value, id_)
        return self.held(value, id_)

    # --- matching and stating

    def relation(self, head: str, arguments: Sequence[Sexpr], anything: bool = False) -> None:
        """Layouts are drawn; answers are the oracle's."""
        if head in _WANTS:
            value = self.datum(arguments[0])
            at = arguments[1]
            if isinstance(at, Atom) and self.is_free(at):
                self.env[at.text] = self.layout(value)
            self.require(self.fits(value, self.integer(at)))
        elif head in _ANSWERS:
            self.answer(head, arguments)
        elif head == "instead":
            self.instead(*arguments)
        elif head == "r.stored":
            accesses.saved(self, arguments)
        elif head == "tiles":
            self.require(values.is_list(self.datum(arguments[0])))
        elif head == "taken":
            self.datum(arguments[0])
        elif head in views.RELATIONS:
            views.relation(self, head, arguments)
        elif head == "gathered":
            gathers.gathered(self, arguments)
        elif head in (*memory.PLACES, *memory.NUMBERED, *products.NUMBERED, "loaded"):
            self.require(not (self.padded and head in ("r.runs", "gather_staged")))
            memory.relation(self, head, arguments)
        elif head == "ask_default":
            self._bind(arguments[1], self.interner.types.id(self.tile_type(self.datum(arguments[0]))))
        elif head == "r.tied":
            self.tied(*arguments)
        elif head in _DEFAULTS:
            self.default(head, arguments)
        elif head in _YIELDS or head == "elementwise_operand":
            self.linked(head, arguments)
        elif head in ("r.want", "r.wanted", "r.offer"):
            value = self.leaf("N", arguments[:1])
            self._bind(arguments[1], self.layout(value))
            self.require(self.fits(value, self.integer(arguments[1])))
        else:
            super().relation(head, arguments, anything)

    def instead(self, value: Sexpr, other: Sexpr) -> None:
        """What may stand for a value: any that is the same, on which both sides are compared."""
        free = [isinstance(item, Atom) and self.is_free(item) for item in (value, other)]
        if all(free):
            raise Unbound("instead")
        known, wanted = (other, value) if free[0] else (value, other)
        found = self.datum(known)
        self._bind(wanted, Datum(found.type, found.data))

    def tied(self, value: Sexpr, other: Sexpr) -> None:
        """Two numbered values of one type."""
        first = self.leaf("N", (value,))
        self._bind(other, 1 + self.integer(value))
        self.kinds[(self.integer(other),)] = self.tile_type(first)

    def default(self, head: str, arguments: Sequence[Sexpr]) -> None:
        """A layout for a value that has none: any of its type; the type of one element has none but the uniform one."""
        if head == "uniform_type":
            self.require(self.type_at(arguments[0]).size == 1)
            return
        like = (
            Datum(self.type_at(arguments[0]), None)
            if head == "default_layout"
            else self.leaf(head.removesuffix("_default"), arguments[:2])
        )
        self._bind(arguments[-1], self.layout(like))

    def answer(self, head: str, arguments: Sequence[Sexpr]) -> None:
        """A row of answers to a question whose columns are bound."""
        free = [isinstance(a, Atom) and self.is_free(a) for a in arguments]
        bound = [(name, columns) for name, columns in _ANSWERS[head] if not any(free[c] for c in columns)]
        if not bound:
            raise Unbound(head)
        question, columns = bound[0]
        try:
            found = self.oracle.answers(question, tuple([self.integer(arguments[c]) for c in columns]))
            answers = [row for name, row in found if name == head]
        except (LayoutError, TypeError):
            raise Reject from None  # no such layout of these types: the oracle is asked of types that do not arise
        known = [None if f else self.integer(a) for a, f in zip(arguments, free, strict=True)]
        rows = [r for r in answers if all(k is None or k == c for k, c in zip(known, r, strict=True))]
        self.require(bool(rows))
        for argument, column in zip(arguments, self.random.pick(rows), strict=True):
            if isinstance(argument, Atom) and self.is_free(argument):
                self.env[argument.text] = column

    def any_row(self, fact: List) -> bool:
        """A value that only want, offer or has speak of is any tile."""
        about = fact.items[1]
        if fact.head in _OF_ANY and isinstance(about, Atom) and self.is_free(about):
            self.env[about.text] = memory.tile(self) if fact.head in memory.PLACES else self.any_tile()
            return True
        if fact.head == "elementwise_operand" and isinstance(of := fact.items[2], Atom) and self.is_free(of):
            self.env[of.text] = self.any_tile()
            return True
        if fact.head in (*views.WIDTHS, "view_strides") and isinstance(about, Atom) and self.is_free(about):
            self.env[about.text] = views.opaque(self)
            return True
        if fact.head in memory.OF_LAYOUTS and isinstance(at := fact.items[3], Atom) and self.is_free(at):
            self.env[at.text] = self.layout(Datum(self.type_at(about), None))
            return True
        if fact.head == "tiles" and isinstance(about, Atom) and self.is_free(about):
            self.env[about.text] = values.tile_list(self, _LIST)
            return True
        return fact.head not in _WANTS and fact.head not in _ANSWERS and super().any_row(fact)

    @staticmethod
    def is_relation(head: str) -> bool:
        """Layout relations count too."""
        return head in (*_OF_ANY, *_MORE, "tiles", "elementwise_operand") or Sample.is_relation(head)

    def assertion(self, action: List) -> None:
        """A layout that is wanted, offered or had must be one of the value's size; a question claims nothing."""
        if action.head in _WANTS:
            if not self.fits(self.datum(action.items[1]), self.integer(action.items[2])):
                raise Unsound(f"({action.head} ...) names a layout of a different size")
        elif action.head == "taken":
            self.datum(action.items[1])
        elif action.head in accesses.STATED:
            accesses.stated(self, action.head, action.items[1:])
        elif action.head in views.RELATIONS:
            views.assertion(self, action.head, action.items[1:])
        elif action.head in memory.PLACES:
            if not memory.fits(self, self.datum(action.items[1]), self.integer(action.items[2])):
                raise Unsound(f"({action.head} ...) names a layout of a different size")
        elif action.head == "tiles":
            if not values.is_list(self.datum(action.items[1])):
                raise Unsound("(tiles ...) of something that is not a list")
        elif action.head.startswith("ask_"):
            for item in action.items[1:]:
                self.evaluate(item)
        else:
            super().assertion(action)

    # --- terms that samples of the source do not have

    def draw(self, form: Sexpr) -> Datum:
        """Leaves of loops and branches, numbered values and reductions beside the others. Terms of the left side are
        remembered: what is placed has their columns.
        """
        if isinstance(form, List) and not self.building:
            self.matched.append(form)
        if isinstance(form, List) and form.head in _LEAVES:
            return self.leaf(form.head, form.items[1:])
        if isinstance(form, List) and form.head in values.OF_KERNELS:
            fresh = all(isinstance(each, Atom) and self.is_free(each) for each in form.items[1:])
            if fresh and form.head == "make_tensor_view":
                return views.tensor(self, form)
            return values.made(self, form)
        if isinstance(form, List) and form.head == accesses.BY_VIEW:
            return accesses.viewed(self, form)
        if isinstance(form, List) and form.head == accesses.BY_POINTERS:
            found = super().draw(form)
            accesses.remembered(self, form, found)
            return found
        if isinstance(form, List) and form.head in ("cons", "nil"):
            return values.tile_list(self, form)
        if isinstance(form, List) and form.head in parts.PARTS:
            return parts.drawn(self, form)
        if isinstance(form, List) and form.head in values.FOLDS:
            return values.folded(self, form)
        if isinstance(form, List) and form.head == "reduce":
            return self.reduction(*form.items[1:])
        return super().draw(form)

    def is_term(self, form: List) -> bool:
        """The value of a number is a term too."""
        return form.head == "N" or super().is_term(form)

    def reduction(self, operands: Sexpr, dim: Sexpr, body: Sexpr, identities: Sexpr, ty: Sexpr) -> Datum:
        """The greatest element along a dimension, which stands for any combiner."""
        if not isinstance(operands, List) or operands.head != "cons":
            raise NotCovered("a reduction of a list")
        first = operands.items[1]
        if isinstance(first, Atom) and self.is_free(first):
            self.env[first.text] = self.any_tile()
        source = self.datum(first)
        type_ = self.tile_type(source)
        self.require(bool(type_.shape))
        for column in (operands.items[2], body, identities):
            if isinstance(column, Atom) and self.is_free(column):
                self.env[column.text] = 0
        self._bind(dim, self.random.dimension(len(type_.shape)))
        d = self.integer(dim)
        result = TileType((*type_.shape[:d], *type_.shape[d + 1 :]), type_.element)
        self._bind(ty, self.interner.types.id(result))
        return Datum(result, _greatest(np.asarray(source.data), d))

    def linked(self, head: str, arguments: Sequence[Sexpr]) -> None:
        """What a loop begins with or yields: of the type that it carries; values in one layout: of one shape."""
        carried = head in _YIELDS
        about = arguments[2] if carried else arguments[0]
        other = self.leaf("carry", arguments[:2]) if carried else self.datum(arguments[1])
        shape = self.tile_type(other).shape
        if isinstance(about, Atom) and self.is_free(about):
            element = self.tile_type(other).element if carried else self.random.tile_type().element
            type_ = TileType(shape, element)
            self.env[about.text] = Datum(type_, self.random.tile(type_))
        found = self.tile_type(self.datum(about))
        self.require(found == other.type if carried else found.shape == shape)

    # --- placed terms

    def evaluate(self, form: Sexpr) -> Bound:
        """Placed terms beside the others."""
        if isinstance(form, List):
            if self.building and form.head.startswith(PREFIX):
                columns.test(self, self.matched, form)
            if form.head in gathers.RUNS:
                return gathers.run(self, form.head, form.items[1])
            if form.head in views.WIDTHS:
                return views.width(self, form.head, form.items[1])
            if form.head == views.DIVISOR:
                return views.divisor(self, form.items[1])
            if form.head in ("held_in", "native", "out"):
                return self.located(self.datum(form.items[1]), self.integer(form.items[2]))
            if form.head.removeprefix("p.") in values.OF_KERNELS and form.head.startswith("p."):
                return values.placed(self, form.head.removeprefix("p."), form.items[1:])
            if form.head in _OPERATIONS:
                return _OPERATIONS[form.head](self, form.items[1:])
            placed = _elementwise().get(form.head)
            if placed is not None:
                return self.elementwise(placed, form)
        return super().evaluate(form)

    def elementwise(self, signature: Signature, form: List) -> Held:
        """The operation register by register."""
        operands = [self.placed(item) for item in form.items[1 : 1 + len(signature.operands)]]
        tiles = [o for o in operands if o.layout is not None]
        columns = list(form.items[1 + len(operands) :])
        names = tuple(Atom(f"operand{k}", 0) for k in range(len(operands)))
        logical = List((Atom(signature.name, 0), *names, *columns), 0, 0, 0)
        if not tiles:
            for k, each in enumerate(operands):
                self.env[f"operand{k}"] = Datum(each.type, each.data)
            found = self.draw(logical)
            return Held(found.type, found.data)
        if len({o.data.shape for o in tiles}) != 1 or len(tiles) != len([o for o in operands if o.data is not None]):
            raise Unsound("operands in layouts of different sizes")
        shape = tiles[0].data.shape
        for k, each in enumerate(operands):
            self.env[f"operand{k}"] = Datum(self.registers(each.type, shape), each.data)
        if signature.like == -1:
            type_ = self.interner.types[self.integer(columns[-1])]
            columns[-1] = Atom(str(self.interner.types.id(self.registers(type_, shape))), 0)
            logical = List((*logical.items[:-1], columns[-1]), 0, 0, 0)
        else:
            type_ = operands[signature.like].type
        found = self.draw(logical)
        return Held(type_, found.data, tiles[0].layout)

    @staticmethod
    def registers(type_: object, shape: tuple[int, ...]) -> Any:
        """The type of as many elements as the threads hold."""
        return TileType(shape, type_.element) if isinstance(type_, TileType) else type_

    def type_at(self, form: Sexpr) -> TileType:
        """The tile type that a type column names."""
        found = self.interner.types[self.integer(form)]
        if not isinstance(found, TileType):
            raise Unsound(f"{found} is not a tile type")
        return found


def _renamed(sample: PlacedSample, items: Sequence[Sexpr]) -> Held:
    """The same registers: own, assume."""
    return sample.placed(items[0])


def _reshaped(sample: PlacedSample, items: Sequence[Sexpr]) -> Held:
    source, type_ = sample.placed(items[0]), sample.type_at(items[1])
    if source.layout is None:
        return Held(type_, np.asarray(source.data).reshape(type_.shape))
    return Held(type_, source.data, source.layout)


def _converted(sample: PlacedSample, items: Sequence[Sexpr]) -> Held:
    """From one map to another; the term names both."""
    source, type_ = sample.placed(items[0]), sample.type_at(items[1])
    before, after = (sample.oracle.layout(sample.integer(item)) for item in items[2:])
    if source.layout is None:
        return sample.held(Datum(type_, source.data), sample.integer(items[3]))
    elements = sample.gathered(source, before)
    return Held(type_, elements[after.element_map()], after)


def _literal(name: str) -> Callable[[PlacedSample, Sequence[Sexpr]], Held]:
    """A value without operands, in the layout that the term names."""

    def made(sample: PlacedSample, items: Sequence[Sexpr]) -> Held:
        return sample.held(sample.draw(List((Atom(name, 0), *items[:-1]), 0, 0, 0)), sample.integer(items[-1]))

    return made


def _permuted(sample: PlacedSample, items: Sequence[Sexpr]) -> Held:
    """Dimensions exchanged: the registers stay, the layout's dimensions change."""
    source, type_ = sample.placed(items[0]), sample.type_at(items[2])
    order: tuple[int, ...] = sample.interner.attributes[sample.integer(items[1])]
    if source.layout is None:
        return Held(type_, np.transpose(source.data, order))
    return Held(type_, source.data, permute(checked(source.type, TileType).shape, order, source.layout))


def _broadcast(sample: PlacedSample, items: Sequence[Sexpr]) -> Held:
    """Each thread repeats its elements: the source's element must be among its registers."""
    source, type_ = sample.placed(items[0]), sample.type_at(items[1])
    after = sample.oracle.layout(sample.integer(items[2]))
    small = checked(source.type, TileType)
    if type_.size == 1:
        return Held(type_, np.reshape(source.data, type_.shape))
    if prod(small.shape) == 1:
        return Held(type_, np.broadcast_to(np.reshape(source.data, -1)[0], after.element_map().shape).copy(), after)
    if source.layout is None:
        raise Unsound("a tile is read as if every thread held it whole")
    wanted = np.arange(small.size).reshape(small.shape)
    wanted = np.broadcast_to(wanted, type_.shape).reshape(-1)[after.element_map()]
    return Held(type_, parts.repeated(source, wanted), after)


def _product(name: str) -> Callable[[PlacedSample, Sequence[Sexpr]], Held]:
    """A matrix product."""
    made = products.scaled if name in products.BY_SCALES else products.multiplied
    return lambda sample, items: made(sample, name, items)


def _reduced(sample: PlacedSample, items: Sequence[Sexpr]) -> Held:
    """Reduce one dimension of the tile held in the term's layout; the other elements stay in place."""
    source, layout = sample.placed(items[0]), sample.oracle.layout(sample.integer(items[5]))
    tile, dim = checked(source.type, TileType), sample.integer(items[1])
    whole = source.data if source.layout is None else sample.gathered(source, layout).reshape(tile.shape)
    found = Datum(sample.type_at(items[4]), _greatest(np.asarray(whole), dim))
    if source.layout is None:
        return Held(found.type, found.data)
    return sample.held(found, sample.oracle.layout_id(reduce_dim(tile.shape, dim, layout).layout))


def _leaf(sample: PlacedSample, head: str, items: Sequence[Sexpr]) -> Held:
    """A carried value or branch result, in the layout that the term names."""
    return sample.held(sample.leaf(head, items[:-1]), sample.integer(items[-1]))


def _greatest(data: Array, dim: int) -> Array:
    at = np.expand_dims(meaning.integers(data).argmax(dim), dim)
    return np.take_along_axis(data, at, dim).squeeze(dim)


_OPERATIONS: dict[str, Callable[[PlacedSample, Sequence[Sexpr]], Held | memory.Stored]] = {
    "identity": _renamed,
    "cvt": _converted,
    "p.assume": _renamed,
    "p.reshape": _reshaped,
    "p.broadcast": _broadcast,
    "p.permute": _permuted,
    "p.constant": _literal("constant"),
    "p.splat": _literal("splat"),
    "p.iota": _literal("iota"),
    **{name: _product(name) for name in products.CHOICES},
    "p.reduce": _reduced,
    "p.instead": _renamed,
    "p.copy": memory.copied,
    "p.load_ptr": gathers.loaded,
    "p.gather_copy": gathers.copied,
    "p.load_view": memory.gotten,
    "p.shared_read": memory.read,
    "p.hold": memory.written,
    "p.write_shared": lambda sample, items: memory.written(sample, [items[k] for k in (0, 1, 3, 2)]),
    "p.permute_shared": memory.permuted,
    "p.reshape_shared": memory.reshaped,
    **parts.PLACED,
    "p.proj": values.projected,
    "p.list": values.held_list,
    "p.nil": lambda sample, items: Held(None, ()),
    **values.PLACED,
    "p.carry": lambda sample, items: _leaf(sample, "carry", items),
    "p.res": lambda sample, items: _leaf(sample, "res", items),
    "p.branch": lambda sample, items: _leaf(sample, "branch", items),
}
"""The results of placed operations, by constructor."""


@cache
def _elementwise() -> dict[str, Signature]:
    placements = (ELEMENTWISE, UNIFORM)
    return {f"p.{s.name}": s for s in signatures().values() if s.placement in placements and s.results == 1}

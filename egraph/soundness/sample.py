"""One random sample for checking a rule: its variables' types and tiles, terms and facts evaluated on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from itertools import product
from typing import ClassVar

import numpy as np

from egraph import facts, promises
from egraph.interner import Interner
from egraph.rule import text as _text
from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness import attempts, folds, meaning, permissions
from egraph.soundness.knowledge import Knowledge
from egraph.soundness.model import (
    APPROXIMATIONS,
    Carried,
    Datum,
    NotCovered,
    Reject,
    Unbound,
    Unsound,
    evaluate,
    flips_signs,
    nudged,
    several,
    tiles,
    undefined,
)
from egraph.soundness.sampling import Sampler
from egraph.terms import Signature, by_name, integer_of, is_hint
from ir.core import OPS, Block, Op, Operand, OperandGroup, OptionalOperand, TileError, Type, verify
from ir.dialects.cuda_tile import DenseElements, TileOp, dtype_of
from ir.records import dataclass
from ir.types import F16, F32, I1, I32, I64, TOKEN, FloatType, IntType, PointerType, TileType

_TRIES = 30
"""Draws of types for the free operands of one term before the whole sample is drawn again."""
_UNDEFINED = 2
"""Undefined results after which a draw is given up: a promise of no overflow is often broken, other tiles keep it."""
_ALIKE = 5
"""Identical verifier errors in a row after which a draw is given up: a drawn type would appear in the message, and half
of the attributes would have been drawn correctly by then."""


Bound = Datum | int


@cache
def _classes() -> dict[str, type[TileOp]]:
    return {cls.info.mnemonic: cls for cls in OPS.values() if issubclass(cls, TileOp)}


@dataclass(frozen=True)
class Hints:
    """What a rule's guards ask for: numbers by the variable of a float literal; how often groups, limits, and floats of
    few bits; the least and the greatest number of an attribute by its variable.
    """

    literals: Mapping[str, tuple[float, ...]]
    grouped: float
    edged: float
    short: float = 0.0
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])


NO_HINTS = Hints({}, 0.1, 0.1)


class Sample:
    """A sample under construction; `building` is False while the left side is drawn, True for the right side."""

    runs_loops: ClassVar[bool] = True
    """Are the loops that a rule speaks of run, or is what they carry any tile?"""

    def __init__(self, rng: np.random.Generator, hints: Hints = NO_HINTS):
        self.random = Sampler(rng, hints.grouped, hints.edged, hints.short)
        self.interner = Interner()
        self.env: dict[str, Bound] = {}
        self.building = False
        self.obstacle: Sexpr | str = ""  # what is being drawn or tested
        self.tight: Sexpr | None = None  # a comparison that is to hold with nothing to spare
        self.approximates = False  # an operation was approximated
        self.nudged = False  # and gives another number than the nearest
        self._literals, self._ranges = hints.literals, hints.ranges
        self._group: OperandGroup | None = None
        self._rows: tuple[tuple[int, int], dict[str, list[tuple[int, ...]]]] = ((-1, -1), {})
        self._block = Block()
        self._knowledge = Knowledge(self.random)
        self._others = self.random.chance(0.25)  # the program has types that the sample has not

    # --- names

    def is_term(self, form: List) -> bool:
        """True for a constructor application."""
        return form.head in by_name() or form.head == "proj"

    @staticmethod
    def is_analysis(head: str) -> bool:
        """True for an analysis of values."""
        return head in meaning.UNARY or head in meaning.BY_DIMENSION or head == "type"

    def is_free(self, atom: Atom) -> bool:
        """True for a variable without a value."""
        return _number(atom.text) is None and atom.text not in self.env

    def require(self, condition: bool) -> None:
        """Reject the sample unless `condition`."""
        if not condition:
            raise Reject

    # --- evaluation

    def evaluate(self, form: Sexpr) -> Bound:
        """The value of an expression whose variables are bound."""
        if isinstance(form, Atom):
            number = _number(form.text)
            if number is not None:
                return number
            if form.text not in self.env:
                raise Unbound(form.text)
            return self.env[form.text]
        if self.is_term(form):
            return self.draw(form)
        if self.is_analysis(form.head):
            return self.fact(form)
        if form.head == "log2":
            return self.integer(form.items[1]).bit_length() - 1
        if form.head in meaning.ARITHMETIC:
            return self._calculate(form)
        raise NotCovered(f"({form.head} ...) has no meaning on tiles")

    def computed(self, form: Sexpr, nudged: bool) -> Bound:
        """The value of an expression; `nudged`: with approximations that are not the nearest numbers."""
        self.nudged = nudged
        try:
            return self.evaluate(form)
        finally:
            self.nudged = False

    def applied(self, form: List, operands: Sequence[Datum]) -> Datum:
        """The value of an operation whose operands have these values."""
        names = [Atom(f"operand {at}", form.line) for at in range(len(operands))]  # no rule has such variables
        self.env |= {name.text: value for name, value in zip(names, operands, strict=True)}
        try:
            return self.draw(List((form.items[0], *names, *form.items[1 + len(names) :]), form.line, 0, 0))
        finally:
            for name in names:
                del self.env[name.text]

    def _calculate(self, form: List) -> int:
        left, right = (self.integer(a) for a in form.items[1:])
        if form.head in ("/", "%") and right == 0:
            raise Reject
        found = meaning.ARITHMETIC[form.head](left, right)
        if not -(1 << 63) <= found < 1 << 63:
            raise Reject  # egglog's arithmetic is checked: no match
        return found

    def integer(self, form: Sexpr) -> int:
        """An expression's integer."""
        value = self.evaluate(form)
        if isinstance(value, Datum):
            raise NotCovered("expected a number, found a value")
        return value

    def datum(self, form: Sexpr) -> Datum:
        """An expression's tile."""
        value = self.evaluate(form)
        if not isinstance(value, Datum):
            raise NotCovered("expected a value, found a number")
        return value

    def same(self, left: Bound, right: Bound, zeros: bool = False) -> bool:
        """Equality of numbers, of tiles bit by bit; with `zeros` those of either sign are equal."""
        if not isinstance(left, Datum) or not isinstance(right, Datum):
            return left is right or left == right
        if isinstance(left, Carried) or isinstance(right, Carried):
            both = product(tiles(left), tiles(right))
            return all(self.same(Datum(left.type, x), Datum(right.type, y), zeros) for x, y in both)
        if left.type is None and right.type is None and left.data is not None and right.data is not None:
            lefts: tuple[Datum, ...] = left.data
            rights: tuple[Datum, ...] = right.data
            return len(lefts) == len(rights) and all(map(self.same, lefts, rights))
        if left.type != right.type and left.type is not None and right.type is not None:
            return False
        if zeros and isinstance(left.type, TileType) and isinstance(left.type.element, FloatType):
            return permissions.equal_but_zeros(np.asarray(left.data), np.asarray(right.data))
        return meaning.equal(left.data, right.data)

    # --- facts

    def tile_type(self, value: Datum) -> TileType:
        """The type of a tile; anything else has no such facts."""
        if not isinstance(value.type, TileType):
            raise Reject
        return value.type

    def fact(self, form: List) -> int:
        """An analysis of a value: the strongest true fact, or a weaker one, the same each time it is asked."""
        value = self.datum(form.items[1])
        if form.head == "type":
            if value.type is None:
                raise Reject
            return self.interner.types.id(value.type)
        type_ = self.tile_type(value)
        known = IntType if form.head in ("low", "high") else IntType | PointerType
        self.require(isinstance(type_.element, known))
        d = self._dimension(form, type_) if form.head in meaning.BY_DIMENSION else 0
        return self._knowledge.of(form.head, value, type_, d)

    def _dimension(self, form: List, type_: TileType) -> int:
        """The dimension argument; a free one is drawn."""
        at = form.items[2]
        if isinstance(at, Atom) and self.is_free(at):
            self.require(bool(type_.shape))
            self.env[at.text] = self.random.dimension(len(type_.shape))
        d = self.integer(at)
        self.require(0 <= d < len(type_.shape))
        return d

    def rows(self, relation: str) -> list[tuple[int, ...]]:
        """A fact relation of the types and attributes drawn so far."""
        if self._others:
            self._others = False
            self._intern_types()
        size = (len(self.interner.types), len(self.interner.attributes))
        if self._rows[0] != size:
            found = facts.about(self.interner, ())
            self._rows = ((len(self.interner.types), len(self.interner.attributes)), found)
        return self._rows[1].get(relation, [])

    def relation(self, head: str, arguments: Sequence[Sexpr], anything: bool = False) -> None:
        """Match a relation, binding its free columns; all of them only where `anything` will do."""
        if head == "allow":
            return
        if head in ("exact_sum", "exact_product"):
            x, y = (self.datum(a) for a in arguments)
            self.require(self._exact(head, x, y))
            return
        if head == "multiple":
            self._multiple(arguments)
            return
        if head == "combiner":
            folds.is_one_operation(self, arguments)
            return
        if head not in _FACT_RELATIONS:
            raise NotCovered(f"relation '{head}' has no meaning on tiles")
        fixed = [None if isinstance(a, Atom) and self.is_free(a) else self.integer(a) for a in arguments]
        if not anything and all(f is None for f in fixed):
            raise Unbound(head)
        if not any(isinstance(a, Atom) and a.text in self.env for a in arguments):
            self._intern_types()  # only numbers are known: of any type that a program may have
            if head in attempts.OF_LITERALS and isinstance(name := arguments[0], Atom):
                self.interner.attributes.id(attempts.literal(self.random, self.env, self._literals.get(name.text, ())))
        rows = [r for r in self.rows(head) if all(f is None or f == c for f, c in zip(fixed, r, strict=True))]
        self.require(bool(rows))
        for argument, column in zip(arguments, self.random.pick(rows), strict=True):
            if isinstance(argument, Atom) and self.is_free(argument):
                self.env[argument.text] = column

    @staticmethod
    def is_relation(head: str) -> bool:
        """True for a relation of facts about types and attributes."""
        return head in _FACT_RELATIONS

    def any_row(self, fact: List) -> bool:
        """Bind the columns of a relation that nothing else of the rule binds; False where they are bound."""
        if not any(isinstance(a, Atom) and self.is_free(a) for a in fact.items[1:]):
            return False
        self.relation(fact.head, fact.items[1:], anything=True)
        return True

    def _intern_types(self) -> None:
        """Types of a program: those of the sample, and others."""
        shape = self.random.shape
        others = [TileType((), I32), TileType((4,), I1), TileType((4,), PointerType(F16)), TileType((2,), F32)]
        others += [TileType(each, I32) for each in ((*shape, 1), (1, *shape), (1,) * len(shape))]
        drawn = (value.type for value in self.env.values() if isinstance(value, Datum))
        for type_ in (*others, TileType((4,), F16), self.random.tile_type(), *drawn):
            if isinstance(type_, TileType):
                self.interner.types.id(type_)

    def _exact(self, head: str, x: Datum, y: Datum) -> bool:
        element = self.tile_type(x).element
        return meaning.fits("+" if head == "exact_sum" else "*", x.data, y.data, element.width)

    def _multiple(self, arguments: Sequence[Sexpr]) -> None:
        value, by = self.datum(arguments[0]), arguments[1]
        self.require(isinstance(self.tile_type(value).element, IntType | PointerType))
        common = int(np.gcd.reduce(meaning.integers(value.data).reshape(-1)))
        if isinstance(by, Atom) and self.is_free(by):
            options = [n for n in (common, 1, 2, 3, 6, 24) if n and common % n == 0]
            self.env[by.text] = self.random.pick(options)
        self.require(meaning.is_multiple(value.data, self.integer(by)))

    # --- what the right side states

    def claim(self, target: List, value: int, contiguity: int | None) -> None:
        """Test a fact that the rule sets."""
        about = self.datum(target.items[1])
        if target.head == "type":
            if self.interner.types.id(about.type) != value:
                raise Unsound(f"type is {about.type}, not {self.interner.types[value]}")
            return
        if target.head not in meaning.UNARY and target.head not in meaning.BY_DIMENSION:
            raise NotCovered(f"analysis '{target.head}' has no meaning on tiles")
        type_ = self.tile_type(about)
        d = self.integer(target.items[2]) if len(target.items) > 2 else 0
        if target.head in meaning.BY_DIMENSION and not 0 <= d < len(type_.shape):
            raise Unsound(f"{target.head} of dimension {d} of {type_}")
        self._knowledge.claim(target.head, value, about, type_, d, contiguity)

    def assertion(self, action: List) -> None:
        """Test a relation that the rule inserts."""
        if action.head in ("exact_sum", "exact_product"):
            x, y = (self.datum(a) for a in action.items[1:])
            true = self._exact(action.head, x, y)
        elif action.head == "multiple":
            true = meaning.is_multiple(self.datum(action.items[1]).data, self.integer(action.items[2]))
        elif action.head == "panic":
            raise Unsound("the rule panics on a sample that exists")
        else:
            raise NotCovered(f"relation '{action.head}' has no meaning on tiles")
        if not true:
            raise Unsound(f"({action.head} ...) is not true")

    # --- terms

    def any_tile(self) -> Datum:
        """A tile of anything."""
        type_ = self.random.tile_type()
        return Datum(type_, self.random.tile(type_))

    def any_integer_tile(self) -> Datum:
        """A tile of integers."""
        type_ = self.random.tile_type()
        element = type_.element if isinstance(type_.element, IntType) else I32
        type_ = TileType(type_.shape, element)
        return Datum(type_, self.random.tile(type_))

    def draw(self, form: Sexpr) -> Datum:
        """The value of a term; on the left side, free variables get types and values that make it well formed."""
        if isinstance(form, Atom):
            return self.datum(form)
        if form.head == "proj":
            return self._projection(form)
        if form.head == "reduce":
            return folds.reduced(self, form)
        signature = by_name().get(form.head)
        if signature is None:
            raise NotCovered(f"({form.head} ...) is not a term")
        split = 1 + len(signature.operands)
        columns = form.items[split:]
        if signature.mnemonic in ("none", "nil"):
            return Datum(None, None if signature.mnemonic == "none" else ())
        places = form.items[1:split]
        operands = self._operands(signature, places)
        # a variable that stood free may have been bound by a term beside it
        operands = [self._now_bound(p) if o is None else o for p, o in zip(places, operands, strict=True)]
        if signature.mnemonic == "cons":
            return self._cell(form, operands)
        if signature.mnemonic == "splat":
            return self._splat(columns)
        if signature.mnemonic == "promised":
            return self._promised(form, operands[0])
        cls = _classes().get(signature.mnemonic)
        if cls is None:
            raise NotCovered(f"({form.head} ...) has no value outside a kernel")
        return self._operation(cls, signature, form, operands)

    @staticmethod
    def group_of(constructor: str) -> OperandGroup | None:
        """What an operation's first operand may be."""
        cls = _classes().get(by_name()[constructor].mnemonic)
        return cls.info.operands[0] if cls is not None else None

    def _operands(self, signature: Signature, places: Sequence[Sexpr]) -> list[Datum | None]:
        """The operands that are terms or bound; None where free. Each is drawn for its place beside those before it."""
        cls = _classes().get(signature.mnemonic)
        groups = cls.info.operands if cls is not None else (None,) * len(places)
        near, group = self.random.near, self._group
        found: list[Datum | None] = []
        for index, (place, each) in enumerate(zip(places, groups, strict=True)):
            if isinstance(place, Atom):
                found.append(None if self.is_free(place) else self.datum(place))
                continue
            known = [None if o is None else o.type for o in found]
            wanted = None if each is None else self.random.operand_type(signature.mnemonic, index, each, known)
            self.random.near, self._group = (wanted if isinstance(wanted, TileType) else None), each
            found.append(self.draw(place))
            self.random.near, self._group = near, group
        return found

    def _now_bound(self, form: Sexpr) -> Datum | None:
        found = self.env.get(form.text) if isinstance(form, Atom) else None
        return found if isinstance(found, Datum) else None

    def _bind(self, form: Sexpr, value: Bound) -> None:
        """Give a free variable its value; a bound one must have it."""
        if isinstance(form, Atom) and self.is_free(form):
            self.env[form.text] = value
        elif isinstance(value, int):
            self.require(self.integer(form) == value)

    def _cell(self, form: List, operands: list[Datum | None]) -> Datum:
        head, tail = operands
        if head is None:
            head = Datum(TOKEN, self.random.token())
            self._bind(form.items[1], head)
        if tail is None:
            tail = Datum(None, tuple(Datum(TOKEN, self.random.token()) for _ in range(self.random.pick((0, 1, 2)))))
            self._bind(form.items[2], tail)
        return Datum(None, (head, *tail.data))

    def _splat(self, columns: Sequence[Sexpr]) -> Datum:
        number, at = columns
        if isinstance(at, Atom) and self.is_free(at):
            fresh = self.random.tile_type(self._group)
            element = fresh.element if isinstance(fresh.element, IntType) else I32
            self.env[at.text] = self.interner.types.id(TileType(fresh.shape, element))
        type_ = self.interner.types[self.integer(at)]
        self._expect(isinstance(type_, TileType) and isinstance(type_.element, IntType), f"a splat of {type_}")
        if isinstance(number, Atom) and self.is_free(number):
            self.env[number.text] = self.random.number(type_.element)
        value = self.integer(number)
        least, most = facts.limits(type_.element.width)
        self._expect(least <= value <= most, f"{value} does not fit in {type_}")
        return Datum(type_, np.full(type_.shape, value, dtype_of(type_.element)))

    def _promised(self, form: List, source: Datum | None) -> Datum:
        """A scalar made to keep a promise, which need not be true of it."""
        if source is None:
            type_ = TileType((), self.random.pick((I32, I32, I64, PointerType(F16))))
            source = Datum(type_, self.random.tile(type_))
            self._bind(form.items[1], source)
        at, scope = form.items[2:]
        type_ = self.tile_type(source)
        if isinstance(at, Atom) and self.is_free(at):
            about = source.data if self.random.chance(0.5) else self.random.tile(type_)
            self.env[at.text] = self.interner.attributes.id(self.random.promise(about, type_))
        self._bind(scope, int(self.random.rng.integers(4)))
        found = promises.kept(self.interner.attributes[self.integer(at)], meaning.integers(source.data))
        return Datum(type_, found.astype(np.asarray(source.data).dtype))

    def _expect(self, condition: bool, message: str) -> None:
        """On the left side a sample to drop, on the right side an error."""
        if not condition:
            raise Unsound(message) if self.building else Reject

    def _projection(self, form: List) -> Datum:
        value = self.draw(form.items[1])
        at = form.items[2]
        if isinstance(at, Atom) and self.is_free(at):
            self.env[at.text] = int(self.random.rng.integers(len(value.data)))
        return value.data[self.integer(at)]

    def _operation(self, cls: type[TileOp], signature: Signature, form: List, operands: list[Datum | None]) -> Datum:
        """An operation: choose free types and attributes until its verifier agrees, then evaluate it."""
        said: list[str] = []
        undefined_ones = 0
        for _ in range(1 if self.building else _TRIES):
            try:
                op, data, chosen = self._instance(cls, signature, form, operands)
                if not (self.building and flips_signs(op)):
                    verify(op)
                data, chosen = attempts.with_tiles(self.random, data, chosen)
            except (TileError, ValueError, IndexError, TypeError, KeyError, AttributeError) as error:
                if self.building:
                    raise Unsound(f"the right side is ill-formed: {attempts.said(error)}") from error
                said.append(attempts.said(error))
                if said[-_ALIKE:] == said[-1:] * _ALIKE:
                    break  # what is bound does not fit, whatever is chosen for what is free
                continue
            if undefined(op, data):
                self._expect(bool(chosen) and not self.building, f"'{op.name}' on the right side has no defined result")
                undefined_ones += 1
                self.require(undefined_ones < _UNDEFINED)
                continue
            for item, value in chosen:
                self._bind(item, value)
            found = evaluate(op, data)
            if op.attributes.get("rounding") in APPROXIMATIONS and found.data.dtype.kind not in "iub":
                self.approximates = True
                return Datum(found.type, nudged(found.data, int(op.attributes["rounding"]))) if self.nudged else found
            return found
        self.obstacle = said[-1] if said else self.obstacle
        raise Reject

    def _instance(
        self, cls: type[TileOp], signature: Signature, form: List, operands: list[Datum | None]
    ) -> tuple[Op, list[Datum], list[tuple[Sexpr, Bound]]]:
        """One attempt: the op, its operands' values, UNDRAWN where only a type is chosen (most attempts are refused for
        their types), and what its free variables would be.
        """
        chosen: list[tuple[Sexpr, Bound]] = []
        columns = list(form.items[1 + len(operands) :])
        wanted = self._known_result(signature, columns)
        types: list[Type | None] = [o.type if o is not None else None for o in operands]
        data: list[Datum] = []
        for index, (operand, group) in enumerate(zip(operands, cls.info.operands, strict=True)):
            if operand is None:
                item = form.items[1 + index]
                again = [value for other, value in chosen if _text(other) == _text(item) and isinstance(value, Datum)]
                operand = again[0] if again else self._free(signature.mnemonic, index, group, types, wanted)
                types[index] = operand.type
                chosen.append((item, operand))
            data.append(operand)
        attributes: dict[str, object] = {}
        for attribute in (a for a in cls.info.attributes if not is_hint(a)):
            item = columns.pop(0)
            if isinstance(item, Atom) and self.is_free(item):
                known: list[tuple[Type | None, object]] = [(d.type, d.data) for d in data]
                if attribute.kind is DenseElements:
                    type_ = self._literal_type(columns)
                    name = item.text if self.random.chance(0.85) else ""
                    value: object = self.random.literal(type_, self._literals.get(name, ()))
                else:
                    value = self.random.attribute(attribute, signature.mnemonic, known, self._ranges.get(item.text))
                integer = integer_of(value)
                chosen.append((item, self.interner.attributes.id(value) if integer is None else integer))
            else:
                value = attempts.decoded(self.interner, attribute.kind, self.integer(item))
            attributes[attribute.name] = value
        results = self._results(signature, columns, types, attributes, chosen)
        op = attempts.build(cls, data, results, attributes, self._block)
        return op, data, chosen

    def _literal_type(self, columns: list[Sexpr]) -> TileType:
        """The type of a literal to draw: the bound type column, or a fresh one that is then bound."""
        at = columns[-1]
        if isinstance(at, Atom) and self.is_free(at):
            self.env[at.text] = self.interner.types.id(self.random.tile_type(self._group))
        type_ = self.interner.types[self.integer(at)]
        self.require(isinstance(type_, TileType) and not isinstance(type_.element, PointerType))
        return type_

    def _known_result(self, signature: Signature, columns: Sequence[Sexpr]) -> Type | None:
        """The type of an operation's only result, where its column is bound."""
        if signature.like >= 0 or signature.results != 1 or not columns:
            return None
        at = columns[-1]
        return None if isinstance(at, Atom) and self.is_free(at) else self.interner.types[self.integer(at)]

    def _free(
        self, mnemonic: str, index: int, group: OperandGroup, types: list[Type | None], result: Type | None
    ) -> Datum:
        """A value for a free operand, beside operands and a result of these types: a tile is drawn later, but for one
        that an attribute promises something about.
        """
        if isinstance(group, OptionalOperand) and self.random.chance(0.3):
            return Datum(None, None)
        if not isinstance(group, Operand | OptionalOperand):
            raise NotCovered(f"'{mnemonic}' of a list has no value outside a kernel")
        type_ = self.random.operand_type(mnemonic, index, group, types, result)
        if type_ == TOKEN:
            return Datum(TOKEN, self.random.token())
        if not isinstance(type_, TileType):
            raise ValueError("only tiles and tokens are drawn")
        return Datum(type_, self.random.tile(type_) if mnemonic == "assume" else attempts.UNDRAWN)

    def _results(
        self,
        signature: Signature,
        columns: list[Sexpr],
        types: list[Type | None],
        attributes: dict[str, object],
        chosen: list[tuple[Sexpr, Bound]],
    ) -> list[Type] | None:
        """Result types: from an operand (None), from the type column, or drawn."""
        if signature.like >= 0:
            return None
        item = columns[-1]
        many = signature.results != 1
        table = self.interner.attributes if many else self.interner.types
        if not (isinstance(item, Atom) and self.is_free(item)):
            found = table[self.integer(item)]
            return list(found) if many else [found]
        if many:
            drawn = several(signature.mnemonic, types)
        else:
            again = [v.type for v in self.env.values() if isinstance(v, Datum) and isinstance(v.type, TileType)]
            known = again and self.random.chance(0.25)  # conversions there and back
            drawn = [
                self.random.pick(again) if known else self.random.result_type(signature.mnemonic, types, attributes)
            ]
        chosen.append((item, table.id(tuple(drawn) if many else drawn[0])))
        return drawn


_FACT_RELATIONS = facts.RELATIONS - {"allow", "combiner"}


@cache
def _number(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdigit() else None

"""egglog declarations and rules derived from the op classes: constructors, loading, types, loop dependence, placing.

Everything here is text made from `ir.core.OpInfo`, so that an op is declared once. Sorts: V is a logical tile value, P
a placed value. The V constructor of an op takes its operand groups (a missing optional operand is `(none)`, a variadic
group a list of `cons` and `nil`), one i64 an attribute in declared order (its integer, -1 for None, or an interned id;
hints are left out), and one i64 of result types unless the result has an operand's type. An op with several results is
one term, its results are `(proj term k)`. Names that egglog keeps for its own primitives get a trailing underscore.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from egraph import leaves, placed
from egraph.leaves import Leaf
from egraph.rulefile import Command
from egraph.term import LOGICAL, PLACED, PREFIX, Operand, TypeId, TypesId, named
from ir.core import OPS, PURE, READ, AttrField, OpInfo
from ir.dialects.cuda_tile import TileOp
from ir.records import dataclass

RULESETS = ("load", "analysis", "canon", "algebra", "demand", "place", "isel")
ELEMENTWISE, UNIFORM, SHAPE, ANCHOR = "elementwise", "uniform", "shape", "anchor"

NONE_VALUE, NIL_VALUE = 0, 1
"""Source value numbers of the missing operand and of the empty operand list."""


@dataclass(frozen=True)
class Signature:
    """A V constructor: how many V columns, then which i64 columns; `like` is the operand column whose type the result
    has (-1: the last column is an interned type, -2: types are given by facts), `results` is the number of results.
    """

    mnemonic: str
    operands: tuple[str, ...]
    integers: tuple[str, ...]
    placement: str
    like: int = -1
    results: int = 1

    @property
    def name(self) -> str:
        """The constructor's name in egglog."""
        return named(self.mnemonic)

    @property
    def columns(self) -> tuple[str, ...]:
        """Variable names of all columns, safe to use in rules."""
        return (*(f"{o}_v" for o in self.operands), *(f"{i}_i" for i in self.integers))

    @property
    def scoped(self) -> bool:
        """Does the term also depend on the loops and branch sides of its last column?"""
        return self.integers[-1:] == ("scope",)

    def sorts(self, value: str) -> str:
        """The column sorts with `value` for the operand columns."""
        return " ".join((*([value] * len(self.operands)), *(["i64"] * len(self.integers))))

    def term(self, prefix: str = "", wrap: str = "{}") -> str:
        """The term over its own variables, each operand wrapped in the format `wrap`."""
        parts = [wrap.format(f"{o}_v") for o in self.operands] + [f"{i}_i" for i in self.integers]
        return f"({' '.join((prefix + self.name, *parts))})"


def _of_leaf(cls: type[Leaf]) -> Signature:
    """The V constructor of a leaf, whose columns hold what an op's operands and attributes would."""
    operands = tuple([c.name for c in cls.columns if isinstance(c, Operand)])
    integers = tuple([c.name for c in cls.columns if not isinstance(c, Operand)])
    several = any(isinstance(c, TypesId) for c in cls.columns)
    typed = any(isinstance(c, TypeId) for c in cls.columns)
    like = operands.index(cls.like) if cls.like else -1 if typed else -2
    return Signature(cls.constructor, operands, integers, cls.placement.value, like, -1 if several else 1)


LEAVES: tuple[Signature, ...] = tuple([_of_leaf(cls) for cls in leaves.LEAVES])
"""Terms that are not one op."""

GIVEN = tuple([cls.constructor for cls in leaves.LEAVES if cls.given])
"""Leaves whose loop dependence is a fact of the program."""


def integer_of(value: object) -> int | None:
    """The i64 of an attribute that needs no interning: enums, bools and ints; None is -1; otherwise None."""
    if value is None:
        return -1
    return int(value) if isinstance(value, bool | int | enum.IntEnum) else None


def is_hint(attribute: AttrField) -> bool:
    """Hints stay with the source op: they are not part of a value."""
    return attribute.name == "hints"


def signature(cls: type[TileOp]) -> Signature | None:
    """The V constructor of an op class, None where the op stays in the skeleton or is encoded by hand."""
    info: OpInfo = cls.info
    placement: str = cls.placement.value
    if cls.effect not in (PURE, READ) or info.regions or placement not in (ELEMENTWISE, UNIFORM, SHAPE, ANCHOR):
        return None
    operands = tuple(g.name for g in info.operands)
    integers = tuple(a.name for a in info.attributes if not is_hint(a))
    results = -1 if info.variadic_results else len(info.results)
    like = operands.index(info.results[0].like) if results == 1 and info.results[0].like else -1
    if results == 1 and like < 0:
        integers = (*integers, "ty")
    if results != 1:
        integers, like = (*integers, "types"), -2
    return Signature(info.mnemonic, operands, integers, placement, like, results)


@cache
def signatures() -> dict[str, Signature]:
    """Every V constructor by mnemonic: those of the ops, then the leaves."""
    found = {s.mnemonic: s for cls in OPS.values() if issubclass(cls, TileOp) and (s := signature(cls))}
    return found | {s.mnemonic: s for s in LEAVES}


@cache
def by_name() -> dict[str, Signature]:
    """Every V constructor by its name in egglog."""
    return {s.name: s for s in signatures().values()}


PRELUDE = f"""
(sort {LOGICAL})
(sort {PLACED})
(constructor N (i64) V :unextractable)
{leaves.Projection.declaration()}
(function type (V) i64 :no-merge)
(function deps (V) i64 :merge (& old new))
(constructor held_in (V i64) P :unextractable)
(constructor native (V i64) P :unextractable)
{placed.Identity.declaration()}
{placed.Convert.declaration()}
{placed.PlacedProjection.declaration()}
(relation want (V i64))
(relation offer (V i64))
(relation has (V i64))
(relation elementwise_operand (V V))
(rule ((= v (proj t i)) (= d (deps t))) ((set (deps v) d)) :ruleset analysis :name "deps/proj")
(rule ((offer v l)) ((want v l)) :ruleset demand :name "demand/offer")
(rule ((offer a l) (elementwise_operand a v)) ((offer v l)) :ruleset demand :name "demand/elementwise")
"""
"""What no op and no term declares: source value numbers, types, loop dependence, placing."""


ROW_WIDTH = 9
"""Columns of `row` after its code: a value number and the widest term, load_ptr_tko with 7, and one to spare."""


def _load_rule(code: int, name: str, columns: tuple[str, ...], action: str) -> str:
    padded = " ".join((*columns, *(["0"] * (ROW_WIDTH - len(columns)))))
    return f'(rule ((row {code} {padded})) ({action}) :ruleset load :name "load/{name}")'


def _load_rules(all_signatures: Sequence[Signature]) -> Iterator[str]:
    """One relation for all terms: each relation costs a file and an input command a program (0.2 ms)."""
    codes = row_codes()
    yield f"(relation row ({' '.join(['i64'] * (ROW_WIDTH + 1))}))"
    yield _load_rule(codes["proj"], "proj", ("k", "t", "i"), "(union (N k) (proj (N t) i))")
    yield _load_rule(codes["type"], "type", ("k", "t"), "(set (type (N k)) t)")
    yield _load_rule(codes["deps"], "deps", ("k", "d"), "(set (deps (N k)) d)")
    for s in all_signatures:
        yield _load_rule(codes[s.mnemonic], s.mnemonic, ("k", *s.columns), f"(union (N k) {s.term(wrap='(N {})')})")


@cache
def row_codes() -> dict[str, int]:
    """The code of each term in `row`."""
    return {name: code for code, name in enumerate(("proj", "type", "deps", *signatures()))}


def packed(facts: Mapping[str, Sequence[tuple[int, ...]]]) -> dict[str, Sequence[tuple[int, ...]]]:
    """Facts as they are loaded: the rows of every `r.<term>` in one relation `row`, the others as they are."""
    codes = row_codes()
    rows: list[tuple[int, ...]] = []
    others: dict[str, Sequence[tuple[int, ...]]] = {}
    padding = [(0,) * n for n in range(ROW_WIDTH + 1)]
    for relation, found in facts.items():
        code = codes.get(relation[2:]) if relation.startswith("r.") else None
        if code is None:
            others[relation] = found
        else:
            rows += [(code, *row, *padding[ROW_WIDTH - len(row)]) for row in found]
    return {"row": rows, **others}


def _analysis_rule(s: Signature) -> str | None:
    """Type and loop dependence of a term from its operands; leaves in loops get theirs by facts."""
    facts, actions = [f"(= v {s.term()})"], list[str]()
    if s.like >= 0:
        facts.append(f"(= t (type {s.columns[s.like]}))")
    if s.like >= -1:
        actions.append(f"(set (type v) {'t' if s.like >= 0 else s.columns[-1]})")
    if s.mnemonic not in GIVEN:
        facts += [f"(= d{i} (deps {o}_v))" for i, o in enumerate(s.operands)]
        masks = [*(f"d{i}" for i in range(len(s.operands))), *(["scope_i"] if s.scoped else [])]
        union = masks[0] if masks else "0"
        for mask in masks[1:]:
            union = f"(| {union} {mask})"
        actions.append(f"(set (deps v) {union})")
    if s.placement == ELEMENTWISE:
        actions += [f"(elementwise_operand {o}_v v)" for o in s.operands]
    if not actions:
        return None
    return f'(rule ({" ".join(facts)}) ({" ".join(actions)}) :ruleset analysis :name "facts/{s.mnemonic}")'


def _placed(s: Signature) -> Iterator[str]:
    """The P constructor and how a wanted value is computed in the layout it is wanted in."""
    yield f"(constructor {PREFIX}{s.name} ({s.sorts('P')}) P)"
    layout = "l" if s.placement == ELEMENTWISE else "0"
    wants = " ".join(f"(want {o}_v {layout})" for o in s.operands)
    placed = s.term(PREFIX, "(held_in {} " + layout + ")")
    yield (
        f"(rule ((= v {s.term()}) (want v {layout})) "
        f"({wants} (union (native v {layout}) {placed}) (has v {layout})) "
        f':ruleset place :name "place/{s.mnemonic}")'
    )
    if s.results != 1:
        yield (
            f"(rule ((= t {s.term()}) (= v (proj t i)) (want v 0)) "
            "((want t 0) (union (native v 0) (p.proj (held_in t 0) i)) (has v 0)) "
            f':ruleset place :name "place/{s.mnemonic}-result")'
        )


def _texts(all_signatures: Sequence[Signature]) -> Iterator[str]:
    for each in all_signatures:
        yield f"(constructor {each.name} ({each.sorts('V')}) V)"
    yield from _load_rules(all_signatures)
    for each in all_signatures:
        rule = _analysis_rule(each)
        if rule:
            yield rule
        if each.placement in (ELEMENTWISE, UNIFORM):
            yield from _placed(each)


@cache
def declarations() -> tuple[Command, ...]:
    """Rulesets, prelude and everything derived from the ops, one command each, in an order egglog accepts."""
    texts = [f"(ruleset {name})" for name in RULESETS]
    texts += [line for line in PRELUDE.splitlines() if line]
    texts.append("(unstable-combined-ruleset placement demand place isel)")
    texts += _texts(list(signatures().values()))
    texts += [cls.declaration() for cls in placed.operations() if cls.declaration() not in PRELUDE]
    return tuple([Command.of(text, "<generated>") for text in texts])

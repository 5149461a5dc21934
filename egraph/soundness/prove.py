"""Rules of integers proved by z3, for one element of each tile: what is elementwise holds of all if it holds of one.

A value is a bit vector of its type's width, a fact (low, high, divisor, multiple) any number that is true of it, and
what a rule computes of facts is a wider vector in which nothing wraps. Left terms are assumed to be defined; right
terms must be, equalities and claims must hold. Rules of shapes, groups, floats, loops and placements are not covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from egraph.facts import LARGEST_DIVISOR, limits
from egraph.rule import Rule, text
from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness.formula import Formula
from egraph.soundness.mirrors import spelled_out
from egraph.soundness.model import NotCovered, Reject, Unbound
from egraph.terms import signatures
from ir.records import dataclass

WIDTHS = (1, 4, 8, 16, 32, 64)
"""Tile IR's integer widths (CUDA Tile IR 13.4, element types)."""

RLIMIT = 3_000_000
"""z3's resource limit of one query, about 1 s; it counts steps, so an answer does not depend on the machine."""

_DOMAINS = {"signedness": (0, 1), "rounding": (1, 2, 3), "overflow": (0, 1, 2, 3), "predicate": tuple(range(6))}
_BINARY = ("addi", "subi", "muli", "divi", "remi", "andi", "ori", "xori", "mini", "maxi", "shli", "shri")
_NARROW, _BOOL = 4, 1
_DIVISORS, _PRODUCTS, _MULTIPLES, _SHIFTED = 40, 72, 8, 66
"""Bits in which a divisor (up to 2^30) and a sum with one do not wrap, and in which the product of two does not;
promised multiples have two bits fewer, at least so many more than the product of two values; the sum of two i64.
"""


@cache
def _terms() -> frozenset[str]:
    return frozenset(s.name for s in signatures().values())


def _z3() -> ModuleType:
    return import_module("z3")  # an extra, without types


@dataclass(frozen=True)
class Value:
    """An element: a z3 bit vector."""

    bits: Formula
    width: int


@dataclass
class Path:
    """The choices of widths and attributes that lead to one query; `taken` is replayed, then each first option."""

    taken: list[tuple[int, int]] = field(default_factory=lambda: list[tuple[int, int]]())
    at: int = 0

    def choose(self, options: Sequence[int]) -> int:
        """One of the options; the others are for later paths."""
        if not options:
            raise Reject
        if self.at == len(self.taken):
            self.taken.append((0, len(options)))
        index = self.taken[self.at][0]
        self.at += 1
        return options[index]

    def next(self) -> bool:
        """Go on to the next path; False where there is none."""
        del self.taken[self.at :]
        while self.taken and self.taken[-1][0] + 1 == self.taken[-1][1]:
            self.taken.pop()
        if self.taken:
            index, size = self.taken.pop()
            self.taken.append((index + 1, size))
        self.at = 0
        return bool(self.taken)


def proved(rule: Rule, width: int, rlimit: int = RLIMIT, kind: type[Query] | None = None) -> str:
    """What z3 finds of a rule whose widest value has `width` bits: proved, refuted or unknown; empty where nothing
    of that width satisfies the rule's guards. `kind`: how values are modelled, as bit vectors if it is not given.
    Raises NotCovered for rules that are not about integers alone.
    """
    z3, path, found = _z3(), Path(), ""
    rule = spelled_out(rule)
    while True:
        try:
            query = (kind or Query)(path, width)
            query.read(rule)
            answer = query.answer(rlimit) if query.widest == width else z3.unsat
            found = found or ("proved" if query.widest == width and query.satisfiable(rlimit) else "")
            if answer != z3.unsat:
                return "refuted" if answer == z3.sat else "unknown"
        except Reject:
            pass
        if not path.next():
            return found


class Query:
    """One path: assumptions of the left side, obligations of the right side."""

    LOGIC = "QF_BV"

    def __init__(self, path: Path, width: int):
        self.z3, self.path, self.most = _z3(), path, width
        self.env: dict[str, Any] = {}
        self.assumed: list[Formula | bool] = []
        self.owed: list[Formula | bool] = []
        self.facts: dict[tuple[str, Formula], Formula] = {}  # z3's terms hash by structure
        self.wide = max(2 * width + 2, 10)
        self.widest = 0
        self.count = 0
        self.right = False

    # --- the rule

    def read(self, rule: Rule) -> None:
        """Assume the body, then owe what the actions state."""
        spoken = " ".join(map(text, (*rule.body, *rule.actions)))
        if "(divisor " in spoken:  # numbers beyond the type's width
            self.wide = max(self.wide, _PRODUCTS if "(* (divisor " in spoken or self.most > 16 else _DIVISORS)
        elif "(multiple " in spoken:
            self.wide = max(self.wide, _PRODUCTS if self.most > 16 else 2 * self.most + _MULTIPLES)
        elif "(- 64 " in spoken:  # shifts that drop the bits of an i64
            self.wide = max(self.wide, _SHIFTED)
        waiting: list[Sexpr] = list(rule.body)
        while waiting:
            later: list[Sexpr] = []
            for fact in waiting:
                try:
                    self.fact(fact)
                except Unbound:
                    later.append(fact)
            if len(later) == len(waiting) and not any(self.free(f) for f in later):
                raise NotCovered("nothing binds a variable")
            waiting = later
        self.right = True
        for action in rule.actions:
            if isinstance(action, List) and action.head != "subsume":
                self.action(action)

    def free(self, form: Sexpr) -> bool:
        """Any element for a variable that only facts speak of."""
        if isinstance(form, Atom):
            return False
        about = form.items[1] if form.head in ("low", "high", "divisor") else None
        if isinstance(about, Atom) and about.text not in self.env:
            self.env[about.text] = self.fresh(self.width())
            return True
        return any(self.free(item) for item in form.items[1:])

    def answer(self, rlimit: int) -> Formula:
        """unsat where the assumptions entail all that is owed."""
        return self._check([*self.assumed, self.z3.Not(self.z3.And(*self.owed))], rlimit)

    def satisfiable(self, rlimit: int) -> bool:
        """Does anything satisfy the assumptions?"""
        return self._check(self.assumed, rlimit) != self.z3.unsat

    def _check(self, formulas: list[Formula | bool], rlimit: int) -> Formula:
        """In a context of its own: else the answer would depend on the queries before."""
        context = self.z3.Context()
        solver = self.z3.SolverFor(self.LOGIC, ctx=context)
        solver.set("rlimit", rlimit)
        solver.add(*(self.z3.And(each).translate(context) for each in formulas))
        return solver.check()

    def need(self, condition: Formula | bool) -> None:
        """Assumed of the left side, owed of the right side."""
        (self.owed if self.right else self.assumed).append(condition)

    # --- facts of the body

    def fact(self, fact: Sexpr) -> None:
        """Assume one fact; Unbound where it speaks of what later facts bind."""
        if not isinstance(fact, List):
            raise NotCovered("a bare fact")
        head, arguments = fact.head, fact.items[1:]
        if head == "=":
            self.equation(*arguments)
        elif head == "!=" and any(isinstance(self.env.get(getattr(a, "text", "")), Value) for a in arguments):
            return
        elif head in ("<", "<=", ">", ">=", "!="):
            a, b = (self.number(x) for x in arguments)
            self.assumed.append({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "!=": a != b}[head])
        elif head == "integer":
            width = self.type_of(arguments[0])
            for item, value in zip(arguments[1:], (width, *limits(width)), strict=True):
                self.same_number(item, self.literal(value))
        elif head in ("exact_sum", "exact_product"):
            self.assumed.append(self.exact(head, *(self.value(a) for a in arguments)))
        elif head == "multiple":
            self.multiple(*arguments)
        elif head in _terms():
            self.value(fact)
        else:
            raise NotCovered(f"({head} ...)")

    def equation(self, left: Sexpr, right: Sexpr) -> None:
        """Bind or equate numbers, values and types."""
        if self.is_type(left) or self.is_type(right):
            kind, other = (left, right) if self.is_type(left) else (right, left)
            width = self.type_of(kind)
            if isinstance(other, Atom) and other.text not in self.env:
                self.env[other.text] = width
            elif self.type_of(other) != width:
                raise Reject
            return
        if self.is_value(right):
            value = self.value(right)
            known = self.env.get(left.text) if isinstance(left, Atom) else None
            if known is not None:
                if known.width != value.width:
                    raise Reject
                self.assumed.append(known.bits == value.bits)
            elif isinstance(left, Atom):
                self.env[left.text] = value
            return
        if isinstance(left, Atom) and isinstance(right, Atom) and not _digits(left) and not _digits(right):
            if left.text not in self.env and right.text not in self.env:  # the left side of a rewrite is a variable
                self.env[left.text] = self.env[right.text] = self.fresh(self.width())
                return
            if isinstance(self.env.get(left.text, self.env.get(right.text)), Value):
                raise NotCovered("an equation of two values")
        for item, other in ((left, right), (right, left)):
            if isinstance(item, Atom) and not _digits(item) and item.text not in self.env:
                self.env[item.text] = self.number(other)
                return
        self.assumed.append(self.number(left) == self.number(right))

    def same_number(self, item: Sexpr, value: object) -> None:
        """Bind a free column, or equate a bound one."""
        if isinstance(item, Atom) and not _digits(item) and item.text not in self.env:
            self.env[item.text] = value
        else:
            self.assumed.append(self.number(item) == value)

    def multiple(self, about: Sexpr, by: Sexpr) -> None:
        """A positive number that divides the value; a free one is any."""
        value = self.value(about)
        if isinstance(by, Atom) and not _digits(by) and by.text not in self.env:
            self.env[by.text] = self.integer_variable()
            self.need(self.env[by.text] > 0)
            self.need(self.env[by.text] < 1 << min(self.wide - 2, 63))
        self.need(self.z3.SRem(self.signed(value), self.number(by)) == 0)

    # --- actions

    def action(self, action: List) -> None:
        """Owe what an action states."""
        if action.head == "union":
            left, right = (self.value(a) for a in action.items[1:])
            if left.width != right.width:
                self.owed.append(self.z3.BoolVal(False))
            else:
                self.owed.append(left.bits == right.bits)
        elif action.head == "set" and isinstance(action.items[1], List):
            self.claim(action.items[1], self.number(action.items[2]))
        elif action.head in ("exact_sum", "exact_product"):
            self.owed.append(self.exact(action.head, *(self.value(a) for a in action.items[1:])))
        elif action.head == "multiple":
            self.multiple(*action.items[1:])
        else:
            raise NotCovered(f"({action.head} ...)")

    def claim(self, target: List, number: Formula) -> None:
        """A bound or divisor that must be true."""
        value = self.signed(self.value(target.items[1]))
        if target.head not in ("low", "high", "divisor"):
            raise NotCovered(f"({target.head} ...)")
        if target.head == "divisor":
            self.owed += [number > 0, number & (number - 1) == 0, number <= LARGEST_DIVISOR, value & (number - 1) == 0]
        else:
            self.owed.append(number <= value if target.head == "low" else number >= value)

    # --- numbers

    def number(self, form: Sexpr) -> Formula:
        """A computation on facts; what egglog's checked arithmetic refuses is no match."""
        if isinstance(form, Atom):
            if _digits(form):
                return self.literal(int(form.text))
            found = self.env.get(form.text)
            if found is None:
                raise Unbound(form.text)
            if isinstance(found, Value):
                raise NotCovered("a value where a number is needed")
            return self.literal(found) if isinstance(found, int) else found
        if form.head in ("low", "high", "divisor"):
            return self.known(form.head, self.value(form.items[1]))
        if form.head == "log2":
            return self.log2(self.number(form.items[1]))
        found = self.calculated(form)
        if self.most == 64:  # narrower ones stay inside
            low, high = limits(64)
            self.assumed += [found >= low, found <= high]
        return found

    def literal(self, number: int) -> Formula:
        """A number that is known."""
        return self.z3.BitVecVal(number, self.wide)

    def calculated(self, form: List) -> Formula:
        """One of egglog's functions on i64."""
        z3 = self.z3
        a, b = (self.number(x) for x in form.items[1:])
        if form.head in ("/", "%"):
            self.assumed.append(b != 0)
            return a / b if form.head == "/" else z3.SRem(a, b)
        if form.head in ("<<", ">>"):
            self.assumed += [b >= 0, b < min(64, self.wide)]
            return self.in_i64(a << b) if form.head == "<<" else a >> b
        simple = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b,
                  "min": z3.If(a < b, a, b), "max": z3.If(a > b, a, b)}  # fmt: skip
        if form.head not in simple:
            raise NotCovered(f"({form.head} ...)")
        return simple[form.head]

    def in_i64(self, number: Formula) -> Formula:
        """The lowest 64 bits of a number, with the sign that they have."""
        extra = self.wide - 64
        return self.z3.SignExt(extra, self.z3.Extract(63, 0, number)) if extra > 0 else number

    def log2(self, number: Formula) -> Formula:
        """The place of the highest bit."""
        found, one = self.integer_variable(), self.z3.BitVecVal(1, self.wide)
        self.assumed += [
            number > 0,
            found >= 0,
            found < self.wide - 2,
            one << found <= number,
            number < one << (found + 1),
        ]
        return found

    def integer_variable(self) -> Formula:
        """Any number."""
        self.count += 1
        return self.z3.BitVec(f"n{self.count}", self.wide)

    def known(self, fact: str, value: Value) -> Formula:
        """A fact of a value: any true one, the same whenever it is asked for."""
        key = (fact, value.bits)
        if key not in self.facts:
            number, signed = self.integer_variable(), self.signed(value)
            low, high = limits(value.width)
            if fact == "divisor":
                number = self.z3.BitVecVal(1, self.wide) << number
                power = self.z3.And(number > 0, number <= LARGEST_DIVISOR, number & (number - 1) == 0)
                self.assumed += [power, signed & (number - 1) == 0]
            else:
                true = number <= signed if fact == "low" else number >= signed
                self.assumed += [number >= low, number <= high, true]
            self.facts[key] = number
        return self.facts[key]

    # --- types

    def is_type(self, form: Sexpr) -> bool:
        """Is it (type x)?"""
        return isinstance(form, List) and form.head == "type"

    def type_of(self, form: Sexpr) -> int:
        """The width that a type variable or (type x) stands for."""
        if isinstance(form, List):
            return self.value(form.items[1]).width
        found: int | None = self.env.get(form.text)
        if found is None:
            raise Unbound(form.text)
        return found

    def width(self, options: Sequence[int] = WIDTHS) -> int:
        """Choose a width up to the one that is asked about."""
        found = self.path.choose([w for w in options if w <= self.most])
        self.widest = max(self.widest, found)
        return found

    # --- values

    def is_value(self, form: Sexpr) -> bool:
        """Is it a term?"""
        return isinstance(form, List) and form.head in _terms()

    def signed(self, value: Value) -> Formula:
        """The value in the wide reading of facts: with its sign, i1 as 0 and 1."""
        extend = self.z3.ZeroExt if value.width == 1 else self.z3.SignExt
        return extend(self.wide - value.width, value.bits)

    def exact(self, head: str, a: Value, b: Value) -> Formula:
        """Whether a sum or product of signed readings fits the type."""
        x, y = self.signed(a), self.signed(b)
        found = x + y if head == "exact_sum" else x * y
        low, high = limits(a.width)
        return self.z3.And(found >= low, found <= high)

    def fresh(self, width: int) -> Value:
        """Any element of the width."""
        self.count += 1
        return Value(self.z3.BitVec(f"x{self.count}", width), width)

    def value(self, form: Sexpr, width: int = 0) -> Value:
        """A term's value; a free variable is any element of `width` bits, or of one that is chosen."""
        if isinstance(form, Atom):
            found = self.env.get(form.text)
            if found is None and (self.right or not width):
                raise Unbound(form.text)
            if found is None:
                found = self.env[form.text] = self.fresh(width)
            if not isinstance(found, Value):
                raise NotCovered("a number where a value is needed")
            return found
        return self.operation(form)

    def operand(self, form: Sexpr, width: int = 0) -> Value:
        """An operand: of the width of what is beside it, or of any."""
        if isinstance(form, Atom) and form.text not in self.env and not self.right:
            return self.value(form, width or self.width())
        found = self.value(form)
        if width and found.width != width:
            if self.right:
                self.owed.append(self.z3.BoolVal(False))
                return Value(self.z3.BitVecVal(0, width), width)
            raise Reject
        return found

    def attribute(self, form: Sexpr, name: str) -> int:
        """A column that is a literal, bound, or chosen from all."""
        if isinstance(form, Atom) and _digits(form):
            return int(form.text)
        assert isinstance(form, Atom)
        if form.text not in self.env:
            if self.right:
                raise NotCovered("an attribute that nothing binds")
            self.env[form.text] = self.path.choose(_DOMAINS[name])
        found = self.env[form.text]
        if not isinstance(found, int):
            raise NotCovered("an attribute that is computed")
        return found

    def result_type(self, form: Sexpr, options: Sequence[int]) -> int:
        """A type column: bound, or one of the widths."""
        assert isinstance(form, Atom)
        if form.text not in self.env:
            if self.right or not options:
                raise Reject
            self.env[form.text] = self.width(options)
        found: int = self.env[form.text]
        if found not in options:
            if self.right:
                raise NotCovered("an ill-typed term")
            raise Reject
        return found

    def operation(self, form: List) -> Value:
        """The value of a term; what it leaves undefined is assumed not to happen, or owed."""
        head, items = form.head, form.items[1:]
        if head == "splat":
            return self.splat(*items)
        if head in _BINARY:
            first, second = items[:2]
            swap = (
                isinstance(first, Atom)
                and first.text not in self.env
                and not self.right
                and (isinstance(second, List) or second.text in self.env)
            )
            if swap:
                b = self.operand(second)
                a = self.operand(first, b.width)
            else:
                a = self.operand(first)
                b = self.operand(second, a.width)
            if a.width == _NARROW:
                raise Reject  # no arithmetic on i4
            return self.arithmetic(head, a, b, items[2:])
        if head == "cmpi":
            a = self.operand(items[0], self.beside(items[1]))
            return self.compared(a, self.operand(items[1], a.width), items[2:])
        if head == "select":
            condition = self.operand(items[0], _BOOL)
            a = self.operand(items[1], self.beside(items[2]))
            b = self.operand(items[2], a.width)
            return Value(self.z3.If(condition.bits == 1, a.bits, b.bits), a.width)
        if head in ("exti", "trunci"):
            return self.converted(head, items)
        raise NotCovered(f"({head} ...)")

    def beside(self, form: Sexpr) -> int:
        """The width of an operand that is bound or a term, 0 of a free one."""
        if isinstance(form, Atom) and form.text not in self.env:
            return 0
        return self.value(form).width

    def splat(self, number: Sexpr, kind: Sexpr) -> Value:
        """A constant: its number must fit the type."""
        width = self.result_type(kind, WIDTHS)
        if isinstance(number, Atom) and not _digits(number) and number.text not in self.env and not self.right:
            self.env[number.text] = self.integer_variable()
        found = self.number(number)
        low, high = limits(width)
        self.need(self.z3.And(found >= low, found <= high))
        return Value(self.z3.Extract(width - 1, 0, found), width)

    def converted(self, head: str, items: Sequence[Sexpr]) -> Value:
        """exti to a wider type, trunci to a narrower one."""
        source = self.operand(items[0])
        column = self.attribute(items[1], "signedness" if head == "exti" else "overflow")
        if head == "exti":
            width = self.result_type(items[2], [w for w in WIDTHS if w > source.width])
            extend = self.z3.SignExt if column else self.z3.ZeroExt
            return Value(extend(width - source.width, source.bits), width)
        if column:
            raise Reject if not self.right else NotCovered("a promise of trunci")
        width = self.result_type(items[2], [w for w in WIDTHS if w < source.width])
        return Value(self.z3.Extract(width - 1, 0, source.bits), width)

    def compared(self, a: Value, b: Value, columns: Sequence[Sexpr]) -> Value:
        """A comparison by predicate, signed or not."""
        z3 = self.z3
        predicate, signed = self.attribute(columns[0], "predicate"), self.attribute(columns[1], "signedness")
        self.result_type(columns[2], (_BOOL,))
        if a.width == _NARROW:
            raise Reject
        x, y = a.bits, b.bits
        less, at_most = (x < y, x <= y) if signed else (z3.ULT(x, y), z3.ULE(x, y))
        holds = (x == y, x != y, less, at_most, z3.Not(at_most), z3.Not(less))[predicate]
        return Value(z3.If(holds, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)), _BOOL)

    def arithmetic(self, head: str, a: Value, b: Value, columns: Sequence[Sexpr]) -> Value:
        """Two elements of one width to a third."""
        z3, x, y = self.z3, a.bits, b.bits
        if head in ("andi", "ori", "xori"):
            return Value({"andi": x & y, "ori": x | y, "xori": x ^ y}[head], a.width)
        if head in ("addi", "subi", "muli"):
            self.promise(head, a, b, self.attribute(columns[0], "overflow"))
            return Value({"addi": x + y, "subi": x - y, "muli": x * y}[head], a.width)
        if head in ("mini", "maxi"):
            less = x < y if self.attribute(columns[0], "signedness") else z3.ULT(x, y)
            return Value(z3.If(less, x, y) if head == "mini" else z3.If(less, y, x), a.width)
        if head in ("shli", "shri"):
            self.need(z3.ULT(y, z3.BitVecVal(a.width, a.width)) if a.width > 1 else y == 0)
            column = self.attribute(columns[0], "overflow" if head == "shli" else "signedness")
            if head == "shli":
                self.need(z3.BoolVal(not column))
                return Value(x << y, a.width)
            return Value(x >> y if column else z3.LShR(x, y), a.width)
        if a.width == 1:
            raise Reject  # i1 divides by 1 alone; samples cover it
        return Value(self.divided(head, a, b, columns), a.width)

    def promise(self, head: str, a: Value, b: Value, overflow: int) -> None:
        """The promise not to wrap."""
        if overflow & 1:
            low, high = limits(a.width)
            found = _computed(head, self.signed(a), self.signed(b))
            self.need(self.z3.And(found >= low, found <= high))
        if overflow & 2:
            x, y = (self.z3.ZeroExt(self.wide - a.width, v.bits) for v in (a, b))
            found = _computed(head, x, y)
            self.need(self.z3.And(found >= 0, found < 1 << a.width))

    def divided(self, head: str, a: Value, b: Value, columns: Sequence[Sexpr]) -> Formula:
        """A quotient rounded to zero (1), down (2) or up (3), or a remainder with the dividend's sign."""
        z3, x, y = self.z3, a.bits, b.bits
        signed = self.attribute(columns[0], "signedness")
        least = z3.BitVecVal(limits(a.width)[0], a.width)
        self.need(y != 0)
        self.need(z3.Not(z3.And(x == least, y == -1)))  # as egraph.soundness.model has it, whatever the signedness
        quotient, rest = (x / y, z3.SRem(x, y)) if signed else (z3.UDiv(x, y), z3.URem(x, y))
        if head == "remi":
            return rest
        rounding = self.attribute(columns[1], "rounding")
        if rounding not in (1, 2, 3):
            raise Reject
        inexact = rest != 0
        below = z3.And(inexact, (x < 0) != (y < 0)) if signed else z3.BoolVal(False)
        above = z3.And(inexact, (x < 0) == (y < 0)) if signed else inexact
        if rounding == 2:
            return z3.If(below, quotient - 1, quotient)
        return z3.If(above, quotient + 1, quotient) if rounding == 3 else quotient


def _computed(head: str, a: Formula, b: Formula) -> Formula:
    return {"addi": a + b, "subi": a - b, "muli": a * b}[head]


def _digits(form: Atom) -> bool:
    return form.text.lstrip("-").isdigit()


__all__ = ["RLIMIT", "WIDTHS", "Query", "Value", "proved"]

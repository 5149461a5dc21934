"""The largest width at which an integer rule is proved: of bit vectors, and where z3 gives up, of real numbers.

That a product lies between the corners of a box is out of reach for bit vectors of 8 bits, but one step of real
arithmetic. Over the reals, sums and products are exact; that each fits its type, so that nothing wraps, is proved too.
"""

from __future__ import annotations

from collections.abc import Sequence

from egraph.facts import limits
from egraph.rule import Rule
from egraph.rulefile import Command
from egraph.sexpr import List, Sexpr
from egraph.soundness.formula import Formula
from egraph.soundness.model import NotCovered, Reject
from egraph.soundness.prove import RLIMIT, WIDTHS, Query, Value, proved

_EXACT = ("addi", "subi", "muli")
_SIGNED = 8
"""Bits from which on a value's reading is signed: i1 reads 0 and 1, and i4 has no arithmetic."""


class RealQuery(Query):
    """The same rule of real numbers between the limits of their types; only what they entail holds of integers."""

    LOGIC = "QF_NRA"

    def fresh(self, width: int) -> Value:
        """Any number of the type."""
        if width < _SIGNED:
            raise Reject
        made = Value(self.integer_variable(), width)
        self.assumed.append(self.fits(made.bits, width))
        return made

    def fits(self, number: Formula, width: int) -> Formula:
        """Is a number one of the type's?"""
        low, high = limits(width)
        return self.z3.And(number >= low, number <= high)

    def integer_variable(self) -> Formula:
        """Any number."""
        self.count += 1
        return self.z3.Real(f"n{self.count}")

    def signed(self, value: Value) -> Formula:
        """The value itself."""
        return value.bits

    def literal(self, number: int) -> Formula:
        """A number that is known."""
        return self.z3.RealVal(number)

    def calculated(self, form: List) -> Formula:
        """Sums, products and extrema; NotCovered for what is about bits."""
        if form.head not in ("+", "-", "*", "min", "max"):
            raise NotCovered(f"({form.head} ...) of a real number")
        a, b = (self.number(x) for x in form.items[1:])
        if form.head in ("min", "max"):
            return self.z3.If(a < b if form.head == "min" else a > b, a, b)
        return {"+": a + b, "-": a - b, "*": a * b}[form.head]

    def known(self, fact: str, value: Value) -> Formula:
        """A bound of a value: any true one, the same whenever it is asked for."""
        if fact == "divisor":
            raise NotCovered("a divisor of a real number")
        key = (fact, value.bits)
        if key not in self.facts:
            number = self.facts[key] = self.integer_variable()
            true = number <= value.bits if fact == "low" else number >= value.bits
            self.assumed += [self.fits(number, value.width), true]
        return self.facts[key]

    def multiple(self, about: Sexpr, by: Sexpr) -> None:
        """NotCovered: what divides a value."""
        raise NotCovered("a multiple that is a real number")

    def operation(self, form: List) -> Value:
        """The value of a sum, difference or product; NotCovered for other terms."""
        if form.head not in _EXACT:
            raise NotCovered(f"({form.head} ...) of real numbers")
        return super().operation(form)

    def arithmetic(self, head: str, a: Value, b: Value, columns: Sequence[Sexpr]) -> Value:
        """A sum, difference or product that is owed to be exact."""
        self.attribute(columns[0], "overflow")
        x, y = a.bits, b.bits
        found = {"addi": x + y, "subi": x - y, "muli": x * y}[head]
        self.owed.append(self.fits(found, a.width))
        return Value(found, a.width)


def largest_width(command: Command, rlimit: int = RLIMIT) -> tuple[int, str]:
    """(largest proved width, what ended it) of a rule, both directions of a birewrite: widths are tried from the least
    up, and the first that is not proved ends it. Raises NotCovered as `proved` does.
    """
    largest = 0
    for width in WIDTHS:
        answers = {_proved(rule, width, rlimit) for rule in Rule.of(command)}
        if answers & {"refuted", "unknown"}:
            return largest, f"{max(answers)} at {width}"
        largest = width if "proved" in answers else largest
    return largest, ""


def _proved(rule: Rule, width: int, rlimit: int) -> str:
    answer = proved(rule, width, rlimit)
    if answer != "unknown":
        return answer
    try:
        return "proved" if proved(rule, width, rlimit, RealQuery) == "proved" else answer
    except NotCovered:
        return answer

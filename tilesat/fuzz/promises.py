"""Random programs of integer scalars with promises: those on the way of the execution are true, at the entry and in
regions whose trips the compiler does not know; those that it does not get to (a side not taken, a loop without trips,
behind an early exit) are mostly false, about the same terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tilesat.fuzz.program import Program, of
from tilesat.spec import Array

T = TypeVar("T")

NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 64, 100, -1, -2, -3, -8, 4096)
OUTPUTS = 12
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divi": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "remi": lambda a, b: a - b * (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
    "mini": min,
    "maxi": max,
    "andi": lambda a, b: a & b,
}
SUFFIX = {"divi": " signed rounding<zero>", "remi": " signed", "mini": " signed", "maxi": " signed"}


@dataclass(frozen=True)
class Made:
    """An operation of the entry: its operands by name."""

    name: str
    a: str
    b: str


class Promises:
    """One program; `known` are the values of all names in the one execution that the test makes."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.width = 32 if self.rng.integers(3) else 64
        self.kind = f"tile<i{self.width}>"
        self.lines: list[str] = []
        self.known: dict[str, int] = {}
        self.made: list[Made] = []
        self.inputs = [self.number() for _ in range(2)]
        self.known |= {"v": self.inputs[0], "w": self.inputs[1]}
        self.pool = ["v", "w"]

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.rng.integers(len(choices)))]

    def number(self) -> int:
        half = 1 << (self.width - 1)
        ranges = ((-half, half), (-half, half), (0, half), (-100, 100), (half - 50, half), (half // 13, half // 11))
        low, high = self.pick(ranges)
        return int(self.rng.integers(int(low), int(high)))

    def wrap(self, number: int) -> int:
        half = 1 << (self.width - 1)
        return (number + half) % (2 * half) - half

    def fresh(self, value: int) -> str:
        name = f"s{len(self.known)}"
        self.known[name] = value
        return name

    def constant(self, value: int) -> str:
        name = self.fresh(value)
        self.lines.append(f"%{name} = constant <i{self.width}: {value}> : {self.kind}")
        return name

    def operand(self) -> str:
        return self.pick(self.pool) if self.rng.integers(3) else self.constant(self.pick(NUMBERS))

    def arithmetic(self, made: Made | None = None) -> None:
        """An operation, or once more one that is there; at times with the promises that it keeps."""
        if made is None:
            made = Made(self.pick(list(OPERATIONS)), self.pick(self.pool), self.operand())
        a, b = self.known[made.a], self.known[made.b]
        if made.name in ("divi", "remi") and (b == 0 or (b == -1 and a == self.wrap(1 << (self.width - 1)))):
            return
        exact = OPERATIONS[made.name](a, b)
        unsigned = OPERATIONS[made.name](a % (1 << self.width), b % (1 << self.width))
        flags = [""]
        if made.name in ("addi", "subi", "muli"):
            signed, both = exact == self.wrap(exact), 0 <= unsigned < 1 << self.width
            flags += [" overflow<no_signed_wrap>"] * signed + [" overflow<no_wrap>"] * (signed and both)
        name = self.fresh(self.wrap(exact))
        suffix = SUFFIX.get(made.name, "")
        self.lines.append(f"%{name} = {made.name} %{made.a}, %{made.b}{suffix}{self.pick(flags)} : {self.kind}")
        self.made.append(made)
        self.pool.append(name)

    def assumed(self) -> None:
        """A promise that is true."""
        about = self.pick(self.pool)
        value = self.known[about]
        power = value & -value if value else 16
        promise = self.pick(
            (f"div_by<{min(power, 16)}>", f"bounded<{min(value, 0)}, ?>", f"bounded<?, {max(value, 9)}>")
        )
        name = self.fresh(value)
        self.lines.append(f"%{name} = assume {promise}, %{about} : {self.kind}")
        self.pool.append(name)

    def select(self) -> None:
        """A comparison that ranges might decide."""
        a, b = self.pick(self.pool), self.operand()
        less = self.known[a] < self.known[b]
        flag, name = f"f{len(self.known)}", self.fresh(self.known[a if less else b])
        self.lines.append(f"%{flag} = cmpi less_than %{a}, %{b}, signed : {self.kind} -> tile<i1>")
        self.lines.append(f"%{name} = select %{flag}, %{a}, %{b} : tile<i1>, {self.kind}")
        self.pool.append(name)

    def lies(self) -> str:
        """Promises about terms that are there, and a use of each."""
        found: list[str] = []
        sums = [m for m in self.made if m.name in ("addi", "subi", "muli")]
        for _ in range(int(self.rng.integers(1, 4))):
            name = f"l{len(self.lines)}x{len(found)}"
            if sums and self.rng.integers(3):
                m = self.pick(sums)
                flag = self.pick(("no_signed_wrap", "no_wrap"))
                found.append(f"%{name} = {m.name} %{m.a}, %{m.b} overflow<{flag}> : {self.kind}")
            else:
                promise = self.pick(("div_by<16>", "bounded<0, 7>", "bounded<?, -1>", "bounded<5, 5>"))
                found.append(f"%{name} = assume {promise}, %{self.pick(self.pool)} : {self.kind}")
            found.append(f"%t{name} = store_ptr_tko weak %x, %{name} token = %start : {self.pointers} -> token")
        return "\n".join(found)

    @property
    def pointers(self) -> str:
        return f"tile<ptr<i{self.width}>>, {self.kind}"

    def reached(self) -> None:
        """A region that runs once, with true promises, and one result."""
        outside, known, made = self.lines, list(self.pool), list(self.made)
        self.lines = []
        for _ in range(int(self.rng.integers(2, 7))):
            self.pick((self.assumed, self.assumed, self.select, self.arithmetic, self.remade))()
        last, inner = self.pool[-1], "\n".join(self.lines)
        self.lines, self.pool, self.made = outside, known, made
        name = self.fresh(self.known[last])
        place = self.pick(
            (
                "%{0} = if %always -> ({1}) {{ {2}\nyield %{3} : {1} }} else {{ yield %w : {1} }}",
                "%{0} = if %never -> ({1}) {{ yield %w : {1} }} else {{ {2}\nyield %{3} : {1} }}",
                "%{0} = for %i in (%none to %trips, step %one) : tile<i32> iter_values(%{0}c = %w) -> ({1})"
                " {{ {2}\ncontinue %{3} : {1} }}",
                "%{0} = for %i in (%zero to %trips, step %one) : tile<i32> iter_values(%{0}c = %w) -> ({1})"
                " {{ if %never {{ continue %w : {1} }}\n{2}\ncontinue %{3} : {1} }}",
            )
        )
        self.lines.append(place.format(name, self.kind, inner, last))
        self.pool.append(name)

    def remade(self) -> None:
        """An operation that is there once more, about other terms with the same value."""
        if self.made:
            self.arithmetic(self.pick(self.made))

    def unreached(self) -> None:
        """A region that does not run."""
        place = self.pick(
            (
                "if %never {{\n{0} }}",
                "if %always {{ }} else {{\n{0} }}",
                "for %i in (%zero to %none, step %one) : tile<i32> {{\n{0} }}",
                "for %i in (%one to %zero, step %one) : tile<i32> {{\n{0} }}",
                "for %i in (%zero to %one, step %one) : tile<i32> {{ if %never {{\n{0} }} }}",
                "for %i in (%zero to %one, step %one) : tile<i32> {{ if %always {{ continue }}\n{0} }}",
            )
        )
        self.lines.append(place.format(self.lies()))

    def text(self) -> str:
        """The results lie in y before the end, behind which more lies may follow an early exit."""
        for _ in range(int(self.rng.integers(6, 16))):
            kind = self.rng.integers(9)
            if kind < 3:
                self.arithmetic()
            elif kind == 3 and self.made:
                self.arithmetic(self.pick(self.made))
            else:
                self.pick((self.assumed, self.select, self.unreached, self.arithmetic, self.reached))()
        for i, name in enumerate(self.pool[-OUTPUTS:]):
            self.lines.append(f"""%i{i} = constant <i32: {i}> : tile<i32>
                %y{i} = offset %y, %i{i} : tile<ptr<i{self.width}>>, tile<i32> -> tile<ptr<i{self.width}>>
                %t{i} = store_ptr_tko weak %y{i}, %{name} token = %start : {self.pointers} -> token""")
        if self.rng.integers(2):
            self.lines.append("if %always { return }\n" + self.lies())
        body = "\n".join(self.lines)
        pointer = f"tile<ptr<i{self.width}>>"
        return f"""cuda_tile.module @m {{
            entry @k(%x: {pointer}, %y: {pointer}, %v: {self.kind}, %w: {self.kind}, %none: tile<i32>) {{
            %start = make_token : token
            %zero = constant <i32: 0> : tile<i32>
            %one = constant <i32: 1> : tile<i32>
            %never = cmpi not_equal %none, %zero, signed : tile<i32> -> tile<i1>
            %always = cmpi equal %none, %zero, signed : tile<i32> -> tile<i1>
            %trips = addi %none, %one : tile<i32>
            {body}
            return }} }}"""


def promised(seed: int) -> Program:
    """A random program that stores up to 12 scalars; x stays as it is."""
    written = Promises(seed)
    text = written.text()
    dtype = np.dtype(f"i{written.width // 8}")
    results = [written.known[name] for name in written.pool[-OUTPUTS:]]

    data = [np.array([-7], dtype), np.full(OUTPUTS, -9, dtype), *written.inputs, 0]

    def expected(x: Array, y: Array, *rest: Array) -> dict[int, Array]:
        return {0: x, 1: np.array([*results, *y[len(results) :]], dtype)}

    return of(f"promised-{seed}", lambda: text, data, expected=expected)

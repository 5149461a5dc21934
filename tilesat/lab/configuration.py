"""What one run of an experiment varies, all that the compiler lets a user vary, as plain data that has a name."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from egraph.schedulers import SCHEDULERS
from extract import CostFunction, Extractor
from extract.own import name_of
from ir.narrowing import is_tuple
from lowering.pipeline import Options
from tilesat import given
from tilesat.lab.own import function

MEASURES = ("iterations", "rules", "none")


@dataclass(frozen=True)
class Configuration:
    """One way to compile. What is left out is the compiler's default.

    rules: files of rules to add; only: prefixes of names, of which a rewrite must have one to stay; without: prefixes
    of names of rules to leave out; fast: permissions (egraph.permissions); forbid: prefixes of atoms. matches, rows,
    iterations: limits of saturation; scheduler: turns, alone or back-off; measure: "iterations" counts rows after each
    iteration, "none" does not, "rules" lets each rule run by itself and counts after it (the scheduler is then alone).
    extractor: a method's name, a function, or FILE.py:NAME; budget: its units of work; costs: a function, or
    FILE.py:NAME, that prices the nodes; rates: numbers of the target's tables that are others, such as
    {"fma_f32": 32, "tensor.f16": 1024, "latency.shared": 40}. name: what tables call it, by default what is given.
    """

    rules: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    fast: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    matches: int | None = None
    rows: int | None = None
    iterations: int | None = None
    scheduler: str = "turns"
    measure: str = "iterations"
    extractor: str | Extractor = "auto"
    budget: float | None = None
    costs: str | CostFunction | None = None
    rates: tuple[tuple[str, float], ...] = ()
    name: str = ""

    @staticmethod
    def of(values: Mapping[str, object]) -> Configuration:
        """From plain data; lists and mappings do for tuples. Raises TileError for a name that there is not, and for a
        value that means nothing.
        """
        from ir.core import TileError

        known = {each.name for each in fields(Configuration)}
        for name in values:
            if name not in known:
                raise TileError(f"a configuration has no {name!r}", hint=f"it has {', '.join(sorted(known))}")
        made: dict[str, Any] = dict(values)
        for name in ("rules", "only", "without", "fast", "forbid"):
            if name in made:
                made[name] = given.names(name, made[name], paths=name == "rules")
        if isinstance(made.get("rates"), Mapping):
            made["rates"] = tuple(sorted(made["rates"].items()))
        for name in ("matches", "rows", "iterations", "budget"):
            given.positive(name, made.get(name))
        for name, among in (("measure", MEASURES), ("scheduler", SCHEDULERS)):
            if made.get(name, among[0]) not in among:
                raise TileError(f"{name}: expected one of {', '.join(among)}, got {made[name]!r}")
        return Configuration(**made)

    def __str__(self) -> str:
        return self.name or ", ".join(f"{name}={text}" for name, text in self.given().items()) or "default"

    def given(self) -> dict[str, str]:
        """What is not the default, as text."""
        defaults = Configuration()
        found = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "name"}
        return {name: _text(value) for name, value in found.items() if value != getattr(defaults, name)}

    def options(self) -> Options:
        """As the compiler takes them. Raises TileError for what it does not know."""
        extractor = function(self.extractor) if _names_function(self.extractor) else self.extractor
        costs = function(self.costs) if isinstance(self.costs, str) else self.costs
        made = given.options(
            self.rules, self._without(), self.forbid, extractor, self.budget, self.matches, unchecked=True
        )  # an experiment may be on a wrong rule: --check judges what it computes
        return replace(
            made,
            fast=frozenset(self.fast),
            rows=self.rows,
            iterations=self.iterations,
            costs=costs,
            rates=self.rates,
            scheduler="alone" if self.measure == "rules" and self.scheduler == "turns" else self.scheduler,
            counting=self.measure != "none",
        )

    def _without(self) -> tuple[str, ...]:
        """The rules left out, those that `only` does not keep among them."""
        if not self.only:
            return self.without
        from egraph.rulefile import own_rules, select
        from egraph.userrules import user_rules

        commands = [*own_rules(), *user_rules(map(Path, self.rules))]
        rewrites = {each.name for each in commands if each.is_rule and each.ruleset in ("canon", "algebra")}
        for prefix in self.only:
            select(commands, [prefix])  # raises for a prefix of no rule
        return (*self.without, *sorted(name for name in rewrites if not name.startswith(self.only)))


def _names_function(value: object) -> bool:
    return isinstance(value, str) and ".py:" in value


def _text(value: object) -> str:
    if callable(value):
        return name_of(value)
    if is_tuple(value):
        return "+".join(f"{e[0]}:{e[1]:g}" if is_tuple(e) else str(e) for e in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def grid(**axes: Sequence[object]) -> Iterator[Configuration]:
    """Every combination of some values of each axis: `grid(forbid=[(), ("ldmatrix",)], extractor=["auto", "greedy"])`.

    Raises TileError as `Configuration.of` does.
    """
    for values in itertools.product(*axes.values()):
        yield Configuration.of(dict(zip(axes, values, strict=True)))

"""Checks the rules that create placed terms, on random tiles in random layouts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egraph.permissions import USCALE
from egraph.rule import text
from egraph.rulefile import Command
from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness import Rule, Verdict, check_rule
from egraph.soundness.model import Datum
from egraph.soundness.sample import NO_HINTS, Bound, Hints
from ir.checked import checked
from ir.types import F8E4M3FN, F8E5M2, F8E8M0FNU, F32, TileType
from lowering.placement import products
from lowering.placement.meaning import PlacedSample

PLACED_RULESETS = ("demand", "place", "isel")
"""The rulesets about layouts."""


class ProductsSample(PlacedSample):
    """A sample for rules about matrix products: tiles that fill warpgroup instructions."""

    def __init__(self, rng: np.random.Generator, hints: Hints = NO_HINTS):
        super().__init__(rng, hints)
        self.sizes = products.Sizes(self)
        self.warps = self.sizes.warps
        self.oracle = self.asked(rng)
        self.product: tuple[List, Datum] | None = None
        self.signless = False

    def leaf(self, head: str, columns: Sequence[Sexpr]) -> Datum:
        """Numbered values are other ones, and operands or sums."""
        at = columns[0]
        if head == "N" and isinstance(at, Atom) and self.is_free(at):
            self.env[at.text] = len(self.kinds)
            self.kinds[(self.integer(at),)] = self.sizes.numbered(self)
        return super().leaf(head, columns)

    def number(self, at: Sexpr, value: Datum) -> Datum:
        """A value under a new number."""
        assert isinstance(value.type, TileType)
        key = (len(self.kinds),)
        self._bind(at, key[0])
        self.kinds[key], self.leaves["N", key] = value.type, value
        return value

    def same(self, left: Bound, right: Bound, zeros: bool = False) -> bool:
        """A numbered value is the product that a term says it is."""
        drawn = self.product is not None and right is self.product[1] and isinstance(left, Datum)
        if drawn and not self.building and any(value is left for value in self.leaves.values()):
            self.renamed(checked(left, Datum), checked(right, Datum))
            return True
        return super().same(left, right, zeros)

    def draw(self, form: Sexpr) -> Datum:
        """The product of the sample is known to `same`; what is negated is a left factor."""
        operand = form.items[1] if isinstance(form, List) and form.head == "negf" else None
        if isinstance(operand, Atom) and self.is_free(operand):
            self.env[operand.text] = self.sizes.left(self)
        found = super().draw(form)
        if products.is_product(form) and not self.building:
            self.product = checked(form, List), found
        return found

    def relation(self, head: str, arguments: Sequence[Sexpr], anything: bool = False) -> None:
        """What rules say of products beside the others."""
        if head == "r.rescaled" and self.product is not None:
            products.rescaled(self, arguments, self.product[0])
        elif head == products.SCALED:
            block_scaled(self, arguments)
        elif head in products.UNSIGNED:
            products.without_signs(self, head, arguments)
        elif head == products.NO_SIGNS or (head == "allow" and self.integer(arguments[0]) == USCALE):
            self.signless = True
        else:
            if head == products.SCALED_SUM:
                self.sizes.fill_tensor_memory()
            super().relation(head, arguments, anything)

    def assertion(self, action: List) -> None:
        """A choice of a product by scales gives what the source says."""
        if action.head in products.UNSIGNED.values():
            products.stated_choice(self, action.head, action.items[1:], self.signless)
        else:
            super().assertion(action)


def check_placed(command: Command, seed: int, wanted: int, tries: int = 2000) -> Verdict:
    """Check one rule about layouts on random tiles in random layouts."""
    verdicts = [check_placed_rule(rule, seed, wanted, tries) for rule in Rule.of(command)]
    return next((v for v in verdicts if not v.sound), min(verdicts, key=lambda v: v.satisfied))


def check_placed_rule(rule: Rule, seed: int, wanted: int, tries: int = 2000) -> Verdict:
    """The same of a rule in its parts."""
    spoken = " ".join(map(text, (*rule.body, *rule.actions)))
    about = any(f"({name} " in spoken for name in (*products.QUESTIONS, products.SCALED))
    return check_rule(rule, seed, wanted, tries, ProductsSample if about else PlacedSample)


def block_scaled(sample: ProductsSample, arguments: Sequence[Sexpr]) -> None:
    """The numbers of a product by scales, and of its operands, whose values are drawn."""
    (number, *others), sizes = arguments, sample.sizes
    sizes.k = max(sizes.k, products.BLOCK)
    factor = sample.random.pick((F8E4M3FN, F8E5M2))
    blocks = sizes.k // products.BLOCK
    shapes = ((sizes.m, sizes.k), (sizes.k, sizes.n), (sizes.m, sizes.n), (sizes.m, blocks), (blocks, sizes.n))
    elements = (factor, factor, F32, F8E8M0FNU, F8E8M0FNU)
    operands: list[Datum] = []
    for at, shape, element in zip(others, shapes, elements, strict=True):
        type_ = TileType(shape, element)
        operands.append(sample.number(at, Datum(type_, sample.random.tile(type_))))
    sample.renamed(sample.leaf("N", (number,)), products.by_scales(operands))

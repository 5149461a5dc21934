"""Powers of two of f32 on the multiply-add pipe, for a part of the pairs that a thread holds; the rest by ex2.approx.

    2^x = 2^n p(x - n), n = floor x, for x between -127 and 128
in f32x2, p with p(0) = 1, so that whole numbers are exact. How many pairs of a loop are computed so is decided by its
predicted time (`lowering/modulo/powers.py`). Source of the method: FlashAttention-4 (flash_attn/cute), which takes
degree 3 and leaves out NaN and numbers above 128; coefficients fitted here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from ir.records import dataclass
from lowering.atoms.forbidden import forbidden
from lowering.atoms.pairs import pairs_cost_less
from lowering.targets.target import Target

EXP2_FMA = "exp2.fma"
OF = 16
"""A part is so many pairs of this number."""
WHOLE = 2 * OF
"""Registers of a thread that a tile has at least: fewer would not divide into these parts."""


@dataclass(frozen=True)
class Polynomial:
    """p(f) = 1 + c0 f + c1 f^2 + ...; `error`: the largest relative one over all multiples of 2^-23 from 0 to 1,
    evaluated in f32 with fused multiply-adds.
    """

    coefficients: Sequence[float]
    error: float

    @property
    def paired(self) -> int:
        """Instructions on pairs: n + bias, n, x - n, p, and the product by 2^n."""
        return 3 + len(self.coefficients) + 1


POLYNOMIALS: Mapping[int, Polynomial] = {
    3: Polynomial((0.6951168179512024, 0.22764496505260468, 0.077067069709301), 8.6e-5),
    5: Polynomial(
        (0.6931512951850891, 0.24016444385051727, 0.05579991266131401, 0.009017029777169228, 0.001867130515165627),
        1.45e-7,
    ),
}
"""By degree: relative minimax fits by iteratively reweighted least squares. That of degree 5 is nearer than ex2.approx
(2^-22, PTX ISA, ex2); that of degree 3 is 45 times nearer than rounding to bf16, 6 times to f16.
"""
CLAMPS, SHIFTS = 2, 1
"""Instructions on each f32 beside those on pairs: maximum and minimum before, and 2^n by a shift."""


def legal(target: Target, forbid: Set[str]) -> bool:
    """May a part of the pairs be computed so, and does f32x2 save instructions?"""
    return pairs_cost_less(target, forbid) and not forbidden(EXP2_FMA, forbid)


def by_polynomial(pair: int, parts: int) -> bool:
    """Is a pair of a thread one of the `parts` of `OF`? They are spread evenly."""
    return (pair + 1) * parts // OF > pair * parts // OF

"""Reciprocals instead of quotients: the conversion to nvvm asks `reciprocal_of`."""

from __future__ import annotations

from collections.abc import Mapping, Set

from lowering.atoms.forbidden import forbidden

RCP = "rcp"
SASS: Mapping[str, int] = {
    "rcp.rn": 15, "div.rn": 17, "rcp.approx": 7, "rcp.approx.ftz": 1,
    "div.approx": 5, "div.approx.ftz": 2, "div.full": 8, "div.full.ftz": 5,
}  # fmt: skip
"""Instructions of each, the quotients' those of div(1, x). Source: SASS of ptxas 13.5 for sm_80; rcp.rn takes the MUFU
pipe once, div.rn twice. Other directions cost what rounding to nearest does.
"""
PRODUCT = 1  # instructions of the product by a reciprocal; same source
APPROXIMATE = ("approx", "full")


def reciprocal_of(rounding: str, ftz: bool, of_one: bool, forbid: Set[str]) -> str:
    """The rounding of the reciprocal that replaces a quotient; empty if a division is cheaper, or the only correct way.

    `of_one`: the dividend is 1. Of other dividends only the approximate quotient that flushes is a product by the
    reciprocal: so ptxas expands it, and what costs the same is taken since one reciprocal serves all quotients by one
    divisor, ahead of loops too.
    """
    if forbidden(RCP, forbid):
        return ""
    exact = rounding not in APPROXIMATE
    if not of_one and (exact or rounding != "approx" or not ftz):
        return ""
    flush, made = ".ftz" if ftz and not exact else "", rounding if exact else "approx"
    reciprocal = SASS[f"rcp.{'rn' if exact else made}{flush}"] + (0 if of_one else PRODUCT)
    return made if reciprocal <= SASS[f"div.{'rn' if exact else rounding}{flush}"] else ""

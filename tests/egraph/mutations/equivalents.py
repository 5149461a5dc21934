"""Mutants of rules that state nothing wrong, each with the reason."""

from pathlib import Path

from egraph.soundness.mutants import Mutant

PROVED = frozenset(Path(__file__).with_name("proved.txt").read_text().splitlines())
"""By key: mutants that z3 proves as it proves rules (egraph/soundness/prove.py), or whose left side it finds
impossible, at the widths 1 and 8, and does not refute at 16; `test_proved_mutants.py` does it again.
"""

_LIFTS = (
    *("addi", "subi", "muli", "divi", "remi", "mini", "maxi", "andi", "addf", "subf", "mulf", "divf", "maxf", "minf"),
    *("cmpi", "offset"),
)
_QUOTIENTS = ("integer/div-signedness", "integer/div-as-unsigned", "integer/rem-signedness", "integer/rem-as-unsigned")
_COMPARISONS = ("less-than", "greater-or-equal", "greater-than", "less-or-equal")
_VARIES = "(< (low v) (high v))"
_AT_MOST_3 = ("guard dropped: (<= r 3)", "guard relaxed: (<= r 3) to (<= r (+ 3 1))")
_AT_MOST_1 = ("guard dropped: (<= r 1)", "guard relaxed: (<= r 1) to (<= r (+ 1 1))")

ARGUMENTS: dict[str, list[str]] = {
    "the guard keeps a term from being lifted against itself without end; the equality holds without it": [
        f"lift/{each}: guard dropped: (!= w t)" for each in _LIFTS
    ],
    "1 / y may be computed as 1 (1 / y) too; the guard keeps what wins nothing from being made": [
        f"quotient/{each}: guard dropped: (!= x (constant k t))"
        for each in ("by-reciprocal", "approximate-by-reciprocal")
    ],
    "x is x": ["lift/same-source: guard dropped: (!= x y)", "integer/exact-quotient: guard dropped: (!= r 1)"],
    "the guard keeps a term from being subsumed that is its own operand; the equality holds without it": [
        f"shape/{each}-twice: guard dropped: (!= t (type x))" for each in ("reshape", "broadcast")
    ],
    "the guard keeps a row from being replaced by itself, or that of a constant; what is stated holds anyway": [
        *(f"integer/div-twice: guard dropped: {each}" for each in ("(!= v x)", "(!= x y)", "(!= v y)", _VARIES)),
        f"integer/div-twice: guard relaxed: {_VARIES} to (<= (low v) (high v))",
    ],
    "an approximate or full division may give any number within 2 ulp of the quotient, and x is the quotient": [
        f"float/div-one: {change}" for change in _AT_MOST_3
    ],
    "the product with 1 is exact, so one real sum is rounded, in every rounding": [
        f"{each}: {change}" for each in ("float/fma-one", "float/one-fma") for change in _AT_MOST_1
    ],
    "a division by zero is undefined, so a divisor that is not negative is positive": [
        f"{each}: guard relaxed: (>= (low y) 1) to (>= (+ (low y) 1) 1)"
        for each in (*_QUOTIENTS, "contiguity/remi", "constancy/divi-group")
    ],
    "a divisor's sign changes the quotient's for all of a group, and a remainder's not at all": [
        f"{each}: guard dropped: (>= (low y) 1)" for each in ("contiguity/remi", "constancy/divi-group")
    ],
    "a group of several elements that begins at a multiple of its size and holds -1 holds -2": [
        f"{each}: guard relaxed: (>= (low x) 0) to (>= (+ (low x) 1) 0)"
        for each in ("contiguity/remi", "constancy/divi-group")
    ],
    "of a dimension of one element the facts are those of that element, and hold of each of its copies": [
        f"axes/broadcast: guard dropped: {guard}"
        for guard in ("(= u (type x))", "(dimension t d n)", "(dimension u d n)")
    ],
    "what is claimed of x - y is what is claimed of y - x": ["alignment/subi: operands: (subi x y o) on the left"],
    "a step of 0 keeps the counter at its lower bound": [
        f"range/{each}: guard relaxed: (>= (low s) 1) to (>= (+ (low s) 1) 1)"
        for each in ("induction", "induction-unsigned")
    ],
    "a promise of a scalar has no groups": ["promised/multiple: guard dropped: (div_by p k 0 d)"],
    "a product with c is a multiple of c, whatever c is": ["multiple/muli: guard dropped: (> c 1)"],
    "a multiple of c is one of -c; 0 divides nothing": ["integer/rem-of-multiple: guard dropped: (> c 1)"],
    "a reshape keeps the order of elements": [
        "shape/reshape-literal: guard dropped: (float_splat a)",
        "zero/reshape: guard dropped: (float_is a 0)",
    ],
    "the equality holds for any literal; the guard keeps what is made small": [
        f"exponential/scale-into-{each}: guard dropped: (float_splat k)"
        for each in ("factor", "left-factor", "fused-factor", "fused-left-factor")
    ],
    "2^x of a subnormal x is 1, as of 0": [
        f"exponential/{each}: flush: flush_to_zero of (mulf x (constant k t) 0 0) to 1"
        for each in ("base-two", "flushed-base-two", "approximate-base-two")
    ],
    "what may be flushed need not be": [
        "exponential/flushed-base-two: flush: flush_to_zero of (exp2 (mulf x (constant k t) 0 0) 1) to 0"
    ],
    "an approximation may give any number within 2 ulp of the exact one, as the nearest is, and what div.full gives": [
        "quotient/approximate-by-reciprocal: rounding: rounding of (divf (constant k t) y r f) to 0",
        *(f"quotient/full-range: {change}" for change in _AT_MOST_3),
        "quotient/flush: rounding: rounding of (divf x y r 1) to 0",
        "quotient/approximate-root: rounding: rounding of (sqrt_ x 4 f) to 0",
        "quotient/flush-root: rounding: rounding of (sqrt_ x 4 1) to 0",
    ],
    "1 / sqrt(x) is a real number in every format; the guard keeps it to that which has an instruction": [
        "quotient/reciprocal-root: guard dropped: (floating t 32)"
    ],
    "with a bound of 0 what is computed divides by zero, which is no match": [
        f"{each}: guard relaxed: (>= lb 1) to (>= (+ lb 1) 1)" for each in ("range/divi", "range/divi-up")
    ],
    "with a divisor of 0 the quotient is undefined": [
        "integer/mul-of-exact-quotient: guard relaxed: (> c 0) to (>= c 0)",
        "integer/exact-quotient: guard relaxed: (> c 0) to (>= c 0)",
        "integer/exact-quotient-to-shift: guard relaxed: (> c 0) to (>= c 0)",
        "integer/div-twice: guard relaxed: (> a 0) to (>= a 0)",
        "integer/div-twice: guard relaxed: (> b 0) to (>= b 0)",
        "integer/div-of-product: guard dropped: (!= c 0)",
        "divisor/divi: guard relaxed: (> c 0) to (>= c 0)",
    ],
    "1 divides everything and leaves nothing": [
        "integer/rem-of-multiple-power: guard relaxed: (> c 1) to (>= c 1)",
        "integer/rem-of-multiple: guard relaxed: (> c 1) to (>= c 1)",
        "multiple/muli: guard relaxed: (> c 1) to (>= c 1)",
        "facts/pointer: guard dropped: (pointer t b)",
    ],
    "of powers of two none is hi + 2, which the relaxed guard lets pass: hi + 1 is one, and passes already": [
        *(f"constancy/{each}: guard relaxed: (<= (- k 1) hi) to (<= (- k 1) (+ hi 1))" for each in _COMPARISONS),
        "contiguity/exti-unsigned: guard relaxed: (<= (- c 1) hi) to (<= (- c 1) (+ hi 1))",
        "run/aligned: guard relaxed: (<= (- m 1) hi) to (<= (- m 1) (+ hi 1))",
        "range/iota: guard relaxed: (<= h hi) to (<= h (+ hi 1))",
    ],
    "the bound that is claimed is weaker than that of the rule": [
        "range/divi-up: extremum: (min (high a) (+ 1 (/ (high a) lb))) on the left",
        "promised/within: extremum: (max l n) on the right",
        "promised/within: extremum: (min h m) on the right",
    ],
    "a power of two that divides x is at most 2^(w - 1), or x is 0, so it divides both readings of x": [
        "divisor/exti: guard dropped: (= u (type x))",
    ],
}
"""Arguments in words, each with the keys of the mutants that it is about."""

WRITTEN = {key: argument for argument, keys in ARGUMENTS.items() for key in keys}


def equivalent(mutant: Mutant) -> str | None:
    """Why a mutant is as right as its rule; None where nobody has shown that it is."""
    return "z3" if mutant.key in PROVED else WRITTEN.get(mutant.key)

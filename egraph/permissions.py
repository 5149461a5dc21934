"""Permissions for inexact rewrites: the names of `--fast`, and what each allows.

A permission is one-way. It allows a value to be computed by a different term than in the source (`(instead v w)` in
egraph/rules/permitted.egg); it does not make the two equal, so no fact, fold or comparison of one reaches the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ir.core import TileError

NSZ, CONTRACT, REASSOC, ARCP, AFN, FTZ, NNAN, NINF = range(8)
"""What rules ask for as `(allow n)`: the flags of LLVM's fast-math (Language Reference, Fast-Math Flags) but for
FTZ: subnormal operands and results of any operation may become zero, as by .ftz (PTX ISA, floating-point instructions).
"""
FAST_EXP, FTZ_FUNCTIONS, FULL_DIV, FAST_SQRT, RECIPROCAL, USCALE = range(8, 14)
"""Parts of AFN and FTZ that Triton takes: exp as ex2.approx(x log2 e); exp2, sqrt and rsqrt that flush subnormals;
div.full; sqrt.approx. RECIPROCAL is the part of ARCP that is about quotients which round as IEEE says. USCALE: scales
of f8E4M3FN have no sign, and tensor cores read them as ue4m3 (PTX ISA, mma with .block_scale; NVFP4)."""
BASE_TWO, FLUSHED_BASE_TWO, SCALED, FUSED_SCALED = range(14, 18)
"""Parts of AFN and REASSOC, each in two forms, of which an entry has one: exponentials as powers of two, whose
subnormals are kept, or flushed where FTZ_FUNCTIONS is given too; scaled differences as two products, or fused where
CONTRACT is.
"""

TRITON = frozenset({CONTRACT, FAST_EXP, FTZ_FUNCTIONS, FULL_DIV, FAST_SQRT})
"""What Triton 3.9.0 does to f32 without being asked, as `python -m benchmarks.ablation.triton_defaults` reads off its
PTX: fma for a product and a sum, ex2.approx(x log2 e) for exp, ex2.approx.ftz, sqrt.approx.ftz, rsqrt.approx.ftz,
div.full. It does not reassociate, and log, sin and erf are those of libdevice."""

GRANTS: Mapping[str, frozenset[int]] = {
    "nsz": frozenset({NSZ}),
    "contract": frozenset({CONTRACT}),
    "reassoc": frozenset({REASSOC, SCALED}),
    "arcp": frozenset({ARCP, RECIPROCAL}),
    "afn": frozenset({ARCP, AFN, FAST_EXP, FULL_DIV, FAST_SQRT, RECIPROCAL, BASE_TWO}),
    "ftz": frozenset({FTZ, FTZ_FUNCTIONS}),
    "nnan": frozenset({NNAN}),
    "ninf": frozenset({NINF}),
    "uscale": frozenset({USCALE}),
    "triton": TRITON,
}
"""What each name allows."""

TOGETHER: Mapping[frozenset[int], tuple[frozenset[int], frozenset[int]]] = {
    frozenset({AFN}): (frozenset(), frozenset({FAST_EXP, FULL_DIV, RECIPROCAL})),
    frozenset({AFN, FTZ_FUNCTIONS}): (frozenset({FLUSHED_BASE_TWO}), frozenset({BASE_TWO})),
    frozenset({CONTRACT, REASSOC}): (frozenset({FUSED_SCALED}), frozenset({SCALED})),
}
"""What permissions give together, and what they then leave without use: of their rules one gives the same code or less.
div.approx is less than div.full, and its reciprocal less than one that rounds; exp2(x log2 e) is rounding<approx>, its
product apart. What is fused, or flushed, in one step needs no step in between.
"""


def granted(names: Iterable[str]) -> frozenset[int]:
    """What names allow together, less what is of no use then. Raises TileError for a permission that there is not."""
    given = tuple(names)
    check_permissions(given)
    found = frozenset[int]().union(*(GRANTS[name] for name in given))
    changes = [change for codes, change in TOGETHER.items() if codes <= found]
    return found.union(*(more for more, _ in changes)).difference(*(less for _, less in changes))


def allowed(names: Iterable[str]) -> list[tuple[int]]:
    """The same as rows of `allow`."""
    return [(code,) for code in sorted(granted(names))]


def check_permissions(names: Iterable[str]) -> None:
    """Raise TileError for a permission that there is not."""
    for name in names:
        if name not in GRANTS:
            raise TileError(f"there is no permission {name!r}", hint=f"permissions are {', '.join(GRANTS)}")


def of_entry(given: Iterable[str], entry: str, entries: Iterable[str]) -> frozenset[str]:
    """The permissions of one entry: those given by name alone, and those given as ENTRY=NAME. Raises TileError for a
    permission or an entry that there is not.
    """
    found, known = set[str](), tuple(entries)
    for text in given:
        of, separate, name = text.rpartition("=")
        check_permissions([name])
        if separate and of not in known:
            raise TileError(f"permission {text!r}: there is no entry {of!r}", hint=f"entries are {', '.join(known)}")
        if not separate or of == entry:
            found.add(name)
    return frozenset(found)

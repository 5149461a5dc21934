"""Bytes as floats without the conversion pipe, a register of four at a time: they become the mantissas of larger floats
(PRMT), and a sum takes the bias off again. Pricing, decoding and `--explain` ask `bytes_atom`.

Exact. Source: the bits of IEEE 754 binary16 and binary32, whose units in the last place are 1 from 2^10 and 2^23 on,
and of bfloat16 from 2^7 on.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from ir.types import BF16, F16, F32, I8
from lowering.atoms.forbidden import forbidden
from lowering.atoms.pairs import pairs_cost_less, share
from lowering.counts import Counts, Form, counts
from lowering.layouts.layout import Layout
from lowering.targets import Target

BYTES = "conversion.bytes"
UNSIGNED = "unsigned"
HALVES: Mapping[tuple[str, bool], Counts] = {
    (str(F16), True): {"int_add": 3 / 4, "fma_f16": 1.0},
    (str(F16), False): {"int_add": 2 / 4, "fma_f16": 1.0},
    (str(BF16), True): {"int_add": 6 / 4, "fma_f16": 1.0},
}
"""Results by pipe for a byte, by result and signedness. For two floats PRMT and HADD2, and for four signed ones LOP3,
which flips their signs; a bf16 has 7 bits of mantissa: two LOP3 for two, and HFMA2 (SASS of ptxas 13.5, all targets).
"""
SUMS = 2
"""Bytes of a register that become f32 by PRMT and FADD, the others by I2F: so neither pipe waits for the other. By the
targets' throughputs with 16 conversions a cycle I2F of two bytes takes as long as all instructions of the four.
"""


def floats(signed: bool, result: str, share_of_sum: float) -> Counts:
    """Results by pipe for a byte whose float is made as f32, and rounded by F2FP with another one. Source: as above."""
    flipped, rounded = signed / 4, 0 if result == str(F32) else 1 / 2
    return {"int_add": flipped + SUMS / 4 + rounded, "fma_f32": share_of_sum * SUMS / 4, "convert": (4 - SUMS) / 4}


def as_mantissas(target: Target, forbid: Set[str], form: Form) -> Counts:
    """Results by pipe for a byte, sums of f32 as f32x2 where that costs less; nothing for another operation."""
    result, signed = form.types[-1], UNSIGNED not in form.modifiers
    if form.mnemonic != "itof" or form.types[0] != str(I8) or form.modifiers not in ((), (UNSIGNED,)):
        return {}
    if result not in (str(F16), str(BF16), str(F32)):
        return {}
    each = share(target) if pairs_cost_less(target, forbid) else 1.0
    return HALVES.get((result, signed)) or floats(signed, result, each)


def neighbours(layout: object) -> bool:
    """Do the registers of a thread hold four neighbours along a dimension, as words of memory do? Others would have to
    be put together first.
    """
    own = layout.reg[:2] if isinstance(layout, Layout) else ()
    return len(own) == 2 and own[0] > 0 and own[1] == 2 * own[0]


def bytes_atom(target: Target, forbid: Set[str], form: Form, layout: object) -> str:
    """conversion.bytes if that costs less, and a thread has whole registers of bytes; otherwise empty."""
    made = as_mantissas(target, forbid, form)
    if not made or not neighbours(layout) or forbidden(BYTES, forbid):
        return ""
    usual = counts(target.name, form)
    assert usual is not None, "itof is declared"
    return BYTES if cycles(target, made) < cycles(target, usual) else ""


def cycles(target: Target, found: Counts) -> float:
    """Those of a thread by the target's throughputs, pipe after pipe."""
    return sum(count / float(getattr(target.throughput, pipe)) for pipe, count in found.items())

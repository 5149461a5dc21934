"""Bytes as floats without the conversion pipe, a register of four at a time: they become the mantissas of larger floats
(PRMT), and a sum takes the bias off again. Pricing, decoding and `--explain` ask `bytes_atom`.

Exact. Source: the bits of IEEE 754 binary16 and binary32, whose units in the last place are 1 from 2^10 and 2^23 on.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from ir.types import BF16, F16, F32, I8
from lowering.atoms.forbidden import forbidden
from lowering.counts import Counts, Form, counts
from lowering.layouts.layout import Layout
from lowering.targets import Target

BYTES = "conversion.bytes"
UNSIGNED = "unsigned"
COUNTS: Mapping[tuple[str, bool], Counts] = {
    (str(F16), True): {"int_add": 3 / 4, "fma_f16": 1.0},
    (str(F16), False): {"int_add": 2 / 4, "fma_f16": 1.0},
    (str(BF16), True): {"int_add": 4 / 4, "fma_f32": 1 / 4, "convert": 3 / 4},
    (str(F32), True): {"int_add": 2 / 4, "fma_f32": 1 / 4, "convert": 3 / 4},
}
"""Results by pipe for a byte, by result and signedness. Of f16 two by PRMT and HADD2, after LOP3 that flips the signs
of four. Of four f32 the highest by a shift, LOP3 and FADD, the others by I2F: with two of each all pipes would be done
sooner, but the code is longer than with conversions and shifts (docs/benchmarks.md). bf16 are rounded f32, two by F2FP.
Unsigned bytes of f32 and bf16 would be longer: ptxas converts some of them by I2FP after other instructions.
Source: SASS of ptxas 13.5, all targets (`python -m benchmarks.byte_conversions`).
"""


def as_mantissas(form: Form) -> Counts:
    """Results by pipe for a byte; nothing for another operation."""
    result, signed = form.types[-1], UNSIGNED not in form.modifiers
    if form.mnemonic != "itof" or form.types[0] != str(I8) or form.modifiers not in ((), (UNSIGNED,)):
        return {}
    return COUNTS.get((result, signed), {})


def neighbours(layout: object) -> bool:
    """Do the registers of a thread hold four neighbours along a dimension, as words of memory do? Others would have to
    be put together first.
    """
    own = layout.reg[:2] if isinstance(layout, Layout) else ()
    return len(own) == 2 and own[0] > 0 and own[1] == 2 * own[0]


def bytes_atom(target: Target, forbid: Set[str], form: Form, layout: object) -> str:
    """conversion.bytes if that costs less, and a thread has whole registers of bytes; otherwise empty."""
    made = as_mantissas(form)
    if not made or not neighbours(layout) or forbidden(BYTES, forbid):
        return ""
    usual = counts(target.name, form)
    assert usual is not None, "itof is declared"
    return BYTES if cycles(target, made) < cycles(target, usual) else ""


def cycles(target: Target, found: Counts) -> float:
    """Those of a thread by the target's throughputs, pipe after pipe."""
    return sum(count / float(getattr(target.throughput, pipe)) for pipe, count in found.items())

"""Which unit of a scheduler's quarter of an SM an instruction takes, for how many cycles, and when its result is there.

Rates are those of the target's record, a quarter of an SM's; latencies too, and where it has none, those of arXiv
1804.06826, table 4.1 (Volta) as estimates. Fixed latencies are not here: the compiler writes them into control codes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from math import prod
from typing import Final

from lowering.targets import Target
from lowering.targets.target import WARP
from tilesat.mca.listing import Instruction

QUARTERS: Final = 4
"""Schedulers an SM; `Throughput.issue`."""

FAMILIES: Final[Mapping[str, str]] = {
    family: unit
    for unit, families in {
        "fma_f32": "FADD FMUL FFMA FADD2 FMUL2 FFMA2 FSWZADD FHADD FHFMA",
        "fma_f16": "HADD2 HMUL2 HFMA2",
        "fma_f64": "DADD DMUL DFMA DSETP",
        "int_mul": "IMAD IMUL XMAD IDP IDP4A",
        "int_add": (
            "IADD IADD3 IABS ISETP LOP3 LOP SHF SHL SHR LEA PRMT SEL FSEL FMNMX FMNMX3 FSETP HMNMX2 HSETP2 IMNMX "
            "VIMNMX VIMNMX3 MOV PLOP3 BMSK SGXT F2FP VIADD VIADDMNMX FCHK P2R R2P ISCADD PSETP VABSDIFF LEPC"
        ),
        "convert": "F2F F2I I2F I2I FRND F2IP I2FP",
        "mufu": "MUFU POPC FLO BREV",
        "shuffle": "SHFL",
        "redux": "REDUX CREDUX",
        "load_store": (
            "LDS STS LDSM STSM LDG STG LD ST LDL STL LDGSTS ATOM ATOMG ATOMS RED REDG LDC MATCH LDT STT LDTM STTM"
        ),
        "uniform": (
            "R2UR S2UR UMOV UIADD3 UIMAD ULOP3 USHF ULEA USEL UISETP UPLOP3 UPRMT USGXT ULDC UFLO UPOPC UBMSK UP2UR "
            "UR2UP VOTEU UVIRTCOUNT UCGABAR_ARV UFSETP UVIADD UIABS LDCU UFMUL UFADD UFFMA UF2FP UI2F UI2FP UF2I"
        ),
        "copy": "UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL UBLKCP UBLKRED UBLKPF UTMACMDFLUSH UTCCP",
        "tensor memory": "UTCHMMA UTCQMMA UTCIMMA UTCOMMA UTCMXQMMA",
        "control": (
            "BRA EXIT RET BSSY BSYNC BREAK CALL NOP WARPSYNC YIELD BAR SYNCS DEPBAR LDGDEPBAR MEMBAR FENCE ERRBAR CCTL "
            "WARPGROUP WARPGROUPSET NANOSLEEP S2R CS2R VOTE ELECT BMOV KILL BPT ARRIVES UCGABAR_WAIT USETMAXREG "
            "ACQBULK PREEXIT ENDCOLLECTIVE R2B B2R BRX JMP JMX LEPC RPCMOV CGAERRBAR UTCBAR UTCATOMSWS SETLMEMBASE"
        ),
    }.items()
    for family in families.split()
}
"""Unit by the first part of an opcode; what is not here only takes its issue slot, and the report names it."""

RESULTS: Final[Mapping[str, int]] = {"FADD2": 2, "FMUL2": 2, "FFMA2": 2, "HADD2": 2, "HMUL2": 2, "HFMA2": 2}
"""Results a lane of instructions that make more than one."""

MUFU_LATENCY: Final = 23
"""Cycles of MUFU and conversions, an estimate: as long as a shuffle; arXiv 1804.06826 has 14 to 22 on Volta."""
CONSTANT_LATENCY: Final = 30
"""Cycles of a load of a constant, a special register or a uniform one, an estimate by the same table."""

_WARP = re.compile(r"^[HIQOBD]MMA\.(?:[A-Z]+\.)*(\d{3,6})\b")
_GROUP = re.compile(r"^[HIQ]GMMA\.(?:[A-Z]+\.)*(\d+)x(\d+)x(\d+)\b")
_SHAPES: Final[Mapping[str, tuple[int, int, int]]] = {
    "884": (8, 8, 4), "1684": (16, 8, 4), "1688": (16, 8, 8), "16816": (16, 8, 16), "16832": (16, 8, 32),
    "16864": (16, 8, 64), "8816": (8, 8, 16), "8832": (8, 8, 32), "168128": (16, 8, 128), "168256": (16, 8, 256),
}  # fmt: skip
"""m, n, k of warp-level products as their opcodes spell them."""


@cache
def unit(opcode: str) -> str:
    """The unit that an opcode takes: "tensor", a pipe of `Throughput`, or one without a rate; "" for an unknown one."""
    return "tensor" if product(opcode) is not None else FAMILIES.get(opcode.partition(".")[0], "")


def multiplies(opcode: str) -> bool:
    """Does an opcode run on tensor cores: HMMA, IMMA, QMMA, DMMA, BMMA, HGMMA, UTCHMMA, ...?"""
    return opcode.partition(".")[0].endswith("MMA")


@cache
def product(opcode: str) -> tuple[int, int, int] | None:
    """m, n, k of a matrix product of a warp or a warpgroup; None for anything else."""
    group, warp = _GROUP.match(opcode), _WARP.match(opcode)
    if group:
        return int(group[1]), int(group[2]), int(group[3])
    return _SHAPES.get(warp[1]) if warp else None


@cache
def cycles(opcode: str, target: Target) -> float:
    """Cycles of its unit in one quarter of an SM that an instruction of a warp takes."""
    shape = product(opcode)
    if shape is not None:
        parts = QUARTERS if "GMMA" in opcode else 1  # a warp of a warpgroup does a quarter of its product
        rate = target.throughput.tensor.get(_operands(opcode), target.throughput.tensor["f16"])
        return 2.0 * prod(shape) / parts / (rate / QUARTERS)
    rate = getattr(target.throughput, unit(opcode), None)
    if not isinstance(rate, float):
        return 0.0
    return WARP * RESULTS.get(opcode.partition(".")[0], 1) / (rate / QUARTERS)


def _operands(opcode: str) -> str:
    """The type of a product's operands, as the target's rates name it."""
    family = opcode.partition(".")[0]
    if family.startswith("D"):
        return "f64"
    if family.startswith("I"):
        return "i8"
    if family.startswith("Q"):
        return "f8E4M3FN"
    return "tf32" if ".TF32" in opcode else "f16"


def latency(each: Instruction, target: Target) -> float:
    """Cycles from the issue of an instruction to when a barrier that it sets is reached."""
    latencies, family = target.latency, each.family
    if family in ("LDG", "LD", "ATOMG", "ATOM", "LDL", "RED", "REDG"):
        return float(latencies.global_)
    if family in ("LDS", "LDSM", "ATOMS", "SYNCS"):
        return float(latencies.shared)
    if family == "SHFL":
        return float(latencies.shuffle)
    return float(MUFU_LATENCY if unit(each.opcode) in ("mufu", "convert", "fma_f64") else CONSTANT_LATENCY)

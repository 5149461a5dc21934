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

from ir.tensor_descriptors import FACTORS, described_factor, described_shape
from lowering.layouts.elements import REGISTER_BYTES
from lowering.targets import Target
from lowering.targets.target import WARP
from tilesat.mca.descriptors import IN_TENSOR_MEMORY
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
        "load_store": "LDS STS LDSM STSM LDG STG LD ST LDL STL LDGSTS ATOM ATOMG ATOMS RED REDG LDC MATCH",
        "tensor memory": "LDT STT LDTM STTM",
        "uniform": (
            "R2UR S2UR UMOV UIADD3 UIMAD ULOP3 USHF ULEA USEL UISETP UPLOP3 UPRMT USGXT ULDC UFLO UPOPC UBMSK UP2UR "
            "UR2UP VOTEU UVIRTCOUNT UCGABAR_ARV UFSETP UVIADD UIABS LDCU UFMUL UFADD UFFMA UF2FP UI2F UI2FP UF2I"
        ),
        "copy": "UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL UBLKCP UBLKRED UBLKPF UTMACMDFLUSH UTCCP",
        "tensor": "UTCHMMA UTCQMMA UTCIMMA UTCOMMA",
        "control": (
            "BRA EXIT RET BSSY BSYNC BREAK CALL NOP WARPSYNC YIELD BAR SYNCS DEPBAR LDGDEPBAR MEMBAR FENCE ERRBAR CCTL "
            "WARPGROUP WARPGROUPSET NANOSLEEP S2R CS2R VOTE ELECT BMOV KILL BPT ARRIVES UCGABAR_WAIT USETMAXREG "
            "ACQBULK PREEXIT ENDCOLLECTIVE R2B B2R BRX JMP JMX LEPC RPCMOV CGAERRBAR UTCBAR UTCATOMSWS SETLMEMBASE"
        ),
    }.items()
    for family in families.split()
}
"""Unit by the first part of an opcode; what is not here only takes its issue slot, and the report names it."""

OF_TILES: Final = frozenset(
    {"fma_f32", "fma_f16", "fma_f64", "mufu", "shuffle", "redux", "load_store", "tensor memory"}
)
"""Units that an agent of one warp leaves alone, which only begins copies or products."""

RESULTS: Final[Mapping[str, int]] = {"FADD2": 2, "FMUL2": 2, "FFMA2": 2, "HADD2": 2, "HMUL2": 2, "HFMA2": 2}
"""Results a lane of instructions that make more than one."""

MUFU_LATENCY: Final = 23
"""Cycles of MUFU and conversions, an estimate: as long as a shuffle; arXiv 1804.06826 has 14 to 22 on Volta."""
CONSTANT_LATENCY: Final = 30
"""Cycles of a load of a constant, a special register or a uniform one, an estimate by the same table."""

SHARED: Final = "shared"
"""The bandwidth of shared memory, `Throughput.smem_bytes`."""
ACCESSES: Final = frozenset({"LDS", "STS", "LDSM", "STSM", "LDGSTS"})
"""What a warp moves to or from shared memory."""
K_BYTES: Final = 32
"""Of a row of a factor that a product of a warpgroup or in tensor memory reads. Source: PTX ISA, wgmma and tcgen05.mma:
k is 16 of f16, 32 of f8, 64 of f4."""
HALF: Final = 64
"""Rows of a product in tensor memory that uses half of its lanes, taken to use half of the tensor cores, an estimate.
Source of the lanes: PTX ISA 8.8, tcgen05, Data Path Layout F; those of .ws and of pairs lie in all lanes."""
SPARSE: Final = 1 << 2
"""Bit of an instruction descriptor; PTX ISA 8.8, tcgen05, Instruction descriptor."""
TF32: Final = FACTORS["tf32"]

_WIDTHS: Final[Mapping[str, int]] = {".M88.4": 16, ".M88.2": 8, ".MT88.4": 16, ".MT88.2": 8, ".128": 16, ".64": 8}
"""Bytes of a thread, by a part of an opcode: of LDSM and STSM matrices of 8 x 8 of 16 bits."""
_SCALED = re.compile(r"idesc\[[^\]]*\],\s*tmem\[")
_LANES = re.compile(r"\.(\d+)dp(\d+)bit")
_TIMES = re.compile(r"\.x(\d+)")
_WARP = re.compile(r"^[HIQOBD]MMA\.(?:[A-Z]+\.)*(\d{3,6})\b")
_GROUP = re.compile(r"^[HIQ]GMMA\.(?:[A-Z]+\.)*(\d+)x(\d+)x(\d+)\b")
_SHAPES: Final[Mapping[str, tuple[int, int, int]]] = {
    "884": (8, 8, 4),
    "1684": (16, 8, 4),
    "1688": (16, 8, 8),
    "16816": (16, 8, 16),
    "16832": (16, 8, 32),
    "16864": (16, 8, 64),
    "8816": (8, 8, 16),
    "8832": (8, 8, 32),
    "168128": (16, 8, 128),
    "168256": (16, 8, 256),
}
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


def shape(each: Instruction) -> tuple[int, int, int] | None:
    """The same of an instruction, those in tensor memory among them; None too where it is not known."""
    if not IN_TENSOR_MEMORY.match(each.opcode):
        return product(each.opcode)
    bits = each.descriptor
    if bits is None or bits & SPARSE:
        return None
    m, n = described_shape(bits, scaled=_SCALED.search(each.operands) is not None)
    width = {"f16": 16, "tf32": 32, "f4": 4}.get(_operands(each), 8)
    return (m, n, 8 * K_BYTES // width) if m and n else None


def never(each: Instruction) -> bool:
    """Is an instruction there for its place alone, as the loads of [RZ] before a fence?"""
    return each.predicate.strip() == "@!PT"


def begun_once(each: Instruction) -> bool:
    """Does one warp of a CTA do this for all: a product in tensor memory, its commit, a bulk copy?"""
    return each.family.startswith(("UTC", "UTMA", "UBLK"))


def of_a_pair(each: Instruction) -> bool:
    """Do the two CTAs of a pair make a product together?"""
    return ".2CTA" in each.opcode


@cache
def taken(each: Instruction, target: Target) -> Mapping[str, float]:
    """Cycles of each unit in one quarter of an SM that an instruction of a warp takes, that of its opcode first.

    What a warp reads or writes of shared memory and of tensor memory is said as if the other quarters did the same, and
    no two of its threads met in a bank; a product in tensor memory takes the tensor cores of all quarters. Tensor cores
    wait for factors from shared memory: a product of 64 rows reaches wgmma's rate from 64 columns on, as measured in
    arXiv 2402.13499.
    """
    if never(each):
        return {}
    rates, own, done = target.throughput, unit(each.opcode), shape(each)
    if done is not None:
        found = {own: 2.0 * prod(done) / _products(each, target)}
    elif own == "tensor memory":
        found = {own: QUARTERS * WARP * _registers(each.opcode) * REGISTER_BYTES / rates.tmem_bytes}
    else:
        rate = getattr(rates, own, None)
        results = RESULTS.get(each.family, 1)
        found = {own: WARP * results / (rate / QUARTERS)} if isinstance(rate, float) else dict[str, float]()
    moved = _shared_bytes(each, done) / rates.smem_bytes
    if done is not None and moved:
        found[own] = max(found[own], moved)
    return found | {SHARED: moved} if moved else found


def cycles(each: Instruction, target: Target) -> float:
    """Those of the unit of its opcode."""
    return taken(each, target).get(unit(each.opcode), 0.0)


def _products(each: Instruction, target: Target) -> float:
    """Operations a cycle of what a product takes: one of a warp has a quarter of an SM, of a warpgroup four, one in
    tensor memory all of it, of a pair two SMs.
    """
    rates = target.throughput
    kind = _operands(each)
    rate = float(rates.tensor.get("f8E4M3FN" if kind == "f4" else kind, rates.tensor["f16"]))
    if IN_TENSOR_MEMORY.match(each.opcode):
        half = (shape(each) or (0,))[0] == HALF and ".WS" not in each.opcode
        return rate * (2 if of_a_pair(each) else 1) * (2 if kind == "f4" else 1) / (2 if half else 1)
    return rate if "GMMA" in each.opcode else rate * rates.sync_share / QUARTERS


def _shared_bytes(each: Instruction, done: tuple[int, int, int] | None) -> float:
    """Bytes of shared memory that an instruction of a warp moves in all quarters of an SM; one of a warpgroup, or in
    tensor memory, that many itself.
    """
    if each.family in ACCESSES:
        width = next((count for part, count in _WIDTHS.items() if part in each.opcode), REGISTER_BYTES)
        return QUARTERS * WARP * width
    if done is None or not ("GMMA" in each.opcode or IN_TENSOR_MEMORY.match(each.opcode)):
        return 0.0
    (m, n, _), pair = done, 2 if of_a_pair(each) else 1
    rows = m / pair if each.operands.lstrip().startswith("gdesc") or each.operands.count("gdesc") > 1 else 0.0
    return (rows + n / pair) * K_BYTES


def _registers(opcode: str) -> int:
    """Registers of each thread that a load from tensor memory, or a store, moves."""
    lanes, times = _LANES.search(opcode), _TIMES.search(opcode)
    bits = int(lanes[1]) * int(lanes[2]) // WARP if lanes else 8 * REGISTER_BYTES
    return bits // (8 * REGISTER_BYTES) * (int(times[1]) if times else 1)


def _operands(each: Instruction) -> str:
    """The type of a product's operands, as the target's rates name it; "f4" of two in a byte."""
    if each.opcode.startswith("UTC"):
        kind = each.opcode[3]
        wide = kind == "H" and each.descriptor is not None and described_factor(each.descriptor) == TF32
        return "tf32" if wide else {"H": "f16", "I": "i8", "Q": "f8E4M3FN"}.get(kind, "f4")
    kinds = {"D": "f64", "I": "i8", "Q": "f8E4M3FN"}
    return "tf32" if ".TF32" in each.opcode else kinds.get(each.opcode[0], "f16")


def latency(each: Instruction, target: Target) -> float:
    """Cycles from the issue of an instruction to when a barrier that it sets is reached."""
    latencies, family = target.latency, each.family
    if family in ("LDG", "LD", "ATOMG", "ATOM", "LDL", "RED", "REDG"):
        return float(latencies.global_)
    if family in ("LDS", "LDSM", "ATOMS", "SYNCS", "LDT", "LDTM"):  # of tensor memory an estimate: as shared memory
        return float(latencies.shared)
    if family == "SHFL":
        return float(latencies.shuffle)
    return float(MUFU_LATENCY if unit(each.opcode) in ("mufu", "convert", "fma_f64") else CONSTANT_LATENCY)

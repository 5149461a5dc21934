"""The instruction descriptor of tcgen05.mma: shapes, types, majors, scale factor selectors.

Source: PTX ISA, "tcgen05: Instruction descriptor", tables for the plain and the block-scaled kinds.
"""

from dataclasses import dataclass
from functools import lru_cache

from ptxsim.descriptors import DescriptorError

_F8F6F4 = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
# Element types by kind. Formats narrower than a byte are padded in shared memory except in the packed kinds.
_ELEMENTS = {
    "f16": {0: "f16", 1: "bf16"},
    "tf32": {2: "tf32"},
    "i8": {0: "u8", 1: "s8"},
    "f8f6f4": _F8F6F4,
    "mxf8f6f4": _F8F6F4,
    "mxf4": {1: "e2m1"},
    "mxf4nvf4": {1: "e2m1"},
}
_RESULTS = {"f16": {0: "f16", 1: "f32"}, "tf32": {1: "f32"}, "i8": {2: "s32"}, "f8f6f4": {0: "f16", 1: "f32"}}
# K of a dense operation: 32 bytes of A
_K = {"f16": 16, "tf32": 8, "i8": 32, "f8f6f4": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
SCALED = ("mxf8f6f4", "mxf4", "mxf4nvf4")


@dataclass(frozen=True, slots=True)
class Mode:
    """The attributes in the opcode: kind, CTAs in the group, weight-stationary, sparse, scale factors of a row (0:
    none).
    """

    kind: str
    group: int
    is_stationary: bool
    is_sparse: bool
    scales: int


@dataclass(frozen=True, slots=True)
class Form:
    """A decoded instruction descriptor; m counts the rows of the whole group, layout names the data path of D."""

    m: int
    n: int
    k: int
    a: str
    b: str
    result: str
    sign: int
    a_transposed: bool
    b_transposed: bool
    saturates: bool
    scale_type: str
    scale_a: int
    scale_b: int
    layout: str
    rows: int


@lru_cache(maxsize=1024)
def parse(bits: int, mode: Mode) -> Form:
    """The fields of an instruction descriptor. Raises DescriptorError if they have no meaning."""
    kind = mode.kind
    is_scaled = kind in SCALED
    elements = _ELEMENTS[kind]
    a_code, b_code = bits >> 7 & 7, bits >> 10 & (3 if is_scaled and kind != "mxf8f6f4" else 7)
    if a_code not in elements or b_code not in elements:
        raise DescriptorError(f"instruction descriptor {bits:#010x}: types {a_code} and {b_code} are not of .{kind}")
    if bool(bits >> 2 & 1) != mode.is_sparse:
        raise DescriptorError(f"instruction descriptor {bits:#010x}: bit 2 must say whether the operation is sparse")
    if is_scaled:
        result, scale_type = "f32", "ue8m0" if bits >> 23 & 1 else "ue4m3"
        scale_a, scale_b, reserved = bits >> 29 & 3, bits >> 4 & 3, bits & 0b1001011
        if bits >> 31 & 1:
            raise DescriptorError(f"instruction descriptor {bits:#010x}: K of 96 (bit 31) is not simulated")
    else:
        found = _RESULTS[kind].get(bits >> 4 & 3)
        if found is None:
            raise DescriptorError(f"instruction descriptor {bits:#010x}: result type {bits >> 4 & 3} is not of .{kind}")
        result, scale_type, scale_a, scale_b = found, "", 0, 0
        reserved = bits & (1 << 6 | 1 << 23 | 1 << 29)
        if not mode.is_stationary:
            reserved |= bits >> 30
        if mode.is_sparse and bits & 3:
            raise DescriptorError(f"instruction descriptor {bits:#010x}: only sparsity selector 0 is simulated")
    if reserved:
        raise DescriptorError(f"instruction descriptor {bits:#010x} has reserved bits set")
    _check_scales(bits, mode, scale_type, scale_a, scale_b)
    n, m = (bits >> 17 & 0x3F) << 3, (bits >> 24 & 0x1F) << 4
    layout, rows = _data_path(bits, mode, m, n)
    sign = -1 if (bits >> 13 & 1) ^ (bits >> 14 & 1) else 1
    return Form(
        m, n, _K[kind] * (2 if mode.is_sparse else 1), elements[a_code], elements[b_code], result, sign,
        bool(bits >> 15 & 1), bool(bits >> 16 & 1), bool(bits >> 3 & 1) and kind == "i8", scale_type, scale_a, scale_b,
        layout, rows,
    )  # fmt: skip


def _check_scales(bits: int, mode: Mode, scale_type: str, scale_a: int, scale_b: int) -> None:
    if not mode.scales:
        return
    if scale_type == "ue4m3" and not (mode.kind == "mxf4nvf4" and mode.scales == 4):
        raise DescriptorError(f"instruction descriptor {bits:#010x}: .{mode.kind} takes scale factors of type ue8m0")
    if scale_a % mode.scales or scale_b % mode.scales:
        raise DescriptorError(
            f"instruction descriptor {bits:#010x}: scale factor ids {scale_a} and {scale_b} for {mode.scales} factors"
        )


def _data_path(bits: int, mode: Mode, m: int, n: int) -> tuple[str, int]:
    """The layout of D in tensor memory and its rows in each CTA. Source: PTX ISA, "tcgen05: Data Path Layout"."""
    paths = {
        (1, False, 128): ("full", 128),
        (1, False, 64): ("quarter", 64),
        (2, False, 256): ("full", 128),
        (2, False, 128): ("quarter" if mode.is_sparse else "half", 64),
        (1, True, 128): ("full", 128),
        (1, True, 64): ("half", 64),
        (1, True, 32): ("slab", 32),
    }
    found = paths.get((mode.group, mode.is_stationary, m))
    if found is None:
        raise DescriptorError(f"instruction descriptor {bits:#010x}: M = {m} does not exist for this instruction")
    step = {64: 8, 128: 16, 256: 16}.get(m, 64)
    if mode.is_stationary:
        fits = n in (64, 128, 256)
    elif mode.group == 2 and m == 256:
        fits = n % 16 == 0
    elif mode.kind == "i8":
        fits = n in (8, 24) or n % 16 == 0
    else:
        fits = n % step == 0
    if not fits or not 8 <= n <= 256:
        raise DescriptorError(f"instruction descriptor {bits:#010x}: N = {n} does not exist with M = {m}")
    return found

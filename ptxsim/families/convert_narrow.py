"""cvt of packed pairs and quadruples: f16x2, bf16x2, the 8, 6 and 4-bit floats, scale factors, and cvt.pack.

The first source goes to the upper part of the destination. 6-bit floats take one byte each.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ptxsim.decode import Decode, Sources, Step, assign
from ptxsim.elements import narrow_table, scale_table
from ptxsim.families.conversion import Conversion, refuse, round_narrow, shape, store
from ptxsim.floats import FORMATS, RandomBits, bf16_to_f32, float8_table, round_bits
from ptxsim.floors import Floor
from ptxsim.ptx_types import TYPES, Array, PtxType, unsigned

_F32, _U32 = TYPES["f32"], TYPES["u32"]
_HALVES = ("f16x2", "bf16x2")
_NARROW = ("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2")
_QUADRUPLES = ("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4")
_SCALES = "ue8m0x2"
PACKED = (*_HALVES, *_NARROW, *_QUADRUPLES, _SCALES)


def decode_packed(d: Decode, form: Conversion) -> Step:
    """A conversion to a packed type."""
    refuse(d, form.saturates or form.flushes or form.integral is not None)
    to, source = form.to.name, form.source.name
    if form.mode == "rs":
        return _stochastic(d, form)
    if to == _SCALES:
        return _to_scales(d, form)
    if source == _SCALES:
        return _from_scales(d, form)
    if source in _NARROW and to in _HALVES:
        return _widen(d, form)
    refuse(d, source != "f32" and not (source in _HALVES and to in _NARROW))
    refuse(d, form.mode not in (("rn", "rz") if to in _HALVES else ("rn",)))
    refuse(d, to in _NARROW and not form.finite)
    mode = form.mode or "rn"
    if source == "f32":
        d.finish(3)
        high, low = d.read(1, _F32), d.read(2, _F32)
        return _narrow(d, form, mode, _both, high, low)
    d.finish(2)
    return _narrow(d, form, mode, lambda raw: _pairs(raw, source), d.read(1, form.source))


def _both(high: Array, low: Array) -> tuple[Array, Array]:
    return high, low


def _pairs(raw: Array, name: str) -> tuple[Array, Array]:
    """The (upper, lower) values of a packed f16x2 or bf16x2 register as float32."""
    halves = raw.view(np.uint16)
    wide = halves.view(np.float16).astype(np.float32) if name == "f16x2" else bf16_to_f32(halves)
    return wide[1::2], wide[0::2]


def _element(type_: PtxType) -> str:
    return type_.name[:-2]


def _join(columns: Sequence[Array], element_bits: int, to: PtxType) -> Array:
    """Codes, the upper one first, packed in the destination's storage type."""
    result = np.zeros(columns[0].shape, to.dtype)
    for column in columns:
        result = (result << to.dtype(element_bits)) | column.astype(to.dtype)
    return result


def _spacing(type_: PtxType) -> int:
    """Bits from one element to the next."""
    return type_.bits // (4 if type_.name.endswith("x4") else 2)


def _narrow(
    d: Decode, form: Conversion, mode: str, values: Callable[[*Sources], Sequence[Array]], *sources: *Sources
) -> Step:
    """values: the function from the sources to float values, the upper one first."""
    element, spacing = _element(form.to), _spacing(form.to)

    def compute(*raw: *Sources) -> Array:
        codes = [round_narrow(shape(value, form), element, mode, form.finite) for value in values(*raw)]
        return _join(codes, spacing, form.to)

    return store(d, form.to, compute, *sources)


def _codes(raw: Array, type_: PtxType) -> tuple[Array, Array]:
    """The (upper, lower) codes of a pair."""
    if type_.bits == 8:
        return raw >> np.uint8(4), raw & np.uint8(15)
    return (raw >> np.uint16(8)).astype(np.uint8), (raw & np.uint16(0xFF)).astype(np.uint8)


def _widen(d: Decode, form: Conversion) -> Step:
    """8, 6 and 4-bit floats to f16x2 (exact) and bf16x2 (exact)."""
    refuse(d, form.mode != "rn" or (form.finite and form.to.name == "f16x2"))
    d.finish(2)
    element = _element(form.source)
    is_eight = element in ("e4m3", "e5m2")
    table = float8_table(element) if is_eight else narrow_table(element)
    source = d.read(1, form.source)
    to = _element(form.to)

    def compute(raw: Array) -> Array:
        values = [table.take(code, mode="wrap") for code in _codes(raw, form.source)]
        return _join([round_narrow(shape(value, form), to, "rn", form.finite) for value in values], 16, form.to)

    return store(d, form.to, compute, source)


def _to_scales(d: Decode, form: Conversion) -> Step:
    """To ue8m0, a power of two rounded toward zero or up; the sign is ignored."""
    refuse(d, form.mode not in ("rz", "rp") or form.relu or form.source.name not in ("f32", "bf16x2"))
    if form.source.name == "f32":
        d.finish(3)
        high, low = d.read(1, _F32), d.read(2, _F32)
        return store(
            d, form.to, lambda one, two: _join([_scale_code(one, form), _scale_code(two, form)], 8, form.to), high, low
        )
    d.finish(2)
    return store(
        d,
        form.to,
        lambda raw: _join([_scale_code(value, form) for value in _pairs(raw, "bf16x2")], 8, form.to),
        d.read(1, form.source),
    )


def _scale_code(values: Array, form: Conversion) -> Array:
    """The exponent of float32 values; 2**-127 is the minimum, 255 means NaN. Source: cuda_fp8.hpp of CUDA 13.0."""
    magnitude = np.ascontiguousarray(values).view(np.uint32) & np.uint32(0x7FFFFFFF)
    code = magnitude >> np.uint32(23)
    if form.mode == "rp":
        above = (magnitude & np.uint32(0x7FFFFF)) != 0
        code = code + (above & (magnitude > 0x00400000) & (magnitude < 0x7F800000))
    if form.finite:
        code = np.where((magnitude <= 0x7F800000) & (code == 255), np.uint32(254), code)
    return code


def _from_scales(d: Decode, form: Conversion) -> Step:
    """ue8m0 to bf16: exact, its least value a subnormal."""
    refuse(d, form.to.name != "bf16x2" or form.mode != "rn" or form.relu or form.finite)
    d.finish(2)
    raw = d.read(1, form.source)
    table = round_bits(scale_table("ue8m0"), FORMATS["bf16"], "rn")
    return store(
        d, form.to, lambda code: _join([table.take(one) for one in _codes(code, form.source)], 16, form.to), raw
    )


def _stochastic(d: Decode, form: Conversion) -> Step:
    """cvt.rs: two f32 to f16x2 and bf16x2, four to the narrow formats, with random bits from a register."""
    to = form.to.name
    is_pair = to in _HALVES
    refuse(d, form.source.name != "f32" or (not is_pair and (to not in _QUADRUPLES or not form.finite)))
    d.finish(4 if is_pair else 3)
    operands = d.operands[1:3] if is_pair else d.vector(1, (4,))
    sources = [d.value(operand, _F32) for operand in operands]
    bits = d.read(3 if is_pair else 2, _U32)
    format_, spacing = FORMATS[_element(form.to)], _spacing(form.to)

    def compute(drawn: Array, *values: Array) -> Array:
        codes = [
            round_bits(shape(value, form).astype(np.float64), format_, "rs", form.finite, random)
            for value, random in zip(values, _random(drawn, to), strict=True)
        ]
        return _join(codes, spacing, form.to)

    return store(d, form.to, compute, bits, *sources)


def _random(bits: Array, to: str) -> list[RandomBits]:
    """The random bits of each source. Source: PTX ISA 9.1, "cvt", the paragraphs on rbits.

    For the forms with four sources the text specifies which bits each pair of sources uses, but not how the two sources
    of a pair share them; here both use all of them.
    """
    high, low = bits >> np.uint32(16), bits & np.uint32(0xFFFF)
    if to == "f16x2":
        return [RandomBits(half & np.uint32(0x1FFF), 13) for half in (high, low)]
    if to == "bf16x2":
        return [RandomBits(half, 16) for half in (high, low)]
    if to == "e2m1x4":
        byte = np.uint32(0xFF)
        high, low = (high >> np.uint32(8) << np.uint32(8)) | (low >> np.uint32(8)), ((high & byte) << 8) | (low & byte)
    return [RandomBits(half, 16) for half in (high, high, low, low)]


# Integer types of cvt.pack and their bits. Source: PTX ISA, "cvt.pack".
_PACK = {"u16": 16, "s16": 16, "u8": 8, "s8": 8, "u4": 4, "s4": 4, "u2": 2, "s2": 2}


def decode_pack(d: Decode) -> Step:
    """cvt.pack.sat.type.s32{.b32} d, a, b{, c}: a and b, clamped and packed; c fills the bits above."""
    d.need("sat")
    modifiers = d.instruction.modifiers[2:]
    name = modifiers[0] if modifiers else ""
    has_rest = len(modifiers) == 3
    known = name in _PACK and modifiers[1:] in (("s32",), ("s32", "b32")) and has_rest == (_PACK[name] < 16)
    refuse(d, not known or not d.types)
    d.take("u2", "s2")
    d.finish(4 if has_rest else 3)
    width = _PACK[name]
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if name[0] == "s" else (0, (1 << width) - 1)
    mask = (1 << width) - 1
    a, b = d.read(1, TYPES["s32"]), d.read(2, TYPES["s32"])
    rest = d.read(3, _U32) if has_rest else d.binding.constant(0, _U32)

    def compute(first: Array, second: Array, above: Array) -> Array:
        upper, lower = (np.clip(value.astype(np.int64), low, high) & mask for value in (first, second))
        return ((above.astype(np.int64) << (2 * width)) | (upper << width) | lower).astype(unsigned(32))

    return assign(d.write(0, _U32), compute, a, b, rest)


FLOORS = (
    Floor("cvt.pack", "", "6.5"),
    Floor("cvt e4m3x2|e5m2x2", "89@8.1 90@7.8"),
    Floor("cvt e2m1x2|e2m3x2|e3m2x2|ue8m0x2", "100f 110f 120f", "8.6"),
    Floor("cvt rs", "100a 103a", "8.7"),
    Floor("cvt bf16x2.e4m3x2|bf16x2.e5m2x2|bf16x2.e2m1x2|bf16x2.e2m3x2|bf16x2.e3m2x2", "100f 110f 120f", "9.2"),
    Floor("cvt e2m1x2.f16x2|e2m3x2.f16x2|e3m2x2.f16x2", "", "9.1"),
    Floor("cvt e4m3x2.bf16x2|e5m2x2.bf16x2|e2m1x2.bf16x2|e2m3x2.bf16x2|e3m2x2.bf16x2", "100f 110f 120f", "9.1"),
)

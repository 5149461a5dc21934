"""mma.sync other than the dense forms of mma.py: sparse A, kind::f8f6f4, block scaling, and shapes with eight rows.

Products are exact; sums are computed in f32 (integers exactly) in an unspecified order. A scale factor multiplies a
block of K columns of a row of A or a column of B. Sources: PTX ISA, "mma", "mma.sp", "Block Scaling for mma.sync";
lanes that supply scale factors as in CUTLASS SM120 traits.
"""

import re
from dataclasses import dataclass

import numpy as np

from ptxsim.decode import Decode, Step
from ptxsim.elements import BITS, scale_table
from ptxsim.errors import OperandError
from ptxsim.families.matrix import all_members
from ptxsim.fragments import GROUPS, QUADS, Accumulators, Fragment
from ptxsim.program import Operand, Vector
from ptxsim.ptx_types import TYPES, Array
from ptxsim.sparsity import expand, positions, selectors

_SHAPE = re.compile(r"m(8|16)n8k(\d+)$")
_INTEGERS = ("s8", "u8", "s4", "u4", "b1")
_NARROW = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_SCALE_TYPES = ("ue8m0", "ue4m3")
_NAMES = ("f16", "bf16", "tf32", "f32", "s32", *_INTEGERS, *_NARROW, *_SCALE_TYPES)
# K of the dense forms by bits of an element, for 16 and for 8 rows. Source: PTX ISA, "mma": supported shapes.
_DENSE_K = {16: {8: (32,), 4: (64,)}, 8: {8: (16,), 4: (32,), 1: (128,)}}
# kind -> (elements, K of the dense form, {scale vector size: scale types}). Source: PTX ISA, "Block Scaling".
_SCALED = {
    "mxf8f6f4": (_NARROW, 32, {1: ("ue8m0",)}),
    "mxf4": (("e2m1",), 64, {2: ("ue8m0",)}),
    "mxf4nvf4": (("e2m1",), 64, {2: ("ue8m0",), 4: ("ue8m0", "ue4m3")}),
}


@dataclass(frozen=True, slots=True)
class Form:
    """The modifiers of an mma; k is the dense K, kind and scales are empty if absent."""

    rows: int
    k: int
    a: str
    b: str
    accumulator: str
    is_sparse: bool
    saturates: bool
    kind: str
    scales: int
    scale_type: str


def is_extended(d: Decode) -> bool:
    """Whether an mma is handled here."""
    names = d.instruction.modifiers
    is_integer = any(name in _INTEGERS for name in names)
    return any(name.startswith(("sp", "kind::")) for name in names) or (
        is_integer and any(name.startswith("m8n8") for name in names)
    )


def _types(d: Decode) -> list[str]:
    names = [name for name in d.instruction.modifiers if name in _NAMES]
    for name in names:
        if name not in TYPES:
            d.take(name)
    return names if len(d.types) <= len(names) else []


def _form(d: Decode) -> Form:
    is_sparse = d.take("sp", "sp::ordered_metadata") is not None
    d.need("sync")
    d.need("aligned")
    shape = _SHAPE.match(d.take_prefixed("m16n8k") or d.take_prefixed("m8n8k") or "")
    d.need("row")
    d.need("col")
    saturates = d.flag("satfinite")
    kind = (d.take_prefixed("kind::") or "").removeprefix("kind::")
    is_scaled = d.flag("block_scale")
    size = d.take("scale_vec::1X", "scale_vec::2X", "scale_vec::4X")
    names = _types(d)
    if shape is None or len(names) != 4 + is_scaled or names[0] != names[3] or is_scaled != (kind in _SCALED):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    scales = int(size[-2]) if size is not None else {"mxf8f6f4": 1, "mxf4": 2}.get(kind, 0)
    scale_type = names[4] if is_scaled else ""
    form = Form(
        int(shape.group(1)), int(shape.group(2)), names[1], names[2], names[0], is_sparse, saturates, kind, scales,
        scale_type,
    )  # fmt: skip
    if not _is_known(form):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    return form


def _is_known(form: Form) -> bool:
    dense = form.k // 2 if form.is_sparse else form.k
    if form.kind in _SCALED:
        elements, k, sizes = _SCALED[form.kind]
        fits = form.a in elements and form.b in elements and dense == k and form.rows == 16
        return fits and form.accumulator == "f32" and form.scale_type in sizes.get(form.scales, ())
    if form.scales or (form.rows == 8 and form.is_sparse):
        return False
    if form.kind:
        fits = form.kind == "f8f6f4" and form.a in _NARROW and form.b in _NARROW
        return fits and dense == 32 and form.rows == 16 and form.accumulator in ("f16", "f32") and not form.saturates
    return _is_plain(form)


def _is_plain(form: Form) -> bool:
    """A sparse form with its own element type, or an integer form with eight rows."""
    if form.a in _INTEGERS:
        same = form.b in _INTEGERS and BITS[form.a] == BITS[form.b]
        if not same or form.accumulator != "s32" or (form.a == "b1" and form.saturates):
            return False
        if form.is_sparse:
            return form.a != "b1" and selectors(BITS[form.a], form.k) > 0
        return form.k in _DENSE_K[8].get(BITS[form.a], ())
    if form.saturates or not form.is_sparse:
        return False
    if form.a in ("e4m3", "e5m2"):
        return form.b in ("e4m3", "e5m2") and form.k == 64 and form.accumulator in ("f16", "f32")
    takes = ("f16", "f32") if form.a == "f16" else ("f32",)
    known = form.a in ("f16", "bf16", "tf32") and form.a == form.b and form.accumulator in takes
    return known and selectors(BITS[form.a], form.k) > 0


def _stored(form: Form, element: str) -> str:
    """The layout of an element in a register."""
    if form.kind in ("f8f6f4", "mxf8f6f4") and element in ("e2m1", "e2m3", "e3m2"):
        return f"byte.{element}"
    return element


class Scales:
    """The scale factors of A or B: one to four bytes of the registers of the lanes that a selector names."""

    def __init__(self, d: Decode, number: int, rows: int, form: Form) -> None:
        data = d.operands[number]
        items = data.items if isinstance(data, Vector) else (data,)
        selector = d.operands[number + 1]
        if len(items) != 1 or not isinstance(selector, Vector) or len(selector.items) != 2:
            raise d.error(OperandError, "scale factors are a register and a pair {byte-id, thread-id}")
        self._data = d.value(items[0], TYPES["b32"])
        self._byte, self._thread = (self._selector(d, item) for item in selector.items)
        self._rows = rows
        self._count = form.scales
        self._table = scale_table(form.scale_type)
        self._d = d

    def _selector(self, d: Decode, item: Operand) -> Array:
        return d.value(item, TYPES["u16"])

    def values(self) -> Array:
        """The factors [warp, row, block] in float64. Raises OperandError for selectors out of range."""
        per_warp = self._data.view(np.uint8).reshape(-1, GROUPS, QUADS, 4)
        warps = per_warp.shape[0]
        byte = self._byte.reshape(warps, -1)[:, 0].astype(np.int64)
        thread = self._thread.reshape(warps, -1)[:, 0].astype(np.int64)
        lanes = self._rows // GROUPS  # 16 rows of A: two lanes of a quad supply them, for rows g and g + 8
        most_threads, step = QUADS // lanes, self._count
        if (thread >= most_threads).any() or (byte % step).any() or (byte + step > QUADS).any():
            raise self._d.error(
                OperandError,
                f"byte-id {int(byte.max())} and thread-id {int(thread.max())} do not select {step} scale factors: "
                f"thread-id is below {most_threads}, byte-id a multiple of {step}",
            )
        quad = thread[:, None] * lanes + np.arange(lanes)
        places = byte[:, None] + np.arange(step)
        group = np.arange(GROUPS)
        picked = per_warp[
            np.arange(warps)[:, None, None, None], group[:, None], quad[:, :, None, None], places[:, None, None, :]
        ]
        return self._table[picked].reshape(warps, self._rows, step)


def _scaled(a: Array, b: Array, scales_a: Array, scales_b: Array) -> Array:
    """Sum over blocks of K of the block's product times its two factors."""
    blocks = scales_a.shape[-1]
    rows = a.astype(np.float64).reshape(*a.shape[:2], blocks, -1) * scales_a[..., None]
    columns = b.astype(np.float64).reshape(*b.shape[:2], blocks, -1) * scales_b[..., None]
    return np.matmul(rows.reshape(a.shape), columns.reshape(b.shape).transpose(0, 2, 1))


def decode_extended(d: Decode) -> Step:
    """mma{.sp}.sync with the forms of this module."""
    form = _form(d)
    all_members(d)
    operation = _popc(d, form)
    first_scale = 4 + 2 * form.is_sparse
    d.finish(first_scale + (4 if form.scales else 0))
    element_a, element_b = _stored(form, form.a), _stored(form, form.b)
    words_a = form.k // (2 if form.is_sparse else 1) * BITS[element_a] // 128
    words_b = form.k * BITS[element_b] // 128
    a = Fragment(d, 1, element_a, form.rows, words_a * form.rows // GROUPS)
    b = Fragment(d, 2, element_b, GROUPS, words_b)
    accumulators = Accumulators(d, form.accumulator, form.rows, 0, 3)
    metadata = Metadata(d, form, BITS[element_a]) if form.is_sparse else None
    scales = (Scales(d, first_scale, 16, form), Scales(d, first_scale + 2, 8, form)) if form.scales else None

    def step(mask: Array | None) -> None:
        rows, columns = a.values(), b.values()
        if metadata is not None:
            rows = metadata.dense(rows)
        if scales is not None:
            product = _scaled(rows, columns, scales[0].values(), scales[1].values())
        elif operation == "xor":  # population count of a xor b, in terms of products of bits
            both = np.matmul(rows, columns.transpose(0, 2, 1))
            product = rows.sum(axis=2)[:, :, None] + columns.sum(axis=2)[:, None, :] - 2 * both
        else:
            product = np.matmul(rows, columns.transpose(0, 2, 1))
        accumulators.store(product, mask, form.saturates)

    return step


def _popc(d: Decode, form: Form) -> str:
    if form.a != "b1":
        return ""
    operation = d.need("and", "xor")
    d.need("popc")
    return operation


class Metadata:
    """Operands e and f of mma.sp."""

    def __init__(self, d: Decode, form: Form, bits: int) -> None:
        self._metadata = d.read(4, TYPES["b32"])
        self._selector = d.constant_int(5)
        self._bits, self._k = bits, form.k
        if not 0 <= self._selector < selectors(bits, form.k):
            raise d.error(OperandError, f"sparsity selector {self._selector} is out of range for this shape")

    def dense(self, stored: Array) -> Array:
        """A with its zeros, [warp, row, k]."""
        where, unit = positions(self._metadata, self._selector, self._bits, self._k)
        return expand(stored, where, unit, self._k)

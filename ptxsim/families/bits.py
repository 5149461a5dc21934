"""Logic, shifts and bit fields: and or xor not cnot shl shr shf lop3 prmt bfe bfi bfind brev popc clz bmsk szext."""

from collections.abc import Callable
from typing import cast

import numpy as np

from ptxsim.decode import Decode, Step, assign, into
from ptxsim.errors import OperandError
from ptxsim.floors import Floor
from ptxsim.program import Negated, Pair, Sink
from ptxsim.ptx_types import TYPES, Array, PtxType

_U32 = TYPES["u32"]
_PREDICATE = TYPES["pred"]
_LOGIC: dict[str, np.ufunc] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def _typed(d: Decode, kinds: tuple[str, ...], widths: tuple[int, ...]) -> PtxType:
    type_ = d.type()
    if type_.kind not in kinds or (type_.kind != "pred" and type_.bits not in widths):
        raise d.unsupported(f"`{d.instruction.base}` of .{type_.name}")
    return type_


def decode_logic(d: Decode) -> Step:
    """and, or, xor of bits and predicates."""
    type_ = _typed(d, ("bits", "pred"), (16, 32, 64))
    d.finish(3)
    operation = cast("Callable[[Array, Array, Array], Array]", _LOGIC[d.instruction.base])
    return into(d.write(0, type_), operation, d.read(1, type_), d.read(2, type_))


def decode_not(d: Decode) -> Step:
    """not of bits and predicates."""
    type_ = _typed(d, ("bits", "pred"), (16, 32, 64))
    d.finish(2)
    return into(d.write(0, type_), np.invert, d.read(1, type_))


def decode_cnot(d: Decode) -> Step:
    """cnot: one where the source is zero, otherwise zero."""
    type_ = _typed(d, ("bits",), (16, 32, 64))
    d.finish(2)
    return assign(d.write(0, type_), lambda a: a == 0, d.read(1, type_))


def decode_shift(d: Decode) -> Step:
    """shl and shr; amounts above the width clamp (PTX ISA, "shl", "shr"), as NumPy does."""
    is_left = d.instruction.base == "shl"
    type_ = _typed(d, ("bits",) if is_left else ("bits", "unsigned", "signed"), (16, 32, 64))
    d.finish(3)
    amount = d.read(2, _U32)
    value = d.read(1, type_)
    operation: np.ufunc = np.left_shift if is_left else np.right_shift
    if type_.bits == 32:
        return into(d.write(0, type_), operation, value, amount.view(type_.dtype))
    limit = np.uint32(type_.bits)
    # an amount is an unsigned 32-bit number for every width, so it is clamped before the conversion
    return assign(d.write(0, type_), lambda a, n: operation(a, np.minimum(n, limit).astype(type_.dtype)), value, amount)


def decode_funnel(d: Decode) -> Step:
    """shf.l and shf.r, .clamp or .wrap, of the 64 bits {b, a}."""
    side = d.need("l", "r")
    mode = d.need("clamp", "wrap")
    if d.type().name != "b32":
        raise d.unsupported(f"shf of .{d.type().name}")
    d.finish(4)
    width = np.uint64(32)

    def compute(a: Array, b: Array, c: Array) -> Array:
        whole = (b.astype(np.uint64) << width) | a
        count = np.minimum(c, np.uint32(32)) if mode == "clamp" else c & np.uint32(31)
        count = count.astype(np.uint64)
        return (whole << count) >> width if side == "l" else whole >> count

    return assign(d.write(0, _U32), compute, d.read(1, _U32), d.read(2, _U32), d.read(3, _U32))


def decode_lop3(d: Decode) -> Step:
    """lop3.b32 with any table, and lop3.{and,or,xor} d|p that also combines "not zero" with a predicate."""
    combine = d.take("and", "or", "xor")
    if d.type().name != "b32":
        raise d.unsupported(f"lop3 of .{d.type().name}")
    d.finish(5 if combine is None else 6)
    table = d.constant_int(4)
    if not 0 <= table <= 255:
        raise d.error(OperandError, f"a lop3 table is 0 to 255, not {table}")
    a, b, c = (d.read(number, _U32) for number in (1, 2, 3))
    if combine is None:
        return assign(d.write(0, _U32), lambda x, y, z: _lookup(table, x, y, z), a, b, c)
    pair = d.operands[0]
    if not isinstance(pair, Pair):
        raise d.error(OperandError, f"lop3.{combine} writes d|p")
    value_target = None if isinstance(pair.first, Sink) else d.target(pair.first, _U32)
    predicate_target = d.target(pair.second, _PREDICATE)
    source, operation = d.operands[5], _LOGIC[combine]
    is_negated = isinstance(source, Negated)
    predicate = d.value(source.register if isinstance(source, Negated) else source, _PREDICATE)

    def step(mask: Array | None) -> None:
        result = _lookup(table, a, b, c)
        truth = operation(result != 0, predicate ^ is_negated)
        everywhere = True if mask is None else mask
        if value_target is not None:
            np.copyto(value_target, result, where=everywhere)
        np.copyto(predicate_target, truth, where=everywhere)

    return step


def _lookup(table: int, a: Array, b: Array, c: Array) -> Array:
    """Bitwise table lookup: bit 4a + 2b + c of the table."""
    named = {0x96: lambda: a ^ b ^ c, 0x80: lambda: a & b & c, 0xFE: lambda: a | b | c, 0xC0: lambda: a & b}
    if table in named:
        return named[table]()
    result = np.zeros_like(a)
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result


def decode_prmt(d: Decode) -> Step:
    """prmt.b32 and its modes f4e, b4e, rc8, ecl, ecr, rc16."""
    mode = d.take("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
    if d.type().name != "b32":
        raise d.unsupported(f"prmt of .{d.type().name}")
    d.finish(4)

    def compute(a: Array, b: Array, c: Array) -> Array:
        lanes = np.arange(a.size)[:, None]
        source = np.empty((a.size, 8), np.uint8)
        source[:, :4] = a.view(np.uint8).reshape(-1, 4)
        source[:, 4:] = b.view(np.uint8).reshape(-1, 4)
        if mode is not None:
            picked = source[lanes, _PERMUTATIONS[mode][c & np.uint32(3)]]
        else:
            selector = (c[:, None] >> np.arange(0, 16, 4, dtype=np.uint32)) & np.uint32(15)
            picked = source[lanes, selector & np.uint32(7)]
            sign = np.where(picked > 127, np.uint8(255), np.uint8(0))
            picked = np.where(selector > 7, sign, picked)
        return np.ascontiguousarray(picked).view(np.uint32)[:, 0]

    return assign(d.write(0, _U32), compute, d.read(1, _U32), d.read(2, _U32), d.read(3, _U32))


# For each mode and selector 0 to 3 the source byte of result bytes 0 to 3. Source: PTX ISA, "prmt".
_PERMUTATIONS: dict[str, Array] = {
    "f4e": np.array([[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]]),
    "b4e": np.array([[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]]),
    "rc8": np.array([[n] * 4 for n in range(4)]),
    "ecl": np.array([[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]]),
    "ecr": np.array([[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]),
    "rc16": np.array([[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]]),
}


def decode_bfe(d: Decode) -> Step:
    """bfe: a field of c bits from bit b, sign-extended for signed types."""
    type_ = _typed(d, ("unsigned", "signed"), (32, 64))
    d.finish(4)
    bits = type_.bits

    def compute(a: Array, b: Array, c: Array) -> Array:
        position = (b & np.uint32(255)).astype(np.int64)
        length = (c & np.uint32(255)).astype(np.int64)
        # shifting the field to the top and down again extends it; the top bit of a field cut off is the sign of a
        top = np.minimum(position + length, bits)
        left = (bits - top).astype(type_.dtype)
        right = (bits - (top - np.minimum(position, top))).astype(type_.dtype)
        field = (a << left) >> right
        is_empty = (length == 0) | ((position >= bits) & (type_.kind == "unsigned"))
        beyond = a >> type_.dtype(bits - 1)
        return np.where(is_empty, type_.dtype(0), np.where(position >= bits, beyond, field))

    return assign(d.write(0, type_), compute, d.read(1, type_), d.read(2, _U32), d.read(3, _U32))


def decode_bfi(d: Decode) -> Step:
    """bfi: b with d bits from bit c replaced by the low bits of a."""
    type_ = _typed(d, ("bits",), (32, 64))
    d.finish(5)
    bits, dtype = type_.bits, type_.dtype

    def compute(a: Array, b: Array, c: Array, n: Array) -> Array:
        position = np.minimum(c & np.uint32(255), np.uint32(bits)).astype(dtype)
        length = np.minimum(n & np.uint32(255), np.uint32(bits)).astype(dtype)
        field = ((dtype(1) << length) - dtype(1)) << position
        return (b & ~field) | ((a << position) & field)

    return assign(d.write(0, type_), compute, d.read(1, type_), d.read(2, type_), d.read(3, _U32), d.read(4, _U32))


def leading_zeros(a: Array) -> Array:
    """The number of zero bits above the highest one bit of unsigned 32- or 64-bit integers."""
    spread = a.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < a.dtype.itemsize * 8:
            spread |= spread >> a.dtype.type(shift)
    return np.bitwise_count(~spread)


def decode_bfind(d: Decode) -> Step:
    """bfind{.shiftamt}: the position of the highest bit that differs from the sign, or all ones."""
    type_ = _typed(d, ("unsigned", "signed"), (32, 64))
    is_shift = d.flag("shiftamt")
    d.finish(2)
    whole = TYPES[f"u{type_.bits}"].dtype

    def compute(a: Array) -> Array:
        magnitude = (np.where(a < 0, ~a, a) if type_.kind == "signed" else a).view(whole)
        zeros = leading_zeros(magnitude).astype(np.uint32)
        position = zeros if is_shift else np.uint32(type_.bits - 1) - zeros
        return np.where(magnitude == 0, np.uint32(0xFFFFFFFF), position)

    return assign(d.write(0, _U32), compute, d.read(1, type_))


def decode_count(d: Decode) -> Step:
    """popc and clz."""
    type_ = _typed(d, ("bits",), (32, 64))
    d.finish(2)
    operation: Callable[[Array], Array] = leading_zeros if d.instruction.base == "clz" else np.bitwise_count
    return assign(d.write(0, _U32), operation, d.read(1, type_))


def decode_brev(d: Decode) -> Step:
    """brev: bits in reverse order."""
    type_ = _typed(d, ("bits",), (32, 64))
    d.finish(2)
    table = np.array([int(f"{value:08b}"[::-1], 2) for value in range(256)], np.uint8)
    return assign(
        d.write(0, type_),
        lambda a: table[a.view(np.uint8)].reshape(a.size, -1)[:, ::-1].copy().view(type_.dtype)[:, 0],
        d.read(1, type_),
    )


def decode_bmsk(d: Decode) -> Step:
    """bmsk.clamp and bmsk.wrap: b ones from bit a."""
    mode = d.need("clamp", "wrap")
    if d.type().name != "b32":
        raise d.unsupported(f"bmsk of .{d.type().name}")
    d.finish(3)

    def compute(a: Array, b: Array) -> Array:
        start, count = (np.minimum(x, np.uint32(32)) if mode == "clamp" else x & np.uint32(31) for x in (a, b))
        ones = (np.uint64(1) << count.astype(np.uint64)) - np.uint64(1)
        return ones << start.astype(np.uint64)

    return assign(d.write(0, _U32), compute, d.read(1, _U32), d.read(2, _U32))


def decode_szext(d: Decode) -> Step:
    """szext.clamp and szext.wrap: the low b bits of a, sign- or zero-extended."""
    mode = d.need("clamp", "wrap")
    type_ = _typed(d, ("unsigned", "signed"), (32,))
    d.finish(3)

    def compute(a: Array, b: Array) -> Array:
        count = np.minimum(b, np.uint32(32)) if mode == "clamp" else b & np.uint32(31)
        shift = (np.uint32(32) - count).astype(type_.dtype)
        return np.where(count == 0, type_.dtype(0), (a << shift) >> shift)

    return assign(d.write(0, type_), compute, d.read(1, type_), d.read(2, _U32))


def decode_find_nth(d: Decode) -> Step:
    """fns.b32 d, mask, base, offset: the position of the offset-th set bit from base on, down for negative offsets."""
    if d.type().name != "b32":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(4)
    places = np.arange(32)

    def compute(mask: Array, base: Array, offset: Array) -> Array:
        bits = (mask[:, None] >> places.astype(np.uint32)) & np.uint32(1) != 0
        start = base.astype(np.int64)[:, None]
        upward: Array = np.cumsum(bits & (places >= start), axis=1)
        downward: Array = np.cumsum((bits & (places <= start))[:, ::-1], axis=1)[:, ::-1]
        wanted = offset.astype(np.int64)[:, None]
        up: Array = (places >= start) & (upward == wanted)
        down: Array = (places <= start) & (downward == -wanted)
        chosen: Array = bits & np.where(wanted > 0, up, down)
        chosen = np.where(wanted == 0, bits & (places == start), chosen)
        first: Array = np.argmax(chosen, axis=1)
        found: Array = np.any(chosen, axis=1)
        return np.where(found, first, 0xFFFFFFFF)

    return assign(d.write(0, _U32), compute, d.read(1, _U32), d.read(2, _U32), d.read(3, TYPES["s32"]))


OPCODES: dict[str, Callable[[Decode], Step]] = {
    "fns": decode_find_nth,
    "and": decode_logic,
    "or": decode_logic,
    "xor": decode_logic,
    "not": decode_not,
    "cnot": decode_cnot,
    "shl": decode_shift,
    "shr": decode_shift,
    "shf": decode_funnel,
    "lop3": decode_lop3,
    "prmt": decode_prmt,
    "bfe": decode_bfe,
    "bfi": decode_bfi,
    "bfind": decode_bfind,
    "popc": decode_count,
    "clz": decode_count,
    "brev": decode_brev,
    "bmsk": decode_bmsk,
    "szext": decode_szext,
}
FLOORS = (
    Floor("lop3 and|or|xor", "", "8.2"),
    Floor("szext", "", "7.6"),
    Floor("bmsk", "", "7.6"),
)

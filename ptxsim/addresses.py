"""Addresses of instructions."""

from collections.abc import Callable

import numpy as np

from ptxsim.decode import Decode
from ptxsim.errors import OperandError
from ptxsim.program import Address, Immediate, Register, Symbol
from ptxsim.ptx_types import TYPES, Array


def address_values(d: Decode, address: Address, bits: int) -> Callable[[], Array]:
    """The function that computes the lanes of an address, as unsigned integers of `bits` bits."""
    type_ = TYPES[f"u{bits}"]
    base = address.base
    if isinstance(base, Symbol) and d.placed(base).space == "frame":
        frame, inside = d.binding.calls.frame, np.uint32(d.symbol_address(base) + address.offset)
        return lambda: frame + inside
    if isinstance(base, Symbol):
        constant = d.located(base, d.symbol_address(base) + address.offset, type_)
        return lambda: constant
    if isinstance(base, Immediate):
        constant = d.binding.constant((int(base.value) + address.offset) % (1 << bits), type_)
        return lambda: constant
    if not isinstance(base, Register):
        raise d.error(OperandError, "an address is a register, a variable or a constant, plus an offset")
    if base.type.bits == 64 and bits == 32:
        values = d.value(base, TYPES["u64"])
        offset64 = np.uint64(address.offset % (1 << 64))
        return lambda: (values + offset64).astype(np.uint32)
    if base.type.bits == 32 and bits == 64:
        narrow = d.value(base, TYPES["u32"])
        offset_wide = np.uint64(address.offset % (1 << 64))
        return lambda: narrow.astype(np.uint64) + offset_wide
    row = d.value(base, type_)
    if address.offset == 0:
        return lambda: row
    offset = d.binding.constant(address.offset % (1 << bits), type_)
    scratch = np.empty_like(row)
    return lambda: np.add(row, offset, scratch)

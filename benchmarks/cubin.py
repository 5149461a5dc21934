"""Properties of an assembled kernel: instructions, loops, registers and spills of a cubin of any origin."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from lowering.atoms.wgmma import WARPGROUP
from lowering.targets.target import WARP

if TYPE_CHECKING:
    from tilesat.mca.flow import Loop

_SIZED, _REGCOUNT = 4, 0x2F
"""EIFMT_SVAL, the format with a payload, and EIATTR_REGCOUNT."""
_SECTION = struct.Struct("<IIQQQQIIQQ")


@dataclass(frozen=True)
class Code:
    """SASS instructions of the MMA loop (without one, of the longest innermost loop), MMA in it, registers, local loads
    and stores, instructions in all, lengths of all innermost loops, longest first, serial round trips to memory, and,
    for each loop whose products have sizes given by opcodes, its length and the multiply-adds of a thread in an
    iteration.
    """

    loop: int
    mma: int
    registers: int
    spills: int
    instructions: int
    loops: tuple[int, ...] = ()
    round_trips: int = 0
    work: tuple[tuple[int, float], ...] = ()


def read_code(cubin: Path) -> Code:
    """Loop, registers and spills of a cubin with one kernel, from its listing and its section headers."""
    from runtime.ptxas import disassemble
    from tilesat.mca.flow import loops, product_loop
    from tilesat.mca.listing import functions
    from tilesat.mca.waits import round_trips

    binary = cubin.read_bytes()
    found = functions(disassemble(binary))
    innermost = [loop for function in found for loop in loops(function)]
    every = [each for function in found for each in function.instructions]
    spills = sum(each.family in ("STL", "LDL") for each in every)
    lengths = sorted((loop.length for loop in innermost), reverse=True)
    loop = product_loop(innermost)
    hot = (loop.length, loop.products) if loop is not None else (max(lengths, default=0), 0)
    count = sum(each.family != "NOP" for each in every)  # NOP pads the code to a multiple of 128 bytes
    work = tuple((loop.length, done) for loop in innermost if (done := multiply_adds(loop)))
    return Code(*hot, registers(binary), spills, count, tuple(lengths), round_trips(every), work)


def multiply_adds(loop: Loop) -> float:
    """Multiply-adds of a thread in an iteration's products; 0 if an opcode does not give their size (tcgen05.mma)."""
    from tilesat.mca.units import multiplies, product

    found = 0.0
    for each in loop.path:
        if multiplies(each.opcode):
            shape = product(each.opcode)
            if shape is None:
                return 0.0
            found += prod(shape) / (WARPGROUP if "GMMA" in each.family else WARP)
    return found


def registers(binary: bytes) -> int:
    """Registers per thread, from the attribute that ptxas leaves for the driver.

    `.nv.info` is a list of (format, attribute, size, payload); a register count is (symbol, count). Source: cuobjdump
    -elf, EIATTR_REGCOUNT.
    """
    (table,) = struct.unpack_from("<Q", binary, 40)  # ELF-64: e_shoff; then e_shnum and e_shstrndx at 60 and 62
    count, names = struct.unpack_from("<HH", binary, 60)
    sections = [_SECTION.unpack_from(binary, table + _SECTION.size * i) for i in range(count)]
    strings, found = sections[names][4], 0
    for name, _, _, _, offset, size, *_ in sections:
        at, end = offset, offset + size
        while binary[strings + name :].startswith(b".nv.info\0") and at < end:
            form, attribute, length = struct.unpack_from("<BBH", binary, at)
            if attribute == _REGCOUNT:
                found = max(found, struct.unpack_from("<II", binary, at + 4)[1])
            at += 4 + (length if form == _SIZED else 0)
    return found

"""ldmatrix and stmatrix of 8-bit elements, and ldmatrix that unpacks 6-bit and 4-bit elements into bytes.

A row is 16 bytes of shared memory, whose address is supplied by lane 16j+i (m16n16) or 8j+i (m8n16, m16n8) for row i of
matrix j. Packed rows hold 16 elements of 6 bits and 4 bytes of padding, or of 4 bits and 8 bytes; each goes to the low
bits of a byte. With g = lane/4 and t = lane%4, byte b of a register holds the following element of one matrix: m8n16:
row g, column 4t+b; m16n16.trans: register j has row 4t+b, column g+8j; stmatrix m16n8.trans: row 2t+b%2, column
g+8(b/2). Sources: PTX ISA, "ldmatrix" and "stmatrix"; CUTLASS copy traits of SM100.
"""

from dataclasses import dataclass

import numpy as np

from ptxsim.access import Pattern
from ptxsim.decode import Decode, Step
from ptxsim.elements import unpack
from ptxsim.errors import OperandError
from ptxsim.families.load_store import address_values
from ptxsim.families.matrix import MatrixSite, all_members, decode_ldmatrix, decode_stmatrix
from ptxsim.floors import Floor
from ptxsim.machine import WARP
from ptxsim.ptx_types import TYPES, Array
from ptxsim.report import extra_wavefronts

_ROW = 16
_WORD = 4
_LANE = np.arange(WARP)
_BYTE = np.arange(4)


@dataclass(frozen=True, slots=True)
class Form:
    """The matrices of one instruction: rows of each, registers of each, and the element of a matrix that [register,
    lane, byte] holds.
    """

    count: int
    rows: int
    row: Array
    column: Array
    packing: str | None

    @property
    def registers(self) -> int:
        """Registers that one matrix takes."""
        return int(self.row.shape[0])


def _places(shape: str) -> tuple[int, Array, Array]:
    """Rows, and row and column numbers [register, lane, byte]."""
    group, quad = (_LANE // 4)[None, :, None], (_LANE % 4)[None, :, None]
    byte, zero = _BYTE[None, None, :], np.zeros((1, WARP, 4), np.int64)
    if shape == "m8n16":
        return 8, group + zero, 4 * quad + byte + zero
    if shape == "m16n16":
        register = np.arange(2)[:, None, None]
        return 16, 4 * quad + byte + register * 0 + zero, group + 8 * register + zero
    return 8, 2 * quad + byte % 2 + zero, group + 8 * (byte // 2) + zero


def _form(d: Decode, shapes: tuple[str, ...]) -> Form:
    d.need("sync")
    d.need("aligned")
    shape = d.need(*shapes)
    count = int(d.need(*(("x1", "x2") if shape == "m16n16" else ("x1", "x2", "x4")))[1:])
    is_transposed = d.flag("trans")
    d.take("shared", "shared::cta")
    packing = None
    if d.flag("b8x16"):
        packing = d.need("b6x16_p32", "b4x16_p64")
    elif d.type().name != "b8":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    if is_transposed != (shape != "m8n16") or (packing is None and shape == "m8n16"):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(2)
    all_members(d)
    rows, row, column = _places(shape)
    return Form(count, rows, row, column, packing)


class RowSite(MatrixSite):
    """The memory site of a narrow ldmatrix or stmatrix, caching the 16-byte cells of each address pattern."""

    def row_cells(self, address: Array, lanes: Array | None, used_lanes: int) -> Array:
        """Cell numbers [warp, row]; rows of warps that take no part are 0."""
        key: bytes | tuple[bytes, bytes] = address.tobytes()
        if lanes is not None:
            key = (key, lanes.tobytes())
        found = self.recall(key)
        if found is None:
            found = self._rows(address, lanes, used_lanes)
            self.remember(key, found)
        self.extra += found.extra
        return found.index

    def _rows(self, address: Array, lanes: Array | None, used_lanes: int) -> Pattern:
        machine = self.machine
        used = np.arange(machine.lanes) % WARP < used_lanes
        if lanes is not None:
            used &= lanes
        number = np.flatnonzero(used)
        index = np.zeros(machine.lanes, np.int64)
        index[number] = self.window_index(machine.shared, address[number], _ROW, used)
        extra = extra_wavefronts(address[number], used, _ROW, 8)
        return Pattern(index.reshape(-1, WARP)[:, :used_lanes], extra)


def _site(d: Decode) -> RowSite:
    site = RowSite(d.machine, d.instruction)
    site.counts_banks = True
    d.site = site
    return site


def _load(d: Decode) -> Step:
    form = _form(d, ("m16n16", "m8n16"))
    count = form.count * form.registers
    targets = [d.target(item, TYPES["b32"]) for item in d.vector(0, (count,))]
    values = address_values(d, d.address(1), 32)
    machine, site, tracker = d.machine, _site(d), d.binding.hazards
    used = form.count * form.rows
    row_bytes = _ROW if form.packing is None else 2 * int(form.packing[1])  # the padding may be unwritten
    words_used = np.arange(row_bytes // _WORD)[:, None]

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        cells = site.row_cells(values(), lanes, used)
        if tracker is not None:
            giving, rows = _by_row(cells, lanes)
            tracker.read(site, _WORD, giving, rows[None, :] * (_ROW // _WORD) + words_used)
        rows = machine.shared.cells[_ROW].take(cells).view(np.uint8).reshape(-1, form.count, form.rows, _ROW)
        elements = rows if form.packing is None else unpack(rows, int(form.packing[1]))
        picked = elements[:, :, form.row, form.column]  # [warp, matrix, register, lane, byte]
        words = np.ascontiguousarray(picked).view(np.uint32).reshape(-1, count, WARP)
        for number, target in enumerate(targets):
            column = words[:, number].reshape(-1)
            if mask is None:
                np.copyto(target, column)
            else:
                np.putmask(target, mask, column)

    return step


def _store(d: Decode) -> Step:
    form = _form(d, ("m16n8",))
    values = address_values(d, d.address(0), 32)
    sources = [d.value(item, TYPES["b32"]) for item in d.vector(1, (form.count,))]
    machine, site, tracker = d.machine, _site(d), d.binding.hazards
    used = form.count * form.rows
    target = machine.shared.cells[_ROW]

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        cells = site.row_cells(values(), lanes, used)
        given = np.stack([source.reshape(-1, WARP) for source in sources], axis=1)
        bytes_given = np.ascontiguousarray(given).view(np.uint8).reshape(-1, form.count, WARP, 4)
        rows = np.empty((machine.warps, form.count, form.rows, _ROW), np.uint8)
        rows[:, :, form.row[0], form.column[0]] = bytes_given
        data = rows.reshape(-1, used * _ROW).view(target.dtype)
        active, going = cells, slice(None) if lanes is None else lanes.reshape(-1, WARP).any(axis=1)
        if tracker is not None:
            where, positions = _by_row(cells, lanes)
            tracker.write(site, _ROW, where, positions, data[going].reshape(-1))
        target[active[going]] = data[going]

    return step


def _by_row(cells: Array, lanes: Array | None) -> tuple[Array, Array]:
    """The lanes that give row addresses, as a mask, and the cells of their rows."""
    warps, used = cells.shape
    giving = np.zeros((warps, WARP), np.bool_)
    giving[:, :used] = True
    if lanes is not None:
        giving &= lanes.reshape(-1, WARP)
    return giving.reshape(-1), cells[giving[:, :used]]


def decode_load(d: Decode) -> Step:
    """ldmatrix in all its shapes."""
    return _load(d) if _is_narrow(d) else decode_ldmatrix(d)


def decode_store(d: Decode) -> Step:
    """stmatrix in all its shapes."""
    return _store(d) if _is_narrow(d) else decode_stmatrix(d)


def _is_narrow(d: Decode) -> bool:
    if len(d.operands) != 2:
        raise d.error(OperandError, f"`{d.instruction.base}` takes 2 operands, not {len(d.operands)}")
    return any(name in d.instruction.modifiers for name in ("m16n16", "m8n16", "m16n8"))


OPCODES = {"ldmatrix": decode_load, "stmatrix": decode_store}
FLOORS = (
    Floor("ldmatrix", "75", "6.5"),
    Floor("ldmatrix b8|b8x16*", "100f 110f 120f", "8.6"),
    Floor("stmatrix", "90", "7.8"),
    Floor("stmatrix b8", "100f 110f 120f", "8.6"),
)

"""ldmatrix, stmatrix and movmatrix: 8x8 matrices of 16-bit elements between shared memory and fragments.

Lane 8j+i gives the address of row i of matrix j. Lane l holds in register j elements 2(l%4) and 2(l%4)+1 of row l/4 of
matrix j, or with .trans of column l/4 (PTX ISA, "Warp-level matrix load instruction: ldmatrix").
"""

import numpy as np

from ptxsim.access import Pattern, Site
from ptxsim.decode import Decode, Step
from ptxsim.errors import OperandError
from ptxsim.families.load_store import address_values
from ptxsim.floors import Floor
from ptxsim.groups import FULL_WARP, warp_words
from ptxsim.machine import WARP
from ptxsim.ptx_types import TYPES, Array
from ptxsim.report import extra_wavefronts

_LANE = np.arange(WARP)
_ROW_BYTES = 16


def all_members(d: Decode) -> None:
    """Mark an instruction that the whole warp must execute together."""
    d.members = d.binding.constant(0xFFFFFFFF, TYPES["u32"])


def _shape(d: Decode) -> tuple[int, bool]:
    d.need("sync")
    d.need("aligned")
    d.need("m8n8")
    count = int(d.need("x1", "x2", "x4")[1:])
    is_transposed = d.flag("trans")
    d.take("shared", "shared::cta")
    if d.type().name != "b16":
        raise d.unsupported(f"`{d.instruction.base}` of .{d.type().name}")
    d.finish(2)
    all_members(d)
    return count, is_transposed


def halves(rows: Array, count: int, is_transposed: bool) -> Array:
    """16-bit cell numbers [matrix, lane of the machine, 2] from the row addresses' cells [warp, 32]."""
    starts = rows[:, : 8 * count].reshape(-1, count, 8)
    pair = 2 * (_LANE % 4)[:, None] + np.arange(2)
    if is_transposed:
        picked = starts[:, :, pair] + (_LANE // 4)[:, None]
    else:
        picked = starts[:, :, _LANE // 4][:, :, :, None] + pair
    return picked.transpose(1, 0, 2, 3).reshape(count, -1, 2)


def in_warps(lanes: Array) -> Array | None:
    """The lanes, among those of all warps that have any in a mask, that are in it; None for all."""
    words = warp_words(lanes)
    words = words[words != 0]
    return None if (words == FULL_WARP).all() else lanes.reshape(-1, WARP)[warp_words(lanes) != 0].reshape(-1)


class MatrixSite(Site):
    """The memory site of an ldmatrix or stmatrix, caching the cells of each address pattern."""

    def cells(self, address: Array, lanes: Array | None, count: int, is_transposed: bool) -> Array:
        """16-bit cell numbers [matrix, lane, 2], or 32-bit ones [matrix, lane] if nothing is transposed.

        Lanes are those of the warps that have any in the mask.
        """
        key: bytes | tuple[bytes, bytes] = address.tobytes() if lanes is None else address[lanes].tobytes()
        if lanes is not None:
            key = (key, lanes.tobytes())
        found = self.recall(key)
        if found is None:
            found = self._compute(address, lanes, count, is_transposed)
            self.remember(key, found)
        self.extra += found.extra
        return found.index

    def _compute(self, address: Array, lanes: Array | None, count: int, is_transposed: bool) -> Pattern:
        machine = self.machine
        used = np.arange(machine.lanes) % WARP < 8 * count
        if lanes is not None:
            used &= lanes
        number = np.flatnonzero(used)
        index = np.zeros(machine.lanes, np.int64)
        index[number] = self.window_index(machine.shared, address[number], _ROW_BYTES, used)
        extra = extra_wavefronts(address[number], used, _ROW_BYTES, 8)
        rows = index.reshape(-1, WARP)
        if lanes is not None:
            rows = rows[warp_words(lanes) != 0]
        cells = halves(rows * (_ROW_BYTES // 2), count, is_transposed)
        return Pattern(cells if is_transposed else cells[:, :, 0] >> 1, extra)


def decode_ldmatrix(d: Decode) -> Step:
    """ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}.shared.b16."""
    count, is_transposed = _shape(d)
    targets = [d.target(item, TYPES["b32"]) for item in d.vector(0, (count,))]
    values = address_values(d, d.address(1), 32)
    machine = d.machine
    site = MatrixSite(machine, d.instruction)
    site.counts_banks = True
    d.site = site
    source = machine.shared.cells[2 if is_transposed else 4]
    tracker = d.binding.hazards

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        index = site.cells(values(), lanes, count, is_transposed)
        present = None if lanes is None else in_warps(lanes)
        if present is not None:
            index = index[:, present]
        if tracker is not None:
            tracker.read(site, source.dtype.itemsize, lanes, index)
        data = source.take(index)
        if is_transposed:
            data = data.view(np.uint32)[:, :, 0]
        for target, row in zip(targets, data, strict=True):
            if lanes is None:
                np.copyto(target, row)
            else:
                target[lanes] = row

    return step


def decode_stmatrix(d: Decode) -> Step:
    """stmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}.shared.b16."""
    count, is_transposed = _shape(d)
    values = address_values(d, d.address(0), 32)
    sources = [d.value(item, TYPES["b32"]) for item in d.vector(1, (count,))]
    machine = d.machine
    site = MatrixSite(machine, d.instruction)
    site.counts_banks = True
    d.site = site
    target = machine.shared.cells[2 if is_transposed else 4]
    tracker = d.binding.hazards
    staged = np.empty((count, machine.lanes), np.uint32)

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        index = site.cells(values(), lanes, count, is_transposed)
        for row, source in zip(staged, sources, strict=True):
            np.copyto(row, source)
        data = staged.view(np.uint16).reshape(count, -1, 2) if is_transposed else staged
        part, chosen = (index, data) if lanes is None else (index, data[:, lanes])
        present = None if lanes is None else in_warps(lanes)
        if present is not None:
            part = part[:, present]
        if tracker is not None:
            tracker.write(site, target.dtype.itemsize, lanes, part, chosen)
        target[part] = chosen

    return step


def decode_movmatrix(d: Decode) -> Step:
    """movmatrix.sync.aligned.m8n8.trans.b16: transpose a matrix that a fragment holds."""
    d.need("sync")
    d.need("aligned")
    d.need("m8n8")
    d.need("trans")
    if d.type().name != "b16":
        raise d.error(OperandError, "movmatrix moves .b16 elements")
    d.finish(2)
    all_members(d)
    source, target = d.read(1, TYPES["b32"]), d.write(0, TYPES["b32"])

    def step(mask: Array | None) -> None:
        matrix = source.reshape(-1, WARP).view(np.uint16).reshape(-1, 8, 8)
        moved = np.ascontiguousarray(matrix.transpose(0, 2, 1)).reshape(-1).view(np.uint32)
        if mask is None:
            np.copyto(target, moved)
        else:
            np.putmask(target, mask, moved)

    return step


OPCODES = {"movmatrix": decode_movmatrix}  # the other two are in matrix_narrow, which also handles narrower elements
FLOORS = (Floor("movmatrix", "75", "7.8"),)

"""Tensor memory: 128 lanes of 512 columns of 32 bits; every CTA may access those that it has allocated.

An address holds the lane in its high and the column in its low half. Fresh contents are 0xFF bytes. Since a CTA
accesses only its own columns, each has separate cells here; `multiprocessor` determines which columns these are.
Source: PTX ISA, "Tensor Memory", "tcgen05.alloc".
"""

from functools import lru_cache

import numpy as np

from ptxsim.machine import Machine
from ptxsim.multiprocessor import COLUMNS, AllocationError, Request
from ptxsim.ptx_types import Array

LANES = 128
SLAB = 32  # lanes that one warp of a warpgroup may access
_POISON = 0xFFFFFFFF


class TensorMemoryError(Exception):
    """Internal: a wrong use of tensor memory; the caller adds the instruction and the thread."""


class TensorMemory:
    """The tensor memory of a machine's CTAs.

    cells: [cta, column, lane], so that the columns of a matrix are adjacent; words: the same as [cta, lane, column];
    owned: which columns of a CTA are allocated.
    """

    def __init__(self, machine: Machine) -> None:
        self.cells = np.full((machine.ctas, COLUMNS, LANES), _POISON, np.uint32)
        self.words = self.cells.transpose(0, 2, 1)
        self.owned = np.zeros((machine.ctas, COLUMNS), np.bool_)
        self._residents = machine.residents

    def start(self) -> None:
        """A batch begins: nothing is allocated."""
        self.cells.fill(_POISON)
        self.owned.fill(False)
        self._residents.sms.forget(self._residents)

    def request(self, cta: int, warp: int, columns: int, pair: bool) -> Request:
        """Columns that a warp of a CTA waits for, `pair` together with the other CTA of its pair.

        Raises TensorMemoryError.
        """
        try:
            return self._residents.sms.request(self._residents.owner(cta), warp, columns, pair)
        except AllocationError as problem:
            raise TensorMemoryError(str(problem)) from None

    def serve(self) -> None:
        """Allocate columns to the waiting warps of all CTAs that may have them. Raises TensorMemoryError."""
        try:
            self._residents.sms.serve()
        except AllocationError as problem:
            raise TensorMemoryError(str(problem)) from None

    def take(self, request: Request) -> int:
        """The address of the columns that a warp was allocated; their contents are fresh."""
        assert request.first is not None
        where = request.owner.cta, slice(request.first, request.first + request.columns)
        self.owned[where] = True
        self.cells[where] = _POISON
        self._residents.sms.taken(request)
        return request.first

    def describe(self, request: Request) -> str:
        """What a warp waits for, and which CTA has it."""
        return self._residents.sms.describe(request)

    def free(self, cta: int, address: int, columns: int) -> None:
        """Free columns. Raises TensorMemoryError if they were not allocated together."""
        try:
            self._residents.sms.free(self._residents.owner(cta), address, columns)
        except AllocationError as problem:
            raise TensorMemoryError(str(problem)) from None
        self.owned[cta, address : address + columns] = False

    def relinquish(self, cta: int) -> None:
        """The CTA gives up its permit to allocate."""
        self._residents.sms.relinquish(self._residents.owner(cta))

    def left(self) -> list[int]:
        """The CTAs that still own columns."""
        return np.flatnonzero(self.owned.any(axis=1)).tolist()

    def kept(self) -> list[str]:
        """One sentence for each CTA that ended with the permit to allocate while others waited for it."""
        return [
            f"{holder} kept the permit to allocate tensor memory, for which {other} waited; "
            "every tcgen05.alloc needs a tcgen05.relinquish_alloc_permit behind it"
            for holder, other in self._residents.kept()
        ]

    def add(self, ctas: list[int], column: int, values: Array, keeps: bool) -> None:
        """Store f32 values [cta, column, lane] of all lanes starting at a column, or (keeps) add them to the
        contents.
        """
        first, where = ctas[0], slice(column, column + int(values.shape[1]))
        if ctas == list(range(first, first + len(ctas))):
            cells = self.cells[first : first + len(ctas), where].view(np.float32)
            if keeps:
                np.add(values, cells, out=cells)
            else:
                cells[...] = values
            return
        before = self.cells[ctas, where].view(np.float32)
        self.cells[ctas, where] = (values + before if keeps else values).view(np.uint32)

    def check(self, cta: int, column: int, columns: int) -> None:
        """Raise TensorMemoryError if columns are not all allocated in a CTA."""
        self.check_all(cta, column + np.arange(columns))

    def check_each(self, ctas: list[int], column: int, columns: int) -> None:
        """As `check`, for several CTAs."""
        if column + columns > COLUMNS or not self.owned[ctas, column : column + columns].all():
            for cta in ctas:
                self.check(cta, column, columns)

    def check_all(self, cta: int, columns: Array) -> None:
        """Raise TensorMemoryError if some columns, in ascending order, are not all allocated in a CTA."""
        last = int(columns[-1])
        if last >= COLUMNS or not self.owned[cta, columns].all():
            raise TensorMemoryError(f"uses columns {int(columns[0])} to {last}, which are not all allocated")


def folds(layout: str) -> int:
    """The number of parts into which a layout folds the columns of a matrix."""
    return {"full": 1, "quarter": 1, "half": 2, "slab": 4}[layout]


def region(cells: Array, layout: str, lane: int, column: int, columns: int) -> Array:
    """A view of the cells [lane, column] of one CTA that hold a matrix of `columns` columns.

    Layouts (data paths of the PTX ISA, tcgen05.mma): "full" (A, D): row r in lane r, 128 rows; "quarter" (C, F): 64
    rows, 16 in each 32 lanes; "half" (B, E): 64 rows, the upper half of the columns 64 lanes up; "slab" (G): 32 rows,
    each quarter of the columns 32 lanes up. Shapes [128, n], [4, 16, n], [2, 64, n / 2], [4, 32, n / 4].
    """
    width = columns // folds(layout)
    if layout == "full":
        return cells[:, column : column + width]
    if layout == "half":
        return cells.reshape(2, 64, COLUMNS)[:, :, column : column + width]
    slabs = cells.reshape(4, SLAB, COLUMNS)
    if layout == "slab":
        return slabs[:, :, column : column + width]
    return slabs[:, lane % SLAB : lane % SLAB + 16, column : column + width]


def as_matrix(part: Array, layout: str) -> Array:
    """A region as [row, column]."""
    if layout == "full":
        return part
    if layout == "quarter":
        return part.reshape(64, -1)
    return part.transpose(1, 0, 2).reshape(part.shape[1], -1)


def from_matrix(matrix: Array, layout: str) -> Array:
    """A matrix [row, column] in the shape of its region."""
    if layout == "full":
        return matrix
    if layout == "quarter":
        return matrix.reshape(4, 16, -1)
    parts = folds(layout)
    return matrix.reshape(matrix.shape[0], parts, -1).transpose(1, 0, 2)


# Registers of a .x1 move, and their bits in a lane. Source: PTX ISA, "tcgen05: Data Movement Shape".
MOVES = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}


@lru_cache(maxsize=256)
def move_places(shape: str, repeats: int, split: int) -> tuple[Array, Array]:
    """Lane and column [register, thread of the warp] relative to the address; split: the offset of 16x32bx2."""
    register = np.arange(MOVES[shape] * repeats)[:, None]
    thread = np.arange(32)[None, :]
    zero = 0 * register + 0 * thread
    if shape == "32x32b":
        return thread + zero, register + zero
    if shape == "16x32bx2":
        return thread % 16 + zero, register + thread // 16 * split
    if shape == "16x64b":
        return thread // 4 + 8 * (thread % 2) + zero, 2 * register + thread // 2 % 2
    if shape == "16x128b":
        return thread // 4 + 8 * (register % 2), thread % 4 + 4 * (register // 2)
    return thread // 4 + 8 * (register // 2 % 2), 2 * (thread % 4) + register % 2 + 8 * (register // 4)

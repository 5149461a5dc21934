"""Operand tiles that descriptors name, read from the shared memory of several CTAs at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxsim.descriptors import UNIT, Descriptor, DescriptorError, tile_cells
from ptxsim.elements import BITS, decoder, used_bytes
from ptxsim.grains import grains
from ptxsim.machine import Machine
from ptxsim.ptx_types import Array


@dataclass(slots=True)
class Tile:
    """The 16-byte cells of distinct tiles [tile, ...], and which tile each asker gets (None: its own).

    grains: those of every asker [asker, n], once they were asked for.
    """

    cells: Array
    which: Array | None
    grains: Array | None = None


class TileReader:
    """Reads tiles of `rows` times `k` elements that descriptors name; caches the cells of each set of them."""

    def __init__(
        self,
        machine: Machine,
        parse: Callable[[int], Descriptor],
        element: str,
        rows: int,
        k: int,
        k_major: bool,
        used: int | None = None,
    ) -> None:
        """used: bytes at the front of every 16 that are not padding, if the element does not determine it."""
        self._machine = machine
        self._parse = parse
        self._rows = rows
        self._k_major = k_major
        bits = BITS[element]
        self._k_size = k * bits // 8
        self._element_bytes = max(bits // 8, 1)
        self._used = used_bytes(element) if used is None else used
        self._decode = decoder(element)
        self._known: dict[tuple[bytes, bytes], Tile] = {}
        self._places: dict[int, Array] = {}

    def tile(self, descriptors: Array, cta: Array) -> Tile:
        """The cells for descriptors [asker] (u64) in the shared memory of CTAs [asker]. Raises DescriptorError."""
        key = descriptors.tobytes(), cta.tobytes()
        found = self._known.get(key)
        if found is None:
            found = self._find(descriptors, cta)
            if len(self._known) >= 512:
                self._known.clear()
            self._known[key] = found
        return found

    def _find(self, descriptors: Array, cta: Array) -> Tile:
        pairs = list(zip(cta.tolist(), descriptors.tolist(), strict=True))
        distinct = list(dict.fromkeys(pairs))
        owner = np.array([owner for owner, _ in distinct])
        places = {bits: self._inside(bits) for _, bits in distinct}
        one = len(places) == 1
        cells = places[distinct[0][1]][None] if one else np.stack([places[bits] for _, bits in distinct])
        cells = cells + (owner * (self._machine.shared.stride // UNIT)).reshape(-1, *[1] * (cells.ndim - 1))
        numbers = {pair: number for number, pair in enumerate(distinct)}
        which = None if len(distinct) == len(pairs) else np.array([numbers[pair] for pair in pairs])
        return Tile(cells, which)

    def _inside(self, bits: int) -> Array:
        """The cells that a descriptor names in the shared memory of a CTA. Raises DescriptorError."""
        found = self._places.get(bits)
        if found is None:
            shared = self._machine.shared
            found = self._cells(self._parse(bits)) - shared.base // UNIT
            low, high = int(found.min()), int(found.max())
            if low < 0 or (high + 1) * UNIT > -(-shared.size // UNIT) * UNIT:
                wrong = low if low < 0 else high
                raise DescriptorError(
                    f"matrix descriptor {bits:#018x} reads byte {wrong * UNIT} of {shared.size} bytes of shared memory"
                )
            if len(self._places) >= 512:
                self._places.clear()
            self._places[bits] = found
        return found

    def _cells(self, descriptor: Descriptor) -> Array:
        return tile_cells(descriptor, self._rows, self._k_size, self._element_bytes, self._k_major)

    def grains(self, tile: Tile, asker: int, grain: int) -> Array:
        """The grains of the machine's shared memory that an asker's tile occupies, without padding."""
        cells = tile.cells[asker if tile.which is None else int(tile.which[asker])]
        return grains(cells, UNIT, grain, self._used).reshape(-1)

    def all_grains(self, tile: Tile, grain: int) -> Array:
        """The grains [asker, n] of the machine's shared memory that every asker's tile occupies, without padding."""
        if tile.grains is None:
            cells = tile.cells if tile.which is None else tile.cells[tile.which]
            tile.grains = grains(cells, UNIT, grain, self._used).reshape(cells.shape[0], -1)
        return tile.grains

    def raw(self, tile: Tile) -> Array:
        """The bytes of the tiles: [tile, row, k bytes], or [tile, k, row bytes] for MN-major."""
        data = self._machine.shared.cells[UNIT].take(tile.cells)
        return data.view(np.uint8)

    def values(self, tile: Tile) -> Array:
        """The elements [tile, row, k] as float32."""
        values = self._decode(self.raw(tile))
        return values if self._k_major else values[:, :, : self._rows].transpose(0, 2, 1)

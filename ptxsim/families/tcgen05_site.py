"""The location of a tcgen05 instruction: its tensor core, its errors, and its reports to hazard tracking."""

from collections.abc import Sequence

from ptxsim.access import Site
from ptxsim.decode import Decode
from ptxsim.errors import OperandError, SimulatorError
from ptxsim.shared_tiles import Tile, TileReader
from ptxsim.tensor_core import TensorCore
from ptxsim.tensor_order import Rows


def group_size(d: Decode) -> int:
    """The CTAs of .cta_group. Raises if a pair needs a cluster that the launch does not have."""
    size = int(d.need("cta_group::1", "cta_group::2")[-1])
    if size == 2 and d.machine.geometry.cluster_size % 2:
        raise d.error(OperandError, "cta_group::2 needs clusters with an even number of CTAs")
    return size


def _core(d: Decode) -> TensorCore:
    """The tensor core of the launch, created when its first instruction is decoded."""
    for part in d.binding.transfers.parts:
        if isinstance(part, TensorCore):
            return part
    core = TensorCore(d.machine, d.binding.transfers, d.binding.hazards)
    d.binding.transfers.parts.append(core)
    return core


class TensorSite(Site):
    """A Site with the launch's tensor core."""

    def __init__(self, d: Decode) -> None:
        super().__init__(d.machine, d.instruction)
        self.core = _core(d)

    def cta(self, lane: int) -> int:
        """The CTA of a lane, as a number in the machine."""
        return lane // self.machine.slots

    def wrong(self, lane: int, problem: str) -> SimulatorError:
        """An error of one lane."""
        return self.error(OperandError, f"{self.machine.describe(lane)} {problem}")

    def begin(self, lane: int, kind: str, shape: object) -> int:
        """Report the start of an operation to hazard tracking; returns its number there."""
        order = self.core.order
        return 0 if order is None else order.begin(self, [lane], kind, shape)[0]

    def reads_shared(self, lane: int, number: int, reader: TileReader, tile: Tile, asker: int = 0) -> None:
        """The operation reads one asker's tile from shared memory."""
        tracker, order = self.core.tracker, self.core.order
        if tracker is not None and order is not None:
            grains = reader.all_grains(tile, tracker.grain)
            one = slice(asker, asker + 1)
            tracker.async_read(self, grains[one], [lane], None, tracker.regions.of_tiles(grains)[one])
            where = tracker.regions.of_tiles(grains)[one]
            tracker.async_reads.begin_for(self, where, [lane], [number], order)

    def all_read_shared(self, lanes: Sequence[int], numbers: Sequence[int], reader: TileReader, tile: Tile) -> None:
        """Operations of lanes read from shared memory, each the tile of the asker at its position."""
        tracker, order = self.core.tracker, self.core.order
        if tracker is not None and order is not None:
            grains = reader.all_grains(tile, tracker.grain)
            tracker.async_read(self, grains, lanes, None, tracker.regions.of_tiles(grains))
            where = tracker.regions.of_tiles(grains)
            tracker.async_reads.begin_for(self, where, lanes, numbers, order)

    def reads(self, number: int, cta: int, lanes: Rows, columns: Rows, after: tuple[str, ...]) -> None:
        """The operation reads cells of tensor memory; after: kinds of operations implicitly ordered before it."""
        if self.core.order is not None:
            self.core.order.read(number, cta, lanes, columns, after)

    def writes(self, number: int, cta: int, lanes: Rows, columns: Rows) -> None:
        """The operation writes cells of tensor memory."""
        if self.core.order is not None:
            self.core.order.write(number, cta, lanes, columns)

"""st.bulk: fills a range of shared memory with zeros (from sm_100 on)."""

from collections.abc import Callable

import numpy as np

from ptxsim.access import Site
from ptxsim.decode import Decode, Step
from ptxsim.errors import MisalignedError
from ptxsim.families.load_store import address_values
from ptxsim.floors import Floor
from ptxsim.memory import Fault
from ptxsim.program import Immediate
from ptxsim.ptx_types import TYPES, Array

# st.bulk clears a multiple of 8 bytes. Source: PTX ISA, "st.bulk".
_CLEARED = 8


def decode_bulk_clear(d: Decode) -> Step:
    """st.bulk{.weak}{.shared::cta} [a], size, 0: fills a range of shared memory with zeros."""
    d.take("bulk")
    d.take("weak")
    space = d.take("shared::cta")
    d.finish(3)
    if d.operands[2] != Immediate(0):
        raise d.unsupported("st.bulk of anything but 0")
    machine = d.machine
    site = Site(machine, d.instruction)
    addresses = address_values(d, d.address(0), 32 if space else 64)
    sizes = d.read(1, TYPES["u64"])
    shared, tracker = machine.shared, d.binding.hazards
    zero = np.zeros(1, np.uint8)

    def clear(lane: int, address: int, size: int) -> None:
        if size % _CLEARED:
            raise site.error(MisalignedError, f"{machine.describe(lane)} clears {size} bytes, not a multiple of 8")
        mask = np.zeros(machine.lanes, np.bool_)
        mask[lane] = True
        for offset in range(0, size, _CLEARED):
            try:
                index = shared.index(np.array([address + offset], np.uint32), _CLEARED, mask)
            except Fault as fault:
                raise site.fault(fault, mask) from None
            if tracker is not None:
                tracker.stores(shared.cells[8], site, _CLEARED, mask, index, np.zeros(1, np.uint64), strong=False)
            shared.cells[8][index] = zero

    def step(mask: Array | None) -> None:
        lanes = machine.lane_numbers(mask)
        where = (addresses()[lanes] & 0xFFFFFFFF).tolist()
        for lane, address, size in zip(lanes.tolist(), where, sizes[lanes].tolist(), strict=True):
            clear(lane, address, size)

    return step


OPCODES: dict[str, Callable[[Decode], Step]] = {"st.bulk": decode_bulk_clear}
FLOORS = (Floor("st.bulk", "100", "8.6"),)

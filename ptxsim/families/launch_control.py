"""griddepcontrol, and clusterlaunchcontrol: taking over the work of a cluster that has not started.

The response of a request is opaque; here it holds the index of the cancelled cluster's first CTA and whether there is
such a cluster. Source: PTX ISA, "griddepcontrol", "clusterlaunchcontrol.try_cancel",
"clusterlaunchcontrol.query_cancel".
"""

from collections.abc import Callable

import numpy as np

from ptxsim.access import Site
from ptxsim.bulk_operands import COMPLETE, SharedRange, Signal
from ptxsim.decode import Decode, Step
from ptxsim.findings import Kind
from ptxsim.floors import Floor
from ptxsim.program import Operand, Sink
from ptxsim.ptx_types import TYPES, Array
from ptxsim.transfers import Transfer

_RESPONSE = 16
_WORD = np.dtype(np.uint32)
_OWN = "shared::cta"


def decode_grid_dependency(d: Decode) -> Step | None:
    """griddepcontrol.launch_dependents and .wait: launches run in sequence; hazard tracking records the wait."""
    action, tracker = d.need("launch_dependents", "wait"), d.binding.hazards
    d.finish(0)
    return None if tracker is None or action != "wait" else tracker.grids.wait


def decode_cluster_launch(d: Decode) -> Step:
    """clusterlaunchcontrol.try_cancel.async and .query_cancel."""
    if d.flag("query_cancel"):
        return _query(d)
    d.need("try_cancel")
    d.need("async")
    d.take(_OWN)
    d.need(COMPLETE)
    is_multicast = d.flag("multicast::cluster::all")
    if d.type().name != "b128":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(2)
    machine, transfers, tracker = d.machine, d.binding.transfers, d.binding.hazards
    site = Site(machine, d.instruction)
    destination, signal = SharedRange(d, site, 0, _OWN), Signal(d, site, 1, _OWN)
    size, stride = machine.geometry.cluster_size, machine.shared.stride

    def step(mask: Array | None) -> None:
        for lane in d.machine.lane_numbers(mask).tolist():
            start, cell = destination.start(lane), signal.cell(lane)
            response = _take_cluster(d, lane)
            rank = start // stride % size
            shifts = [(other - rank) * stride for other in range(size)] if is_multicast else [0]
            for shift in shifts:
                cells = destination.cells(lane, start + shift, _RESPONSE)
                if tracker is not None:
                    tracker.check_response(site, start + shift + np.arange(_RESPONSE), lane)
                transfers.issue(
                    Transfer(
                        site,
                        lane,
                        lambda response=response: response,
                        _writer(machine.shared.bytes, start + shift),
                        target=cells,
                        cell=cell + (shift >> 3),
                        size=_RESPONSE,
                    )
                )

    return step


def _take_cluster(d: Decode, lane: int) -> Array:
    """The response to a request: the next cluster that has not started, which will then never start."""
    clusters, failed = d.machine.clusters, d.binding.transfers.failed_requests
    cluster = int(d.machine.cta_of_lane[lane]) // clusters.size
    if cluster in failed:
        who = d.machine.describe(lane)
        d.machine.findings.found(
            Kind.CLUSTER_REQUEST,
            f"{who} asks for another cluster after a request of its cluster failed; stop then",
            d.instruction,
            who,
        )
    words = (0, 0, 0, 0)
    if clusters.waiting:
        words = (*clusters.first_cta(clusters.waiting.popleft()), 1)
    else:
        failed.add(cluster)
    return np.array(words, _WORD).view(np.uint8)


def _writer(shared: Array, start: int) -> Callable[[Array], None]:
    def write(data: Array) -> None:
        shared[start : start + _RESPONSE] = data

    return write


def _query(d: Decode) -> Step:
    if d.flag("is_canceled"):
        if [type_.name for type_ in d.types] != ["pred", "b128"]:
            raise d.unsupported(f"`{d.instruction.opcode}`")
        d.finish(2)
        return _extract(d, [(d.operands[0], 3)], "pred")
    name = d.take("get_first_ctaid")
    axis = None if name else d.need("get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z")
    is_vector = d.flag("v4")
    if [type_.name for type_ in d.types] != ["b32", "b128"] or is_vector != (axis is None):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(2)
    if axis is not None:
        return _extract(d, [(d.operands[0], "xyz".index(axis[-1]))], "b32")
    items = d.vector(0, (4,))
    return _extract(d, [(item, number) for number, item in enumerate(items) if not isinstance(item, Sink)], "b32")


def _extract(d: Decode, wanted: list[tuple[Operand, int]], type_name: str) -> Step:
    """Words of the response into registers."""
    words = d.read(1, TYPES["b128"]).view(_WORD)
    targets = [(d.target(operand, TYPES[type_name]), number) for operand, number in wanted]

    def step(mask: Array | None) -> None:
        for target, number in targets:
            values = words[:, number].astype(target.dtype)
            if mask is None:
                np.copyto(target, values)
            else:
                np.putmask(target, mask, values)

    return step


OPCODES: dict[str, Callable[[Decode], Step | None]] = {
    "griddepcontrol": decode_grid_dependency,
    "clusterlaunchcontrol": decode_cluster_launch,
}
FLOORS = (
    Floor("griddepcontrol", "90", "7.8"),
    Floor("clusterlaunchcontrol", "100", "8.6"),
    Floor("clusterlaunchcontrol multicast::cluster::all", "100f 110f 120f", "8.6"),
)

"""fence and membar: of the generic proxy, between proxies, for mbarrier.init.

Memory operations of threads run one at a time in program order, so fences of the generic proxy hold trivially; those
between proxies matter to hazard tracking. Source: PTX ISA, "membar, fence".
"""

from collections.abc import Callable

from ptxsim.decode import Decode, Step
from ptxsim.errors import OperandError
from ptxsim.families.load_store import address_values
from ptxsim.floors import Floor
from ptxsim.ptx_types import Array
from ptxsim.tensormap import MAP_BYTES

_SCOPES = ("cta", "cluster", "gpu", "sys")
_RESTRICTED = ("sync_restrict::shared::cta", "sync_restrict::shared::cluster")


def decode_fence(d: Decode) -> Step | None:
    """fence{.sem}.scope, fence.mbarrier_init, fence.proxy.*."""
    if d.flag("proxy"):
        return _proxy(d)
    if d.flag("mbarrier_init"):
        d.need("release")
        d.need("cluster")
        d.finish(0)
        tracker = d.binding.hazards
        return None if tracker is None else tracker.init_fence
    order = d.take("sc", "acq_rel", "acquire", "release")
    if order in ("acquire", "release"):
        _take_restriction(d, order)
    d.need(*_SCOPES)
    d.finish(0)
    return _generic(d, order != "acquire", order != "release")


def _generic(d: Decode, releases: bool, acquires: bool) -> Step | None:
    tracker = d.binding.hazards
    return None if tracker is None else lambda mask: tracker.fence(mask, releases, acquires)


def _take_restriction(d: Decode, order: str) -> None:
    """.sync_restrict goes with .cluster: shared::cta with release, shared::cluster with acquire."""
    restriction = d.take(*_RESTRICTED)
    if restriction is not None and restriction != _RESTRICTED[order == "acquire"]:
        raise d.unsupported(f"`{d.instruction.opcode}`")


def decode_membar(d: Decode) -> Step | None:
    """membar.level and membar.proxy.kind, the older names of fences."""
    if d.flag("proxy"):
        return _proxy(d)
    d.need("cta", "gl", "sys")
    d.finish(0)
    return _generic(d, releases=True, acquires=True)


def _proxy(d: Decode) -> Step | None:
    kind = d.need("async", "alias", "async::generic", "tensormap::generic")
    tracker = d.binding.hazards
    if kind == "tensormap::generic":
        return _tensormap(d)
    space = d.take("global", "shared::cta", "shared::cluster") if kind == "async" else None
    if kind == "async::generic":
        _take_restriction(d, d.need("acquire", "release"))
        d.need("cluster")
    d.finish(0)
    if tracker is None or kind == "alias":
        return None
    if space is not None:
        return tracker.global_fence if space == "global" else tracker.proxy_fence

    def both(mask: Array | None) -> None:
        tracker.proxy_fence(mask)
        if kind == "async":
            tracker.global_fence(mask)

    return both


def _tensormap(d: Decode) -> Step | None:
    """fence.proxy.tensormap::generic: makes a tensor map changed through the generic proxy visible to the tensormap
    proxy.
    """
    order = d.need("acquire", "release")
    d.need(*_SCOPES)
    d.finish(2 if order == "acquire" else 0)
    maps, machine = d.binding.transfers.maps, d.machine
    if order == "release":
        return lambda mask: maps.released()
    values = address_values(d, d.address(0), 64)
    if d.constant_int(1) != MAP_BYTES:
        raise d.error(OperandError, f"fence.proxy.tensormap::generic.acquire covers {MAP_BYTES} bytes")

    def step(mask: Array | None) -> None:
        for lane in d.machine.lane_numbers(mask).tolist():
            maps.acquired(int(values()[lane]), int(machine.cta_of_lane[lane]))

    return step


OPCODES: dict[str, Callable[[Decode], Step | None]] = {"fence": decode_fence, "membar": decode_membar}
FLOORS = (
    Floor("fence.proxy.alias", "", "7.5"),
    Floor("fence.proxy.async", "90", "8.0"),
    Floor("fence.mbarrier_init", "90", "8.0"),
    Floor("fence.proxy.tensormap::generic", "90", "8.3"),
    Floor("fence.acquire", "90", "8.6"),
    Floor("fence.release", "90", "8.6"),
    Floor("fence.proxy.async::generic", "90", "8.6"),
    Floor("membar.proxy", "", "7.5"),
)

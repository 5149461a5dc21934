"""The kinds of hazards, each declared once, and one that was found."""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """A kind of hazard: its name, used to suppress it, and its meaning."""

    RACE = "race", "threads access the same shared memory, one writes, and there is no barrier in between"
    COPY_RACE = (
        "copy-race",
        "bytes that a copy wrote are used by a thread that has not seen its mbarrier's phase complete",
    )
    COPY_IN_FLIGHT = (
        "copy-in-flight",
        "shared memory is used while a copy still writes it, or written while one reads it",
    )
    MATRIX_READS = "matrix-reads", "shared memory is written while wgmma or tcgen05 may still read it"
    REMOTE_MEMORY = (
        "remote-memory",
        "shared memory of a CTA of the cluster that may not have started or has ended is used",
    )
    GLOBAL_RACE = "global-race", "a copy reads global memory that another thread wrote without a barrier in between"
    GLOBAL_IN_FLIGHT = (
        "global-in-flight",
        "global memory is used while a bulk copy still writes it, or written while one reads",
    )
    PROXY_FENCE = "proxy-fence", "the async proxy uses what a generic write changed without fence.proxy.async between"
    UNWRITTEN_SHARED = "unwritten-shared", "shared memory is read before it has been written"
    UNWRITTEN_REGISTER = "unwritten-register", "a register is read before its thread has written it"
    UNWRITTEN_TENSOR = "unwritten-tensor", "tensor memory is used before it has been written"
    REGISTER_IN_FLIGHT = "register-in-flight", "a register is used while a wgmma or tcgen05.ld in flight owns it"
    WGMMA_FENCE = "wgmma-fence", "a wgmma uses a register with no wgmma.fence after the register's last use"
    TENSOR_IN_FLIGHT = (
        "tensor-in-flight",
        "tensor memory is used before the operation or move on it is known to be complete",
    )
    TENSOR_RACE = "tensor-race", "warps access the same tensor memory, one writes, and there is no barrier in between"
    TENSOR_ALLOCATION = (
        "tensor-allocation",
        "a CTA ends with tensor memory allocated, or with the permit to allocate that another waits for",
    )
    MBARRIER_OBJECT = "mbarrier-object", "an mbarrier object is accessed by instructions other than mbarrier"
    MBARRIER_INIT = "mbarrier-init", "an mbarrier is used before its init is known to the thread, or without one"
    MBARRIER_INVAL = "mbarrier-inval", "an mbarrier is invalidated while others may still use it"
    MBARRIER_COUNT = "mbarrier-count", "more arrivals or bytes than the phase of an mbarrier has room for"
    TX_COUNT = "tx-count", "the bytes that an mbarrier's phase expects and the bytes that arrive differ"
    UNFINISHED_COPY = "unfinished-copy", "a thread or CTA ends while its copy is in flight"
    MEMBER_MASK = "member-mask", "a lane that is not in its own member mask, or whose members name others"
    SHUFFLE_SOURCE = "shuffle-source", "a shuffle reads from a lane that does not take part"
    CLUSTER_BARRIER = "cluster-barrier", "barrier.cluster.arrive twice, or barrier.cluster.wait without an arrive"
    CLUSTER_REQUEST = "cluster-request", "clusterlaunchcontrol.try_cancel after a request that failed"
    TENSOR_MAP = "tensor-map", "a changed tensor map is used before it is released, or before this CTA has acquired it"
    GRID_DEPENDENCY = (
        "grid-dependency",
        "global memory written by the preceding launch is used before griddepcontrol.wait",
    )
    DEADLOCK = "deadlock", "no thread can go on; it always ends the run"

    def __init__(self, title: str, meaning: str) -> None:
        self.title = title
        self.meaning = meaning


@dataclass(slots=True)
class Hazard:
    """A hazard of one kind at one PTX line (None: no line): how often it was seen, and its first case.

    count: checks of the instruction that found it, each for all threads that run it together; thread: the first one;
    source: file and line of the program that the PTX was generated from, empty without a `.loc`.
    """

    kind: Kind
    line: int | None
    text: str
    thread: str
    message: str
    count: int = 1
    source: str = ""

"""Multiprocessors: which CTAs share one, which columns of its tensor memory each owns, and which may allocate.

The CTAs on an SM share its 512 columns. One that allocates takes the SM's permit, waits until enough columns in a row
are free, and keeps the permit until it gives it up or ends; until then the other CTAs on the SM wait. Both CTAs of a
pair allocate together, the same columns of their two SMs. The choice of columns is not specified; here the first free
ones are used. Source: PTX ISA, "tcgen05.alloc", "tcgen05.relinquish_alloc_permit"; CUTLASS, TMEM::Allocator1Sm, whose
release_allocation_lock lets the next CTA on the SM continue.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ptxsim.errors import LaunchError

if TYPE_CHECKING:
    from ptxsim.machine import Machine

COLUMNS = 512  # of an SM; PTX ISA, "Tensor Memory"
LEAST = 32  # columns of an allocation, a power of two; PTX ISA, "tcgen05.alloc"
# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", the same for all with tensor memory.
_THREADS, _CTAS = 2048, 32
_SHARED = 228 << 10
_RESERVED = 1 << 10  # bytes of shared memory in addition to those that each CTA requests


class AllocationError(Exception):
    """Internal: a wrong use of the allocator; the caller adds the instruction and the thread."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A CTA, by its number in its machine."""

    residents: "Residents"
    cta: int

    @property
    def sm(self) -> int:
        """The SM it runs on."""
        return self.residents.sm(self.cta)

    def __str__(self) -> str:
        return f"CTA {self.residents.describe(self.cta)} of `{self.residents.name}`"

    @property
    def has_ended(self) -> bool:
        """Whether all of its threads have exited."""
        return self.residents.has_ended(self.cta)


@dataclass(frozen=True, slots=True)
class Block:
    """Columns that were allocated together."""

    owner: Owner
    first: int
    columns: int


@dataclass(slots=True, eq=False)
class Request:
    """An allocation that a warp waits for; pair: whether both CTAs of a pair make it; first: the allocated column."""

    owner: Owner
    warp: int
    columns: int
    pair: bool
    first: int | None = None


@dataclass(slots=True)
class Sm:
    """One SM: the blocks of its columns, the holder of the permit, and the CTAs that gave it up for the rest of their
    lifetime.
    """

    blocks: list[Block] = field(default_factory=list[Block])
    permit: Owner | None = None
    relinquished: set[Owner] = field(default_factory=set[Owner])

    def room(self) -> np.ndarray:
        """Which columns are free."""
        free = np.ones(COLUMNS, np.bool_)
        for block in self.blocks:
            free[block.first : block.first + block.columns] = False
        return free

    def lacks(self, owner: Owner) -> str:
        """What an owner that cannot allocate here lacks, and which CTA has it."""
        if self.permit not in (None, owner):
            return f"the permit to allocate, which {self.permit} has not given up"
        held = [
            f"{each.owner}{', which has ended,' if each.owner.has_ended else ''} holds {each.columns} from column "
            f"{each.first}"
            for each in self.blocks
        ]
        free = int(np.count_nonzero(self.room()))
        return f"only {free} of {COLUMNS} are free ({'; '.join(held)})"


class Multiprocessors:
    """The SMs shared by launches. changes: counts changes that others may wait for; kept: CTAs that ended with the
    permit, and the CTAs that waited for it.
    """

    def __init__(self) -> None:
        self._sms: dict[int, Sm] = {}
        self._requests: list[Request] = []
        self.changes = 0
        self.kept: list[tuple[Owner, Owner]] = []

    def sm(self, number: int) -> Sm:
        """An SM by its number."""
        return self._sms.setdefault(number, Sm())

    def forget(self, residents: "Residents") -> None:
        """The CTAs of a machine have ended, and others follow."""
        for sm in self._sms.values():
            sm.blocks = [each for each in sm.blocks if each.owner.residents is not residents]
            sm.relinquished = {each for each in sm.relinquished if each.residents is not residents}
            if sm.permit is not None and sm.permit.residents is residents:
                sm.permit = None
        self._requests = [each for each in self._requests if each.owner.residents is not residents]
        self.kept = [each for each in self.kept if each[0].residents is not residents]

    def request(self, owner: Owner, warp: int, columns: int, pair: bool) -> Request:
        """The request of a warp, made earlier or now. Raises AllocationError."""
        for each in self._requests:
            if each.owner == owner and each.warp == warp:
                return each
        if not LEAST <= columns <= COLUMNS or columns & columns - 1:
            raise AllocationError(
                f"allocates {columns} columns; the number is a power of two from {LEAST} to {COLUMNS}"
            )
        if owner in self.sm(owner.sm).relinquished:
            raise AllocationError("allocates after its CTA gave up the permit (tcgen05.relinquish_alloc_permit)")
        made = Request(owner, warp, columns, pair)
        self._requests.append(made)
        return made

    def taken(self, request: Request) -> None:
        """A warp has received what it waited for."""
        self._requests.remove(request)

    def serve(self) -> None:
        """Allocate columns to waiting warps that may have them, in the order of their requests."""
        for request in self._requests:
            if request.first is None:
                together = self._together(request)
                if together and all(self._permits(each) for each in together):
                    self._grant(together)

    def _together(self, request: Request) -> list[Request]:
        """A request, and that of the other CTA of a pair; None until that one has asked."""
        if not request.pair:
            return [request]
        other = Owner(request.owner.residents, request.owner.cta ^ 1)
        found = [each for each in self._requests if each.owner == other and each.pair and each.first is None]
        for each in found[:1]:
            if each.columns != request.columns:
                raise AllocationError(
                    f"allocates {request.columns} columns, but {other} of its pair {each.columns}; both allocate alike"
                )
        return [request, found[0]] if found else []

    def _permits(self, request: Request) -> bool:
        """Whether a CTA may have the permit of its SM; a CTA that has ended no longer holds it."""
        sm = self.sm(request.owner.sm)
        holder = sm.permit
        if holder is None or holder == request.owner:
            return True
        if not holder.has_ended:
            return False
        self.kept.append((holder, request.owner))
        sm.permit = None
        return True

    def _grant(self, together: list[Request]) -> None:
        sms = [self.sm(each.owner.sm) for each in together]
        for sm, each in zip(sms, together, strict=True):
            sm.permit = each.owner
        free = np.logical_and.reduce([sm.room() for sm in sms])
        columns = together[0].columns
        for first in range(0, COLUMNS - columns + 1, LEAST):
            if free[first : first + columns].all():
                for sm, each in zip(sms, together, strict=True):
                    sm.blocks.append(Block(each.owner, first, columns))
                    each.first = first
                self.changes += 1
                return

    def free(self, owner: Owner, first: int, columns: int) -> None:
        """Free columns. Raises AllocationError if they were not allocated together."""
        block = Block(owner, first, columns)
        sm = self.sm(owner.sm)
        if block not in sm.blocks:
            raise AllocationError(f"frees {columns} columns at {first:#x}, which were not allocated together")
        sm.blocks.remove(block)
        self.changes += 1

    def relinquish(self, owner: Owner) -> None:
        """A CTA gives up its permit to allocate."""
        sm = self.sm(owner.sm)
        sm.relinquished.add(owner)
        if sm.permit == owner:
            sm.permit = None
        self.changes += 1

    def describe(self, request: Request) -> str:
        """What a warp waits for, and which CTA has it."""
        if request.pair and not self._together(request):
            other = Owner(request.owner.residents, request.owner.cta ^ 1)
            return f"{request.columns} columns of tensor memory, which {other} of its pair has to allocate as well"
        lacks = [self.sm(each.owner.sm).lacks(each.owner) for each in self._together(request)]
        return f"{request.columns} columns of tensor memory: " + "; on the other SM ".join(lacks)


class Residents:
    """The CTAs of one machine on multiprocessors.

    on_one_sm: how many of its CTAs share an SM; in clusters, those of the same rank, so that the CTAs of a pair are on
    two SMs.
    """

    def __init__(
        self, machine: "Machine", name: str = "", on_one_sm: int = 1, sms: Multiprocessors | None = None
    ) -> None:
        self._machine = machine
        self.name = name
        self._on_one_sm = on_one_sm
        self.sms = Multiprocessors() if sms is None else sms

    def sm(self, cta: int) -> int:
        """The SM of a CTA."""
        size = self._machine.geometry.cluster_size
        return cta // size // self._on_one_sm * size + cta % size

    def has_ended(self, cta: int) -> bool:
        """Whether all threads of a CTA have exited."""
        live, slots = self._machine.live, self._machine.slots
        return live is not None and not live[cta * slots : (cta + 1) * slots].any()

    def describe(self, cta: int) -> str:
        """Name a CTA by its index in the grid."""
        return self._machine.describe_cta(cta)

    def owner(self, cta: int) -> Owner:
        """A CTA as an owner of columns."""
        return Owner(self, cta)

    def kept(self) -> list[tuple[Owner, Owner]]:
        """Its CTAs that ended with the permit to allocate, and those that waited for it."""
        return [each for each in self.sms.kept if each[0].residents is self]


@dataclass(frozen=True, slots=True)
class Demand:
    """The resources of one kernel's CTAs on an SM: their number, and the threads and bytes of shared memory of each."""

    ctas: int
    threads: int
    shared: int


def check_demands(demands: list[Demand]) -> None:
    """Raise LaunchError if CTAs do not fit on one SM together."""
    rows: list[tuple[str, int, int, Callable[[Demand], int]]] = [
        ("CTAs", 0, _CTAS, lambda each: 1),
        ("threads", 0, _THREADS, lambda each: each.threads),
        ("bytes of shared memory", _RESERVED, _SHARED, lambda each: each.shared),
    ]
    for name, beside, limit, of in rows:
        wanted = sum(each.ctas * (of(each) + beside) for each in demands)
        if wanted > limit:
            more = f", {beside} of each CTA for the system" if beside else ""
            raise LaunchError(f"the CTAs do not fit on one SM: {wanted} {name}{more}; it has {limit}")

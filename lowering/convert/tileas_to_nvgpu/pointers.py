"""Accesses through tiles of pointers: loads on demand, copies to shared memory, stores."""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Type, Value
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.registers import Registers
from lowering.convert.tileas_to_nvgpu.views import (
    SharedWindow,
    Vectors,
    in_batches,
    load,
    owner,
    start_copy,
    store,
    vector_of,
)
from lowering.layouts.access import async_copy, global_access
from lowering.layouts.layout import LayoutError
from lowering.layouts.shared import SharedLayout

PREDICATES = 6  # of a thread: P0 to P6 in SASS, sm_80 to sm_120, one of which ptxas 13.5 uses for address carries


class GatherLoad(Vectors):
    """A tile loaded through a tile of pointers, `width` consecutive elements an access along the last dimension."""

    def __init__(
        self,
        emitter: Emitter,
        element: Type,
        pointers: Registers,
        mask: Registers | None,
        other: Registers | None,
        shape: tuple[int, ...],
        width: int,
        cache: str = "",
        **how: object,
    ):
        self.how = how
        self.plan = global_access(pointers.layout, shape, len(shape) - 1, width)
        super().__init__(emitter, pointers.layout, element, self.plan, cache)
        self.pointers, self.mask, self.other = pointers, mask, other

    def access(self, number: int) -> Value:
        """One vector load under the mask of its first element."""
        registers = self.plan.accesses[number].registers
        inside = None if self.mask is None else self.mask.scalar(registers[0])
        padding: float | Value = 0.0
        if self.other is not None and inside is not None:
            padding = vector_of(self.emitter, self.other, registers)
        pointer = self.pointers.scalar(registers[0])
        return load(self.emitter, pointer, self.element, self.width, inside, padding, cache=self.cached(), **self.how)


def scatter(
    emitter: Emitter,
    pointers: Registers,
    value: Registers,
    mask: Registers | None,
    shape: tuple[int, ...],
    width: int,
    together: Sequence[Registers] = (),
    **ordering: object,
) -> None:
    """Store through a tile of pointers; only one of the threads that hold replicas writes. `together`: tiles computed
    alongside.

    If there are a few more masks than a thread has predicates, the first ones are rematerialised, so that all loads
    under the same masks can be in flight; with twice as many, ptxas 13.5 waits for some in any case.
    """
    plan = global_access(value.layout, shape, len(shape) - 1, width)
    condition = owner(emitter, plan.free)
    masks = len(plan.accesses)
    again = masks - PREDICATES if masks < 2 * PREDICATES else 0
    for number, (access, each) in enumerate(in_batches(emitter, value, plan.accesses, together)):
        first = access.registers[0]
        inside = emitter.both(None if mask is None else mask.scalar(first), condition)
        store(emitter, each, pointers.scalar(first), inside, compare_again=number < again, **ordering)


def gather_to_shared(
    emitter: Emitter,
    pointers: Registers,
    mask: Registers | None,
    shape: tuple[int, ...],
    width: int,
    target: Value,
    layout: SharedLayout,
    enable: Value | None,
    skips: bool,
) -> None:
    """Copy runs of `width` elements addressed by pointers to shared memory with cp.async; masked runs become zeros, and
    all runs if `enable` is false, unless it `skips` them.
    """
    nbytes = width * layout.element_bytes
    plan = async_copy(pointers.layout, shape, len(shape) - 1, layout, nbytes)
    if plan is None or plan.bytes != nbytes:
        raise LayoutError(f"cp.async of {nbytes} bytes cannot copy a tile gathered as {pointers.layout}")
    place = SharedWindow(emitter, target, plan.target_thread, layout.element_bytes)
    for copy in plan.copies:
        first = copy.source.registers[0]
        masked = None if mask is None else mask.scalar(first)
        inside, started = (masked, enable) if skips else (emitter.both(masked, enable), None)
        start_copy(emitter, place.pointer(copy.target), pointers.scalar(first), nbytes, inside, None, started)

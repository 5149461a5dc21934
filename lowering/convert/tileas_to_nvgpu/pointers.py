"""Accesses through tiles of pointers: loads that are made when they are asked for, and stores."""

from __future__ import annotations

from typing import Any

from ir.core import Type, Value
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.registers import Registers
from lowering.convert.tileas_to_nvgpu.views import Vectors, batches, load, owner, store, vector_of
from lowering.layouts.access import global_access
from lowering.layouts.elements import element_bytes


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
        **how: Any,
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
        how = {"cache": self.cached(), **self.how}
        return load(self.emitter, pointer, self.element, self.width, inside, padding, **how)


def scatter(
    emitter: Emitter, pointers: Registers, value: Registers, mask: Registers | None, shape: tuple[int, ...],
    width: int, **ordering: Any,
) -> None:  # fmt: skip
    """Store through a tile of pointers; of threads that hold replicas only one writes."""
    plan = global_access(value.layout, shape, len(shape) - 1, width)
    condition = owner(emitter, plan.free)
    for batch in batches(plan.accesses, element_bytes(value.element)):
        values = [vector_of(emitter, value, access.registers) for access in batch]
        for access, each in zip(batch, values, strict=True):
            first = access.registers[0]
            inside = emitter.both(None if mask is None else mask.scalar(first), condition)
            store(emitter, each, pointers.scalar(first), inside, **ordering)

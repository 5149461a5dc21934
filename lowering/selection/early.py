"""Which tiles of loops may be copied iterations ahead, and by whom."""

from __future__ import annotations

from egraph.saturate import Saturated
from lowering.placement.ahead import ahead, foreseen, promised
from lowering.selection.resources import has_producer
from lowering.targets import Target


class Early:
    """The value classes of tiles that loads of loops may fetch before their iteration."""

    def __init__(self, saturated: Saturated, target: Target):
        program, class_of = saturated.program, saturated.frozen.class_of
        found = set(ahead(program)) - promised(program, saturated.frozen)
        self.target = target
        self.values = {class_of(number) for number in found}
        loads = {number: program.source[number] for number in found}
        self.foreseen = {class_of(number) for number, op in loads.items() if foreseen(op)}

    def __contains__(self, value: int) -> bool:
        return value in self.values

    def boxed(self, without: frozenset[int]) -> bool:
        """Is there a tile that tensor copies may fetch ahead, other than those that may go `without`?"""
        return has_producer(self.target, True) and not self.values <= without

    def copied(self, value: int, *, boxed: bool) -> bool:
        """May copies of a tile run ahead, tensor copies (`boxed`) or cp.async? Readers of their own ring know only what
        the counter implies about later iterations; an agent executes them.
        """
        return value in self.values and (value in self.foreseen or has_producer(self.target, boxed))

"""Opcodes shared by integers, floats and packed floats: one row each; the types choose the family."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ptxsim.decode import Decode, Step
from ptxsim.families import floating, integer, packed

Decoder: TypeAlias = Callable[[Decode], Step]


@dataclass(frozen=True, slots=True)
class ByType:
    """The decoders of an opcode by the types of the instruction; None if a family does not have it."""

    integers: Decoder | None
    floats: Decoder | None
    packs: Decoder | None

    def __call__(self, d: Decode) -> Step:
        """Decode with the family of the last type, if there is a choice."""
        if self.packs is not None and packed.is_packed(d):
            return self.packs(d)
        if self.integers is None or self.floats is None:
            decoder = self.integers or self.floats
        else:
            decoder = self.floats if d.types and d.types[-1].is_float else self.integers
        if decoder is None:
            raise d.unsupported(f"`{d.instruction.opcode}`")
        return decoder(d)


OPCODES = {
    name: ByType(integer.OPCODES.get(name), floating.OPCODES.get(name), packed.OPCODES.get(name))
    for name in sorted({*integer.OPCODES, *floating.OPCODES, *packed.OPCODES})
}
FLOORS = (*integer.FLOORS, *floating.FLOORS, *packed.FLOORS)

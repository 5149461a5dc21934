"""Scopes of debug information: which function a place belongs to, and what a module's places must keep to.

Source: the public cuda_tile dialect's verifier of debug information, and tileirdisasm 13.5, which refuses the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ir.core import Location, VerifyError
from ir.records import dataclass

WHAT_TO_DO = "leave the scopes out, or export the kernel again"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a place says beside file, line and column; of a call, what its caller says."""

    subprogram: Hashable = None
    """Equal for the same subprogram, None where the place names none."""
    linkage: str = ""
    """The subprogram's linkage name."""
    block: bool = False
    """Whether the place is in a lexical block of the subprogram."""
    call: bool = False
    """Whether the place is a call site."""


NO_SCOPE = Scope()


def check_function(name: str, scope: Scope, location: Location) -> None:
    """The place of a function is in the subprogram of its name, or in none. Raises VerifyError."""
    if scope.call:
        raise VerifyError(f"the place of @{name} is a call site; a function's is its definition", location, WHAT_TO_DO)
    if scope.block:
        raise VerifyError(f"the place of @{name} is in a lexical block, not a subprogram", location, WHAT_TO_DO)
    if scope.subprogram is not None and scope.linkage != name:
        message = f"the place of @{name} is in the subprogram of '{scope.linkage}', not its own"
        raise VerifyError(message, location, WHAT_TO_DO)


def check_operations(name: str, function: Scope, found: Iterable[tuple[Scope, Location]]) -> None:
    """The places of a function's operations are in its subprogram, or in none. Raises VerifyError."""
    for scope, location in found:
        if scope.subprogram is None or scope.subprogram == function.subprogram:
            continue
        if function.subprogram is None:
            message = f"this operation has a debug scope, but its function @{name} has none"
        else:
            message = f"this operation is in the subprogram of '{scope.linkage}', its function @{name} in another"
        raise VerifyError(message, location, WHAT_TO_DO)


def check_global(name: str, scope: Scope, location: Location) -> None:
    """Globals stand in no function. Raises VerifyError."""
    if scope.subprogram is not None:
        raise VerifyError(f"the place of the global @{name} has a debug scope", location, WHAT_TO_DO)

"""Scopes of debug information: the function to which a location belongs, and the rules for a module's locations.

Source: the public cuda_tile dialect's verifier of debug information, and tileirdisasm 13.5, which rejects the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ir.core import Location, VerifyError
from ir.records import dataclass

WHAT_TO_DO = "leave the scopes out, or export the kernel again"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a location contains besides file, line and column; for a call, that of its caller."""

    subprogram: Hashable = None
    """Equal for the same subprogram, None if the location names none."""
    linkage: str = ""
    """The subprogram's linkage name."""
    block: bool = False
    """Whether the location is in a lexical block of the subprogram."""
    call: bool = False
    """Whether the location is a call site."""


NO_SCOPE = Scope()


def check_function(name: str, scope: Scope, location: Location) -> None:
    """The location of a function must be in the subprogram of its name, or in none. Raises VerifyError."""
    if scope.call:
        raise VerifyError(
            f"the debug location of @{name} is a call site: expected its definition", location, WHAT_TO_DO
        )
    if scope.block:
        raise VerifyError(
            f"the debug location of @{name} is in a lexical block: expected a subprogram", location, WHAT_TO_DO
        )
    if scope.subprogram is not None and scope.linkage != name:
        message = f"the debug location of @{name} is in the subprogram of '{scope.linkage}': expected its own"
        raise VerifyError(message, location, WHAT_TO_DO)


def check_operations(name: str, function: Scope, found: Iterable[tuple[Scope, Location]]) -> None:
    """The locations of a function's operations must be in its subprogram, or in none. Raises VerifyError."""
    for scope, location in found:
        if scope.subprogram is None or scope.subprogram == function.subprogram:
            continue
        if function.subprogram is None:
            message = f"this operation has a debug scope, but its function @{name} has none"
        else:
            message = f"this operation is in the subprogram of '{scope.linkage}', its function @{name} in another"
        raise VerifyError(message, location, WHAT_TO_DO)


def check_global(name: str, scope: Scope, location: Location) -> None:
    """Globals must not be in a function. Raises VerifyError."""
    if scope.subprogram is not None:
        raise VerifyError(f"the debug location of the global @{name} has a scope", location, WHAT_TO_DO)

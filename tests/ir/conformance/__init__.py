"""What the verifier and the readers must refuse: the conditions of the public conformance suite, by programs of ours.

The suite is test/Dialect/CudaTile of NVIDIA's public cuda-tile repository, bytecode up to 13.3, whose tests hold 833
`expected-error` lines. `lines` says how many of them name the condition of a case for its operation; 0 marks one that
the suite has no line for. Programs and wording are our own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One condition: the program that breaks it, and part of the message that must say so."""

    operation: str
    """The mnemonic, or what else is at fault: `type`, `literal`, `module`, `location`."""
    condition: str
    program: str
    says: str
    lines: int = 1


def function(parameters: str, body: str) -> str:
    """A function whose parameters may have any type, around `body`."""
    return f"testing$func @f({parameters}) {{\n  {body}\n}}\n"


def case(operation: str, condition: str, parameters: str, body: str, says: str, lines: int = 1) -> Case:
    """A case whose program is one function."""
    return Case(operation, condition, function(parameters, body), says, lines)

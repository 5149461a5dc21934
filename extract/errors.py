"""The errors of extract/; each message says what is wrong and where."""

from __future__ import annotations

from collections.abc import Callable


class ExtractionError(Exception):
    """Anything that stops an extraction, and the root of every error of this package."""


class GraphError(ExtractionError):
    """The e-graph handed in is malformed (a dangling child, a class without nodes, a NaN cost ...)."""


class GraphWarning(UserWarning):
    """Part of a file was ignored, and the rest still makes sense."""


class InfeasibleError(ExtractionError):
    """No acyclic choice of nodes meets the constraints; the message names the class, group or resource row.

    reason: the message, or what finds it: that may take a search of its own, which callers that go on never need.
    """

    def __init__(self, reason: str | Callable[[], str] = ""):
        super().__init__(reason)
        self._reason = reason

    def __str__(self) -> str:
        if not isinstance(self._reason, str):
            self._reason = self._reason()
        return self._reason

    def __reduce__(self) -> tuple[type[InfeasibleError], tuple[str]]:
        return InfeasibleError, (str(self),)


class CheckError(ExtractionError):
    """An answer failed its independent re-verification: a bug in the method that produced it."""

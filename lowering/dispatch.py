"""One way to register a lowering: a function, declared with the table of its pass as the decorator.

    lowers: Lowerings[Conversion, [], None] = Lowerings("nvvm pattern")

    @lowers(nvgpu.Load)
    def load(c: Conversion, op: nvgpu.Load) -> None: ...

A pass looks up `lowers.of(op)`: the entry of the class or, if it has none, of its nearest base. Pyright checks that a
function takes the operation that it is declared for. A second entry for a class is an error at its declaration; a class
without one is an error at the lookup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from egraph.term import Term
from ir.core import Op, UnsupportedError

ContextT = TypeVar("ContextT")
KindT = TypeVar("KindT")
MoreP = ParamSpec("MoreP")
ResultT = TypeVar("ResultT")
Entry = Callable[Concatenate[ContextT, KindT, MoreP], ResultT]
"""A function of its pass's context, an operation or e-node, and further arguments from the pass."""


class Lowerings(dict[type, Entry[ContextT, Any, MoreP, ResultT]], Generic[ContextT, MoreP, ResultT]):
    """The entries of a pass. `self.declared` holds them; the dictionary itself caches lookups."""

    def __init__(self, what: str):
        """`what` an entry is, for messages."""
        super().__init__()
        self.what = what
        self.declared: dict[type, Entry[ContextT, Any, MoreP, ResultT]] = {}

    def __call__(
        self, *kinds: type[KindT]
    ) -> Callable[[Entry[ContextT, KindT, MoreP, ResultT]], Entry[ContextT, KindT, MoreP, ResultT]]:
        """Declare the entry of these classes, and of those below them. Raises TypeError for a second one."""

        def declare(function: Entry[ContextT, KindT, MoreP, ResultT]) -> Entry[ContextT, KindT, MoreP, ResultT]:
            for kind in kinds:
                if kind in self.declared:
                    raise TypeError(f"{kind.__name__} already has a {self.what}")
                self.declared[kind] = function
            return function

        return declare

    def find(self, kind: type) -> Entry[ContextT, Any, MoreP, ResultT] | None:
        """The entry of a class, None if neither it nor a base has one."""
        keys = kind.known_as() if issubclass(kind, Term) else kind.__mro__
        return next((self.declared[key] for key in keys if key in self.declared), None)

    def __missing__(self, kind: type) -> Entry[ContextT, Any, MoreP, ResultT]:
        found = self.find(kind)
        if found is None:
            raise LookupError(f"no {self.what} for {kind.__name__}")
        self[kind] = found
        return found

    def of(self, op: Op) -> Entry[ContextT, Any, MoreP, ResultT]:
        """The entry of an operation. Raises UnsupportedError, located, if there is none."""
        try:
            return self[type(op)]
        except LookupError:
            message = f"no {self.what} for '{op.name}'"
            raise UnsupportedError(message, op.location, "lower it before this level") from None

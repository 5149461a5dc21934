"""What the host can compute from a kernel's arguments: where it can, it can make the tensor map of an array."""

from __future__ import annotations

from egraph.frozen import Frozen

TERMS = frozenset((
    "arg", "constant", "splat", "assume", "exti", "trunci", "addi", "subi", "negi", "muli", "shli", "nil", "cons",
    "make_tensor_view", "make_partition_view",
))  # fmt: skip
"""Terms that lowering/schedule/tensormaps.py says as expressions of the launch manifest. It has the last word: where it
cannot after all, the store is made from registers."""


class Host:
    """Which value classes the host can compute."""

    def __init__(self, frozen: Frozen):
        self.frozen = frozen
        self._known: dict[int, bool] = {}

    def computes(self, cls: int) -> bool:
        """Is some term of the class made of arguments and numbers alone?"""
        if cls not in self._known:
            self._known[cls] = False  # what a value needs itself for is no way to compute it
            self._known[cls] = any(
                node.op in TERMS and all(map(self.computes, node.children))
                for node in self.frozen.by_class.get(cls, ())
            )
        return self._known[cls]

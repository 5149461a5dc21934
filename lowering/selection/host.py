"""What the host can compute from a kernel's arguments, so that it can build the tensor map of an array."""

from __future__ import annotations

from egraph.forms import Form
from egraph.frozen import Frozen
from egraph.interner import Interner
from egraph.leaves import Argument, Cons, Nil, Promised, Splat
from egraph.term import Node
from ir.dialects import cuda_tile as ct

LEAVES = (Argument, Splat, Nil, Cons)
OPERATIONS = frozenset((
    ct.Constant, ct.Assume, ct.ExtI, ct.TruncI, ct.AddI, ct.SubI, ct.NegI, ct.MulI, ct.ShlI, ct.MakeTensorView,
    ct.MakePartitionView,
))  # fmt: skip
"""Terms that lowering/schedule/tensormaps.py can express in the launch manifest. That pass decides in the end: if
it cannot, the store is made from registers.
"""


class Host:
    """Which value classes the host can compute."""

    def __init__(self, frozen: Frozen, interner: Interner):
        self.frozen = frozen
        self.attributes = interner.attributes
        self._known: dict[tuple[int, bool], bool] = {}

    def computes(self, cls: int, trusting: bool = False) -> bool:
        """Is some term of the class computed from arguments and constants alone? `trusting`: alignment assumptions in
        regions count, too.
        """
        key = (cls, trusting)
        if key not in self._known:
            self._known[key] = False  # a term that depends on its own value cannot compute it
            self._known[key] = any(
                self._says(node, trusting) and all(self.computes(child, trusting) for child in node.children)
                for node in self.frozen.by_class.get(cls, ())
            )
        return self._known[key]

    def maps(self, array: int) -> bool:
        """May a tensor map describe an array, as far as assumptions go? The host builds it whether or not the kernel
        reaches the region that assumes its alignment.
        """
        return self.computes(array) or not self.computes(array, trusting=True)

    def _says(self, node: Node, trusting: bool) -> bool:
        if isinstance(node, Promised):
            return trusting or isinstance(self.attributes[node.predicate], ct.Bounded)
        return isinstance(node, LEAVES) or (isinstance(node, Form) and node.operation in OPERATIONS)

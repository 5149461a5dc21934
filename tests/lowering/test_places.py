"""The layout of a placed class: one, or the rules are wrong."""

import pytest

from egraph.frozen import Frozen
from egraph.placed import Hold
from ir.core import TileError
from lowering.selection.choices import places

VALUE, OTHER, MISSING = 1, 2, 3
TYPED = {"type": {VALUE: 0, OTHER: 0}}


def test_every_placed_class_has_a_value_and_a_layout() -> None:
    frozen = Frozen(
        held_in={(VALUE, 4): 10, (MISSING, 4): 12}, native={(OTHER, 5): 11, (MISSING, 6): 12}, analysis=TYPED
    )
    assert places(frozen) == {10: (VALUE, 4), 11: (OTHER, 5), 12: (MISSING, 6)}


@pytest.mark.parametrize("second", ["held_in", "native", "out"])
def test_two_layouts_in_one_class_are_refused(second: str) -> None:
    """Terms that lack the layout they make are one term, and buffers were written in the other one's layout."""
    frozen = Frozen([Hold("p.hold", (9,), 10, (9,), ())], native={(VALUE, 4): 10}, analysis=TYPED)
    getattr(frozen, second)[OTHER, 5] = 10
    with pytest.raises(TileError, match=r"rules put layouts \d and \d into one class of p\.hold"):
        places(frozen)

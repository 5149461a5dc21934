"""Sizes of elements: in memory, and where threads exchange them."""

import pytest

from ir.core import Type
from ir.types import BF16, F8E4M3FN, F32, GLOBAL_PTR, I1, I8, I64, TF32, PointerType
from lowering.layouts.elements import element_bytes, moved_bits


@pytest.mark.parametrize(
    ("element", "size", "bits"),
    [(I1, 1, 32), (I8, 1, 8), (F8E4M3FN, 1, 8), (BF16, 2, 16), (TF32, 4, 32), (F32, 4, 32), (I64, 8, 64),
     (PointerType(F32), 8, 64), (GLOBAL_PTR, 8, 64)],
)  # fmt: skip
def test_sizes(element: Type, size: int, bits: int) -> None:
    """A predicate is a byte in memory and a word in registers; pointers of both levels have 64 bits."""
    assert (element_bytes(element), moved_bits(element)) == (size, bits)

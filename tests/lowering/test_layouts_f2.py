import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowering.layouts import f2

VECTORS = st.lists(st.integers(0, 2**9 - 1), max_size=9)


def span(vectors):
    return set(f2.images(vectors))


@given(VECTORS, st.integers(0, 511))
def test_solve_finds_a_combination_exactly_when_the_vector_is_in_the_span(vectors, wanted):
    found = f2.Echelon(vectors).solve(wanted)
    assert (found is not None) == (wanted in span(vectors))
    if found is not None:
        assert f2.apply(vectors, found) == wanted


@given(VECTORS)
def test_images_agree_with_apply_and_numpy(vectors):
    table = f2.images(vectors)
    assert table == [f2.apply(vectors, i) for i in range(2 ** len(vectors))]
    np.testing.assert_array_equal(f2.image_array(vectors), table)


@given(VECTORS)
def test_kernel_and_rank(vectors):
    zero = {i for i, image in enumerate(f2.images(vectors)) if image == 0}
    assert span(f2.kernel(vectors)) == zero
    assert len(span(vectors)) == 2 ** f2.rank(vectors)


@given(VECTORS, VECTORS)
def test_intersection_is_that_of_the_sets(a, b):
    assert span(f2.intersection(a, b)) == span(a) & span(b)


@given(VECTORS, VECTORS)
def test_common_complement_meets_both_only_in_zero_and_is_as_large_as_can_be(a, b):
    found = f2.common_complement(a, b, 9)
    assert span(found) & span(a) == {0}
    assert span(found) & span(b) == {0}
    assert f2.rank(found) == len(found) == 9 - max(f2.rank(a), f2.rank(b))


@given(st.permutations(range(7)), st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_inverse_of_a_random_invertible_matrix(order, steps):
    columns = [1 << k for k in order]
    for i, j in steps:
        if i != j:
            columns[i] ^= columns[j]
    inverse = f2.invert(tuple(columns))
    assert all(f2.apply(inverse, f2.apply(columns, x)) == x for x in range(128))


def test_singular_matrix_has_no_inverse():
    with pytest.raises(ValueError, match="singular"):
        f2.invert((1, 1))

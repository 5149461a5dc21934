"""Integer, shape, matrix and folding semantics against plain Python on random data."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.core import OPS, PURE
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile import Placement, Predicate, Rounding, Signedness
from ir.types import F16, F32, I8, I32, I64, PointerType, TileType

WIDTHS = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
NUMBERS = st.integers(-(2**63), 2**63 - 1)


def as_read(value, width, signed):
    value %= 1 << width
    return value - (1 << width) if signed and value >> (width - 1) else value


def one(value, width):
    return np.array([as_read(value, width, True)], WIDTHS[width])


@given(NUMBERS, NUMBERS, st.sampled_from(list(WIDTHS)))
def test_wrapping_arithmetic_and_bits(a, b, width):
    x, y = one(a, width), one(b, width)
    for cls, function in {
        ct.AddI: operator.add, ct.SubI: operator.sub, ct.MulI: operator.mul, ct.AndI: operator.and_,
        ct.OrI: operator.or_, ct.XorI: operator.xor,
    }.items():  # fmt: skip
        got = cls.reference(x, y)
        assert got.dtype == WIDTHS[width]
        assert int(got[0]) == as_read(function(a, b), width, True)
    high = (as_read(a, width, False) * as_read(b, width, False)) >> width
    assert int(ct.MulHiI.reference(x, y)[0]) == as_read(high, width, True)
    assert int(ct.NegI.reference(x)[0]) == as_read(-a, width, True)
    assert int(ct.AbsI.reference(x)[0]) == as_read(abs(as_read(a, width, True)), width, True)
    amount = b % width
    shifts = one(amount, width)
    assert int(ct.ShlI.reference(x, shifts)[0]) == as_read(a << amount, width, True)
    for signed in (0, 1):
        wanted = as_read(as_read(a, width, signed) >> amount, width, True)
        assert int(ct.ShrI.reference(x, shifts, Signedness(signed))[0]) == wanted


ROUNDINGS = {
    Rounding.ZERO: lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    Rounding.NEGATIVE_INF: lambda a, b: a // b,
    Rounding.POSITIVE_INF: lambda a, b: -(-a // b),
}


@given(NUMBERS, NUMBERS, st.sampled_from(list(WIDTHS)), st.booleans())
def test_division_remainder_order(a, b, width, signed):
    x, y, sign = one(a, width), one(b, width), Signedness(int(signed))
    a, b = as_read(a, width, signed), as_read(b, width, signed)
    assert int(ct.MaxI.reference(x, y, sign)[0]) == as_read(max(a, b), width, True)
    assert int(ct.MinI.reference(x, y, sign)[0]) == as_read(min(a, b), width, True)
    for predicate, function in {
        Predicate.EQUAL: operator.eq, Predicate.NOT_EQUAL: operator.ne, Predicate.LESS_THAN: operator.lt,
        Predicate.LESS_THAN_OR_EQUAL: operator.le, Predicate.GREATER_THAN: operator.gt,
        Predicate.GREATER_THAN_OR_EQUAL: operator.ge,
    }.items():  # fmt: skip
        assert bool(ct.CmpI.reference(x, y, predicate, sign)[0]) == function(a, b)
    if not b:
        return
    for rounding, function in ROUNDINGS.items():
        got = ct.DivI.reference(x, y, sign, rounding)
        assert int(got[0]) == as_read(function(a, b), width, True)
    assert int(ct.RemI.reference(x, y, sign)[0]) == as_read(a - b * ROUNDINGS[Rounding.ZERO](a, b), width, True)


@given(NUMBERS, st.sampled_from([(8, 32), (32, 64), (8, 64)]), st.booleans())
def test_extension_and_truncation(a, widths, signed):
    narrow, wide = widths
    to = {32: I32, 64: I64}[wide]
    got = ct.ExtI.reference(one(a, narrow), Signedness(int(signed)), result_type=TileType((1,), to))
    assert int(got[0]) == as_read(as_read(a, narrow, signed), wide, True)
    back = {8: I8, 32: I32}[narrow]
    got = ct.TruncI.reference(one(a, wide), result_type=TileType((1,), back))
    assert int(got[0]) == as_read(a, narrow, True)


def test_predicates_compute_modulo_two():
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert ct.AddI.reference(a, b).tolist() == [False, True, True, False]
    assert ct.SubI.reference(a, b).tolist() == [False, True, True, False]
    assert ct.XorI.reference(a, b).tolist() == [False, True, True, False]
    assert ct.MulI.reference(a, b).tolist() == [False, False, False, True]
    # i1 as a signed number is 0 or -1
    assert ct.CmpI.reference(a, b, Predicate.LESS_THAN, Signedness.SIGNED).tolist() == [False, False, True, False]
    assert ct.CmpI.reference(a, b, Predicate.LESS_THAN, Signedness.UNSIGNED).tolist() == [False, True, False, False]


def test_shapes_follow_row_major_order():
    source = np.random.default_rng(1).integers(-99, 99, (2, 4, 8)).astype(np.int32)
    assert (ct.Reshape.reference(source, result_type=TileType((8, 8), I32)).ravel() == source.ravel()).all()
    moved = ct.Permute.reference(source, (2, 0, 1))
    assert moved.shape == (8, 2, 4)
    assert all(moved[k, i, j] == source[i, j, k] for i in range(2) for j in range(4) for k in range(8))
    wide = ct.Broadcast.reference(source[:, :1], result_type=TileType((2, 4, 8), I32))
    assert (wide == source[:, :1]).all()
    assert ct.Iota.reference(result_type=TileType((4,), I8)).tolist() == [0, 1, 2, 3]
    joined = ct.Cat.reference(source, source + 1, 1)
    assert (joined[:, 4:] == source + 1).all()
    part = ct.Extract.reference(source, *np.int32([1, 0, 3]), result_type=TileType((1, 2, 2), I32))
    assert (part == source[1:2, 0:2, 6:8]).all()
    mask = source > 0
    assert (ct.Select.reference(mask, source, -source) == np.abs(source)).all()


def test_offsets_count_elements_of_the_pointee():
    base = np.int64([1 << 40, 64])
    for pointee, width in ((F32, 4), (F16, 2), (I8, 1)):
        got = ct.Offset.reference(base, np.int32([-3, 5]), result_type=TileType((2,), PointerType(pointee)))
        assert got.tolist() == [(1 << 40) - 3 * width, 64 + 5 * width]


def test_constants_expand_to_their_tile():
    tile = TileType((2, 2), F32)
    assert ct.Constant.reference(ct.DenseElements(np.float32(7)), tile).tolist() == [[7, 7], [7, 7]]
    assert ct.Constant.reference(ct.DenseElements(np.float32([1, 2, 3, 4])), tile).tolist() == [[1, 2], [3, 4]]


def test_literals_know_when_they_are_splats():
    splat = ct.DenseElements(np.float32([3, 3, 3, 3]))
    assert splat.splat
    assert splat == ct.DenseElements(np.float32(3))
    assert hash(splat) == hash(ct.DenseElements(np.float32(3)))
    assert splat.item == 3.0
    assert not ct.DenseElements(np.float32([0.0, -0.0])).splat
    assert splat != ct.DenseElements(np.int32([3]))
    with pytest.raises(ValueError, match="read-only"):
        splat.array[0] = 1


@pytest.mark.parametrize("batch", [(), (3,)])
def test_matrix_products(batch):
    random = np.random.default_rng(5)
    a, b = random.normal(size=(*batch, 8, 16)), random.normal(size=(*batch, 16, 4))
    c = random.normal(size=(*batch, 8, 4))
    got = ct.MmaF.reference(a.astype(np.float16), b.astype(np.float16), c.astype(np.float32))
    wanted = a.astype(np.float16).astype(float) @ b.astype(np.float16).astype(float) + c.astype(np.float32)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    x = random.integers(-128, 128, (*batch, 8, 16)).astype(np.int8)
    y = random.integers(-128, 128, (*batch, 16, 4)).astype(np.int8)
    z = random.integers(-(2**31), 2**31, (*batch, 8, 4)).astype(np.int32)
    got = ct.MmaI.reference(x, y, z, Signedness.SIGNED, Signedness.UNSIGNED)
    wanted = (x.astype(np.int64) @ y.view(np.uint8).astype(np.int64) + z).astype(np.int32)
    assert (got == wanted).all()


def test_reductions_and_scans_fold_along_their_dimension():
    x = np.random.default_rng(2).integers(-9, 9, (4, 8)).astype(np.int64)

    def add(left, right):
        return [left[0] + right[0]]

    assert (ct.Reduce.reference([x], 1, add)[0] == x.sum(1)).all()
    assert (ct.Reduce.reference([x], 0, add)[0] == x.sum(0)).all()
    assert (ct.Scan.reference([x], 1, False, add)[0] == np.cumsum(x, 1)).all()
    assert (ct.Scan.reference([x], 0, True, add)[0] == np.cumsum(x[::-1], 0)[::-1]).all()

    def compose(left, right):  # x -> a x + b, left first: not commutative, so the order of operands shows
        return [left[0] * right[0], left[1] * right[0] + right[1]]

    b = np.arange(32).reshape(4, 8) - 11
    scales, offsets = ct.Scan.reference([x, b], 1, False, compose)
    scale, offset = x[:, 0], b[:, 0]
    for column in range(1, 8):
        scale, offset = scale * x[:, column], offset * x[:, column] + b[:, column]
        assert (scales[:, column] == scale).all()
        assert (offsets[:, column] == offset).all()


DIALECT = [cls for name, cls in OPS.items() if name.startswith("cuda_tile.")]


@pytest.mark.parametrize("cls", DIALECT, ids=lambda c: c.info.mnemonic)
def test_every_class_says_how_it_is_placed_and_what_it_means(cls):
    assert isinstance(cls.placement, Placement)
    assert cls.info.opcode >= 0
    assert cls.__doc__
    assert bool(cls.lowers_to) == (cls.placement is Placement.ELEMENTWISE)
    makes_no_tile = cls in (ct.GetGlobal, ct.MakeStridedView, ct.MakeGatherScatterView)
    if cls.effect is PURE and cls.placement is not Placement.UNIFORM and not makes_no_tile:
        assert callable(cls.reference)


def test_opcodes_are_those_of_the_bytecode_and_unique():
    opcodes = {cls.info.opcode: cls for cls in DIALECT}
    assert len(opcodes) == len(DIALECT)
    for opcode, cls in {2: ct.AddF, 73: ct.MmaF, 41: ct.For, 61: ct.LoadPtr, 102: ct.StoreView, 88: ct.Reduce}.items():
        assert opcodes[opcode] is cls

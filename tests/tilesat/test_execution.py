"""Arguments are checked against the entry, results against each other, and a manifest is all that a launch needs."""

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ir.core import Block, Location, Region, TileError
from ir.dialects.cuda_tile import Entry
from ir.types import BF16, F16, F32, I32, PointerType, TileType
from ptxsim.errors import LaunchError, StepLimitError
from tilesat.execution import check_arguments, compare, largest_error, simulate, type_tolerance
from tilesat.grid import as_grid
from tilesat.spec import NUMPY_NAMES, numpy_type


def entry() -> Entry:
    types = [TileType((), element) for element in (PointerType(F16), PointerType(BF16), I32, F32)]
    return Entry((), (), {"sym_name": "k"}, [Region([Block(types)])], Location("k.mlir", 2, 3))


def halves(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float16)


def good() -> list[Any]:
    return [halves(4, 8), halves(3).astype(ml_dtypes.bfloat16), 7, 0.5]


def test_plain_numbers_become_scalars_of_the_parameter() -> None:
    arguments = good()
    checked = check_arguments(entry(), arguments)
    assert checked[0] is arguments[0]
    assert checked[2].dtype == np.int32
    assert checked[3] == np.float32(0.5)


def test_unsigned_integers_are_taken_for_those_without_a_sign() -> None:
    arguments = good()
    arguments[2] = np.uint32(0xFFFFFFFF)
    checked = check_arguments(entry(), arguments)
    assert checked[2] == np.int32(-1)
    assert checked[2].dtype == np.int32


@pytest.mark.parametrize(
    ("position", "bad", "message"),
    [
        (0, halves(4).astype(np.float32), r"parameter 0 of entry 'k' is .*ptr<f16>.*float32\[4\]"),
        (0, halves(4, 4)[:, 1], "not contiguous"),
        (0, 3, "the argument is 3"),
        (1, halves(3), r"ptr<bf16>.*float16\[3\]"),
        (2, np.float32(1.5), "float32.1.5"),
        (2, 1 << 40, "1099511627776"),
        (2, 7.5, "the argument is 7.5"),
        (3, halves(1), r"float16\[1\]"),
    ],
)
def test_argument_that_does_not_fit_is_named_with_what_is_wanted(position: int, bad: Any, message: str) -> None:
    arguments = good()
    arguments[position] = bad
    with pytest.raises(TileError, match=message) as caught:
        check_arguments(entry(), arguments)
    assert caught.value.location.line == 2
    assert caught.value.hint.startswith("give ")


def test_wrong_number_of_arguments_lists_what_is_wanted() -> None:
    with pytest.raises(TileError, match="expects 4 arguments, got 1") as caught:
        check_arguments(entry(), good()[:1])
    assert "a contiguous f16 array, a contiguous bf16 array, one i32, one f32" in caught.value.hint


def test_grid_has_one_to_three_positive_extents() -> None:
    assert as_grid(5) == (5, 1, 1)
    assert as_grid((2, 3)) == (2, 3, 1)
    assert as_grid(np.int64(3)) == (3, 1, 1)
    for bad in (0, (1, 2, 3, 4), (), (2, -1), "12", None, (1.5,), [2] * 4000, 10**5000):
        with pytest.raises(ValueError, match="grid") as caught:
            as_grid(bad)
        assert len(str(caught.value)) < 120
    assert as_grid((2**31 - 1, 65535, 65535))[0] == 2**31 - 1
    with pytest.raises(ValueError, match="65536 tile blocks along y, a launch at most 65535"):
        as_grid((1, 65536))


def test_error_is_absolute_near_zero_and_relative_beyond_one() -> None:
    found, expected = np.array([0.1, 101.0, np.inf, np.nan]), np.array([0.0, 100.0, np.inf, np.nan])
    assert largest_error(found, expected) == pytest.approx(0.1)
    assert largest_error(np.array([np.nan]), np.array([1.0])) == np.inf
    assert largest_error(np.array([-np.inf]), np.array([np.inf])) == np.inf
    assert largest_error(np.zeros(0), np.zeros(0)) == 0


def test_tolerance_follows_the_narrowest_float_and_integers_must_be_equal() -> None:
    f32, i32 = np.array([1.0], np.float32), np.array([3], np.int32)
    near, near_int = f32 + np.float32(1e-3), i32 + 1
    assert not compare([near], [f32])[0].ok
    assert compare([halves(2), near], [halves(2), f32])[1].ok
    assert not compare([halves(2), near_int], [halves(2), i32])[1].ok
    assert compare([near, np.int32(3)], [f32, np.int32(3)], tolerance=0.01)[0].ok


TOLERANCES = {
    np.float16: 4 * 2.0**-11,  # operand and result, each rounded in both runs; sums are f32's. 11 bits of significand
    ml_dtypes.bfloat16: 4 * 2.0**-8,  # the same with 8 bits
    ml_dtypes.float8_e4m3fn: 4 * 2.0**-8,  # exact on the way in; what comes out is rounded to no better than bf16
    ml_dtypes.float8_e5m2: 4 * 2.0**-8,
    ml_dtypes.float8_e8m0fnu: 4 * 2.0**-8,
    ml_dtypes.float4_e2m1fn: 4 * 2.0**-8,
    np.float32: 2.0**7.5 * 2.0**-24,  # a sum of 2^15 numbers in another order is off by the root of 2^15 roundings
    np.float64: 2.0**7.5 * 2.0**-53,
    np.bool_: 0, np.int8: 0, np.int16: 0, np.int32: 0, np.int64: 0,  # arithmetic modulo a power of two has no order
}  # fmt: skip
"""The tolerance of each type that an array may hold, with its reason; tf32 lies in arrays of f32."""


def test_every_type_of_an_argument_is_pinned() -> None:
    assert set(map(numpy_type, NUMPY_NAMES)) == set(map(np.dtype, TOLERANCES))


@pytest.mark.parametrize("kind", TOLERANCES, ids=lambda kind: np.dtype(kind).name)
def test_every_type_has_its_tolerance(kind: type) -> None:
    """Another tolerance, one too wide above all, must be argued for here."""
    assert type_tolerance(np.dtype(kind)) == pytest.approx(TOLERANCES[kind], rel=1e-12)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_what_is_just_beyond_the_tolerance_fails(kind: type) -> None:
    allowed = TOLERANCES[kind]
    one, near, far = (np.array([1 + error]).astype(kind) for error in (0.0, 0.9 * allowed, 1.6 * allowed))
    assert compare([near], [one])[0].ok
    assert not compare([far], [one])[0].ok


FLAWED = """
.version 8.8
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 s)
{
again:
  bra again;
}
"""


def test_an_endless_program_ends_where_it_is_asked_to() -> None:
    arguments = [np.float32(1), np.zeros(32, np.float32), np.zeros(32, np.float32)]
    with pytest.raises(StepLimitError, match="still running after 1000 instructions; raise the launch's max_instr"):
        simulate(FLAWED, MANIFEST, (1, 1, 1), arguments, max_instructions=1000)


def test_a_limit_of_instructions_that_suffices_changes_nothing() -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    instructions = len(re.findall(r";", SCALE.partition("{")[2])) - SCALE.count(".reg")
    simulate(SCALE, MANIFEST, (1, 1, 1), [np.float32(2), x, y], max_instructions=instructions)
    assert (y == 2 * x).all()
    with pytest.raises(StepLimitError, match=f"after {instructions - 1} instructions"):
        simulate(SCALE, MANIFEST, (1, 1, 1), [np.float32(2), x, y], max_instructions=instructions - 1)
    with pytest.raises(LaunchError, match="max_instructions 0 is below 1"):
        simulate(SCALE, MANIFEST, (1, 1, 1), [np.float32(2), x, y], max_instructions=0)


SCALE = """
.version 8.8
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 s)
{
  .reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .f32 %f<4>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.f32 %f1, [s];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r1, %r1, %r2, %r3;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd4, %rd1, %rd3;
  add.u64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  mul.rn.f32 %f3, %f2, %f1;
  st.global.f32 [%rd5], %f3;
  ret;
}
"""

MANIFEST = {
    "entry": "scale", "target": "sm_80", "block": [32, 1, 1], "cluster": [1, 1, 1], "dynamic_smem": 0,
    "global_scratch": 0,
    "params": [
        {"kind": "pointer", "arg": 1, "dtype": "f32"}, {"kind": "pointer", "arg": 2, "dtype": "f32"},
        {"kind": "scalar", "arg": 0, "dtype": "f32"},
    ],
}  # fmt: skip


def test_simulation_follows_the_manifest_and_writes_in_place() -> None:
    """PTX parameters come in the manifest's order, which need not be that of the entry's arguments."""
    x = np.random.default_rng(2).standard_normal(96).astype(np.float32)
    y = np.full(96, np.nan, np.float32)
    simulate(SCALE, MANIFEST, (3, 1, 1), [np.float32(2.5), x, y])
    assert np.array_equal(y, x * np.float32(2.5))


def test_an_array_given_twice_is_one_allocation() -> None:
    x = np.random.default_rng(3).standard_normal(32).astype(np.float32)
    expected = x * np.float32(-3)
    simulate(SCALE, MANIFEST, (1, 1, 1), [np.float32(-3), x, x])
    assert np.array_equal(x, expected)

"""Formats that NumPy lacks, packing, memory that the module holds, updates that meet: against plain Python."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from ir.dialects.cuda_tile import Rounding
from ir.dialects.cuda_tile.numerics import (
    convert_float,
    e5m3_values,
    from_bits,
    round_to_e5m3,
    round_to_power,
    round_to_tf32,
    to_bits,
)
from ir.interpreter import InterpreterError, run
from ir.text import parse
from ir.types import F4E2M1FN, F8E5M3FNU, F8E8M0FNU, I1, I4, TF32

RNG = np.random.default_rng(77)
WILD = np.concatenate([
    RNG.standard_normal(500) * np.exp2(RNG.integers(-140, 130, 500)), np.exp2(np.arange(-140.0, 128)),
    [0.0, np.inf, np.nan, 5e-324, 1.5, 0.75, 114688.0, 118784.0, 118785.0],
])  # fmt: skip


def test_e8m0_rounds_to_powers_within_its_range():
    for rounding in (Rounding.ZERO, Rounding.POSITIVE_INF):
        found = round_to_power(WILD, rounding).astype(np.float64)
        for value, power in zip(WILD.tolist(), found.tolist(), strict=True):
            if math.isnan(value) or value < 0:
                assert math.isnan(power)
                continue
            assert math.frexp(power)[0] == 0.5
            clamped = min(max(value, 2.0**-127), 2.0**127)
            assert power <= clamped < 2 * power if rounding == Rounding.ZERO else power / 2 < clamped <= power


def test_e5m3_is_the_nearest_of_its_values():
    table = [Fraction(v) for v in e5m3_values().tolist()]
    assert len(table) == len(set(table)) == 255
    assert float(table[1]) == 2.0**-17
    assert float(table[-1]) == 114688.0
    for value, found in zip(WILD.tolist(), round_to_e5m3(WILD).tolist(), strict=True):
        if not 0 <= value < 118784:
            assert math.isnan(found), value
            continue
        exact = Fraction(value)
        best = min(abs(exact - v) for v in table)
        assert abs(exact - Fraction(found)) == best
        ties = [i for i, v in enumerate(table) if abs(exact - v) == best]
        assert len(ties) == 1 or table.index(Fraction(found)) % 2 == 0


def test_tf32_keeps_ten_bits_in_each_rounding():
    values = WILD[np.abs(WILD) < 1e38].astype(np.float32)
    for rounding in (Rounding.NEAREST_EVEN, Rounding.ZERO, Rounding.NEAREST_AWAY):
        for value, found in zip(values.tolist(), round_to_tf32(values, rounding).tolist(), strict=True):
            if not math.isfinite(value):
                continue
            step = Fraction(2) ** (max(math.frexp(value)[1] - 1, -126) - 10)
            scaled = Fraction(value) / step
            nearest = {Rounding.NEAREST_EVEN: round(scaled), Rounding.ZERO: math.trunc(scaled)}.get(
                rounding, int(math.copysign(math.floor(abs(scaled) + Fraction(1, 2)), scaled))
            )
            assert Fraction(found) == nearest * step, (value, rounding)
    wide = RNG.standard_normal(200)
    near = convert_float(wide, TF32, Rounding.NEAREST_EVEN).astype(np.float64)
    assert (np.abs(near - wide) <= np.abs(wide) * 2.0**-11).all()


@pytest.mark.parametrize("element", [F8E5M3FNU, F8E8M0FNU, F4E2M1FN, I4, I1], ids=str)
def test_bits_survive(element):
    codes = np.arange(1 << element.width, dtype=np.uint8)
    assert to_bits(from_bits(codes, element), element).tolist() == codes.tolist()


def kernel(body, parameters="%p: tile<ptr<f32>>", module=""):
    return parse(f"{module}\nentry @k({parameters}) {{\n{body}\n  return\n}}\n")


def test_globals_are_copied_for_each_run_and_constants_are_not_written():
    body = """  %g = get_global @g : tile<ptr<f32>>
  %v, %t = load_ptr_tko weak %g : tile<ptr<f32>> -> tile<f32>, token
  %w = addf %v, %v : tile<f32>
  %u = store_ptr_tko weak %g, %w token=%t : tile<ptr<f32>>, tile<f32> -> token
  %s = store_ptr_tko weak %p, %w token=%u : tile<ptr<f32>>, tile<f32> -> token"""
    out = np.zeros(1, np.float32)
    module = kernel(body, module="global @g <f32: [1.5, 2.0]> : tile<2xf32>")
    for wanted in ([1], 3.0), ([3], 12.0), ([1], 3.0):
        run(module, wanted[0], [out])
        assert out[0] == wanted[1]
    with pytest.raises(InterpreterError, match="store to global @g, a read-only array"):
        run(kernel(body, module="global constant @g <f32: 1.0> : tile<2xf32>"), (1,), [out])


def test_automatic_memory_is_a_block_s_own_and_bounded():
    body = """  %a = alloca num_elem = 4, alignment = 64 : tile<ptr<f32>>
  %i = iota : tile<{n}xi32>
  %r = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b = broadcast %r : tile<1xptr<f32>> -> tile<{n}xptr<f32>>
  %q = offset %b, %i : tile<{n}xptr<f32>>, tile<{n}xi32> -> tile<{n}xptr<f32>>
  %c = constant <f32: 2.5> : tile<{n}xf32>
  %t = store_ptr_tko weak %q, %c : tile<{n}xptr<f32>>, tile<{n}xf32> -> token
  %v, %u = load_ptr_tko weak %a token=%t : tile<ptr<f32>> -> tile<f32>, token
  %s = store_ptr_tko weak %p, %v token=%u : tile<ptr<f32>>, tile<f32> -> token"""
    out = np.zeros(1, np.float32)
    run(kernel(body.replace("{n}", "4")), (3,), [out])
    assert out[0] == 2.5
    with pytest.raises(InterpreterError, match="byte 16 of the memory of an alloca, which has 16 bytes"):
        run(kernel(body.replace("{n}", "8")), (1,), [out])


def test_four_bit_elements_lie_two_in_a_byte():
    view = "tensor_view<4x8xf4E2M1FN, strides=[8,1]>"
    tiles = f"partition_view<tile=(2x4), {view}>"
    body = f"""  %i = constant <i32: 1> : tile<i32>
  %j = constant <i32: 0> : tile<i32>
  %v = make_tensor_view %p, shape = [4, 8], strides = [8, 1] : {view}
  %w = make_partition_view %v : {tiles}
  %a, %t = load_view_tko weak %w[%i, %i] : {tiles}, tile<i32> -> tile<2x4xf4E2M1FN>, token
  %u = store_view_tko weak %a, %w[%j, %i] token = %t : tile<2x4xf4E2M1FN>, {tiles}, tile<i32> -> token"""
    packed = RNG.integers(0, 256, 16).astype(np.uint8)
    codes = np.stack([packed & 15, packed >> 4], 1).reshape(4, 8)
    run(kernel(body, "%p: tile<ptr<f4E2M1FN>>"), (1,), [packed])
    codes[:2, 4:] = codes[2:, 4:]
    flat = codes.reshape(-1)
    assert packed.tolist() == (flat[::2] | flat[1::2] << 4).tolist()
    assert np.dtype(ml_dtypes.float4_e2m1fn).itemsize == 1


def test_updates_of_one_address_see_each_other():
    body = """  %o = constant <i64: [0, 8, 0, 0, 8, 16, 0, 8]> : tile<8xi64>
  %a = ptr_to_int %p : tile<ptr<i32>> -> tile<i64>
  %r = reshape %a : tile<i64> -> tile<1xi64>
  %b = broadcast %r : tile<1xi64> -> tile<8xi64>
  %s = addi %b, %o : tile<8xi64>
  %q = int_to_ptr %s : tile<8xi64> -> tile<8xptr<i32>>
  %c = constant <i32: [1, 2, 3, 4, 5, 6, 7, 8]> : tile<8xi32>
  %old, %t = atomic_rmw_tko relaxed device %q, add, %c : tile<8xptr<i32>>, tile<8xi32> -> tile<8xi32>, token
  %x = reduce %old dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32> (%l: tile<i32>, %m: tile<i32>) {
    %y = addi %l, %m : tile<i32>
    yield %y : tile<i32>
  }
  %u = store_ptr_tko weak %z, %x token=%t : tile<ptr<i32>>, tile<i32> -> token"""
    counts, out = np.array([100, 0, 200, 0, 300, 0], np.int32), np.zeros(1, np.int32)
    run(kernel(body, "%p: tile<ptr<i32>>, %z: tile<ptr<i32>>"), (1,), [counts, out])
    assert counts.tolist() == [115, 0, 215, 0, 306, 0]
    assert out[0] == (100 + 101 + 104 + 108) + (200 + 202 + 207) + 300


def test_the_order_of_tile_blocks_is_drawn_by_a_seed():
    body = """  %x, %y, %z = get_tile_block_id : tile<i32>
  %t = store_ptr_tko weak %p, %x : tile<ptr<i32>>, tile<i32> -> token"""
    module = kernel(body, "%p: tile<ptr<i32>>")

    def last(seed):
        out = np.zeros(1, np.int32)
        run(module, (64,), [out], seed=seed)
        return int(out[0])

    assert last(None) == 63
    found = [last(seed) for seed in range(8)]
    assert len(set(found)) > 4
    assert found == [last(seed) for seed in range(8)]

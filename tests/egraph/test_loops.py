"""Loop rules: induction bounds, unchanged values, advancing addresses; each fact checked by running the loop."""

import numpy as np
import pytest

LOOP = """%lo = constant <i32: {lower}> : tile<i32>
    %hi = constant <i32: {upper}> : tile<i32>
    %st = constant <i32: {step}> : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %r = for %i in (%lo to %hi, step %st) : tile<i32> iter_values(%c = %zero) -> (tile<i32>) {{
      %n = addi %i, %c : tile<i32>
      continue %n : tile<i32>
    }}"""


@pytest.mark.parametrize("seed", range(8))
def test_induction_bounds_hold_in_every_iteration(kernel, seed):
    rng = np.random.default_rng(seed)
    lower, step = int(rng.integers(-50, 50)), int(rng.choice((1, 2, 3, 8, 16)))
    upper = lower + int(rng.integers(1, 90))
    k = kernel("%x: tile<i32>", LOOP.format(lower=lower, upper=upper, step=step))
    values = range(lower, upper, step)
    low, high = k.fact("low", "i"), k.fact("high", "i")
    assert low <= min(values)
    assert max(values) <= high
    assert (low, high) == (lower, upper - 1)
    assert all(v % k.fact("divisor", "i") == 0 for v in values)


def test_induction_divisor(kernel):
    assert kernel("%x: tile<i32>", LOOP.format(lower=32, upper=1000, step=64)).fact("divisor", "i") == 32
    assert kernel("%x: tile<i32>", LOOP.format(lower=0, upper=1000, step=64)).fact("divisor", "i") == 64


DYNAMIC = """%zero = constant <i32: 0> : tile<i32>
    %st = constant <i32: {step}> : tile<i32>
    %n = assume bounded<0, {most}>, %x : tile<i32>
    for %i in (%zero to %n, step %st) : tile<i32> {{
      %d = divi %i, %st signed : tile<i32>
      continue
    }}"""


def test_induction_variable_of_a_dynamic_loop_is_not_negative(kernel):
    k = kernel("%x: tile<i32>", DYNAMIC.format(step=1, most="?"))
    assert k.fact("low", "i") == 0
    assert k.fact("high", "i") == 2**31 - 2
    assert k.fact("low", "d") == 0


def test_last_increment_that_may_wrap_gives_no_bound(kernel):
    k = kernel("%x: tile<i32>", DYNAMIC.format(step=64, most="?"))
    assert k.fact("low", "i") == -(2**31)
    bounded = kernel("%x: tile<i32>", DYNAMIC.format(step=64, most=1_000_000))
    assert bounded.fact("low", "i") == 0
    assert "shri" in bounded.ops("d")


def test_negative_step_gives_no_bound(kernel):
    k = kernel("%x: tile<i32>", LOOP.format(lower=0, upper=9, step=-1))
    assert k.fact("high", "i") == 2**31 - 1


def test_value_carried_unchanged_is_its_initial_value(kernel):
    k = kernel(
        "%x: tile<i32>, %y: tile<i32>",
        """%zero = constant <i32: 0> : tile<i32>
        %one = constant <i32: 1> : tile<i32>
        %r, %s = for %i in (%zero to %y, step %one) : tile<i32>
            iter_values(%a = %x, %b = %zero) -> (tile<i32>, tile<i32>) {
          %n = addi %b, %a : tile<i32>
          continue %a, %n : tile<i32>, tile<i32>
        }""",
    )
    assert k.same("a", "x")
    assert k.same("r", "x")
    assert not k.same("s", "b")
    assert not k.same("b", "zero")


def test_swapped_carries_are_not_their_initial_values(kernel):
    k = kernel(
        "%x: tile<i32>, %y: tile<i32>",
        """%zero = constant <i32: 0> : tile<i32>
        %one = constant <i32: 1> : tile<i32>
        %r, %s = for %i in (%zero to %y, step %one) : tile<i32>
            iter_values(%a = %x, %b = %zero) -> (tile<i32>, tile<i32>) {
          continue %b, %a : tile<i32>, tile<i32>
        }""",
    )
    assert not k.same("a", "x")
    assert not k.same("r", "x")


ADVANCE = """%base = assume div_by<{align}>, %p : tile<ptr<f32>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %ten = constant <i32: 10> : tile<i32>
    %lane = iota : tile<32xi32>
    %b1 = reshape %base : tile<ptr<f32>> -> tile<1xptr<f32>>
    %b = broadcast %b1 : tile<1xptr<f32>> -> tile<32xptr<f32>>
    %first = offset %b, %lane : tile<32xptr<f32>>, tile<32xi32> -> tile<32xptr<f32>>
    %k = constant <i32: {step}> : tile<32xi32>
    %last, %total = for %i in (%zero to %ten, step %one) : tile<i32>
        iter_values(%a = %first, %t = %lane) -> (tile<32xptr<f32>>, tile<32xi32>) {{
      %next = offset %a, %k : tile<32xptr<f32>>, tile<32xi32> -> tile<32xptr<f32>>
      %sum = addi %t, %k : tile<32xi32>
      continue %next, %sum : tile<32xptr<f32>>, tile<32xi32>
    }}"""


@pytest.mark.parametrize(("align", "step"), [(16, 32), (128, 32), (16, 2), (64, 3), (4, 64)])
def test_advancing_address_keeps_what_every_step_keeps(kernel, align, step):
    k = kernel("%p: tile<ptr<f32>>", ADVANCE.format(align=align, step=step))
    contiguity, alignment = k.fact("contiguity", "a", 0), k.fact("alignment", "a", 0)
    assert contiguity == 32
    addresses = [3 * align + 4 * (step * i + np.arange(32)) for i in range(10)]
    assert all(a[0] % alignment == 0 for a in addresses)
    assert alignment == min(align, (4 * step) & -(4 * step))  # and it is the best that holds
    indices = [step * i + np.arange(32) for i in range(10)]
    assert all(np.all(i % k.fact("divisor", "t") == 0) for i in indices)
    assert all(i[0] % k.fact("alignment", "t", 0) == 0 for i in indices)
    assert k.fact("contiguity", "t", 0) == 32


def test_uneven_steps_break_the_group(kernel):
    text = ADVANCE.format(align=16, step=32).replace("offset %a, %k", "offset %a, %lane")
    k = kernel("%p: tile<ptr<f32>>", text)
    assert k.fact("contiguity", "a", 0) == 1
    assert k.fact("contiguity", "first", 0) == 32

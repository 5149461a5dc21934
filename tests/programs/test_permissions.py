"""Kernels under permissions: the simulator agrees with the interpreter of the source, within the program's tolerance;
what a permission does not allow is bit for bit as before.
"""

from typing import Any

import numpy as np
import pytest

import tilesat
from lowering.explain import explain
from tests.programs import cutile, cutile_cases  # noqa: F401
from tests.programs.program import PROGRAMS, check
from tilesat.fuzz.writer import Writer

FAST = {
    "contract": ("contract",),
    "triton": ("triton",),
    "all": ("nsz", "contract", "reassoc", "arcp", "afn", "ftz", "nnan", "ninf"),
}
SLOW = pytest.mark.slow
KERNELS = (
    ("cutile-swiglu", "sm_80"), ("cutile-swiglu", "sm_120a"), ("cutile-softmax_rows", "sm_90a"),
    ("cutile-softmax_online", "sm_100a"), ("cutile-cross_entropy", "sm_80"), ("cutile-cross_entropy", "sm_100a"),
    ("cutile-attention", "sm_80"), ("cutile-attention", "sm_90a"), ("cutile-attention", "sm_100a"),
    ("cutile-layer_norm", "sm_90a"), ("cutile-rope", "sm_120a"), ("cutile-rms_norm-f32", "sm_80"),
)  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.parametrize("fast", ["all", pytest.param("contract", marks=SLOW), pytest.param("triton", marks=SLOW)])
@pytest.mark.parametrize(("name", "target"), KERNELS)
def test_kernel(name: str, target: str, fast: str) -> None:
    check(PROGRAMS[name], target, fast=FAST[fast])


VIEW = "tensor_view<?xf32, strides=[1]>"
LENGTH = 256
T = f"tile<{LENGTH}xf32>"


def elementwise(body: str, inputs: int = 2, carried: str = "") -> str:
    """An entry that reads tiles %a, %b, ... and stores the tile %r."""
    names = "abcd"[:inputs]
    parameters = ", ".join(f"%{n}_p: tile<ptr<f32>>" for n in (*names, "r"))
    views = "\n".join(
        f"""  %{n}_v = make_tensor_view %{n}_p, shape = [%n], strides = [1] : tile<i32> -> {VIEW}
  %{n}_t = make_partition_view %{n}_v : partition_view<tile=({LENGTH}), {VIEW}>"""
        for n in (*names, "r")
    )
    part = f"partition_view<tile=({LENGTH}), {VIEW}>"
    loads = "\n".join(
        f"  %{n}, %{n}_k = load_view_tko weak %{n}_t[%x] token = %start : {part}, tile<i32> -> {T}, token"
        for n in names
    )
    return f"""entry @k({parameters}, %n: tile<i32>) {{
  %start = make_token : token
  %x, %y, %z = get_tile_block_id : tile<i32>
{views}
{loads}
{body}
  %done = store_view_tko weak %r, %r_t[%x] token = %start : tile<{LENGTH}xf32>, {part}, tile<i32> -> token
  return
}}"""


def run(text: str, target: str, fast: Any, *inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """What the simulator and the interpreter store, and the PTX."""
    kernel = tilesat.compile(text, target, fast=fast)
    results: list[np.ndarray] = []
    for on in ("sim", "ref"):
        out = np.zeros(LENGTH, np.float32)
        kernel.run((1,), *(x.copy() for x in inputs), out, np.int32(LENGTH), on=on)
        results.append(out)
    return results[0], results[1], kernel.ptx


def numbers(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(LENGTH).astype(np.float32)


TWO_PRODUCT = f"""  %p = mulf %a, %b : {T}
  %m = negf %p : {T}
  %r = fma %a, %b, %m : {T}"""


@pytest.mark.parametrize("target", ["sm_80", "sm_100a"])
@pytest.mark.parametrize("fast", FAST)
def test_the_error_of_a_product_stays_exact(fast: str, target: str) -> None:
    a, b = numbers(1), numbers(2)
    found, wanted, _ = run(elementwise(TWO_PRODUCT), target, FAST[fast], a, b)
    error = (a.astype(np.float64) * b - (a * b).astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(found, error)
    np.testing.assert_array_equal(wanted, error)
    assert np.any(error != 0)


KAHAN = f"""  %t1 = addf %a, %b : {T}
  %d1 = subf %t1, %a : {T}
  %e1 = subf %d1, %b : {T}
  %y2 = subf %c, %e1 : {T}
  %t2 = addf %t1, %y2 : {T}
  %d2 = subf %t2, %t1 : {T}
  %e2 = subf %d2, %y2 : {T}
  %r = subf %t2, %e2 : {T}"""


@pytest.mark.parametrize("fast", FAST)
def test_compensated_sums_keep_their_compensation(fast: str) -> None:
    """Nothing of ours cancels terms of a sum, not even where reassociation would allow it."""
    found, wanted, _ = run(elementwise(KAHAN, 3), "sm_80", FAST[fast], numbers(1), numbers(2) * 1000, numbers(3))
    np.testing.assert_array_equal(found, wanted)


def test_a_product_that_others_read_is_rounded_for_them() -> None:
    """One user of the product takes a fused operation; the other, a comparison, sees what the source wrote."""
    body = f"""  %p = mulf %a, %b : {T}
  %s = addf %p, %c : {T}
  %w = cmpf less_than ordered %p, %d : {T} -> tile<{LENGTH}xi1>
  %r = select %w, %s, %c : tile<{LENGTH}xi1>, {T}"""
    a, b, c = numbers(1), numbers(2), numbers(3)
    d = np.where(np.arange(LENGTH) % 2 == 0, a * b, np.nextafter(a * b, np.float32(9)))
    found, wanted, ptx = run(elementwise(body, 4), "sm_80", ("contract",), a, b, c, d)
    assert "fma.rn.f32" in ptx
    np.testing.assert_array_equal(found == c, wanted == c)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert np.any(found != wanted)


def test_what_control_depends_on_is_computed_as_written() -> None:
    """The condition of a branch takes no fused operation, though the same sum elsewhere may."""
    body = f"""  %i = iota : tile<{LENGTH}xi32>
  %p = mulf %a, %b : {T}
  %s = addf %p, %c : {T}
  %all = reduce %s dim=0 identities=[0.0 : f32] : {T} -> tile<f32>
    (%l: tile<f32>, %q: tile<f32>) {{
      %u = addf %l, %q : tile<f32>
      yield %u : tile<f32>
    }}
  %zero = constant <f32: 0.0> : tile<f32>
  %w = cmpf less_than ordered %all, %zero : tile<f32> -> tile<i1>
  %r = if %w -> ({T}) {{
    yield %a : {T}
  }} else {{
    yield %b : {T}
  }}"""
    inputs = numbers(1), numbers(2), numbers(3)
    found, wanted, ptx = run(elementwise(body, 3), "sm_80", FAST["all"], *inputs)
    assert "fma" not in ptx
    np.testing.assert_array_equal(found, wanted)


def columns_of_maxima(size: int) -> str:
    """y and z = a b' - c, as rows and as columns; i = the row in which a column has its maximum. The product is stored
    too: there a difference costs less, elsewhere a fused one.
    """
    w = Writer("k", **dict.fromkeys("abcyzp", "ptr<f32>"), i="ptr<i32>")
    w.promise(**dict.fromkeys("abcyzp", 16), i=16)
    a, b, c = (w.load(w.view(w.args[name], [size], [1], [size]), 0) for name in "abc")
    product = a.column(size) * b.row(size)
    x = product - c.row(size)
    highest = x.eq(x.reduce(0, "max").row(size))
    found = highest.where(w.iota(size).column(size), w.const(size, "i32", size, size)).reduce(0, "min")
    for name, tile in (("p", product), ("y", x), ("z", x.T)):
        w.store(tile, w.view(w.args[name], [size, size], [size, 1], [size, size]), 0, 0)
    w.store(found, w.view(w.i, [size], [1], [size]), 0)
    return w.text()


@pytest.mark.parametrize("target", ["sm_80", pytest.param("sm_100a", marks=SLOW)])
def test_a_value_is_one_number_in_all_layouts(target: str) -> None:
    """What is fused in one layout and not in another would have a maximum that is none of its numbers."""
    size = 64
    kernel = tilesat.compile(columns_of_maxima(size), target, fast=("contract",))
    y, z, p = (np.zeros((size, size), np.float32) for _ in range(3))
    rows = np.full(size, -1, np.int32)
    kernel.run((1,), *(numbers(seed)[:size] for seed in range(3)), y, z, p, rows, on="sim")
    np.testing.assert_array_equal(y, z.T)
    np.testing.assert_array_equal(rows, y.argmax(0))
    assert "as written: a replacement by permission was cheaper in one of its layouts" in explain(kernel.compiled)


FROM_ZEROS = f"""  %zero = constant <f32: 0.0> : {T}
  %state = mulf %zero, %a : {T}
  %weighed = mulf %state, %b : {T}
  %all = reduce %weighed dim=0 identities=[0.0 : f32] : {T} -> tile<f32>
    (%l: tile<f32>, %q: tile<f32>) {{
      %u = addf %l, %q : tile<f32>
      yield %u : tile<f32>
    }}
  %one = reshape %all : tile<f32> -> tile<1xf32>
  %seen = broadcast %one : tile<1xf32> -> {T}
  %apart = subf %b, %seen : {T}
  %r = fma %state, %a, %apart : {T}"""


def test_a_state_of_zeros_is_not_multiplied() -> None:
    """By nnan and nsz all that is left is a copy of %b; by either alone, an infinity must become NaN."""
    text, a, b = elementwise(FROM_ZEROS), numbers(1), numbers(2)
    found, wanted, ptx = run(text, "sm_80", ("nnan", "nsz"), a, b)
    assert not any(each in ptx for each in (".f32 ", "shfl", "bar.sync"))
    np.testing.assert_array_equal(found, wanted)
    a[7] = np.inf
    for fast in ((), ("nsz",), ("nnan",)):
        found, wanted, ptx = run(text, "sm_80", fast, a, b)
        assert "shfl" in ptx
        assert np.isnan(wanted).all()
        np.testing.assert_array_equal(found, wanted)


def test_permissions_of_one_entry() -> None:
    body = f"""  %p = mulf %a, %b : {T}
  %r = addf %p, %b : {T}"""
    one = elementwise(body)
    text = f"cuda_tile.module @m {{ {one} {one.replace('@k', '@other')} }}"
    for given in ({"k": ["contract"]}, ["k=contract"]):
        assert "fma" in tilesat.compile(text, entry="k", fast=given).ptx
        assert "fma" not in tilesat.compile(text, entry="other", fast=given).ptx

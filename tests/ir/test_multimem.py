"""Multicast arrays on one device: the only copy of an array is the array itself, so NumPy says what must come out."""

import ml_dtypes
import numpy as np
import pytest

from ir.core import verify
from ir.interpreter import run
from ir.text import parse

ROWS, COLUMNS = 6, 10
DTYPES = {"i32": np.int32, "i64": np.int64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32,
          "f64": np.float64}  # fmt: skip
UPDATES = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "umin": np.minimum, "umax": np.maximum,
}  # fmt: skip
PAIRS = [(e, k) for e in DTYPES for k in UPDATES if e.startswith("i") or k == "add"]


def kernel(element, body):
    array = f"tensor_view<?x?x{element}, strides=[?,1], #cuda_tile.ptr_attr<multicast>>"
    view = f"partition_view<tile=(4x4), padding_value = zero, {array}>"
    out = f"tensor_view<?x?x{element}, strides=[?,1]>"
    there = f"partition_view<tile=(4x4), padding_value = zero, {out}>"
    pointer = f"tile<ptr<{element}, <multicast>>>"
    text = f"""entry @k(%p: {pointer}, %q: tile<ptr<{element}>>, %m: tile<i32>, %n: tile<i32>) {{
  %x, %y, %z = get_tile_block_id : tile<i32>
  %v = make_tensor_view %p, shape = [%m, %n], strides = [%n, 1] : {pointer}, tile<i32> -> {array}
  %w = make_partition_view %v : {view}
  %o = make_tensor_view %q, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> {out}
  %t = make_partition_view %o : {there}
  {body.format(view=view, there=there, tile=f"tile<4x4x{element}>")}
  return
}}"""
    module = parse(text, "k.mlir")
    verify(module)
    return module


LOAD_THERE = "%a, %k = load_view_tko weak %t[%x, %y] : {there}, tile<i32> -> {tile}, token\n  "
GRID = (-(-ROWS // 4), -(-COLUMNS // 4))


def arrays(element, seed):
    rng = np.random.default_rng(seed)
    dtype = DTYPES[element]
    if element.startswith("i"):
        info = np.iinfo(dtype)
        return [rng.integers(info.min, info.max, (ROWS, COLUMNS), dtype) for _ in range(2)]
    return [(rng.standard_normal((ROWS, COLUMNS)) * 3).astype(dtype) for _ in range(2)]


@pytest.mark.parametrize(("element", "kind"), PAIRS)
def test_a_reduction_updates_every_element_once(element, kind):
    given, values = arrays(element, 5)
    attributes = "" if kind == "add" else f"attributes {{{{reduction = #cuda_tile.multimem_reduction_kind<{kind}>}}}} "
    types = "{view}, {tile}, tile<i32>"
    body = LOAD_THERE + f"%u = multimem_reduce_view_tko relaxed device %w, %a[%x, %y] {attributes}: {types} -> token"
    module = kernel(element, body)
    found = given.copy()
    run(module, GRID, [found, values, ROWS, COLUMNS], seed=3)
    unsigned = f"u{given.dtype.itemsize}" if kind.startswith("u") else given.dtype
    with np.errstate(over="ignore"):
        expected = UPDATES[kind](given.view(unsigned), values.view(unsigned)).astype(unsigned).view(given.dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("element", DTYPES)
def test_a_load_gives_the_only_copy_and_a_store_writes_it(element):
    given, values = arrays(element, 8)
    module = kernel(
        element,
        LOAD_THERE
        + "%b, %g = multimem_load_reduce_view_tko relaxed sys %w[%x, %y] : {view}, tile<i32> -> {tile}, token\n"
        "  %c = multimem_store_view_tko release device %w, %a[%x, %y] token = %g : {view}, {tile}, tile<i32>, token -> token\n"  # noqa: E501
        "  %d = store_view_tko weak %b, %t[%x, %y] token = %k : {tile}, {there}, tile<i32> -> token",
    )
    multicast, plain = given.copy(), values.copy()
    run(module, GRID, [multicast, plain, ROWS, COLUMNS])
    np.testing.assert_array_equal(multicast, values)
    np.testing.assert_array_equal(plain, given)

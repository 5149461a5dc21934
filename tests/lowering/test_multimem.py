"""The three accesses to multicast memory: one copy against the interpreter, three against NumPy, in hazard mode."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilesat
from ir.core import TileError, UnsupportedError
from runtime.ptxas import assemble
from tilesat import Multicast

DTYPES: dict[str, Any] = {
    "i32": np.int32, "i64": np.int64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32,
    "f64": np.float64,
}  # fmt: skip
KINDS = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
         "xor": np.bitwise_xor, "umin": np.minimum, "umax": np.maximum}  # fmt: skip
ROWS, COLUMNS = 22, 40
GRID = (2, 2)
LOADED = [
    *(("i32", kind) for kind in KINDS), ("i64", "add"), ("i64", "umax"), ("f32", "add"), ("f64", "add"),
    *((element, kind) for element in ("f16", "bf16") for kind in ("add", "min", "max")),
]  # fmt: skip
UPDATED = [
    *(("i32", kind) for kind in KINDS), ("i64", "min"), *((each, "add") for each in ("f16", "bf16", "f32", "f64")),
]  # fmt: skip
READ = "%a, %k = load_view_tko weak %t[%x, %y] : {there}, tile<i32> -> {tile}, token\n  "
REDUCE = "%b, %k = multimem_load_reduce_view_tko {order} %w[%x, %y] {kind}: {view}, tile<i32> -> {tile}, token\n  "
WRITE = "%d = store_view_tko weak %b, %t[%x, %y] token = %k : {tile}, {there}, tile<i32> -> token"
UPDATE = "%u = multimem_reduce_view_tko {order} %w, %a[%x, %y] {kind}: {view}, {tile}, tile<i32> -> token"
STORE = "%u = multimem_store_view_tko {order} %w, %a[%x, %y] : {view}, {tile}, tile<i32> -> token"


def kernel(body: str, element: str, kind: str = "add", order: str = "relaxed device", even: int = 2) -> str:
    """Of %m multicast, %n not, [?, ?] each with tiles of 16 x 32; sizes are multiples of `even`."""
    view, there = (
        f"partition_view<tile=(16x32), padding_value = zero, tensor_view<?x?x{element}, strides=[?,1]{attr}>>"
        for attr in (", #cuda_tile.ptr_attr<multicast>", "")
    )
    reduction = "" if kind == "add" else f"attributes {{reduction = #cuda_tile.multimem_reduction_kind<{kind}>}} "
    pointer, plain = f"tile<ptr<{element}, <multicast>>>", f"tile<ptr<{element}>>"
    given = body.format(view=view, there=there, tile=f"tile<16x32x{element}>", kind=reduction, order=order)
    array, other = (f"tensor_view<?x?x{element}, strides=[?,1]{a}>" for a in (", #cuda_tile.ptr_attr<multicast>", ""))
    return f"""cuda_tile.module @m {{ entry @k(%p0: {pointer}, %q: {plain}, %rows: tile<i32>, %given: tile<i32>) {{
  %x, %y, %z = get_tile_block_id : tile<i32>
  %p = assume div_by<16>, %p0 : {pointer}
  %n = assume div_by<{even}>, %given : tile<i32>
  %v = make_tensor_view %p, shape = [%rows, %n], strides = [%n, 1] : {pointer}, tile<i32> -> {array}
  %w = make_partition_view %v : {view}
  %o = make_tensor_view %q, shape = [%rows, %n], strides = [%n, 1] : tile<i32> -> {other}
  %t = make_partition_view %o : {there}
  {given}
  return
}} }}"""


def arrays(element: str, count: int) -> list[Any]:
    rng = np.random.default_rng(count)
    if element.startswith("i"):
        info = np.iinfo(DTYPES[element])
        return [rng.integers(info.min, info.max, (ROWS, COLUMNS), DTYPES[element]) for _ in range(count)]
    return [(rng.integers(-8, 9, (ROWS, COLUMNS)) / 4).astype(DTYPES[element]) for _ in range(count)]  # exact sums


def combined(kind: str, values: list[Any]) -> Any:
    unsigned = f"u{values[0].itemsize}" if kind.startswith("u") else values[0].dtype
    total = values[0].view(unsigned)
    with np.errstate(over="ignore"):
        for value in values[1:]:
            total = KINDS[kind](total, value.view(unsigned)).astype(unsigned)
    return total.view(values[0].dtype)


def made(text: str, target: str = "sm_90a") -> tilesat.Kernel:
    found = tilesat.compile(text, target)
    assert assemble(found.ptx, target).warnings == ()
    return found


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("element", "kind"), LOADED)
def test_a_load_reduces_all_copies(element: str, kind: str) -> None:
    program, copies = made(kernel(REDUCE + WRITE, element, kind, "relaxed sys")), arrays(element, 3)
    assert "multimem.ld_reduce.relaxed.sys.global." in program.ptx
    found = np.zeros_like(copies[0])
    program.run(GRID, Multicast(copies), found, ROWS, COLUMNS, hazards=True)
    np.testing.assert_array_equal(found, combined(kind, copies))
    program.run(GRID, copies[0], np.zeros_like(found), ROWS, COLUMNS, check=True)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("element", "kind"), UPDATED)
def test_an_update_reaches_every_copy(element: str, kind: str) -> None:
    program, (*copies, values) = made(kernel(READ + UPDATE, element, kind, "release device")), arrays(element, 4)
    expected = [combined(kind, [copy, values]) for copy in copies]
    program.run(GRID, copies[0].copy(), values, ROWS, COLUMNS, check=True)
    program.run(GRID, Multicast(copies), values, ROWS, COLUMNS, hazards=True)
    for copy, wanted in zip(copies, expected, strict=True):
        np.testing.assert_array_equal(copy, wanted)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("order", ["weak", "release sys"])
def test_a_store_reaches_every_copy(element: str, order: str) -> None:
    program, (*copies, values) = made(kernel(READ + STORE, element, order=order)), arrays(element, 4)
    program.run(GRID, copies[0].copy(), values, ROWS, COLUMNS, check=True)
    program.run(GRID, Multicast(copies), values, ROWS, COLUMNS, hazards=True)
    for copy in copies:
        np.testing.assert_array_equal(copy, values)


@pytest.mark.parametrize("target", ["sm_90", "sm_100a", "sm_120a"])
def test_other_targets_that_have_them(target: str) -> None:
    program, (copy, values) = made(kernel(READ + UPDATE, "f32"), target), arrays("f32", 2)
    program.run(GRID, copy, values, ROWS, COLUMNS, check=True)


@pytest.mark.parametrize(
    ("body", "name"), [(REDUCE + WRITE, "load_reduce"), (READ + UPDATE, "reduce"), (READ + STORE, "store")]
)
def test_targets_without_them_refuse(body: str, name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"'cuda_tile.multimem_{name}_view_tko': sm_80 has no multimem") as said:
        tilesat.compile(kernel(body, "f32"), "sm_80")
    assert said.value.location.line == kernel(body, "f32")[: kernel(body, "f32").index("multimem_")].count("\n") + 1
    assert "sm_90 or later" in said.value.hint


def test_odd_rows_of_halves_are_refused() -> None:
    said = "'cuda_tile.multimem_store_view_tko': pairs of 16-bit elements are not proved to be 4-byte aligned"
    with pytest.raises(UnsupportedError, match=said) as refused:
        tilesat.compile(kernel(READ + STORE, "f16", even=1), "sm_90a")
    assert "with assume div_by" in refused.value.hint


def test_arguments() -> None:
    program, (one, two) = made(kernel(READ + STORE, "f32")), arrays("f32", 2)
    with pytest.raises(TileError, match=r"parameter 0 of entry 'k' is .*, the argument is 3") as said:
        program.run(GRID, 3, one, ROWS, COLUMNS)
    assert "tilesat.Multicast of contiguous f32 arrays" in said.value.hint
    with pytest.raises(TileError, match="the reference interpreter has one copy of multicast memory"):
        program.run(GRID, Multicast([one, two]), one.copy(), ROWS, COLUMNS, on="ref")
    with pytest.raises(ValueError, match="expected arrays of one shape and type"):
        Multicast([one, two[1:]])

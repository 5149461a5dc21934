"""What a kernel must not do, and arguments that do not fit, pass one located error."""

import numpy as np
import pytest

from ir.core import UnsupportedError
from ir.interpreter import InterpreterError, run
from ir.text import parse


def module(body, parameters="%p: tile<ptr<f32>>, %n: tile<i32>"):
    lines = [f"entry @k({parameters}) {{", "  %t = make_token : token", *body.strip().splitlines(), "  return", "}"]
    return parse("\n".join(lines), "k.mlir")


def fail(body, args, match, parameters="%p: tile<ptr<f32>>, %n: tile<i32>", grid=(1,)):
    with pytest.raises(InterpreterError, match=match) as caught:
        run(module(body, parameters), grid, args)
    assert caught.value.location.file == "k.mlir"
    assert caught.value.location.line > 0
    return caught.value


GATHER = """
  %i = iota : tile<8xi32>
  %n1 = reshape %n : tile<i32> -> tile<1xi32>
  %nb = broadcast %n1 : tile<1xi32> -> tile<8xi32>
  %o = addi %i, %nb : tile<8xi32>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %pb = broadcast %p1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %q = offset %pb, %o : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
"""
LOAD = GATHER + "  %v, %u = load_ptr_tko weak %q token=%t : tile<8xptr<f32>> -> tile<8xf32>, token"


@pytest.mark.parametrize(("start", "byte"), [(3, 40), (-1, -4), (100, 400)])
def test_load_out_of_bounds(start, byte):
    data = np.arange(10, dtype=np.float32)
    error = fail(LOAD, [data, start], rf"load of 4 bytes out of bounds: byte {byte} of argument 0 \(%p\), which has 40")
    assert error.location.line == 10
    assert "tile block (0, 0, 0)" in error.message


def test_store_out_of_bounds_writes_nothing():
    data = np.arange(10, dtype=np.float32)
    body = LOAD.replace("%q token", "%pb token") + (
        "\n  %w = store_ptr_tko weak %q, %v token=%t : tile<8xptr<f32>>, tile<8xf32> -> token"
    )
    fail(body, [data, 3], "store of 4 bytes out of bounds: byte 40")
    np.testing.assert_array_equal(data, np.arange(10))


def test_store_to_a_read_only_array():
    data = np.arange(16, dtype=np.float32)
    data.flags.writeable = False
    body = LOAD + "\n  %w = store_ptr_tko weak %q, %v token=%t : tile<8xptr<f32>>, tile<8xf32> -> token"
    fail(body, [data, 0], "read-only")


def test_misaligned_access():
    body = """
  %a = ptr_to_int %p : tile<ptr<f32>> -> tile<i64>
  %two = constant <i64: 2> : tile<i64>
  %b = addi %a, %two : tile<i64>
  %q = int_to_ptr %b : tile<i64> -> tile<ptr<f32>>
  %v, %u = load_ptr_tko weak %q token=%t : tile<ptr<f32>> -> tile<f32>, token"""
    fail(body, [np.ones(4, np.float32), 0], "misaligned access of 4 bytes at byte 2 of argument 0")


@pytest.mark.parametrize("offset", [6, 7])
def test_a_pointer_to_half_bytes_moves_by_whole_bytes(offset):
    view = "tensor_view<4xf4E2M1FN, strides=[1]>"
    tiles = f"partition_view<tile=(4), {view}>"
    body = f"""
  %q = offset %p, %n : tile<ptr<f4E2M1FN>>, tile<i32> -> tile<ptr<f4E2M1FN>>
  %v = make_tensor_view %q, shape = [4], strides = [1] : {view}
  %w = make_partition_view %v : {tiles}
  %z = constant <i32: 0> : tile<i32>
  %x, %u = load_view_tko weak %w[%z] token = %t : {tiles}, tile<i32> -> tile<4xf4E2M1FN>, token
  %b = pack %x : tile<4xf4E2M1FN> -> tile<2xi8>
  print_tko "%d", %b : tile<2xi8> -> token"""
    data = np.arange(1, 9, dtype=np.int8) * 11
    parameters = "%p: tile<ptr<f4E2M1FN>>, %n: tile<i32>"
    if offset % 2:
        error = fail(body, [data, offset], "an odd offset in elements of f4E2M1FN ends within a byte", parameters)
        assert "view" in error.hint
        return
    told = []
    run(module(body, parameters), (1,), [data, offset], output=told.append)
    assert told == [f"[{data[3]}, {data[4]}]"]


def test_null_pointer():
    body = """
  %zero = constant <i64: 0> : tile<i64>
  %q = int_to_ptr %zero : tile<i64> -> tile<ptr<f32>>
  %v, %u = load_ptr_tko weak %q token=%t : tile<ptr<f32>> -> tile<f32>, token"""
    fail(body, [np.ones(4, np.float32), 0], "at address 0x0, which is in no array")


VIEW = """
  %view = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %tiles = make_partition_view %view : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>
  %zero = constant <i32: 0> : tile<i32>
  %v, %u = load_view_tko weak %tiles[%zero] token = %t : partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
"""  # noqa: E501


def test_view_larger_than_its_array():
    fail(VIEW, [np.ones(5, np.float32), 6], "load of 4 bytes out of bounds: byte 20")


def test_view_of_negative_size():
    fail(VIEW, [np.ones(5, np.float32), -6], "negative size")


def test_unspecified_padding_is_nan():
    view = "tensor_view<8xf32, strides=[1]>"
    tiles = f"partition_view<tile=(8), {view}>"
    body = f"""{VIEW}
  %view2 = make_tensor_view %r, shape = [8], strides = [1] : {view}
  %out = make_partition_view %view2 : {tiles}
  %w = store_view_tko weak %v, %out[%zero] token = %t : tile<8xf32>, {tiles}, tile<i32> -> token"""
    data, out = np.arange(5, dtype=np.float32), np.zeros(8, np.float32)
    run(module(body, "%p: tile<ptr<f32>>, %r: tile<ptr<f32>>, %n: tile<i32>"), (1,), [data, out, 5])
    np.testing.assert_array_equal(out[:5], data)
    assert np.isnan(out[5:]).all()


@pytest.mark.parametrize(
    ("predicate", "value", "shown"),
    [("div_by<8>", 12, "12"), ("bounded<0, ?>", -1, "-1"), ("bounded<?, 10>", 11, "11"), ("bounded<2, 3>", 1, "1")],
)
def test_broken_promises(predicate, value, shown):
    body = f"  %a = assume {predicate}, %n : tile<i32>"
    pattern = predicate.replace("?", r"\?") + f" violated: value is {shown}"
    fail(body, [np.ones(4, np.float32), value], pattern)


def test_kept_promises():
    body = """
  %a = assume div_by<16>, %p : tile<ptr<f32>>
  %b = assume bounded<-3, 12>, %n : tile<i32>
  %c = assume div_by<4>, %b : tile<i32>"""
    run(module(body), (2, 2), [np.ones(4, np.float32), 12])


def test_a_sub_tile_must_be_inside():
    body = """
  %i = iota : tile<8xi32>
  %v = extract %i[%n] : tile<8xi32> -> tile<2xi32>"""
    fail(body, [np.ones(4, np.float32), 4], r"sub-tile \(4,\) is outside the \(4,\)")


def test_a_loop_must_step_forward():
    body = """
  %zero = constant <i32: 0> : tile<i32>
  %ten = constant <i32: 10> : tile<i32>
  for %i in (%zero to %ten, step %n) : tile<i32> {
    continue
  }"""
    fail(body, [np.ones(4, np.float32), 0], "step is 0, it must be positive")


@pytest.mark.parametrize(
    ("args", "match"),
    [
        ([np.ones(4, np.float32)], "expects 2 arguments, got 1"),
        ([np.ones(4, np.float64), 1], r"argument 0 \(%p\) points to f32, the array is float64"),
        ([3, 1], "must be an array, is int"),
        ([np.ones(4, np.float32), 1.5], "must be an integer"),
        ([np.ones(4, np.float32), 1 << 32], "does not fit in i32"),
        ([np.ones(4, np.float32), np.ones(2)], "must be a number of type i32"),
        ([np.ones((4, 4), np.float32)[:, :2], 1], "not contiguous"),
    ],
)
def test_arguments_that_do_not_fit(args, match):
    fail("", args, match)


def test_overlapping_arguments():
    data = np.ones(16, np.float32)
    parameters = "%p: tile<ptr<f32>>, %q: tile<ptr<f32>>"
    fail("", [data, data[4:]], "overlaps another argument", parameters)
    run(module("", parameters), (1,), [data, data])


def test_a_grid_must_be_positive():
    fail("", [np.ones(4, np.float32), 1], r"grid \(2, 0\)", grid=(2, 0))


def test_the_entry_must_be_named_where_there_are_several():
    text = "cuda_tile.module @m {\n  entry @a() {\n    return\n  }\n  entry @b() {\n    return\n  }\n}"
    two = parse(text, "m.mlir")
    with pytest.raises(InterpreterError, match="@a, @b"):
        run(two)
    with pytest.raises(InterpreterError, match="no entry @c"):
        run(two, entry="c")
    run(two, entry="b")


def test_an_operation_without_meaning_here_is_named():
    from ir.core import PURE, Block, Region, op
    from ir.dialects.cuda_tile import Entry, Module, Return, TileOp

    @op("test.opaque")
    class Opaque(TileOp):
        """Nothing is known of it."""

        effect = PURE

    block = Block()
    block.append(Opaque())
    block.append(Return())
    made = Module(regions=[Region([Block()])])
    made.body.block.append(Entry((), (), {"sym_name": "k"}, [Region([block])]))
    with pytest.raises(UnsupportedError, match=r"cannot run 'test\.opaque'"):
        run(made)

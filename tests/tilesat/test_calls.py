"""cuTile kernels called with arrays: what the entry is given, what breaks a promise, arrays of other libraries."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cuda.tile as ct
import ml_dtypes
import numpy as np
import pytest

import tilesat
from ir.core import TileError
from runtime.cuda import Device
from tests.runtime.fake_driver import FakeDriver
from tests.tilesat.example_cases import EXAMPLES
from tilesat.arrays import View, is_array, view_of
from tilesat.kernel import Kernel
from tilesat.specialise import array_parameter

N = 64


@ct.kernel
def scale(x, y, factor, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)


@ct.kernel
def shift(x, y, n: ct.Constant[int]):
    for i in range(4):
        ct.store(y, (i,), ct.load(x, (i,), (n,)) + 1.0)


@ct.kernel
def total(xs, y, pair, n: ct.Constant[int]):
    made = ct.zeros((1, n), ct.float32)
    for i in range(len(xs)):
        made += ct.load(xs[i], (0, ct.bid(0)), (1, n))
    ct.store(y, (ct.bid(0),), ct.reshape(made, (n,)) * pair[0] + pair[1])


@ct.kernel
def widened(x, y, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (1, n)).astype(ct.float32))


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return tilesat.compile(scale, signature=f"f32[?]; f32[?]; f32; ={N}")


@pytest.fixture
def x() -> Any:
    return np.random.default_rng(3).standard_normal(4 * N).astype(np.float32)


@pytest.mark.parametrize(
    "call",
    [
        lambda k, x, y: k[4](x, y, 1.5),
        lambda k, x, y: k[4](x, y, 1.5, N),
        lambda k, x, y: k[4](x=x, y=y, factor=1.5),
        lambda k, x, y: k.run(4, x, y, 1.5, N, check=True),
        lambda k, x, y: k.run(4, x, 4 * N, 1, y, 4 * N, 1, 1.5, check=True),
        lambda k, x, y: pickle.loads(pickle.dumps(k))[4](x, y, 1.5),
    ],
)
def test_sizes_and_strides_come_from_arrays(call: Callable[..., Any], kernel: Kernel, x: Any) -> None:
    y = np.zeros_like(x)
    call(kernel, x, y)
    np.testing.assert_array_equal(y, x * np.float32(1.5))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda k, x: k[4](x, x), "parameter 'factor' of @scale is missing"),
        (
            lambda k, x: k[4](x, x, 2.0, n=32),
            "parameter 'n': expected the constant 64 that it was compiled for, got 32",
        ),
        (lambda k, x: k[4](x, x.astype(np.float16), 2.0), "parameter 'y': expected an array f32[?], got f16[256]"),
        (lambda k, x: k[4](x, x.reshape(4, N), 2.0), "parameter 'y': expected an array f32[?], got f32[4,64]"),
        (lambda k, x: k[4](x, 7, 2.0), "parameter 'y': expected an array f32[?], got 7"),
        (lambda k, x: k[4](x, x, "a"), "parameter 'factor': expected one f32, got 'a'"),
        (lambda k, x: k[4](x, x, x), "parameter 'factor': expected one f32, got f32[256]"),
        (lambda k, x: k[4](x, x, 2.0, m=3), "@scale has no parameter 'm'"),
        (lambda k, x: k[4](x, x, 2.0, x=x), "parameter 'x' of @scale is given twice"),
        (lambda k, x: k[4](x, x, 2.0, N, 5), "expected at most 4 arguments, got 5"),
        (lambda k, x: k[4](x[1:], x, 2.0), "parameter 'x': expected an address that is a multiple of 16, got 0x"),
        (lambda k, x: k[4](x[::2], x, 2.0), "parameter 'x': expected stride 1 in dimension 0, got 2"),
        (lambda k, x: k[4](x[::-1], x, 2.0), "parameter 'x': strides of (-4,) bytes are not positive multiples of 4"),
        (lambda k, x: k[4](x.astype(np.complex64), x, 2.0), "parameter 'x': Tile IR has no element type <c8"),
        (lambda k, x: k[4](x.astype(">f4"), x, 2.0), "parameter 'x': Tile IR has no element type >f4"),
    ],
)
def test_what_breaks_a_promise_is_named(call: Callable[..., Any], said: str, kernel: Kernel, x: Any) -> None:
    with pytest.raises(TileError, match=re.escape(said)) as caught:
        call(kernel, x)
    assert caught.value.location.file == __file__


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("f32[?/32]; f32[?]; f32; =64", "expected a size that is a multiple of 32 in dimension 0, got 48"),
        ("f32[64]; f32[?]; f32; =64", "expected size 64 in dimension 0, got 48"),
        ("f32[?]:[?/4]; f32[?]; f32; =64", "expected a stride that is a multiple of 4 in dimension 0, got 1"),
    ],
)
def test_divisors_and_fixed_sizes_are_checked(signature: str, said: str, x: Any) -> None:
    kernel = tilesat.compile(scale, signature=signature)
    with pytest.raises(TileError, match=said):
        kernel[1](x[:48], x, 2.0)


def test_a_stride_that_leads_nowhere_breaks_no_promise() -> None:
    x = np.arange(2 * N, dtype=np.float32).reshape(2, N)
    kernel = tilesat.compile(widened, signature=f"f32[?,?]; f32[?,?]:[?/4,1]; ={N}")
    for rows in (x[:1], x.T[:N, :1].T):
        y = np.zeros((1, N), np.float32)
        kernel.run(1, rows, y, N, check=True)
        np.testing.assert_array_equal(y, x[:1])
    kernel[1](x[:0], np.zeros((0, N), np.float32))


def test_sizes_fit_the_type_of_indices() -> None:
    view = View("f32", (1 << 31,), (1,), 0)
    with pytest.raises(TileError, match="expected a size that fits i32 in dimension 0, got 2147483648"):
        list(array_parameter(view).given(view, "x"))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda k, x: k.run(1, x, y=x), "unexpected keyword argument"),
        (lambda k, x: k[1](x, n=3), "entry 'vecadd' has no names: pass its arguments by position"),
    ],
)
def test_entries_of_tile_ir_have_no_names(call: Callable[..., Any], said: str, x: Any) -> None:
    kernel = tilesat.compile(EXAMPLES / "vecadd_ptr.mlir")
    with pytest.raises((TileError, TypeError), match=said.replace("vecadd", kernel.entry.sym_name)):
        call(kernel, x)


def test_an_array_that_may_not_be_written_is_read(kernel: Kernel, x: Any) -> None:
    y = np.zeros_like(x)
    x.flags.writeable = False
    kernel[4](x, y, 2.0)
    np.testing.assert_array_equal(y, x * 2)
    before = x.copy()
    with pytest.raises(TileError, match=r"parameter 'y': entry 'scale' writes f32\[256\], which is read-only"):
        kernel[4](y, x, 2.0)
    np.testing.assert_array_equal(x, before)


def test_arrays_that_share_memory_share_it_in_the_simulator() -> None:
    z = np.zeros(5 * N, np.float32)
    z[: 4 * N] = 1
    jit = tilesat.jit(shift)
    jit[1](z[: 4 * N], z[N:], N)
    np.testing.assert_array_equal(z[::N], [1, 2, 3, 4, 5])
    with pytest.raises(TileError, match="arrays that share memory cannot be checked"):
        tilesat.jit(shift, check=True)[1](z[: 4 * N], z[N:], N)


def test_an_empty_array_has_no_elements_to_read() -> None:
    y = np.ones(4 * N, np.float32)
    tilesat.jit(scale)[4](np.zeros(0, np.float32), y, 2.0, N)
    np.testing.assert_array_equal(y, np.zeros(4 * N))


def test_a_list_is_a_table_and_a_tuple_its_items() -> None:
    rng = np.random.default_rng(0)
    xs = [rng.standard_normal((2, 128)).astype(np.float32) for _ in range(3)]
    y = np.zeros(128, np.float32)
    jit = tilesat.jit(total, check=True)
    jit[2](xs, y, (2.0, 3), N)
    np.testing.assert_allclose(y, 2 * sum(x[0] for x in xs) + 3, rtol=1e-5, atol=1e-5)
    kernel = jit.kernel(xs, y, (2.0, 3), N)
    kernel[2]([xs[0]], y, (1.0, 0))
    np.testing.assert_array_equal(y, xs[0][0])
    with pytest.raises(
        TileError, match=r"parameter 'xs': expected a list, each element an array f32\[\?,\?\], got f32"
    ):
        kernel[2](xs[0], y, (1.0, 0))
    with pytest.raises(TileError, match=r"parameter 'pair': expected a tuple of 2, got one of 3"):
        kernel[2](xs, y, (1.0, 0, 0))
    with pytest.raises(TileError, match=r"parameter 'pair': expected a tuple of 2, got 3"):
        kernel[2](xs, y, 3)


def test_a_tuple_has_the_length_of_its_annotation() -> None:
    @tilesat.jit
    @ct.kernel
    def pairs(y, pair: tuple[ct.Constant[int], ct.Constant[int]]):
        ct.store(y, (0,), ct.full((64,), pair[0] + pair[1], ct.float32))

    y = np.zeros(N, np.float32)
    pairs[1](y, (2, 3))
    np.testing.assert_array_equal(y, np.full(N, 5))
    with pytest.raises(TileError, match="parameter 'pair': expected a tuple of 2, got one of 3"):
        pairs[1](y, (1, 2, 3))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([np.zeros((2, 4), np.float32), np.zeros((2, 4), np.float16)], "got f16 of rank 2 and f32 of rank 2"),
        ([], "got an empty list"),
    ],
)
def test_the_arrays_of_a_list_are_alike(given: list[Any], said: str) -> None:
    with pytest.raises(TileError, match="parameter 'xs': expected a list of arrays of one type and rank, " + said):
        tilesat.jit(total)[1](given, np.zeros(N, np.float32), (1.0, 0), N)


def test_jit_compiles_once_for_arguments_of_a_kind(x: Any) -> None:
    jit = tilesat.jit(scale, target="sm_90a", check=True)
    y = np.zeros_like(x)
    for factor in (2.0, 3.0):
        jit[4](x, y, factor, N)
        np.testing.assert_array_equal(y, x * np.float32(factor))
    assert repr(jit) == "<Jit @scale: 1 compiled>"
    wide = np.zeros((4 * N, 3), np.float32)
    wide[:, 1] = x
    jit[4](wide[:, 1], y, 2.0, N)  # another stride
    jit[2](x, y, 2.0, 2 * N)  # another constant
    jit[4](x, y, 2, N)  # an integer
    assert len(jit.kernels) == 4
    assert {kernel.target for kernel in jit.kernels.values()} == {"sm_90a"}


def test_constants_of_different_types_are_different(x: Any) -> None:
    """7 and 7.0 are one key of a dictionary."""

    @tilesat.jit
    @ct.kernel
    def power(x, y, e: ct.Constant, n: ct.Constant[int]):
        ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) + e)

    y = np.zeros_like(x)
    for constant in (1, 1.0, True, 0.0, -0.0):
        power[4](x, y, constant, N)
        np.testing.assert_array_equal(y, x + np.float32(constant))
    assert len(power.kernels) == 5


def test_jit_is_a_decorator_and_takes_text_too(x: Any) -> None:
    @tilesat.jit(without=["sink-negf"])
    @ct.kernel
    def own(x, y, n: ct.Constant[int]):
        ct.store(y, (ct.bid(0),), -ct.load(x, (ct.bid(0),), (n,)))

    y = np.zeros_like(x)
    own[4](x, y, n=N)
    np.testing.assert_array_equal(y, -x)
    jit = tilesat.jit(EXAMPLES / "vecadd_view.mlir", check=True)
    z = np.zeros_like(x)
    jit[1](x, y, z, x.size)
    np.testing.assert_array_equal(z, x + y)
    assert repr(jit) == "<Jit @program: 1 compiled>"
    with pytest.raises(TileError, match="jit: the arguments determine the signature"):
        tilesat.jit(scale, signature="f32[?]")


@pytest.mark.parametrize(
    ("arguments", "named", "said"),
    [
        ((), {"factor": 2.0}, "parameter 'x' of @scale is missing"),
        ((1, 2, 3, 4, 5), {}, "expected at most 4 arguments, got 5"),
        ((), {"z": 1}, "@scale has no parameter 'z'"),
    ],
)
def test_jit_names_what_is_missing(arguments: tuple[Any, ...], named: dict[str, Any], said: str) -> None:
    with pytest.raises(TileError, match=said):
        tilesat.jit(scale)[4](*arguments, **named)


def test_threads_compile_one_kernel(x: Any) -> None:
    jit = tilesat.jit(scale)
    outputs = [np.zeros_like(x) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda y: jit[4](x, y, 2.0, N), outputs))
    assert len(jit.kernels) == 1
    assert all(np.array_equal(y, x * 2) for y in outputs)


class Foreign:
    """An array of a library that speaks one protocol."""

    def __init__(self, array: Any):
        self.array = array


class WithInterface(Foreign):
    @property
    def __array_interface__(self) -> Any:
        return self.array.__array_interface__


class WithDlpack(Foreign):
    device = (1, 0)

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.device


class OnCard(Foreign):
    address = 4096

    @property
    def __cuda_array_interface__(self) -> Any:
        data = (self.address, False)
        return {"shape": self.array.shape, "typestr": self.array.dtype.str, "data": data, "version": 3}


@pytest.mark.parametrize("foreign", [WithInterface, WithDlpack])
def test_arrays_of_other_libraries_are_taken_without_a_copy(foreign: type[Foreign], x: Any, kernel: Kernel) -> None:
    y = np.zeros_like(x)
    kernel[4](foreign(x), foreign(y), 2.0)
    np.testing.assert_array_equal(y, x * 2)


def test_arrays_of_a_card_run_on_the_card(x: Any, kernel: Kernel) -> None:
    view = view_of(OnCard(x.reshape(4, N)), "x")
    assert (view.address, view.strides, view.on_host) == (4096, (N, 1), False)
    with pytest.raises(TileError, match=r"the array f32\[256\] is on the card, 'sim' runs on the host"):
        kernel.run(4, OnCard(x), x, 2.0, N)


@pytest.mark.parametrize(("capability", "target"), [((9, 0), "sm_90a"), ((8, 0), "sm_80")])
def test_jit_on_a_card(capability: tuple[int, int], target: str, x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver whose device is the simulator: the kernel is compiled for its architecture, and given its addresses."""
    driver = FakeDriver(capability)
    monkeypatch.setattr("runtime.cuda.load_driver", lambda: driver)
    with Device() as device:
        there = [OnCard(x), OnCard(np.zeros_like(x))]
        held = [device.put(each.array) for each in there]
        for each, array in zip(there, held, strict=True):
            each.address = array.address
        jit = tilesat.jit(scale)
        jit[4](*there, 2.0, N)
        np.testing.assert_array_equal(device.get(held[1]), x * 2)
    assert [kernel.target for kernel in jit.kernels.values()] == [target]


def test_a_card_of_no_target_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.cuda.load_driver", lambda: FakeDriver((7, 5)))
    with pytest.raises(TileError, match="jit: the card is sm_75, which is not a target"):
        tilesat.jit(scale, on="cuda")[1](np.zeros(N, np.float32), np.zeros(N, np.float32), 2.0, N)


def test_a_device_that_nobody_reaches_is_named(x: Any, kernel: Kernel) -> None:
    far = WithDlpack(x)
    far.device = (10, 0)
    with pytest.raises(TileError, match="parameter 'x': expected an array on the host or a CUDA card, got one on a"):
        kernel[4](far, x, 2.0)


@pytest.mark.parametrize(
    ("array", "dtype", "strides", "span"),
    [
        (np.zeros((4, 6), np.float16), "f16", (6, 1), 24),
        (np.zeros((4, 6), np.float16).T, "f16", (1, 6), 24),
        (np.zeros((4, 6), np.uint8)[:, :4], "u8", (6, 1), 22),
        (np.zeros((4, 6), ml_dtypes.bfloat16)[1::2], "bf16", (12, 1), 18),
        (np.zeros((4, 6), ml_dtypes.float8_e5m2).T, "f8E5M2", (1, 6), 24),
        (np.zeros((4, 6), ml_dtypes.float8_e8m0fnu), "f8E8M0FNU", (6, 1), 24),
        (np.zeros((0, 6), bool), "i1", (0, 0), 0),
        (np.broadcast_to(np.zeros(3), (4, 3)), "f64", (0, 1), 3),
    ],
)
def test_views_reach_from_the_first_element_to_the_last(array: Any, dtype: str, strides: Any, span: int) -> None:
    view = view_of(array, "x")
    assert (view.dtype, view.strides, view.span, view.address) == (dtype, strides, span, array.ctypes.data)
    assert view.memory is not None
    assert view.memory.shape == (span,)
    assert np.shares_memory(view.memory, array) or not span


def test_numbers_are_no_arrays() -> None:
    assert not any(map(is_array, (1, 2.0, True, None, "a", np.float32(1), (1,), [1])))


def test_overlapping_rows_promise_nothing() -> None:
    assert array_parameter(view_of(np.broadcast_to(np.zeros(3), (4, 3)), "x")).overlapping
    assert not array_parameter(view_of(np.zeros((4, 3)), "x")).overlapping


def test_torch_tensors_are_taken_with_the_types_that_numpy_lacks() -> None:
    torch: Any = pytest.importorskip("torch")
    x = torch.randn(16, 8, dtype=torch.bfloat16).T
    y = torch.zeros(8, 16)
    tilesat.jit(widened, check=True)[8](x, y, 16)
    assert torch.equal(y, x.float())


@pytest.mark.parametrize("given", [None, "x"])
def test_what_cutile_has_no_constant_for_is_named(given: Any, x: Any) -> None:
    with pytest.raises(TileError, match="parameter 'x': expected an array, a number or a constant of cuTile, got") as e:
        tilesat.jit(widened)[8](given, x, 16)
    assert e.value.location.file == __file__


def test_a_sparse_tensor_is_named() -> None:
    torch: Any = pytest.importorskip("torch")
    with pytest.raises(TileError, match="parameter 'x': expected a strided tensor on cpu or cuda, got"):
        view_of(torch.eye(4).to_sparse(), "x")


@ct.kernel
def rows_of_a_loop(x, y, n: ct.Constant[int]):
    total = ct.zeros((n, 8), dtype=ct.float32)
    for step in range(8):
        row = ct.astype(ct.load(x, (0, step, ct.bid(0), 0), (1, 1, 1, n)).reshape((n,)), ct.float32)
        total = total + ct.expand_dims(row, axis=1)
        ct.store(y, (ct.bid(0), step, 0), ct.sum(total * ct.expand_dims(row, 1), axis=0).reshape((1, 1, 8)))


@pytest.mark.in_turn
@pytest.mark.parametrize("size", [8, 16, 64])
def test_tensor_copies_of_a_row_fill_stages_of_rings(size: int) -> None:
    """Stages of small tiles begin at any multiple of 128 bytes: a swizzle of eight rows put them elsewhere (TileGym's
    recurrent gated delta rule on sm_90a), and those of less than 128 bytes were where no copy may write.
    """
    x = np.random.default_rng(size).standard_normal((1, 8, 2, size)).astype(ml_dtypes.bfloat16)
    y = np.zeros((2, 8, 8), np.float32)
    jitted = tilesat.jit(rows_of_a_loop, target="sm_90a", check=True, cache=False)
    jitted[2](x, y, n=size)
    assert "cp.async.bulk.tensor" in jitted.kernel(x, y, n=size).ptx

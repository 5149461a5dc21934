"""Arrays that DLPack describes, on the host and on a card, and those of libraries whose arrays have every protocol."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import cuda.tile as ct
import ml_dtypes
import numpy as np
import pytest

import tilesat
from ir.core import TileError
from runtime.cuda import CudaError, NoDeviceError, shared
from tests.runtime.fake_driver import FakeDriver
from tilesat import dlpack
from tilesat.arrays import on_card, view_of
from tilesat.calling import ArgumentError
from tilesat.kernel import Kernel
from tilesat.on_card import key_of, loaded, stream_of

N = 64
CODES = {named: code for code, named in dlpack.CODES.items()}
MAKE = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


class Exporter:
    """An array of a library that speaks DLPack alone: `address` is of the device, elements lie in `array`."""

    def __init__(
        self, array: Any, dtype: str, device: tuple[int, int] = (dlpack.HOST, 0), versioned: bool = True,
        flags: int = 0, address: int | None = None,
    ):  # fmt: skip
        self.array, self.dtype, self.device, self.versioned, self.flags = array, dtype, device, versioned, flags
        self.address = array.ctypes.data if address is None else address
        self.streams: list[Any] = []
        self.lanes, self.strided, self.major = 1, True, 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, stream: Any = None, **more: Any) -> Any:
        if more and not self.versioned:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        made: Any = dlpack.Versioned() if self.versioned else dlpack.Managed()
        rank, size = self.array.ndim, self.array.dtype.itemsize
        tensor = made.tensor
        tensor.data, tensor.offset = self.address - 16, 16
        tensor.device, tensor.ordinal = self.device
        tensor.rank, (tensor.code, tensor.bits), tensor.lanes = rank, CODES[self.dtype], self.lanes
        kept = [
            (ctypes.c_int64 * rank)(*self.array.shape),
            (ctypes.c_int64 * rank)(*(s // size for s in self.array.strides)),
        ]
        tensor.shape = ctypes.cast(kept[0], ctypes.POINTER(ctypes.c_int64))
        if self.strided:
            tensor.strides = ctypes.cast(kept[1], ctypes.POINTER(ctypes.c_int64))
        if self.versioned:
            made.major, made.minor, made.flags = self.major, 3, self.flags
        self.kept = made, kept
        return MAKE(ctypes.addressof(made), b"dltensor_versioned" if self.versioned else b"dltensor", None)


class Everything(Exporter):
    """An array as JAX has it: every protocol, of which the card's raises AttributeError on the host."""

    @property
    def __cuda_array_interface__(self) -> Any:
        if self.device[0] in dlpack.ON_HOST:
            raise AttributeError("__cuda_array_interface__ is only defined for arrays on a card")
        kind = "<V2" if self.dtype == "bf16" else self.array.dtype.str
        return {"shape": self.array.shape, "typestr": kind, "data": (self.address, False), "version": 3, "stream": 7}


@ct.kernel
def scale(x, y, factor, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)


@ct.kernel
def paired(pair, y, n: ct.Constant[int]):
    ct.store(y, (0,), ct.load(pair[0], (0,), (n,)) * pair[1])


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return tilesat.compile(scale, signature=f"f32[?]; f32[?]; f32; ={N}")


@pytest.fixture
def x() -> Any:
    return np.random.default_rng(3).standard_normal(4 * N).astype(np.float32)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    made = FakeDriver((9, 0), devices=2)
    monkeypatch.setattr("runtime.cuda.load_driver", lambda: made)
    yield made
    for card in (0, 1):
        shared(card).close()


@pytest.mark.parametrize("kind", [Exporter, Everything])
def test_arrays_of_the_host_are_taken_without_a_copy(kind: type[Exporter], x: Any, kernel: Kernel) -> None:
    y = np.zeros_like(x)
    kernel[4](kind(x, "f32"), kind(y, "f32"), 2.0)
    np.testing.assert_array_equal(y, x * 2)
    kernel[4](kind(x, "f32"), kind(y, "f32", (dlpack.PINNED, 0)), 3.0)
    np.testing.assert_array_equal(y, x * 3)


@pytest.mark.parametrize(
    ("versioned", "flags", "changeable"),
    [(True, 0, True), (True, dlpack.READ_ONLY, False), (True, dlpack.COPIED, False), (False, 0, False)],
)
def test_what_may_not_be_written_is_read(versioned: bool, flags: int, changeable: bool, x: Any, kernel: Kernel) -> None:
    """Nobody would see what is written to a copy; before version 1 nothing is said, and JAX's arrays never change."""
    y, before = np.zeros_like(x), x.copy()
    given = Exporter(x, "f32", versioned=versioned, flags=flags)
    assert view_of(given, "x").changeable is changeable
    kernel[4](given, y, 2.0)
    np.testing.assert_array_equal(y, x * 2)
    if changeable:
        kernel[4](y, given, 2.0)
        return
    with pytest.raises(TileError, match=r"parameter 'y': entry 'scale' writes f32\[256\], which is read-only"):
        kernel[4](y, given, 2.0)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    ("array", "dtype", "strides"),
    [
        (np.arange(24, dtype=np.uint16).reshape(4, 6).view(ml_dtypes.bfloat16), "bf16", (6, 1)),
        (np.arange(24, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).reshape(4, 6).T, "f8E4M3FN", (1, 6)),
        (np.arange(24, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu).reshape(4, 6)[1::2], "f8E8M0FNU", (12, 1)),
        (np.arange(24, dtype=np.uint32).reshape(4, 6), "u32", (6, 1)),
        (np.ones((4, 6), bool), "i1", (6, 1)),
        (np.zeros((0, 6), np.float64), "f64", (0, 0)),
    ],
)
def test_types_and_strides(array: Any, dtype: str, strides: Any) -> None:
    given = Exporter(array, dtype)
    view = view_of(given, "x")
    assert (view.dtype, view.shape, view.strides, view.address) == (dtype, array.shape, strides, array.ctypes.data)
    assert view.memory is not None
    if array.size:
        wanted = np.lib.stride_tricks.as_strided(array.view(f"u{array.dtype.itemsize}"), array.shape, array.strides)
        rows = np.lib.stride_tricks.as_strided(
            view.memory.view(wanted.dtype), array.shape, [s * array.dtype.itemsize for s in strides]
        )
        np.testing.assert_array_equal(rows, wanted)
    given.strided = False  # rows one after the other
    assert view_of(given, "x").strides == (6 if array.shape[1] == 6 else 4, 1)


def wrong(**changed: Any) -> Exporter:
    """An exporter with something that is not taken."""
    made = Exporter(np.zeros(N, np.float32), "f32")
    vars(made).update(changed)
    return made


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (wrong(lanes=4), "parameter 'x': Tile IR has no element type (code 2, 32 bits, 4 lanes) of DLPack"),
        (wrong(major=2), "parameter 'x': cannot export the array through DLPack: DLPack 2.3 is not known here"),
        (wrong(array=np.zeros(N, np.float32)[::-1]), "parameter 'x': strides of (-1,) elements are not positive"),
        (
            wrong(device=(8, 0)),
            "parameter 'x': expected an array on the host or a CUDA card, got one on a device of Me",
        ),
        (wrong(device=(99, 0)), "got one on a device of type 99 of DLPack"),
        (wrong(device=(dlpack.CUDA, 0)), "parameter 'x': the array f32[64] is on the card, 'sim' runs on the host"),
    ],
)
def test_what_is_not_taken_is_named(given: Exporter, said: str, x: Any, kernel: Kernel) -> None:
    with pytest.raises(TileError, match=re.escape(said)):
        kernel.run(1, given, x, 2.0, N)


def test_what_is_no_capsule_is_named(x: Any, kernel: Kernel) -> None:
    class Odd(Exporter):
        def __dlpack__(self, stream: Any = None, **more: Any) -> Any:
            return 5

    with pytest.raises(
        TileError, match="parameter 'x': cannot export the array through DLPack: __dlpack__ gives a int"
    ):
        kernel[4](Odd(x, "f32"), x, 2.0)


@pytest.mark.parametrize("device", [dlpack.CUDA, dlpack.MANAGED])
def test_arrays_of_a_card_run_there(device: int, x: Any, driver: FakeDriver) -> None:
    held = [shared().put(x), shared().put(np.zeros_like(x))]
    given = [Exporter(x, "f32", (device, 0), address=each.address) for each in held]
    jit = tilesat.jit(scale)
    jit[4](*given, 2.0, N)
    np.testing.assert_array_equal(shared().get(held[1]), x * 2)
    assert given[0].streams[-1] == dlpack.LEGACY_STREAM
    jit.launch(4, (*given, 3.0, N), {}, stream=9)
    assert (driver.launched[-1].hStream, given[0].streams[-1], given[1].streams[-1]) == (9, 9, 9)
    assert [each.target for each in jit.kernels.values()] == ["sm_90a"]
    assert key_of(4, 0, given, {}) is None  # what their makers must be told each time is not kept


def test_streams_that_arrays_name_are_launched_on(x: Any, driver: FakeDriver) -> None:
    held = [shared().put(x), shared().put(np.zeros_like(x))]
    given = [Everything(x, "f32", (dlpack.CUDA, 0), address=each.address) for each in held]
    assert stream_of(given) == 7
    jit = tilesat.jit(scale)
    jit[4](*given, 2.0, N)
    before = len(driver.calls)
    jit[4](*given, 2.0, N)
    assert driver.calls[before:] == ["cuCtxPushCurrent", "cuLaunchKernelEx", "cuCtxPopCurrent"]  # of two devices
    assert [each.hStream for each in driver.launched] == [7, 7]


def test_a_type_that_one_protocol_lacks_is_taken_by_the_other(driver: FakeDriver) -> None:
    array = np.zeros(N, ml_dtypes.bfloat16)
    view = view_of(Everything(array, "bf16", (dlpack.CUDA, 0), address=4096), "x")
    assert (view.dtype, view.address, view.on_host) == ("bf16", 4096, False)
    host = Everything(array, "bf16")
    assert view_of(host, "x").on_host
    assert not on_card(host)
    assert key_of(1, 0, (host,), {}) is None
    assert stream_of((host, array, 3)) == 0


def test_arrays_of_two_cards_are_named(x: Any, driver: FakeDriver) -> None:
    near, far = (Exporter(x, "f32", (dlpack.CUDA, card), address=4096 << card) for card in (0, 1))
    said = r"parameter 'y': the array f32\[256\] is on card 0, that of 'x' on card 1"
    with pytest.raises(TileError, match=said) as error:
        tilesat.jit(scale)[4](far, near, 2.0, N)
    assert error.value.hint == "pass a copy on card 1"
    host = tilesat.compile(scale, target="sm_90a", signature=f"f32[?]; f32[?]; f32; ={N}")
    with pytest.raises(
        CudaError, match="argument 0 is on device 1, kernel 'scale' is loaded on device 0: load it there too"
    ):
        loaded(host, shared(0)).prepare((4, 1, 1), [shared(1).put(x)])
    with pytest.raises(NoDeviceError, match="no CUDA device 2: this machine has 2"):
        shared(2)


class Pair(NamedTuple):
    x: Any
    factor: float


@dataclass(frozen=True)
class Record:
    x: Any
    factor: float


@pytest.mark.parametrize(
    ("kind", "hint"), [(Pair, "give a tuple of its items"), (Record, "give a tuple of its fields")]
)
def test_records_are_no_tuples(kind: Any, hint: str, x: Any) -> None:
    """As in cuTile 1.7.0, whose released package takes neither (`cconv_v3_enabled`)."""
    y, jit = np.zeros(N, np.float32), tilesat.jit(paired)
    with pytest.raises(
        ArgumentError, match=f"parameter 'pair': cuTile takes only plain tuples, got a {kind.__name__}"
    ) as caught:
        jit[1](kind(x, 2.0), y, N)
    assert caught.value.hint == hint
    with (
        tilesat.cutile.backend("sim"),
        pytest.raises(TypeError, match=r"Only plain tuples|are not supported"),
    ):  # as a cuTile program sees it
        ct.launch(None, (1,), paired, (kind(x, 2.0), y, N))
    jit[1]((x, 2.0), y, N)
    np.testing.assert_array_equal(y, x[:N] * 2)
    with pytest.raises(TileError, match=f"parameter 'pair': expected a tuple of 2, got .*{kind.__name__}"):
        next(iter(jit.kernels.values()))[1](kind(x, 2.0), y)

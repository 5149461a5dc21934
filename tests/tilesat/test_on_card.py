"""Launches on a card, on a driver whose device is the simulator: what is prepared once, and what is called again."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import cuda.tile as ct
import numpy as np
import pytest

import tilesat
from ir.core import TileError
from runtime.cuda import CudaError, Device, shared
from tests.runtime.fake_driver import FakeDriver
from tilesat import cutile
from tilesat.on_card import MOST, Launches, handle_of, key_of

N = 64


@ct.kernel
def scale(x, y, factor, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)


@ct.kernel
def doubled(xs, pair, n: ct.Constant[int]):
    first, second = pair
    for k in range(len(xs)):
        ct.store(xs[k], (0,), ct.load(xs[k], (0,), (n,)) * 2)
    ct.store(second, (0,), ct.load(first, (0,), (n,)))


class There:
    """An array of some library on the card."""

    def __init__(self, array: Any):
        self.array, self.held = array, shared().put(array)

    @property
    def __cuda_array_interface__(self) -> Any:
        data = (self.held.address, False)
        return {"shape": self.array.shape, "typestr": self.array.dtype.str, "data": data, "version": 3}

    def get(self) -> Any:
        return shared().get(self.held)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    made = FakeDriver((9, 0))
    monkeypatch.setattr("runtime.cuda.load_driver", lambda: made)
    yield made
    shared().close()


def calls_of(driver: FakeDriver, work: Any) -> list[str]:
    """The driver's functions that are called meanwhile."""
    before = len(driver.calls)
    work()
    return driver.calls[before:]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_repeated_launch_is_one_call(compiled: bool, driver: FakeDriver) -> None:
    x, y = There(np.arange(256, dtype=np.float32)), There(np.zeros(256, np.float32))
    jit = tilesat.jit(scale)
    call = jit.kernel(x, y, 2.0, N)[4] if compiled else jit[4]
    call(x, y, 2.0, N)
    np.testing.assert_array_equal(y.get(), x.array * 2)
    assert calls_of(driver, lambda: call(x, y, 2.0, N)) == ["cuLaunchKernelEx"]
    more = calls_of(driver, lambda: call(x, y, 3.0, N))
    assert set(more) == {"cuLaunchKernelEx"}  # other numbers: packed anew; nothing is loaded, allocated or waited for
    np.testing.assert_array_equal(y.get(), x.array * 3)
    other = There(np.ones(256, np.float32))
    assert set(calls_of(driver, lambda: call(other, y, 3.0, N))) == {"cuLaunchKernelEx"}
    np.testing.assert_array_equal(y.get(), np.full(256, 3.0))
    assert driver.calls.count("cuModuleLoadDataEx") == 1


@pytest.mark.parametrize("persistent", ["off", "atomic"])
def test_repeated_launches_can_be_captured(persistent: str, driver: FakeDriver) -> None:
    """Into a graph, whose capture ends where memory is taken or the device is waited for; the counter of a persistent
    kernel is zeroed on the stream, and so in the graph.
    """
    x, y = There(np.arange(256, dtype=np.float32)), There(np.zeros(256, np.float32))
    jit = tilesat.jit(scale, persistent=persistent)
    jit[4](x, y, 2.0, N)
    driver.capturing = True
    with pytest.raises(CudaError, match="cuCtxSynchronize failed: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"):
        shared().synchronize()
    zeroed = ["cuMemsetD8Async"] if persistent == "atomic" else []
    for _ in range(2):
        assert calls_of(driver, lambda: jit[4](x, y, 2.0, N)) == [*zeroed, "cuLaunchKernelEx"]
    if not zeroed:
        jit[4](x, y, 3.0, N)  # other numbers are packed anew, which takes no memory of the card
    driver.capturing = False
    np.testing.assert_array_equal(y.get(), x.array * (2 if zeroed else 3))


class On:
    """An array of some library on a card of several, whose number the driver knows."""

    def __init__(self, array: Any, card: int):
        self.array, self.device = array, shared(card)
        self.held = self.device.put(array)

    __cuda_array_interface__ = There.__cuda_array_interface__

    def get(self) -> Any:
        return self.device.get(self.held)


def test_a_kernel_runs_on_the_card_of_its_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is loaded once for each card, launched in that one's context, and the current context stays what it was."""
    driver = FakeDriver((9, 0), devices=2)
    monkeypatch.setattr("runtime.cuda.load_driver", lambda: driver)
    driver.cuCtxSetCurrent("the program's own")
    jit = tilesat.jit(scale)
    for card in (1, 0, 1):
        x, y = On(np.arange(256, dtype=np.float32), card), On(np.zeros(256, np.float32), card)
        jit[4](x, y, 2.0, N)
        np.testing.assert_array_equal(y.get(), x.array * 2)
        again = calls_of(driver, lambda x=x, y=y: jit[4](x, y, 2.0, N))
        assert again == ["cuCtxPushCurrent", "cuLaunchKernelEx", "cuCtxPopCurrent"]
        assert driver.context == "the program's own"
    assert len(jit.kernels) == 1
    assert driver.calls.count("cuModuleLoadDataEx") == 2
    assert {home for key, home in driver.homes.items() if isinstance(key, tuple)} == {
        "context of device 0", "context of device 1",
    }  # fmt: skip
    xs = [On(np.ones(N, np.float32), 1) for _ in range(2)]
    pair = On(np.arange(N, dtype=np.float32), 1), On(np.zeros(N, np.float32), 1)
    tilesat.jit(doubled)[1](xs, pair, N)  # a table on their card
    assert [each.get().sum() for each in (*xs, *pair)] == [2 * N, 2 * N, *[sum(range(N))] * 2]
    with pytest.raises(TileError, match=r"parameter 'y': the array f32\[64\] is on card 0, that of 'x' on card 1"):
        jit[1](xs[0], On(np.zeros(N, np.float32), 0), 2.0, N)
    for card in (0, 1):
        shared(card).close()


def test_tensor_maps_are_encoded_once_for_an_array(driver: FakeDriver) -> None:
    kernel = tilesat.compile("examples/gemm.mlir", "sm_90a")
    numbers = (128, 128, 64, 64, 64, 128, 128)
    rng = np.random.default_rng(3)
    a, b = (There(rng.standard_normal((128, 64)).astype(np.float16)) for _ in range(2))
    c, d = There(np.zeros((128, 128), np.float32)), There(np.zeros((128, 128), np.float32))
    assert "cuTensorMapEncodeTiled" in calls_of(driver, lambda: kernel[1](a, b, c, d, *numbers))
    assert calls_of(driver, lambda: kernel[1](a, b, c, d, *numbers)) == ["cuLaunchKernelEx"]
    other = There(np.zeros((128, 128), np.float32))  # a new result: only its own map, if it has one
    assert calls_of(driver, lambda: kernel[1](a, b, c, other, *numbers)).count("cuTensorMapEncodeTiled") <= 1
    expected = a.array.astype(np.float32) @ b.array.astype(np.float32).T
    np.testing.assert_allclose(d.get(), expected, atol=1e-3)


def test_lists_and_tuples_on_a_card(driver: FakeDriver) -> None:
    xs = [There(np.full(N, k + 1, np.float32)) for k in range(3)]
    pair = There(np.arange(N, dtype=np.float32)), There(np.zeros(N, np.float32))
    jit = tilesat.jit(doubled)
    jit[1](xs, pair, n=N)
    assert [float(each.get()[0]) for each in xs] == [2, 4, 6]
    np.testing.assert_array_equal(pair[1].get(), pair[0].array)
    assert calls_of(driver, lambda: jit[1](xs, pair, n=N)) == ["cuLaunchKernelEx"]  # the table is there
    assert [float(each.get()[0]) for each in xs] == [4, 8, 12]


def test_a_stream_is_handed_on(driver: FakeDriver) -> None:
    x, y = There(np.arange(256, dtype=np.float32)), There(np.zeros(256, np.float32))
    with cutile.backend("cuda"):
        for stream in (SimpleNamespace(cuda_stream=7), SimpleNamespace(ptr=8), 9, None):
            ct.launch(stream, (4,), scale, (x, y, 2.0, N))
    assert [config.hStream for config in driver.launched] == [7, 8, 9, 0]
    assert handle_of(SimpleNamespace(handle=5)) == 5


def test_a_thread_makes_the_context_current_once(driver: FakeDriver) -> None:
    x, y = There(np.arange(256, dtype=np.float32)), There(np.zeros(256, np.float32))
    jit = tilesat.jit(scale)
    jit[4](x, y, 2.0, N)
    with ThreadPoolExecutor(1) as pool:
        found = calls_of(driver, lambda: [pool.submit(jit[4], x, y, 2.0, N).result() for _ in range(2)])
    assert found == ["cuCtxSetCurrent", "cuLaunchKernelEx", "cuLaunchKernelEx"]


def test_arrays_of_the_host_are_copied_and_checked(driver: FakeDriver) -> None:
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    tilesat.jit(scale, on="cuda", check=True)[4](x, y, 2.0, N)
    np.testing.assert_array_equal(y, x * 2)
    with pytest.raises(TileError, match="arrays on a card cannot be checked"):
        tilesat.jit(scale, check=True)[4](There(x), There(y), 2.0, N)


def test_what_decides_a_launch() -> None:
    zeros = [key_of(1, 0, (number,), {}) for number in (0, 0.0, -0.0, False, np.float32(0), np.float32(-0.0))]
    assert len(set(zeros)) == len(zeros)
    assert key_of(1, 0, (1, 2), {}) != key_of(1, 0, ((1, 2),), {}) != key_of(1, 0, ([1, 2],), {})
    assert key_of(1, 0, (), {"a": 1}) != key_of(1, 0, (), {"b": 1})
    assert key_of(1, 0, (np.zeros(4),), {}) is None
    assert key_of(1, 0, (None,), {}) is None


def test_prepared_launches_are_bounded(driver: FakeDriver) -> None:
    launches = Launches()
    launches.prepared = {number: lambda: None for number in range(MOST)}
    kernel = tilesat.compile(scale, "sm_90a", signature="f32[?]; f32[?]; f32; =64")
    values = [shared().put(np.zeros(N, np.float32))] * 2
    launches.first("key", 0, kernel, (1, 1, 1), [values[0], *map(np.int32, (N, 1)), values[1], *map(np.int32, (N, 1)),
                                                 np.float32(2)])  # fmt: skip
    assert list(launches.prepared) == ["key"]


def test_a_device_that_is_closed_is_opened_again(driver: FakeDriver) -> None:
    first = shared()
    assert shared() is first
    first.close()
    assert shared() is not first
    assert isinstance(shared(), Device)

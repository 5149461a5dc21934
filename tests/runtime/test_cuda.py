"""The GPU launcher without a GPU: what it packs, encodes, frees and says, on a driver whose device is the simulator."""

from __future__ import annotations

import ast
import json
import struct
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilesat
from runtime import cuda
from runtime.cuda import CudaError, Device, DeviceArray, NoDeviceError, pack_scalar, run
from runtime.manifest import (
    FILLS,
    PADDING_BYTES,
    ManifestError,
    TensorMapRecord,
    evaluate,
    extents_of_map,
    parse,
)
from tests.runtime.fake_driver import FakeDriver
from tests.tilesat.example_cases import EXAMPLES, QUICK
from tilesat.execution import check_arguments, largest_error

ROOT = Path(__file__).resolve().parents[2]

AXPY = """
.version 8.8
.target sm_80
.address_size 64
.visible .entry axpy(.param .u64 x, .param .f32 a, .param .u16 shift, .param .u64 y)
{
  .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<6>; .reg .b16 %h<2>;
  ld.param.u64 %rd1, [x];
  ld.param.f32 %f1, [a];
  ld.param.u16 %h1, [shift];
  ld.param.u64 %rd2, [y];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r1, %r1, %r2, %r3;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd4, %rd1, %rd3;
  add.u64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  ld.global.f32 %f3, [%rd5];
  fma.rn.f32 %f3, %f1, %f2, %f3;
  cvt.rn.f32.s16 %f4, %h1;
  add.f32 %f3, %f3, %f4;
  st.global.f32 [%rd5], %f3;
  ret;
}
"""

MANIFEST: dict[str, Any] = {
    "entry": "axpy", "target": "sm_80", "block": [32, 1, 1], "cluster": [1, 1, 1], "dynamic_smem": 0,
    "global_scratch": 0,
    "params": [
        {"kind": "pointer", "arg": 1, "dtype": "f32"}, {"kind": "scalar", "arg": 0, "dtype": "f32"},
        {"kind": "scalar", "arg": 3, "dtype": "i16"}, {"kind": "pointer", "arg": 2, "dtype": "f32"},
    ],
}  # fmt: skip

MAP: dict[str, Any] = {
    "kind": "tensormap",
    "dtype": "f16",
    "base": {"arg": 0},
    "global_dim": [{"arg": 2}, {"ceildiv": [{"arg": 1}, {"const": 2}]}],
    "global_strides": [{"mul": [{"arg": 2}, {"const": 2}]}],
    "box": [64, 128],
    "element_strides": [1, 1],
    "swizzle": "128B",
    "interleave": "none",
    "l2_promotion": "128B",
    "oob_fill": "zero",
}


def singles(count: int, seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(count).astype(np.float32)


def test_parameters_follow_the_manifest_and_arrays_are_written_in_place() -> None:
    x, y = singles(96, 1), singles(96, 2)
    expected = np.float32(2.5) * x + y - 7
    kept, driver = x.copy(), FakeDriver()
    with Device(driver=driver) as device:
        run(AXPY, MANIFEST, (3, 1, 1), [2.5, x, y, -7], device)
        assert not driver.live
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    assert np.array_equal(x, kept)
    assert driver.calls[-1] == "cuDevicePrimaryCtxRelease"
    assert set(driver.modules.values()) == {""}


def test_an_array_given_twice_is_one_allocation() -> None:
    x, driver = singles(32, 3), FakeDriver()
    expected = np.float32(-3) * x + x
    run(AXPY, MANIFEST, (1, 1, 1), [-3.0, x, x, 0], Device(driver=driver))
    np.testing.assert_allclose(x, expected, rtol=1e-6)
    assert driver.calls.count("cuMemAlloc") == 1


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", ["gemm-200x136x72", "layernorm-2x2500", "flash_attention-2x200x100"])
def test_examples_run_through_the_driver(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses, numbers and, for sm_90a, tensor maps in one to three dimensions arrive as the kernel reads them."""
    driver = FakeDriver((9, 0) if target == "sm_90a" else (8, 0))
    monkeypatch.setattr(cuda, "load_driver", lambda: driver)
    case = QUICK[name]()
    arguments = case.fresh()
    kernel = tilesat.compile(case.source, target)
    kernel.run(case.grid, *arguments, on="cuda")
    assert largest_error(case.logical(arguments), case.expected) <= case.tolerance
    assert case.outside_untouched(arguments)
    maps = sum(parameter["kind"] == "tensormap" for parameter in kernel.manifest["params"])
    assert driver.calls.count("cuTensorMapEncodeTiled") == maps
    assert maps > 0 or target == "sm_80" or "gemm" not in name


def test_a_cubin_is_loaded_as_it_is_and_events_time_it() -> None:
    driver = FakeDriver()
    with Device(driver=driver) as device:
        kernel = device.load(b"\x7fELF and so on", {**MANIFEST, "target": "sm_90a", "cluster": [2, 1, 1]})
        x = device.put(singles(64, 1))
        launch = kernel.prepare((2, 1, 1), [1.0, x, x, 0])
        assert device.time(launch, repeat=4, warm_up=2, cold=device.empty((100,), np.int8)) == [1, 1, 1, 1]
    assert len(driver.launched) == 6
    cluster = driver.launched[0].attrs[0]
    assert cluster.id == "CLUSTER_DIMENSION"
    assert (cluster.value.clusterDim.x, cluster.value.clusterDim.y) == (2, 1)
    assert driver.calls.count("cuMemsetD8Async") == 4


def test_a_kernel_that_waits_by_itself_may_begin_early() -> None:
    """Others are refused: they would read what the grid before has not written yet."""
    driver = FakeDriver()
    with Device(driver=driver) as device:
        x = device.put(singles(64, 1))
        kernel = device.load(b"\x7fELF", {**MANIFEST, "target": "sm_90a", "dependent": True})
        for dependent in (False, True):
            kernel.prepare((2, 1, 1), [1.0, x, x, 0], dependent=dependent)()
        with pytest.raises(CudaError, match="kernel 'axpy' does not wait for the grid before it"):
            device.load(b"\x7fELF", {**MANIFEST, "target": "sm_90a"}).prepare((2, 1, 1), [1.0, x, x, 0], dependent=True)
    assert [[each.id for each in config.attrs] for config in driver.launched] == [
        [],
        ["PROGRAMMATIC_STREAM_SERIALIZATION"],
    ]
    assert driver.launched[1].attrs[0].value.programmaticStreamSerializationAllowed == 1


def test_streams_and_cooperative_launches() -> None:
    driver = FakeDriver()
    with Device(driver=driver) as device:
        x = device.put(singles(64, 1))
        kernel = device.load(b"\x7fELF", {**MANIFEST, "target": "sm_90a"})
        kernel.prepare((2, 1, 1), [1.0, x, x, 0], stream=5, cooperative=True)()
    (config,) = driver.launched
    assert (config.hStream, config.attrs[0].id, config.attrs[0].value.cooperative) == (5, "COOPERATIVE", 1)


def test_arrays_of_the_device_keep_what_is_put() -> None:
    with Device(driver=FakeDriver()) as device:
        given = singles(24, 5).reshape(2, 3, 4)
        held = device.put(given)
        assert np.array_equal(device.get(held), given)
        with pytest.raises(CudaError, match="not contiguous"):
            device.put(given.transpose(2, 0, 1))
        with pytest.raises(CudaError, match=r"96 bytes of the device do not match float32\[5\]"):
            device.get(held, np.zeros(5, np.float32))
        empty = device.put(np.zeros((0, 4), np.float32))
        assert device.get(empty).shape == (0, 4)


# What cannot run is told with what to do


def test_without_the_package_without_a_driver_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoLibrary(FakeDriver):
        def cuInit(self, flags: int) -> tuple[int]:
            raise RuntimeError("libcuda.so.1 is not found")

    with pytest.raises(NoDeviceError, match=r"no CUDA driver on this machine: libcuda\.so\.1"):
        Device(driver=NoLibrary())
    with pytest.raises(NoDeviceError, match="cuInit failed: CUDA_ERROR_NO_DEVICE"):
        Device(driver=FakeDriver(devices=0))
    with pytest.raises(NoDeviceError, match="no CUDA device 3: this machine has 1"):
        Device(3, FakeDriver())
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(NoDeviceError, match="pip install cuda-bindings"):
        Device()


@pytest.mark.parametrize(
    ("target", "capability", "is_cubin", "fits"),
    [
        ("sm_90a", (9, 0), True, True),
        ("sm_90a", (9, 0), False, True),
        ("sm_90a", (10, 0), False, False),
        ("sm_80", (8, 0), True, True),
        ("sm_80", (8, 9), True, True),
        ("sm_80", (9, 0), True, False),
        ("sm_80", (9, 0), False, True),
        ("sm_89", (8, 6), True, False),
        ("sm_89", (8, 6), False, False),
        ("sm_100f", (10, 3), True, True),
        ("sm_100f", (12, 0), False, False),
        ("sm_120a", (12, 1), True, False),
    ],
)
def test_architecture_is_checked(target: str, capability: tuple[int, int], is_cubin: bool, fits: bool) -> None:
    device = Device(driver=FakeDriver(capability))
    image = b"\x7fELF" if is_cubin else AXPY
    manifest = {**MANIFEST, "target": target}
    if fits:
        device.load(image, manifest)
        return
    own = f"sm_{capability[0]}{capability[1]}" + "a" * (capability[0] >= 9)
    with pytest.raises(CudaError, match=rf"compiled for {target}, .* Simulated GPU .* --target {own}$"):
        device.load(image, manifest)


def test_what_the_driver_rejects_is_reported_in_its_words() -> None:
    driver = FakeDriver()
    device = Device(driver=driver)
    with pytest.raises(CudaError, match=r"cuModuleLoadDataEx failed: CUDA_ERROR_INVALID_PTX .*line 1"):
        device.load("no such thing as PTX", MANIFEST)
    with pytest.raises(CudaError, match="needs 99999 bytes of shared memory, Simulated GPU gives a CTA at most 1000"):
        Device(driver=FakeDriver(shared_bytes=1000)).load(AXPY, {**MANIFEST, "dynamic_smem": 99999})
    with pytest.raises(CudaError, match="ILLEGAL_ADDRESS"):
        run(AXPY, MANIFEST, (2, 1, 1), [1.0, singles(32, 1), singles(64, 2), 0], device)
    assert not driver.live  # memory is given back after a failure too


@pytest.mark.parametrize(
    ("grid", "position", "bad", "message"),
    [
        ((0, 1, 1), 0, 1.0, "grid x = 0 is not within 1 to 2147483647"),
        ((1, 65536, 1), 0, 1.0, "grid y = 65536"),
        ((1, 1, 1), 0, "one", "argument 0 is str"),
        ((1, 1, 1), 0, np.float16(1), "argument 0 of kernel 'axpy' is one f32"),
        ((1, 1, 1), 1, 4096, "argument 1 of kernel 'axpy' is a pointer to f32: pass an array, not 4096"),
        ((1, 1, 1), 3, 1 << 16, "argument 3 of kernel 'axpy' is one i16: 65536 does not fit"),
        ((1, 1, 1), 3, 1.5, "is one i16: 1.5 does not fit"),
    ],
)
def test_launch_that_does_not_fit(grid: Any, position: int, bad: Any, message: str) -> None:
    device = Device(driver=FakeDriver())
    x = device.put(singles(32, 1))
    arguments: list[Any] = [1.0, x, x, 2]
    arguments[position] = bad
    with pytest.raises(CudaError, match=message):
        device.load(AXPY, MANIFEST).prepare(grid, arguments)


def test_missing_and_misfitting_arguments() -> None:
    device = Device(driver=FakeDriver())
    kernel = device.load(AXPY, MANIFEST)
    with pytest.raises(CudaError, match="expects 4 arguments, got 1"):
        kernel.prepare((1, 1, 1), [1.0])
    halves = device.put(singles(32, 1).astype(np.float16))
    with pytest.raises(CudaError, match="pointer to f32: the array holds float16"):
        kernel.prepare((1, 1, 1), [1.0, halves, halves, 1])
    clustered = device.load(b"\x7fELF", {**MANIFEST, "target": "sm_90a", "cluster": [2, 1, 1]})
    with pytest.raises(CudaError, match="grid x = 2147483647 is not within 1 to 1073741823"):
        clustered.prepare((2**31 - 1, 1, 1), [])


@pytest.mark.parametrize(("rows", "columns"), [(0, 72), (100, 0), (0, 0)])
def test_view_without_elements_maps_padding(rows: int, columns: int) -> None:
    """The driver refuses a map with an extent of 0: a product over no elements of K could not be launched."""
    device = Device(driver=FakeDriver())
    for fill, byte in FILLS.items():
        (record,) = parse({**MANIFEST, "params": [{**MAP, "oob_fill": fill}]}).params
        assert isinstance(record, TensorMapRecord)
        before = set(device._allocations)
        assert len(device.encode(record, [64, rows, columns], "here")) == 128
        (added,) = device._allocations - before
        held = device.get(DeviceArray(added, (PADDING_BYTES,), np.dtype(np.uint8)))
        assert (held == byte).all()
        fields = record.global_dim, record.global_strides, record.base
        assert extents_of_map(*fields, [64, rows, columns], lambda: -1) == (-1, [1, 1], [PADDING_BYTES])


def test_an_array_beyond_the_coordinates_of_tensor_copies_is_refused() -> None:
    (record,) = parse({**MANIFEST, "params": [MAP]}).params
    assert isinstance(record, TensorMapRecord)
    message = r"tensor copies reach 2147483647 elements .* the array has 2147483648: .*allow_tma = false"
    with pytest.raises(ManifestError, match=message):
        Device(driver=FakeDriver()).encode(record, [64, 1 << 32, 72], "here")


@pytest.mark.parametrize(
    ("base", "rows", "columns", "message"),
    [
        (64, 100, 72, None),
        (64, 100, 70, r"global_strides\[0\] = 140 bytes is not a multiple of 16"),
        (8, 100, 72, "base 0x8 is not a multiple of 16"),
        (64, 0, 72, None),
        (64, 100, -8, "global_dim"),
    ],
)
def test_tensor_map_that_the_driver_refuses_is_explained(base: int, rows: int, columns: int, message: str) -> None:
    device = Device(driver=FakeDriver())
    manifest = {**MANIFEST, "target": "sm_90a", "params": [*MANIFEST["params"][:0], MAP]}
    kernel = device.load(b"\x7fELF", manifest)
    array = DeviceArray(base, (100, 72), np.dtype(np.float16))
    if message is None:
        kernel.prepare((1, 1, 1), [array, rows, columns])
        return
    with pytest.raises(CudaError, match=r"params\[0\] of kernel 'axpy': .*" + message):
        kernel.prepare((1, 1, 1), [array, rows, columns])


# Packing


@pytest.mark.parametrize(
    ("dtype", "value", "packed"),
    [
        ("i32", -2, b"\xfe\xff\xff\xff"),
        ("i32", 0xFFFFFFFE, b"\xfe\xff\xff\xff"),
        ("i64", 1 << 40, struct.pack("<q", 1 << 40)),
        ("i8", -1, b"\xff"),
        ("i1", True, b"\x01"),
        ("i16", np.int16(-5), struct.pack("<h", -5)),
        ("f32", 3, struct.pack("<f", 3)),
        ("f32", np.float32(0.1), struct.pack("<f", np.float32(0.1))),
        ("f16", 0.333, struct.pack("<e", 0.333)),
        ("f64", 0.1, struct.pack("<d", 0.1)),
        ("tf32", 0.5, struct.pack("<f", 0.5)),
        ("bf16", ml_dtypes.bfloat16(1.7), ml_dtypes.bfloat16(1.7).tobytes()),
        ("f8E4M3FN", ml_dtypes.float8_e4m3fn(1.5), ml_dtypes.float8_e4m3fn(1.5).tobytes()),
    ],
)
def test_scalar_is_packed(dtype: str, value: Any, packed: bytes) -> None:
    assert pack_scalar(dtype, value) == packed


def test_bf16_is_rounded_to_nearest_even() -> None:
    values = [*np.random.default_rng(7).standard_normal(500).tolist(), 1.00390625, 1.01171875, float("inf"), -0.0, 0.0]
    for value in values:
        assert pack_scalar("bf16", value) == ml_dtypes.bfloat16(np.float32(value)).tobytes()
    assert np.isnan(np.frombuffer(pack_scalar("bf16", float("nan")), ml_dtypes.bfloat16).astype(np.float32)[0])


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("i32", 1 << 32),
        ("i8", -129),
        ("i32", 1.0),
        ("f32", np.int32(1)),
        ("i32", np.float32(1)),
        ("f16", 1e6),
        ("f16", "x"),
        ("f8E4M3FN", 1.0),
    ],
)
def test_scalar_that_does_not_fit_is_refused(dtype: str, value: Any) -> None:
    with pytest.raises(CudaError, match=f"is one {dtype}: .* does not fit"):
        pack_scalar(dtype, value)


# The manifest


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ({"arg": 1}, 72),
        ({"const": 5}, 5),
        ({"mul": [{"arg": 0}, {"arg": 1}, {"const": 2}]}, 200 * 72 * 2),
        ({"add": [{"arg": 0}, {"const": -1}]}, 199),
        ({"ceildiv": [{"arg": 0}, {"arg": 1}]}, 3),
        ({"ceildiv": [{"mul": [{"arg": 1}, {"const": 2}]}, {"const": 144}]}, 1),
    ],
)
def test_expression_is_evaluated(expression: Any, value: int) -> None:
    assert evaluate(expression, [200, 72]) == value


def test_products_of_numbers_of_32_bits_do_not_wrap() -> None:
    assert evaluate({"mul": [{"arg": 0}, {"const": 4}]}, [np.int32(1 << 30)]) == 1 << 32


def test_division_by_an_argument_that_is_zero_is_reported() -> None:
    with pytest.raises(ManifestError, match="ceildiv divides by an argument that is 0"):
        evaluate({"ceildiv": [{"const": 4}, {"arg": 0}]}, [0])


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_manifest_of_every_example_is_read(target: str) -> None:
    for example in ("gemm", "flash_attention"):
        kernel = tilesat.compile(EXAMPLES / f"{example}.mlir", target)
        manifest = parse(json.loads(json.dumps(kernel.manifest)))
        assert manifest.arguments == len(kernel.entry.body.block.args)
        assert list(manifest.block) == kernel.manifest["block"]
        case = next(make() for name, make in QUICK.items() if name.startswith(f"{example}-"))
        assert len(check_arguments(kernel.entry, case.arguments)) == manifest.arguments


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entry": None}, r"entry = None: expected str"),
        ({"block": [32, 1]}, r"block = \[32, 1\] must be three extents"),
        ({"block": [1024, 2, 1]}, "product of at most 1024"),
        ({"block": [32, 0, 1]}, "must be positive integers"),
        ({"block": "32"}, "block = '32': expected list"),
        ({"cluster": [8, 4, 1]}, "at most 16"),
        ({"dynamic_smem": -1}, "negative"),
        ({"dynamic_smem": True}, "dynamic_smem = True: expected int"),
        ({"global_scratch": 64}, "global_scratch = 64"),
        ({"dependent": 1}, "dependent = 1: expected true or false"),
        ({"params": [3]}, r"params\[0\] = 3 is not an object"),
        ({"params": [{"kind": "texture", "arg": 0, "dtype": "f32"}]}, r"params\[0\]\.kind = 'texture'"),
        ({"params": [{"kind": "scalar", "dtype": "f32"}]}, r"params\[0\]\.arg is missing"),
        ({"params": [{"kind": "scalar", "arg": -1, "dtype": "f32"}]}, r"params\[0\]\.arg = -1 is negative"),
        ({"params": [{"kind": "scalar", "arg": 0, "dtype": "f31"}]}, r"params\[0\]\.dtype = 'f31' is not one of"),
        ({"params": [{**MAP, "swizzle": "256B"}]}, r"params\[0\]\.swizzle = '256B' is not one of none, 32B, 64B, 128B"),
        ({"params": [{**MAP, "l2_promotion": "64"}]}, r"l2_promotion = '64' is not one of none, 64B, 128B, 256B"),
        ({"params": [{**MAP, "box": [64]}]}, r"params\[0\]\.box has 1 entries, 2 dimensions need 2"),
        ({"params": [{**MAP, "base": {"arg": "0"}}]}, r"params\[0\]\.base\.arg = '0': expected int"),
        ({"params": [{**MAP, "global_dim": [{"arg": 1}, {"sub": [1, 2]}]}]}, r"global_dim\[1\]: 'sub' is not one of"),
        (
            {"params": [{**MAP, "global_strides": [{"mul": [{"arg": 1}, 2]}]}]},
            r"global_strides\[0\]\.mul\[1\] = 2 is not an expr",
        ),
        ({"params": [{**MAP, "global_strides": [{"ceildiv": [{"arg": 1}]}]}]}, r"ceildiv has 1 operands"),
        ({"params": [{**MAP, "base": {"arg": -2}}]}, r"base\.arg = -2 is negative"),
    ],
)
def test_manifest_that_is_wrong_names_the_field(change: dict[str, Any], message: str) -> None:
    parse(MANIFEST)
    with pytest.raises(ManifestError, match=message):
        parse({**MANIFEST, **change})


def test_missing_field_is_named() -> None:
    with pytest.raises(ManifestError, match="params is missing"):
        parse({key: value for key, value in MANIFEST.items() if key != "params"})


def test_launcher_can_be_carried_away() -> None:
    """cuda.py and manifest.py need NumPy and each other; the simulator only to explain a tensor map."""
    for module in ("cuda", "manifest"):
        tree = ast.parse((ROOT / "runtime" / f"{module}.py").read_text())
        names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        ours = {name for name in names if name and name.partition(".")[0] not in {*sys.stdlib_module_names, "numpy"}}
        assert ours <= {"runtime.manifest", "ptxsim.errors", "ptxsim.tensormap"}

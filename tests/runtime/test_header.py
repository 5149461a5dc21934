"""C headers: compiled as C and as C++, linked with a driver that writes calls down, compared with Python's launcher."""

from __future__ import annotations

import copy
import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilesat
from runtime.cuda import Device, DeviceArray
from runtime.header import header, identifier, unique
from runtime.manifest import MAP_NAMES, MAP_TYPES, SIZES, ManifestError, Pointer, TensorMapRecord, parse
from tests.runtime.cuda_headers import headers
from tests.runtime.fake_driver import SUCCESS, FakeDriver
from tests.runtime.test_cuda import MANIFEST, MAP

EXAMPLES = Path(__file__).parents[2] / "examples"
DRIVER = Path(__file__).parent / "data" / "ahead_of_time" / "libcuda.c"
LANGUAGES = {"c": ("gcc", "-std=c99"), "cc": ("g++", "-std=c++11")}
ADDRESSES = (0x10000, 0x20000, 0x30000, 0x40000)
needs_compilers = pytest.mark.skipif(
    headers() is None or not all(shutil.which(command) for command, _ in LANGUAGES.values()),
    reason="needs gcc, g++ and cuda.h (nvidia-cuda-runtime)",
)

PREFIXES = {
    "type": ("CUtensorMapDataType", "CU_TENSOR_MAP_DATA_TYPE_", set(MAP_TYPES.values())),
    "interleave": ("CUtensorMapInterleave", "CU_TENSOR_MAP_INTERLEAVE_", set(MAP_NAMES["interleave"].values())),
    "swizzle": ("CUtensorMapSwizzle", "CU_TENSOR_MAP_SWIZZLE_", {"NONE", "32B", "64B", "128B"}),
    "promotion": ("CUtensorMapL2promotion", "CU_TENSOR_MAP_L2_PROMOTION_", set(MAP_NAMES["l2_promotion"].values())),
    "fill": ("CUtensorMapFloatOOBfill", "CU_TENSOR_MAP_FLOAT_OOB_FILL_", set(MAP_NAMES["oob_fill"].values())),
}


class Itself:
    """An enumeration of the driver whose members are their names."""

    def __getattr__(self, name: str) -> str:
        return name


class Recorder(FakeDriver):
    """Writes down maps and launches as tests/runtime/data/ahead_of_time/libcuda.c does."""

    CUtensorMapDataType = CUtensorMapInterleave = CUtensorMapSwizzle = Itself()
    CUtensorMapL2promotion = CUtensorMapFloatOOBfill = Itself()

    def __init__(self, capability: tuple[int, int], sizes: Sequence[int]) -> None:
        super().__init__(capability)
        self.lines: list[str] = []
        self.sizes = sizes

    def cuTensorMapEncodeTiled(self, dtype: Any, rank: int, base: int, dims: Any, strides: Any, box: Any, steps: Any,
                               *modes: Any) -> tuple[int, Any]:  # fmt: skip
        extents = [f"{a}/{b}/{c}" for a, b, c in zip(dims, box, steps, strict=True)]
        self.lines.append(" ".join([f"map {base:x} of {dtype}", *modes, *extents, *map(str, strides)]))
        word = int.from_bytes(bytes([sum(line.startswith("map") for line in self.lines)] * 8), "little")
        return SUCCESS, SimpleNamespace(opaque=[word] * 16)

    def cuOccupancyMaxActiveClusters(self, function: int, config: Any) -> tuple[int, int]:
        return SUCCESS, 3

    def cuLaunchKernelEx(self, config: Any, function: int, parameters: int, extra: int) -> tuple[int]:
        grid, block = ([getattr(config, f"{what}Dim{axis}") for axis in "XYZ"] for what in ("grid", "block"))
        words = [f"launch 2 over {spaced(grid)} by {spaced(block)} with {config.sharedMemBytes} in 5"]
        for each in config.attrs:
            dims = each.value.clusterDim
            if each.id == "CLUSTER_DIMENSION":
                words.append(f"cluster {dims.x} {dims.y} {dims.z}")
            else:
                words.append(f"dependent {each.value.programmaticStreamSerializationAllowed}")
        places = (ctypes.c_void_p * len(self.sizes)).from_address(parameters)
        words += [ctypes.string_at(at or 0, size).hex() for at, size in zip(places, self.sizes, strict=True)]
        self.lines.append(" ".join(words))
        return (SUCCESS,)


def spaced(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


def sizes_of(manifest: Mapping[str, Any]) -> list[int]:
    """Bytes of each parameter."""
    kinds = {Pointer: 8, TensorMapRecord: 128}
    return [kinds.get(type(each)) or SIZES[each.dtype] for each in parse(manifest).params]


def names() -> str:
    """names.h: enumerations by their names."""
    lines: list[str] = []
    for what, (kind, prefix, members) in PREFIXES.items():
        lines += [f"static const char *{what}_name({kind} value) {{", "  switch ((int)value) {"]
        lines += [f'  case {prefix}{member}: return "{prefix}{member}";' for member in sorted(members)]
        lines += ['  default: return "?";', "  }", "}"]
    return "\n".join(lines) + "\n"


def built(folder: Path, header_text: str, body: str, suffix: str) -> Path:
    """A program that includes the header and runs `body` in main."""
    (folder / "kernel.h").write_text(header_text)
    (folder / "names.h").write_text(names())
    program = folder / f"program_{suffix}"
    source = folder / f"main.{suffix}"
    # twice: headers may be included by several files, and by each of them again
    source.write_text(
        f'#include "kernel.h"\n#include "kernel.h"\n#include <stdio.h>\n'
        f"int main(void) {{\n  struct tilesat_kernel kernel;\n  int status = 0;\n{body}\n"
        f'  printf("status %d\\n", status);\n  return 0;\n}}\n'
    )
    driver = folder / f"libcuda.{suffix}"
    shutil.copy(DRIVER, driver)
    command, standard = LANGUAGES[suffix]
    flags = ["-Wall", "-Wextra", "-Werror", f"-isystem{headers()}", f"-I{folder}"]
    subprocess.run([command, standard, *flags, str(source), str(driver), "-o", str(program)], check=True)
    return program


def ran(program: Path, **environment: str) -> list[str]:
    done = subprocess.run([program], env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def by_header(folder: Path, manifest: Mapping[str, Any], launch: str, **environment: str) -> list[str]:
    """Driver calls of load and launch, the same in C and C++."""
    text = header([parse(manifest)], "k", [])
    body = f'  status = k_load(&kernel, "image");\n  if (!status) status = k_launch({launch});'
    found = [
        ran(built(folder, text, body, suffix), SIZES=",".join(map(str, sizes_of(manifest))), **environment)
        for suffix in LANGUAGES
    ]
    assert found[0] == found[1]
    return found[0]


def by_python(
    manifest: Mapping[str, Any], grid: tuple[int, int, int], arguments: Sequence[Any], dependent: bool = False
) -> list[str]:
    target = int(re.sub(r"\D", "", manifest["target"]))
    driver = Recorder((target // 10, target % 10), sizes_of(manifest))
    with Device(driver=driver) as device:
        device.load(b"\x7fELF", manifest).prepare(grid, arguments, dependent)()
    return driver.lines


def arrays(manifest: Mapping[str, Any], numbers: Sequence[Any]) -> list[Any]:
    """Arrays of the device for the pointers, at ADDRESSES, and the numbers."""
    pointers = [each for each in manifest["params"] if each["kind"] == "pointer" and "launch" not in each]
    kinds = [np.dtype(f"V{SIZES[each['dtype']]}") for each in pointers]
    return [*(DeviceArray(at, (1,), kind) for at, kind in zip(ADDRESSES, kinds, strict=False)), *numbers]


GEMM_NUMBERS = [200, 136, 72, 72, 72, 136, 136]


@pytest.fixture(scope="module")
def gemm() -> dict[str, dict[str, Any]]:
    """Manifests of the GEMM, as options make them."""
    made = {target: tilesat.compile(EXAMPLES / "gemm.mlir", target) for target in ("sm_80", "sm_90a")}
    made["cluster"] = tilesat.compile(EXAMPLES / "gemm.mlir", "sm_90a", num_ctas=2)
    made["counter"] = tilesat.compile(EXAMPLES / "gemm.mlir", "sm_90a", persistent="atomic")
    made["stride"] = tilesat.compile(EXAMPLES / "gemm.mlir", "sm_80", persistent="static")
    return {name: kernel.manifest for name, kernel in made.items()}


@pytest.mark.sampled(4)
@needs_compilers
@pytest.mark.parametrize("name", ["sm_80", "sm_90a", "cluster", "stride"])
def test_a_header_asks_what_the_launcher_asks(gemm: dict[str, Any], name: str, tmp_path: Path) -> None:
    manifest = gemm[name]
    grid, code = (40, 7, 1), re.sub(r"\D", "", manifest["target"])
    given = [*map(hex, ADDRESSES), *map(str, GEMM_NUMBERS)]
    found = by_header(tmp_path, manifest, f"&kernel, 40, 7, 1, (CUstream)5, {', '.join(given)}", CODE=code)
    expected = by_python(manifest, grid, arrays(manifest, GEMM_NUMBERS))
    assert found[-1] == "status 0"
    assert [line for line in found if line.startswith(("map", "launch"))] == expected
    assert expected[-1].startswith("launch")
    assert ("cluster" in expected[-1]) == (name == "cluster")
    assert f"shared {manifest['dynamic_smem']}" in found
    assert ("blocks of 128 threads, 131072 bytes" in found) == (name == "stride")


@needs_compilers
def test_a_counter_is_zeroed_before_each_launch(gemm: dict[str, Any], tmp_path: Path) -> None:
    """Its memory is that of the kernel; Python allocates it for each prepared launch, so it is elsewhere."""
    manifest = gemm["counter"]
    given = [*map(hex, ADDRESSES), *map(str, GEMM_NUMBERS)]
    found = by_header(tmp_path, manifest, f"&kernel, 40, 7, 1, (CUstream)5, {', '.join(given)}", CODE="90")
    expected = by_python(manifest, (40, 7, 1), arrays(manifest, GEMM_NUMBERS))
    assert found[-4:-3] == [line for line in expected if line.startswith("map")][-1:]
    assert found[-3] == "fill 70100 0 4 in 5"
    counter = next(n for n, each in enumerate(manifest["params"]) if each.get("launch") == "tile counter")
    ours, theirs = (line.split(" with ")[1].split() for line in (found[-2], expected[-1]))
    launched = f"launch 2 over 132 1 1 by {manifest['block'][0]} 1 1"
    assert found[-2].split(" with ")[0] == expected[-1].split(" with ")[0] == launched
    assert ours.pop(3 + counter) == (0x70100).to_bytes(8, "little").hex()
    theirs.pop(3 + counter)
    assert ours == theirs


@needs_compilers
def test_memory_for_parts_of_sums(tmp_path: Path) -> None:
    """Tickets are zeroed before a launch over three CTAs a tile block, and memory is given back behind it."""
    own = [{"kind": "pointer", "arg": 0, "dtype": "f32"}, {"kind": "scalar", "arg": 1, "dtype": "i32"}]
    given = [
        {"kind": "pointer", "arg": 2, "dtype": "i32", "launch": "tickets", "bytes": 4, "ctas": 3},
        {"kind": "pointer", "arg": 3, "dtype": "f32", "launch": "sums", "bytes": 4096, "ctas": 3},
    ]
    manifest = {**MANIFEST, "target": "sm_80", "params": [*own, *given]}
    found = by_header(tmp_path, manifest, "&kernel, 40, 2, 1, (CUstream)5, 0x10000, 7", CODE="80")
    (expected,) = by_python(manifest, (40, 2, 1), arrays(manifest, [7]))
    at = found.index(f"allocate {512 + 80 * 4096} in 5")
    assert found[at + 1] == "fill 90000 0 320 in 5"
    ours, theirs = (line.split() for line in (found[at + 2], expected))
    assert ours[-2:] == [place.to_bytes(8, "little").hex() for place in (0x90000, 0x90200)]
    assert ours[:-2] == theirs[:-2]
    assert " ".join(ours).startswith("launch 2 over 120 2 1")
    assert found[at + 3 :] == ["free 90000 in 5", "status 0"]


@needs_compilers
@pytest.mark.parametrize(("grid", "blocks"), [((40, 7, 1), 280), ((2, 1, 1), 2)])
def test_memory_for_even_shares(grid: tuple[int, int, int], blocks: int, tmp_path: Path) -> None:
    """As many CTAs as fit the device, 132, be there more tile blocks or fewer; tickets for each of these, and room for
    the sums of each CTA.
    """
    given = [{"kind": "scalar", "arg": 2 + n, "dtype": "i32", "launch": f"grid {axis}"} for n, axis in enumerate("xyz")]
    given += [
        {"kind": "pointer", "arg": 5, "dtype": "i32", "launch": "tickets", "bytes": 4, "ctas": 1},
        {"kind": "pointer", "arg": 6, "dtype": "f32", "launch": "shares", "bytes": 8192, "ctas": 1},
    ]
    own = [{"kind": "pointer", "arg": 0, "dtype": "f32"}, {"kind": "scalar", "arg": 1, "dtype": "i32"}]
    manifest = {**MANIFEST, "target": "sm_90a", "params": [*own, *given]}
    x, y, z = grid
    found = by_header(tmp_path, manifest, f"&kernel, {x}, {y}, {z}, (CUstream)5, 0x10000, 7", CODE="90")
    (expected,) = by_python(manifest, grid, arrays(manifest, [7]))
    room = -(-4 * blocks // 256) * 256
    at = found.index(f"allocate {room + 132 * 8192} in 5")
    assert found[at + 1] == f"fill 90000 0 {4 * blocks} in 5"
    ours, theirs = (line.split() for line in (found[at + 2], expected))
    assert ours[-2:] == [place.to_bytes(8, "little").hex() for place in (0x90000, 0x90000 + room)]
    assert ours[:-2] == theirs[:-2]
    assert " ".join(ours).startswith("launch 2 over 132 1 1")
    assert [int.from_bytes(bytes.fromhex(word), "little") for word in ours[-5:-2]] == [*grid]
    assert found[at + 3 :] == ["free 90000 in 5", "status 0"]


@needs_compilers
def test_more_tiles_than_a_persistent_kernel_counts(gemm: dict[str, Any], tmp_path: Path) -> None:
    given = ", ".join([*map(hex, ADDRESSES), *map(str, GEMM_NUMBERS)])
    found = by_header(tmp_path, gemm["stride"], f"&kernel, 1 << 30, 1, 2, (CUstream)5, {given}", CODE="80")
    assert found[-1] == "status 1"
    assert not any(line.startswith("launch") for line in found)
    with pytest.raises(ManifestError, match="counts at most 1073741824 tile blocks, the grid has 2147483648"):
        by_python(gemm["stride"], (1 << 30, 1, 2), arrays(gemm["stride"], GEMM_NUMBERS))


@needs_compilers
@pytest.mark.parametrize(("fill", "place"), [("zero", "70000"), ("nan", "70080")])
def test_a_view_without_elements_is_mapped_to_padding(fill: str, place: str, tmp_path: Path) -> None:
    manifest = {**MANIFEST, "target": "sm_90a", "params": [*pointer_and_numbers(), {**MAP, "oob_fill": fill}]}
    found = by_header(tmp_path, manifest, "&kernel, 1, 1, 1, (CUstream)5, 0x10000, 0, 72", CODE="90")
    (expected, _) = by_python(manifest, (1, 1, 1), arrays(manifest, [0, 72]))
    (line,) = [line for line in found if line.startswith("map")]
    assert line.split()[1] == place
    assert line.split()[2:] == expected.split()[2:]
    assert {"fill 70000 0 128", "fill 70080 255 128"} <= set(found)


def pointer_and_numbers() -> list[dict[str, Any]]:
    """What the tensor map MAP takes: a base, rows and columns."""
    numbers = [{"kind": "scalar", "arg": number, "dtype": "i64"} for number in (1, 2)]
    return [{"kind": "pointer", "arg": 0, "dtype": "f16"}, *numbers]


@pytest.mark.in_turn
@needs_compilers
@pytest.mark.parametrize(
    ("launch", "environment", "status"),
    [
        ("1, 1, 1, (CUstream)5, 0x10000, 64, 72", {"CODE": "80"}, 209),  # code that no plan is for: NO_BINARY_FOR_GPU
        ("1, 1, 1, (CUstream)5, 0x10000, 1LL << 32, 72", {}, 1),  # beyond the coordinates of tensor copies
        ("1, 1, 1, (CUstream)5, 0x10000, -2, 72", {}, 1),
        ("1, 1, 1, (CUstream)5, 0x10000, 64, 0x7fffffffffLL", {}, 1),
        ("0, 1, 1, (CUstream)5, 0x10000, 64, 72", {}, 1),
        ("1, 65536, 1, (CUstream)5, 0x10000, 64, 72", {}, 1),
        *(
            ("1, 1, 1, (CUstream)5, 0x10000, 64, 72", {"FAIL": call}, 1)
            for call in ("load", "function", "attribute", "shared", "allocate", "fill", "map", "launch")
        ),
    ],
)
def test_what_cannot_be_launched_is_a_status(
    launch: str, environment: dict[str, str], status: int, shared_program: tuple[Path, dict[str, Path]]
) -> None:
    folder, made = shared_program
    manifest = {**MANIFEST, "target": "sm_90a", "params": [*pointer_and_numbers(), MAP]}
    if launch not in made:
        body = f'  status = k_load(&kernel, "image");\n  if (!status) status = k_launch(&kernel, {launch});'
        (own := folder / str(len(made))).mkdir()
        made[launch] = built(own, header([parse(manifest)], "k", []), body, "c")
    found = ran(made[launch], SIZES="8,8,8,128", **{"CODE": "90", **environment})
    assert found[-1] == f"status {status}"
    assert any(line.startswith("launch") for line in found) == (environment.get("FAIL") == "launch")
    if environment.get("FAIL") in ("function", "shared", "allocate", "fill") or "CODE" in environment:
        assert "unload 1" in found


@pytest.fixture(scope="module")
def shared_program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Path]]:
    """A folder, and the programs that were built in it, by what they launch."""
    return tmp_path_factory.mktemp("header"), {}


NUMBERS = {
    "i1": ("true", True), "i8": ("-3", -3), "i16": ("-300", -300), "i32": ("-70000", -70000),
    "i64": ("-5000000000LL", -5000000000), "f16": ("0x3554", np.float16(0.333)), "f32": ("0.1f", 0.1),
    "f64": ("0.1", 0.1), "tf32": ("0.5f", 0.5), "bf16": ("0x3fc0", ml_dtypes.bfloat16(1.5)),
    "f8E4M3FN": ("0x3c", ml_dtypes.float8_e4m3fn(1.5)), "f8E5M2": ("0x3e", ml_dtypes.float8_e5m2(1.5)),
    "f8E8M0FNU": ("0x80", ml_dtypes.float8_e8m0fnu(2)),
}  # fmt: skip


@needs_compilers
@pytest.mark.parametrize("dependent", [False, True])
def test_numbers_of_every_type_and_dependent_launches(dependent: bool, tmp_path: Path) -> None:
    assert set(NUMBERS) == set(SIZES)
    params = [{"kind": "scalar", "arg": n, "dtype": dtype} for n, dtype in enumerate(NUMBERS)]
    manifest = {**MANIFEST, "target": "sm_90a", "dependent": True, "cluster": [2, 1, 1], "params": params}
    launch = f"(kernel.dependent = {str(dependent).lower()}, &kernel), 3, 2, 1, (CUstream)5, " + ", ".join(
        text for text, _ in NUMBERS.values()
    )
    expected = by_python(manifest, (3, 2, 1), [value for _, value in NUMBERS.values()], dependent)
    assert by_header(tmp_path, manifest, launch, CODE="90")[-2:] == [*expected, "status 0"]
    assert ("dependent 1" in expected[0]) == dependent
    assert "launch 2 over 6 2 1" in expected[0]
    if dependent:
        refused = by_header(tmp_path, {**manifest, "dependent": False}, launch, CODE="90")
        assert refused[-1] == "status 1"


@needs_compilers
def test_expressions_are_those_of_the_manifest(tmp_path: Path) -> None:
    """Division that rounds up, sums and products in 64 bits, also where the factors have 32; no division by zero."""
    dims = [{"arg": 2}, {"ceildiv": [{"add": [{"arg": 1}, {"const": -1}]}, {"const": 3}]}]
    strides = [{"mul": [{"arg": 2}, {"arg": 1}, {"const": 4096}]}]
    params = [*pointer_and_numbers(), {**MAP, "global_dim": dims, "global_strides": strides}]
    for each in params[1:3]:
        each["dtype"] = "i32"
    manifest = {**MANIFEST, "target": "sm_90a", "params": params}
    found = by_header(tmp_path, manifest, "&kernel, 1, 1, 1, (CUstream)5, 0x10000, 3001, 700", CODE="90")
    expected = by_python(manifest, (1, 1, 1), arrays(manifest, [3001, 700]))
    assert found[-3:-1] == expected
    assert " 700/64/1 1000/128/1 8604467200" in expected[0]
    divided = copy.deepcopy(manifest)
    divided["params"][3]["global_dim"][1] = {"ceildiv": [{"const": 4}, {"arg": 1}]}
    assert by_header(tmp_path, divided, "&kernel, 1, 1, 1, (CUstream)5, 0x10000, 0, 700", CODE="90")[-1] == "status 1"


@needs_compilers
def test_several_targets_in_one_header(gemm: dict[str, Any], tmp_path: Path) -> None:
    """The plan is that of the code which the driver took."""
    text = header([parse(gemm["sm_80"]), parse(gemm["sm_90a"])], "gemm", ["a", "b", "int", "a", "m!", "kernel"])
    given = ", ".join([*map(hex, ADDRESSES), *map(str, GEMM_NUMBERS)])
    body = f'  status = gemm_load(&kernel, "image") || gemm_launch(&kernel, 2, 2, 1, (CUstream)5, {given});'
    program = built(tmp_path, text, f"{body}\n  gemm_unload(&kernel);", "c")
    for target, code in (("sm_80", "80"), ("sm_90a", "90")):
        sizes = ",".join(map(str, sizes_of(gemm[target])))
        found = ran(program, CODE=code, SIZES=sizes)
        expected = by_python(gemm[target], (2, 2, 1), arrays(gemm[target], GEMM_NUMBERS))
        assert [line for line in found if line.startswith(("map", "launch"))] == expected
        assert found[-3:] == ["free 70000", "unload 1", "status 0"]
    assert "CUdeviceptr int_ /* f32 */,\n    CUdeviceptr a_ /* f32 */,\n    int32_t m_,\n    int32_t kernel_,\n" in text
    assert "int32_t arg6,\n" in text


def test_names_of_c() -> None:
    assert identifier("gemm-128x64", frozenset()) == "gemm_128x64"
    assert identifier("3d", frozenset()) == "_3d"
    assert identifier("größe", frozenset()) == "gr__e"
    assert unique(["x", "x", "stream", "new"], 5) == ["x", "x_", "stream_", "new_", "arg4"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([{"target": "sm_90"}, {"target": "sm_90a"}], "sm_90 and sm_90a have the same architecture: name one of them"),
        (
            [{"target": "sm_80"}, {"target": "sm_90", "params": MANIFEST["params"][:2]}],
            "the arguments for sm_80 and sm_90 differ: make a header for each",
        ),
        (
            [{"target": "sm_80"}, {"target": "sm_90", "entry": "b"}],
            "the kernels are axpy and b: make a header for each",
        ),
        ([{"target": "sm_90", "params": [MAP]}], "argument 0 is not a parameter, so its type is unknown"),
    ],
)
def test_kernels_without_a_common_header(changes: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ManifestError, match=message):
        header([parse({**MANIFEST, **change}) for change in changes], "axpy", [])

"""The kernels that are mutated, each with one launch on random data, whose results must not change."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ir.core import UNKNOWN
from ptxsim import GlobalMemory, TensorMap, launch
from ptxsim.parser import parse
from tests.runtime.async_harness import dims_of, strides_of
from tests.runtime.mutations import compiled
from tests.runtime.triton_launch import Described, Launched, ptx_of
from tilesat.execution import Signature, checked, launch_arguments

Array = np.ndarray[Any, Any]
DATA = Path(__file__).parents[1] / "data"


@dataclass(frozen=True)
class Mode:
    """How a kernel is run; most: instructions of warps after which it is taken to run forever."""

    hazards: bool = True
    schedule: str = "together"
    most: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """As the simulator's `launch` takes them."""
        return {"hazards": self.hazards, "schedule": self.schedule, "max_instructions": self.most}


Run = Callable[[str, Mode], tuple[list[Array], int]]


@dataclass(frozen=True)
class Subject:
    """A kernel. run: arrays it leaves and the instructions it took; entry: the one that is mutated, where several.

    by_hand_only: no operators, only the changes that name it.
    """

    name: str
    text: Callable[[], str]
    run: Run
    entry: str | None = None
    by_hand_only: bool = False

    def lines(self) -> range:
        """The PTX lines that are mutated."""
        text = self.text()
        if self.entry is None:
            return range(1, text.count("\n") + 2)
        first = text.index("\n", text.index(f".entry {self.entry}("))
        ends = re.compile(r"^\}", re.MULTILINE).search(text, first)
        assert ends is not None
        return range(text.count("\n", 0, first) + 1, text.count("\n", 0, ends.start()) + 1)


# ---- Triton


def _random(*shape: int, seed: int = 0, kind: Any = np.float16) -> Array:
    rng = np.random.default_rng([seed, *shape])
    if np.dtype(kind).kind == "i":
        return rng.integers(-100, 100, shape).astype(kind)
    return rng.standard_normal(shape).astype(np.float32).astype(kind)


def _described(length: int) -> tuple[Any, ...]:
    arrays = [_random(128, length, seed=seed) for seed in (1, 2)]
    return (
        *(Described(array, (128, 64)) for array in arrays),
        Described(np.zeros((128, 128), np.float16), (128, 128)),
        length,
    )


def _products(m: int, n: int, k: int) -> tuple[Any, ...]:
    return _random(m, k), _random(k, n), np.zeros((m, n), np.float32), m, n, k


def _attention() -> tuple[Any, ...]:
    q, k, v = (_random(1, 200, 64, seed=seed) for seed in range(3))
    return q, k, v, np.zeros(q.shape, np.float32), 200, 0.18


def _norm() -> tuple[Any, ...]:
    x = _random(2, 656)
    return (
        x,
        _random(656, kind=np.float32),
        _random(656, seed=1, kind=np.float32),
        np.zeros_like(x),
        np.zeros(2, np.float32),
        656,
        1e-5,
    )


def _sorted() -> tuple[Any, ...]:
    return _random(2, 256, kind=np.float32), np.zeros((2, 256), np.float32), np.zeros(2, np.int32)


def _softmax() -> tuple[Any, ...]:
    return _random(2, 400, kind=np.float32), np.zeros((2, 400), np.float32), 400, 400


def _histogram() -> tuple[Any, ...]:
    x = np.random.default_rng(5).integers(0, 64, 1900).astype(np.int32)
    return x, np.zeros(128, np.int32), np.array([-1, 1000], np.int32), x.size


def _scan() -> tuple[Any, ...]:
    x = np.random.default_rng(4).integers(-1000, 1000, (2, 450)).astype(np.int32)
    return x, np.zeros(x.shape, np.float32), np.zeros_like(x), np.zeros(x.shape, np.float32), 450


TRITON: dict[str, tuple[tuple[int, ...], Callable[[], tuple[Any, ...]]]] = {
    "gemm_descriptors.sm_90": ((1, 1), lambda: _described(512)),
    "gemm_specialised.sm_100": ((1, 1), lambda: _described(512)),
    "gemm_specialised.sm_120": ((1, 1), lambda: _described(512)),
    "gemm_pointers.sm_80": ((1, 1), lambda: _products(128, 128, 320)),
    "gemm_ragged.sm_90": ((1, 1), lambda: _products(60, 50, 100)),
    "attention.sm_80": ((1, 1), _attention),
    "attention.sm_90": ((1, 1), _attention),
    **{f"softmax.{target}": ((2,), _softmax) for target in ("sm_80", "sm_90", "sm_120")},
    **{f"layer_norm.{target}": ((2,), _norm) for target in ("sm_80", "sm_90", "sm_100")},
    "sort_rows.sm_90": ((2,), _sorted),
    "transpose.sm_80": ((1, 1), lambda: (_random(48, 40, kind=np.float32), np.zeros((40, 48), np.float32), 48, 40)),
    "scan.sm_80": ((2,), _scan),
    "histogram.sm_90": ((4,), _histogram),
}  # fmt: skip
BY_HAND = ("scan.sm_80", "histogram.sm_90")
"""Kernels of one operator seventy times, and of barriers around atomics on global memory, which nothing tracks."""


class _Judged(Launched):
    """A launch of Triton's with a mode of its own."""

    def __init__(self, name: str, grid: tuple[int, ...], *args: object, ptx: str, mode: Mode) -> None:
        self.hazards, self.schedule, self.most = mode.hazards, mode.schedule, mode.most
        super().__init__(name, grid, *args, ptx=ptx)


def _triton(name: str) -> Run:
    def run(ptx: str, mode: Mode) -> tuple[list[Array], int]:
        grid, make = TRITON[name]
        run = _Judged(name, grid, *make(), ptx=ptx, mode=mode)
        return [run[position] for position in run.arrays], run.report.instructions.total()

    return run


# ---- nvcc and samples


def _launched(
    grid: tuple[int, ...],
    block: tuple[int, ...],
    make: Callable[[GlobalMemory], list[Any]],
    entry: str | None = None,
    shared: int = 0,
) -> Run:
    """A launch whose arrays become addresses; make: the arguments, which may put tensor maps into the memory."""

    def run(ptx: str, mode: Mode) -> tuple[list[Array], int]:
        memory = GlobalMemory()
        given = make(memory)
        arrays = {number: value for number, value in enumerate(given) if isinstance(value, np.ndarray)}
        addresses = {number: memory.put(array) for number, array in arrays.items()}
        args = [addresses.get(number, value) for number, value in enumerate(given)]
        required = next(iter(parse(ptx).entries.values())).directives.get("reqnctapercluster", (1, 1, 1))
        report = launch(
            ptx, grid, block, args, memory, cluster=required, dynamic_smem=shared, entry=entry, **mode.options
        )
        found = [memory.get(addresses[number], array.shape, array.dtype) for number, array in arrays.items()]
        return found, report.instructions.total()

    return run


def _words(count: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, count]).integers(1, 1 << 15, count).astype(np.uint32)


def _loads(memory: GlobalMemory) -> list[Any]:
    array = _words(80 * 128).astype(np.uint16).reshape(80, 128)
    return [TensorMap(memory.put(array), "u16", dims_of(array), strides_of(array), (64, 64)), np.zeros(4096, np.uint32)]


def _ring(memory: GlobalMemory) -> list[Any]:
    return [_random(16, 96), _random(8, 96, seed=1), np.zeros((16, 8), np.float32), 96, 8]


def _tcgen05(memory: GlobalMemory) -> list[Any]:
    maps = [
        TensorMap(memory.put(_random(128, 192, seed=seed)), np.float16, (192, 128), (384,), (64, 128), swizzle="128B")
        for seed in range(2)
    ]
    return [*maps, np.zeros((128, 128), np.float32), 192]


def _dependent(ptx: str, mode: Mode) -> tuple[list[Array], int]:
    """Two grids; the second may begin before the first has ended."""
    memory, data = GlobalMemory(), _words(192)
    address, count = memory.put(data), 0
    for entry in ("first", "second"):
        report = launch(ptx, (1,), (64,), [address], memory, entry=entry, dependent=entry == "second", **mode.options)
        count += report.instructions.total()
    return [memory.get(address, data.shape, data.dtype)], count


FILES: dict[str, tuple[str, str | None, Run]] = {
    "ring.sm_80": ("ptx/01_cpasync_ldmatrix_mma_f16.ptx", None, _launched((1,), (32,), _ring)),
    "tcgen05_gemm.sm_100": ("ptx/17_tcgen05_gemm_f16.ptx", None, _launched((1,), (128,), _tcgen05)),
    "multicast_load.sm_90": ("ptx/07_tma_multicast.ptx", None, _launched((2,), (128,), _loads)),
    "multicast_ring.sm_90": (
        "protocols/multicast_ring.ptx", None,
        _launched((2,), (96,), lambda _: [_words(6 * 256), np.zeros(128, np.uint32), 6]),
    ),
    "mailbox.sm_80": (
        "protocols/mailbox.ptx", None,
        _launched((1,), (64,), lambda _: [_words(160), np.zeros(160, np.uint32), 5]),
    ),
    "reused_mbarrier.sm_90": (
        "protocols/reused_mbarrier.ptx", None,
        _launched((1,), (64,), lambda _: [_words(128), np.zeros(64, np.uint32)]),
    ),
    "dependent_grid.sm_90": ("protocols/dependent_grid.ptx", "second", _dependent),
    "nvcc_tiled.sm_80": (
        "nvcc/kernels.ptx", "tiled",
        _launched((1, 1), (16, 16), lambda _: [
            _random(16, 41, kind=np.float32), _random(41, 16, kind=np.float32), np.zeros((16, 16), np.float32),
            16, 16, 41,
        ], "tiled", 2048),
    ),
    "nvcc_gemm.sm_80": (
        "nvcc/kernels.ptx", "gemm",
        _launched((1, 1), (128,), lambda _: [
            _random(64, 96), _random(64, 96, seed=1), np.zeros((64, 64), np.float32), 64, 64, 96,
        ], "gemm"),
    ),
    "nvcc_lastblock.sm_80": (
        "nvcc/kernels.ptx", "lastblock",
        _launched((7,), (128,), lambda _: [
            _random(3000, kind=np.float32), np.zeros(7, np.float32), np.zeros(1, np.float32), 3000,
        ], "lastblock"),
    ),
}  # fmt: skip


# ---- our own


def _own(name: str) -> Run:
    def run(ptx: str, mode: Mode) -> tuple[list[Array], int]:
        program, manifest = compiled.program(name), compiled.manifest(name)
        given = checked(Signature.of(manifest["params"], name, UNKNOWN), compiled.arguments(name))
        memory = GlobalMemory()
        arrays = [value for value in given if isinstance(value, np.ndarray)]
        addresses = {id(array): memory.put(array) for array in arrays}
        report = launch(
            ptx, (*program.grid, 1, 1)[:3], manifest["block"],
            launch_arguments(manifest, given, addresses, memory), memory,
            dynamic_smem=manifest["dynamic_smem"], **mode.options,
        )  # fmt: skip
        return [memory.get(addresses[id(a)], a.shape, a.dtype) for a in arrays], report.instructions.total()

    return run


@cache
def subjects() -> Mapping[str, Subject]:
    """All of them by name."""
    found = [
        Subject(name, lambda name=name: ptx_of(name), _triton(name), by_hand_only=name in BY_HAND) for name in TRITON
    ]
    for name, (path, entry, run) in FILES.items():
        found.append(Subject(name, lambda path=path: (DATA / path).read_text(), run, entry))
    for name, targets in compiled.CHOSEN.items():
        for target in targets:
            full = f"{name}.{target}"
            found.append(Subject(full, lambda full=full: compiled.text(full), _own(full)))
    return {subject.name: subject for subject in found}

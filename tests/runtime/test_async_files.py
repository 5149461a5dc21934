"""The sample kernels of features 06 to 15, here and next to the repository: all decode, and those that can run do."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ptxsim import (
    DeadlockError,
    GlobalMemory,
    HazardError,
    OperandError,
    SimulatorError,
    TensorMap,
    UnsupportedModifierError,
    launch,
)
from ptxsim.parser import parse
from tests.runtime.async_harness import dims_of, strides_of

OWN = Path(__file__).parent / "data" / "ptx"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "ptx"
FEATURES = ("06", "07", "08", "09", "10", "11", "12", "13", "14", "15")
FILES = {
    path.name: path
    for folder in (OWN, SHARED)
    for path in sorted(folder.glob("*.ptx"))
    if path.name.startswith(FEATURES)
}
ENTRIES = [(name, entry) for name, path in FILES.items() for entry in parse(path.read_text()).entries]
# Boxes by rank, of 8192 bytes (what the loads expect) and of 2048 bytes (what the stores write first).
LOADED = {1: (256,), 2: (64, 64), 3: (64, 8, 8), 4: (64, 8, 4, 2), 5: (64, 4, 2, 4, 2)}
STORED = {1: (256,), 2: (32, 16), 3: (32, 4, 4), 4: (16, 4, 4, 2), 5: (16, 4, 2, 2, 2)}
SHAPES = {1: (512,), 2: (80, 128), 3: (9, 10, 128), 4: (3, 5, 9, 64), 5: (2, 4, 3, 5, 64)}
# What these kernels do when run as they are: they are for assembling, and break a rule of their own instructions.
WRONG = {
    "mb": (HazardError, "this .noComplete arrival would complete"),
    "mb80": (HazardError, "this .noComplete arrival would complete"),
    "cg2": (SimulatorError, r"race: thread|0 of 1 arrivals pending"),
    "tma_load_1d": (DeadlockError, "0 of 1 arrivals pending, 7680 bytes owed"),
    "im2col_w": (UnsupportedModifierError, r"running \.im2col::w"),
    "roles": (DeadlockError, "wait for 240 registers per thread"),
}
# Kernels without anything to compare.
QUIET = ("fences", "fences2", "tmrep", "bulk")


class Sample:
    """One kernel with its memory."""

    def __init__(self, name: str, entry: str, hazards: bool) -> None:
        self.text = FILES[name].read_text()
        self.entry = entry
        self.hazards = hazards
        self.memory = GlobalMemory()
        self.rng = np.random.default_rng(2)
        self.kernel = parse(self.text).entries[entry]
        self.out = self.memory.put(np.zeros(1 << 14, np.uint32))
        self.array = np.zeros(0)
        self.base = self.out

    def put(self, shape: tuple[int, ...], dtype: type = np.uint16) -> None:
        """The array that the kernel's tensor map names."""
        self.array = self.rng.integers(1, 1 << 15, shape).astype(dtype)
        self.base = self.memory.put(self.array)

    def run(self, tensor: TensorMap | None = None, grid: int = 1) -> None:
        """Launch the kernel; every pointer is the output."""
        block = (*self.kernel.directives.get("reqntid", (32,)), 1, 1)[:3]
        cluster = self.kernel.directives.get("reqnctapercluster", (1, 1, 1))
        if self.kernel.directives.get("maxclusterrank"):
            cluster, grid = (2, 1, 1), 2
        arguments = [tensor if parameter.is_array else self.out for parameter in self.kernel.parameters]
        launch(
            self.text, (max(grid, cluster[0]),), block, arguments, self.memory, cluster=cluster, entry=self.entry,
            hazards=self.hazards, max_blocks=50000,
        )  # fmt: skip

    def result(self, count: int) -> np.ndarray:
        """The first 32-bit words of the output."""
        return self.memory.get(self.out, (count,), np.uint32)

    def stored(self) -> np.ndarray:
        """The array after the kernel."""
        return self.memory.get(self.base, self.array.shape, self.array.dtype)


def rank_of(entry: str) -> int:
    """The rank in a name such as tma_load_3d; 2 otherwise."""
    return int(entry[-2]) if entry[-1] == "d" and entry[-2].isdigit() else 2


def load(sample: Sample) -> None:
    """A load of 8192 bytes: the threads copy the first 512 of them."""
    rank = rank_of(sample.entry)
    box = LOADED[rank]
    sample.put(SHAPES[rank])
    tensor = TensorMap(sample.base, "u16", dims_of(sample.array), strides_of(sample.array), box)
    sample.run(tensor)
    tile = np.zeros(box[::-1], np.uint16)
    part = sample.array[tuple(slice(0, extent) for extent in box[::-1])]
    tile[tuple(slice(0, extent) for extent in part.shape)] = part
    np.testing.assert_array_equal(sample.result(128), tile.reshape(-1)[:256].view(np.uint32))


def gather(sample: Sample) -> None:
    """Rows 0, 0, 0, 0 of 256 doubles."""
    sample.put((6, 256), np.float64)
    sample.run(TensorMap(sample.base, "f64", (256, 6), (2048,), (256, 1)))
    np.testing.assert_array_equal(sample.result(128), sample.array[0, :64].view(np.uint32))


def im2col(sample: Sample) -> None:
    """128 pixels of 32 channels, from pixel 0 shifted by the filter offsets 1 (and 1, 0)."""
    rank = rank_of(sample.entry)
    sample.put((2, *((3, 5, 7)[-(rank - 2) :]), 32))
    spatial = rank - 2
    sample.run(
        TensorMap.im2col(
            sample.base, "u16", dims_of(sample.array), strides_of(sample.array), (0,) * spatial, (0,) * spatial, 32, 128
        )
    )
    taps = (1, 1, 0)[:spatial][::-1]
    place = (0, *taps)
    np.testing.assert_array_equal(sample.result(16), sample.array[place].view(np.uint32))


def multicast(sample: Sample) -> None:
    """Both CTAs get the box of the first; the second CTA's threads write the same."""
    load(sample)


def store(sample: Sample) -> None:
    """Thread t stores four words t; the first 2048 bytes go to the box at the origin."""
    rank = rank_of(sample.entry)
    sample.put(SHAPES[rank])
    box = STORED[rank]
    sample.run(TensorMap(sample.base, "u16", dims_of(sample.array), strides_of(sample.array), box))
    tile = np.repeat(np.arange(128, dtype=np.uint32), 4).view(np.uint16)[: int(np.prod(box))].reshape(box[::-1])
    expected = sample.array.copy()
    inside = tuple(slice(0, min(extent, limit)) for extent, limit in zip(box[::-1], sample.array.shape, strict=True))
    expected[inside] = tile[inside]
    np.testing.assert_array_equal(sample.stored(), expected)


REDUCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "inc": lambda old, new: np.where(old >= new, 0, old + 1),
    "dec": lambda old, new: np.where((old == 0) | (old > new), new, old - 1),
}  # fmt: skip


def reduce(sample: Sample) -> None:
    """The same words combined with a box of 16 x 32 u32."""
    sample.put((32, 32), np.uint32)
    sample.array %= 100
    sample.base = sample.memory.put(sample.array)
    sample.run(TensorMap(sample.base, "u32", (32, 32), (128,), (32, 16)))
    given = np.repeat(np.arange(128, dtype=np.uint32), 4).reshape(16, 32)
    expected = sample.array.copy()
    expected[:16] = REDUCTIONS[sample.entry.rpartition("_")[2]](expected[:16], given)
    np.testing.assert_array_equal(sample.stored(), expected)


def scatter(sample: Sample) -> None:
    """Four rows of 128 elements, all to row 0."""
    sample.put((6, 256))
    sample.run(TensorMap(sample.base, "u16", (256, 6), (512,), (128, 1)))
    np.testing.assert_array_equal(sample.stored()[1:], sample.array[1:])
    assert sample.stored()[0, 0] in (0, 16, 32, 48)  # rows with one place race; any of them may win


def store_pixels(sample: Sample) -> None:
    """im2col_no_offs: 64 pixels of 16 channels."""
    sample.put((2, 5, 7, 16))
    sample.run(
        TensorMap.im2col(sample.base, "u16", dims_of(sample.array), strides_of(sample.array), (0, 0), (0, 0), 16, 64)
    )
    expected = sample.array.reshape(-1, 16).copy()
    expected[:64] = np.repeat(np.arange(128, dtype=np.uint32), 4).view(np.uint16).reshape(-1, 16)[:64]
    np.testing.assert_array_equal(sample.stored(), expected.reshape(sample.array.shape))


def cluster(sample: Sample) -> None:
    """Every thread adds the other's rank as it reads it and as its address says it; the last CTA writes 0."""
    sample.run(grid=2)
    assert set(sample.result(128).tolist()) <= {0, 2}


def dependent(sample: Sample) -> None:
    """The kernel adds one, in all threads to one word."""
    sample.run()
    assert sample.result(1)[0] == 1


def steal(sample: Sample) -> None:
    """Every tile is written by whoever did it, with its own number."""
    sample.run(grid=13)
    np.testing.assert_array_equal(sample.result(13), np.arange(13))


RUNS: dict[str, Callable[[Sample], None]] = {
    **{f"tma_load_{rank}d": load for rank in range(2, 6)}, **{f"tma_store_{rank}d": store for rank in range(1, 6)},
    **{f"tma_red_{name}": reduce for name in REDUCTIONS}, **{f"im2col_{rank}d": im2col for rank in range(3, 6)},
    "gather4": gather, "tma_mcast": multicast, "scatter4": scatter, "tma_store_im2col": store_pixels, "clus": cluster,
    "pdl": dependent, "clc": steal,
}  # fmt: skip


@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize(("file", "entry"), ENTRIES)
def test_samples(file: str, entry: str, hazards: bool) -> None:
    sample = Sample(file, entry, hazards)
    if entry in RUNS:
        RUNS[entry](sample)
        return
    sample.put((80, 128))
    tensor = TensorMap(sample.base, "u16", (128, 80), (256,), (64, 64))
    if entry == "tma_load_1d":
        tensor = TensorMap(sample.base, "u16", (4096,), (), (256,))
    if entry == "im2col_w":
        tensor = TensorMap.im2col(sample.base, "u16", (32, 7, 2), (64, 448), (0,), (0,), 32, 64)
    if entry in WRONG and file != "12_setmaxnreg_nomaxnreg.ptx":
        error, message = WRONG[entry]
        with pytest.raises(error, match=message):
            sample.run(tensor)
    elif entry == "bulk" and hazards:  # its st.async writes where its own copy is still writing
        with pytest.raises(HazardError, match="is still writing"):
            sample.run(tensor)
    else:
        assert entry in QUIET or entry == "roles", "a sample that nothing checks"
        sample.run(tensor)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("encode", UnsupportedModifierError, "without one of"),
        ("setmaxnreg_264", OperandError, "multiple of 8 from 24 to 256, not 264"),
        ("setmaxnreg_odd", OperandError, "multiple of 8 from 24 to 256, not 100"),
        ("trywait_parity_shared_nopred", OperandError, "takes 3 to 4 operands"),
        ("cluster_dim", SimulatorError, "cluster_dim"),
    ],
)
def test_what_ptxas_rejects_is_refused(name: str, error: type[SimulatorError], message: str) -> None:
    path = SHARED / "rejected" / f"{name}.ptx"
    if path.exists():
        memory = GlobalMemory()
        buffer = memory.alloc(64)
        count = path.read_text().count(".param .u64")
        with pytest.raises(error, match=message):
            launch(path.read_text(), (1,), (32,), [buffer] * count, memory)

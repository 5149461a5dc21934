"""Every sample kernel, here and next to the repository, decodes; those of features 21 to 24 run and equal NumPy."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ptxsim import GlobalMemory, SimulatorError, TargetError, check, launch
from ptxsim.parser import parse

OWN = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "ptx"
FILES = {path.name: path for folder in (OWN / "ptx", OWN / "nvcc", SHARED) for path in sorted(folder.glob("*.ptx"))}
REFUSED = {path.name: path for path in sorted((SHARED / "rejected").glob("*.ptx"))}
# Files of the rejected folder that ptxas takes; the hazards in three of them have tests of their own.
VALID = {
    "cpasync_ignore.ptx", "cpasync_zfill.ptx", "tcgen05_ld_nowait.ptx", "test_wait_parity_sm80.ptx",
    "trywait_parity_shared.ptx", "waitgroup8.ptx", "wgmma_nofence.ptx", "wgmma_nowait.ptx",
}  # fmt: skip
# What only running shows.
LATER = {"tcgen05_alloc_48.ptx", "tcgen05_alloc_1024.ptx", "tcgen05_mixed_group.ptx"}
# Samples for targets that do not have what they use: ptxas 13.5.37 says so as well.
OTHER_TARGET = {"19_tcgen05_ld_red.ptx": "sm_103a"}


@pytest.mark.parametrize("name", FILES)
def test_every_instruction_decodes(name: str) -> None:
    text = FILES[name].read_text()
    assert parse(text).entries
    if name in OTHER_TARGET:
        with pytest.raises(TargetError, match=r"needs \.target"):
            check(text)
        text = text.replace(f".target {parse(text).target}", f".target {OTHER_TARGET[name]}")
    check(text)


@pytest.mark.parametrize("name", REFUSED)
def test_what_ptxas_rejects_is_refused_with_its_line(name: str) -> None:
    text = REFUSED[name].read_text()
    if name in VALID | LATER:
        check(text)
        return
    with pytest.raises(SimulatorError) as caught:
        check(text)
    assert caught.value.line is not None


def _packed_f32(x: np.ndarray) -> np.ndarray:
    a, b, c = x[0:2], x[2:4], x[4:6]
    three = (a.astype(np.float64) * b + c).astype(np.float32)
    five = (three + a) * b
    return ((five - a) + five)[::-1]


def _swapped(x: np.ndarray) -> np.ndarray:
    return x.view(np.uint32)[[7, 1, 2, 3, 4, 5, 6, 0]].view(np.uint64)[[3, 1, 2, 0]].view(np.float32)


def _scales(x: np.ndarray) -> np.ndarray:
    pair = x[5:6].view(ml_dtypes.bfloat16).astype(np.float64)
    return (np.floor(np.log2(np.abs(pair))) + 127).astype(np.uint8)


# Samples that work in place on one buffer: what stands at its start in the end.
RUNS = {"21_f32x2.ptx": _packed_f32, "21_ld256.ptx": _swapped, "22_cvt_fp4_mx.ptx": _scales}


@pytest.mark.parametrize("name", [name for name in RUNS if name in FILES])
def test_runs(name: str) -> None:
    x = np.random.default_rng(3).standard_normal(8).astype(np.float32)
    memory = GlobalMemory()
    address = memory.put(x)
    launch(FILES[name].read_text(), (1,), (1,), [address], memory, hazards=True)
    expected = RUNS[name](x)
    np.testing.assert_array_equal(memory.get(address, expected.shape, expected.dtype), expected)

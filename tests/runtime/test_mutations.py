"""Single changes to right PTX are all caught: by a wrong number or by hazard tracking.

Each change names a kernel, a pattern, which of its matches to change, and the replacement; the unchanged kernels pass.
"""

import re
from dataclasses import dataclass

import numpy as np
import pytest

from runtime.simulator import SimulatorError
from tests.runtime.triton_launch import Described, Launched, ptx_of


@dataclass(frozen=True)
class Change:
    """Replace match number `which` (negative from the end) of a pattern."""

    kernel: str
    what: str
    pattern: str
    replacement: str
    which: int = 0

    def apply(self) -> str:
        """The changed PTX."""
        text = ptx_of(self.kernel)
        found = list(re.finditer(self.pattern, text))
        assert found, f"{self.pattern} does not occur in {self.kernel}"
        match = found[self.which]
        changed = text[: match.start()] + match.expand(self.replacement) + text[match.end() :]
        assert changed != text
        return changed


HOPPER, AMPERE, BLACKWELL, CONSUMER = (
    "gemm_descriptors.sm_90", "gemm_pointers.sm_80", "gemm_specialised.sm_100", "gemm_specialised.sm_120"
)  # fmt: skip
DESCRIPTOR = 4611686293305294848  # wgmma: 128-byte swizzle, 1024 bytes between groups of 8 rows
WORD = 1073758272  # the upper half of the same for tcgen05
CHANGES = [
    # TMA and wgmma
    Change(HOPPER, "swizzle of a descriptor", f"{DESCRIPTOR}", f"{DESCRIPTOR ^ (3 << 62)}"),
    Change(HOPPER, "stride of a descriptor", f"{DESCRIPTOR}", f"{DESCRIPTOR + (64 << 32)}"),
    Change(HOPPER, "advance along K", r"(add\.s32 \t%r45, %r43, )2;", r"\g<1>4;"),
    Change(HOPPER, "advance along K of the other operand", r"(add\.s32 \t%r54, %r44, )4;", r"\g<1>2;"),
    Change(HOPPER, "second half of the rows", r"(add\.s32 \t%r50, %r43, )512;", r"\g<1>256;"),
    Change(HOPPER, "no wgmma.fence", r"wgmma\.fence\.sync\.aligned;", ""),
    Change(HOPPER, "no commit", r"wgmma\.commit_group\.sync\.aligned;", ""),
    Change(HOPPER, "no wait for the products", r"wgmma\.wait_group\S*\s+0;", ""),
    Change(HOPPER, "one more product in flight", r"(wgmma\.wait_group\S*\s+)1;", r"\g<1>2;"),
    Change(HOPPER, "too few bytes expected", r"(expect_tx.*, )32768;", r"\g<1>16384;"),
    Change(HOPPER, "too many bytes expected", r"(expect_tx.*, )32768;", r"\g<1>32896;", -1),
    Change(HOPPER, "nothing expected", r"@%p4 mbarrier\.arrive\.expect_tx[^;]*;", ""),
    Change(HOPPER, "parity that never changes", r"(try_wait\.parity\S* complete, \[%r27\], )%r153;", r"\g<1>0;"),
    Change(HOPPER, "parity flips too late", r"setp\.gt\.s32 \t%p32, %r36, 2;", "setp.gt.s32 \t%p32, %r36, 3;"),
    Change(HOPPER, "a copy is missing", r"@%p6 cp\.async\.bulk\.tensor[^;]*;", ""),
    Change(HOPPER, "a copy to the wrong stage", r"(add\.s32 \t%r35, %r33, )49152;", r"\g<1>32768;"),
    Change(HOPPER, "coordinates exchanged", r"\{%r34, %r62\}", "{%r62, %r34}"),
    Change(HOPPER, "no mbarrier.init", r"@%p2 mbarrier\.init[^;]*;", ""),
    Change(HOPPER, "count of an mbarrier", r"(mbarrier\.init\S* \[%r6\], )1;", r"\g<1>2;"),
    Change(HOPPER, "no proxy fence", r"fence\.proxy\.async\.shared::cta;", ""),
    Change(HOPPER, "no barrier before the store", r"(fence\.proxy\.async\.shared::cta;\s+)bar\.sync \t0;", r"\1"),
    Change(HOPPER, "no wait for the store", r"cp\.async\.bulk\.wait_group[^;]*;", ""),
    Change(HOPPER, "swizzle of the store", r"(xor\.b32 \t%r142, %r140, )32;", r"\g<1>16;"),
    Change(HOPPER, "fragment registers of the store", r"\{%r67, %r68, %r69, %r70\}", "{%r68, %r67, %r69, %r70}"),
    # cp.async, ldmatrix and mma.sync
    Change(AMPERE, "no barrier after the copies", r"bar\.sync \t0;", ""),
    Change(AMPERE, "a group too many in flight", r"(cp\.async\.wait_group \t)2;", r"\g<1>3;"),
    Change(AMPERE, "a group is not committed", r"cp\.async\.commit_group;", "", 1),
    Change(AMPERE, "a copy is missing", r"cp\.async\.cg[^;]*;", ""),
    Change(AMPERE, "fragments of A exchanged", r"(mma\.sync\S* \{[^}]*\}, \{ )(%r\d+), (%r\d+)", r"\1\3, \2", 5),
    Change(AMPERE, "fragments of B exchanged", r"(mma\.sync\S* (?:\{[^}]*\}, ){2}\{ )(%r\d+), (%r\d+)", r"\1\3, \2", 9),
    Change(AMPERE, "results exchanged", r"(mma\.sync\S* \{ )(%r\d+), (%r\d+)", r"\1\3, \2", 70),
    Change(AMPERE, "matrices of the wrong rows", r"(ldmatrix\.sync\S* \{[^}]*\}, \[%r\d+\+)4096\]", r"\g<1>8192]"),
    Change(AMPERE, "not transposed", r"ldmatrix\.sync\.aligned\.m8n8\.x4\.trans", "ldmatrix.sync.aligned.m8n8.x4"),
    Change(AMPERE, "swizzle of an address", r"(xor\.b32 \t%r20, )%r151, %r153;", r"\g<1>%r151, 0;"),
    # tcgen05
    Change(BLACKWELL, "stride of a descriptor", f"{WORD}", f"{WORD + 64}"),
    Change(BLACKWELL, "swizzle of a descriptor", f"{WORD}", f"{WORD ^ (6 << 29)}", 1),
    Change(BLACKWELL, "shape in the instruction descriptor", r"136314896", f"{136314896 - (8 << 17)}", 1),
    Change(BLACKWELL, "type in the instruction descriptor", r"136314896", f"{136314896 | (1 << 7)}", 1),
    Change(BLACKWELL, "advance along K", r"(add\.s32 \t%r61, %r56, )4;", r"\g<1>6;"),
    Change(BLACKWELL, "overwrites the sum", r"mov\.pred \t%p20, -1;", "mov.pred \t%p20, 0;"),
    Change(BLACKWELL, "no commit", r"@%p21 tcgen05\.commit[^;]*;", ""),
    Change(BLACKWELL, "no wait for the loads", r"tcgen05\.wait::ld\.sync\.aligned;", ""),
    Change(BLACKWELL, "parity that never changes", r"(try_wait\.parity\S* complete, \[%r45\], )%r448;", r"\g<1>0;"),
    Change(BLACKWELL, "reads results too early", r"(try_wait\.parity\S* complete, \[%r68\], )%r71;", r"\g<1>1;"),
    Change(BLACKWELL, "lanes of another warp", r"(shl\.b32 \t%r215, %r214, )21;", r"\g<1>20;"),
    Change(BLACKWELL, "no proxy fence", r"fence\.proxy\.async\.shared::cta;", ""),
    Change(BLACKWELL, "swizzle of the store", r"(xor\.b32 \t%r422, %r420, )16;", r"\g<1>32;"),
    Change(BLACKWELL, "no wait for the store", r"cp\.async\.bulk\.wait_group[^;]*;", ""),
    # warp roles with mma.sync
    Change(CONSUMER, "bytes expected", r"(expect_tx.*, )(\d+);", r"\g<1>1024;"),
    Change(CONSUMER, "no mbarrier.init", r"@%p\d+ mbarrier\.init[^;]*;", "", 1),
    Change(CONSUMER, "results exchanged", r"(mma\.sync\S* \{ )(%r\d+), (%r\d+)", r"\1\3, \2", 3),
    Change(CONSUMER, "no barrier of the store", r"bar\.sync \t0, 128;", "", -2),
    # Waits that do not ask again, without two that nothing needs: the first of sm_100 is for a sum free from the
    # start; the last of sm_120 for what the consumers release before that for which its producer waited just before.
    *(
        Change(kernel, f"wait {number} without its loop", r"@!complete bra\.uni waitLoop;", "", number)
        for kernel, numbers in ((HOPPER, (0,)), (BLACKWELL, (1, 2, 3, 4)), (CONSUMER, (0, 1, 2)))
        for number in numbers
    ),
    # shuffles, scans, atomics
    Change("softmax.sm_90", "a lane mask twice", r"(shfl\.sync\.bfly\.b32 \t%r\d+, %r\d+, )8,", r"\g<1>16,"),
    Change("softmax.sm_90", "a lane mask of the sum", r"(shfl\.sync\.bfly\.b32 \t%r\d+, %r\d+, )1,", r"\g<1>2,", -1),
    Change("softmax.sm_90", "members that are not there", r"(shfl\.sync\.bfly.*, 31, )-1;", r"\g<1>65535;"),
    Change("softmax.sm_90", "no barrier", r"bar\.sync \t0;", ""),
    Change("scan.sm_80", "distance of a shuffle", r"(shfl\.sync\.up\.b32 \t%r\d+, %r\d+, )2,", r"\g<1>3,"),
    Change("histogram.sm_90", "no barrier", r"bar\.sync \t0;", ""),
    Change("histogram.sm_90", "not atomic in effect", r"(atom\.global\S*)\.add\.(u32|s32)", r"\1.max.\2"),
]  # fmt: skip


def _gemm_described(name: str, ptx: str) -> tuple[np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((128, 320)).astype(np.float16) for _ in range(2))
    arrays = [Described(a, (128, 64)), Described(b, (128, 64)), Described(np.zeros((128, 128), np.float16), (128, 128))]
    found = Launched(name, (1, 1), *arrays, 320, ptx=ptx)[2]
    return found, a.astype(np.float64) @ b.astype(np.float64).T, 0.06


def _gemm_pointers(name: str, ptx: str) -> tuple[np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((128, 320)).astype(np.float16), rng.standard_normal((320, 128)).astype(np.float16)
    found = Launched(name, (1, 1), a, b, np.zeros((128, 128), np.float32), 128, 128, 320, ptx=ptx)[2]
    return found, a.astype(np.float64) @ b.astype(np.float64), 3e-4


def _softmax(name: str, ptx: str) -> tuple[np.ndarray, np.ndarray, float]:
    x = np.random.default_rng(3).standard_normal((2, 400), np.float32) * 4
    found = Launched(name, (2,), x, np.zeros_like(x), 400, 400, ptx=ptx)[1]
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return found, powers / powers.sum(axis=1, keepdims=True), 1e-6


def _scan(name: str, ptx: str) -> tuple[np.ndarray, np.ndarray, float]:
    x = np.random.default_rng(4).integers(-1000, 1000, (2, 450)).astype(np.int32)
    run = Launched(
        name, (2,), x, np.zeros(x.shape, np.float32), np.zeros_like(x), np.zeros(x.shape, np.float32), 450, ptx=ptx
    )
    return run[2], np.cumsum(x, axis=1), 0


def _histogram(name: str, ptx: str) -> tuple[np.ndarray, np.ndarray, float]:
    x = np.random.default_rng(5).integers(0, 64, 1900).astype(np.int32)
    run = Launched(name, (4,), x, np.zeros(128, np.int32), np.array([-1, 1000], np.int32), x.size, ptx=ptx)
    return run[1].reshape(2, 64), np.tile(np.bincount(x, minlength=64), (2, 1)), 0


RUNS = {
    "gemm_descriptors": _gemm_described, "gemm_specialised": _gemm_described, "gemm_pointers": _gemm_pointers,
    "softmax": _softmax, "scan": _scan, "histogram": _histogram,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _tracked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Launched, "hazards", True)


SCHEDULES = ("together", "skewed:0", "skewed:1", "skewed:2")


def _caught_by(name: str, ptx: str) -> str | None:
    """How a program is found to be wrong, None where it is right."""
    try:
        found, expected, tolerance = RUNS[name.split(".")[0]](name, ptx)
    except SimulatorError as error:
        return type(error).__name__ if error.line is not None else None
    wrong = ~(np.abs(found.astype(np.float64) - expected) <= tolerance)
    return "wrong number" if wrong.any() else None


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", sorted({change.kernel for change in CHANGES}))
def test_the_unchanged_kernel_is_right(name: str, schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Launched, "schedule", schedule)
    assert _caught_by(name, ptx_of(name)) is None


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.kernel}: {change.what}")
def test_a_change_is_caught(change: Change) -> None:
    assert _caught_by(change.kernel, change.apply()) is not None


@pytest.mark.parametrize("number", range(0, len(CHANGES), 4))
def test_a_change_is_caught_with_warps_far_apart(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    change, schedule = CHANGES[number], SCHEDULES[1 + number // 4 % 3]
    monkeypatch.setattr(Launched, "schedule", schedule)
    assert _caught_by(change.kernel, change.apply()) is not None


def test_there_are_enough_changes() -> None:
    assert len(CHANGES) >= 40

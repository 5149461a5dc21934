"""ldmatrix, stmatrix and movmatrix: which element reaches which lane, and how many wavefronts it takes."""

import numpy as np
import pytest

from ptxsim import GlobalMemory, launch
from tests.runtime.test_gemm_ptx import DATA

LANE = np.arange(32)


def _fragment(matrix: np.ndarray, is_transposed: bool) -> np.ndarray:
    """The 32-bit register of each lane for an 8x8 matrix of 16-bit elements."""
    rows, pair = LANE >> 2, 2 * (LANE & 3)
    low, high = (
        (matrix[pair, rows], matrix[pair + 1, rows]) if is_transposed else (matrix[rows, pair], matrix[rows, pair + 1])
    )
    return low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)


def _kernel(count: int, modifier: str, stride: int) -> str:
    registers = ", ".join(f"%r{n}" for n in range(count))
    stores = "\n".join(f"st.global.b32 [%rd1+{128 * n}], %r{n};" for n in range(count))
    return f""".version 8.0
.target sm_90
.address_size 64
.shared .align 16 .b8 buffer[{32 * stride + 512}];
.visible .entry k(.param .u64 source, .param .u64 target)
{{
  .reg .b32 %r<8>, %t, %a, %i; .reg .b64 %rd<4>; .reg .pred %p;
  ld.param.u64 %rd0, [source]; ld.param.u64 %rd1, [target];
  mov.u32 %t, %tid.x; mov.u32 %a, buffer; mov.u32 %i, 0;
copy:
  mad.lo.u32 %r7, %i, 32, %t; mul.wide.u32 %rd2, %r7, 4; add.u64 %rd2, %rd2, %rd0; ld.global.b32 %r0, [%rd2];
  mad.lo.u32 %r7, %r7, 4, %a; st.shared.b32 [%r7], %r0;
  add.u32 %i, %i, 1; setp.lt.u32 %p, %i, {stride // 4 + 4}; @%p bra copy;
  bar.sync 0;
  mad.lo.u32 %a, %t, {stride}, %a;
  ldmatrix.sync.aligned.m8n8.x{count}{modifier}.shared.b16 {{{registers}}}, [%a+16];
  mul.wide.u32 %rd2, %t, 4; add.u64 %rd1, %rd1, %rd2;
  {stores}
  ret;
}}"""


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("modifier", ["", ".trans"])
@pytest.mark.parametrize(("stride", "ways"), [(16, 1), (32, 2), (80, 1), (128, 8)])
def test_ldmatrix(count: int, modifier: str, stride: int, ways: int) -> None:
    rng = np.random.default_rng(count)
    halves = rng.integers(0, 2**16, (32 * stride + 512) // 2).astype(np.uint16)
    memory = GlobalMemory()
    source, target = memory.put(halves), memory.alloc(128 * count)
    ptx = _kernel(count, modifier, stride)
    report = launch(ptx, (1,), (32,), [source, target], memory)
    found = memory.get(target, (count, 32), np.uint32)
    for number in range(count):
        starts = (8 * number + np.arange(8)) * stride // 2 + 8
        matrix = halves[starts[:, None] + np.arange(8)]
        np.testing.assert_array_equal(found[number], _fragment(matrix, bool(modifier)))
    line = next(n for n, text in enumerate(ptx.splitlines(), 1) if "ldmatrix" in text)
    assert report.bank_conflicts[line] == count * (ways - 1)


def test_ldmatrix_file_runs_with_hazards() -> None:
    memory = GlobalMemory()
    target = memory.alloc(32 * 64)
    launch((DATA / "04_ldmatrix.ptx").read_text(), (1,), (32,), [target], memory, hazards=True)
    found = memory.get(target, (32, 16), np.uint32)
    # lane l stores its number in all four words of row l, so x4 gives matrix j row l/4: lane number 8j + l/4
    for number in range(4):
        np.testing.assert_array_equal(found[:, 3 + number], 8 * number + LANE // 4)
    low, high = found[:, 7] & 0xFFFF, found[:, 7] >> 16
    column = LANE // 4
    np.testing.assert_array_equal(low, np.where(column % 2 == 0, 2 * (LANE % 4), 0))
    np.testing.assert_array_equal(high, np.where(column % 2 == 0, 2 * (LANE % 4) + 1, 0))


def test_stmatrix_is_the_inverse_of_ldmatrix() -> None:
    memory = GlobalMemory()
    target = memory.alloc(32 * 16)
    launch((DATA / "05_stmatrix.ptx").read_text(), (1,), (32,), [target], memory)
    found = memory.get(target, (32, 4), np.uint32)
    # the last stmatrix writes registers (lane, 16 lane, lane, 16 lane) to rows of 16 bytes
    for row in range(32):
        lanes = 4 * (row % 8) + np.arange(4)
        np.testing.assert_array_equal(found[row], lanes if row // 8 % 2 == 0 else 16 * lanes)


def test_stmatrix_trans_and_movmatrix_transpose() -> None:
    ptx = """.version 8.0
.target sm_90
.address_size 64
.shared .align 16 .b8 buffer[512];
.visible .entry k(.param .u64 source, .param .u64 target)
{
  .reg .b32 %r<8>, %t, %a; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [source]; ld.param.u64 %rd1, [target];
  mov.u32 %t, %laneid; mul.wide.u32 %rd2, %t, 4; add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2;
  mov.u32 %a, buffer; mad.lo.u32 %a, %t, 16, %a;
  ld.global.b32 %r0, [%rd0];
  stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%a], {%r0};
  bar.warp.sync 0xffffffff;
  ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%a];
  movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r0;
  st.global.b32 [%rd1], %r1; st.global.b32 [%rd1+128], %r2;
  ret;
}"""
    matrix = np.random.default_rng(3).integers(0, 2**16, (8, 8)).astype(np.uint16)
    memory = GlobalMemory()
    source, target = memory.put(_fragment(matrix, False)), memory.alloc(256)
    launch(ptx, (1,), (32,), [source, target], memory, hazards=True)
    for found in memory.get(target, (2, 32), np.uint32):
        np.testing.assert_array_equal(found, _fragment(matrix, True))

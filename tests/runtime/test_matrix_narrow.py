"""ldmatrix and stmatrix of 8-bit and packed elements."""

import numpy as np
import pytest

from ptxsim import GlobalMemory, UnsupportedModifierError, launch


def run(instruction: str, registers: int, shared: np.ndarray, given: np.ndarray | None = None) -> np.ndarray:
    """Load 1024 bytes of shared memory, run the instruction in two warps with 512 bytes each, return registers."""
    memory = GlobalMemory()
    source = memory.put(shared)
    extra = memory.put(np.zeros((64, 4), np.uint32) if given is None else given)
    out = memory.alloc(64 * 16)
    image = memory.alloc(1024)
    names = ",".join(f"%q{i}" for i in range(registers))
    ptx = f""".version 8.8
.target sm_100a
.address_size 64
.shared .align 16 .b8 buf[1024];
.visible .entry k(.param .u64 src, .param .u64 given, .param .u64 out, .param .u64 image)
{{
  .reg .b32 %r<20>, %q<4>; .reg .b64 %rd<9>;
  ld.param.u64 %rd0, [src]; ld.param.u64 %rd1, [given]; ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [image];
  mov.u32 %r0, %tid.x; mov.u32 %r1, buf; shl.b32 %r2, %r0, 4; add.u32 %r1, %r1, %r2; mul.wide.u32 %rd4, %r0, 16;
  add.u64 %rd0, %rd0, %rd4; add.u64 %rd1, %rd1, %rd4; add.u64 %rd2, %rd2, %rd4; add.u64 %rd3, %rd3, %rd4;
  ld.global.v4.b32 {{%r4,%r5,%r6,%r7}}, [%rd0]; st.shared.v4.b32 [%r1], {{%r4,%r5,%r6,%r7}};
  ld.global.v4.b32 {{%q0,%q1,%q2,%q3}}, [%rd1];
  bar.sync 0;
  {instruction.replace("REGS", "{" + names + "}").replace("ADDR", "[%r1]")}
  st.global.v4.b32 [%rd2], {{%q0,%q1,%q2,%q3}};
  bar.sync 0;
  ld.shared.v4.b32 {{%r4,%r5,%r6,%r7}}, [%r1]; st.global.v4.b32 [%rd3], {{%r4,%r5,%r6,%r7}};
  ret;
}}"""
    for hazards in (True, False):
        launch(ptx, (1,), (64,), [source, extra, out, image], memory, hazards=hazards)
    if given is not None:
        return memory.get(image, 1024, np.uint8)
    return memory.get(out, (64, 4), np.uint32)


def unpacked(row: np.ndarray, packing: str) -> list[int]:
    number = int.from_bytes(bytes(row.tolist()), "little")
    width = {"b8": 8, "b8x16.b6x16_p32": 6, "b8x16.b4x16_p64": 4}[packing]
    return [(number >> (width * i)) & ((1 << width) - 1) for i in range(16)]


@pytest.mark.parametrize("packing", ["b8x16.b6x16_p32", "b8x16.b4x16_p64"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_m8n16(packing: str, count: int) -> None:
    shared = np.random.default_rng(count).integers(0, 256, (64, 16)).astype(np.uint8)
    found = run(f"ldmatrix.sync.aligned.m8n16.x{count}.shared.{packing} REGS,ADDR;", count, shared)
    bytes_found = found.view(np.uint8).reshape(2, 32, 4, 4)
    for warp in range(2):
        for lane in range(32):
            for number in range(count):
                row = unpacked(shared[32 * warp + 8 * number + lane // 4], packing)
                quad = lane % 4
                assert bytes_found[warp, lane, number].tolist() == row[4 * quad : 4 * quad + 4]


@pytest.mark.parametrize("packing", ["b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64"])
@pytest.mark.parametrize("count", [1, 2])
def test_m16n16_transposed(packing: str, count: int) -> None:
    shared = np.random.default_rng(count).integers(0, 256, (64, 16)).astype(np.uint8)
    found = run(f"ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.{packing} REGS,ADDR;", 2 * count, shared)
    bytes_found = found.view(np.uint8).reshape(2, 32, 4, 4)
    for warp in range(2):
        for lane in range(32):
            for number in range(2 * count):
                for byte in range(4):
                    # measured on an sm_120 device by others: r0 holds column lane/4 of source rows 4(lane%4)..+3
                    row = 32 * warp + 16 * (number // 2) + 4 * (lane % 4) + byte
                    wanted = unpacked(shared[row], packing)[lane // 4 + 8 * (number % 2)]
                    assert bytes_found[warp, lane, number, byte] == wanted


@pytest.mark.parametrize("count", [1, 2, 4])
def test_store_m16n8_transposed(count: int) -> None:
    rng = np.random.default_rng(count)
    shared = rng.integers(0, 256, (64, 16)).astype(np.uint8)
    given = rng.integers(0, 1 << 32, (64, 4), dtype=np.uint64).astype(np.uint32)
    image = run(f"stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 ADDR,REGS;", count, shared, given)
    wanted = shared.copy()
    parts = given.view(np.uint8).reshape(2, 32, 4, 4)
    for warp in range(2):
        for lane in range(32):
            for number in range(count):
                for byte in range(4):
                    row = 32 * warp + 8 * number + 2 * (lane % 4) + byte % 2
                    wanted[row, lane // 4 + 8 * (byte // 2)] = parts[warp, lane, number, byte]
    np.testing.assert_array_equal(image.reshape(64, 16), wanted)


@pytest.mark.parametrize(
    "instruction",
    [
        "ldmatrix.sync.aligned.m16n16.x1.shared.b8 REGS,ADDR;",
        "ldmatrix.sync.aligned.m8n16.x1.trans.shared.b8x16.b4x16_p64 REGS,ADDR;",
        "ldmatrix.sync.aligned.m8n16.x1.shared.b8 REGS,ADDR;",
        "ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 REGS,ADDR;",
        "stmatrix.sync.aligned.m16n8.x1.shared.b8 ADDR,REGS;",
    ],
)
def test_forms_that_do_not_exist_are_refused(instruction: str) -> None:
    with pytest.raises(UnsupportedModifierError):
        run(instruction, 1, np.ones((64, 16), np.uint8))

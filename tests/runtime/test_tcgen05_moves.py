"""tcgen05.ld, st, ld.red, cp, shift, alloc and dealloc."""

import numpy as np
import pytest

from ptxsim import (
    DeadlockError,
    GlobalMemory,
    HazardError,
    OperandError,
    OutOfBoundsError,
    UnsupportedModifierError,
    launch,
)
from tests.runtime.tcgen05_harness import SHARED, descriptor, run
from tests.runtime.wgmma_harness import Placement

REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
SPLIT = 40


def place(shape: str, lane: int, register: int) -> tuple[int, int]:
    """Lane and column that a register of a thread holds, from the figures of the PTX ISA."""
    if shape == "32x32b":
        return lane, register
    if shape == "16x64b":
        return lane // 4 + 8 * (lane % 2), 2 * register + lane // 2 % 2
    if shape == "16x128b":
        return lane // 4 + 8 * (register % 2), lane % 4 + 4 * (register // 2)
    if shape == "16x256b":
        return lane // 4 + 8 * (register // 2 % 2), 2 * (lane % 4) + register % 2 + 8 * (register // 4)
    return lane % 16, register + lane // 16 * SPLIT


def tensor(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 32, (1, 128, 512), dtype=np.uint64).astype(np.uint32)


CASES = [(shape, repeats) for shape in REGISTERS for repeats in (1, 2, 8, 128 // REGISTERS[shape])]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("shape", "repeats"), CASES)
@pytest.mark.parametrize("packed", [False, True])
def test_load_then_store_elsewhere(shape: str, repeats: int, packed: bool) -> None:
    """A load from column 3 and a store of the same registers at column 200, in every warp."""
    count = REGISTERS[shape] * repeats
    if packed and count > 64:
        count, repeats = count // 2, repeats // 2
    names = "{" + ",".join(f"%q{i}" for i in range(count)) + "}"
    split = f",{SPLIT}" if shape == "16x32bx2" else ""
    high = 16 if shape != "32x32b" else 0
    pack, unpack = (".pack::16b", ".unpack::16b") if packed else ("", "")
    before = f""".reg .b32 %q<{count}>; add.u32 %r20, %row, {3 + (high << 16)};
      add.u32 %r21, %row, {230 + (high << 16)};
      tcgen05.ld.sync.aligned.{shape}.x{repeats}{pack}.b32 {names}, [%r20]{split};
      tcgen05.wait::ld.sync.aligned;
      tcgen05.st.sync.aligned.{shape}.x{repeats}{unpack}.b32 [%r21]{split}, {names};
      tcgen05.wait::st.sync.aligned;"""
    given = tensor(count)
    out = run("", np.zeros((1, SHARED), np.uint8), given, before=before, hazards=repeats <= 2)
    wanted = given.copy()
    step = 2 if packed else 1
    for warp in range(4):
        for lane in range(32):
            for register in range(count):
                row, column = place(shape, lane, register)
                row += 32 * warp + high
                for half in range(step):
                    value = given[0, row, 3 + step * column + half]
                    wanted[0, row, 230 + step * column + half] = value & 0xFFFF if packed else value
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize(
    ("operation", "type_"),
    [("min", "f32"), ("max", "f32"), ("max.abs", "f32"), ("min.abs.NaN", "f32"), ("max", "s32"), ("min", "u32")],
)
def test_load_with_reduction(operation: str, type_: str) -> None:
    rng = np.random.default_rng(1)
    given = tensor(1)
    if type_ == "f32":
        values = rng.standard_normal((1, 128, 512)).astype(np.float32)
        values[0, ::3, 7] = np.nan
        given = values.view(np.uint32)
    names = ",".join(f"%q{i}" for i in range(8))
    before = f""".reg .b32 %q<9>;
      tcgen05.ld.red.sync.aligned.32x32b.x8.{operation}.{type_} {{{names}}}, %q8, [%row];
      tcgen05.wait::ld.sync.aligned; add.u32 %r21, %row, 100;
      tcgen05.st.sync.aligned.32x32b.x1.b32 [%r21], {{%q8}}; tcgen05.wait::st.sync.aligned;"""
    out = run("", np.zeros((1, SHARED), np.uint8), given, before=before, target="sm_103a")
    dtype = {"f32": np.float32, "s32": np.int32, "u32": np.uint32}[type_]
    part = given[0, :, :8].view(dtype)
    if "abs" in operation:
        part = np.abs(part)
    if type_ == "f32":
        reduce = {"min": np.fmin, "max": np.fmax}[operation[:3]]
        if "NaN" in operation:
            reduce = np.minimum
    else:
        reduce = {"min": np.minimum, "max": np.maximum}[operation[:3]]
    np.testing.assert_array_equal(out[0, :, 100].view(dtype), reduce.reduce(part, axis=1))


COPIES = {
    "128x256b": (128, 32, lambda r: [r]),
    "128x128b": (128, 16, lambda r: [r]),
    "4x256b": (4, 32, lambda r: [32 * r]),
    "64x128b.warpx2::02_13": (64, 16, lambda r: [r, r + 64]),
    "64x128b.warpx2::01_23": (64, 16, lambda r: [r % 32 + 64 * (r // 32), r % 32 + 64 * (r // 32) + 32]),
    "32x128b.warpx4": (32, 16, lambda r: [r, r + 32, r + 64, r + 96]),
}


@pytest.mark.in_turn
@pytest.mark.parametrize("shape", sorted(COPIES))
@pytest.mark.parametrize("unpacking", ["", ".b8x16.b4x16_p64", ".b8x16.b6x16_p32"])
@pytest.mark.parametrize("swizzle", [0, 128])
def test_copy(shape: str, unpacking: str, swizzle: int) -> None:
    rows, size, lanes = COPIES[shape]
    shared = np.random.default_rng(rows).integers(0, 256, (1, SHARED)).astype(np.uint8)
    placed = Placement(1024 + 2048, 4096 if swizzle == 0 else 16, 8 * max(swizzle, 16), swizzle)
    given = tensor(2)
    code = f"mov.u64 %rd10, {descriptor(placed)}; add.u32 %r20, %tm, 33; "
    out = run(code + f"tcgen05.cp.cta_group::1.{shape}{unpacking} [%r20], %rd10;", shared, given, hazards=swizzle == 0)
    wanted = given.copy()
    for row in range(rows):
        data = np.array([shared[0, placed.address(row, byte, 1) - 1024] for byte in range(size)], np.uint8)
        if unpacking:
            bits = int(unpacking[8])
            for first in range(0, size, 16):
                number = int.from_bytes(bytes(data[first : first + 16].tolist()), "little")
                values = [(number >> (bits * i)) & ((1 << bits) - 1) for i in range(16)]
                data[first : first + 16] = [value << 2 if bits == 4 else value for value in values]
        for lane in lanes(row):
            wanted[0, lane, 33 : 33 + size // 4] = data.view(np.uint32)
    np.testing.assert_array_equal(out, wanted)


def test_shift() -> None:
    given = tensor(3)
    code = "add.u32 %r20, %tm, 2097160; tcgen05.shift.cta_group::1.down [%r20];"  # lane 32, column 8
    out = run(code, np.zeros((1, SHARED), np.uint8), given)
    wanted = given.copy()
    wanted[0, 33:64, 8:16] = given[0, 32:63, 8:16]
    np.testing.assert_array_equal(out, wanted)


def small(body: str, hazards: bool = True) -> np.ndarray:
    """A kernel of one warp with `body`; %r0 is the thread, [%r1] a shared word; the word is returned."""
    memory = GlobalMemory()
    out = memory.alloc(4)
    ptx = f""".version 8.8
.target sm_103a
.address_size 64
.shared .align 4 .b32 slot;
.visible .entry k(.param .u64 out)
{{
  .reg .b32 %r<20>; .reg .b64 %rd<4>; .reg .pred %p<4>;
  mov.u32 %r0, %tid.x; mov.u32 %r1, slot; ld.param.u64 %rd0, [out];
  {body}
  bar.sync 0; ld.shared.b32 %r9, [%r1]; st.global.b32 [%rd0], %r9;
  ret;
}}"""
    launch(ptx, (1,), (32,), [out], memory, hazards=hazards)
    return memory.get(out, 1, np.uint32)


ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], "
DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 "


def test_allocations_take_free_columns() -> None:
    first = f"{ALLOC} 32; {ALLOC} 128; {DEALLOC} 0, 32; {ALLOC} 64; {ALLOC} 32;"
    last = small(f"{first} {DEALLOC} 0, 32; {DEALLOC} 32, 128; {DEALLOC} 160, 64;")
    assert last[0] == 0


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (f"{ALLOC} 48;", OperandError, "power of two"),
        (f"{ALLOC} 512; {ALLOC} 32;", DeadlockError, "only 0 of 512 are free .CTA .0,0,0. of `k` holds 512"),
        (f"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; {ALLOC} 32;", OperandError, "gave up the permit"),
        (f"{ALLOC} 64; {DEALLOC} 0, 32;", OperandError, "not allocated together"),
        (f"{ALLOC} 64;", HazardError, "ends with tensor memory allocated"),
        (f"{ALLOC} 64; mov.u32 %r2, 60; tcgen05.ld.sync.aligned.32x32b.x8.b32 {{%r3,%r4,%r5,%r6,%r7,%r8,%r10,%r11}},"
         " [%r2];", OperandError, "not all allocated"),
        (f"{ALLOC} 64; mov.u32 %r2, 2097152; tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r3}}, [%r2];",
         OutOfBoundsError, "warp 0 may use 0 to 31"),
        (f"{ALLOC} 64; mov.u32 %r2, 0; mov.u32 %r3, 0; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {{%r3}};"
         " tcgen05.wait::st.sync.aligned; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r2]; add.u32 %r4, %r3, 1;",
         HazardError, "tcgen05.wait::ld"),
        (f"{ALLOC} 64; mov.u32 %r2, 0; mov.u32 %r3, 0; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {{%r3}};"
         " tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r2];", HazardError, "tcgen05.wait::st"),
        ("tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r3}, [%r1];", UnsupportedModifierError, "16x256b"),
        ("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r1], 32;", OperandError, "clusters"),
    ],
)  # fmt: skip
def test_misuse_is_reported(body: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        small(body)

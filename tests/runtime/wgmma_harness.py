"""Writes operand matrices into shared memory the way a descriptor names them, and runs one wgmma on them."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ptxsim import GlobalMemory, launch

SHARED = 98304
DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2, "s8": np.int8, "u8": np.uint8,
}  # fmt: skip
SWIZZLE_CODE = {0: 0, 128: 1, 64: 2, 32: 3}


@dataclass(frozen=True)
class Placement:
    """Where a matrix lies: start, leading and stride byte offsets, swizzle width, major dimension."""

    start: int
    leading: int
    stride: int
    swizzle: int
    k_major: bool = True
    base_offset: int = 0

    def address(self, row: int, k: int, size: int) -> int:
        """The byte of element (row, k), one at a time; written from the table of canonical layouts."""
        units = 16 // size
        s = self.swizzle
        if self.k_major and s == 0:
            kb = k * size
            linear = row % 8 * 16 + row // 8 * self.stride + kb // 16 * self.leading + kb % 16
        elif self.k_major:
            kb = k * size
            linear = row % 8 * s + row // 8 * self.stride + kb % s + kb // s * self.leading
        elif s == 0:
            linear = row % units * size + row // units * self.stride + k % 8 * 16 + k // 8 * self.leading
        else:
            chunk = s // size
            linear = row % chunk * size + row // chunk * self.leading + k % 8 * s + k // 8 * self.stride
        where = self.start + linear
        row_phase = (where >> 7) - self.base_offset
        return where ^ ((row_phase & {0: 0, 32: 1, 64: 3, 128: 7}[s]) << 4)

    def descriptor(self) -> int:
        code = SWIZZLE_CODE[self.swizzle]
        fields = (self.start >> 4) | (self.leading >> 4) << 16 | (self.stride >> 4) << 32
        return fields | self.base_offset << 49 | code << 62


def fill(shared: np.ndarray, matrix: np.ndarray, placement: Placement, base: int = 1024) -> None:
    """Write a matrix [row, k] of whole-byte elements into an image of shared memory that starts at `base`."""
    size = matrix.dtype.itemsize
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(*matrix.shape, size)
    for row in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            where = placement.address(row, k, size) - base
            shared[where : where + size] = raw[row, k]


def draw(rng: np.random.Generator, shape: tuple[int, ...], element: str) -> np.ndarray:
    """Random values of an element type."""
    if element in ("s8", "u8"):
        info = np.iinfo(DTYPES[element])
        return rng.integers(info.min, info.max, shape, endpoint=True).astype(DTYPES[element])
    values = rng.standard_normal(shape).astype(DTYPES[element])
    if element == "tf32":
        values = (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return values


PROLOGUE = f"""
  .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .pred %p<4>;
  ld.param.u64 %rd0, [image]; mov.u32 %r0, %tid.x; mov.u32 %r1, smem; mov.u32 %r2, 0;
  shl.b32 %r3, %r0, 4;
COPY:
  add.u32 %r4, %r3, %r2; cvt.u64.u32 %rd1, %r4; add.u64 %rd1, %rd0, %rd1;
  ld.global.v4.b32 {{%r5,%r6,%r7,%r8}}, [%rd1]; add.u32 %r9, %r1, %r4;
  st.shared.v4.b32 [%r9], {{%r5,%r6,%r7,%r8}};
  mov.u32 %r10, %ntid.x; shl.b32 %r10, %r10, 4;
  add.u32 %r2, %r2, %r10; setp.lt.u32 %p0, %r2, {SHARED}; @%p0 bra COPY;
  fence.proxy.async; bar.sync 0;
"""


def fragment(matrix: np.ndarray) -> np.ndarray:
    """A [64, k] matrix as the four registers of every thread of a warpgroup: [128, 4] of 32 bits."""
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(64, -1)
    out = np.zeros((128, 4, 4), np.uint8)
    for thread in range(128):
        warp, group, quad = thread // 32, thread % 32 // 4, thread % 4
        for number in range(4):
            row = 16 * warp + group + 8 * (number % 2)
            column = 16 * (number // 2) + 4 * quad
            out[thread, number] = raw[row, column : column + 4]
    return out.reshape(128, 16).view(np.uint32)


def collect(registers: np.ndarray, n: int, half: bool) -> np.ndarray:
    """The [64, n] matrix in accumulator registers [128, count] (already of the accumulator's type)."""
    out = np.zeros((64, n), registers.dtype)
    for thread in range(128):
        for i in range(n // 2):
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2)
            out[row, 8 * (i // 4) + 2 * (thread % 4) + i % 2] = registers[thread, i]
    return out


def run(
    image: np.ndarray,
    n: int,
    k: int,
    types: str,
    a: int | np.ndarray,
    b: int,
    c: np.ndarray | None,
    tail: str = "1,1,0,0",
    modifiers: str = "",
    sparse: tuple[np.ndarray, int] | None = None,
    hazards: bool = False,
    warps_before: int = 0,
) -> np.ndarray:
    """One wgmma; a: a descriptor or the registers [128, 4]; c: [128, registers] of 32 bits, None for scale-d false."""
    accumulator = types.split(".")[0]
    count = n // 4 if accumulator == "f16" else n // 2
    memory = GlobalMemory()
    given = np.zeros((128, count), np.uint32) if c is None else c
    args = [memory.put(image), memory.put(given), memory.put(a if isinstance(a, np.ndarray) else np.zeros(1))]
    args.append(memory.put(np.zeros(128, np.uint32) if sparse is None else sparse[0]))
    out = memory.alloc(128 * count * 4)
    names = ",".join(f"%d{i}" for i in range(count))
    operand = "%rd5" if not isinstance(a, np.ndarray) else "{%r20,%r21,%r22,%r23}"
    metadata = "" if sparse is None else f"%r30,{sparse[1]},"
    dots = ".sp" if sparse is not None else ""
    tail = f",{tail}" if tail else ""
    ptx = f""".version 8.4
.target sm_90a
.address_size 64
.shared .align 1024 .b8 smem[{SHARED}];
.visible .entry k(.param .u64 image, .param .u64 c, .param .u64 afrag, .param .u64 meta, .param .u64 out)
{{
  .reg .b32 %d<{count}>;
{PROLOGUE}
  ld.param.u64 %rd2, [c]; ld.param.u64 %rd3, [out]; ld.param.u64 %rd4, [afrag]; ld.param.u64 %rd7, [meta];
  sub.u32 %r0, %r0, {32 * warps_before}; setp.ge.u32 %p2, %r0, 128; @%p2 bra END;
  mul.wide.u32 %rd8, %r0, 4; add.u64 %rd7, %rd7, %rd8; ld.global.b32 %r30, [%rd7];
  mul.wide.u32 %rd8, %r0, {count * 4}; add.u64 %rd2, %rd2, %rd8; add.u64 %rd3, %rd3, %rd8;
  {" ".join(f"ld.global.b32 %d{i}, [%rd2+{4 * i}];" for i in range(count))}
  {"mul.wide.u32 %rd8, %r0, 16; add.u64 %rd4, %rd4, %rd8;" if isinstance(a, np.ndarray) else ""}
  {"ld.global.v4.b32 {%r20,%r21,%r22,%r23}, [%rd4];" if isinstance(a, np.ndarray) else ""}
  mov.u64 %rd5, {a if not isinstance(a, np.ndarray) else 0}; mov.u64 %rd6, {b};
  setp.{"ne" if c is None else "eq"}.u32 %p1, %r0, %r0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async{dots}.sync.aligned.m64n{n}k{k}.{types}{modifiers} {{{names}}}, {operand}, %rd6, {metadata} %p1{tail};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  {" ".join(f"st.global.b32 [%rd3+{4 * i}], %d{i};" for i in range(count))}
END:
  ret;
}}"""
    launch(ptx, (1, 1, 1), (128 + 32 * warps_before, 1, 1), [*args, out], memory, hazards=hazards)
    return memory.get(out, (128, count), np.uint32)

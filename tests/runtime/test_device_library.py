"""What nvcc makes of wmma, grid.sync(), malloc, free, new and printf (data/nvcc/forms.cu), and memcpy, memset."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from ptxsim import GlobalMemory, Module, OutOfBoundsError, TrapError, launch
from runtime import ptxas
from tests.runtime.test_printf import c_printf

PTX = (Path(__file__).parent / "data" / "nvcc" / "forms.ptx").read_text()
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2027)


def test_wmma_product_in_half_precision(rng: np.random.Generator) -> None:
    m, n, k = 32, 48, 64
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (n, k)))
    c = rng.standard_normal((m, n)).astype(np.float16)
    memory = GlobalMemory()
    module = Module(PTX, memory)
    module.write("scale", np.array([0.5], np.float32))
    addresses = [memory.put(x) for x in (a, b, c)]
    module.launch((n // 16,), (2 * m,), [*addresses, k], entry="tiles", hazards=True)
    wanted = 0.5 * (a.astype(np.float64) @ b.astype(np.float64).T) + c
    np.testing.assert_allclose(memory.get(addresses[2], (m, n), np.float16), wanted, atol=0.02, rtol=2e-3)


def test_wmma_of_bytes_through_shared_memory(rng: np.random.Generator) -> None:
    a, b = rng.integers(-128, 128, (16, 32)), rng.integers(-128, 128, (16, 8))
    memory = GlobalMemory()
    padded = np.zeros((16, 16), np.int8)
    padded[:, :8] = b
    out = memory.alloc(32 * 8 * 4)
    args = [memory.put(a.astype(np.int8)), memory.put(padded), out]
    launch(PTX, (1,), (32,), args, memory, entry="bytes", hazards=True)
    assert np.array_equal(memory.get(out, (32, 8), np.int32), a.T @ b + 3)


@pytest.mark.parametrize(("blocks", "schedule"), [(1, "together"), (40, "together"), (3, "skewed:3")])
def test_grid_sync(rng: np.random.Generator, blocks: int, schedule: str) -> None:
    n = blocks * 64 - 5
    x = rng.integers(-1000, 1000, n, dtype=np.int32)
    memory = GlobalMemory()
    module = Module(PTX, memory)
    buffers = [memory.put(x), memory.alloc(4 * n)]
    for turn in (1, 2):
        module.launch((blocks,), (64,), [*buffers, n], entry="scan", cooperative=True, schedule=schedule)
        passes = (n - 1).bit_length()
        assert np.array_equal(memory.get(buffers[passes % 2], n, np.int32), np.cumsum(x, dtype=np.int32))
        memory.set(buffers[0], x)
        assert module.read("launches", np.uint32)[0] == turn


def test_grid_sync_without_a_cooperative_launch() -> None:
    memory = GlobalMemory()
    buffers = [memory.alloc(400), memory.alloc(400)]
    with pytest.raises(TrapError, match=r"line \d+.*trap"):
        launch(PTX, (2,), (64,), [*buffers, 100], memory, entry="scan")


def test_lists_on_the_heap() -> None:
    threads, n = 40, 9
    memory = GlobalMemory()
    module = Module(PTX, memory)
    keep, sums = memory.alloc(8 * threads), memory.alloc(4 * threads)
    module.launch((1,), (threads,), [keep, n], entry="build")
    lengths = [n + t % 3 for t in range(threads)]
    left = [[i for i in range(length) if i % 4 != 3] for length in lengths]
    assert len(memory.heap) == sum(map(len, left))
    module.launch((1,), (threads,), [keep, sums], entry="reap")
    assert memory.get(sums, threads, np.int32).tolist() == [sum(part) * (t + 1) for t, part in enumerate(left)]
    assert memory.heap == {}
    with pytest.raises(OutOfBoundsError, match=r"thread \(0,0,0\) .* allocation \d+, which is freed"):
        module.launch((1,), (threads,), [keep, sums], entry="reap")


def test_free_of_what_malloc_did_not_give() -> None:
    memory = GlobalMemory()
    module = Module(PTX, memory)
    node = memory.put(np.zeros(2, np.uint64))
    keep, sums = memory.put(np.array([node], np.uint64)), memory.alloc(4)
    with pytest.raises(
        OutOfBoundsError, match=f"frees {node:#x}, which malloc did not return or which is already freed"
    ):
        module.launch((1,), (1,), [keep, sums], entry="reap")


def test_heap_without_room() -> None:
    memory = GlobalMemory()
    out = memory.alloc(24)
    for size, wanted in ((5 << 20, [1, 0, 1]), (4 << 20, [1, 1, 1]), (9 << 20, [0, 0, 0])):
        launch(PTX, (1,), (1,), [out, size], memory, entry="huge")
        assert memory.get(out, 3, np.uint64).tolist() == wanted
    assert memory.heap == {}


def test_printf() -> None:
    memory = GlobalMemory()
    name = memory.put(np.frombuffer(b"number\0", np.uint8))
    x, n = -12.3456789, -(1 << 40)
    report = launch(PTX, (1,), (2,), [name, x, n, 10, 2], memory, entry="print")
    text = "%s: %a %.3e %g|%*.*f|%-8lld|%#llx %c %p %%\n"
    values = [ctypes.c_double(x)] * 3
    for lane in range(2):
        wanted = c_printf(
            text, b"number", *values, 10, 2, ctypes.c_double(x), ctypes.c_longlong(n), ctypes.c_longlong(n),
            ord("a") + lane, ctypes.c_void_p(0),
        )  # fmt: skip
        assert report.printed[lane] == wanted


MOVES = (
    HEAD
    + """
.extern .func (.param .b64 r) memcpy(.param .b64 a, .param .b64 b, .param .b64 c);
.extern .func (.param .b64 r) memmove(.param .b64 a, .param .b64 b, .param .b64 c);
.extern .func (.param .b64 r) memset(.param .b64 a, .param .b32 b, .param .b64 c);
.visible .entry k(.param .u64 x, .param .u64 y, .param .u64 sizes, .param .u64 ends)
{
  .reg .u64 %x, %y, %s, %n, %g, %l, %o, %r; .reg .u32 %t, %v;
  .shared .align 16 .b8 pool[8192];
  .local .align 16 .b8 mine[512];
  ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; ld.param.u64 %s, [sizes]; mov.u32 %t, %tid.x;
  mul.wide.u32 %o, %t, 8; add.u64 %s, %s, %o; ld.global.u64 %n, [%s];
  mul.wide.u32 %o, %t, 256; add.u64 %x, %x, %o; add.u64 %y, %y, %o;
  cvta.shared.u64 %g, pool; add.u64 %g, %g, %o;
  cvta.local.u64 %l, mine; add.u64 %l, %l, 1;
  call (%r), memcpy, (%g, %x, %n);
  call (%r), memcpy, (%l, %g, %n);
  add.u64 %g, %l, 3;
  call (%r), memmove, (%g, %l, %n);
  mov.u32 %v, 0x1FA;
  call (%r), memset, (%l, %v, 2);
  call (%r), memcpy, (%y, %l, %n);
  ld.param.u64 %s, [ends]; mul.wide.u32 %o, %t, 8; add.u64 %s, %s, %o; st.global.u64 [%s], %r;
  ret;
}
"""
)


@pytest.mark.parametrize("unit", [1, 4, 8])
def test_copies_between_spaces(rng: np.random.Generator, unit: int) -> None:
    memory = GlobalMemory()
    x = rng.integers(0, 256, (32, 256), dtype=np.uint8)
    sizes = rng.integers(0, 240 // unit, 32).astype(np.uint64) * unit
    out, ends = memory.put(np.full((32, 256), 7, np.uint8)), memory.alloc(256)
    launch(MOVES, (1,), (32,), [memory.put(x), out, memory.put(sizes), ends], memory, hazards=True)
    found = memory.get(out, (32, 256), np.uint8)
    for row, size in enumerate(sizes.astype(int).tolist()):
        moved = np.full(512, 0xFF, np.uint8)
        moved[:size] = x[row, :size]
        moved[3 : 3 + size] = x[row, :size]
        moved[:2] = 0xFA
        assert np.array_equal(found[row, :size], moved[:size])
        assert (found[row, size:] == 7).all()
        assert memory.get(ends + 8 * row, 1, np.uint64)[0] == out + 256 * row


def test_ptxas_takes_it() -> None:
    ptxas.assemble(PTX, "sm_90")


def test_wrong_arguments() -> None:
    wrong = MOVES.replace("memset, (%l, %v, 2)", "memset, (%l, %v)")
    with pytest.raises(Exception, match=r"line \d+.*`memset` has 3 arguments and 1 results"):
        launch(wrong, (1,), (32,), [0, 0, 0, 0], GlobalMemory())
    with pytest.raises(Exception, match=r"line \d+.*`calloc` is not a function with a body in this module"):
        launch(MOVES.replace("memset", "calloc"), (1,), (32,), [0, 0, 0, 0], GlobalMemory())

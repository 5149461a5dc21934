"""Formats with 8 or 12 of 16 bytes in shared memory: with hazards=True, only those must have been written."""

import numpy as np
import pytest

from ptxsim import GlobalMemory, HazardError, TensorMap, launch
from tests.runtime.tcgen05_harness import Shape, descriptor, kernel
from tests.runtime.test_tcgen05_mma import B_START, NARROW, check, code, narrow, noise, padded, places, shared_image
from tests.runtime.test_tma_loads import random_array
from tests.runtime.test_tma_stores import store_kernel
from tests.runtime.wgmma_harness import draw

WHOLE = "st.shared.v4.b32 [%r13], {%r9,%r10,%r11,%r12};"
PARTS = {
    8: ["st.shared.v2.b32 [%r13], {%r9,%r10};"],
    12: ["st.shared.v2.b32 [%r13], {%r9,%r10};", "st.shared.b32 [%r13+8], %r11;"],
    16: [WHOLE],
}
UNWRITTEN = "which nothing has written"


def _partly(ptx: str, a: int, b: int) -> str:
    """A kernel of the harness that writes so many of every 16 bytes of the parts of shared memory for A and B."""
    parts = [f"@%p2 {store}" for store in PARTS[a]] + [f"@!%p2 {store}" for store in PARTS[b]]
    assert WHOLE in ptx
    return ptx.replace(WHOLE, f"setp.lt.u32 %p2, %r8, {B_START - 1024}; " + " ".join(parts))


def _multiply(a_type: str, b_type: str, written: tuple[int, int]) -> None:
    rng = np.random.default_rng(6)
    pa, pb = places(32)
    values: list[np.ndarray] = []
    raw: list[np.ndarray] = []
    for element, shape in ((a_type, (128, 32)), (b_type, (16, 32))):
        if element in NARROW:
            wide, codes = narrow(rng, element, shape)
            raw.append(padded(codes, NARROW[element][2]))
        else:
            wide = draw(rng, shape, element)
            raw.append(wide.view(np.uint8))
        values.append(wide.astype(np.float64))
    form = Shape(128, 16, *(NARROW[element][0] if element in NARROW else 0 for element in (a_type, b_type))).bits()
    given, memory = noise(1), GlobalMemory()
    ptx = _partly(kernel(code("f8f6f4", str(descriptor(pa)), descriptor(pb), form, 0), 1), *written)
    args = [memory.put(shared_image(1, (0, raw[0], pa), (0, raw[1], pb))), memory.put(given), memory.alloc(128 * 2048)]
    launch(ptx, (1,), (128,), [*args, memory.put(np.zeros(1))], memory, hazards=True)
    check(memory.get(args[2], (1, 128, 512), np.uint32), given, "D", [values[0] @ values[1].T], np.float32, 1e-6)


@pytest.mark.parametrize(
    ("a", "b", "written"),
    [("e4m3", "e2m1", (16, 8)), ("e2m1", "e3m2", (8, 12)), ("e2m3", "e4m3", (12, 16)), ("e2m1", "e2m1", (8, 8))],
)
def test_products_do_not_read_the_padding(a: str, b: str, written: tuple[int, int]) -> None:
    _multiply(a, b, written)


@pytest.mark.parametrize(("a", "b", "written"), [("e4m3", "e2m1", (8, 8)), ("e2m1", "e3m2", (8, 8))])
def test_products_read_all_else(a: str, b: str, written: tuple[int, int]) -> None:
    with pytest.raises(HazardError, match=UNWRITTEN):
        _multiply(a, b, written)


@pytest.mark.parametrize(("unpacking", "size"), [("b4x16_p64", 8), ("b6x16_p32", 12)])
def test_copies_to_tensor_memory(unpacking: str, size: int) -> None:
    copy = (
        f"mov.u64 %rd10, {descriptor(places(0)[0])}; tcgen05.cp.cta_group::1.128x128b.b8x16.{unpacking} [%tm], %rd10;"
    )

    def run(text: str, size: int) -> None:
        memory = GlobalMemory()
        args = [memory.put(shared_image(1)), memory.put(noise(1)), memory.alloc(128 * 2048), memory.put(np.zeros(1))]
        launch(_partly(kernel(text, 1), size, 16), (1,), (128,), args, memory, hazards=True)

    run(copy, size)
    with pytest.raises(HazardError, match=UNWRITTEN):
        run(copy.replace(f".b8x16.{unpacking}", ""), size)


@pytest.mark.parametrize(("packing", "size"), [("b4x16_p64", 8), ("b6x16_p32", 12)])
def test_ldmatrix(packing: str, size: int) -> None:
    def run(packing: str, size: int) -> None:
        stores = "st.shared.v2.b32 [%r1], {%r0,%r0};" + (" st.shared.b32 [%r1+8], %r0;" if size == 12 else "")
        ptx = f""".version 8.8
.target sm_100a
.address_size 64
.shared .align 16 .b8 buf[512];
.visible .entry k()
{{
  .reg .b32 %r<5>;
  mov.u32 %r0, %tid.x; shl.b32 %r2, %r0, 4; mov.u32 %r1, buf; add.u32 %r1, %r1, %r2; {stores} bar.sync 0;
  ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.{packing} {{%r3}}, [%r1];
  ret;
}}"""
        launch(ptx, (1,), (32,), [], GlobalMemory(), hazards=True)

    run(packing, size)
    with pytest.raises(HazardError, match=UNWRITTEN):
        run("b6x16_p32", 8)


@pytest.mark.parametrize(("element", "size"), [("b6x16_p32", 12), ("b4x16_p64", 8)])
def test_tensor_stores_leave_the_gaps(element: str, size: int) -> None:
    rng = np.random.default_rng(1)
    before, data = (random_array(rng, shape, np.uint8) for shape in ((4, 8 * size), (2, 8, 16)))

    def run(size: int) -> np.ndarray:
        ptx = store_kernel(2, 256, 2).replace(
            "st.shared.v4.b32 [%r54], {%r55, %r56, %r57, %r58};",
            {
                4: "st.shared.b32 [%r54], %r55;",
                8: "st.shared.v2.b32 [%r54], {%r55, %r56};",
                12: "st.shared.v2.b32 [%r54], {%r55, %r56}; st.shared.b32 [%r54+8], %r57;",
            }[size],
        )
        memory = GlobalMemory()
        target = memory.put(before)
        tensor = TensorMap(target, element, (128, 4), (before.shape[1],), (128, 2))
        launch(ptx, (1,), (64,), [tensor, memory.put(data), 0, 1], memory, hazards=True)
        return memory.get(target, before.shape, np.uint8)

    expected = before.copy()
    expected[1:3] = data[:, :, :size].reshape(2, -1)
    np.testing.assert_array_equal(run(size), expected)
    with pytest.raises(HazardError, match=UNWRITTEN):
        run(size - 4)


@pytest.mark.parametrize(("element", "size"), [("b6x16_p32", 12), ("b4x16_p64", 8)])
def test_tensor_stores_do_not_read_the_padding(element: str, size: int) -> None:
    """While one is under way, threads may write the gaps of its source and nothing else of it."""
    memory = GlobalMemory()
    tensor = TensorMap(memory.alloc(64 * size), element, (128, 4), (8 * size,), (128, 2))
    data = memory.put(np.zeros(256, np.uint8))
    commit = "@%leader cp.async.bulk.commit_group;"

    def run(byte: int) -> None:
        ptx = store_kernel(2, 256, 2).replace(commit, f"{commit} @%leader st.shared.b32 [%tile+{byte}], %tid;")
        launch(ptx, (1,), (64,), [tensor, data, 0, 1], memory, hazards=True)

    run(16 + size)
    with pytest.raises(HazardError, match="may still read"):
        run(12 + size)

"""wgmma against NumPy: every type, layout, swizzle and immediate."""

import numpy as np
import pytest

from tests.runtime.wgmma_harness import DTYPES, SHARED, Placement, collect, draw, fill, fragment, run

K_OF = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}
B_START = 1024 + 32768


def image_of(*parts: tuple[np.ndarray, Placement], seed: int = 1) -> np.ndarray:
    """Shared memory full of noise that holds matrices where they are placed."""
    image = np.random.default_rng(seed).integers(0, 60, SHARED).astype(np.uint8)
    for matrix, placement in parts:
        fill(image, matrix, placement)
    return image


def placement(start: int, swizzle: int, k_major: bool = True, size: int = 2, rows: int = 64) -> Placement:
    """Strides that are not the dense ones, so that a confusion of the two shows."""
    if k_major:
        return Placement(start, 16 if swizzle else 160, 8 * max(swizzle, 48), swizzle)
    if swizzle == 0:
        return Placement(start, 4096, 144, 0, False)
    return Placement(start, 2 * 8 * swizzle + 1024, 8 * swizzle, swizzle, False)


def expected(a: np.ndarray, b: np.ndarray, sign: int = 1) -> np.ndarray:
    return sign * (a.astype(np.float64) @ b.astype(np.float64).T)


def floats(registers: np.ndarray, n: int, accumulator: str) -> np.ndarray:
    dtype = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[accumulator]
    return collect(registers.view(dtype), n, accumulator == "f16")


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("element", sorted(K_OF))
def test_shared_operands_k_major(element: str, swizzle: int) -> None:
    rng = np.random.default_rng(swizzle + len(element))
    k, n = K_OF[element], 40 if element not in ("s8", "u8") else 48
    a, b = draw(rng, (64, k), element), draw(rng, (n, k), element)
    pa, pb = placement(1024, swizzle), placement(B_START, swizzle)
    accumulator = "s32" if element in ("s8", "u8") else "f32"
    tail = {"f16": "1,1,0,0", "bf16": "1,1,0,0", "s8": "", "u8": ""}.get(element, "1,1")
    types = f"{accumulator}.{element}.{element}"
    out = run(image_of((a, pa), (b, pb)), n, k, types, pa.descriptor(), pb.descriptor(), None, tail)
    np.testing.assert_allclose(floats(out, n, accumulator), expected(a, b), rtol=1e-5, atol=1e-4)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize(("ta", "tb"), [(1, 0), (0, 1), (1, 1)])
def test_mn_major(swizzle: int, ta: int, tb: int) -> None:
    rng = np.random.default_rng(swizzle + ta)
    n = 96
    a, b = draw(rng, (64, 16), "bf16"), draw(rng, (n, 16), "bf16")
    pa = placement(1024, swizzle, not ta)
    pb = placement(B_START, swizzle, not tb)
    image = image_of((a, pa), (b, pb))
    c = np.random.default_rng(5).standard_normal((128, n // 2)).astype(np.float32)
    out = run(image, n, 16, "f32.bf16.bf16", pa.descriptor(), pb.descriptor(), c.view(np.uint32), f"-1,1,{ta},{tb}")
    before = collect(c, n, False)
    np.testing.assert_allclose(floats(out, n, "f32"), expected(a, b, -1) + before, rtol=1e-5, atol=1e-5)
    wrong = run(
        image, n, 16, "f32.bf16.bf16", pa.descriptor(), pb.descriptor(), c.view(np.uint32), f"-1,1,{1 - ta},{tb}"
    )
    assert not np.allclose(floats(wrong, n, "f32"), expected(a, b, -1) + before, atol=0.1)


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_every_n(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = draw(rng, (64, 16), "f16"), draw(rng, (n, 16), "f16")
    pa, pb = placement(1024, 128), placement(B_START, 128)
    out = run(image_of((a, pa), (b, pb)), n, 16, "f32.f16.f16", pa.descriptor(), pb.descriptor(), None)
    np.testing.assert_allclose(floats(out, n, "f32"), expected(a, b), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("element", sorted(K_OF))
def test_a_in_registers(element: str) -> None:
    rng = np.random.default_rng(11)
    k, n = K_OF[element], 16
    a, b = draw(rng, (64, k), element), draw(rng, (n, k), element)
    pb = placement(B_START, 64)
    accumulator = "s32" if element in ("s8", "u8") else "f32"
    tail = {"f16": "-1,-1,0", "bf16": "1,1,0", "s8": "", "u8": ""}.get(element, "1,1")
    types = f"{accumulator}.{element}.{element}"
    out = run(image_of((b, pb)), n, k, types, fragment(a), pb.descriptor(), None, tail)
    np.testing.assert_allclose(floats(out, n, accumulator), expected(a, b), rtol=1e-5, atol=1e-4)


def test_second_warpgroup_and_advance_inside_the_atom() -> None:
    rng = np.random.default_rng(2)
    n = 64
    a, b = draw(rng, (64, 64), "f16"), draw(rng, (n, 64), "f16")
    pa, pb = placement(1024, 128), placement(B_START, 128)
    image = image_of((a, pa), (b, pb))
    for step in range(4):
        chosen = slice(16 * step, 16 * step + 16)
        out = run(
            image, n, 16, "f32.f16.f16", pa.descriptor() + 2 * step, pb.descriptor() + 2 * step, None, warps_before=4
        )
        np.testing.assert_allclose(floats(out, n, "f32"), expected(a[:, chosen], b[:, chosen]), rtol=1e-5, atol=1e-5)


def test_half_accumulators() -> None:
    rng = np.random.default_rng(3)
    n = 32
    for element, tail in (("f16", "1,1,0,0"), ("e4m3", "1,1"), ("e5m2", "1,-1")):
        k = K_OF[element]
        a, b = draw(rng, (64, k), element), draw(rng, (n, k), element)
        pa, pb = placement(1024, 32), placement(B_START, 64)
        c = rng.standard_normal((128, n // 2)).astype(np.float16)
        image = image_of((a, pa), (b, pb))
        types = f"f16.{element}.{element}"
        out = run(image, n, k, types, pa.descriptor(), pb.descriptor(), c.view(np.uint32), tail)
        sign = -1 if tail == "1,-1" else 1
        wanted = expected(a, b, sign) + collect(c, n, True).astype(np.float64)
        np.testing.assert_allclose(floats(out, n, "f16"), wanted, rtol=2e-3, atol=2e-3)


def test_integers_wrap_or_saturate() -> None:
    rng = np.random.default_rng(4)
    n = 16
    a, b = draw(rng, (64, 32), "u8"), draw(rng, (n, 32), "s8")
    pa, pb = placement(1024, 128), placement(B_START, 128)
    c = np.full((128, n // 2), (1 << 31) - 1000, np.int32)
    c[::2] = -(1 << 31) + 1000
    image = image_of((a, pa), (b, pb))
    exact = a.astype(np.int64) @ b.astype(np.int64).T + collect(c, n, False)
    for modifier, wanted in (
        ("", exact.astype(np.int32)),
        (".satfinite", np.clip(exact, -(1 << 31), (1 << 31) - 1)),
    ):
        out = run(
            image, n, 32, "s32.u8.s8", pa.descriptor(), pb.descriptor(), c.view(np.uint32), "", modifiers=modifier
        )
        np.testing.assert_array_equal(floats(out, n, "s32"), wanted)


def test_bits() -> None:
    rng = np.random.default_rng(5)
    n = 24
    a = rng.integers(0, 256, (64, 32)).astype(np.uint8)
    b = rng.integers(0, 256, (n, 32)).astype(np.uint8)
    pa, pb = placement(1024, 128), placement(B_START, 128)
    out = run(
        image_of((a, pa), (b, pb)), n, 256, "s32.b1.b1", pa.descriptor(), pb.descriptor(), None, "",
        modifiers=".and.popc",
    )  # fmt: skip
    wanted = np.bitwise_count(a[:, None] & b[None]).sum(axis=2, dtype=np.int64)
    np.testing.assert_array_equal(floats(out, n, "s32"), wanted)


def test_base_offset() -> None:
    rng = np.random.default_rng(6)
    n = 64
    a, b = draw(rng, (64, 16), "f16"), draw(rng, (n, 16), "f16")
    shifted = Placement(1024 + 3 * 128, 16, 1024, 128, base_offset=3)
    pb = placement(B_START, 128)
    image = image_of((a, shifted), (b, pb))
    out = run(image, n, 16, "f32.f16.f16", shifted.descriptor(), pb.descriptor(), None)
    np.testing.assert_allclose(floats(out, n, "f32"), expected(a, b), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("change", ["leading", "stride", "swizzle", "start"])
def test_wrong_descriptors_give_wrong_numbers(change: str) -> None:
    rng = np.random.default_rng(7)
    n = 64
    a, b = draw(rng, (64, 16), "f16"), draw(rng, (n, 16), "f16")
    swizzle = 0 if change == "leading" else 128
    pa, pb = placement(1024, swizzle), placement(B_START, swizzle)
    image = image_of((a, pa), (b, pb))
    right = pa.descriptor()
    wrong = {
        "leading": right + (1 << 16), "stride": right + (1 << 32), "swizzle": right ^ (3 << 62), "start": right + 1,
    }[change]  # fmt: skip
    good = run(image, n, 16, "f32.f16.f16", right, pb.descriptor(), None)
    bad = run(image, n, 16, "f32.f16.f16", wrong, pb.descriptor(), None)
    np.testing.assert_allclose(floats(good, n, "f32"), expected(a, b), rtol=1e-5, atol=1e-5)
    assert not np.allclose(floats(bad, n, "f32"), expected(a, b), atol=0.1)


def sparse_rows(rng: np.random.Generator, element: str, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dense A with structured zeros, its stored half, and its 2-bit positions [64, codes]."""
    size = np.dtype(DTYPES[element]).itemsize
    codes: list[list[int]] = []
    dense = np.zeros((64, k), DTYPES[element])
    stored = np.zeros((64, k // 2), DTYPES[element])
    values = draw(rng, (64, k // 2), element)
    for row in range(64):
        line: list[int] = []
        for chunk in range(k // 4 if size != 4 else k // 2):
            if size == 4:
                one = int(rng.integers(2))
                line += [2 * one, 2 * one + 1]
                dense[row, 2 * chunk + one] = stored[row, chunk] = values[row, chunk]
            else:
                pair = sorted(rng.choice(4, 2, replace=False).tolist())
                line += pair
                for number, position in enumerate(pair):
                    dense[row, 4 * chunk + position] = values[row, 2 * chunk + number]
                    stored[row, 2 * chunk + number] = values[row, 2 * chunk + number]
        codes.append(line)
    return dense, stored, np.array(codes)


def metadata_of(codes: np.ndarray, size: int, selector: int) -> np.ndarray:
    """The metadata register of each of 128 threads; lanes that the selector leaves out hold noise."""
    out = np.random.default_rng(9).integers(0, 1 << 32, 128, dtype=np.uint64).astype(np.uint32)
    per_lane = 8 if size != 1 else 16
    for warp in range(4):
        for group in range(8):
            low, high = codes[16 * warp + group], codes[16 * warp + group + 8]
            for number in range(2 if size != 1 else 4):
                lane = 32 * warp + 4 * group + (2 * selector + number if size != 1 else number)
                if size != 1:
                    part = [*low[8 * number : 8 * number + 8], *high[8 * number : 8 * number + 8]]
                else:
                    row = (low, high)[number % 2]
                    part = list(row[per_lane * (number // 2) : per_lane * (number // 2) + per_lane])
                out[lane] = sum(int(code) << (2 * place) for place, code in enumerate(part))
    return out


@pytest.mark.parametrize("in_registers", [False, True])
@pytest.mark.parametrize(("element", "selector"), [("f16", 0), ("bf16", 1), ("tf32", 1), ("e4m3", 0), ("s8", 0)])
def test_sparse(element: str, selector: int, in_registers: bool) -> None:
    rng = np.random.default_rng(8)
    k, n = 2 * K_OF[element], 32
    dense, stored, codes = sparse_rows(rng, element, k)
    b = draw(rng, (n, k), element)
    pa, pb = placement(1024, 128), placement(B_START, 64)
    accumulator = "s32" if element == "s8" else "f32"
    a_tail = "1,1,0" if in_registers else "1,1,0,0"
    tail = {"f16": a_tail, "bf16": a_tail, "s8": ""}.get(element, "1,1")
    metadata = metadata_of(codes, np.dtype(DTYPES[element]).itemsize, selector)
    image = image_of((stored, pa), (b, pb))
    a = fragment(stored) if in_registers else pa.descriptor()
    types = f"{accumulator}.{element}.{element}"
    out = run(image, n, k, types, a, pb.descriptor(), None, tail, sparse=(metadata, selector))
    np.testing.assert_allclose(floats(out, n, accumulator), expected(dense, b), rtol=1e-5, atol=1e-4)

"""tcgen05.mma of every kind against NumPy, in one CTA and in pairs."""

import ml_dtypes
import numpy as np
import pytest

from ptxsim import OperandError
from tests.runtime.tcgen05_harness import SHARED, Shape, descriptor, run
from tests.runtime.wgmma_harness import DTYPES, Placement, draw, fill

CODES = {
    "f16": ("f16", 0), "bf16": ("f16", 1), "tf32": ("tf32", 2), "u8": ("i8", 0), "s8": ("i8", 1),
    "e4m3": ("f8f6f4", 0), "e5m2": ("f8f6f4", 1),
}  # fmt: skip
NARROW = {
    "e2m3": (3, ml_dtypes.float6_e2m3fn, 6), "e3m2": (4, ml_dtypes.float6_e3m2fn, 6),
    "e2m1": (5, ml_dtypes.float4_e2m1fn, 4),
}  # fmt: skip
B_START = 1024 + 32768


def places(swizzle: int = 128, k_major: tuple[bool, bool] = (True, True)) -> tuple[Placement, Placement]:
    result = []
    for start, is_k in zip((1024, B_START), k_major, strict=True):
        if is_k:
            result.append(Placement(start, 16 if swizzle else 4096, 8 * max(swizzle, 16), swizzle))
        elif swizzle:
            result.append(Placement(start, 8 * swizzle, 4096, swizzle, False))
        else:
            result.append(Placement(start, 4096, 128, 0, False))
    return result[0], result[1]


def noise(group: int, seed: int = 3) -> np.ndarray:
    """Tensor memory full of finite numbers."""
    return np.random.default_rng(seed).standard_normal((group, 128, 512)).astype(np.float32).view(np.uint32)


def shared_image(group: int, *parts: tuple[int, np.ndarray, Placement]) -> np.ndarray:
    image = np.random.default_rng(1).integers(0, 60, (group, SHARED)).astype(np.uint8)
    for cta, matrix, placement in parts:
        fill(image[cta], matrix, placement)
    return image


def lanes_and_columns(layout: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Where element (row, column) of D lies, from the data path figures: A, D full; C, F 16 of 32; B, E; G."""
    rows = {"D": 128, "F": 64, "B": 64, "G": 32}[layout]
    row, column = np.arange(rows)[:, None], np.arange(n)[None, :]
    if layout == "D":
        return row + 0 * column, column + 0 * row
    if layout == "F":
        return row // 16 * 32 + row % 16 + 0 * column, column + 0 * row
    parts = {"B": 2, "G": 4}[layout]
    return row + column // (n // parts) * rows, column % (n // parts) + 0 * row


def code(kind: str, a: str, b: int, form: int, enable: int = 1, group: int = 1, tail: str = "", dots: str = "") -> str:
    return (
        f"mov.u64 %rd10, {a}; mov.u64 %rd11, {b}; mov.u32 %r20, {form}; add.u32 %r21, %tm, 64;"
        f" setp.eq.u32 %p2, 1, {enable}; tcgen05.mma{dots}.cta_group::{group}.kind::{kind}"
        f" [%r21], %rd10, %rd11, %r20, %p2{tail};"
    )


def check(out: np.ndarray, given: np.ndarray, layout: str, wanted: list[np.ndarray], dtype: object, tol: float) -> None:
    """D (from column 64 on) holds the matrices, one per CTA, and nothing else has changed."""
    expected = given.copy()
    found = out.copy()
    for cta, matrix in enumerate(wanted):
        lanes, columns = lanes_and_columns(layout, matrix.shape[1])
        got = out[cta, lanes, columns + 64].view(dtype)
        np.testing.assert_allclose(got.astype(np.float64), matrix, rtol=tol, atol=tol * np.abs(matrix).max())
        found[cta, lanes, columns + 64] = expected[cta, lanes, columns + 64] = 0
    np.testing.assert_array_equal(found, expected)


def before_of(given: np.ndarray, cta: int, layout: str, n: int, dtype: object = np.float32) -> np.ndarray:
    lanes, columns = lanes_and_columns(layout, n)
    return given[cta, lanes, columns + 64].view(dtype).astype(np.float64)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64).T


@pytest.mark.in_turn
@pytest.mark.parametrize("element", sorted(CODES))
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_types_and_swizzles(element: str, swizzle: int) -> None:
    rng = np.random.default_rng(swizzle)
    kind, type_code = CODES[element]
    k = 32 // np.dtype(DTYPES[element]).itemsize
    a, b = draw(rng, (128, k), element), draw(rng, (48, k), element)
    pa, pb = places(swizzle)
    given = noise(1)
    if kind == "i8":
        given = rng.integers(-99, 99, (1, 128, 512)).astype(np.int32).view(np.uint32)
    shape = Shape(128, 48, type_code, type_code, 2 if kind == "i8" else 1)
    image = shared_image(1, (0, a, pa), (0, b, pb))
    out = run(code(kind, str(descriptor(pa)), descriptor(pb), shape.bits()), image, given)
    dtype = np.int32 if kind == "i8" else np.float32
    check(out, given, "D", [product(a, b) + before_of(given, 0, "D", 48, dtype)], dtype, 1e-6)


@pytest.mark.parametrize("transpose", [(0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("swizzle", [0, 64, 128])
@pytest.mark.parametrize("element", ["bf16", "e4m3"])
def test_mn_major(element: str, swizzle: int, transpose: tuple[int, int]) -> None:
    rng = np.random.default_rng(swizzle)
    kind, type_code = CODES[element]
    k = 32 // np.dtype(DTYPES[element]).itemsize
    a, b = draw(rng, (128, k), element), draw(rng, (64, k), element)
    pa, pb = places(swizzle, (not transpose[0], not transpose[1]))
    given = noise(1)
    form = Shape(128, 64, type_code, type_code, negate=(1, 0), transpose=transpose).bits()
    image = shared_image(1, (0, a, pa), (0, b, pb))
    out = run(code(kind, str(descriptor(pa)), descriptor(pb), form, 0), image, given)
    check(out, given, "D", [-product(a, b)], np.float32, 1e-6)


@pytest.mark.parametrize(
    ("m", "n", "dots", "layout"),
    [(128, 256, "", "D"), (64, 40, "", "F"), (128, 64, ".ws", "D"), (64, 128, ".ws", "B"), (32, 64, ".ws", "G")],
)
@pytest.mark.parametrize("in_tensor", [False, True])
def test_data_paths(m: int, n: int, dots: str, layout: str, in_tensor: bool) -> None:
    rng = np.random.default_rng(m)
    a, b = draw(rng, (m, 16), "f16"), draw(rng, (n, 16), "f16")
    pa, pb = places()
    given = noise(1)
    where = str(descriptor(pa))
    rows = np.arange(m) // 16 * 32 + np.arange(m) % 16 if layout == "F" else np.arange(m)
    text = code("f16", where, descriptor(pb), Shape(m, n, 0, 0).bits(), dots=dots)
    if in_tensor:  # eight columns of two elements each
        given[0][rows, 400:408] = a.view(np.uint32)
        text = text.replace("[%r21], %rd10", "[%r21], [%r22]").replace("setp", "add.u32 %r22, %tm, 400; setp", 1)
    out = run(text, shared_image(1, (0, a, pa), (0, b, pb)), given)
    check(out, given, layout, [product(a, b) + before_of(given, 0, layout, n)], np.float32, 1e-6)


@pytest.mark.parametrize(("m", "layout"), [(256, "D"), (128, "B")])
@pytest.mark.parametrize("in_tensor", [False, True])
def test_pairs(m: int, layout: str, in_tensor: bool) -> None:
    rng = np.random.default_rng(m)
    n = 96
    a, b = draw(rng, (m, 16), "f16"), draw(rng, (n, 16), "f16")
    pa, pb = places(64)
    given = noise(2)
    half = m // 2
    parts = [(cta, a[cta * half : (cta + 1) * half], pa) for cta in range(2)]
    parts += [(cta, b[cta * n // 2 : (cta + 1) * n // 2], pb) for cta in range(2)]
    text = code("f16", str(descriptor(pa)), descriptor(pb), Shape(m, n, 0, 0).bits(), group=2)
    if in_tensor:
        for cta in range(2):
            given[cta, :half, 400:408] = a[cta * half : (cta + 1) * half].view(np.uint32)
        text = text.replace("[%r21], %rd10", "[%r21], [%r22]").replace("setp", "add.u32 %r22, %tm, 400; setp", 1)
    out = run(text, shared_image(2, *parts), given, group=2, hazards=not in_tensor)
    whole = product(a, b)
    wanted = [whole[cta * half : (cta + 1) * half] + before_of(given, cta, layout, n) for cta in range(2)]
    check(out, given, layout, wanted, np.float32, 1e-6)


def test_half_results_disabled_lanes_and_scaled_input() -> None:
    rng = np.random.default_rng(4)
    a, b = draw(rng, (128, 16), "f16"), draw(rng, (32, 16), "f16")
    pa, pb = places()
    image = shared_image(1, (0, a, pa), (0, b, pb))
    given = noise(1)
    given[0, :, 64:96] = rng.standard_normal((128, 32)).astype(np.float16).view(np.uint16)
    out = run(code("f16", str(descriptor(pa)), descriptor(pb), Shape(128, 32, 0, 0, 0).bits()), image, given)
    assert (out[0, :, 64:96] >> 16 == 0).all()
    old = given[0, :, 64:96].astype(np.uint16).view(np.float16).astype(np.float64)
    found = out[0, :, 64:96].astype(np.uint16).view(np.float16)
    np.testing.assert_allclose(found, product(a, b) + old, rtol=2e-3, atol=1e-2)
    given = noise(1)
    masks = rng.integers(0, 1 << 32, 4, dtype=np.uint64)
    setup = " ".join(f"mov.u32 %r{30 + i}, {int(masks[i])};" for i in range(4))
    text = code("f16", str(descriptor(pa)), descriptor(pb), Shape(128, 32, 0, 0).bits())
    text = setup + text.replace("%r20, %p2", "%r20, {%r30,%r31,%r32,%r33}, %p2")
    out = run(text, image, given)
    off = np.array([int(masks[lane // 32]) >> lane % 32 & 1 for lane in range(128)], bool)[:, None]
    before = before_of(given, 0, "D", 32)
    check(out, given, "D", [np.where(off, before, product(a, b) + before)], np.float32, 1e-6)
    out = run(code("f16", str(descriptor(pa)), descriptor(pb), Shape(128, 32, 0, 0).bits(), tail=", 3"), image, given)
    check(out, given, "D", [product(a, b) + before / 8], np.float32, 1e-6)


def test_integers_saturate_or_wrap() -> None:
    rng = np.random.default_rng(5)
    a, b = draw(rng, (128, 32), "u8"), draw(rng, (16, 32), "u8")
    pa, pb = places()
    image = shared_image(1, (0, a, pa), (0, b, pb))
    given = np.full((1, 128, 512), (1 << 31) - 1000, np.int64).astype(np.int32).view(np.uint32)
    exact = a.astype(np.int64) @ b.astype(np.int64).T + (1 << 31) - 1000
    for saturate, wanted in ((0, exact.astype(np.int32)), (1, np.minimum(exact, (1 << 31) - 1).astype(np.int32))):
        form = Shape(128, 16, 0, 0, 2, saturate=saturate).bits()
        out = run(code("i8", str(descriptor(pa)), descriptor(pb), form), image, given)
        np.testing.assert_array_equal(out[0, :, 64:80].view(np.int32), wanted)


def narrow(rng: np.random.Generator, element: str, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Values of a narrow float type and their codes."""
    bits = NARROW[element][2]
    codes = rng.integers(0, 1 << bits, shape).astype(np.uint8)
    return codes.view(NARROW[element][1]).astype(np.float64), codes


def padded(codes: np.ndarray, bits: int) -> np.ndarray:
    """Rows in which 16 elements packed together start every 16 bytes."""
    out = np.full(codes.shape, 0xEE, np.uint8)
    for row in range(codes.shape[0]):
        for first in range(0, codes.shape[1], 16):
            number = sum(int(code) << (bits * place) for place, code in enumerate(codes[row, first : first + 16]))
            data = number.to_bytes(2 * bits, "little")
            out[row, first : first + 2 * bits] = np.frombuffer(data, np.uint8)
    return out


@pytest.mark.parametrize("a_type", sorted(NARROW))
@pytest.mark.parametrize("b_type", sorted(NARROW))
def test_narrow_floats_lie_padded(a_type: str, b_type: str) -> None:
    rng = np.random.default_rng(6)
    a, a_codes = narrow(rng, a_type, (128, 32))
    b, b_codes = narrow(rng, b_type, (16, 32))
    pa, pb = places(32)
    raw = padded(a_codes, NARROW[a_type][2]), padded(b_codes, NARROW[b_type][2])
    image = shared_image(1, (0, raw[0], pa), (0, raw[1], pb))
    given = noise(1)
    form = Shape(128, 16, NARROW[a_type][0], NARROW[b_type][0]).bits()
    out = run(code("f8f6f4", str(descriptor(pa)), descriptor(pb), form, 0), image, given)
    check(out, given, "D", [a @ b.T], np.float32, 1e-6)


SCALED = [
    ("mxf8f6f4", "scale_vec::1X", 1, 1), ("mxf8f6f4", "block32", 1, 1), ("mxf4", "scale_vec::2X", 2, 1),
    ("mxf4nvf4", "block32", 2, 1), ("mxf4nvf4", "scale_vec::4X", 4, 0), ("mxf4nvf4", "block16", 4, 1),
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("kind", "name", "count", "scale_type"), SCALED)
@pytest.mark.parametrize(("group", "m", "layout"), [(1, 128, "D"), (2, 256, "D"), (2, 128, "B")])
def test_block_scaling(kind: str, name: str, count: int, scale_type: int, group: int, m: int, layout: str) -> None:
    rng = np.random.default_rng(7)
    n, half = 80 if group == 1 else 128, m // group
    if kind == "mxf8f6f4":
        a, b = (draw(rng, (rows, 32), "e4m3") for rows in (m, n))
        raw_a, raw_b, types = a.view(np.uint8), b.view(np.uint8), (0, 0)
        va, vb = a.astype(np.float64), b.astype(np.float64)
    else:
        va, ca = narrow(rng, "e2m1", (m, 64))
        vb, cb = narrow(rng, "e2m1", (n, 64))
        raw_a, raw_b, types = ca[:, ::2] | ca[:, 1::2] << 4, cb[:, ::2] | cb[:, 1::2] << 4, (1, 1)
    low, high = (122, 132) if scale_type else (40, 70)
    sa, sb = rng.integers(low, high, (m, count)), rng.integers(low, high, (n, count))
    pa, pb = places(128)
    parts = [(cta, raw_a[cta * half : (cta + 1) * half], pa) for cta in range(group)]
    parts += [(cta, raw_b[cta * n // group : (cta + 1) * n // group], pb) for cta in range(group)]
    given = noise(group)
    ids = {1: (3, 1), 2: (2, 0), 4: (0, 0)}[count]

    def put(cta: int, lane: int, column: int, first: int, values: np.ndarray) -> None:
        given[cta, lane, column : column + 1].view(np.uint8)[first : first + count] = values

    for cta in range(group):
        for row in range(half):
            for slab in range(4):
                put(cta, row % 32 + 32 * slab, 400 + row // 32, ids[0], sa[cta * half + row])
        for row in range(n):
            slabs, inner = (range(4), row) if layout == "D" else ((2 * (row // 64), 2 * (row // 64) + 1), row % 64)
            for slab in slabs:
                put(cta, inner % 32 + 32 * slab, 410 + inner // 32, ids[1], sb[row])
    form = Shape(m, n, *types).scaled(scale_type, *ids)
    text = code(f"{kind}.block_scale.{name}", str(descriptor(pa)), descriptor(pb), form, group=group)
    text = text.replace("%r20, %p2", "%r20, [%r22], [%r23], %p2")
    text = "add.u32 %r22, %tm, 400; add.u32 %r23, %tm, 410; " + text
    out = run(text, shared_image(group, *parts), given, group=group)
    if scale_type:
        fa, fb = 2.0 ** (sa - 127.0), 2.0 ** (sb - 127.0)
    else:
        fa, fb = (x.astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64) for x in (sa, sb))
    width = va.shape[1] // count
    whole = (va * np.repeat(fa, width, axis=1)) @ (vb * np.repeat(fb, width, axis=1)).T
    wanted = [whole[cta * half : (cta + 1) * half] + before_of(given, cta, layout, n) for cta in range(group)]
    check(out, given, layout, wanted, np.float32, 1e-5)


@pytest.mark.parametrize("element", ["f16", "tf32", "s8", "e4m3"])
def test_sparse(element: str) -> None:
    rng = np.random.default_rng(8)
    kind, type_code = CODES[element]
    size = np.dtype(DTYPES[element]).itemsize
    k = 64 // size
    stored, b = draw(rng, (128, k // 2), element), draw(rng, (32, k), element)
    dense = np.zeros((128, k), np.float64)
    given = noise(1)
    if kind == "i8":
        given = rng.integers(-99, 99, (1, 128, 512)).astype(np.int32).view(np.uint32)
    for row in range(128):
        number = 0
        for chunk in range(k // 2 if size == 4 else k // 4):
            if size == 4:
                one = int(rng.integers(2))
                number |= (0b1110 if one else 0b0100) << 4 * chunk
                dense[row, 2 * chunk + one] = stored[row, chunk]
            else:
                for i, place in enumerate(sorted(rng.choice(4, 2, replace=False).tolist())):
                    number |= place << (4 * chunk + 2 * i)
                    dense[row, 4 * chunk + place] = stored[row, 2 * chunk + i]
        if size == 1:
            given[0, row, 400] = number & 0xFFFFFFFF
            given[0, row, 401] = number >> 32
        else:  # as in the registers of mma.sp: 8 lanes with the lower half of K, 8 with the upper
            for half in range(2):
                word = given[0, row // 16 * 16 + row % 8 + 8 * half, 400:401].view(np.uint16)
                word[row // 8 % 2] = number >> (16 * half) & 0xFFFF
    pa, pb = places(64)
    image = shared_image(1, (0, stored, pa), (0, b, pb))
    form = Shape(128, 32, type_code, type_code, 2 if kind == "i8" else 1, sparse=1).bits()
    text = code(kind, str(descriptor(pa)), descriptor(pb), form, dots=".sp")
    text = "add.u32 %r22, %tm, 400; " + text.replace("%rd11, %r20", "%rd11, [%r22], %r20")
    out = run(text, image, given)
    dtype = np.int32 if kind == "i8" else np.float32
    wanted = dense @ b.astype(np.float64).T + before_of(given, 0, "D", 32, dtype)
    check(out, given, "D", [wanted], dtype, 1e-6)


@pytest.mark.parametrize("change", ["stride", "swizzle", "start", "n", "type"])
def test_wrong_descriptors_give_wrong_numbers(change: str) -> None:
    rng = np.random.default_rng(9)
    a, b = draw(rng, (128, 16), "f16"), draw(rng, (48, 16), "f16")
    pa, pb = places()
    image, given = shared_image(1, (0, a, pa), (0, b, pb)), noise(1)
    where, form = descriptor(pa), Shape(128, 48, 0, 0).bits()
    if change == "n":
        form = Shape(128, 32, 0, 0).bits()
    elif change == "type":
        form = Shape(128, 48, 1, 0).bits()
    else:
        where = {"stride": where + (1 << 32), "swizzle": where ^ (6 << 61), "start": where + 1}[change]
    out = run(code("f16", str(where), descriptor(pb), form, 0), image, given)
    assert not np.allclose(out[0, :, 64:112].view(np.float32), product(a, b), atol=0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda form: form ^ (8 << 24) | 3 << 24, "M = 48"), (lambda form: form ^ (6 << 17) | 1 << 17, "N = 8"),
        (lambda form: form | 5 << 7, "types 5"), (lambda form: form | 1 << 2, "sparse"),
        (lambda form: form | 1 << 6, "reserved"), (lambda form: form ^ (3 << 4), "result type 2"),
    ],
)  # fmt: skip
def test_wrong_instruction_descriptors_are_refused(change: object, message: str) -> None:
    pa, pb = places()
    form = change(Shape(128, 48, 0, 0).bits())  # type: ignore[operator]
    with pytest.raises(OperandError, match=message):
        run(code("f16", str(descriptor(pa)), descriptor(pb), form), shared_image(1), noise(1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda text: text.replace(str(1 << 46), "0"), "bits 46-47"),
        (lambda text: text.replace("add.u32 %r21, %tm, 64", "add.u32 %r21, %tm, 480"), "not all allocated"),
    ],
)
def test_wrong_operands_are_refused(wrong: object, message: str) -> None:
    pa, pb = places()
    text = code("f16", str(descriptor(pa)), descriptor(pb), Shape(128, 48, 0, 0).bits())
    text = text.replace(f"mov.u64 %rd10, {descriptor(pa)}", f"mov.u64 %rd10, {descriptor(pa) - (1 << 46)}; "
                        f"mov.u64 %rd9, {1 << 46}; or.b64 %rd10, %rd10, %rd9")  # fmt: skip
    with pytest.raises(OperandError, match=message):
        run(wrong(text), shared_image(1), noise(1))  # type: ignore[operator]

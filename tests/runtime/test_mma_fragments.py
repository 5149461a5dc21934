"""mma.sync of every element type against an element-by-element product, with fragments packed lane by lane."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ptxsim import GlobalMemory, SimulatorError, launch

DATA = Path(__file__).parent / "data" / "ptx"
FILES = ["02_mma_sync_sm80", "02_mma_sync_f64_sm90", "02_mma_sync_fp8_sm89", "02_mma_sync_fp8_f16acc"]
ENTRY = re.compile(r"\.entry (\w+)\(.*?(mma\.sync\S+) .*?ret;", re.DOTALL)
CASES = [(file, *found) for file in FILES for found in ENTRY.findall((DATA / f"{file}.ptx").read_text())]
FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "f64": np.float64,
}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "f64": 64}


def _random(rng: np.random.Generator, type_: str, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Random values of an element type and their bits as unsigned integers."""
    if type_ in FLOATS:
        values = rng.standard_normal(shape).astype(FLOATS[type_])
        bits = values.view(np.dtype(f"u{values.dtype.itemsize}")).astype(np.uint64)
        return values.astype(np.float64), bits
    if type_ == "tf32":
        bits = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
        # the low 13 bits are noise that the tensor core must not see
        return (bits & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64), bits.astype(np.uint64)
    width = BITS[type_]
    low, high = (-(1 << (width - 1)), 1 << (width - 1)) if type_[0] == "s" else (0, 1 << width)
    values = rng.integers(low, high, shape)
    return values, (values % (1 << width)).astype(np.uint64)


def _pack(rows: np.ndarray, type_: str, groups: int) -> np.ndarray:
    """Registers [register, lane] of a fragment whose rows are g + 8 * group and whose columns go along k."""
    width = BITS[type_]
    register_bits = max(32, width)
    elements = register_bits // width
    count = groups * rows.shape[1] // (4 * elements)
    registers = np.zeros((count, 32), np.uint64)
    for register in range(count):
        for lane in range(32):
            g, t = lane >> 2, lane & 3
            for w in range(elements):
                k = 4 * elements * (register // groups) + elements * t + w
                registers[register, lane] |= rows[g + 8 * (register % groups), k] << np.uint64(w * width)
    return registers.astype(np.uint64 if register_bits == 64 else np.uint32)


def _accumulator(matrix: np.ndarray) -> np.ndarray:
    """Elements [i, lane] of C or D: row g + 8 * (i / 2), column 2t + i % 2."""
    lane = np.arange(32)
    count = matrix.size // 32
    return np.stack([matrix[(lane >> 2) + 8 * (i // 2), 2 * (lane & 3) + i % 2] for i in range(count)])


@pytest.mark.parametrize(("file", "entry", "opcode"), CASES, ids=[case[1] for case in CASES])
def test_mma_multiplies_and_accumulates(file: str, entry: str, opcode: str) -> None:
    rng = np.random.default_rng(list(entry.encode()))
    m, k = (int(n) for n in re.findall(r"\.m(\d+)n8k(\d+)", opcode)[0])
    types = [part for part in opcode.split(".") if part in BITS or part in ("f32", "s32")]
    accumulator, a_type, b_type = types[0], types[1], types[2]
    a, a_bits = _random(rng, a_type, (m, k))
    b, b_bits = _random(rng, b_type, (8, k))
    c_dtype = {"f32": np.float32, "s32": np.int32, "f16": np.float16, "f64": np.float64}[accumulator]
    c = (rng.standard_normal((m, 8)) * 50).astype(c_dtype)
    if "satfinite" in opcode:
        c[:4] = 2**31 - 1000
        c[4:8] = -(2**31) + 1000
    fragments = _accumulator(c)
    if accumulator == "f16":
        fragments = np.stack([fragments[0::2], fragments[1::2]], axis=-1)
    memory = GlobalMemory()
    groups = m // 8
    addresses = [memory.put(x) for x in (_pack(a_bits, a_type, groups), _pack(b_bits, b_type, 1), fragments)]
    result = memory.alloc(m * 8 * c.dtype.itemsize)
    launch((DATA / f"{file}.ptx").read_text(), (1,), (32,), [*addresses, result], memory, entry=entry)
    if a_type == "b1":
        combined = a[:, None] & b[None] if ".and." in opcode else a[:, None] ^ b[None]
        product = combined.sum(axis=-1)
    else:
        product = a @ b.T
    expected = product + c.astype(product.dtype)
    if "satfinite" in opcode:
        expected = np.clip(expected, -(2**31), 2**31 - 1)
        assert (expected == 2**31 - 1).any()
        assert (expected == -(2**31)).any()
    if accumulator == "f16":
        found = memory.get(result, (m // 8, 32, 2), np.float16)
        wanted = _accumulator(expected)
        wanted = np.stack([wanted[0::2], wanted[1::2]], axis=-1)
    else:
        found, wanted = memory.get(result, (m // 4, 32), c.dtype), _accumulator(expected)
    if accumulator == "s32":
        np.testing.assert_array_equal(found, wanted)
    else:
        tolerance = {"f16": 2e-2 * 8, "f32": 2e-5, "f64": 1e-13}[accumulator]
        np.testing.assert_allclose(found.astype(np.float64), wanted, atol=tolerance)


def test_unknown_shapes_are_refused() -> None:
    text = (DATA / "02_mma_sync_sm80.ptx").read_text().replace("m16n8k8.row.col.f32.f16", "m16n8k32.row.col.f32.f16")
    memory = GlobalMemory()
    with pytest.raises(SimulatorError, match=r"mma m16n8k32 with \.f32\.f16\.f16\.f32 is not simulated"):
        launch(text, (1,), (32,), [memory.alloc(4096)] * 4, memory, entry="m16n8k8_f16")


def test_operands_changed_between_two_mma_are_read_again() -> None:
    """The second product must see the A register that the shift between the two changed."""
    text = (DATA / "02_mma_sync_sm80.ptx").read_text()
    start = text.index(".visible .entry m16n8k8_f16(")
    entry = text[start : text.index("ret;", start)]
    mma = re.search(r"mma\.sync[^;]*;", entry)
    assert mma is not None
    again = mma.group().replace("{%c0,%c1,%c2,%c3}", "{%d0,%d1,%d2,%d3}")
    changed = entry.replace(mma.group(), f"{mma.group()} {again} mov.b32 %a1, %a0; {again}")
    rng = np.random.default_rng(5)
    a, a_bits = _random(rng, "f16", (16, 8))
    b, b_bits = _random(rng, "f16", (8, 8))
    c = rng.standard_normal((16, 8)).astype(np.float32)
    memory = GlobalMemory()
    addresses = [memory.put(x) for x in (_pack(a_bits, "f16", 2), _pack(b_bits, "f16", 1), _accumulator(c))]
    result = memory.alloc(512)
    launch(text[:start] + changed + "ret; }", (1,), (32,), [*addresses, result], memory, entry="m16n8k8_f16")
    copied = np.concatenate([a[:8], a[:8]])
    expected = 2 * a @ b.T + copied @ b.T + c
    np.testing.assert_allclose(memory.get(result, (4, 32), np.float32), _accumulator(expected), atol=2e-5)

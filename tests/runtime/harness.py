"""Runs one instruction over many lanes, and makes inputs with the corners of each type."""

import numpy as np

from ptxsim import GlobalMemory, launch

_BITS = {1: "b8", 2: "b16", 4: "b32", 8: "b64"}
LANES = 256


def run_lanes(code: str, *inputs: np.ndarray, out: object, extra: str = "") -> np.ndarray:
    """Execute `code` in every lane with inputs in %a, %b, %c, %d and return what it leaves in %o.

    Registers are untyped bits of the width of the arrays; %p, %q are predicates, %t0 to %t9 32-bit, %u0 to %u9 64-bit.
    """
    out_type = np.dtype(out)
    names = "abcd"[: len(inputs)]
    memory = GlobalMemory()
    addresses = [memory.put(values) for values in inputs]
    result = memory.alloc(LANES * out_type.itemsize)
    declarations, loads = [], []
    for number, (name, values) in enumerate(zip(names, inputs, strict=True)):
        width = values.dtype.itemsize
        assert values.shape == (LANES,)
        declarations.append(f".reg .{_BITS[width]} %{name};")
        loads.append(
            f"ld.param.u64 %base, [p{number}]; mad.wide.u32 %base, %lane, {width}, %base;"
            f" ld.global.{_BITS[width]} %{name}, [%base];"
        )
    parameters = ", ".join([*(f".param .u64 p{n}" for n in range(len(inputs))), ".param .u64 po"])
    width = out_type.itemsize
    ptx = f""".version 9.5
.target sm_100a
.address_size 64
{extra}
.visible .entry k({parameters})
{{
  .reg .b64 %base; .reg .b32 %lane; .reg .pred %p, %q; .reg .b32 %t<10>; .reg .b64 %u<10>;
  .reg .b16 %h<10>; .reg .{_BITS[width]} %o;
  {" ".join(declarations)}
  mov.u32 %lane, %ctaid.x; mov.u32 %t0, %tid.x; mov.u32 %t1, %tid.y;
  mad.lo.u32 %lane, %lane, 64, %t0; mad.lo.u32 %lane, %t1, 32, %lane;
  {" ".join(loads)}
  {code}
  ld.param.u64 %base, [po]; mad.wide.u32 %base, %lane, {width}, %base; st.global.{_BITS[width]} [%base], %o;
  ret;
}}"""
    launch(ptx, (LANES // 64, 1, 1), (32, 2, 1), [*addresses, result], memory)
    return memory.get(result, (LANES,), out_type)


def integers(rng: np.random.Generator, dtype: object) -> np.ndarray:
    """Random integers of all magnitudes, with the extreme values."""
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, LANES, dtype=dtype, endpoint=True)
    values >>= rng.integers(0, info.bits, LANES).astype(dtype)
    corners = np.array([0, 1, 2, 3, info.max, info.max - 1, info.min, info.min + 1], dtype)
    values[: corners.size] = rng.permutation(corners)
    values[corners.size : corners.size + 8] = rng.permutation(corners)
    return rng.permutation(values)


def floats(rng: np.random.Generator, dtype: object, spread: int | None = None) -> np.ndarray:
    """Random bit patterns (or values within 2^+-spread) with zeros, infinities, NaN, subnormals and ties."""
    wanted = np.dtype(dtype)
    bits = np.dtype(f"u{wanted.itemsize}")
    values = np.frombuffer(rng.bytes(LANES * wanted.itemsize), wanted).copy()
    if spread is not None:
        scaled = rng.standard_normal(LANES) * 2.0 ** rng.integers(-spread, spread + 1, LANES)
        values = scaled.astype(wanted)
    info = np.finfo(wanted)
    corners = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, np.inf, -np.inf, np.nan, info.max, -info.max, info.smallest_normal]
    values[:12] = np.array(corners, wanted)
    subnormal = values[12:20].view(bits)
    subnormal[:] = rng.integers(1, 1 << (info.nmant - 1), 8).astype(bits)
    return rng.permutation(values)


def assert_same_floats(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal bits, except that any NaN equals any NaN."""
    assert found.dtype == expected.dtype
    bits = np.dtype(f"u{found.dtype.itemsize}")
    same = (found.view(bits) == expected.view(bits)) | (np.isnan(found) & np.isnan(expected))
    bad = np.flatnonzero(~same)
    assert bad.size == 0, f"{bad.size} lanes differ, first {bad[0]}: {found[bad[0]]!r} not {expected[bad[0]]!r}"

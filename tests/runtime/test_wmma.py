"""wmma in every shape, type, layout and state space against NumPy, through memory as programs use it."""

import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from ptxsim import GlobalMemory, MisalignedError, OperandError, SimulatorError, launch
from runtime import ptxas
from tests.runtime.rational import round_to

CUBES = [(16, 16, 16), (8, 32, 16), (32, 8, 16)]
TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f32": np.float32, "f64": np.float64}
REGISTERS = {
    ("f16", "ab"): lambda rows, columns: 8,
    ("f64", "ab"): lambda rows, columns: 1,
    ("f16", "cd"): lambda rows, columns: 4,
    ("f64", "cd"): lambda rows, columns: 2,
}
BITS = {"bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}


def count(type_: str, letters: str, rows: int, columns: int) -> int:
    """Registers of a fragment as the PTX ISA lists them."""
    if (type_, letters) in REGISTERS:
        return REGISTERS[type_, letters](rows, columns)
    return rows * columns // 32 if letters == "cd" else rows * columns * BITS[type_] // 1024


def memory_image(values: np.ndarray, type_: str, layout: str, stride: int, rng: np.random.Generator) -> np.ndarray:
    """Bytes of a matrix whose rows or columns lie `stride` elements apart, noise between them."""
    lines = values if layout == "row" else values.T
    if type_ in TYPES:
        image = rng.standard_normal((lines.shape[0], stride)).astype(TYPES[type_])
        image[:, : lines.shape[1]] = lines
        return image.view(np.uint8).reshape(-1)
    width = BITS.get(type_, 32)
    image = rng.integers(0, 1 << min(width, 31), (lines.shape[0], stride))
    image[:, : lines.shape[1]] = lines % (1 << width)
    if width >= 8:
        return image.astype(np.dtype(f"u{width // 8}")).view(np.uint8).reshape(-1)
    bits = (image[:, :, None] >> np.arange(width)) & 1
    return np.packbits(bits.reshape(-1).astype(np.uint8), bitorder="little")


def random_matrix(rng: np.random.Generator, type_: str, shape: tuple[int, int]) -> np.ndarray:
    if type_ == "tf32":  # the low 13 bits are noise that the product must not see
        return rng.standard_normal(shape).astype(np.float32)
    if type_ in TYPES:
        return rng.standard_normal(shape).astype(TYPES[type_])
    if type_ == "s32":
        return rng.integers(-(1 << 31), 1 << 31, shape)
    width = BITS[type_]
    return (
        rng.integers(-(1 << width - 1), 1 << width - 1, shape)
        if type_[0] == "s"
        else rng.integers(0, 1 << width, shape)
    )


def names(prefix: str, number: int) -> str:
    return "{" + ", ".join(f"%{prefix}{i}" for i in range(number)) + "}"


def product(
    shape: tuple[int, int, int], a: str, d: str, c: str, layouts: str, modifiers: str = "", prefix: str = "",
    space: str = "global",
) -> str:  # fmt: skip
    """One product of matrices in memory; strides are parameters. layouts: of A, B, C and D, one letter each."""
    m, n, k = shape
    text = f"m{m}n{n}k{k}"
    la, lb, lc, ld = ({"r": "row", "c": "col"}[letter] for letter in layouts)
    register = {"f32": "f32", "f64": "f64", "s32": "s32"}
    counts = {
        "a": count(a, "ab", m, k), "b": count(a, "ab", k, n), "c": count(c, "cd", m, n), "d": count(d, "cd", m, n),
    }  # fmt: skip
    kinds = {"a": register.get(a, "b32"), "b": register.get(a, "b32"), "c": register.get(c, "b32")}
    kinds["d"] = register.get(d, "b32")
    declared = " ".join(f".reg .{kinds[x]} %{x}<{counts[x]}>;" for x in "abcd")
    types = f"{d}.{c}" if a == "f16" else f"{d}.{a}.{a}.{c}"
    ss = {"generic": "", "global": ".global", "shared": ".shared"}[space]
    moves = []
    for x in "abcd":
        address = "%g" + x
        moves.append(f"ld.param.u64 {address}, [p{x}]; ld.param.u32 %s{x}, [s{x}];")
        if space == "global":
            moves.append(f"cvta.to.global.u64 {address}, {address};")
    if space == "shared":  # through shared memory: 8 KiB for each matrix
        for i, x in enumerate("abc"):
            moves.append(
                f"mov.u32 %i, %tid.x; L{x}: mul.wide.u32 %o, %i, 4; add.u64 %w, %g{x}, %o; ld.global.u32 %v, [%w];"
                f" mov.u32 %t, pool; cvt.u32.u64 %u, %o; add.u32 %t, %t, %u; st.shared.u32 [%t+{i * 8192}], %v;"
                f" add.u32 %i, %i, 32;"
                f" setp.lt.u32 %p, %i, 2048; @%p bra L{x};"
            )
        moves.append("bar.sync 0;")
    out = ss if space != "shared" else ".global"
    where = {x: f"[%g{x}]" if space != "shared" else f"[pool+{i * 8192}]" for i, x in enumerate("abc")}
    return f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k({", ".join(f".param .u64 p{x}, .param .u32 s{x}" for x in "abcd")})
{{
  .reg .b64 %ga, %gb, %gc, %gd, %o, %w; .reg .b32 %sa, %sb, %sc, %sd, %i, %v, %t, %u; .reg .pred %p;
  {".shared .align 128 .b8 pool[24576];" if space == "shared" else ""}
  {declared}
  {" ".join(moves)}
  wmma.load.a.sync.aligned.{la}.{text}{ss}.{a} {names("a", counts["a"])}, {where["a"]}, %sa;
  wmma.load.b.sync.aligned.{lb}.{text}{ss}.{a} {names("b", counts["b"])}, {where["b"]}, %sb;
  wmma.load.c.sync.aligned.{lc}.{text}{ss}.{c} {names("c", counts["c"])}, {where["c"]}, %sc;
  wmma.mma{prefix}.sync.aligned.{la}.{lb}.{text}{modifiers.replace(".satfinite", "")}.{types}{
        ".satfinite" if "satfinite" in modifiers else ""
    } {names("d", counts["d"])}, {names("a", counts["a"])}, {names("b", counts["b"])}, {names("c", counts["c"])};
  wmma.store.d.sync.aligned.{ld}.{text}{out}.{d} [%gd], {names("d", counts["d"])}, %sd;
  ret;
}}"""


def run(
    rng: np.random.Generator, ptx: str, shape: tuple[int, int, int], a: str, d: str, c: str, layouts: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The three inputs and what the kernel stores."""
    m, n, k = shape
    memory = GlobalMemory()
    inputs, args = [], []
    for letter, layout, type_, extent in zip("abc", layouts, (a, a, c), ((m, k), (k, n), (m, n)), strict=False):
        values = random_matrix(rng, type_, extent)
        way = "row" if layout == "r" else "col"
        unit = 128 // BITS.get(type_, 32)
        stride = (extent[1] if way == "row" else extent[0]) + unit * int(rng.integers(0, 3))
        image = np.zeros(8192, np.uint8)
        laid = memory_image(values, type_, way, stride, rng)
        image[: laid.size] = laid
        args += [memory.put(image), stride]
        inputs.append(values)
        assert letter
    lead = n if layouts[3] == "r" else m
    lines = m if layouts[3] == "r" else n
    dtype = np.dtype({"s32": np.int32}.get(d, TYPES.get(d)))
    out = memory.alloc(lines * (lead + 8) * dtype.itemsize)
    launch(ptx, (1,), (32,), [*args, out, lead + 8], memory, hazards=True)
    found = memory.get(out, (lines, lead + 8), dtype)
    assert (found[:, lead:].view(np.uint8) == 0xFF).all()  # nothing is written between the rows
    result = found[:, :lead]
    return (*inputs, result if layouts[3] == "r" else result.T)


def layouts_of(a: str) -> list[str]:
    ab = ["rc"] if a in ("s4", "u4", "b1") else ["rc", "rr", "cr", "cc"]
    return [one + cd for one, cd in zip(ab, itertools.cycle(["rr", "cc", "rc", "cr"]), strict=False)]


FLOATS = [
    *((shape, "f16", d, c) for shape in CUBES for d in ("f16", "f32") for c in ("f16", "f32")),
    *((shape, "bf16", "f32", "f32") for shape in CUBES),
    ((16, 16, 8), "tf32", "f32", "f32"),
]


@pytest.mark.in_turn
@pytest.mark.parametrize(("shape", "a", "d", "c"), FLOATS)
def test_floats(shape: tuple[int, int, int], a: str, d: str, c: str) -> None:
    rng = np.random.default_rng(3)
    for layouts in layouts_of(a):
        ptx = product(shape, a, d, c, layouts)
        left, right, addend, found = run(rng, ptx, shape, a, d, c, layouts)
        if a == "tf32":
            left, right = ((x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for x in (left, right))
        exact = left.astype(np.float64) @ right.astype(np.float64) + addend.astype(np.float64)
        size = np.abs(left.astype(np.float64)) @ np.abs(right.astype(np.float64)) + np.abs(addend.astype(np.float64))
        step = 2.0**-11 if d == "f16" else 2.0**-22
        assert (np.abs(found.astype(np.float64) - exact) <= step * size).all()
    ptxas.assemble(ptx, "sm_90")


INTEGERS = [
    *((shape, a) for shape in CUBES for a in ("s8", "u8")), ((8, 8, 32), "s4"), ((8, 8, 32), "u4"),
]  # fmt: skip


@pytest.mark.in_turn
@pytest.mark.parametrize("saturates", [False, True])
@pytest.mark.parametrize(("shape", "a"), INTEGERS)
def test_integers(shape: tuple[int, int, int], a: str, saturates: bool) -> None:
    rng = np.random.default_rng(4)
    for layouts in layouts_of(a):
        ptx = product(shape, a, "s32", "s32", layouts, ".satfinite" if saturates else "")
        left, right, addend, found = run(rng, ptx, shape, a, "s32", "s32", layouts)
        exact = left @ right + addend
        low, high = -(1 << 31), (1 << 31) - 1
        wanted = np.clip(exact, low, high) if saturates else (exact - low) % (1 << 32) + low
        assert np.array_equal(found, wanted)
    ptxas.assemble(ptx, "sm_90")


@pytest.mark.parametrize("operation", ["and", "xor"])
def test_bits(operation: str) -> None:
    rng = np.random.default_rng(5)
    ptx = product((8, 8, 128), "b1", "s32", "s32", "rcrc", prefix=f".{operation}.popc")
    left, right, addend, found = run(rng, ptx, (8, 8, 128), "b1", "s32", "s32", "rcrc")
    combine = np.bitwise_and if operation == "and" else np.bitwise_xor
    popcount = combine(left[:, :, None], right[None]).sum(axis=1)
    assert np.array_equal(found, (popcount + addend + (1 << 31)) % (1 << 32) - (1 << 31))
    ptxas.assemble(ptx, "sm_90")


@pytest.mark.parametrize("rounding", ["", ".rn", ".rz", ".rm", ".rp"])
def test_doubles(rounding: str) -> None:
    rng = np.random.default_rng(6)
    shape = (8, 8, 4)
    for layouts in layouts_of("f64"):
        ptx = product(shape, "f64", "f64", "f64", layouts, rounding)
        left, right, addend, found = run(rng, ptx, shape, "f64", "f64", "f64", layouts)
        wanted = addend.copy()
        for row, column in itertools.product(range(8), range(8)):
            for k in range(4):
                exact = Fraction(left[row, k]) * Fraction(right[k, column]) + Fraction(wanted[row, column])
                wanted[row, column] = round_to(exact, "f64", rounding[1:] or "rn")
        assert np.array_equal(found, wanted)
    ptxas.assemble(ptx, "sm_90")


@pytest.mark.parametrize("space", ["generic", "shared"])
@pytest.mark.parametrize(
    ("shape", "a", "c"), [(CUBES[0], "f16", "f16"), (CUBES[1], "s8", "s32"), ((8, 8, 4), "f64", "f64")]
)
def test_spaces(space: str, shape: tuple[int, int, int], a: str, c: str) -> None:
    rng = np.random.default_rng(7)
    ptx = product(shape, a, c, c, "rcrc", space=space)
    left, right, addend, found = run(rng, ptx, shape, a, c, c, "rcrc")
    wide = np.int64 if c == "s32" else np.float64
    exact = left.astype(wide) @ right.astype(wide) + addend.astype(wide)
    if c == "s32":
        exact = (exact + (1 << 31)) % (1 << 32) - (1 << 31)
    assert np.allclose(found.astype(wide), exact, rtol=0, atol=0.05 if c == "f16" else 1e-13)
    ptxas.assemble(ptx, "sm_90")


def test_errors() -> None:
    def attempt(old: str, new: str, **changed: int) -> None:
        ptx = product(CUBES[0], "f16", "f32", "f32", "rcrr")
        assert old in ptx
        memory = GlobalMemory()
        address = memory.alloc(8192)
        arguments = {"a": address, "sa": 16, "b": address, "sb": 16, "c": address, "sc": 16, "d": address, "sd": 16}
        arguments |= {name: arguments[name] + by for name, by in changed.items()}
        launch(ptx.replace(old, new), (1,), (32,), list(arguments.values()), memory)

    with pytest.raises(MisalignedError, match="rows and columns must start at multiples of 2 bytes"):
        attempt("", "", a=1)
    with pytest.raises(MisalignedError, match="start at multiples of 4 bytes"):
        attempt("", "", c=2)
    lanes = "mov.u32 %sa, %tid.x; wmma.load.a"
    with pytest.raises(OperandError, match=r"thread \(1,0,0\) of CTA \(0,0,0\) names another address or stride"):
        attempt("wmma.load.a", lanes)
    for old, new in (
        ("m16n16k16.f32.f32 ", "m16n16k8.f32.f32 "), ("m16n16k16.f32.f32 ", "m16n16k16.f32.bf16.f16.f32 "),
        ("m16n16k16.f32.f32 ", "m16n16k16.rn.f32.f32 "), ("m16n16k16.f32.f32 ", "m16n16k16.f32.f32.satfinite "),
        ("m16n16k16.global.f16", "m16n16k8.global.f16"), ("m16n16k16.global.f16", "m16n16k16.const.f16"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.global.f16", "wmma.load.a.sync.aligned.col.m8n8k32.global.s4"),
        ("wmma.load.a.sync.aligned", "wmma.load.a.sync"), ("wmma.load.a", "wmma.load.d"),
        ("wmma.store.d", "wmma.store.c"),
    ):  # fmt: skip
        with pytest.raises(SimulatorError, match=r"line \d+.*wmma.*(is not simulated)"):
            attempt(old, new)

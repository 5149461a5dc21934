"""mma.sync with sparse A, kind::f8f6f4, block scaling and eight rows against element-by-element products."""

import ml_dtypes
import numpy as np
import pytest

from ptxsim import GlobalMemory, OperandError, UnsupportedModifierError, launch

TABLES = {
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m1": ml_dtypes.float4_e2m1fn,
    "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
}  # fmt: skip
WIDTH = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "e4m3": 8, "e5m2": 8}


def draw(rng: np.random.Generator, element: str, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Random finite values of an element type, and their codes."""
    if element in ("f16", "bf16"):
        values = rng.standard_normal(shape).astype(np.float16 if element == "f16" else ml_dtypes.bfloat16)
        return values.astype(np.float64), values.view(np.uint16).astype(np.uint64)
    if element == "tf32":
        bits = rng.standard_normal(shape).astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
        return bits.view(np.float32).astype(np.float64), bits.astype(np.uint64)
    if element in TABLES:
        codes = rng.integers(0, {"e2m1": 16, "e2m3": 64, "e3m2": 64}.get(element, 120), shape).astype(np.uint8)
        return codes.view(TABLES[element]).astype(np.float64), codes.astype(np.uint64)
    width = WIDTH[element]
    low, high = (-(1 << (width - 1)), 1 << (width - 1)) if element[0] == "s" else (0, 1 << width)
    values = rng.integers(low, high, shape)
    return values.astype(np.float64), (values % (1 << width)).astype(np.uint64)


def pack(codes: np.ndarray, width: int, rows: int) -> np.ndarray:
    """Registers [register, lane]: row g + 8 (r % halves), elements of register r from column block r / halves."""
    per = 32 // width
    halves = rows // 8
    count = halves * codes.shape[1] // (4 * per)
    registers = np.zeros((count, 32), np.uint64)
    for number in range(count):
        for lane in range(32):
            for w in range(per):
                k = 4 * per * (number // halves) + per * (lane % 4) + w
                registers[number, lane] |= codes[lane // 4 + 8 * (number % halves), k] << np.uint64(w * width)
    return registers.astype(np.uint32)


def accumulate(matrix: np.ndarray) -> np.ndarray:
    """Elements [i, lane] of C or D."""
    lane = np.arange(32)
    count = 2 * matrix.shape[0] // 8
    return np.stack([matrix[lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2] for i in range(count)])


def run(opcode: str, operands: dict[str, np.ndarray], outputs: int, tail: str, dtype: object) -> np.ndarray:
    """Execute one instruction in one warp; operands: registers [count, 32] by name; %e0, %x0, %y0 are single ones."""
    memory = GlobalMemory()
    args, loads, declarations = [], [], []
    for number, (name, registers) in enumerate(operands.items()):
        args.append(memory.put(np.ascontiguousarray(registers.view(np.uint32))))
        declarations.append(f".reg .b32 %{name}<{len(registers)}>;")
        loads.append(f"ld.param.u64 %rd1, [p{number}]; add.u64 %rd1, %rd1, %rd0;")
        loads += [f"ld.global.b32 %{name}{i}, [%rd1+{128 * i}];" for i in range(len(registers))]
    out = memory.alloc(outputs * 128)
    lists = {n: "{" + ",".join(f"%{n}{i}" for i in range(len(operands[n]))) + "}" for n in ("a", "b", "c")}
    stores = " ".join(f"st.global.b32 [%rd1+{128 * i}], %d{i};" for i in range(outputs))
    parameters = ", ".join(f".param .u64 p{i}" for i in range(len(args) + 1))
    ptx = f""".version 9.1
.target sm_120a
.address_size 64
.visible .entry k({parameters})
{{
  .reg .b64 %rd<4>; .reg .b32 %r0; .reg .b16 %h<8>; .reg .b32 %d<{outputs}>; {" ".join(declarations)}
  mov.u32 %r0, %laneid; mul.wide.u32 %rd0, %r0, 4;
  {" ".join(loads)}
  {opcode} {{{",".join(f"%d{i}" for i in range(outputs))}}}, {lists["a"]}, {lists["b"]}, {lists["c"]}{tail};
  ld.param.u64 %rd1, [p{len(args)}]; add.u64 %rd1, %rd1, %rd0; {stores}
  ret;
}}"""
    launch(ptx, (1,), (32,), [*args, out], memory, hazards=True)
    return memory.get(out, (outputs, 32), dtype)


def sparse(rng: np.random.Generator, element: str, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dense values [16, k], stored codes [16, k / 2], 2-bit positions [16, codes in a row]."""
    values, codes = draw(rng, element, (16, k // 2))
    dense, positions = np.zeros((16, k)), []
    unit = 2 if element in ("s4", "u4") else 1
    for row in range(16):
        line: list[int] = []
        if element == "tf32":
            for chunk in range(k // 2):
                one = int(rng.integers(2))
                line += [2 * one, 2 * one + 1]
                dense[row, 2 * chunk + one] = values[row, chunk]
        else:
            for chunk in range(k // (4 * unit)):
                for number, place in enumerate(sorted(rng.choice(4, 2, replace=False).tolist())):
                    line.append(place)
                    for w in range(unit):
                        dense[row, unit * (4 * chunk + place) + w] = values[row, unit * (2 * chunk + number) + w]
        positions.append(line)
    return dense, codes, np.array(positions)


def metadata(positions: np.ndarray, selector: int, wide: bool) -> np.ndarray:
    """The metadata register of each lane, from the table in the PTX ISA; lanes left out hold noise."""
    out = np.random.default_rng(1).integers(0, 1 << 32, 32, dtype=np.uint64).astype(np.uint32)
    used = positions.shape[1] // 8
    for group in range(8):
        low, high = positions[group], positions[group + 8]
        for number in range(used):
            if wide:
                part = [*low[8 * number : 8 * number + 8], *high[8 * number : 8 * number + 8]]
            else:
                part = list((low, high)[number % 2][16 * (number // 2) : 16 * (number // 2) + 16])
            word = sum(int(code) << (2 * place) for place, code in enumerate(part))
            out[4 * group + used * selector + number] = word
    return out[None]


SPARSE = [
    ("f16", 16, 3), ("f16", 32, 1), ("bf16", 16, 1), ("bf16", 32, 0), ("tf32", 8, 2), ("tf32", 16, 1), ("s8", 32, 1),
    ("u8", 64, 0), ("s4", 64, 0), ("u4", 128, 0), ("e4m3", 64, 0), ("e5m2", 64, 0),
]  # fmt: skip


@pytest.mark.parametrize("variant", ["sp", "sp::ordered_metadata"])
@pytest.mark.parametrize(("element", "k", "selector"), SPARSE)
def test_sparse(element: str, k: int, selector: int, variant: str) -> None:
    rng = np.random.default_rng(k)
    dense, codes, positions = sparse(rng, element, k)
    b, b_codes = draw(rng, element, (8, k))
    is_integer = element[0] in "su"
    c = rng.integers(-1000, 1000, (16, 8)).astype(np.int32 if is_integer else np.float32)
    wide = WIDTH[element] >= 16
    operands = {
        "a": pack(codes, WIDTH[element], 16), "b": pack(b_codes, WIDTH[element], 8), "c": accumulate(c),
        "e": metadata(positions, selector, wide),
    }  # fmt: skip
    accumulator = "s32" if is_integer else "f32"
    opcode = f"mma.{variant}.sync.aligned.m16n8k{k}.row.col.{accumulator}.{element}.{element}.{accumulator}"
    found = run(opcode, operands, 4, f", %e0, {selector}", c.dtype)
    np.testing.assert_allclose(found, accumulate(dense @ b.T + c), rtol=1e-5, atol=1e-3 if element != "e5m2" else 1e2)


def containers(element: str, codes: np.ndarray) -> np.ndarray:
    """Codes as kind::f8f6f4 wants them in bytes: 4-bit values two bits up."""
    return codes << np.uint64(2) if element == "e2m1" else codes


NARROW = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")


@pytest.mark.parametrize("a", NARROW)
@pytest.mark.parametrize("b", NARROW)
def test_f8f6f4(a: str, b: str) -> None:
    rng = np.random.default_rng(3)
    va, ca = draw(rng, a, (16, 32))
    vb, cb = draw(rng, b, (8, 32))
    c = rng.standard_normal((16, 8)).astype(np.float32)
    operands = {
        "a": pack(containers(a, ca), 8, 16), "b": pack(containers(b, cb), 8, 8), "c": accumulate(c).view(np.uint32),
    }  # fmt: skip
    opcode = f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{a}.{b}.f32"
    found = run(opcode, operands, 4, "", np.float32)
    wanted = accumulate(va @ vb.T + c)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=np.abs(wanted).max() * 1e-5)


def test_f8f6f4_half_accumulators_and_sparse() -> None:
    rng = np.random.default_rng(4)
    va, ca = draw(rng, "e2m1", (16, 32))
    vb, cb = draw(rng, "e2m3", (8, 32))
    c = rng.standard_normal((16, 8)).astype(np.float16)
    halves = accumulate(c)
    packed = np.stack([np.ascontiguousarray(np.stack([halves[2 * r], halves[2 * r + 1]], 1)) for r in range(2)])
    operands = {
        "a": pack(containers("e2m1", ca), 8, 16), "b": pack(cb, 8, 8), "c": packed.view(np.uint32).reshape(2, 32),
    }  # fmt: skip
    found = run("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e2m1.e2m3.f16", operands, 2, "", np.uint32)
    halves_found = found.view(np.float16).reshape(2, 32, 2)
    exact = accumulate(va @ vb.T + c)
    for register in range(2):
        for i in range(2):
            np.testing.assert_allclose(halves_found[register, :, i], exact[2 * register + i], rtol=2e-3, atol=2e-2)
    dense, codes, positions = sparse(rng, "e3m2", 64)
    vb, cb = draw(rng, "e2m1", (8, 64))
    c32 = rng.standard_normal((16, 8)).astype(np.float32)
    operands = {
        "a": pack(codes, 8, 16), "b": pack(containers("e2m1", cb), 8, 8), "c": accumulate(c32).view(np.uint32),
        "e": metadata(positions, 0, False),
    }  # fmt: skip
    opcode = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32"
    found = run(opcode, operands, 4, ", %e0, 0", np.float32)
    np.testing.assert_allclose(found, accumulate(dense @ vb.T + c32), rtol=1e-5, atol=1e-2)


SCALED = [
    ("mxf8f6f4", 1, "ue8m0", "e4m3", "e2m1", False), ("mxf8f6f4", 1, "ue8m0", "e3m2", "e5m2", True),
    ("mxf4", 2, "ue8m0", "e2m1", "e2m1", False), ("mxf4nvf4", 2, "ue8m0", "e2m1", "e2m1", False),
    ("mxf4nvf4", 4, "ue4m3", "e2m1", "e2m1", False), ("mxf4nvf4", 4, "ue4m3", "e2m1", "e2m1", True),
    ("mxf4", 2, "ue8m0", "e2m1", "e2m1", True), ("mxf4nvf4", 4, "ue8m0", "e2m1", "e2m1", False),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "scales", "stype", "a", "b", "is_sparse"), SCALED)
@pytest.mark.parametrize("shuffled", [False, True])
def test_block_scaling(kind: str, scales: int, stype: str, a: str, b: str, is_sparse: bool, shuffled: bool) -> None:
    rng = np.random.default_rng(scales)
    packed = kind != "mxf8f6f4"
    k = (64 if packed else 32) * (2 if is_sparse else 1)
    if is_sparse:
        dense, ca, positions = sparse(rng, a if not packed else "u4", k)
        if packed:  # the same structure with e2m1 in place of integers
            dense = np.where(dense >= 0, dense.astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float64), 0)
    else:
        dense, ca = draw(rng, a, (16, k))
    vb, cb = draw(rng, b, (8, k))
    c = rng.standard_normal((16, 8)).astype(np.float32)
    low, high = (124, 131) if stype == "ue8m0" else (40, 70)
    sa, sb = rng.integers(low, high, (16, scales)), rng.integers(low, high, (8, scales))
    byte_a, thread_a, byte_b, thread_b = (4 - scales, 1, 0, 3)
    lanes_a = rng.integers(0, 256, (32, 4))
    lanes_b = rng.integers(0, 256, (32, 4))
    for lane in range(32):
        if lane % 4 // 2 == thread_a:
            lanes_a[lane, byte_a : byte_a + scales] = sa[lane // 4 + 8 * (lane % 2)]
        if lane % 4 == thread_b:
            lanes_b[lane, byte_b : byte_b + scales] = sb[lane // 4]
    table = np.arange(256, dtype=np.uint8)
    values = (
        2.0 ** (table.astype(np.float64) - 127)
        if stype == "ue8m0"
        else (table & 0x7F).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    )
    operands = {
        "a": pack(ca if packed else containers(a, ca), 4 if packed else 8, 16),
        "b": pack(cb if packed else containers(b, cb), 4 if packed else 8, 8), "c": accumulate(c).view(np.uint32),
        "x": lanes_a.astype(np.uint8).view(np.uint32).reshape(1, 32),
        "y": lanes_b.astype(np.uint8).view(np.uint32).reshape(1, 32),
    }  # fmt: skip
    tail = f", %x0, {{{byte_a}, {thread_a}}}, {{%y0}}, {{{byte_b}, {thread_b}}}"
    if is_sparse:
        operands["e"] = metadata(positions, 0, False)
        tail = ", %e0, 0" + tail
    name = "mma.sp::ordered_metadata" if is_sparse else "mma"
    shape, qualifier = f"m16n8k{k}.row.col", f"kind::{kind}.block_scale.scale_vec::{scales}X"
    order = f"{qualifier}.{shape}" if shuffled else f"{shape}.{qualifier}"
    found = run(f"{name}.sync.aligned.{order}.f32.{a}.{b}.f32.{stype}", operands, 4, tail, np.float32)
    width = k // scales
    scaled_a = dense * np.repeat(values[sa], width, axis=1)
    scaled_b = vb * np.repeat(values[sb], width, axis=1)
    wanted = accumulate(scaled_a @ scaled_b.T + c)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=np.abs(wanted).max() * 1e-5)


@pytest.mark.parametrize(("element", "k"), [("s8", 16), ("u8", 16), ("s4", 32), ("u4", 32), ("b1", 128)])
def test_eight_rows(element: str, k: int) -> None:
    rng = np.random.default_rng(k)
    va, ca = draw(rng, element, (8, k))
    vb, cb = draw(rng, element, (8, k))
    c = rng.integers(-99, 99, (8, 8)).astype(np.int32)
    operands = {"a": pack(ca, WIDTH[element], 8), "b": pack(cb, WIDTH[element], 8), "c": accumulate(c)}
    for suffix in ("",) if element != "b1" else (".and.popc", ".xor.popc"):
        opcode = f"mma.sync.aligned.m8n8k{k}.row.col.s32.{element}.{element}.s32{suffix}"
        found = run(opcode, operands, 2, "", np.int32)
        product = va @ vb.T
        if "xor" in suffix:
            product = (va[:, None] != vb[None]).sum(axis=2)
        np.testing.assert_array_equal(found, accumulate(product + c).astype(np.int32))


def test_saturation_of_eight_rows() -> None:
    ones = np.full((8, 16), 0x7F, np.uint64)
    c = np.full((8, 8), 0x7FFFFFFF, np.int32)
    operands = {"a": pack(ones, 8, 8), "b": pack(ones, 8, 8), "c": accumulate(c)}
    found = run("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32", operands, 2, "", np.int32)
    assert (found == 0x7FFFFFFF).all()
    assert (run("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", operands, 2, "", np.int32) < 0).all()


@pytest.mark.parametrize("layout_a", ["row", "col"])
@pytest.mark.parametrize("layout_b", ["row", "col"])
@pytest.mark.parametrize(("d_type", "c_type"), [("f32", "f32"), ("f16", "f16"), ("f32", "f16")])
def test_volta(layout_a: str, layout_b: str, d_type: str, c_type: str) -> None:
    rng = np.random.default_rng(6)
    a, b = (rng.standard_normal((4, *shape)).astype(np.float16) for shape in ((8, 4), (4, 8)))
    c = rng.standard_normal((4, 8, 8)).astype(np.float16 if c_type == "f16" else np.float32)
    wanted = a.astype(np.float64) @ b.astype(np.float64) + c
    ra, rb = np.zeros((32, 4), np.float16), np.zeros((32, 4), np.float16)
    rc, rd = np.zeros((32, 8), c.dtype), np.zeros((32, 8))
    for lane in range(32):
        pair, t, h = lane % 16 // 4, lane % 4, 4 * (lane // 16)
        for i in range(4):
            ra[lane, i] = a[pair, t + h, i] if layout_a == "row" else a[pair, i + h, t]
            rb[lane, i] = b[pair, t, i + h] if layout_b == "row" else b[pair, i, t + h]
        for i in range(8):
            half, full = (t + h, i), ((lane & 1) + (i & 2) + h, (i & 4) + (lane & 2) + (i & 1))
            rc[lane, i] = c[pair][half if c_type == "f16" else full]
            rd[lane, i] = wanted[pair][half if d_type == "f16" else full]
    operands = {
        "a": ra.view(np.uint32).T, "b": rb.view(np.uint32).T, "c": np.ascontiguousarray(rc).view(np.uint32).T,
    }  # fmt: skip
    operands = {name: np.ascontiguousarray(value) for name, value in operands.items()}
    opcode = f"mma.sync.aligned.m8n8k4.{layout_a}.{layout_b}.{d_type}.f16.f16.{c_type}"
    found = run(opcode, operands, 4 if d_type == "f16" else 8, "", np.uint32)
    lanes = np.ascontiguousarray(found.T).view(np.float16 if d_type == "f16" else np.float32)
    np.testing.assert_allclose(lanes, rd, rtol=2e-3 if d_type == "f16" else 1e-5, atol=2e-3)


@pytest.mark.parametrize(
    ("opcode", "tail", "kind"),
    [
        ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ", %a0, 2", OperandError),
        ("mma.sp.sync.aligned.m16n8k64.row.col.f32.f16.f16.f32", ", %a0, 0", UnsupportedModifierError),
        ("mma.sync.aligned.m16n8k32.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
         ", %a0, {0, 0}, %a0, {0, 0}", UnsupportedModifierError),
        ("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0",
         ", %a0, {0, 2}, %a0, {0, 0}", OperandError),
        ("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue4m3",
         ", %a0, {0, 0}, %a0, {0, 0}", UnsupportedModifierError),
    ],
)  # fmt: skip
def test_wrong_forms_are_refused(opcode: str, tail: str, kind: type[Exception]) -> None:
    rng = np.random.default_rng(7)
    operands = {name: rng.integers(0, 60, (n, 32)).astype(np.uint32) for name, n in (("a", 4), ("b", 2), ("c", 4))}
    if ".sp" in opcode:
        operands["b"] = np.concatenate([operands["b"]] * 2)
    with pytest.raises(kind):
        run(opcode, operands, 4, tail, np.float32)

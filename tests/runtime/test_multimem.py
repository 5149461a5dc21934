"""multimem on multicast objects of one and of several replicas, every operation, type and vector, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

from ptxsim import GlobalMemory, LaunchError, MisalignedError, OutOfBoundsError, SimulatorError, launch
from runtime import ptxas

LANES = 64
DTYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "f32": np.float32, "f64": np.float64, "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64,
    "b32": np.uint32, "b64": np.uint64,
}  # fmt: skip
ORDERED = ("add", "min", "max")
# (type, elements of a vector) -> operations of ld_reduce, of red; whether .acc exists
FORMS: dict[tuple[str, int], tuple[tuple[str, ...], tuple[str, ...], str]] = {
    ("u32", 1): (ORDERED, ORDERED, ""), ("s32", 1): (ORDERED, ORDERED, ""), ("u64", 1): (ORDERED, ORDERED, ""),
    ("s64", 1): (("min", "max"), ("min", "max"), ""), ("f64", 1): (("add",), ("add",), ""),
    **{(name, 1): (("and", "or", "xor"), ("and", "or", "xor"), "") for name in ("b32", "b64")},
    **{("f32", count): (("add",), ("add",), "") for count in (1, 2, 4)},
    **{(name, count): (ORDERED, ORDERED, "f32") for name in ("f16", "bf16") for count in (2, 4, 8)},
    **{(name, count): (ORDERED, ORDERED, "f32") for name in ("f16x2", "bf16x2") for count in (2, 4)},
    **{(name, 1): (ORDERED, ("add",), "f32") for name in ("f16x2", "bf16x2")},
    **{(name, 4): (ORDERED, (), "f16") for name in ("e4m3", "e5m2")},
    **{(name, count): (ORDERED, (), "f16") for name in ("e4m3x2", "e5m2x2") for count in (2, 4, 8)},
    **{(name, count): (ORDERED, (), "f16") for name in ("e4m3x4", "e5m2x4") for count in (1, 2, 4)},
}  # fmt: skip
OPERATIONS = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


def width(type_: str) -> int:
    base, _, copies = type_.partition("x")
    return np.dtype(DTYPES[base]).itemsize * int(copies or 1)


def kernel(statements: list[str], target: str = "sm_90", version: str = "8.8") -> str:
    """Statements on %m (a multimem address), %s (a source), %o (an output), 1 KiB further for each statement."""
    return f""".version {version}
.target {target}
.address_size 64
.visible .entry k(.param .u64 m, .param .u64 s, .param .u64 o)
{{
  .reg .b64 %m, %s, %o, %w; .reg .u32 %t; .reg .b8 %b<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>;
  ld.param.u64 %m, [m]; ld.param.u64 %s, [s]; ld.param.u64 %o, [o]; mov.u32 %t, %tid.x;
  mul.wide.u32 %w, %t, 16; add.u64 %m, %m, %w; add.u64 %s, %s, %w; add.u64 %o, %o, %w;
  {chr(10).join(statements)}
  ret;
}}"""


def registers(type_: str, count: int) -> tuple[str, str]:
    """A vector (or one) of untyped registers, and the same as ld and st spell it."""
    size = width(type_)
    names = [f"%{'bhrd'[size.bit_length() - 1]}{i}" for i in range(count)]
    listed = "{" + ", ".join(names) + "}" if count > 1 else names[0]
    return listed, f"{f'.v{count}' if count > 1 else ''}.b{8 * size}"


def moved(verb: str, type_: str, count: int, address: str) -> str:
    """ld or st of the registers, at most four at a time as those have it."""
    size, parts = width(type_), []
    for first in range(0, count, 4):
        names = [f"%{'bhrd'[size.bit_length() - 1]}{i}" for i in range(first, min(first + 4, count))]
        listed = "{" + ", ".join(names) + "}" if len(names) > 1 else names[0]
        vector = f".v{len(names)}" if len(names) > 1 else ""
        where = f"[{address}+{first * size}]"
        operands = f"{where}, {listed}" if verb == "st" else f"{listed}, {where}"
        parts.append(f"{verb}.global{vector}.b{8 * size} {operands};")
    return " ".join(parts)


def values(rng: np.random.Generator, type_: str, count: int) -> np.ndarray:
    """Elements [lane, 16 bytes] of a type."""
    dtype = np.dtype(DTYPES[type_.partition("x")[0]])
    shape = (LANES, 16 // dtype.itemsize)
    if dtype.kind in "ui":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    assert count
    return (rng.standard_normal(shape) * 3).astype(np.float32).astype(dtype)


def reduced(operation: str, parts: list[np.ndarray], accumulator: str) -> np.ndarray:
    """The replicas' values reduced in order, each step rounded to the type unless a wider type adds up."""
    dtype = parts[0].dtype
    wide = {"": np.float32, "f32": np.float32, "f16": np.float16}[accumulator]
    function = OPERATIONS[operation]
    if dtype.kind in "ui" or dtype in (np.float32, np.float64):
        total = parts[0]
        for part in parts[1:]:
            total = function(total, part)
        return total
    total = parts[0].astype(wide)
    for part in parts[1:]:
        total = function(total, part.astype(wide))
        if not accumulator:
            total = total.astype(dtype).astype(wide)
    return total.astype(np.float32).astype(dtype)


def used(array: np.ndarray, type_: str, count: int) -> np.ndarray:
    """The bytes of each lane that a vector covers."""
    return array.view(np.uint8).reshape(LANES, 16)[:, : width(type_) * count]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize("type_", sorted({name for name, _ in FORMS}))
def test_every_form(type_: str, replicas: int) -> None:
    rng = np.random.default_rng(11)
    forms = {count: form for (name, count), form in FORMS.items() if name == type_}
    memory = GlobalMemory()
    target = "sm_100a" if type_[:2] in ("e4", "e5") else "sm_90"
    for count, (loads, updates, accumulator) in forms.items():
        listed, _ = registers(type_, count)
        vector = f".v{count}" if count > 1 else ""
        cases = [("ld_reduce", op, "") for op in loads] + [("red", op, "") for op in updates] + [("st", "", "")]
        cases += [("ld_reduce", "add", accumulator)] if accumulator else []
        for kind, operation, acc in cases:
            parts = [values(rng, type_, count) for _ in range(replicas)]
            source = values(rng, type_, count)
            addresses = [memory.put(part) for part in parts]
            multicast = memory.multicast(LANES * 16, addresses)
            dots = "".join(f".{one}" for one in (operation, acc and f"acc::{acc}") if one)
            opcode = f"multimem.{kind}.global{dots}{vector}.{type_}"
            if kind == "ld_reduce":
                statements = [f"{opcode} {listed}, [%m];", moved("st", type_, count, "%o")]
            else:
                statements = [moved("ld", type_, count, "%s"), f"{opcode} [%m], {listed};"]
            ptx = kernel(statements, target)
            out = memory.alloc(LANES * 16)
            launch(ptx, (1,), (LANES,), [multicast, memory.put(source), out], memory)
            found = [memory.get(address, parts[0].shape, parts[0].dtype) for address in addresses]
            if kind == "ld_reduce":
                wanted = reduced(operation, parts, acc)
                assert np.array_equal(
                    used(memory.get(out, LANES * 16, np.uint8), type_, count), used(wanted, type_, count)
                )
                wanted_parts = parts
            elif kind == "st":
                wanted_parts = [source] * replicas
            else:
                wanted_parts = [reduced(operation, [part, source], "") for part in parts]
            for one, wanted in zip(found, wanted_parts, strict=True):
                assert np.array_equal(used(one, type_, count), used(wanted, type_, count)), opcode
            if kind != "ld_reduce":  # nothing is written beyond the vector
                for one, part in zip(found, parts, strict=True):
                    tail = width(type_) * count
                    assert np.array_equal(
                        one.view(np.uint8).reshape(LANES, 16)[:, tail:],
                        part.view(np.uint8).reshape(LANES, 16)[:, tail:],
                    )
            for address in addresses:
                memory.free(address)
        ptxas.assemble(ptx, target)


def test_lanes_of_one_address_take_their_turns() -> None:
    memory = GlobalMemory()
    replicas = [memory.put(np.array([start], np.uint32)) for start in (0, 1000)]
    ptx = kernel(["ld.param.u64 %m, [m]; multimem.red.relaxed.gpu.global.add.u32 [%m], %t;"])
    launch(ptx, (2,), (LANES,), [memory.multicast(4, replicas), 0, 0], memory)
    total = 2 * sum(range(LANES))
    assert [memory.get(one, 1, np.uint32)[0] for one in replicas] == [total, 1000 + total]


def test_lanes_of_two_objects() -> None:
    memory = GlobalMemory()
    first, second = (memory.put(np.full(LANES * 4, start, np.uint32)) for start in (5, 7))
    one, two = memory.multicast(LANES * 16, [first, first]), memory.multicast(LANES * 16, [second])
    ptx = kernel(
        [
            ".reg .pred %p; and.b32 %r0, %t, 1; setp.eq.u32 %p, %r0, 0; ld.param.u64 %d1, [s]; add.u64 %d1, %d1, %w;",
            "selp.b64 %m, %m, %d1, %p; multimem.ld_reduce.add.u32 %r1, [%m]; st.global.u32 [%o], %r1;",
        ]
    )
    out = memory.alloc(LANES * 16)
    launch(ptx, (1,), (LANES,), [one, two, out], memory)
    assert memory.get(out, (LANES, 4), np.uint32)[:, 0].tolist() == [10, 7] * (LANES // 2)


def test_errors() -> None:
    memory = GlobalMemory()
    plain = memory.alloc(LANES * 16)
    multicast = memory.multicast(LANES * 16, [plain])
    load = kernel(["multimem.ld_reduce.add.u32 %r0, [%m];"])

    with pytest.raises(OutOfBoundsError, match=r"thread \(0,0,0\).* 4 bytes at 0x\w+, which is not a multicast object"):
        launch(load, (1,), (LANES,), [plain, 0, 0], memory)
    with pytest.raises(OutOfBoundsError, match=r"thread \(63,0,0\).*4 bytes at byte 1024 of a multicast object"):
        launch(load, (1,), (LANES,), [multicast + 16, 0, 0], memory)
    with pytest.raises(OutOfBoundsError, match=r"thread \(0,0,0\).*4 bytes at byte -16 of a multicast object"):
        launch(load, (1,), (LANES,), [multicast - 16, 0, 0], memory)
    with pytest.raises(MisalignedError, match="is not a multiple of 4"):
        launch(load, (1,), (LANES // 2,), [multicast + 2, 0, 0], memory)
    with pytest.raises(OutOfBoundsError, match="a multicast object, which multimem instructions alone access"):
        launch(kernel(["ld.global.u32 %r0, [%m];"]), (1,), (LANES,), [multicast, 0, 0], memory)
    with pytest.raises(LaunchError, match=r"2048 bytes at 0x.* are not inside one allocation"):
        memory.multicast(2048, [plain])
    with pytest.raises(LaunchError, match="a multicast object needs a replica"):
        memory.multicast(4, [])
    for opcode in (
        "ld_reduce.add.s64 %d0,", "ld_reduce.add.v2.u32 {%r0, %r1},", "ld_reduce.min.acc::f32.f16x2 %r0,",
        "ld_reduce.relaxed.add.u32 %r0,", "ld_reduce.release.gpu.add.u32 %r0,", "ld_reduce.add.f16 %h0,",
        "ld_reduce.min.f32 %r0,", "ld_reduce.inc.u32 %r0,", "ld_reduce.add.acc::f16.v2.f16x2 {%r0, %r1},",
        "ld_reduce.shared.add.u32 %r0,",
    ):  # fmt: skip
        with pytest.raises(SimulatorError, match=r"line \d+ `multimem.*(is not simulated|without one of)"):
            launch(kernel([f"multimem.{opcode} [%m];"]), (1,), (LANES,), [multicast, 0, 0], memory)
    with pytest.raises(SimulatorError, match="is not simulated"):
        launch(kernel(["multimem.red.min.f16x2 [%m], %r0;"]), (1,), (LANES,), [multicast, 0, 0], memory)

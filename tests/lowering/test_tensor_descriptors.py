"""Descriptors of tcgen05, bit by bit, and as the simulator, which has the tables of the PTX ISA itself, reads them."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from ir.core import Block, VerifyError, verify
from ir.dialects import nvvm
from ir.tensor_descriptors import instruction_descriptor, operand_bits
from ir.types import I32, I64
from ptxsim.descriptors import tcgen05_descriptor
from ptxsim.tcgen05_form import Mode, parse


def test_a_known_product_and_operand() -> None:
    """What CUTLASS and Triton make for f16 of 128 x 128 in rows of 128 swizzled bytes."""
    assert instruction_descriptor(128, 128, "f16", "f16", "f32") == 0x08200010
    assert operand_bits(16, 1024, "128B") == 0x4000404000010000


@pytest.mark.parametrize(
    ("field", "shift", "width", "wanted"),
    [("d", 4, 2, 1), ("a", 7, 3, 1), ("b", 10, 3, 1), ("negated", 13, 1, 1), ("major of A", 15, 1, 1),
     ("major of B", 16, 1, 0), ("n / 8", 17, 6, 31), ("m / 16", 24, 5, 4)],
)  # fmt: skip
def test_each_field_is_where_the_table_has_it(field: str, shift: int, width: int, wanted: int) -> None:
    bits = instruction_descriptor(64, 248, "bf16", "bf16", "f32", (True, False), negated=True)
    assert bits >> shift & ((1 << width) - 1) == wanted, field
    assert bits & ~(0x3F << 17 | 0x1F << 24 | 0b11 << 15 | 1 << 13 | 0x3F << 7 | 0b11 << 4) == 0


@pytest.mark.parametrize("kind", nvvm.KINDS)
def test_the_simulator_reads_what_was_meant(kind: str) -> None:
    factors, sums = nvvm.KINDS[kind]
    for a, b, d, n, majors in product(factors, factors, sums, (16, 64, 256), product((False, True), repeat=2)):
        form = parse(instruction_descriptor(128, n, a, b, d, majors), Mode(kind, 1, False, False, 0))
        assert (form.m, form.n, form.a, form.b, form.result) == (128, n, a, b, d)
        assert (form.a_transposed, form.b_transposed, form.sign) == (*majors, 1)


@pytest.mark.parametrize(("name", "width"), [("none", 0), ("32B", 32), ("64B", 64), ("128B", 128)])
def test_operands_of_every_swizzle(name: str, width: int) -> None:
    found = tcgen05_descriptor(operand_bits(2048, 512, name) | 0x1230 >> 4)
    assert (found.start, found.leading, found.stride, found.swizzle.width) == (0x1230, 2048, 512, width)


def test_a_sparse_product_says_so() -> None:
    dense, sparse = (instruction_descriptor(128, 64, "f16", "f16", "f32", sparse=each) for each in (False, True))
    assert sparse ^ dense == 1 << 2
    form = parse(sparse, Mode("f16", 1, False, True, 0))
    assert (form.m, form.n, form.k) == (128, 64, 32)


def product_of(cls: type[nvvm.TensorMma] = nvvm.TensorMma, **more: object) -> nvvm.TensorMma:
    d, a, b, metadata = Block([I32, I64, I64, I32]).args
    given = {"shape": (128, 64, 16), "typeA": "f16", "typeB": "f16", **more}
    others = [metadata] if cls is nvvm.TensorMmaSparse else []
    return cls([d, a, b, *others], (), given, segments=(1, 1, 1, 0, 0, *(1 for _ in others)))


@pytest.mark.parametrize(
    ("cls", "more", "message"),
    [
        (nvvm.TensorMmaSparse, {"shape": (128, 64, 16)}, "no tcgen05.mma m128n64k8 of f16"),
        (nvvm.TensorMmaSparse, {"shape": (128, 64, 33)}, "k of a sparse product is even"),
        (nvvm.TensorMmaStationary, {"shape": (32, 32, 16)}, r"m32n32k16 of f16: m is one of \(32, 64, 128\)"),
        (nvvm.TensorMmaStationary, {"shape": (32, 64, 16), "group": 2}, "by one CTA"),
    ],
)
def test_other_products_that_do_not_exist_are_refused(cls: Any, more: dict[str, object], message: str) -> None:
    with pytest.raises(VerifyError, match=message):
        verify(product_of(cls, **more))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"shape": "16x64b"}, r"tcgen05.ld.red cannot load \.16x64b"), ({"num": 1}, "two registers or more"),
        ({"kind": "s32", "nan": True}, r"only f32 have \.abs and \.NaN"), ({"packed": True}, "does not pack"),
        ({"split": 8}, "only .16x32bx2 has two halves"),
    ],
)  # fmt: skip
def test_loads_that_find_no_extremum_are_refused(more: dict[str, object], message: str) -> None:
    given = {"num": 2, "operation": "max", **more}
    with pytest.raises(VerifyError, match=message):
        verify(nvvm.TensorLdReduced([Block([I32]).args[0]], (I32,) * (int(str(given["num"])) + 1), given))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"shape": (128, 24, 16)}, "no tcgen05.mma m128n24k16 of f16"), ({"shape": (96, 64, 16)}, "m96n64k16"),
        ({"shape": (128, 64, 8)}, "m128n64k8"), ({"shape": (128, 64)}, r"shape must be \(m, n, k\)"),
        ({"typeB": "e4m3"}, "no tcgen05.mma of f16 and e4m3"), ({"typeD": "s32"}, "no tcgen05.mma of f16 into s32"),
        ({"typeA": "tf32", "typeB": "tf32", "shape": (128, 64, 8), "layoutB": "row"}, "tf32 operands must be K-major"),
        ({"typeA": "s8", "typeB": "s8", "typeD": "s32", "shape": (128, 64, 32), "negated": True}, "cannot be negated"),
    ],
)  # fmt: skip
def test_products_that_do_not_exist_are_refused(more: dict[str, object], message: str) -> None:
    with pytest.raises(VerifyError, match=message):
        verify(product_of(**more))


def test_other_shapes_and_registers_are_refused() -> None:
    d, a, b = Block([I32, I32, I64]).args
    given = {"shape": (128, 64, 16), "typeA": "f16", "typeB": "f16", "layoutA": "col"}
    with pytest.raises(VerifyError, match="a in tensor memory is K-major"):
        verify(nvvm.TensorMma([d, a, b], (), given, segments=(1, 1, 1, 0, 0)))
    with pytest.raises(VerifyError, match=r"\.32x32b\.x4 moves 4 registers, has 2"):
        verify(nvvm.TensorLd([d], [I32] * 2, {"num": 4}))
    with pytest.raises(VerifyError, match=r"no \.16x256b\.x64: it has more than 128 registers"):
        verify(nvvm.TensorLd([d], [I32] * 256, {"num": 64, "shape": "16x256b"}))
    with pytest.raises(VerifyError, match="results must have the types of the operands"):
        verify(nvvm.TensorWait([d], [], {"kind": "ld"}))

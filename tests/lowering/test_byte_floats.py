"""Bytes as the mantissas of floats (conversion.bytes): every byte in every place of a register, on every target."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from benchmarks import byte_conversions
from benchmarks.ablation.cases import CASES, COLUMNS
from benchmarks.ablation.figures import kernels
from lowering.atoms.bytes import BYTES, as_mantissas
from lowering.convert.nvgpu_to_nvvm import byte_floats
from tests.lowering.report import report
from tests.programs.program import DTYPES, Program, check, random
from tilesat.kernel import Kernel

TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
SIZE = 1024
IN, OUT = "tensor_view<?xi8, strides=[1]>", "tensor_view<?x{to}, strides=[1]>"
KERNEL = f"""
cuda_tile.module @m {{{{ entry @kernel(%x: tile<ptr<i8>>, %o: tile<ptr<{{to}}>>, %n: tile<i32>) {{{{
  %start = make_token : token
  %zero = constant <i32: 0> : tile<i32>
  %xa = assume div_by<16>, %x : tile<ptr<i8>>
  %oa = assume div_by<16>, %o : tile<ptr<{{to}}>>
  %na = assume div_by<{{unit}}>, %n : tile<i32>
  %xv = make_tensor_view %xa, shape = [%na], strides = [1] : tile<i32> -> {IN}
  %ov = make_tensor_view %oa, shape = [%na], strides = [1] : tile<i32> -> {OUT}
  %xt = make_partition_view %xv : partition_view<tile=({{size}}), {IN}>
  %ot = make_partition_view %ov : partition_view<tile=({{size}}), {OUT}>
  %a, %t = load_view_tko weak %xt[%zero] token = %start
    : partition_view<tile=({{size}}), {IN}>, tile<i32> -> tile<{{size}}xi8>, token
{{body}}
  %done = store_view_tko weak %r, %ot[%zero] token = %start
    : tile<{{size}}x{{to}}>, partition_view<tile=({{size}}), {OUT}>, tile<i32> -> token
  return
}}}} }}}}"""
CONVERT = "  %r = itof %a {sign} : tile<{size}xi8> -> tile<{size}x{to}>"
THROUGH = """  %w = itof %a {sign} : tile<{size}xi8> -> tile<{size}xf32>
  %r = ftof %w : tile<{size}xf32> -> tile<{size}x{to}>"""


def every_byte() -> np.ndarray:
    """All 256 in each of the four places of a register, no two alike in one."""
    at = np.arange(SIZE)
    return ((at // 4 + 67 * (at % 4)) % 256).astype(np.uint8).view(np.int8)


def program(to: str, signed: bool, size: int = SIZE, length: int = 0, body: str = CONVERT) -> Program:
    def source() -> str:
        unit = (length or size) & -(length or size)
        more = {"to": to, "size": size, "unit": unit, "sign": "signed" if signed else "unsigned"}
        return KERNEL.format(body=body.format(**more), **more)

    def arguments() -> list[Any]:
        return [every_byte()[: length or size], np.full(length or size, 7, DTYPES[to]), length or size]

    def expected(x: np.ndarray, *_: object) -> dict[int, np.ndarray]:
        return {1: (x if signed else x.view(np.uint8)).astype(DTYPES[to])}

    return Program(f"bytes as {to}", source, arguments, expected=expected, tolerance=0.0)


@cache
def checked(to: str, signed: bool, target: str) -> Kernel:
    return check(program(to, signed), target)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("to", ["f16", "bf16", "f32"])
def test_every_byte_in_every_place(to: str, signed: bool, target: str) -> None:
    kernel = checked(to, signed, target)
    assert (BYTES in report(kernel)) == (to == "f16" or (signed and target != "sm_80"))
    if to == "f16":
        assert "prmt.b32" in kernel.ptx
        assert "cvt.rn" not in kernel.ptx, "no conversion of an integer is left"


def test_the_report_and_forbid_name_it() -> None:
    with_it = checked("f16", True, "sm_90a")
    without = check(program("f16", True), "sm_90a", forbid=(BYTES,))
    assert f"by {BYTES}" in report(with_it)
    assert BYTES not in report(without)
    assert with_it.cost < without.cost
    assert "prmt" not in without.ptx
    assert without.ptx.count("cvt.rn.f16.s32") == with_it.ptx.count("f16x2") * 2


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("size", [1, 128, 256])
def test_threads_without_a_whole_register_of_bytes_convert(size: int, target: str) -> None:
    kernel = check(program("f16", True, size), target)
    assert "prmt.b32" not in kernel.ptx
    assert BYTES not in report(kernel)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("length", [1, 515, 516, SIZE - 16])
def test_bytes_beyond_the_end_are_left_out(length: int, signed: bool) -> None:
    kernel = check(program("f16", signed, length=length), "sm_90a")
    assert length % 4 or BYTES in report(kernel)


@pytest.mark.parametrize(("name", "wrong"), [("HALF", 127), ("F16_UNIT", 1023), ("F16_HIGH", 0x65656565)])
def test_a_wrong_bias_is_seen(name: str, wrong: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_floats, name, wrong)
    with pytest.raises(AssertionError, match="off the interpreter"):
        check(program("f16", True), "sm_80")


def test_a_float_that_holds_the_integers_is_passed_over() -> None:
    """i8 as f32 as f16 is i8 as f16: a rule (conversion/round-once), not this atom."""
    kernel = check(program("f16", True, body=THROUGH), "sm_90a")
    assert "f32" not in kernel.ptx.partition("{")[2]
    kept = check(program("f16", True, body=THROUGH), "sm_90a", without=("conversion/round-once",))
    assert "cvt.rn.f16x2.f32" in kept.ptx


def test_signed_bytes_of_a_word_are_part_of_a_conversion() -> None:
    """bfe, which ptxas makes a part of I2F; the lowest byte is in place."""
    ptx = check(program("f32", True), "sm_80", forbid=(BYTES,)).ptx
    assert ptx.count("bfe.s32") == 3 * ptx.count("cvt.rn.f32.s32") // 4
    assert "cvt.rn.f32.s32" in ptx


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_counts_are_those_of_the_sass(target: str) -> None:
    """Where it is chosen."""
    for case, usual, made in byte_conversions.rows(target):
        priced = as_mantissas(case.form)
        for pipe in {*priced, *made} if made != usual else ():
            assert abs(priced.get(pipe, 0.0) - made.get(pipe, 0.0)) <= 0.05, (case.form, pipe)


# --- the dequantised product of the ablation


def dequantised() -> Program:
    """On numbers that no operation rounds, whatever the permissions: small integers, scales that are powers of 2."""
    m, n, k = 2 * 128, 2 * 128, 3 * 64
    rng = np.random.default_rng(9)

    def arguments() -> list[Any]:
        a, b = rng.integers(-8, 9, (m, k)).astype(np.float16), rng.integers(-128, 128, (k, n)).astype(np.int8)
        scale, y = np.exp2(rng.integers(-4, 5, n)).astype(np.float32), random((m, n), "f32", 3)
        found: list[Any] = []
        for array in (a, b, scale, y):
            found += [array, *array.shape, *(each // array.itemsize for each in array.strides)]
        return found

    made = arguments()

    def copied() -> list[Any]:
        return [each.copy() if isinstance(each, np.ndarray) else each for each in made]

    return Program("gemm_dequant", lambda: kernels()["gemm_dequant"], copied, (m // 128, n // 128), tolerance=0.0)


@pytest.mark.in_turn
@pytest.mark.parametrize("column", ["IEEE", "triton,reassoc,afn"])
@pytest.mark.parametrize("target", TARGETS)
def test_dequantised_products(target: str, column: str) -> None:
    signature = next(case.signature for case in CASES if case.name == "gemm_dequant")
    spills = target == "sm_100a" and column != "IEEE"  # behind the loop: 128 sums and 128 scales of columns a thread
    kernel = check(dequantised(), target, spills=spills, fast=COLUMNS[column], signature=signature)
    assert (BYTES in report(kernel)) == (target != "sm_80" or column != "IEEE")

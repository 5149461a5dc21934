"""Sums of f16 in tensor memory: an element in the lower half of each column, loaded as packed pairs."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import nv_tileas
from lowering.atoms.names import SWAPPED
from ptxsim import SimulatorError
from tests.programs.products import MARK, product
from tests.programs.program import Program, check, interpret, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

ORDERS = ("together", *(f"skewed:{seed}" for seed in range(5)))
ONLY = [SWAPPED]
HALF = {"accumulator": "f16", "out": "f16", "tolerance": 0.125}
"""Sums of 424 products of normal numbers reach 64, near which f16 are 2^-5 apart, as small ones may have been."""


def shifted(tile: Any) -> Any:
    """Half of a tile, plus 1."""
    return tile if tile is MARK else tile * 0.5 + 1.0


PRODUCTS: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "plain": ((128, 128, 64), (136, 136, 136), {}, "sm_100a"),
    "few": ((64, 64, 64), (136, 72, 136), {}, "sm_103a"),
    "few-least": ((64, 8, 64), (72, 8, 136), {}, "sm_100a"),
    "few-widest": ((64, 256, 64), (72, 264, 72), {}, "sm_100a"),
    "tall": ((256, 128, 64), (264, 136, 136), {}, "sm_103a"),
    "both": ((128, 64, 64), (136, 72, 136), {"a_order": "km", "b_order": "kn"}, "sm_100a"),
    "e4m3": ((128, 128, 128), (136, 144, 272), {"kind": "f8E4M3FN"}, "sm_100a"),
    "e5m2": ((64, 64, 128), (72, 80, 272), {"kind": "f8E5M2", "b_order": "kn"}, "sm_103a"),
    "f32-out": ((128, 64, 64), (136, 72, 136), {"out": "f32"}, "sm_100a"),
    "bias": ((128, 64, 64), (136, 72, 136), {"epilogue": shifted, "expected": lambda a, b: a @ b / 2 + 1}, "sm_100a"),
}  # fmt: skip
"""Tile, size, and what differs from f16 of A (m, k) and B (n, k)."""


def into_halves(kernel: Kernel) -> int:
    """Instructions with D of f16: bits 4 and 5 of their descriptors are 0 (PTX ISA, Instruction descriptor)."""
    found = re.findall(r"tcgen05\.mma\.\S+ \[[^]]+\], [^,]+, %rd\d+, (\d+)", kernel.ptx)
    assert found
    return sum(int(each) >> 4 & 3 == 0 for each in found)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", PRODUCTS)
def test_types_majors_and_tiles(name: str) -> None:
    tile, size, more, target = PRODUCTS[name]
    kernel = check(product(name, tile, size, **{**HALF, **more}), target, forbid=ONLY)
    assert into_halves(kernel) == kernel.ptx.count("tcgen05.mma.cta_group::1") > 0
    shape = "16x128b" if tile[0] == 64 else "32x32b"
    assert re.search(rf"tcgen05\.ld\.sync\.aligned\.{shape}\.x\d+\.pack::16b", kernel.ptx)


@pytest.mark.sampled(2)
def test_a_pair_of_ctas() -> None:
    given = product("pair", (256, 128, 64), (264, 136, 136), **HALF)
    kernel = check(given, "sm_100a", num_ctas=2)
    assert "tcgen05.mma.cta_group::2" in kernel.ptx
    assert into_halves(kernel)


@cache
def gemm(rows: int = 128, persistent: str = "off") -> Kernel:
    """One kernel for all sizes of one tile."""
    return tilesat.compile(sized(64, rows).source(), "sm_100a", forbid=ONLY, persistent=persistent)


def sized(k: int, rows: int = 128) -> Program:
    return product("half", (rows, 64, 64), (136, 72, k), **HALF)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("persistent", ["off", "static"])
@pytest.mark.parametrize("rows", [64, 128])
@pytest.mark.parametrize("steps", range(8))
def test_any_number_of_steps(steps: int, rows: int, persistent: str) -> None:
    """None leaves zeros; the last one lies partly beyond the edge; an agent begins those of persistent kernels."""
    asked, kernel = sized(max(0, 64 * steps - 24), rows), gemm(rows, persistent)
    assert into_halves(kernel)
    reference = interpret(kernel, asked)[2]
    for order in ORDERS if steps == 7 else ORDERS[:1]:
        found = simulate(kernel, asked, schedule=order)[2]
        assert largest_error(found, reference) <= asked.tolerance, order
        assert steps or np.array_equal(found, reference)


def chained() -> Program:
    """D = (A B) C + A, sums of f16: threads read the first product, write it as a left factor, and add A."""
    size = 128

    def source() -> str:
        w = Writer("chained", a="ptr<f16>", b="ptr<f16>", c="ptr<f16>", d="ptr<f16>")
        w.promise(a=16, b=16, c=16, d=16)
        a, b, c, d = (w.view(each, [2 * size, size], [size, 1], [size, size]) for each in (w.a, w.b, w.c, w.d))
        number = w.ids[0]
        left = w.load(a, number, 0)
        first = w.dot(left, w.load(b, number, 0), w.const(0.0, "f16", size, size))
        w.store(w.dot(first * 0.0625, w.load(c, number, 0), left), d, number, 0)
        return w.text()

    def arguments() -> list[Any]:
        return [random((2 * size, size), "f16", 1 + i) for i in range(4)]

    def expected(a: Any, b: Any, c: Any, d: Any) -> dict[int, Any]:
        x, y, z = (each.astype(np.float64).reshape(2, size, size) for each in (a, b, c))
        return {3: ((x @ y).astype(np.float16).astype(np.float64) / 16 @ z + x).reshape(2 * size, size)}

    return Program("chained", source, arguments, (2,), expected, 3e-2)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("forbid", [(), ("tcgen05.ts",)])
@pytest.mark.parametrize("order", ORDERS[::3])
def test_products_that_threads_read(forbid: tuple[str, ...], order: str) -> None:
    asked = chained()
    kernel = check(asked, "sm_100a", forbid=[*forbid])
    assert "mma.sync" not in kernel.ptx
    assert into_halves(kernel) == kernel.ptx.count("tcgen05.mma.cta_group::1")
    assert largest_error(simulate(kernel, asked, schedule=order)[3], interpret(kernel, asked)[3]) <= asked.tolerance


def test_cost_chooses_beside_mma_sync() -> None:
    assert gemm().cost < tilesat.compile(sized(64).source(), "sm_100a", forbid=["tcgen05"]).cost


def test_a_column_for_each_element() -> None:
    """64 columns for as many f16, of an allocation of 64."""
    scheduled = gemm().compiled.modules["nv_tileas"]
    (memory,) = (op for op in scheduled.walk() if isinstance(op, nv_tileas.AllocTensorMemory))
    assert str(memory.result.type) == "!nv_tileas.tmem<128x64xf16, apart>"
    assert memory.columns == 64


MUTANTS = {
    "no pack": (r"\.x32\.pack::16b", ".x32"),
    "sums of f32": (r"(tcgen05\.mma\S+ \[[^]]+\], %rd\d+, %rd\d+, )(\d+)", None),
    "one column further": (r"(tcgen05\.ld\S+ \{[^}]*\}, \[%r\d+)\+0\]", r"\1+1]"),
    "halves of the columns": (r"(tcgen05\.ld\S+ \{[^}]*\}, \[%r\d+)\+64\]", r"\1+32]"),
    "no wait for loads": (r"tcgen05\.wait::ld\.sync\.aligned;", ""),
    "nobody waits for the end": (r"(try_wait.*\+{done}\]), 0;", r"\1, 1;"),
    "nobody tells the end": (r"tcgen05\.commit.*\+{done}\];", ""),
    "no product adds": (r"(tcgen05\.mma.*), (%p\d+|1);", r"\1, 0;"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_left_out_is_found(name: str) -> None:
    pattern, text = MUTANTS[name]
    kernel = wide()
    done = re.findall(r"mbarrier\.try_wait\S* %p\d+, \[%r\d+\+(\d+)\], 0;", kernel.ptx)[-1]
    changed, count = re.subn(pattern.replace("{done}", done), single if text is None else text, kernel.ptx)
    assert count, "the mutation does not apply"
    asked = product("half", (128, 128, 64), (136, 136, 424), **HALF)
    try:
        found = simulate(kernel, asked, schedule="skewed:1", ptx=changed)[2]
    except SimulatorError:
        return
    assert largest_error(found, interpret(kernel, asked)[2]) > 5 * asked.tolerance, "nobody sees it"


@cache
def wide() -> Kernel:
    return tilesat.compile(product("half", (128, 128, 64), (136, 136, 424), **HALF).source(), "sm_100a", forbid=ONLY)


def single(found: re.Match[str]) -> str:
    """The instruction descriptor with D of f32."""
    return found[1] + str(int(found[2]) | 1 << 4)

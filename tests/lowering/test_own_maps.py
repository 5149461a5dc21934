"""Tensor maps that kernels make themselves: slots that CTAs of any launch claim, in hazard mode and in skewed orders of
warps, few slots for many CTAs, two launches at once, arrays without elements, and the protocol with its parts changed.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from ir.load import load
from lowering.convert.tileas_to_nvgpu import own_maps
from lowering.pipeline import Options
from ptxsim import GlobalMemory, launch
from runtime.manifest import parse
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.programs.program import TENSOR_COPY_FRAME
from tests.tilesat.example_cases import EXAMPLES, Case, flash_attention, gemm, layernorm
from tilesat.compiler import compile_module
from tilesat.execution import check_arguments, largest_error, launch_arguments
from tilesat.kernel import Kernel

TARGETS = ("sm_90a", "sm_100a", "sm_120a")
ORDERS = ("together", *(f"skewed:{seed}" for seed in range(5)))
COPY = "cp.async.bulk.tensor"


@cache
def compiled(example: str, target: str = "sm_90a", occupancy: int = 0, **options: Any) -> Kernel:
    """`occupancy`: CTAs per SM that the kernel asks for; 0: no hint."""
    text = (EXAMPLES / f"{example}.mlir").read_text()
    if occupancy:
        text = text.replace(") {\n", f") optimization_hints=<default = {{occupancy = {occupancy}}}> {{\n", 1)
    module = load(text)
    given = Options(**{"own_maps": True, **options})
    (kernel,) = compile_module(module, module.entries[0], [target], given, {})
    made = assemble(kernel.ptx, target)
    frame = TENSOR_COPY_FRAME if target.startswith("sm_12") and COPY in kernel.ptx else 0
    assert (made.warnings, made.infos, made.spill_stores, made.stack <= frame) == ((), (), 0, True)
    return kernel


def parameters(kernel: Kernel) -> list[int]:
    assert all(each["kind"] != "tensormap" for each in kernel.manifest["params"])
    return [each["arg"] for each in kernel.manifest["params"]]


def copied(kernel: Kernel, case: Case) -> list[Any]:
    """The arguments as the simulator takes them."""
    return check_arguments(
        kernel.entry, [each.copy() if isinstance(each, np.ndarray) else each for each in case.arguments]
    )


def error(kernel: Kernel, case: Case, ptx: str = "", schedule: str = "together") -> float:
    """Of the example's result, in hazard mode."""
    memory, arguments = GlobalMemory(), copied(kernel, case)
    addresses = {id(each): memory.put(each) for each in arguments if isinstance(each, np.ndarray)}
    grid = parse(kernel.manifest).in_ctas((*case.grid, 1, 1)[:3])
    launch(
        ptx or kernel.ptx, grid=grid, block=kernel.manifest["block"], memory=memory, hazards=True, schedule=schedule,
        args=launch_arguments(kernel.manifest, arguments, addresses, memory), cluster=kernel.manifest["cluster"],
        dynamic_smem=kernel.manifest["dynamic_smem"], max_instructions=3_000_000,
    )  # fmt: skip
    found = [
        memory.get(addresses[id(each)], each.shape, each.dtype) if isinstance(each, np.ndarray) else each
        for each in arguments
    ]
    return largest_error(case.logical(found), case.expected)


GEMM = gemm(200, 136, 72)


@pytest.mark.sampled(48)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("target", TARGETS)
def test_products(target: str, order: str) -> None:
    kernel = compiled("gemm", target)
    assert parameters(kernel) == list(range(11))
    assert COPY in kernel.ptx
    assert error(kernel, GEMM, schedule=order) <= GEMM.tolerance


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("example", "case"),
    [("flash_attention", flash_attention(2, 200, 100)), ("layernorm", layernorm(2, 2500))],
    ids=["attention", "layernorm"],
)
def test_stores_and_other_kernels(example: str, case: Case, target: str) -> None:
    kernel = compiled(example, target)
    assert parameters(kernel) == sorted(parameters(kernel))
    assert error(kernel, case) <= case.tolerance


def test_a_store_has_ended_before_the_slot_is_given_back() -> None:
    kernel = compiled("flash_attention")
    assert f"{COPY}.global" not in kernel.ptx or re.search(
        r"cp\.async\.bulk\.wait_group 0;\s+bar\.sync 0;(?s:.*)atom\.release\.gpu\.global\.and\.b32", kernel.ptx
    )


@pytest.mark.slow
def test_more_ctas_than_slots() -> None:
    """CTAs wait for those before them: the array is as if the device had few SMs."""
    kernel = compiled("gemm")
    assert error(kernel, GEMM, few(kernel.ptx, 2)) <= GEMM.tolerance


def few(ptx: str, slots: int) -> str:
    """The kernel with so many slots."""
    assert own_maps.MOST_SMS == 256
    return changed(ptx, (r"and\.b32 (%r\d+), (%r\d+), 255;", rf"and.b32 \1, \2, {slots - 1};"))


def both(ptx: str, count: int) -> str:
    """A kernel that does the work of two launches at once: parameters of the first where %ctaid.z is 0, else of the
    second. To the kernel it seems to be 0 in both, so that they begin their search at the same slots.
    """
    made = re.sub(r"mov\.u32 (%r\d+), %ctaid\.z;", r"mov.u32 \1, 0;", ptx)
    kinds = re.findall(r"\.param (\.\S+).* gemm_param_(\d+),?\n", made)
    assert len(kinds) == count
    more = ",\n".join(f"    .param {kind} gemm_param_{int(n) + count}" for kind, n in kinds)
    made = changed(made, (rf"(gemm_param_{count - 1})\n\)", rf"\1,\n{more}\n)"))
    lines = (
        ".reg .pred %second;", ".reg .b32 %z, %w<99>;", ".reg .b64 %wd<99>;", "mov.u32 %z, %ctaid.z;",
        "setp.ne.s32 %second, %z, 0;",
    )  # fmt: skip
    first = "".join(f"    {line}\n" for line in lines)

    def chosen(found: re.Match[str]) -> str:
        bits, register, n = found[1], found[2], int(found[3])
        other = f"%{'wd' if bits == '64' else 'w'}{n}"
        return (
            f"ld.param.b{bits} {register}, [gemm_param_{n}];\n    ld.param.b{bits} {other}, [gemm_param_{n + count}];\n"
            f"    selp.b{bits} {register}, {other}, {register}, %second;"
        )

    made = re.sub(r"ld\.param\.b(\d+) (%\w+), \[gemm_param_(\d+)\];", chosen, made)
    return changed(made, (r"(    ld\.param)", rf"{first}\1"), count=1)


def of_two_launches(ptx: str, slots: int) -> float:
    """The larger error of two launches that run at once, with maps that differ."""
    kernel, cases = compiled("gemm"), (gemm(200, 136, 72), gemm(130, 96, 56))
    memory, arguments = GlobalMemory(), [copied(kernel, case) for case in cases]
    addresses = {id(each): memory.put(each) for given in arguments for each in given if isinstance(each, np.ndarray)}
    args = [each for given in arguments for each in launch_arguments(kernel.manifest, given, addresses, memory)]
    launch(
        few(both(ptx, 11), slots), grid=(2, 2, 2), block=kernel.manifest["block"], memory=memory, hazards=True,
        args=args, dynamic_smem=kernel.manifest["dynamic_smem"], max_instructions=1_000_000,
    )  # fmt: skip
    found: list[float] = []
    for case, given in zip(cases, arguments, strict=True):
        arrays = [
            memory.get(addresses[id(each)], each.shape, each.dtype) if isinstance(each, np.ndarray) else each
            for each in given
        ]
        found.append(largest_error(case.logical(arrays), case.expected))
    return max(found)


@pytest.mark.in_turn
@pytest.mark.parametrize("slots", [256, pytest.param(4, marks=pytest.mark.slow)])
def test_two_launches_at_once(slots: int) -> None:
    """Both look for slots of one array from the same numbers on; of four for eight CTAs half of them wait."""
    assert of_two_launches(compiled("gemm").ptx, slots) <= GEMM.tolerance


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ORDERS[:2])
def test_ctas_of_a_cluster_have_slots_of_their_own(order: str) -> None:
    """What they multicast goes by the maps of the one that copies."""
    kernel = compiled("gemm", ctas=2)
    assert kernel.manifest["cluster"] == [2, 1, 1]
    assert ".multicast::cluster" in kernel.ptx
    assert error(kernel, GEMM, schedule=order) <= GEMM.tolerance


@pytest.mark.parametrize("size", [(0, 136, 72), (200, 136, 0)])
def test_arrays_without_elements(size: tuple[int, int, int]) -> None:
    m, n, k = size
    a, b = (np.ones((max(rows, 1), max(k, 8)), np.float16) for rows in (m, n))
    c = np.full((max(m, 1), n), 3, np.float32)
    d = np.zeros_like(c)
    compiled("gemm").run((2, 2), a, b, c, d, m, n, k, a.shape[1], b.shape[1], n, n, check=True)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("example", ["gemm", "flash_attention", "layernorm", "softmax"])
def test_maps_have_a_price(example: str, target: str) -> None:
    """They are made where tensor copies still cost less, and the price is that of making them once."""
    given, own, without = (
        compiled(example, target, **options).cost
        for options in ({"own_maps": False}, {}, {"forbid": frozenset(("tma",))})
    )
    assert given <= own <= without * (1 + 1e-9)


def test_the_price_decides() -> None:
    assert compiled("gemm").cost < compiled("gemm", forbid=frozenset(("tma",))).cost
    assert COPY in compiled("flash_attention", "sm_120a", occupancy=2, own_maps=False).ptx
    assert COPY not in compiled("flash_attention", "sm_120a", occupancy=2).ptx


@pytest.mark.in_turn
def test_targets_without_tensor_copies_are_as_before() -> None:
    assert compiled("gemm", "sm_80").ptx == compiled("gemm", "sm_80", own_maps=False).ptx


MUTANTS: dict[str, tuple[str, str]] = {
    "maps are not acquired": (r"fence\.proxy\.tensormap::generic\.acquire\.gpu .*;", ""),
    "the first map is not acquired": (
        r"fence\.proxy\.tensormap::generic\.acquire\.gpu \[%rd\d+\], 128;(?=[^$]*acquire)", ""
    ),
    "maps are not published": (r"tensormap\.cp_fenceproxy.*;", ""),
    "acquired before all have met": (
        r"(bar\.sync 0;)\s+(ld\.shared\.b64 %rd\d+, .*;(?:\s*add\.s64.*;|\s*fence\.proxy\.tensormap.*;)+)", r"\2 \1"
    ),
    "the field of a stride is left out": (r"tensormap\.replace\.tile\.global_stride.*;", ""),
    "extents change places": (r"(global_dim\..*), 0, (%r\d+);", r"\1, 1, \2;"),
    "another type": (r"(elemtype\..*), 6;", r"\1, 7;"),
    "another swizzle": (r"(swizzle_mode\..*), 3;", r"\1, 2;"),
    "memory is not zeroed": (r"st\.shared\.b32 \[%r\d+(\+128)?\], 0;", ""),
    "lanes publish before the fields are there": (r"bar\.warp\.sync -1;", ""),
}  # fmt: skip
SLOTS: dict[str, tuple[str, str]] = {
    "a slot that is taken is taken too": (
        r"setp\.ne\.s32 (%p\d+), %r\d+, 0;(?=\s+add\.s32 %r\d+, %r\d+, 1;\s+and\.b32)", r"setp.ne.s32 \1, 0, 0;"
    ),
    "taken without a mark": (r"(atom\.acquire\.gpu\.global\.exch\.b32 .*), %r\d+;", r"\1, 0;"),
    "the slot is not given back": (r"atom\.release\.gpu\.global\.and\.b32.*;", ""),
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    kernel = compiled("gemm")
    ptx = changed(kernel.ptx, MUTANTS[name])
    caught(lambda order: error(kernel, GEMM, ptx, order) <= GEMM.tolerance, ORDERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOTS)
def test_mutants_of_slots_are_caught(name: str) -> None:
    ptx = changed(compiled("gemm").ptx, SLOTS[name])
    caught(lambda _: of_two_launches(ptx, 4) <= GEMM.tolerance, ["together"])


def test_slots_are_as_many_as_ctas_can_be_resident() -> None:
    """Of a device of 256 SMs, by what shared memory and warps leave."""
    (maps, flags) = re.findall(r"\.global .* (?:maps|slots)\$gemm\[(\d+)\];", compiled("gemm").ptx)
    assert (int(maps), int(flags)) == (256 * 3 * 128, 256 * 4)  # one CTA an SM: two maps, and what empty ones point to


def test_arrays_of_the_module_by_their_kernel() -> None:
    """Kernels of one file do not share their slots, whose maps differ in number; literals of zeros stay as they are."""
    text = compiled("gemm").stages["nvgpu"]
    assert "maps$gemm, 128, 98304>" in text

"""The order of warpgroup products is verified: no fence, commit or wait of a compiled kernel may be left out."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from ir.core import Op, TileError, Value, verify
from ir.dialects import nvgpu, nvvm
from ir.text.level_input import read_level
from lowering.passes import code as code  # declares what texts hold
from ptxsim import SimulatorError
from tests.lowering.test_hopper import simulate
from tests.programs import cutile, cutile_cases, cutile_others  # noqa: F401
from tests.programs.agents import AGENTS
from tests.programs.program import PROGRAMS
from tests.tilesat.example_cases import EXAMPLES, gemm
from tilesat import compile

STEPS = (nvvm.WgmmaFence, nvvm.WgmmaCommitGroup, nvgpu.WarpgroupWait, nvvm.WgmmaWaitGroup)
KERNELS = {
    "gemm": 4, "gemm_negated": 3, "flash_attention": 10, "agents-two-loops": 8, "agents-ring-around-ring": 4,
    "cutile-fused_mlp": 10,
}  # fmt: skip
"""Fences, commits and waits of each at nvgpu. The last one begins a product while the sum before it is read."""

TWO = ("flash_attention", "cutile-fused_mlp")
"""Of these two products are in flight at once."""


@cache
def stages(name: str) -> Any:
    programs = {**AGENTS, **PROGRAMS}
    source = programs[name].source() if name in programs else EXAMPLES / f"{name}.mlir"
    return compile(source, "sm_90a", forbid=["loop.peel"]).stages  # one loop, not one without masks before it


def steps(kernel: Op) -> list[Op]:
    return [op for op in kernel.walk() if isinstance(op, STEPS)]


def without(kernel: Op, number: int) -> Op:
    """Take out a step; what passes through a wait goes by it."""
    op = steps(kernel)[number]
    assert op.parent is not None
    op.parent.ops.remove(op)
    passed: dict[Value, Value] = dict(zip(op.results, op.operands, strict=True))
    for each in kernel.walk():
        each.operands = [passed.get(v, v) for v in each.operands]
    return op


@pytest.mark.sampled(12)
@pytest.mark.parametrize("level", ["nvgpu", "nvvm"])
@pytest.mark.parametrize("name", KERNELS)
def test_compiled_kernels_are_in_order(name: str, level: str) -> None:
    kernel = read_level(stages(name)[level])
    verify(kernel)
    assert len(steps(kernel)) == KERNELS[name]


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("name", "number"), [(name, i) for name, count in KERNELS.items() for i in range(count)])
def test_no_step_may_be_left_out(name: str, number: int) -> None:
    kernel = read_level(stages(name)["nvgpu"])
    left = without(kernel, number)
    with pytest.raises(TileError) as caught:
        verify(kernel)
    assert caught.value.location.line > 0
    expected = {
        nvvm.WgmmaFence: "needs nvvm.wgmma.fence.aligned",
        nvvm.WgmmaCommitGroup: "which is in flight; its group is not committed: expected nvvm.wgmma.commit.group",
        nvgpu.WarpgroupWait: "which is in flight; wait for its group first",
    }[type(left)]  # pyright: ignore
    # where two products are in flight, what is left out of one may be missed at the other
    elsewhere = (name in TWO and "product at" in caught.value.message) or "must pass through" in caught.value.message
    assert expected in caught.value.message or elsewhere


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "number"), [(name, i) for name, count in KERNELS.items() for i in range(count)])
def test_at_nvvm_what_is_about_registers(name: str, number: int) -> None:
    """A wait that only says that a stage has been read is not missed there: addresses do not say which stage."""
    kernel = read_level(stages(name)["nvvm"])
    left = without(kernel, number)
    if isinstance(left, nvvm.WgmmaWaitGroup) and left.group and name not in TWO:
        verify(kernel)
        return
    with pytest.raises(TileError):
        verify(kernel)


HEAD = """"gpu.func"() <{block = array<i64: 128, 1, 1>, sym_name = "f", target = "sm_90a"}> ({
^bb0(%f: f32, %c: i1, %s: i32):
  %base = "tilesat.gpu.dynamic_shared_memory"() : () -> !llvm.ptr<3>
  %stage = "tilesat.llvm.getelementptr"(%base, %s) <{element_bytes = 4096 : i64, \
operandSegmentSizes = array<i32: 1, 1>}> \
: (!llvm.ptr<3>, i32) -> !llvm.ptr<3>
  %bar = "tilesat.llvm.getelementptr"(%base, %s) <{element_bytes = 8 : i64, offset = 65536 : i64, \
operandSegmentSizes = array<i32: 1, 1>}> : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>
  %d = "tilesat.nvgpu.matrix_descriptor"(%stage) <{lbo = 16 : i64, sbo = 1024 : i64, swizzle = "128B"}> \
: (!llvm.ptr<3>) -> i64
  %v = "vector.from_elements"(%f, %f, %f, %f) : (f32, f32, f32, f32) -> vector<2x2xf32>
"""
FENCE = '  "nvvm.wgmma.fence.aligned"() : () -> ()\n'
PRODUCT = """  %r = "tilesat.nvgpu.warpgroup.mma"(%d, %d, %v) <{operandSegmentSizes = array<i32: 1, 1, 0, 1>, \
shape = array<i64: 64, 8, 16>, type_a = "f16", type_b = "f16"}> : (i64, i64, vector<2x2xf32>) -> vector<2x2xf32>
"""
COMMIT = '  "nvvm.wgmma.commit.group.sync.aligned"() : () -> ()\n'
WAIT = '  %w = "tilesat.nvgpu.warpgroup.wait"(%r) <{pending = 0 : i64}> : (vector<2x2xf32>) -> vector<2x2xf32>\n'
READ = '  %x = "arith.addf"(%w, %w) : (vector<2x2xf32>, vector<2x2xf32>) -> vector<2x2xf32>\n'
ARRIVE = '  "tilesat.nvvm.mbarrier.arrive.shared"(%bar) : (!llvm.ptr<3>) -> ()\n'
STORE = """  "tilesat.nvgpu.store"(%f, %stage) <{operandSegmentSizes = array<i32: 1, 1, 0>}> \
: (f32, !llvm.ptr<3>) -> ()
"""
END = '  "gpu.return"() : () -> ()\n}) : () -> ()\n'


def refused(*lines: str) -> str:
    with pytest.raises(TileError) as caught:
        verify(read_level(HEAD + "".join(lines) + END))
    return caught.value.message


def test_a_product_in_order() -> None:
    verify(read_level(HEAD + FENCE + PRODUCT + COMMIT + WAIT + READ + ARRIVE + STORE + END))


def test_messages() -> None:
    product = r"the product at <text>:\d+:\d+"
    wait = "in flight; wait for its group first"
    assert refused(PRODUCT, COMMIT, WAIT).endswith("needs nvvm.wgmma.fence.aligned before the first product")
    again = PRODUCT.replace("%r", "%q").replace("%v)", "%w)")
    assert re.search(
        r"needs nvvm.wgmma.fence.aligned after 'arith.addf' at <text>:\d+:\d+, which accesses one of its registers",
        refused(FENCE, PRODUCT, COMMIT, WAIT, READ, again),
    )
    early = READ.replace("%w", "%r")
    assert re.search(f"accesses a register of {product}, which is {wait}", refused(FENCE, PRODUCT, COMMIT, early))
    assert "its group is not committed: expected nvvm.wgmma.commit.group" in refused(FENCE, PRODUCT, WAIT, READ)
    reads = f"the stage that {product} reads, which is {wait}"
    assert re.search(f"releases {reads}", refused(FENCE, PRODUCT, COMMIT, ARRIVE))
    assert re.search(f"writes {reads}", refused(FENCE, PRODUCT, COMMIT, STORE))
    empty = '  "tilesat.nvgpu.warpgroup.wait"() <{pending = 0 : i64}> : () -> ()\n'
    assert re.search(f"ends {product}: all its registers must pass through", refused(FENCE, PRODUCT, COMMIT, empty))


def test_one_side_of_a_branch_is_enough() -> None:
    """What is so on one path is taken to be so."""
    side = '  "scf.if"(%c) ({{\n{}"scf.yield"() : () -> ()\n}}, {{"scf.yield"() : () -> ()}}) : (i1) -> ()\n'
    assert "before the first product" in refused(side.format(FENCE), PRODUCT, COMMIT, WAIT)
    assert "is not committed" in refused(FENCE, PRODUCT, side.format(COMMIT), WAIT, READ)


@pytest.mark.parametrize("k", [512])
def test_a_stage_that_is_released_before_it_was_read_is_a_hazard(k: int) -> None:
    """No wait for the products of the step before, in PTX, which no verifier checks."""
    case = gemm(128, 128, k)
    kernel = compile(case.source, "sm_90a")
    changed, count = re.subn(r"wgmma\.wait_group\.sync\.aligned 1;", "", kernel.ptx)
    assert count == 1
    with pytest.raises(SimulatorError):
        simulate(kernel, changed, case.grid, case.fresh())

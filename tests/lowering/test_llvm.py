"""Kernels as modules of upstream MLIR: what is inline PTX and how, and with the extra mlir what LLVM makes of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilesat
from benchmarks.llvm import decided, length, opcodes, without_unrolling
from benchmarks.upstream import to_ptx
from ir.core import Block, Op, Region, Type
from ir.dialects import llvm, nvvm
from ir.dialects.gpu import GlobalArray
from ir.instruction import placed
from ir.types import BF16, F16, F32, GLOBAL_PTR, I1, I32, I64, SHARED_PTR, VectorType
from lowering.llvm import print_module
from lowering.llvm.assembly import Inline
from runtime.ptxas import assemble
from tests.lowering.instruction_kernels import Listing, instructions, samples
from tests.programs.program import PROGRAMS, Program, reported, simulate
from tests.programs.test_programs import NAMES, first_target
from tests.tilesat.example_cases import QUICK
from tilesat.execution import check_arguments
from tilesat.execution import simulate as simulate_launch
from tilesat.grid import as_grid

HOLE = re.compile(r"(?<!\$)\$(\d+)")
TARGETS = ("sm_80", "sm_90a", "sm_120a")


def kernel_of(*types: Type) -> tuple[llvm.Func, Block]:
    block = Block(types)
    return llvm.Func((), (), {"sym_name": "k", "target": "sm_90a", "block": (128, 1, 1)}, [Region([block])]), block


def module_of(op: Op, func: llvm.Func, block: Block) -> str:
    """The module of a kernel with one operation, whose results are returned through memory."""
    block.append(op)
    for result in op.results:
        block.append(nvvm.St((block.args[0], result), (), {}, segments=(1, 0, 1)))
    block.append(llvm.Return())
    return print_module(func)


def inlined(text: str) -> list[tuple[str, str]]:
    """Text and constraints of each inline PTX."""
    return re.findall(r'asm_string = "((?:[^"\\]|\\.)*)", constraints = "([^"]*)"', text)


def one(op: Op, func: llvm.Func, block: Block) -> tuple[str, str]:
    return inlined(module_of(op, func, block))[0]


def test_a_guarded_load_keeps_what_passes_through_in_a_register_that_no_operand_has() -> None:
    func, block = kernel_of(GLOBAL_PTR, I1, F32)
    pointer, guard, other = block.args
    load = nvvm.Ld((pointer, guard, other), [F32], {}, segments=(1, 1, 1, 0))
    assert one(load, func, block) == ("mov.b32 $0, $1; @$2 ld.global.b32 $0, $3;", "=&f,f,b,*m,~{memory}")


@pytest.mark.parametrize(
    ("space", "store"),
    [
        (SHARED_PTR, ("@!$0 st.shared.b32 [$1+16], $2;", "b,r,r,~{memory}")),
        (GLOBAL_PTR, ("@!$0 st.global.b32 $1, $2;", "b,*m,r,~{memory}")),
    ],
)
def test_displacements_and_negations_are_folded(space: Type, store: tuple[str, str]) -> None:
    assert inlined(guarded_store(space)) == [store]


@pytest.mark.mlir
def test_addresses_of_guarded_accesses_are_llvms() -> None:
    assert re.search(r"@!%p\d+ st.global.b32 \[%rd\d+\+16\], %r\d+;", to_ptx(guarded_store(GLOBAL_PTR)))


def guarded_store(space: Type) -> str:
    """A module that stores at a displacement where a predicate does not hold."""
    func, block = kernel_of(space, I1, I32)
    pointer, guard, value = block.args
    (one_,) = block.append(llvm.Constant((), [I1], {"value": 1})).results
    (negated,) = block.append(llvm.Xor((guard, one_))).results
    (moved,) = block.append(llvm.GetElementPtr((pointer,), None, {"offset": 16}, segments=(1, 0))).results
    block.append(nvvm.St((moved, negated, value), (), {}, segments=(1, 1, 1)))
    block.append(llvm.Return())
    return print_module(func)


def test_tied_operands_are_constraints_and_not_in_the_text() -> None:
    func, block = kernel_of(GLOBAL_PTR, I64, *(F32,) * 4)
    _, descriptor, *old = block.args
    given = {"shape": (64, 8, 16), "typeA": "f16", "typeB": "f16"}
    product = nvvm.WgmmaMmaAsync((descriptor, descriptor, *old), (F32,) * 4, given, segments=(1, 1, 0, 4))
    text, constraints = one(product, func, block)
    assert text == ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $8, $8, 1, 1, 1, 0, 0;")
    assert constraints == "=f,=f,=f,=f,0,1,2,3,l,~{memory}"


def test_what_a_wait_holds_passes_through_it() -> None:
    func, block = kernel_of(GLOBAL_PTR, F32, F32)
    wait = nvvm.WgmmaWaitGroup(block.args[1:], (F32, F32), {"group": 0})
    assert one(wait, func, block) == ("wgmma.wait_group.sync.aligned 0;", "=f,=f,0,1,~{memory}")


def test_a_loop_inside_an_instruction_has_a_label_and_registers_of_its_own() -> None:
    func, block = kernel_of(GLOBAL_PTR, SHARED_PTR, I32)
    wait = nvvm.MBarrierTryWaitParity(block.args[1:])
    text, constraints = one(wait, func, block)
    assert text == (
        "{ .reg .pred p_0; again: mbarrier.try_wait.parity.shared::cta.b64 p_0, [$0], $1; @!p_0 bra again; }"
    )
    assert constraints == "r,r,~{memory}"


def test_instructions_that_upstream_has_as_we_do_are_its_operations() -> None:
    func, block = kernel_of(GLOBAL_PTR)
    assert '"nvvm.cp.async.commit.group"() : () -> ()' in module_of(nvvm.CpAsyncCommitGroup(), func, block)


def test_barriers_of_the_cta_are_upstreams_which_llvm_may_not_copy() -> None:
    func, block = kernel_of(GLOBAL_PTR)
    block.append(nvvm.Barrier0())
    text = module_of(nvvm.NamedBarrier((), (), {"barrierId": 3, "numberOfThreads": 64}), func, block)
    assert '"nvvm.barrier"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> ()' in text
    assert re.search(r"(%\d+) = .*value = 3 : i32.*\n.*(%\d+) = .*64 : i32.*\n    \"nvvm.barrier\"\(\1, \2\) ", text)
    assert inlined(text) == []


def test_plain_accesses_are_llvms_own() -> None:
    """Vectors of what is moved at once, aligned to it; `nc` is invariant."""
    func, block = kernel_of(GLOBAL_PTR, VectorType((2,), F16), VectorType((2,), F16))
    pointer, *pair = block.args
    load = nvvm.Ld((pointer,), [F32] * 4, {"cache": "nc"}, segments=(1, 0, 0, 0))
    block.append(nvvm.St((pointer, *pair), (), {}, segments=(1, 0, 2)))
    text = module_of(load, func, block)
    vector = '"llvm.load"(%0) <{alignment = 16 : i64, invariant, ordering = 0 : i64}> : (!llvm.ptr<1>) -> vector<4xi32>'
    assert vector in text
    assert text.count('"llvm.extractelement"') == 4
    assert re.search(r'"llvm.store"\(%\d+, %0\) <{alignment = 8 : i64, .*\(vector<2xi32>, !llvm.ptr<1>\)', text)
    assert inlined(text) == []


def test_arrays_of_the_module_may_be_written() -> None:
    func, block = kernel_of(GLOBAL_PTR)
    func.attributes |= {"arrays": (GlobalArray("table", 4, bytes(8)),)}
    block.append(llvm.Return())
    assert "llvm.mlir.global internal @table(dense<" in print_module(func)


def test_displacements_in_shared_memory_are_llvms() -> None:
    """A register of 32 bits as a pointer, and what is added to it in the pointer's width."""
    func, block = kernel_of(GLOBAL_PTR, SHARED_PTR)
    (moved,) = block.append(llvm.GetElementPtr((block.args[1],), None, {"offset": 16}, segments=(1, 0))).results
    text = module_of(nvvm.Ld((moved,), [I32], {}, segments=(1, 0, 0, 0)), func, block)
    assert re.search(
        r'"llvm.inttoptr"\(%1\) : \(i32\) -> !llvm.ptr<3>\n.* = 16 : i64.*\n.*getelementptr.*\n.*"llvm.load"', text
    )


@pytest.mark.parametrize(
    ("operands", "segments", "attributes"),
    [
        (1, (1, 1, 0, 0), {}),
        (0, (1, 0, 0, 0), {"cache": "cg"}),
        (0, (1, 0, 0, 0), {"order": "acquire", "scope": "gpu"}),
    ],
)
def test_other_accesses_are_inline(operands: int, segments: tuple[int, ...], attributes: dict[str, Any]) -> None:
    func, block = kernel_of(GLOBAL_PTR, I1)
    text = module_of(nvvm.Ld(block.args[: 1 + operands], [I32], attributes, segments=segments), func, block)
    assert "llvm.load" not in text
    assert len(inlined(text)) == 1


X, WORD, PAIR = F32, I32, VectorType((2,), F16)


@pytest.mark.parametrize(
    ("op", "types", "results", "attributes", "text"),
    [
        (llvm.FAdd, (X, X), None, {}, ""),
        (llvm.FAdd, (X, X), None, {"rounding": "rm"}, "add.rm.f32 $0, $1, $2;"),
        (llvm.FAdd, (X, X), None, {"ftz": True}, "add.rn.ftz.f32 $0, $1, $2;"),
        (llvm.FAdd, (BF16, BF16), None, {}, "add.rn.bf16 $0, $1, $2;"),
        (llvm.FAdd, (PAIR, PAIR), None, {}, "add.rn.f16x2 $0, $1, $2;"),
        (llvm.Fma, (X, X, X), None, {}, ""),
        (llvm.Fma, (X, X, X), None, {"rounding": "rm"}, "fma.rm.f32 $0, $1, $2, $3;"),
        (llvm.Fma, (X, X, X), None, {"saturate": True}, "fma.rn.sat.f32 $0, $1, $2, $3;"),
        (llvm.Maximum, (X, X), None, {}, "max.NaN.f32 $0, $1, $2;"),
        (llvm.MinNum, (X, X), None, {}, "min.f32 $0, $1, $2;"),
        (llvm.FCmp, (X, X), (I1,), {"predicate": "ult"}, ""),
        (llvm.FCmp, (X, X), (I1,), {"predicate": "ult", "ftz": True}, "setp.ltu.ftz.f32 $0, $1, $2;"),
        (llvm.FPTrunc, (X,), (F16,), {"rounding": "rz"}, "cvt.rz.f16.f32 $0, $1;"),
        (llvm.FPToSI, (X,), (I32,), {}, "cvt.rzi.s32.f32 $0, $1;"),
        (llvm.Shl, (WORD, WORD), None, {}, "shl.b32 $0, $1, $2;"),
        (llvm.Shl, (I64, I64), None, {}, "{ .reg .b32 r_0; cvt.u32.u64 r_0, $1; shl.b64 $0, $2, r_0; }"),
        (llvm.UDiv, (WORD, WORD), None, {}, "div.u32 $0, $1, $2;"),
        (llvm.Mul, (WORD, WORD), None, {"nsw": True}, ""),
    ],
)  # fmt: skip
def test_what_llvm_means_otherwise_is_inline(
    op: Any, types: tuple[Type, ...], results: Any, attributes: dict[str, Any], text: str
) -> None:
    func, block = kernel_of(GLOBAL_PTR, *types)
    made = module_of(op(block.args[1:], results, attributes), func, block)
    found = [each for each, _ in inlined(made) if not each.startswith("st.")]
    assert found == ([text] if text else [])
    assert (f'"{op.info.name}"(' in made) == (not text)


def test_shifts_and_quotients_by_what_llvm_defines_are_its_own() -> None:
    for op, number, own in ((llvm.Shl, 5, True), (llvm.Shl, 32, False), (llvm.UDiv, 3, True), (llvm.SDiv, 0, False)):
        func, block = kernel_of(GLOBAL_PTR, I32)
        (by,) = block.append(llvm.Constant((), [I32], {"value": number})).results
        assert (f'"{op.info.name}"(' in module_of(op((block.args[1], by)), func, block)) == own


def test_attributes_of_the_function_are_those_of_the_boundary() -> None:
    func, block = kernel_of(GLOBAL_PTR)
    func.attributes |= {"cluster": (2, 1, 1), "minctas": 3}
    block.append(llvm.Return())
    wanted = "nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.cluster_dim = array<i32: 2, 1, 1>, nvvm.minctasm = 3 : i32}"
    assert f"attributes {{nvvm.kernel, {wanted}" in print_module(func)
    func.attributes |= {"cluster": (1, 1, 1), "minctas": 0, "maxnreg": 96}
    assert "array<i32: 128, 1, 1>, nvvm.maxnreg = 96 : i32}" in print_module(func)


@pytest.mark.mlir
def test_llvm_prints_the_directives_of_the_boundary() -> None:
    func, block = kernel_of(GLOBAL_PTR)
    func.attributes |= {"cluster": (2, 1, 1), "minctas": 3}
    block.append(llvm.Return())
    theirs = to_ptx(print_module(func))
    for directive in (".reqntid 128, 1, 1", ".reqnctapercluster 2, 1, 1", ".minnctapersm 3"):
        assert directive in theirs


def test_loops_stay_as_they_were_scheduled() -> None:
    text = tilesat.compile(QUICK["gemm-200x136x72"]().source, "sm_90a").stages["llvm"]
    backwards = [line for line in text.splitlines() if "llvm.loop_annotation<disableNonforced = true>" in line]
    assert backwards
    assert all('"llvm.br"' in line or '"llvm.cond_br"' in line for line in backwards)


@pytest.mark.parametrize("cls", instructions(), ids=lambda cls: cls.info.name)
def test_operands_of_every_instruction_are_those_of_its_constraints(cls: Any) -> None:
    for form in cls.forms():
        made = Listing("sm_90a")
        made.add(cls, form)
        op = next(each for each in made.entry.ops if type(each) is cls)
        found = Inline(made.func).assembly(op)
        constraints = [each for each in found.constraints.split(",") if each != "~{memory}"]
        assert len(constraints) == len(found.results) + len(found.operands)
        named = {int(number) for number in HOLE.findall(found.text)}
        assert named <= set(range(len(constraints)))
        tied = {int(each) for each in constraints if each.isdigit()}
        alone = set(range(len(constraints))) - tied - set(range(len(found.results), len(found.results) + len(tied)))
        assert alone <= named


def test_opcodes_are_counted_inside_braces_and_behind_guards() -> None:
    text = (
        "$L:\n { .reg .pred p; again: mbarrier.try_wait.x p, [%r1]; @!p bra again; }\n@%p1 bar.sync 0; // bar.sync 1;"
    )
    assert opcodes(text) == {"mbarrier.try_wait.x": 1, "bra": 1, "bar.sync": 1}
    assert decided(text) == {"mbarrier.try_wait.x": 1, "bar.sync": 1}


# Through LLVM


def judged(kernel: tilesat.Kernel, program: Program | None = None) -> str:
    """LLVM's PTX: ptxas takes it without a word, it has the same tensor, copy, barrier and fence instructions; where
    LLVM has put what follows a branch on both its sides, warps execute as many of them.
    """
    theirs = to_ptx(kernel.stages["llvm"])
    if decided(theirs) != decided(kernel.ptx) and program is not None:
        reports = [reported(kernel, program, ptx=ptx)[1] for ptx in (theirs, kernel.ptx)]
        found, wanted = ({k: r.instructions[k] for k in decided(kernel.ptx)} for r in reports)
        assert found == wanted
        assert decided(theirs).keys() == decided(kernel.ptx).keys()
    else:
        assert decided(theirs) == decided(kernel.ptx)
    made = assemble(theirs, kernel.target)
    assert (made.warnings, made.infos) == ((), ())
    return theirs


def same(found: list[Any], wanted: list[Any]) -> bool:
    """To the bit."""
    pairs = zip(found, wanted, strict=True)
    return all(a.tobytes() == b.tobytes() if isinstance(a, np.ndarray) else a == b for a, b in pairs)


@pytest.mark.mlir
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [name for name in QUICK if name != "gemm-130x96x56"])
def test_llvm_makes_the_same_of_examples(name: str, target: str) -> None:
    case = QUICK[name]()
    kernel = tilesat.compile(case.source, target)
    theirs = judged(kernel)
    assert length(assemble(kernel.ptx, target)) <= length(assemble(theirs, target))
    found = [case.fresh(), case.fresh()]
    for ptx, arguments in zip((kernel.ptx, theirs), found, strict=True):
        simulate_launch(ptx, kernel.manifest, as_grid(case.grid), check_arguments(kernel.entry, arguments))
    assert same(*found)


SAMPLE = [*dict.fromkeys([*NAMES[::20], "loop-drawn-persistent", "global-written"])]
"""Of all families of programs some, one with barriers in the head of a loop, which LLVM would copy, and one that writes
an array of the module, whose loads LLVM must not take for its initial numbers.
"""


@pytest.mark.mlir
@pytest.mark.parametrize("name", SAMPLE)
def test_llvm_makes_the_same_of_programs(name: str) -> None:
    kernel = tilesat.compile(PROGRAMS[name].source(), first_target(name))
    theirs = judged(kernel, PROGRAMS[name])
    assert same(simulate(kernel, PROGRAMS[name], ptx=theirs), simulate(kernel, PROGRAMS[name]))


@pytest.mark.mlir
@pytest.mark.parametrize("target", TARGETS)
def test_llvm_carries_every_instruction_of_a_tier(target: str) -> None:
    made = Listing(target)
    for sample in samples():
        if placed(*sample).needs().met_by(target):
            made.add(*sample)
    theirs = to_ptx(print_module(made.finished()))
    assert assemble(theirs, target)


def test_loops_are_compared_as_they_are_written():
    """ptxas unrolls a counted loop four times: with the pragma the same loop is less than half as long."""
    ptx = tilesat.compile(PROGRAMS["in-place-after-loop"].source(), "sm_80").ptx
    plain = without_unrolling(ptx)
    assert plain.count(".pragma") == 1
    assert [line for line in plain.splitlines() if ".pragma" not in line] == ptx.splitlines()
    assert 2 * length(assemble(plain, "sm_80")) < length(assemble(ptx, "sm_80"))


def test_branches_ahead_are_no_loops():
    ahead = "    @%p0 bra $L1;\n    add.s32 %r0, %r1, 1;\n$L1:\n    ret;"
    assert without_unrolling(ahead) == ahead

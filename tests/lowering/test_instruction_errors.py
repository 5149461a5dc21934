"""What each instruction refuses: a legal form with one thing changed, and the words of the message."""

from __future__ import annotations

import re

import pytest

from ir.core import Block, VerifyError, verify
from ir.dialects import nvvm
from ir.instruction import Form, built
from ir.types import F16, F32, F64, GLOBAL_PTR, I32, I64, SHARED_PTR, VectorType
from lowering.ptx.instructions import lines_of
from tests.lowering.instruction_kernels import Listing


def changed(cls, wanted=None, operands=None, results=None, **attributes) -> None:
    """Verify the first form with these attributes, after changing operand groups, results or attributes."""
    form = next(f for f in cls.forms() if all(f.attributes.get(k) == v for k, v in (wanted or {}).items()))
    groups = list(form.operands)
    for at, kinds in (operands or {}).items():
        groups[at] = kinds
    made = Form(tuple(groups), form.results if results is None else results, {**form.attributes, **attributes})
    verify(built(cls, made, Block([kind for group in groups for kind in group]).args))


CASES = [
    (nvvm.NamedBarrier, {"numberOfThreads": 48}, "threads must be whole warps, is 48"),
    (nvvm.FenceProxy, {"wanted": {"kind": "alias"}, "space": "global"}, "a fence of 'alias' has no space"),
    (nvvm.BulkReduce, {"kind": "min", "type": "f64"}, "no min of f64; there are"),
    (nvvm.Atom, {"type": "b32"}, "no add of b32; there are"),
    (nvvm.Atom, {"kind": "max", "type": "f32"}, "no max of f32; there are"),
    (nvvm.Atom, {"type": "f64"}, "values must have 64 bits, have 32"),
    (nvvm.StAsync, {"operands": {1: (F64,)}}, "value must be i32 or i64, is f64"),
    (nvvm.TensorMapReplace, {"operands": {1: (I32,)}, "field": "global_stride"}, "global_stride expects i64"),
    (nvvm.CpAsyncSharedGlobal, {"size": 4, "modifier": "cg"}, "modifier cg needs 16 bytes, has 4"),
    (nvvm.TensorLoad, {"operands": {2: (I32,) * 6}}, "needs 1 to 5 coordinates, has 6"),
    (nvvm.AddF32x2, {"operands": {1: (VectorType((2,), F32),)}}, "operands differ"),
    (nvvm.TensorLoadIm2col, {"operands": {2: (I32,) * 2}}, "im2col needs 3 to 5 coordinates, has 2"),
    (nvvm.TensorLoadIm2col, {"operands": {4: ()}}, "needs 1 offsets, has 0"),
    (nvvm.TensorGather4, {"operands": {2: (I32,) * 4}}, "needs a column and four rows, has 4"),
    (nvvm.TensorScatter4, {"operands": {2: (I32,) * 4}}, "needs a column and four rows, has 4"),
    (nvvm.MmaSync, {"shape": (16, 8, 4)}, "no mma.sync (16, 8, 4) of f16; there are"),
    (nvvm.MmaSync, {"shape": ()}, "no mma.sync () of f16"),
    (nvvm.MmaSync, {"multiplicandBPtxType": "bf16"}, "no mma.sync of f16 and bf16"),
    (nvvm.MmaSync, {"accumulatorPtxType": "s32"}, "no mma.sync of f16 into s32"),
    (nvvm.MmaSync, {"b1Op": "xor"}, "b1Op applies to operands of bits (b1) only"),
    (nvvm.MmaSync, {"operands": {1: (I32,)}}, "b must have 64 bits per lane, has 32"),
    (nvvm.LdMatrix, {"results": (I32, I32)}, "must have 1 results, has 2"),
    (nvvm.LdMatrix, {"results": (I64,)}, "results must be registers of 32 bits"),
    (nvvm.StMatrix, {"operands": {1: (I32,) * 3}}, "stores 1, 2 or 4 matrices, not 3"),
    (nvvm.StMatrixBytes, {"operands": {1: (I32,) * 3}}, "stores 1, 2 or 4 matrices, not 3"),
    (nvvm.WgmmaWaitGroup, {"results": (I32,)}, "results must have the types of the operands"),
    (nvvm.WgmmaMmaAsync, {"shape": (64, 64)}, "shape must be (m, n, k), is (64, 64)"),
    (nvvm.WgmmaMmaAsync, {"typeB": "bf16"}, "no wgmma of f16 and bf16"),
    (nvvm.WgmmaMmaAsync, {"typeD": "s32"}, "no wgmma of f16 into s32"),
    (nvvm.WgmmaMmaAsync, {"shape": (64, 60, 16)}, "no wgmma m64n60k16 of f16"),
    (nvvm.WgmmaMmaAsync, {"wanted": {"typeA": "s8"}, "scaleB": -1}, "s8 operands cannot be negated"),
    (nvvm.WgmmaMmaAsync, {"results": (F32,) * 3}, "n = 64 needs 32 results, has 3"),
    (nvvm.WgmmaMmaAsync, {"operands": {3: (F32,)}}, "needs 32 accumulators or none, has 1"),
    (nvvm.WgmmaMmaAsync, {"wanted": {"typeA": "tf32"}, "layoutB": "row"}, "tf32 operands must be K-major"),
    (nvvm.WgmmaMmaAsync, {"operands": {0: (I32,)}}, "a must be an i64 descriptor or four registers of 32 bits"),
    (nvvm.WgmmaMmaAsync, {"operands": {0: (I32,) * 4}, "layoutA": "col"}, "a in registers has no layout"),
    (nvvm.Atom, {"operands": {2: ()}}, "add takes 1 values, has 0"),
    (nvvm.Atom, {"results": (I64,)}, "the old value and the new must have one type"),
    (nvvm.MultimemRed, {"type": "f16"}, "no multimem add of f16; there are"),
    (nvvm.MultimemSt, {"operands": {2: (I64,)}}, "the value must have 32 bits, has 64"),
    (nvvm.MultimemSt, {"order": "release"}, "an ordered access needs a scope, a weak one has none"),
    (nvvm.ConvertF32ToF4, {"results": (I32,)}, "2 numbers do not fill the half bytes of i32"),
    (nvvm.MulHigh, {"operands": {1: (I64,)}}, "factors differ: i32 and i64"),
    (nvvm.MmaSparse, {"shape": (16, 8, 8)}, "no mma.sp (16, 8, 8) of f16; there are"),
    (nvvm.MmaSparse, {"accumulator": "s32"}, "no mma.sp of f16 into s32"),
    (nvvm.MmaSparse, {"selector": 3}, "selector must be below 2, is 3"),
    (nvvm.MmaSparse, {"operands": {0: (I32,)}}, "a must have 128 bits per lane, has 32"),
    (nvvm.MmaBlockScale, {"typeA": "f16"}, "A of mxf8f6f4 must be one of"),
    (nvvm.MmaBlockScale, {"bytes": (0, 4)}, "bytes must be two of [0, 1, 2, 3], are (0, 4)"),
    (nvvm.MmaBlockScale, {"threads": (2, 0)}, "threads must be 0 or 1 and 0 to 3, are (2, 0)"),
    (nvvm.MmaBlockScale, {"operands": {1: (I32,)}}, "needs 4, 2, 4 and 4 registers of A, B, C and D, has [4, 1, 4, 4]"),
    (nvvm.LdMatrixBytes, {"num": 4}, "m16n16 is loaded once or twice, not 4 times"),
    (nvvm.LdMatrixBytes, {"shape": "m8n16"}, "m8n16 unpacks four or six bits"),
    (nvvm.LdMatrixBytes, {"results": (I32,)}, "must have 2 results, has 1"),
    (nvvm.SetMaxRegister, {"regCount": 100}, "regCount must be a multiple of 8, is 100"),
    (nvvm.Pack, {"results": (VectorType((3,), F16),)}, "must be held in one register, is vector<3xf16>"),
    (nvvm.MBarrierInit, {"operands": {0: (GLOBAL_PTR,)}},
     "must be an mbarrier or a pointer to shared memory, is !llvm.ptr<1>"),
    (nvvm.BulkLoad, {"operands": {1: (SHARED_PTR,)}}, "must be a pointer to global memory, is !llvm.ptr<3>"),
]  # fmt: skip


@pytest.mark.parametrize(("cls", "given", "message"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_illegal_instructions_are_refused(cls, given: dict, message: str) -> None:
    with pytest.raises(VerifyError, match=re.escape(message)):
        changed(cls, **given)


def test_a_malformed_instruction_is_refused_before_its_floor_is_asked_for() -> None:
    """The floor of an f64 product depends on its shape."""
    made = Listing("sm_80")
    form = next(f for f in nvvm.MmaSync.forms() if f.attributes["multiplicandAPtxType"] == "f64")
    made.add(nvvm.MmaSync, Form(form.operands, form.results, {**form.attributes, "shape": ()}))
    with pytest.raises(VerifyError, match=r"no mma.sync \(\) of f64"):
        made.ptx()


@pytest.mark.parametrize(("cls", "text", "message"), [
    (nvvm.Ex2, "ex2{flush} {result}, {operand};", "its PTX names 'flush', which is not a field or property of it"),
    (nvvm.Ex2, "ex2{flush?.ftz} {result}, {operand};", "its PTX tests 'flush', which never holds"),
    (nvvm.LdMatrix, "ldmatrix{layout=column?.trans} {out:vector}, [{ptr}];", "tests 'layout=column', which never"),
    (nvvm.StMatrix, "stmatrix [{ptr}], {sources:pair};", "a group of operands is written as vector, list, group"),
])  # fmt: skip
def test_a_text_with_a_wrong_hole_is_refused(cls, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        lines_of(cls, text)


def test_suffixes_follow_flags_and_values() -> None:
    listing = Listing("sm_80")
    for cls, wanted in ((nvvm.Ex2, {"ftz": True}), (nvvm.Ex2, {}), (nvvm.LdMatrix, {"num": 1, "layout": "col"})):
        listing.add(cls, next(form for form in cls.forms() if form.attributes == wanted))
    found = [line.split()[0] for line in listing.ptx().splitlines() if "ex2" in line or "ldmatrix" in line]
    assert found == ["ex2.approx.ftz.f32", "ex2.approx.f32", "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16"]

"""Kernels made of instructions alone, from their declared forms: each operand is read from memory, results are kept."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ir.core import OPS, Block, Region, Type, Value, verify
from ir.dialects import llvm, nvvm
from ir.instruction import Form, Instruction, built
from ir.types import GLOBAL_PTR, I1, I32, I64, SHARED_PTR, TENSOR_MAP, LLVMPointerType
from lowering.ptx import emit
from tests.lowering.nvgpu_harness import PTXAS

Sample = tuple[type[Instruction], Form]


def instructions() -> list[type[Instruction]]:
    """All declared instructions, by name."""
    assert nvvm.Ld.info.name in OPS
    return [cls for _, cls in sorted(OPS.items()) if issubclass(cls, Instruction)]


def samples() -> list[Sample]:
    """Every form of every instruction."""
    return [(cls, form) for cls in instructions() for form in cls.forms()]


class Listing:
    """A kernel of one block that runs forms one after the other."""

    def __init__(self, target: str):
        self.entry = Block([GLOBAL_PTR, TENSOR_MAP])
        self.memory, self.map = self.entry.args
        attributes = {"sym_name": "k", "target": target, "block": (128, 1, 1), "dynamic_smem": 1024, "maxnreg": 232}
        self.func = llvm.Func((), (), attributes, [Region([self.entry])])

    def add(self, cls: type[Instruction], form: Form) -> None:
        """One form: its operands are loaded, its results stored."""
        op = built(cls, form, [self.value(kind) for group in form.operands for kind in group])
        made = self.product(op) if isinstance(op, nvvm.WgmmaMmaAsync) else self.append(op).results
        for result in made:
            self.store(result)

    def product(self, op: nvvm.WgmmaMmaAsync) -> list[Value]:
        """A warpgroup's product between its fence and its wait, which all its registers pass through."""
        for each in (nvvm.WgmmaFence(), op, nvvm.WgmmaCommitGroup()):
            self.append(each)
        held = [*op.results, *(v for v in op.a if v.type != I64)]
        wait = nvvm.WgmmaWaitGroup(held, [v.type for v in held], {"group": 0})
        return self.append(wait).results[: len(op.results)]

    def append(self, op):
        op.parent = self.entry
        self.entry.ops.append(op)
        return op

    def value(self, kind: Type) -> Value:
        """An operand of this type that no constant folds."""
        if kind == TENSOR_MAP:
            return self.map
        if kind == SHARED_PTR:
            return self.append(llvm.AddressOf([], [kind], {"global_name": "dynamic_smem"})).results[0]
        if isinstance(kind, LLVMPointerType):
            return self.memory
        if kind == I1:
            word, zero = self.value(I32), self.append(llvm.Constant([], [I32], {"value": 0})).results[0]
            return self.append(llvm.ICmp([word, zero], [I1], {"predicate": "ne"})).results[0]
        loaded = nvvm.Ld([self.memory], [kind], {"order": "relaxed", "scope": "gpu"}, segments=(1, 0, 0, 0))
        return self.append(loaded).results[0]

    def store(self, value: Value) -> None:
        """Keep a result alive."""
        if value.type == I1:
            one, zero = (self.append(llvm.Constant([], [I32], {"value": i})).results[0] for i in (1, 0))
            value = self.append(llvm.Select([value, one, zero], [I32])).results[0]
        self.append(nvvm.St([self.memory, value], [], {}, segments=(1, 0, 1)))

    def ptx(self) -> str:
        """The verified kernel as PTX."""
        return emit(self.finished())

    def finished(self) -> llvm.Func:
        """The verified kernel."""
        self.append(llvm.Return())
        verify(self.func)
        return self.func


def listing(target: str, samples: Iterable[Sample]) -> str:
    """PTX of these forms, all of one CTA or all of a pair."""
    made = Listing(target)
    for cls, form in samples:
        made.add(cls, form)
        if of_pair(form):
            made.func.attributes["cluster"] = (2, 1, 1)
    return made.ptx()


def listings(target: str, samples: Iterable[Sample]) -> list[str]:
    """PTX of these forms, those of pairs of CTAs apart: ptxas takes one .cta_group in a kernel."""
    given = list(samples)
    parts = [[each for each in given if of_pair(each[1]) is pairs] for pairs in (False, True)]
    return [listing(target, part) for part in parts if part]


def of_pair(form: Form) -> bool:
    """Is it one of a pair of CTAs?"""
    return form.attributes.get("group") == 2 or bool(form.attributes.get("paired"))


def complaint(ptx: str, target: str) -> str:
    """What ptxas says against it; empty where it accepts it."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "k.ptx")
        source.write_text(ptx)
        command = [PTXAS, f"-arch={target}", "-O0", "-o", Path(folder, "k.cubin"), source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""

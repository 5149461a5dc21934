"""Kernels of the nvvm level in the words of upstream MLIR (LLVM 22.1), for its NVPTX back end and its tools.

An operation that means the same in LLVM is written as it is, and so is an instruction that upstream has as we do; any
other becomes inline PTX (`llvm.inline_asm`), taken from what selection makes of it for our own PTX: there is no second
list of instructions.

What MLIR cannot say: `llvm.inline_asm` has no convergent form, so that LLVM may copy into two branches what all lanes
of a warp do together. Barriers of the CTA are upstream's operations, which are convergent; of the others nothing but
their side effects keeps the place. The tests count them all, and compare what runs.
"""

from __future__ import annotations

from lowering.llvm.module import print_module as print_module

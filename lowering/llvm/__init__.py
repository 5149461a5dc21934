"""Kernels of the nvvm level as upstream MLIR (LLVM 22.1), for its NVPTX back end and its tools.

Operations and instructions with an exact equivalent in LLVM or upstream are printed as such; all others become inline
PTX (`llvm.inline_asm`), taken from our own instruction selection: there is no second list of instructions.

A limitation of MLIR: `llvm.inline_asm` has no convergent form, so LLVM may duplicate warp-wide operations into two
branches. CTA barriers are upstream's operations, which are convergent; the others are kept in place only by their side
effects. The tests count them all, and compare the results.
"""

from __future__ import annotations

from lowering.llvm.module import print_module as print_module

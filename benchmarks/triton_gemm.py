"""The GEMM of examples/ in Triton: D = A Bᵀ + C, f16 in, f32 out, tiles of 128x128x64; compiled without a GPU.

PYTHON -m benchmarks.triton_gemm TARGET pointers|descriptors OUT.cubin

Imports nothing of ours, so that PYTHON may be another environment's. Prints one line of JSON: seconds of importing, of
the first compile and of a second one in the same process, each split into the time to PTX and the time of ptxas. With
PyTorch and a GPU, `launch` runs it: benchmarks/gpu.py does.
"""

# Packages of another environment; what triton.jit makes can be indexed.
# pyright: reportMissingImports=false, reportIndexIssue=false

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

START = time.perf_counter()
os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="triton-"))

import triton  # noqa: E402 - the cache folder is read at import
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

IMPORTED = time.perf_counter() - START
TILE = {"TM": 128, "TN": 128, "TK": 64}
WARPS, STAGES = 4, 3
"""One warpgroup, as this compiler uses for the tile; three stages are Triton's default."""


@triton.jit
def pointers(
    a, b, c, d, m, n, k, lda, ldb, ldc, ldd, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr
):  # fmt: skip
    """Pointer loads; rows past the edge wrap round, so that only k is masked in the loop (Triton's own tutorial)."""
    rows = tl.program_id(0) * TM + tl.arange(0, TM)
    columns = tl.program_id(1) * TN + tl.arange(0, TN)
    inner = tl.arange(0, TK)
    a_at = a + (rows % m)[:, None] * lda + inner[None, :]
    b_at = b + (columns % n)[None, :] * ldb + inner[:, None]
    total = tl.zeros((TM, TN), tl.float32)
    for start in range(0, k, TK):
        a_tile = tl.load(a_at, (inner < k - start)[None, :], other=0.0)
        b_tile = tl.load(b_at, (inner < k - start)[:, None], other=0.0)
        total = tl.dot(a_tile, b_tile, total)
        a_at += TK
        b_at += TK
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    total += tl.load(c + rows[:, None] * ldc + columns[None, :], inside, other=0.0)
    tl.store(d + rows[:, None] * ldd + columns[None, :], total, inside)


@triton.jit
def descriptors(a, b, c, d, m, n, k, ldc, ldd, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    """Operands through tensor descriptors that the host made."""
    row, column = tl.program_id(0) * TM, tl.program_id(1) * TN
    total = tl.zeros((TM, TN), tl.float32)
    for start in range(0, k, TK):
        total = tl.dot(a.load([row, start]), b.load([column, start]).T, total)
    rows, columns = row + tl.arange(0, TM), column + tl.arange(0, TN)
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    total += tl.load(c + rows[:, None] * ldc + columns[None, :], inside, other=0.0)
    tl.store(d + rows[:, None] * ldd + columns[None, :], total, inside)


def source(variant: str) -> Any:
    """The kernel with the assumptions of examples/gemm.mlir: aligned bases, pitches and sizes n and k."""
    kernel = {"pointers": pointers, "descriptors": descriptors}[variant]
    operand = "*fp16" if variant == "pointers" else "tensordesc<fp16[128,64]>"
    types = {"a": operand, "b": operand, "c": "*fp32", "d": "*fp32"}
    signature = {name: types.get(name, "constexpr" if name in TILE else "i32") for name in kernel.arg_names}
    promised = [
        name for name, kind in signature.items() if (kind == "i32" and name != "m") or kind.startswith("*")
    ]  # fmt: skip
    attributes = {(kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in promised}
    return ASTSource(fn=kernel, signature=signature, constexprs=TILE, attrs=attributes)


def compile_timed(variant: str, target: str) -> tuple[Any, dict[str, float]]:
    """The compiled kernel; total wall and CPU seconds, and those of ptxas."""
    found: list[Any] = []
    triton.knobs.compilation.listener = lambda **told: found.append(told["times"])
    number = int(target.removeprefix("sm_").rstrip("a"))
    options = {"num_warps": WARPS, "num_stages": STAGES}
    before, start = os.times(), time.perf_counter()
    compiled = triton.compile(source(variant), target=GPUTarget("cuda", number, 32), options=options)
    wall, after = time.perf_counter() - start, os.times()
    stages = dict(found[0].lowering_stages)
    cpu = sum(after[:4]) - sum(before[:4])
    return compiled, {"wall": wall, "cpu": cpu, "ptxas": stages["cubin"] / 1e6}


def launch(variant: str, a: Any, b: Any, c: Any, d: Any) -> None:
    """Run on PyTorch tensors of a GPU, with a and b as stored, row-major."""
    m, n, k = a.shape[0], b.shape[0], a.shape[1]
    grid = (triton.cdiv(m, TILE["TM"]), triton.cdiv(n, TILE["TN"]))
    extra: dict[str, Any] = {"num_warps": WARPS, "num_stages": STAGES, **TILE}
    if variant == "pointers":
        pointers[grid](a, b, c, d, m, n, k, a.stride(0), b.stride(0), c.stride(0), d.stride(0), **extra)
        return
    from triton.tools.tensor_descriptor import TensorDescriptor

    block = [TILE["TM"], TILE["TK"]]
    maps = [TensorDescriptor.from_tensor(operand, block) for operand in (a, b)]
    descriptors[grid](*maps, c, d, m, n, k, c.stride(0), d.stride(0), **extra)


def main() -> None:
    target, variant, output = sys.argv[1:4]
    compiled, first = compile_timed(variant, target)
    triton.knobs.compilation.always_compile = True
    _, second = compile_timed(variant, target)
    Path(output).write_bytes(compiled.asm["cubin"])
    facts = {"shared": compiled.metadata.shared, "version": triton.__version__}
    print(json.dumps({"import": IMPORTED, "first": first, "second": second, **facts}))


if __name__ == "__main__":
    main()

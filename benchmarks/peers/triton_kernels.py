"""The kernels of the cases in Triton, compiled without a GPU; imports nothing of ours.

    PYTHON -m benchmarks.peers.triton_kernels TARGET OUT CASES

CASES is JSON: a list of [name, kernel, types by parameter, constants, warps, stages]; OUT gets NAME.cubin. Prints JSON:
by name, an empty string or why Triton refuses.
"""

# Packages of another environment, or of an extra.
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="triton-"))

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.language.extra import libdevice


@triton.jit
def attention(
    q, k, v, out, scale, m, n, ldq, ldk, ldv, ldo, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
    CAUSAL: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1).to(tl.int64)
    rows = tl.program_id(0) * M + tl.arange(0, M)
    width = tl.arange(0, D)
    query = tl.load(q + head * m * ldq + rows[:, None] * ldq + width[None, :], (rows < m)[:, None], other=0.0)
    k += head * n * ldk
    v += head * n * ldv
    scale *= 1.4426950408889634
    highest = tl.full([M], -float("inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    last = tl.minimum((tl.program_id(0) + 1) * M, n) if CAUSAL else n
    for start in range(0, last, N):
        columns = start + tl.arange(0, N)
        key = tl.load(k + columns[None, :] * ldk + width[:, None], (columns < n)[None, :], other=0.0)
        score = tl.dot(query, key)
        inside = (columns < n)[None, :]
        if CAUSAL:
            inside = inside & (columns[None, :] <= rows[:, None])
        score = tl.where(inside, score, -float("inf"))
        raised = tl.maximum(highest, tl.max(score, 1) * scale)
        power = tl.math.exp2(score * scale - raised[:, None])
        fade = tl.math.exp2(highest - raised)
        total = total * fade + tl.sum(power, 1)
        value = tl.load(v + columns[:, None] * ldv + width[None, :], (columns < n)[:, None], other=0.0)
        acc = tl.dot(power.to(value.dtype), value, acc * fade[:, None])
        highest = raised
    result = (acc / total[:, None]).to(out.dtype.element_ty)
    tl.store(out + head * m * ldo + rows[:, None] * ldo + width[None, :], result, (rows < m)[:, None])


@triton.jit
def product(a, b, m, n, k, lda, ldb, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    a_at = a + (rows % m)[:, None] * lda + inner[None, :]
    b_at = b + (columns % n)[None, :] * ldb + inner[:, None]
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        left = tl.load(a_at, (inner < k - start)[None, :], other=0.0)
        right = tl.load(b_at, (inner < k - start)[:, None], other=0.0)
        total = tl.dot(left, right, total)
        a_at += K
        b_at += K
    return rows, columns, total


@triton.jit
def gemm(a, b, d, m, n, k, lda, ldb, ldd, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, total = product(a, b, m, n, k, lda, ldb, M, N, K)
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(d + rows[:, None] * ldd + columns[None, :], total.to(d.dtype.element_ty), inside)


@triton.jit
def fused(a, b, bias, c, d, m, n, k, lda, ldb, ldc, ldd, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, total = product(a, b, m, n, k, lda, ldb, M, N, K)
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    total = tl.maximum(total + tl.load(bias + columns, columns < n, other=0.0)[None, :], 0.0)
    total += tl.load(c + rows[:, None] * ldc + columns[None, :], inside, other=0.0)
    tl.store(d + rows[:, None] * ldd + columns[None, :], total.to(d.dtype.element_ty), inside)


@triton.jit
def vecadd(a, b, c, m, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(c + at, tl.load(a + at, at < m, other=0.0) + tl.load(b + at, at < m, other=0.0), at < m)


@triton.jit
def gather(x, index, y, many, m, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    chosen = tl.load(index + at, at < m, other=0)
    tl.store(y + at, tl.load(x + chosen, (chosen >= 0) & (chosen < many), other=0.0), at < m)


@triton.jit
def softmax(x, y, n, ldx, ldy, SIZE: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, SIZE)
    values = tl.load(x + row * ldx + at, at < n, other=-float("inf"))
    power = libdevice.exp(values - tl.max(values, 0))  # tl.exp rounds x * log2(e) once: tens of ulp where x is far off
    tl.store(y + row * ldy + at, tl.math.div_rn(power, tl.sum(power, 0) + tl.zeros([SIZE], tl.float32)), at < n)


@triton.jit
def layernorm(x, weight, bias, y, eps, n, ldx, ldy, SIZE: tl.constexpr):
    row, lane = tl.program_id(0), tl.arange(0, SIZE)
    total = tl.zeros([SIZE], tl.float32)
    for start in range(0, n, SIZE):
        total += tl.load(x + row * ldx + start + lane, start + lane < n, other=0.0)
    mean = tl.sum(total, 0) / n
    squares = tl.zeros([SIZE], tl.float32)
    for start in range(0, n, SIZE):
        part = tl.load(x + row * ldx + start + lane, start + lane < n, other=0.0)
        centred = tl.where(start + lane < n, part - mean, 0.0)
        squares += centred * centred
    scale = tl.rsqrt(tl.sum(squares, 0) / n + eps)
    for start in range(0, n, SIZE):
        at = start + lane
        part = tl.load(x + row * ldx + at, at < n, other=0.0)
        factor, shift = tl.load(weight + at, at < n, other=0.0), tl.load(bias + at, at < n, other=0.0)
        tl.store(y + row * ldy + at, (part - mean) * scale * factor + shift, at < n)


KERNELS: dict[str, Any] = {
    kernel.fn.__name__: kernel for kernel in (attention, gemm, fused, vecadd, gather, softmax, layernorm)
}


def main() -> None:
    target, out = sys.argv[1], Path(sys.argv[2])
    number = int(target.removeprefix("sm_").rstrip("a"))
    refused: dict[str, str] = {}
    for name, function, types, constants, warps, stages in json.loads(sys.argv[3]):
        kernel = KERNELS[function]
        signature = {each: types.get(each, "constexpr" if each in constants else "i32") for each in kernel.arg_names}
        # The case guarantees that bases, pitches and widths of matrices are multiples of 16; lengths m and many are
        # arbitrary.
        free = ("m", "many")
        promised = [
            each for each, kind in signature.items() if kind.startswith("*") or (kind == "i32" and each not in free)
        ]
        attributes = {(kernel.arg_names.index(each),): [["tt.divisibility", 16]] for each in promised}
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
        options = {"num_warps": warps, "num_stages": stages}
        try:
            compiled = triton.compile(source, target=GPUTarget("cuda", number, 32), options=options)
        except Exception as error:  # noqa: BLE001 - its passes raise anything; the table shows the error
            refused[name] = (str(error).splitlines() or [type(error).__name__])[0]
        else:
            refused[name] = ""
            (out / f"{name}.cubin").write_bytes(compiled.asm["cubin"])
    print(json.dumps(refused))


if __name__ == "__main__":
    main()

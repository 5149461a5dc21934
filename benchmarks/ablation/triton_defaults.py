"""What Triton does to f32 operations by default, according to the PTX that it generates for each.

PYTHON -m benchmarks.ablation.triton_defaults [--target 80]

Imports nothing of ours: PYTHON may be another environment's (triton==3.9.0; no GPU, no PyTorch). Each operation is
compiled separately; the first three arithmetic instructions of its PTX are printed.
"""

# Packages of another environment, or of an extra.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import os
import re
import tempfile

os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="triton-"))

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

OPERATIONS = (
    "exp(a)", "exp2(a)", "log(a)", "log2(a)", "sin(a)", "erf(a)", "a / b", "1 / a", "sqrt(a)", "rsqrt(a)", "a * b + c",
    "c - a * b", "fma(a, b, c)", "(a + b) - b", "a * 1.5 * 2.5", "a + 0.0", "maximum(a, b)",
)  # fmt: skip
"""By the number that the kernel receives."""
ARITHMETIC = re.compile(r"^(?!mov|ld|st|cvta|setp\.|bra|\.)[a-z0-9]+[a-z0-9_.:]*\.f(?:16|32|64)\b.*|^call.*|^rcp.*")


@triton.jit
def kernel(x, y, z, out, OPERATION: tl.constexpr):
    i = tl.arange(0, 128)
    a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)
    r = a
    if OPERATION == 0:
        r = tl.exp(a)
    elif OPERATION == 1:
        r = tl.exp2(a)
    elif OPERATION == 2:
        r = tl.log(a)
    elif OPERATION == 3:
        r = tl.log2(a)
    elif OPERATION == 4:
        r = tl.sin(a)
    elif OPERATION == 5:
        r = tl.erf(a)
    elif OPERATION == 6:
        r = a / b
    elif OPERATION == 7:
        r = 1.0 / a
    elif OPERATION == 8:
        r = tl.sqrt(a)
    elif OPERATION == 9:
        r = tl.rsqrt(a)
    elif OPERATION == 10:
        r = a * b + c
    elif OPERATION == 11:
        r = c - a * b
    elif OPERATION == 12:
        r = tl.fma(a, b, c)
    elif OPERATION == 13:
        r = (a + b) - b
    elif OPERATION == 14:
        r = a * 1.5 * 2.5
    elif OPERATION == 15:
        r = a + 0.0
    elif OPERATION == 16:
        r = tl.maximum(a, b)
    tl.store(out + i, r)


def instructions(operation: int, target: int) -> list[str]:
    """Names of the arithmetic instructions that an operation becomes."""
    types = {**dict.fromkeys(("x", "y", "z", "out"), "*fp32"), "OPERATION": "constexpr"}
    source = ASTSource(kernel, signature=types, constexprs={"OPERATION": operation})
    ptx = triton.compile(source, target=GPUTarget("cuda", target, 32)).asm["ptx"]
    lines = [line.strip() for line in ptx.splitlines()]
    return [line.split()[0].rstrip(";") for line in lines if ARITHMETIC.match(line)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Triton's floating-point defaults")
    parser.add_argument("--target", type=int, default=80)
    target = parser.parse_args().target
    print(f"| Triton {triton.__version__}, sm_{target} | PTX |\n|---|---|")
    for number, text in enumerate(OPERATIONS):
        found = instructions(number, target)
        print(f"| {text} | {', '.join(found[:3])}{', ...' if len(found) > 3 else ''} |")


if __name__ == "__main__":
    main()

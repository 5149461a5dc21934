"""The cases compiled side by side: one row each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PITCHED = {"f16": "f16[?,?/16]:[?/8,1]", "f32": "f32[?,?/16]:[?/4,1]", "f8": "f8E4M3FN[?,?/16]:[?/16,1]"}
"""Matrices whose rows are aligned to 16 bytes and hold a multiple of 16 elements."""
TRITON = {"f16": "*fp16", "f32": "*fp32", "f8": "*fp8e4nv", "i32": "*i32"}


@dataclass(frozen=True)
class Case:
    """One kernel: a file of Tile IR, or a cuTile kernel of benchmarks/peers/kernels.py and its signature; Triton's
    kernel for the same work with the types of its pointers and scalars, its constants, warps and stages; and the
    targets that can run it.
    """

    name: str
    source: Path | str
    signature: str
    triton: str
    types: dict[str, str]
    constants: dict[str, Any]
    warps: int = 4
    stages: int = 3
    targets: tuple[str, ...] = ("sm_80", "sm_90a")


def _attention(queries: int, keys: int, width: int, causal: bool) -> Case:
    array = f"f16[?,?,{width}]:[?/8,?/8,1]"
    flag = "causal" if causal else "full"
    return Case(
        f"attention {queries}x{keys}x{width} {flag}",
        "attention",
        "; ".join([array] * 4 + ["f32", f"={queries}", f"={keys}", f"={width}", f"={str(causal).lower()}"]),
        "attention",
        {**dict.fromkeys(("q", "k", "v", "out"), TRITON["f16"]), "scale": "fp32"},
        {"M": queries, "N": keys, "D": width, "CAUSAL": causal},
        warps=8 if queries * width > 128 * 64 else 4,
    )


def _gemm(rows: int, columns: int, depth: int, kind: str, out: str, targets: tuple[str, ...] = ()) -> Case:
    return Case(
        f"gemm {rows}x{columns}x{depth} {kind}",
        "gemm",
        f"{PITCHED[kind]}; {PITCHED[kind]}; {PITCHED[out]}; ={rows}; ={columns}; ={depth}",
        "gemm",
        {"a": TRITON[kind], "b": TRITON[kind], "d": TRITON[out]},
        {"M": rows, "N": columns, "K": depth},
        warps=8 if rows * columns > 128 * 128 else 4,
        targets=targets or ("sm_80", "sm_90a"),
    )


CASES = (
    *(_attention(128, keys, width, causal) for width in (64, 128) for keys in (64, 128) for causal in (False, True)),
    _gemm(128, 128, 64, "f16", "f16"),
    _gemm(128, 256, 64, "f16", "f16"),
    _gemm(16, 128, 64, "f16", "f16", ("sm_80", "sm_90a", "sm_100a")),
    _gemm(64, 128, 64, "f16", "f16", ("sm_90a", "sm_100a")),
    _gemm(128, 128, 128, "f8", "f16", ("sm_90a",)),
    Case(
        "fused epilogue 128x128x64 f16",
        "fused",
        f"{PITCHED['f16']}; {PITCHED['f16']}; f32[?/16]; {PITCHED['f32']}; {PITCHED['f32']}; =128; =128; =64",
        "fused",
        {"a": "*fp16", "b": "*fp16", "bias": "*fp32", "c": "*fp32", "d": "*fp32"},
        {"M": 128, "N": 128, "K": 64},
    ),
    Case(
        "vecadd_ptr 1024",
        ROOT / "examples" / "vecadd_ptr.mlir",
        "",
        "vecadd",
        dict.fromkeys("abc", "*fp32"),
        {"SIZE": 1024},
    ),
    Case(
        "gather 1024",
        "gather",
        "f32[?]; i32[?]; f32[?]; =1024",
        "gather",
        {"x": "*fp32", "index": "*i32", "y": "*fp32"},
        {"SIZE": 1024},
    ),
    Case(
        "softmax 1024",
        "softmax",
        f"{PITCHED['f32']}; {PITCHED['f32']}; =1024",
        "softmax",
        {"x": "*fp32", "y": "*fp32"},
        {"SIZE": 1024},
    ),
    Case(
        "layernorm 1024",
        "layernorm",
        f"{PITCHED['f32']}; f32[?/16]; f32[?/16]; {PITCHED['f32']}; f32; =1024",
        "layernorm",
        {**dict.fromkeys(("x", "weight", "bias", "y"), "*fp32"), "eps": "fp32"},
        {"SIZE": 1024},
    ),
)

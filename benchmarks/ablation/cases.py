"""The kernels with their signatures, the columns of permissions, and the families to be removed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
F16, F32, I8 = "f16[?,?/16]:[?/8,1]", "f32[?,?/16]:[?/4,1]", "i8[?,?/16]:[?/16,1]"
CUBE, VECTOR = "f16[?,?,64]:[?/8,?/8,1]", "f32[?/16]:[1]"


@dataclass(frozen=True)
class Case:
    """A kernel of benchmarks/ablation/kernels.py with its signature, or a program of Tile IR, where that is empty.
    passes: products are in several loops over the same tiles.
    """

    name: str
    signature: str = ""
    file: Path | None = None
    passes: bool = False


TILES = "=128; =128; =64"
CASES = (
    Case("gemm", file=ROOT / "examples" / "gemm.mlir"),
    Case("gemm_row_scale", f"{F16}; {VECTOR}; {F16}; {F32}; {TILES}"),
    Case("gemm_dequant", f"{F16}; {I8}; {VECTOR}; {F32}; {TILES}"),
    Case("layernorm", f"{F16}; {VECTOR}; {VECTOR}; {F16}; f32; =1024"),
    Case("layernorm_loops", file=ROOT / "examples" / "layernorm.mlir"),
    Case("softmax_passes", f"{F32}; {F32}; =1024"),
    Case("softmax_scaled", f"{F16}; {F16}; f32; =1024"),
    Case("softmax", file=ROOT / "examples" / "softmax.mlir"),
    Case("attention", f"{CUBE}; {CUBE}; {CUBE}; {CUBE}; f32; =64; =128; =64"),
    Case("attention_passes", f"{CUBE}; {CUBE}; {CUBE}; {CUBE}; f32; =64; =128; =64", passes=True),
    Case("flash_attention", file=ROOT / "examples" / "flash_attention.mlir"),
    Case("rope", "f16[?,2,64]:[?/8,64,1]; f16[?,64]:[64,1]; f16[?,64]:[64,1]; f16[?,2,64]:[?/8,64,1]; =64; =16"),
    Case("swiglu", f"{F16}; {F16}; {F16}; =1024"),
    Case("cross_entropy", f"{F16}; i32[?]:[1]; f32[?]:[1]; =1024"),
)

COLUMNS = {
    "IEEE": (),
    "triton": ("triton",),
    "triton,reassoc,afn": ("triton", "reassoc", "afn"),
    "triton,reassoc,afn,ninf": ("triton", "reassoc", "afn", "ninf"),
}
"""Permissions by the title of their column."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "contract": ("contract",),
    "exponential": ("exponential",),
    "quotient": ("quotient",),
    "scaled products": ("loop.scale",),
    "online sums": ("loop.online",),
    "online attention": ("loop.attention",),
    "pairs of steps": ("loop.pairs",),
    "folds by lane": ("loop.lanes",),
    "moments": ("loop.moments",),
}
"""Prefixes of the names of rules, and names of skeletons, by the family to be removed."""
LOOPS = "loop."
"""Prefix of the names of skeletons (lowering/skeletons/table.py)."""

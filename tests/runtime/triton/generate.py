"""Compiles the kernels of this folder to PTX with Triton, which needs no GPU; run as a module from the repository root.

Writes ../data/triton/NAME.TARGET.ptx.gz and metadata.json. Needs the extra `peers`.
"""

import gzip
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tests.runtime.triton import matrix_kernels, vector_kernels

DATA = Path(__file__).parents[1] / "data" / "triton"
ALL = (80, 90, 100, 120)
FROM_90 = (90, 100, 120)


@dataclass(frozen=True)
class Case:
    """One compilation: argument types ("*fp32", "i32", "tensordesc<...>"), constants, warps, stages, targets.

    A `:16` behind a type says that the argument is a multiple of 16.
    """

    name: str
    kernel: Any
    types: tuple[str, ...]
    constants: dict[str, Any]
    warps: int = 4
    stages: int = 3
    targets: tuple[int, ...] = ALL
    options: dict[str, Any] = field(default_factory=dict)


def _cases() -> list[Case]:
    v, m = vector_kernels, matrix_kernels
    f16, f32, i32 = "*fp16:16", "*fp32:16", "*i32:16"
    tile = {"TM": 128, "TN": 128, "TK": 64}
    small = {"TM": 64, "TN": 64, "TK": 32}

    def described(rows: int, columns: int) -> str:
        return f"tensordesc<fp16[{rows}, {columns}]>"

    descriptors = (described(128, 64), described(128, 64), described(128, 128), "i32")
    return [
        Case("vector_add", v.vector_add, (f32, f32, f32, "i32"), {"BLOCK": 1024}),
        Case("softmax", v.softmax, (f32, f32, "i32", "i32"), {"BLOCK": 512}),
        Case("layer_norm", v.layer_norm, (f16, f32, f32, f16, f32, "i32:16", "fp32"), {"BLOCK": 256}),
        Case("dropout", v.dropout, (f32, f32, f32, "i32", "fp32", "i32"), {"BLOCK": 512}),
        Case("transpose", v.transpose, (f32, f32, "i32", "i32"), {"TILE_R": 64, "TILE_C": 32}),
        Case("transpose_f16", v.transpose, (f16, f16, "i32:16", "i32:16"), {"TILE_R": 64, "TILE_C": 64}),
        Case("scan", v.scan, (i32, f32, i32, f32, "i32"), {"BLOCK": 512}),
        Case("histogram", v.histogram, (i32, i32, i32, "i32"), {"BINS": 64, "BLOCK": 512}),
        Case("sort_rows", v.sort_rows, (f32, f32, i32), {"BLOCK": 256}),
        Case("narrow_floats", v.narrow_floats, (f32, "*fp8e5:16", "*bf16:16", f32, "i32"), {"BLOCK": 512}),
        Case("integers", v.integers, ("*i64:16", "*i64:16", "*i64:16", "i32"), {"BLOCK": 256}),
        Case("gemm_pointers", m.gemm_pointers, (f16, f16, f32, "i32", "i32:16", "i32:16"), tile),
        Case("gemm_ragged", m.gemm_pointers, (f16, f16, f32, "i32", "i32", "i32"), small),
        Case("gemm_f32", m.gemm_pointers, (f32, f32, f32, "i32:16", "i32:16", "i32:16"), small),
        Case("gemm_descriptors", m.gemm_descriptors, descriptors, tile),
        Case(
            "gemm_device_descriptors", m.gemm_device_descriptors, (f16, f16, f16, "i32:16", "i32:16", "i32:16"), tile
        ),
        Case("gemm_specialised", m.gemm_specialised, descriptors, tile, targets=(100, 120)),
        Case(
            "gemm_fp8", m.gemm_fp8, ("*fp8e4nv:16", "*fp8e4nv:16", f32, "i32:16", "i32:16", "i32:16", "fp32"), tile,
            targets=(89, *FROM_90),
        ),
        Case("gemm_int8", m.gemm_int8, ("*i8:16", "*i8:16", i32, "i32:16", "i32:16"), tile, targets=(80, 90, 120)),
        Case(
            "gemm_block_scaled", m.gemm_block_scaled,
            ("*fp8e4nv:16", "*u8:16", "*fp8e4nv:16", "*u8:16", f32, "i32:16", "i32:16"),
            {"TM": 128, "TN": 128, "TK": 128}, targets=(100, 120),
        ),
        Case("grouped_gemm", m.grouped_gemm, ("*i64:16", i32, "i32"), {"PROGRAMS": 6, **small}),
        Case(
            "attention", m.attention, (f16, f16, f16, f32, "i32", "fp32"),
            {"CAUSAL": False, "TQ": 64, "TK": 64, "D": 64},
        ),
        Case(
            "attention_causal", m.attention, (f16, f16, f16, f32, "i32", "fp32"),
            {"CAUSAL": True, "TQ": 128, "TK": 64, "D": 64},
        ),
    ]  # fmt: skip


def _source(case: Case) -> ASTSource:
    names = case.kernel.arg_names
    runtime = [name for name in names if name not in case.constants]
    signature: dict[str, str] = dict.fromkeys(case.constants, "constexpr")
    attributes: dict[tuple[int, ...], list[list[Any]]] = {}
    for name, type_ in zip(runtime, case.types, strict=True):
        plain, _, divisor = type_.rpartition(":") if type_.endswith(":16") else (type_, "", "")
        signature[name] = plain
        if divisor:
            attributes[(names.index(name),)] = [["tt.divisibility", 16]]
    ordered = {name: signature[name] for name in names}
    return ASTSource(fn=case.kernel, signature=ordered, constexprs=case.constants, attrs=attributes)


def compile_case(case: Case, target: int) -> tuple[str, dict[str, Any]]:
    """The PTX of a case without debug lines, and what a launch must know."""
    options = {"num_warps": case.warps, "num_stages": case.stages, **case.options}
    compiled = triton.compile(_source(case), target=GPUTarget("cuda", target, 32), options=options)
    made = compiled.metadata
    facts = {
        "threads": 32 * int(re.search(r"\.reqntid (\d+)", compiled.asm["ptx"]).group(1)) // 32,
        "shared": made.shared,
        "global_scratch": made.global_scratch_size,
        "descriptors": getattr(made, "tensordesc_meta", None),
        "parameters": re.findall(r"\.param ([^,)\n]*?) *\w+_param_\d+", compiled.asm["ptx"]),
    }
    return _without_debug(compiled.asm["ptx"]), facts


def _without_debug(ptx: str) -> str:
    body = ptx.split("\t.section\t.debug", 1)[0]
    kept = [line for line in body.splitlines() if not re.match(r"\s*(\.loc\b|\.file\b|//|\$L__tmp\d+:|$)", line)]
    return "\n".join(kept) + "\n"


def main() -> None:
    """Compile everything."""
    DATA.mkdir(exist_ok=True)
    metadata: dict[str, Any] = {"triton": triton.__version__, "kernels": {}}
    for case in _cases():
        for target in case.targets:
            ptx, facts = compile_case(case, target)
            name = f"{case.name}.sm_{target}"
            metadata["kernels"][name] = facts
            with open(DATA / f"{name}.ptx.gz", "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
                file.write(ptx.encode())
            print(f"{name}: {len(ptx.splitlines())} lines, {facts['shared']} bytes of shared memory")
    (DATA / "metadata.json").write_text(json.dumps(metadata, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()

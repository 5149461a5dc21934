"""NVIDIA H100 and H200 (compute capability 9.0), with and without the architecture-specific instructions."""

from __future__ import annotations

from dataclasses import replace

from lowering.targets import guide
from lowering.targets.target import F8_HALVES, KIB, Limit, Rate, Target, Throughput

TENSOR = "H100 white paper, SXM5: 989 TFLOP/s dense f16 on 132 SMs at 1.83 GHz; fp8 twice, tf32 half of it; wgmma rate"
SYNC = Rate(0.62, "arXiv 2402.13499, H100: what mma.sync reaches of wgmma's rate")

SM_90A = Target(
    name="sm_90a",
    ptx_version=guide.PTX_VERSION,
    smem_bytes=Limit(227 * KIB, guide.CAPABILITY),
    registers_per_thread=guide.REGISTERS_PER_THREAD,
    registers_per_sm=guide.REGISTERS_PER_SM,
    threads_per_cta=guide.THREADS_PER_CTA,
    warps_per_sm=Limit(64, guide.CAPABILITY),
    ctas_per_sm=Limit(32, guide.CAPABILITY),
    throughput=Throughput(
        issue=guide.ISSUE,
        smem_bytes=guide.SMEM_BYTES,
        global_bytes=guide.L1_BYTES,
        fma_f32=Rate(128, guide.ARITHMETIC),
        fma_f16=Rate(256, "H100 white paper, table 2: f16 without tensor cores at twice the f32 rate"),
        fma_f64=Rate(64, guide.ARITHMETIC),
        int_add=Rate(64, guide.ARITHMETIC),
        int_mul=Rate(64, guide.ARITHMETIC),
        mufu=guide.MUFU,
        shuffle=guide.SHUFFLE,
        load_store=guide.LOAD_STORE,
        convert=guide.CONVERT_NARROW,
        tensor={
            "f16": Rate(4096, TENSOR),
            "bf16": Rate(4096, TENSOR),
            "tf32": Rate(2048, TENSOR),
            "f8E4M3FN": Rate(8192, TENSOR),
            "f8E5M2": Rate(8192, TENSOR),
            "i8": Rate(8192, TENSOR),
            "f64": Rate(256, "H100 white paper, table 2: 66.9 TFLOP/s f64 by tensor cores"),
        },
        sync_share=SYNC,
        f8_adds=F8_HALVES,
    ),
    latency=guide.LATENCY,
)
SM_90 = replace(SM_90A, name="sm_90")

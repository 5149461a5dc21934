"""NVIDIA A100 (compute capability 8.0)."""

from __future__ import annotations

from lowering.targets import guide
from lowering.targets.target import KIB, Limit, Rate, Target, Throughput

TENSOR = "A100 white paper, table 1: 312 TFLOP/s dense f16 on 108 SMs at 1.41 GHz; tf32 half of it"

SM_80 = Target(
    name="sm_80",
    ptx_version=guide.PTX_VERSION,
    smem_bytes=Limit(163 * KIB, guide.CAPABILITY),
    registers_per_thread=guide.REGISTERS_PER_THREAD,
    registers_per_sm=guide.REGISTERS_PER_SM,
    threads_per_cta=guide.THREADS_PER_CTA,
    warps_per_sm=Limit(64, guide.CAPABILITY),
    ctas_per_sm=Limit(32, guide.CAPABILITY),
    throughput=Throughput(
        issue=guide.ISSUE,
        smem_bytes=guide.SMEM_BYTES,
        global_bytes=guide.L1_BYTES,
        fma_f32=Rate(64, guide.ARITHMETIC),
        fma_f16=Rate(256, "A100 white paper, table 1: 78 TFLOP/s f16 without tensor cores"),
        fma_f64=Rate(32, guide.ARITHMETIC),
        int_add=Rate(64, guide.ARITHMETIC),
        int_mul=Rate(64, guide.ARITHMETIC),
        mufu=guide.MUFU,
        shuffle=guide.SHUFFLE,
        load_store=guide.LOAD_STORE,
        convert=guide.CONVERT,
        tensor={
            "f16": Rate(2048, TENSOR),
            "bf16": Rate(2048, TENSOR),
            "tf32": Rate(1024, TENSOR),
            "i8": Rate(4096, TENSOR),
            "f64": Rate(128, "A100 white paper, table 1: 19.5 TFLOP/s f64 by tensor cores"),
        },
    ),
    latency=guide.LATENCY,
)

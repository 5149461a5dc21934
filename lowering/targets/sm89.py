"""Ada (compute capability 8.9)."""

from __future__ import annotations

from lowering.targets import guide
from lowering.targets.target import KIB, Limit, Rate, Target, Throughput

TENSOR = (
    "Ada white paper: 512 f16 FMA per SM and cycle, fp8 double; boards sold as GeForce halve it with f32 accumulation"
)

SM_89 = Target(
    name="sm_89",
    ptx_version=guide.PTX_VERSION,
    smem_bytes=Limit(99 * KIB, guide.CAPABILITY),
    registers_per_thread=guide.REGISTERS_PER_THREAD,
    registers_per_sm=guide.REGISTERS_PER_SM,
    threads_per_cta=guide.THREADS_PER_CTA,
    warps_per_sm=Limit(48, guide.CAPABILITY),
    ctas_per_sm=Limit(24, guide.CAPABILITY),
    throughput=Throughput(
        issue=guide.ISSUE,
        smem_bytes=guide.SMEM_BYTES,
        global_bytes=guide.L1_BYTES,
        fma_f32=Rate(128, guide.ARITHMETIC),
        fma_f16=Rate(128, "Ada white paper: f16 without tensor cores runs at the f32 rate"),
        fma_f64=Rate(2, guide.ARITHMETIC),
        int_add=Rate(64, guide.ARITHMETIC),
        int_mul=Rate(64, guide.ARITHMETIC),
        mufu=guide.MUFU,
        shuffle=guide.SHUFFLE,
        load_store=guide.LOAD_STORE,
        convert=guide.CONVERT,
        tensor={
            "f16": Rate(1024, TENSOR),
            "bf16": Rate(1024, TENSOR),
            "tf32": Rate(512, TENSOR),
            "f8E4M3FN": Rate(2048, TENSOR),
            "f8E5M2": Rate(2048, TENSOR),
            "i8": Rate(2048, TENSOR),
            "f64": Rate(4, "Ada white paper: two f64 units per SM, tensor cores have no more"),
        },
    ),
    latency=guide.LATENCY,
)

"""NVIDIA B200 (compute capability 10.0), with and without the architecture-specific instructions, and with
those of its family."""

from __future__ import annotations

from dataclasses import replace

from lowering.targets import guide
from lowering.targets.target import EXTREMUM_WHOLE, F8_HALVES, KIB, NO_TMEM, PAIR_WHOLE, Limit, Rate, Target, Throughput

TENSOR = "Blackwell architecture brief, B200: 2.25 PFLOP/s dense f16 on 148 SMs at 1.85 GHz; tcgen05 rate"
SYNC = Rate(
    0.25,
    "an estimate, sm_80's rate per SM: FlashAttention-2, by mma.sync, reaches 381 TFLOP/s on B200 (issue 1589 of "
    "Dao-AILab/flash-attention), 68 % of a quarter of the dense rate; on A100 it reaches 225 of 312, 72 %",
)

SM_100A = Target(
    name="sm_100a",
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
        fma_f16=Rate(128, guide.ARITHMETIC),
        fma_f64=Rate(64, guide.ARITHMETIC),
        int_add=Rate(64, guide.ARITHMETIC),
        int_mul=Rate(64, guide.ARITHMETIC),
        mufu=guide.MUFU,
        shuffle=guide.SHUFFLE,
        load_store=guide.LOAD_STORE,
        convert=guide.CONVERT_NARROW,
        pair_slots=PAIR_WHOLE,
        extremum_slots=EXTREMUM_WHOLE,
        sync_share=SYNC,
        f8_adds=F8_HALVES,
        tmem_bytes=guide.TMEM_BYTES,
        tensor={
            "f16": Rate(8192, TENSOR),
            "bf16": Rate(8192, TENSOR),
            "tf32": Rate(4096, TENSOR),
            "f8E4M3FN": Rate(16384, TENSOR),
            "f8E5M2": Rate(16384, TENSOR),
            "i8": Rate(16384, TENSOR),
            "f64": Rate(128, "Blackwell architecture brief, B200: 40 TFLOP/s f64 by tensor cores"),
        },
    ),
    latency=guide.LATENCY,
    tmem_columns=Limit(512, "PTX ISA, tensor memory: 128 lanes x 512 columns x 32 bits"),
)
SM_100F = replace(SM_100A, name="sm_100f")
SM_100 = replace(SM_100A, name="sm_100", tmem_columns=NO_TMEM)

"""NVIDIA B300 (compute capability 10.3), with and without the architecture-specific instructions, and with
those of its family."""

from __future__ import annotations

from dataclasses import replace

from lowering.targets import guide
from lowering.targets.sm100a import SYNC
from lowering.targets.target import EXTREMUM_WHOLE, F8_HALVES, KIB, NO_TMEM, PAIR_WHOLE, Limit, Rate, Target, Throughput

TENSOR = "Blackwell architecture brief, B200: 2.25 PFLOP/s dense f16 on 148 SMs at 1.85 GHz; taken over for B300"

SM_103A = Target(
    name="sm_103a",
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
        fma_f64=Rate(2, "Blackwell Ultra brief, B300: 1.3 TFLOP/s f64"),
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
            "i8": Rate(1024, "Blackwell Ultra brief, B300: 0.33 PFLOP/s dense i8"),
            "f64": Rate(4, "Blackwell Ultra brief, B300: 1.3 TFLOP/s f64"),
        },
    ),
    latency=guide.LATENCY,
    tmem_columns=Limit(512, "PTX ISA, tensor memory: 128 lanes x 512 columns x 32 bits"),
)
SM_103F = replace(SM_103A, name="sm_103f")
SM_103 = replace(SM_103A, name="sm_103", tmem_columns=NO_TMEM)

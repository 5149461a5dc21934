"""Numbers that several tiers share, each with its source."""

from __future__ import annotations

from lowering.targets.target import KIB, Latency, Limit, Rate

CAPABILITY = "CUDA C++ Programming Guide, technical specifications per compute capability"
ARITHMETIC = "CUDA C++ Best Practices Guide 13, section 12.1.1, throughput of native arithmetic instructions"
PTX_VERSION = (8, 8)  # covers every feature used, assembles with CUDA 12.9 and 13; bisected with ptxas 13.5

REGISTERS_PER_THREAD = Limit(255, CAPABILITY)
REGISTERS_PER_SM = Limit(64 * KIB, CAPABILITY)
THREADS_PER_CTA = Limit(1024, CAPABILITY)

ISSUE = Rate(4, "architecture white papers: four schedulers per SM, one warp instruction per cycle each")
SMEM_BYTES = Rate(128, "CUDA C++ Programming Guide, shared memory: 32 banks of 4 bytes per cycle")
TMEM_BYTES = Rate(512, "estimate: 128 lanes of 4 bytes per cycle, each warp its 32, four times shared memory's rate")
L1_BYTES = Rate(
    64, "estimate: L2 to SM bandwidth of 64 bytes per cycle (A100 white paper, L2 read bandwidth 5120 B/clk)"
)
SHUFFLE = Rate(32, ARITHMETIC)
MUFU = Rate(16, ARITHMETIC)
LOAD_STORE = Rate(32, "architecture white papers: 32 load/store units per SM")
CONVERT = Rate(64, f"{ARITHMETIC}; widening conversions, compute capability 8.x")
CONVERT_NARROW = Rate(16, f"{ARITHMETIC}; from f32 to 16-bit floats, compute capability 9.0 and later")

MICROBENCH = "arXiv 2402.13499 (Hopper), arXiv 2208.11174 (Ampere), arXiv 1804.06826 (Volta)"
LATENCY = Latency(
    alu=Rate(4, f"fixed-latency instructions; {MICROBENCH}"),
    shared=Rate(29, f"rounded from {MICROBENCH}; not measured here"),
    global_=Rate(500, f"order of a DRAM access; {MICROBENCH}; not measured here"),
    mma=Rate(33, "estimate: order of m16n8k16 on sm_80, arXiv 2206.02874; not measured here"),
    barrier=Rate(30, "estimate: order of a bar.sync over 4 to 8 warps; not measured here"),
    shuffle=Rate(23, f"estimate: as a shared-memory load, whose pipe it uses; {MICROBENCH}"),
)

"""NVIDIA Jetson Thor (compute capability 11.0), with and without the architecture-specific instructions, and
with those of its family.

Rates are those of 10.0, whose instructions it has; memory bandwidth and f64 are not measured.
"""

from __future__ import annotations

from dataclasses import replace

from lowering.targets import guide
from lowering.targets.sm100a import SM_100A
from lowering.targets.target import NO_TMEM, PAIR_SPLIT, Limit

PTX_VERSION = (9, 0)  # the first that supports the name; PTX ISA, release notes

SM_110A = replace(
    SM_100A,
    name="sm_110a",
    ptx_version=PTX_VERSION,
    warps_per_sm=Limit(48, guide.CAPABILITY),
    ctas_per_sm=Limit(24, guide.CAPABILITY),
    throughput=replace(SM_100A.throughput, pair_slots=PAIR_SPLIT),
)
SM_110F = replace(SM_110A, name="sm_110f")
SM_110 = replace(SM_110A, name="sm_110", tmem_columns=NO_TMEM)

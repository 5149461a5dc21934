"""Which instruction families a target has: by the minimum targets of the instructions that ir/dialects/nvvm declares.

A family without a declared instruction has its minimum here, with its source.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from functools import cache

from ir.dialects import nvvm
from ir.instruction import Needs


class Feature(enum.Enum):
    """An instruction family. Which targets accept it was tested with ptxas 13.5 (tests/lowering/test_targets.py)."""

    CP_ASYNC = "cp.async"
    LDMATRIX = "ldmatrix"
    LDMATRIX_BYTES = "ldmatrix of bytes, transposed"
    STMATRIX = "stmatrix"
    MMA_SYNC = "mma.sync f16, bf16, tf32"
    MMA_FP8 = "mma.sync e4m3, e5m2"
    MMA_BLOCK_SCALE = "mma.sync kind::mxf8f6f4 and mxf4"
    CVT_FP8 = "cvt to and from fp8"
    CVT_FP4 = "cvt to and from fp4"
    CVT_TF32 = "cvt.rn and cvt.rz to tf32"
    MBARRIER = "mbarrier with try_wait and expect_tx"
    TMA = "cp.async.bulk.tensor"
    CLUSTER = "thread block clusters"
    MULTICAST = "tensor copies into several CTAs"
    GRID_DEPENDENCY = "griddepcontrol"
    CLUSTER_LAUNCH = "clusterlaunchcontrol"
    SETMAXNREG = "setmaxnreg"
    WGMMA = "wgmma.mma_async"
    TCGEN05 = "tcgen05"
    TCGEN05_BYTES = "tcgen05.mma of bytes"
    TCGEN05_LD_RED = "tcgen05.ld.red"
    ATOMIC_BF16 = "atom.add.noftz.bf16"
    REDUX = "redux.sync on integers"
    REDUX_F32 = "redux.sync on f32"
    F32X2 = "packed f32x2 arithmetic"
    MIXED = "add, sub and fma of f32 with 16-bit sources"
    WIDE_GLOBAL = "256-bit global ld and st"
    MINMAX3 = "three-input min and max"
    MULTIMEM = "multimem on multicast objects"
    OCG_BUSY = "the knob SchedResBusyXU64 for products"


MULTICAST = frozenset({"sm_90a", "sm_100a", "sm_103a", "sm_110a"})
"""Targets on which ptxas 13.5 makes one instruction of a multicast; on targets without an a or f, and on sm_120a and
sm_121a, it warns and calls a function.
"""
BUSY = frozenset({"sm_100", "sm_100a", "sm_103", "sm_103a", "sm_110", "sm_110a"})

FLOORS: Mapping[Feature, Needs] = {
    Feature.CP_ASYNC: nvvm.CpAsyncSharedGlobal.floor,
    Feature.LDMATRIX: nvvm.LdMatrix.floor,
    Feature.LDMATRIX_BYTES: nvvm.LdMatrixBytes.floor,
    Feature.STMATRIX: nvvm.StMatrix.floor,
    Feature.MMA_SYNC: nvvm.MmaSync.floor,
    Feature.MMA_FP8: nvvm.BYTE_FLOAT_PRODUCTS,
    Feature.MMA_BLOCK_SCALE: nvvm.MmaBlockScale.floor,
    Feature.CVT_FP8: nvvm.ConvertF32x2ToF8x2.floor,
    Feature.CVT_FP4: nvvm.ConvertF32ToF4.floor,
    Feature.CVT_TF32: Needs(90, (7, 8)),  # PTX ISA 8.8, cvt: .rn and .rz to .tf32
    Feature.MBARRIER: nvvm.MBarrierArriveExpectTx.floor,
    Feature.TMA: nvvm.TensorLoad.floor,
    Feature.CLUSTER: nvvm.ClusterArrive.floor,
    Feature.MULTICAST: Needs(90, (8, 0), MULTICAST),
    Feature.GRID_DEPENDENCY: nvvm.GridDependencyWait.floor,
    Feature.CLUSTER_LAUNCH: nvvm.ClusterLaunchTryCancel.floor,
    Feature.SETMAXNREG: nvvm.SetMaxRegister.floor,
    Feature.WGMMA: nvvm.WgmmaMmaAsync.floor,
    Feature.TCGEN05: nvvm.TensorAlloc.floor,
    Feature.TCGEN05_BYTES: nvvm.BYTE_PRODUCTS,
    Feature.TCGEN05_LD_RED: nvvm.TensorLdReduced.floor,
    Feature.ATOMIC_BF16: nvvm.ATOMIC_BF16,
    Feature.REDUX: nvvm.Redux.floor,
    Feature.REDUX_F32: nvvm.FloatRedux.floor,
    Feature.F32X2: nvvm.FmaF32x2.floor,
    Feature.MIXED: Needs(100, (8, 6)),  # PTX ISA 8.8, Mixed Precision Floating Point Instructions
    Feature.WIDE_GLOBAL: nvvm.WIDE,
    Feature.MINMAX3: nvvm.Max3.floor,
    Feature.MULTIMEM: nvvm.MultimemSt.floor,
    Feature.OCG_BUSY: Needs(100, (8, 0), BUSY),  # the seeds, InsertOCGKnobs: target_spec 100 to 103 and 110
}


@cache
def features_of(target: str) -> frozenset[Feature]:
    """The families of a target, by its name as ptxas spells it."""
    return frozenset(feature for feature, needs in FLOORS.items() if needs.met_by(target))

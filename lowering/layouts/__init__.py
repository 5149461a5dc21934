"""Linear layouts over F2: the positions of tile elements in registers and shared memory, and how to move them."""

from lowering.layouts.access import (
    Access,
    AccessPlan,
    AsyncCopyPlan,
    GlobalAccess,
    GlobalPlan,
    LdMatrix,
    MatrixAccess,
    ThreadPart,
    access_plan,
    async_copy,
    global_access,
    ldmatrix,
)
from lowering.layouts.anchors import coalesced, row_per_warp
from lowering.layouts.banks import bank_conflicts, linear_wavefronts, wavefronts
from lowering.layouts.conversions import (
    Conversion,
    Identity,
    RegisterPermute,
    SharedRoundTrip,
    Shuffle,
    plan,
    shared_plan,
    shuffle_plan,
)
from lowering.layouts.layout import Free, Layout, LayoutError
from lowering.layouts.mma import FmaTile, MmaStep, MmaTile, fma_tile, mma_tile, warp_grids
from lowering.layouts.shapes import (
    Reduction,
    Slice,
    dim_bits,
    inverse_permutation,
    permute,
    reduce_dim,
    slice_for_broadcast,
    without_replicas,
)
from lowering.layouts.shared import SharedLayout, swizzled
from lowering.layouts.shuffles import Exchange, Round, ShuffleSteps

__all__ = [
    "Access", "AccessPlan", "AsyncCopyPlan", "Conversion", "Exchange", "FmaTile", "Free", "GlobalAccess",
    "GlobalPlan", "Identity", "Layout", "LayoutError", "LdMatrix", "MatrixAccess", "MmaStep", "MmaTile", "Reduction",
    "RegisterPermute", "Round", "SharedLayout", "SharedRoundTrip", "Shuffle", "ShuffleSteps", "Slice", "ThreadPart",
    "access_plan", "async_copy", "bank_conflicts", "coalesced", "dim_bits", "fma_tile", "global_access",
    "inverse_permutation", "ldmatrix", "linear_wavefronts", "mma_tile", "permute", "plan", "reduce_dim",
    "row_per_warp", "shared_plan", "shuffle_plan", "slice_for_broadcast", "swizzled", "warp_grids", "wavefronts",
    "without_replicas",
]  # fmt: skip

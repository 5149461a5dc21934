"""The other items of the same list: sequences of PTX, the least surface, borders, the function boundary, legality."""

from __future__ import annotations

from ir.dialects import math, ub
from ir.types import F32, I32
from tests.seeds.items import ATTENTION, GEMM, LOAD, MULTICAST, item
from tests.seeds.tries import (
    agrees,
    altered,
    forbidden,
    from_text,
    hinted,
    instruction,
    level,
    named_pass,
    operand,
    ptx,
    together,
)

H = "sm_90a"
X = "nvgpu: sequences of PTX"
SEQUENCES = (
    item(X, "mbarrier.inval", instruction("mbarrier.inval.shared")),
    item(X, "TMA reduce", instruction("cp.async.bulk.tensor.reduce"), wrong="ptxas rejects the document's PTX"),
    item(X, "prefetch.tensormap", instruction("prefetch"), ptx(GEMM, H, "prefetch.tensormap")),
    item(
        X,
        "fence.proxy.*",
        instruction("fence.proxy"),
        instruction("fence.proxy.acquire"),
        instruction("fence.proxy.release"),
    ),
    item(
        X,
        "tensormap.*",
        instruction("tensormap.replace"),
        instruction("tensormap.cp_fenceproxy"),
        wrong="tensormap.cp.async does not exist",
    ),
    item(X, "shfl idx lane 0", instruction("shfl.sync", kind="idx")),
    item(X, "mma.sp.sync", instruction("mma.sp.sync")),
    item(X, "fma.rn.f32x2", instruction("fma.packed.f32x2", rounding="rn")),
)
S = "nvgpu: the least surface"
SURFACE = (
    item(
        S,
        "'Not a canonical GMMA_MN Layout'",
        altered(GEMM, H, "nvgpu", "memref<128x16xf16, 3>", "memref<128x8xf16, 3>", "b must describe"),
        wrong="the words are those of CUTLASS: a layout that is not canonical has no atom, and what a descriptor"
        " describes is verified",
    ),
    item(S, "tensor-map creation", level(GEMM, H, "nvgpu", "!nvgpu.tensormap.descriptor<tensor")),
    item(S, "TMA reduce", operand("cp.async.bulk.tensor.reduce", "kind")),
    item(
        S,
        "barrier groups and tokens",
        level(GEMM, H, "nvgpu", "!nvgpu.mbarrier.group<"),
        operand("mbarrier.test.wait", "token"),
    ),
    item(
        S,
        "WGMMA init, mma, store",
        level(GEMM, H, "nvgpu", "nvgpu.warpgroup.mma"),
        ptx(ATTENTION, H, "wgmma.mma_async", "stmatrix"),
        ptx(ATTENTION, H, ", 0, 1, 1, 0, 0;"),
        here="`scale-d` 0 of the first product; a store is several instructions, chosen by cost",
    ),
    item(S, "sparse", operand("mma.sp.sync", "metadata"), operand("mma.sp.sync", "selector")),
    item(
        S,
        "packed cvt and arithmetic",
        instruction("convert.f32x2.to.f16x2"),
        instruction("convert.f32x2.to.f8x2"),
        instruction("add.packed.f32x2"),
    ),
    item(
        S,
        "warp_execute_on_lane_0: region, results",
        instruction("elect.sync"),
        wrong="not lowered upstream; elect.sync guards the instructions, and a shuffle passes a result on",
    ),
    item(
        S,
        "create.descriptor tensor, box",
        level(GEMM, H, "nvgpu", "!nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>"),
    ),
)
B = "nv_tileas to LLVM: borders"
BORDERS = (
    item(
        B,
        "allowed inputs",
        level(GEMM, H, "nv_tileas", "nv_tileas.", "arith.", "scf."),
        altered(GEMM, "sm_80", "nvvm", '"tilesat.nvvm.barrier0"', '"cute.copy"', "is not an operation"),
        here="nv_tileas, arith, math and scf; of cute, cute_nvgpu and cutlass nv_tileas has layouts and atoms, and a"
        " text with one is refused",
    ),
    item(B, "CopyAtom and ReduceAtom", level(GEMM, H, "nv_tileas", 'atom = "')),
    item(
        B,
        "output types: structs, ptr<3>, tokens",
        level(GEMM, H, "nvvm", "!llvm.ptr<3>"),
        level(GEMM, H, "llvm", "!llvm.struct"),
        here="`--emit llvm` writes structs; in nvvm an operation has several results",
    ),
    item(
        B,
        "diagnostics of what is not allowed",
        altered(GEMM, "sm_80", "nvvm", '"tilesat.nvvm.barrier0"', '"gpu.barrier"', "is not legal in nvvm"),
    ),
)
O = "nv_tileas to LLVM: the function boundary"  # noqa: E741
BOUNDARY = (
    item(
        O,
        "two passes, functions first",
        named_pass("convert-tileas-to-nvgpu"),
        named_pass("convert-nvgpu-to-nvvm"),
        here="each converts the function before its body; no pass is named convert-nv-tile-func-to-llvm",
    ),
    item(O, "gate of kernel_spec, compute_capability, target_spec", level(GEMM, H, "nv_tileas", 'target = "sm_90a"')),
    item(O, "type converter", level(GEMM, H, "nvvm", "!llvm.ptr<1>", "!tilesat.tensormap")),
    item(O, "conversion of functions", level(GEMM, H, "nvgpu", "gpu.func"), level(GEMM, H, "nvvm", "llvm.func")),
    item(O, "conversion of returns", level(GEMM, H, "nvgpu", "gpu.return"), level(GEMM, H, "nvvm", "llvm.return")),
    item(O, "PDL patterns", named_pass("saturate"), here="rules of egraph/rules and of --rules, before this level"),
    item(
        O,
        "'region types conversion failed'",
        altered(GEMM, H, "nvvm", "%arg10: i32", "%arg10: !nv_tileas.pipeline<6>", "written as i32"),
        here="located, with a different message and the operation that holds the type",
    ),
    item(O, "kernel_spec to nvvm.kernel", level(GEMM, H, "llvm", "nvvm.kernel"), ptx(GEMM, H, ".visible .entry")),
    item(O, "nvvm.blocksareclusters", wrong="it needs PTX 9.0 in LLVM 22; launchers multiply grids by the cluster"),
    item(
        O,
        "return inside a loop",
        agrees("loop-ends-kernel", "sm_80"),
        here="an exit of the loop and of the code after it",
    ),
    item(O, "legality of functions", altered(GEMM, H, "nvvm", '"tilesat.llvm.func"', '"gpu.func"', "has no attribute")),
)
L = "nv_tileas to LLVM: phases, legality, invariants"
LEGALITY = (
    item(L, "bufferization", named_pass("tileas-materialize-schedule"), ptx(GEMM, "sm_80", ".extern .shared")),
    item(
        L,
        "a switch that skips the pipeline",
        forbidden(GEMM, H, ("tma", "cp.async"), "nv_tileas", "create_pipeline"),
        here="atoms that fill one are forbidden",
    ),
    item(
        L,
        "reuse of a symbol, several kernels in a module",
        level(GEMM, H, "llvm", "llvm.mlir.global external @dynamic_smem"),
        together("sm_90a", "softmax.mlir", "layernorm.mlir"),
        here="kernels of a module are compiled one by one (`--entry`); tilesat.tileiras joins their PTX, which declares"
        " the symbol once",
    ),
    item(
        L,
        "illegal: nv_tileaa",
        altered(GEMM, "sm_80", "nvgpu", '"gpu.barrier"', '"nv_tileaa.create_mem_token"', "must have 1 results"),
    ),
    item(
        L,
        "dynamic: nv_tileas",
        altered(GEMM, "sm_80", "nvgpu", '"gpu.barrier"', '"nv_tileas.barrier"', "is not legal in"),
    ),
    item(
        L,
        "legal: async.pipeline.*, mark_for_reuse",
        level(GEMM, H, "nv_tileas", "nv_tileas.async.pipeline.create_pipeline"),
        named_pass("tileas-lower-pipelines"),
    ),
    item(
        L,
        "math.ctlz, ctpop, cttz, trunc",
        from_text(math.CtLz, I32, "clz.b32"),
        from_text(math.CtPop, I32, "popc.b32"),
        from_text(math.CtTz, I32, "brev.b32", "clz.b32"),
        from_text(math.Trunc, F32, "cvt.rzi.f32.f32"),
        here="from text only: no operation of Tile IR corresponds to one",
    ),
    item(
        L,
        "ub.poison",
        from_text(ub.Poison, I32, "st.global.b32"),
        here="from text only, zero in nvvm: no pass creates it",
    ),
    item(L, "TMA load: multicast", instruction(MULTICAST)),
    item(L, "TMA load: L2 hint", operand(LOAD, "l2CacheHint"), instruction("createpolicy.fractional")),
    item(L, "TMA load: im2col", instruction("cp.async.bulk.tensor.shared.cta.global.im2col")),
    item(L, "async.dot: scaleA, scaleB -1", ptx("gemm_negated.mlir", H, ", -1, 1,")),
    item(L, "mbarrier wait: ticks in a register", operand("mbarrier.try_wait.parity", "ticks")),
    item(L, "signature of LLVM's types first", level(GEMM, H, "llvm", "llvm.byval", "nvvm.grid_constant")),
    item(
        L,
        "metadata preserves launch semantics",
        hinted("occupancy = 3", "sm_80", ".minnctapersm 3"),
        hinted("num_worker_warps_per_cta = 8", "sm_80", ".reqntid 256"),
    ),
    item(
        L,
        "no operation of TileAA or TileAS survives",
        altered(GEMM, "sm_80", "nvvm", '"tilesat.nvvm.barrier0"', '"nv_tileas.barrier"', "is not legal in"),
    ),
)
REST = (*SEQUENCES, *SURFACE, *BORDERS, *BOUNDARY, *LEGALITY)

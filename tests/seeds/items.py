"""The items of the nvgpu and nv_tileas seeds that were not there whole on 2026-11-22, and how each is tried now.

An item is done, and tried (`Try`), in another form or under another name where `here` says so; wrong in the seed
(`wrong`: its text is not PTX or not upstream MLIR, and what the hardware has is done instead); or left (`left`: not
there, and why).
"""

from __future__ import annotations

from dataclasses import dataclass

from ir.core import Block
from ir.dialects import nvgpu, nvvm
from ir.types import GLOBAL_PTR, I32, SHARED_PTR, TENSOR_MAP
from tests.seeds.tries import Try, altered, hinted, instruction, level, named_pass, operand, ptx, refused, without

SHARED, GLOBAL, WORD, MAP = Block([SHARED_PTR, GLOBAL_PTR, I32, TENSOR_MAP]).args


@dataclass(frozen=True)
class Item:
    """One item of a seed's section."""

    section: str
    name: str
    tries: tuple[Try, ...] = ()
    wrong: str = ""
    here: str = ""
    left: str = ""


def item(section: str, name: str, *tries: Try, wrong: str = "", here: str = "", left: str = "") -> Item:
    """An item with its tries."""
    assert tries or wrong or left, f"{name} needs a try or a reason"
    return Item(section, name, tries, wrong, here, left)


GEMM, ATTENTION = "gemm.mlir", "flash_attention.mlir"
LOAD, STORE = "cp.async.bulk.tensor.shared.cluster.global", "cp.async.bulk.tensor.global.shared.cta"
MULTICAST = f"{LOAD}.multicast"
R = "nvgpu: roster"
ROSTER = (
    item(R, "device_async_copy", instruction("cp.async.shared.global"), ptx(GEMM, "sm_80", "cp.async.cg")),
    item(
        R,
        "device_async_create_group",
        instruction("cp.async.commit.group"),
        ptx(GEMM, "sm_80", "cp.async.commit_group"),
    ),
    item(R, "device_async_wait", instruction("cp.async.wait.group"), ptx(GEMM, "sm_80", "cp.async.wait_group")),
    item(
        R,
        "mbarrier.create",
        level(GEMM, "sm_90a", "nvgpu", "nvgpu.mbarrier.create", "num_barriers = 6", "nvgpu.mbarrier.get"),
        here="at an offset of dynamic shared memory, with upstream's type, instead of a memref.global",
    ),
    item(R, "mbarrier.init", instruction("mbarrier.init.shared"), ptx(GEMM, "sm_90a", "mbarrier.init")),
    item(
        R,
        "mbarrier.arrive",
        instruction("mbarrier.arrive.shared"),
        instruction("mbarrier.arrive.token"),
        instruction("mbarrier.arrive.cluster"),
        operand("mbarrier.arrive.token", "count"),
    ),
    item(R, "mbarrier.arrive.nocomplete", instruction("mbarrier.arrive.nocomplete")),
    item(
        R,
        "mbarrier.arrive.expect_tx",
        instruction("mbarrier.arrive.expect_tx.shared"),
        instruction("mbarrier.arrive.expect_tx"),
        instruction("mbarrier.expect_tx"),
    ),
    item(R, "mbarrier.test.wait", instruction("mbarrier.test.wait"), instruction("mbarrier.test.wait.parity")),
    item(
        R,
        "mbarrier.try_wait.parity",
        instruction("mbarrier.try_wait.parity.shared"),
        instruction("mbarrier.try_wait.parity"),
    ),
    item(R, "mbarrier.inval", instruction("mbarrier.inval.shared"), wrong="upstream's nvgpu never had the op"),
    item(
        R,
        "tma.async.load",
        instruction(LOAD),
        instruction(MULTICAST),
        instruction("cp.async.bulk.tensor.shared.cta.global.im2col"),
        instruction("cp.async.bulk.tensor.shared.cta.global.gather4"),
        ptx(GEMM, "sm_90a", "cp.async.bulk.tensor.2d"),
    ),
    item(
        R,
        "tma.async.store",
        instruction(STORE),
        instruction("cp.async.bulk.tensor.global.shared.cta.scatter4"),
        ptx(ATTENTION, "sm_90a", "cp.async.bulk.tensor.3d.global"),
    ),
    item(
        R,
        "tma.async.reduce",
        instruction("cp.async.bulk.tensor.reduce"),
        wrong="never upstream; ptxas rejects the document's PTX",
    ),
    item(R, "tma.prefetch.descriptor", instruction("prefetch"), ptx(GEMM, "sm_90a", "prefetch.tensormap")),
    item(
        R,
        "tma.fence.descriptor",
        instruction("fence.proxy.acquire"),
        instruction("fence.proxy.release"),
        wrong="NVVM's name and the document's PTX differ",
    ),
    item(
        R,
        "tma.create.descriptor",
        level(GEMM, "sm_90a", "nvgpu", "tensormap"),
        wrong="the host encodes maps (runtime/cuda.py) from the launch manifest; no llvm.alloca",
    ),
    item(
        R,
        "tensormap.create.descriptor",
        instruction("tensormap.cp_fenceproxy"),
        wrong="tensormap.cp.async does not exist",
    ),
    item(R, "tensormap.update.{3}", instruction("tensormap.replace")),
    item(
        R,
        "gpu.warp_execute_on_lane_0",
        instruction("elect.sync"),
        wrong="not lowered upstream; one lane is chosen by elect.sync or a comparison",
    ),
    item(R, "warpgroup.descriptor", level(GEMM, "sm_90a", "nvgpu", "nvgpu.matrix_descriptor")),
    item(
        R,
        "warpgroup.mma",
        instruction("wgmma.mma_async"),
        instruction("wgmma.fence.aligned"),
        instruction("wgmma.commit.group.sync.aligned"),
        instruction("wgmma.wait.group.sync.aligned"),
        ptx(GEMM, "sm_90a", "wgmma.mma_async"),
    ),
    item(
        R,
        "warpgroup.mma.store",
        ptx(GEMM, "sm_90a", "st.global"),
        ptx(ATTENTION, "sm_90a", "stmatrix"),
        here="by st, or stmatrix and a tensor copy, chosen by cost",
    ),
    item(
        R,
        "warpgroup.mma.init.accumulator",
        ptx(ATTENTION, "sm_90a", ", 0, 1, 1, 0, 0;"),
        here="`scale-d` 0 of the first product, which then starts from zero",
    ),
    item(R, "mma.sync", instruction("mma.sync"), ptx(GEMM, "sm_80", "mma.sync.aligned.m16n8k16")),
    item(R, "mma.sp.sync", instruction("mma.sp.sync")),
    item(R, "ldmatrix", instruction("ldmatrix"), instruction("ldmatrix.bytes"), ptx(GEMM, "sm_80", "ldmatrix")),
    item(R, "stmatrix", instruction("stmatrix"), instruction("stmatrix.bytes"), ptx(ATTENTION, "sm_90a", "stmatrix")),
    item(R, "rcp", instruction("rcp")),
    item(
        R,
        "cvt_fpext",
        instruction("convert.f8x2.to.f16x2"),
        instruction("convert.f6x2.to.f16x2"),
        instruction("convert.f4x2.to.f16x2"),
        instruction("convert.ue8m0x2.to.bf16x2"),
        wrong="cvt of one f8 is refused by ptxas: they come in pairs",
    ),
    item(
        R,
        "cvt_fptrunc",
        instruction("convert.f32x2.to.f8x2"),
        instruction("convert.f32x2.to.f6x2"),
        instruction("convert.f32.to.f4"),
        instruction("convert.f32x2.to.f8x2.ue8m0"),
        instruction("convert.f32x2.to.f16x2"),
        wrong="cvt to one f8 is refused by ptxas: they come in pairs",
    ),
    item(R, "fma.packed.f32x2", instruction("fma.packed.f32x2")),
    item(R, "mul.packed.f32x2", instruction("mul.packed.f32x2"), instruction("add.packed.f32x2")),
)
P = "nvgpu: operands"
POINTERS = "an index is an llvm.getelementptr: an address is one value, and shares arithmetic with others"
ADDRESSED = level(GEMM, "sm_80", "nvgpu", "llvm.getelementptr")
ORDER = "program order, as in PTX and in the seed, which erases its tokens"
OPERANDS = (
    item(
        P,
        "device_async_copy.dst, dstIndices, srcIndices",
        operand("cp.async.shared.global", "dst"),
        operand("cp.async.shared.global", "src"),
        ADDRESSED,
        here=POINTERS,
    ),
    item(
        P,
        "device_async_copy token, group tokens, wait dependencies",
        level(GEMM, "sm_80", "nvgpu", "cp.async.commit.group", "cp.async.wait.group"),
        operand("cp.async.wait.group", "n"),
        here=ORDER,
    ),
    item(
        P,
        "mbarrier.create numBarriers",
        level(GEMM, "sm_90a", "nvgpu", "num_barriers = 6"),
        wrong="upstream has the count in the type of the group",
    ),
    item(
        P,
        "mbarrier barriers, mbarId",
        level(GEMM, "sm_90a", "nvgpu", "nvgpu.mbarrier.get"),
        operand("mbarrier.init.shared", "addr"),
        here="the operands of nvgpu.mbarrier.get, whose result the others take",
    ),
    item(P, "mbarrier.init count", refused(nvvm.MBarrierInit, [SHARED], "at least 1", (1, 0), count=0)),
    item(P, "mbarrier.arrive token", operand("mbarrier.test.wait", "token")),
    item(
        P,
        "expect_tx txCount",
        refused(nvvm.MBarrierArriveExpectTx, [SHARED], "at most", (1, 0), txcount=1 << 20),
        operand("mbarrier.arrive.expect_tx", "txcount"),
    ),
    item(P, "try_wait ticks", operand("mbarrier.try_wait.parity", "ticks")),
    item(P, "mbarrier.inval operands", operand("mbarrier.inval.shared", "addr")),
    item(P, "tma multicastMask", operand(MULTICAST, "multicastMask")),
    item(
        P,
        "tma l2CacheHint (load, reduce)",
        operand(MULTICAST, "l2CacheHint"),
        operand("cp.async.bulk.tensor.reduce", "l2CacheHint"),
        instruction("createpolicy.fractional"),
    ),
    item(P, "fence descriptor", operand("fence.proxy.acquire", "addr")),
    item(
        P,
        "async.reduce operands",
        operand("cp.async.bulk.tensor.reduce", "kind"),
        refused(nvvm.TensorReduce, [MAP, SHARED], "1 to 5 coordinates", (1, 1, 0, 0, 0), kind="add"),
    ),
    item(P, "create.descriptor swizzle", level(GEMM, "sm_90a", "nvgpu", "swizzle")),
    item(
        P,
        "create.descriptor l2Promotion, oobFill, interleave",
        level(GEMM, "sm_90a", "nvgpu", "l2promo = l2promo_128b, oob = zero, interleave = none"),
        altered(GEMM, "sm_90a", "nvgpu", "oob = zero", "oob = nan", "the launcher makes"),
        altered(GEMM, "sm_90a", "nvgpu", "interleave = none", "interleave = interleave_16b", "at least 3 dimensions"),
        here="fields of the map's type, as upstream's, and of the manifest; ours promote 128 bytes, fill zeros"
        " and do not interleave: no operation of Tile IR asks for others but padding with NaN, which goes by pointers",
    ),
    item(
        P,
        "tensormap.create, update",
        operand("tensormap.replace", "ordinal"),
        refused(nvvm.TensorMapReplace, [GLOBAL], "expects i64", (1, 0), field="global_address"),
    ),
    item(P, "warpgroup.mma layouts", operand("wgmma.mma_async", "layoutA"), operand("wgmma.mma_async", "layoutB")),
    item(
        P,
        "warpgroup.mma scaleA, scaleB",
        operand("wgmma.mma_async", "scaleA"),
        operand("wgmma.mma_async", "scaleB"),
        ptx("gemm_negated.mlir", "sm_90a", ", -1, 1,"),
    ),
    item(P, "mma.sp.sync selector, metadata", operand("mma.sp.sync", "selector"), operand("mma.sp.sync", "metadata")),
    item(P, "ldmatrix source, indices", operand("ldmatrix", "ptr"), ADDRESSED, here=POINTERS),
    item(P, "rcp rounding", instruction("rcp", rounding="rn")),
    item(
        P,
        "cvt rounding",
        operand("convert.f32x2.to.f16x2", "rounding"),
        instruction("convert.f32x2.to.f8x2.ue8m0", rounding="rp"),
    ),
    item(P, "f32x2 operands, rounding", instruction("fma.packed.f32x2", rounding="rz")),
)
F = "nvgpu: floors, verification"
FLOORS = (
    item(
        F,
        "all rows: an operation rejects a lower SM",
        instruction("wgmma.mma_async"),
        instruction("stmatrix"),
        instruction("elect.sync"),
        instruction("setmaxregister"),
        instruction("mma.sync", multiplicandAPtxType="e4m3"),
    ),
    item(F, "PTX ISA floor of each operation", instruction("mapa")),
    item(
        F,
        "sm_90a and sm_90",
        instruction("cp.async.bulk.tensor.prefetch"),
        wrong="sm_90 has tensor copies and mbarriers: only wgmma and setmaxnreg need sm_90a",
    ),
    item(
        F,
        "features that code reads",
        instruction("redux.sync"),
        instruction("redux.sync.float"),
        instruction("max3"),
        instruction("add.packed.f32x2"),
        ptx("flash_attention.mlir", "sm_100a", "fma.rn.f32x2"),
        level("flash_attention.mlir", "sm_100a", "nv_tileas", 'thread_atom = "minmax3"'),
    ),
    item(
        F,
        "memory space of barriers",
        refused(nvvm.MBarrierInval, [GLOBAL], "pointer to shared memory"),
        wrong="PTX has mbarriers in shared memory only",
    ),
    item(
        F,
        "TMA verifier: ranks, memory",
        refused(nvvm.TensorLoad, [SHARED, MAP, SHARED], "1 to 5", (1, 1, 0, 1, 0, 0)),
        altered(GEMM, "sm_90a", "nvgpu", "memref<128x64xf16, 3>", "memref<2x64x64xf16, 3>", "2 coordinates"),
        altered(GEMM, "sm_90a", "nvgpu", "memref<128x64xf16, 3>", "memref<512x64xf16, 3>", "1 to 256 elements"),
        altered(GEMM, "sm_90a", "nvgpu", "swizzle = swizzle_128b", "swizzle = swizzle_32b", "rows of at most 32 bytes"),
        altered(GEMM, "sm_90a", "nvgpu", "txcount = 32768", "txcount = 4096", "announces 4096 bytes"),
    ),
    item(
        F,
        "WGMMA ordering",
        without("gemm.mlir", "sm_90a", "nvgpu", "wgmma.fence", "needs nvvm.wgmma.fence"),
        without("gemm.mlir", "sm_90a", "nvgpu", "wgmma.commit", "its group is not committed"),
        without("gemm.mlir", "sm_90a", "nvvm", "wgmma.fence", "needs nvvm.wgmma.fence"),
    ),
    item(F, "sparse selector bounds", operand("mma.sp.sync", "selector")),
    item(
        F,
        "async copy checks",
        refused(nvvm.CpAsyncSharedGlobal, [SHARED, GLOBAL], "one of 4, 8, 16", (1, 1, 0, 0), size=2),
        refused(nvvm.CpAsyncSharedGlobal, [SHARED, GLOBAL], "needs 16 bytes", (1, 1, 0, 0), size=8, modifier="cg"),
        refused(nvgpu.DeviceAsyncCopy, [GLOBAL, GLOBAL], "pointer to shared", (1, 1, 0, 0, 0), bytes=16),
    ),
    item(F, "verification before conversion", named_pass("convert-nvgpu-to-nvvm")),
    item(F, "verification that knows the target", instruction("wgmma.fence.aligned")),
    item(
        F,
        "typed descriptors and barriers",
        level(GEMM, "sm_90a", "nvgpu", "!nvgpu.warpgroup.descriptor<tensor = memref<128x16xf16, 3>>"),
        level(GEMM, "sm_90a", "nvgpu", "!nvgpu.tensormap.descriptor<tensor = memref<128x64xf16, 3>"),
        altered(GEMM, "sm_90a", "nvgpu", "memref<128x16xf16, 3>", "memref<128x8xf16, 3>", "b must describe"),
        level(GEMM, "sm_90a", "nvgpu", "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>"),
    ),
)
T = "nv_tileas: borders, functions, phases"
PASSES = (
    item(
        T,
        "nv_tileaa as input of the pipeline",
        named_pass("convert-cuda-tile-to-tileaa"),
        named_pass("convert-tileaa-to-cuda-tile"),
    ),
    item(T, "no nv_tileaa or nv_tileas operation is left", named_pass("convert-tileas-to-nvgpu")),
    item(T, "position and name of convert-nvgpu-to-nvvm", named_pass("convert-nvgpu-to-nvvm")),
    item(
        T,
        "cute and cute_nvgpu levels",
        level(GEMM, "sm_90a", "nv_tileas", "#nv_tileas.linear<", "#nv_tileas.shared<", 'atom = "wgmma.m64n128k16'),
        here="types of nv_tileas hold layouts, attributes of its operations atoms, both chosen before it: a level"
        " between it and nvgpu would hold nothing that is still to be decided",
    ),
    item(
        T,
        "dot to tcgen05 (sm_100a)",
        instruction("tcgen05.mma"),
        level(GEMM, "sm_100a", "nv_tileas", 'atom = "tcgen05.m128n128k16'),
        ptx(GEMM, "sm_103a", "tcgen05.mma.cta_group::1.kind::f16"),
    ),
    item(
        T,
        "numWarps to reqntid",
        ptx(GEMM, "sm_90a", ".reqntid"),
        hinted("num_worker_warps_per_cta = 8", "sm_80", ".reqntid 256"),
    ),
    item(T, "occupancy to registers", hinted("occupancy = 3", "sm_80", ".minnctapersm 3")),
    item(
        T,
        "minctasm = 1 always",
        ptx(ATTENTION, "sm_80", ".minnctapersm 1"),
        here="if ptxas might spill for more CTAs; otherwise omitted",
    ),
    item(
        T,
        "clusterDim to cluster_dim",
        hinted("num_cta_in_cga = 2", "sm_90a", ".reqnctapercluster 2, 1, 1", kernel="gemm"),
    ),
    item(T, "grid_constant for descriptors", ptx(GEMM, "sm_90a", ".param .align 64 .b8")),
    item(T, "decompose-print", instruction("vprintf")),
    item(T, "cluster.arrive, cluster.wait", instruction("cluster.arrive"), instruction("cluster.wait")),
    item(
        T,
        "cluster registers, mapa",
        instruction("read.ptx.sreg.cluster.ctaid.x"),
        instruction("mapa"),
        instruction("read.ptx.sreg.cluster.ctarank"),
    ),
    item(T, "legality at borders", named_pass("select-instructions")),
    item(
        T,
        "global_smem",
        ptx(GEMM, "sm_80", ".extern .shared .align 1024"),
        wrong="dynamic shared memory is external in PTX, not internal, and swizzles need 1024 bytes, not 16",
    ),
    item(
        T,
        "tensor memory",
        named_pass("tileas-place-accumulators"),
        level(GEMM, "sm_100a", "nv_tileas", "nv_tileas.alloc_tensor_memory", "nv_tileas.tensor_load"),
        ptx(GEMM, "sm_100a", "tcgen05.alloc", "tcgen05.ld", "tcgen05.dealloc"),
    ),
    item(
        T,
        "gpu.module, llvm types of signatures",
        level(GEMM, "sm_90a", "llvm", "gpu.module", "llvm.func", "!llvm.ptr<1>"),
        here="`--emit llvm` writes them; nvvm is one kernel, in a text without a module",
    ),
)
ITEMS = (*ROSTER, *OPERANDS, *FLOORS, *PASSES)

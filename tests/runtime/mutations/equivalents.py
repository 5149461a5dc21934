"""Mutants that are right programs: what they leave out, other lines of the kernel do.

Each group carries the PTX line that makes it so, with words of that line, and why.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Equivalent:
    """Mutants of a kernel by one operator at these lines. because: a PTX line, and words that stand there."""

    kernel: str
    operator: str
    lines: tuple[int, ...]
    because: tuple[int, str]
    why: str


HOPPER, BLACKWELL, CONSUMER = "gemm_descriptors.sm_90", "gemm_specialised.sm_100", "gemm_specialised.sm_120"
BARRIER, COUNT, INIT_FENCE = "barrier dropped", "arrival count wrong", "init fence dropped"
EQUIVALENTS = [
    Equivalent(HOPPER, BARRIER, (63, 68, 75, 82, 85, 92), (66, "and.pred"),
               "thread 0 alone inits, arrives and copies from line 52 to 97; any one of these barriers orders that for "
               "the waits at line 372"),
    Equivalent(HOPPER, BARRIER, (378,), (372, "mbarrier.try_wait"),
               "every thread itself waits for what its wgmma reads; line 439 orders the refill"),
    Equivalent(HOPPER, BARRIER, (439, 445, 451), (451, "bar.sync"),
               "one of the three between wgmma.wait_group at line 432 and the copies is enough, as the arrival at line "
               "441 is of the thread that copies"),
    Equivalent(HOPPER, BARRIER, (461, 465), (451, "bar.sync"),
               "it comes after the last wait for these mbarriers, at line 372, in the last round too; one thread ends "
               "all three"),
    Equivalent(HOPPER, BARRIER, (583,), (584, "ret"), "nothing comes after it"),
    Equivalent(BLACKWELL, BARRIER, (44,), (108, "barrier.sync"),
               "what line 43 reads is overwritten by copies that come after this barrier"),
    Equivalent(BLACKWELL, BARRIER, (121,), (72, "mbarrier.try_wait"),
               "it orders the arrival at line 124, for which nobody waits: this is the only wait for [%r67]"),
    Equivalent(BLACKWELL, BARRIER, (366,), (354, "bar.sync"),
               "the uses of the mbarriers that end come before it, or before barrier.sync at line 111"),
    Equivalent(BLACKWELL, BARRIER, (393, 586), (392, "barrier.sync"),
               "all tcgen05.ld come before it; after the other barrier the other warps end"),
    Equivalent(BLACKWELL, BARRIER, (556, 558, 562), (549, "mbarrier.try_wait"),
               "the thread that arrives and copies has itself waited here"),
    Equivalent(BLACKWELL, BARRIER, (582, 583), (107, "33554689"),
               "roles are 0, 1, 2, and 3 at the end: no warp comes here"),
    Equivalent(BLACKWELL, "warp barrier dropped", (433, 491), (428, "mbarrier.try_wait"),
               "every lane has itself waited, here and at line 486"),
    Equivalent(BLACKWELL, "warp barrier dropped", (574,), (575, "elect.sync"),
               "the lane elected is the one that issued the products"),
    Equivalent(BLACKWELL, "tcgen05 deallocation dropped", (587,), (39, "setp.lt.u32"),
               "warp 0 alone has %p1, and it ends at line 395"),
    *(Equivalent(BLACKWELL, operator, (72,), (62, "mbarrier.init"),
                 "the only wait for this object, which is fresh: parity 1 of a fresh one is complete")
      for operator in ("wait dropped", "wait without its loop")),
    *(Equivalent(BLACKWELL, operator, (line,), (72, "mbarrier.try_wait"),
                 "nobody waits for the phase that the arrival at line 124 completes: this is the only wait")
      for operator, line in (("arrival dropped", 124), ("arrival relaxed", 124), (COUNT, 62))),
    Equivalent(CONSUMER, BARRIER, (293,), (324, "bar.sync"),
               "it orders the reads of B for its release; the producer waits at line 705 for that of A, which comes "
               "after this barrier"),
    Equivalent(CONSUMER, "arrival relaxed", (294,), (705, "mbarrier.try_wait"),
               "the producer waits here for the arrival at line 325, which releases what line 294 would"),
    *(Equivalent(CONSUMER, operator, (721,), (705, "mbarrier.try_wait"),
                 "the consumers release B before A, for which the producer waits here")
      for operator in ("wait dropped", "wait without its loop")),
    Equivalent(CONSUMER, BARRIER, (676, 677), (97, "16842752"),
               "roles are 0 and 1, and 2 at the end: no warp comes here"),
    Equivalent(CONSUMER, BARRIER, (711, 713, 726, 728), (705, "mbarrier.try_wait"),
               "the thread that arrives and copies has itself waited here"),
    Equivalent(CONSUMER, BARRIER, (779,), (894, "barrier.sync"),
               "this one meets the producers instead; the mbarriers have ordered all stages before"),
    Equivalent(CONSUMER, BARRIER, (856,), (843, "bar.sync"),
               "the last uses of the mbarriers that end come before it, or before barrier.sync at line 779"),
    *(Equivalent("gemm_pointers.sm_80", operator, (676,), (934, "cp.async.wait_group"),
                 "it has waited for the same stage a round before, line 281 before the first round")
      for operator in ("cp.async wait dropped", "cp.async wait of one group fewer")),
    Equivalent("gemm_pointers.sm_80", BARRIER, (677,), (935, "bar.sync"),
               "the barrier for the same stage a round before, line 282 before the first round"),
    *(Equivalent("gemm_pointers.sm_80", operator, (933, 934), (933, "cp.async.wait_group"),
                 "lines 933 and 934 are the same")
      for operator in ("cp.async wait dropped", "cp.async wait of one group fewer")),
    Equivalent("gemm_pointers.sm_80", "cp.async commit dropped", (163,), (193, "cp.async.commit_group"),
               "it closes one group of both copies, which line 281 wants together"),
    Equivalent("attention.sm_80", "cp.async commit dropped", (125,), (139, "cp.async.commit_group"),
               "it closes one group of both copies, which line 297 wants together"),
    Equivalent("attention.sm_90", "cp.async commit dropped", (125,), (139, "cp.async.commit_group"),
               "it closes one group of both copies, which line 279 wants together"),
    Equivalent("attention.sm_90", "proxy fence dropped", (615,), (283, "fence.proxy.async"),
               "it covers both copies that line 279 waited for; A of the second product lies in registers"),
    Equivalent("ring.sm_80", "cp.async wait dropped", (52,), (51, "@%p2 bra LOOP"),
               "the last round copies nothing (%p3 is false), and nothing reads shared memory after it"),
    Equivalent("tcgen05_gemm.sm_100", INIT_FENCE, (22,), (23, "bar.sync 0"),
               "this barrier orders the inits for all threads of the only CTA"),
    Equivalent("multicast_load.sm_90", BARRIER, (19,), (20, "barrier.cluster.arrive.release"),
               "this barrier orders more"),
    Equivalent("multicast_load.sm_90", INIT_FENCE, (18,), (20, "barrier.cluster.arrive.release"),
               "the fence is for a relaxed arrival"),
    Equivalent("multicast_load.sm_90", "cluster arrival relaxed", (20,), (18, "fence.mbarrier_init"),
               "the init is all that the other CTA needs, and the fence releases it"),
    Equivalent("multicast_ring.sm_90", INIT_FENCE, (31,), (33, "barrier.cluster.arrive.release"),
               "the fence is for a relaxed arrival"),
    Equivalent("multicast_ring.sm_90", "cluster arrival relaxed", (33,), (31, "fence.mbarrier_init"),
               "the init is all that the other CTA needs, and the fence releases it"),
    Equivalent("multicast_ring.sm_90", "cluster arrival relaxed", (107,), (109, "ret"),
               "nothing is read after it; the barrier keeps the CTAs together"),
    Equivalent("reused_mbarrier.sm_90", INIT_FENCE, (21,), (24, "bar.sync 0"),
               "thread 0 alone uses the object before this barrier"),
    Equivalent("nvcc_lastblock.sm_80", BARRIER, (1424,), (1415, "setp.ne.s32"),
               "thread 0 alone wrote what it alone reads after"),
    *(Equivalent(kernel, INIT_FENCE, (line,), (line + 2, "bar.sync 0"),
                 "this barrier orders the inits for all threads of the only CTA")
      for kernel, line in (("agents-persistent.sm_90a", 62), ("cutile-matmul-f16.sm_90a", 79),
                           ("cutile-matmul-f16.sm_100a", 84))),
    *(Equivalent(kernel, operator, (line,), (line + after, "ret;"), "nothing reads shared memory between the two lines")
      for kernel, line, after in (("cutile-moe_gemm.sm_80", 284, 28), ("cutile-layer_norm.sm_80", 506, 1),
                                  ("cutile-attention.sm_80", 1092, 112))
      for operator in ("cp.async wait dropped", "cp.async wait of one group fewer")),
    Equivalent("cutile-matmul_persistent.sm_80", BARRIER, (186, 414), (414, "bar.sync 0"),
               "line 414 ends a tile and line 186 begins the next: one of them is enough"),
    *(Equivalent(kernel, "cp.async wait of one group fewer", (line,), (copy, "cp.async.cg"),
                 "the newest group is of a round that does not come: nothing reads or writes where it goes after this")
      for kernel, line, copy in (("gemm_pointers.sm_80", 1063, 901), ("attention.sm_80", 832, 751),
                                 ("attention.sm_90", 731, 686))),
]  # fmt: skip


def equivalent(kernel: str, operator: str, line: int) -> Equivalent | None:
    """Why the mutants of an operator at a line are right, None where they are not."""
    for each in EQUIVALENTS:
        if (each.kernel, each.operator) == (kernel, operator) and line in each.lines:
            return each
    return None

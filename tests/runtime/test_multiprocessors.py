"""CTAs that share the tensor memory of one SM: who waits for whom, and what a wrong protocol comes to."""

from __future__ import annotations

import numpy as np
import pytest

from ptxsim import (
    Beside,
    DeadlockError,
    GlobalMemory,
    HazardError,
    LaunchError,
    OperandError,
    StepLimitError,
    launch,
    launch_beside,
)

ALLOC = "tcgen05.alloc.cta_group::{0}.sync.aligned.shared::cta.b32 [%slot], {1};"
RELINQUISH = "tcgen05.relinquish_alloc_permit.cta_group::{0}.sync.aligned;"
DEALLOC = "tcgen05.dealloc.cta_group::{0}.sync.aligned.b32 %tm, {1};"
HOLD = """mov.u32 %count, 0;
HOLD: add.u32 %count, %count, 1; setp.lt.u32 %p0, %count, 40; @%p0 bra HOLD;"""
ORDERS = ["together", *(f"skewed:{seed}" for seed in range(5))]


def body(
    columns: int, group: int = 1, alloc: str = ALLOC, relinquish: str = RELINQUISH, dealloc: str = DEALLOC,
    address: str = "ld.shared.b32 %tm, [%slot];",
) -> str:  # fmt: skip
    """A warp writes its CTA's number into all of its columns, waits, and reads the first and the last."""
    meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" if group > 1 else ""
    return f"""{alloc.format(group, columns)} {relinquish.format(group)} bar.warp.sync -1; {address}
  mov.u32 %at, %tm; add.u32 %end, %tm, {columns};
FILL: tcgen05.st.sync.aligned.32x32b.x1.b32 [%at], {{%cta}}; add.u32 %at, %at, 1; setp.lt.u32 %p0, %at, %end;
  @%p0 bra FILL;
  tcgen05.wait::st.sync.aligned; {HOLD} sub.u32 %end, %end, 1;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%a}}, [%tm]; tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%b}}, [%end];
  tcgen05.wait::ld.sync.aligned; {meet} {dealloc.format(group, columns)}
  mad.lo.u32 %a, %a, 1000, %b; mad.lo.u32 %a, %a, 1000, %tm;"""


def kernel(code: str, name: str = "k", group: int = 1) -> str:
    """Runs `code`; %a of each CTA is its result."""
    cluster = f".reqnctapercluster {group},1,1" if group > 1 else ""
    return f""".version 8.8
.target sm_100a
.address_size 64
.shared .align 4 .b32 slot;
.visible .entry {name}(.param .u64 out)
.reqntid 32
{cluster}
{{
  .reg .b32 %a, %b, %slot, %tm, %at, %end, %count, %cta; .reg .b64 %rd<3>; .reg .pred %p<2>;
  mov.u32 %slot, slot; mov.u32 %cta, %ctaid.x; add.u32 %cta, %cta, 1;
  {code}
  ld.param.u64 %rd0, [out]; mul.wide.u32 %rd1, %cta, 4; add.u64 %rd0, %rd0, %rd1; st.global.b32 [%rd0+-4], %a;
  ret;
}}"""


def run(code: str, ctas: int, on_one_sm: int, group: int = 1, schedule: str = "together") -> list[int]:
    """The first column of each CTA, whose contents must be its own."""
    memory = GlobalMemory()
    out = memory.alloc(4 * ctas)
    launch(
        kernel(code, group=group), (ctas,), (32,), [out], memory, hazards=True, on_one_sm=on_one_sm, schedule=schedule
    )
    return columns(memory.get(out, ctas, np.uint32))


def columns(found: np.ndarray) -> list[int]:
    assert (found // 1000 == [1001 * (cta + 1) for cta in range(found.size)]).all()
    return (found % 1000).tolist()


def test_ctas_on_one_sm_have_columns_of_their_own() -> None:
    assert run(body(128), 4, 4) == [0, 128, 256, 384]
    assert run(body(128), 4, 2) == [0, 128, 0, 128]
    assert run(body(256), 2, 1) == [0, 0]


def test_a_cta_waits_until_another_gives_columns_back() -> None:
    """Five CTAs, and columns for two; three, and columns for one."""
    assert run(body(256), 5, 5) == [0, 256, 0, 256, 0]
    assert run(body(512), 3, 3) == [0, 0, 0]


def test_both_ctas_of_a_pair_have_the_same_columns() -> None:
    assert run(body(128, group=2), 8, 4, group=2) == [0, 0, 128, 128, 256, 256, 384, 384]
    assert run(body(256, group=2), 8, 4, group=2) == [0, 0, 256, 256, 0, 0, 256, 256]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("schedule", ORDERS)
def test_any_order_of_warps(schedule: str) -> None:
    """A warp that need not wait runs to its end, so the columns differ; that each has its own, `run` checks."""
    for size in (128, 256, 512):
        assert set(run(body(size), 5, 5, schedule=schedule)) <= {0, 128, 256, 384}
        found = run(body(size, group=2), 8, 4, group=2, schedule=schedule)
        assert found[::2] == found[1::2]


@pytest.mark.in_turn
@pytest.mark.parametrize("schedule", ORDERS)
def test_kernels_on_one_sm(schedule: str) -> None:
    """Three of 256, 128 and 512 columns, on two SMs."""
    memory = GlobalMemory()
    sizes, outs = (256, 128, 512), [memory.alloc(8) for _ in range(3)]
    launches = [
        Beside(kernel(body(size), f"k{size}"), (2,), (32,), [out]) for size, out in zip(sizes, outs, strict=True)
    ]
    reports = launch_beside(launches, memory, hazards=True, schedule=schedule)
    assert [report.hazards for report in reports] == [[], [], []]
    found = [columns(memory.get(out, 2, np.uint32)) for out in outs]
    assert found[2] == [0, 0]
    if schedule == "together":
        assert found == [[0, 0], [256, 256], [0, 0]]


def test_a_cta_that_keeps_the_permit() -> None:
    """Alone on its SM it may; where another waits, that is found when it ends."""
    assert run(body(128, relinquish=""), 2, 1) == [0, 0]
    with pytest.raises(HazardError, match=r"CTA .0,0,0. of `k` kept the permit .* for which CTA .1,0,0. of `k` waited"):
        run(body(128, relinquish=""), 2, 2)


def test_a_cta_that_waits_for_the_one_it_keeps_the_permit_from() -> None:
    spins = "WAIT: ld.volatile.global.b32 %count, [%rd0]; setp.eq.u32 %p0, %count, 0; @%p0 bra WAIT;"
    code = f"ld.param.u64 %rd0, [out]; {ALLOC.format(1, 128)} setp.eq.u32 %p1, %cta, 2; @%p1 bra SAY; {spins} bra END;"
    code += f" SAY: st.volatile.global.b32 [%rd0], 1; END: {RELINQUISH.format(1)} mov.u32 %a, 0;"
    memory = GlobalMemory()
    with pytest.raises(StepLimitError):
        launch(kernel(code), (2,), (32,), [memory.put(np.zeros(2, np.uint32))], memory, on_one_sm=2, max_blocks=20000)


def test_columns_that_are_not_given_back() -> None:
    with pytest.raises(HazardError, match="ends with tensor memory allocated"):
        run(body(256, dealloc=""), 2, 2)
    message = r"only 0 of 512 are free \(CTA \(0,0,0\) of `k`, which has ended, holds 256 from column 0; CTA \(1,0,0\)"
    with pytest.raises(DeadlockError, match=message):
        run(body(256, dealloc=""), 3, 3)


@pytest.mark.parametrize("schedule", ORDERS)
def test_an_address_that_is_assumed_to_be_0(schedule: str) -> None:
    """The two warps of each CTA meet behind the allocation, so that all CTAs hold columns at a time."""
    code = body(128, address="mov.u32 %tm, 0;")
    assert run(code, 2, 1) == [0, 0]
    with pytest.raises(OperandError, match="columns 0 to 0, which are not all allocated"):
        run(code, 2, 2)


def test_a_deadlock_of_two_kernels_names_who_holds_what() -> None:
    one = kernel(f"{ALLOC.format(1, 256)} {RELINQUISH.format(1)} mov.u32 %a, 0;", "one")
    two = kernel(f"{ALLOC.format(1, 512)} {RELINQUISH.format(1)} mov.u32 %a, 0;", "two")
    memory = GlobalMemory()
    with pytest.raises(DeadlockError) as caught:
        launch_beside([Beside(each, (1,), (32,), [memory.alloc(4)]) for each in (one, two)], memory)
    assert "`two`: deadlock, no thread can go on;" in str(caught.value)
    holder = "only 256 of 512 are free (CTA (0,0,0) of `one`, which has ended, holds 256 from column 0)"
    assert f"32 threads wait for 512 columns of tensor memory: {holder}" in str(caught.value)
    assert [hazard.kind.title for hazard in caught.value.hazards] == ["deadlock"]


def test_half_a_pair_that_does_not_allocate() -> None:
    code = f"setp.eq.u32 %p1, %cta, 2; @%p1 bra END; {ALLOC.format(2, 64)} END: mov.u32 %a, 0;"
    memory = GlobalMemory()
    with pytest.raises(DeadlockError, match=r"64 columns of tensor memory, which CTA \(1,0,0\) of `k` of its pair has"):
        launch(kernel(code, group=2), (2,), (32,), [memory.alloc(8)], memory)
    code = f"shl.b32 %end, %cta, 6; {ALLOC.format(2, '%end')} mov.u32 %a, 0;"
    with pytest.raises(OperandError, match=r"allocates 64 columns, but CTA \(1,0,0\) of `k` of its pair 128"):
        launch(kernel(code, group=2), (2,), (32,), [memory.alloc(8)], memory)


@pytest.mark.parametrize(
    ("ctas", "threads", "shared", "message"),
    [
        (2, 1024, 120 << 10, "247816 bytes of shared memory, 1024 of each CTA for the system; it has 233472"),
        (3, 1024, 0, "3072 threads; it has 2048"),
        (33, 32, 0, "33 CTAs; it has 32"),
    ],
)
def test_ctas_that_do_not_fit_on_an_sm(ctas: int, threads: int, shared: int, message: str) -> None:
    memory = GlobalMemory()
    text = kernel("mov.u32 %a, 0;").replace(".reqntid 32", "")
    with pytest.raises(LaunchError, match=message):
        launch(text, (ctas,), (threads,), [memory.alloc(4 * ctas)], memory, dynamic_smem=shared, on_one_sm=ctas)


def test_no_cta_on_an_sm() -> None:
    memory = GlobalMemory()
    with pytest.raises(LaunchError, match="on_one_sm 0 is below 1"):
        launch(kernel("mov.u32 %a, 0;"), (1,), (32,), [memory.alloc(4)], memory, on_one_sm=0)
    with pytest.raises(LaunchError, match="on_one_sm 0 is below 1"):
        launch_beside([Beside(kernel(""), (1,), (32,), [memory.alloc(4)], on_one_sm=0)], memory)

"""What hazard mode does for many CTAs or registers at once says the same as one by one: the same result, or message."""

import numpy as np
import pytest

from ptxsim import GlobalMemory, SimulatorError, TensorMap, launch
from ptxsim.families.wgmma import Late
from ptxsim.flights import Flights
from ptxsim.hazards import Tracker
from ptxsim.ptx_types import Array
from ptxsim.transfers import Transfers
from tests.runtime import test_wgmma_hazards as wgmma
from tests.runtime.async_harness import INIT, MAP, kernel, wait

# Three CTAs, each of which loads two boxes of 512 bytes for one mbarrier and stores both; %p0 holds in the second one.
BOX = "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes"
SECOND = f"@%leader {BOX} [%tile+512], [%rd0, {{0, %r10}}], [%bars];"
LOADS = (
    """mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; ld.param.u64 %rd20, [out]; mov.u32 %r10, %ctaid.x;
  setp.eq.u32 %p0, %r10, 1; mul.wide.u32 %rd3, %r10, 1024; add.u64 %rd20, %rd20, %rd3; mov.u32 %r11, 1024;
  and.pred %p1, %p0, %leader; shl.b32 %r10, %r10, 2; mov.u32 %r12, %bars;\n"""
    + INIT.format(count=1)
    + "\n@%leader mbarrier.arrive.expect_tx.shared.b64 _, [%bars], %r11;\n"
    + f"@%leader {BOX} [%tile], [%rd0, {{0, 0}}], [%bars];\n{SECOND}\n"
    + wait()
    + """@%leader cp.async.bulk.global.shared::cta.bulk_group [%rd20], [%tile], 1024;
  @%leader cp.async.bulk.commit_group; @%leader cp.async.bulk.wait_group 0;"""
)
CHANGES = {
    "right": ("", ""),
    "one does not wait": (wait(), "@%p0 bra ON;" + wait() + "ON:"),
    "one expects less": ("mov.u32 %r11, 1024;", "mov.u32 %r11, 1024; @%p0 mov.u32 %r11, 512;"),
    "one expects more": ("mov.u32 %r11, 1024;", "mov.u32 %r11, 1024; @%p0 mov.u32 %r11, 1040;"),
    "one loads once": (SECOND, SECOND.replace("@%leader", "@%p2")),
    "one ends at once": (wait(), "@%p0 exit;" + wait()),
    "one invalidates": (wait(), "@%p1 mbarrier.inval.shared.b64 [%bars];" + wait()),
    "one writes early": (wait(), "@%p1 st.shared.b32 [%tile+512], %r10;" + wait()),
    "one reads early": (wait(), "@%p1 ld.shared.b32 %r13, [%tile+8];" + wait()),
    "one names another place": (SECOND, SECOND.replace("[%tile+512]", "[%r14]")),
    "one waits first": (wait(), "@!%p0 bra ON;" + wait(number=1) + "ON: " + wait()),
    "out of bounds": ("{0, %r10}", "{48, %r10}"),
}


# What threads do with the memory before the loads, and whether that is right. %r14 is a place of each thread in it.
FENCED, MEET = "fence.proxy.async.shared::cta;", "bar.sync 1;"
STORE, LOAD = "st.shared.b32 [%r14], %r11;", "ld.shared.b32 %r13, [%r14];"
BEFORE = {
    "writes": (STORE + FENCED + MEET, True),
    "writes of some": ("@%p0 " + STORE + FENCED + MEET, True),
    "writes without a fence": (STORE + MEET, False),
    "writes that one does not fence": (STORE + "@!%p0 " + FENCED + MEET, False),
    "writes and a late barrier": (STORE + MEET + FENCED, True),
    "writes and no barrier": (STORE + FENCED, False),
    "reads": (STORE + FENCED + MEET + LOAD + MEET, True),
    "reads and no barrier": (STORE + FENCED + MEET + LOAD, False),
    "reads of one and no barrier": (STORE + FENCED + MEET + "@%p0 " + LOAD, False),
}


def _text(name: str) -> str:
    old, new = CHANGES[name]
    assert old in LOADS
    text = LOADS.replace(old, new) if old else LOADS
    text = text.replace("shl.b32 %r10", "not.pred %p2, %p0; and.pred %p2, %p2, %leader; shl.b32 %r10", 1)
    return text.replace("shl.b32 %r10", "add.u32 %r14, %tile, 512; @%p0 add.u32 %r14, %r14, 512; shl.b32 %r10", 1)


def _loads(text: str, schedule: str) -> object:
    memory = GlobalMemory()
    array = np.random.default_rng(3).integers(0, 1 << 16, (16, 64), dtype=np.uint16)
    tensor, out = TensorMap(memory.put(array), "u16", (64, 16), (128,), (64, 4)), memory.alloc(3072)
    try:
        launch(
            kernel(text, [MAP, ".param .u64 out"]), (3,), (64,), [tensor, out], memory, hazards=True, schedule=schedule
        )
    except SimulatorError as error:
        return str(error)
    return memory.get(out, 3072, np.uint8).tobytes()


@pytest.mark.parametrize("schedule", ["together", "skewed:1"])
@pytest.mark.parametrize("name", CHANGES)
def test_loads_of_several_ctas(name: str, schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    issued: list[bool] = []
    issue = Transfers.issue_bundle

    def counted(self: Transfers, bundle: object) -> bool:
        issued.append(issue(self, bundle))  # type: ignore[arg-type]
        return issued[-1]

    monkeypatch.setattr(Transfers, "issue_bundle", counted)
    found = _loads(_text(name), schedule)
    assert any(issued) == (schedule == "together")
    monkeypatch.setattr(Transfers, "issue_bundle", lambda self, bundle: False)  # type: ignore[misc]
    assert found == _loads(_text(name), schedule)
    assert isinstance(found, bytes) == (name in ("right", "one waits first", "out of bounds"))


@pytest.mark.parametrize("schedule", ["together", "skewed:1"])
@pytest.mark.parametrize("name", BEFORE)
def test_loads_where_threads_were(name: str, schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    actions, is_right = BEFORE[name]
    place = "mov.u32 %r14, %tid.x; shl.b32 %r14, %r14, 4; add.u32 %r14, %r14, %tile;"
    text = LOADS.replace("@%leader mbarrier.arrive", f"{place} {actions} @%leader mbarrier.arrive", 1)
    free: list[bool] = []
    are_free = Tracker._are_free  # pyright: ignore[reportPrivateUsage]

    def counted(self: Tracker, where: Array, lanes: Array) -> bool:
        free.append(are_free(self, where, lanes))
        return free[-1]

    monkeypatch.setattr(Tracker, "_are_free", counted)
    found = _loads(text, schedule)
    assert all(free) == is_right
    monkeypatch.setattr(Tracker, "_are_free", lambda self, where, lanes: False)
    assert found == _loads(text, schedule)
    assert isinstance(found, bytes) == is_right


# Between products of one accumulator: what some of the lanes do. %p3 holds in the second warpgroup.
BETWEEN = {
    "nothing": "",
    "a wait": "wgmma.wait_group.sync.aligned 0;",
    "a wait of all but one": "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;",
    "a commit": "wgmma.commit_group.sync.aligned;",
    "a commit of one warpgroup": "@!%p3 bra ON; wgmma.commit_group.sync.aligned; ON:",
    "a wait of one warpgroup": "wgmma.commit_group.sync.aligned; @!%p3 bra ON; wgmma.wait_group.sync.aligned 0; ON:",
    "a read": "add.f32 %sum, %sum, %d3;",
    "a read of one warpgroup": "@%p3 add.f32 %sum, %sum, %d3;",
    "a write": "mov.f32 %d7, 0f00000000;",
    "a wait and a write": "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; mov.f32 %d7, 0f3F800000;",
    "a product of one warpgroup": "@!%p3 bra ON; PRODUCT ON:",
    "a product that starts anew": "setp.ne.u32 %p1, %r0, %r0; PRODUCT setp.eq.u32 %p1, %r0, %r0;",
    "a product that starts anew for one warpgroup": "and.pred %p1, %p1, %p3; PRODUCT setp.eq.u32 %p1, %r0, %r0;",
    "a product of another shape": "NARROW",
    "a product on other registers": "SHIFTED",
}
PRODUCT = f"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{wgmma.NAMES}}},%rd6,%rd7,%p1,1,1,0,0;"
NARROW = PRODUCT.replace("n64", "n32").replace(wgmma.NAMES, ",".join(f"%d{i}" for i in range(16)))
SHIFTED = PRODUCT.replace("n64", "n32").replace(wgmma.NAMES, ",".join(f"%d{i}" for i in range(8, 24)))


def _products(name: str, report: bool) -> object:
    between = BETWEEN[name].replace("PRODUCT", PRODUCT).replace("NARROW", NARROW).replace("SHIFTED", SHIFTED)
    first = wgmma.KERNEL.index(f"{{{wgmma.NAMES}}},%rd6")
    place = wgmma.KERNEL.index(";", first) + 1
    text = wgmma.KERNEL[:place] + "setp.ge.u32 %p3, %r0, 128; " + between + wgmma.KERNEL[place:]
    rng = np.random.default_rng(0)
    memory = GlobalMemory()
    a, b = (memory.put(rng.standard_normal((64, 64)).astype(np.float16)) for _ in range(2))
    out = memory.put(np.zeros(512, np.float32))
    try:
        done = launch(text, (2,), (256,), [a, b, out], memory, hazards="report" if report else True)
    except SimulatorError as error:
        return str(error)
    found = [(each.kind, each.line, each.count) for each in done.hazards]
    return found, memory.get(out, 512, np.float32).tobytes()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("report", [False, True])
@pytest.mark.parametrize("name", BETWEEN)
def test_products_of_one_accumulator(name: str, report: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    begin = Flights.begin_sum
    monkeypatch.setattr(Flights, "begin_sum", lambda self, *args: begun.append(begin(self, *args)))
    found = _products(name, report)
    assert begun
    monkeypatch.setattr(Late, "_add_up", None)
    make = Late.__init__

    def one_by_one(self: Late, *args: object) -> None:
        make(self, *args)  # type: ignore[arg-type]
        self._may_add_up = False  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(Late, "__init__", one_by_one)
    assert found == _products(name, report)
    is_right = not name.startswith(("a read", "a write", "a product of another", "a product on"))
    assert isinstance(found, str) != (is_right or report)

"""Agents on whole programs for sm_90a: scalars that cross between them, rings in loops of loops, warps of their own."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowering.schedule.agents
import tilesat
from ir.core import Block, Builder, Op, Region, Value, VerifyError, verify
from ir.dialects import nv_tileas
from lowering import ptx
from lowering.convert import nvgpu_to_nvvm, tileas_to_nvgpu
from lowering.schedule.boundary import Boundary
from lowering.schedule.explain import agents
from lowering.schedule.units import Demand, map_units
from lowering.targets import target
from ptxsim import SimulatorError
from runtime.ptxas import assemble
from tests.programs.agents import AGENTS
from tests.programs.agents_random import nested as random_nest
from tests.programs.program import FAR_APART, check, simulate
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

EXAMPLES = Path(__file__).parents[2] / "examples"

COPIED = ("agents-expert",)
"""Programs in which the threads of the producer copy."""

CROSSING = {
    "agents-known-by-view": (0, 0),
    "agents-expert": (0, 0),
    "agents-experts-by-view": (0, 0),
    "agents-ring-around-ring": (0, 0),
    "agents-known-before": (0, 1),
    "agents-known-bound": (0, 1),
    "agents-table-each-step": (0, 0),
    "agents-carried-number": (0, 0),
    "agents-linked-list": (0, 0),
    "agents-from-the-result": (1, 0),
    "agents-reduced": (1, 0),
    "agents-scratch-before": (0, 0),
    "agents-scratch-in-a-branch": (0, 0),
    "agents-stored-before": (1, 0),
    "agents-tile-stored-before": (1, 0),
    "agents-stored-each-round": (1, 0),
    "agents-tile-tells-tile": (0, 0),
    "agents-filled-by-consumers": (0, 0),
    "agents-seen-in-a-branch": (0, 0),
    "agents-read-then-overwritten": (0, 1),
    "agents-persistent": (0, 0),
    "agents-persistent-table": (0, 0),
    "agents-persistent-ordered": (1, 0),
    "agents-work-queue": (1, 0),
    "agents-endless-queue": (1, 0),
    "agents-acquired": (2, 0),
    "agents-in-a-branch": (0, 1),
    "agents-two-loops": (0, 0),
}
"""Scalars (or the news of a store) handed over through shared memory, and scalars loaded before the agents split."""


@cache
def compiled(name: str) -> Kernel:
    """Checked against the interpreter and NumPy, with hazards watched."""
    return check(AGENTS[name], "sm_90a")


def scheduled(kernel: Kernel) -> nv_tileas.Func:
    found = kernel.compiled.modules["nv_tileas"]
    assert isinstance(found, nv_tileas.Func)
    return found


def all_of(root: Op, kind: type[Op]) -> list[Any]:
    return [each for each in root.walk() if isinstance(each, kind)]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", sorted(AGENTS))
def test_program(name: str) -> None:
    """Right numbers and no hazard; all have a producer."""
    func = scheduled(compiled(name))
    verify(func)
    switches = all_of(func, nv_tileas.AgentSwitch)
    producer = "copy" if name in COPIED else "produce"
    assert [s.roles for s in switches] == [("consume", producer)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", sorted(CROSSING))
def test_scalars_get_over_in_the_cheapest_way(name: str) -> None:
    func = scheduled(compiled(name))
    sends, common = CROSSING[name]
    assert len(all_of(func, nv_tileas.Send)) == len(all_of(func, nv_tileas.Receive)) == sends
    assert sum(isinstance(op, nv_tileas.Gather) for op in func.body.block.ops) == common


@pytest.mark.in_turn
@pytest.mark.parametrize("name", ["agents-persistent-ordered", "agents-two-loops", "agents-linked-list"])
def test_agents_without_warpgroup_products(name: str) -> None:
    """The same on a tier whose consumers take mma.sync."""
    kernel = check(
        AGENTS[name], "sm_100a", forbid=["cp.async", "tcgen05"]
    )  # cp.async takes fewer registers: more CTAs an SM
    assert "cp.async.bulk" in kernel.ptx
    assert "mma.sync" in kernel.ptx


def test_lanes_meet_before_one_of_them_releases_a_stage() -> None:
    """An arrival covers its own lane's reads: ldmatrix reads for every lane, a warpgroup product for all at once."""
    by_lanes = compiled_for("sm_120a").ptx
    assert re.findall(r"bar\.warp\.sync -1;\n    @%p\d+ mbarrier\.arrive\.shared", by_lanes)
    assert len(re.findall(r"mbarrier\.arrive\.shared", by_lanes)) == by_lanes.count("bar.warp.sync")
    assert "bar.warp.sync" not in compiled_for("sm_90a").ptx


def compiled_for(name: str) -> Kernel:
    """A GEMM with a producer."""
    return tilesat.compile(EXAMPLES / "gemm.mlir", name)


def test_warps_of_the_agents() -> None:
    """The producer has one warp behind the consumers' warpgroup, three more are idle."""
    kernel = compiled("agents-persistent")
    switch = all_of(scheduled(kernel), nv_tileas.AgentSwitch)[0]
    assert (switch.num_warps, switch.warp_id, switch.agent_strides) == ((4, 1), (0, 4), (4, 4))
    assert kernel.manifest["block"] == [256, 1, 1]


def test_explained() -> None:
    """Where each scalar comes over, by its place in the source."""
    text = "\n".join(agents(scheduled(compiled("agents-persistent-ordered"))))
    assert text.startswith("agents\n  warps 0 to 3: computation\n  warp 4: copies, issued by one thread, then 3 idle\n")
    assert re.search(
        r"a ring: \d+ stages, full after 1 arrivals, empty after 4\n  handed over as i32, <text>:\d+:", text
    )
    assert "\n  loaded before the agents split, <text>:" in "\n".join(
        agents(scheduled(compiled("agents-known-before")))
    )
    assert "copies by all threads" in "\n".join(agents(scheduled(compiled("agents-expert"))))
    alone = tilesat.compile(AGENTS["agents-persistent"].source(), "sm_80")
    assert list(agents(scheduled(alone))) == []


@pytest.mark.parametrize("name", ["agents-endless-queue", "agents-persistent"])
def test_the_loops_of_a_producer_are_in_one_order(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a set, by addresses in memory, gave barriers other places from one compilation to the next."""
    skeletons: list[list[str]] = []

    class Noted(Boundary):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            skeletons.append([str(op.location) for op in self.skeleton])

    monkeypatch.setattr(lowering.schedule.agents, "Boundary", Noted)
    for sign in (1, -1):
        with monkeypatch.context() as patched:
            patched.setattr(Op, "__hash__", lambda op, sign=sign: sign * (id(op) >> 4))
            tilesat.compile(AGENTS[name].source(), "sm_90a")
    half = len(skeletons) // 2
    assert skeletons[:half] == skeletons[half:]
    assert len(skeletons[0]) > 1


MUTATIONS = {
    "sender does not wait until the last scalar is taken": (
        "agents-persistent-ordered", r"\$W2:\n.*try_wait.*\n.*bra \$W2;", "",
    ),
    "receiver does not wait": ("agents-persistent-ordered", r"\$W4:\n.*try_wait.*\n.*bra \$W4;", ""),
    "sender does not arrive": (
        "agents-persistent-ordered", r"(st\.shared\.b32 \[\S+\], %r\d+;\n)\s*mbarrier\.arrive\S+ _, \S+;", r"\1",
    ),
    "receiver does not arrive": (
        "agents-persistent-ordered", r"(ld\.shared\.b32 %r\d+, \S+;\n)\s*mbarrier\.arrive\S+ _, \S+;", r"\1",
    ),
    "sender arrives at the wrong barrier": (
        "agents-persistent-ordered",
        r"(st\.shared\.b32 \[\S+\], %r\d+;\n\s*mbarrier\.arrive\S+ _, \[%r\d+\+)49256", r"\g<1>49264",
    ),
    "sender stores after its arrival": (
        "agents-persistent-ordered", r"(st\.shared\.b32 \[\S+\], %r\d+;)\n(\s*mbarrier\.arrive\S+ _, \S+;)", r"\2\n\1",
    ),
    "parity of the receiver never flips": ("agents-persistent-ordered", r"xor\.b32 (%r\d+), \1, 1;", ""),
    "producer does not wait for what it reads to be stored": (
        "agents-tile-stored-before", r"\$W\d+:\n.*try_wait.*\n.*bra \$W\d+;(?=\n\s*ld\.shared\.b32)", "",
    ),
    "stores are not fenced for tensor copies": ("agents-tile-stored-before", r"fence\.proxy\.async;", ""),
    "last stage of a run is not released": (
        "agents-persistent", r"(wait_group\.sync\.aligned 0;(?:\n.*){0,4}?\n).*mbarrier\.arrive.*", r"\1",
    ),
    "consumers begin each run at the first stage": (
        "agents-persistent", r"mov\.b32 (%r\d+), %r\d+;", r"mov.b32 \1, 0;",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_are_caught(name: str) -> None:
    """A wrong number, a hazard or a deadlock."""
    program, old, new = MUTATIONS[name]
    kernel = compiled(program)
    changed, count = re.subn(old, new, kernel.ptx, count=1)
    assert count == 1
    with pytest.raises((SimulatorError, AssertionError)):
        judge(program, kernel, changed)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("schedule", FAR_APART)
@pytest.mark.parametrize("name", ["agents-tile-stored-before", "agents-stored-each-round", "agents-persistent-ordered"])
def test_warps_far_apart(name: str, schedule: str) -> None:
    """No order of the warps lets the producer come too early."""
    kernel = compiled(name)
    judge(name, kernel, kernel.ptx, schedule)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", sorted(AGENTS))
def test_agents_of_sm_120a(name: str) -> None:
    """Tensor copies call nothing, so registers move between agents as on sm_90a: ptxas does not say C7506."""
    kernel = check(AGENTS[name], "sm_120a")
    moved = [name in kernel.ptx for name in ("setmaxnreg.dec", "setmaxnreg.inc")]
    assert moved == ["agent_switch" in kernel.stages["nv_tileas"]] * 2
    assert assemble(kernel.ptx, "sm_120a").stack == 0


@pytest.mark.sampled(5)
@pytest.mark.parametrize("order", [f"skewed:{seed}" for seed in range(5)])
def test_skewed_orders_on_sm_120a(order: str) -> None:
    program = AGENTS["agents-persistent-ordered"]
    kernel = tilesat.compile(program.source(), "sm_120a")
    assert "setmaxnreg.inc" in kernel.ptx
    judge(program.name, kernel, kernel.ptx, order)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", [0, 2, 6, 228])
def test_random_nest(seed: int) -> None:
    """In 228 the producer takes a last scalar when the consumers' scratch may lie over all rings already."""
    check(random_nest(seed), "sm_90a", spills=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [seed for seed in range(3, 40) if seed not in (1, 6)])
def test_more_random_nests(seed: int) -> None:
    check(random_nest(seed), "sm_90a", spills=True)


def judge(name: str, kernel: Kernel, text: str, schedule: str = "together") -> None:
    """The simulator's arrays against NumPy's."""
    program = AGENTS[name]
    found = simulate(kernel, program, ptx=text, schedule=schedule)
    assert program.expected is not None
    for position, array in program.expected(*program.arguments()).items():
        assert largest_error(found[position], np.asarray(array)) <= program.tolerance


def split(switch: nv_tileas.AgentSwitch, copy: int) -> Region:
    """The producer's region with one of its two tensor copies."""
    source, block = switch.regions[1].block, Block()
    clone(source.ops, Builder(block), {}, copy)
    return Region([block])


def clone(ops: list[Op], b: Builder, values: dict[Value, Value], copy: int) -> None:
    copies = [op for op in ops if isinstance(op, nv_tileas.TiledTmaLoad)]
    for op in ops:
        if op in copies and op is not copies[copy]:
            continue
        regions: list[Region] = []
        for region in op.regions:
            inner = Block([a.type for a in region.block.args])
            values.update(zip(region.block.args, inner.args, strict=True))
            clone(region.block.ops, Builder(inner), values, copy)
            regions.append(Region([inner]))
        attributes = dict(op.attributes)
        if isinstance(op, nv_tileas.BarrierExpectTx):
            attributes["bytes"] //= 2
        made = b.add(
            type(op), *[values.get(v, v) for v in op.operands], types=[r.type for r in op.results],
            segments=op.segments, regions=regions, **attributes,
        )  # fmt: skip
        values.update(zip(op.results, made.results, strict=True))


def test_three_agents() -> None:
    """Two producers in one warpgroup, each bringing one operand of a persistent product: two arrivals fill a stage."""
    kernel = tilesat.compile(AGENTS["agents-persistent"].source(), "sm_90a")
    func = scheduled(kernel)
    switch, pipeline = (all_of(func, kind)[0] for kind in (nv_tileas.AgentSwitch, nv_tileas.CreatePipeline))
    pipeline.attributes["producers"] = 2
    regions = [split(switch, 0), switch.regions[0], split(switch, 1)]
    units = map_units([Demand(1, 1), Demand(4, 4), Demand(1, 1)], target("sm_90a"), switch.location)
    made = nv_tileas.AgentSwitch(
        (), (), {
            "roles": ("produce", "consume", "produce"), "num_warps": units.num_warps, "warp_id": units.warp_id,
            "agent_strides": units.agent_strides,
        }, regions,
    )  # fmt: skip
    assert (units.warp_id, units.agent_strides) == ((4, 0, 5), (1, 4, 3))
    block = func.body.block
    block.ops[block.ops.index(switch)] = made
    made.parent = block
    verify(func)
    text = ptx.emit(nvgpu_to_nvvm.convert(tileas_to_nvgpu.expand(func, target("sm_90a"))))
    assembled = assemble(text, "sm_90a")
    assert (assembled.infos, assembled.warnings, assembled.spill_stores) == ((), (), 0)
    assert text.count("cp.async.bulk.tensor") == 2
    assert re.findall(r"setp\.eq\.s32 %p\d+, %r\d+, (128|160);", text) == ["128", "160"]
    judge("agents-persistent", kernel, text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"roles": ("consume",)}, "must give warps and role of each region"),
        (
            {"roles": ("consume", "watch")},
            "role must be one of ['consume', 'produce', 'copy', 'multiply', 'transform', 'correct'], is watch",
        ),
        ({"warp_id": (4, 3)}, "agents must have consecutive warps that they do not share"),
        ({"num_warps": (5, 4)}, "agents must have consecutive warps that they do not share"),
        ({"num_warps": (0, 4)}, "agents must have consecutive warps that they do not share"),
    ],
)
def test_a_switch_gives_each_agent_warps_of_its_own(change: dict[str, Any], message: str) -> None:
    good = {"roles": ("produce", "consume"), "num_warps": (1, 4), "warp_id": (4, 0), "agent_strides": (4, 4)}
    verify(nv_tileas.AgentSwitch((), (), good, [Region([Block()]), Region([Block()])]))
    with pytest.raises(VerifyError, match=re.escape(message)):
        verify(nv_tileas.AgentSwitch((), (), good | change, [Region([Block()]), Region([Block()])]))

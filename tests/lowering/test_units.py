"""Execution units: the mapping's invariants on random agents, the seeds' cases by hand, and the two diagnostics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.core import UNKNOWN, Block, Builder, Location, Region, TileError
from ir.dialects import arith, nv_tileas, scf
from ir.types import F32, I1, I32, TensorType
from lowering.layouts.layout import Layout
from lowering.schedule.units import GROUP, Demand, Units, demand, map_units, propagate
from lowering.targets import target

SM_90A = target("sm_90a")
DEMANDS = st.lists(
    st.one_of(
        st.sampled_from([1, 2, 4, 8]).map(lambda n: Demand(n, n)),
        st.builds(Demand, st.integers(1, 5), st.sampled_from([1, 2, 4])),
    ),
    min_size=1, max_size=6,
).filter(lambda agents: sum(a.num_warps + a.group for a in agents) <= 28)  # fmt: skip


def warps(units: Units, agent: int) -> range:
    return range(units.warp_id[agent], units.warp_id[agent] + units.num_warps[agent])


@given(DEMANDS)
def test_mapping(agents: list[Demand]) -> None:
    """No overlap, alignment, whole warpgroups, and no hole that an agent behind it would have fitted into."""
    units = map_units(agents, SM_90A, UNKNOWN)
    taken = [w for i in range(len(agents)) for w in warps(units, i)]
    assert len(taken) == len(set(taken))
    assert all(first % agent.group == 0 for first, agent in zip(units.warp_id, agents, strict=True))
    assert units.num_warps == tuple(a.num_warps for a in agents)
    assert units.total % GROUP == 0
    assert units.total - GROUP < max(taken) + 1 <= units.total  # no more padding than a warpgroup takes
    for i, agent in enumerate(agents):
        if agent.num_warps % GROUP:
            begins = range(0, units.warp_id[i], agent.group)
            placed_later = {
                w for j in range(i + 1, len(agents)) if agents[j].num_warps % GROUP for w in warps(units, j)
            }
            for begin in begins:  # an earlier place was taken when this agent was placed
                wanted = set(range(begin, begin + agent.num_warps))
                assert wanted & (set(taken) - placed_later - set(warps(units, i)))


@given(DEMANDS)
def test_strides_cover_the_block(agents: list[Demand]) -> None:
    """From an agent's first warp to the next one's, its own warps included."""
    units = map_units(agents, SM_90A, UNKNOWN)
    spans = sorted(zip(units.warp_id, units.agent_strides, units.num_warps, strict=True))
    at = 0
    for first, stride, count in spans:
        assert (first, count <= stride) == (at, True)
        at += stride
    assert at == units.total


@pytest.mark.parametrize(
    ("agents", "warp_id", "strides"),
    [
        ([1, 4], (4, 0), (4, 4)),  # one producing warp behind a warpgroup, three warps idle
        ([1, 8], (8, 0), (4, 8)),
        ([4, 4], (0, 4), (4, 4)),
        ([4, 8, 1], (0, 8, 4), (4, 8, 4)),  # two warpgroups at once leave a hole, which the small agent fills
        ([4, 8, 2, 1, 1, 1], (0, 8, 4, 6, 7, 16), (4, 8, 2, 1, 1, 4)),
        ([2, 1], (0, 2), (2, 2)),
        ([1, 2], (0, 2), (2, 2)),  # the pair begins at an even warp
    ],
)
def test_places(agents: list[int], warp_id: tuple[int, ...], strides: tuple[int, ...]) -> None:
    units = map_units([Demand(n, n) for n in agents], SM_90A, UNKNOWN)
    assert (units.warp_id, units.agent_strides) == (warp_id, strides)


def test_too_many_warps() -> None:
    with pytest.raises(TileError, match=r"the agents need 36 warps, sm_90a has 32 per block") as caught:
        map_units([Demand(16, 16), Demand(16, 16), Demand(1, 1)], SM_90A, Location("k.py", 7, 1))
    assert caught.value.location == Location("k.py", 7, 1)
    assert caught.value.hint == "use smaller tiles"


def tile(warps: int) -> TensorType:
    """128 numbers over so many warps, the rest repeated."""
    bits = warps.bit_length() - 1
    return TensorType((128,), F32, Layout((), (1, 2, 4, 8, 16), (32, 64, 0)[:bits], 7))


def spread_over(*counts: int) -> Block:
    """A tile for each count, all but the first inside a loop in a branch."""
    outer, inner, side = Block(), Block([I32]), Block()
    b = Builder(outer, Location("k.py", 1, 1))
    b.add(nv_tileas.Iota, types=[tile(counts[0])])
    zero, true = b.value(arith.Constant, types=[I32], value=0), b.value(arith.Constant, types=[I1], value=True)
    deep = Builder(inner)
    for line, count in enumerate(counts[1:], 2):
        deep.location = Location("k.py", line, 1)
        deep.add(nv_tileas.Iota, types=[tile(count)])
    deep.add(scf.Yield, types=())
    then, rest = Builder(side), Block()
    then.add(scf.For, zero, zero, zero, types=(), segments=(1, 1, 1, 0), regions=[Region([inner])])
    then.add(scf.Yield, types=())
    Builder(rest).add(scf.Yield, types=())
    b.add(scf.If, true, types=(), regions=[Region([side]), Region([rest])])
    return outer


def test_warps_are_folded_upward() -> None:
    assert propagate(spread_over(4, 4)) == 4
    assert demand(spread_over(8)) == Demand(8, 8)
    assert demand(Block()) == Demand(1, 1)


def test_agent_written_for_different_warps() -> None:
    with pytest.raises(TileError, match="inconsistent numWarps in the agent switch") as caught:
        demand(spread_over(4, 4, 8))
    assert "'nv_tileas.iota' is for 8 warps, what precedes it for 4" in str(caught.value)
    assert caught.value.location == Location("k.py", 3, 1)
    assert caught.value.hint

"""Where agents split: barriers initialised by one thread, registers reallocated, then each agent's code on its own
warps.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.dialects import nv_tileas, nvvm, scf
from lowering.atoms.barrier import PRODUCER_REGISTERS, Shares, moves_registers, register_shares
from lowering.convert.tileas_to_nvgpu import tensor
from lowering.convert.tileas_to_nvgpu.agents import branch, initialise, nested
from lowering.convert.tileas_to_nvgpu.context import Expander, lowers
from lowering.schedule.units import GROUP
from lowering.targets.target import WARP

CONSUMER_BARRIER = 1  # named barrier of the first consumer agent; 0 is that of the whole block

BY_ONE = (nv_tileas.PRODUCE, nv_tileas.MULTIPLY)  # roles of agents of one thread
COMPUTE = (nv_tileas.CONSUME, nv_tileas.TRANSFORM)  # roles of agents that take the registers of others

Side = list[int]


def sides(op: nv_tileas.AgentSwitch) -> list[Side]:
    """The agents in the order of their warps; those that share a warpgroup are grouped."""
    found: list[Side] = []
    for agent in sorted(range(len(op.regions)), key=lambda i: op.warp_id[i]):
        if op.warp_id[agent] % GROUP:
            found[-1].append(agent)
        else:
            found.append([agent])
    return found


@lowers(nv_tileas.AgentSwitch)
def agent_switch(x: Expander, op: nv_tileas.AgentSwitch) -> None:
    """Complete what the agents share, initialise barriers, then branch to the side of each warp's agent."""
    emitter = x.emitter
    emitter.flush_pending_loads()  # loads before the split belong to all agents
    x.threads = WARP * sum(op.agent_strides)

    initialise(x)
    memory = tensor.allocated(x)
    meet = emitter.cluster_barrier if emitter.clustered else emitter.barrier
    (meet if memory is None else memory.meet)()  # in a cluster, before copies and arrivals of another CTA
    Parting(x, op).part(sides(op))


class Parting:
    """The branches from the common part to the agents' code."""

    def __init__(self, x: Expander, op: nv_tileas.AgentSwitch):
        self.x = x
        self.op = op
        self.shares: Shares | None = None  # if registers are reallocated
        consuming = [{op.roles[agent] in COMPUTE for agent in side} for side in sides(op)]
        if moves_registers(x.target) and all(len(roles) == 1 for roles in consuming) and {True} in consuming:
            counts = zip(op.num_warps, op.roles, strict=True)
            consumers = WARP * sum(count for count, role in counts if role in COMPUTE)
            others = x.threads - consumers
            tiers = (x.target, x.target.shared_by(2))  # alone on an SM, few threads may have all that a thread can
            shares = [register_shares(consumers, others, PRODUCER_REGISTERS, tier) for tier in tiers]
            self.shares = next((each for each in shares if each.moved), None)
            x.maxnreg, x.consumers = (self.shares or shares[0]).launch, consumers

    def part(self, rest: Sequence[Side]) -> None:
        """Threads from the last side's first warp on take it, the others split further."""
        x, emitter = self.x, self.x.emitter
        if len(rest) == 1:
            self.side(rest[0])
            return
        first = emitter.constant(WARP * self.op.warp_id[rest[-1][0]])
        last = emitter.compare("uge", emitter.thread, first)
        regions = [nested(x, lambda: self.side(rest[-1])), nested(x, lambda: self.part(rest[:-1]))]
        emitter.builder.add(scf.If, last, types=(), regions=regions)

    def side(self, agents: Side) -> None:
        """Registers of all warps of these warpgroups, idle ones too; then each agent in its warps."""
        x, emitter, op = self.x, self.x.emitter, self.op
        if self.shares is not None:
            consume = op.roles[agents[0]] in COMPUTE
            count = self.shares.consumer if consume else self.shares.other
            emitter.effect(nvvm.SetMaxRegister, action="increase" if consume else "decrease", regCount=count)
        for agent in agents:
            whole = len(agents) == 1 and op.num_warps[agent] % GROUP == 0  # otherwise idle warps follow
            if whole or op.roles[agent] in BY_ONE:
                self.agent(agent)
            else:
                first = WARP * op.warp_id[agent]
                low = emitter.compare("uge", emitter.thread, emitter.constant(first))
                high = emitter.compare("ult", emitter.thread, emitter.constant(first + WARP * op.num_warps[agent]))
                mine = emitter.both(low, high)
                assert mine is not None
                branch(x, mine, lambda agent=agent: self.agent(agent))

    def agent(self, agent: int) -> None:
        """One agent's code, which numbers its threads from 0."""
        x, emitter, op = self.x, self.x.emitter, self.op
        first, warps, role = WARP * op.warp_id[agent], op.num_warps[agent], op.roles[agent]
        groups, block = op.groups_of(agent), op.regions[agent].block
        alone = emitter.compare("eq", emitter.thread, emitter.constant(first)) if role not in COMPUTE else None
        if role in BY_ONE:
            assert alone is not None
            x.multiplies = role == nv_tileas.MULTIPLY
            emitter.block_of_rows = op.blocks[agent] if op.blocks else -1
            if x.multiplies:  # one CTA of a pair issues the products of both
                tensor.by_leader(x, lambda: branch(x, alone, lambda: x.ops(block)))
            else:
                branch(x, alone, lambda: x.ops(block))
            x.multiplies, emitter.block_of_rows = False, -1
            return
        x.elected = alone
        if role == nv_tileas.CONSUME:
            counts = [op.groups_of(each) for each, role in enumerate(op.roles) if role == nv_tileas.CONSUME]
            rank = sum(r == nv_tileas.CONSUME for r in op.roles[:agent])
            emitter.consumers, emitter.named = WARP * warps // groups, CONSUMER_BARRIER + sum(counts[:rank])
            emitter.turns = CONSUMER_BARRIER + sum(counts)
        memory = tensor.allocated(x) if role == nv_tileas.CONSUME else None
        if (first, warps) == (0, emitter.warps):
            x.ops(block)
            emitter.flush_pending_loads()
            if memory is not None and not memory.paired:
                memory.release()
        else:
            with emitter.agent(first, warps // groups, groups):
                x.ops(block)
                emitter.flush_pending_loads()
        x.elected, emitter.consumers = None, 0

"""Register names: values passed along a loop or branch edge share one register if their live ranges do not overlap.

Liveness is per block (sets of values), the interference test that of SSA: two values clash if one is live where the
other is defined. Without a clash the move on the edge disappears.
"""

from __future__ import annotations

from collections.abc import Callable

from ir.core import Block, Value
from ir.dialects.nvvm import SetMaxRegister
from lowering.ptx.machine import Edge, MachineBlock, prefix_of, register_bits

PAIR = "mov.b64 %s, {%s, %s};"  # as selected for two 32-bit values

MANY = 128
"""Registers that values of a thread take where ptxas 13.5 keeps such a counter in memory: 12 bytes in two kernels of
persistent attention on sm_100a, which take 161 to 169 (a GEMM with 154 has none either way).
"""


class Liveness:
    """Where each value is defined, last used, and live out of which block."""

    def __init__(self, blocks: list[MachineBlock]):
        self.home: dict[Value, tuple[MachineBlock, int]] = {}
        self.last: dict[Block, dict[Value, int]] = {}
        self.live_in: dict[Block, set[Value]] = {}
        self.live_out: dict[Block, set[Value]] = {}
        upward = {block.source: self._scan(block) for block in blocks}
        self._solve(blocks, upward)

    def _scan(self, block: MachineBlock) -> set[Value]:
        """Definitions and last uses of one block; returns what it reads before writing."""
        home, last, upward = self.home, dict[Value, int](), set[Value]()
        for arg in block.source.args:
            home[arg] = (block, -1)
        for at, each in enumerate(block.code):
            for value in each.uses:
                last[value] = at
                if value not in home or home[value][0] is not block:
                    upward.add(value)
            for value in each.defs:
                if value not in home:
                    home[value] = (block, at)
        end = len(block.code)
        for value in self._edge_uses(block):
            last[value] = end
            if value not in home or home[value][0] is not block:
                upward.add(value)
        self.last[block.source] = last
        return upward

    @staticmethod
    def _edge_uses(block: MachineBlock) -> list[Value]:
        used = [v for edge in block.edges for _, v in edge.copies if isinstance(v, Value)]
        return used if block.condition is None else [*used, block.condition]

    def _solve(self, blocks: list[MachineBlock], upward: dict[Block, set[Value]]) -> None:
        live_in, live_out = self.live_in, self.live_out
        for block in blocks:
            live_in[block.source] = set()
            live_out[block.source] = set()
        changed = True
        while changed:
            changed = False
            for block in reversed(blocks):
                out: set[Value] = set()
                for edge in block.edges:
                    out |= live_in[edge.to]
                live_out[block.source] = out
                before = len(live_in[block.source])
                local = {v for v in out if v not in self.home or self.home[v][0] is not block}
                live_in[block.source] = upward[block.source] | local
                changed |= len(live_in[block.source]) != before

    def pressure(self, blocks: list[MachineBlock], counted: Callable[[Value], bool] = lambda _: True) -> int:
        """The peak number of live 32-bit registers, in the order of the code. Predicates count 0, and so do pairs of
        values that stay live with the pair:

        ptxas puts those in adjacent registers. counted: which values count.
        """
        most = 0
        for block in blocks:
            pairs = self._pairs(block)
            words = {v: 0 if v in pairs or not counted(v) else _words(v) for v in self._values(block)}
            live = self.live_out[block.source] | set(self._edge_uses(block))
            held = sum(words[value] for value in live)
            for each in reversed(block.code):
                most = max(most, held)
                for value in each.defs:
                    if value in live:
                        live.discard(value)
                        held -= words[value]
                for value in each.uses:
                    if value not in live:
                        live.add(value)
                        held += words[value]
            most = max(most, held)
        return most

    def _values(self, block: MachineBlock) -> set[Value]:
        """All values that are live somewhere in a block."""
        inside = (value for each in block.code for value in (*each.defs, *each.uses))
        return {*self.live_in[block.source], *self.live_out[block.source], *self._edge_uses(block), *inside}

    def _pairs(self, block: MachineBlock) -> set[Value]:
        """Register pairs built from two values and live no longer than either."""
        last, out = self.last[block.source], self.live_out[block.source]
        return {
            each.defs[0]
            for each in block.code
            if each.text == PAIR
            and each.defs[0] not in out
            and all(v in out or last[v] >= last.get(each.defs[0], 0) for v in each.uses)
        }

    def together(self, block: MachineBlock) -> int:
        """32-bit registers of all live-in and computed values of a block: the most that any order of it takes."""
        values = self.live_in[block.source].union(block.source.args, *(each.defs for each in block.code))
        return sum(map(_words, values))

    def live_after(self, value: Value, block: MachineBlock, at: int) -> bool:
        """Whether `value` is live just after position `at` of `block`."""
        home, defined = self.home[value]
        if home is block:
            if defined > at:
                return False
        elif value not in self.live_in[block.source]:
            return False
        return value in self.live_out[block.source] or self.last[block.source].get(value, -2) > at

    def clash(self, x: Value, y: Value) -> bool:
        """Whether x and y need different registers; values that one instruction writes always do."""
        (first, i), (second, j) = self.home[x], self.home[y]
        if i == j and first is second:
            return True
        return self.live_after(x, *self.home[y]) or self.live_after(y, *self.home[x])


def _words(value: Value) -> int:
    """32-bit registers of a value."""
    bits = register_bits(value.type)
    return 0 if bits == 1 else -(-bits // 32)


def coalesce(blocks: list[MachineBlock], live: Liveness) -> dict[Value, list[Value]]:
    """Groups of values that share a register, where none clash: results updated in place, then block arguments.

    A block argument shares with the values passed to it, and first with the argument of the other branch target that is
    passed the same value: a loop whose exit edge passes the same values as its back edge then has its moves before its
    single branch.
    Registers that all agents share stay theirs where values take MANY registers: an agent's loop over tiles that counts
    in such a register otherwise turns it into one of all agents' counters.
    """
    common = before_agents(blocks) if live.pressure(blocks) > MANY else set[Block]()
    groups: dict[Value, list[Value]] = {}
    for block in blocks:
        for each in block.code:
            for result, operand in each.ties:
                if isinstance(operand, Value):
                    _merge(groups, live, result, operand)
    for block in blocks:
        if len(block.edges) == 2:
            for arg, other in _alike(*block.edges):
                _merge(groups, live, arg, other)
    for block in sorted(blocks, key=lambda b: -len(b.edges)):
        for edge in block.edges:
            for arg, value in edge.copies:
                if not isinstance(value, Value) or register_bits(arg.type) != register_bits(value.type):
                    continue
                if live.home[value][0].source not in common or block.source in common:
                    _merge(groups, live, arg, value)
    return groups


def before_agents(blocks: list[MachineBlock]) -> set[Block]:
    """The blocks before agents part, where they move registers; none where they do not."""
    parted = (n for n, block in enumerate(blocks) if any(isinstance(op, SetMaxRegister) for op in block.source.ops))
    return {block.source for block in blocks[: next(parted, 0)]}


def _alike(first: Edge, second: Edge) -> list[tuple[Value, Value]]:
    """Arguments of two blocks that receive the same value from the two edges of one branch, each at most once."""
    given = {value: arg for arg, value in reversed(first.copies) if isinstance(value, Value)}
    found: list[tuple[Value, Value]] = []
    for arg, value in second.copies:
        other = given.pop(value, None) if isinstance(value, Value) else None
        if other is not None and other is not arg and register_bits(other.type) == register_bits(arg.type):
            found.append((other, arg))
    return found


def _merge(groups: dict[Value, list[Value]], live: Liveness, x: Value, y: Value) -> None:
    first, second = groups.get(x) or [x], groups.get(y) or [y]
    if first is second or any(live.clash(a, b) for a in first for b in second):
        return
    first.extend(second)
    for value in first:
        groups[value] = first


class Names:
    """Hands out register names by class, %r0, %r1, ..., in order of first appearance."""

    def __init__(self, groups: dict[Value, list[Value]]):
        self.groups = groups
        self.names: dict[Value, str] = {}
        self.counts: dict[str, int] = {}

    def fresh(self, prefix: str) -> str:
        """A new register."""
        number = self.counts.get(prefix, 0)
        self.counts[prefix] = number + 1
        return f"{prefix}{number}"

    def __getitem__(self, value: Value) -> str:
        name = self.names.get(value)
        if name is None:
            name = self.fresh(prefix_of(value.type))
            for member in self.groups.get(value, (value,)):
                self.names[member] = name
        return name

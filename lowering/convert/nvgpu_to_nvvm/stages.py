"""Loops carry the stage of a ring as the address of its barrier, which most of its users need.

    s, base + 8 s     becomes     y = base + 8 s, y
A number that only cycles, s + 1 or the first one at the end, is carried this way through all loops that pass it to one
another. Other uses that scale it, such as a matrix descriptor, take a multiple of the address instead; a multiple of
the base is subtracted from the other term once, before the loop. Source: strength reduction with linear-function test
replacement (Allen, Cocke, Kennedy, "Reduction of Operator Strength", 1981).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from ir.core import Block, Op, Value
from ir.dialects import llvm
from ir.records import dataclass
from ir.types import I32, SHARED_PTR
from lowering.convert.nvgpu_to_nvvm.branches import Edge, edges_into, given, lead, substitute
from lowering.convert.nvgpu_to_nvvm.rematerialize import find_loops

MOST_SUMS = 2
"""The most sums with other multiples: each takes one more register if its old value stays live. A loop of products with
eight (fna_bwd_dkdv of TileGym, sm_90a, ptxas 13.5) then has 776 SASS instructions instead of 774.
"""


def carry_addresses(blocks: list[Block]) -> int:
    """Rewrite in place, and return how many carried numbers became addresses."""
    heads = [blocks[first] for first, _ in find_loops(blocks)]
    into = edges_into(blocks) if heads else {}
    onto = handed_on(into)
    webs: list[Web] = []
    for argument in (argument for head in heads for argument in head.args if argument.type == I32):
        if not any(argument in web.arguments for web in webs):
            web = Web()
            if web.gather(argument, into, onto) and web.steps:
                webs.append(web)
    if not webs:
        return 0
    users: dict[Value, list[Op]] = {}
    for op in (op for block in blocks for op in block.ops):
        for value in dict.fromkeys(op.operands):
            users.setdefault(value, []).append(op)
    plans = [plan for web in webs if (plan := planned(web, users, blocks)) is not None]
    for plan in plans:
        _Writer(plan, blocks[0]).write(into)
    if plans:
        substitute(blocks, {old: new for plan in plans for old, new in plan.same.items()})
    return sum(len(plan.web.arguments) for plan in plans)


@dataclass
class Web:
    """Block arguments that pass a number to one another, and the steps in between."""

    arguments: dict[Value, None] = field(default_factory=dict[Value, None])
    steps: dict[llvm.Select, None] = field(default_factory=dict[llvm.Select, None])

    def gather(self, first: Value, into: dict[Block, list[Edge]], onto: dict[Value, list[Value]]) -> bool:
        """Collect everything that flows into an argument, transitively; False if it is not only numbers and steps."""
        waiting = [first]
        while waiting:
            argument = waiting.pop()
            block = argument.owner
            if argument in self.arguments:
                continue
            self.arguments[argument] = None
            if not isinstance(block, Block) or not into[block]:
                return False
            waiting += onto.get(argument, ())
            for value in (given(edge)[argument.index] for edge in into[block]):
                op = value.op
                if isinstance(op, llvm.Select) and op not in self.steps:
                    before = stepped(op)
                    if before is None:
                        return False
                    self.steps[op] = None
                    waiting += [before, *onto[value]]
                elif op is None:
                    waiting.append(value)
                elif not isinstance(op, llvm.Constant | llvm.Select):
                    return False
        return True


def handed_on(into: dict[Block, list[Edge]]) -> dict[Value, list[Value]]:
    """The arguments that edges pass values to."""
    found: dict[Value, list[Value]] = {}
    for block, edges in into.items():
        for edge in edges:
            for argument, value in zip(block.args, given(edge), strict=True):
                found.setdefault(value, []).append(argument)
    return found


def stepped(op: llvm.Select) -> Value | None:
    """The argument that `op` is one step after: (s + 1 == n) ? 0 : s + 1, with numbers for 0 and n."""
    test, raised = op.condition.op, op.false_value.op
    if not isinstance(test, llvm.ICmp) or test.predicate != "eq" or not isinstance(raised, llvm.Add):
        return None
    numbers = all(number(each) is not None for each in (op.true_value, test.rhs, raised.rhs))
    return raised.lhs if numbers and test.lhs is op.false_value and raised.lhs.op is None else None


def number(value: Value) -> int | None:
    """The value of a constant."""
    return int(value.op.value) if isinstance(value.op, llvm.Constant) else None


@dataclass
class Plan:
    """A web whose numbers become addresses, `base` + `scale` * number. `places` are pointers to the address, `others`
    take other multiples of the number, `same` maps values to replacements.
    """

    web: Web
    base: Value
    scale: int
    places: list[tuple[llvm.Mul, llvm.GetElementPtr]]
    others: list[tuple[llvm.Mul, Op]]
    same: dict[Value, Value] = field(default_factory=dict[Value, Value])


def planned(web: Web, users: dict[Value, list[Op]], blocks: Sequence[Block]) -> Plan | None:
    """The plan for a web's users; None if one of them is of another kind, or none uses an address."""
    readers = readers_of(web, users)
    pointers = [
        (product, op)
        for product, op in readers or ()
        if isinstance(op, llvm.GetElementPtr) and isinstance(op.base.op, llvm.AddressOf) and op.base.type == SHARED_PTR
    ]
    if readers is None or not pointers:
        return None
    scale = min(number(product.rhs) or 0 for product, _ in pointers)
    base = next(op.base for product, op in pointers if number(product.rhs) == scale)
    places = [(product, op) for product, op in pointers if op.base is base and number(product.rhs) == scale]
    taken = {op for _, op in places}
    others = [pair for pair in readers if pair[1] not in taken]
    before = set(blocks[: min(blocks.index(each.owner) for each in web.arguments if isinstance(each.owner, Block))])
    for product, op in others:
        beside = added(product, op)
        if beside is None or beside.op is None or beside.op.parent not in before or (number(product.rhs) or 0) % scale:
            return None
        if isinstance(beside.op, llvm.AddressOf):
            return None  # tensor copies take many uniform registers: LayerNorm's on sm_90a take 71 instructions for 69
    if len({added(product, op) for product, op in others}) > MOST_SUMS:
        return None
    return Plan(web, base, scale, places, others)


def readers_of(web: Web, users: dict[Value, list[Op]]) -> list[tuple[llvm.Mul, Op]] | None:
    """Multiples of a web's numbers and the ops that add them; None if a number is read otherwise."""
    steps = {each for op in web.steps for each in (op, op.condition.op, op.false_value.op)}
    found: list[tuple[llvm.Mul, Op]] = []
    for value in (*web.arguments, *(each for op in web.steps for each in (op.result, op.false_value))):
        for op in users.get(value, []):
            if isinstance(op, llvm.Mul) and value is op.lhs and (number(op.rhs) or 0) > 0:
                found += [(op, each) for each in users.get(op.result, [])]
            elif op not in steps and not isinstance(op, llvm.Br | llvm.CondBr):
                return None
    return found if all(added(product, op) is not None for product, op in found) else None


def added(product: llvm.Mul, op: Op) -> Value | None:
    """The term to which an operation adds a product."""
    if isinstance(op, llvm.GetElementPtr):
        return op.base if op.index is product.result and op.element_bytes == 1 else None
    if not isinstance(op, llvm.Add):
        return None
    return op.rhs if op.lhs is product.result else op.lhs


class _Writer:
    """Carries out one plan. What is computed once goes to the ends of the blocks that have its operands."""

    def __init__(self, plan: Plan, entry: Block):
        self.plan = plan
        self.entry = entry
        self.known: dict[tuple[Value | None, int], Value] = {}
        self.multiples: dict[tuple[Block | None, Value, int], Value] = {}

    def write(self, into: dict[Block, list[Edge]]) -> None:
        """All of a web."""
        plan = self.plan
        for argument in plan.web.arguments:
            block = argument.owner
            assert isinstance(block, Block)
            for edge in into[block]:
                args = list(given(edge))
                at = number(args[argument.index])
                if at is not None:
                    args[argument.index] = self.address(at)
                    lead(edge, block, args)
        for op in plan.web.steps:
            test, raised = op.condition.op, op.false_value.op
            assert isinstance(test, llvm.ICmp)
            assert isinstance(raised, llvm.Add)
            op.operands[1] = self.address(number(op.true_value) or 0)
            test.operands[1] = self.address(number(test.rhs) or 0)
            raised.operands[1] = self.constant(plan.scale * (number(raised.rhs) or 0))
            raised.attributes = {}
        for product, op in plan.places:
            plan.same[op.result] = self.pointer(product.lhs, op)
        for product, op in plan.others:
            self.multiple(product, op)
        for op in {each: None for pair in (*plan.places, *plan.others) for each in pair}:
            assert op.parent is not None
            op.parent.ops.remove(op)

    def multiple(self, product: llvm.Mul, op: Op) -> None:
        """A sum with another multiple of the number."""
        times = (number(product.rhs) or 0) // self.plan.scale
        beside = added(product, op)
        assert beside is not None
        key = (op.parent, product.lhs, times)
        scaled = self.multiples.get(key)
        if scaled is None:
            scaled = self.multiples[key] = put_before(op, llvm.Mul((product.lhs, self.constant(times)), [I32]))
        total = put_before(op, llvm.Add((self.less(beside, times), scaled), [I32]))
        self.plan.same[op.results[0]] = self.pointer(total, op) if isinstance(op, llvm.GetElementPtr) else total

    def pointer(self, address: Value, op: llvm.GetElementPtr) -> Value:
        """The pointer to an address, displaced as `op` is."""
        made = put_before(op, llvm.IntToPtr((address,), [op.result.type]))
        displaced = {"offset": op.offset}
        if not op.offset:
            return made
        return put_before(op, llvm.GetElementPtr((made,), [op.result.type], displaced, segments=(1, 0)))

    def address(self, at: int) -> Value:
        """The address of a number, at the start of the function."""
        found = self.known.get((None, at))
        if found is None:
            found = self.known[None, at] = (
                self.once(llvm.PtrToInt((self.plan.base,), [I32]), self.entry)
                if not at
                else self.once(llvm.Add((self.address(0), self.constant(self.plan.scale * at)), [I32]), self.entry)
            )
        return found

    def less(self, beside: Value, times: int) -> Value:
        """The term that a multiple is added to, minus that multiple of the base."""
        found = self.known.get((beside, times))
        if found is None:
            assert beside.op is not None
            assert beside.op.parent is not None
            home, base = beside.op.parent, self.address(0)
            from_zero = self.once(llvm.Mul((base, self.constant(times)), [I32]), self.entry)
            if beside.type != I32:
                beside = self.once(llvm.PtrToInt((beside,), [I32]), home)
            found = self.known[beside, times] = self.once(llvm.Sub((beside, from_zero), [I32]), home)
        return found

    def constant(self, value: int) -> Value:
        """A constant, at the function's head."""
        made = llvm.Constant((), [I32], {"value": value})
        made.parent = self.entry
        self.entry.ops.insert(0, made)
        return made.result

    @staticmethod
    def once(op: Op, block: Block) -> Value:
        """Put an op at the end of a block; its result."""
        op.parent = block
        op.location = block.ops[-1].location
        block.ops.insert(len(block.ops) - 1, op)
        return op.results[0]


def put_before(op: Op, made: Op) -> Value:
    """Put an op before another one; its result."""
    assert op.parent is not None
    made.parent, made.location = op.parent, op.location
    op.parent.ops.insert(op.parent.ops.index(op), made)
    return made.results[0]

"""A kernel as e-graph facts and an effect skeleton.

Every value of the source gets a number k, and after loading `(N k)` is its class. Pure operations and weak loads become
rows of `r.<mnemonic>`; stores, loops, branches and the return become the skeleton, in order, and refer to numbers.
Number 0 is the missing operand, 1 the empty operand list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import field

from egraph import accesses, combiners, facts, gathers, promises
from egraph.combiners import Body
from egraph.dependence import dependence
from egraph.interner import Interner
from egraph.packing import by_bytes, by_shifts, is_narrow_literal
from egraph.printing import Text, by_texts
from egraph.scaled import by_factors, of_bytes
from egraph.skeleton import Return, SkeletonBranch, SkeletonEffect, SkeletonLoop, SkeletonRegion
from egraph.term import named
from egraph.terms import NIL_VALUE, NONE_VALUE, Signature, integer_of, is_hint, signatures
from ir.core import READ, WRITE, Block, Op, OptionalOperand, Region, Type, UnsupportedError, Value
from ir.core import Operand as OneOperand
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas_cluster import Exchange
from ir.records import dataclass
from ir.types import I1, TOKEN, FloatType, IntType, TileType

MAX_SCOPES = 62
"""`deps` keeps one bit a loop or branch side in an i64; the sign bit and one more stay free."""

FLAG = TileType((), I1)
EQUALITY = (ct.Predicate.EQUAL, ct.Predicate.NOT_EQUAL)
Row = tuple[int, ...]


@dataclass
class EncodedProgram:
    """An encoded kernel: `values[k]` is the source value of number k (None where the encoder made the number)."""

    entry: ct.Entry
    skeleton: SkeletonRegion
    facts: dict[str, list[Row]]
    interner: Interner
    values: list[Value | None]
    source: dict[int, Op] = field(default_factory=dict[int, Op])
    bodies: list[Body] = field(default_factory=list[Body])
    numbers: dict[Value, int] = field(default_factory=dict[Value, int])
    factors: dict[Op, tuple[int, ...]] = field(default_factory=dict[Op, tuple[int, ...]])  # of block-scaled products

    def number_of(self, value: Value) -> int:
        """The number of a source value."""
        return self.numbers[value]


def expanded(op: Op) -> tuple[list[Op], list[Value]] | None:
    """Operations that replace one without a term of its own, and their results; None if it has a term."""
    if isinstance(op, ct.MmaFScaled):
        return by_factors(op)
    if isinstance(op, ct.Pack | ct.Unpack):
        return by_shifts(op)
    if isinstance(op, ct.Constant) and is_narrow_literal(op):
        return by_bytes(op)
    if isinstance(op, ct.Print) and not isinstance(op, Text):
        return by_texts(op)
    if isinstance(op, ct.Combining) and (before := combiners.alone(op)):
        return combiners.by_values(op, before)
    if isinstance(op, ct.Combining) and (outside := combiners.taken(op)):
        return combiners.by_operands(op, outside)
    if isinstance(op, ct.LoadPtr) and gathers.is_turned(op):
        return gathers.by_transposition(op)
    return accesses.by_pointers(op) if accesses.needs_pointers(op) else None


def encode(module_or_entry: Op) -> EncodedProgram:
    """Encode an entry, or the only entry of a module.

    Raises UnsupportedError, located, for operations that have no e-graph form yet.
    """
    entry = module_or_entry
    if isinstance(entry, ct.Module):
        entries = entry.entries
        entry.expect(len(entries) == 1, "cannot encode the module: expected one entry, found {}", len(entries))
        entry = entries[0]
    if not isinstance(entry, ct.Entry):
        entry.fail("cannot encode this operation: expected an entry or a module")
    encoder = _Encoder(entry)
    encoder.region(entry.body.block, encoder.program.skeleton)
    return encoder.finish()


@dataclass(frozen=True)
class BranchContinuation:
    """The code after a branch in its block, and after that block if it falls through."""

    branch: ct.If
    rest: Sequence[Op]
    after: BranchContinuation | None


@dataclass(frozen=True)
class WhileLoop:
    """Slots of a loop without bounds: carried values, results not `shared` with them; may it end the kernel?"""

    shared: bool
    carried: tuple[int, ...]
    outs: tuple[int, ...]
    may_end: bool


class _Encoder:
    """State of one walk; `scope` is the mask of the loops and branch sides around the current operation."""

    def __init__(self, entry: ct.Entry):
        self.interner = Interner()
        self.rows: dict[str, list[Row]] = defaultdict(list)
        self.values: list[Value | None] = [None, None]
        self.lists: dict[Row, int] = {}
        self.bodies = combiners.Bodies()
        self.scope: int = 0
        self.scopes = 0
        self.frame: WhileLoop | None = None  # of the innermost loop, None where it is counted
        self.ends: tuple[Type, ...] = ()  # types of what the paths through its body end with
        self.side: int | None = None  # the token of this side of the innermost branch
        self.uncertain = 0  # scope of the innermost region that an execution may not get to
        self.asserted = False
        self.sided: dict[tuple[int, int], int] = {}
        self.items = 0
        self.program = EncodedProgram(entry, SkeletonRegion(), self.rows, self.interner, self.values)
        self.program.bodies = self.bodies.entries
        self.numbers = self.program.numbers
        self.rows["r.none"].append((NONE_VALUE,))
        self.rows["r.nil"].append((NIL_VALUE,))
        for index, parameter in enumerate(entry.parameters):
            self.leaf("arg", parameter, index)
        for argument in entry.body.block.args:
            if argument.type == TOKEN:  # after nothing, like one that is made here
                self.rows["r.make_token"].append((self.number(argument), self.type_id(TOKEN)))

    def number(self, value: Value | None = None) -> int:
        """A new number, for `value` or for a term that the source does not name."""
        found = len(self.values)
        self.values.append(value)
        if value is not None:
            self.numbers[value] = found
            self.rows["r.type"].append((found, self.type_id(value.type)))
        return found

    def type_id(self, type: Type) -> int:
        return self.interner.types.id(type)

    def leaf(self, relation: str, value: Value, *columns: int, deps: int | None = None) -> int:
        """A value that no operation computes, with its loop dependence."""
        number = self.number(value)
        self.rows[f"r.{relation}"].append((number, *columns, self.type_id(value.type)))
        if deps is not None:
            self.rows["r.deps"].append((number, deps))
        return number

    def new_scope(self, op: Op) -> int:
        """A fresh bit of `deps`."""
        if self.scopes >= MAX_SCOPES:
            message = f"'{op.name}': more than {MAX_SCOPES} loops and branches in one kernel are not supported yet"
            raise UnsupportedError(message, op.location, "split the kernel")
        self.scopes += 1
        return self.scopes - 1

    def region(self, block: Block, into: SkeletonRegion) -> tuple[int, ...]:
        """Encode the operations of a block; returns the numbers its terminator carries."""
        return self.run(block.ops, into)

    def run(self, ops: Sequence[Op], into: SkeletonRegion, after: BranchContinuation | None = None) -> tuple[int, ...]:
        """Encode operations up to the end of their block; returns the numbers that its terminator carries.

        `after`: what follows the block where it falls through, and then the numbers are those of the block around it.
        """
        for at, op in enumerate(ops):
            if isinstance(op, ct.Yield):
                return self.resume(after, [self.numbers[v] for v in op.operands], into)
            if isinstance(op, ct.Continue | ct.Break):
                return self.leave(op)
            if isinstance(op, ct.Return) and self.frame is not None:
                return (self.flag(False), *self.frame.carried, *self.frame.outs, self.flag(True))
            if isinstance(op, ct.Return) and self.side is not None:
                return ()
            if isinstance(op, ct.Loop) and may_end(op):
                loop, ended = self.endless(op)
                into.items.append(loop)
                return self.run([self.end_if(ended, op), *ops[at + 1 :]], into, after)
            if isinstance(op, ct.If) and leaves(op):
                made = self.branch(op, BranchContinuation(op, ops[at + 1 :], after))
                into.items.append(made)
                if isinstance(ops[-1], ct.Return) and self.side is None and self.frame is None:
                    into.items.append(Return(ops[-1]))
                return made.results
            self.operation(op, into)
        return ()

    def resume(self, after: BranchContinuation | None, yields: list[int], into: SkeletonRegion) -> tuple[int, ...]:
        """What follows a branch that has fallen through with these results."""
        if after is None:
            return tuple(yields)
        self.numbers.update(zip(after.branch.results, yields, strict=True))
        return self.run(after.rest, into, after.after)

    def leave(self, op: ct.Continue | ct.Break) -> tuple[int, ...]:
        """The next carried values; of an endless loop whether it goes on, then its slots."""
        given = [self.numbers[v] for v in op.operands]
        frame = self.frame
        if frame is None:
            return tuple(given)
        again = self.flag(isinstance(op, ct.Continue))
        ended = (self.flag(False),) if frame.may_end else ()
        if frame.shared:
            return (again, *given, *ended)
        if isinstance(op, ct.Continue):
            return (again, *given, *frame.outs, *ended)
        return (again, *frame.carried, *given, *ended)

    def end_if(self, ended: int, loop: ct.Loop) -> ct.If:
        """Behind a loop: the end of the kernel, or of the loop around, where the loop has ended for it."""
        condition, then = Block((FLAG,)).args[0], Block()
        self.numbers[condition] = ended
        then.append(ct.Return(location=loop.location))
        return ct.If((condition,), regions=[Region([then]), Region()], location=loop.location)

    def flag(self, value: bool) -> int:
        """A scalar i1."""
        number = self.number()
        self.rows["r.splat"].append((number, int(value), self.type_id(FLAG)))
        return number

    def operation(self, op: Op, into: SkeletonRegion) -> None:
        if isinstance(op, ct.For):
            into.items.append(self.loop(op))
        elif isinstance(op, ct.Loop):
            into.items.append(self.endless(op)[0])
        elif isinstance(op, ct.If):
            into.items.append(self.branch(op))
        elif isinstance(op, ct.Return):
            into.items.append(Return(op))
        elif (found := expanded(op)) is not None:
            ops, results = found
            for each in ops:
                self.operation(each, into)
            self.numbers.update({old: self.numbers[new] for old, new in zip(op.results, results, strict=True)})
            if isinstance(op, ct.MmaFScaled):
                self.scaled(op, into)
        elif isinstance(op, ct.MakeStridedView | ct.MakeGatherScatterView):
            pass  # all accesses to such views go by pointers
        elif isinstance(op, ct.Combining):
            self.reduction(op)
        elif op.effect is WRITE or (op.effect is READ and op.attributes.get("order", ct.MemoryOrder.WEAK)):
            into.items.append(self.store(op))
            self.asserted = self.asserted or isinstance(op, ct.Assert)
            if isinstance(op, ct.Alloca):
                self.aligned(op, into)
        elif isinstance(op, ct.Assume) and not self.believed:
            self.promise(op)
        else:
            self.term(op)

    def scaled(self, op: ct.MmaFScaled, into: SkeletonRegion) -> None:
        """The factors of a block-scaled product beside their scales."""
        ops, factors = of_bytes(op) or ((), (op.lhs, op.rhs))
        for each in ops:
            self.operation(each, into)
        self.program.factors[op] = tuple(self.numbers[each] for each in factors)

    @property
    def believed(self) -> bool:
        """Whether every execution reaches this point. Only then do its assumptions hold for equal values elsewhere:
        terms do not know where they are used. On a side of a branch, in a loop that may make no trip and after an early
        exit an assume makes a term of its region (`promise`), and arithmetic wraps.
        """
        return not self.uncertain and not self.asserted

    def promise(self, op: ct.Assume) -> None:
        """An assume that not every execution runs: a term of its region, or its operand. Behind an assertion it is
        dropped: nothing keeps what follows behind it.
        """
        if self.asserted or not promises.regional(op):
            self.numbers[op.result] = self.numbers[op.value]
            return
        predicate = self.interner.attributes.id(op.predicate)
        number = self.number(op.result)
        self.rows["r.promised"].append((number, self.numbers[op.value], predicate, self.uncertain))
        self.program.source[number] = op

    def runs(self, loop: ct.For) -> bool:
        """Is its first iteration certain? Known of a constant lower bound, and an upper one that is a constant or is
        promised to be greater.
        """
        start, end = loop.lower_bound.owner, loop.upper_bound.owner
        least: int | None = None
        if isinstance(end, ct.Constant):
            least = int(end.value.item)
        elif isinstance(end, ct.Assume) and isinstance(end.predicate, ct.Bounded):
            believed = self.program.source.get(self.numbers[loop.upper_bound]) is end
            least = end.predicate.lower if believed else None
        if not isinstance(start, ct.Constant) or least is None:
            return False
        first = int(start.value.item)
        return first < least and (first >= 0 or not loop.unsigned_cmp)

    @contextmanager
    def only_if(self, certain: bool) -> Generator[None]:
        """Inside a region that runs wherever its operation does, if `certain`."""
        outside = self.uncertain
        self.uncertain = outside if certain else self.scope
        yield
        self.uncertain = outside

    def term(self, op: Op) -> None:
        """A pure operation or a weak load as one row."""
        signature = signatures().get(op.info.mnemonic)
        if signature is None:
            raise UnsupportedError(f"'{op.name}' is not supported in the e-graph yet", op.location)
        if isinstance(op, ct.Constant) and self.splat(op):
            return
        operands = self.operands(op)
        if op.effect is READ and self.side is not None:
            operands[-1] = self.on_this_side(operands[-1], self.side)
        if signature.results == 1:
            number = self.number(op.results[0])
        else:
            number = self.number()
            for index, result in enumerate(op.results):
                self.rows["r.proj"].append((self.number(result), number, index))
                self.program.source[self.numbers[result]] = op
        self.rows[f"r.{signature.mnemonic}"].append((number, *operands, *self.integers(op, signature)))
        self.program.source[number] = op

    def on_this_side(self, token: int, side: int) -> int:
        """A token tied to the side of a branch on which it is used, so that such a load cannot be hoisted out of it."""
        if token == NONE_VALUE:
            return side
        found = self.sided.get((token, side))
        if found is None:
            found = self.sided[token, side] = self.number()
            self.rows["r.join_tokens"].append((found, self.list([token, side]), self.type_id(TOKEN)))
        return found

    def splat(self, op: ct.Constant) -> bool:
        """Encode an integer splat as `(splat value type)`, so that rules can compute with it."""
        type_, value = ct.tile_type(op.results[0]), op.value
        if not (value.splat and isinstance(type_.element, IntType)):
            return False
        number = self.leaf("splat", op.results[0], int(value.item))
        self.program.source[number] = op
        return True

    def operands(self, op: Op) -> list[int]:
        """One number an operand group."""
        flat = [self.numbers[v] for v in op.operands]
        found: list[int] = []
        at = 0
        for group, size in zip(op.info.operands, op.segments, strict=True):
            if isinstance(group, OneOperand | OptionalOperand):
                found.append(flat[at] if size else NONE_VALUE)
            else:
                found.append(self.list(flat[at : at + size]))
            at += size
        return found

    def list(self, numbers: list[int]) -> int:
        """The number of an operand list, shared between equal lists."""
        tail = NIL_VALUE
        for head in reversed(numbers):
            row = (head, tail)
            known = self.lists.get(row)
            if known is None:
                known = self.lists[row] = self.number()
                self.rows["r.cons"].append((known, *row))
            tail = known
        return tail

    def integers(self, op: Op, signature: Signature) -> list[int]:
        """The i64 columns: attributes, then result types."""
        found: list[int] = []
        for attribute in op.info.attributes:
            if is_hint(attribute):
                continue
            value = op.attributes.get(attribute.name, attribute.default)
            if attribute.kind is ct.Overflow and not self.believed:
                value = ct.Overflow.NONE
            elif attribute.kind is ct.Signedness and isinstance(op, ct.CmpI) and op.predicate in EQUALITY:
                value = ct.Signedness.SIGNED  # nothing follows from it: equal comparisons are one term
            found.append(self.attribute(value))
        if signature.results != 1:
            found.append(self.interner.attributes.id(tuple([r.type for r in op.results])))
        elif signature.like < 0:
            found.append(self.type_id(op.results[0].type))
        return found

    def attribute(self, value: object) -> int:
        integer = integer_of(value)
        return self.interner.attributes.id(value) if integer is None else integer

    def reduction(self, op: ct.Combining) -> None:
        """One row; where the dimension is kept, or of several tiles, the results are projections."""
        identities = self.interner.attributes.id(tuple(op.identities))
        operands = self.list([self.numbers[v] for v in op.operands])
        body = self.bodies.id(op)
        if not op.keeps and len(op.operands) == 1:
            number = self.number(op.results[0])
            kind = self.type_id(op.results[0].type)
            self.rows["r.reduce"].append((number, operands, op.dim, body, identities, kind))
        else:
            number = self.number()
            types = self.interner.attributes.id(tuple([r.type for r in op.results]))
            name = named(op.info.mnemonic) if op.keeps else "fold"
            self.rows[f"r.{name}"].append((number, operands, op.dim, *op.flags, body, identities, types))
            for index, result in enumerate(op.results):
                self.rows["r.proj"].append((self.number(result), number, index))
        self.program.source[number] = op

    def store(self, op: Op) -> SkeletonEffect:
        """An operation that stays in order; its results depend on all loops around it."""
        item = self.items
        self.items += 1
        operands = tuple([self.numbers[v] for v in op.operands])
        results = [self.leaf(leaf_of(r.type), r, item, i, deps=self.scope) for i, r in enumerate(op.results)]
        if isinstance(op, Exchange) and leaf_of(op.results[0].type) == "branch":  # in a layout of what is told
            self.rows["r.branch_yield"] += [(item, i, operands[i // op.parts]) for i in range(len(results))]
        at = [self.numbers[v] for v in accesses.place_of(op)]
        return SkeletonEffect(op, item, operands, tuple(results), tuple(at))

    def aligned(self, op: ct.Alloca, into: SkeletonRegion) -> None:
        """The address of memory that is asked for, with what is known of it."""
        promise = ct.Assume((op.result,), [op.result.type], {"predicate": ct.DivBy(op.alignment)})
        self.operation(promise, into)
        self.numbers[op.result] = self.numbers[promise.result]

    def loop(self, op: ct.For) -> SkeletonLoop:
        loop = self.new_scope(op)
        lower, upper, step = (self.numbers[v] for v in (op.lower_bound, op.upper_bound, op.step))
        inits = tuple([self.numbers[v] for v in op.init_values])
        induction, *carried = op.body.block.args
        outside = self.scope
        self.scope |= 1 << loop
        iv = self.leaf("iv", induction, loop, deps=self.scope)
        carries = tuple([self.leaf("carry", v, loop, i, deps=self.scope) for i, v in enumerate(carried)])
        body = SkeletonRegion()
        types = tuple([r.type for r in op.results])
        with self.inside(None, types), self.only_if(self.runs(op)):
            yields = self.region(op.body.block, body)
        self.scope = outside
        self.rows["r.loop_bounds"].append((loop, lower, upper, step))
        self.rows["r.loop_signed"].append((loop, int(not op.unsigned_cmp)))
        self.rows["r.loop_init"] += [(loop, i, k) for i, k in enumerate(inits)]
        self.rows["r.loop_yield"] += [(loop, i, k) for i, k in enumerate(yields)]
        results = tuple([self.leaf("res", r, loop, i, deps=outside) for i, r in enumerate(op.results)])
        return SkeletonLoop(op, loop, lower, upper, step, inits, iv, carries, body, yields, results, types)

    @contextmanager
    def inside(self, frame: WhileLoop | None, ends: tuple[Type, ...]) -> Generator[None]:
        """In a loop's body: `ends` are the types of what its paths end with."""
        outside = self.frame, self.ends
        self.frame, self.ends = frame, ends
        yield
        self.frame, self.ends = outside

    def endless(self, op: ct.Loop) -> tuple[SkeletonLoop, int]:
        """A loop that is left by break: results go round in slots of their own, or in those of the carried values where
        they have the same types. Also the number of whether the kernel ends here, where it may, as the last result.
        """
        ends = may_end(op)
        loop, outside = self.new_scope(op), self.scope
        carried, results = ([v.type for v in values] for values in (op.init_values, op.results))
        shared = carried == results
        last = len(carried) if shared else len(carried) + len(results)
        types = (*carried, *([] if shared else results), *([FLAG] if ends else []))
        inits = tuple([self.numbers[v] for v in op.init_values])
        inits += () if shared else tuple([self.nothing(kind, op) for kind in results])
        inits += (self.flag(False),) if ends else ()
        self.scope |= 1 << loop
        slots = [self.slot("carry", loop, i, kind, self.scope) for i, kind in enumerate(types)]
        self.numbers.update(zip(op.body.block.args, slots, strict=False))
        body = SkeletonRegion()
        frame = WhileLoop(shared, tuple(slots[: len(carried)]), tuple(slots[len(carried) : last]), ends)
        with self.inside(frame, (FLAG, *types)):
            again, *yields = self.region(op.body.block, body)
        self.scope = outside
        self.rows["r.loop_init"] += [(loop, i, k) for i, k in enumerate(inits)]
        self.rows["r.loop_yield"] += [(loop, i, k) for i, k in enumerate(yields)]
        left = tuple([self.slot("res", loop, i, kind, outside) for i, kind in enumerate(types)])
        self.numbers.update(zip(op.results, left[0 if shared else len(carried) : last], strict=True))
        made = SkeletonLoop(op, loop, 0, 0, 0, inits, 0, tuple(slots), body, tuple(yields), left, types, again)
        return made, left[-1] if ends else NONE_VALUE

    def slot(self, relation: str, loop: int, index: int, kind: Type, deps: int) -> int:
        """A carried value or a result of a loop."""
        number = self.number()
        self.rows[f"r.{relation}"].append((number, loop, index, self.type_id(kind)))
        self.rows["r.deps"].append((number, deps))
        return number

    def nothing(self, kind: Type, op: Op) -> int:
        """A value that nobody reads: zeros, or a fresh token."""
        number = self.number()
        ty = self.type_id(kind)
        if isinstance(kind, TileType) and isinstance(kind.element, IntType):
            self.rows["r.splat"].append((number, 0, ty))
        elif isinstance(kind, TileType) and isinstance(kind.element, FloatType):
            zero = ct.DenseElements.of(0, kind.element)
            self.rows["r.constant"].append((number, self.interner.attributes.id(zero), ty))
        elif kind == TOKEN:
            self.rows["r.make_token"].append((number, ty))
        else:
            raise UnsupportedError(
                f"'{op.name}' with a result of type {kind} that it does not carry is not supported yet",
                op.location,
                "carry it, or pass its offset from a pointer outside",
            )
        return number

    def branch(self, op: ct.If, after: BranchContinuation | None = None) -> SkeletonBranch:
        """Both sides; of the values computed there only those behind a load or a loop depend on their side.

        `after`: what follows a branch with a side that leaves the block. It is copied into each side that falls
        through, and the results are what the paths of the loop, or of the kernel, end with.
        """
        types = self.ends if after else tuple([v.type for v in op.results])
        item = self.items
        self.items += 1
        condition = self.numbers[op.condition]
        sides: list[tuple[int, SkeletonRegion, tuple[int, ...]]] = []
        outside, side_outside = self.scope, self.side
        for index, region in enumerate((op.then_, op.else_)):
            scope = self.new_scope(op)
            self.scope = outside | 1 << scope
            self.side = self.number()
            self.rows["r.effect"].append((self.side, item, len(types) + index, self.type_id(TOKEN)))
            self.rows["r.deps"].append((self.side, self.scope))
            into = SkeletonRegion()
            with self.only_if(False):
                yields = self.run(region.block.ops, into, after) if region.blocks else self.resume(after, [], into)
            sides.append((scope, into, yields))
        self.scope, self.side = outside, side_outside
        (then, then_items, then_yields), (other, other_items, other_yields) = sides
        results: list[int] = []
        for index, kind in enumerate(types):
            leaf = leaf_of(kind)
            number = self.number(None if after else op.results[index])
            self.rows[f"r.{leaf}"].append((number, item, index, self.type_id(kind)))
            self.rows["r.deps"].append((number, outside))
            results.append(number)
            if leaf == "branch":
                self.rows["r.branch_yield"] += [(item, index, y[index]) for y in (then_yields, other_yields)]
        return SkeletonBranch(
            op,
            item,
            condition,
            (then, other),
            then_items,
            then_yields,
            other_items,
            other_yields,
            tuple(results),
            types,
        )

    def finish(self) -> EncodedProgram:
        """Add what rules may ask about types, attributes and combiners."""
        operations = {name.removeprefix("r.") for name in self.rows}
        for relation, rows in facts.about(self.interner, self.bodies.entries, operations).items():
            self.rows[relation] += rows
        self.rows["r.deps"] += dependence(self.rows)
        self.program.facts = dict(self.rows)
        return self.program


def leaf_of(kind: Type) -> str:
    """The leaf of a skeleton item's result: tiles have a layout that is chosen, all else every thread holds."""
    return "branch" if isinstance(kind, TileType) and kind.size > 1 else "effect"


def leaves(branch: ct.If) -> bool:
    """Does some path through this branch leave the block around it?"""
    return any(leaving(region.block) for region in (branch.then_, branch.else_) if region.blocks)


def leaving(block: Block) -> bool:
    """Does some path leave the iteration, the loop or the kernel?"""
    ends = bool(block.ops) and isinstance(block.ops[-1], ct.Continue | ct.Break | ct.Return)
    return ends or any(
        (isinstance(op, ct.If) and leaves(op)) or (isinstance(op, ct.Loop) and may_end(op)) for op in block.ops
    )


def may_end(loop: ct.Loop) -> bool:
    """Does some path through this loop end the kernel?"""
    return any(isinstance(op, ct.Return) for op in loop.walk())

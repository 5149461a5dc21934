"""simplify-branches: edges past tests, what both sides of a branch begin with, what one side alone reads."""

from __future__ import annotations

from ir.core import Block, Op, Region, Type, Value, verify
from ir.dialects import llvm, nvvm
from ir.types import GLOBAL_PTR, I1, I32, I64
from lowering.convert.nvgpu_to_nvvm.branches import simplify_branches


def constant(block: Block, kind: Type, number: int) -> Value:
    return block.append(llvm.Constant((), [kind], {"value": number})).results[0]


def value(
    block: Block, cls: type[Op], *operands: Value, types: list[Type] | None = None, **attributes: object
) -> Value:
    return block.append(cls(operands, types, attributes)).results[0]


def store(block: Block, pointer: Value, stored: Value) -> None:
    block.append(nvvm.St((pointer, stored), (), {}, segments=(1, 0, 1)))


def load(block: Block, pointer: Value) -> Value:
    return block.append(nvvm.Ld((pointer,), [I32], {}, segments=(1, 0, 0, 0))).results[0]


def jump(block: Block, to: Block, *args: Value) -> None:
    block.append(llvm.Br(args, (), {"successors": (to,)}))


def branch(block: Block, condition: Value, to: Block, other: Block, first: list[Value], second: list[Value]) -> None:
    segments = (1, len(first), len(second))
    block.append(llvm.CondBr((condition, *first, *second), (), {"successors": (to, other)}, segments=segments))


def simplified(*blocks: Block, **attributes: object) -> tuple[llvm.Func, int]:
    given = {"sym_name": "k", "target": "sm_80", "block": (32, 1, 1), **attributes}
    func = llvm.Func((), (), given, [Region(list(blocks))])
    verify(func)
    count = simplify_branches(func)
    verify(func)
    assert simplify_branches(func) == 0
    return func, count


def names(block: Block) -> list[str]:
    return [op.name.rpartition(".")[2] for op in block.ops]


def left_in_the_middle() -> tuple[Block, Block, Block, Block, Block]:
    """while true: if n < 1: break; store n; n -= 1"""
    entry, head, body, test, out = Block((GLOBAL_PTR, I32)), Block((I32,)), Block(()), Block((I1, I32)), Block((I32,))
    pointer, number = entry.args
    no, yes = constant(entry, I1, 0), constant(entry, I1, 1)
    one = constant(entry, I32, 1)
    jump(entry, head, number)
    done = value(head, llvm.ICmp, head.args[0], one, types=[I1], predicate="slt")
    less = value(head, llvm.Sub, head.args[0], one)
    branch(head, done, test, body, [no, head.args[0]], [])
    store(body, pointer, less)
    jump(body, test, yes, less)
    branch(test, test.args[0], head, out, [test.args[1]], [test.args[1]])
    store(out, pointer, out.args[0])
    out.append(llvm.Return())
    return entry, head, body, test, out


def test_edges_go_past_a_test_that_they_decide() -> None:
    entry, head, body, test, out = left_in_the_middle()
    func, _ = simplified(entry, head, body, test, out)
    assert func.body.blocks == [entry, head, body, out]
    last = head.ops[-1]
    assert isinstance(last, llvm.CondBr)
    assert last.successors == (out, body)
    assert last.true_args == [head.args[0]]
    assert isinstance(body.ops[-1], llvm.Br)
    assert body.ops[-1].successors == (head,)


def test_what_a_loop_does_behind_its_test_is_not_done_before_it() -> None:
    entry, head, body, test, out = left_in_the_middle()
    simplified(entry, head, body, test, out)
    assert names(head) == ["icmp", "cond_br"]
    assert names(body) == ["sub", "st", "br"]


def test_what_is_read_right_behind_a_test_is_handed_on() -> None:
    entry, head, body, test, out = left_in_the_middle()
    out.ops[0].operands[1] = test.args[1]
    func, _ = simplified(entry, head, body, test, out)
    assert func.body.blocks == [entry, head, body, out]
    last = head.ops[-1]
    assert isinstance(last, llvm.CondBr)
    assert last.true_args == [head.args[0], head.args[0]]
    assert out.ops[0].operands[1] in (head.args[0], *out.args)


def test_a_test_whose_arguments_are_read_far_behind_it_stays() -> None:
    entry, head, body, test, out = left_in_the_middle()
    (pointer, _), last, side = entry.args, Block(()), Block(())
    store(last, pointer, test.args[1])
    last.append(llvm.Return())
    out.ops.pop()
    branch(out, value(out, llvm.ICmp, out.args[0], test.args[1], types=[I1], predicate="slt"), side, last, [], [])
    store(side, pointer, out.args[0])
    jump(side, last)
    func, _ = simplified(entry, head, body, test, out, side, last)
    assert test in func.body.blocks


def test_a_block_that_only_goes_on_is_left_out() -> None:
    """if c: store; both ways through a block that goes on to another one."""
    entry, side, join, out = Block((GLOBAL_PTR, I32, I1)), Block(()), Block((I32,)), Block((I32,))
    pointer, number, condition = entry.args
    branch(entry, condition, side, join, [], [number])
    store(side, pointer, number)
    jump(side, join, value(side, llvm.Add, number, number))
    jump(join, out, join.args[0])
    store(out, pointer, out.args[0])
    out.append(llvm.Return())
    func, _ = simplified(entry, side, join, out)
    assert func.body.blocks == [entry, side, out]
    assert names(side)[-1] == "br"


def test_what_an_edge_hands_over_is_what_its_condition_chooses() -> None:
    """do n = n < 5 ? n : n - 1 while not n < 5: the next iteration gets n - 1, what follows n."""
    entry, body, out = Block((GLOBAL_PTR, I32)), Block((I32, I32)), Block((I32, I32))
    pointer, number = entry.args
    yes, five = constant(entry, I1, 1), constant(entry, I32, 5)
    jump(entry, body, number, five)
    n, kept = body.args
    less = value(body, llvm.Sub, n, five)
    done = value(body, llvm.ICmp, n, five, types=[I1], predicate="slt")
    again = value(body, llvm.Xor, done, yes)
    following = [
        value(body, llvm.Select, done, n, less),
        value(body, llvm.Select, again, kept, less),
    ]
    branch(body, again, body, out, following, following)
    store(out, pointer, out.args[0])
    store(out, pointer, out.args[1])
    out.append(llvm.Return())
    simplified(entry, body, out)
    last = body.ops[-1]
    assert isinstance(last, llvm.CondBr)
    assert last.true_args == [less, five]
    assert last.false_args == [n, less]
    assert [op.operands[1] for op in out.ops[:2]] == [n, less]


def test_a_block_at_the_end_of_one_jump_is_part_of_it() -> None:
    entry, second = Block((GLOBAL_PTR, I32)), Block((I32,))
    pointer, number = entry.args
    jump(entry, second, value(entry, llvm.Add, number, number))
    store(second, pointer, second.args[0])
    second.append(llvm.Return())
    func, _ = simplified(entry, second)
    assert func.body.blocks == [entry]
    assert names(entry) == ["add", "st", "return"]


def test_what_one_side_of_a_test_in_a_loop_reads_is_done_there() -> None:
    """Agents do so too; a comparison stays."""
    for attributes in ({}, {"consumers": 128}):
        entry, head, side, last, out = Block((GLOBAL_PTR, I32, I1)), Block((I32,)), Block(()), Block((I32,)), Block(())
        pointer, number, condition = entry.args
        one = constant(entry, I32, 1)
        jump(entry, head, number)
        twice = value(head, llvm.Add, head.args[0], head.args[0])
        small = value(head, llvm.ICmp, head.args[0], one, types=[I1], predicate="slt")
        branch(head, condition, side, last, [], [number])
        store(side, pointer, value(side, llvm.Select, small, twice, number))
        jump(side, last, one)
        less = value(last, llvm.Sub, head.args[0], last.args[0])
        branch(last, value(last, llvm.ICmp, one, less, types=[I1], predicate="slt"), head, out, [less], [])
        out.append(llvm.Return())
        simplified(entry, head, side, last, out, **attributes)
        assert names(head) == ["icmp", "cond_br"]
        assert names(side) == ["add", "select", "st", "br"]


def test_an_argument_that_all_edges_hand_the_same_is_that() -> None:
    """A loop that hands itself on what it was given."""
    entry, body, out = Block((GLOBAL_PTR, I32)), Block((I32, I32)), Block(())
    pointer, number = entry.args
    one = constant(entry, I32, 1)
    jump(entry, body, number, number)
    less = value(body, llvm.Sub, body.args[0], one)
    store(body, pointer, body.args[1])
    branch(body, value(body, llvm.ICmp, one, less, types=[I1], predicate="slt"), body, out, [less, body.args[1]], [])
    out.append(llvm.Return())
    simplified(entry, body, out)
    assert body.ops[1].operands[1] is number


def two_sides(first_stores: bool = False) -> tuple[Block, Block, Block]:
    """Both sides load and add; the first may store before."""
    entry, first, second = Block((GLOBAL_PTR, I32, I1)), Block(()), Block(())
    pointer, number, condition = entry.args
    branch(entry, condition, first, second, [], [])
    if first_stores:
        store(first, pointer, number)
    store(first, pointer, value(first, llvm.Add, load(first, pointer), number))
    total = value(second, llvm.Add, load(second, pointer), number)
    store(second, pointer, value(second, llvm.Mul, total, number))
    for block in (first, second):
        block.append(llvm.Return())
    return entry, first, second


def test_what_both_sides_begin_with_is_done_before_the_branch() -> None:
    entry, first, second = two_sides()
    _, count = simplified(entry, first, second)
    assert count == 2
    assert (names(entry), names(first), names(second)) == (
        ["ld", "add", "cond_br"], ["st", "return"], ["mul", "st", "return"]
    )  # fmt: skip
    assert second.ops[0].operands[0] is entry.ops[1].results[0]


def test_a_load_behind_a_store_stays_there() -> None:
    entry, first, second = two_sides(first_stores=True)
    simplified(entry, first, second)
    assert names(entry) == ["cond_br"]


def test_agents_keep_what_they_compute() -> None:
    entry, first, second = two_sides()
    assert simplified(entry, first, second, consumers=1)[1] == 0


def two_tests(negated: bool = False, between: bool = False) -> tuple[Block, Block, Block, Block, Block]:
    """if c: store n; if c: store n + n, with a cast before the second test, or a load."""
    entry, first, test, second, out = Block((GLOBAL_PTR, I32, I1)), Block(()), Block(()), Block(()), Block(())
    pointer, number, condition = entry.args
    again = value(entry, llvm.Xor, condition, constant(entry, I1, 1)) if negated else condition
    branch(entry, condition, first, test, [], [])
    store(first, pointer, number)
    jump(first, test)
    cast = value(test, llvm.PtrToInt, pointer, types=[I64])
    if between:
        number = load(test, pointer)
    branch(test, again, second, out, [], [])
    store(second, pointer, value(second, llvm.Add, number, value(second, llvm.Trunc, cast, types=[I32])))
    jump(second, out)
    out.append(llvm.Return())
    return entry, first, test, second, out


def test_a_test_of_what_was_tested_is_gone_past() -> None:
    entry, first, test, second, out = two_tests()
    func, _ = simplified(entry, first, test, second, out)
    assert func.body.blocks == [entry, first, out]
    assert names(first) == ["st", "ptrtoint", "trunc", "add", "st", "br"]
    last = entry.ops[-1]
    assert isinstance(last, llvm.CondBr)
    assert last.successors == (first, out)


def test_what_nobody_reads_keeps_no_test() -> None:
    """The base of an address that no access has, before the second test."""
    entry, first, test, second, out = two_tests()
    test.ops.insert(0, llvm.GetElementPtr((entry.args[0],), None, {"offset": 64}))
    test.ops[0].parent = test
    func, _ = simplified(entry, first, test, second, out)
    assert func.body.blocks == [entry, first, out]


def test_a_test_of_the_opposite_is_gone_past_to_the_other_side() -> None:
    entry, first, test, second, out = two_tests(negated=True)
    func, _ = simplified(entry, first, test, second, out)
    assert func.body.blocks == [entry, first, second, out]
    last = entry.ops[-1]
    assert isinstance(last, llvm.CondBr)
    assert last.successors == (first, second)
    assert names(first) == ["st", "br"]


def test_a_condition_that_a_loop_recomputes_is_tested_again() -> None:
    """do: n += n; where n is negative, store it; while n is not negative. The test at the end is of the next n."""
    entry, head, side, test, out = Block((GLOBAL_PTR, I32)), Block((I32, I1)), Block(()), Block(()), Block(())
    pointer, number = entry.args
    jump(entry, head, number, value(entry, llvm.ICmp, number, constant(entry, I32, 0), types=[I1], predicate="slt"))
    branch(head, head.args[1], side, test, [], [])
    store(side, pointer, head.args[0])
    jump(side, test)
    following = value(test, llvm.Add, head.args[0], head.args[0])
    negative = value(test, llvm.ICmp, following, constant(entry, I32, 7), types=[I1], predicate="slt")
    entry.ops.insert(0, entry.ops.pop())
    branch(test, negative, out, head, [], [following, negative])
    out.append(llvm.Return())
    func, _ = simplified(entry, head, side, test, out)
    assert side in func.body.blocks
    last = head.ops[-1]
    assert isinstance(last, llvm.CondBr)
    assert last.condition is head.args[1]


def test_a_load_before_the_second_test_keeps_it() -> None:
    entry, first, test, second, out = two_tests(between=True)
    func, _ = simplified(entry, first, test, second, out)
    assert test in func.body.blocks

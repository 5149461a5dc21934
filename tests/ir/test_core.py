"""The SSA core: declared fields, accessors, segments, the structural verifier."""

import pytest

from ir.core import (
    OPS,
    Attr,
    Block,
    Builder,
    Location,
    Op,
    Operand,
    OptionalOperand,
    Region,
    RegionField,
    Result,
    TileError,
    Variadic,
    VerifyError,
    flag,
    op,
    optional,
    same_type_as,
    verify,
)
from ir.types import F32, I32, TileType

SCALAR = TileType((), I32)


def is_scalar(type_):
    return type_ == SCALAR


is_scalar.meaning = "an i32 scalar"


@op("test.add")
class Add(Op):
    """Two operands."""

    lhs = Operand(is_scalar)
    rhs = Operand(is_scalar)
    exact = flag()
    rounds = Attr(int, 3)
    scope = optional(str)
    result = same_type_as("lhs")


@op("test.call")
class Call(Op):
    """Several groups."""

    callee = Operand()
    arguments = Variadic()
    token = OptionalOperand()
    name_ = Attr(str)
    value = Result()
    body = RegionField()


def values(*types):
    return Block(types).args


def test_fields_read_operands_attributes_and_results():
    a, b = values(SCALAR, SCALAR)
    made = Add([a, b], None, {"exact": True}, (), Location("f", 2, 5))
    assert (made.lhs, made.rhs, made.exact, made.rounds, made.scope) == (a, b, True, 3, None)
    assert made.result.type == SCALAR
    assert made.result.op is made
    assert [g.name for g in Add.info.operands] == ["lhs", "rhs"]
    assert Call.info.attributes[0].name == "name"  # a trailing underscore only avoids a Python word
    verify(made)


def test_segments_split_a_flat_operand_list():
    a, b, c, t = values(SCALAR, SCALAR, SCALAR, TileType((), F32))
    made = Call([a, b, c, t], [SCALAR], {"name": "f"}, [Region([Block()])], segments=(1, 2, 1))
    assert (made.callee, made.arguments, made.token) == (a, [b, c], t)
    empty = Call([a], [SCALAR], {"name": "f"}, [Region([Block()])])
    assert (empty.arguments, empty.token) == ([], None)
    with pytest.raises(ValueError, match="segments must be given"):
        Call([a, b], [SCALAR])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda a, f: Add([a, f]), "operand 'rhs' must be an i32 scalar, is tile<f32>"),
        (lambda a, f: Add([a, a], [f.type]), "result must have the type of 'lhs', tile<i32>"),
        (lambda a, f: Add([a, a], []), "must have 1 results"),
        (lambda a, f: Add([a], [SCALAR], segments=(1, 0)), "operand 'rhs' is missing"),
        (lambda a, f: Add([a, a], None, segments=(1, 0)), "operand segments do not add up"),
        (lambda a, f: Call([a, a, a], [SCALAR], {"name": "f"}, segments=(1, 0, 2)), "operand 'token' is given twice"),
        (lambda a, f: Call([a], [SCALAR]), "attribute 'name' is missing"),
    ],
)
def test_structural_errors_name_op_operand_and_place(make, message):
    a, f = values(SCALAR, TileType((), F32))
    made = make(a, f)
    made.location = Location("kernel.mlir", 7, 3)
    with pytest.raises(VerifyError) as caught:
        verify(made)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"kernel.mlir:7:3: error: '{made.name}'")


def test_builder_gives_its_location_and_block():
    block = Block([SCALAR])
    builder = Builder(block, Location("k", 1, 1))
    made = builder.add(Add, block.args[0], block.args[0], rounds=9)
    assert (made.parent, block.terminator, made.location.line, made.rounds) == (block, made, 1, 9)
    assert builder.value(Add, made.result, made.result).op is block.ops[1]


def test_walk_is_in_program_order():
    inner = Block()
    a = values(SCALAR)[0]
    first = Builder(inner).add(Add, a, a)
    outer = Call([a], [SCALAR], {"name": "g"}, [Region([inner])])
    assert list(outer.walk()) == [outer, first]
    assert first.parent.parent_op is outer


def test_declaring_an_op_twice_is_refused():
    with pytest.raises(ValueError, match="declared twice"):
        op("test.add")(type("Again", (Op,), {}))
    assert OPS["test.add"] is Add


def test_error_text_has_place_and_hint():
    error = TileError("bad thing", Location("f.mlir", 3, 9), "do this")
    assert str(error) == "f.mlir:3:9: error: bad thing\n  hint: do this"
    assert str(Location("b", offset=12)) == "b:byte 12"

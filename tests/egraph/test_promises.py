"""Which promises become terms: those of operations that every execution runs, and no other."""

import pytest

from egraph.encode import encode
from egraph.terms import signatures
from ir.core import OPS
from ir.dialects import cuda_tile as ct
from ir.text import parse
from tests.programs.promises import PLACES

OPERATIONS = {
    "addi": "%a, %b overflow<no_signed_wrap> : tile<i32>",
    "subi": "%a, %b overflow<no_signed_wrap> : tile<i32>",
    "muli": "%a, %b overflow<no_signed_wrap> : tile<i32>",
    "shli": "%a, %b overflow<no_signed_wrap> : tile<i32>",
    "negi": "%a overflow<no_signed_wrap> : tile<i32>",
    "trunci": "%a overflow<no_signed_wrap> : tile<i32> -> tile<i16>",
    "assume": "div_by<16>, %a : tile<i32>",
}

HELD = {
    "entry": "{0}",
    "behind-a-branch": "if %never {{ }}\n{0}",
    "behind-a-loop": "for %i in (%zero to %none, step %one) : tile<i32> {{ }}\n{0}",
    "counted-loop": "for %i in (%zero to %three, step %one) : tile<i32> {{\n{0} }}",
    "unsigned-loop": "for unsigned %i in (%zero to %three, step %one) : tile<i32> {{\n{0} }}",
    "endless-loop": "loop {{\n{0}\nif %always {{ break }} }}",
    "loop-with-promised-trips": """%n = assume bounded<4, ?>, %none : tile<i32>
        for %i in (%three to %n, step %one) : tile<i32> {{\n{0} }}""",
    "loop-in-a-loop": """for %i in (%zero to %three, step %one) : tile<i32> {{
        for %j in (%one to %three, step %one) : tile<i32> {{\n{0} }} }}""",
}
ASSERTION = 'assert %never, "no" : tile<i1>'
BROKEN = PLACES | {
    "asserted": f"{ASSERTION}\n{{0}}",
    "asserted-in-a-loop": f"for %i in (%zero to %three, step %one) : tile<i32> {{{{ {ASSERTION} }}}}\n{{0}}",
    "unsigned-loop-from-minus-one": "for unsigned %i in (%minus to %three, step %one) : tile<i32> {{\n{0} }}",
    "loop-with-too-few-promised-trips": """%n = assume bounded<3, ?>, %none : tile<i32>
        for %i in (%three to %n, step %one) : tile<i32> {{\n{0} }}""",
    "loop-with-trips-promised-elsewhere": """if %never {{ %n = assume bounded<4, ?>, %none : tile<i32>
        for %i in (%three to %n, step %one) : tile<i32> {{\n{0} }} }}""",
    "loop-with-an-upper-limit": """%n = assume bounded<?, 9>, %none : tile<i32>
        for %i in (%three to %n, step %one) : tile<i32> {{\n{0} }}""",
    "loop-in-a-branch": "if %never {{ for %i in (%zero to %three, step %one) : tile<i32> {{\n{0} }} }}",
    "in-both-sides": "if %never {{\n{0} }} else {{\n{1} }}",
}


def promises(place: str, mnemonic: str) -> int:
    """How many rows of the encoded program carry the promise."""
    numbers = {"zero": 0, "one": 1, "three": 3, "five": 5, "minus": -1}
    constants = "\n".join(f"%{name} = constant <i32: {n}> : tile<i32>" for name, n in numbers.items())
    lines = [f"%{name} = {mnemonic} {OPERATIONS[mnemonic]}" for name in ("made", "again")]
    program = encode(
        parse(f"""cuda_tile.module @m {{ entry @k(%a: tile<i32>, %b: tile<i32>, %none: tile<i32>) {{
            {constants}
            %never = cmpi not_equal %none, %zero, signed : tile<i32> -> tile<i1>
            %always = cmpi equal %none, %zero, signed : tile<i32> -> tile<i1>
            {place.format(*lines)}
            return }} }}""")
    )
    rows = program.facts.get(f"r.{mnemonic}", [])
    if mnemonic == "assume":
        return sum(isinstance(program.interner.attributes[predicate], ct.DivBy) for _, _, predicate in rows)
    columns = signatures()[mnemonic].columns
    return sum(row[1 + columns.index("overflow_i")] != 0 for row in rows)


def test_every_operation_with_a_promise_is_here():
    promising = {cls.info.mnemonic for name, cls in OPS.items() if name.startswith("cuda_tile.")
                 and any(a.kind is ct.Overflow for a in cls.info.attributes)}  # fmt: skip
    assert promising | {"assume"} == OPERATIONS.keys()


@pytest.mark.parametrize("mnemonic", OPERATIONS)
@pytest.mark.parametrize("place", HELD)
def test_promise_of_every_execution_is_kept(place, mnemonic):
    assert promises(HELD[place], mnemonic) == 1


@pytest.mark.parametrize("mnemonic", OPERATIONS)
@pytest.mark.parametrize("place", BROKEN)
def test_promise_of_some_executions_is_dropped(place, mnemonic):
    assert promises(BROKEN[place], mnemonic) == 0


def test_promise_at_the_entry_reaches_equal_terms(kernel):
    k = kernel(
        "%v: tile<i32>",
        """%c = constant <i32: 12> : tile<i32>
        %p = muli %v, %c : tile<i32>
        %q = divi %p, %c signed rounding<zero> : tile<i32>
        %promised = muli %v, %c overflow<no_signed_wrap> : tile<i32>""",
    )
    assert k.same("q", "v")


def test_counter_of_a_loop_without_trips_proves_nothing(kernel):
    """Its range would be empty: below 4 as well as not below 4, and with that true would be false."""
    k = kernel(
        "%x: tile<i32>, %y: tile<i32>",
        """%three = constant <i32: 3> : tile<i32>
        %four = constant <i32: 4> : tile<i32>
        %five = constant <i32: 5> : tile<i32>
        %yes = constant <i1: 1> : tile<i1>
        %no = constant <i1: 0> : tile<i1>
        for %i in (%five to %three, step %three) : tile<i32> {
          %below = cmpi less_than %i, %four, signed : tile<i32> -> tile<i1>
          %above = cmpi greater_than_or_equal %i, %four, signed : tile<i32> -> tile<i1>
        }
        for unsigned %j in (%five to %three, step %three) : tile<i32> {
          %low = cmpi less_than %j, %four, signed : tile<i32> -> tile<i1>
          %high = cmpi greater_than_or_equal %j, %four, signed : tile<i32> -> tile<i1>
        }""",
    )
    assert not k.same("yes", "no")

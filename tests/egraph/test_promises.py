"""Which promises become terms: those of operations that every execution runs; of others what `assume` says about a
scalar becomes a term of its region.
"""

import pytest

from egraph.encode import EncodedProgram, encode
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
ASSERTED = ("asserted", "asserted-in-a-loop")
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


def encoded(place: str, lines: list[str]) -> EncodedProgram:
    """The program with these lines in a place."""
    numbers = {"zero": 0, "one": 1, "three": 3, "five": 5, "minus": -1}
    constants = "\n".join(f"%{name} = constant <i32: {n}> : tile<i32>" for name, n in numbers.items())
    parameters = "%a: tile<i32>, %b: tile<i32>, %none: tile<i32>, %p: tile<ptr<f32>>, %t: tile<8xi32>"
    return encode(
        parse(f"""cuda_tile.module @m {{ entry @k({parameters}) {{
            {constants}
            %never = cmpi not_equal %none, %zero, signed : tile<i32> -> tile<i1>
            %always = cmpi equal %none, %zero, signed : tile<i32> -> tile<i1>
            {place.format(*lines)}
            return }} }}""")
    )


def promises(place: str, mnemonic: str) -> int:
    """How many rows of the encoded program carry the promise."""
    program = encoded(place, [f"%{name} = {mnemonic} {OPERATIONS[mnemonic]}" for name in ("made", "again")])
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


SAID = {
    "bounded<0, ?>, %a : tile<i32>": 1,
    "div_by<4>, %p : tile<ptr<f32>>": 0,  # every access needs it
    "div_by<8>, %p : tile<ptr<f32>>": 1,
    "same_elements<[]>, %a : tile<i32>": 0,
    "div_by<16>, %t : tile<8xi32>": 0,  # a tile would lose what is known of its groups
}


@pytest.mark.parametrize("said", SAID)
def test_what_a_region_promises_about_a_scalar_is_a_term(said):
    lines = [f"%{name} = assume {said}" for name in ("made", "again")]
    assert len(encoded("if %never {{\n{0} }}", lines).facts.get("r.promised", [])) == SAID[said]


@pytest.mark.parametrize("place", BROKEN)
def test_term_of_a_region_depends_on_it(place):
    text = BROKEN[place]
    program = encoded(text, [f"%{name} = assume div_by<16>, %a : tile<i32>" for name in ("made", "again")])
    deps = dict(program.facts["r.deps"])
    about = program.number_of(program.entry.parameters[0])
    rows = [row for row in program.facts.get("r.promised", []) if row[1] == about]
    assert len(rows) == (0 if place in ASSERTED else text.count("{0}") + text.count("{1}"))
    assert all(scope and deps[number] == scope for number, _, _, scope in rows)


def test_no_term_where_every_execution_promises():
    assert not any(
        "r.promised" in encoded(place, [f"%{n} = assume div_by<16>, %a : tile<i32>" for n in ("made", "again")]).facts
        for place in HELD.values()
    )


REGION = """%zero = constant <i32: 0> : tile<i32>
    %six = constant <i32: 16> : tile<i32>
    %flag = cmpi less_than %b, %a, signed : tile<i32> -> tile<i1>
    %far = remi %a, %six signed : tile<i32>
    if %flag {{
      %x = assume {promise}, %a : tile<i32>
      {body}
    }}"""


def test_facts_of_a_region_hold_for_its_own_term(kernel):
    k = kernel("%a: tile<i32>, %b: tile<i32>", REGION.format(
        promise="div_by<16>", body="%near = remi %x, %six signed : tile<i32>"))  # fmt: skip
    assert k.same("near", "zero")
    assert not k.same("far", "zero")
    assert not k.same("x", "a")


def test_what_is_known_anyway_is_no_promise(kernel):
    k = kernel("%b: tile<i32>, %c: tile<i32>", "%a = assume bounded<1, 32>, %c : tile<i32>" + REGION.format(
        promise="bounded<0, ?>", body="%y = assume bounded<?, 31>, %a : tile<i32>"))  # fmt: skip
    assert k.same("x", "a")
    assert not k.same("y", "a")


def test_what_contradicts_itself_in_a_region_proves_nothing(kernel):
    """A region that promises of 5 that it is a multiple of 16, or at least 7, does not run; elsewhere 5 is 5."""
    k = kernel("%b: tile<i32>, %c: tile<i32>", "%a = constant <i32: 5> : tile<i32>" + REGION.format(
        promise="div_by<16>", body="""%y = assume bounded<7, ?>, %x : tile<i32>
        %less = cmpi less_than %y, %six, signed : tile<i32> -> tile<i1>
        %more = cmpi greater_than_or_equal %y, %six, signed : tile<i32> -> tile<i1>"""))  # fmt: skip
    assert not k.same("less", "more")
    assert not k.same("a", "zero")


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

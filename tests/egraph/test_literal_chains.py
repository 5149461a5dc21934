"""Chains of sums, products and quotients with literals: linear, closed cycles included, and equal in every term."""

from itertools import accumulate

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from egraph.encode import encode
from egraph.report import StopReason
from egraph.saturate import ALGEBRA, saturate
from ir.text import parse

BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}


def wrapped(number, bits):
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def chain(literals, op="addi", kind="i32", promise=""):
    """%v0, and each %v of the one before and a literal."""
    lines: list[str] = []
    for k, literal in enumerate(literals):
        lines.append(f"%c{k} = constant <{kind}: {literal}> : tile<{kind}>")
        lines.append(f"%v{k + 1} = {op} %v{k}, %c{k}{promise} : tile<{kind}>")
    return "\n".join(lines)


def sums(k, name):
    """The literals that a value is a sum of %v0 with, and what the sums promise."""
    splats = {node.cls: node.args[0] for node in k.result.frozen.nodes if node.op == "splat"}
    found = (n for n in k.nodes(name) if n.op == "addi" and n.args[0] == k.cls("v0"))
    return sorted((splats[node.args[1]], node.args[2]) for node in found)


def saturated(k):
    return k.result.report.stop[ALGEBRA] is StopReason.SATURATED and not k.result.report.ended


def test_each_sum_is_the_first_value_and_one_literal(kernel):
    literals = [k % 7 + 1 for k in range(60)]
    k = kernel("%v0: tile<i32>", chain(literals))
    assert [sums(k, f"v{at + 1}") for at in range(60)] == [[(total, 0)] for total in accumulate(literals)]
    assert all(len(k.nodes(f"v{at}")) <= 2 for at in range(61))


def test_matches_grow_as_the_chain_does():
    def matches(length):
        text = chain([k % 7 + 1 for k in range(length)])
        found = saturate(encode(parse(f"cuda_tile.module @m {{ entry @k(%v0: tile<i32>) {{ {text} return }} }}")))
        return found.report.matches()

    assert matches(400) < 5 * matches(100)


@pytest.mark.parametrize(
    ("literals", "ends"),
    [([1, -1], {0, 2}), ([1, 2, -3], {0, 3}), ([1, -1] * 10, set(range(0, 21, 2))), ([5, -2, -3] * 12, {0, 3, 36}),
     ([*range(1, 20), *range(-19, 0)], {0, 38}), ([100, 100, 56], {0, 3})],
)  # fmt: skip
def test_cycles_close(kernel, literals, ends):
    kind = "i8" if literals == [100, 100, 56] else "i32"
    k = kernel(f"%v0: tile<{kind}>", chain(literals, kind=kind))
    assert len({k.cls(f"v{at}") for at in ends}) == 1
    assert saturated(k)


CLOSING = """
(rule ((= p (addi r (splat 1 t) 0)) (= r (arg 0 t)) (= s (arg 1 t))) ((union p s)) :ruleset canon :name "mine/up")
(rule ((= q (addi s (splat -1 t) 0)) (= s (arg 1 t)) (= r (arg 0 t))) ((union q r)) :ruleset canon :name "mine/down")
"""


def test_two_values_that_are_sums_of_each_other_come_to_an_end(kernel, tmp_path):
    (tmp_path / "mine.egg").write_text(CLOSING)
    body = """%one = constant <i32: 1> : tile<i32>
        %less = constant <i32: -1> : tile<i32>
        %p = addi %v0, %one : tile<i32>
        %q = addi %s, %less : tile<i32>
        %a = addi %p, %one : tile<i32>
        %b = addi %a, %one : tile<i32>
        %c = addi %b, %one : tile<i32>"""
    k = kernel("%v0: tile<i32>, %s: tile<i32>", body, rules=[tmp_path / "mine.egg"])
    assert saturated(k)
    assert k.same("p", "s")
    assert k.same("q", "v0")
    assert (4, 0) in sums(k, "c")


def test_a_joined_sum_promises_nothing(kernel):
    k = kernel("%v0: tile<i32>", chain([1, 2, 3], promise=" overflow<no_signed_wrap>"))
    assert [sums(k, f"v{at}") for at in (1, 2, 3)] == [[(1, 1)], [(3, 0)], [(6, 0)]]


@pytest.mark.parametrize(
    ("op", "kind", "literals", "one"),
    [("addi", "i8", [100, 100], -56), ("addi", "i16", [-30000] * 3, -24464), ("muli", "i8", [7, 37], 3),
     ("muli", "i32", [3] * 21, 1870418611), ("addi", "i32", [2**31 - 1, 1], -(2**31)),
     ("muli", "i64", [2**40, 9], 9 * 2**40)],
)  # fmt: skip
def test_literals_wrap_as_the_operation_does(kernel, op, kind, literals, one):
    text = f"%one = constant <{kind}: {one}> : tile<{kind}>\n%all = {op} %v0, %one : tile<{kind}>"
    k = kernel(f"%v0: tile<{kind}>", f"{chain(literals, op, kind)}\n{text}")
    assert k.same(f"v{len(literals)}", "all")


def test_literals_that_leave_an_i64_are_not_joined(kernel):
    k = kernel("%v0: tile<i64>", chain([2**62] * 3, kind="i64"))
    assert sums(k, "v1") == [(2**62, 0)]
    assert not sums(k, "v2")


def test_quotients_of_quotients(kernel):
    text = """%c = constant <i32: 210> : tile<i32>
        %all = divi %v0, %c signed rounding<zero> : tile<i32>"""
    k = kernel("%v0: tile<i32>", f"{chain([2, 3, 5, 7], 'divi', promise=' signed rounding<zero>')}\n{text}")
    assert k.same("v4", "all")
    assert not k.same("v3", "all")


def test_a_product_beyond_the_type_is_no_divisor(kernel):
    k = kernel("%v0: tile<i8>", chain([20, 20], "divi", "i8", " signed rounding<zero>"))
    assert len(k.nodes("v2")) == 1


LOOP = """%zero = constant <i32: 0> : tile<i32>
    %four = constant <i32: 4> : tile<i32>
    %eight = constant <i32: 8> : tile<i32>
    %n = constant <i32: 64> : tile<i32>
    %r = for %v0 in (%zero to %n, step %four) : tile<i32> iter_values(%c = %zero) -> (tile<i32>) {
      %i1 = addi %v0, %four : tile<i32>
      %i2 = addi %i1, %four : tile<i32>
      %c1 = addi %c, %four : tile<i32>
      %c2 = addi %c1, %four : tile<i32>
      %back = addi %c2, %less : tile<i32>
      continue %c2 : tile<i32>
    }"""


def test_counters_and_carried_values(kernel):
    k = kernel("%x: tile<i32>", f"%less = constant <i32: -8> : tile<i32>\n{LOOP}")
    assert (8, 0) in sums(k, "i2")
    assert k.same("back", "c")
    assert not k.same("c", "c2")
    assert k.fact("divisor", "c") == 8  # of the joined step: that of either of the two is 4


STEPS = {
    "addi": (lambda x, n, bits: x + n, "", (-9, 9)),
    "muli": (lambda x, n, bits: x * n, "", (-5, 5)),
    "subi": (lambda x, n, bits: x - n, "", (-9, 9)),
    "andi": (lambda x, n, bits: x & n, "", (-9, 9)),
    "ori": (lambda x, n, bits: x | n, "", (-9, 9)),
    "xori": (lambda x, n, bits: x ^ n, "", (-9, 9)),
    "mini": (lambda x, n, bits: min(x, n), " signed", (-9, 9)),
    "maxi": (lambda x, n, bits: max(x, n), " signed", (-9, 9)),
    "shli": (lambda x, n, bits: x << n, "", (0, 7)),
    "divi": (lambda x, n, bits: abs(x) // n * (1 if x >= 0 else -1), " signed rounding<zero>", (1, 9)),
}
"""What an operation computes before it wraps, how it is written, and which literals it takes."""


@st.composite
def programs(draw):
    """A type, and operations: each of one of the last values and a literal, which may be near a limit of the type."""
    kind = draw(st.sampled_from([*BITS]))
    edge = (1 << BITS[kind] - 1) - 1
    found = []
    for k in range(draw(st.integers(2, 12))):
        op = draw(st.sampled_from(["addi"] * 8 + ["muli"] * 3 + [*STEPS]))
        least, most = STEPS[op][2]
        literals = st.integers(least, most)
        if op in ("addi", "muli", "xori"):
            literals |= st.integers(edge - 2, edge) | st.integers(-edge - 1, -edge + 2)
        found.append((op, max(0, k - draw(st.sampled_from([0, 0, 0, 1, 2]))), draw(literals)))
    return kind, found


def computed(op, left, right, bits, attributes=()):
    """An operation on numbers; of quotients and shifts also those that rules make."""
    if op in ("divi", "remi") and attributes[0] == 0:
        left, right = left % (1 << bits), right % (1 << bits)
    if op == "shri":
        return wrapped((left if attributes[0] else left % (1 << bits)) >> right, bits)
    if op == "remi":
        return wrapped(left - right * STEPS["divi"][0](left, right, bits), bits)
    if op == "divi" and attributes[1] in (2, 3):
        return wrapped(left // right if attributes[1] == 2 else -(-left // right), bits)
    return wrapped(STEPS[op][0](left, right, bits), bits)


def every_term_is_equal(program, numbers):
    """Give each class of the saturated program the value of one of its terms; all the others must have the same."""
    kind, steps = program
    bits, text = BITS[kind], []
    for k, (op, source, literal) in enumerate(steps):
        text.append(f"%c{k} = constant <{kind}: {literal}> : tile<{kind}>")
        text.append(f"%v{k + 1} = {op} %v{source}, %c{k}{STEPS[op][1]} : tile<{kind}>")
    body = "\n".join(text)
    encoded = encode(parse(f"cuda_tile.module @m {{ entry @k(%v0: tile<{kind}>) {{ {body} return }} }}"))
    result = saturate(encoded)
    assert not result.report.ended
    names = {v.name: at for at, v in enumerate(encoded.values) if v is not None and v.name}
    for number in numbers:
        values = {result.frozen.class_of(names["v0"]): wrapped(number, bits)}
        known = [wrapped(number, bits)]
        for op, source, literal in steps:
            known.append(wrapped(STEPS[op][0](known[source], literal, bits), bits))
        for at, value in enumerate(known):
            assert values.setdefault(result.frozen.class_of(names[f"v{at}"]), value) == value
        for node in result.frozen.nodes:
            if node.op == "splat":
                assert values.setdefault(node.cls, node.args[0]) == node.args[0]
        terms = [n for n in result.frozen.nodes if n.op in ("remi", "shri", *STEPS)]
        while terms:
            ready = [n for n in terms if {*n.args[:2]} <= values.keys()]
            assert ready, "no operand is known"
            for n in ready:
                value = computed(n.op, *(values[each] for each in n.args[:2]), bits, n.args[2:])
                assert values.setdefault(n.cls, value) == value, n
            terms = [n for n in terms if n not in ready]


NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-20, 20), min_size=3, max_size=5)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), NUMBERS)
def test_every_term_of_a_random_chain_has_its_value(program, numbers):
    every_term_is_equal(program, numbers)


@pytest.mark.slow
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), NUMBERS)
def test_every_term_of_many_random_chains_has_its_value(program, numbers):
    every_term_is_equal(program, numbers)

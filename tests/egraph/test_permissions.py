"""Permissions are one-way: a replacement is an alternative of what the source wrote, and says nothing of it."""

import pytest

from egraph.permissions import AFN, GRANTS, allowed, check_permissions, of_entry
from egraph.rulefile import own_rules, permitted
from ir.core import TileError

FLOATS = "%a: tile<f32>, %b: tile<f32>, %c: tile<f32>"
SUM = """%p = mulf %a, %b : tile<f32>
    %s = addf %p, %c : tile<f32>
    %f = fma %a, %b, %c : tile<f32>"""


def test_names_of_permissions() -> None:
    assert allowed(["contract", "nsz"]) == [(0,), (1,)]
    assert (AFN,) not in allowed(["triton"])
    assert allowed(["triton", "contract"]) == allowed(["triton"])
    with pytest.raises(TileError, match="there is no permission 'quick'") as caught:
        check_permissions(["quick"])
    assert caught.value.hint == f"permissions are {', '.join(GRANTS)}"


def test_permissions_of_one_entry() -> None:
    given = ("nsz", "gemm=contract", "softmax=afn")
    assert of_entry(given, "gemm", ("gemm", "softmax")) == {"nsz", "contract"}
    assert of_entry(given, "softmax", ("gemm", "softmax")) == {"nsz", "afn"}
    with pytest.raises(TileError, match="permission 'gemm=afn': there is no entry 'gemm'") as caught:
        of_entry(("gemm=afn",), "softmax", ("softmax",))
    assert caught.value.hint == "entries are softmax"
    with pytest.raises(TileError, match="there is no permission 'quick'"):
        of_entry(("gemm=quick",), "softmax", ("gemm", "softmax"))


def test_rules_without_their_permission_are_not_loaded() -> None:
    names = [{c.name for c in permitted(own_rules(), fast) if c.is_rule} for fast in ((), ("contract",), ("triton",))]
    assert "contract/sum-lhs" not in names[0]
    assert names[1] - names[0] == {name for name in names[1] if name.startswith("contract/")}
    assert "exponential/base-two" not in names[2]  # Triton approximates exp as a whole


def test_every_rule_with_a_permission_states_no_equality() -> None:
    loose = [c for c in own_rules() if c.is_rule and "(allow " in c.text]
    assert len(loose) > 20
    assert [c.name for c in loose if "(union " in c.text or c.head != "rule"] == []


def test_a_replacement_is_not_the_value(kernel) -> None:
    k = kernel(FLOATS, SUM, fast=("contract",))
    assert k.instead("s", "f")
    assert not k.instead("f", "s")  # what the source wrote as fma is not split
    assert k.ops("f") == {"fma"}
    assert k.ops("s") == {"addf"}


def test_two_values_with_one_replacement_stay_two(kernel) -> None:
    body = """%p = mulf %a, %b : tile<f32>
        %s = addf %p, %c : tile<f32>
        %t = addf %c, %p : tile<f32>"""
    k = kernel(FLOATS, body, fast=("contract",))
    assert not k.same("s", "t")
    assert {w for v, w in k.result.frozen.relations["instead"] if v == k.cls("s")} == {
        w for v, w in k.result.frozen.relations["instead"] if v == k.cls("t")
    }


def test_a_replacement_of_a_replacement(kernel) -> None:
    body = """%e = exp %a rounding<approx> : tile<f32>
        %o = exp2 %a : tile<f32>
        %z = exp2 %a flush_to_zero : tile<f32>"""
    k = kernel("%a: tile<f32>", body, fast=("reassoc", "ftz"))
    rows = k.result.frozen.relations["instead"]
    assert k.instead("o", "z")
    (power,) = {w for v, w in rows if v == k.cls("e") and {n.op for n in k.result.frozen.by_class[w]} == {"exp2"}}
    assert [{n.op for n in k.result.frozen.by_class[w]} for v, w in rows if v == power] == [{"exp2"}]


def test_what_permissions_give_together_needs_no_step_between(kernel) -> None:
    """e^x is at once a power whose subnormals are flushed; a scaled difference at once a fused one."""
    body = """%d = subf %a, %b : tile<f32>
        %e = exp %d : tile<f32>"""
    for fast, powers in ((("afn",), {0}), (("afn", "ftz"), {1})):
        k = kernel(FLOATS, body, fast=fast)
        made = [w for v, w in k.result.frozen.relations["instead"] if v == k.cls("e")]
        flags = {n.literals[-1] for w in made for n in k.result.frozen.by_class[w] if n.op == "exp2"}
        assert flags == powers
    for fast, ops in ((("reassoc", "afn"), {"addf"}), (("reassoc", "afn", "contract"), {"fma"})):
        k = kernel(FLOATS, body, fast=fast)
        made = {w for _, w in k.result.frozen.relations["instead"]}
        assert {n.op for w in made for n in k.result.frozen.by_class[w]} & {"addf", "fma"} == ops


def test_literals_that_meet_by_permission_are_no_contradiction(kernel) -> None:
    body = """%one = constant <f32: 1.0> : tile<f32>
        %zero = constant <f32: 0.0> : tile<f32>
        %s = addf %one, %zero : tile<f32>
        %n = constant <f32: -0.0> : tile<f32>
        %m = addf %n, %zero : tile<f32>
        %k = mulf %one, %one : tile<f32>
        %f = addf %k, %n : tile<f32>"""
    k = kernel("%x: tile<f32>", body, fast=("nsz", "contract", "reassoc", "afn"))
    assert k.instead("s", "one")
    assert k.instead("m", "n")  # -0 + 0 is +0; without signed zeros -0 may stand for it
    assert not k.same("m", "n")
    assert not k.same("n", "zero")

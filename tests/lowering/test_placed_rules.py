"""Rules about layouts, tried on random tiles in random layouts: which thread and register holds which element."""

import pytest

from egraph.rulefile import Command, own_rules
from egraph.soundness import SEED
from egraph.terms import declarations
from lowering.placement.meaning import PLACED_RULESETS, check_placed

RULES = {c.name: c for c in (*declarations(), *own_rules()) if c.is_rule and c.ruleset in PLACED_RULESETS}

OUTSIDE = {
    "facts that only a whole program has": ("demand/tied", "demand/elementwise",
        "demand/carry-uniform", "demand/reduce-default-met", "demand/reduce-default", "demand/extract",
        "demand/cat", "demand/insert", "demand/carry-default", "demand/branch-default"),
    "loads and the memory behind views": ("demand/load-view", "demand/load-ptr", "width/", "load/", "copy/", "shared/",
        "gather/", "store/", "place/make_tensor_view", "place/make_partition_view", "place/get_tensor_shape",
        "place/get_index_space_shape", "place/get_global", "place/make_token", "place/join_tokens"),
    "products that read shared or tensor memory, those of integers and by scales": ("demand/mmai",
        "mma/select-integer", "mma/wgmma", "mma/tcgen05", "demand/scaled", "mma/block-scaled"),
    "several results: folds and scans": ("demand/fold", "demand/scan", "place/fold", "place/scan", "place/tiles",
        "place/list"),
    "permissions, whose two sides differ": ("permitted/",),
    "parts of tiles": ("place/extract", "place/cat", "place/insert"),
    "terms of a kernel alone": ("place/get_tile_block_id", "place/get_num_tile_blocks", "place/arg", "place/iv",
        "place/effect", "place/ftoi"),
}  # fmt: skip
"""What cannot be tried yet, by the beginnings of names."""

PREFIXES = tuple(p for prefixes in OUTSIDE.values() for p in prefixes)
ALSO = (
    "demand/root", "demand/offered", "demand/load-ptr-ask", "demand/load-ptr", "demand/mmai-ask",
    "demand/reduce-default-ask", "demand/carry-default-ask", "demand/branch-default-ask",
)  # fmt: skip
"""What can be, though its name begins so."""
INSIDE = sorted(name for name in RULES if name in ALSO or not name.startswith(PREFIXES))


@pytest.mark.parametrize("name", INSIDE)
def test_rule_is_sound(name):
    verdict = check_placed(RULES[name], SEED, 6, 400)
    assert verdict.sound, verdict.failure or verdict.reason or "no sample satisfies it"


def test_how_many_rules_are_inside():
    assert len(INSIDE) >= 101
    assert len([name for name in INSIDE if RULES[name].file != "<generated>"]) >= 42


WRONG = {
    "conversion to the layout that it comes from": """(rule ((want v l) (has v m) (!= l m) (= ty (type v)))
        ((union (at v l) (cvt (nat v m) ty l m))) :ruleset place :name {})""",
    "any layout is as good": "(rule ((want v l) (has v m)) ((union (at v l) (own (nat v m)))) :ruleset place :name {})",
    "reshape needs another layout": """(rule ((= v (permute x p ty)) (want v l))
        ((want x l) (union (nat v l) (p.reshape (at x l) ty))) :ruleset place :name {})""",
    "broadcast reads what the thread does not hold": """(rule ((= v (broadcast x ty)) (want v l) (want x m))
        ((union (nat v l) (p.broadcast (at x m) ty l))) :ruleset place :name {})""",
    "permuted layouts taken the other way round": """(rule ((= v (permute x p ty)) (want v l) (= tx (type x))
        (permute_layout tx p l m)) ((union (nat v l) (p.permute (at x m) p ty))) :ruleset place :name {})""",
    "operands swapped": """(rule ((= v (subi x y o)) (want v l))
        ((union (nat v l) (p.subi (at y l) (at x l) o))) :ruleset place :name {})""",
    "operands in different layouts": """(rule ((= v (addi x y o)) (want v l) (want y m))
        ((union (nat v l) (p.addi (at x l) (at y m) o))) :ruleset place :name {})""",
    "operand wanted in the result's layout": """(rule ((= v (reduce (cons x n) d b i ty)) (want v l))
        ((want x l)) :ruleset demand :name {})""",
    "result left where the operand was": """(rule ((= v (reduce (cons x n) d b i ty)) (want x l))
        ((union (nat v l) (p.reduce (at x l) d b i ty l))) :ruleset place :name {})""",
    "factors of a product swapped": """(rule ((= v (mmaf a b c f)) (mma_choice ta tb tc x la lb lc) (= ta (type a))
        (= tb (type b)) (= tc (type c))) ((union (nat v lc) (p.mmaf (at b lb) (at a la) (at c lc) x f tc)))
        :ruleset isel :name {})""",
    "a carried value is what the loop leaves": """(rule ((= c (carry n k ty)) (offer c l))
        ((union (nat c l) (p.res n k ty l))) :ruleset place :name {})""",
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_rule_is_found_out(what):
    verdict = check_placed(Command.of(WRONG[what].format('"wrong/rule"'), "<test>"), SEED, 60)
    assert verdict.failure, verdict

"""Rules about layouts, tried on random tiles in random layouts: which thread and register holds which element."""

import pytest

from egraph.rulefile import Command, own_rules
from egraph.soundness import CHECKED_RULESETS, SEED
from egraph.terms import declarations
from lowering.placement.soundness import PLACED_RULESETS, check_placed

RULES = {c.name: c for c in (*declarations(), *own_rules()) if c.is_rule and c.ruleset in PLACED_RULESETS}

INSIDE = sorted(RULES)


@pytest.mark.parametrize("name", INSIDE)
def test_rule_is_sound(name):
    verdict = check_placed(RULES[name], SEED, 6, 400)
    assert verdict.sound, verdict.failure or verdict.reason or "no sample satisfies it"


def test_how_many_rules_are_inside():
    assert len(INSIDE) >= 239
    assert len([name for name in INSIDE if RULES[name].file != "<generated>"]) >= 162


def test_every_rule_is_in_a_harness():
    """Only types and dependences, generated for each operation, and what loads a program's rows have no samples."""
    every = [c for c in (*declarations(), *own_rules()) if c.is_rule]
    generated = {c.name for c in every if c.file == "<generated>" and c.ruleset in ("analysis", "load")}
    sampled = {c.name for c in own_rules() if c.is_rule and c.ruleset in CHECKED_RULESETS}
    assert {c.name for c in every} == RULES.keys() | sampled | generated
    assert all(name.startswith(("facts/", "load/", "deps/")) for name in generated)


def test_columns_of_an_operation_are_kept():
    wrong = """(rule ((= v (mmaf a b c f)) (mma_choice ta tb tc x la lb lc) (= ta (type a)) (= tb (type b))
        (= tc (type c))) ((union (native v lc) (p.mmaf (held_in a la) (held_in b lb) (held_in c lc) x tc tc)))
        :ruleset isel :name "wrong/rule")"""
    found = check_placed(Command.of(wrong, "<test>"), SEED, 60).failure
    assert found.startswith("column 'fast' of p.mmaf is not that of mmaf")


WRONG = {
    "conversion to the layout that it comes from": """(rule ((want v l) (has v m) (!= l m) (= ty (type v)))
        ((union (held_in v l) (cvt (native v m) ty l m))) :ruleset place :name {})""",
    "any layout is as good": "(rule ((want v l) (has v m)) ((union (held_in v l) (identity (native v m)))) "
    ":ruleset place :name {})",
    "reshape needs another layout": """(rule ((= v (permute x p ty)) (want v l))
        ((want x l) (union (native v l) (p.reshape (held_in x l) ty))) :ruleset place :name {})""",
    "broadcast reads what the thread does not hold": """(rule ((= v (broadcast x ty)) (want v l) (want x m))
        ((union (native v l) (p.broadcast (held_in x m) ty l))) :ruleset place :name {})""",
    "permuted layouts taken the other way round": """(rule ((= v (permute x p ty)) (want v l) (= tx (type x))
        (permute_layout tx p l m)) ((union (native v l) (p.permute (held_in x m) p ty))) :ruleset place :name {})""",
    "operands swapped": """(rule ((= v (subi x y o)) (want v l))
        ((union (native v l) (p.subi (held_in y l) (held_in x l) o))) :ruleset place :name {})""",
    "operands in different layouts": """(rule ((= v (addi x y o)) (want v l) (want y m))
        ((union (native v l) (p.addi (held_in x l) (held_in y m) o))) :ruleset place :name {})""",
    "operand wanted in the result's layout": """(rule ((= v (reduce (cons x n) d b i ty)) (want v l))
        ((want x l)) :ruleset demand :name {})""",
    "result left where the operand was": """(rule ((= v (reduce (cons x n) d b i ty)) (want x l))
        ((union (native v l) (p.reduce (held_in x l) d b i ty l))) :ruleset place :name {})""",
    "factors of a product swapped": """(rule ((= v (mmaf a b c f)) (mma_choice ta tb tc x la lb lc) (= ta (type a))
        (= tb (type b)) (= tc (type c))) ((union (native v lc) (p.mmaf (held_in b lb) (held_in a la)
        (held_in c lc) x f tc)))
        :ruleset isel :name {})""",
    "load stated with the type of its view": """(rule ((= t (load_view_tko view i k o s b tys)) (= v (proj t 0))
        (want v l) (= vty (type view))) ((loaded v view i k vty vty)) :ruleset isel :name {})""",
    "mask and padding of a gather exchanged": """(rule ((= t (load_ptr_tko p m x k o s tys)) (= v (proj t 0))
        (want v l) (= ty (type v))) ((gathered v p x m k ty)) :ruleset isel :name {})""",
    "store of the tile as another one has it": """(rule ((r.stored k w) (= v (N k)) (= view (N w)) (has v l)
        (= ty (type v)) (= vty (type view)) (write_layout ty vty l s m) (has v lx) (!= l lx))
        ((union (out v s) (p.write_shared (cvt (native v l) ty lx l) ty m s))) :ruleset isel :name {})""",
    "factor in shared memory of the other factor's layout": """(rule ((= v (mmaf a b c f))
        (wgmma_choice ta tb tc x sa sb lc) (= ta (type a)) (= tb (type b)) (= tc (type c))
        (want_shared b sc) (!= sb sc))
        ((union (native v lc) (p.wgmma (native a sa) (native b sc) (held_in c lc) x f tc 1)))
        :ruleset isel :name {})""",
    "sign of a factor forgotten": """(rule ((= v (mmaf n b c f)) (= n (negf a)) (wgmma_choice ta tb tc x sa sb lc)
        (= ta (type a)) (= tb (type b)) (= tc (type c)))
        ((union (native v lc) (p.wgmma (native a sa) (native b sb) (held_in c lc) x f tc 1)))
        :ruleset isel :name {})""",
    "fragment of the accumulator's layout": """(rule ((= v (mmaf a b c f)) (wgmma_rs_choice ta tb tc x la sb lc)
        (= ta (type a)) (= tb (type b)) (= tc (type c)) (want a lx) (!= la lx))
        ((union (native v lc) (p.wgmma_rs (held_in a lx) (native b sb) (held_in c lc) x f tc 1)))
        :ruleset isel :name {})""",
    "sum in tensor memory not scaled": """(rule ((r.rescaled n k m) (= v (N n)) (= x (N k)) (= y (N m))
        (= v (mmaf a b c f)) (tensor_choice ta tb tc w sa sb lt) (= ta (type a)) (= tb (type b)) (= tc (type c)))
        ((union (native v lt) (p.tcgen05 (native a sa) (native b sb) (native x lt) w f tc))) :ruleset isel :name {})""",
    "sum scaled by itself": """(rule ((r.rescaled n k m) (= v (N n)) (= x (N k)) (= y (N m))
        (= v (mmaf a b c f)) (scaled_choice ta tb tc w sa sb lt) (= ta (type a)) (= tb (type b)) (= tc (type c)))
        ((union (native v lt) (p.tcgen05_scaled (native a sa) (native b sb) (native x lt) w f tc
        (held_in x lt)))) :ruleset isel
        :name {})""",
    "scales exchanged": """(rule ((r.scaled n x y z s t) (= v (N n))
        (block_scaled_choice ta tb tc ts tt w la lb lc ls lt)
        (= ta (type (N x))) (= tb (type (N y))) (= tc (type (N z))) (= ts (type (N s))) (= tt (type (N t))))
        ((union (native v lc) (p.mmaf_scaled (held_in (N x) la) (held_in (N y) lb) (held_in (N z) lc) w (held_in
        (N s) lt) (held_in (N t) ls) tc)))
        :ruleset isel :name {})""",
    "scales read without their sign": """(rule ((unsigned_scaled_choice ta tb tc ts tt w la lb lc ls lt))
        ((block_scaled_choice ta tb tc ts tt w la lb lc ls lt)) :ruleset demand :name {})""",
    "scales read without their sign in tensor memory": """(rule ((allow 12)
        (unsigned_tensor_choice ta tb tc ts tt w sa sb lc ss st))
        ((tensor_scaled_choice ta tb tc ts tt w sa sb lc ss st)) :ruleset demand :name {})""",
    "layouts of scales exchanged": """(rule ((allow 13) (unsigned_scaled_choice ta tb tc ts tt w la lb lc ls lt))
        ((block_scaled_choice ta tb tc ts tt w la lb lc lt ls)) :ruleset demand :name {})""",
    "an instruction of registers in tensor memory": """(rule ((r.magnitudes n)
        (unsigned_scaled_choice ta tb tc ts tt w la lb lc ls lt))
        ((tensor_scaled_choice ta tb tc ts tt w la lb lc ls lt)) :ruleset demand :name {})""",
    "scales exchanged in tensor memory": """(rule ((r.scaled_sum n) (r.scaled n x y z s t) (= v (N n))
        (tensor_scaled_choice ta tb tc ts tt w sa sb lt ss st)
        (= ta (type (N x))) (= tb (type (N y))) (= tc (type (N z))) (= ts (type (N s))) (= tt (type (N t))))
        ((union (native v lt) (p.tcgen05_block_scaled (native (N x) sa) (native (N y) sb) (native (N z) lt) w 0 tc
        (native (N s) st)
        (native (N t) ss)))) :ruleset isel :name {})""",
    "scales that lie in rows": """(rule ((r.scaled_sum n) (r.scaled n x y z s t) (= v (N n))
        (tensor_scaled_choice ta tb tc ts tt w sa sb lt ss st) (want_shared (N s) sr) (!= sr ss)
        (= ta (type (N x))) (= tb (type (N y))) (= tc (type (N z))) (= ts (type (N s))) (= tt (type (N t))))
        ((union (native v lt) (p.tcgen05_block_scaled (native (N x) sa) (native (N y) sb) (native (N z) lt) w 0 tc
        (native (N s) sr)
        (native (N t) st)))) :ruleset isel :name {})""",
    "choice of other signs": """(rule ((= v (mmai a b c 0 1)) (wgmmai_choice ta tb tc 1 1 x sa sb lc) (= ta (type a))
        (= tb (type b)) (= tc (type c))) ((union (native v lc) (p.wgmma (native a sa) (native b sb)
        (held_in c lc) x 0 tc 1)))
        :ruleset isel :name {})""",
    "tiles of a list exchanged": """(rule ((= t (fold l d b i tys)) (= l (cons x (cons y (nil)))) (want t m))
        ((union (native t m) (p.fold (p.list (held_in y m) (p.list (held_in x m) (p.nil))) d b i tys m)))
        :ruleset place :name {})""",
    "another result of a scan": """(rule ((= v (proj t 0)) (= t (scan (cons x (cons y (nil))) d r b i tys)) (want t m))
        ((union (native v m) (p.proj (held_in t m) 1))) :ruleset place :name {})""",
    "result of a fold where its source was": """(rule ((= v (proj t k)) (= t (fold (cons x n) d b i tys)) (want t l))
        ((union (native v l) (p.proj (held_in t l) k))) :ruleset place :name {})""",
    "part of what other threads hold": """(rule ((= v (extract x k ty)) (want v l) (want x m))
        ((union (native v l) (p.extract (held_in x m) (held_in k 0) ty l))) :ruleset place :name {})""",
    "halves exchanged": """(rule ((= v (cat a b d ty)) (= ta (type a)) (part_layout ta ty l m) (want v m))
        ((union (native v m) (p.cat (held_in b l) (held_in a l) d ty m))) :ruleset place :name {})""",
    "tile of an insert in another layout": """(rule ((= v (insert x y k)) (= tx (type x)) (= ty (type y))
        (part_layout tx ty l m) (want v m) (want y n) (!= n m))
        ((union (native v m) (p.insert (held_in x l) (held_in y n) (held_in k 0) m))) :ruleset place :name {})""",
    "part of an insert that other threads hold": """(rule ((= v (insert x y k)) (want x l) (want v m))
        ((union (native v m) (p.insert (held_in x l) (held_in y m) (held_in k 0) m))) :ruleset place :name {})""",
    "what may stand for a value in another layout": """(rule ((instead v w) (want v l) (has w m))
        ((union (native v l) (p.instead (native w m) v))) :ruleset place :name {})""",
    "a view of another pointer": """(rule ((= v (make_tensor_view b s t ty)) (want v 0))
        ((union (native v 0) (p.make_tensor_view (held_in t 0) (held_in s 0) (held_in b 0) ty)))
        :ruleset place :name {})""",
    "signed bytes read as unsigned": """(rule ((= v (mmai a b c 1 1)) (mmai_choice ta tb tc 0 0 x la lb lc)
        (= ta (type a)) (= tb (type b)) (= tc (type c)))
        ((union (native v lc) (p.mmai (held_in a la) (held_in b lb) (held_in c lc) x tc))) :ruleset isel :name {})""",
    "fragments read from a buffer that lies another way": """(rule ((loaded v view i k ty vty) (want v l) (staged v s)
        (shared_read ty vty l r m)) ((union (native v l) (p.shared_read (native v s) ty m l)))
        :ruleset isel :name {})""",
    "a tile read back in the layout of another one": """(rule ((loaded v view i k ty vty) (want v l) (has v n)
        (shared_read ty vty l s m)) ((union (native v l) (p.shared_read (native v s) ty m n)))
        :ruleset isel :name {})""",
    "vectors across the edge of an array": """(rule ((loaded v view i k ty vty) (staged v s) (= w (aligned_bytes view))
        (= a (min w 16))) ((union (native v s) (p.copy (held_in view 0) (held_in i 0) k ty vty s a a 0)))
        :ruleset isel :name {})""",
    "bytes outside taken for bytes inside": """(rule ((loaded v view i k ty vty) (staged v s) (= x (aligned_bytes view))
        (= a (min x 16)) (>= a 4)) ((union (native v s) (p.copy (held_in view 0) (held_in i 0) k ty vty s a a 1)))
        :ruleset isel :name {})""",
    "cp.async of two bytes": """(rule ((loaded v view i k ty vty) (staged v s) (= x (aligned_bytes view))
        (= y (view_bytes view)) (= a (min x 16)) (= b (min y 16)))
        ((union (native v s) (p.copy (held_in view 0) (held_in i 0) k ty vty s a b 1))) :ruleset isel :name {})""",
    "a box of rows that are not aligned": """(rule ((loaded v view i k ty vty) (staged v s) (= x (aligned_bytes view))
        (= y (view_bytes view)) (= a (min x 16)) (= b (min y 16)) (>= a 8))
        ((union (native v s) (p.copy (held_in view 0) (held_in i 0) k ty vty s a b 2))) :ruleset isel :name {})""",
    "a copy of another place": """(rule ((loaded v view i k ty vty) (loaded w other j q tw vtw) (staged v s)
        (= x (view_bytes view)) (= a (min x 16)))
        ((union (native v s) (p.copy (held_in view 0) (held_in j 0) k ty vty s a a 0))) :ruleset isel :name {})""",
    "vectors that a thread does not hold": """(rule ((loaded v view i k ty vty) (want v l) (= a (view_bytes view)))
        ((union (native v l) (p.load_view (held_in view 0) (held_in i 0) k ty vty l a))) :ruleset isel :name {})""",
    "vectors wider than what is aligned": """(rule ((loaded v view i k ty vty) (want v l) (run_bytes ty vty l r))
        ((union (native v l) (p.load_view (held_in view 0) (held_in i 0) k ty vty l r))) :ruleset isel :name {})""",
    "bytes permuted the other way round": """(rule ((= v (permute x p ty)) (want_shared v s) (= tx (type x))
        (permute_shared tx p r s)) ((union (native v r) (p.permute_shared (native x s) p ty)))
        :ruleset isel :name {})""",
    "a permuted tile read as it was": """(rule ((= v (permute x p ty)) (want_shared v s))
        ((union (native v s) (p.reshape_shared (native x s) ty))) :ruleset isel :name {})""",
    "a tile held in another buffer": """(rule ((want_shared v s) (staged v r) (has v l) (= ty (type v))
        (hold_layout ty l s m)) ((union (native v s) (p.hold (native v l) ty r m))) :ruleset isel :name {})""",
    "matrices written where none lie": """(rule ((want_shared v s) (want_shared v r) (has v l) (= ty (type v))
        (hold_layout ty l r m)) ((union (native v s) (p.hold (native v l) ty s m))) :ruleset isel :name {})""",
    "runs of pointers wherever they begin": """(rule ((= c (contiguity p d)) (= t (type p)) (pointer t e) (rank t r)
        (= d (- r 1))) ((set (pointer_run p) c)) :ruleset isel :name {})""",
    "runs of pointers by bytes": """(rule ((= c (contiguity p d)) (= t (type p)) (pointer t e) (rank t r) (= d (- r 1))
        (= a (alignment p d))) ((set (pointer_run p) (min c a))) :ruleset isel :name {})""",
    "runs of a mask along another dimension": """(rule ((= c (constancy m d)) (= t (type m)) (integer t 1 lo hi)
        (rank t 2) (= d 0)) ((set (mask_run m) c)) :ruleset isel :name {})""",
    "one bit of a mask for several": """(rule ((gathered v p m x k ty) (want v l) (gather_run ty l r)
        (= w (pointer_run p))) ((union (native v l) (p.load_ptr (held_in p l) (held_in m l) (held_in x l) k ty l
        (min r w))))
        :ruleset isel :name {})""",
    "one address for several": """(rule ((gathered v p m x k ty) (want v l) (gather_run ty l r) (= c (mask_run m)))
        ((union (native v l) (p.load_ptr (held_in p l) (held_in m l) (held_in x l) k ty l (min r c))))
        :ruleset isel :name {})""",
    "a vector of elements that other threads hold": """(rule ((gathered v p m x k ty) (want v l) (= w (pointer_run p))
        (= c (mask_run m))) ((union (native v l) (p.load_ptr (held_in p l) (held_in m l) (held_in x l) k ty l (min w
        (min c 8)))))
        :ruleset isel :name {})""",
    "zeros for what a mask replaces": """(rule ((gathered v p m x k ty) (want_shared v s) (gather_layout ty l))
        ((union (native v s) (p.gather_copy (held_in p l) (held_in m l) k ty l s 1))) :ruleset isel :name {})""",
    "a gather without its mask": """(rule ((gathered v p m x k ty) (want v l))
        ((union (native v l) (p.load_ptr (held_in p l) (p.none) (p.none) k ty l 1))) :ruleset isel :name {})""",
    "widths of a view without its base": """(rule ((= v (make_tensor_view b s t ty)) (view_form ty known rows -1 e)
        (= y (list_divisor t))) ((set (view_bytes v) (min known (* y e)))) :ruleset isel :name {})""",
    "widths of a view without its strides": """(rule ((= v (make_tensor_view b s t ty)) (view_form ty known rows -1 e)
        (= x (divisor b))) ((set (view_bytes v) (min known x))) :ruleset isel :name {})""",
    "strides that are counted in bytes": """(rule ((= v (make_tensor_view b s t ty)) (view_form ty known rows d e)
        (= x (divisor b)) (= y (list_divisor t))) ((view_strides v (min rows (min x (* y 8)))))
        :ruleset isel :name {})""",
    "rows whose length nobody knows": """(rule ((= v (make_tensor_view b s t ty)) (view_form ty known rows d e)
        (view_strides v w)) ((set (view_bytes v) w)) :ruleset isel :name {})""",
    "the length of another dimension": """(rule ((= v (make_tensor_view b s t ty)) (view_form ty known rows d e)
        (item s 0 n) (= z (divisor n)) (view_strides v w)) ((set (view_bytes v) (min w (* z e))))
        :ruleset isel :name {})""",
    "what is aligned taken for what is inside": """(rule ((= v (aligned_bytes x))) ((set (view_bytes x) v))
        :ruleset isel :name {})""",
    "the divisor of a list's first number": """(rule ((= l (cons x r)) (= a (divisor x)))
        ((set (list_divisor l) a)) :ruleset isel :name {})""",
    "numbers of a list counted from one": """(rule ((= l (cons x r))) ((item l 1 x)) :ruleset isel :name {})""",
    "a carried value is what the loop leaves": """(rule ((= c (carry n k ty)) (offer c l))
        ((union (native c l) (p.res n k ty l))) :ruleset place :name {})""",
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_rule_is_found_out(what):
    verdict = check_placed(Command.of(WRONG[what].format('"wrong/rule"'), "<test>"), SEED, 60)
    assert verdict.failure, verdict

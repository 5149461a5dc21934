"""Encoding: numbers, shared operand lists, loops and effects in the skeleton, what is refused."""

import pytest

from egraph import combiners
from egraph.encode import encode
from egraph.saturate import saturate
from egraph.skeleton import Return, SkeletonBranch, SkeletonEffect, SkeletonLoop
from egraph.terms import NIL_VALUE, NONE_VALUE, integer_of, packed, row_codes, signatures
from ir.core import TileError, UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.text import parse


def program(parameters, body):
    return encode(parse(f"cuda_tile.module @m {{ entry @k({parameters}) {{\n{body}\n return }} }}", "k.mlir"))


STORE = """%t = make_token : token
    %r = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
    %b = broadcast %r : tile<1xptr<f32>> -> tile<4xptr<f32>>
    %i = iota : tile<4xi32>
    %a = offset %b, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
    %v, %vt = load_ptr_tko weak %a token=%t : tile<4xptr<f32>> -> tile<4xf32>, token
    %st = store_ptr_tko weak %a, %v token=%vt : tile<4xptr<f32>>, tile<4xf32> -> token
    %w, %wt = load_ptr_tko weak %a token=%st : tile<4xptr<f32>> -> tile<4xf32>, token"""


def test_stores_stay_in_order_and_loads_become_nodes():
    p = program("%p: tile<ptr<f32>>", STORE)
    store, last = p.skeleton.items
    assert isinstance(store, SkeletonEffect)
    assert isinstance(last, Return)
    names = {v.name: k for k, v in enumerate(p.values) if v is not None}
    assert store.operands == (names["a"], names["v"], names["vt"])
    assert store.results == (names["st"],)
    frozen = saturate(p).frozen
    # the same address before and after the store: two values, as their tokens differ
    assert frozen.class_of(names["v"]) != frozen.class_of(names["w"])
    token = frozen.class_of(names["t"])
    (load,) = [n for n in frozen.nodes if n.op == "load_ptr_tko" and n.children[3] == token]
    assert load.children[1] == load.children[2] == frozen.class_of(NONE_VALUE)


def test_equal_loads_with_equal_tokens_are_one():
    body = STORE + "\n%x, %xt = load_ptr_tko weak %a token=%st : tile<4xptr<f32>> -> tile<4xf32>, token"
    p = program("%p: tile<ptr<f32>>", body)
    names = {v.name: k for k, v in enumerate(p.values) if v is not None}
    frozen = saturate(p).frozen
    assert frozen.class_of(names["w"]) == frozen.class_of(names["x"])


def test_volatile_loads_stay_in_the_skeleton():
    p = program(
        "%p: tile<ptr<f32>>", STORE.replace("load_ptr_tko weak %a token=%t", "load_ptr_tko acquire device %a token=%t")
    )
    first = p.skeleton.items[0]
    assert isinstance(first, SkeletonEffect)
    assert first.op.name == "cuda_tile.load_ptr_tko"


LOOP = """%zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %r, %s = for %i in (%zero to %n, step %one) : tile<i32>
        iter_values(%c = %zero, %d = %one) -> (tile<i32>, tile<i32>) {
      %e = addi %c, %i : tile<i32>
      %f = addi %n, %one : tile<i32>
      %q = for %j in (%zero to %i, step %one) : tile<i32> iter_values(%g = %e) -> (tile<i32>) {
        %h = addi %g, %j : tile<i32>
        %u = addi %i, %one : tile<i32>
        continue %h : tile<i32>
      }
      continue %q, %f : tile<i32>, tile<i32>
    }"""


def test_loops_keep_ids_and_dependence():
    p = program("%n: tile<i32>", LOOP)
    outer = p.skeleton.items[0]
    assert isinstance(outer, SkeletonLoop)
    inner = outer.body.items[0]
    assert isinstance(inner, SkeletonLoop)
    assert (outer.loop, inner.loop) == (0, 1)
    names = {v.name: k for k, v in enumerate(p.values) if v is not None}
    assert outer.inits == (names["zero"], names["one"])
    assert outer.yields == (names["q"], names["f"])
    assert outer.carried == (names["c"], names["d"])
    assert outer.results == (names["r"], names["s"])
    assert inner.upper == names["i"]
    frozen = saturate(p).frozen
    deps = {name: frozen.analysis["deps"][frozen.class_of(k)] for name, k in names.items()}
    assert deps["e"] == 0b01
    assert deps["f"] == 0  # may leave the loop
    assert deps["h"] == 0b11
    assert deps["u"] == 0b01
    assert deps["r"] == 0
    assert [type(item).__name__ for item in p.skeleton.walk()] == ["SkeletonLoop", "SkeletonLoop", "Return"]


def test_branches_are_items_with_both_sides():
    p = program(
        "%c: tile<i1>, %x: tile<i32>",
        """%r = if %c -> (tile<i32>) {
          %a = addi %x, %x : tile<i32>
          yield %a : tile<i32>
        } else {
          yield %x : tile<i32>
        }""",
    )
    item = p.skeleton.items[0]
    assert isinstance(item, SkeletonBranch)
    names = {v.name: k for k, v in enumerate(p.values) if v is not None}
    assert item.then_yields == (names["a"],)
    assert item.otherwise_yields == (names["x"],)
    assert item.results == (names["r"],)


def test_load_in_a_branch_stays_on_its_side():
    body = """%t = make_token : token
        %u, %ut = load_ptr_tko weak %p token=%t : tile<ptr<f32>> -> tile<f32>, token
        %r = if %c -> (tile<f32>) {
          %v, %vt = load_ptr_tko weak %p token=%t : tile<ptr<f32>> -> tile<f32>, token
          yield %v : tile<f32>
        } else {
          %w, %wt = load_ptr_tko weak %p token=%t : tile<ptr<f32>> -> tile<f32>, token
          yield %w : tile<f32>
        }"""
    p = program("%c: tile<i1>, %p: tile<ptr<f32>>", body)
    names = {v.name: k for k, v in enumerate(p.values) if v is not None}
    frozen = saturate(p).frozen
    u, v, w = (frozen.class_of(names[n]) for n in ("u", "v", "w"))
    assert len({u, v, w}) == 3  # the address may be valid on one side only
    (item,) = [i for i in p.skeleton.items if isinstance(i, SkeletonBranch)]
    deps = frozen.analysis["deps"]
    assert deps[u] == 0
    assert deps[v] == 1 << item.scopes[0]
    assert deps[w] == 1 << item.scopes[1]


def test_endless_loop_shares_slots_of_equal_types_with_its_results():
    """Else results have slots of their own, which begin with zeros."""
    body = "%r = loop iter_values(%x = %c) : tile<i32> -> tile<i32> {\n break %x : tile<i32>\n }"
    one = program("%c: tile<i32>", body)
    (item,) = [i for i in one.skeleton.items if isinstance(i, SkeletonLoop)]
    assert item.again
    assert len(item.types) == 1
    other = program("%c: tile<i32>", "%r = loop iter_values(%x = %c) : tile<i32> -> tile<i64> {\n"
                    "%y = exti %x signed : tile<i32> -> tile<i64>\n break %y : tile<i64>\n }")  # fmt: skip
    (item,) = [i for i in other.skeleton.items if isinstance(i, SkeletonLoop)]
    assert [str(t) for t in item.types] == ["tile<i32>", "tile<i64>"]


def test_pointer_out_of_an_endless_loop_is_refused_with_its_place():
    body = "%r = loop iter_values(%x = %n) : tile<i32> -> tile<ptr<f32>> {\n break %p : tile<ptr<f32>>\n }"
    with pytest.raises(UnsupportedError, match="does not carry") as caught:
        program("%n: tile<i32>, %p: tile<ptr<f32>>", body)
    assert caught.value.location.line == 2


def test_too_many_loops_are_refused():
    one = "for %i in (%n to %n, step %n) : tile<i32> {\n continue\n }\n"
    assert program("%n: tile<i32>", one * 62)
    with pytest.raises(UnsupportedError, match="62"):
        program("%n: tile<i32>", one * 63)


REDUCE = """%r = reduce %x dim=0 identities=[{identity} : f32] : tile<8xf32> -> tile<f32>
    (%a: tile<f32>, %b: tile<f32>) {{
      {body}
      yield %c : tile<f32>
    }}
    %s = reduce %x dim=0 identities=[{identity} : f32] : tile<8xf32> -> tile<f32>
    (%d: tile<f32>, %e: tile<f32>) {{
      {other}
      yield %f : tile<f32>
    }}"""


def reduction(body, other, identity="0.000000e+00"):
    text = "%x1 = reshape %v : tile<f32> -> tile<1xf32>\n%x = broadcast %x1 : tile<1xf32> -> tile<8xf32>\n"
    return program("%v: tile<f32>", text + REDUCE.format(body=body, other=other, identity=identity))


def test_equal_combiners_are_one_reduction():
    p = reduction("%c = addf %a, %b : tile<f32>", "%f = addf %d, %e : tile<f32>")
    assert [b.combiner for b in p.bodies] == [combiners.Combiner.ADDF]
    frozen = saturate(p).frozen
    names = {v.name: k for k, v in enumerate(p.values) if v is not None}
    assert frozen.class_of(names["r"]) == frozen.class_of(names["s"])


def test_other_combiners_differ():
    p = reduction("%c = addf %a, %b : tile<f32>", "%f = maxf %d, %e : tile<f32>")
    assert [b.combiner for b in p.bodies] == [combiners.Combiner.ADDF, combiners.Combiner.MAXF]
    p = reduction("%c = subf %a, %b : tile<f32>", "%f = addf %d, %d : tile<f32>")
    assert [b.combiner for b in p.bodies] == [None, None]
    frozen = saturate(p).frozen
    names = {v.name: k for k, v in enumerate(p.values) if v is not None}
    assert frozen.class_of(names["r"]) != frozen.class_of(names["s"])


def test_operand_lists_are_shared():
    p = program(
        "%p: tile<ptr<f32>>, %n: tile<i32>",
        """%u = make_tensor_view %p, shape = [%n, %n], strides = [%n, 1] : tile<i32>
          -> tensor_view<?x?xf32, strides=[?,1]>
        %v = make_tensor_view %p, shape = [%n, %n], strides = [%n, 1] : tile<i32>
          -> tensor_view<?x?xf32, strides=[?,1]>""",
    )
    assert len(p.facts["r.cons"]) == 2
    names = {v.name: k for k, v in enumerate(p.values) if v is not None}
    frozen = saturate(p).frozen
    assert frozen.class_of(names["u"]) == frozen.class_of(names["v"])
    assert p.facts["r.nil"] == [(NIL_VALUE,)]


def test_every_value_has_its_type():
    p = program("%n: tile<i32>", LOOP)
    frozen = saturate(p).frozen
    for number, value in enumerate(p.values):
        if value is not None:
            type_id = frozen.analysis["type"][frozen.class_of(number)]
            assert p.interner.types[type_id] == value.type


def test_constructors_follow_the_op_classes():
    found = signatures()
    assert found["addi"].columns == ("lhs_v", "rhs_v", "overflow_i")
    assert found["addi"].like == 0
    assert found["cmpi"].columns == ("lhs_v", "rhs_v", "predicate_i", "signedness_i", "ty_i")
    assert found["load_ptr_tko"].columns[4:] == ("order_i", "scope_i", "types_i")  # hints are no part of a value
    assert found["load_ptr_tko"].results == 2
    assert found["log2"].name == "log2_"  # egglog has a primitive log2
    assert "store_ptr_tko" not in found
    assert "for" not in found


def test_columns_of_attributes():
    assert integer_of(ct.Rounding.ZERO) == 1
    assert integer_of(True) == 1
    assert integer_of(None) == -1
    assert integer_of((1, 0)) is None


def test_packed_rows_keep_every_row():
    p = program("%n: tile<i32>", LOOP)
    rows = packed(p.facts)["row"]
    codes = row_codes()
    for relation, found in p.facts.items():
        if relation[2:] in codes and relation.startswith("r."):
            mine = [row[1:] for row in rows if row[0] == codes[relation[2:]]]
            assert [m[: len(r)] for m, r in zip(mine, found, strict=True)] == found


def test_a_module_of_two_entries_is_ambiguous():
    text = "cuda_tile.module @m { entry @a() { return } entry @b() { return } }"
    with pytest.raises(TileError, match="one entry"):
        encode(parse(text))

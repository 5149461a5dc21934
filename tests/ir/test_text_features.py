# ruff: noqa: E501
"""What texts may hold besides the disassembler's own form: prefixes, aliases, places, generic form, several programs."""

import time

import pytest

from ir.core import ParseError, TileError, verify
from ir.dialects.cuda_tile import LoadPtr
from ir.load import load_all
from ir.text import parse, parse_all, print_text
from ir.text.modules import split_text
from ir.types import F32, I32, PointerType, TileType

MIXED = """
// A comment before everything.
cuda_tile.module @kernels {
  global @g1 <f32 : [1.0, 2.0]> : !cuda_tile.tile<2xf32>
  cuda_tile.global private constant @g2 alignment = 256 <i32: 7> : !cuda_tile.tile<4xi32>
  testing$func @any(%a: !cuda_tile.tile<8x!cuda_tile.ptr<f32>>, %v: !cuda_tile.tensor_view<64x64xf16, strides=[1,1]>,
                    %i: tile<8 x i16>) -> !cuda_tile.tile<8xi16> {
    %o = offset %a, %i : tile<8xptr<f32>>, tile<8xi16> -> tile<8x!cuda_tile.ptr<f32>>
    %d = assume #cuda_tile.div_by<32>, %v : !cuda_tile.tensor_view<64x64xf16, strides=[1,1]>
    return %i : tile<8xi16>
  }
  entry @k() {
    %c = constant <i16: 0xFFFF> : tile<i16>
    %x = constant <f16: 70000.0> : tile<f16>
    %p = get_global @g1 : tile<ptr<f32>>
    print "hello %i, %f %%", %c, %x : tile<i16>, tile<f16>
    %l = loop : tile<i32> {}
    %e = addi %c, %c overflow<none> : tile<i16>
    %q = "cuda_tile.cmpi"(%c, %e) {comparison_predicate = #cuda_tile.comparison_predicate<less_than>,
        signedness = #cuda_tile.signedness<unsigned>} : (!cuda_tile.tile<i16>, !cuda_tile.tile<i16>) -> !cuda_tile.tile<i1>
    if %q { if %q { return } else { return } return }
  }
} // end
"""


def test_prefixes_globals_and_test_functions():
    module = parse(MIXED)
    verify(module)
    text = print_text(module)
    assert print_text(parse(text)) == text
    assert "global private  constant @g2 alignment = 256 <i32: 7> : tile<4xi32>" in text
    assert "constant <i16: -1> : tile<i16>" in text
    assert "constant <f16: 0x7C00> : tile<f16>" in text
    assert 'print_tko "hello %i, %f %%", %cst_-1_i16, %cst_f16 : tile<i16>, tile<f16> -> token' in text
    assert "cmpi less_than" in text
    assert "unsigned : tile<i16>" in text


ALIASED = """#loc = loc("kernel.py":12:4)
#div = #cuda_tile.div_by<16>
!ptr = !cuda_tile.ptr<f32>
!tile = !cuda_tile.tile<!ptr>
entry @k(%p: !tile loc(#loc), %n: tile<i32>) {
  %a = assume #div, %p : !tile loc(#loc1)
  %b = assume bounded<0, ?>, %n : tile<i32> loc(callsite("callee.py":3:5 at "caller.py":9:9))
  %c = addi %b, %b : tile<i32> loc(unknown)
  %d = addi %c, %b : tile<i32> loc(fused<"x">["first.py":1:2, "second.py":3:4])
  return loc("named"(#loc))
} loc(#loc2)
#file = #cuda_tile.di_file<"kernel.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#sub = #cuda_tile.di_subprogram<file = #file, line = 10, name = "k", linkageName = "k", compileUnit = #unit, scopeLine = 10>
#loc1 = #cuda_tile.di_loc<#loc in #sub>
#loc2 = #cuda_tile.di_loc<loc("kernel.py":10:0) in #sub>
"""


def test_aliases_and_places():
    module = parse(ALIASED, "k.mlir")
    verify(module)
    (entry,) = module.entries
    assert entry.body.block.args[0].type == TileType((), PointerType(F32))
    places = [str(op.location) for op in entry.body.block.ops]
    assert places == ["kernel.py:12:4", "callee.py:3:5", "k.mlir:8:8", "first.py:1:2", "kernel.py:12:4"]
    assert str(entry.location) == "kernel.py:10:0"


def test_errors_lead_to_the_place_a_text_names():
    text = 'entry @k(%n: tile<i32>) {\n  %a = absf %n : tile<i32> loc("user.py":7:9)\n}\n'
    with pytest.raises(TileError) as caught:
        verify(parse(text, "k.mlir"))
    assert str(caught.value.location) == "user.py:7:9"


def test_a_generic_module_is_one_too():
    text = """"builtin.module"() ({
  "cuda_tile.module"() <{sym_name = "m"}> ({
    "cuda_tile.entry"() <{function_type = (!cuda_tile.tile<i32>) -> (), sym_name = "k"}> ({
    ^bb0(%n: !cuda_tile.tile<i32>):
      %c = "cuda_tile.constant"() <{value = dense<[1, 2]> : tile<2xi32>}> : () -> tile<2xi32>
      %r = "cuda_tile.reduce"(%c) <{dim = 0 : i32, identities = [0 : i32]}> ({
      ^bb0(%a: tile<i32>, %b: tile<i32>):
        %s = "cuda_tile.addi"(%a, %b) <{overflow = #cuda_tile.overflow<no_wrap>}> : (tile<i32>, tile<i32>) -> tile<i32>
        "cuda_tile.yield"(%s) : (tile<i32>) -> ()
      }) : (tile<2xi32>) -> tile<i32>
      "cuda_tile.return"() : () -> ()
    }) : () -> ()
  }) : () -> ()
}) : () -> ()
"""
    module = parse(text)
    verify(module)
    assert module.sym_name == "m"
    assert module.entries[0].body.block.args[0].type == TileType((), I32)
    assert "addi %reduce_lhs, %reduce_rhs overflow<no_wrap>" in print_text(module)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('%x = "cuda_tile.addi"(%n) : (tile<i32>) -> tile<i32>', "has 2 operands, got 1"),
        ('%x = "cuda_tile.addi"(%n, %n) <{sort = 1}> : (tile<i32>, tile<i32>) -> tile<i32>', "has no attribute sort"),
        ('%x = "cuda_tile.addi"(%n, %n) <{overflow = #cuda_tile.overflow<a>}> : (tile<i32>, tile<i32>) -> tile<i32>',
         "attribute 'overflow' cannot be 'a'"),
        ('%x = "cuda_tile.absi"(%n) : (tile<i64>) -> tile<i64>', "operand 0 has type tile<i32>, written as tile<i64>"),
        ('%x = "arith.addi"(%n, %n) : (tile<i32>, tile<i32>) -> tile<i32>', "'arith.addi' is not an operation"),
        ('"cuda_tile.if"(%n) ({ "cuda_tile.yield"() : () -> () }) : (tile<i32>) -> ()', "has 2 regions, got 1"),
        ('%x = "use_type"() : () -> tile<5x5xf32>', "dimension 5 is not a positive power of two"),
        ('%x = "cuda_tile.load_ptr_tko"(%n) : (tile<i32>) -> tile<i32>', "needs operandSegmentSizes"),
        ('"cuda_tile.for"(%n, %n, %n) ({ }) : (tile<i32>, tile<i32>, tile<i32>) -> ()', "must have one block, has 0"),
    ],
)  # fmt: skip
def test_wrong_generic_form_is_refused(line, message):
    with pytest.raises(TileError) as caught:
        verify(parse(f"entry @k(%n: tile<i32>) {{\n  {line}\n}}", "k.mlir"))
    assert message in caught.value.message
    assert caught.value.location.line == 2


def test_several_programs_keep_their_lines():
    text = "entry @a() { }\n// -----\nentry @b() { $ }\n// ----- more\n\nentry @c() { }\n"
    first, second, third = split_text(text)
    assert parse(first).entries[0].sym_name == "a"
    with pytest.raises(ParseError) as caught:
        parse(second, "k.mlir")
    assert str(caught.value.location) == "k.mlir:3:14"
    assert parse(third).entries[0].location.line == 6
    assert [m.entries[0].sym_name for m in parse_all(text.replace("$", ""))] == ["a", "b", "c"]
    assert len(load_all(text.replace("$", "").encode(), "k.mlir")) == 3


def test_loose_operations_are_checked():
    verify(parse("%0 = cuda_tile.constant <i32: 1> : tile<i32>\ncuda_tile.absi %0 : tile<i32>\n"))
    with pytest.raises(TileError, match="must be a tile of"):
        verify(parse("%0 = cuda_tile.constant <i32: 1> : tile<i32>\ncuda_tile.exp %0 : tile<i32>\n"))


@pytest.mark.parametrize(
    "text",
    [
        '#a = [#a, #a]\nentry @k() {\n  %x = "cuda_tile.constant"() <{value = #a}> : () -> tile<i32>\n}',
        "".join(f"#a{i} = [#a{i + 1}, #a{i + 1}]\n" for i in range(60))
        + 'entry @k() {\n  %x = "cuda_tile.constant"() <{value = #a0}> : () -> tile<i32>\n}',
        "".join(f"!a{i} = tile<!a{i + 1}!a{i + 1}>\n" for i in range(60)) + "entry @k(%x: !a0) {}",
        "!a = !a\nentry @k(%x: !a) {}",
        "".join(f"#a{i} = (\n" for i in range(20_000)) + "entry @k() {}",
        "#a = loc(#b)\n#b = loc(#a)\nentry @k() {} loc(#a)\n$",
    ],
    ids=["itself", "doubling", "types", "type", "unclosed", "places"],
)
def test_aliases_without_end_are_refused_at_once(text):
    start = time.process_time()
    with pytest.raises(ParseError):
        parse(text)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        (
            "%b = maxf %a, %a propagate_nan flush_to_zero : tile<f32>",
            "maxf %cst_f32, %cst_f32 flush_to_zero propagate_nan : ",
        ),
        ("%b = extract %a[] : tile<f32> -> tile<f32>", "extract %cst_f32[] : tile<f32> -> tile<f32>"),
        ("%b = insert %a, %a[] : tile<f32>, tile<f32>", "insert %cst_f32, %cst_f32[] : tile<f32>, tile<f32>"),
        (
            "%v = make_tensor_view %p, shape = [%n], strides = [1] : tile<ptr<f32>>, tile<i32> -> "
            "tensor_view<?xf32, strides=[1]>",
            "shape = [%arg1], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>",
        ),
        (
            "%v = make_tensor_view %p, shape = [8], strides = [1] : tile<ptr<f32>> -> tensor_view<8xf32, strides=[1]>",
            "shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>",
        ),
    ],
)
def test_other_ways_to_write(written, printed):
    """Forms that the public dialect reads but does not print."""
    body = f"%a = constant <f32: 1.5> : tile<f32> {written}"
    module = parse(f"entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {{ {body} }}")
    verify(module)
    assert printed in print_text(module)


def test_a_word_occurs_once():
    with pytest.raises(ParseError, match=r"expected ':' before the types of 'cuda_tile\.maxf', found 'propagate_nan'"):
        parse("entry @k(%a: tile<f32>) { %b = maxf %a, %a propagate_nan propagate_nan : tile<f32> }")


PADDED = """
entry @k(%q: tile<ptr<K>>) {
  %r = reshape %q : tile<ptr<K>> -> tile<1xptr<K>>
  %p = broadcast %r : tile<1xptr<K>> -> tile<4xptr<K>>
  %a = constant <K: V> : tile<4xK>
  %x, %t = load_ptr_tko weak %p, %a : tile<4xptr<K>>, tile<4xK> -> tile<4xK>, token
}
"""


@pytest.mark.parametrize(("kind", "value", "masked"), [("f32", "1.5", 0), ("i8", "1", 0), ("i1", "true", 1)])
def test_padding_without_a_mask_is_read_by_its_type(kind, value, masked):
    """Upstream prints it where the mask would be; where both are i1 it reads a mask, so ours is in generic form."""
    module = parse(PADDED.replace("K", kind).replace("V", value))
    verify(module)
    (found,) = (op for op in module.walk() if isinstance(op, LoadPtr))
    assert found.segments == (1, masked, 1 - masked, 0)
    found.segments = (1, 0, 1, 0)
    verify(module)
    text = print_text(module)
    (again,) = (op for op in parse(text).walk() if isinstance(op, LoadPtr))
    assert again.segments == (1, 0, 1, 0)
    assert ("operandSegmentSizes" in text) == bool(masked)

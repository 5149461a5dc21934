"""Rules on kernels: what must become equal, and what must not."""

from pathlib import Path

import pytest

from egraph.encode import encode
from egraph.saturate import saturate
from ir.load import load

X = "%x: tile<i32>, %y: tile<i32>"
C = "%c = constant <i32: {}> : tile<i32>\n"


def integers(kernel, body, constant=64, **options):
    return kernel(X, C.format(constant) + body, **options)


def test_negation_sinks_below_broadcast_reshape_and_permute(kernel):
    k = kernel(
        "%s: tile<f16>",
        """%r = reshape %s : tile<f16> -> tile<1x1xf16>
        %b = broadcast %r : tile<1x1xf16> -> tile<8x16xf16>
        %p = permute %b [1, 0] : tile<8x16xf16> -> tile<16x8xf16>
        %n = negf %p : tile<16x8xf16>
        %ns = negf %s : tile<f16>
        %nr = reshape %ns : tile<f16> -> tile<1x1xf16>
        %nb = broadcast %nr : tile<1x1xf16> -> tile<8x16xf16>
        %np = permute %nb [1, 0] : tile<8x16xf16> -> tile<16x8xf16>""",
    )
    assert k.same("n", "np")
    assert not k.same("n", "p")


MATRIX = "%a: tile<f32>, %b: tile<f32>"
PRODUCT = """%a1 = reshape %a : tile<f32> -> tile<1x1xf32>
    %b1 = reshape %b : tile<f32> -> tile<1x1xf32>
    %am = broadcast %a1 : tile<1x1xf32> -> tile<16x16xf32>
    %bm = broadcast %b1 : tile<1x1xf32> -> tile<16x16xf32>
    %zero = constant <f32: 0.000000e+00> : tile<16x16xf32>
    %na = negf %am : tile<16x16xf32>
    %nb = negf %bm : tile<16x16xf32>
    %l = mmaf %na, %bm, %zero : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf32>
    %r = mmaf %am, %nb, %zero : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf32>
    %both = mmaf %na, %nb, %zero : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf32>
    %plain = mmaf %am, %bm, %zero : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf32>
    %out = negf %plain : tile<16x16xf32>
    %nz = negf %zero : tile<16x16xf32>
    %in = mmaf %na, %bm, %nz : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf32>"""


def test_negation_moves_between_matrix_operands(kernel):
    k = kernel(MATRIX, PRODUCT)
    assert k.same("l", "r")
    assert k.same("both", "plain")
    assert not k.same("l", "plain")


def test_negation_enters_a_matrix_product_only_with_permission(kernel):
    assert not kernel(MATRIX, PRODUCT).instead("out", "in")
    permitted = kernel(MATRIX, PRODUCT, fast=("nsz",))
    assert permitted.instead("out", "in")
    assert not permitted.same("out", "in")


def test_without_drops_rules_by_prefix(kernel):
    k = kernel(MATRIX, PRODUCT, without=("sink-negf",))
    assert not k.same("l", "r")
    assert k.result.report.matches("sink-negf") == 0


FLOATS = "%a: tile<f32>, %b: tile<f32>"


def test_negation_and_products(kernel):
    k = kernel(
        FLOATS,
        """%na = negf %a : tile<f32>
        %nb = negf %b : tile<f32>
        %p = mulf %na, %b : tile<f32>
        %q = mulf %a, %nb : tile<f32>
        %ab = mulf %a, %b : tile<f32>
        %r = negf %ab : tile<f32>
        %s = addf %a, %nb : tile<f32>
        %t = subf %a, %b : tile<f32>
        %u = addf %a, %b : tile<f32>
        %v = negf %u : tile<f32>
        %w = subf %na, %b : tile<f32>""",
    )
    assert k.same("p", "q")
    assert k.same("p", "r")
    assert k.same("s", "t")
    assert not k.same("v", "w")  # -(a + b) is -0 where a = -b, (-a) - b is +0


def test_directed_rounding_keeps_negation_outside(kernel):
    k = kernel(
        FLOATS,
        """%na = negf %a : tile<f32>
        %p = mulf %na, %b rounding<negative_inf> : tile<f32>
        %ab = mulf %a, %b rounding<negative_inf> : tile<f32>
        %r = negf %ab : tile<f32>""",
    )
    assert not k.same("p", "r")


def test_float_identities(kernel):
    k = kernel(
        FLOATS,
        """%one = constant <f32: 1.000000e+00> : tile<f32>
        %zero = constant <f32: 0.000000e+00> : tile<f32>
        %eight = constant <f32: 8.000000e+00> : tile<f32>
        %eighth = constant <f32: 1.250000e-01> : tile<f32>
        %three = constant <f32: 3.000000e+00> : tile<f32>
        %m = mulf %a, %one : tile<f32>
        %f = mulf %a, %one flush_to_zero : tile<f32>
        %s = subf %a, %zero : tile<f32>
        %p = addf %a, %zero : tile<f32>
        %d = divf %a, %eight : tile<f32>
        %t = mulf %a, %eighth : tile<f32>
        %n = divf %a, %three : tile<f32>""",
    )
    assert k.same("m", "a")
    assert not k.same("f", "a")  # denormals are flushed
    assert k.same("s", "a")
    assert not k.same("p", "a")  # -0 + 0 is +0
    assert k.same("d", "t")
    assert k.ops("n") == {"divf"}


def test_contraction_needs_permission(kernel):
    body = """%p = mulf %a, %b : tile<f32>
        %s = addf %p, %a : tile<f32>
        %f = fma %a, %b, %a : tile<f32>"""
    assert not kernel(FLOATS, body).instead("s", "f")
    permitted = kernel(FLOATS, body, fast=("contract",))
    assert permitted.instead("s", "f")
    assert not permitted.instead("f", "s")
    assert not permitted.same("s", "f")


def test_reciprocal_only_where_exact(kernel):
    k = kernel(
        "%a: tile<f16>",
        """%big = constant <f16: 3.276800e+04> : tile<f16>
        %d = divf %a, %big : tile<f16>""",
    )
    assert k.ops("d") == {"divf"}  # 2^-15 is denormal in f16


def test_integer_identities(kernel):
    k = integers(
        kernel,
        """%one = constant <i32: 1> : tile<i32>
        %zero = constant <i32: 0> : tile<i32>
        %a = addi %x, %zero : tile<i32>
        %m = muli %one, %x : tile<i32>
        %d = divi %x, %one signed : tile<i32>
        %r = remi %x, %one signed : tile<i32>
        %s = subi %x, %x : tile<i32>""",
    )
    for name in ("a", "m", "d"):
        assert k.same(name, "x")
    assert k.splat("r") == 0
    assert k.splat("s") == 0


def test_division_of_a_product(kernel):
    k = integers(
        kernel,
        """%b = assume bounded<0, 1000>, %x : tile<i32>
        %p = muli %b, %c : tile<i32>
        %d = divi %p, %c signed : tile<i32>
        %r = remi %p, %c signed : tile<i32>
        %q = muli %y, %c : tile<i32>
        %e = divi %q, %c signed : tile<i32>
        %s = remi %q, %c signed : tile<i32>""",
    )
    assert k.same("d", "b")
    assert k.splat("r") == 0
    assert not k.same("e", "y")  # the product may wrap
    assert k.splat("s") == 0  # a multiple of a power of two stays one


@pytest.mark.parametrize("constant", [48, 3])
def test_division_of_a_product_by_no_power_of_two(kernel, constant):
    k = integers(
        kernel,
        """%b = assume bounded<0, 1000>, %x : tile<i32>
        %p = muli %b, %c : tile<i32>
        %d = divi %p, %c signed : tile<i32>
        %r = remi %p, %c signed : tile<i32>
        %q = muli %y, %c : tile<i32>
        %s = remi %q, %c signed : tile<i32>""",
        constant,
    )
    assert k.same("d", "b")
    assert k.splat("r") == 0
    assert k.splat("s") is None


def test_division_by_a_power_of_two_becomes_a_shift_where_nothing_is_negative(kernel):
    k = integers(
        kernel,
        """%b = assume bounded<0, ?>, %x : tile<i32>
        %d = divi %b, %c signed : tile<i32>
        %r = remi %b, %c signed : tile<i32>
        %e = divi %y, %c signed : tile<i32>
        %f = divi %y, %c signed rounding<negative_inf> : tile<i32>
        %u = divi %y, %c unsigned : tile<i32>
        %s = remi %y, %c signed : tile<i32>""",
    )
    assert "shri" in k.ops("d")
    assert "andi" in k.ops("r")
    assert "shri" not in k.ops("e")
    assert "shri" in k.ops("f")
    assert "shri" in k.ops("u")
    assert "andi" not in k.ops("s")


def test_rounding_up_needs_room(kernel):
    k = integers(
        kernel,
        """%b = assume bounded<0, 100000>, %x : tile<i32>
        %d = divi %b, %c signed rounding<positive_inf> : tile<i32>
        %n = assume bounded<0, ?>, %y : tile<i32>
        %e = divi %n, %c signed rounding<positive_inf> : tile<i32>""",
    )
    assert "shri" in k.ops("d")
    assert "shri" not in k.ops("e")


def test_divisibility_from_assume(kernel):
    k = integers(
        kernel,
        """%b = assume div_by<128>, %x : tile<i32>
        %r = remi %b, %c signed : tile<i32>
        %d = divi %b, %c signed rounding<positive_inf> : tile<i32>
        %z = divi %b, %c signed : tile<i32>
        %m = muli %z, %c : tile<i32>
        %w = assume div_by<48>, %y : tile<i32>
        %k = constant <i32: 24> : tile<i32>
        %s = remi %w, %k signed : tile<i32>""",
    )
    assert k.splat("r") == 0
    assert k.same("d", "z")
    assert k.same("m", "b")
    assert k.splat("s") == 0


def test_linear_index_comes_apart(kernel):
    k = integers(
        kernel,
        """%row = assume bounded<0, 1000>, %x : tile<i32>
        %col = assume bounded<0, 63>, %y : tile<i32>
        %p = muli %row, %c : tile<i32>
        %index = addi %p, %col : tile<i32>
        %d = divi %index, %c signed : tile<i32>
        %r = remi %index, %c signed : tile<i32>""",
    )
    assert k.same("d", "row")
    assert k.same("r", "col")


def test_linear_index_stays_where_the_column_is_too_large(kernel):
    k = integers(
        kernel,
        """%row = assume bounded<0, 1000>, %x : tile<i32>
        %col = assume bounded<0, 64>, %y : tile<i32>
        %p = muli %row, %c : tile<i32>
        %index = addi %p, %col : tile<i32>
        %d = divi %index, %c signed : tile<i32>""",
    )
    assert not k.same("d", "row")


def test_python_modulo_needs_no_correction(kernel):
    k = integers(
        kernel,
        """%n = assume bounded<1, ?>, %x : tile<i32>
        %m = assume bounded<0, ?>, %y : tile<i32>
        %zero = constant <i32: 0> : tile<i32>
        %rem = remi %m, %n signed : tile<i32>
        %a = cmpi less_than %rem, %zero, signed : tile<i32> -> tile<i1>
        %b = cmpi less_than %n, %zero, signed : tile<i32> -> tile<i1>
        %signs = xori %a, %b : tile<i1>
        %nonzero = cmpi not_equal %rem, %zero, signed : tile<i32> -> tile<i1>
        %fix = andi %signs, %nonzero : tile<i1>
        %sum = addi %rem, %n : tile<i32>
        %mod = select %fix, %sum, %rem : tile<i1>, tile<i32>""",
    )
    assert k.same("mod", "rem")


def test_comparisons_by_range(kernel):
    k = integers(
        kernel,
        """%b = assume bounded<0, 63>, %x : tile<i32>
        %l = cmpi less_than %b, %c, signed : tile<i32> -> tile<i1>
        %g = cmpi greater_than_or_equal %b, %c, unsigned : tile<i32> -> tile<i1>
        %o = cmpi less_than %y, %c, signed : tile<i32> -> tile<i1>
        %m = mini %b, %c signed : tile<i32>
        %s = cmpi equal %y, %y, signed : tile<i32> -> tile<i1>""",
    )
    assert k.splat("l") == 1
    assert k.splat("g") == 0
    assert k.splat("o") is None
    assert k.same("m", "b")
    assert k.splat("s") == 1


def test_constants_fold_without_wrapping(kernel):
    k = integers(
        kernel,
        """%d = constant <i32: 2000000000> : tile<i32>
        %s = addi %c, %c : tile<i32>
        %p = muli %d, %c : tile<i32>
        %x1 = addi %x, %c : tile<i32>
        %x2 = addi %x1, %c : tile<i32>
        %c2 = constant <i32: 128> : tile<i32>
        %x3 = addi %x, %c2 : tile<i32>""",
    )
    assert k.splat("s") == 128
    assert k.splat("p") is None  # 2000000000 * 64 does not fit; what it wraps to is not computed
    assert k.same("x2", "x3")


def test_narrow_arithmetic(kernel):
    k = integers(
        kernel,
        """%b = assume bounded<0, 1000>, %x : tile<i32>
        %w = exti %b signed : tile<i32> -> tile<i64>
        %c64 = constant <i64: 64> : tile<i64>
        %p = muli %w, %c64 : tile<i64>
        %v = exti %y signed : tile<i32> -> tile<i64>
        %q = muli %v, %c64 : tile<i64>""",
    )
    assert "exti" in k.ops("p")
    assert "exti" not in k.ops("q")  # the narrow product could wrap


def test_shape_chains_collapse(kernel):
    k = kernel(
        "%x: tile<i32>",
        """%a = reshape %x : tile<i32> -> tile<1xi32>
        %b = reshape %a : tile<1xi32> -> tile<1x1xi32>
        %d = reshape %x : tile<i32> -> tile<1x1xi32>
        %e = broadcast %b : tile<1x1xi32> -> tile<1x8xi32>
        %f = broadcast %e : tile<1x8xi32> -> tile<4x8xi32>
        %g = broadcast %d : tile<1x1xi32> -> tile<4x8xi32>
        %p = permute %g [1, 0] : tile<4x8xi32> -> tile<8x4xi32>
        %q = permute %p [1, 0] : tile<8x4xi32> -> tile<4x8xi32>""",
    )
    assert k.same("b", "d")
    assert k.same("f", "g")
    assert k.same("q", "g")
    assert not k.same("p", "q")


def test_splat_of_a_constant(kernel):
    k = kernel(
        "%x: tile<i32>",
        """%c = constant <i32: 5> : tile<i32>
        %r = reshape %c : tile<i32> -> tile<1xi32>
        %b = broadcast %r : tile<1xi32> -> tile<16xi32>
        %d = constant <i32: 5> : tile<16xi32>
        %f = constant <f32: 2.500000e+00> : tile<1xf32>
        %g = broadcast %f : tile<1xf32> -> tile<16xf32>
        %h = constant <f32: 2.500000e+00> : tile<16xf32>""",
    )
    assert k.same("b", "d")
    assert k.same("g", "h")


def test_all_true_mask_falls_away(kernel):
    k = kernel(
        "%p: tile<ptr<f32>>",
        """%t = make_token : token
        %r = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
        %b = broadcast %r : tile<1xptr<f32>> -> tile<16xptr<f32>>
        %i = iota : tile<16xi32>
        %a = offset %b, %i : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
        %n = constant <i32: 16> : tile<16xi32>
        %m = constant <i32: 15> : tile<16xi32>
        %all = cmpi less_than %i, %n, signed : tile<16xi32> -> tile<16xi1>
        %some = cmpi less_than %i, %m, signed : tile<16xi32> -> tile<16xi1>
        %z = constant <f32: 0.000000e+00> : tile<16xf32>
        %u, %u_t = load_ptr_tko weak %a, %all, %z token=%t
          : tile<16xptr<f32>>, tile<16xi1>, tile<16xf32> -> tile<16xf32>, token
        %v, %v_t = load_ptr_tko weak %a token=%t : tile<16xptr<f32>> -> tile<16xf32>, token
        %w, %w_t = load_ptr_tko weak %a, %some, %z token=%t
          : tile<16xptr<f32>>, tile<16xi1>, tile<16xf32> -> tile<16xf32>, token""",
    )
    assert k.same("u", "v")
    assert k.same("u_t", "v_t")
    assert not k.same("w", "v")


def test_negated_gemm_needs_one_negation_a_column():
    """The example's 128 x 64 negations become 64: the scale is negated before it is broadcast."""
    program = encode(load(Path(__file__).parents[2] / "examples" / "gemm_negated.mlir"))
    names = {v.name: k for k, v in enumerate(program.values) if v is not None and v.name}

    def paths(frozen, cls, *ops):
        """The classes reached from a class through nodes of the given operations."""
        found = {cls}
        for op in ops:
            found = {c for f in found for node in frozen.by_class.get(f, []) if node.op == op for c in node.children}
        return found

    operand, scale = names["a_negated"], names["scale"]
    frozen = saturate(program).frozen
    assert frozen.class_of(scale) in paths(frozen, frozen.class_of(operand), "mulf", "broadcast", "reshape", "negf")
    without = saturate(program, without=["sink-negf"]).frozen
    assert without.class_of(scale) not in paths(
        without, without.class_of(operand), "mulf", "broadcast", "reshape", "negf"
    )
    assert paths(without, without.class_of(operand), "negf") == {without.class_of(names["a_scaled"])}

"""The logical level: nv_tileaa of the examples, that it preserves a program, and its verifier."""

from collections.abc import Callable
from pathlib import Path

import pytest

from egraph.encode import encode
from ir.core import Op, Type, UnsupportedError, VerifyError, verify
from ir.dialects import arith, nv_tileaa, scf
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas import CancelNextProgramId, Exchange, Meet
from ir.text import print_generic
from ir.text.level_types import level_type
from ir.types import (
    F16,
    F32,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorType,
    TensorViewType,
    TileType,
    TokenType,
)
from lowering.convert.cuda_tile_to_tileaa import convert, lowers
from lowering.convert.logical_forms import logical_type, same_parts, tile_ir_type
from lowering.source import supported
from tests.conftest import GOLDEN
from tests.programs import control, elementwise, literals, loops, products  # noqa: F401  (they fill PROGRAMS)
from tests.programs.program import PROGRAMS
from tilesat.source import find_entry, read

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.mlir"))
Golden = Callable[[str, str], None]


def logical(source: Path | str) -> nv_tileaa.Func:
    return convert(find_entry(read(source, {}), None)[1])


def kernel(body: str, parameters: str = "%p: tile<ptr<f32>>, %n: tile<i32>") -> nv_tileaa.Func:
    return logical(f"cuda_tile.module @m {{\n  entry @k({parameters}) {{\n{body}\n    return\n  }}\n}}\n")


def ops(func: nv_tileaa.Func, cls: type[Op]) -> list[Op]:
    return [op for op in func.walk() if type(op) is cls]


@pytest.mark.parametrize("example", NAMES)
def test_example_is_as_recorded(example: str, golden: Golden) -> None:
    golden(f"nv_tileaa/{example}.mlir", print_generic(logical(EXAMPLES / f"{example}.mlir")))


def test_no_golden_file_is_left_over() -> None:
    for level in GOLDEN.iterdir():
        assert sorted(path.stem for path in level.iterdir()) == NAMES


@pytest.mark.parametrize("example", NAMES)
def test_level_is_pure_and_verifies(example: str) -> None:
    func = logical(EXAMPLES / f"{example}.mlir")
    verify(func)
    for op in func.walk():
        assert op.name.partition(".")[0] in ("nv_tileaa", "arith", "math", "scf"), op.name
        for value in op.results:
            assert getattr(value.type, "layout", None) is None


@pytest.mark.parametrize("example", NAMES)
def test_every_access_has_a_token_and_a_place_in_the_source(example: str) -> None:
    for op in logical(EXAMPLES / f"{example}.mlir").walk():
        if isinstance(op, nv_tileaa.TiledLoad | nv_tileaa.TiledStore | nv_tileaa.Load | nv_tileaa.Store):
            assert op.token.type == nv_tileaa.MEM_TOKEN
            assert op.results[-1].type == nv_tileaa.MEM_TOKEN
            assert op.location.line > 0


def test_a_left_out_token_is_the_first_of_the_function() -> None:
    func = kernel("""
    %r0 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
    %r = broadcast %r0 : tile<1xptr<f32>> -> tile<64xptr<f32>>
    %i = iota : tile<64xi32>
    %q = offset %r, %i : tile<64xptr<f32>>, tile<64xi32> -> tile<64xptr<f32>>
    %x, %t = load_ptr_tko weak %q : tile<64xptr<f32>> -> tile<64xf32>, token
    %t2 = store_ptr_tko weak %q, %x token=%t : tile<64xptr<f32>>, tile<64xf32> -> token
    """)
    verify(func)
    load, store = ops(func, nv_tileaa.Load)[0], ops(func, nv_tileaa.Store)[0]
    first = func.body.block.ops[0]
    assert isinstance(first, nv_tileaa.CreateMemToken)
    assert first.start
    assert load.token is first.result
    assert store.token is load.result_token
    pointers = ops(func, nv_tileaa.AddPtr)[0]
    assert pointers.element_bytes == 4
    assert pointers.result.type == TensorType((64,), nv_tileaa.PtrType(F32))


def test_tokens_are_carried_and_joined() -> None:
    func = kernel("""
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %start = make_token : token
    %last = for %j in (%zero to %n, step %one) : tile<i32> iter_values(%t = %start) -> (token) {
      %both = join_tokens %t, %start : token
      continue %both : token
    }
    """)
    verify(func)
    assert [r.type for r in ops(func, scf.For)[0].results] == [nv_tileaa.MEM_TOKEN]
    assert len(ops(func, nv_tileaa.JoinMemTokens)[0].tokens) == 2


def test_branches_always_have_both_sides() -> None:
    func = kernel("""
    %c = cmpi less_than %n, %n, signed : tile<i32> -> tile<i1>
    if %c {
    }
    """)
    verify(func)
    branch = ops(func, scf.If)[0]
    assert [len(r.block.ops) for r in branch.regions] == [1, 1]


def test_promises_of_sums_and_conversions_are_kept() -> None:
    func = kernel("""
    %i = iota : tile<16xi32>
    %m = negi %i overflow<no_signed_wrap> : tile<16xi32>
    %s = addi %i, %m overflow<no_wrap> : tile<16xi32>
    %l = shli %s, %i overflow<no_unsigned_wrap> : tile<16xi32>
    %t = trunci %l overflow<no_signed_wrap> : tile<16xi32> -> tile<16xi8>
    %f = itof %i signed : tile<16xi32> -> tile<16xf32>
    %g = ftoi %f signed saturating : tile<16xf32> -> tile<16xi32>
    %a = addf %f, %f rounding<zero> flush_to_zero : tile<16xf32>
    """)
    verify(func)
    assert ops(func, nv_tileaa.NegI)[0].overflow == ct.Overflow.NO_SIGNED_WRAP
    assert (ops(func, arith.AddI)[0].nsw, ops(func, arith.AddI)[0].nuw) == (True, True)
    assert (ops(func, arith.ShLI)[0].nsw, ops(func, arith.ShLI)[0].nuw) == (False, True)
    text = print_generic(func)
    assert '"arith.trunci"(%3) <{overflowFlags = #arith.overflow<nsw>}>' in text
    assert '"tilesat.arith.fptosi"(%5) <{saturating = true}>' in text
    assert '"tilesat.arith.addf"(%5, %5) <{ftz = true, rounding = "rz"}>' in text


def test_atomic_updates_and_assertions() -> None:
    func = kernel("""
    %i = iota : tile<16xi32>
    %b = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
    %q = broadcast %b : tile<1xptr<f32>> -> tile<16xptr<f32>>
    %x = constant <f32: 1.0> : tile<16xf32>
    %old, %t = atomic_rmw_tko relaxed device %q, addf, %x : tile<16xptr<f32>>, tile<16xf32> -> tile<16xf32>, token
    %was, %u = atomic_cas_tko acq_rel sys %q, %old, %x token = %t
      : tile<16xptr<f32>>, tile<16xf32> -> tile<16xf32>, token
    %c = cmpi less_than %i, %i, signed : tile<16xi32> -> tile<16xi1>
    assert %c, "no" : tile<16xi1>
    """)
    verify(func)
    (update,), (swap,) = ops(func, nv_tileaa.AtomicRMW), ops(func, nv_tileaa.AtomicCAS)
    assert f"{update.mode} {update.order} {update.scope}" == "addf relaxed device"
    assert swap.token is update.result_token
    (check,) = ops(func, nv_tileaa.Assert)
    assert (check.message, check.file, check.line) == ("no", "<text>", 12)


LEFT = """
    %c = cmpi less_than %n, %n, signed : tile<i32> -> tile<i1>
    %l = loop iter_values(%i = %n) : tile<i32> -> tile<i32> {
      if %c {
        return
      }
      if %c {
        break %i : tile<i32>
      }
      continue %i : tile<i32>
    }
"""


def test_what_leaves_a_branch_or_a_loop_is_an_operation_of_ours() -> None:
    func = kernel(LEFT)
    verify(func)
    assert [len(ops(func, cls)) for cls in (nv_tileaa.Loop, nv_tileaa.If, nv_tileaa.Break, nv_tileaa.Continue)] == [
        1, 2, 1, 1,
    ]  # fmt: skip
    assert not ops(func, scf.If)


def test_what_has_no_logical_form_is_refused_with_its_place() -> None:
    with pytest.raises(UnsupportedError, match="preview_call' is not supported by the compiler") as refused:
        kernel("%x = preview_call @f(%n) : (tile<i32>) -> (tile<i32>)", "%n: tile<i32>")
    assert refused.value.location.line == 3


# Both ways


def test_forms_with_the_same_parts_have_the_same_parts() -> None:
    """Attributes of the same names and defaults; operands in the same order, except optional tokens."""
    for source, logical in same_parts().items():
        ours = {a.name: (a.kind, a.default) for a in logical.info.attributes if a.name != "start"}
        theirs = {a.name: (a.kind, a.default) for a in source.info.attributes}
        assert ours == theirs, source.info.name
        pairs = zip(logical.info.operands, source.info.operands, strict=source is not ct.Return)
        assert all(type(a) is type(b) or a.name == "token" for a, b in pairs), source.info.name
        assert len(logical.info.results) == len(source.info.results)
        assert len(logical.info.regions) == len(source.info.regions)


def test_every_operation_that_is_compiled_has_a_form() -> None:
    made_later = {CancelNextProgramId, Exchange, Meet}  # by passes behind the level
    compiled = supported.SPECIAL - {ct.Entry} - set(lowers.declared) - made_later
    assert not compiled


@pytest.mark.parametrize(
    "kind",
    [
        TileType((), F16), TileType((4, 8), F32), TileType((8,), PointerType(F16)),
        TileType((), PointerType(F32, "multicast")), TokenType(),
        TensorViewType((None, 8), F16, (None, 1)), TensorViewType((), F16, ()),
        TensorViewType((8,), F16, (1,), "multicast"),
        PartitionViewType((4, 8), TensorViewType((None, None), F16, (8, 1)), (1, 0), "neg_zero"),
        StridedViewType((4,), (2,), TensorViewType((None,), F16, (1,)), (0,), None),
        GatherScatterViewType((4, 8), TensorViewType((None, 8), F16, (8, 1)), 1, "nan"),
    ],
    ids=str,
)  # fmt: skip
def test_types_go_both_ways_and_through_text(kind: Type) -> None:
    logical = logical_type(kind)
    assert tile_ir_type(logical) == kind
    assert level_type(logical.mlir()) == logical


KEPT = ("literal-signalling-f64", "f32-to-tf32", "global-f32", "matmul-i8-su", "loop-returns")


@pytest.mark.parametrize("name", KEPT)
def test_nothing_is_lost(name: str) -> None:
    """As text and back: the rows of the e-graph are the same, so all that is computed of them."""
    (module,) = read(PROGRAMS[name].source(), {})
    (again,) = read(print_generic(convert(module.entries[0])), {})
    assert again.entries[0].sym_name == module.entries[0].sym_name
    assert encode(again.entries[0]).facts == encode(module.entries[0]).facts


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda a, b: nv_tileaa.Dot((a, a, b)), "does not add"),
        (lambda a, b: nv_tileaa.Permute((a,), [b.type], {"permutation": (1, 0)}), "permuted"),
        (lambda a, b: nv_tileaa.Broadcast((a,), [b.type]), "cannot be broadcast"),
        (lambda a, b: nv_tileaa.AddPtr((a, b), None, {"element_bytes": 4}), "must be a pointer or a tensor of them"),
    ],
)
def test_verifier_names_the_op(make: Callable[..., Op], message: str) -> None:
    a, b = (
        nv_tileaa.ConstantTensor((), [TensorType(shape, F16)], {"value": None}).result for shape in ((4, 8), (2, 8))
    )
    with pytest.raises(VerifyError, match="nv_tileaa") as wrong:
        verify(make(a, b))
    assert message in str(wrong.value)


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        ("matmul-i8-su", "signed = [true, false]"),
        ("matmul-f8-scaled", "nv_tileaa.dot_scaled"),
        ("unpack-f32", "nv_tileaa.unpack"),
        ("global-f32", 'nv_tileaa.get_global"() <{symbol = "other", type = tensor<'),
    ],
)
def test_products_and_arrays_have_a_logical_form(program: str, wanted: str) -> None:
    made = logical(PROGRAMS[program].source())
    verify(made)
    assert wanted in print_generic(made)

"""The logical level: what nv_tileaa says of every example, and that it refuses what it cannot say."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ir.core import Op, UnsupportedError, VerifyError, verify
from ir.dialects import arith, nv_tileaa, scf
from ir.text import print_generic
from ir.types import F16, GLOBAL_PTR, TensorType
from lowering.convert.cuda_tile_to_tileaa import convert
from tests.conftest import GOLDEN
from tests.programs import elementwise, literals, products  # noqa: F401
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
    assert load.token is first.result
    assert store.token is load.result_token
    pointers = ops(func, nv_tileaa.AddPtr)[0]
    assert pointers.element_bytes == 4
    assert pointers.result.type == TensorType((64,), GLOBAL_PTR)


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


def test_integer_negation_is_a_subtraction_from_zero() -> None:
    func = kernel("""
    %i = iota : tile<16xi32>
    %m = negi %i : tile<16xi32>
    %k = negi %n : tile<i32>
    """)
    verify(func)
    assert len(ops(func, arith.SubI)) == 2
    assert [op.value.item for op in ops(func, nv_tileaa.ConstantTensor)] == [0]


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
    update, swap = ops(func, nv_tileaa.Atomic)
    assert (update.mode, update.order, update.scope) == ("addf", "relaxed", "device")
    assert (swap.mode, len(swap.values)) == ("cas", 2)
    assert swap.token is update.result_token
    assert ops(func, nv_tileaa.Assert)[0].message == "no"


@pytest.mark.parametrize(
    "body",
    [
        "loop {\n      break\n    }",
        "if %c {\n      return\n    }",
    ],
)
def test_what_has_no_logical_form_is_refused_with_its_place(body: str) -> None:
    with pytest.raises(UnsupportedError) as refused:
        kernel(f"    %c = cmpi less_than %n, %n, signed : tile<i32> -> tile<i1>\n    {body}")
    assert refused.value.location.line >= 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda a, b: nv_tileaa.Dot((a, a, b)), "does not add"),
        (lambda a, b: nv_tileaa.Permute((a,), [b.type], {"permutation": (1, 0)}), "permuted"),
        (lambda a, b: nv_tileaa.Broadcast((a,), [b.type]), "cannot be broadcast"),
        (lambda a, b: nv_tileaa.AddPtr((a, b), None, {"element_bytes": 4}), "must be"),
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
        ("matmul-f8-scaled", "nv_tileaa.dot"),
        ("unpack-f32", "nv_tileaa.reduce"),
        ("global-f32", 'nv_tileaa.get_global"() <{symbol = "other"}>'),
    ],
)
def test_products_and_arrays_have_a_logical_form(program: str, wanted: str) -> None:
    text = PROGRAMS[program].source()
    assert isinstance(text, str)
    made = convert(find_entry(read(text, {}), None)[1])
    verify(made)
    assert wanted in print_generic(made)

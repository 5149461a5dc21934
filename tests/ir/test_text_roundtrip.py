"""Text read and printed again: the disassembler's own files byte for byte, random modules, literals."""

import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ir.bytecode import read_bytecode, write_bytecode
from ir.core import Block, Builder, Region, verify
from ir.dialects import cuda_tile as ct
from ir.text import parse, print_generic, print_text
from ir.types import BF16, F16, F32, F64, I1, I8, I32, I64, TF32, PointerType, TileType

DATA = Path(__file__).resolve().parents[1] / "data"
DISASSEMBLED = sorted([*DATA.glob("text/*.mlir"), *DATA.glob("bytecode/*.mlir")])


@pytest.mark.parametrize("path", DISASSEMBLED, ids=lambda p: p.name)
def test_disassembled_text_is_printed_as_it_was(path):
    text = path.read_text()
    module = parse(text, path.name)
    verify(module)
    assert print_text(module) == text


EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.mlir"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples_survive_printing(path):
    module = parse(path.read_text(), path.name)
    verify(module)
    again = parse(print_text(module))
    assert print_generic(again) == print_generic(module)


WITH_PREFIXES = """
cuda_tile.module @kernels {
  cuda_tile.entry @k(%p: !cuda_tile.tile<!cuda_tile.ptr<f32>>, %n: !cuda_tile.tile<i32>) {
    %t = cuda_tile.make_token : !cuda_tile.token
    %c1 = cuda_tile.constant <i1: true> : !cuda_tile.tile<i1>
    %m = cuda_tile.constant <i32: [[7, -2], [4, 5]]> : !cuda_tile.tile<2x2xi32>
    %a = cuda_tile.assume #cuda_tile.div_by<32>, %p : !cuda_tile.tile<ptr<f32>>
    %b = assume #cuda_tile.same_elements<[]>, %n : tile<i32>
    cuda_tile.if %c1 { cuda_tile.yield }
    if %c1 {}  // no terminator is written
    %l:2 = loop iter_values(%x = %n, %y = %c1) : tile<i32>, tile<i1> -> tile<2x2xi32>, tile<i1> {
      if %c1 { continue %x, %y : tile<i32>, tile<i1> }
      break %m, %y : tile<2x2xi32>, tile<i1>
    }
    %s = addi %l#0, %m overflow<none> : !cuda_tile.tile<2 x 2 x i32>
    %v = make_tensor_view %a, shape = [%n, 64], strides = [64, 1]
       : tile<i32> -> !cuda_tile.tensor_view<?x64xf32, strides=[64, 1]>
    %pv = make_partition_view %v
       : !cuda_tile.partition_view<tile=(16x8), padding_value = zero, !cuda_tile.tensor_view<?x64xf32, strides=[64,1]>>
  }
  entry @empty() {}
}
"""
WITHOUT_PREFIXES = """cuda_tile.module @kernels {
  entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>) {
    %0 = make_token : token
    %true = constant <i1: true> : tile<i1>
    %cst_i32 = constant <i32: [[7, -2], [4, 5]]> : tile<2x2xi32>
    %assume = assume div_by<32>, %arg0 : tile<ptr<f32>>
    %assume_0 = assume same_elements<[]>, %arg1 : tile<i32>
    if %true {
    }
    if %true {
    }
    %1:2 = loop iter_values(%arg2 = %arg1, %arg3 = %true) : tile<i32>, tile<i1> -> tile<2x2xi32>, tile<i1> {
      if %true {
        continue %arg2, %arg3 : tile<i32>, tile<i1>
      }
      break %cst_i32, %arg3 : tile<2x2xi32>, tile<i1>
    }
    %2 = addi %1#0, %cst_i32 : tile<2x2xi32>
    %tview = make_tensor_view %assume, shape = [%arg1, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %pview = make_partition_view %tview : partition_view<tile=(16x8), padding_value = zero, tensor_view<?x64xf32, strides=[64,1]>>
    return
  }
  entry @empty() {
    return
  }
}
"""  # noqa: E501


def test_prefixes_implicit_terminators_and_free_names():
    module = parse(WITH_PREFIXES)
    verify(module)
    assert print_text(module) == WITHOUT_PREFIXES
    assert print_text(parse(WITHOUT_PREFIXES)) == WITHOUT_PREFIXES


def test_places_are_line_and_column_of_the_operation():
    module = parse("entry @k() {\n  %a = iota : tile<4xi32>\n\n    %b = absi %a : tile<4xi32>\n}", "f.mlir")
    assert [str(each.location) for each in module.walk()][2:4] == ["f.mlir:2:8", "f.mlir:4:10"]


def test_debug_information_is_passed_over():
    text = (
        "entry @k(%x: tile<i32> loc(#loc1)) {\n  %y = absi %x : tile<i32> loc(#loc)\n  return loc(#loc)\n} loc(#loc)\n"
    )
    text += '#di = #cuda_tile.di_file<"a.py" in "/d">\n#loc = loc("a.py":3:4)\n'
    assert print_text(parse(text)).splitlines()[1:] == ["  %0 = absi %arg0 : tile<i32>", "  return", "}"]


def large_text(ops):
    body = "".join(f"  %v{i} = addf %v{i - 1}, %v{i - 1} rounding<zero> : tile<128x64xf32>\n" for i in range(1, ops))
    return f"entry @k() {{\n  %v0 = constant <f32: 1.5> : tile<128x64xf32>\n{body}}}\n"


def test_a_kernel_of_450_ops_parses_in_milliseconds():
    text = large_text(450)
    parse(text)
    seconds = min(timed(parse, text) for _ in range(5))
    assert seconds < 0.06


def timed(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


FLOATS = {F16: np.float16, BF16: ml_dtypes.bfloat16, F32: np.float32, F64: np.float64}


@given(st.sampled_from(list(FLOATS)), st.lists(st.floats(width=32), min_size=1, max_size=128), st.booleans())
def test_float_literals_keep_their_bits(element, numbers, rows):
    with np.errstate(over="ignore"):
        array = np.array(numbers[: 1 << (len(numbers).bit_length() - 1)]).astype(FLOATS[element])
    roundtrip_constant(array, element, rows)


@given(st.sampled_from([I1, I8, I32, I64]), st.data())
def test_integer_literals_keep_their_bits(element, data):
    size = 1 << data.draw(st.integers(0, 7))
    low, high = (0, 1) if element == I1 else (-(1 << (element.width - 1)), (1 << (element.width - 1)) - 1)
    numbers = data.draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
    roundtrip_constant(np.array(numbers).astype(ct.dtype_of(element)), element, data.draw(st.booleans()))


@given(st.lists(st.integers(0, (1 << 19) - 1), min_size=4, max_size=4))
def test_tf32_literals_keep_their_bits(bits):
    roundtrip_constant((np.array(bits, np.uint32) << np.uint32(13)).view(np.float32), TF32, False)


def roundtrip_constant(array, element, rows):
    shape = (1, array.size) if rows else (array.size,)
    literal = ct.DenseElements(array)
    text = print_text(module_of(lambda b: b.add(ct.Constant, types=[TileType(shape, element)], value=literal)))
    found = next(each for each in parse(text).walk() if isinstance(each, ct.Constant))
    ours, theirs = literal.expand(shape), found.value.expand(shape)
    assert ours.dtype == theirs.dtype
    if element.width < 16 or element in (I32, I64):
        assert ours.tobytes() == theirs.tobytes()
    else:  # a NaN keeps being one; its payload may be quieted by a conversion
        nan = np.isnan(ours.astype(np.float64))
        assert (nan == np.isnan(theirs.astype(np.float64))).all()
        assert ours[~nan].tobytes() == theirs[~nan].tobytes()
    assert print_text(parse(text)) == text


def module_of(fill, parameters=()):
    block = Block([*parameters])
    builder = Builder(block)
    fill(builder)
    builder.add(ct.Return)
    entry = ct.Entry((), (), {"sym_name": "k"}, [Region([block])])
    body = Block()
    body.append(entry)
    return ct.Module((), (), {}, [Region([body])])


BINARY = {
    I32: [ct.AddI, ct.SubI, ct.MulI, ct.AndI, ct.XorI, ct.OrI, ct.ShlI, ct.MinI, ct.MaxI, ct.RemI, ct.ShrI, ct.DivI],
    F32: [ct.AddF, ct.SubF, ct.MulF, ct.DivF, ct.MaxF, ct.MinF, ct.RemF],
}
UNARY = {I32: [ct.AbsI, ct.NegI], F32: [ct.Exp, ct.Exp2, ct.Sqrt, ct.Rsqrt, ct.Tanh, ct.Log, ct.NegF, ct.Floor]}


def random_attributes(cls, draw):
    found = {}
    for attr in cls.info.attributes:
        if attr.kind is bool:
            found[attr.name] = draw(st.booleans())
        elif attr.kind is ct.Rounding:
            options = {ct.DivI: (1, 3), ct.Exp: (4, 5), ct.Tanh: (4, 5), ct.DivF: range(6), ct.Sqrt: range(5)}
            found[attr.name] = ct.Rounding(draw(st.sampled_from(list(options.get(cls, range(4))))))
        elif cls is ct.NegI:
            found[attr.name] = draw(st.sampled_from(sorted({*ct.Overflow} - {ct.Overflow.NO_UNSIGNED_WRAP})))
        else:
            found[attr.name] = draw(st.sampled_from(list(attr.kind)))
    return found


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(st.data())
def test_random_modules_are_the_same_after_printing(data):
    def fill(builder):
        grow(builder, {I32: [], F32: []}, data.draw, 0, builder.block.args[0])

    module = module_of(fill, [TileType((), I32), TileType((), PointerType(F32))])
    verify(module)
    text = print_text(module)
    again = parse(text)
    verify(again)
    assert print_generic(again) == print_generic(module)
    assert print_text(again) == text


def grow(builder, pools, draw, depth, n):
    """Random well-formed operations on 4x8 tiles, with loops, branches and reductions."""
    pools = {element: list(pool) for element, pool in pools.items()}
    tiles = {element: TileType((4, 8), element) for element in pools}
    for element, number in ((I32, draw(st.integers(-9, 9))), (F32, draw(st.floats(width=32)))):
        value = ct.DenseElements(np.array(number).astype(ct.dtype_of(element)))
        pools[element].append(builder.value(ct.Constant, types=[tiles[element]], value=value))
    for _ in range(draw(st.integers(1, 6))):
        element = draw(st.sampled_from([I32, F32]))
        pool = pools[element]
        a, b = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        kind = draw(st.sampled_from(["binary", "unary", "convert", "compare", "reduce", "for", "if"]))
        if kind == "binary":
            cls = draw(st.sampled_from(BINARY[element]))
            pool.append(builder.value(cls, a, b, **random_attributes(cls, draw)))
        elif kind == "unary":
            cls = draw(st.sampled_from(UNARY[element]))
            pool.append(builder.value(cls, a, **random_attributes(cls, draw)))
        elif kind == "convert":
            to = F32 if element == I32 else I32
            cls = ct.IToF if element == I32 else ct.FToI
            pools[to].append(builder.value(cls, a, types=[tiles[to]], signedness=draw(st.sampled_from(ct.Signedness))))
        elif kind == "compare":
            cls = ct.CmpI if element == I32 else ct.CmpF
            mask = builder.value(cls, a, b, types=[TileType((4, 8), I1)], **random_attributes(cls, draw))
            pool.append(builder.value(ct.Select, mask, a, b, types=[tiles[element]]))
        elif kind == "reduce":
            pool.append(reduced(builder, a, element, draw))
        elif depth < 2:
            pool.append(nested(builder, a, pools, draw, depth, kind, n))
    return pools


def reduced(builder, a, element, draw):
    """A reduction broadcast back, or a scan."""
    dim = draw(st.integers(0, 1))
    inner = Block([TileType((), element)] * 2)
    body = Builder(inner)
    body.add(ct.Yield, body.value(ct.AddI if element == I32 else ct.AddF, *inner.args))
    identity = draw(st.integers(-5, 5)) if element == I32 else draw(st.floats(width=32))
    attributes = {"dim": dim, "identities": (identity,)}
    if draw(st.booleans()):
        attributes["reverse"] = draw(st.booleans())
        return builder.add(ct.Scan, a, types=[a.type], regions=[Region([inner])], **attributes).outs[0]
    line = TileType((8,) if dim == 0 else (4,), element)
    made = builder.add(ct.Reduce, a, types=[line], regions=[Region([inner])], **attributes)
    column = TileType((1, 8) if dim == 0 else (4, 1), element)
    kept = builder.value(ct.Reshape, made.outs[0], types=[column])
    return builder.value(ct.Broadcast, kept, types=[a.type])


def nested(builder, a, pools, draw, depth, kind, n):
    element = a.type.element
    if kind == "for":
        inner = Block([n.type, a.type])
        found = grow(Builder(inner), pools | {element: [*pools[element], inner.args[1]]}, draw, depth + 1, n)
        Builder(inner).add(ct.Continue, found[element][-1])
        made = builder.add(
            ct.For, n, n, n, a, types=[a.type], regions=[Region([inner])], segments=(1, 1, 1, 1),
            unsigned_cmp=draw(st.booleans()),
        )  # fmt: skip
        return made.outs[0]
    flagged = ct.DenseElements(np.array(True))
    cond = builder.value(ct.Constant, types=[TileType((), I1)], value=flagged)
    branches = []
    for _ in range(2):
        inner = Block()
        found = grow(Builder(inner), pools, draw, depth + 1, n)
        Builder(inner).add(ct.Yield, found[element][-1])
        branches.append(Region([inner]))
    return builder.add(ct.If, cond, types=[a.type], regions=branches).outs[0]


NANS = {
    "f16": (0x7C01, 0xFD55, 0x7E00), "bf16": (0x7F81, 0xFF81), "f32": (0x7F800001, 0xFFBFFFFF, 0x7FC00000),
    "f64": (0x7FF0000000000001, 0xFFF4000000000000), "tf32": (0x3FC01, 0x7FC01), "f8E5M2": (0x7D, 0xFD, 0x7E),
    "f8E4M3FN": (0x7F, 0xFF), "f8E8M0FNU": (0xFF,), "fnv8E5M3FNU": (0xFF,),
}  # fmt: skip
"""NaNs that signal (their first bit of mantissa is 0) and others."""


@pytest.mark.parametrize(("kind", "bits"), [(kind, bits) for kind, every in NANS.items() for bits in every])
@pytest.mark.parametrize("literal", ["{}", "[{}, 1.0]", "[1.0, {}]"])
def test_the_bits_of_a_nan_survive_every_form(kind, bits, literal):
    """Where a NaN that signals becomes a Python float on the way, it is quieted: 0x7F800001 to 0x7FC00001."""
    text = literal.format(f"0x{bits:X}").replace("1.0", "1.000000e+00")
    module = parse(f"entry @k() {{ %x = constant <{kind}: {text}> : tile<2x{kind}> }}")
    verify(module)
    printed = print_text(module)
    assert f"<{kind}: {text}>" in printed
    for again in (parse(printed), parse(print_generic(module)), read_bytecode(write_bytecode(module))):
        assert print_text(again) == printed


def test_the_bits_of_a_nan_survive_in_a_global():
    text = "global  @g <f32: [0x7F800001, 1.000000e+00]> : tile<2xf32>\n"
    assert print_text(parse(text)) == text
    assert print_text(parse(print_generic(parse(text)))) == text
    assert print_text(read_bytecode(write_bytecode(parse(text)))) == text

"""Accumulators placed in tensor memory: what is refused, and how tiles lie there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ir.core import Block, Value, VerifyError, verify
from ir.dialects import arith, nv_tileas, scf
from ir.dialects.cuda_tile.attributes import DenseElements
from ir.text.level_input import read_level
from ir.types import F8E4M3FN, F16, F32, I1, I32, TensorType
from lowering.atoms.tcgen05 import ALONE, LEFT, every_tensor_atom, tensor_atom, tensor_named
from lowering.layouts.layout import Layout, LayoutError
from lowering.layouts.tensor import (
    allocation,
    column_of,
    lane_of,
    left_factor,
    over_accumulator,
    takes,
    tensor_tile,
    tile_columns,
)
from lowering.passes.manager import run
from lowering.passes.syntax import parse, until
from lowering.passes.table import ROAD
from lowering.schedule import materialize
from lowering.schedule.tensor import TensorMemoryError, place_accumulators
from lowering.targets import target
from tests.programs.products import product
from tilesat.source import read

LAYOUT = Layout.trivial(4)


def placed() -> nv_tileas.Func:
    """A product of the placed level, before its accumulator leaves the loop."""
    source = read(product("p", (128, 64, 64), (128, 64, 256)).source(), {})[0].entries[0]
    (found,) = run(until(parse(ROAD), "decode"), source, ["sm_100a"])
    (func,) = (op for op in [read_level(found.text())] if isinstance(op, nv_tileas.Func))
    return func


def find(func: nv_tileas.Func) -> tuple[nv_tileas.Dot, scf.For]:
    (dot,) = [op for op in func.walk() if isinstance(op, nv_tileas.Dot)]
    (loop,) = [op for op in func.walk() if isinstance(op, scf.For)]
    return dot, loop


def again(func: nv_tileas.Func) -> None:
    dot, loop = find(func)
    made = nv_tileas.Dot((dot.a, dot.b, dot.result), [dot.result.type], {"atom": dot.atom, "grid": dot.grid})
    made.parent = loop.body.block
    loop.body.block.ops.insert(-1, made)


def elsewhere(func: nv_tileas.Func) -> None:
    dot, loop = find(func)
    body, block = loop.body.block, func.body.block
    body.ops.remove(dot)
    dot.parent = block
    block.ops.insert(block.ops.index(loop), dot)


def more(func: nv_tileas.Func) -> None:
    _, loop = find(func)
    body = loop.body.block
    made = nv_tileas.Iota((), [TensorType((64,), I32, body.args[1].type.layout)])
    made.parent = body
    body.ops.insert(0, made)


def not_carried(func: nv_tileas.Func) -> None:
    dot, loop = find(func)
    dot.operands[2] = loop.init[0]


def used(func: nv_tileas.Func) -> None:
    dot, loop = find(func)
    made = arith.AddF((dot.result, dot.result), [dot.result.type])
    made.parent = loop.body.block
    loop.body.block.ops.insert(-1, made)


def begun(func: nv_tileas.Func) -> None:
    _, loop = find(func)
    made = loop.init[0].op
    assert made is not None
    made.attributes["value"] = DenseElements(np.ones((128, 64), np.float32))


def other(func: nv_tileas.Func) -> None:
    _, loop = find(func)
    body = loop.body.block
    value = loop.init[0]
    loop.operands.append(value)
    loop.segments = (1, 1, 1, 2)
    body.args.append(type(value)(value.type, body, 2))
    body.terminator.operands.append(body.args[-1])
    body.terminator.segments = (2,)


def left(func: nv_tileas.Func) -> None:
    """The loop carries a scalar too, which is read behind it."""
    _, loop = find(func)
    body, block = loop.body.block, func.body.block
    loop.operands.append(loop.lower)
    loop.segments = (1, 1, 1, 2)
    body.args.append(Value(I32, body, 2))
    body.terminator.operands.append(body.args[0])
    body.terminator.segments = (2,)
    loop.results.append(Value(I32, loop, 1))
    made = arith.AddI((loop.results[1], loop.results[1]), [I32])
    made.parent = block
    block.ops.insert(block.ops.index(loop) + 1, made)


def not_scaled(func: nv_tileas.Func) -> None:
    find(func)[0].attributes["kept"] = True


def scaled_elsewhere(func: nv_tileas.Func) -> None:
    """The scaled value is not carried by the loop."""
    dot, loop = find(func)
    dot.attributes["kept"] = True
    made = arith.MulF((loop.init[0], loop.init[0]), [dot.result.type])
    made.parent = loop.body.block
    loop.body.block.ops.insert(0, made)
    dot.operands[2] = made.result


REFUSED: dict[Callable[[nv_tileas.Func], None], str] = {
    again: "its loop does not carry the accumulator",
    elsewhere: "it is in no top-level loop",
    more: "its loop also contains 'nv_tileas.iota'",
    not_carried: "its loop does not carry the accumulator",
    used: "its loop also uses the sum otherwise",
    begun: "its sum does not start from zero",
    other: "its loop carries other tiles",
    not_scaled: "its loop does not scale the carried value",
    scaled_elsewhere: "its loop does not carry it",
    left: "all warps read other results of its loop, which only one warp runs",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("change", REFUSED, ids=lambda f: f.__name__)
def test_other_products_are_refused(change: Callable[[nv_tileas.Func], None]) -> None:
    func = placed()
    change(func)
    with pytest.raises(TensorMemoryError, match=REFUSED[change]) as caught:
        place_accumulators(func)
    assert caught.value.hint == "forbid the atom: --forbid tcgen05"


def test_a_loop_without_a_producer_is_refused() -> None:
    func = placed()
    for op in func.walk():
        if isinstance(op, nv_tileas.TiledCopy):
            op.attributes["stages"] = 0
    assert place_accumulators(func) == 1
    with pytest.raises(TensorMemoryError, match="no producer loads the tiles of its loop"):
        materialize(func, target("sm_100a"))


def test_more_accumulators_than_tensor_memory_holds_are_refused() -> None:
    """Ten of 64 columns in one loop: what the search allows is less, so a text of the level says so."""
    func = placed()
    dot, loop = find(func)
    body = loop.body.block
    for _ in range(9):
        made = nv_tileas.Dot(
            (dot.a, dot.b, dot.c), [dot.result.type], {"atom": dot.atom, "grid": dot.grid, "read": True}
        )
        made.parent = body
        body.ops.insert(body.ops.index(dot), made)
    dot.attributes["read"] = True
    assert place_accumulators(func) == 10
    with pytest.raises(TensorMemoryError, match="the accumulators need 640 columns, tensor memory has 512"):
        materialize(func, target("sm_100a"))


def test_rows_are_lanes_and_columns_columns() -> None:
    """Four warps have a row a thread; of eight the second four have the upper half of the columns, or lower rows."""
    atom = tensor_atom(F16, F16, F32, 128)
    assert atom is not None
    four, eight, tall = (tensor_tile(atom, m, 128, 64, warps).c for m, warps in ((128, 4), (128, 8), (256, 8)))
    for thread in (0, 1, 31, 32, 127):
        lane, warp = thread % 32, thread // 32
        for register in (0, 5, 127):
            assert four.element(register, lane, warp) == 128 * thread + register
    assert eight.element(3, 1, 4) == 128 + 64 + 3
    assert tall.element(3, 1, 4) == 128 * 129 + 3
    assert [allocation(n) for n in (16, 32, 48, 256)] == [32, 32, 64, 256]


def test_sixty_four_rows_are_in_half_of_the_lanes() -> None:
    """Sixteen in each warp's; a thread has two rows, and of these two columns of every eight (tcgen05.ld.16x256b)."""
    atom = tensor_atom(F16, F16, F32, 64, m=64)
    assert atom is not None
    assert atom.name == "tcgen05.m64n64k16.f16.f16"
    four, eight = (tensor_tile(atom, 64, 64, 64, warps) for warps in (4, 8))
    assert (four.columns, four.held, eight.held) == (64, 64, 32)
    for lane, warp in ((0, 0), (5, 0), (31, 2), (14, 3)):
        for register in (0, 1, 2, 3, 4, 29):
            row = 16 * warp + lane // 4 + 8 * (register // 2 % 2)
            column = 8 * (register // 4) + 2 * (lane % 4) + register % 2
            assert four.c.element(register, lane, warp) == 64 * row + column
    assert eight.c.element(0, 0, 4) == 32
    assert [lane_of(64 * row, (64, 64)) for row in (0, 15, 16, 33, 63)] == [0, 15, 32, 65, 111]
    assert [tile_columns((rows, 64), 32) for rows in (64, 128, 256)] == [64, 64, 128]
    assert tensor_atom(F16, F16, F32, 64, LEFT, m=64) is None
    with pytest.raises(LayoutError, match="needs a tile of 64 rows, got 128"):
        tensor_tile(atom, 128, 64, 64, 4)


def test_sixty_four_rows_take_as_long_as_twice_as_many() -> None:
    """Half of the tensor core is idle; N may be 8 there."""
    few, many = (tensor_atom(F16, F16, F32, 256, m=m) for m in (64, 128))
    assert few is not None
    assert many is not None
    assert few.cycles(target("sm_100a")) == many.cycles(target("sm_100a"))
    assert tensor_atom(F16, F16, F32, 8, m=64) is not None
    assert tensor_atom(F16, F16, F32, 8) is None


def test_left_factors_have_their_rows_in_the_lanes_of_the_accumulator() -> None:
    """Two elements a column, consecutive ones in a thread; eight warps have halves of a row, or blocks of rows."""
    four, eight, tall = (left_factor(m, 64, 16, warps) for m, warps in ((128, 4), (128, 8), (256, 8)))
    assert four is not None
    assert eight is not None
    assert tall is not None
    assert [layout.n_regs for layout in (four, eight, tall)] == [64, 32, 64]
    assert [layout.element(2, 3, 5) for layout in (eight, tall)] == [64 * (32 + 3) + 32 + 2, 64 * (128 + 32 + 3) + 2]
    assert left_factor(128, 2, 16, 8) is None  # half a column for each warpgroup
    places = [column_of(element, 64, 16, pitch=128) for element in (0, 3, 62, 64, 64 * 128, 64 * 129 + 2)]
    assert places == [0, 1, 31, 0, 128, 129]


@pytest.mark.parametrize(("m", "warps", "free"), [(128, 4, True), (128, 8, False), (256, 4, True), (256, 8, True)])
def test_where_a_left_factor_may_lie_over_its_scores(m: int, warps: int, free: bool) -> None:
    """Where all columns of a row are one warp's: others may not have loaded theirs."""
    layout = left_factor(m, 64, 16, warps)
    assert layout is not None
    assert over_accumulator(layout, m) is free


def test_scores_must_be_as_wide_as_what_lies_over_them() -> None:
    assert takes((128, 32), (128, 64), 16)
    assert not takes((128, 32), (128, 128), 16)
    assert not takes((256, 64), (128, 64), 16)


def test_a_left_factor_in_tensor_memory_is_not_read_from_shared_memory() -> None:
    """A product of 16 columns reads 128 rows of 32 bytes, or none; f8 has no such atom."""
    blackwell = target("sm_100a")
    shared, held = (tensor_atom(F16, F16, F32, 16, form) for form in (ALONE, LEFT))
    assert shared is not None
    assert held is not None
    assert (held.name, shared.name) == ("tcgen05.ts.m128n16k16.f16.f16", "tcgen05.m128n16k16.f16.f16")
    assert held.cycles(blackwell) < shared.cycles(blackwell) == 144 * 32 / blackwell.throughput.smem_bytes
    assert tensor_atom(F8E4M3FN, F8E4M3FN, F32, 16, LEFT) is None


@pytest.mark.parametrize(
    ("shape", "warps", "message"),
    [((64, 128, 64), 4, "needs M to be a multiple of 128, got 64"), ((128, 192, 64), 4, "N to be a multiple"),
     ((128, 128, 8), 4, "needs K to be a multiple of 16, got 8"), ((512, 256, 64), 4, "takes 1024 columns of tensor"),
     ((128, 128, 64), 2, "for each four of 2 warps")],
)  # fmt: skip
def test_tiles_that_do_not_fit(shape: tuple[int, int, int], warps: int, message: str) -> None:
    atom = tensor_atom(F16, F16, F32, 128)
    assert atom is not None
    with pytest.raises(LayoutError, match=message):
        tensor_tile(atom, *shape, warps)


def test_atoms_have_names() -> None:
    for atom in every_tensor_atom():
        assert tensor_named(atom.name) is atom
    assert tensor_named("wgmma.m64n128k16.f16.f16.ss") is None
    assert tensor_atom(F16, F16, F16, 128) is None


def test_operations_say_what_does_not_agree() -> None:
    memory = nv_tileas.TensorMemoryType((128, 64), F32)
    a, b, d, adds = Block([TensorType((128, 64), F16, LAYOUT), TensorType((64, 32), F16, LAYOUT), memory, I1]).args
    with pytest.raises(VerifyError, match="cannot multiply"):
        verify(
            nv_tileas.TensorDot((a, b, d, adds), (), {"atom": "tcgen05.m128n64k16.f16.f16"}, segments=(1, 1, 1, 1, 0))
        )
    with pytest.raises(VerifyError, match="holds no"):
        verify(nv_tileas.TensorLoad((d,), [TensorType((128, 32), F32, LAYOUT)], segments=(1, 0, 0, 0, 0)))

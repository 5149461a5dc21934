"""What cannot be compiled is refused: an UnsupportedError at the line of the operation, with what to do instead."""

from collections.abc import Callable

import pytest

import tilesat
from ir.core import OPS, UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.types import I32, I64, TileType
from lowering.source.supported import INSTEAD, lowered
from tilesat.fuzz.writer import Tile, Writer


def f8_product(w: Writer) -> None:
    x = w.load(w.view(w.q, [64, 64], [64, 1], [64, 64]), 0, 0)
    w.store(w.dot(x, x), w.view(w.f, [64, 64], [64, 1], [64, 64]), 0, 0)


def large_accumulator(w: Writer) -> None:
    x = w.load(w.view(w.h, [512, 16], [16, 1], [512, 16]), 0, 0)
    w.store(w.dot(x, x.T), w.view(w.f, [512, 512], [512, 1], [512, 512]), 0, 0)


def eight_bits(w: Writer) -> None:
    w.store(w.load(w.view(w.f, [32], [1], [32]), 0).to("f8E4M3FN"), w.view(w.q, [32], [1], [32]), 0)


def unsigned_floats(w: Writer) -> None:
    view = w.view(w.f, [32], [1], [32])
    w.store(w.load(view, 0).to("fnv8E5M3FNU").to("f32"), view, 0)


def bf16_update(w: Writer) -> None:
    i = w.iota(64)
    w.update(w.b[i], w.gather(w.b[i + 64])[0], mode="addf")


def parts_in_combiner(w: Writer) -> None:
    def join(a: list[Tile], b: list[Tile]) -> list[Tile]:
        both = w.op(ct.Cat, a[0].reshape(1), b[0].reshape(1), types=[TileType((2,), I32)], dim=0)
        return [w.op(ct.Extract, both, w.i32(1), types=[TileType((1,), I32)], segments=(1, 1)).reshape()]

    total = w.fold([w.iota(32)], 0, join, [0])[0]
    w.store(total.to("f32").splat(32), w.view(w.f, [32], [1], [32]), 0)


def pointers_in_combiner(w: Writer) -> None:
    def join(a: list[Tile], b: list[Tile]) -> list[Tile]:
        return [w.op(ct.PtrToInt, w.f[a[0] + b[0]], types=[TileType((), I64)])]

    total = w.fold([w.iota(32).to("i64")], 0, join, [0])[0]
    w.store(total.to("f32").splat(32), w.view(w.f, [32], [1], [32]), 0)


REFUSED: dict[str, tuple[Callable[[Writer], None], str, str]] = {
    "operands that the target has not": (f8_product, "mmaf", "no matrix instruction of sm_80 fits"),
    "no arithmetic in a combiner": (parts_in_combiner, "cat", "in a combiner"),
    "a pointer from outside of a combiner": (pointers_in_combiner, "offset", "type tile<ptr<f32>> from outside"),
    "atomic sum of bf16": (bf16_update, "atomic_rmw_tko", "no atomic sum of bf16"),
    "accumulator beyond the registers": (large_accumulator, "mmaf", "registers"),
    "conversion that the target has not": (eight_bits, "ftof", "sm_80 has no conversions of f8E4M3FN"),
    "conversion that no target has": (unsigned_floats, "ftof", "sm_80 has no conversions of fnv8E5M3FNU"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_rejected_at_its_location(name: str) -> None:
    write, op, message = REFUSED[name]
    w = Writer("refused", b="ptr<bf16>", h="ptr<f16>", f="ptr<f32>", q="ptr<f8E4M3FN>")
    w.promise(h=16, f=16, q=16)
    write(w)
    text = w.text()
    with pytest.raises(UnsupportedError) as caught:
        tilesat.compile(text)
    assert message in caught.value.message
    assert op in text.splitlines()[caught.value.location.line - 1]
    assert caught.value.hint


def test_every_operation_without_a_lowering_says_what_to_write_instead() -> None:
    outside = {"module", "global", "testing$func"}  # which stand in no entry
    refused = {op.info.mnemonic for name, op in OPS.items() if name.startswith("cuda_tile.") and not lowered(op)}
    assert refused - outside == set(INSTEAD)


def test_refusal_names_a_tile() -> None:
    """Types are printed as the source writes them, not as placed ones."""
    w = Writer("refused", f="ptr<f32>", q="ptr<f8E4M3FN>")
    f8_product(w)
    with pytest.raises(UnsupportedError, match="tile<64x64xf8E4M3FN>"):
        tilesat.compile(w.text())

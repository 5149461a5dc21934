"""`--viz`: a picture of each layout of the placed program, every one once."""

from __future__ import annotations

import html
import re
from pathlib import Path

import tilesat
from ir.types import TensorType
from lowering.layouts.layout import Layout
from tilesat.pictures import draw

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_every_layout_of_the_program_is_drawn(tmp_path: Path) -> None:
    """The placed program says which there are: rows of 1,024 over all threads, and what is left of a row."""
    kernel = tilesat.compile(EXAMPLES / "softmax.mlir")
    operations = kernel.compiled.modules["nv_tileas"].walk()
    kinds = {value.type for op in operations for value in (*op.operands, *op.results)}
    placed = [kind for kind in kinds if isinstance(kind, TensorType) and isinstance(kind.layout, Layout)]
    wanted = {("x".join(map(str, kind.shape)), str(kind.layout).removeprefix("#")) for kind in placed if kind.shape}
    assert {shape for shape, _ in wanted} == {"1x1024", "1x1", "1"}
    draw(kernel, tmp_path)
    pictures = [html.unescape(path.read_text()) for path in tmp_path.glob("layout*.dot")]
    drawn = [re.search(r"(\d[\dx]*): w warp, t lane, r register; #?(linear<[^>]*>)", text) for text in pictures]
    assert sorted(found.groups() for found in drawn if found) == sorted(wanted)
    texts = sorted(path.name for path in tmp_path.glob("layout*.txt"))
    assert texts == [f"layout{n}.txt" for n in range(len(wanted))]

"""`--viz`: a picture of each layout of the placed program, every one once."""

from __future__ import annotations

import html
import re
from pathlib import Path

import tilesat
from tilesat.pictures import draw

EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTED = re.compile(r"tensor<((?:\d+x)+)[a-z]\w*, #(linear<[^>]*>)>")


def test_every_layout_of_the_program_is_drawn(tmp_path: Path) -> None:
    """The printed program says which there are: rows of 1,024 over all threads, and what is left of a row."""
    kernel = tilesat.compile(EXAMPLES / "softmax.mlir")
    wanted = {(shape[:-1], layout) for shape, layout in PRINTED.findall(kernel.stages["nv_tileas"])}
    assert {shape for shape, _ in wanted} == {"1x1024", "1x1", "1"}
    draw(kernel, tmp_path)
    pictures = [html.unescape(path.read_text()) for path in tmp_path.glob("layout*.dot")]
    drawn = [re.search(r"(\d[\dx]*): w warp, t lane, r register; #?(linear<[^>]*>)", text) for text in pictures]
    assert sorted(found.groups() for found in drawn if found) == sorted(wanted)
    texts = sorted(path.name for path in tmp_path.glob("layout*.txt"))
    assert texts == [f"layout{n}.txt" for n in range(len(wanted))]

"""`--emit egraph`: every e-class with its type or its layout, every e-node once, attributes by name."""

import re
from collections import Counter
from pathlib import Path

import pytest

import tilesat
from egraph.frozen import Frozen

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.mlir"))
SMALL = """entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %c = constant <i32: -1> : tile<i32>
  %m = xori %n, %c : tile<i32>
  %d = divi %m, %n signed : tile<i32>
  %f = constant <f32: 0x7FC00000> : tile<f32>
  %z = cmpf equal ordered %f, %f : tile<f32> -> tile<i1>
  %t0 = make_token : token
  %x, %t = load_ptr_tko weak %p, %z token=%t0 : tile<ptr<i32>>, tile<i1> -> tile<i32>, token
  %y = addi %x, %d : tile<i32>
  %u = store_ptr_tko weak %p, %y token=%t : tile<ptr<i32>>, tile<i32> -> token
}
"""


def paragraphs(source: str | Path) -> tuple[str, list[str], list[str], Frozen]:
    """The heading, the classes, the layouts; and what was printed."""
    kernel = tilesat.compile(source)
    heading, *classes, layouts = kernel.stages["egraph"].rstrip("\n").split("\n\n")
    return heading, classes, layouts.splitlines(), kernel.compiled.selection.saturated.frozen


@pytest.mark.sampled(10)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_class_and_every_node_is_printed_once(path: Path) -> None:
    heading, classes, layouts, frozen = paragraphs(path)
    refs = [each.split(":")[0].splitlines()[0] for each in classes]
    assert refs == [f"c{c}" for c in sorted(frozen.by_class) if frozen.sort[c] == "V"] + [
        f"p{c}" for c in sorted(frozen.by_class) if frozen.sort[c] == "P"
    ]
    nodes = [re.match(r"  ([\w.]+)\(", line) for each in classes for line in each.splitlines()[1:]]
    assert Counter(match[1] for match in nodes if match) == Counter(node.op for node in frozen.nodes)
    sorts = Counter(frozen.sort)
    assert f"{sorts['V']} value classes, {sorts['P']} placed classes, {len(frozen.nodes)} e-nodes" in heading
    used = set(re.findall(r" in (L\d+)\n", "\n".join(classes)))
    assert used == {line.split(":")[0] for line in layouts}


def test_types_names_and_attributes_are_words() -> None:
    heading, classes, _, _ = paragraphs(SMALL)
    text = "\n".join(classes)
    assert heading.startswith("e-graph of @k: ")
    assert "splat(number=-1, tile<i32>)" in text
    assert "signedness=signed" in text
    assert "rounding=zero" in text
    assert re.search(r"c\d+: tile<i32> = %n\n  arg\(index=1, tile<i32>\)", text)
    assert re.search(r"load_ptr_tko\(c\d+, c\d+, c\d+, c\d+; order=weak, \(tile<i32>, token\)\)", text)
    assert re.search(r"p\d+: c\d+ in L0\n", text)
    assert "rule" not in heading


def test_columns_of_placed_operations_are_words() -> None:
    """By the names of their declarations: types, layouts, atoms and mechanisms for numbers."""
    path = next(path for path in EXAMPLES if path.stem == "gemm")
    text = tilesat.compile(path, "sm_90a").stages["egraph"]
    assert re.search(
        r"p\.copy\(p\d+, p\d+, c\d+; tile<128x64xf16>, view_type=.*, shared=L\d+, bytes=16, .*, mechanism=tma\)",
        text,
    )
    assert re.search(r"p\.shared_read\(p\d+; tile<\S+>, atom=ldmatrix, layout=L\d+\)", text)
    assert re.search(
        r"p\.wgmma\(p\d+, p\d+, p\d+; choice=wgmma\.\S+ on 1x1 warpgroups, fast=0, tile<\S+>, sign=1\)", text
    )
    assert re.search(r"cvt\(p\d+; tile<\S+>, source_layout=L\d+, layout=L\d+\)", text)

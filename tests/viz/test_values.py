"""The overview and values in detail, of a small record made by hand: what is drawn, what is linked, what is counted."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from viz import draw_focus, draw_overview
from viz.focus import MAX_NEAR, MAX_ROWS, distances, neighbours
from viz.overview import MAX_VALUES, picture_of
from viz.record import Effect, Form, Layout, Loop, Record, Term, Value, Way


def kernel() -> Record:
    """A product in a loop: %c = %x @ %y, two layouts, a runner-up and a way that is not legal; %k is a constant."""
    record = Record("k", "sm_90a", "k.mlir", {"cost": 100.0}, places=[("k.mlir", 4, 3)])
    names = ("%x", "%y", "%c", "%k", "%unused", "%arg")
    record.values = [Value(name, "tile<8x8xf32>", [name], places=[0], forms=[n]) for n, name in enumerate(names)]
    record.values[3].terms, record.values[3].type = [Term("constant", words="<i32: 7>")], "tile<i32>"
    record.values[5].terms, record.values[5].type = [Term("arg")], "tile<i32>"
    record.values[2].terms = [Term("mmaf", [0, 1], "fast_acc=0")]
    record.values[2].loop = 0
    record.layouts = [Layout("L8", "#linear"), Layout("L16", "#shared", bytes=2)]
    for number in range(6):
        way = Way("load", "ld.global of 16 bytes", "ld", "ld.global", 8.0, chosen=number != 4)
        record.forms.append(Form(number, 0, True, [way]))
    record.forms[2].ways = [
        Way("mmaf", "mma.sync.m16n8k16", "mma.sync.m16n8k16", cost=64.0, parts={"tensor": 60.0, "alu": 4.0},
            kids=[0, 1, 5], chosen=True),
        Way("mmaf", "wgmma.m64n8k16", "wgmma.m64n8k16", cost=72.0, kids=[0, 1], runner_up=8.0),
        Way("mmaf", "fma.rn.f32", "fma.rn.f32", reason="tensor cores compute this product", kids=[0, 1]),
    ]  # fmt: skip
    record.effects = [
        Effect("cuda_tile.store", [0], -1, [Way("store", "st.global of 16 bytes", kids=[2], chosen=True)])
    ]
    record.loops = [Loop("loop at line 4", [0], trips=32.0, around=[[0, 2, 2, 1]])]
    return record


def edges(source: str) -> set[tuple[str, str]]:
    return {(tail, head) for tail, head in re.findall(r"(\w+) -> (\w+)", source)}


def test_overview_has_a_node_a_value_and_a_cluster_a_loop() -> None:
    picture = draw_overview(kernel(), details=[2])
    nodes = set(re.findall(r"^\t+(\w+) \[label=<", picture.source, re.M))
    assert nodes == {"v0", "v1", "v2", "e0"}
    assert "loop at line 4, 32 iterations" in picture.source
    assert re.search(r"cluster_loop0\W[^}]*\bv2 \[", picture.source)
    assert {("v0", "v2"), ("v1", "v2"), ("v2", "e0")} <= edges(picture.source)
    assert "L8: mma.sync.m16n8k16" in picture.source
    assert "cost 64: tensor 60, alu 4" in picture.source
    assert "second: +8 cycles" in picture.source
    assert "of %arg" in picture.source  # an argument has no node and is said where it is read


def test_overview_counts_in_its_title_what_it_does_not_draw() -> None:
    picture = draw_overview(kernel())
    assert picture.note == "not drawn: 1 scalar constants, 1 values that the program does without, 1 arguments"
    assert picture.note in picture.source
    assert "3 of 6 values" in picture.source


def test_overview_links_to_the_details_that_there_are() -> None:
    source = draw_overview(kernel(), details=[2]).source
    assert re.findall(r'URL="([^"]+)"', source) == ["value-c.svg"]


def test_overview_of_many_values_is_cut_and_says_so() -> None:
    record = kernel()
    for number in range(200):
        record.forms.append(Form(6 + number, 0, True, [Way("addf", "addf", cost=1.0, chosen=True)]))
        record.values.append(Value(f"%v{number}", "tile<8xf32>", [f"%v{number}"], forms=[6 + number]))
    picture = draw_overview(record)
    assert f"{203 - MAX_VALUES} values beyond the first" in picture.note
    assert "%v199" not in picture.source


def test_details_show_every_way_with_its_cost_and_why_it_is_not_legal() -> None:
    picture = draw_focus(kernel(), 2, details=[0, 2], back="overview.svg")
    for text in (
        "✓ mma.sync.m16n8k16, cost 64: tensor 60, alu 4", "wgmma.m64n8k16, cost 72, second: +8",
        "fma.rn.f32", "not legal: tensor cores compute this product", "L8 in registers",
        "mmaf(%x, %y; fast_acc=0)",
    ):  # fmt: skip
        assert text in picture.source, text
    assert re.findall(r'URL="([^"]+)"', picture.source) == ["overview.svg", "value-x.svg"]
    assert not picture.note


def test_a_box_has_one_edge_to_ways_that_were_not_chosen() -> None:
    record = kernel()
    record.forms.append(Form(3, 0, True, [Way("constant", "constant", cost=1.0)]))
    record.forms[2].ways += [Way("mmaf", f"atom{n}", cost=100.0, kids=[0, 6]) for n in range(3)]
    found = {ends for ends in edges(draw_focus(record, 2).source) if not ends[0].startswith("t")}
    assert found == {("v0", "f2"), ("v1", "f2"), ("v5", "f2"), ("v3", "t2")}


def test_details_count_the_ways_that_are_left_out() -> None:
    record = kernel()
    record.forms[2].ways += [Way("mmaf", f"atom{n}", cost=100.0 + n, kids=[0]) for n in range(20)]
    record.values[2].forms.append(len(record.forms))
    record.forms.append(Form(2, 1, False, [Way("cvt", "converted from L8", cost=1.0, kids=[2])]))
    picture = draw_focus(record, 2)
    cut = 23 - MAX_ROWS
    assert picture.note == f"not drawn: 1 forms that are only converted to, {cut} ways"
    assert picture.note in picture.source
    assert f"and {cut} more ways" in picture.source


@pytest.mark.parametrize(("radius", "whole", "boxes"), [(1, {2}, {0, 1, 5}), (2, {2, 0, 1, 5}, set[int]())])
def test_the_radius_says_how_far_details_go(radius: int, whole: set[int], boxes: set[int]) -> None:
    source = draw_focus(kernel(), 2, radius).source
    assert set(map(int, re.findall(r"cluster_v(\d+)", source))) == whole
    assert set(map(int, re.findall(r"^\tv(\d+) \[", source, re.M))) == boxes


def test_many_neighbours_are_cut_and_counted() -> None:
    record = kernel()
    for number in range(60):
        record.values.append(Value(f"%u{number}", "tile<8xf32>", [f"%u{number}"], forms=[6 + number]))
        record.forms.append(Form(6 + number, 0, True, [Way("addf", "addf", kids=[2], cost=1.0)]))
    assert f"{63 - MAX_NEAR} values around" in draw_focus(record, 2).note


def test_distances_are_those_of_any_way() -> None:
    near = neighbours(kernel())
    assert distances(near, 0, 1) == {0: 0, 2: 1}
    assert distances(near, 0, 2) == {0: 0, 2: 1, 1: 2, 5: 2}


@pytest.mark.parametrize(
    ("names", "wanted"),
    [(["%x"], ["value-x"]), (["%x", "%x"], ["value-x", "value-x-1"]), (["%a#1"], ["value-a-1"])],
)
def test_pictures_of_values_have_names_of_their_own(names: Sequence[str], wanted: Sequence[str]) -> None:
    record = Record("k", "sm_80", "k", values=[Value(name, names=[name]) for name in names])
    assert [picture_of(record, number) for number in range(len(names))] == wanted

"""Pictures say what they show: every class, the chosen nodes and their cost, what was cut, who holds an element."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ir.core import Block, Op, Operand, Region, RegionField, Result, op, same_type_as
from ir.types import F32, I32, TensorType
from viz import Picture, draw_egraph, draw_layout, draw_program, layout_text
from viz.layout import holders


@dataclass
class Node:
    op: str
    cls: int
    children: tuple[int, ...] = ()
    literals: tuple[int, ...] = ()


@dataclass
class Bits:
    reg: tuple[int, ...]
    lane: tuple[int, ...]
    warp: tuple[int, ...] = ()


MMA_C = Bits(reg=(1, 64), lane=(2, 4, 8, 16, 32))
"""mma.sync m16n8 accumulator, 16x8 flattened row-major: row = lane>>2 + 8*(r>>1), column = 2*(lane&3) + (r&1)."""


def chain(length: int) -> list[Node]:
    """Class i holds a chosen node over class i+1 and a rival over class i+1 twice."""
    nodes = [Node("leaf", length - 1, literals=(7,))]
    for cls in range(length - 1):
        nodes += [Node(f"take{cls}", cls, (cls + 1,)), Node(f"leave{cls}", cls, (cls + 1, cls + 1))]
    return nodes


def parses(source: str) -> None:
    """Where Graphviz is installed, it must read what we write."""
    dot = shutil.which("dot")
    if dot is not None:
        done = subprocess.run([dot, "-Tcanon"], input=source, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert not done.stderr


def test_egraph_shows_classes_as_clusters_and_marks_the_chosen_with_cost() -> None:
    nodes = chain(3)
    chosen = {node.cls: index for index, node in enumerate(nodes) if node.op.startswith(("take", "leaf"))}
    picture = draw_egraph(nodes, [0], chosen, {index: 1.5 * index for index in chosen.values()})
    assert set(re.findall(r"cluster_c(\d+)\"? \{", picture.source)) == {"0", "1", "2"}
    bold = {line.split()[0] for line in picture.source.splitlines() if "penwidth=2.5" in line}
    assert bold == {f"n{index}" for index in chosen.values()}
    assert f"cost {1.5 * chosen[1]:.4g}" in picture.source
    assert not picture.note
    parses(picture.source)


def test_large_egraph_is_cut_near_the_root_and_says_so() -> None:
    nodes = chain(1000)
    picture = draw_egraph(nodes, [0], max_nodes=50)
    assert "cut to the neighbourhood of the root: 50 of 1999 nodes" in picture.note
    assert picture.note in picture.source
    assert "take0" in picture.source
    assert "take900" not in picture.source
    assert "stub25" in picture.source
    parses(picture.source)


def test_cut_egraph_keeps_the_chosen_program_before_alternatives() -> None:
    """Two branches of equal depth: the chosen one is followed to its end, the other only as room allows."""
    nodes = [Node("root", 0, (1,)), Node("rival", 0, (100,))]
    nodes += [Node("a", cls, (cls + 1,)) for cls in range(1, 9)] + [Node("end", 9)]
    nodes += [Node("b", cls, (cls + 1,)) for cls in range(100, 150)] + [Node("end", 150)]
    chosen = {0: 0, **{cls: cls + 1 for cls in range(1, 10)}}
    picture = draw_egraph(nodes, [0], chosen, max_nodes=14)
    assert all(f"cluster_c{cls}" in picture.source for cls in range(1, 10))
    assert "cluster_c103" not in picture.source


def test_cyclic_egraph_is_drawn() -> None:
    picture = draw_egraph([Node("neg", 0, (0,)), Node("x", 0)], [0])
    assert "n0 -> n0" in picture.source
    parses(picture.source)


@pytest.mark.parametrize("element", range(128))
def test_layout_names_the_holder_of_every_element(element: int) -> None:
    """Against the closed form of the mma.sync C fragment (PTX ISA, mma.m16n8k16)."""
    row, column = divmod(element, 8)
    lane = (row % 8) * 4 + column // 2
    register = 2 * (row // 8) + column % 2
    assert holders(MMA_C, 128)[element] == [(0, lane, register)]


def test_layout_text_is_a_grid_of_holders() -> None:
    lines = layout_text(MMA_C, (16, 8)).splitlines()
    assert len(lines) == 17
    cells = re.findall(r"w\d+ t\d+ r\d+", lines[1 + 9])
    assert cells[3] == "w0 t5 r3"


def test_replicated_elements_say_how_many_more_hold_them() -> None:
    replicated = Bits(reg=(), lane=(1, 2, 0, 0, 0), warp=(0,))
    assert "w0 t3 r0+15" in layout_text(replicated, (4,))


def test_large_layout_is_cut_and_says_so() -> None:
    rng = np.random.default_rng(3)
    bits = [1 << int(k) for k in rng.permutation(12)]
    picture = draw_layout(Bits(tuple(bits[:5]), tuple(bits[5:10]), tuple(bits[10:])), (64, 64))
    assert "32 of 64 rows" in picture.note
    assert picture.source.count("<TD") == 32 * 32
    parses(picture.source)


@op("test.loop")
class Loop(Op):
    start = Operand()
    body = RegionField()
    result = same_type_as("start")


@op("test.make")
class Make(Op):
    result = Result()


@op("test.step")
class Step(Op):
    source = Operand()
    result = same_type_as("source")


@op("test.func")
class Func(Op):
    body = RegionField()


def small_program(steps: int) -> Op:
    outer, inner = Block(), Block([I32])
    start = outer.append(Make((), [I32], {"note": 'a\\nb "quoted" <tag>'})).result0
    value = inner.args[0]
    for _ in range(steps):
        value = inner.append(Step([value])).result0
    outer.append(Loop([start], None, None, [Region([inner])]))
    outer.append(Make((), [TensorType((4, 8), F32)]))
    return Func((), (), {"sym_name": "kernel"}, [Region([outer])])


def test_program_shows_loops_as_clusters_and_values_as_edges() -> None:
    picture = draw_program(small_program(3))
    assert picture.source.count("subgraph cluster_") == 2
    assert picture.source.count("test.step") == 3
    assert "@kernel" in picture.source
    assert picture.source.count(" -> ") == 1 + 3 + 1  # start into the loop, the chain, the way round
    parses(picture.source)


@op("test.store")
class Store(Op):
    value = Operand()


def test_effects_are_kept_in_order_by_dotted_edges() -> None:
    block = Block()
    value = block.append(Make((), [I32])).result0
    for _ in range(3):
        block.append(Store([value]))
    picture = draw_program(Func((), (), {}, [Region([block])]))
    assert len(re.findall(r"-> \w+ \[.*style=dotted", picture.source)) == 2


def test_large_program_is_cut_and_says_so() -> None:
    picture = draw_program(small_program(900), max_ops=100)
    assert picture.source.count("test.step") < 100
    assert "the first 100 of 904 operations" in picture.source


def test_only_dot_is_written_where_graphviz_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [path.name for path in Picture("g", "digraph { a -> b }").write(tmp_path / "out")] == ["g.dot"]


def test_svg_and_png_are_written_where_dot_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = tmp_path / "dot"
    stand_in.write_text('#!/bin/sh\necho "drawn $1"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    written = Picture("g", "digraph { a -> b }").write(tmp_path / "out")
    assert [path.name for path in written] == ["g.dot", "g.svg", "g.png"]
    assert (tmp_path / "out" / "g.png").read_text() == "drawn -Tpng\n"

"""Pictures say what they show: every class, the chosen nodes and their cost, what was cut, who holds an element."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ir.core import Block, Op, Operand, Region, RegionField, Result, op, same_type_as
from ir.types import F32, I32, TensorType
from viz import Picture, draw_layout, draw_program, layout_text, missing_dot, write_pictures
from viz.layout import holders, offsets
from viz.record import Layout

MMA_C = Layout("L1", "#linear", reg=[1, 64], lane=[2, 4, 8, 16, 32])
"""mma.sync m16n8 accumulator, 16x8 flattened row-major: row = lane>>2 + 8*(r>>1), column = 2*(lane&3) + (r&1)."""
SWIZZLED = Layout("L2", "#shared", offset=[1, 2, 4, 8, 16, 32, 72, 144, 288], bytes=2)
"""8 rows of 64 f16 (128 bytes), swizzled by 128 bytes: byte ^= (byte >> 7 & 7) << 4 (PTX ISA, swizzling modes)."""


def parses(source: str) -> None:
    """Where Graphviz is installed, it must read what we write."""
    dot = shutil.which("dot")
    if dot is not None:
        done = subprocess.run([dot, "-Tcanon"], input=source, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert not done.stderr


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
    replicated = Layout("L", "#linear", reg=[], lane=[1, 2, 0, 0, 0], warp=[0])
    assert "w0 t3 r0+15" in layout_text(replicated, (4,))


def test_large_layout_is_cut_and_says_so() -> None:
    rng = np.random.default_rng(3)
    bits = [1 << int(k) for k in rng.permutation(12)]
    picture = draw_layout(Layout("L", "#linear", reg=bits[:5], lane=bits[5:10], warp=bits[10:]), (64, 64))
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


def test_scalar_constants_are_shown_where_they_are_read() -> None:
    block = Block()
    seven = block.append(Constant((), [I32], {"value": 7})).result0
    block.append(Store([seven]))
    picture = draw_program(Func((), (), {}, [Region([block])]))
    assert "test.store\\noperand 0 7" in picture.source
    assert "test.constant" not in picture.source
    assert picture.note == "1 scalar constants are in the boxes that read them"


@op("test.constant")
class Constant(Op):
    result = Result()


@pytest.mark.parametrize("row", range(8))
def test_a_swizzle_is_drawn_by_byte_and_bank(row: int) -> None:
    """Against the formula of the hardware, which moves 16 bytes by the number of the row."""
    found = offsets(SWIZZLED)[row * 64 : row * 64 + 64]
    assert found == [byte ^ (byte >> 7 & 7) << 4 for byte in range(row * 128, row * 128 + 128, 2)]
    cells = layout_text(SWIZZLED, (8, 64)).splitlines()[2 + row].split(" @")
    assert cells[8].split() == [str(found[8]), f"b{found[8] // 4 % 32}"]


def test_shared_memory_is_coloured_by_what_a_swizzle_moves() -> None:
    picture = draw_layout(SWIZZLED, (8, 64))
    grounds = re.findall(r'BGCOLOR="(#\w+)"', picture.source)
    assert len(set(grounds[:8])) == 1  # 16 bytes
    assert grounds[0] != grounds[8]
    assert grounds[32] == grounds[8]  # the next row begins where the first one has its second 16 bytes
    assert "32 of 64 columns" in picture.note
    parses(picture.source)


def test_only_dot_is_written_where_graphviz_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [path.name for path in Picture("g", "digraph { a -> b }").write(tmp_path / "out")] == ["g.dot"]
    assert "Graphviz's program 'dot' is not installed; apt-get install graphviz" in missing_dot()


def test_svg_is_written_where_dot_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process for all pictures; one that it left unfinished is not kept."""
    stand_in = tmp_path / "dot"
    stand_in.write_text('#!/bin/sh\necho "<svg>$*</svg>" > a.dot.svg\necho "<svg>" > b.dot.svg\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert not missing_dot()
    pictures = [Picture("a", "digraph { a -> b }", text="a to b"), Picture("b", "digraph { }")]
    written = write_pictures(pictures, tmp_path / "out")
    assert [path.name for path in written] == ["a.dot", "b.dot", "a.txt", "a.svg"]
    assert (tmp_path / "out" / "a.svg").read_text() == "<svg>-Tsvg -O a.dot b.dot</svg>\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.dot", "a.svg", "a.txt", "b.dot"]

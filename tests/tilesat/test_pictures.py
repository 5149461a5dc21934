"""The record of a compiled kernel, and `--viz`: what they say is what the compilation says."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

import pytest

import tilesat
from ir.core import TileError
from ir.load import load
from ir.types import TensorType
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout
from lowering.pipeline import Options
from lowering.selection import StoreChoice
from runtime.ptxas import Diagnostic, PtxasError, PtxasNotFoundError
from tilesat.cli import main
from tilesat.compiler import compile_module
from tilesat.pictures import draw, find_value
from tilesat.pictures.record import record_of
from viz.record import Record, Way
from viz.tensor_memory import draw_map, map_text, places, tile_text

EXAMPLES = Path(__file__).parents[2] / "examples"
GEMM = EXAMPLES / "gemm.mlir"
DOCS = EXAMPLES.parent / "docs"


@pytest.fixture(scope="module")
def kernel() -> tilesat.Kernel:
    return tilesat.compile(GEMM, "sm_90a")


@pytest.fixture(scope="module")
def record(kernel: tilesat.Kernel) -> Record:
    return record_of(kernel)


def ways(record: Record) -> list[Way]:
    return [way for form in record.forms for way in form.ways]


def chosen(record: Record, name: str) -> list[Way]:
    value = record.values[find_value(record, name)]
    return [way for form in value.forms for way in record.forms[form].ways if way.chosen]


@pytest.mark.in_turn
def test_values_have_their_names_and_no_list_is_one(record: Record) -> None:
    names = {name for value in record.values for name in value.names}
    assert {"%a_tile", "%b_transposed", "%acc_next", "%sum", "%lda"} <= names
    assert not {value.op for value in record.values} & {"cons", "nil", "none", "p.list"}
    view = record.values[find_value(record, "%a_view")]
    operands = {record.values[kid].names[0] for term in view.terms for kid in term.kids if record.values[kid].names}
    assert {"%a", "%m", "%k", "%lda"} <= operands  # behind lists of sizes and strides
    kids = {record.values[record.forms[kid].value].name for way in chosen(record, "%a_tile") for kid in way.kids}
    assert {"%bm", "%kt"} <= kids


def test_the_chosen_program_is_that_of_the_selection(kernel: tilesat.Kernel, record: Record) -> None:
    selection = kernel.compiled.selection
    known = {*selection.enodes, *(n for n, each in selection.choices.items() if isinstance(each, StoreChoice))}
    others = sum(float(selection.graph.cost[n]) for n in selection.answer.chosen.values() if n not in known)
    made = [*ways(record), *(way for effect in record.effects for way in effect.ways)]
    assert sum(way.cost or 0.0 for way in made if way.chosen) + others == pytest.approx(kernel.cost)
    product = next(way for way in chosen(record, "%acc_next") if way.op == "mmaf" or "wgmma" in way.atom)
    assert product.atom.startswith("wgmma.m64n128k16")
    assert set(product.parts) == {"tensor", "alu"}
    assert [way.stages for way in chosen(record, "%a_tile") if way.mechanism == "tma"] == [6]
    assert [effect.name for effect in record.effects] == ["cuda_tile.store_view_tko"]
    assert sum(way.chosen for way in record.effects[0].ways) == 1


def test_costs_by_pipe_add_up(record: Record) -> None:
    split = [way for way in ways(record) if way.parts]
    assert len(split) > 100
    for way in split:
        assert way.cost is not None
        assert sum(way.parts.values()) == pytest.approx(way.cost)


def test_what_is_not_legal_says_why(kernel: tilesat.Kernel, record: Record) -> None:
    illegal = [way for way in ways(record) if way.cost is None]
    assert illegal
    assert all(way.reason and not way.chosen for way in illegal)
    reasons = {f"{way.atom}: {way.reason}" for way in illegal}
    assert set(re.findall(r"not legal: (.*)", kernel.report)) <= reasons


def test_runners_up_are_those_of_explain(kernel: tilesat.Kernel, record: Record) -> None:
    said = re.findall(r"else .*the program then costs .*\(([+-][\d.e+]+)\)", kernel.report)
    found = [way.runner_up for way in ways(record) if way.runner_up is not None]
    assert found
    assert {f"{each:+g}" for each in found} <= set(said)


def test_loops_say_what_goes_round(record: Record) -> None:
    (loop,) = record.loops
    assert loop.name == "loop at line 46"
    names = [[record.values[number].names[0] for number in each] for each in loop.around]
    assert names == [["%acc_zero", "%acc", "%acc_next", "%product"]]
    assert record.values[find_value(record, "%acc_next")].loop == 0
    assert record.values[find_value(record, "%sum")].loop == -1


def test_levels_are_the_stages_line_by_line(kernel: tilesat.Kernel, record: Record) -> None:
    ptx = record.level("ptx")
    assert ptx is not None
    assert ptx.lines == kernel.ptx.splitlines()
    for name in ("nv_tileaa", "nvgpu", "nvvm"):
        level = record.level(name)
        assert level is not None
        text = kernel.stages[name].splitlines()
        assert [line.partition("#")[0] for line in level.lines] == [line.partition("#")[0] for line in text], name


@pytest.mark.parametrize(("level", "holds"), [
    (str(GEMM), "mmaf"), ("nv_tileaa", "nv_tileaa.dot"), ("nv_tileas", "nv_tileas.dot"), ("nvgpu", "wgmma"),
    ("nvvm", "wgmma"), ("ptx", "wgmma.mma_async"),
])  # fmt: skip
def test_a_line_of_the_source_is_found_at_every_level(record: Record, level: str, holds: str) -> None:
    """The product, line 50 of the source."""
    place = next(n for n, (_, line, _) in enumerate(record.places) if line == 50)
    found = record.level(level)
    assert found is not None
    marked = [line for line, places in zip(found.lines, found.places, strict=True) if place in places]
    assert any(holds in line for line in marked), marked[:5]
    assert place in record.values[find_value(record, "%acc_next")].places


def test_agents_rings_and_schedules_are_there(record: Record) -> None:
    assert [agent.warps for agent in record.agents] == [[0, 1, 2, 3], [4]]
    steps = [[(step.kind, step.depth) for step in agent.steps] for agent in record.agents]
    assert ("product", 1) in steps[0]
    assert ("copy", 1) in steps[1]
    lines = record.level("nv_tileas")
    assert lines is not None
    for step in (step for agent in record.agents for step in agent.steps if step.kind != "loop"):
        assert step.text.split(" ")[0].rstrip(",") in lines.lines[step.line]
    assert [ring.stages for ring in record.rings] == [6, 6, 6]
    (schedule,) = record.schedules
    assert schedule.proved
    assert set(schedule.table) == {"global", "tensor", "issue"}
    assert all(len(row) == schedule.interval for row in schedule.table.values())


def test_saturation_is_shown_by_iteration(kernel: tilesat.Kernel, record: Record) -> None:
    report = kernel.compiled.saturated.report
    assert sum(entry[0] for each in record.saturation for entry in each.rules.values()) == report.matches()
    counted = [each.rows for each in record.saturation if each.rows is not None]
    assert counted == [rows for _, _, rows in report.sizes]
    assert {each.ruleset for each in record.saturation} == {"analysis", "canon", "algebra", "placement"}
    assert record.stopped == {phase: reason.value for phase, reason in report.stop.items()}


def test_every_layout_of_the_program_is_drawn(kernel: tilesat.Kernel, record: Record) -> None:
    """The placed program says which there are: of registers and of shared memory."""
    operations = kernel.compiled.modules["nv_tileas"].walk()
    kinds = {value.type for op in operations for value in op.results}
    placed = [kind for kind in kinds if isinstance(kind, TensorType) and isinstance(kind.layout, Layout | SharedLayout)]
    wanted = {f"{'x'.join(map(str, kind.shape))} {kind.layout}" for kind in placed if kind.shape}
    drawn = [picture.text.splitlines()[0] for picture in draw(kernel, record) if picture.name.startswith("layout")]
    found = {re.sub(r"L\d+ ([\dx]+): .*; (#.*)", r"\1 \2", text) for text in drawn}
    assert found == wanted
    assert len(drawn) == len(wanted)
    assert any("#shared" in text for text in drawn)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_the_overview_of_a_gemm_fits_a_screen(kernel: tilesat.Kernel, record: Record, tmp_path: Path) -> None:
    """2,000 pixels of 96 an inch, of which Graphviz counts points of 72."""
    (overview,) = (picture for picture in draw(kernel, record) if picture.name == "overview")
    overview.write(tmp_path)
    width = re.search(r'width="(\d+)pt"', (tmp_path / "overview.svg").read_text())
    assert width is not None
    assert int(width[1]) * 96 / 72 <= 2000


@pytest.mark.in_turn
def test_viz_links_its_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["compile", str(GEMM), "-o", str(tmp_path / "k.ptx"), "--viz", str(tmp_path / "viz")]) == 0
    links = set(re.findall(r'URL="value-([\w-]+).svg"', (tmp_path / "viz" / "overview.dot").read_text()))
    assert {"acc_next", "a_tile", "b_tile"} <= links
    for link in links:
        text = (tmp_path / "viz" / f"value-{link}.dot").read_text()
        assert 'URL="overview.svg"' in text
        assert not re.search(r"\bc\d+\b", text), "a class number"


def test_viz_says_once_that_dot_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    command = ["compile", str(EXAMPLES / "vecadd_view.mlir"), "--target", "sm_80,sm_90a", "-o", str(tmp_path / "k.ptx")]
    assert main([*command, "--viz", str(tmp_path / "viz")]) == 0
    assert capsys.readouterr().err.count("'dot' is not installed; apt-get install graphviz") == 1
    assert (tmp_path / "viz" / "sm_80" / "overview.dot").exists()
    assert (tmp_path / "viz" / "sm_90a" / "overview.dot").exists()


@pytest.mark.in_turn
def test_focus_draws_what_is_asked_for(tmp_path: Path) -> None:
    command = ["compile", str(GEMM), "-o", str(tmp_path / "k.ptx"), "--viz", str(tmp_path / "viz")]
    assert main([*command, "--viz-focus", "%acc", "--viz-focus", "a_tile:2"]) == 0
    made = {path.name for path in (tmp_path / "viz").glob("*.dot")}
    assert made == {"overview.dot", "value-acc.dot", "value-a_tile.dot"}


def test_focus_on_no_value_names_those_that_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kernel: tilesat.Kernel, record: Record
) -> None:
    """And nothing is written."""
    command = ["compile", str(GEMM), "-o", str(tmp_path / "k.ptx"), "--viz", str(tmp_path / "viz")]
    assert main([*command, "--viz-focus", "accumulator"]) == 1
    said = capsys.readouterr().err
    assert "error: @gemm has no value %accumulator" in said
    assert "%acc, %acc_next" in said
    assert not list(tmp_path.iterdir())
    with pytest.raises(TileError, match="no value %accumulator"):
        draw(kernel, record, [("accumulator", 1)])


def test_focus_without_a_folder_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(GEMM), "--viz-focus", "acc"]) == 1
    assert "--viz-focus selects what --viz DIR draws" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["acc:0", "acc:x", "%", ":1"])
def test_a_focus_that_cannot_be_read_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compile", str(GEMM), "--viz", "x", "--viz-focus", text])
    assert f"cannot parse {text!r}: expected VALUE or VALUE:RADIUS" in capsys.readouterr().err


def test_a_stored_kernel_has_no_record(kernel: tilesat.Kernel) -> None:
    import pickle

    with pytest.raises(TileError, match="a stored kernel has no e-graph to show"):
        record_of(pickle.loads(pickle.dumps(kernel)))


def test_nodes_say_which_rule_made_them_where_that_was_recorded(record: Record) -> None:
    assert not any(way.rule or way.origin for way in ways(record))
    module = load((EXAMPLES / "vecadd_view.mlir").read_text())
    (traced,) = compile_module(module, module.entries[0], ["sm_80"], Options(provenance=True), {})
    found = record_of(traced, texts=False)
    rules = {way.rule for way in ways(found)}
    assert "place/addf" in rules
    assert "" not in {way.rule for way in ways(found) if way.chosen}
    (term,) = (term for value in found.values for term in value.terms if term.op == "addf")
    assert (term.rule, term.origin) == ("", "in the source")
    origin = next(way.origin for way in ways(found) if way.rule == "place/addf")
    assert origin.startswith("iteration ")
    assert " of placement, from " in origin


def test_pictures_of_the_documentation_are_of_this_compiler(kernel: tilesat.Kernel, record: Record) -> None:
    """The values that they name; to draw them again: the command of docs/pictures.md with --viz-focus."""
    focus = [("%acc_next", 1), ("%a_tile", 1)]
    for picture in draw(kernel, record, focus):
        committed = (DOCS / "pictures" / f"{picture.name}.svg").read_text()
        wanted = set(re.findall(r"<B>(%[^<]*)</B>", picture.source))
        assert wanted
        found = {html.unescape(text) for text in re.findall(r'font-weight="bold"[^>]*>([^<]*)<', committed)}
        assert wanted <= found, picture.name
    drawn = {"overview", "value-acc_next", "value-a_tile", "tensor-memory"}
    assert {path.stem for path in (DOCS / "pictures").iterdir()} == drawn


@pytest.mark.in_turn
def test_the_picture_of_tensor_memory_in_the_documentation_is_of_this_compiler() -> None:
    """To draw it again: the command beside it in docs/pictures.md."""
    record = record_of(tilesat.compile(EXAMPLES / "flash_attention.mlir", "sm_100a"), texts=False)
    committed = (DOCS / "pictures" / "tensor-memory.svg").read_text()
    found = {html.unescape(text) for text in re.findall(r">([^<>]+)</text>", committed)}
    for tile in record.tensor_tiles:
        assert {f"{tile.name}: {tile.text}", *tile.uses} <= found
    assert f"tensor memory: {record.tensor_columns} of 512 columns" in committed


@pytest.mark.in_turn
def test_tiles_of_tensor_memory_lie_where_the_program_has_them() -> None:
    """Attention: scores, the sum, and the left factor that threads write; who begins, writes and reads."""
    kernel = tilesat.compile(EXAMPLES / "flash_attention.mlir", "sm_100a")
    record = record_of(kernel)
    scores, total, left = record.tensor_tiles
    assert [(each.first, each.columns, each.shape) for each in (scores, total, left)] == [
        (0, 64, [128, 64]), (64, 64, [128, 64]), (128, 32, [128, 64])
    ]  # fmt: skip
    assert record.tensor_columns == record.figures["columns of tensor memory"] == 256
    lane, column, bit = places(left)[5 * 64 + 3]  # row 5, element 3 of 16 bits
    assert (lane, column, bit) == (5, 128 + 1, 16)
    assert places(scores)[127 * 64 + 63] == (127, 63, 0)
    assert "read by warps 0 to 3" in scores.uses
    assert any(use.startswith("left factor of products begun by warp ") for use in left.uses)
    text = map_text(record)
    assert "columns 128 to 159: T2, left factor of f16" in text
    assert {"tensor-memory", "tensor-T0", "tensor-T2"} <= {picture.name for picture in draw(kernel, record)}
    nv_tileas = record.level("nv_tileas")
    assert nv_tileas is not None
    assert "alloc_tensor_memory" in nv_tileas.lines[left.line]


@pytest.mark.in_turn
def test_scales_in_tensor_memory_are_four_times_there() -> None:
    """PTX ISA, Scale Factor layouts: row r in lane r mod 32 of each quarter, column r / 32, four scales a word."""
    record = record_of(tilesat.compile(EXAMPLES / "blackwell" / "gemm_mxfp8.mlir", "sm_100a"), texts=False)
    of_a, of_b = (tile for tile in record.tensor_tiles if "scales" in tile.text)
    for tile in (of_a, of_b):
        assert tile.copies == 3
        assert places(tile)[70 * 4 + 3] == (70 % 32, tile.first + 70 // 32, 24)
    assert of_b.first == of_a.first + of_a.columns == of_a.first + 4
    assert "l6+3" in tile_text(of_a)


@pytest.mark.in_turn
def test_accumulators_in_turn_are_stages() -> None:
    record = record_of(tilesat.compile(GEMM, "sm_100a", persistent="static"), texts=False)
    (accumulator,) = record.tensor_tiles
    assert accumulator.stages == 2
    assert "columns 128 to 255: T0, accumulator of f32, stage 1" in map_text(record)
    assert "stage 1" in draw_map(record).source


def test_without_tensor_memory_there_is_no_picture_of_it(kernel: tilesat.Kernel, record: Record) -> None:
    assert not record.tensor_tiles
    assert not any("tensor" in picture.name for picture in draw(kernel, record))


def test_a_ptxas_error_is_shown_instead_of_sass(kernel: tilesat.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise PtxasError("sm_90a", [Diagnostic(3, "", "Unsupported .target")])

    monkeypatch.setattr("tilesat.pictures.texts.sass", refuse)
    level = record_of(kernel).level("sass")
    assert level is not None
    assert any("Unsupported .target" in line for line in level.lines)
    assert len(level.places) == len(level.lines)


@pytest.mark.in_turn
def test_without_ptxas_there_is_no_sass(kernel: tilesat.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> str:
        raise PtxasNotFoundError("ptxas is not installed")

    monkeypatch.setattr("tilesat.pictures.texts.sass", missing)
    assert record_of(kernel).level("sass") is None

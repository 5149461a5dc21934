"""E-graphs as files: read back, run by egglog, shown in notebooks."""

import json
from collections import Counter
from pathlib import Path

import pytest

import tilesat
from egraph import bindings
from egraph.frozen import Frozen
from egraph.rulefile import read_commands
from extract import Graph, GraphBuilder, InfeasibleError, extract
from extract.gym import from_data, read, to_data
from tilesat.cli import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture(scope="module")
def kernel() -> tilesat.Kernel:
    return tilesat.compile(EXAMPLES / "softmax.mlir", "sm_90a", fast=["nsz"])


def test_what_is_written_reads_back(kernel: tilesat.Kernel, tmp_path: Path) -> None:
    path = tmp_path / "softmax.json"
    path.write_text(kernel.egraph.json)
    graph = read(path)
    answer = extract(graph, "auto")
    assert answer.cost == pytest.approx(kernel.cost)
    assert answer.bound == pytest.approx(kernel.bound)
    assert graph.resource_names == kernel.graph.resource_names
    assert graph.limit.tolist() == kernel.graph.limit.tolist()
    assert graph.groups == kernel.graph.groups
    data = json.loads(path.read_text())
    assert data.keys() == {"nodes", "root_eclasses", "class_data", "limits"}
    for node in data["nodes"].values():
        assert all(child in data["nodes"] for child in node["children"])  # as extraction-gym has them
        assert isinstance(node["cost"], float)


def test_egglog_runs_what_is_written_and_ends_with_the_same_egraph(kernel: tilesat.Kernel) -> None:
    egraph = bindings.load().EGraph()
    for command in read_commands(kernel.egraph.egglog, "softmax.egg"):  # one by one: parsing a long text is quadratic
        egraph.run_program(*egraph.parse_program(command.text))
    found = Frozen.of(egraph)
    assert Counter(node.op for node in found.nodes) == Counter(node.op for node in kernel.egraph.frozen.nodes)
    assert Counter(found.sort) == kernel.egraph.sorts
    assert found.relations["allow"] == [(0,)]


def test_stages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(EXAMPLES / "vecadd_view.mlir")
    assert main(["compile", source, "--emit", "egraph-json"]) == 0
    assert json.loads(capsys.readouterr().out)["root_eclasses"]
    assert main(["compile", source, "--emit", "egglog"]) == 0
    assert "(run-schedule (saturate" in capsys.readouterr().out
    assert main(["compile", source, "--emit", "egraph"]) == 0
    out = capsys.readouterr().out
    assert "\n  addf(" in out
    assert "\n  p.addf(" in out


def test_a_limit_is_said_in_the_program() -> None:
    kernel = tilesat.compile(EXAMPLES / "vecadd_view.mlir", saturate_budget=3)
    assert "; saturation stopped at a limit: algebra at its limit" in kernel.egraph.egglog


def constrained() -> Graph:
    builder = GraphBuilder(resource_names=["smem"], limit=[float("inf")])
    builder.add("root", 0, [1, 2], 1.0)
    builder.add("a", 1, [3], 2.0, group=0, alternative=1, resource=[4.0])
    builder.add("b", 1, [], float("inf"))
    builder.add("c", 2, [], 0.5, group=0, alternative=1)
    builder.add("never", 2, [4], 0.1)
    builder.add("d", 3, [], 0.0)
    builder.add("forbidden", 4, [], float("inf"))
    return builder.build(root=0)


def test_forbidden_nodes_are_left_out_with_what_needs_them() -> None:
    data = to_data(constrained())
    assert sorted(node["op"] for node in data["nodes"].values()) == ["a", "c", "d", "root"]
    assert data["nodes"]["n1"] | {} == {
        "op": "a", "children": ["n5"], "eclass": "c1", "cost": 2.0, "subsumed": False, "group": 0, "alternative": 1,
        "resources": {"smem": 4.0},
    }  # fmt: skip
    assert data["limits"] == {"smem": "inf"}
    assert extract(from_data(data), "auto").cost == 3.5
    with pytest.raises(InfeasibleError, match="root class 0 has no node that is not forbidden"):
        to_data(constrained().forbid([1]))


def test_notebooks_show_a_few_lines(kernel: tilesat.Kernel) -> None:
    layouts = kernel.egraph.layouts
    assert {type(each).__name__ for each in layouts.values()} == {"Layout", "SharedLayout"}
    for each in (kernel, kernel.egraph, kernel.saturation, *layouts.values()):
        assert 20 < len(each._repr_html_()) < 2000
    for each in (kernel, kernel.egraph, kernel.saturation, kernel.graph, kernel.extraction):
        assert len(repr(each)) < 150
    assert "value classes" in repr(kernel.egraph)
    assert "cost" in kernel._repr_html_()

"""Experiments: configurations, records, tables, functions of the user's."""

import json
from pathlib import Path

import numpy as np
import pytest

from extract import CheckError, ExtractionError, Graph, GraphBuilder, extract
from extract.own import recosted
from ir.core import TileError
from lowering.passes.source import Prepared
from lowering.targets import target
from lowering.targets.changed import changed, names
from tilesat import lab
from tilesat.cli import main
from tilesat.lab.bench import Bench, Case, Run
from tilesat.lab.experiment import Bar

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
VECADD = EXAMPLES / "vecadd_view.mlir"
SOFTMAX = EXAMPLES / "softmax.mlir"


def cheapest(graph: Graph) -> dict[int, int]:
    """The answer of `tree`, as a user's function would give it."""
    return extract(graph, "tree").chosen


def fewest(graph: Graph) -> np.ndarray:
    return np.ones(graph.n_nodes)


@pytest.fixture(scope="module")
def table() -> lab.Table:
    ways = [
        {"measure": "none"}, {}, {"measure": "rules"}, {"extractor": cheapest}, {"costs": fewest},
        {"rates": {"mufu": 1.0}}, {"matches": 5}, {"only": ["sink-negf"]},
    ]  # fmt: skip
    return lab.experiment(SOFTMAX, "sm_80", ways, assemble=False)


@pytest.mark.in_turn
def test_a_row_for_each_configuration(table: lab.Table) -> None:
    assert [each.configuration for each in table] == [
        "measure=none", "default", "measure=rules", "extractor=cheapest", "costs=fewest", "rates=mufu:1",
        "matches=5", "only=sink-negf",
    ]  # fmt: skip
    assert not table.failed
    assert len({each.key for each in table}) == len(table)
    for each in table:
        assert each.saturation is not None
        assert each.extraction is not None
        assert each.extraction.bound <= each.extraction.cost + 1e-6
        assert sum(each.extraction.parts.values()) == pytest.approx(each.extraction.table_cost)
        assert each.no_code == "not asked"


@pytest.mark.in_turn
def test_sizes_are_counted_where_asked(table: lab.Table) -> None:
    plain, counted, alone = (each.saturation for each in table[:3])
    assert plain is not None
    assert counted is not None
    assert alone is not None
    assert plain.rulesets == {}
    assert any(each.rows is None for each in plain.growth)
    assert all(each.rows is not None for each in counted.growth)
    assert sum(counted.rulesets.values()) == counted.rows - counted.loaded
    assert {each.rows for each in counted.rules} == {None}
    assert sum(each.rows or 0 for each in alone.rules) == alone.rows - alone.loaded
    assert sum(each.matches for each in plain.rules) == plain.matches
    assert plain.resolution == 0.001


def test_what_the_user_changes_counts(table: lab.Table) -> None:
    _, default, _, own, costs, rates, limited, only = table
    assert own.extraction is not None
    assert own.extraction.method == "cheapest"
    assert own.extraction.gap >= 0
    assert costs.extraction is not None
    assert costs.extraction.cost == round(costs.extraction.cost) < costs.extraction.table_cost
    assert rates.extraction is not None
    assert default.extraction is not None
    assert rates.extraction.busy["mufu"] == pytest.approx(16 * default.extraction.busy["mufu"])
    assert limited.saturation is not None
    assert limited.saturation.ended.startswith("algebra at its limit of")
    assert only.saturation is not None
    rewrites = {"float/", "integer/", "shape/"}
    assert not any(use.rule.startswith(tuple(rewrites)) for use in only.saturation.rules)


def test_tables_as_files(table: lab.Table, tmp_path: Path) -> None:
    assert json.loads(table.to_json())[0]["kernel"] == "softmax"
    lines = table.to_csv().splitlines()
    assert lines[0].startswith("kernel,target,configuration,seconds,compile_seconds,stop,rows")
    assert len(lines) == 1 + len(table)
    markdown = table.to_markdown()
    assert markdown.startswith("| kernel | target | configuration |")
    assert "spills" not in markdown  # an empty column
    path = tmp_path / "records.jsonl"
    path.write_text(table.to_jsonl() + '{"half')
    assert list(lab.Table.read(path)) == list(table)
    path.write_text('{"half\n' + table.to_jsonl())
    with pytest.raises(TileError, match="cannot read a record"):
        lab.Table.read(path)
    with pytest.raises(TileError, match="a table has no column 'speed'"):
        table.to_markdown(["speed"])
    with pytest.raises(TileError, match="format: expected one of csv, json, jsonl, markdown"):
        table.text("xml")
    assert table.rules()[0].keys() >= {"kernel", "rule", "matches", "seconds"}
    assert table.growth()[0].keys() >= {"kernel", "iteration", "rows"}
    assert "<table>" in table._repr_html_()


def test_no_pandas(table: lab.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilesat.lab.table.find_spec", lambda name: None)
    with pytest.raises(TileError, match="pandas is not installed"):
        table.to_pandas()


def test_results_are_checked() -> None:
    args = ("f32[1000]=normal:1", "f32[1000]=normal:2", "f32[1000]=zeros", "i32=1000")
    case = Case(VECADD, grid=1, args=args)
    right = lab.experiment(case, "sm_80", check=True, assemble=False)[0]
    assert right.checked is not None
    assert (right.checked.correct, right.checked.error) == (True, 0.0)
    without = lab.experiment(VECADD, "sm_80", check=True, assemble=False)[0]
    assert "results cannot be checked without a grid and arguments" in without.error


def test_wrong_rules_are_found_by_the_check(tmp_path: Path) -> None:
    path = tmp_path / "wrong.egg"
    path.write_text('(rewrite (addf x y r f) (subf x y r f) :ruleset algebra :subsume :name "mine/wrong")\n')
    args = ("f32[1000]=normal:1", "f32[1000]=normal:2", "f32[1000]=zeros", "i32=1000")
    case = Case(VECADD, grid=1, args=args)
    found = lab.experiment(case, "sm_80", [{"rules": [path]}], check=True, assemble=False)[0]
    assert found.checked is not None
    assert not found.checked.correct


def test_a_run_that_dies_is_a_row() -> None:
    def dies(graph: Graph) -> dict[int, int]:
        raise ZeroDivisionError("no")

    def wrong(graph: Graph) -> list[int]:
        return [1]

    table = lab.experiment(VECADD, "sm_80", [{"extractor": dies}, {"extractor": wrong}, {}], assemble=False)
    assert [bool(each.error) for each in table] == [True, True, False]
    assert "extractor dies: ZeroDivisionError: no" in table[0].error
    assert "extractor wrong: expected a node for each class as a mapping, got [1]" in table[1].error
    assert "error" in table.to_markdown()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"speed": 1}, "a configuration has no 'speed'"),
        ({"measure": "all"}, "measure: expected one of iterations, rules, none, got 'all'"),
        ({"matches": -1}, "matches: expected a number above 0, got -1"),
        ({"forbid": "ldmatrix"}, "forbid: expected a list of names"),
        (
            {"extractor": "best"},
            "extractor: expected one of auto, tree, greedy, pruned, ilp, top:N, or a function, got 'best'",
        ),
        ({"only": ["sink-ngef"]}, "no rule has a name that starts with 'sink-ngef'"),
        ({"scheduler": "random"}, "scheduler: expected one of turns, alone, back-off, got 'random'"),
        ({"extractor": "none.py:best"}, "cannot read this file"),
    ],
)
def test_configurations_that_mean_nothing(given: dict, message: str) -> None:
    with pytest.raises(TileError) as caught:
        lab.experiment(VECADD, "sm_80", [given])
    assert message in caught.value.message


def test_functions_by_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("from extract import extract\nimport numpy as np\nx = 1\n"
                    "def best(graph): return extract(graph, 'greedy').chosen\n"
                    "def ones(graph): return np.ones(graph.n_nodes)\n")  # fmt: skip
    found = lab.experiment(VECADD, "sm_80", [{"extractor": f"{path}:best", "costs": f"{path}:ones"}], assemble=False)[0]
    assert found.extraction is not None
    assert found.extraction.method == "best"
    with pytest.raises(TileError, match="there is no function 'x'"):
        lab.experiment(VECADD, "sm_80", [{"extractor": f"{path}:x"}])
    path.write_text("1 / 0\n")
    other = tmp_path / "other.py"
    other.write_text("1 / 0\n")
    with pytest.raises(TileError, match="ZeroDivisionError: division by zero"):
        lab.experiment(VECADD, "sm_80", [{"costs": f"{other}:ones"}])


def test_rates() -> None:
    tier = target("sm_80")
    assert changed(tier, ()) is tier
    slow = changed(tier, (("latency.global", 999.0), ("tensor.f16", 8.0), ("mufu", 2.0)))
    assert (slow.latency.global_, slow.throughput.tensor["f16"], slow.throughput.mufu) == (999.0, 8.0, 2.0)
    assert slow is changed(tier, (("latency.global", 999.0), ("tensor.f16", 8.0), ("mufu", 2.0)))
    assert slow.throughput.mufu.source == "given by the user"
    assert "latency.global" in names(tier)
    with pytest.raises(TileError, match="sm_80 has no rate 'speed'"):
        changed(tier, (("speed", 1.0),))
    with pytest.raises(TileError, match="rate 'mufu': expected a number above 0, got -1"):
        changed(tier, (("mufu", -1.0),))


def small() -> Graph:
    builder = GraphBuilder()
    builder.add("root", 0, [1], 1.0)
    builder.add("dear", 1, [], 5.0)
    builder.add("cheap", 1, [], 2.0)
    builder.add("forbidden", 1, [], np.inf)
    return builder.build(root=0)


def test_answers_of_own_extractors_are_checked() -> None:
    graph = small()
    answer = extract(graph, lambda g: {0: 0, 1: 1})
    assert (answer.cost, answer.bound, answer.gap) == (6.0, 3.0, 0.5)
    assert extract(graph, lambda g: extract(g, "tree")).cost == 3.0
    with pytest.raises(CheckError, match="is needed but has no chosen node"):
        extract(graph, lambda g: {0: 0})
    with pytest.raises(CheckError, match="is forbidden but chosen"):
        extract(graph, lambda g: {0: 0, 1: 3})
    with pytest.raises(ExtractionError, match="class 1 is assigned node 0, which is not in it"):
        extract(graph, lambda g: {0: 0, 1: 0})
    with pytest.raises(ExtractionError, match="its answer costs 6, not less than 6"):
        extract(graph, lambda g: {0: 0, 1: 1}, below=6.0)


def test_own_costs() -> None:
    graph = recosted(small(), lambda g: np.arange(4.0))
    assert graph.cost.tolist() == [0.0, 1.0, 2.0, np.inf]
    with pytest.raises(ExtractionError, match="expected 4 costs, one for each node, got an array of shape"):
        recosted(small(), lambda g: [1.0])
    with pytest.raises(ExtractionError, match=r"cost function .*: KeyError: 'no'"):
        recosted(small(), lambda g: {}["no"])


def test_what_runs_share_is_made_once() -> None:
    bench = Bench()
    case = Case(VECADD).loaded()
    for way in lab.grid(forbid=[(), ("st.global.v8",)], extractor=["auto", "greedy"]):
        assert not bench.run(Run(case, "sm_80", way, assemble=False)).error
    (read,) = bench.kernels.values()
    made = [each[0] for each in read.shared["sm_80"].results.values() if isinstance(each, tuple)]
    assert sum(isinstance(each, Prepared) for each in made) == 1


def test_a_second_start_runs_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs" / "records.jsonl"
    ways = list(lab.grid(extractor=["auto", "greedy"]))
    first = lab.experiment(VECADD, "sm_80", ways[:1], assemble=False, records=path)
    path.write_text(path.read_text() + '{"unfinis')
    ran: list[str] = []
    run = Bench.run
    monkeypatch.setattr(Bench, "run", lambda self, given: ran.append(str(given.configuration)) or run(self, given))
    both = lab.experiment(VECADD, "sm_80", ways, assemble=False, records=path)
    assert ran == ["extractor=greedy"]
    assert both[0] == first[0]
    assert [each.configuration for each in both] == ["default", "extractor=greedy"]


def test_those_that_died_run_again_where_asked(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    mine = tmp_path / "mine.py"
    mine.write_text("def best(graph): raise ValueError('not yet')\n")
    way = {"extractor": f"{mine}:best"}
    assert lab.experiment(VECADD, "sm_80", [way], assemble=False, records=path)[0].error
    assert lab.experiment(VECADD, "sm_80", [way], assemble=False, records=path, retry=True)[0].error
    assert len(path.read_text().splitlines()) == 2


def test_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    bar = Bar(4, 1, sys.stdout)
    bar.step(lab.Record("k", "gemm", "sm_80", "default", error="died"))
    bar.end()
    assert capsys.readouterr().out == f"\r[{'#' * 15}{'.' * 15}] 2/4, 1 known before, 1 failed\n"


@pytest.mark.in_turn
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ways = tmp_path / "ways.json"
    ways.write_text('[{"name": "plain"}, {"name": "loose", "fast": ["nsz"]}]')
    out = tmp_path / "table.csv"
    words = ["experiment", str(VECADD), "--target", "sm_80,sm_90a", "--configurations", str(ways), "--no-ptxas"]
    assert main([*words, "--vary", "extractor=auto;greedy", "--vary", "rates=;mufu:8", "-o", str(out)]) == 0
    assert len(out.read_text().splitlines()) == 1 + 2 * 2 * 2 * 2
    assert main([*words, "--vary", "budget=;2", "--progress"]) == 0
    done = capsys.readouterr()
    assert done.out.startswith("| kernel | target | configuration |")
    assert done.err.endswith("] 8/8\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--vary", "forbid"], "--vary forbid: expected NAME=VALUE;VALUE"),
        (["--vary", "matches=many"], "matches: expected a number, got 'many'"),
        (["--vary", "rates=mufu:x"], "rate mufu: expected a number, got 'x'"),
        (["--sig", "f32[?]"], "is not a cuTile kernel, so it takes no signature"),
        (["--target", "sm_1"], "unknown target 'sm_1'"),
        (["--configurations", "bad.json"], "cannot read configurations"),
        (["--configurations", "list.json"], "expected an object, or a list of objects"),
    ],
)
def test_command_lines_that_mean_nothing(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "list.json").write_text("[1]")
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", str(VECADD), *words]) == 1
    assert message in capsys.readouterr().err


def test_cutile_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = f"{EXAMPLES / 'cutile' / 'softmax.py'}:softmax"
    assert main(["experiment", kernel, "--sig", "f32[?,?]; f32[?,?]", "--no-ptxas"]) == 0
    assert "| softmax | sm_80 | default |" in capsys.readouterr().out


def test_a_run_that_dies_ends_the_command_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", str(VECADD), "--no-ptxas", "--check"]) == 1
    assert "results cannot be checked" in capsys.readouterr().out

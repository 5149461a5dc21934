"""python -m extract, run in process and, where signals and terminals matter, as a process."""

import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import time

import pytest

from extract import METHODS
from extract.__main__ import main
from extract.answer import Moment
from extract.progress import ERASE, Progress

FILE = str(pathlib.Path(__file__).parent / "data" / "matmul.json")
ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def slow_file(tmp_path: pathlib.Path) -> str:
    """A file that keeps every method busy for minutes."""
    from tests.extract.test_auto import tangle

    graph = tangle(400)
    nodes = {
        str(node): {
            "op": graph.node_op[node],
            "eclass": str(graph.node_class[node]),
            "cost": float(graph.cost[node]),
            "children": [str(4 * child) for child in graph.children(node)],  # four nodes a class
        }
        for node in range(graph.n_nodes)
    }
    path = tmp_path / "tangle.json"
    path.write_text(json.dumps({"nodes": nodes, "root_eclasses": ["0"]}))
    return str(path)


@pytest.mark.parametrize("method", METHODS)
def test_json_output(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([FILE, "--method", method, "--json"]) == 0
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert err == ""
    assert record["cost"] == 36.0
    assert record["bound"] <= 36.0
    assert record["method"] == method
    assert (record["nodes"], record["classes"]) == (13, 9)
    assert record["chosen"]["acc.blocked"] == "cvt"
    assert {"cost", "bound", "gap", "optimal", "seconds", "method", "nodes", "classes"} <= record.keys()


def test_text_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([FILE]) == 0
    out = capsys.readouterr().out
    assert "cost     36" in out
    assert "optimal" in out
    assert "resource smem: 1536 of 2048" in out
    below = next(line for line in out.splitlines() if line.startswith("below the roots"))
    after = next(line for line in out.splitlines() if line.startswith("simplified"))
    assert below.split()[3:] == ["13", "9", "11", "1"]
    assert int(after.split()[1]) < 13
    assert "seconds" in out


def test_top_lists_the_cheapest_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([FILE, "--top", "3", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [answer["cost"] for answer in record["answers"]] == [36.0, 52.0, 53.0]
    assert main([FILE, "--top", "3"]) == 0
    assert "2. cost 52 with" in capsys.readouterr().out


def test_failures_are_one_line_on_stderr(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.json")]) == 1
    err = capsys.readouterr().err
    assert err.startswith("extract: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {
                "nodes": {"a": {"op": "f", "eclass": "A", "children": ["b"]}, "b": {"eclass": "B", "children": ["a"]}},
                "root_eclasses": ["A"],
            },
            "(A)",
        ),
        ({"nodes": {"a": {"op": "f", "eclass": "A"}}, "root_eclasses": ["Z"]}, "root class 'Z' has no node"),
        (
            {
                "nodes": {
                    "a": {"op": "f", "eclass": "A", "children": ["b", "c"], "resources": {"smem": 3}},
                    "b": {"op": "g", "eclass": "B", "resources": {"smem": 3}},
                    "c": {"op": "h", "eclass": "C", "resources": {"smem": 3}},
                },
                "root_eclasses": ["A"],
                "limits": {"smem": 8},
            },
            "resource smem: every answer uses at least 9, the limit is 8",
        ),
        (
            {
                "nodes": {
                    "a": {"op": "f", "eclass": "A", "children": ["b", "c"]},
                    "b": {"op": "g", "eclass": "B", "group": 4, "alternative": 0},
                    "c": {"op": "h", "eclass": "C", "group": 4, "alternative": 1},
                },
                "root_eclasses": ["A"],
            },
            "choice group 4 cannot be met",
        ),
    ],
)
def test_what_cannot_be_met_is_named(
    method: str, data: object, message: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(data))
    assert main([str(path), "--method", method]) == 1
    assert message in capsys.readouterr().err
    assert main([str(path), "--top", "2"]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--time-limit", "soon"], ["--top", "0"], ["--method", "magic"]])
def test_wrong_usage_exits_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([FILE, *arguments])
    assert stopped.value.code == 2


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_prints_the_best_answer_so_far(slow_file: str) -> None:
    command = [sys.executable, "-m", "extract", slow_file, "--json", "--time-limit", "60"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(4.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    record = json.loads(out)
    assert record["interrupted"]
    assert record["cost"] >= record["bound"] > 0
    assert err == "extract: interrupted; this is the best answer so far\n"


@pytest.mark.in_turn
def test_progress_goes_to_a_terminal_and_leaves_nothing(slow_file: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "extract", slow_file, "--json", "--time-limit", "3"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs, text=True)
    out, _ = process.communicate(timeout=60)
    shown = os.read(ours, 1 << 16).decode()  # while the other end is open: closing it may drop what was written
    os.close(theirs)
    os.close(ours)
    assert json.loads(out)["cost"] > 0
    assert "gap" in shown
    assert shown.endswith(ERASE)


def test_progress_waits_and_keeps_its_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    import extract.progress

    clock = [100.0]
    monkeypatch.setattr(extract.progress, "perf_counter", lambda: clock[0])
    stream = io.StringIO()
    progress = Progress(stream)
    for _ in range(40):
        clock[0] += 0.1
        progress(Moment(clock[0] - 100.0, 12.0, 9.0, "ilp"))
    assert 10 <= stream.getvalue().count("cost 12  bound 9  gap 25.00 %  ilp") <= 16
    progress.close()
    assert stream.getvalue().endswith(ERASE)


def test_compare(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([FILE, "--compare"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "13 nodes, 9 classes"
    assert [line.split()[0] for line in out[2:7]] == list(METHODS)
    assert out[-1] == "no answer costs less than 36"
    assert main([FILE, "--compare", "--json"]) == 0
    assert [each["cost"] for each in json.loads(capsys.readouterr().out)] == [36.0] * 5


def test_compare_where_there_is_no_answer(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.json"
    path.write_text('{"nodes": {"a": {"op": "f", "eclass": "c", "children": ["a"]}}, "root_eclasses": ["c"]}')
    assert main([str(path), "--compare"]) == 1
    assert capsys.readouterr().out.count(" none: ") == len(METHODS)

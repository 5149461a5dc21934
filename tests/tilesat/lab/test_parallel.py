"""Sweeps on Dask, plots, the notebook: what needs the extra lab."""

import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from extract import Graph
from ir.core import TileError
from tilesat import lab
from tilesat.lab import plots

ROOT = Path(__file__).resolve().parents[3]
VECADD = ROOT / "examples" / "vecadd_view.mlir"
PNG = b"\x89PNG\r\n"


@pytest.fixture
def extra() -> None:
    """Skip where the extra is not installed."""
    for name in ("distributed", "matplotlib", "nbclient", "ipykernel"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install -e '.[lab]'")


def dies(graph: Graph) -> dict[int, int]:
    os._exit(3)


@pytest.mark.in_turn
@pytest.mark.usefixtures("extra")
def test_a_worker_that_dies_is_one_failed_row(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    ways = [{"extractor": "greedy"}, {"extractor": dies}, {"extractor": "tree"}]
    table = lab.experiment(VECADD, "sm_80", ways, assemble=False, workers=1, records=path)
    assert [bool(each.error) for each in table] == [False, True, False]
    assert "the worker died: KilledWorker" in table[1].error
    alone = lab.experiment(VECADD, "sm_80", [ways[0], ways[2]], assemble=False)
    for there, here in zip((table[0], table[2]), alone, strict=True):
        assert there.extraction is not None
        assert here.extraction is not None
        assert (there.key, there.extraction.cost) == (here.key, here.extraction.cost)
    assert len(lab.Table.read(path)) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("extra")
def test_two_that_die_are_two_failed_rows() -> None:
    """Each is tried again by itself, since either may have taken the other with it."""
    ways = [{"extractor": dies}, {"extractor": "tree"}, {"extractor": dies, "budget": 9}]
    table = lab.experiment(VECADD, "sm_80", ways, assemble=False, workers=1)
    assert [bool(each.error) for each in table] == [True, False, True]


@pytest.mark.usefixtures("extra")
def test_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilesat.lab.parallel.PATIENCE", "1s")
    with pytest.raises(TileError, match="no Dask scheduler answers at tcp://127"):
        lab.experiment(VECADD, "sm_80", assemble=False, scheduler="tcp://127.0.0.1:9")


def test_extras_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilesat.lab.parallel.find_spec", lambda name: None)
    monkeypatch.setattr("tilesat.lab.plots.find_spec", lambda name: None)
    with pytest.raises(TileError, match=r"dask\.distributed is not installed"):
        lab.experiment(VECADD, "sm_80", workers=2)
    with pytest.raises(TileError, match="matplotlib is not installed"):
        plots.pareto(lab.Table())


@pytest.mark.in_turn
@pytest.mark.usefixtures("extra")
def test_plots() -> None:
    ways = [*lab.grid(budget=[1, 1000], forbid=[(), ("st.global.v8",)], measure=["none"]), {}]
    table = lab.experiment(VECADD, "sm_80", ways, assemble=False)
    budget = plots.cost_by_budget(table).axes[0]
    names = [line.get_label() for line in budget.lines]
    assert names[:2] == [f"vecadd_view, sm_80, measure=none: {what}" for what in ("cost", "bound")]
    assert len(names) == 4
    assert list(budget.lines[0].get_xdata()) == [1.0, 1000.0]
    (curve,) = plots.growth(table).axes[0].lines
    saturation = table[4].saturation
    assert saturation is not None
    assert curve.get_ydata()[0] == saturation.loaded
    assert curve.get_ydata()[-1] == saturation.rows
    heat = plots.heat_map(table[0]).axes[0]
    assert heat.images[0].get_array().shape == (len(heat.get_yticks()), len(saturation.growth))
    assert plots.front([(1, 5), (2, 6), (3, 4), (0, 9)]) == [(0, 9), (1, 5), (3, 4)]
    pictures = dict(plots.every(table))
    assert pictures.keys() == {"growth.png", "cost-by-budget.png", "pareto.png", "rules.png"}
    assert all(picture.startswith(PNG) for picture in pictures.values())
    for draw in (plots.growth, plots.cost_by_budget):
        assert "vary it" in (title := draw(lab.Table()).axes[0].get_title()) or "measure=" in title


@pytest.mark.slow
@pytest.mark.usefixtures("extra")
def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cell in order, in a fresh kernel; the last one makes a picture."""
    import nbclient
    import nbformat

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = ROOT / "docs" / "notebooks" / "laboratory.ipynb"
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert "image/png" in code[-1].outputs[-1].data
    html = [out.data["text/html"] for cell in code for out in cell.outputs if "text/html" in out.get("data", {})]
    assert any("cycles" in text for text in html)
    assert all(len(text) < 20_000 for text in html)


def test_the_notebook_is_stored_without_outputs() -> None:
    text = (ROOT / "docs" / "notebooks" / "laboratory.ipynb").read_text()
    assert not re.search(r'"outputs": \[\s*\{', text)

"""Tuning: predicted by cost, measured on a driver whose clock the test sets, cached, pinned, within a budget.

Predictions of assembled code are in test_assembled.py; here ptxas is taken away.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cuda.tile as ct
import numpy as np
import pytest

import tilesat
from ir.core import TileError
from runtime import cuda
from tests.runtime.fake_driver import SUCCESS, FakeDriver
from tests.tilesat.example_cases import EXAMPLES
from tilesat import assembled, tuning
from tilesat.tuned import Tuned
from tilesat.tuning import REPEAT, autotune, combinations, price, steady

N = 256
VECADD = EXAMPLES / "vecadd_view.mlir"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILESAT_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(assembled, "lacking", lambda: "ptxas is not installed")
    return tmp_path / "kernels"


@ct.kernel
def scale(x, y, factor, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)


@ct.kernel
def row_sum(x, y, n: ct.Constant[int]):
    made = ct.zeros((1, n), ct.float32)
    for i in range(ct.cdiv(x.shape[1], n)):
        made += ct.load(x, (ct.bid(0), i), (1, n))
    ct.store(y, (ct.bid(0),), ct.reshape(ct.sum(made, axis=1), (1,)))


def arrays() -> tuple[Any, Any]:
    return np.random.default_rng(1).standard_normal(N).astype(np.float32), np.zeros(N, np.float32)


def tuned(values: Any, x: Any, y: Any, **options: Any) -> Tuned:
    return autotune(scale, values, (x, y, 2.0), grid=lambda c: N // c["n"], target="sm_80", **options)


@pytest.mark.in_turn
def test_predicted_run_and_cached() -> None:
    x, y = arrays()
    first, second = (tuned({"n": (32, 64)}, x, y) for _ in range(2))
    assert [row.configuration for row in first.rows] == [{"n": 32}, {"n": 64}]
    assert (first.found, second.found) == ("searched", "cached")
    assert first.rows == second.rows
    assert tuned({"n": (32, 64)}, x, y, cache=False).found == "searched"
    assert not first.measured
    table = str(first).splitlines()
    assert table[0] == (
        "@scale(f32[256], f32[256], 2.0) for sm_80: predicted from costs by the target's tables, "
        "not from assembled code (ptxas is not installed) and not measured; searched"
    )
    assert re.fullmatch(r"n=32 +8 x 1 x 1 +\d+", table[2])
    first(x, y, 2.0)
    assert np.array_equal(y, 2 * x)
    assert first.kernel.calling is not None
    made = first.kernel
    first(x, y, 3.0)
    assert first.kernel is made


def test_loops_count_as_often_as_they_run() -> None:
    """The sizes of the arrays are known to a prediction; what is compiled for all sizes estimates 32 iterations."""
    y, rows = np.zeros(4, np.float32), []
    for columns in (1024, 8192):
        found = autotune(row_sum, [{"n": 256}], (np.zeros((4, columns), np.float32), y), grid=4, target="sm_80")
        rows.append(found.best)
    assert rows[1].predicted > 4 * rows[0].predicted


@pytest.mark.in_turn
def test_a_persistent_kernel_is_priced_by_tile() -> None:
    source = str(EXAMPLES / "gemm.mlir")
    (plain, *_), (persistent, *_) = (price(source, "sm_80", {"persistent": how})[0] for how in ("off", "static"))
    assert 0.9 * plain < persistent < 1.2 * plain


class Timed(FakeDriver):
    """Launches nothing; the more tile blocks, the slower, and each eighth launch takes much longer."""

    def cuLaunchKernelEx(self, config: Any, function: int, parameters: int, extra: int) -> tuple[int]:
        self.launched.append(config)
        self.clock += config.gridDimX / 2 + (100 if len(self.launched) % 8 == 0 else 0)
        return (SUCCESS,)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Timed:
    made = Timed((8, 0))
    monkeypatch.setattr(cuda, "load_driver", lambda: made)
    monkeypatch.setattr(tuning, "COLD_BYTES", 1024)
    return made


@pytest.mark.in_turn
def test_measured_on_a_card(driver: Timed) -> None:
    """Measured times decide; the L2 is cold, times far above the others are dropped, arrays of the host are kept."""
    x, y = arrays()
    found = tuned({"n": (32, 64, 128)}, x, y, on="cuda")
    assert [(row.configuration["n"], row.measured) for row in found.rows] == [(128, 1000), (64, 2000), (32, 4000)]
    assert all(0 < row.samples < REPEAT for row in found.rows)
    assert found.measured
    assert "measured on a card" in str(found)
    assert driver.calls.count("cuMemsetD8Async") == 3 * REPEAT
    assert not np.any(y)
    assert len(driver.live) <= 1  # all but the buffer, which goes with the device
    assert tuned({"n": (32, 64, 128)}, x, y, on="cuda").found == "cached"


def test_only_the_best_predicted_are_measured(driver: Timed) -> None:
    found = tuned({"n": (32, 64, 128)}, *arrays(), on="cuda", measure=1)
    assert [row.configuration["n"] for row in found.rows if row.measured] == [found.best.configuration["n"]]
    predicted = [row.predicted for row in found.rows]
    assert predicted[0] == min(predicted)


def test_a_program_is_measured_with_the_arguments_of_its_entry(driver: Timed) -> None:
    x = np.zeros(1000, np.float32)
    args = (x, x.copy(), x.copy(), 1000)
    found = autotune(VECADD, [{}, {"forbid": ("ld.global.v4",)}], args, grid=4, target="sm_80", on="cuda")
    assert found.measured
    assert str(found.rows[0]) in ("default", "forbid=('ld.global.v4',)")


def test_a_budget_that_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = arrays()
    found = tuned({"n": (32, 64, 128)}, x, y, budget=1e-9)
    assert [row.configuration["n"] for row in found.rows] == [32]
    assert found.left == 2
    assert str(found).endswith("2 more were left out: the budget was spent")
    assert tuned({"n": (32, 64, 128)}, x, y).found == "searched"  # a part of a search is not kept


def test_without_the_cache_nothing_is_kept(folder: Path) -> None:
    x, y = arrays()
    tuned({"n": (32, 64)}, x, y, cache=False)(x, y, 2.0)
    assert not folder.exists()


@pytest.mark.in_turn
def test_processes_find_the_same() -> None:
    x, y = arrays()
    alone, shared = (tuned({"n": (32, 64)}, x, y, workers=workers, cache=False) for workers in (0, 2))
    assert alone.rows == shared.rows
    with ThreadPoolExecutor(2) as pool:  # an executor of the user's, as a Dask client has one
        assert tuned({"n": (32, 64)}, x, y, workers=pool, cache=False).rows == alone.rows
        assert pool.submit(int, "3").result() == 3


@pytest.mark.slow
def test_a_dask_cluster_finds_the_same(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra lab is not installed")
    x, y = arrays()
    alone = tuned({"n": (32, 64)}, x, y, workers=0, cache=False)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert tuned({"n": (32, 64)}, x, y, workers=client.get_executor(), cache=False).rows == alone.rows


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    tuned({"n": (32, 64)}, *arrays(), progress=True)
    said = capsys.readouterr().err
    assert "compiled 1/2, best n=32" in said
    assert said.endswith("compiled 2/2, best n=32\x1b[K\n")


def test_a_pin_is_taken_in_place_of_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pins, (x, y) = tmp_path / "pins.json", arrays()
    tuned({"n": (32, 64)}, x, y, pins=pins)
    (written,) = json.loads(pins.read_text())
    assert {**written, "predicted": 0} == {
        "kernel": "scale", "target": "sm_80", "arguments": "(f32[256], f32[256], 2.0)", "configuration": {"n": 32},
        "predicted": 0,
    }  # fmt: skip
    monkeypatch.setattr(tuning, "price", None)  # nothing is searched
    again = tuned({"n": (32, 64)}, x, y, pins=pins, cache=False)
    assert (again.found, again.best.configuration, again.best.grid) == ("pinned", {"n": 32}, (8, 1, 1))
    again(x, y, 2.0)
    assert np.array_equal(y, 2 * x)
    with pytest.raises(TileError, match=r"the pin of @scale for sm_80 is not one of the configurations: \{'n': 32\}"):
        tuned({"n": (64, 128)}, x, y, pins=pins)


def test_pins_of_other_arguments_stay(tmp_path: Path) -> None:
    pins = tmp_path / "pins.json"
    for size in (256, 512, 256):
        x = np.zeros(size, np.float32)
        autotune(scale, [{"n": 64}], (x, x.copy(), 2.0), grid=size // 64, target="sm_80").pin(pins)
    assert [each["arguments"][:8] for each in json.loads(pins.read_text())] == ["(f32[256", "(f32[512"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot parse the pins: Expecting"),
        ('[{"kernel": "k"}]', "expected a list of objects with kernel, target"),
    ],
)
def test_files_without_pins(tmp_path: Path, text: str, message: str) -> None:
    pins = tmp_path / "pins.json"
    pins.write_text(text)
    with pytest.raises(TileError, match=message) as caught:
        tuned({"n": (64,)}, *arrays(), pins=pins)
    assert caught.value.location.file == str(pins)


def test_what_a_configuration_varies() -> None:
    """Constants go to the kernel, hints to cuTile, options to the compiler; Jit and functions are kernels too."""
    x, y = arrays()
    made = tuning._Candidate.of(scale, {"n": 64, "occupancy": 2, "persistent": "static"}, (x, y, 2.0), 4, "sm_80", {})
    assert made.source._compiler_options.occupancy == 2
    assert made.options == {"persistent": "static"}
    assert made.named["n"] == 64
    jit = tilesat.jit(scale, target="sm_80")
    for kernel in (jit, lambda configuration: scale):
        found = autotune(kernel, [{"n": 64}], (x, y, 2.0), grid=4, target="sm_80")
        assert found.name == "scale"


def test_combinations_and_lists() -> None:
    assert combinations({"a": (1, 2), "b": [3]}) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    assert combinations([{"a": 1}]) == [{"a": 1}]


def test_steady_times() -> None:
    assert steady([1.0, 1.1, 1.2, 1.1, 9.0]) == [1.0, 1.1, 1.2, 1.1]


def test_a_configuration_that_is_refused_is_a_row() -> None:
    found = tuned([{"n": 64}, {"n": 64, "num_ctas": 2}], *arrays())
    assert "num_ctas=2: " in str(found)
    assert "clusters" in found.rows[1].error or "cluster" in found.rows[1].error


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ({}, {"on": "ref"}, r"on: expected sim \(predicts\) or cuda \(measures\), got 'ref'"),
        ({"n": (64,)}, {"budget": 0}, "expected measure >= 1, workers >= 0, programs >= 1 and a budget above 0"),
        ({"n": (64,)}, {"measure": 0}, "expected measure >= 1"),
        ({"n": (64,)}, {"workers": -1}, "workers >= 0"),
        ([], {}, "configurations: expected one or more, got none"),
        ({"n": ()}, {}, "expected one or more, got none"),
        ({"n": 64}, {}, "expected some values of 'n', got 64"),
        ({"n": "64"}, {}, "expected some values of 'n', got '64'"),
        ([{"n": 64, "tiles": 3}], {}, "there is no 'tiles'"),
        ([{"n": 64, "num_ctas": 2}], {}, "no configuration of @scale can be compiled, n=64, num_ctas=2: .*cluster"),
    ],
)
def test_what_means_nothing_is_refused(values: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(TileError, match=message):
        tuned(values, *arrays(), **options)


def test_arguments_that_are_missing() -> None:
    x, _ = arrays()
    with pytest.raises(TileError, match=r"autotune: expected 3 arguments \(x, y, factor\), got 1"):
        autotune(scale, [{"n": 64}], (x,), grid=4, target="sm_80")


def gemm_arrays() -> tuple[Any, ...]:
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((128, 64)).astype(np.float16) for _ in range(2))
    return a, b, np.zeros((128, 128), np.float32), np.zeros((128, 128), np.float32), 128, 128, 64, 64, 64, 128, 128


@pytest.mark.in_turn
def test_programs_of_one_egraph_are_candidates(tmp_path: Path) -> None:
    arguments, pins = gemm_arrays(), tmp_path / "pins.json"

    def search() -> Tuned:
        return autotune(EXAMPLES / "gemm.mlir", [{}], arguments, grid=1, target="sm_80", programs=3, pins=pins)

    found = search()
    first, second, third = found.rows
    assert (first.configuration, first.program) == ({}, "")
    assert [row.configuration for row in (second, third)] == [{"extractor": "top:2"}, {"extractor": "top:3"}]
    assert first.predicted < second.predicted <= third.predicted  # pyright: ignore[reportOptionalOperand]
    assert second.program
    assert second.program in str(found)
    kernels = [found.compiled(row.configuration) for row in found.rows]
    assert len({kernel.ptx for kernel in kernels}) == 3
    for kernel in kernels:
        kernel.run(1, *arguments, check=True)
    assert (found.left, search().found) == (0, "pinned")
    pins.unlink()
    assert [row.program for row in search().rows] == [row.program for row in found.rows]  # out of the cache


def test_programs_are_measured_too(driver: Timed) -> None:
    found = tuned({"n": (32,)}, *arrays(), on="cuda", programs=2)
    assert sorted(row.configuration.get("extractor", "") for row in found.rows) == ["", "top:2"]
    assert all(row.measured == 4000 for row in found.rows)


@pytest.mark.in_turn
def test_fewer_programs_than_asked_for_are_no_configurations_left_out() -> None:
    x, y = arrays()
    found = tuned({"n": (32,)}, x, y, programs=50, cache=False)
    assert 1 <= len(found.rows) < 50
    assert found.left == 0


def test_programs_are_those_of_the_usual_extractor() -> None:
    x, y = arrays()
    with pytest.raises(TileError, match="programs are those of the usual extractor"):
        tuned({"n": (32,), "extractor": ("greedy",)}, x, y, programs=2)

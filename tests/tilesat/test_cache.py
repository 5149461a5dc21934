"""Kernels on disk: found again by a fresh process, keyed by all that decides them, bounded, whole or not there."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cuda.tile as ct
import numpy as np
import pytest

import tilesat
from ir.core import TileError
from tests.tilesat.example_cases import EXAMPLES
from tilesat import cache
from tilesat.cache import Cache, key_of, opened
from tilesat.cli import main
from tilesat.recalled import RecalledKernel

ROOT = Path(__file__).resolve().parents[2]
SOURCE = EXAMPLES / "vecadd_view.mlir"
OPTIONS: dict[str, Any] = {"rules": (), "without": (), "forbid": (), "fast": (), "extractor": "auto"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILESAT_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


@ct.kernel
def scale(x, y, factor, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)


@pytest.mark.parametrize("source", [SOURCE, str(SOURCE), SOURCE.read_text(), SOURCE.read_bytes()])
def test_a_kernel_that_was_compiled_before_is_recalled(source: Any) -> None:
    first, second = (tilesat.compile(source, "sm_90a", cache=True) for _ in range(2))
    assert not isinstance(first, RecalledKernel)
    assert isinstance(second, RecalledKernel)
    assert (second.ptx, second.manifest, second.cost, second.bound) == (
        first.ptx,
        first.manifest,
        first.cost,
        first.bound,
    )
    assert repr(second) == repr(first)
    x, y = (np.random.default_rng(seed).standard_normal(1000).astype(np.float32) for seed in (1, 2))
    z = np.zeros_like(x)
    second.run(1, x, y, z, 1000, check=True)
    np.testing.assert_array_equal(z, x + y)


def test_what_was_not_kept_is_compiled_again() -> None:
    first, second = (tilesat.compile(SOURCE, cache=True) for _ in range(2))
    assert second.extraction.cost == first.cost
    assert second.report.partition("tile values")[2] == first.report.partition("tile values")[2] != ""
    assert second.stages["nvvm"] == first.stages["nvvm"]
    assert second.warps == first.warps
    again = pickle.loads(pickle.dumps(second))
    assert again.ptx == first.ptx
    with pytest.raises(AttributeError, match="'RecalledKernel' object has no attribute 'nothing'"):
        second.nothing  # noqa: B018


def test_nothing_is_kept_unless_it_is_asked_for(folder: Path) -> None:
    tilesat.compile(SOURCE)
    assert not folder.exists()


@pytest.mark.parametrize(
    "changed",
    [
        {"without": ("sink-negf",)}, {"forbid": ["tma"]}, {"fast": {"nsz"}},
        {"fast": {"vecadd": {"nsz"}}}, {"lineinfo": True}, {"extractor": "tree"},
        {"verify_each": True}, {"saturate_budget": 100000}, {"persistent": "static"}, {"num_ctas": 1},
        {"entry": "vecadd"},
    ],
)  # fmt: skip
def test_each_option_is_part_of_the_key(changed: dict[str, Any]) -> None:
    plain = key_of(b"x", "x", "sm_80", OPTIONS)
    assert key_of(b"x", "x", "sm_80", {**OPTIONS, **changed}) not in (None, plain)
    assert key_of(b"x", "x", "sm_80", dict(reversed(OPTIONS.items()))) == plain


def test_source_name_target_rules_and_compiler_are_part_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "own.egg"
    rules.write_text("; nothing")
    asked = {**OPTIONS, "rules": (str(rules),)}
    keys = [key_of(*each, OPTIONS) for each in ((b"x", "x", "sm_80"), (b"y", "x", "sm_80"), (b"x", "y", "sm_80"))]
    keys += [key_of(b"x", "x", "sm_90a", OPTIONS), key_of(b"x", "x", "sm_80", asked)]
    rules.write_text("; something")
    keys.append(key_of(b"x", "x", "sm_80", asked))
    monkeypatch.setattr(cache, "compiler", lambda: "another")
    keys.append(key_of(b"x", "x", "sm_80", OPTIONS))
    assert None not in keys
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("changed", [{"extractor": max}, {"forbid": "tma"}, {"rules": ("nothing.egg",)}])
def test_what_cannot_be_compared_is_not_kept(changed: dict[str, Any]) -> None:
    assert key_of(b"x", "x", "sm_80", {**OPTIONS, **changed}) is None


def test_names_from_a_generator_are_kept_too(folder: Path) -> None:
    for _ in range(2):
        kernel = tilesat.compile(SOURCE, "sm_90a", forbid=(each for each in ["tma"]), cache=True)
    assert isinstance(kernel, RecalledKernel)
    assert "cp.async.bulk" not in kernel.ptx
    assert len(list(folder.iterdir())) == 1


def test_errors_are_those_of_a_compilation(folder: Path) -> None:
    with pytest.raises(TileError, match="forbid: expected a list of names"):
        tilesat.compile(SOURCE, forbid="tma", cache=True)
    with pytest.raises(TileError, match="cannot read the file"):
        tilesat.compile("nothing.mlir", cache=True)
    with pytest.raises(TileError, match="the program: expected a path"):
        tilesat.compile(3, cache=True)
    assert not folder.exists()


def test_warnings_are_given_each_time() -> None:
    text = (EXAMPLES / "gemm.mlir").read_text()
    text = text.replace(") {\n", ") optimization_hints=<default = {occupancy = 16}> {\n", 1)
    for _ in range(2):
        with pytest.warns(UserWarning, match="'occupancy = 16' is only partly honoured") as caught:
            tilesat.compile(text, cache=True)
        assert caught[0].filename == __file__


def test_a_file_that_is_damaged_is_compiled_again(folder: Path) -> None:
    kernel = tilesat.compile(SOURCE, cache=True)
    (path,) = folder.iterdir()
    for damaged in (path.read_bytes()[:100], b"\xff", b"[]"):
        path.write_bytes(damaged)
        assert not isinstance(tilesat.compile(SOURCE, cache=True), RecalledKernel)
    assert json.loads(path.read_bytes())["compiled"]["ptx"] == kernel.ptx


def test_a_folder_that_cannot_be_written_keeps_nothing(folder: Path) -> None:
    folder.write_text("a file")
    assert tilesat.compile(SOURCE, cache=True).ptx
    assert folder.read_text() == "a file"


def test_what_was_not_used_for_the_longest_time_goes_first(folder: Path) -> None:
    kept = Cache(folder, 100)
    for age, key in ((30, "a"), (20, "b"), (10, "c")):
        kept.put(key, {"x": "x" * 20})
        os.utime(folder / f"{key}.json", (1e9 - age, 1e9 - age))
    assert kept.get("a") == {"x": "x" * 20}  # used: now the youngest
    kept.put("d", {"x": "x" * 20})
    assert sorted(path.stem for *_, path in kept.entries()) == ["a", "c", "d"]


def test_switch_and_bound(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    assert opened() == Cache(folder)
    monkeypatch.setenv("TILESAT_CACHE_BYTES", "5000")
    assert opened() == Cache(folder, 5000)
    monkeypatch.setenv("TILESAT_CACHE_BYTES", "5k")
    with pytest.raises(TileError, match="TILESAT_CACHE_BYTES: expected a number of bytes, got '5k'"):
        opened()
    monkeypatch.setenv("TILESAT_CACHE", "off")
    assert opened() is None
    assert not isinstance([tilesat.compile(SOURCE, cache=True) for _ in range(2)][1], RecalledKernel)
    monkeypatch.delenv("TILESAT_CACHE")
    monkeypatch.delenv("TILESAT_CACHE_BYTES")
    monkeypatch.delenv("TILESAT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    assert opened() == Cache(folder / "tilesat")


def test_the_command_says_what_is_there_and_removes_it(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tilesat.compile(SOURCE, cache=True)
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.startswith(f"{folder}: 1 kernels, ")
    assert main(["cache", "--clear"]) == 0
    assert capsys.readouterr().out == f"{folder}: 1 kernels removed\n"
    assert list(folder.iterdir()) == []
    monkeypatch.setenv("TILESAT_CACHE", "off")
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == "the cache is off (TILESAT_CACHE=off)\n"


def write(key: int) -> bool:
    """In a process of its own: put and get, beside others that do."""
    kept = opened()
    assert kept is not None
    record = {"x": str(key % 3) * 100_000}
    kept.put(str(key % 3), record)
    return kept.get(str(key % 3)) == record


def test_many_threads_write_at_once(folder: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(write, range(48)))
    assert sorted(path.name for path in folder.iterdir()) == ["0.json", "1.json", "2.json"]


def test_what_a_process_left_half_written_goes_too(folder: Path) -> None:
    kept = Cache(folder, 100)
    kept.put("a", {})
    (folder / "b.1.2.3.partial").write_bytes(b"x" * 200)
    os.utime(folder / "b.1.2.3.partial", (1e9, 1e9))
    kept.put("c", {})
    assert sorted(path.name for path in folder.iterdir()) == ["a.json", "c.json"]
    (folder / "d.1.2.3.partial").write_bytes(b"")
    assert kept.clear() == 2
    assert list(folder.iterdir()) == []


@pytest.mark.in_turn
def test_many_processes_write_at_once(folder: Path) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        assert all(pool.map(write, range(24)))
    assert sorted(path.name for path in folder.iterdir()) == ["0.json", "1.json", "2.json"]


def test_jit_finds_kernels_of_other_processes() -> None:
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    for _ in range(2):
        jit = tilesat.jit(scale)
        jit[2](x, y, 2.0, 64)
        np.testing.assert_array_equal(y, x * 2)
    (kernel,) = jit.kernels.values()
    assert isinstance(kernel, RecalledKernel)
    kernel[2](x, y, 3.0)
    np.testing.assert_array_equal(y, x * 3)
    assert not isinstance(tilesat.jit(scale, cache=False).kernel(x, y, 2.0, 64), RecalledKernel)


def test_a_hit_loads_nothing_of_the_compiler() -> None:
    """In a fresh process: neither NumPy nor the engine, nor what reads programs."""
    tilesat.compile(SOURCE, cache=True)
    program = (
        f"import sys, tilesat\nkernel = tilesat.compile({str(SOURCE)!r}, cache=True)\nassert kernel.ptx\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "tilesat.recalled" in loaded
    assert not loaded & {
        "numpy",
        "egglog",
        "highspy",
        "lowering",
        "extract",
        "egraph",
        "ir.load",
        "ir.text",
        "cuda.tile",
    }

"""cuTile programs unchanged: their launches on the simulator, in a script, under pytest, in a block."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import cuda.tile as ct
import numpy as np
import pytest
from cuda.tile import _cext, tune
from cuda.tile._exception import TypeCheckingError
from cuda.tile.compilation import CallingConvention, KernelSignature

from ir.core import TileError
from tilesat import cutile
from tilesat.execution import WrongResultError

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
import numpy as np
import cuda.tile as ct
from cuda.tile import launch

@ct.kernel
def scale(x, y, factor, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)

@ct.kernel
def raced(x, y):
    ct.store(y, (0,), ct.load(x, (ct.bid(0),), (64,)))

def test_it():
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    launch(None, (4,), scale, (x, y, 2.0, 64))
    assert (y == x * 2).all()

def test_that_it_can_fail():
    y = np.zeros(256, np.float32)
    launch(None, (4,), scale, (np.ones(256, np.float32), y, 2.0, 64))
    assert (y == 1).all()

if __name__ == "__main__":
    test_it()
    print("ran", *sys.argv[1:])
    if "odd" in sys.argv:
        launch(None, (1,), scale, (np.zeros(8, np.float32),))
"""


@ct.kernel
def scale(x, y, factor, n: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (n,)) * factor)


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "test_program.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("on", ["sim", "ref"])
def test_launches_go_where_they_are_sent(on: str) -> None:
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    before = ct.launch
    with cutile.backend(on, "sm_90a", check=on == "sim", hazards="report" if on == "sim" else None) as made:
        ct.launch(None, (4,), scale, (x, y, 2.0, 64))
        np.testing.assert_array_equal(y, x * 2)
        ct.launch(None, (2, 1, 1), scale, (x, y, 3.0, 128))
        np.testing.assert_array_equal(y, x * 3)
    assert (made.launches, made.hazards, len(made.kernels)) == (2, [], 1)
    assert ct.launch is before


def test_the_autotuner_takes_the_first_configuration_that_compiles() -> None:
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    with cutile.backend() as made:
        found = tune.exhaustive_search(
            [3, 64, 128], None, lambda n: (256 // n,), scale, lambda n: (x, y, 2.0, n), lambda n: {"occupancy": 2}
        )
    assert found.best.config == 64
    assert [(config, kind) for config, kind, _ in found.failures] == [(3, TypeCheckingError)]
    assert made.launches == 1
    np.testing.assert_array_equal(y, x * 2)
    with (
        cutile.backend(),
        pytest.raises(ValueError, match=r"No valid config found: none of 1 compiles, the first: .*power of"),
    ):
        tune.exhaustive_search([3], None, lambda n: (1,), scale, lambda n: (x, y, 2.0, n))
    with cutile.backend(), pytest.raises(ValueError, match="Search space is empty"):
        tune.exhaustive_search([], None, lambda n: (1,), scale, lambda n: (x, y, 2.0, n))


def test_signatures_are_inferred_without_a_driver() -> None:
    x = np.zeros(64, np.float32)
    with cutile.backend():
        convention = CallingConvention.cutile_python_v1()
        made = KernelSignature.from_kernel_args(scale, (x, x[:8], 2.0, 64), convention)
    first, second, factor, constant = made.parameters
    assert (first.shape_divisible_by, second.shape_divisible_by) == ((16,), (1,))
    assert (factor.dtype, constant.value) == (ct.float32, 64)


def test_what_cutile_says_itself_is_its_own_error() -> None:
    x = np.zeros(64, np.float32)
    with cutile.backend(), pytest.raises(TypeCheckingError, match="power of two"):
        ct.launch(None, (1,), scale, (x, x, 2.0, 3))
    with cutile.backend(), pytest.raises(TypeError, match="Kernel expects 4 arguments but 3 were given") as caught:
        ct.launch(None, (1,), scale, (x, x, 2.0))
    assert caught.value.hint == "@scale takes x, y, factor, n"
    with (
        cutile.backend(),
        pytest.raises(ValueError, match=r"Grid\[0\] exceeds 24-bit limit: max=16777215, got=16777216"),
    ):
        ct.launch(None, (2**24,), scale, (x, x, 2.0, 64))


def test_an_empty_grid_is_one_block() -> None:
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    with cutile.backend():
        ct.launch(None, (), scale, (x, y, 2.0, 64))
    np.testing.assert_array_equal(y, x * 2)


def test_another_place_is_refused() -> None:
    with pytest.raises(TileError, match="backend: expected one of sim, ref, cuda, got 'tpu'"), cutile.backend("tpu"):
        pass


@pytest.mark.parametrize("target", [None, "sm_90a"])
def test_a_card_that_is_there_is_asked_itself(target: str | None) -> None:
    before = _cext.get_compute_capability
    with cutile.backend("cuda", target) as made:
        assert _cext.get_compute_capability is before
        assert made.target == target
    with cutile.backend("sim", target) as made:
        assert _cext.get_compute_capability() == ((9, 0) if target else (8, 0))


def test_a_check_reaches_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the simulator computes is compared; here with an interpreter that computes something else."""
    monkeypatch.setattr("tilesat.execution.interpret", lambda *_, **__: None)
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    with cutile.backend(check=True), pytest.raises(WrongResultError):
        ct.launch(None, (1,), scale, (x, y, 2.0, 64))


@pytest.mark.in_turn
def test_a_script_runs_unchanged(tmp_path: Path) -> None:
    done = run(
        "tilesat.cutile", "--target", "sm_90a", "--check", "--hazards", "test_program.py", "a", "-b", folder=tmp_path
    )
    assert done.stdout.splitlines() == ["ran a -b", "1 launches, 0 hazards"], done.stderr
    assert done.returncode == 0


def test_a_wrong_result_of_a_script_is_one_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilesat.execution.interpret", lambda *_, **__: None)
    script = tmp_path / "wrong.py"
    script.write_text(
        "import cuda.tile as ct, numpy as np\n"
        "from tests.tilesat.test_backend import scale\n"
        "ct.launch(None, (1,), scale, (np.ones(64, np.float32), np.zeros(64, np.float32), 2.0, 64))\n"
    )
    assert cutile.main(["--check", str(script)]) == 1
    printed = capsys.readouterr().err
    assert "entry 'scale' computes something other than the interpreter" in printed
    assert f"launched at {script}:3" in printed


def test_an_error_of_a_script_is_one_message(tmp_path: Path) -> None:
    done = run("tilesat.cutile", "test_program.py", "odd", folder=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "error: " in done.stderr


@pytest.mark.in_turn
def test_a_test_suite_runs_unchanged(tmp_path: Path) -> None:
    done = run("pytest", "-q", "-p", "tilesat.cutile", "--cutile-target", "sm_90a", "--cutile-check", folder=tmp_path)
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "test_that_it_can_fail" in done.stdout


@pytest.mark.in_turn
def test_a_folder_of_tests_runs_as_a_suite(tmp_path: Path) -> None:
    done = run("tilesat.cutile", "--hazards", "--suite", ".", "-q", "-k", "not fail", folder=tmp_path)
    assert "1 passed, 1 deselected" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
    for wrong, said in ((["--odd"], "unrecognized arguments: --odd"), ([], "expected a script, or --suite DIR")):
        done = run("tilesat.cutile", *wrong, folder=tmp_path)
        assert said in done.stderr
        assert done.returncode == 2


def test_names_that_a_module_bound_before_are_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("bound_before")
    vars(module).update(start=ct.launch, search=tune.exhaustive_search)
    monkeypatch.setitem(sys.modules, "bound_before", module)
    before = dict(vars(module))
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    with cutile.backend() as made:
        vars(module)["start"](None, (4,), scale, (x, y, 2.0, 64))
        found = vars(module)["search"]([64], None, lambda n: (4,), scale, lambda n: (x, y, 2.0, n))
    assert (made.launches, found.best.config) == (2, 64)
    assert dict(vars(module)) == before


def test_torch_has_a_card_whose_memory_is_the_hosts() -> None:
    torch: Any = pytest.importorskip("torch")
    with cutile.backend("sim", "sm_100a"):
        assert torch.cuda.is_available()
        assert torch.cuda.get_device_capability() == (10, 0)
        x = torch.randn(256, device="cuda").to(torch.bfloat16)
        y = torch.zeros(256).cuda()  # cuTile makes a bf16 and an f32 an f32
        assert x.is_cuda
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        ct.launch(torch.cuda.current_stream(), (4,), scale, (x, y, 2.0, 64))
        end.record()
        assert start.elapsed_time(end) == 1.0
        assert torch.equal(y, x.float() * 2)
    assert not torch.cuda.is_available()


def test_without_torch_nothing_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilesat import card

    monkeypatch.setattr(card, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    with card.card((9, 0)):
        assert not vars(sys.modules["torch"])


def test_a_module_that_is_loaded_meanwhile_has_cutile_s_own_afterwards() -> None:
    """What it has bound would else be the search and launch of a backend that has ended, for its target."""
    late = ModuleType("late_for_this_test")
    sys.modules[late.__name__] = late
    try:
        with cutile.backend("sim"):
            exec("from cuda.tile import launch\nfrom cuda.tile.tune import exhaustive_search", late.__dict__)
            assert late.exhaustive_search is not OWN[0]
        assert late.exhaustive_search is OWN[0]
        assert late.launch is ct.launch
    finally:
        del sys.modules[late.__name__]


OWN = (tune.exhaustive_search,)
"""No name of the module, which a backend would take over."""

"""`tilesat fuzz`: what it finds right and wrong, how it reduces and writes a test, how a log is continued."""

from __future__ import annotations

import json
import os
import re
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.load import load
from lowering.ptx.printer import Printer
from tests.programs import sweep as nests
from tilesat.cli import main
from tilesat.fuzz import judge as judging
from tilesat.fuzz.found import argument, text
from tilesat.fuzz.judge import KINDS, MIX, Judge, Verdict, likeness, of_seed
from tilesat.fuzz.mixed import STEPS, STORED, Mixed, mixed
from tilesat.fuzz.ordered import ordered
from tilesat.fuzz.program import Made, Random, of
from tilesat.fuzz.promises import promised
from tilesat.fuzz.reduce import reduced, size
from tilesat.fuzz.sweep import Sweep, in_processes
from tilesat.testing.conditions import ExpectationFailed
from tilesat.testing.tile import Tile

QUICK = ["--kinds", "promised", "--targets", "sm_80,sm_90a", "--without-ptxas"]
WRONG_RULE = """
(rewrite (subi x y o) (addi x y o) :subsume
  :ruleset canon :name "wrong/difference")
"""


def fuzz(*words: object) -> int:
    return main(["fuzz", *map(str, words)])


def test_a_second_run_goes_on_where_the_log_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    assert fuzz(*QUICK, "--log", log, "--programs", 2) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{target}: 2 programs, 2 ok, 0 refused, 0 wrong" for target in ("sm_80", "sm_90a")
    ]
    assert fuzz(*QUICK, "--log", log, "--programs", 3) == 0
    assert "sm_80: 3 programs, 3 ok" in capsys.readouterr().out
    names = [json.loads(line)["program"] for line in log.read_text().splitlines()]
    assert names == [f"promised-{seed}" for seed in range(3) for _ in range(2)]


def test_what_was_wrong_is_judged_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def idle(kernel: Any, program: Made, on: str, schedule: str = "") -> list[Any]:
        return program.arguments() if on == "sim" else real(kernel, program, on)  # as if nothing had run

    real = judging.run
    words = [*QUICK, "--log", tmp_path / "log", "--programs", 1, "--no-reduce"]
    with monkeypatch.context() as context:
        context.setattr(judging, "run", idle)
        assert fuzz(*words) == 1
    assert "promised-0 for sm_80: argument 1 is" in capsys.readouterr().out
    assert fuzz(*words) == 0
    assert "sm_90a: 1 programs, 1 ok, 0 refused, 0 wrong" in capsys.readouterr().out


def test_a_wrong_rule_is_found_reduced_and_written_as_a_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tile: Tile
) -> None:
    """The fault is injected: a rule that takes differences for sums. The test fails with it, and passes without."""
    rule = tmp_path / "wrong.egg"
    rule.write_text(WRONG_RULE)
    words = ("--kinds", "promised", "--programs", 2, "--seed", 1, "--targets", "sm_80", "--without-ptxas")
    assert fuzz(*words, "--rules", rule, "-o", tmp_path / "found") == 1
    said = capsys.readouterr().out
    shown = re.search(r"(\d+) operations reduced to (\d+): (\S+)$", said, re.M)
    assert shown is not None
    assert int(shown[2]) <= min(12, int(shown[1]) // 4)
    assert "for sm_80: argument" in said
    written = Path(shown[3])
    found = runpy.run_path(str(written))
    (test,) = (value for name, value in found.items() if name.startswith("test_"))
    with pytest.raises(ExpectationFailed, match="WRONG, largest error"):
        test(tile)
    assert "subi" in found["SOURCE"]
    tile.compile(found["SOURCE"]).runs((1,), found["ARGUMENTS"], tolerance=0.0)


@pytest.mark.in_turn
def test_reduction_keeps_what_fails_and_drops_unused_parameters() -> None:
    """Judged without a compiler: a program is wrong that multiplies in a loop."""
    seed = next(seed for seed in range(99) if re.search(r"for .*\{[^}]*muli", mixed(seed).source()))
    program = mixed(seed)
    small = reduced(program, lambda candidate: "muli" in candidate.source(), 400)
    assert size(small) < size(program) // 4
    assert "muli" in small.source()
    assert len(small.data) == len(load(small.source()).entries[0].parameters) <= len(program.data)
    assert len(small.arguments()) == len(small.data)
    assert reduced(program, lambda candidate: False) is program


def test_exceptions_are_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(kernel: object, program: Made, on: str, schedule: str = "") -> list[object]:
        raise KeyError("lost")

    monkeypatch.setattr(judging, "run", broken)
    (found,) = Judge(assembled=False).judge(promised(0), ["sm_80"])
    assert (found.found, found.reason) == ("wrong", "KeyError: 'lost' (broken)")
    (garbled,) = Judge().judge(of("garbled", lambda: "entry {", []), ["sm_80"])
    assert garbled.found == "wrong"
    assert "ParseError" in garbled.reason


@pytest.mark.in_turn
def test_a_lost_barrier_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads read in global memory what others wrote: it shows where warps run far apart."""
    whole = Printer.text
    monkeypatch.setattr(Printer, "text", lambda printer: re.sub(r".*bar\.sync.*\n", "", whole(printer)))
    judge = Judge(assembled=False)
    found = [next(iter(judge.judge(ordered(seed), ["sm_80"]))) for seed in range(4)]
    assert sum(each.found == "wrong" for each in found) >= 3
    assert any("where warps run skewed:" in each.reason for each in found)


def test_what_one_target_refuses_another_may_take() -> None:
    program = next(mixed(seed) for seed in range(99) if "f8E5M2" in mixed(seed).source())
    old, new = Judge(assembled=False).judge(program, ["sm_80", "sm_90a"])
    assert (old.found, new.found) == ("refused", "ok")
    assert "sm_80 has no conversions of f8E5M2" in old.reason


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("argument 2 is off by 0.5", "argument 0 is off by 1e-05", True),
        ("argument 2 is off by 0.5", "argument 2 of the interpreter is off by 0.5 from NumPy", False),
        ("KeyError: 3 (load)", "KeyError: 4 (load)", True),
        ("KeyError: 3 (load)", "KeyError: 3 (store)", False),
        ("HazardError: PTX line 3: a race (found)", "LaunchError: PTX line 3: a race (found)", False),
        ("ptxas: line 3", "ptxas: line 4", True),
    ],
)
def test_which_reasons_mean_one_fault(one: str, other: str, alike: bool) -> None:
    assert (likeness(one) == likeness(other)) == alike


def test_programs_are_of_all_that_is_promised() -> None:
    """Types, products, loops, branches, scans, gathers, atomics, parts, shifts, odd sizes, several blocks."""
    programs = [mixed(seed) for seed in range(60)]
    texts = "\n".join(program.source() for program in programs)
    for name in ("mmaf", "mmai", " for ", " if ", "scan", "load_ptr_tko", "atomic_rmw_tko", "extract", "cat", "shli"):
        assert name in texts, name
    for kind in (*Mixed.kinds, *STORED):
        assert f"x{kind}>" in texts or f"ptr<{kind}>" in texts, kind
    assert {program.grid[0] for program in programs} == {1, 2, 3}
    sizes = {n for program in programs for each in program.data if isinstance(each, Random) for n in each.shape}
    assert sum(n & (n - 1) > 0 for n in sizes) > 10
    assert {"scan", "gather", "atomic", "product"} <= set(STEPS)
    assert mixed(3).source() == mixed(3).source()


def test_each_kind_has_its_turn() -> None:
    assert set(MIX) | {"nested", "permitted", "special"} == set(KINDS)
    assert [of_seed(seed).name for seed in range(8)] == [f"{kind}-{seed}" for seed, kind in enumerate(MIX)]
    assert nests.KINDS is KINDS


def dies(seed: int, targets: Sequence[str]) -> list[Verdict]:
    """Ends its process for seed 3."""
    if seed == 3:
        os._exit(9)
    return [Verdict(f"promised-{seed}", target, "ok") for target in targets]


@pytest.mark.slow
def test_a_process_that_dies_takes_no_other_program_with_it() -> None:
    found = list(in_processes(dies, ((seed, ["sm_80"]) for seed in range(6)), 1, ["promised"]))
    verdicts = {each.program: (each.found, each.reason) for (each,) in found}
    assert verdicts.pop("promised-3") == ("wrong", "the process died")
    assert set(verdicts.values()) == {("ok", "")}
    assert len(verdicts) == 5


@pytest.mark.in_turn
def test_programs_run_on_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra lab is not installed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, processes=False
    ) as cluster:
        assert fuzz(*QUICK, "--programs", 3, "--scheduler", cluster.scheduler_address) == 0
    assert "sm_90a: 3 programs, 3 ok" in capsys.readouterr().out


def test_time_ends_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 20))
    monkeypatch.setattr("tilesat.fuzz.sweep.time.monotonic", lambda: float(next(clock)))
    assert list(Sweep(("sm_80",), Judge(), 5, None, 60.0).seeds()) == [5, 6]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kinds", "magic"], "unknown kind 'magic': choose from mixed, generated, ordered, promised"),
        (["--targets", "sm_1"], "sm_1"),
        (["--fast", "quick"], "there is no permission 'quick'"),
        (["--fast", "nnan", "--kinds", "special"], "kind 'special' has NaNs and infinities, which nnan excludes"),
    ],
)
def test_wrong_words(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz(*words) in (1, 2)
    assert message in capsys.readouterr().err


def test_minutes_and_programs_exclude_each_other() -> None:
    with pytest.raises(SystemExit):
        fuzz("--minutes", 1, "--programs", 1)


def test_a_test_file_has_its_arguments_as_python() -> None:
    assert argument(Random((3, 4), "i8", 7)) == 'random((3, 4), "i8", 7)'
    assert argument(Random((3,), "f16", 7, 0.5)) == 'random((3,), "f16", 7, 0.5)'
    assert argument(np.array([1, 2], np.int32)) == 'np.array([1, 2], "int32")'
    program = of("p-1", lambda: 'entry @k() { // \\ """\n}', [3], tolerance=0.5)
    made = text("p_1_sm_80", program, Verdict("p-1", "sm_80", "wrong", "ptxas: line 3"))
    assert "    k.expect(warnings=0)\n    k.runs((1,), ARGUMENTS, tolerance=0.5)" in made
    apart = Verdict("p-1", "sm_80", "wrong", "argument 0 is off by 2 where warps run skewed:1")
    assert 'tolerance=0.5, schedule="skewed:1")' in text("p_1_sm_80", program, apart)
    names: dict[str, Any] = {}
    exec(made, names)
    assert names["SOURCE"].strip() == program.source()
    assert names["ARGUMENTS"] == [3]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(12))
def test_promises_that_are_not_made_are_not_believed(seed: int) -> None:
    assert [each.found for each in Judge(assembled=False).judge(promised(seed), ["sm_80", "sm_90a"])] == ["ok"] * 2


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(s, marks=pytest.mark.slow) for s in range(4, 250))])
def test_random_programs_on_every_tier(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Eight programs each: 2,000 in all with the slow ones; eight more seeds a number. One target a seed when quick."""
    from tilesat.commands.fuzz import TIERS

    quick = ["--programs", 1, "--targets", ",".join(TIERS[seed::4])] if seed < 4 else ["--programs", 8]
    code = fuzz("--seed", 8 * seed, *quick, "-o", tmp_path)
    assert code == 0, capsys.readouterr().out


def test_a_compiled_kernel_is_judged_with_the_rules_of_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "wrong.egg"
    path.write_text(WRONG_RULE)
    program = promised(1)
    (found,) = Judge((str(path),), assembled=False).judge(program, ["sm_80"])
    assert found.found == "wrong"
    assert tilesat.compile(program.source(), rules=[path], unchecked=True).ptx != tilesat.compile(program.source()).ptx

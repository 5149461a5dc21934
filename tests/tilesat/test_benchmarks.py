"""The measuring commands measure what they say: on a stand-in device, and on cubins whose facts ptxas tells."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import tilesat
from benchmarks import attention, cubin, gpu, pieces
from benchmarks.ablation import __main__ as ablation
from benchmarks.ablation import beside
from benchmarks.ablation.figures import Counts, code_of, kernels, reads
from benchmarks.calibrate import __main__ as calibrate
from benchmarks.calibrate import clocks, forms
from benchmarks.calibrate import table as counted
from benchmarks.corpus import table
from benchmarks.corpus.compilers import Limits, Outcome, Worker
from benchmarks.corpus.table import Row
from benchmarks.peers import __main__ as peers
from benchmarks.peers import cases, timings
from benchmarks.schedules import __main__ as schedules
from ir.bytecode import read_bytecode
from ir.dialects import cuda_tile as ct
from ir.load import load
from lowering import counts
from runtime import cuda
from runtime.ptxas import assemble, disassemble
from tests.runtime.fake_driver import FakeDriver
from tests.tilesat import example_cases
from tests.tilesat.example_cases import EXAMPLES, QUICK
from tilesat.cutile_kernels import is_kernel
from tilesat.fuzz.writer import Writer
from tilesat.mca.listing import functions


def test_gpu_benchmark_without_a_card_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "load_driver", lambda: FakeDriver(devices=0))
    monkeypatch.setattr(sys, "argv", ["gpu"])
    assert gpu.main() == 0
    assert "nothing was measured: no GPU can be used: cuInit failed" in capsys.readouterr().out


@pytest.mark.in_turn
@pytest.mark.parametrize("spoiled", [False, True])
def test_gpu_benchmark_checks_examples_and_times_the_gemm(
    spoiled: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On a device that is the simulator, where a launch takes one millisecond; a wrong example fails the command."""
    case = QUICK["vecadd_ptr-3000"]()
    case.expected[7] += 1e-3 * spoiled
    monkeypatch.setattr(example_cases, "SWEEP", {"vecadd_ptr-3000": lambda: case})
    monkeypatch.setattr(cuda, "load_driver", lambda: FakeDriver())
    monkeypatch.setattr(gpu, "COLD_BYTES", 1000)
    options = ["--only", "examples,gemm", "--sizes", "128", "--types", "bf16", "--repeat", "2", "--image", "ptx"]
    options.append("--json")
    monkeypatch.setattr(sys, "argv", ["gpu", *options, str(tmp_path / "g.json")])
    assert gpu.main() == spoiled
    found = json.loads((tmp_path / "g.json").read_text())
    assert found["wrong"] == ["vecadd_ptr-3000"] * spoiled
    assert found["gemm"][0]["ms"]["tilesat"] == 1
    assert 0 < found["gemm"][0]["error"] < 1e-4
    assert "| bf16 | 128 | tilesat | 1.0000 | 0.0 | - |" in capsys.readouterr().out


def torch_like(problem: attention.Problem, by: float, driver: FakeDriver) -> attention.Work:
    """Attention of the first sampled rows that takes four milliseconds and is wrong by so much in one place."""
    out = np.zeros_like(problem.q)

    def launch() -> None:
        driver.clock += 4
        heads, rows, expected = problem.sampled
        out[np.ix_(heads, rows)] = expected
        out[heads[0], rows[-1], 3] += np.float16(by)

    return attention.Work(launch, lambda: out)


@pytest.mark.in_turn
def test_gpu_benchmark_times_attention_and_peers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On the simulator: peers that are missing, refuse, or are wrong are left out with the reason, and not timed."""

    def refuses(problem: attention.Problem) -> attention.Work:
        raise RuntimeError("No available kernel.\nAborting execution.")

    driver, here = FakeDriver(), ("json",)
    monkeypatch.setattr(cuda, "load_driver", lambda: driver)
    monkeypatch.setattr(gpu, "COLD_BYTES", 1000)
    monkeypatch.setattr(attention, "KEYS", (64,))
    monkeypatch.setattr(attention, "CHECKED", (1, 1, 100))
    peers = {
        "right": attention.Peer(here, "numpy", lambda problem: torch_like(problem, 0, driver)),
        "wrong": attention.Peer(here, "numpy", lambda problem: torch_like(problem, 0.01, driver)),
        "refuses": attention.Peer(here, "numpy", refuses),
        "absent": attention.Peer(("json", "no_such_module.inside"), "no-such-package", refuses),
    }
    monkeypatch.setattr(attention, "PEERS", peers)
    sizes = ["--lengths", "130", "--widths", "64", "--tokens", "260", "--hidden", "64", "--repeat", "4"]
    options = ["--only", "attention", *sizes, "--image", "ptx", "--json", str(tmp_path / "a.json")]
    monkeypatch.setattr(sys, "argv", ["gpu", *options])
    assert gpu.main() == 0
    found = json.loads((tmp_path / "a.json").read_text())["attention"]
    assert found["left_out"] == {
        "absent": "no_such_module.inside is not installed",
        **{
            f"{name}, width 64, {mask}": why
            for mask in ("full", "causal")
            for name, why in (
                ("wrong", "WRONG: an error of 0.01 (tolerance 0.002)"),
                ("refuses", "RuntimeError: No available kernel."),
            )
        },
    }
    assert "numpy" in found["versions"]
    for row, causal in zip(found["rows"], (False, True), strict=True):
        assert (row["batches"], row["heads"], row["causal"]) == (2, 1, causal)
        assert row["flops"] == 4 * 2 * 130 * 130 * 64 // (1 + causal)
        assert row["ms"] == {"tilesat 128x64": 1, "right": 4}
        assert 0 < row["error"]["tilesat 128x64"] < 1e-3
    said = capsys.readouterr().out
    assert "left out: absent: no_such_module.inside is not installed" in said
    assert "| 64 | causal | 2 x 1 x 130 | tilesat 128x64 | 1.0000 | 0.0 | 4.00 | " in said
    assert not driver.live


def test_gpu_benchmark_fails_where_attention_of_ours_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    """Before timing, or at a size that is timed; a peer that is wrong is none of ours."""
    rows = [{"error": {"tilesat 128x64": 1e-3, "right": 1.0}}]
    assert not attention.wrong({"rows": rows, "left_out": {"peer": "WRONG"}})
    assert attention.wrong({"rows": rows, "left_out": {"tilesat 128x64": "WRONG"}})
    assert attention.wrong({"rows": [{"error": {"tilesat 128x64": np.inf}}], "left_out": {}})
    left_out: dict[str, str] = {}
    ours = {"tilesat 128x64": lambda problem: torch_like(problem, 0.01, FakeDriver())}
    assert attention.checked(ours, 64, True, left_out) == {}
    assert "left out: tilesat 128x64, width 64, causal: WRONG: an error of 0.01" in capsys.readouterr().out
    with pytest.raises(RuntimeError, match="no card"):  # an error of ours is no reason to leave it out
        attention.attempt("tilesat 128x64", fails, attention.random_problem(1, 1, 8, 64, False))


def fails(problem: attention.Problem) -> attention.Work:
    raise RuntimeError("no card")


def test_attention_is_compared_with_the_whole_softmax() -> None:
    """Rows that are sampled are those of the attention of all keys, or of those up to the row."""
    for causal in (False, True):
        problem = attention.random_problem(1, 2, 50, 64, causal)
        q, k, v = (each.astype(np.float64) for each in (problem.q, problem.k, problem.v))
        power = np.exp(q @ k.transpose(0, 2, 1) / 8)
        power *= np.tri(50) if causal else 1
        expected = power / power.sum(-1, keepdims=True) @ v
        assert problem.error(expected) < 1e-5
        assert problem.error(np.where(np.arange(50)[:, None] == 49, 0, expected)) > 0.05
        assert problem.error(np.zeros_like(expected)) > 0.1


def test_attention_has_the_sizes_of_flash_attention() -> None:
    assert list(attention.sizes(64, [1024, 16384, 32768], 16384, 2048)) == [
        (16, 32, 1024), (1, 32, 16384), (1, 32, 32768),
    ]  # fmt: skip
    assert attention.case_of(128, 64, True).name == "attention 128x128x64 causal"
    with pytest.raises(SystemExit, match="attention 128x64x96: expected a width of 64 or 128"):
        attention.case_of(64, 96, False)


def test_time_of_the_best_peer_is_what_others_are_compared_with() -> None:
    row = {"width": 64, "causal": False, "batches": 1, "heads": 2, "length": 8, "flops": 4e9,
           "ms": {"tilesat": 2.0, "slow": 4.0, "fast": 1.0},
           "error": {"tilesat": 0.0, "slow": 0.0, "fast": 0.0, "bad": 1.0}}  # fmt: skip
    assert [line.split(" | ")[3:7] for line in attention.lines(row)] == [
        ["tilesat", "2.0000", "2.0", "0.50"], ["slow", "4.0000", "1.0", "0.25"], ["fast", "1.0000", "4.0", "1.00"],
        ["bad", "WRONG", "-", "-"],
    ]  # fmt: skip


def test_gpu_benchmark_refuses_other_parts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["gpu", "--only", "gemm,softmax"])
    with pytest.raises(SystemExit):
        gpu.main()
    assert "expected some of examples, gemm, attention, got 'softmax'" in capsys.readouterr().err


@pytest.mark.parametrize(("capability", "target"), [("sm_90", "sm_90a"), ("sm_86", "sm_86"), ("sm_75", "sm_80")])
def test_best_target_is_made_for_the_card(capability: str, target: str) -> None:
    assert gpu.best_target(capability) == target


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_code_of_a_cubin_is_what_ptxas_says(target: str, tmp_path: Path) -> None:
    made = assemble(tilesat.compile(EXAMPLES / "gemm.mlir", target).ptx, target)
    (tmp_path / "gemm.cubin").write_bytes(made.binary)
    code = cubin.read_code(tmp_path / "gemm.cubin")
    assert code.registers == made.registers
    assert code.spills == 0
    assert code.mma == (128 if target == "sm_80" else 8)
    assert code.mma < code.loop <= timings.LOOP_GOALS[target]
    assert code.loop < code.instructions


def test_same_program_goes_to_both_compilers(tmp_path: Path) -> None:
    source = tmp_path / "gemm.tileirbc"
    source.write_bytes(timings._bytecode())
    assert tilesat.compile(source).ptx == tilesat.compile(EXAMPLES / "gemm.mlir").ptx


def test_peers_cell_loses_to_the_better_peer() -> None:
    ours, worse, better = (cubin.Code(loop, 0, 0, 0, 10) for loop in (7, 9, 6))
    assert not peers.loses({"ours": ours}, "loop")
    assert not peers.loses({"ours": ours, "tileiras": worse, "Triton": "refused"}, "loop")
    assert peers.loses({"ours": ours, "tileiras": worse, "Triton": better}, "loop")
    assert peers.loses({"ours": "refused", "tileiras": worse}, "loop")
    said = peers.report("sm_80", {"case": {"ours": ours, "tileiras": worse, "Triton": better}})
    assert "| case | **7** / 9 / 6 | 0 / 0 / 0 | 0 / 0 / 0 | 10 / 10 / 10 |" in said
    assert "Lost: 1 of 4 cells\n- case, loop: 7 / 9 / 6" in said


def test_peers_case_compiles() -> None:
    (case,) = (case for case in cases.CASES if case.name == "softmax 1024")
    row = peers.compiled([case], "sm_80", sys.executable)[case.name]
    assert isinstance(row["ours"], cubin.Code)
    assert row["ours"].spills == 0
    assert row["ours"].round_trips == 1


@pytest.mark.in_turn
@pytest.mark.parametrize(("target", "products"), [("sm_80", 128), ("sm_90a", 8)])
def test_steady_loop_is_counted_for_equal_work(target: str, products: int, tmp_path: Path) -> None:
    """A K step of examples/gemm is 128 x 128 x 64 of one warpgroup, the unit; half as much work is half the loop."""
    found = tmp_path / "gemm.cubin"
    found.write_bytes(assemble(tilesat.compile(EXAMPLES / "gemm.mlir", target).ptx, target).binary)
    one, half = (schedules.steady(found, target, work) for work in (128.0 * 128 * 64, 64.0 * 128 * 64))
    assert isinstance(one, schedules.Steady)
    assert isinstance(half, schedules.Steady)
    assert (one.work, one.units["tensor"], one.equal) == (1, products, one.path)
    assert (half.work, half.equal) == (2, one.equal / 2)


def test_units_of_work_are_those_of_the_peers_kernels() -> None:
    named = {case.name: schedules.work_of(case) for case in cases.CASES}
    assert named["attention 128x64x64 full"] == named["attention 128x128x64 full"] == 2 * 128 * 64 * 64
    assert named["attention 128x128x128 causal"] == 2 * 64 * 128 * 128
    assert named["softmax 1024"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_every_case_of_the_peers_is_a_program(case: cases.Case) -> None:
    assert read_bytecode(peers.source(case, case.targets[0])).entries


@pytest.mark.in_turn
def test_corpus_worker_compiles_and_says_why_not(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.mlir"
    wrong.write_text("entry @k() { return")
    worker = Worker(Limits(seconds=60))
    try:
        made = worker.compile(EXAMPLES / "softmax.mlir", "sm_80", tmp_path / "k.cubin")
        assert made.compiled
        assert made.instructions > 100
        refused = worker.compile(wrong, "sm_80", tmp_path / "k.cubin")
        assert not refused.defect
        assert refused.error.startswith(f"{wrong}:1:")
    finally:
        worker.close()


def test_corpus_worker_that_ends_is_a_row(tmp_path: Path) -> None:
    """A worker that is killed, as a limit kills it, says so; the next kernel gets a new one."""
    worker = Worker(Limits(seconds=0))
    made = worker.compile(EXAMPLES / "flash_attention.mlir", "sm_80", tmp_path / "k.cubin")
    worker.close()
    assert made.error == "longer than 0 s of CPU time"


def test_corpus_table() -> None:
    """Whole code and every hot loop count; a kernel that is refused, spills or is longer is listed for who mends it."""
    good = Outcome(seconds=0.5, instructions=100, loops=(20, 10))
    rows = [
        Row("s", "equal", "sm_80", good, Outcome(instructions=100, loops=(20, 12))),
        Row("s", "unrolled", "sm_80", Outcome(seconds=1.5, instructions=130, loops=(20, 10), spills=3), good),
        Row("s", "longer", "sm_80", Outcome(seconds=2.5, instructions=130, loops=(20, 11)), good),
        Row("s", "refused", "sm_80", Outcome("k.bc:1:2: error: no such thing\nhint: none"), good),
    ]
    assert [row.longer for row in rows] == [False, False, True, False]
    said = table.report(rows, ["s"], ["sm_80"])
    assert "| s | sm_80 | 4 | 3 | 4 | 1 | 0 | 1.30 | 2 | 1 | 1.50 | 2.50 |" in said
    assert "- sm_80 s longer: 130 to 100, loops 20, 11 to 20, 10" in said
    listed = table.failures(rows)
    assert "## no such thing (1)\n\n- sm_80 s/refused\n" in listed
    assert "- sm_80 s/unrolled: 3 / 0" in listed
    assert "- 1.30* sm_80 s/longer: 130 / 100; 20, 11 / 20, 10" in listed


def test_corpus_steady_loops() -> None:
    """Of the pieces of a loop the shortest counts, slices by what they do; the pieces stay in the table."""
    ours = Outcome(instructions=300, loops=(60, 30, 30), work=((60, 8.0), (30, 8.0), (30, 4.0)))
    theirs = Outcome(instructions=200, loops=(50,), work=((50, 8.0),))
    row = Row("s", "pieces", "sm_80", ours, theirs)
    assert row.longer
    assert row.steady_ratio == (30 / 4) / (50 / 8)
    assert "loops 60, 30, 30 to 50; 1.20 times for a multiply-add where it is steady" in table.report(
        [row], ["s"], ["sm_80"]
    )
    assert Row("s", "none", "sm_80", ours, Outcome(instructions=1, loops=(1,))).steady_ratio is None


def test_calibration_without_a_card_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "load_driver", lambda: FakeDriver(devices=0))
    monkeypatch.setattr(sys, "argv", ["calibrate", "--gpu"])
    assert calibrate.main() == 0
    assert "nothing was measured: no GPU can be used: cuInit failed" in capsys.readouterr().out


@pytest.mark.slow
def test_calibration_reads_the_clock_around_chains(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a device that is the simulator, whose clock moves on by 64 where it is read, whatever is between."""
    monkeypatch.setattr(cuda, "load_driver", lambda: FakeDriver())
    monkeypatch.setattr(clocks, "PATH", tmp_path / "clocks.json")
    monkeypatch.setattr(sys, "argv", ["calibrate", "--gpu", "--forms", r"^(exp2\.ftz\.f32|xori\.i32|ftoi\.f32\.i32)$"])
    (case,) = (case for case in forms.cases() if case.form.key == "exp2.ftz.f32")
    with cuda.Device() as device:
        assert clocks.clock(case, 4, 1, device, "sm_90a", apply=True) == 64
    assert calibrate.main() == 0
    rows = json.loads((tmp_path / "clocks.json").read_text())["sm_90a"]
    assert {*rows} == {"exp2.ftz.f32", "xori.i32"}  # a conversion cannot be chained
    assert all(row["source"].startswith("measured on ") for row in rows.values())


def test_what_calibration_times_is_between_the_clocks() -> None:
    (case,) = (case for case in forms.cases() if case.form.key == "exp2.ftz.f32")
    made = tilesat.compile(clocks.program(case, 6, 1, True), "sm_90a").ptx
    (function,) = functions(disassemble(assemble(clocks.with_clock(made, "chain", 3), "sm_90a")))
    order = [each.opcode for each in function.instructions]
    reads = [at for at, each in enumerate(function.instructions) if "SR_CLOCKLO" in each.operands]
    timed = [at for at, opcode in enumerate(order) if opcode.startswith(("MUFU", "LDG", "BAR"))]
    assert len(reads) == 2
    assert order.count("MUFU.EX2") == 6
    assert reads[0] < min(timed)
    assert max(timed) < reads[1]
    with pytest.raises(ValueError, match="expected an entry with one end"):
        clocks.with_clock("", "chain", 3)


def test_latency_of_a_step_excludes_what_keeps_it_near_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def clock(case: object, steps: int, elements: int, device: object, target: str, apply: bool) -> float:
        return 700 + steps * (4 * elements + (18 + 8 * elements if apply else 0))

    monkeypatch.setattr(clocks, "clock", clock)
    (case,) = (case for case in forms.cases() if case.form.key == "exp2.ftz.f32")
    ((_, found),) = clocks.measure([case], cast(cuda.Device, None), "sm_90a")
    assert found == (pytest.approx((18 + 8 * clocks.WIDE) / clocks.WIDE), 26)


def test_calibration_compares_with_what_is_committed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["calibrate", "--check", "--targets", "sm_80", "--forms", r"^exp2\.ftz"]
    monkeypatch.setattr(sys, "argv", options)
    assert calibrate.main() == 0
    assert "0 of 1 prices differ" in capsys.readouterr().out
    wrong = {"exp2.f32": {"mufu": 4.0}}
    monkeypatch.setattr(calibrate, "rows", lambda tier: wrong)
    assert calibrate.main() == 1
    assert "sm_80 exp2.ftz.f32: mufu 4 in the table, mufu 1 counted" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["calibrate", "--targets", "sm_1"])
    with pytest.raises(SystemExit, match="unknown target 'sm_1': choose from sm_80, sm_86"):
        calibrate.main()


@pytest.mark.in_turn
def test_calibration_writes_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of the forms that were counted, for the tiers that are like the one they were counted on; the others stay."""
    before = counts.load()
    monkeypatch.setattr(counted, "PATH", tmp_path / "counts.json")
    monkeypatch.setattr(sys, "argv", ["calibrate", "--targets", "sm_80", "--forms", r"^exp2\.f32"])
    assert calibrate.main() == 0
    after = json.loads((tmp_path / "counts.json").read_text())
    assert {key: rows for key, rows in after.items() if key != "exp2.f32"} == {
        key: rows for key, rows in before.items() if key != "exp2.f32"
    }
    (row,) = (row for row in after["exp2.f32"] if "sm_80" in row["tiers"].split())
    assert {"sm_80", "sm_86", "sm_89"} <= {*row["tiers"].split()}
    assert (row["mufu"], row["fma_f32"], row["int_add"]) == (1, 2, 1)


@pytest.mark.in_turn
def test_ablation_says_what_a_family_changes(capsys: pytest.CaptureFixture[str]) -> None:
    """Exponentials of a softmax, with what Triton does unasked and with nothing."""
    given = ["--kernel", "softmax", "--target", "sm_80", "--family", "exponential", "--column"]
    for column in ("IEEE", "triton"):
        ablation.main([*given, column])
    lines = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| softmax |")]
    counts = [[int(number) for number in line[5].split(" to ")] for line in lines]
    assert counts[0][0] == counts[0][1]
    assert counts[1][1] < counts[1][0]


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_80", "sm_100a"])
def test_a_softmax_in_passes_reads_its_row_twice_and_one_that_fits_once(target: str) -> None:
    """Maxima and sums in one pass, the quotients in another; without permissions there are three passes."""
    pytest.importorskip("cuda.tile")
    cases = {case.name: case for case in ablation.CASES}
    all_of_them = ablation.COLUMNS["triton,reassoc,afn"]
    assert [reads(cases["softmax_passes"], target, fast) for fast in ((), all_of_them)] == [3, 2]
    assert [reads(cases["softmax_scaled"], target, fast) for fast in ((), all_of_them)] == [1, 1]


def test_what_is_longer_than_at_another_commit() -> None:
    """The hot loop in any case; code without one not where only calls of slow paths are longer."""

    def code(hot: int, sass: int, rare: int = 0, steps: int = 1) -> Counts:
        return Counts(sass, rare, 64, hot, steps)

    assert beside.longer(code(40, 300), code(40, 400)) == ""
    assert beside.longer(code(40, 300), code(41, 200)) == "longer"
    assert beside.longer(code(40, 300), code(78, 300, steps=2)) == ""
    assert beside.longer(code(300, 300, 100), code(310, 310, 110)) == "slow paths"
    assert beside.longer(code(300, 300, 100), code(310, 310, 109)) == "longer"


CALL = """.version 8.8
.target sm_80
.address_size 64
.visible .entry f(.param .u64 x) {
.reg .f32 %f<4>; .reg .b64 %rd<2>;
ld.param.u64 %rd0, [x]; ld.global.f32 %f0, [%rd0]; ld.global.f32 %f1, [%rd0+4];
OPERATION
st.global.f32 [%rd0], %f2; ret;
}
"""


def test_slow_paths_are_calls_and_what_they_reach() -> None:
    """A quotient rounded to nearest has one, an approximate one has none."""
    rare = [
        code_of(CALL.replace("OPERATION", f"div.{how}.f32 %f2, %f0, %f1;"), "sm_80").rare for how in ("rn", "approx")
    ]
    assert rare[0] > 20
    assert rare[1] == 0


@pytest.mark.slow
def test_kernels_of_a_worktree_beside_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """Of this very commit: the same in both columns."""
    root = Path(__file__).parents[2]
    ablation.main(["--beside", str(root), "--kernel", "softmax", "--target", "sm_80", "--column", "IEEE"])
    (line,) = (line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| softmax |"))
    assert line[2] == line[3]


def test_each_case_of_the_ablation_is_a_program_or_a_kernel() -> None:
    pytest.importorskip("cuda.tile")
    for case in ablation.CASES:
        assert case.file.is_file() if case.file else is_kernel(kernels()[case.name]), case.name


def test_ablation_refuses_names_that_there_are_not() -> None:
    with pytest.raises(SystemExit, match=r"--kernel: expected one of gemm, .*, got 'hemm'"):
        ablation.main(["--kernel", "hemm"])


def over_one_range(needs: str, counted: int = 4) -> ct.Entry:
    """Two loops over the same range that sum rows; the second `needs` the sum of the first, or "nothing" of it."""
    w = Writer("twice", x="ptr<f32>", y="ptr<f32>")
    view = w.view(w.x, [counted, 64], [64, 1], [1, 64])
    zero = w.const(0.0, "f32", 1, 64)
    with w.loop(0, counted, carried=[zero]) as first:
        first.values = [first.values[0] + w.load(view, first.counter, 0)]
    with w.loop(0, counted, carried=[zero]) as second:
        row = w.load(view, second.counter, 0)
        second.values = [second.values[0] + (row * first.values[0] if needs == "a value" else row * row)]
    for place, loop in enumerate((first, second)):
        w.store(loop.values[0], w.view(w.y, [2, 64], [64, 1], [1, 64]), place, 0)
    return load(w.text()).entries[0]


@pytest.mark.parametrize("needs", ["a value", "nothing"])
def test_pairs_of_loops_over_one_range(needs: str) -> None:
    assert list(pieces.of_block(over_one_range(needs).body.block)) == [f"needs {needs}"]


def test_loops_whose_iterations_can_be_done_two_at_a_time() -> None:
    assert [pieces.plain(over_one_range("nothing", counted)) for counted in (1, 4)] == [0, 2]
    assert pieces.plain(load(EXAMPLES / "gemm.mlir").entries[0]) == 0

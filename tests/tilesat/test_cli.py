"""The command line: exit codes, what goes where, and that bad input is one message and no file."""

import importlib
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tilesat
from ptxsim.kinds import Kind
from runtime import cuda
from tests.runtime.fake_driver import FakeDriver
from tilesat import TileError
from tilesat.cli import STAGES, main
from tilesat.commands.options import permissions
from tilesat.kernel import Kernel

ROOT = Path(__file__).resolve().parents[2]
VECADD = str(ROOT / "examples" / "vecadd_view.mlir")
GEMM = str(ROOT / "examples" / "gemm.mlir")
VECADD_ARGUMENTS = ["--arg", "f32[3000]=normal:1", "--arg", "f32[3000]=normal:2", "--arg", "f32[3000]=zeros"]
VECADD_RUN = ["run", VECADD, "--grid", "3", *VECADD_ARGUMENTS, "--arg", "i32=3000"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["translate"],
        ["compile"],
        ["compile", VECADD, "--emit", "machine"],
        ["compile", VECADD, "--extractor", "best"],
        ["run", VECADD, "--grid", "0"],
        ["run", VECADD, "--grid", "1,2,3,4"],
        ["run", VECADD, "--grid", "2147483648"],
        ["run", VECADD],
        ["run", VECADD, "--grid", "1", "--on", "tpu"],
    ],
)
def test_usage_errors_exit_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: tilesat" in capsys.readouterr().err


def test_bad_spec_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", VECADD, "--grid", "1", "--arg", "f17[3]=zeros"]) == 2
    assert "unknown element type 'f17'" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_89", "sm_90a"])
def test_targets_lists_each(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets"]) == 0
    assert target in [line.split()[0] for line in capsys.readouterr().out.splitlines()]


def test_doctor_finds_the_engine_and_ptxas(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "ok       egglog: 13.2.0" in out
    assert "ok       ptxas: " in out


def test_doctor_says_what_is_missing_and_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    main(["doctor"])
    assert "absent   dot: --viz writes DOT only; install graphviz" in capsys.readouterr().out


def test_check_says_what_the_module_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", GEMM]) == 0
    assert "ok, @gemm, " in capsys.readouterr().out


BROKEN = """cuda_tile.module @m {
  entry @k(%p: tile<ptr<f32>>) {
    %0 = addf %p, %q : tile<4xf32>
    return
  }
}
"""


def broken(tmp_path: Path, content: str | bytes) -> str:
    path = tmp_path / "broken.mlir"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (BROKEN, "broken.mlir:3:"),
        (BROKEN.replace("addf %p, %q", "addf %p, %p"), "broken.mlir:3:"),
        (BROKEN.replace("addf %p, %q", "frobnicate %p"), "broken.mlir:3:"),
        (BROKEN[:60], "broken.mlir:"),
        (b"\x7fTileIR\x00" + bytes(range(40)), "broken.mlir"),
        (b"\xff\xfe\x00garbage", "broken.mlir"),
    ],
    ids=["unknown-value", "wrong-type", "unknown-op", "cut-off", "bad-bytecode", "binary"],
)
@pytest.mark.parametrize("command", ["check", "compile"])
def test_bad_program_is_one_located_message_and_no_file(
    command: str, content: str | bytes, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    source = broken(tmp_path, content)
    extra = ["-o", str(out / "k.ptx"), "--manifest", str(out / "k.json")] if command == "compile" else []
    assert main([command, source, *extra]) == 1
    shown = capsys.readouterr()
    assert not shown.out
    assert where in shown.err.splitlines()[0]
    assert ": error: " in shown.err.splitlines()[0]
    assert "Traceback" not in shown.err
    assert not out.exists()


def test_module_without_a_kernel_is_read_but_not_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = broken(tmp_path, "cuda_tile.module @m {\n}\n")
    assert main(["check", source]) == 0
    assert "no entry" in capsys.readouterr().out
    assert main(["compile", source]) == 1
    assert "broken.mlir:1:1: error: the module has no entry to compile" in capsys.readouterr().err


def test_missing_file_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "no/such.mlir"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("no/such.mlir: error: ")
    assert "No such file" in err


@pytest.mark.parametrize("target", ["sm_1", "sm_80,sm_1", ""])
def test_unknown_target_writes_nothing_for_any(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", VECADD, "--target", target, "-o", str(tmp_path / "k.ptx")]) == 1
    err = capsys.readouterr().err
    assert "unknown target" in err
    assert "sm_80" in err
    assert not os.listdir(tmp_path)


def test_unknown_entry_lists_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", GEMM, "--entry", "flash"]) == 1
    assert "hint: entries: gemm" in capsys.readouterr().err


MODULES = """
module attributes {gpu.container_module} {
  cuda_tile.module @m {
    entry @k() { return }
    entry @a() { return }
  }
  cuda_tile.module @n { entry @k() { return } }
}
"""


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("a", ""), ("m::k", ""), ("n::k", ""),
        ("k", "the modules have several entries 'k'\nhint: name one with --entry (entry=): m::k, a, n::k"),
        (None, "the modules have several entries\nhint: name one with --entry (entry=): m::k, a, n::k"),
        ("n::a", "the modules have no entry 'n::a'\nhint: entries: m::k, a, n::k"),
    ],
)  # fmt: skip
def test_an_entry_of_several_modules(
    entry: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(MODULES)
    code = main(["compile", str(path), *(["--entry", entry] if entry else [])])
    out, err = capsys.readouterr()
    assert code == (1 if message else 0)
    assert "".join(line for line in err.splitlines(True) if " | " not in line).endswith(
        f"{message}\n" if message else ""
    )
    assert message or ".visible .entry" in out


def test_bad_rule_file_is_located(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "mine.egg"
    rules.write_text('(rewrite (addf a b) (addf b\n :ruleset algebra :name "mine/flip")\n')
    assert main(["compile", VECADD, "--rules", str(rules)]) == 1
    assert str(rules) in capsys.readouterr().err


@pytest.mark.parametrize("prefix", ["", "load/"])
def test_rules_that_everything_needs_left_out(prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What loads a program is no rule: a kernel that nothing places is refused at its place."""
    assert main(["compile", VECADD, "--without", prefix]) == 1
    assert capsys.readouterr().err.startswith(f"{VECADD}:6:3: error: no lowering for sm_80")


def test_signature_for_what_is_no_cutile_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", VECADD, "--sig", "i32"]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"tilesat: error: {VECADD} is not a cuTile kernel, so it takes no signature")
    assert "hint: leave the signature out" in err
    with pytest.raises(TileError, match="the program is not a cuTile kernel"):
        tilesat.compile(VECADD, signature="i32")


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_is_printed(stage: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", VECADD, "--emit", stage]) == 0
    out = capsys.readouterr().out
    marks = {
        "ptx": ".visible .entry",
        "sass": "EXIT",
        "egraph": "load_view_tko",
        "cuda_tile": "load_view_tko",
        "egraph-json": '"nodes"',
    }
    assert marks.get(stage, "vecadd") in out


def test_compile_writes_ptx_and_manifest_per_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ptx, manifest = tmp_path / "k.ptx", tmp_path / "k.json"
    assert main(["compile", VECADD, "--target", "sm_80,sm_89", "-o", str(ptx), "--manifest", str(manifest)]) == 0
    assert not capsys.readouterr().out
    assert sorted(os.listdir(tmp_path)) == ["k.sm_80.json", "k.sm_80.ptx", "k.sm_89.json", "k.sm_89.ptx"]
    for target in ("sm_80", "sm_89"):
        assert f".target {target}" in (tmp_path / f"k.{target}.ptx").read_text()
        assert json.loads((tmp_path / f"k.{target}.json").read_text())["target"] == target


def test_manifest_has_the_agreed_form(tmp_path: Path) -> None:
    manifest = tmp_path / "g.json"
    assert main(["compile", GEMM, "-o", str(tmp_path / "g.ptx"), "--manifest", str(manifest)]) == 0
    found = json.loads(manifest.read_text())
    assert set(found) == {"entry", "name", "target", "block", "cluster", "dynamic_smem", "global_scratch", "params"}
    assert found["entry"] == "gemm"
    assert found["target"] == "sm_80"
    assert found["cluster"] == [1, 1, 1]
    assert found["block"][0] % 32 == 0
    assert found["params"][0] == {"kind": "pointer", "arg": 0, "dtype": "f16"}
    assert {"kind": "scalar", "arg": 4, "dtype": "i32"} in found["params"]


def test_time_and_explain_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", VECADD, "--time", "--explain"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("//") or ".version" in shown.out.splitlines()[0]
    assert "seconds for sm_80:" in shown.err
    assert "total" in shown.err
    assert "saturated" in shown.err


@pytest.mark.parametrize("on", ["sim", "ref"])
def test_run_checks_and_saves(on: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "out.npz"
    assert main([*VECADD_RUN, "--on", on, "--check", "--save", str(saved)]) == 0
    assert "check arg2: ok" in capsys.readouterr().out
    held = np.load(saved)
    assert np.array_equal(held["arg2"], held["arg0"] + held["arg1"])
    assert held["arg0"].std() > 0.5


def test_run_fails_when_the_check_does(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator's result is spoiled: the check must see it."""
    from tilesat import execution

    right = execution.simulate

    def spoiled(*arguments: object, **options: object) -> object:
        report = right(*arguments, **options)  # pyright: ignore
        arguments[3][2][2999] += 1  # type: ignore[index]
        return report

    monkeypatch.setattr(execution, "simulate", spoiled)
    assert main([*VECADD_RUN, "--check"]) == 1
    assert "check arg2: WRONG" in capsys.readouterr().out


def test_run_with_a_wrong_argument_is_located(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", VECADD, "--grid", "3", *VECADD_ARGUMENTS, "--arg", "f32=3000"]) == 1
    err = capsys.readouterr().err
    assert "vecadd_view.mlir:" in err
    assert "parameter 3" in err


def test_run_on_cuda_without_a_driver_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    assert main([*VECADD_RUN, "--on", "cuda"]) == 1
    assert "tilesat: error: the CUDA driver's Python bindings are missing: pip install" in capsys.readouterr().err


def test_run_on_cuda_goes_through_the_driver(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "load_driver", lambda: FakeDriver(capability=(8, 0)))
    assert main([*VECADD_RUN, "--on", "cuda", "--check"]) == 0
    assert "check arg2: ok" in capsys.readouterr().out


def test_viz_writes_pictures(tmp_path: Path) -> None:
    assert main(["compile", VECADD, "-o", str(tmp_path / "k.ptx"), "--viz", str(tmp_path / "viz")]) == 0
    made = set(os.listdir(tmp_path / "viz"))
    assert {"overview.dot", "cuda_tile.dot", "nv_tileas.dot", "layout0.dot", "layout0.txt"} <= made
    assert "cost " in (tmp_path / "viz" / "overview.dot").read_text()


def test_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m tilesat compile {VECADD} | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0
    assert not done.stderr


@pytest.mark.in_turn
def test_demo_shows_three_generations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--output", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    products = {"sm_100a": "4 tcgen05.mma", "sm_90a": "8 wgmma.mma_async", "sm_80": "128 mma.sync"}
    for target, product in products.items():
        ptx = tmp_path / f"gemm.{target}.ptx"
        assert f"ok: {target}, largest error" in out
        assert f"PTX: {ptx}" in out
        assert product in out
        assert f".target {target}" in ptx.read_text()
        assert json.loads(ptx.with_suffix(".json").read_text())["target"] == target


SIZES = (128, 128, 256, 256, 256, 128, 128)
GEMM_RUN = [
    "run", GEMM, "--grid", "1", "--arg", "f16[128,256]=normal:1", "--arg", "f16[128,256]=normal:2",
    "--arg", "f32[128,128]=normal:3", "--arg", "f32[128,128]=zeros",
    *(part for size in SIZES for part in ("--arg", f"i32={size}")),
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("target", "wait"), [("sm_80", r"cp\.async\.wait_group \d+;"), ("sm_90a", r"bar\.sync [^;]*;")]
)
def test_a_missing_wait_fails_the_check(
    target: str, wait: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without hazards the simulator's copies arrive at once, so that the result is right all the same."""
    run = [*GEMM_RUN, "--target", target, "--check"]
    assert main(run) == 0
    assert "check arg3: ok" in capsys.readouterr().out
    monkeypatch.setattr(Kernel, "ptx", property(lambda kernel: re.sub(wait, "", kernel.compiled.ptx)))
    assert main(run) == 1
    assert "PTX line" in capsys.readouterr().err
    assert main([*run, "--no-hazards"]) == 0
    assert "check arg3: ok" in capsys.readouterr().out
    assert main([*GEMM_RUN, "--target", target, "--hazards"]) == 1
    capsys.readouterr()
    report = [*GEMM_RUN, "--target", target, "--hazards=report"]
    assert main(report) == 1
    listed = re.findall(r"^(\d+) +\S*gemm\.mlir:\d+ +(\S+) +\d+ +thread \(.*", capsys.readouterr().out, re.MULTILINE)
    kinds = {kind for _, kind in listed}
    assert listed
    assert kinds <= {kind.title for kind in Kind}
    assert main([*report, *(word for kind in kinds for word in ("--suppress", kind))]) == 0
    assert re.search(r"^0 hazards at 0 PTX lines, \d+ suppressed$", capsys.readouterr().out, re.MULTILINE)
    assert main([*report, "--suppress", "races"]) == 1
    assert "cannot suppress 'races'" in capsys.readouterr().err


def test_run_ends_after_as_many_instructions_as_it_may_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*VECADD_RUN, "--max-instructions", "50"]) == 1
    assert "still running after 50 instructions" in capsys.readouterr().err
    assert main([*VECADD_RUN, "--max-instructions", "100000"]) == 0
    with pytest.raises(SystemExit):
        main([*VECADD_RUN, "--max-instructions", "0"])
    assert "'0' is not a positive integer" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_processes_share_the_grid(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    launch, shares = importlib.import_module("ptxsim.launch"), list[int]()
    apart = launch.run_apart
    monkeypatch.setattr(launch, "run_apart", lambda work, mine: (shares.append(len(mine)), apart(work, mine))[1])
    run = [*VECADD_RUN, "--check", "--no-hazards"]
    printed: list[list[str]] = []
    for workers in ("1", "2"):
        assert main([*run, "--workers", workers]) == 0
        printed.append(capsys.readouterr().out.splitlines()[1:])  # the first line has the time
    assert shares == [2]
    assert printed[0] == printed[1]
    assert any("check arg2: ok" in line for line in printed[1])
    for on in ("ref", "cuda"):
        assert main([*VECADD_RUN, "--on", on, "--workers", "2"]) == 1
        assert f"running on '{on}' takes one process" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["compile", "opt"])
def test_a_file_is_read_once(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its level is found out from what was read."""
    reads: list[Path] = []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (reads.append(path), read_bytes(path))[1])
    more = ["--passes", "encode"] if command == "opt" else []
    assert main([command, VECADD, *more, "-o", str(tmp_path / "out")]) == 0
    assert [path for path in reads if path.suffix != ".py"] == [Path(VECADD)]  # pytest reads modules of its plugins so


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_compiled(tmp_path: Path) -> None:
    pipe, text = tmp_path / "pipe", Path(VECADD).read_text()
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    assert main(["compile", str(pipe), "-o", str(tmp_path / "k.ptx")]) == 0
    writer.join()
    assert ".entry vecadd" in (tmp_path / "k.ptx").read_text()


def test_permissions_of_entries() -> None:
    given = ["nsz,contract", "gemm=afn,ftz"]
    assert permissions(given) == ["nsz", "contract", "gemm=afn", "gemm=ftz"]

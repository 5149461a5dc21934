"""Programs and scripts whose CUDA calls go to the simulator."""

import json
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import ANY

import pytest

from runtime.driver.build import build, compiler, default_folder
from tests.runtime.cuda_headers import headers
from tilesat.cli import main

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples"
ASSERTION = """
.global .align 1 .b8 said[2] = {97};
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) .noreturn;
"""
CALL = """{
  .reg .b64 %t; .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
  mov.u64 %t, said; cvta.global.u64 %t, %t;
  st.param.b64 [a], %t; st.param.b64 [b], %t; st.param.b32 [c], 7; st.param.b64 [d], %t; st.param.b64 [e], 1;
  call.uni __assertfail, (a, b, c, d, e);
}
"""
pytestmark = pytest.mark.skipif(compiler() is None, reason="needs a C compiler: cc, or what CC names")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library is built for this session."""
    return tmp_path_factory.mktemp("driver")


def compiled(source: Path, folder: Path, *options: str) -> Path:
    """A C program linked with the library, as with NVIDIA's."""
    library = build(folder)
    program = folder / source.stem
    arguments = ["-Wall", *options, "-o", str(program), str(source), f"-L{library}", "-l:libcuda.so.1"]
    subprocess.run([*(compiler() or []), *arguments], check=True)
    return program


def sanitize(folder: Path, *arguments: str | Path) -> tuple[int, str]:
    """The exit status and the report of `tilesat sanitize`."""
    report = folder / "report.txt"
    status = main(["sanitize", "--build", str(folder), "--report", str(report), *map(str, arguments)])
    return status, report.read_text()


@pytest.mark.in_turn
def test_a_program_that_uses_the_driver(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = compiled(HERE / "program.c", folder)
    status, report = sanitize(folder, "--target", "sm_90", program, HERE / "axpy.ptx")
    assert capfd.readouterr() == ("right\n", "")
    assert "error: launch: launch of axpy: 65 threads, it takes 64" in report
    assert "error: launch: cooperative launch of axpy: (257, 1, 1) CTAs, room for 256" in report
    assert "error: launch: launch of axpy: grid (0, 1, 1), block (64, 1, 1)" in report
    assert "global_strides[0] = 24 bytes is not a multiple of 16" in report
    assert "refused: a module cannot be loaded: " in report
    assert report.endswith(" in 4 launches\n")
    assert status == 1


@pytest.mark.in_turn
@pytest.mark.skipif(headers() is None, reason="needs cuda.h (nvidia-cuda-runtime)")
def test_a_kernel_compiled_ahead_of_time(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A fat binary and a C header: the device takes its own code, and the header its launch plan; no hazards."""
    source, image = str(EXAMPLES / "gemm.mlir"), folder / "gemm.fatbin"
    made = ["--target", "sm_80,sm_90a", "-o", str(image), "--header", str(folder / "gemm.h")]
    assert main(["compile", source, *made]) == 0
    program = compiled(HERE / "ahead_of_time.c", folder, f"-I{folder}", f"-I{headers()}")
    for device, code in (("sm_90", "sm_90a"), ("sm_100", "sm_80")):
        status, report = sanitize(folder, "--target", device, program, image)
        assert capfd.readouterr() == (f"right by the code for {code}\n", "")
        assert report.endswith("SUMMARY: 0 hazards in 1 launch\n")
        assert status == 0


LAUNCHES = {
    "shares of sums": ("sm_80", "--fast", "reassoc", "--num-ctas", "auto", "--tile-blocks", "123"),
    "clusters by a counter": ("sm_90a", "--num-ctas", "2", "--persistent", "atomic"),
    "tiles that the hardware hands over": ("sm_100a", "--persistent", "dynamic"),
}


@pytest.mark.sampled(5)
@pytest.mark.skipif(headers() is None, reason="needs cuda.h (nvidia-cuda-runtime)")
@pytest.mark.parametrize("name", LAUNCHES)
def test_what_a_launch_needs_in_addition_to_its_arguments(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    """Memory for shares, counters that are zeroed, clusters: six tile blocks on a device of eight multiprocessors."""
    target, *options = LAUNCHES[name]
    image, manifest = tmp_path / "gemm.fatbin", tmp_path / "gemm.json"
    made = ["--target", target, "-o", str(image), "--header", str(tmp_path / "gemm.h"), "--manifest", str(manifest)]
    assert main(["compile", str(EXAMPLES / "gemm.mlir"), *made, *options]) == 0
    given = json.loads(manifest.read_text())
    launched = {each["launch"] for each in given["params"] if "launch" in each}
    wanted = {"shares of sums": {"tickets", "shares"}, "clusters by a counter": {"tile counter"}}.get(name, set())
    assert wanted <= launched
    assert (given["cluster"] == [2, 1, 1]) == name.startswith("clusters")
    flags = (f"-I{tmp_path}", f"-I{headers()}", "-DSIZES=M = 264, N = 136, K = 136")
    program = compiled(HERE / "ahead_of_time.c", folder, *flags)
    status, report = sanitize(folder, "--target", target.rstrip("a"), program, image)
    assert capfd.readouterr() == (f"right by the code for {target}\n", "")
    assert report.endswith("SUMMARY: 0 hazards in 1 launch\n")
    assert status == 0


def test_a_fault_ends_in_the_report_and_in_a_status(folder: Path) -> None:
    status, report = sanitize(
        folder, "--target", "sm_90", compiled(HERE / "program.c", folder), HERE / "axpy.ptx", "fault"
    )
    assert status == 1
    assert "error: out of bounds: " in report
    assert "    in axpy, PTX line 14\n=========     ld.global.f32 %f1, [%d2];" in report
    assert "refused: call: cuGraphCreate is not simulated" in report


def test_a_program_that_registers_its_kernels(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As nvcc and clang make it; a clean program's own status is the status."""
    monkeypatch.setenv("KERNELS", str(HERE / "reverse.ptx"))
    status, report = sanitize(folder, compiled(HERE / "registered.c", folder))
    assert capfd.readouterr() == ("right\n", "")
    assert report == "========= TILESAT SANITIZE\n========= SUMMARY: 0 hazards in 3 launches\n"
    assert status == 5


@pytest.mark.parametrize(("options", "status"), [((), 1), (("--suppress", "race"), 5), (("--no-hazards",), 5)])
def test_a_race_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], status: int) -> None:
    """Without its barrier the kernel still computes what it should on a device that runs warps in step."""
    ptx = folder / "race.ptx"
    ptx.write_text((HERE / "reverse.ptx").read_text().replace("  bar.sync 0;\n", "\n"))
    monkeypatch.setenv("KERNELS", str(ptx))
    found, report = sanitize(folder, *options, compiled(HERE / "registered.c", folder))
    assert found == status
    if options:
        assert ("3 suppressed" in report) == (options[0] == "--suppress")
        return
    lines = report.replace("========= ", "").splitlines()
    assert lines[1].startswith("race: thread (")
    assert lines[2:] == [
        "    in reverse at reverse.cu:6, PTX line 19",
        "    ld.shared.u32 %r6, [%r5+252];",
        "    first by thread (0,0,0) of CTA (0,0,0)",
        "    first in launch 1, 3 times in all",
        "=========",
        "SUMMARY: 3 hazards at 1 place in 3 launches",
    ]


def test_a_runtime_older_than_cuda_12_is_refused(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    old = folder / "old.c"
    old.write_text((HERE / "linked.c").read_text() + "int cudaGetDeviceProperties(void *p) { return p != 0; }\n")
    status, report = sanitize(folder, compiled(old, folder))
    assert status == 1
    assert "refused: call: the CUDA runtime in the program, which is older than 12, is not simulated" in report
    assert capfd.readouterr().out == "35 2730\n"


def test_a_runtime_inside_the_program_is_redirected(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = compiled(HERE / "linked.c", folder)
    assert sanitize(folder, program)[0] == 0
    assert capfd.readouterr().out == "0 1\n"
    sanitize(folder, shutil.which("strip") or "true", program)
    sanitize(folder, program)
    assert capfd.readouterr().out == ("0 1\n" if shutil.which("strip") is None else "35 2730\n")


def test_ptx_for_a_newer_device_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = folder / "newer.ptx"
    newer.write_text((HERE / "axpy.ptx").read_text().replace("8.0", "8.7").replace("sm_80", "sm_120a"))
    status, report = sanitize(folder, "--target", "sm_90", compiled(HERE / "program.c", folder), newer)
    assert "error: module: the PTX is for sm_120a, the device is sm_90: pass --target sm_120" in report
    monkeypatch.setenv("KERNELS", str(newer))
    assert "the PTX is for sm_120a, the device is sm_80" in sanitize(folder, compiled(HERE / "registered.c", folder))[1]
    assert status == 1


def test_a_failed_assertion_has_its_own_status(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (HERE / "reverse.ptx").read_text()
    text = text.replace(".visible .entry", ASSERTION + ".visible .entry", 1).replace("  ret;", CALL + "  ret;")
    (folder / "assertion.ptx").write_text(text)
    monkeypatch.setenv("KERNELS", str(folder / "assertion.ptx"))
    status, report = sanitize(folder, compiled(HERE / "registered.c", folder))
    assert status == 1
    assert "error: assertion: thread (0,0,0) of CTA (0,0,0) fails the assertion `a`" in report


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing-of-this-name"], "nothing-of-this-name: error: there is no such program"),
        (["nothing.py"], "nothing.py: error: there is no such script"),
        (["--target", "90", "true"], "--target '90': expected an architecture such as sm_90"),
        (["--schedule", "late", "true"], "--schedule 'late': expected together or skewed:SEED with a whole number"),
        (["--suppress", "noise", "true"], "cannot suppress 'noise': expected KIND, KIND:LINE or LINE"),
    ],
)
def test_what_cannot_be_run(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["sanitize", "--build", str(folder), *arguments]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "place", "message"),
    [
        ("no-such-compiler", "", "no C compiler: install gcc or clang"),
        ("false", "", "` failed:"),
        (None, "/proc/nothing", "cannot build the library in /proc/nothing: .*; pass another folder"),
    ],
)
def test_a_library_that_cannot_be_built(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str | None,
    place: str,
    message: str,
) -> None:
    if command is not None:
        monkeypatch.setenv("CC", command)
    assert main(["sanitize", "--build", place or str(tmp_path), "true"]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


def test_only_the_build_folder_is_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    program = compiled(HERE / "linked.c", folder)
    before = {path for path in folder.parent.rglob("*") if path.is_dir()}
    assert main(["sanitize", "--build", str(folder), str(program)]) == 0
    assert not list(tmp_path.iterdir())
    assert {path for path in folder.parent.rglob("*") if path.is_dir()} == before
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_folder() == tmp_path / ".cache" / "tilesat" / "driver"


def test_a_forked_child_has_a_device_of_its_own(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, report = sanitize(folder, compiled(HERE / "forked.c", folder))
    assert status == 1
    assert report.count("error: memset: 64 bytes at ") == 1
    assert capfd.readouterr().out == "1 1 0\n"


def test_the_status_of_a_program_that_is_killed(folder: Path) -> None:
    assert sanitize(folder, "sh", "-c", "kill -9 $$")[0] == 128 + 9


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("runtime", ["static", "shared"])
def test_a_program_of_nvcc(folder: Path, capfd: pytest.CaptureFixture[str], runtime: str) -> None:
    """The PTX inside is compressed."""
    for race in (False, True):
        program = folder / f"reverse-{runtime}-{race}"
        options = ["-arch=sm_80", "-lineinfo", "-cudart", runtime, *(["-DRACE"] if race else [])]
        subprocess.run(["nvcc", *options, "-o", str(program), str(HERE / "reverse.cu")], check=True)
        status, report = sanitize(folder, program)
        assert capfd.readouterr().out == "255 no error\n"
        assert status == race
        assert ("SUMMARY: 1 hazard at 1 place in 1 launch" if race else "SUMMARY: 0 hazards in 1 launch") in report
        assert ("reverse.cu:11, PTX line " in report) == race


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton: pip install triton")
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100"])
def test_a_script_of_triton(folder: Path, capfd: pytest.CaptureFixture[str], target: str) -> None:
    status, report = sanitize(folder, "--target", target, HERE / "triton_script.py", "3")
    assert capfd.readouterr().out == "right\n"
    assert report.endswith("SUMMARY: 0 hazards in 1 launch\n")
    assert status == 0


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None or find_spec("torch") is None, reason="needs Triton and PyTorch")
def test_a_script_of_triton_and_pytorch(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert sanitize(folder, HERE / "torch_script.py") == (0, ANY)
    assert capfd.readouterr().out == "right\n"
    status, report = sanitize(folder, HERE / "torch_script.py", "beyond")
    assert status == 1
    assert "error: out of bounds: " in report
    assert "torch_script.py:18, PTX line " in report


@pytest.mark.slow
@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="needs numba-cuda: pip install 'numba-cuda[cu13]'")
def test_a_script_of_numba(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert sanitize(folder, HERE / "numba_script.py") == (0, ANY)
    status, report = sanitize(folder, HERE / "numba_script.py", "race")
    assert capfd.readouterr().out == "right\nright\n"
    assert status == 1
    assert "numba_script.py:18, PTX line " in report
    assert "SUMMARY: 1 hazard at 1 place in 1 launch" in report

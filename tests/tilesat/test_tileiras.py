"""The drop-in for tileiras: options, exit codes, version probe, messages."""

import re
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest
from cuda.tile import TileCompilerExecutionError
from cuda.tile._bytecode.version import BytecodeVersion
from cuda.tile._bytecode.writer import write_bytecode
from cuda.tile._compile import _parse_tileir_stderr

from ir.bytecode import read_bytecode
from ir.bytecode import write_bytecode as bytecode_of
from ir.bytecode.container import MAGIC, PREVIEW_TAG
from ir.text import parse
from lowering.pipeline import Options
from runtime.ptxas import Cubin, PtxasNotFoundError, Usage, assemble, disassemble, find
from tilesat.compiler import compile_module
from tilesat.remarks import remarks
from tilesat.tileiras import TARGETS, has_wide_arrays, main, parse_arguments, warn

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/bytecode"
GEMM = DATA / "gemm.13.4.tileirbc"
PRODUCT = """cuda_tile.module @m {
  entry @product() {
    %a = constant <f32: 1.5> : tile<16x16xf32>
    %c = mmaf %a, %a, %a : tile<16x16xf32>, tile<16x16xf32>, tile<16x16xf32>
  }
}
"""
SOFTMAX = DATA / "softmax.13.4.tileirbc"


def has_ptxas():
    try:
        return bool(find())
    except PtxasNotFoundError:
        return False


@pytest.fixture
def target(tmp_path):
    return tmp_path / "out.cubin"


def assembled(code, target):
    """Success where ptxas is installed, else a message that says how to get it."""
    if has_ptxas():
        assert code == 0
        assert target.read_bytes().startswith(b"\x7fELF")
    else:
        assert code == 5


@pytest.mark.sampled(4)
@pytest.mark.parametrize("gpu", ["sm_80", "sm_87", "sm_90", "sm_110", "sm_120", "sm_121"])
def test_a_cubin_comes_out(gpu, target):
    options = ["-o", str(target), "--gpu-name", gpu, "-O3", "--lineinfo"]
    assembled(main([str(SOFTMAX), *options]), target)


SHARING = """
global @table <f32: [1.0, 2.0]> : tile<2xf32>
entry @ENTRY(%p: tile<ptr<f32>>) {
  %g = get_global @table : tile<ptr<f32>>
  %t0 = make_token : token
  %x, %t1 = load_ptr_tko weak %g token=%t0 : tile<ptr<f32>> -> tile<f32>, token
  %c = constant <f32: [3.0, 5.0]> : tile<2xf32>
  %s = reduce %c dim=0 identities=[0.0 : f32] : tile<2xf32> -> tile<f32> (%a: tile<f32>, %b: tile<f32>) {
    %d = addf %a, %b : tile<f32>
    yield %d : tile<f32>
  }
  %y = addf %x, %s : tile<f32>
  %t2 = store_ptr_tko weak %p, %y token=%t1 : tile<ptr<f32>>, tile<f32> -> token
}
"""


def test_kernels_of_one_module_share_its_arrays(tmp_path, target):
    first, entry = SHARING.split("entry")
    path = tmp_path / "two.tileirbc"
    kernels = [f"entry{entry.replace('ENTRY', name)}" for name in ("one", "two")]
    path.write_bytes(bytecode_of(parse(first + "".join(kernels))))
    assembled(main([str(path), "-o", str(target), "--gpu-name", "sm_80"]), target)


def test_the_version_probe_of_cutile(tmp_path, target):
    """An empty module of each version that is read is compiled, one of a later version is not."""
    for version in BytecodeVersion:
        buffer = bytearray()
        with write_bytecode(0, buffer, version):
            pass
        file = tmp_path / "probe.bytecode"
        file.write_bytes(bytes(buffer))
        assembled(main([str(file), "-o", str(target), "--gpu-name", "sm_120"]), target)
    buffer[9] = 6
    file.write_bytes(bytes(buffer))
    assert main([str(file), "-o", str(target), "--gpu-name", "sm_120"]) == 3


def test_every_option_has_its_spellings(target):
    found = parse_arguments([
        "a.bytecode", f"--output-file={target}", "-arch", "sm_121", "--opt-level", "1", "-lineinfo", "-g",
        "--preview=simt", "--host-arch=aarch64", "--host-os", "windows",
    ])  # fmt: skip
    assert (found.source, found.output, found.gpu, found.level) == (Path("a.bytecode"), target, "sm_121", "1")
    assert found.lineinfo
    assert found.debug
    assert found.preview
    assert parse_arguments(["a", "-O2"]).level == parse_arguments(["a", "-O", "2"]).level == "2"


def test_debug_turns_ptxas_optimisation_off(tmp_path, target):
    slow, fast = tmp_path / "slow", tmp_path / "fast"
    for options, file in ((["-g"], slow), (["-O3"], fast)):
        assembled(main([str(SOFTMAX), "-o", str(file), "--gpu-name=sm_80", *options]), file)
    assert not has_ptxas() or slow.read_bytes() != fast.read_bytes()


def test_remarks_as_yaml(tmp_path, target):
    file = tmp_path / "remarks.yaml"
    options = ["--remark-format=yaml", "--remarks=all", f"--remarks-output-file={file}"]
    assembled(main([str(GEMM), "-o", str(target), "--gpu-name=sm_80", *options]), target)
    if has_ptxas():
        text = file.read_text()
        documents = list(yaml_documents(text))
        assert {tag for tag, _ in documents} == {"Passed", "Analysis"}
        assert all(fields["Function"].strip() == "'gemm'" for _, fields in documents)
        assert all("File: 'examples/cutile/gemm.py'" in fields["DebugLoc"] for _, fields in documents)
        assert "mma.sync.aligned.m16n8k16" in text
        assert "cp.async" in text


def yaml_documents(text):
    for document in text.split("...\n")[:-1]:
        tag, *lines = document.splitlines()
        yield (
            tag.removeprefix("--- !"),
            dict(line.split(": ", 1) for line in lines if ": " in line and not line.startswith(" ")),
        )


def test_remarks_on_the_command_line(target, capsys):
    chosen = ["--remarks-passed=tensorcore", "--remarks-missed", "all", "--remarks-analysis=none"]
    assembled(main([str(GEMM), "-o", str(target), "--gpu-name=sm_80", *chosen]), target)
    if has_ptxas():
        place = 'loc("examples/cutile/gemm.py":17:0): remark: [TensorCore] '
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(place)
        assert line.endswith("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")


def test_no_remarks_unless_asked(target, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assembled(main([str(SOFTMAX), "-o", str(target), "--gpu-name=sm_80", "--remark-format=yaml"]), target)
    assert not has_ptxas() or capsys.readouterr().err == ""
    assert not (tmp_path / "tileir_remarks.yaml").exists()


def test_hints_without_effect_are_warned_of(tmp_path, target, capsys):
    hint = "optimization_hints=<sm_90 = {num_cta_in_cga = 2}>"
    source = tmp_path / "hinted.tileirbc"
    source.write_bytes(bytecode_of(parse(f"cuda_tile.module @m {{ entry @hinted() {hint} {{ return }} }}")))
    assembled(main([str(source), "-o", str(target), "--gpu-name=sm_90"]), target)
    warning = "warning: 'cuda_tile.entry': optimization hint 'num_cta_in_cga = 2' has no effect: 2 CTAs cannot divide"
    assert not has_ptxas() or warning in capsys.readouterr().err
    assembled(main([str(source), "-o", str(target), "--gpu-name=sm_80"]), target)  # another target's hint
    assert not has_ptxas() or capsys.readouterr().err == ""


def test_what_a_budget_ended_is_warned_of(capsys):
    stopped = SimpleNamespace(ignored_hints=[], scalar_products=[], limits=["the limit ended the search"])
    warn([stopped])
    assert capsys.readouterr().err == "warning: the limit ended the search\n"


def test_a_product_without_tensor_cores_and_spills_are_missed():
    module = parse(PRODUCT, "product.mlir")
    kernel = SimpleNamespace(entry=module.entries[0], ptx="", manifest={})
    told = list(
        remarks(kernel, Cubin(b"", "sm_80", {"product": Usage(registers=255, spill_stores=24, smem=64)}, (), ()))
    )
    assert [(each.kind, each.category, each.text) for each in told] == [
        ("analysis", "memory", "255 registers per thread, 64 bytes of shared memory per block"),
        ("missed", "memory", "24 bytes of registers are spilled to local memory"),
        ("missed", "tensorcore", "cuda_tile.mmaf is computed without tensor cores"),
    ]
    assert told[2].line().startswith('loc("product.mlir":4:')


def test_preview_content_is_read_on_demand_only(tmp_path, target, capsys):
    data = bytearray(bytecode_of(parse("cuda_tile.module @m {}", "m.mlir"), (13, 5)))
    data[len(MAGIC) + 2] |= PREVIEW_TAG
    file = tmp_path / "preview.bytecode"
    file.write_bytes(bytes(data))
    assert main([str(file), "-o", str(target)]) == 3
    assert capsys.readouterr().err == "error: the bytecode has preview content, which --preview=simt allows\n"
    assembled(main([str(file), "-o", str(target), "--preview=simt"]), target)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 1, "error: no input file"),
        (["--frob"], 1, "error: unknown option '--frob'; --help lists them"),
        (["-O9"], 1, "error: unknown option '-O9'; --help lists them"),
        (["--lineinfo=1"], 1, "error: --lineinfo takes no value"),
        (["-O", "7"], 1, "error: -O cannot be '7', it is one of 0, 1, 2, 3"),
        (["--preview=tomorrow"], 1, "error: --preview cannot be 'tomorrow', it is one of simt"),
        (["--remarks=speed"], 1, "error: --remarks cannot be 'speed', it is one of none, all, memory, tensorcore"),
        (["--remark-format=json"], 1, "error: --remark-format cannot be 'json', it is one of command-line, yaml"),
        (["--host-arch=vax"], 1, "error: --host-arch cannot be 'vax', it is one of x86_64, aarch64"),
        (["--sanitize=memcheck"], 1, "error: --sanitize is not supported: this compiler has no equivalent"),
        (["a", "b"], 1, "error: more than one input file: 'b'"),
        ([str(SOFTMAX), "-o"], 1, "error: -o needs a value"),
        ([str(SOFTMAX), "--gpu-name", "sm_70"], 1, "error: unknown GPU 'sm_70'"),
        ([str(SOFTMAX), "--gpu-name", "sm_107"], 1, "error: no target for 'sm_107' yet; known: sm_80"),
        ([str(SOFTMAX), "-l", "x.tilelib"], 1, "error: -l needs the SIMT preview: pass --preview=simt"),
        ([str(SOFTMAX), "-l", "x.tilelib", "--preview=simt"], 1,
         "error: linking 'x.tilelib' is not supported: write the kernel without foreign functions"),
        (["nothing.bytecode"], 1, "error: nothing.bytecode: No such file"),
        ([__file__], 3, "error: not Tile IR bytecode"),
    ],
)  # fmt: skip
def test_failures_have_the_codes_of_tileiras(arguments, code, message, capsys):
    assert main(arguments) == code
    error = capsys.readouterr().err
    assert error.startswith(message), error
    assert ("failed to compile Tile IR program" in error) == (code == 5)


def test_cutile_shows_message_place_and_advice(tmp_path, target, capsys):
    """What cuTile 1.7.0 makes of our standard error, as `str` of its exception."""
    foreign = "entry @k(%a: tile<f32>) {\n  %b = preview_call @f(%a) : (tile<f32>) -> (tile<f32>)\n}\n"
    file = tmp_path / "foreign.bytecode"
    file.write_bytes(bytecode_of(parse(foreign, "kernel.py"), (13, 5)))
    assert main([str(file), "-o", str(target), "--gpu-name", "sm_80", "--preview=simt"]) == 5
    told = capsys.readouterr().err
    first, advice, last = told.splitlines()
    assert first.startswith('#cuda_tile.di_loc<loc("kernel.py":2:8)>: error: ')
    assert advice.startswith("note: ")
    assert last == "error: failed to compile Tile IR program"
    shown = str(TileCompilerExecutionError(5, *_parse_tileir_stderr(told), "", None))
    assert first in shown
    assert advice in shown
    assert not target.exists()


def test_questions_are_answered(capsys):
    assert main(["--version"]) == 0
    assert "13.1 to 13.5" in capsys.readouterr().out
    assert main(["--list-versions"]) == 0
    assert capsys.readouterr().out.split() == ["13.1", "13.2", "13.3", "13.4", "13.5"]
    assert main(["--help"]) == 0


def sections(elf):
    """Sizes of the sections of an ELF file of 64 bits, by name."""
    start, (width, count, names) = struct.unpack_from("<Q", elf, 40)[0], struct.unpack_from("<3H", elf, 58)
    found = [struct.unpack_from("<IIQQQQ", elf, start + width * number) for number in range(count)]
    table = found[names][4]
    return {elf[table + name :].split(b"\0", 1)[0].decode(): size for name, _, _, _, _, size in found}


@pytest.mark.skipif(not has_ptxas(), reason="ptxas is not installed")
@pytest.mark.sampled(5)
@pytest.mark.parametrize("gpu", ["sm_90", "sm_100", "sm_120"])
def test_tensor_copies_with_the_parameters_of_the_entry(gpu, target):
    """The kernel makes its tensor maps: its constant bank holds what it does without tensor copies."""
    assert main([str(GEMM), "-o", str(target), "--gpu-name", gpu]) == 0
    cubin = target.read_bytes()
    assert "UTMALDG" in disassemble(cubin)
    module, tier = read_bytecode(GEMM.read_bytes(), "gemm"), TARGETS[gpu]
    (kernel,) = compile_module(module, module.entries[0], [tier], Options(forbid=frozenset({"tma"})), {})
    banks = [sections(each)[".nv.constant0.gemm"] for each in (cubin, assemble(kernel.ptx, tier).binary)]
    assert banks[0] == banks[1] > 0


WIDE = """cuda_tile.module @m {
  entry @copy(%p: tile<ptr<f32>>, %n: tile<INDEX>) {
    %z = constant <i32: 0> : tile<i32>
    %v = make_tensor_view %p, shape = [%n], strides = [1] : tile<INDEX> -> tensor_view<?xf32, strides=[1]>
    %w = make_partition_view %v : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>
    %s = get_index_space_shape %w : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>> -> tile<i32>
  }
}
"""


def test_arrays_beyond_the_coordinates_of_tensor_copies():
    """The host would refuse them when it makes their map; a kernel has nobody to tell."""
    for index, wide in (("i32", False), ("i64", True)):
        (entry,) = parse(WIDE.replace("INDEX", index)).entries
        assert has_wide_arrays(entry) == wide
    text = WIDE.replace("tile<INDEX> -> ", "").replace("?xf32", f"{1 << 31}xf32").replace("[%n]", f"[{1 << 31}]")
    (entry,) = parse(text.replace(", %n: tile<INDEX>", "")).entries
    assert has_wide_arrays(entry)


@pytest.mark.in_turn
@pytest.mark.skipif(not has_ptxas(), reason="ptxas is not installed")
@pytest.mark.parametrize("gpu", ["sm_80", "sm_90"])
def test_lines_of_the_program_that_made_the_bytecode(gpu, target):
    """What bytecode says of places is in the cubin: loads, products and stores are at lines of their own."""
    assert main([str(GEMM), "-o", str(target), "--gpu-name", gpu, "--lineinfo"]) == 0
    listing, found, line = disassemble(target.read_bytes(), lines=True), {}, 0
    for text in listing.splitlines():
        place = re.search(r'//## File "(.*)", line (\d+)', text)
        if place:
            assert place[1].endswith("examples/cutile/gemm.py")
            line = int(place[2])
        opcode = re.search(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+\s+)?(\w+)", text)
        if opcode:
            found.setdefault(opcode[1], set()).add(line)
    source = (ROOT / "examples/cutile/gemm.py").read_text().splitlines()
    product = "HGMMA" if gpu == "sm_90" else "HMMA"
    copy = "UTMALDG" if gpu == "sm_90" else "LDGSTS"
    assert any("mma(" in source[line - 1] for line in found[product])
    assert any("load(" in source[line - 1] for line in found[copy])
    assert any("store(" in source[line - 1] for line in found["STG"])
    assert main([str(GEMM), "-o", str(target), "--gpu-name", gpu]) == 0
    assert "//## File" not in disassemble(target.read_bytes(), lines=True)

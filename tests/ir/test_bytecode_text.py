"""Bytecode and the text that NVIDIA's disassembler prints of it are the same module."""

import io
import math
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from ir.bytecode import read_bytecode
from ir.core import Attribute, verify
from ir.text import parse, print_text

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/bytecode"
NAMES = sorted(path.name.removesuffix(".13.4.mlir") for path in DATA.glob("*.13.4.mlir"))
TEXT_OF = {"13.1": "13.2", "13.2": "13.2", "13.3": "13.4", "13.4": "13.4"}
"""Which of the kept texts each version prints as."""


def attributes(op):
    """Every declared attribute with its default filled in; NaN made comparable."""
    found = {a.name: op.attributes.get(a.name, a.default) for a in op.info.attributes}
    return {name: plain(value) for name, value in found.items()}


def plain(value):
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return str(value) if isinstance(value, Attribute) else value


def same(ours, theirs):
    """Walk two modules in step: operations, attributes, types, and which value each operand is."""
    matched = {}
    left, right = list(ours.walk()), list(theirs.walk())
    for a, b in zip(left, right, strict=False):
        assert a.name == b.name, (a.location, b.location)
        if a.name != "cuda_tile.module":
            assert attributes(a) == attributes(b), (a, a.location, b.location)
        assert a.segments == b.segments, a
        assert [matched[v] for v in a.operands] == b.operands, (a, a.location, b.location)
        pairs = list(zip(a.results, b.results, strict=True))
        for mine, other in zip(a.regions, b.regions, strict=True):
            for block, twin in zip(mine.blocks, other.blocks, strict=True):
                pairs += zip(block.args, twin.args, strict=True)
        for value, twin in pairs:
            assert value.type == twin.type, a
            matched[value] = twin
    assert len(left) == len(right)


def test_the_corpus_is_there():
    assert len(NAMES) >= 10


@pytest.mark.parametrize("version", TEXT_OF)
@pytest.mark.parametrize("name", NAMES)
def test_bytecode_is_its_disassembly(name, version):
    module = read_bytecode((DATA / f"{name}.{version}.tileirbc").read_bytes(), f"{name}.tileirbc")
    text = parse((DATA / f"{name}.{TEXT_OF[version]}.mlir").read_text(), f"{name}.mlir")
    verify(module)
    verify(text)
    same(module, text)


@pytest.mark.parametrize("name", NAMES)
def test_bytecode_survives_printing_and_parsing(name):
    module = read_bytecode((DATA / f"{name}.13.4.tileirbc").read_bytes(), f"{name}.tileirbc")
    same(module, parse(print_text(module)))


@pytest.mark.parametrize(
    "name", ["gemm", "gemm_negated", "softmax", "layernorm", "flash_attention", "vecadd_ptr", "vecadd_view"]
)
def test_cutile_examples_export_what_is_frozen(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples/cutile"))
    script, _, form = name.partition("_") if name.startswith("vecadd") else (name, "", "")
    exported = io.BytesIO()
    export = runpy.run_path(str(ROOT / f"examples/cutile/{script}.py"))["export"]
    export(exported, "13.4", *([form] if form else []))
    same(read_bytecode(exported.getvalue()), read_bytecode((DATA / f"{name}.13.4.tileirbc").read_bytes()))


def test_an_example_is_a_command(tmp_path):
    output = tmp_path / "gemm.tileirbc"
    subprocess.run([sys.executable, ROOT / "examples/cutile/gemm.py", output, "13.2"], check=True)
    same(read_bytecode(output.read_bytes()), read_bytecode((DATA / "gemm.13.2.tileirbc").read_bytes()))


def test_hints_name_their_architecture():
    module = read_bytecode((DATA / "shapes.13.1.tileirbc").read_bytes())
    (load,) = [op for op in module.walk() if op.name == "cuda_tile.load_view_tko"]
    assert load.hints.entries == (("sm_80", (("latency", 3),)),)

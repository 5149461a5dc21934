"""cuTile kernels of our own: exported, read, printed as NVIDIA's disassembler prints, written back, interpreted."""

import copy
import subprocess
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from ir.bytecode import read_bytecode, write_bytecode
from ir.core import verify
from ir.interpreter import run
from ir.text import parse, print_text
from tests.ir.kernels.cases import CASES
from tests.ir.kernels.running import export, flattened, near

DATA = Path(__file__).resolve().parent / "kernels"
VERSIONS = [(13, 1), (13, 2), (13, 3), (13, 4), (13, 5)]
PAIRS = [(name, version) for name, each in CASES.items() for version in VERSIONS if version >= each.since]
IDS = [f"{name}-{version[0]}.{version[1]}" for name, version in PAIRS]


def find_disassembler():
    """The disassembler of nvidia-cuda-tileiras, None where it is not installed."""
    found = find_spec("nvidia")
    places = [Path(place) / "cu13/bin/tileirdisasm" for place in (found.submodule_search_locations if found else [])]
    return next((tool for tool in places if tool.is_file()), None)


def told_by(tool, data, folder):
    """What the disassembler prints for bytecode, None if it rejects it."""
    file = folder / "k.tileirbc"
    file.write_bytes(data)
    done = subprocess.run([tool, "--preview=simt", file], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def disassembled(data, folder):
    """The disassembler's text of bytecode that it must accept; None where it is not installed."""
    tool = find_disassembler()
    if tool is None:
        return None
    text = told_by(tool, data, folder)
    assert text is not None
    return text


def test_there_are_enough_kernels():
    assert len(CASES) >= 40
    operations = Counter(op.name for name in CASES for op in parse((DATA / f"{name}.mlir").read_text()).walk())
    assert len(operations) >= 80


@pytest.mark.parametrize("name", CASES)
def test_printed_as_the_disassembler_prints(name):
    """The frozen text is the disassembler's, of the same export."""
    data, _ = export(CASES[name], (13, 4))
    module = read_bytecode(data, name)
    verify(module)
    wanted = (DATA / f"{name}.mlir").read_text()
    assert print_text(module) == wanted
    assert print_text(parse(wanted)) == wanted
    assert print_text(parse(print_text(module, form="generic"))) == wanted


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("name", "version"), PAIRS, ids=IDS)
def test_written_back_it_is_the_same_to_the_disassembler_and_to_us(name, version, tmp_path):
    data, _ = export(CASES[name], min(version, (13, 4)))  # cuTile itself does not export 13.5 yet
    module = read_bytecode(data, name)
    written = write_bytecode(module, version)
    assert written[8:10] == bytes(version)
    again = read_bytecode(written, name)
    verify(again)
    assert print_text(again) == print_text(module)
    assert [op.location.line for op in again.walk()] == [op.location.line for op in module.walk()]
    before, after = disassembled(data, tmp_path), disassembled(written, tmp_path)
    assert before == after
    assert before is None or before == print_text(module)


@pytest.mark.parametrize("seed", [None, 7])
@pytest.mark.parametrize("name", CASES)
def test_interpreted_it_computes_what_numpy_computes(name, seed):
    each = CASES[name]
    data, values = export(each, (13, 4))
    wanted = each.wanted(*copy.deepcopy(values))
    told = []
    run(read_bytecode(data, name), each.grid, flattened(values), seed=seed, output=told.append)
    for found, expected in zip(values, wanted, strict=True):
        pairs = zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]
        for one, other in pairs:
            if other is not None:
                near(one, other, each.tolerance)
    assert "".join(told) == each.prints
    assert any(isinstance(v, np.ndarray | list) for v in values)

"""Every operation: accepted and refused, text, generic text and bytecode of every version, interpreted."""

import re

import numpy as np
import pytest

from ir.bytecode import read_bytecode, write_bytecode
from ir.core import OPS, TileError, UnsupportedError, verify
from ir.interpreter import run
from ir.text import parse, print_text
from tests.ir.samples import SAMPLES, SINCE, program
from tests.ir.test_kernels import disassembled

NAMES = [name for name, *_ in SAMPLES]
VERSIONS = [(13, 1), (13, 2), (13, 3), (13, 4), (13, 5)]
NEEDED = SINCE | {"print_tko": (13, 2)}
"""The version that a sample needs; tokens of print_tko came with 13.2."""


def without_scales(text, name):
    """The setup without its f8E8M0FNU literals, which exist since 13.2, where the sample does not use them."""
    return text if name == "mmaf_scaled" else re.sub(r"\n  %scr? = .*", "", text)


def test_every_operation_has_a_sample():
    declared = {name.removeprefix("cuda_tile.") for name in OPS if name.startswith("cuda_tile.")}
    spelled = {"fpowf": "pow"}
    assert {spelled.get(n, n) for n in NAMES} == declared - {"testing$func"}
    assert len(declared) == 110
    assert {n: OPS[f"cuda_tile.{n}"].info.since for n in SINCE} == SINCE


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "right"), [(n, r) for n, r, *_ in SAMPLES], ids=NAMES)
def test_accepted_in_every_form(name, right, tmp_path):
    module = parse(program(right))
    verify(module)
    text = print_text(module)
    for again in (parse(text), parse(print_text(module, form="generic")), parse(print_text(module, locations=True))):
        verify(again)
        assert print_text(again) == text
    for version in VERSIONS:
        one = parse(without_scales(program(right), name))
        if version < NEEDED.get(name, (13, 1)):
            with pytest.raises(UnsupportedError):
                write_bytecode(one, version)
            continue
        data = write_bytecode(one, version)
        assert print_text(read_bytecode(data)) == print_text(one)
        told = disassembled(data, tmp_path)
        assert told is None or told == print_text(one)


@pytest.mark.parametrize(("name", "wrong", "message"), [(n, w, m) for n, _, w, m in SAMPLES], ids=NAMES)
def test_refused_with_its_place(name, wrong, message):
    text = program(wrong)
    with pytest.raises(TileError) as caught:
        verify(parse(text, "k.mlir"))
    assert message in caught.value.message
    line = text.split("\n").index(f"  {wrong}") + 1
    assert caught.value.location.file == "k.mlir"
    assert caught.value.location.line == line


@pytest.mark.in_turn
@pytest.mark.parametrize(("name", "right"), [(n, r) for n, r, *_ in SAMPLES if n != "preview_call"])
def test_interpreted_without_complaint(name, right):
    rng = np.random.default_rng(3)
    floats, integers = rng.standard_normal(64).astype(np.float32), rng.integers(0, 9, 64).astype(np.int32)
    told = []
    run(parse(program(right)), (2,), [floats, integers], output=told.append)
    assert bool(told) == (name == "print_tko")


def test_a_foreign_function_cannot_be_interpreted():
    (sample,) = [r for n, r, *_ in SAMPLES if n == "preview_call"]
    text = program(sample)
    with pytest.raises(UnsupportedError, match="@f is defined outside this module") as caught:
        run(parse(text, "k.mlir"), (1,), [np.ones(64, np.float32), np.ones(64, np.int32)])
    assert caught.value.location.line == text.split("\n").index(f"  {sample}") + 1
    assert "Tile IR" in caught.value.hint


def test_a_preview_operation_is_announced_in_the_header():
    (sample,) = [r for n, r, *_ in SAMPLES if n == "preview_call"]
    data = bytearray(write_bytecode(parse(program(sample)), (13, 5)))
    assert data[10] == 1
    data[10] = 0
    with pytest.raises(TileError, match="preview_call is a preview operation, but the header announces none"):
        read_bytecode(bytes(data))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ("{arg_attrs = [{}]}", "attribute 'arg_attrs' must be 2 dictionaries, or none"),
        ("{res_attrs = [1 : i32]}", "attribute 'res_attrs' must be 1 dictionaries, or none"),
        ("{speed = 1}", "'cuda_tile.preview_call' has no attribute speed"),
    ],
)
def test_attributes_of_a_call_that_do_not_fit(attributes, message):
    wrong = f"%x = preview_call @f(%f, %n) {attributes} : (tile<8xf32>, tile<i32>) -> (tile<8xf32>)"
    with pytest.raises(TileError) as caught:
        verify(parse(program(wrong)))
    assert message in caught.value.message

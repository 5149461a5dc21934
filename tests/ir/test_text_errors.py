"""Malformed text: one located error with what to do, never a traceback, never a hang."""

import random
import time
from pathlib import Path

import pytest

from ir.core import ParseError, TileError, verify
from ir.load import load
from ir.text import parse

DATA = Path(__file__).resolve().parents[1] / "data"

CASES = {
    "entry": ("1:6", "expected a symbol such as @kernel for the entry's name, found the end of the text"),
    "func @k() {}": ("1:1", "expected 'entry', found 'func'"),
    "entry @k() {": ("1:12", "unclosed '{'"),
    "entry @k() {\n %x = addi %y, %y : tile<i32>\n}": ("2:12", "'%y' is not defined here"),
    "entry @k() { %x = adii %y : tile<i32> }": ("1:19", "'adii' is not an operation of cuda_tile"),
    "entry @k() { %c = constant <f32: 1> : tile<f32> }": ("1:34", "expected a float literal for f32, found '1'"),
    "entry @k() { %c = constant <i8: 0300> : tile<i8> }": ("1:33", "does not fit in i8"),
    "entry @k() { %c = constant <i8: 256> : tile<i8> }": ("1:33", "'256' does not fit in i8"),
    "entry @k() { %c = constant <f16: 0x1FFFF> : tile<f16> }": ("1:34", "0x1FFFF has more than the 16 bits of f16"),
    "entry @k() { %c = constant <i8: [1, 2]> : tile<4xi8> }": ("1:33", "the literal has shape (2,)"),
    "entry @k() { %c = constant <i8: [[1, 2], [3]]> : tile<2x2xi8> }": (
        "1:42",
        "rows of a literal have different shapes",
    ),
    'entry @k() { %c = constant <i8: "0x010"> : tile<2xi8> }': ("1:33", "raw data of a literal must be"),
    "entry @k() { %c = constant <i8: 1> : tile<4xf32> }": ("1:38", "a literal of i8 cannot have type tile<4xf32>"),
    "entry @k() { %c = iota : tile<4xf33> }": ("1:26", "'f33' is not an element type"),
    "entry @k(%v: tensor_view<?xf32, strides=[1?]>) {}": ("1:14", "is not a type"),
    "entry @k() { %c = iota : tile<1 6xi32> }": ("1:26", "unexpected space inside it"),
    "entry @k() { %c = iota : tile<4xi32 }": ("1:26", "expected a type"),
    "entry @k(%n: tile<i32>) { %n = iota : tile<4xi32> }": ("1:27", "'%n' is defined twice"),
    "entry @k(%n: tile<i32>) { %a = addi %n, %n : tile<i64> }": ("1:46", "operand 'lhs' has type tile<i32>"),
    "entry @k(%n: tile<i32>) { %a = addi %n, %n overflow<x> : tile<i32> }": ("1:53", "expected overflow, found 'x'"),
    "entry @k(%n: tile<i32>) { %a = cmpi lt %n, %n, signed : tile<i32> }": ("1:37", "expected predicate"),
    "entry @k(%n: tile<i32>) { %a, %b = absi %n : tile<i32> }": (
        "1:27",
        "'cuda_tile.absi' has 1 results, but 2 are named",
    ),
    "entry @k(%n: tile<i32>) { %a = absi %n#1 : tile<i32> }": ("1:37", "'%n' has 1 results, there is no %n#1"),
    "entry @k(%n: tile<i32>) { %a = assume even, %n : tile<i32> }": ("1:39", "'even' is not an assumption"),
    "entry @k() { $ }": ("1:14", "unexpected character '$'"),
    'entry @k() { assert "x\n }': ("1:21", "unexpected character '\"'"),
    "entry @k() { return } }": ("1:23", "expected 'entry', found '}'"),
    "module @m { entry @k() {} } x": ("1:29", "expected the end of the text"),
    "entry @k() { %v = constant <i32: [" + "[" * 5000: ("1:67", "a literal has at most 32 dimensions"),
    "entry @k() { " + "loop { " * 100: ("1:460", "regions are nested deeper than 64"),
    "entry @k() { %c = constant <i64: " + "9" * 5000 + "> : tile<i64> }": ("1:34", "does not fit in i64"),
    "entry @k() { %c = iota : tile<" + "9" * 5000 + "xi32> }": ("1:26", "a size has too many digits"),
    "entry @k() {" + " " * 4000 + "$": ("1:4013", "unexpected character '$'"),
    "entry @k() {" + "// " * 4000 + "\n $": ("2:2", "unexpected character '$'"),
}


@pytest.mark.parametrize(("text", "expected"), CASES.items(), ids=range(len(CASES)))
def test_malformed_text_is_one_located_error(text, expected):
    place, message = expected
    start = time.perf_counter()
    with pytest.raises(ParseError) as caught:
        parse(text, "k.mlir")
    assert time.perf_counter() - start < 1
    assert str(caught.value.location) == f"k.mlir:{place}"
    assert message in caught.value.message


def test_hints_say_what_to_do():
    with pytest.raises(ParseError) as caught:
        parse("entry @k() { %x = adii %y : tile<i32> }")
    assert caught.value.hint.startswith("did you mean ")
    assert "addi" in caught.value.hint


SAMPLES = [path.read_text() for path in sorted(DATA.glob("text/*.mlir"))]


PATCHES = ["", "<", ">", "%", "{", "}", "(", ")", "tile<4xf32>", "-1", '"', "[", ":", " = ", "\x00"]


@pytest.mark.parametrize("seed", range(60))
def test_damaged_text_never_ends_in_a_traceback(seed):
    chance = random.Random(seed)
    text = chance.choice(SAMPLES)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text))
        cut = chance.randint(0, 30)
        patch = chance.choice(
            ["", "<", ">", "%", "{", "}", "(", ")", "tile<4xf32>", "-1", '"', "[", ":", " = ", "\x00"]
        )
        text = text[:at] + patch + text[at + cut :]
    error = outcome(text)
    assert error is None or error.location.line > 0


def outcome(text):
    """The error that reading `text` ends in; anything but a TileError fails the test."""
    try:
        verify(parse(text))
    except TileError as error:
        return error
    return None


def test_load_tells_text_bytecode_and_paths_apart(tmp_path):
    path = tmp_path / "k.mlir"
    path.write_text("entry @k() {\n}\n")
    assert load(path).entries[0].location.file == str(path)
    assert load(str(path)).entries[0].sym_name == "k"
    assert load("entry @k() { }").entries[0].sym_name == "k"
    assert load(b"entry @k() { }").entries[0].sym_name == "k"
    assert load("").entries == []
    for bytecode in sorted(DATA.glob("bytecode/softmax.13.4.tileirbc")):
        assert load(bytecode.read_bytes()).entries
        assert load(bytecode).entries


def test_load_refuses_what_cannot_be_read(tmp_path):
    with pytest.raises(TileError, match="No such file"):
        load(tmp_path / "nothing.mlir")
    with pytest.raises(TileError, match="cannot read the file"):
        load(str(tmp_path))
    with pytest.raises(ParseError, match="neither bytecode nor text"):
        load(b"entry \xff\xfe")
    with pytest.raises(TileError):
        load(b"\x7fTileIR\x00\x0d")

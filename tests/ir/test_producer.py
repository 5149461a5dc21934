"""Who made a module: kept by text, generic form and bytecode from 13.3 on, and printed as the disassembler does."""

import pytest

from ir.bytecode import read_bytecode, write_bytecode
from ir.core import ParseError, verify
from ir.text import parse, print_text
from tests.ir.test_kernels import disassembled

NAME = 'frontend "x" 1.0'
TEXT = """cuda_tile.module @m attributes {other = [1, 2], producer = "frontend \\22x\\22 1.0", flag} {
  entry @k() {
    return
  }
}
"""


def test_text_and_generic_form_keep_it():
    module = parse(TEXT)
    verify(module)
    assert module.producer == NAME
    for form in ("tile", "generic"):
        again = parse(print_text(module, form=form))
        assert (again.producer, again.sym_name) == (NAME, "m")


@pytest.mark.parametrize("version", [(13, 1), (13, 2), (13, 3), (13, 4), (13, 5)])
def test_bytecode_keeps_it_where_it_can(version, tmp_path):
    data = write_bytecode(parse(TEXT), version)
    module = read_bytecode(data)
    assert module.producer == (NAME if version >= (13, 3) else "")
    text = print_text(module)
    assert text.startswith(f"// Producer: {NAME}\n" if module.producer else "entry @k")
    assert disassembled(data, tmp_path) in (None, text)


def test_lines_of_a_producer_stay_a_comment():
    module = read_bytecode(write_bytecode(parse(TEXT.replace("x", "a\\0Ab\\0Db"))))
    assert print_text(module).splitlines()[:3] == ['// Producer: frontend "a', "// b", '// b" 1.0']
    assert parse(print_text(module)).entries[0].sym_name == "k"


def test_a_module_without_one_has_none():
    module = parse("module @m attributes {other} {}")
    assert module.producer == ""
    assert write_bytecode(module) == write_bytecode(parse("module @m {}"))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ("producer", "1:22: error: expected { after 'attributes', found 'producer'"),
        ("{producer}", "1:22: error: 'cuda_tile.module': attribute 'producer' must be a string"),
        ("{producer = 3}", "1:22: error: 'cuda_tile.module': attribute 'producer' must be a string"),
        ('{producer = "a"', "1:38: error: expected ',' between the attributes, found '{'"),
    ],
)
def test_wrong_producers(attributes, message):
    with pytest.raises(ParseError) as refused:
        parse(f"module @m attributes {attributes} {{}}", "m.mlir")
    assert f"m.mlir:{message}" in str(refused.value)

# ruff: noqa: E501
"""Modules in a text: several, within MLIR's own, with attributes, without operations, in generic form."""

import pytest

from ir.bytecode import write_bytecode
from ir.core import ParseError, TileError, UnsupportedError, VerifyError, verify
from ir.load import load, load_modules
from ir.text import parse, parse_all, parse_modules, print_generic, print_text

TWO = "cuda_tile.module @m { entry @a() { return } } cuda_tile.module @n { entry @b() { return } }"


def names(text):
    """What each module is called, and its entries."""
    found = parse_modules(text)
    for each in found:
        verify(each)
    return [(each.sym_name, *(entry.sym_name for entry in each.entries)) for each in found]


@pytest.mark.parametrize(
    "text",
    [
        TWO,
        f"module {{ {TWO} }}",
        f"module @outer attributes {{gpu.container_module, a = 1 : i32}} {{ {TWO} }} loc(unknown)",
        f"builtin.module {{ module {{ {TWO} }} }}",
        f'"builtin.module"() ({{ {TWO} }}) : () -> ()',
        f'"builtin.module"() <{{sym_name = "outer"}}> ({{ ^bb0: {TWO} }}) {{a.b = 1 : i32}} : () -> () loc("k.py":1:2)',
        TWO.replace("cuda_tile.module @n", "\n#loc = loc(unknown)\n#x = loc(unknown)\ncuda_tile.module @n"),
    ],
)
def test_several_modules(text):
    assert names(text) == [("m", "a"), ("n", "b")]
    assert [m.sym_name for m in load_modules(text)] == ["m", "n"]


@pytest.mark.parametrize(
    "text",
    [
        "module attributes {gpu.container_module} { cuda_tile.module @m { entry @a() { return } } }",
        "module { cuda_tile.module @m { entry @a() { return } } }",
        "module @m { entry @a() { return } }",
        "module @m attributes {test.note = 4 : i8} { entry @a() { return } }",
    ],
)
def test_one_module_within_another(text):
    assert names(text) == [("m", "a")]
    assert load(text).sym_name == "m"


def test_programs_may_hold_several_modules():
    assert [m.sym_name for m in parse_all(f"{TWO}\n// -----\nentry @c() {{ return }}")] == ["m", "n", ""]


def test_names_of_values_end_with_their_module():
    body = "{ entry @a(%p: tile<i32>) { %x = negi %p : tile<i32> return } }"
    assert len(parse_modules(f"cuda_tile.module @m {body} cuda_tile.module @n {body}")) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{TWO} entry @c() {{ return }}", "expected the end of the text, found 'entry'"),
        (f"module {{ {TWO} entry @c() {{ return }} }}", "expected '}' at the end of the outer module, found 'entry'"),
        (f'"builtin.module"() ({{ {TWO} return }}) : () -> ()', "expected a module, found 'return'"),
        (f'"builtin.module"() ({{ {TWO} }}) : () -> i32', "expected '(' in the type of the outer module"),
        ("cuda_tile.module @m attributes {producer = 3 : i32} { }", "attribute 'producer' must be a string"),
        ("cuda_tile.module @m attributes 3 { }", "expected { after 'attributes', found '3'"),
        ("cuda_tile.module @m attributes {", "expected the name of an attribute"),
        ("module { " * 70, "modules are nested deeper than 64"),
        ("entry @k() { return } loc:", "expected a bracket, found ':'"),
        ("entry @k() { return } loc", "expected a bracket, found the end of the text"),
        (
            '"cuda_tile.entry"() <{sym_name = "k", function_type = () -> (), arg_attrs = true}> ({ }) : () -> ()',
            "attribute 'arg_attrs' must be a list of dictionaries",
        ),
        (
            '"cuda_tile.entry"() <{sym_name = "k", function_type = () -> (), res_attrs = 3 : i32}> ({ }) : () -> ()',
            "attribute 'res_attrs' must be a list of dictionaries",
        ),
        ("entry @k() optimization_hints=<sm_80 = {latency = 1, latency = 2}> { }", "a hint, latency, is written twice"),
        ("entry @k() optimization_hints=<sm_80 = {}, sm_80 = {}> { }", "an architecture, sm_80, is written twice"),
        ('entry @k() optimization_hints=<"" = {}> { }', "expected the name of an architecture"),
        ("entry @k() optimization_hints=<sm_80 = {{} = 1}> { }", "expected the name of a hint, found '{'"),
    ],
)
def test_malformed_modules(text, message):
    with pytest.raises(ParseError) as caught:
        parse_modules(text)
    assert message in caught.value.message


def test_one_module_is_meant():
    for read in (parse, load):
        with pytest.raises(TileError, match="has 2 modules, expected one"):
            read(TWO)


@pytest.mark.parametrize(
    "text", ["", "cuda_tile.module @m { }", "module { }", 'cuda_tile.module @m attributes {producer = "x"} { }']
)
def test_an_empty_module_survives_generic_form(text):
    module = parse(text)
    again = parse(print_generic(module))
    verify(again)
    assert print_generic(again) == print_generic(module)


@pytest.mark.parametrize("visibility", ["private", "public", "nested"])
def test_the_visibility_of_a_module_is_kept(visibility):
    text = f'cuda_tile.module @m attributes {{sym_visibility = "{visibility}"}} {{\n  entry @k() {{\n    return\n  }}\n}}\n'
    module = parse(text)
    verify(module)
    assert print_text(module) == text
    assert print_text(parse(print_generic(module))) == text
    if visibility != "public":
        with pytest.raises(UnsupportedError, match=f"cannot represent a {visibility} module"):
            write_bytecode(module)


def test_an_unknown_visibility_is_refused():
    with pytest.raises(VerifyError, match="'sym_visibility' must be one of public, private, nested, is 'odd'"):
        verify(parse('cuda_tile.module @m attributes {sym_visibility = "odd"} { }'))


def test_names_of_hints_are_quoted_where_they_must_be():
    text = 'entry @k() optimization_hints=<"a b" = {"c\\0Ad" = "x\\22y", e = 1}> {\n  return\n}\n'
    assert print_text(parse(text)) == text

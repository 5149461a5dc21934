"""Debug scopes: what keeps to them is read, from text and bytecode; what does not is refused as NVIDIA's tool does.

The programs that are refused are in tests/ir/conformance/scope.py; here are those of bytecode.
"""

import pytest

from ir.bytecode import read_bytecode, write_bytecode
from ir.bytecode.locations import BLOCK, CALL_SITE, SUBPROGRAM
from ir.bytecode.write_locations import Places
from ir.core import VerifyError, verify
from ir.text import parse
from tests.ir.conformance.scope import SCOPES
from tests.ir.test_kernels import find_disassembler, told_by

INSIDE = """#mine = #cuda_tile.di_lexical_block<scope = #own, file = #file, line = 8, column = 1>
#in_mine = #cuda_tile.di_loc<loc("/src/kernel.py":9:3) in #mine>
#written_out = #cuda_tile.di_loc<loc("/src/kernel.py":10:3) in #cuda_tile.di_subprogram<file = <"kernel.py" in "/src/">,
  line = 1, name = "k", linkageName = "k", compileUnit = <file = <"kernel.py" in "/src/">>, scopeLine = 2>>
"""
RIGHT = [
    "loc(#in_own)",
    "loc(#in_mine)",
    "loc(#written_out)",
    'loc("sum"(#in_mine))',
    "loc(fused<#file>[#plain, #in_own])",
    "loc(callsite(#in_other at #in_mine))",
    "loc(callsite(#in_other at callsite(#in_block at #in_own)))",
    "loc(#plain)",
    'loc("/src/kernel.py":3:1 to 4:9)',
    "loc(unknown)",
    "",
]


@pytest.mark.parametrize("place", RIGHT)
def test_places_within_their_function_are_read(place):
    text = f"{SCOPES}{INSIDE}cuda_tile.module @m {{ entry @k() {{ %a = iota : tile<4xi32> {place} }} loc(#in_own) }}"
    verify(parse(text))


@pytest.mark.parametrize(
    "place",
    [
        "loc(callsite(#in_own in #in_other))",
        "loc(#cuda_tile.di_loc<#plain in #file>)",
        "loc(#cuda_tile.di_loc<#plain in #cuda_tile.di_subprogram<file = #file>>)",
        "loc(#cuda_tile.di_loc<#plain in #cuda_tile.di_subprogram<linkageName = 1>>)",
        "loc(#self)",
        "loc(42)",
    ],
)
def test_places_that_say_nothing_of_scopes_are_passed_over(place):
    """A compiler does not reject a program for what it does not need."""
    looped = "#self = loc(fused[#self, #self])\n"
    text = f"{SCOPES}{looped}cuda_tile.module @m {{ entry @k() {{ %a = iota : tile<4xi32> {place} }} }}"
    verify(parse(text))


def own(places, op):
    places.ids.append(places.writer.place(op.location, places.scope))


def within(places, op, scope):
    places.ids.append(places.writer.place(op.location, scope))


def subprogram(places, name):
    writer = places.writer
    return writer._id(SUBPROGRAM, 1, 7, writer._string(name), writer._string(name), 2, 7, *writer.flags)


def block(places):
    return places.writer._id(BLOCK, places.scope, 1, 7, 8)


def call(places, op, outer):
    inner = places.writer.place(op.location, subprogram(places, "callee"))
    places.ids.append(places.writer._id(CALL_SITE, inner, places.writer.place(op.location, outer)))


CASES = {
    "of its name": (own, own, ""),
    "operations in a block": (own, lambda p, op: within(p, op, block(p)), ""),
    "operations of a callee": (own, lambda p, op: call(p, op, p.scope), ""),
    "no scope in the operations": (own, lambda p, op: p.ids.append(0), ""),
    "of another name": (
        lambda p, op: within(p, op, subprogram(p, "o")),
        own,
        "in the subprogram of 'o': expected its own",
    ),
    "a block": (lambda p, op: within(p, op, block(p)), own, "the debug location of @k is in a lexical block"),
    "a call": (lambda p, op: call(p, op, p.scope), own, "the debug location of @k is a call site"),
    "none": (lambda p, op: p.ids.append(0), own, "has a debug scope, but its function @k has none"),
    "operations elsewhere": (own, lambda p, op: within(p, op, subprogram(p, "o")), "its function @k in another"),
    "operations called elsewhere": (own, lambda p, op: call(p, op, subprogram(p, "o")), "its function @k in another"),
}


def test_places_in_themselves_have_no_scope(monkeypatch):
    """Damaged debug information whose scopes lead back to themselves."""

    def itself(places, op):
        writer = places.writer
        following = writer.table.first + len(writer.table.items)
        within(places, op, following)
        assert places.ids[-1] == following

    monkeypatch.setattr(Places, "add", itself)
    module = read_bytecode(write_bytecode(parse("entry @k() { %a = iota : tile<4xi32> return }", "kernel.mlir")))
    verify(module)
    assert [op.location.line for op in module.walk()][1:] == [1, 1, 1]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("version", [(13, 1), (13, 4), (13, 5)])
def test_bytecode(case, version, monkeypatch, tmp_path):
    of_function, of_operation, says = CASES[case]
    monkeypatch.setattr(
        Places, "add", lambda places, op: (of_function if op.name == "cuda_tile.entry" else of_operation)(places, op)
    )
    data = write_bytecode(parse("entry @k() { %a = iota : tile<4xi32> return }", "kernel.mlir"), version)
    tool = find_disassembler()
    assert tool is None or (told_by(tool, data, tmp_path) is None) == bool(says)
    if says:
        with pytest.raises(VerifyError, match=says) as refused:
            read_bytecode(data)
        assert refused.value.location.file in ("kernel.mlir", "<bytes>")
    else:
        verify(read_bytecode(data))

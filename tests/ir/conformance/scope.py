"""Debug scopes: places that are not in the function they stand in.

The suite (debuginfo_attr_invalid and debuginfo_loc_invalid) checks 46 such programs by their text, not by lines of
`expected-error`: combinations of a rule, the kind of scope and the way a place is wrapped. All combinations are here.
"""

from __future__ import annotations

from itertools import product

from tests.ir.conformance import Case

SCOPES = """#file = #cuda_tile.di_file<"kernel.py" in "/src/">
#unit = #cuda_tile.di_compile_unit<file = #file>
#own = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k", compileUnit = #unit, scopeLine = 2>
#other = #cuda_tile.di_subprogram<file = #file, line = 4, name = "o", linkageName = "o", compileUnit = #unit, scopeLine = 4>
#block = #cuda_tile.di_lexical_block<scope = #other, file = #file, line = 5, column = 4>
#inner = #cuda_tile.di_lexical_block<scope = #block, file = #file, line = 5, column = 8>
#plain = loc("/src/kernel.py":6:2)
#in_own = #cuda_tile.di_loc<loc("/src/kernel.py":2:4) in #own>
#in_other = #cuda_tile.di_loc<loc("/src/kernel.py":7:4) in #other>
#in_block = #cuda_tile.di_loc<loc("/src/kernel.py":8:4) in #block>
#in_inner = #cuda_tile.di_loc<#plain in #inner>
"""  # noqa: E501
KINDS = {"other": "a subprogram", "block": "a lexical block", "inner": "a lexical block of a lexical block"}
OF_FUNCTION = {"bare": "{}", "named": '"f"({})', "fused": "fused[#plain, {}]"}
OF_OPERATION = OF_FUNCTION | {"called": "callsite(#plain at {})"}


def wrapped(way: str, place: str) -> str:
    """A place as a function or an operation may have it."""
    return f"loc({OF_OPERATION[way].format(place)})"


def program(name: str, function: str, operation: str, nested: bool = False) -> str:
    """An entry and one operation in it, with their places; `nested` puts the operation into a branch."""
    body = f"%a = iota : tile<4xi32> {operation}"
    if nested:
        body = f"%c = constant <i1: true> : tile<i1> if %c {{ {body} }}"
    return f"{SCOPES}cuda_tile.module @m {{\n  entry @{name}() {{\n    {body}\n  }} {function}\n}}\n"


def unscoped(kind: str, way: str, nested: bool) -> Case:
    """An operation with a scope in a function without one."""
    where = " in a branch" if nested else ""
    what = f"{KINDS[kind]} in a function without, {way}{where}"
    text = program("k", "loc(unknown)", wrapped(way, f"#in_{kind}"), nested)
    return Case("location", what, text, "has a debug scope, but its function @k has none", 0)


def elsewhere(kind: str, outer: str, way: str) -> Case:
    """An operation whose scope is in another function."""
    what = f"{KINDS[kind]} of another function, {way} in {outer}"
    text = program("k", wrapped(outer, "#in_own"), wrapped(way, f"#in_{kind}"))
    return Case("location", what, text, "in the subprogram of 'o', its function @k in another", 0)


def of_function(condition: str, place: str, says: str) -> Case:
    """A place that a function cannot have."""
    return Case("location", condition, program("k", place, ""), says, 0)


def of_global(way: str) -> Case:
    """A place that a global cannot have."""
    text = f"{SCOPES}global @g <i32: [1, 2]> : tile<2xi32> {wrapped(way, '#in_other')}\n"
    return Case("location", f"a global in a subprogram, {way}", text, "of the global @g has a scope", 0)


def cases() -> list[Case]:
    """The cases of this page."""
    kinds = [*product(("block", "inner"), OF_FUNCTION)]
    return [
        *(
            of_function(f"a function in {KINDS[kind]}, {way}", wrapped(way, f"#in_{kind}"), "is in a lexical block")
            for kind, way in kinds
        ),
        *(
            of_function(f"a function of another name, {way}", wrapped(way, "#in_other"), "of 'o': expected its own")
            for way in OF_FUNCTION
        ),
        of_function("a function at a call", wrapped("called", "#in_own"), "the debug location of @k is a call site"),
        *(unscoped(*each) for each in product(KINDS, OF_OPERATION, (False, True))),
        *(elsewhere(*each) for each in product(KINDS, OF_FUNCTION, OF_OPERATION)),
        *map(of_global, OF_OPERATION),
    ]

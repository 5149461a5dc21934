# ruff: noqa: E501
"""Loops, branches, entries, modules, reductions."""

from __future__ import annotations

from tests.ir.conformance import Case, case

N = "%n: tile<i32>"
COND = "%c: tile<i1>, %n: tile<i32>, %w: tile<i64>"
TENSOR = "tensor_view<2x2xf32, strides=[2,1]>"
TILES = f"partition_view<tile=(2x2), {TENSOR}>"
TYPES = "types are ({}), must be ({})"
PAIR = "(%u: tile<f32>, %v: tile<f32>) { yield %u : tile<f32> }"
TWO = "(%u: tile<f32>, %v: tile<f32>, %y: tile<i32>, %z: tile<i32>)"


def generic_for(arguments: str, body: str, carried: str = "") -> str:
    """A loop in generic form whose block has the arguments given."""
    extra, types = (", %f", ", tile<f32>") if carried else ("", "")
    result = f"({carried})"
    return f'"cuda_tile.for"(%n, %n, %n{extra}) ({{\n  ^bb0({arguments}):\n    {body}\n  }}) : (tile<i32>, tile<i32>, tile<i32>{types}) -> {result}'


def generic_loop(arguments: str, body: str) -> str:
    """An endless loop in generic form that carries one f32."""
    return f'%x = "cuda_tile.loop"(%f) ({{\n  ^bb0({arguments}):\n    {body}\n  }}) : (tile<f32>) -> (tile<f32>)'


def loops() -> list[Case]:
    """for and loop."""
    f = f"{N}, %f: tile<f32>"
    return [
        case("continue", "no loop around it", "", "continue", "'cuda_tile.continue': cannot end a region of 'cuda_tile.testing$func'"),
        case("continue", "an if around it, but no loop", "%c: tile<i1>", "if %c { continue }", "must be inside a for or loop"),
        case("continue", "values where a for carries none", N, "for %i in (%n to %n, step %n) : tile<i32> { continue %n : tile<i32> }", TYPES.format("tile<i32>", "nothing")),
        case("continue", "no values where a loop carries one", N, "loop iter_values(%a = %n) : tile<i32> { }", TYPES.format("nothing", "tile<i32>")),
        case("break", "no loop around it", "", "break", "'cuda_tile.break': cannot end a region of 'cuda_tile.testing$func'"),
        case("break", "a for around it", f"%c: tile<i1>, {N}", "for %i in (%n to %n, step %n) : tile<i32> { if %c { break } }", "can only leave a 'cuda_tile.loop', the innermost loop is 'cuda_tile.for'"),
        case("break", "values where the loop has no results", N, "loop { break %n : tile<i32> }", TYPES.format("tile<i32>", "nothing")),
        case("return", "a for around it", f"%c: tile<i1>, {N}", "for %i in (%n to %n, step %n) : tile<i32> { if %c { return } }", "cannot leave the kernel from inside a for", 0),
        case("return", "a loop and a for around it", f"%c: tile<i1>, {N}", "for %i in (%n to %n, step %n) : tile<i32> { loop { if %c { break } return } }", "cannot leave the kernel from inside a for", 0),
        case("for", "bounds that are no scalars", "%n: tile<1xi32>", '"cuda_tile.for"(%n, %n, %n) ({\n  ^bb0(%i: tile<1xi32>):\n    continue\n  }) : (tile<1xi32>, tile<1xi32>, tile<1xi32>) -> ()', "operand 'lower_bound' must be a scalar tile of integers, is tile<1xi32>"),
        case("for", "a counter of another type", N, generic_for("%i: tile<f32>", "continue"), "body arguments: " + TYPES.format("tile<f32>", "tile<i32>")),
        case("for", "a carried value of another type in the body", f, f"%x = {generic_for('%i: tile<i32>, %a: tile<f64>', 'continue %f : tile<f32>', 'tile<f32>')}", "body arguments: " + TYPES.format("tile<i32>, tile<f64>", "tile<i32>, tile<f32>")),
        case("for", "more values in the body than are carried", f, f"%x = {generic_for('%i: tile<i32>, %a: tile<f32>, %b: tile<f32>', 'continue %a : tile<f32>', 'tile<f32>')}", "body arguments: " + TYPES.format("tile<i32>, tile<f32>, tile<f32>", "tile<i32>, tile<f32>")),
        case("for", "bounds of different type", "%n: tile<i32>, %w: tile<i64>", "for %i in (%n to %w, step %n) : tile<i32> { }", "operand 'upper_bound' has type tile<i64>, must have the type of 'lower_bound', tile<i32>"),
        case("for", "a step that its own body defines", N, "for %i in (%n to %n, step %s) : tile<i32> {\n    %s = constant <i32: 1> : tile<i32>\n  }", "'%s' is not defined here"),
        case("for", "an initial value that its own body defines", N, "%x = for %i in (%n to %n, step %n) : tile<i32> iter_values(%a = %s) -> (tile<i32>) {\n    %s = constant <i32: 1> : tile<i32>\n    continue %s : tile<i32>\n  }", "'%s' is not defined here"),
        case("for", "a tensor view carried", f"{N}, %v: {TENSOR}", f"%x = for %i in (%n to %n, step %n) : tile<i32> iter_values(%a = %v) -> ({TENSOR}) {{ continue %a : {TENSOR} }}", f"cannot carry a view, {TENSOR}"),
        case("for", "a partition view carried", f"{N}, %v: {TILES}", f"%x = for %i in (%n to %n, step %n) : tile<i32> iter_values(%a = %v) -> ({TILES}) {{ continue %a : {TILES} }}", f"cannot carry a view, {TILES}"),
        case("loop", "a carried value of another type in the body", "%f: tile<f32>", generic_loop("%a: tile<f64>", "continue %f : tile<f32>"), "body arguments: " + TYPES.format("tile<f64>", "tile<f32>")),
        case("loop", "more values in the body than are carried", "%f: tile<f32>", generic_loop("%a: tile<f32>, %b: tile<f32>", "continue %a : tile<f32>"), "body arguments: " + TYPES.format("tile<f32>, tile<f32>", "tile<f32>")),
        case("loop", "more types than carried values", "%f: tile<f32>", "loop iter_values(%a = %f) : tile<f32>, tile<f32> { continue %a : tile<f32> }", "expected '{' before the body, found ','"),
        case("loop", "a carried value of another type than written", "%f: tile<f32>, %n: tile<i32>", "loop iter_values(%a = %f, %b = %n) : tile<f32>, tile<f32> { }", "has type tile<i32>, written as tile<f32>"),
        case("loop", "a colon without types", "", "loop : { }", "expected a type"),
        case("loop", "carried values without types", "%f: tile<f32>", "loop iter_values(%a = %f) : { }", "expected a type"),
        case("loop", "an arrow without types", "%f: tile<f32>", "%x = loop iter_values(%a = %f) : tile<f32> -> { }", "expected a type"),
        case("loop", "an initial value that its own body defines", "", "%x = loop iter_values(%a = %s) : tile<i32> -> tile<i32> {\n    %s = constant <i32: 10> : tile<i32>\n    break %s : tile<i32>\n  }", "'%s' is not defined here"),
        case("loop", "a name for a result that it does not have", "", "%x = loop { break }", "'cuda_tile.loop' has 0 results, but 1 are named"),
        case("loop", "a tensor view as result", f"%v: {TENSOR}", f"%x = loop : {TENSOR} {{ break %v : {TENSOR} }}", f"cannot return a view, {TENSOR}"),
        case("loop", "a partition view as result", f"%v: {TILES}", f"%x = loop : {TILES} {{ break %v : {TILES} }}", f"cannot return a view, {TILES}"),
        case("loop", "a tensor view carried", f"%v: {TENSOR}", f"loop iter_values(%a = %v) : {TENSOR} {{ continue %a : {TENSOR} }}", f"cannot carry a view, {TENSOR}"),
        case("loop", "a partition view carried", f"%v: {TILES}", f"loop iter_values(%a = %v) : {TILES} {{ continue %a : {TILES} }}", f"cannot carry a view, {TILES}"),
    ]  # fmt: skip


def branches() -> list[Case]:
    """if and what ends its regions."""
    both = "%x = if %c -> (tile<i64>) {{ yield {} }} else {{ yield {} }}"
    n, w = "%n : tile<i32>", "%w : tile<i64>"
    returning = "return %v : {0}"
    return [
        case("if", "a condition that is not i1", N, '"cuda_tile.if"(%n) ({\n    yield\n  }, {\n  }) : (tile<i32>) -> ()', "operand 'condition' must be a scalar tile of i1, is tile<i32>"),
        case("if", "a condition that is no scalar", "%c: tile<4xi1>", "if %c { }", "operand 'condition' must be a scalar tile of i1, is tile<4xi1>"),
        case("if", "results without an else region", COND, f"%x = if %c -> (tile<i32>) {{ yield {n} }}", "must have an else region to yield its results"),
        case("if", "an else region that yields nothing", COND, f"%x = if %c -> (tile<i32>) {{ yield {n} }} else {{ print_tko \"no\" -> token }}", TYPES.format("nothing", "tile<i32>")),
        case("if", "a then region that yields what nobody takes", COND, f"if %c {{ yield {n} }} else {{ print_tko \"no\" -> token }}", TYPES.format("tile<i32>", "nothing")),
        case("if", "an else region that yields what nobody takes", COND, f"if %c {{ print_tko \"yes\" -> token }} else {{ yield {n} }}", TYPES.format("tile<i32>", "nothing")),
        case("if", "a then region that yields another type", COND, both.format(n, w), TYPES.format("tile<i32>", "tile<i64>"), 2),
        case("if", "an else region that yields another type", COND, both.format(w, n), TYPES.format("tile<i32>", "tile<i64>"), 3),
        case("if", "a break on one side, a value on the other", COND, f"loop {{ if %c {{ break }} else {{ yield {n} }} }}", TYPES.format("tile<i32>", "nothing"), 2),
        case("if", "a condition that its own body defines", "", "if %s {\n    %s = constant <i1: true> : tile<i1>\n  }", "'%s' is not defined here"),
        case("if", "a tensor view as result", f"%c: tile<i1>, %v: {TENSOR}", f"%x = if %c -> ({TENSOR}) {{ {returning.format(TENSOR)} }} else {{ {returning.format(TENSOR)} }}", f"cannot return a view, {TENSOR}"),
        case("if", "a partition view as result", f"%c: tile<i1>, %v: {TILES}", f"%x = if %c -> ({TILES}) {{ {returning.format(TILES)} }} else {{ {returning.format(TILES)} }}", f"cannot return a view, {TILES}"),
    ]  # fmt: skip


def modules() -> list[Case]:
    """Entries, functions, globals and grid queries."""
    called = "global @g <f16: [1.0, 2.0]> : tile<2xf16>\nentry @k() {{\n  %x = get_global @{} : {}\n}}\n"
    return [
        Case("testing$func", "no body", '"cuda_tile.testing$func"() ({ }) {function_type = () -> (), sym_name = "f"} : () -> ()\n', "a region must have one block, has 0"),
        Case("testing$func", "no value where one is returned", "testing$func @f(%a: tile<2xi16>) -> tile<2xi16> { }\n", TYPES.format("nothing", "tile<2xi16>")),
        Case("testing$func", "a returned value of another type", "testing$func @f(%a: tile<2xf32>) -> tile<2xi16> {\n  return %a : tile<2xf32>\n}\n", TYPES.format("tile<2xf32>", "tile<2xi16>")),
        Case("entry", "a word before the name", "entry public @k() { }\n", "expected a symbol such as @kernel for the entry's name, found 'public'"),
        Case("entry", "a returned value", "entry @k(%a: tile<f32>) -> tile<f32> {\n  return %a : tile<f32>\n}\n", "an entry returns nothing"),
        Case("entry", "a parameter that is no scalar", "entry @k(%a: tile<2x2xf32>) { }\n", "parameter 0 of @k must be a rank-0 tile or a token, is tile<2x2xf32>"),
        Case("get_global", "another pointee", called.format("g", "tile<ptr<f32>>"), "result tile<ptr<f32>> does not point to the elements of @g, f16"),
        Case("get_global", "a name that no global has", called.format("h", "tile<ptr<f32>>"), "the module has no global @h"),
        Case("get_global", "a result that is no scalar", called.format("g", "tile<4xptr<f16>>"), "result 'result' must be a scalar tile of pointers, is tile<4xptr<f16>>"),
        Case("global", "two dimensions", "global @g <f16: [[1.0, 2.0]]> : tile<1x2xf16>\n", "attribute 'type' must have one dimension, is tile<1x2xf16>"),
        Case("global", "an unknown visibility", "global hidden @g <i32: [42]> : tile<1xi32>\n", "expected a symbol such as @kernel for the global's name, found 'hidden'"),
        Case("global", "a visibility in capitals", "global Public @g <i32: [42]> : tile<1xi32>\n", "expected a symbol such as @kernel for the global's name, found 'Public'"),
        Case("global", "a visibility in quotes", 'global "private" @g <i32: [42]> : tile<1xi32>\n', "expected a symbol such as @kernel for the global's name, found '\"private\"'"),
        *[
            case(name, condition, "", f"%x, %y, %z = {name} : {type_}", f"must be a scalar tile of i32, is {type_}")
            for name in ("get_tile_block_id", "get_num_tile_blocks")
            for condition, type_ in (("a result that is no scalar", "tile<1xi32>"), ("a result of i64", "tile<i64>"))
        ],
    ]  # fmt: skip


def combined(name: str, condition: str, operands: str, rest: str, says: str, lines: int = 1) -> Case:
    """A reduce or a scan of some parameters; `rest` is what follows, in which R stands for scan's direction."""
    results = rest.partition("->")[2].partition("(")[0]
    target = "%x:2" if "," in results else "%x"
    body = f"{target} = {name} {operands}{rest.replace('R', ' reverse=false' if name == 'scan' else '', 1)}"
    return case(name, condition, "%a: tile<8xf32>, %b: tile<8xi32>, %l: tile<16xi32>", body, says, lines)


def reductions(name: str) -> list[Case]:
    """What reduce and scan refuse alike."""
    out, wide = ("tile<f32>", "tile<i32>") if name == "reduce" else ("tile<8xf32>", "tile<8xi32>")
    two = f"tile<8xf32>, tile<8xi32> -> {out}, {wide}"
    values = "identities=[0.0 : f32, 0 : i32]"
    one = f" dim=0R identities=[0.0 : f32] : tile<8xf32> -> {out} "
    printed = '{ %t = print_tko "step" -> token yield %u : tile<f32> }'
    yields = "{ yield %u, %y : tile<f32>, tile<i32> }"
    return [
        combined(name, "more results than operands", "%a", f" dim=0R identities=[0.0 : f32] : tile<8xf32> -> {out}, {out} {PAIR}", "results: types are"),
        combined(name, "a body without arguments", "%a", one + "() { yield }", "region arguments: " + TYPES.format("nothing", "tile<f32>, tile<f32>")),
        combined(name, "no operand", "", one + PAIR, "expected a value such as %x"),
        combined(name, "more identities than operands", "%a", f" dim=0R identities=[0.0 : f32, 0.0 : f32] : tile<8xf32> -> {out} {PAIR}", "2 identities for 1 operands"),
        combined(name, "an argument that is no scalar", "%a", one + "(%u: tile<1xf32>, %v: tile<f32>) { yield %v : tile<f32> }", "region arguments: " + TYPES.format("tile<1xf32>, tile<f32>", "tile<f32>, tile<f32>")),
        combined(name, "an argument that is no tile", "%a", one + "(%u: f32, %v: tile<f32>) { yield %v : tile<f32> }", "region arguments: " + TYPES.format("f32, tile<f32>", "tile<f32>, tile<f32>")),
        combined(name, "a pair of arguments of different type", "%a", one + "(%u: tile<f32>, %v: tile<i32>) { yield %u : tile<f32> }", "region arguments: " + TYPES.format("tile<f32>, tile<i32>", "tile<f32>, tile<f32>"), 2 if name == "reduce" else 1),
        combined(name, "the second pair of arguments of different type", "%a, %b", f" dim=0R {values} : {two} (%u: tile<f32>, %v: tile<f32>, %y: tile<i32>, %z: tile<f32>) {yields}", "region arguments: types are (tile<f32>, tile<f32>, tile<i32>, tile<f32>)"),
        combined(name, "arguments of another type than the operand", "%b", f" dim=0R identities=[0 : i32] : tile<8xi32> -> {wide} {PAIR}", "region arguments: " + TYPES.format("tile<f32>, tile<f32>", "tile<i32>, tile<i32>")),
        combined(name, "no value yielded", "%a, %b", f" dim=0R {values} : {two} {TWO} {{ yield }}", TYPES.format("nothing", "tile<f32>, tile<i32>")),
        combined(name, "values yielded in another order", "%a, %b", f" dim=0R {values} : {two} {TWO} {{ yield %y, %u : tile<i32>, tile<f32> }}", TYPES.format("tile<i32>, tile<f32>", "tile<f32>, tile<i32>")),
        combined(name, "operands of different shape", "%a, %l", f" dim=0R {values} : tile<8xf32>, tile<16xi32> -> {out}, {wide.replace('8x', '16x')} {TWO} {yields}", "'operands[1]' has type tile<16xi32>, must have the shape of 'operands[0]', tile<8xf32>"),
        combined(name, "a result of another shape", "%a", f" dim=0R identities=[0.0 : f32] : tile<8xf32> -> tile<1xf32> {PAIR}", "results: " + TYPES.format("tile<1xf32>", out), 2 if name == "reduce" else 1),
        combined(name, "an identity of another type", "%a, %b", f" dim=0R identities=[0.0 : f32, 0.5 : f32] : {two} {TWO} {yields}", "identity 0.5 is not of the element type of tile<8xi32>"),
        combined(name, "a negative dimension", "%a", one.replace("dim=0", "dim=-10") + PAIR, "dim -10 does not exist in operand tile<8xf32>"),
        combined(name, "a dimension that does not exist", "%a", one.replace("dim=0", "dim=10") + PAIR, "dim 10 does not exist in operand tile<8xf32>"),
        combined(name, "an effect in the body", "%a", one + "(%u: tile<f32>, %v: tile<f32>) " + printed, f"has a side effect; the region of 'cuda_tile.{name}'"),
    ]  # fmt: skip


def cases() -> list[Case]:
    """The cases of this page."""
    return [*loops(), *branches(), *modules(), *reductions("reduce"), *reductions("scan")]

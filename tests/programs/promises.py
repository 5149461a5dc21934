"""Promises (overflow, assume) that an execution never makes, since it does not come by: they say nothing of equal
values elsewhere. The entry computes on values that break each promise; the promises lie where no execution of the test
gets, as PLACES says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.program import Program, add

PLACES = {
    "then": "if %never {{\n{0} }}",
    "else": "if %always {{ }} else {{\n{0} }}",
    "no-trip": "for %i in (%zero to %none, step %one) : tile<i32> {{\n{0} }}",
    "no-trip-constant": "for %i in (%five to %three, step %one) : tile<i32> {{\n{0} }}",
    "after-return": "if %always {{ return }}\n{0}",
    "after-continue": "for %i in (%zero to %three, step %one) : tile<i32> {{ if %always {{ continue }}\n{0} }}",
    "after-break": "loop {{ if %always {{ break }}\n{0} }}",
    "nested": "for %i in (%zero to %three, step %one) : tile<i32> {{ if %never {{\n{0} }} }}",
    "no-trip-unsigned": "for unsigned %i in (%five to %three, step %one) : tile<i32> {{\n{0} }}",
    "no-trip-in-a-loop": """for %i in (%zero to %three, step %one) : tile<i32> {{
        for %j in (%zero to %none, step %one) : tile<i32> {{\n{0} }} }}""",
    "loop-in-a-branch": "if %never {{ for %i in (%zero to %three, step %one) : tile<i32> {{\n{0} }} }}",
    "loop-in-a-branch-in-a-loop": """for %i in (%zero to %three, step %one) : tile<i32> {{ if %never {{
        for %j in (%zero to %three, step %one) : tile<i32> {{\n{0} }} }} }}""",
    "after-the-first-trip": """for %i in (%zero to %one, step %one) : tile<i32> {{
        %first = cmpi equal %i, %zero, signed : tile<i32> -> tile<i1>
        if %first {{ continue }}\n{0} }}""",
    "after-an-inner-break": """for %i in (%zero to %three, step %one) : tile<i32> {{
        loop {{ if %always {{ break }}\n{0} }} }}""",
    "after-return-in-a-branch": "if %always {{ if %always {{ return }}\n{0} }}",
    "else-in-a-loop": """for %i in (%zero to %three, step %one) : tile<i32> {{
        if %always {{ }} else {{\n{0} }} }}""",
    "else-of-then": "if %always {{ if %always {{ }} else {{\n{0} }} }}",
    "then-of-never": "if %never {{ if %always {{\n{0} }} }}",
}
"""Where an execution with `none` = 0 makes no promise."""

JOINED = {
    "merged-branches": """%m = if %never -> (tile<i32>) {{\n{0}
        yield %b : tile<i32> }} else {{
        %a1 = muli %v, %twelve : tile<i32>
        %b1 = addi %a1, %five : tile<i32>
        yield %b1 : tile<i32> }}
        %q = divi %m, %twelve signed rounding<zero> : tile<i32>
        %tq = store_ptr_tko weak %y1, %q token = %t1 : tile<ptr<i32>>, tile<i32> -> token""",
    "carried-through-no-trip": """%m = for %i in (%zero to %none, step %one) : tile<i32>
        iter_values(%c0 = %p2) -> (tile<i32>) {{\n{0}
        continue %c : tile<i32> }}
        %q = maxi %m, %zero signed : tile<i32>
        %tq = store_ptr_tko weak %y2, %q token = %t2 : tile<ptr<i32>>, tile<i32> -> token""",
}
"""What a promise is made of leaves its region, where it meets the same without a promise; a probe is stored again."""

PROMISED = """%a = muli %v, %twelve overflow<no_signed_wrap> : tile<i32>
    %b = addi %a, %five overflow<no_wrap> : tile<i32>
    %c = muli %w, %eight overflow<no_signed_wrap> : tile<i32>
    %d0 = addi %v, %three : tile<i32>
    %d = assume div_by<16>, %d0 : tile<i32>
    %e0 = subi %w, %v : tile<i32>
    %e = assume bounded<0, 7>, %e0 : tile<i32>
    %f = assume div_by<16>, %five : tile<i32>
    %ta = store_ptr_tko weak %x, %b token = %start : tile<ptr<i32>>, tile<i32> -> token
    %tb = store_ptr_tko weak %x, %c token = %ta : tile<ptr<i32>>, tile<i32> -> token
    %tc = store_ptr_tko weak %x, %d token = %tb : tile<ptr<i32>>, tile<i32> -> token
    %td = store_ptr_tko weak %x, %e token = %tc : tile<ptr<i32>>, tile<i32> -> token
    %te = store_ptr_tko weak %x, %f token = %td : tile<ptr<i32>>, tile<i32> -> token"""

PROBES = (
    "%p0 = muli %v, %twelve : tile<i32>\n%r0 = divi %p0, %twelve signed rounding<zero> : tile<i32>",
    "%p1 = addi %p0, %five : tile<i32>\n%r1 = divi %p1, %twelve signed rounding<zero> : tile<i32>",
    "%p2 = muli %w, %eight : tile<i32>\n%r2 = maxi %p2, %zero signed : tile<i32>",
    "%p3 = addi %v, %three : tile<i32>\n%r3 = remi %p3, %sixteen signed : tile<i32>",
    "%p4 = subi %w, %v : tile<i32>\n%r4 = mini %p4, %eight signed : tile<i32>",
    "%r5 = remi %five, %sixteen signed : tile<i32>",
)
V, W = 500_000_000, 300_000_000


def text(place: str) -> str:
    """The probes are stored first, one an element of y; w is known not to be negative."""
    numbers = {"zero": 0, "one": 1, "three": 3, "five": 5, "eight": 8, "twelve": 12, "sixteen": 16}
    constants = [f"%{name} = constant <i32: {n}> : tile<i32>" for name, n in numbers.items()]
    probes = list(PROBES)
    for i in range(len(PROBES)):
        probes.append(f"""%i{i} = constant <i32: {i}> : tile<i32>
            %y{i} = offset %y, %i{i} : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
            %t{i} = store_ptr_tko weak %y{i}, %r{i} token = %start : tile<ptr<i32>>, tile<i32> -> token""")
    lines = "\n".join(constants + probes)
    return f"""cuda_tile.module @m {{
    entry @k(%x: tile<ptr<i32>>, %y: tile<ptr<i32>>, %v: tile<i32>, %any: tile<i32>, %none: tile<i32>) {{
    %start = make_token : token
    %w = assume bounded<0, ?>, %any : tile<i32>
    {lines}
    %never = cmpi not_equal %none, %zero, signed : tile<i32> -> tile<i1>
    %always = cmpi equal %none, %zero, signed : tile<i32> -> tile<i1>
    {(PLACES | JOINED)[place].format(PROMISED)}
    return }} }}"""


def expected(x: Any, y: Any, v: int, w: int, none: int) -> dict[int, Any]:
    def wrap(number: int) -> int:
        return (number + 2**31) % 2**32 - 2**31

    probes = [
        int(wrap(v * 12) / 12), int(wrap(wrap(v * 12) + 5) / 12), max(wrap(w * 8), 0), (v + 3) % 16, min(w - v, 8), 5
    ]  # fmt: skip
    return {0: x, 1: np.array(probes, np.int32)}


for where in PLACES | JOINED:
    add(
        Program(
            f"promise-{where}",
            lambda where=where: text(where),
            lambda: [np.array([-1], np.int32), np.zeros(len(PROBES), np.int32), V, W, 0],
            expected=expected,
        )
    )

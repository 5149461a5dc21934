"""Calls of functions that the driver links to a kernel. Source: the PTX that nvcc makes of assert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir.core import Op, Value
from ir.dialects import nvvm
from lowering.ptx.templates import template

if TYPE_CHECKING:
    from lowering.ptx.select import Selector

ASSERT_TYPES = ("b64", "b64", "b32", "b64", "b64")
"""Parameters of __assertfail: message, file, line, function, bytes of a character."""
_PARAMETERS = ", ".join(f".param .{kind} assertfail_{i}" for i, kind in enumerate(ASSERT_TYPES))
EXTERNS: dict[type[Op], str] = {nvvm.AssertFail: f".extern .func __assertfail ({_PARAMETERS});"}
"""The declaration that an op asks for."""


@template(nvvm.AssertFail)
def assert_fail(s: Selector, op: nvvm.AssertFail) -> None:
    """call __assertfail; texts by their generic addresses."""
    generic = [Value(v.type, op, -1 - i) for i, v in enumerate(op.operands)]
    message, file, function = generic
    given = ("%s", "%s", str(op.line), "%s", "1")
    places = [f"assertfail_{i}" for i in range(len(given))]
    text = ["{"]
    text += [f".param .{kind} {place};" for kind, place in zip(ASSERT_TYPES, places, strict=True)]
    text += [f"st.param.{k} [{p}], {v};" for k, p, v in zip(ASSERT_TYPES, places, given, strict=True)]
    text += [f"call __assertfail, ({', '.join(places)});", "}"]
    s.emit(" ".join(text), [], [message, file, function])
    for made, value in zip(generic, op.operands, strict=True):
        uses: list[Value] = []
        operand = s.register(value, uses)
        s.emit(f"cvta.global.u64 %s, {operand};", [made], uses)

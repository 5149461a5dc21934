"""Calls of functions that the driver links to a kernel. Source: the PTX that nvcc makes of assert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir.core import Op, Value
from ir.dialects import nvvm
from lowering.ptx.templates import bits, template

if TYPE_CHECKING:
    from lowering.ptx.select import Selector

ASSERT_TYPES = ("b64", "b64", "b32", "b64", "b64")
"""Parameters of __assertfail: message, file, line, function, bytes of a character."""
_PARAMETERS = ", ".join(f".param .{kind} assertfail_{i}" for i, kind in enumerate(ASSERT_TYPES))
EXTERNS: dict[type[Op], str] = {
    nvvm.AssertFail: f".extern .func __assertfail ({_PARAMETERS});",
    nvvm.VPrintf: (
        ".extern .func (.param .b32 vprintf_result) vprintf "
        "(.param .b64 vprintf_format, .param .b64 vprintf_arguments);"
    ),
}
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


@template(nvvm.VPrintf)
def print_text(s: Selector, op: nvvm.VPrintf) -> None:
    """call vprintf: the format by its generic address, and a buffer in local memory that holds the numbers as a struct
    of C would. Source: the PTX that nvcc makes of printf.
    """
    generic = Value(op.format.type, op, -1)
    uses, stores, size = [generic], list[str](), 0
    for value in op.args:
        width = bits(value)
        size = -(-size // (width // 8)) * (width // 8)
        stores.append(f"st.local.b{width} [vprintf_buffer+{size}], {s.use(value, uses)};")
        size += width // 8
    text = ["{", f".local .align 8 .b8 vprintf_buffer[{max(size, 8)}];", ".reg .b64 buffer;", *stores]
    text += ["cvta.local.u64 buffer, vprintf_buffer;", ".param .b64 vprintf_format;", ".param .b64 vprintf_arguments;"]
    text += [".param .b32 vprintf_result;", "st.param.b64 [vprintf_format], %s;"]
    text += ["st.param.b64 [vprintf_arguments], buffer;"]
    text += ["call (vprintf_result), vprintf, (vprintf_format, vprintf_arguments);", "}"]
    s.emit(" ".join(text), [], uses, [*uses[1:], generic])
    inner: list[Value] = []
    operand = s.register(op.format, inner)
    s.emit(f"cvta.global.u64 %s, {operand};", [generic], inner)

"""Calls of functions that the driver links to a kernel. Source: the PTX that nvcc generates for assert and printf."""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import WRITE, Attr, Operand, Result, Variadic
from ir.instruction import DOUBLE_WORD, GLOBAL, SM_80, Form, Instruction, instruction, register_bits
from ir.types import F64, GLOBAL_PTR, I32, I64, Constraint

ASSERT_TYPES = ("b64", "b64", "b32", "b64", "b64")
"""Parameters of __assertfail: message, file, line, function, bytes of a character."""
_PLACES = tuple(f"assertfail_{i}" for i in range(len(ASSERT_TYPES)))
_DECLARED = ", ".join(f".param .{kind} {place}" for kind, place in zip(ASSERT_TYPES, _PLACES, strict=True))
_GIVEN = ("{generic_message}", "{generic_file}", "{line}", "{generic_function}", "1")
_GENERIC = [f"cvta.global.u64 {{generic_{name}}}, {{{name}:register}};" for name in ("function", "file", "message")]
_CALL = [
    "{{",
    *[f".param .{kind} {place};" for kind, place in zip(ASSERT_TYPES, _PLACES, strict=True)],
    *[f"st.param.{kind} [{p}], {value};" for kind, p, value in zip(ASSERT_TYPES, _PLACES, _GIVEN, strict=True)],
    f"call __assertfail, ({', '.join(_PLACES)});",
    "}}",
]


@instruction(
    "nvvm.assertfail",
    "\n".join([*_GENERIC, " ".join(_CALL)]),
    SM_80,
    source="the PTX that nvcc 13 makes of assert",
    temporaries={"generic_message": I64, "generic_file": I64, "generic_function": I64},
    extern=f".extern .func __assertfail ({_DECLARED});",
)
class AssertFail(Instruction):
    """The thread ends the launch with a message, at a line of a file, in a function: texts in global memory."""

    message = Operand(GLOBAL)
    file = Operand(GLOBAL)
    function = Operand(GLOBAL)
    line = Attr(int, least=0)
    effect = WRITE


PRINTED = Constraint("i32, i64 or f64", lambda t: t in (I32, I64, F64), (I32, I64, F64))
"""What C passes as a variable argument, of numbers."""


@instruction(
    "nvvm.vprintf",
    "",
    SM_80,
    source="the PTX that nvcc 13 makes of printf",
    temporaries={"generic": I64},
    extern=".extern .func (.param .b32 vprintf_result) vprintf "
    "(.param .b64 vprintf_format, .param .b64 vprintf_arguments);",
)
class VPrintf(Instruction):
    """A call of the driver's vprintf (ours): a format, a global address, and the numbers in a buffer of the thread."""

    format = Operand(GLOBAL)
    args = Variadic(PRINTED)
    effect = WRITE

    @property
    def text(self) -> str:
        """The format by its generic address, and a buffer in local memory that holds the numbers as in a C struct."""
        stores, size = "", 0
        for at, value in enumerate(self.args):
            width = register_bits(value.type)
            size = -(-size // (width // 8)) * (width // 8)
            stores += f" st.local.b{width} [vprintf_buffer+{size}], {{args.{at}}};"
            size += width // 8
        buffer = f".local .align 8 .b8 vprintf_buffer[{max(size, 8)}]; .reg .b64 buffer;{stores}"
        return (
            f"cvta.global.u64 {{generic}}, {{format:register}};\n{{{{ {buffer} cvta.local.u64 buffer, vprintf_buffer; "
            ".param .b64 vprintf_format; .param .b64 vprintf_arguments; .param .b32 vprintf_result; "
            "st.param.b64 [vprintf_format], {generic}; st.param.b64 [vprintf_arguments], buffer; "
            "call (vprintf_result), vprintf, (vprintf_format, vprintf_arguments); }}"
        )

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """A text alone, and one with a number of each type."""
        yield Form(((GLOBAL_PTR,), ()), (), {})
        yield Form(((GLOBAL_PTR,), (I32, F64, I64)), (), {})


@instruction(
    "nvvm.malloc",
    "{{ .param .b64 malloc_bytes; .param .b64 malloc_alignment; .param .b64 malloc_result; "
    "st.param.b64 [malloc_bytes], {bytes}; st.param.b64 [malloc_alignment], {alignment}; "
    "call (malloc_result), __cuda_syscall_aligned_malloc, (malloc_bytes, malloc_alignment); "
    "ld.param.b64 {result}, [malloc_result]; }}",
    SM_80,
    source="CUDA C++ Programming Guide, __nv_aligned_device_malloc; the PTX that tileiras 13.5 makes of alloca",
    extern=".extern .func (.param .b64 malloc_result) __cuda_syscall_aligned_malloc "
    "(.param .b64 malloc_bytes, .param .b64 malloc_alignment);",
)
class Malloc(Instruction):
    """Bytes of the device's heap for the thread: their generic address, 0 if none are available. It is also an address
    of global memory (PTX ISA, generic addressing: addresses outside all windows).
    """

    bytes = Attr(int, least=0)
    alignment = Attr(int, least=1)
    result = Result(DOUBLE_WORD)
    effect = WRITE

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """A small and a large alignment."""
        for alignment in (16, 128):
            yield Form((), (I64,), {"bytes": 1000, "alignment": alignment})


@instruction(
    "nvvm.free",
    "{{ .param .b64 free_address; st.param.b64 [free_address], {address}; call free, (free_address); }}",
    SM_80,
    source="CUDA C++ Programming Guide, free",
    extern=".extern .func free (.param .b64 free_address);",
)
class Free(Instruction):
    """Frees bytes of the device's heap, given their generic address."""

    address = Operand(DOUBLE_WORD)
    effect = WRITE

"""Declarations: registers, variables in a state space, entry parameters."""

import math
import re
import struct

import numpy as np

from ptxsim.errors import ParseError
from ptxsim.operands import parse_constant, split_commas
from ptxsim.program import Formal, Parameter, Relocation, Variable
from ptxsim.ptx_types import TYPES, PtxType

_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.*);$", re.DOTALL)
_REGISTER = re.compile(r"([\w$%.]+?)(?:<(\d+)>)?$")
_VARIABLE = re.compile(r"\.(shared|global|const|local|param)\b(.*);$", re.DOTALL)
_ATTRIBUTES = re.compile(r"\s*(?:\.attribute\s*\(\s*\.managed\s*\)|\.align\s+(\d+)|\.v([248])\b|\.(\w+)|(\w+)::\w+)\s*")
_NAME = re.compile(r"([\w$%.]+)\s*((?:\[\s*\d*\s*\]\s*)*)(?:=\s*(.*))?$", re.DOTALL)
_DIMENSION = re.compile(r"\[\s*(\d*)\s*\]")
_ADDRESS = re.compile(r"(?:generic\(([\w$%.]+)\)|([A-Za-z_$%][\w$.]*))\s*([+-]\s*\d+)?$")
_PARAMETER = re.compile(r"\.param\s+(.*?)([\w$%.]+)\s*((?:\[\s*\d*\s*\]\s*)*)$", re.DOTALL)
_PARAMETER_ATTRIBUTE = re.compile(r"\.(\w+)\s*(\d+)?")


def parse_registers(statement: str, line: int) -> list[tuple[str, PtxType, int | None]]:
    """The registers of a .reg statement as (name, type, count of a range or None)."""
    match = _REGISTERS.match(statement)
    if match is None:
        raise ParseError("this .reg declaration is not supported (vector registers are not)", line, statement)
    type_ = TYPES.get(match.group(1))
    if type_ is None or type_.kind == "element":
        raise ParseError(f"registers of type .{match.group(1)} are not supported", line, statement)
    result: list[tuple[str, PtxType, int | None]] = []
    for part in match.group(2).split(","):
        name = _REGISTER.match(part.strip())
        if name is None:
            raise ParseError(f"`{part.strip()}` is not a register name", line, statement)
        result.append((name.group(1), type_, int(name.group(2)) if name.group(2) else None))
    return result


def parse_variable(statement: str, line: int, is_extern: bool) -> list[Variable]:
    """The variables of a `.space .type name[size] = init` statement."""
    shown = " ".join(statement.split())[:120]
    match = _VARIABLE.match(statement)
    if match is None:
        raise ParseError("this directive is not supported", line, shown)
    space, rest = match.group(1), match.group(2)
    align, lanes = 0, 1
    type_: PtxType | None = None
    while attribute := _ATTRIBUTES.match(rest):
        rest = rest[attribute.end() :]
        if attribute.group(1):
            align = int(attribute.group(1))
        elif attribute.group(2):
            lanes = int(attribute.group(2))
        elif attribute.group(3):
            type_ = TYPES.get(attribute.group(3))
            if type_ is None or type_.kind == "element":
                raise ParseError(f"`.{attribute.group(3)}` is not supported in a variable", line, shown)
            break
    if type_ is None:
        raise ParseError("a variable needs a type", line, shown)
    return [_one_variable(part, space, type_, lanes, align, line, is_extern) for part in split_commas(rest) or []]


def _one_variable(
    text: str, space: str, type_: PtxType, lanes: int, align: int, line: int, is_extern: bool
) -> Variable:
    match = _NAME.match(text.strip())
    if match is None:
        raise ParseError(f"`{text.strip()}` is not a variable", line, text)
    dimensions = [int(size) if size else 0 for size in _DIMENSION.findall(match.group(2))]
    element = type_.bytes * lanes
    initial, relocations = None, ()
    if match.group(3) is not None:
        initial, relocations = _initial_bytes(match.group(3), type_, line, text)
    if dimensions and dimensions[0] == 0 and initial is not None:
        dimensions[0] = len(initial) // (element * math.prod(dimensions[1:]))
    size = element * math.prod(dimensions)
    if initial is not None:
        initial = initial.ljust(size, b"\0")
    return Variable(match.group(1), space, type_, size, align or element, line, initial, is_extern, relocations)


def _initial_bytes(text: str, type_: PtxType, line: int, shown: str) -> tuple[bytes, tuple[Relocation, ...]]:
    result = bytearray()
    relocations: list[Relocation] = []
    for part in text.replace("{", " ").replace("}", " ").split(","):
        if not part.strip():
            continue
        constant = parse_constant(part.strip())
        address = _ADDRESS.match(part.strip())
        if constant is not None:
            result += constant_bytes(constant.value, type_)
        elif address is not None and type_.bits == 64:
            addend = int((address.group(3) or "0").replace(" ", ""))
            relocations.append(Relocation(len(result), type_.bytes, address.group(1) or address.group(2), addend))
            result += bytes(type_.bytes)
        else:
            raise ParseError(f"initial value `{part.strip()}` is neither a number nor an address", line, shown)
    return bytes(result), tuple(relocations)


def constant_bytes(value: int | float, type_: PtxType) -> bytes:
    """The little-endian bytes of a number in a type."""
    if type_.name == "f64":
        return struct.pack("<d", value)
    if type_.name == "f32":
        return np.float32(value).tobytes()
    if type_.name == "f16":
        return np.float16(value).tobytes()
    return (int(value) % (1 << type_.bits)).to_bytes(type_.bytes, "little")


def parse_formals(text: str, line: int) -> list[tuple[Formal, PtxType | None]]:
    """The arguments or results of a function, with the type of those that are registers."""
    result: list[tuple[Formal, PtxType | None]] = []
    for part in text.split(","):
        if part.strip().startswith(".reg"):
            [(name, type_, _)] = parse_registers(part.strip() + ";", line)
            result.append((Formal(name, type_.bytes, type_.bytes), type_))
        elif part.strip():
            [parameter] = parse_parameters(part, line)
            align = re.search(r"\.align\s+(\d+)", part)
            least = int(align.group(1)) if align else parameter.type.bytes
            result.append((Formal(parameter.name, parameter.size, least), None))
    return result


def parse_parameters(text: str, line: int) -> list[Parameter]:
    """The parameters of an entry, laid out consecutively at their alignment."""
    result: list[Parameter] = []
    offset = 0
    for part in text.split(","):
        if not part.strip():
            continue
        match = _PARAMETER.match(part.strip())
        attributes = [] if match is None else _PARAMETER_ATTRIBUTE.findall(match.group(1))
        types = [TYPES[name] for name, _ in attributes if name in TYPES and TYPES[name].kind != "element"]
        if match is None or len(types) != 1:
            raise ParseError(f"`{part.strip()}` is not a parameter", line, part.strip())
        type_ = types[0]
        is_pointer = any(name == "ptr" for name, _ in attributes)
        alignments = [int(number) for name, number in attributes if name == "align" and number]
        align = type_.bytes if is_pointer or not alignments else alignments[0]
        counts = [int(size or 0) for size in _DIMENSION.findall(match.group(3))]
        offset = -(-offset // align) * align
        size = type_.bytes * math.prod(counts)
        result.append(Parameter(match.group(2), type_, size, offset, bool(counts)))
        offset += size
    return result

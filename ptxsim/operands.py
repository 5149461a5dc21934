"""Parses operand text to operand values, with the registers of the enclosing scopes."""

import re
import struct

from ptxsim.errors import ParseError
from ptxsim.program import (
    Address,
    Element,
    Immediate,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from ptxsim.ptx_types import PtxType

# PTX ISA, "Special Registers"; those that the simulator supports are listed in machine.py
_SPECIAL = re.compile(
    r"%(tid|ntid|ctaid|nctaid|clusterid|nclusterid|cluster_ctaid|cluster_nctaid)\.[xyz]$"
    r"|%(laneid|warpid|nwarpid|smid|nsmid|gridid|clock|clock64|clock_hi|globaltimer|globaltimer_lo|globaltimer_hi"
    r"|lanemask_(eq|le|lt|ge|gt)|cluster_ctarank|cluster_nctarank|is_explicit_cluster|total_smem_size"
    r"|aggr_smem_size|dynamic_smem_size|current_graph_exec|reserved_smem_offset_\w+|pm\d(_64)?|envreg\d+)$"
)
_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9]\d*)U?$")
_HEX_FLOAT = re.compile(r"([+-]?)0([fFdD])([0-9a-fA-F]+)$")
_DECIMAL_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?$")
_NAME = re.compile(r"[A-Za-z_$%.][\w$.]*$")
_OFFSET = re.compile(r"(.+?)\s*([+-])\s*(-?\s*(?:0[xX][0-9a-fA-F]+|\d+))U?$")
_ELEMENT = re.compile(r"([A-Za-z_$%.][\w$.]*)\s*\[([^\[\]]+)\]$")
_BRACKET_OR_COMMA = re.compile(r"[\[\]{}(),]")
_CLOSING = {"[": "]", "{": "}", "(": ")"}
_RANGE = re.compile(r"(.*?)(\d+)$")


def split_commas(text: str) -> list[str] | None:
    """The comma-separated parts of a text, brackets respected; None if brackets do not match."""
    if _BRACKET_OR_COMMA.search(text) is None:
        whole = text.strip()
        return [whole] if whole else []
    parts: list[str] = []
    opened: list[str] = []
    start = 0
    for match in _BRACKET_OR_COMMA.finditer(text):
        character = match.group()
        if character in _CLOSING:
            opened.append(_CLOSING[character])
        elif character != ",":
            if not opened or opened.pop() != character:
                return None
        elif not opened:
            parts.append(text[start : match.start()].strip())
            start = match.end()
    parts.append(text[start:].strip())
    return None if opened else parts


def parse_integer(text: str) -> int | None:
    """An integer constant of PTX (decimal, octal, hexadecimal, binary, optional U), or None."""
    match = _INTEGER.match(text)
    if match is None:
        return None
    digits = match.group(2)
    if digits[:2] in ("0x", "0X"):
        value = int(digits, 16)
    elif digits[:2] in ("0b", "0B"):
        value = int(digits, 2)
    else:
        value = int(digits, 8) if digits[0] == "0" and len(digits) > 1 else int(digits)
    return -value if match.group(1) == "-" else value


def parse_constant(text: str) -> Immediate | None:
    """A numeric constant, or None if the text is not one."""
    integer = parse_integer(text)
    if integer is not None:
        return Immediate(integer)
    match = _HEX_FLOAT.match(text)
    if match is not None:
        is_double = match.group(2) in "dD"
        digits = match.group(3)
        if len(digits) != (16 if is_double else 8):
            return None
        value = struct.unpack(">d" if is_double else ">f", bytes.fromhex(digits))[0]
        return Immediate(-value if match.group(1) == "-" else value, 64 if is_double else 32)
    if _DECIMAL_FLOAT.match(text):
        return Immediate(float(text))
    return Immediate(32) if text == "WARP_SZ" else None  # PTX ISA, "Predefined Identifiers"


class Scope:
    """The registers that one pair of braces declares."""

    def __init__(self) -> None:
        self.names: dict[str, PtxType] = {}
        self.ranges: dict[str, tuple[PtxType, int]] = {}
        self.found: dict[str, Register] = {}
        self.operands: dict[str, Operand] = {}
        self.variables: dict[str, str] = {}

    def type_of(self, name: str) -> PtxType | None:
        """The type under which this scope declares a register name."""
        if name in self.names:
            return self.names[name]
        match = _RANGE.match(name)
        if match is not None and match.group(1) in self.ranges:
            type_, count = self.ranges[match.group(1)]
            digits = match.group(2)
            if int(digits) < count and (digits == "0" or digits[0] != "0"):
                return type_
        return None


class OperandParser:
    """Parses operands inside nested scopes; collects the registers in use, numbered in order of first use."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = [Scope()]
        self.registers: list[Register] = []

    def open_scope(self) -> None:
        """Enter a pair of braces."""
        self.scopes.append(Scope())

    def close_scope(self) -> None:
        """Leave a pair of braces."""
        self.scopes.pop()

    def declare(self, name: str, type_: PtxType, count: int | None) -> None:
        """Declare a register, or with a count the registers name0 to name(count-1)."""
        scope = self.scopes[-1]
        if count is None:
            scope.names[name] = type_
        else:
            scope.ranges[name] = (type_, count)
        for inner in self.scopes:
            inner.operands.clear()

    def rename_variable(self, name: str, unique: str) -> None:
        """Give a variable declared in this scope a name that no other scope uses."""
        self.scopes[-1].variables[name] = unique
        for inner in self.scopes:
            inner.operands.clear()

    def register(self, name: str) -> Register | None:
        """The register that a name refers to here, or None if it is not declared."""
        for scope in reversed(self.scopes):
            found = scope.found.get(name)
            if found is not None:
                return found
            type_ = scope.type_of(name)
            if type_ is not None:
                found = Register(name, type_, len(self.registers))
                self.registers.append(found)
                scope.found[name] = found
                return found
        return None

    def parse(self, text: str, line: int, statement: str) -> Operand:
        """One operand. Raises ParseError naming the statement."""
        cache = self.scopes[-1].operands
        operand = cache.get(text)
        if operand is None:
            operand = self._parse(text)
            if operand is None:
                problem = f"`{text}` is not an operand"
                if text.lstrip("!-").startswith("%"):
                    problem = f"register `{text.lstrip('!-')}` is not declared in this scope; add a .reg declaration"
                raise ParseError(problem, line, statement)
            cache[text] = operand
        return operand

    def _parse(self, text: str) -> Operand | None:
        if not text:
            return None
        first = text[0]
        if first == "{":
            return self._vector(text)
        if first == "[":
            return self._address(text)
        if first == "(":
            return self._list(text)
        if first == "!":
            register = self.register(text[1:].strip())
            return None if register is None else Negated(register)
        if "|" in text:
            left, _, right = text.partition("|")
            one, two = self._parse(left.strip()), self._parse(right.strip())
            return None if one is None or two is None else Pair(one, two)
        return self._scalar(text)

    def _scalar(self, text: str) -> Operand | None:
        if text in ("", "_"):
            return Sink() if text else None
        register = self.register(text)
        if register is not None:
            return register
        constant = parse_constant(text)
        if constant is not None:
            return constant
        if text[0] == "%":
            return Special(text[1:]) if _SPECIAL.match(text) else None
        if _NAME.match(text):
            return Symbol(self._variable(text))
        split = _OFFSET.match(text)
        if split is not None and _NAME.match(split.group(1)) and self.register(split.group(1)) is None:
            return Symbol(self._variable(split.group(1)), _signed_offset(split))
        return self._element(text)

    def _element(self, text: str) -> Operand | None:
        match = _ELEMENT.match(text)
        if match is None:
            return None
        inside = match.group(2).strip()
        index = self.register(inside) or parse_integer(inside)
        return None if index is None else Element(self._variable(match.group(1)), index)

    def _variable(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope.variables:
                return scope.variables[name]
        return name

    def _vector(self, text: str) -> Operand | None:
        if text[-1] != "}":
            return None
        parts = split_commas(text[1:-1])
        if not parts:
            return None
        items: list[Operand] = []
        for part in parts:
            item = self._parse(part)
            if item is None:
                return None
            items.append(item)
        return Vector(tuple(items))

    def _list(self, text: str) -> Operand | None:
        """The results or arguments of a call."""
        if text[-1] != ")":
            return None
        items = [self._parse(part) for part in split_commas(text[1:-1]) or []]
        known = [item for item in items if item is not None]
        return Vector(tuple(known)) if len(known) == len(items) else None

    def _address(self, text: str) -> Operand | None:
        if text[-1] != "]":
            return None
        parts = split_commas(text[1:-1])
        if not parts:
            return None
        rest: list[Operand] = []
        for part in parts[1:]:
            item = self._parse(part)
            if item is None:
                return None
            rest.append(item)
        base = self._scalar(parts[0])
        offset = 0
        if isinstance(base, Element):
            return None
        if isinstance(base, Symbol):
            base, offset = Symbol(base.name), base.offset
        if base is None:
            split = _OFFSET.match(parts[0])
            if split is None:
                return None
            base, offset = self._scalar(split.group(1).strip()), _signed_offset(split)
        return None if base is None else Address(base, offset, tuple(rest))


def _signed_offset(split: re.Match[str]) -> int:
    digits = split.group(3).replace(" ", "")
    value = int(digits, 0) if digits.lstrip("-")[:2] in ("0x", "0X") else int(digits)
    return -value if split.group(2) == "-" else value

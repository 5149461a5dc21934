"""PTX text to a ParsedModule: directives, declarations, labels, scopes and instructions.

Statements that only describe (`.loc`, `.file`, `.section`, `.pragma`) are skipped; an unknown directive is rejected, so
that nothing with a meaning is lost.
"""

import re
from bisect import bisect_right
from dataclasses import replace
from functools import lru_cache

from ptxsim.declarations import parse_formals, parse_parameters, parse_registers, parse_variable
from ptxsim.errors import ParseError
from ptxsim.floors import check_target
from ptxsim.operands import OperandParser, split_commas
from ptxsim.program import (
    Entry,
    Formal,
    Function,
    Guard,
    Instruction,
    Operand,
    ParsedModule,
    Register,
    Symbol,
)

_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_SPACE = re.compile(r"\s*")
_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)")
_LINE_DIRECTIVE = re.compile(r"\.(?:loc|file)\b[^\n]*")
_PRAGMA = re.compile(r'\.pragma\b\s*(?:"[^"]*"[\s,]*)+;')
_STATEMENT = re.compile(r"[^;{}]*(?:\{[^{}]*\}[^;{}]*)*;")
_INSTRUCTION = re.compile(r"(?:@\s*(!?)\s*([\w$%.]+)\s+)?([a-z][\w.:]*)\s*(.*);$", re.DOTALL)
_TARGETS = re.compile(r"\.(branchtargets|calltargets)\s+(.*);$", re.DOTALL)
_PROTOTYPE = re.compile(r"\.callprototype\s+(?:\([^)]*\)\s*)?_\s*(?:\([^)]*\))?\s*(?:\.noreturn\s*)?;$")
_VERSION = re.compile(r"\.version\s+(\d+)\.(\d+)")
_TARGET = re.compile(r"\.target\s+([\w, ]+?)\s*$", re.MULTILINE)
_ADDRESS_SIZE = re.compile(r"\.address_size\s+(\d+)")
_SECTION = re.compile(r"\.section\s+[\w.]+\s*\{[^}]*\}")
_LINKING = re.compile(r"\.(?:visible|weak|extern|common)\b\s*")
_ENTRY = re.compile(r"\.entry\s+([\w$%.]+)\s*(?:\(([^)]*)\))?\s*")
_FUNCTION = re.compile(r"\.func\b\s*(?:\(([^)]*)\)\s*)?([\w$%.]+)\s*(?:\(([^)]*)\))?\s*")
_FUNCTION_DIRECTIVE = re.compile(r"\.noreturn\b\s*")
# PTX ISA, "Performance-Tuning Directives" and "Cluster Dimension Directives"
_ENTRY_DIRECTIVE = re.compile(
    r"\.(reqntid|maxntid|maxnreg|minnctapersm|maxnctapersm|reqnctapercluster|explicitcluster|maxclusterrank"
    r"|blocksareclusters|noreturn)\b[ \t]*((?:\d+\s*,\s*)*\d+)?\s*"
)


def _blank(match: re.Match[str]) -> str:
    text = match.group()
    return text if text[0] == '"' else "\n" * text.count("\n") + " "


@lru_cache(maxsize=64)
def parse(text: str) -> ParsedModule:
    """A Module from PTX text; the result is shared between equal texts and must not be changed."""
    return _Parser(text).module()


class Braces:
    """A pair of braces inside a body; the labels it defines are known only inside it."""

    def __init__(self, first: int) -> None:
        self._first = first
        self.labels: dict[str, str] = {}

    def bind_labels(self, entry: Entry) -> None:
        """Make branches of the enclosed instructions name the labels by their unique names."""
        if not self.labels:
            return
        for instruction in entry.instructions[self._first :]:
            if instruction.base in ("bra", "brx", "call"):
                instruction.operands = [self._bound(operand) for operand in instruction.operands]
        for table in self.labels.values():
            if table in entry.branch_targets:
                names = entry.branch_targets[table]
                entry.branch_targets[table] = tuple(self.labels.get(name, name) for name in names)

    def _bound(self, operand: Operand) -> Operand:
        if isinstance(operand, Symbol) and operand.name in self.labels:
            return Symbol(self.labels[operand.name])
        return operand


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = _COMMENT.sub(_blank, text)
        self._position = 0
        self._newlines = [match.start() for match in re.finditer("\n", self._text)]
        self._module = ParsedModule()
        self._unique = 0

    def _line(self) -> int:
        return bisect_right(self._newlines, self._position - 1) + 1

    def _skip_space(self) -> bool:
        match = _SPACE.match(self._text, self._position)
        if match is not None:
            self._position = match.end()
        return self._position < len(self._text)

    def _accept(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._position)
        if match is not None:
            self._position = match.end()
        return match

    def _fail(self, message: str) -> ParseError:
        shown = self._text[self._position :].split("\n", 1)[0].strip()
        return ParseError(message, self._line(), shown[:120])

    def module(self) -> ParsedModule:
        """Parse the whole text."""
        while self._skip_space():
            self._top_level()
        if not self._module.version[0]:
            raise ParseError("no .version directive; this is not a PTX module", 1)
        return self._module

    def _top_level(self) -> None:
        if match := self._accept(_VERSION):
            self._module.version = (int(match.group(1)), int(match.group(2)))
        elif match := self._accept(_TARGET):
            line = bisect_right(self._newlines, match.start() - 1) + 1
            self._module.target = match.group(1).split(",")[0].strip()
            check_target(self._module.target, self._module.version, line)
        elif match := self._accept(_ADDRESS_SIZE):
            if match.group(1) != "64":
                raise self._fail("only .address_size 64 is simulated")
        elif self._accept(_LINE_DIRECTIVE) or self._accept(_PRAGMA) or self._accept(_SECTION):
            pass
        else:
            self._linked()

    def _linked(self) -> None:
        start = self._position
        linking = self._accept(_LINKING)
        if match := self._accept(_ENTRY):
            self._entry(match)
        elif match := self._accept(_FUNCTION):
            self._function(match)
        else:
            line = self._line()
            statement = self._accept(_STATEMENT)
            if statement is None:
                self._position = start
                raise self._fail("expected a directive, a variable or an .entry")
            is_extern = linking is not None and "extern" in linking.group()
            for variable in parse_variable(statement.group(), line, is_extern):
                self._module.variables.append(variable)

    def _function(self, match: re.Match[str]) -> None:
        line = bisect_right(self._newlines, match.start() - 1) + 1
        function = Function(match.group(2), line)
        operands = OperandParser()
        for text, formals in ((match.group(1), function.results), (match.group(3), function.arguments)):
            for formal, register_type in parse_formals(text or "", line):
                register = None
                if register_type is not None:
                    operands.declare(formal.name, register_type, None)
                    register = operands.register(formal.name)
                formals.append(Formal(formal.name, formal.size, formal.align, register))
        while self._accept(_FUNCTION_DIRECTIVE) or self._accept(_PRAGMA):
            self._skip_space()
        opening = self._text[self._position : self._position + 1]
        if opening not in ("{", ";"):
            raise self._fail(f"expected `{{` or `;` after function `{function.name}`")
        self._position += 1
        earlier = self._module.functions.get(function.name)
        if opening == "{":
            function.body = Entry(function.name, line)
            self._body(function.body, operands)
            if earlier is not None and earlier.body is not None:
                raise ParseError(f"function `{function.name}` is defined twice", line)
        if earlier is None or function.body is not None:
            self._module.functions[function.name] = function

    def _entry(self, match: re.Match[str]) -> None:
        line = bisect_right(self._newlines, match.start() - 1) + 1
        entry = Entry(match.group(1), line)
        entry.parameters = parse_parameters(match.group(2) or "", line)
        while directive := self._accept(_ENTRY_DIRECTIVE):
            numbers = directive.group(2)
            values = tuple(int(number) for number in numbers.split(",")) if numbers else ()
            entry.directives[directive.group(1)] = values
            self._skip_space()
        while self._accept(_PRAGMA):
            self._skip_space()
        if self._text[self._position : self._position + 1] == ";":
            self._position += 1
            return
        if self._text[self._position : self._position + 1] != "{":
            raise self._fail(f"expected `{{` or a directive of entry `{entry.name}`")
        self._position += 1
        self._body(entry, OperandParser())
        if entry.name in self._module.entries:
            raise ParseError(f"entry `{entry.name}` is defined twice", line)
        self._module.entries[entry.name] = entry

    def _body(self, entry: Entry, operands: OperandParser) -> None:
        blocks = [Braces(0)]
        while self._skip_space():
            character = self._text[self._position]
            if character == "{":
                blocks.append(Braces(len(entry.instructions)))
                operands.open_scope()
                self._position += 1
            elif character == "}":
                block = blocks.pop()
                self._position += 1
                if not blocks:
                    entry.registers = operands.registers
                    return
                block.bind_labels(entry)
                operands.close_scope()
            elif character == ";":
                self._position += 1
            else:
                self._body_statement(entry, operands, blocks)
        raise ParseError(f"entry `{entry.name}` never ends: `}}` is missing", self._line())

    def _body_statement(self, entry: Entry, operands: OperandParser, blocks: list["Braces"]) -> None:
        if label := self._accept(_LABEL):
            self._label(entry, label.group(1), blocks)
            return
        if self._accept(_LINE_DIRECTIVE) or self._accept(_PRAGMA):
            return
        line = self._line()
        match = self._accept(_STATEMENT)
        if match is None:
            raise self._fail("expected a statement ending in `;`")
        statement = match.group()
        if statement[0] == ".":
            self._declaration(entry, operands, statement, line, len(blocks))
        else:
            entry.instructions.append(_instruction(statement, line, operands))

    def _label(self, entry: Entry, name: str, blocks: list["Braces"]) -> None:
        if len(blocks) > 1:
            self._unique += 1
            unique = f"{name}#{self._unique}"
            if name in blocks[-1].labels:
                raise self._fail(f"label `{name}` is defined twice")
            blocks[-1].labels[name] = unique
            name = unique
        self._skip_space()
        start = self._position
        if self._text[start : start + 1] == ".":
            match = self._accept(_STATEMENT)
            targets = None if match is None else _TARGETS.match(match.group())
            if targets is not None:
                names = split_commas(targets.group(2)) or []
                entry.branch_targets[name] = tuple(names)
                return
            if match is not None and _PROTOTYPE.match(match.group()):
                return
            self._position = start
        if name in entry.labels:
            raise self._fail(f"label `{name}` is defined twice")
        entry.labels[name] = len(entry.instructions)

    def _declaration(self, entry: Entry, operands: OperandParser, statement: str, line: int, depth: int) -> None:
        if statement.startswith(".reg"):
            for name, type_, count in parse_registers(statement, line):
                operands.declare(name, type_, count)
            return
        for variable in parse_variable(statement, line, is_extern=False):
            if depth > 1:
                self._unique += 1
                unique = f"{variable.name}#{self._unique}"
                operands.rename_variable(variable.name, unique)
                variable = replace(variable, name=unique)
            entry.variables.append(variable)


def _instruction(statement: str, line: int, operands: OperandParser) -> Instruction:
    text = " ".join(statement.split())
    match = _INSTRUCTION.match(statement)
    if match is None:
        raise ParseError("this is not an instruction", line, text)
    guard: Guard | None = None
    if match.group(2) is not None:
        register = operands.register(match.group(2))
        if not isinstance(register, Register) or register.type.name != "pred":
            raise ParseError(f"guard `{match.group(2)}` is not a declared predicate register", line, text)
        guard = Guard(register, bool(match.group(1)))
    parts = split_commas(match.group(4))
    if parts is None:
        raise ParseError("the operand list has brackets that do not match", line, text)
    opcode = match.group(3)
    base, *modifiers = opcode.split(".")
    parsed = [operands.parse(part, line, text) for part in parts]
    return Instruction(opcode, base, tuple(modifiers), parsed, guard, line, text)

"""One instruction of every form that the simulator's tests run, and ptxas' verdict on a target and version.

The forms lie in data/forms.txt.gz: opcode by opcode, with registers named by their type. As a pytest plugin this module
collects them again: `python -m pytest -p tests.runtime.forms --collect-forms tests/runtime` adds what is new.
"""

import gzip
import importlib
import re
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from ptxsim import program
from runtime.ptxas import find

PATH = Path(__file__).parent / "data" / "forms.txt.gz"
# Every .version that has one of the targets. Source: PTX ISA, "Release Notes".
VERSIONS = [
    *((6, minor) for minor in range(3, 6)), *((7, minor) for minor in range(9)), *((8, minor) for minor in range(9)),
    *((9, minor) for minor in range(6)),
]  # fmt: skip
_TYPES = ["b8", "b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "b128", "pred"]
_ERROR = re.compile(r"line (\d+); (error|fatal)\s*: (.*)")
# Control flow has labels and functions for operands: it exists everywhere.
_ELSEWHERE = ("call", "bra", "brx", "ret", "exit")


def read() -> list[str]:
    """The forms."""
    return gzip.decompress(PATH.read_bytes()).decode().splitlines()


def module(forms: list[str], target: str, version: tuple[int, int]) -> tuple[str, int]:
    """A module that has each form in a line of its own, and the line of the first."""
    types = [name for name in _TYPES if name != "b128" or version >= (8, 3)]
    head = f""".version {version[0]}.{version[1]}
.target {target}
.address_size 64
.global .align 1024 .b8 gl[4096];
.const .align 16 .b8 co[256];
.visible .entry k(.param .align 64 .b8 par[256])
{{
.shared .align 1024 .b8 sh[8192];
.local .align 16 .b8 lo[1024];
{" ".join(f".reg .{name} %{name}_<8>;" for name in types)}
"""
    return head + "\n".join(forms) + "\nret;\n}\n", head.count("\n") + 1


def refused(forms: list[str], target: str, version: tuple[int, int]) -> dict[int, str]:
    """ptxas' errors for the forms that it rejects, by number. It only parses and checks."""
    left = list(range(len(forms)))
    found: dict[int, str] = {}
    while left:
        text, first = module([forms[number] for number in left], target, version)
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(text)
            file.flush()
            command = [str(find()), "-arch", target.replace("sm", "compute"), file.name, "-o", "/dev/null"]
            said = subprocess.run(command, capture_output=True, text=True, check=False)
        fatal: int | None = None
        for match in _ERROR.finditer(said.stdout + said.stderr):
            place = int(match.group(1)) - first
            assert 0 <= place < len(left), match.group()
            found.setdefault(left[place], match.group(3))
            fatal = place if match.group(2) == "fatal" else fatal
        assert said.returncode == 0 or found, said.stderr
        if fatal is None:
            return found
        left = left[fatal + 1 :]  # a syntax error ends the parse
    return found


# ---- collecting


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--collect-forms", action="store_true", help="add new forms to data/forms.txt.gz")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--collect-forms"):
        return
    launch = importlib.import_module("ptxsim.launch")
    link, known, new = launch.link, {_key(form) for form in read()}, set[str]()

    def collecting(entry: Any, binding: Any) -> Any:
        result = link(entry, binding)
        for instruction in entry.instructions:
            form = None if instruction.base in _ELSEWHERE else _form(instruction, binding.symbols)
            if form is not None and _key(form) not in known:
                known.add(_key(form))
                new.add(form)
        return result

    launch.link = collecting
    config.add_cleanup(lambda: _add(new))


def _add(new: set[str]) -> None:
    text = "\n".join(sorted({*read(), *new})) + "\n"
    PATH.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _key(form: str) -> tuple[str, int, tuple[str, ...]]:
    """Forms of one opcode, number of operands and special registers are alike."""
    opcode, _, rest = form.partition(" ")
    depth = re.sub(r"\{[^{}]*\}|\[[^\[\]]*\]", "", rest)
    return opcode, depth.count(","), tuple(sorted(re.findall(r"%(?!\w+_\d+\b)[\w.]+", rest)))


def _form(instruction: program.Instruction, symbols: dict[str, Any]) -> str | None:
    operands = [_text(operand, symbols) for operand in instruction.operands]
    if None in operands:
        return None
    return f"{instruction.opcode} {', '.join(str(operand) for operand in operands)}".strip() + ";"


def _all(operands: tuple[program.Operand, ...], symbols: dict[str, Any]) -> list[str] | None:
    texts = [_text(operand, symbols) for operand in operands]
    known = [text for text in texts if text is not None]
    return known if len(known) == len(texts) else None


def _text(operand: program.Operand, symbols: dict[str, Any]) -> str | None:
    """An operand with registers named by their type and variables by their space; None where it has no such name."""
    match operand:
        case program.Register():
            return f"%{operand.type.name}_{operand.index % 8}"
        case program.Immediate(value=int()):
            return str(operand.value)
        case program.Immediate():
            code = "d" if operand.hex_bits == 64 else "f"
            return f"0{code}{struct.pack('>' + code, operand.value).hex()}"
        case program.Special():
            return "%" + operand.name
        case program.Sink():
            return "_"
        case program.Negated():
            return f"!{_text(operand.register, symbols)}"
        case program.Symbol() if operand.name in symbols:
            spaces = {"shared": "sh", "global": "gl", "param": "par", "local": "lo", "const": "co"}
            return spaces.get(symbols[operand.name].space)
        case program.Vector():
            items = _all(operand.items, symbols)
            return None if items is None else "{" + ", ".join(items) + "}"
        case program.Pair():
            pair = _all((operand.first, operand.second), symbols)
            return None if pair is None else "|".join(pair)
        case program.Address():
            parts = _all((operand.base, *operand.rest), symbols)
            if parts is None:
                return None
            offset = f"{operand.offset:+d}" if operand.offset else ""
            return "[" + ", ".join([parts[0] + offset, *parts[1:]]) + "]"
        case _:
            return None

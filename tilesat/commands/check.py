"""`tilesat check FILE`: parse and verify only; of a text with several programs, each."""

from __future__ import annotations

import argparse
import sys

from ir.content import MAGIC
from ir.core import Block, Region, TileError, verify
from ir.dialects.cuda_tile import Module
from ir.dialects.cuda_tile.hints import hint_faults, verify_hints
from ir.text import parse_modules, split_text
from tilesat.cli import FAILED, OK
from tilesat.failures import render
from tilesat.inputs import content
from tilesat.source import programs


def run(arguments: argparse.Namespace) -> int:
    """Print what each program holds; with one program its error is raised, with several each is printed."""
    data, name = content(arguments.file)
    parts = [] if data.startswith(MAGIC[:1]) else _parts(data)
    if len(parts) < 2:
        for module in programs(data, name) or [Module(regions=[Region([Block()])])]:
            _verify(module, arguments.hints)
            print(f"{name}: ok, {_summary(module)}")
        return OK
    return _check_parts(parts, name, arguments.hints)


def _verify(module: Module, hints: str) -> None:
    """Verify, and treat wrong hints as asked: the public dialect ignores them, so they are not errors by themselves."""
    verify(module)
    if hints == "error":
        verify_hints(module)
    elif hints == "warn":
        for fault in hint_faults(module):
            print(render(fault, "warning"), file=sys.stderr)


def _parts(data: bytes) -> list[str]:
    return [part for part in split_text(data.decode(errors="replace")) if part.strip()]


def _check_parts(parts: list[str], name: str, hints: str) -> int:
    """Each program by itself, as MLIR's -split-input-file does."""
    wrong = 0
    for number, part in enumerate(parts, 1):
        try:
            modules = parse_modules(part, name)
            for module in modules:
                _verify(module, hints)
        except TileError as error:
            wrong += 1
            print(render(error), file=sys.stderr)
            continue
        print(f"{name}: program {number}: ok, {'; '.join(map(_summary, modules))}")
    print(f"{name}: {len(parts) - wrong} of {len(parts)} programs are correct")
    return FAILED if wrong else OK


def _summary(module: Module) -> str:
    operations = sum(1 for _ in module.walk())
    entries = ", ".join(f"@{entry.sym_name}" for entry in module.entries) or "no entry"
    return f"{entries}, {operations} operations"

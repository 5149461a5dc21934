"""Errors of a running kernel at the line of its source: a traceback ends there, as if Python had run the line."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable
from contextlib import suppress
from types import CodeType
from typing import cast

from ir.core import TileError

PLACE = re.compile(r"(.+):(\d+)")


def place_of(error: Exception) -> tuple[str, int] | None:
    """File and line of the source where a kernel went wrong, where the error knows them."""
    if isinstance(error, TileError):
        return (error.location.file, error.location.line) if error.location.line > 0 else None
    found = PLACE.fullmatch(str(getattr(error, "source", "")))
    return (found[1], int(found[2])) if found else None


def raised_in(error: Exception, function: CodeType) -> Exception:
    """The error with one more frame, that of the kernel: its file, the line, and the kernel's name where the line is
    one of this `function`. The error as it is where its place is not known.

    The frame is one of a function without content that begins where the kernel does and raises on that line, so that
    tracebacks, pytest and debuggers show the text around it (as template engines show a template's line).
    """
    place = place_of(error)
    if place is None:
        return error
    file, line = place
    lines = [each for *_, each in function.co_lines() if each is not None]
    inside = file == function.co_filename and function.co_firstlineno <= line <= max(lines)
    first, name = (function.co_firstlineno, function.co_name) if inside else (line, "kernel")
    tree, shown = ast.parse(f"def {name}(): raise error"), linecache.getline(file, line)
    for node in ast.walk(tree):  # all of the line, so that no part of it is marked
        made = first if isinstance(node, ast.FunctionDef | ast.arguments) else line
        spot = {"lineno": made, "end_lineno": line, "col_offset": len(shown) - len(shown.lstrip())}
        vars(node).update(spot, end_col_offset=max(spot["col_offset"], len(shown.rstrip())))
    names: dict[str, object] = {"error": error}
    exec(compile(tree, file, "exec"), names)
    with suppress(type(error)):
        cast("Callable[[], object]", names[name])()
    trace = error.__traceback__
    assert trace is not None
    return error.with_traceback(trace.tb_next)

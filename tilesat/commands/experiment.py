"""`tilesat experiment`: kernels x targets x configurations to a table."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from ir.core import Location, TileError
from ir.narrowing import is_list, is_mapping
from tilesat.cli import DEFAULT_TARGET, FAILED, OK
from tilesat.lab.bench import Case
from tilesat.lab.configuration import Configuration
from tilesat.lab.experiment import all_runs, sweep
from tilesat.lab.table import ENDINGS, FORMATS, Table
from tilesat.output import deliver, write_file

LISTS = ("rules", "only", "without", "fast", "forbid")
COUNTS = ("matches", "rows", "iterations", "budget")


def run(arguments: argparse.Namespace) -> int:
    """Run them all, then print or write the table; 1 where a run died or was wrong."""
    runs = all_runs(
        [_case(path, arguments) for path in arguments.files],
        (arguments.target or DEFAULT_TARGET).split(","),
        configurations(arguments),
        assemble=not arguments.no_ptxas,
        check=arguments.check,
    )
    form = _format(arguments)
    table = sweep(
        runs,
        workers=arguments.workers,
        scheduler=arguments.scheduler,
        records=arguments.records,
        retry=arguments.retry,
        progress=arguments.progress or sys.stderr.isatty(),
    )
    deliver([(arguments.output, table.text(form))])
    if arguments.plots is not None:
        _plots(table, arguments.plots)
    wrong = [each for each in table if each.error or (each.checked and not each.checked.correct)]
    return FAILED if wrong else OK


def _case(path: Path, arguments: argparse.Namespace) -> Case:
    from tilesat import cutile_kernels

    kernel = cutile_kernels.load_kernel(path) if cutile_kernels.names_kernel(path) else None
    if kernel is None and arguments.sig is not None:
        raise cutile_kernels.no_kernel(str(path))
    name = str(path).rpartition(":")[2] if kernel is not None else ""
    return Case(
        kernel or path, arguments.entry, arguments.sig, arguments.grid, tuple(arguments.arg), arguments.tolerance, name
    )


def configurations(arguments: argparse.Namespace) -> list[Configuration]:
    """Those of the file, each in every combination of what --vary names. Raises TileError."""
    axes = dict(_axis(text) for text in arguments.vary)
    found = [each for path in arguments.configurations for each in _from_file(path)] or [{}]
    varied = [dict(zip(axes, each, strict=True)) for each in itertools.product(*axes.values())]
    return [Configuration.of({**given, **each}) for given in found for each in varied]


def _axis(text: str) -> tuple[str, list[object]]:
    """`NAME=VALUE;VALUE`, lists with commas between their parts."""
    name, equals, values = text.partition("=")
    if not equals:
        raise TileError(f"--vary {text}: expected NAME=VALUE;VALUE", hint="such as forbid=;ldmatrix;ldmatrix,cp.async")
    return name, [_value(name, value) for value in values.split(";")]


def _value(name: str, text: str) -> object:
    parts = tuple(part for part in text.split(",") if part)
    if name in LISTS:
        return parts
    if name == "rates":
        return tuple(_rate(part) for part in parts)
    if name in COUNTS and text:
        return _number(name, text)
    return text or None if name in (*COUNTS, "costs") else text


def _rate(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition(":")
    return name, float(_number(f"rate {name}", value))


def _number(what: str, text: str) -> float | int:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise TileError(f"{what}: expected a number, got {text!r}") from None


def _from_file(path: Path) -> list[Mapping[str, object]]:
    """A JSON file: one configuration, or a list of them."""
    try:
        found: object = json.loads(path.read_text())
    except ValueError as error:
        raise TileError(f"cannot read configurations: {error}", Location(str(path))) from None
    many = found if is_list(found) else [found]
    records = [each for each in many if is_mapping(each)]
    if len(records) < len(many):
        raise TileError("expected an object, or a list of objects", Location(str(path)))
    return records


def _format(arguments: argparse.Namespace) -> str:
    ending = "" if arguments.output is None else arguments.output.suffix
    return arguments.format or ENDINGS.get(ending, FORMATS[-1])


def _plots(table: Table, folder: Path) -> None:
    from tilesat.lab.plots import every

    for name, picture in every(table):
        write_file(folder / name, picture)

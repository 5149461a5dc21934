"""What a caller of the Python API gives, checked: one message says what was expected and what was given."""

from __future__ import annotations

import os
import warnings
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from extract import Extractor
from extract.methods import METHODS, TOP
from ir.core import TileError
from ir.narrowing import is_iterable, is_mapping
from lowering.passes.table import CONSUMERS, PERSISTENT
from lowering.pipeline import AUTO, CHOSEN, Options
from tilesat.grid import PARTS
from tilesat.shown import shown

if TYPE_CHECKING:  # only those who have rules of their own load the samples
    from egraph.soundness.given import Checked

Budget = TypeVar("Budget")


def source(given: object) -> str | bytes | Path:
    """A path, text or bytecode. Raises TileError for anything else."""
    if isinstance(given, str | bytes):
        return given
    if isinstance(given, bytearray | memoryview):
        return bytes(cast("bytearray", given))
    if isinstance(given, os.PathLike):
        return Path(os.fspath(cast("os.PathLike[str]", given)))
    raise TileError(f"the program: expected a path, text, bytecode or a cuTile kernel, got {shown(given)}")


def name(what: str, given: object, hint: str = "") -> str:
    """One name. Raises TileError for anything else."""
    if not isinstance(given, str):
        raise TileError(f"{what}: expected a name, got {shown(given)}", hint=hint)
    return given


def names(what: str, given: object, paths: bool = False) -> tuple[str, ...]:
    """A list of names, or of paths. Raises TileError for anything else, a string too: its letters are no names."""
    kinds = (str, os.PathLike) if paths else (str,)
    if not is_iterable(given) or isinstance(given, str | bytes | os.PathLike):
        got, single = shown(given), isinstance(given, kinds)
        raise TileError(f"{what}: expected a list of names, got {got}", hint=f"write [{got}]" if single else "")
    found = tuple(given)
    for each in found:
        if not isinstance(each, kinds):
            raise TileError(f"{what}: expected a list of names, one of them is {shown(each)}")
    return tuple(map(str, found))


def permissions(given: object) -> frozenset[str]:
    """Names of permissions for all entries, or a list of them for each entry. Raises TileError for anything else."""
    if not is_mapping(given):
        return frozenset(names("fast", given))
    of = given
    return frozenset(f"{name('fast', entry)}={each}" for entry in of for each in names(f"fast[{entry!r}]", of[entry]))


def targets(given: object) -> tuple[str, ...]:
    """One or more names of targets."""
    found = names("targets", given)
    if not found:
        raise TileError("targets: expected one name or more, got none")
    return found


def options(
    rules: object,
    without: object,
    forbid: object,
    extractor: object,
    extract_budget: object = None,
    saturate_budget: object = None,
    lineinfo: object = False,
    fast: object = (),
    provenance: object = False,
    persistent: object = "off",
    num_ctas: object = 0,
    verify_each: object = False,
    unchecked: object = False,
    tile_blocks: object = 0,
    consumers: object = AUTO,
) -> Options:
    """The options of `tilesat.compile`; rules of the user's are tried on samples unless `unchecked`, with a warning for
    each that cannot be. Raises TileError for what is not of their kind, and for a rule with a counterexample.
    """
    if not callable(extractor) and extractor not in METHODS and not TOP.fullmatch(str(extractor)):
        known = f"{', '.join(METHODS)}, top:N, or a function"
        raise TileError(f"extractor: expected one of {known}, got {shown(extractor)}")
    if persistent not in (*PERSISTENT, AUTO):
        raise TileError(f"persistent: expected one of {', '.join((*PERSISTENT, AUTO))}, got {shown(persistent)}")
    if consumers not in (*CONSUMERS, AUTO):
        raise TileError(f"consumers: expected one of {', '.join((*CONSUMERS, AUTO))}, got {shown(consumers)}")
    cut = num_ctas if isinstance(num_ctas, str) and PARTS.fullmatch(num_ctas) else ""
    if num_ctas != AUTO and not cut and (type(num_ctas) is not int or num_ctas < 0):
        expected = f"a number of CTAs, or 0, or {AUTO!r}, or parts of the tile such as '1x2'"
        raise TileError(f"num_ctas: expected {expected}, got {shown(num_ctas)}")
    ctas = CHOSEN if num_ctas == AUTO else prod(map(int, cut.split("x"))) if cut else cast("int", num_ctas)
    if type(tile_blocks) is not int or tile_blocks < 0:
        raise TileError(f"tile_blocks: expected a number of tile blocks, or 0, got {shown(tile_blocks)}")
    if tile_blocks and AUTO not in (num_ctas, persistent):
        message = "tile_blocks: they are used only to choose the CTAs or the persistent form"
        raise TileError(message, hint=f"pass num_ctas={AUTO!r} or persistent={AUTO!r} too")
    files = names("rules", rules, paths=True)
    if files and not unchecked:
        for each in tried_rules(files).warnings:
            warnings.warn(each, stacklevel=4)
    return Options(
        files,
        frozenset(names("without", without)),
        frozenset(names("forbid", forbid)),
        cast("str | Extractor", extractor),
        positive("extract_budget", cast("float | None", extract_budget)),
        positive("saturate_budget", cast("int | None", saturate_budget)),
        lineinfo=bool(lineinfo),
        fast=permissions(fast),
        provenance=bool(provenance),
        persistent=persistent,
        ctas=ctas,
        cut=cut,
        tile_blocks=tile_blocks,
        verify_each=bool(verify_each),
        consumers=consumers,
    )


def tried_rules(files: tuple[str, ...]) -> Checked:
    """The check of rule files on samples. Raises TileError, located, for a rule with a counterexample."""
    from egraph.soundness.given import checked
    from egraph.userrules import user_rules

    return checked(user_rules(map(Path, files)))


def positive(what: str, budget: Budget) -> Budget:
    """A budget as it was given. Raises TileError where it is not a number above 0."""
    given: object = budget
    if given is not None and (not isinstance(given, int | float) or not given > 0):
        raise TileError(f"{what}: expected a number above 0, got {shown(budget)}")
    return budget

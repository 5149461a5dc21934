"""Which product files name each structural operation: python -m tests.structural_files [OPERATION...].

An operation is named by its classes (`ct.Cat`, `nv_tileas.Reduce`), by its name at a level or as part of the name of a
relation (`"p.cat"`, `ask_cat`), and by a term of a rule. Prose and Python's own names are free.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

from ir.core import OPS
from ir.dialects.cuda_tile import TileOp
from ir.dialects.cuda_tile.attributes import ANCHOR, SHAPE

ROOT = Path(__file__).parents[1]
PACKAGES = ("ir", "egraph", "lowering", "runtime", "viz", "tilesat")
TESTING = ("tilesat/fuzz/",)  # programs at random: part of the tests
DIALECTS = ("ct", "cuda_tile", "nv_tileaa", "nv_tileas", "placed", "leaves")
"""Names under which modules of operations and terms are imported."""
WORDS = ("extract", "constant", "assume", "select", "insert", "reduce")
"""Operations whose names other dialects and Python have too: they count only with their dialect or their level."""


@cache
def files() -> tuple[Path, ...]:
    """All files of the product that may name an operation."""
    found = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*"))]
    return tuple(
        path for path in found if path.suffix in (".py", ".egg") and not str(path.relative_to(ROOT)).startswith(TESTING)
    )


@cache
def tree(path: Path) -> tuple[ast.AST, ...]:
    """The nodes of a Python file."""
    return tuple(ast.walk(ast.parse(path.read_text())))


def names(path: Path, operation: str) -> bool:
    """Does a file name an operation in code?"""
    text = path.read_text()
    if operation not in text.lower():
        return False
    if path.suffix == ".egg":
        return re.search(rf"[(\s](?:\w+[._])?{operation}(?:_\w+)?\s", re.sub(r";.*", "", text)) is not None
    return any(named(node, operation) for node in tree(path))


def named(node: ast.AST, operation: str) -> bool:
    """Does a piece of code name an operation?"""
    title = "".join(word.capitalize() for word in operation.split("_"))
    classes = {title, f"Placed{title}"}
    match node:
        case ast.Attribute(attr=name, value=ast.Name(id=module)):
            return name in classes and (module in DIALECTS or operation not in WORDS)
        case ast.Name(id=name) | ast.ClassDef(name=name) | ast.alias(name=name):
            return name == f"Placed{title}" or (name == title and operation not in WORDS)
        case ast.Constant(value=str() as word):
            if operation in WORDS:
                return re.fullmatch(rf"(p|r|cuda_tile|nv_tileaa|nv_tileas)\.{operation}", word) is not None
            return re.fullmatch(rf"(\w+[._])?{operation}(_\w+)?", word) is not None
        case _:
            return False


def naming(operation: str) -> list[str]:
    """The files of the product that name an operation."""
    return [str(path.relative_to(ROOT)) for path in files() if names(path, operation)]


def structural() -> list[str]:
    """Operations of tiles that are placed by rules of their own, in declared order."""
    found = [cls for cls in OPS.values() if issubclass(cls, TileOp) and cls.placement in (SHAPE, ANCHOR)]
    return [cls.info.mnemonic for cls in found]


if __name__ == "__main__":
    for each in sys.argv[1:] or structural():
        found = naming(each)
        print(f"{each}: {len(found)}", *(f"    {name}" for name in found if sys.argv[1:]), sep="\n")

"""Values of command-line options that argparse has no type for. Each raises ArgumentTypeError on other text."""

from __future__ import annotations

import argparse

from tilesat.grid import PARTS, Grid, as_grid

EXTRACTORS = ("auto", "tree", "greedy", "pruned", "ilp")


def extractor(text: str) -> str:
    """How to extract, as --extractor takes it."""
    if text in EXTRACTORS or (text.startswith("top:") and text[4:].isdecimal() and int(text[4:])):
        return text
    raise argparse.ArgumentTypeError(f"expected one of {', '.join(EXTRACTORS)}, top:N, got '{text}'")


def percent(text: str) -> float:
    """A percentage of at least 0."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage of at least 0")
    return found


def count(text: str) -> int:
    """A positive integer."""
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def ctas(text: str) -> int | str:
    """A number of CTAs, `auto`, or parts such as 1x2."""
    return text if text == "auto" or PARTS.fullmatch(text) else count(text)


def focus(text: str) -> tuple[str, int]:
    """A value and how many steps around it to draw."""
    name, colon, radius = text.partition(":")
    if not name.lstrip("%") or (colon and not (radius.isdecimal() and int(radius))):
        raise argparse.ArgumentTypeError(f"cannot parse {text!r}: expected VALUE or VALUE:RADIUS, such as %acc:2")
    return name, int(radius or 1)


def grid(text: str) -> Grid:
    """The extents of a grid."""
    parts = text.split(",")
    if not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a grid: expected X[,Y[,Z]], each a positive integer")
    try:
        return as_grid([int(part) for part in parts])
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None

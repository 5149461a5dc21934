"""`tilesat cache`: where compiled kernels are kept, how many there are, and how to be rid of them."""

from __future__ import annotations

import argparse

from tilesat.cache import SWITCH, opened
from tilesat.cli import OK


def run(arguments: argparse.Namespace) -> int:
    """One line: the folder, its kernels, their bytes and the bound; or, with --clear, what was removed."""
    cache = opened()
    if cache is None:
        print(f"the cache is off ({SWITCH}=off)")
    elif arguments.clear:
        print(f"{cache.folder}: {cache.clear()} kernels removed")
    else:
        found = cache.entries()
        held = sum(size for _, size, _ in found)
        print(f"{cache.folder}: {len(found)} kernels, {held} of {cache.limit} bytes")
    return OK

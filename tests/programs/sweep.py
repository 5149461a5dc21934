"""`tilesat fuzz` with a kind of program more: `python -m tests.programs.sweep --kinds nested --programs 10`.

Nests of loops, branches and products, for agents, take a minute each, and are written with the corpus' own parts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.programs.agents_random import nested
from tilesat.cli import main as tilesat
from tilesat.fuzz.judge import KINDS

KINDS["nested"] = nested


def main(argv: Sequence[str] | None = None) -> int:
    """The command; 1 where anything is wrong."""
    return tilesat(["fuzz", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    sys.exit(main())

"""`tilesat bench-record`: the figures of every kernel of a folder, as a file to compare with."""

from __future__ import annotations

import argparse
import sys

from lowering.targets import target as target_named
from runtime.ptxas import PtxasNotFoundError, find
from tilesat.cli import DEFAULT_TARGET, OK
from tilesat.output import deliver
from tilesat.testing.record import record, write


def run(arguments: argparse.Namespace) -> int:
    """Compile, count, write; kernels that do not compile are rows of their own."""
    targets = [target_named(each).name for each in (arguments.target or DEFAULT_TARGET).split(",")]
    assembled = not arguments.without_ptxas
    try:
        _ = [find(program) for program in ("ptxas", "nvdisasm") if assembled]
    except PtxasNotFoundError as error:
        print(f"tilesat: warning: {error}; PTX instructions are counted in place of SASS", file=sys.stderr)
        assembled = False
    made = record(arguments.folder, targets, lambda line: print(line, file=sys.stderr), assembled)
    deliver([(arguments.output, write(made, assembled))])
    return OK

"""`tilesat mca`: what the loops of assembled code take of an SM, of a cubin or of PTX from any compiler."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import asdict
from pathlib import Path

from ir.core import Location, TileError
from lowering.targets import target as target_named
from runtime.ptxas import assemble, disassemble
from tilesat.cli import OK
from tilesat.mca.report import figures, lines
from tilesat.mca.traces import processes
from tilesat.output import deliver
from viz.trace import trace

ELF = b"\x7fELF"
_TARGET = re.compile(r"^\s*\.target\s+(sm_\w+)", re.MULTILINE)


def run(arguments: argparse.Namespace) -> int:
    """Disassemble, count, print."""
    file: Path = arguments.file
    data = file.read_bytes()
    ptx = "" if data.startswith(ELF) else data.decode(errors="replace")
    listing = "" if ptx else disassemble(data, encodings=True)
    named = _TARGET.search(ptx or listing)
    if named is None:
        raise TileError(
            "cannot read the file: expected a cubin, or PTX with a .target",
            Location(str(file), 1, 1),
            "compile Tile IR with `tilesat compile` first",
        )
    tier = target_named(arguments.target or named[1])
    listing = listing or disassemble(assemble(ptx, named[1]), encodings=True)
    found = figures(listing, tier, arguments.warps)
    if arguments.json:
        text = json.dumps({"target": tier.name, "functions": [asdict(each) for each in found]}, indent=2) + "\n"
    else:
        text = "\n".join(lines(found, tier)) + "\n"
    outputs = [(arguments.output, text)]
    if arguments.trace is not None:
        outputs.append((arguments.trace, trace(processes(listing, tier, arguments.warps))))
    deliver(outputs)
    return OK

"""`tilesat why FILE A B`: the rules that make two terms equal, each tried alone."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from tilesat import inputs
from tilesat.cli import DEFAULT_TARGET, FAILED, OK
from tilesat.commands.options import pipeline_options, print_reports
from tilesat.compiler import compile_module
from tilesat.provenance import chain
from tilesat.source import find_entry, read


def run(arguments: argparse.Namespace) -> int:
    """Compile with provenance, print the chain; 1 where a rule alone does not give its step."""
    source, name = inputs.source(arguments.file)
    module, entry = find_entry(read(source, {}, name), arguments.entry)
    options = replace(pipeline_options(arguments), provenance=True)
    kernel = compile_module(module, entry, [arguments.target or DEFAULT_TARGET], options, {})[0]
    print_reports(kernel, arguments)
    lines = list(chain(kernel.provenance, arguments.left, arguments.right))
    print("\n".join(lines))
    if not arguments.provenance:  # the reports have it else
        print(kernel.provenance.cost, file=sys.stderr)
    return FAILED if any("NOT CONFIRMED" in line for line in lines) else OK

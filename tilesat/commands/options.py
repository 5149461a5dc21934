"""What `compile` and `run` share: pipeline options from the command line, and the reports on standard error."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace

from lowering.pipeline import Options
from tilesat.failures import render
from tilesat.given import options, tried_rules
from tilesat.kernel import Kernel
from tilesat.reports import statistics_table, time_table


def pipeline_options(arguments: argparse.Namespace) -> Options:
    """Options as `lowering.pipeline` takes them. Raises SpecError for --json without --explain."""
    if arguments.json and not arguments.explain:
        from tilesat.spec import SpecError  # types of arrays are for those who read some

        raise SpecError("--json selects the form of --explain: pass both")
    files = tuple(map(str, arguments.rules))
    if files and not arguments.unchecked:
        found = tried_rules(files)
        print(f"tilesat: {found}", file=sys.stderr)
        for each in found.warnings:
            print(f"{each.replace(': rule', ': warning: rule', 1)}", file=sys.stderr)
    made = options(
        arguments.rules,
        arguments.without,
        arguments.forbid,
        arguments.extractor,
        arguments.extract_budget,
        arguments.saturate_budget,
        fast=permissions(arguments.fast),
        persistent=arguments.persistent,
        num_ctas=arguments.num_ctas,
        tile_blocks=arguments.tile_blocks,
        unchecked=True,
        consumers=arguments.consumers,
    )
    places = {each: getattr(arguments, each) for each in ("annotate", "lineinfo") if hasattr(arguments, each)}
    return replace(
        made,
        verify_each=arguments.verify_each,
        provenance=arguments.provenance,
        ocg_knobs=arguments.ocg_knobs,
        **places,
    )


def permissions(given: list[str]) -> list[str]:
    """What --fast names, with commas between, each with the entry that the list is for."""
    parts = [text.rpartition("=") for text in given]
    return [f"{entry}{equals}{name}" for entry, equals, names in parts for name in names.split(",") if name]


def as_json(kernel: Kernel) -> str:
    """What --explain says, as JSON: saturation by rule and iteration, extraction, each chosen node with the parts of
    its cost.
    """
    from lowering.selection.parts import node_costs
    from tilesat.lab.measured import extraction, saturation

    nodes = [asdict(each) for each in node_costs(kernel.compiled.selection)]
    parts = {"extraction": asdict(extraction(kernel)), "nodes": nodes, "saturation": asdict(saturation(kernel))}
    return json.dumps({"kernel": kernel.entry.sym_name, "target": kernel.target, **parts, "seconds": kernel.seconds})


def print_reports(kernel: Kernel, arguments: argparse.Namespace) -> None:
    """Hints without effect, products off the tensor cores, limits that ended something, `--time` and `--explain`: all
    on standard error.
    """
    for warning in (*kernel.ignored_hints, *kernel.scalar_products, *kernel.already_persistent):
        print(render(warning, "warning"), file=sys.stderr)
    for limit in kernel.limits:
        print(f"tilesat: warning: {kernel.target}: {limit}", file=sys.stderr)
    if arguments.explain:
        print(as_json(kernel) if arguments.json else kernel.report, file=sys.stderr)
    if arguments.provenance:
        print(kernel.provenance.cost, file=sys.stderr)
    if arguments.time:
        print(time_table(kernel.seconds, kernel.target), file=sys.stderr)
    if getattr(arguments, "pass_statistics", False):
        print(statistics_table(kernel.counts, kernel.target), file=sys.stderr)

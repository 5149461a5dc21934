"""The parts of a record, out of a compiled kernel."""

from __future__ import annotations

import math

from lowering.targets import target
from tilesat.kernel import Kernel
from tilesat.lab.record import Code, Extraction, Growth, RuleUse, SassLoop, Saturation


def saturation(kernel: Kernel) -> Saturation:
    """What saturation did."""
    report, egraph = kernel.saturation, kernel.egraph
    return Saturation(
        {phase: reason.value for phase, reason in report.stop.items()},
        report.ended,
        report.loaded,
        report.size,
        report.matches(),
        egraph.sorts["V"],
        egraph.sorts["P"],
        egraph.n_nodes,
        dict(report.seconds),
        tuple(Growth(i.phase, i.number, i.ruleset, sum(i.matches.values()), i.took, i.rows) for i in report.iterations),
        tuple(RuleUse(r.phase, r.iteration, r.rule, r.matches, r.seconds, r.new_rows) for r in report.rows),
        report.by_ruleset(),
    )


def extraction(kernel: Kernel) -> Extraction:
    """What extraction chose."""
    answer, graph, parts = kernel.extraction, kernel.graph, kernel.cost_parts
    return Extraction(
        answer.method,
        answer.cost,
        answer.bound,
        answer.gap,
        answer.optimal,
        answer.seconds,
        answer.ended,
        graph.n_nodes,
        graph.n_classes,
        math.fsum(parts.values()),
        parts,
        kernel.busy,
        kernel.warps,
        dict(answer.resources),
    )


def assembled(kernel: Kernel) -> Code:
    """What ptxas makes of it. Raises PtxasNotFoundError, PtxasError."""
    from runtime.ptxas import assemble, disassemble
    from tilesat.mca.report import figures

    cubin = assemble(kernel.ptx, kernel.target)
    found = figures(disassemble(cubin, encodings=True), target(kernel.target))
    loops = (
        SassLoop(each.address, each.instructions, each.counts, each.products) for one in found for each in one.loops
    )
    return Code(
        cubin.registers,
        cubin.spill_stores + cubin.spill_loads,
        cubin.smem + int(kernel.manifest["dynamic_smem"]),
        sum(each.instructions for each in found),
        tuple(loops),
    )

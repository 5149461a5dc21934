"""A kernel's e-graph as one egglog program: declarations and rules, the kernel as facts, and what saturates it.

    egglog kernel.egg                  the program of the repository egraphs-good/egglog
    EGraph().parse_program(text)       egglog.bindings 13.2.0, with which it is tested

Integers are ids: of types, attributes, layouts and atoms, shown as comments if known; `(N k)` is the
value number k of the source. Layouts and atoms that Python supplied are facts here.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph.permissions import allowed
from egraph.saturate import Saturated
from egraph.terms import packed

ALGEBRA = "(run-schedule (saturate (seq (saturate (run analysis)) (run canon) (run algebra))))"
PLACEMENT = "(run-schedule (saturate (run placement)))"


def egglog_program(saturated: Saturated) -> str:
    """The program; running it gives the e-graph of `saturated`, where no limit ended that."""
    return "\n".join(_lines(saturated)) + "\n"


def _lines(saturated: Saturated) -> Iterator[str]:
    source, program = saturated.source, saturated.program
    yield f"; e-graph of @{program.entry.sym_name}: {len(saturated.frozen.nodes)} e-nodes when it is saturated"
    if saturated.report.ended:
        yield f"; saturation stopped at a limit: {saturated.report.ended}; this program may not terminate"
    for id, kind in program.interner.types.items():
        yield f"; type {id}: {_line(kind)}"
    for id, attribute in program.interner.attributes.items():
        yield f"; attribute {id}: {_line(attribute)}"
    file = ""
    for command in source.commands:
        if command.file != file:
            file = command.file
            yield f"\n; {file}"
        yield command.text
    yield "\n; the kernel"
    for number, value in enumerate(program.values):
        if value is not None and value.name:
            yield f"; (N {number}) is %{value.name}"
    facts = packed(program.facts)
    facts["allow"] = allowed(source.fast)
    for name, rows in facts.items():
        yield from (_fact(name, row) for row in rows)
    yield "\n(run load 1)"
    yield ALGEBRA
    yield "\n; placement alternates with its caller, which answers queries about layouts and atoms"
    yield PLACEMENT
    for answers in source.answers:
        for name, rows in answers.items():
            yield from (_fact(name, row) for row in rows)
        yield PLACEMENT
    yield "(print-size)"


def _fact(name: str, row: tuple[int, ...]) -> str:
    return f"({' '.join((name, *map(str, row)))})"


def _line(value: object) -> str:
    return " ".join(str(value).split())[:100]

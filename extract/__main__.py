"""python -m extract FILE.json: extract from an extraction-gym file and print what it costs."""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from typing import Any, Final

from extract.answer import Answer
from extract.compare import compare, lines
from extract.errors import ExtractionError, GraphWarning
from extract.graph import Graph
from extract.gym import read
from extract.methods import METHODS, extract, top
from extract.progress import Progress
from extract.statistics import table

INTERRUPTED: Final = 130
"""128 + SIGINT, as shells report it; only if Ctrl-C came before any answer."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns 0, or 1 with a message on stderr."""
    options = _parser().parse_args(arguments)
    progress = Progress(sys.stderr) if sys.stderr.isatty() else None
    try:
        graph = _read(options.file)
        if options.compare:
            return _compare(graph, options)
        answers = _answers(graph, options, progress)
    except ExtractionError as error:
        print(f"extract: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("extract: interrupted before any answer was found", file=sys.stderr)
        return INTERRUPTED
    finally:
        if progress is not None:
            progress.close()
    if answers[0].report is not None and answers[0].report.interrupted:
        print("extract: interrupted; this is the best answer so far", file=sys.stderr)
    if options.json:
        print(json.dumps(as_record(graph, answers)))
    else:
        print(as_text(graph, answers))
    return 0


def _compare(graph: Graph, options: argparse.Namespace) -> int:
    """Run all methods; 1 if none has an answer."""
    outcomes = compare(graph, budget=options.budget, time_limit=options.time_limit)
    if options.json:
        print(
            json.dumps(
                [
                    {
                        "method": each.method,
                        "wall_seconds": round(each.seconds, 6),
                        **({"error": each.reason} if each.answer is None else _record(graph, each.answer)),
                    }
                    for each in outcomes
                ]
            )
        )
    else:
        print(f"{graph.n_nodes} nodes, {graph.n_classes} classes", *lines(outcomes), sep="\n")
    return int(all(each.answer is None for each in outcomes))


def as_record(graph: Graph, answers: list[Answer]) -> dict[str, Any]:
    """The JSON output: the best answer, and all under `answers` if several were requested."""
    record = {**_record(graph, answers[0]), "nodes": graph.n_nodes, "classes": graph.n_classes}
    report = answers[0].report
    if report is not None:
        record["simplified"] = report.after
        record["interrupted"] = report.interrupted
        record["trace"] = [
            {"seconds": round(m.seconds, 6), "cost": _finite(m.cost), "bound": _finite(m.bound), "method": m.method}
            for m in report.trace
        ]
    if len(answers) > 1:
        record["answers"] = [_record(graph, answer) for answer in answers]
    return record


def _record(graph: Graph, answer: Answer) -> dict[str, Any]:
    names = graph.class_name or tuple(str(cls) for cls in range(graph.n_classes))
    node_names = graph.node_name or tuple(str(node) for node in range(graph.n_nodes))
    return {
        "cost": answer.cost,
        "bound": _finite(answer.bound),
        "gap": _finite(answer.gap),
        "optimal": answer.optimal,
        "seconds": round(answer.seconds, 6),
        "method": answer.method,
        "alternatives": {str(g): a for g, a in answer.alternatives.items()},
        "resources": answer.resources,
        "chosen": {names[cls]: node_names[node] for cls, node in answer.chosen.items()},
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity: null stands for it."""
    return value if math.isfinite(value) else None


def as_text(graph: Graph, answers: list[Answer]) -> str:
    """The text output."""
    answer = answers[0]
    lines = [
        f"cost     {answer.cost:.10g}",
        f"bound    {answer.bound:.10g}  (gap {100 * answer.gap:.2f} %{', optimal' if answer.optimal else ''})",
        f"method   {answer.method}, {1e3 * answer.seconds:.1f} ms",
        f"graph    {graph.n_nodes} nodes, {graph.n_classes} classes; {len(answer.chosen)} chosen",
    ]
    lines += [f"group    {g}: alternative {a}" for g, a in answer.alternatives.items()]
    limits = dict(zip(graph.resource_names, graph.columns.limit, strict=True))
    lines += [f"resource {name}: {use:g} of {limits[name]:g}" for name, use in answer.resources.items()]
    if answer.report is not None:
        lines += ["", table(answer.report)]
    for place, other in enumerate(answers[1:], start=2):
        changed = [graph.describe_node(n) for c, n in other.chosen.items() if answer.chosen.get(c) != n]
        shown = ", ".join(changed[:MAX_CHANGES]) + (", ..." if len(changed) > MAX_CHANGES else "")
        lines.append(f"{place:>3}. cost {other.cost:.10g} with {shown or 'the same nodes, fewer times'}")
    return "\n".join(lines)


MAX_CHANGES: Final = 4
"""Nodes listed for an answer that is not the best."""


def _read(path: str) -> Graph:
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always", GraphWarning)
        graph = read(path)
    for notice in noticed:
        print(f"extract: warning: {notice.message}", file=sys.stderr)
    return graph


def _answers(graph: Graph, options: argparse.Namespace, progress: Progress | None) -> list[Answer]:
    if options.top > 1:
        return top(graph, options.top, budget=options.budget, time_limit=options.time_limit)
    limits = {"budget": options.budget, "time_limit": options.time_limit}
    return [extract(graph, options.method, **limits, listener=progress)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m extract", description="Extract from an extraction-gym JSON file; Ctrl-C ends with the best yet."
    )
    parser.add_argument("file", metavar="FILE.json")
    parser.add_argument("--compare", action="store_true", help="all methods, one after the other, in a table")
    parser.add_argument("--method", choices=METHODS, default="auto")
    parser.add_argument(
        "--budget", type=_count, metavar="N", help="units of work for auto (default 10000), pruned and ilp (60000)"
    )
    parser.add_argument(
        "--time-limit", type=_seconds, metavar="S", help="seconds besides; the answer then depends on the machine"
    )
    parser.add_argument(
        "--top", type=_count, default=1, metavar="K", help="the K cheapest distinct answers, by the exact method"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, not {text!r}")
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, not {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())

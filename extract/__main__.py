"""python -m extract FILE.json: extract from an extraction-gym file and print what it costs."""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from typing import cast

from extract import Answer, ExtractionError, Graph, Method, extract


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns 0, or 1 with a message on stderr."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings(record=True) as noticed:
            warnings.simplefilter("always")
            graph = Graph.from_json(options.file)
            answer = extract(graph, cast(Method, options.method), time_limit=options.time_limit)
    except ExtractionError as error:
        print(f"extract: {error}", file=sys.stderr)
        return 1
    for notice in noticed:
        print(f"extract: warning: {notice.message}", file=sys.stderr)
    print(json.dumps(as_record(graph, answer)) if options.json else as_text(graph, answer))
    return 0


def as_record(graph: Graph, answer: Answer) -> dict[str, object]:
    """The JSON output; an infinite gap or bound becomes null, which JSON can hold."""
    names = graph.class_name or tuple(str(cls) for cls in range(graph.n_classes))
    node_names = graph.node_name or tuple(str(node) for node in range(graph.n_nodes))
    return {
        "cost": answer.cost,
        "bound": answer.bound if math.isfinite(answer.bound) else None,
        "gap": answer.gap if math.isfinite(answer.gap) else None,
        "optimal": answer.optimal,
        "seconds": round(answer.seconds, 6),
        "method": answer.method,
        "nodes": graph.n_nodes,
        "classes": graph.n_classes,
        "alternatives": {str(g): a for g, a in answer.alternatives.items()},
        "resources": answer.resources,
        "chosen": {names[cls]: node_names[node] for cls, node in answer.chosen.items()},
    }


def as_text(graph: Graph, answer: Answer) -> str:
    """The output for people."""
    lines = [
        f"cost     {answer.cost:g}",
        f"bound    {answer.bound:g}  (gap {100 * answer.gap:.2f} %{', optimal' if answer.optimal else ''})",
        f"method   {answer.method}, {1e3 * answer.seconds:.1f} ms",
        f"graph    {graph.n_nodes} nodes, {graph.n_classes} classes; {len(answer.chosen)} chosen",
    ]
    lines += [f"group    {g}: alternative {a}" for g, a in answer.alternatives.items()]
    limits = dict(zip(graph.resource_names, graph.limit.tolist(), strict=True))
    lines += [f"resource {name}: {use:g} of {limits[name]:g}" for name, use in answer.resources.items()]
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m extract", description="Extract from an extraction-gym JSON file.")
    parser.add_argument("file", metavar="FILE.json")
    parser.add_argument("--method", choices=["tree", "greedy", "ilp"], default="greedy")
    parser.add_argument("--time-limit", type=_seconds, metavar="S", help="seconds for ilp (default 60)")
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


if __name__ == "__main__":
    sys.exit(main())

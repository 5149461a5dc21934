"""Reading and writing the extraction-gym JSON format, which is that of egraph-serialize.

Format (https://github.com/egraphs-good/extraction-gym, MIT): an object with `nodes`, a map from node id to
{op, eclass, cost (default 1), children (node ids, standing for their classes)}, and `root_eclasses`. Children may be
class ids instead, as in the files of e-boost and SmoothE: where all are ids of nodes they are taken as such.
Two optional keys of ours carry constraints: a node may have `group`, `alternative` and `resources` (name to use), and
the object may have `limits` (resource name to limit).
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from extract.errors import GraphError, GraphWarning, InfeasibleError
from extract.graph import NO_GROUP, Graph

if TYPE_CHECKING:
    import numpy.typing as npt

Record = dict[str, object]


def read(path: str | Path) -> Graph:
    """Read one file. Raises GraphError when it cannot be read, is not JSON, or is not a valid e-graph."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GraphError(f"{path}: cannot read: {error}") from error
    try:
        data: object = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise GraphError(f"{path}: not JSON: {error}") from error
    try:
        return from_data(data)
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from error


def from_data(data: object) -> Graph:
    """Make a graph from the parsed JSON value. Raises GraphError."""
    top = _object(data, "the file")
    nodes = {name: _object(value, f"node {name}") for name, value in _object(top.get("nodes"), "`nodes`").items()}
    limits = _object(top.get("limits", {}), "`limits`")
    ids = _class_ids(nodes)
    children = _children(nodes, ids)
    sizes = [len(row) for row in children]
    return Graph.build(
        node_op=[str(node.get("op", "")) for node in nodes.values()],
        node_class=np.array([ids[str(node["eclass"])] for node in nodes.values()], np.int64),
        child_offset=np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        child_class=np.array([child for row in children for child in row], np.int64),
        cost=[_number(node.get("cost", 1.0), f"the cost of node {name}") for name, node in nodes.items()],
        root=_roots(ids, _list(top, "root_eclasses", "the file")),
        group=[_index(node.get("group", NO_GROUP), f"the group of node {name}") for name, node in nodes.items()],
        alternative=[
            _index(node.get("alternative", 0), f"the alternative of node {name}") for name, node in nodes.items()
        ],
        resource=_resources(nodes, limits),
        limit=[_number(value, f"the limit of {name}") for name, value in limits.items()],
        resource_names=list(limits),
        n_classes=len(ids),
        class_name=list(ids),
        node_name=list(nodes),
    )


def _class_ids(nodes: dict[str, Record]) -> dict[str, int]:
    ids: dict[str, int] = {}
    for name, node in nodes.items():
        if "eclass" not in node:
            raise GraphError(f"node {name} has no `eclass`")
        ids.setdefault(str(node["eclass"]), len(ids))
    return ids


def _children(nodes: dict[str, Record], ids: dict[str, int]) -> list[list[int]]:
    """The classes of each node's children, named by their nodes or by themselves."""
    named = [(name, [str(child) for child in _list(node, "children", name)]) for name, node in nodes.items()]
    stray = next(((name, child) for name, row in named for child in row if child not in nodes), None)
    if stray is None:
        return [[ids[str(nodes[child]["eclass"])] for child in row] for _, row in named]
    other = next(((name, child) for name, row in named for child in row if child not in ids), None)
    if other is not None:
        name, child = stray if stray[1] not in ids else other
        raise GraphError(f"node {name} has the child {child!r}, which is not a node (dangling child)")
    return [[ids[child] for child in row] for _, row in named]


def _roots(ids: dict[str, int], names: list[object]) -> list[int]:
    """Root classes. lean-egg lists both sides of a goal and leaves a stale id once they are merged: a root without
    nodes is skipped with a warning as long as another root is left."""
    known = [ids[str(name)] for name in names if str(name) in ids]
    unknown = [str(name) for name in names if str(name) not in ids]
    if unknown and not known:
        raise GraphError(f"root class {unknown[0]!r} has no node")
    if unknown:
        warnings.warn(f"root class {unknown[0]!r} has no node and is ignored", GraphWarning, stacklevel=2)
    return known


def _resources(nodes: dict[str, Record], limits: Record) -> npt.NDArray[np.float64]:
    use = np.zeros((len(limits), len(nodes)))
    rows = {name: row for row, name in enumerate(limits)}
    for column, (name, node) in enumerate(nodes.items()):
        for resource, value in _object(node.get("resources", {}), f"`resources` of node {name}").items():
            if resource not in rows:
                raise GraphError(f"node {name} uses resource {resource!r}, which has no entry in `limits`")
            use[rows[resource], column] = _number(value, f"the use of {resource} by node {name}")
    return use


def to_data(graph: Graph) -> Record:
    """The JSON value of a graph, constraints included, which `from_data` and other programs read.

    JSON has no infinity: forbidden nodes are left out, and so is what cannot be built or is not needed without them.
    Raises InfeasibleError where a root cannot be built.
    """
    kept = _kept(graph)
    names = [f"n{node}" for node in range(graph.n_nodes)]
    first: dict[int, str] = {}
    for node in kept:
        first.setdefault(graph.columns.node_class[node], names[node])
    if missing := [root for root in graph.columns.root if root not in first]:
        raise InfeasibleError(f"root {graph.describe_class(missing[0])} has no node that is not forbidden")
    nodes: dict[str, object] = {}
    for node in kept:
        record: Record = {
            "op": graph.node_op[node],
            "children": [first[child] for child in graph.children(node)],
            "eclass": f"c{graph.columns.node_class[node]}",
            "cost": graph.columns.cost[node],
            "subsumed": False,
        }
        if graph.columns.group[node] >= 0:
            record |= {"group": graph.columns.group[node], "alternative": graph.columns.alternative[node]}
        use = {n: row[node] for n, row in zip(graph.resource_names, graph.columns.resource, strict=True) if row[node]}
        if use:
            record["resources"] = use
        nodes[names[node]] = record
    described = graph.class_name or [""] * graph.n_classes
    made: dict[str, object] = {"nodes": nodes, "root_eclasses": [f"c{root}" for root in graph.columns.root]}
    made["class_data"] = {f"c{cls}": {"type": described[cls]} for cls in first}
    limits = zip(graph.resource_names, graph.columns.limit, strict=True)
    return made | {"limits": {name: limit if math.isfinite(limit) else "inf" for name, limit in limits}}


def write(graph: Graph) -> str:
    """The JSON text of a graph, a line a node."""
    data = to_data(graph)
    nodes = ",\n".join(
        f" {json.dumps(name)}: {json.dumps(record)}" for name, record in cast(Record, data.pop("nodes")).items()
    )
    rest = json.dumps(data)[1:]
    return f'{{"nodes": {{\n{nodes}\n}},\n{rest}\n'


def _kept(graph: Graph) -> list[int]:
    """The nodes below the roots that are not forbidden and whose children can be built."""
    by_class: dict[int, list[int]] = {}
    for node in graph.topology.nodes:
        if math.isfinite(graph.columns.cost[node]):
            by_class.setdefault(graph.columns.node_class[node], []).append(int(node))
    changed = True
    while changed:
        changed = False
        for cls, nodes in list(by_class.items()):
            able = [node for node in nodes if all(child in by_class for child in graph.children(node))]
            if len(able) < len(nodes):
                changed = True
                by_class[cls] = able
                if not able:
                    del by_class[cls]
    reached: set[int] = set()
    waiting = [root for root in graph.columns.root if root in by_class]
    while waiting:
        cls = waiting.pop()
        if cls not in reached:
            reached.add(cls)
            waiting += [child for node in by_class[cls] for child in graph.children(node)]
    return sorted(node for cls in reached for node in by_class[cls])


def _object(value: object, what: str) -> Record:
    if not isinstance(value, dict):
        raise GraphError(f"{what} must be a JSON object, not {type(value).__name__}")
    return cast(Record, value)


def _list(record: Record, key: str, what: str) -> list[object]:
    value = record.get(key, [])
    if not isinstance(value, list):
        raise GraphError(f"`{key}` of {what} must be a list, not {type(value).__name__}")
    return cast("list[object]", value)


def _number(value: object, what: str) -> float:
    if isinstance(value, str) and value.strip().lower() in {"inf", "infinity"}:
        return math.inf  # JSON has no infinity; the gym writes it as text
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise GraphError(f"{what} must be a number, not {value!r}")
    return float(value)


def _index(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise GraphError(f"{what} must be an integer, not {value!r}")
    return value

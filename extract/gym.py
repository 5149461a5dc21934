"""Reading the extraction-gym JSON format.

Format (https://github.com/egraphs-good/extraction-gym, MIT): an object with `nodes`, a map from node id to
{op, eclass, cost (default 1), children (node ids, standing for their classes)}, and `root_eclasses`.
Two optional keys of ours carry constraints: a node may have `group`, `alternative` and `resources` (name to use), and
the object may have `limits` (resource name to limit).
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any, cast

import numpy as np

from extract.errors import GraphError, GraphWarning
from extract.graph import NO_GROUP, Graph

Record = dict[str, Any]


def read(path: str | Path) -> Graph:
    """Read one file. Raises GraphError when it cannot be read, is not JSON, or is not a valid e-graph."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GraphError(f"{path}: cannot read: {error}") from error
    try:
        data: Any = json.loads(text)
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
    children = [
        [_child_class(nodes, ids, name, child) for child in _list(node, "children", name)]
        for name, node in nodes.items()
    ]
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


def _child_class(nodes: dict[str, Record], ids: dict[str, int], parent: str, child: object) -> int:
    node = nodes.get(str(child))
    if node is None:
        raise GraphError(f"node {parent} has the child {child!r}, which is no node (dangling child)")
    return ids[str(node["eclass"])]


def _roots(ids: dict[str, int], names: list[Any]) -> list[int]:
    """Root classes. lean-egg lists both sides of a goal and leaves a stale id once they are merged: a root without
    nodes is passed over with a warning while another root stands."""
    known = [ids[str(name)] for name in names if str(name) in ids]
    unknown = [str(name) for name in names if str(name) not in ids]
    if unknown and not known:
        raise GraphError(f"root class {unknown[0]!r} has no node")
    if unknown:
        warnings.warn(f"root class {unknown[0]!r} has no node and is ignored", GraphWarning, stacklevel=2)
    return known


def _resources(nodes: dict[str, Record], limits: Record) -> np.ndarray[Any, np.dtype[np.float64]]:
    use = np.zeros((len(limits), len(nodes)))
    rows = {name: row for row, name in enumerate(limits)}
    for column, (name, node) in enumerate(nodes.items()):
        for resource, value in _object(node.get("resources", {}), f"`resources` of node {name}").items():
            if resource not in rows:
                raise GraphError(f"node {name} uses resource {resource!r}, which has no entry in `limits`")
            use[rows[resource], column] = _number(value, f"the use of {resource} by node {name}")
    return use


def _object(value: object, what: str) -> Record:
    if not isinstance(value, dict):
        raise GraphError(f"{what} must be a JSON object, not {type(value).__name__}")
    return cast(Record, value)


def _list(record: Record, key: str, what: str) -> list[Any]:
    value = record.get(key, [])
    if not isinstance(value, list):
        raise GraphError(f"`{key}` of {what} must be a list, not {type(value).__name__}")
    return cast(list[Any], value)


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

"""Bad e-graphs are refused on entry with the node, class or row at fault."""

import json
import math
import pathlib
from typing import Any

import pytest

from extract import Graph, GraphBuilder, GraphError, GraphWarning
from extract.gym import read

GOOD: dict[str, Any] = {
    "node_op": ["add", "x"],
    "node_class": [0, 1],
    "child_offset": [0, 2, 2],
    "child_class": [1, 1],
    "cost": [1.0, 2.0],
    "root": [0],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"child_class": [1, 5]}, r"node 0 \(add\) in class 0 takes class 5, which does not exist"),
        ({"child_class": [1, -1]}, "dangling child"),
        ({"n_classes": 3, "child_class": [1, 2]}, "takes class 2, which has no node"),
        ({"n_classes": 3, "root": [2]}, "root class 2 has no node"),
        ({"root": [9]}, "root class 9 does not exist"),
        ({"root": []}, "no root class"),
        ({"node_class": [0, 7], "n_classes": 2}, "is in class 7 of 2"),
        ({"cost": [math.nan, 1.0]}, "costs nan"),
        ({"cost": [1.0, -math.inf]}, "costs -inf"),
        ({"cost": [1.0]}, "cost has shape"),
        ({"child_offset": [0, 1]}, "child_offset has shape"),
        ({"child_offset": [0, 3, 2]}, "must rise"),
        ({"node_class": [0.5, 1.0]}, "must hold integers"),
        ({"node_class": [0, 2**40]}, "does not fit in 32 bits"),
        ({"group": [0, -2]}, "group -2"),
        ({"group": [0, 0], "alternative": [0, -1]}, "alternative -1"),
        ({"resource": [[1.0, -1.0]], "limit": [3.0]}, "uses -1.0 of resource r0"),
        ({"resource": [[1.0, 1.0]], "limit": [-3.0]}, "has limit -3.0"),
        ({"resource": [[1.0, 1.0]], "limit": [1.0, 2.0]}, "resource has shape"),
        ({"class_name": ["only one"]}, "1 class names for 2 classes"),
    ],
)
def test_malformed_arrays_are_refused(change: dict[str, Any], message: str) -> None:
    assert Graph.build(**GOOD).n_nodes == 2
    with pytest.raises(GraphError, match=message):
        Graph.build(**{**GOOD, **change})


def test_builder_counts_resource_rows() -> None:
    with pytest.raises(GraphError, match="gives 1 resource uses for 2 rows"):
        GraphBuilder(resource_names=["a", "b"], limit=[1, 1]).add("f", 0, resource=[1.0])


def test_recosting_validates_again() -> None:
    graph = Graph.build(**GOOD)
    with pytest.raises(GraphError, match="costs nan"):
        graph.with_cost([math.nan, 1.0])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "the file must be a JSON object"),
        ({"nodes": []}, "`nodes` must be a JSON object"),
        ({"nodes": {"a": {"op": "f"}}}, "node a has no `eclass`"),
        ({"nodes": {"a": {"op": "f", "eclass": "0", "children": ["b"]}}}, "child 'b', which is not a node"),
        ({"nodes": {"a": {"op": "f", "eclass": "0", "cost": "dear"}}}, "cost of node a must be a number"),
        ({"nodes": {"a": {"op": "f", "eclass": "0"}}, "root_eclasses": ["9"]}, "root class '9' has no node"),
        ({"nodes": {"a": {"op": "f", "eclass": "0"}}}, "no root class"),
        ({"nodes": {"a": {"op": "f", "eclass": "0", "resources": {"smem": 1}}}}, "no entry in `limits`"),
        ({"nodes": {"a": {"op": "f", "eclass": "0", "group": "g"}}}, "group of node a must be an integer"),
    ],
)
def test_malformed_files_are_refused_with_their_path(tmp_path: pathlib.Path, data: object, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(data))
    with pytest.raises(GraphError, match=f"bad.json: .*{message}"):
        read(path)


def test_files_that_are_no_json_are_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(b"\xff{")
    with pytest.raises(GraphError, match="cannot read"):
        read(path)
    path.write_text("{")
    with pytest.raises(GraphError, match="not JSON"):
        read(path)


def test_a_stale_root_next_to_a_good_one_is_ignored(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "merged.json"
    path.write_text(json.dumps({"nodes": {"a": {"op": "f", "eclass": "0"}}, "root_eclasses": ["0", "1"]}))
    with pytest.warns(GraphWarning, match="root class '1'"):
        assert read(path).root.tolist() == [0]

"""The explorer's page without a browser: it holds the records, whole and nothing else, and asks for nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from viz.explorer import SCRIPTS, page
from viz.record import Form, Level, Record, Value, Way, to_json

DATA = re.compile(r'<script type="application/json" id="records">(.*?)</script>', re.S)


def records(text: str) -> list[dict[str, Any]]:
    found = DATA.findall(text)
    assert len(found) == 1
    return json.loads(found[0])


def test_a_page_holds_its_records() -> None:
    one = Record("one", "sm_80", "one.mlir", levels=[Level("ptx", ["ret;"], [[]])])
    two = Record(
        "two", "sm_90a", "two.mlir", values=[Value("%x", forms=[0])], forms=[Form(0, ways=[Way("addf", "addf")])]
    )
    found = records(page([one, two]))
    assert [each["kernel"] for each in found] == ["one", "two"]
    assert found[0]["levels"] == [{"name": "ptx", "lines": ["ret;"], "places": [[]]}]
    assert found[1]["forms"] == [{"value": 0, "ways": [{"op": "addf", "text": "addf"}]}]


def test_what_holds_its_default_is_left_out() -> None:
    found = json.loads(to_json(Record("k", "sm_80", "k.mlir", values=[Value("%x", loop=-1), Value("%y", loop=0)])))
    assert found == {
        "kernel": "k", "target": "sm_80", "source": "k.mlir", "values": [{"name": "%x"}, {"name": "%y", "loop": 0}],
        "version": 1,
    }  # fmt: skip


def test_numbers_have_three_digits_behind_the_point() -> None:
    found = json.loads(
        to_json(Record("k", "t", "s", forms=[Form(0, ways=[Way("a", "a", cost=1 / 3, parts={"alu": 2 / 3})])]))
    )
    assert found["forms"][0]["ways"][0] == {"op": "a", "text": "a", "cost": 0.333, "parts": {"alu": 0.667}}


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)</script>", "<!-- <script>", "{{script}}", "\u2028 ü 語 \\"]
)
def test_no_text_of_a_program_leaves_the_data(text: str) -> None:
    made = page([Record(text, "sm_80", text, levels=[Level("source", [text], [[]])])])
    (found,) = records(made)
    assert found["levels"][0]["lines"] == [text]
    (data,) = DATA.findall(made)
    assert "<" not in data


def test_the_page_is_one_file_and_asks_for_nothing() -> None:
    made = DATA.sub("", page([Record("k", "sm_80", "k.mlir")]))
    assert not re.search(r"https?://|//cdn|\bsrc=|<link|@import|url\(|fetch\(|XMLHttpRequest|WebSocket|import\(", made)
    assert all(f'"{mark}"' not in made for mark in ("{{style}}", "{{script}}", "{{records}}", "{{title}}"))
    assert not re.search(r"\{\{\w+\}\}", made)


def test_every_script_is_strict_and_declares_what_it_is_for() -> None:
    made = page([Record("k", "sm_80", "k.mlir")])
    assert made.count('"use strict";') == len(SCRIPTS)
    assert made.count("window.explorer = explorer") == 1


def test_what_a_record_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="a record cannot hold object"):
        to_json(Record("k", "sm_80", "k.mlir", figures={"x": object()}))

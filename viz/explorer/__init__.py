"""The explorer: one HTML file that shows a compilation from the source to SASS, without a server or a network.

The page is written by hand (page.html, style.css and the scripts below) and reads the records of `viz.record` as JSON.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib.resources import files

from viz.record import Record, to_json

SCRIPTS = (
    "data.js",
    "list.js",
    "texts.js",
    "egraph.js",
    "schedule.js",
    "layouts.js",
    "saturation.js",
    "compare.js",
    "details.js",
    "main.js",
)
"""In the order in which they are read: main.js makes the page of what the others declare."""


def page(records: Sequence[Record]) -> str:
    """The page for one compilation, or for several that are compared; the first one is shown."""
    title = ", ".join(record.title for record in records)
    data = ",".join(map(to_json, records)).replace("<", "\\u003c")  # only strings hold it; a tag would end the script
    parts = {
        "title": html.escape(title),
        "style": _asset("style.css"),
        "script": "\n".join(map(_asset, SCRIPTS)),
        "records": f"[{data}]",
    }
    text = _asset("page.html")
    for name, part in parts.items():  # the records last: what they hold is not looked at again
        text = text.replace(f"{{{{{name}}}}}", part, 1)
    return text


def _asset(name: str) -> str:
    return files("viz.explorer").joinpath(name).read_text(encoding="utf-8")

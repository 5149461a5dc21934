"""How long pictures take: DOT and SVG of a kernel, the explorer's page, and the page in a browser if there is one.

python -m benchmarks.pictures [KERNEL.mlir ...] [--target T]
"""

# Packages of another environment, or of an extra.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tilesat
from tilesat.pictures import draw
from tilesat.pictures.record import record_of
from viz import write_pictures
from viz.explorer import page
from viz.overview import draw_overview

EXAMPLES = Path(__file__).parents[1] / "examples"
DEFAULT = [EXAMPLES / f"{name}.mlir" for name in ("gemm", "flash_attention", "layernorm")]
READY = "performance.now()"
"""Milliseconds since the browser started to read the page."""


def timed(what: str, made: Callable[[], Any]) -> Any:
    wall, cpu = time.perf_counter(), time.process_time()
    found = made()
    print(f"  {what:34} {time.perf_counter() - wall:6.2f} s, {time.process_time() - cpu:6.2f} s of this process")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=DEFAULT)
    parser.add_argument("--target", default="sm_90a")
    arguments = parser.parse_args()
    for file in arguments.files:
        print(f"{file.name} for {arguments.target}")
        kernel = timed("compile", lambda file=file: tilesat.compile(file, arguments.target))
        record = timed("record, without texts", lambda kernel=kernel: record_of(kernel, texts=False))
        timed("DOT of the overview", lambda record=record: draw_overview(record))
        pictures = timed("DOT of all pictures", lambda kernel=kernel, record=record: draw(kernel, record))
        with tempfile.TemporaryDirectory() as folder:
            if shutil.which("dot"):
                timed(
                    f"SVG of {len(pictures)} pictures",
                    lambda pictures=pictures, folder=folder: write_pictures(pictures, Path(folder)),
                )
            text = page([timed("record, with texts", lambda kernel=kernel: record_of(kernel))])
            print(f"  page: {len(text.encode()) / 1e6:.2f} MB")
            path = Path(folder) / "k.html"
            path.write_text(text)
            in_browser(path)


def in_browser(file: Path) -> None:
    """Until the page can be used, and until a click has marked every panel."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    if program is None:
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1440, "height": 900})
        tab.goto(file.as_uri())
        tab.wait_for_selector("body[data-ready]")
        print(f"  page ready                         {tab.evaluate(READY) / 1000:6.2f} s")
        work = "explorer.panel('e-graph').show('all'); explorer.selectValue(3);"
        click = f"() => {{ const begun = performance.now(); {work} return performance.now() - begun; }}"
        print(f"  all ways listed, a value marked    {tab.evaluate(click) / 1000:6.2f} s")
        browser.close()


if __name__ == "__main__":
    main()

"""The explorer in a real browser: what is on the page, where, and what a click does. Structure counts, not pixels."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tilesat
from tilesat.pictures.record import record_of
from viz.explorer import page as page_of
from viz.record import Form, Record, Term, Value, Way

EXAMPLES = Path(__file__).parents[2] / "examples"
KERNELS = {"gemm": ("sm_90a", "sm_80"), "flash_attention": ("sm_90a",), "layernorm": ("sm_90a",)}
pytestmark = pytest.mark.browser
Page = Any


@pytest.fixture(scope="module")
def browser() -> Generator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is missing: pip install '.[browser]'")
    program = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    if program is None:
        pytest.skip("no Chromium on PATH: apt-get install chromium")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def files(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, made = tmp_path_factory.mktemp("pages"), dict[str, Path]()
    for name, targets in KERNELS.items():
        records = [record_of(tilesat.compile(EXAMPLES / f"{name}.mlir", target)) for target in targets]
        made[name] = folder / f"{name}.html"
        made[name].write_text(page_of(records))
    return made


def opened(browser: Any, file: Path) -> Page:
    """The page, with errors as failures and every request refused that is not for the file."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda message: page.problems.append(message.text) if message.type == "error" else None)
    page.on(
        "request", lambda request: page.problems.append(request.url) if not request.url.startswith("file:") else None
    )
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-ready]")
    return page


@pytest.fixture
def gemm(browser: Any, files: dict[str, Path]) -> Generator[Page]:
    page = opened(browser, files["gemm"])
    yield page
    assert not page.problems
    page.close()


def boxes(page: Page, selector: str) -> list[dict[str, float]]:
    return [each.bounding_box() for each in page.locator(selector).all()]


def panel(page: Page, name: str) -> Any:
    return page.locator(f'.panel[data-panel="{name}"]')


def marked(page: Page, name: str) -> list[str]:
    return panel(page, name).locator(".row.marked").all_inner_texts()


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_nothing_overlaps_at_1440_by_900(browser: Any, files: dict[str, Path], kernel: str) -> None:
    page = opened(browser, files[kernel])
    shown = boxes(page, ".panel")
    assert [each.inner_text() for each in page.locator("#tabs button.on").all()][1:3] == ["e-graph", "nv_tileas"]
    assert len(shown) == 4
    for left, right in pairwise(shown):
        assert left["x"] + left["width"] <= right["x"] + 0.5
        assert left["y"] == right["y"]
    assert shown[-1]["x"] + shown[-1]["width"] <= 1440.5
    stack = [boxes(page, selector)[0] for selector in ("#bar", "#tabs", "#panels", "#handle", "#details")]
    for above, below in pairwise(stack):
        assert above["y"] + above["height"] <= below["y"] + 0.5
    assert stack[-1]["y"] + stack[-1]["height"] <= 900.5
    for name in page.locator(".panel").all():
        head, rest = name.locator(".head").bounding_box(), name.locator(".list").bounding_box()
        assert head["y"] + head["height"] <= rest["y"] + 0.5
        inside = [each.bounding_box() for each in name.locator(".head > *").all()]
        for left, right in pairwise(inside):
            assert left["x"] + left["width"] <= right["x"] + 0.5
    rows = page.locator(".panel .row").all()
    assert all(abs(each.bounding_box()["height"] - 18) < 0.5 for each in rows[:40])
    assert not page.problems
    page.close()


def test_a_click_marks_the_same_at_every_level(gemm: Page) -> None:
    for name in ("ptx", "nvgpu", "nvvm", "nv_tileaa", "schedule"):
        gemm.locator("#tabs button", has_text=name).first.click()
    gemm.evaluate("explorer.panel('gemm.mlir').list.go(49)")
    panel(gemm, "gemm.mlir").locator(".row", has_text="mmaf").click()
    assert any("%acc_next" in text for text in marked(gemm, "e-graph"))
    lines = "name => { const each = explorer.panel(name); return [...each.list.marked].map(n => each.level.lines[n]); }"
    for name, wanted in (
        ("nv_tileaa", "nv_tileaa.dot"), ("nv_tileas", "nv_tileas.dot"), ("nvgpu", "wgmma"), ("nvvm", "wgmma"),
        ("ptx", "wgmma.mma_async"),
    ):  # fmt: skip
        assert any(wanted in line for line in gemm.evaluate(lines, name)), name
        assert marked(gemm, name)  # and one of them is in sight
    assert panel(gemm, "schedule").locator(".step.marked").count() >= 1
    assert "gemm.mlir:50" in gemm.locator("#details").inner_text()


def test_a_click_below_leads_back_to_the_source(gemm: Page) -> None:
    gemm.evaluate("explorer.toggle(explorer.panel('ptx'), true)")
    line = gemm.evaluate("explorer.panel('ptx').level.lines.findIndex(line => line.includes('cp.async.bulk.tensor'))")
    gemm.evaluate(f"explorer.panel('ptx').list.go({line})")
    panel(gemm, "ptx").locator(f'.row[data-row="{line}"]').click()
    assert any("load_view_tko" in text for text in marked(gemm, "gemm.mlir"))
    gemm.keyboard.press("Escape")
    assert not marked(gemm, "gemm.mlir")


def test_a_value_shows_its_ways_with_cost_and_reason(gemm: Page) -> None:
    panel(gemm, "e-graph").locator("select").select_option("all")
    gemm.evaluate(
        "explorer.panel('e-graph').reveal(explorer.record.values.findIndex(each => each.name === '%acc_next'))"
    )
    panel(gemm, "e-graph").locator(".row.marked", has_text="wgmma.m64n128k16").first.click()
    said = gemm.locator("#details").inner_text()
    for words in ("wgmma.m64n128k16.f16.f16.ss", "16,640", "tensor", "alu", "without it", "%b_transposed", "after it"):
        assert words in said, words
    gemm.fill("#search", "tensor cores compute this product")
    gemm.keyboard.press("Enter")
    assert "not legal: tensor cores compute this product" in panel(gemm, "e-graph").locator(".row.at").inner_text()
    assert "not legal here" in gemm.locator("#details").inner_text().lower()


def test_search_finds_and_goes_there(gemm: Page) -> None:
    gemm.keyboard.press("/")
    gemm.keyboard.type("wgmma.mma_async")
    assert gemm.locator("#found .hit").count() >= 8
    gemm.keyboard.press("Enter")
    assert not gemm.locator("#found").is_visible()
    assert gemm.locator(".row.at").count() >= 1
    gemm.fill("#search", "no such thing")
    assert gemm.locator("#found").inner_text() == "nothing found"


def test_layouts_are_drawn_where_their_names_are_clicked(gemm: Page) -> None:
    panel(gemm, "nv_tileas").locator(".lay").first.click()
    grid = panel(gemm, "layouts")
    assert "shared memory" in grid.locator("select").first.locator("option:checked").inner_text()
    colours = gemm.evaluate("""() => {
        const found = new Set(), canvas = document.querySelector('.grid canvas'), brush = canvas.getContext('2d');
        for (let x = 1; x < canvas.width; x += 24) found.add(brush.getImageData(x, 1, 1, 1).data.join());
        return found.size; }""")
    assert colours == 8  # chunks of 16 bytes of a row of 128


def test_grids_agree_with_those_of_graphviz(gemm: Page) -> None:
    """The page computes holders and offsets by itself."""
    from viz.layout import holders, offsets
    from viz.record import Layout

    held = """([name, size]) => {
        const each = explorer.record.layouts.find(one => one.name === name);
        if (each.bytes) return offsets(each);
        return holders(each, size).map(one => [one.warp, one.lane, one.register, one.times]); }"""
    for plain in gemm.evaluate("explorer.record.layouts.filter(each => each.used)"):
        layout = Layout(**plain)
        made = gemm.evaluate(held, [layout.name, _size(layout)])
        if layout.shared:
            assert made == offsets(layout)
        else:
            assert made == [[*each[0], len(each)] for each in holders(layout, _size(layout))]


def test_tiles_of_tensor_memory_are_grids_too(browser: Any, tmp_path: Path) -> None:
    from viz.record import TensorTile
    from viz.tensor_memory import places

    file = tmp_path / "attention.html"
    file.write_text(page_of([record_of(tilesat.compile(EXAMPLES / "flash_attention.mlir", "sm_100a"))]))
    page = opened(browser, file)
    page.locator("#tabs button", has_text="layouts").click()
    grid = panel(page, "layouts")
    which = grid.locator("select").first
    tiles = page.evaluate("explorer.record.tensor_tiles")
    assert len(tiles) == 3
    for at, plain in enumerate(tiles):
        which.select_option(f"-1|{at}")
        assert f"columns {plain.get('first', 0)} to " in grid.locator(".code").inner_text()
        made = page.evaluate("(at) => placesInTensorMemory(explorer.record.tensor_tiles[at])", at)
        assert [(each["lane"], each["column"], each["bit"]) for each in made] == places(TensorTile(**plain))
    grid.locator("canvas").hover(position={"x": 1, "y": 1})
    assert "[0, 0]: lane 0, column 128" in grid.locator(".legend").last.inner_text()
    assert not page.problems


def _size(layout: Any) -> int:
    size = 1
    for extent in layout.used[0]:
        size *= extent
    return size


def test_the_slider_goes_through_saturation(gemm: Page) -> None:
    gemm.locator("#tabs button", has_text="saturation").click()
    here = panel(gemm, "saturation")
    last = gemm.evaluate("explorer.record.saturation.length - 1")
    here.locator("input").fill("0")
    first = here.inner_text()
    here.locator("input").fill(str(last))
    assert f"iteration {last + 1} of {last + 1} (placement: " in here.inner_text()
    assert first != here.inner_text()
    assert "facts/" in first


def test_two_compilations_are_compared(gemm: Page) -> None:
    gemm.locator("#tabs button", has_text="compare").click()
    said = panel(gemm, "compare").inner_text()
    assert "@gemm for sm_90a and @gemm for sm_80" in said
    for words in ("shared memory", "wgmma.m64n128k16", "mma.sync", "lines differ"):
        assert words in said, words
    assert panel(gemm, "compare").locator(".diff .add").count() > 5


def test_the_page_of_another_compilation_is_read(gemm: Page, files: dict[str, Path], tmp_path: Path) -> None:
    gemm.locator("#tabs button", has_text="compare").click()
    gemm.locator("input[type=file]").set_input_files(str(files["layernorm"]))
    gemm.wait_for_function("explorer.records.length === 3")
    assert "@layernorm for sm_90a" in panel(gemm, "compare").inner_text()
    (tmp_path / "none.html").write_text("<p>no page of this kind")
    gemm.locator("input[type=file]").set_input_files(str(tmp_path / "none.html"))
    gemm.wait_for_function(
        "document.querySelector('[data-panel=compare] .count').textContent.startsWith('cannot read none.html')"
    )


@pytest.mark.parametrize(("a", "b"), [("abcabba", "cbabac"), ("", "abc"), ("abc", ""), ("same", "same"), ("x", "y")])
def test_the_difference_of_texts_leads_from_one_to_the_other(gemm: Page, a: str, b: str) -> None:
    found = gemm.evaluate("([a, b]) => difference([...a], [...b])", [a, b])
    assert "".join(a[x] for kind, x, _ in found if kind != "+") == a
    assert "".join(b[y] for kind, _, y in found if kind != "-") == b
    assert all(a[x] == b[y] for kind, x, y in found if kind == " ")


def test_the_schedule_names_agents_and_reserves_units(gemm: Page) -> None:
    gemm.locator("#tabs button", has_text="schedule").click()
    said = panel(gemm, "schedule").inner_text()
    for words in (
        "warps 0 to 3: computation",
        "warp 4: copies",
        "mbarrier_wait",
        "tiled_tma_load",
        "a ring of 6 stages",
    ):
        assert words in said, words
    assert panel(gemm, "schedule").locator(".reserved tr").count() == 3
    assert panel(gemm, "schedule").locator(".reserved tr").first.locator("td").count() == 24


def test_only_rows_in_sight_are_in_the_page(browser: Any, tmp_path: Path) -> None:
    """A graph of 4,000 nodes in 200 values, all listed."""
    record = Record("large", "sm_90a", "large.mlir")
    for number in range(200):
        terms = [Term("addf", [max(0, number - 1)])]
        record.values.append(Value(f"%v{number}", "tile<8xf32>", [f"%v{number}"], terms=terms, forms=[number]))
        ways = [Way("addf", f"way {n}", cost=float(n), chosen=not n, kids=[max(0, number - 1)]) for n in range(20)]
        record.forms.append(Form(number, ways=ways))
    (tmp_path / "large.html").write_text(page_of([record]))
    page = opened(browser, tmp_path / "large.html")
    panel(page, "e-graph").locator("select").select_option("all")
    assert page.evaluate("explorer.panel('e-graph').rows.length") == 4200
    assert panel(page, "e-graph").locator(".row").count() < 100
    page.evaluate("explorer.panel('e-graph').list.go(4190)")
    assert panel(page, "e-graph").locator(".row", has_text="way 19").count()
    assert not page.problems
    page.close()

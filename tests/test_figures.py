"""Every figure of README and docs/ has the command that makes it in its section, and the check sees one without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.figures import sections, without_command

TABLE = "| kernel | cost | registers |\n|---|---|---|\n| a | 1,024 | 32 |\n| b | 2,048 | 64 |\n"
COMMAND = "By `python -m benchmarks.gemm`:\n\n"


def test_every_figure_has_its_command() -> None:
    assert without_command() == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("## A\n\n" + TABLE, ["A"]),
        ("## A\n\n" + COMMAND + TABLE, []),
        ("## A\n\n" + COMMAND + "## B\n\n" + TABLE, ["B"]),
        ("## A\n\n" + COMMAND + "### B\n\n" + TABLE, []),
        ("# A\n\n" + COMMAND + "## B\n\n" + TABLE, ["B"]),
        ("## A\n\n```\ntilesat mca k.ptx\n```\n" + TABLE, []),
        ("## A\n\n[Costs](../benchmarks.md#clusters-by-cost):\n\n" + TABLE, []),
        ("## A\n\n[Costs](../benchmarks.md):\n\n" + TABLE, ["A"]),
        ("## A\n\nA loop of 238 instructions takes 1,024 cycles.\n", ["A"]),
        ("## A\n\nA warp has 32 lanes.\n", []),
        ("## A\n\n```\n## not a heading: 512 cycles\n```\n", []),
    ],
)
def test_which_sections_lack_one(text: str, found: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    assert [each.title for each in sections(page) if each.has_figures() and not each.names_a_command()] == found

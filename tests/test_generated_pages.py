"""Pages that are made are known to the command that makes and compares them all, and say so."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from tests import generated_pages
from tests.generated_pages import DOCS, PAGES, SLOW


def test_every_page_that_says_so_is_made() -> None:
    assert generated_pages.said() == {*PAGES, *SLOW}


def test_each_module_writes_its_page() -> None:
    assert {name: import_module(module).OUTPUT for name, module in PAGES.items()} == {
        name: DOCS / name for name in PAGES
    }


def test_a_page_that_is_not_current_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["pages", "--check", "passes.md"])
    assert generated_pages.main() == 0
    assert capsys.readouterr().out == "docs/passes.md: current\n"
    monkeypatch.setattr(import_module(PAGES["passes.md"]), "page", lambda: "")
    assert generated_pages.main() == 1
    assert "docs/passes.md: not current: run python -m tests.lowering.passes_page" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["pages", "--check", "nonesuch.md"])
    with pytest.raises(SystemExit):
        generated_pages.main()
    assert "unknown page 'nonesuch.md': choose from instructions.md, " in capsys.readouterr().err

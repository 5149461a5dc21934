"""Hooks of MkDocs: pages that lie outside docs/, and links that leave the site.

README.md and its kind become pages. A link to a file of the tree that is not a page becomes its path in code; one to a
file that does not exist stays, and the strict build fails on it.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
ADDED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "egraph/rules/README.md": "law-for-rules.md",
    "examples/README.md": "examples.md",
    "ptxsim/README.md": "ptxsim.md",
}
"""Files of the tree by the page that each becomes."""
SOURCES = {page: source for source, page in ADDED.items()}
_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_FILE = re.compile(r"^```(\w+) file=(\S+)$", re.MULTILINE)
"""The first line of a block that tests write as a file."""
_CODE = re.compile(r"(```.*?^ *```|`[^`\n]+`)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie outside docs/."""
    for source, page in ADDED.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links relative to the site and names of files titles; code is left as it is."""
    markdown = _FILE.sub(r'```\1 title="\2"', markdown)
    source = SOURCES.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    pieces = _CODE.split(markdown)
    for i in range(0, len(pieces), 2):
        pieces[i] = _LINK.sub(lambda link: _relinked(link, source, page.file.src_uri), pieces[i])
    return "".join(pieces)


def _relinked(link: re.Match[str], source: str, page: str) -> str:
    """A link of a file of the tree, as a page of the site has it."""
    mark, text, target, anchor = link[1], link[2], link[3], link[4] or ""
    if re.match(r"[a-z]+:", target):
        return link[0]
    found = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    if found in ADDED:
        found = f"docs/{ADDED[found]}"
    elif not found.startswith("docs/") or (ROOT / found).is_dir():
        return (f"`{found}`" if text == found else f"{text} (`{found}`)") if (ROOT / found).exists() else link[0]
    return f"{mark}[{text}]({os.path.relpath(found.removeprefix('docs/'), posixpath.dirname(page) or '.')}{anchor})"

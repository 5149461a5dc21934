"""Types that say nothing do not come back: lines of each package with `Any`, `cast(` and `fmt: skip`, at most as many.

Limits are rounded up to the next five; one that has to rise needs its reason in the commit's message.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SIGNS = {
    "Any": re.compile(r"\bAny\b(?! [a-z])"),  # but not "Any tile" of a docstring
    "cast": re.compile(r"(?<![\w.])(?<!def )cast\("),
    "fmt: skip": re.compile(r"# fmt: skip"),
}
MOST = {
    "egraph": (25, 10, 5),
    "extract": (5, 10, 0),
    "ir": (60, 10, 10),
    "lowering": (120, 15, 35),
    "ptxsim": (10, 5, 20),
    "runtime": (10, 10, 10),
    "tilesat": (45, 40, 25),
    "viz": (5, 0, 0),
}


def counted(package: str) -> tuple[int, ...]:
    lines = [line for path in (ROOT / package).rglob("*.py") for line in path.read_text().splitlines()]
    return tuple(sum(sign.search(line) is not None for line in lines) for sign in SIGNS.values())


@pytest.mark.parametrize("package", MOST)
def test_types_say_something(package: str) -> None:
    for sign, found, most in zip(SIGNS, counted(package), MOST[package], strict=True):
        assert found <= most, f"{package}: {found} lines with {sign}, at most {most}: give them types"

"""docs/tilegym.md, out of runs of the tables: `python -m tests.cutile.page`, where `make test-cutile` runs."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cutile.calls import TOLERANCES, Call, Given, largest_error
from tests.cutile.operators import OPERATORS
from tests.cutile.suites import SUITES
from tests.cutile.test_tilegym import TARGETS, outcome
from tests.generated_page import publish

PAGE = Path(__file__).parents[2] / "docs" / "tilegym.md"
HEAD = """# TileGym's operators, without a GPU

Made by `python -m tests.cutile.page`; `make test-cutile` checks the same calls. Each call (the tables in
[tests/cutile/](../tests/cutile)) runs the unchanged operator of the package tilegym 1.5.1 on PyTorch CPU tensors, with
its kernels compiled for the target and run on the simulator in hazard mode. The error is the largest
|found - expected| / max(1, |expected|) of results and gradients compared with PyTorch in f32, with the tolerance in
brackets. (backward): including gradients.

| operator | arguments | {targets} |
|---|---|{dashes}|
{rows}

{passed} of {all} runs pass. The others:

| operator | why |
|---|---|
{reasons}
"""


def row(call: Call, results: dict[str, str]) -> str:
    """A line of the table."""
    given = [each for value in call.arguments.values() for each in (value if isinstance(value, list) else [value])]
    shapes = ", ".join(str(each) for each in given if isinstance(each, Given))
    name = call.operator + (" (backward)" if call.gradients else "")
    return f"| {name} | {shapes} | {' | '.join(results[target] for target in TARGETS)} |"


def main() -> int:
    """Run everything and write the page."""
    rows: list[str] = []
    reasons, passed = dict[str, str](), 0
    for call in OPERATORS + SUITES:
        results: dict[str, str] = {}
        for target in TARGETS:
            if why := call.refused.get(target, call.refused.get("")):
                results[target], reasons[f"{call.operator} on {target}"] = "refused", why
                continue
            pairs = outcome(call, target)
            worst = max(largest_error(f, e) / (call.tolerance or TOLERANCES.get(f.dtype, 1e-30)) for f, e in pairs)
            allowed = call.tolerance or max(TOLERANCES.get(f.dtype, 0.0) for f, _ in pairs)
            results[target] = f"{worst * allowed:.1e} ({allowed:g})"
            passed += worst <= 1
            if worst > 1:
                reasons[f"{call.name} on {target}"] = "wrong"
        rows.append(row(call, results))
        print(rows[-1], file=sys.stderr, flush=True)
    page = HEAD.format(
        targets=" | ".join(TARGETS), dashes="|".join("---" for _ in TARGETS), rows="\n".join(rows), passed=passed,
        all=len(rows) * len(TARGETS), reasons="\n".join(f"| {name} | {why} |" for name, why in reasons.items()),
    )  # fmt: skip
    return publish(PAGE, page)


if __name__ == "__main__":
    sys.exit(main())

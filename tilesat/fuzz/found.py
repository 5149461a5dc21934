"""A wrong program as a test file for the plugin of tilesat.testing."""

from __future__ import annotations

import re
from pathlib import Path

from tilesat.fuzz.judge import Judge, Verdict
from tilesat.fuzz.program import Made, Random
from tilesat.output import write_file
from tilesat.spec import is_numpy

PLAIN = Judge()
"""Without rules of the user, or permissions."""


def write_test(folder: Path, program: Made, verdict: Verdict, judge: Judge = PLAIN) -> Path:
    """Write `test_fuzz_NAME_TARGET.py`; its test fails until the fault is gone."""
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "_", f"{program.name}_{verdict.target}")
    path = folder / f"test_fuzz_{name}.py"
    write_file(path, text(name, program, verdict, judge).encode())
    return path


def text(name: str, program: Made, verdict: Verdict, judge: Judge = PLAIN) -> str:
    """The test as Python: by the plugin, under permissions by the judge, which knows their bounds."""
    rules = [str(Path(each).resolve()) for each in judge.rules]
    given = f", rules={rules!r}, unchecked=True" if rules else ""
    arguments = "".join(f"    {argument(each)},\n" for each in program.data)
    apart = re.search(r"where warps run (\S+)$", verdict.reason)
    schedule = f', schedule="{apart[1]}"' if apart else ""
    checked = "    k.expect(warnings=0)\n" if verdict.reason.startswith("ptxas") else ""
    test = f'''
def test_{name}(tile):
    k = tile.compile(SOURCE, target="{verdict.target}"{given})
{checked}    k.runs({program.grid}, ARGUMENTS, tolerance={program.tolerance}{schedule})
'''
    if judge.fast:
        test = f'''
def test_{name}():
    judge = Judge(rules={tuple(rules)!r}, fast={judge.fast!r})
    (found,) = judge.judge(of("{name}", lambda: SOURCE, ARGUMENTS, {program.grid}), ["{verdict.target}"])
    assert found.found == "ok", found.reason
'''
    return f'''"""Found by `tilesat fuzz` in {program.name}, for {verdict.target}: {_quoted(verdict.reason)}"""

import numpy as np  # noqa: F401
from numpy import inf, nan  # noqa: F401

from tilesat.fuzz.judge import Judge  # noqa: F401
from tilesat.fuzz.program import of, random  # noqa: F401

SOURCE = """
{_quoted(str(program.source()).strip())}
"""
ARGUMENTS = [
{arguments}]

{test}'''


def argument(given: object) -> str:
    """An argument as Python: random numbers by their seed, an array by its elements, a number."""
    if isinstance(given, Random):
        return str(given)
    if is_numpy(given):
        return f'np.array({given.tolist()}, "{given.dtype}")'
    return repr(given)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')

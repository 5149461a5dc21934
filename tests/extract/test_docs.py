"""The Python example of docs/extraction.md runs."""

import pathlib
import re

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "extraction.md"


def test_the_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})

"""Pipelines as text: `a,b{option=1 other=x,y},c(d,e)`, in the form of MLIR's pass pipelines.

Options are in braces, separated by spaces; the passes inside another one are in parentheses. Values with spaces, commas
apart, or braces are in double quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from ir.core import Location, ParseError, VerifyError
from lowering.passes.registry import Pass, Step
from lowering.passes.table import PASSES

WHERE = "<passes>"
"""The file name in messages about a pipeline."""
_NAME = re.compile(r"[a-zA-Z][\w-]*")
_VALUE = re.compile(r'"[^"]*"|[^\s{}"]*')


def parse(text: str) -> tuple[Step, ...]:
    """The steps of a pipeline, none for empty text.

    Raises ParseError, at a column, for unknown passes and options and for bad values.
    """
    if not text.strip():
        return ()
    reader = _Reader(text)
    steps = reader.steps()
    if reader.at < len(text):
        reader.fail(f"unexpected {text[reader.at]!r}", "separate passes with commas: a,b{option=1},c(d,e)")
    return steps


def show(steps: Sequence[Step]) -> str:
    """The pipeline as `parse` reads it."""
    return ",".join(map(_step, steps))


def _step(step: Step) -> str:
    given = [f"{name}={_value(step.work, name, value)}" for name, value in step.given]
    options = f"{{{' '.join(given)}}}" if given else ""
    return step.work.name + options + (f"({show(step.inner)})" if step.work.around else "")


def _value(work: Pass, name: str, value: Any) -> str:
    option = work.option(name)
    text = option.text(value) if option is not None else str(value)
    return f'"{text}"' if re.search(r"[\s{}]", text) or not text else text


class _Reader:
    def __init__(self, text: str):
        self.text = text
        self.at = 0

    def fail(self, message: str, hint: str = "", at: int | None = None) -> NoReturn:
        raise ParseError(message, Location(WHERE, 1, (self.at if at is None else at) + 1), hint)

    def skip(self) -> None:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1

    def take(self, mark: str) -> bool:
        """Is this the next character? If so, consume it."""
        self.skip()
        found = self.text.startswith(mark, self.at)
        self.at += found
        return found

    def steps(self) -> tuple[Step, ...]:
        found = [self.step()]
        while self.take(","):
            found.append(self.step())
        return tuple(found)

    def step(self) -> Step:
        start, name = self.name("a pass")
        work = PASSES.get(name)
        if work is None:
            from difflib import get_close_matches  # for errors only

            close = get_close_matches(name, PASSES)
            hint = f"did you mean {' or '.join(close)}?" if close else "`tilesat passes` lists them"
            self.fail(f"there is no pass {name!r}", hint, start)
        given = tuple(self.options(work)) if self.take("{") else ()
        inner: tuple[Step, ...] = ()
        if self.take("("):
            if not work.around:
                self.fail(f"{name!r} has no passes inside it", at=start)
            inner = self.steps()
            if not self.take(")"):
                self.fail("expected ')'")
        elif work.around:
            self.fail(f"{name!r} needs passes inside it", f"write {name}(a,b,c)", start)
        return Step(work, given, inner, start + 1)

    def name(self, what: str) -> tuple[int, str]:
        self.skip()
        match = _NAME.match(self.text, self.at)
        if match is None:
            found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
            self.fail(f"expected the name of {what}, got {found}")
        start, self.at = self.at, match.end()
        return start, match[0]

    def options(self, work: Pass) -> Iterator[tuple[str, Any]]:
        seen: set[str] = set()
        while not self.take("}"):
            start, name = self.name("an option")
            option = work.option(name)
            if option is None:
                has = ", ".join(each.name for each in work.options) or "none"
                self.fail(f"{work.name!r} has no option {name!r}", f"its options: {has}", start)
            if name in seen:
                self.fail(f"option {name!r} is given twice", at=start)
            seen.add(name)
            text = "true"
            if self.take("=") or option.kind != "flag":
                match = _VALUE.match(self.text, self.at)
                text = match[0] if match else ""
                self.at += len(text)
            try:
                value = option.read(text.strip('"'))
            except ValueError as error:
                wanted = str(error) if str(error).startswith("expected") else "expected a number"
                self.fail(f"option {name!r} of {work.name!r}: {wanted}, got {text!r}", at=start)
            option.refuse(value)
            yield name, value


def check_levels(steps: Sequence[Step], level: str) -> str:
    """The level that a pipeline ends at. Raises VerifyError, at the column of a pass that does not take the level that
    its program has there.
    """
    for step in steps:
        if step.work.takes != level:
            raise VerifyError(
                f"{step.work.name!r} takes {step.work.takes}, but the program here is {level}",
                Location(WHERE, 1, step.column), _way(level, step.work.takes),
            )  # fmt: skip
        inside = check_levels(step.inner, level) if step.inner else step.work.gives
        if inside != step.work.gives:
            raise VerifyError(
                f"the passes inside {step.work.name!r} end at {inside}, not at {step.work.gives}",
                Location(WHERE, 1, step.column),
                _way(inside, step.work.gives),
            )
        level = step.work.gives
    return level


def _way(start: str, end: str) -> str:
    """The hint for a program at a level that needs another."""
    ways: dict[str, list[str]] = {start: []}
    waiting = [start]
    for level in waiting:
        for each in PASSES.values():
            if each.takes == level and each.gives not in ways and not each.around:
                ways[each.gives] = [*ways[level], each.name]
                waiting.append(each.gives)
    if end in ways:
        return f"passes that lead from {start} to {end}: {','.join(ways[end])}"
    return f"no passes lead from {start} back to {end}"


def names(steps: Sequence[Step]) -> Iterator[str]:
    """The names of all passes of a pipeline, including inner ones."""
    for step in steps:
        yield step.work.name
        yield from names(step.inner)


def until(steps: Sequence[Step], name: str) -> tuple[Step, ...]:
    """The pipeline up to pass `name`, and with it. If it is inside another pass, the inner passes before it remain
    without their enclosing pass.

    Raises VerifyError if the pipeline does not have it.
    """
    kept: list[Step] = []
    for step in steps:
        if step.work.name == name or (step.inner and step.inner[-1].work.name == name):
            return (*kept, step)
        if name in names(step.inner):
            return (*kept, *until(step.inner, name))
        kept.append(step)
    raise VerifyError(f"the pipeline has no pass {name!r}", hint=f"its passes: {','.join(names(steps))}")


def since(steps: Sequence[Step], level: str) -> tuple[Step, ...]:
    """The rest of a pipeline for a program of a level: everything after the last pass that produces the level and may
    not run again. Inner passes count if the level is inside.
    """
    flat: list[Step] = []
    for step in steps:
        inside = step.inner and level not in (step.work.takes, step.work.gives)
        flat += step.inner if inside and any(level == each.work.gives for each in step.inner) else (step,)
    made = [place for place, step in enumerate(flat) if step.work.gives == level and not step.work.again]
    if not made and level != flat[0].work.takes:
        raise VerifyError(f"the pipeline does not reach {level}", hint=f"it has {show(steps)}")
    if level == flat[0].work.takes:
        return tuple(flat)
    return tuple(flat[made[-1] + 1 :])


def with_pass(steps: Sequence[Step], name: str, before: str) -> tuple[Step, ...]:
    """The pipeline with one more pass before the pass `before`, which must be at top level."""
    return tuple(each for step in steps for each in ((*parse(name), step) if step.work.name == before else (step,)))


def with_options(steps: Sequence[Step], name: str, **values: Any) -> tuple[Step, ...]:
    """The pipeline with options given to every pass of a name."""
    given = (step.given_also(**values) if step.work.name == name else step for step in steps)
    return tuple(
        replace(step, inner=with_options(step.inner, name, **values)) if step.inner else step for step in given
    )

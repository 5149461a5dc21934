"""Steps that compute each lane's registers from the same lane's registers, for all lanes or for a group's box.

For a group such a step is bound once to views of its registers and then called without arguments.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np

from ptxsim.groups import Group
from ptxsim.ptx_types import Array

Bound: TypeAlias = Callable[[], object]


class Pointwise:
    """destination = compute(*sources), lane by lane; a lane may have several entries, the same number in every array.

    writes: compute(*sources, destination) stores its result itself, after reading its sources, and works on arrays of
    any shape; otherwise it gets one-dimensional arrays and returns the result, which is cast. It must not use anything
    else that has lanes.
    """

    def __init__(self, destination: Array, compute: Callable[..., Any], sources: Sequence[Array], writes: bool) -> None:
        self._destination = destination
        self._compute = compute
        self._sources = tuple(sources)
        self._writes = writes
        self._scratch: Array | None = None

    def __call__(self, mask: Array | None) -> None:
        """Execute for all lanes, or those of a mask."""
        if mask is None:
            if self._writes:
                self._compute(*self._sources, self._destination)
            else:
                np.copyto(self._destination, self._compute(*self._sources), casting="unsafe")
        elif self._writes:
            if self._scratch is None:
                self._scratch = np.empty(self._destination.shape, self._destination.dtype)
            self._compute(*self._sources, self._scratch)
            np.putmask(self._destination, mask, self._scratch)
        else:
            result = self._compute(*self._sources)
            np.putmask(self._destination, mask, result.astype(self._destination.dtype, copy=False))

    def whole(self) -> Bound:
        """The step bound to all lanes."""
        if self._writes:
            return partial(self._compute, *self._sources, self._destination)
        return partial(self, None)

    def bind(self, group: Group, where: Callable[[], Array | None] | None = None) -> Bound:
        """The step bound to a group's box; where: its lanes that count, queried each time (None: the group's own)."""
        target = group.view(self._destination)
        run, store = self._direct(group, target) if self._writes else self._gathered(group, target)
        if where is None and group.where is None:
            return run
        asked = where or partial(_same, group.where)

        def chosen() -> None:
            lanes = asked()
            if lanes is None:
                run()
            else:
                store(lanes)

        return chosen

    def _direct(self, group: Group, target: Array) -> tuple[Bound, Callable[[Array], None]]:
        compute, views = self._compute, [group.source(array) for array in self._sources]
        run = partial(compute, *views, target)

        def store(lanes: Array) -> None:
            scratch = group.buffer(-1, target.shape, target.dtype)
            compute(*views, scratch)
            np.copyto(target, scratch, where=lanes)

        return run, store

    def _gathered(self, group: Group, target: Array) -> tuple[Bound, Callable[[Array], None]]:
        compute = self._compute
        moves: list[tuple[Array, Array]] = []
        arrays: list[Array] = []
        for number, array in enumerate(self._sources):
            view = group.source(array)
            if view.flags.c_contiguous:
                arrays.append(view.reshape(-1))
            else:
                buffer = group.buffer(number, view.shape, view.dtype)
                moves.append((buffer, view))
                arrays.append(buffer.reshape(-1))

        def run() -> None:
            for buffer, view in moves:
                np.copyto(buffer, view)
            np.copyto(target, compute(*arrays).reshape(target.shape), casting="unsafe")

        def store(lanes: Array) -> None:
            for buffer, view in moves:
                np.copyto(buffer, view)
            np.copyto(target, compute(*arrays).reshape(target.shape), where=lanes, casting="unsafe")

        return run, store


def _same(lanes: Array | None) -> Array | None:
    return lanes


class Several:
    """A sequence of pointwise steps, none of which changes the sources of a later one."""

    def __init__(self, steps: Sequence[Pointwise]) -> None:
        self._steps = tuple(steps)

    def __call__(self, mask: Array | None) -> None:
        """Execute for all lanes, or those of a mask."""
        for step in self._steps:
            step(mask)

    def whole(self) -> Bound:
        """The steps bound to all lanes."""
        return partial(_each, [step.whole() for step in self._steps])

    def bind(self, group: Group, where: Callable[[], Array | None] | None = None) -> Bound:
        """The steps bound to a group's box."""
        if where is None:
            return partial(_each, [step.bind(group) for step in self._steps])
        found: list[Array | None] = [None]
        runs = [step.bind(group, lambda: found[0]) for step in self._steps]

        def run() -> None:
            found[0] = where()
            _each(runs)

        return run


def _each(runs: Sequence[Bound]) -> None:
    for run in runs:
        run()


class Guarded:
    """A pointwise step on the lanes whose guard holds."""

    def __init__(self, step: "Pointwise | Several", values: Array, negated: bool) -> None:
        self._step, self._values, self._negated = step, values, negated

    def __call__(self, mask: Array | None) -> None:
        """Execute for all lanes, or those of a mask, where the guard holds."""
        values = ~self._values if self._negated else self._values
        self._step(values if mask is None else values & mask)

    def whole(self) -> Bound:
        """The step bound to all lanes."""
        return partial(self, None)

    def bind(self, group: Group, where: None = None) -> Bound:
        """The step bound to a group's box."""
        values, negated, own = group.view(self._values), self._negated, group.where

        def lanes() -> Array | None:
            chosen = ~values if negated else values
            if own is not None:
                return chosen & own
            return None if chosen.all() else chosen

        return self._step.bind(group, lanes)


class LaneCheck(Protocol):
    """A check of lanes, with its records, before their step."""

    def __call__(self, mask: Array | None) -> None:
        """Check all lanes, or those of a mask."""
        ...

    def bind(self, group: Group | None) -> Bound:
        """The check bound to a group, None: to all lanes."""
        ...


class Checked:
    """A step preceded by a check of its lanes."""

    def __init__(self, check: LaneCheck, step: Callable[[Array | None], None]) -> None:
        self._check, self._step = check, step

    def __call__(self, mask: Array | None) -> None:
        """Execute for all lanes, or those of a mask."""
        self._check(mask)
        self._step(mask)

    def whole(self) -> Bound:
        """The step bound to all lanes."""
        step = self._step.whole() if isinstance(self._step, LaneStep) else partial(self._step, None)
        return partial(_each, [self._check.bind(None), step])

    def bind(self, group: Group) -> Bound:
        """The step bound to a group's box."""
        step = self._step.bind(group) if isinstance(self._step, LaneStep) else partial(self._step, group.mask)
        return partial(_each, [self._check.bind(group), step])


LaneStep: TypeAlias = Pointwise | Several | Guarded | Checked

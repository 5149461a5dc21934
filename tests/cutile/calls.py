"""Calls of operators with small arguments, and what PyTorch computes for them: what the rows of the tables are made of.

An argument is a number, or a `Given`: a tensor made when the call runs, of random values with a seed of its own.
References see floats as f32, so that what is compared is the operator's own rounding.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from benchmarks.corpus.calls import operator, tensors

TOLERANCES = {torch.float32: 2e-4, torch.float16: 4e-3, torch.bfloat16: 2e-2, torch.float8_e4m3fn: 0.13}
"""Of |found - expected| / max(1, |expected|), by the type of the result: some units in its last place after sums."""
NO_F8 = {"sm_80": "cuTile 1.7.0 has no 8-bit floats on sm_80"}
NO_F4 = {**NO_F8, "sm_90a": "cuTile 1.7.0 has 4-bit floats from sm_100 on"}


@dataclass(frozen=True)
class Given:
    """A tensor of some type and shape; `made` gives its values from a generator, by default normal ones."""

    kind: str
    shape: tuple[int, ...]
    made: Callable[[torch.Generator], torch.Tensor] | None = None
    scale: float = 1.0

    def tensor(self, seed: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(seed)
        made = torch.randn(self.shape, generator=generator) * self.scale if self.made is None else self.made(generator)
        return made.to(getattr(torch, self.kind))

    def __str__(self) -> str:
        short = (
            self.kind.replace("bfloat", "bf").replace("float8_e4m3fn", "f8").replace("float", "f").replace("int", "i")
        )
        return f"{short}[{','.join(map(str, self.shape))}]"


def _given(kind: str, *shape: int, scale: float = 1.0) -> Given:
    return Given(kind, shape, None, scale)


f32, f16, bf16, f8 = (partial(_given, kind) for kind in ("float32", "float16", "bfloat16", "float8_e4m3fn"))


def uniform(kind: str, low: float, high: float, *shape: int) -> Given:
    """Values between two bounds."""
    return Given(kind, shape, lambda g: torch.rand(shape, generator=g) * (high - low) + low)


def halves(kind: str, *shape: int) -> Given:
    """Values from -1 to 1, twice the same half along the last dimension."""
    half = (*shape[:-1], shape[-1] // 2)
    return Given(kind, shape, lambda g: (torch.rand(half, generator=g) * 2 - 1).repeat(*[1] * (len(shape) - 1), 2))


def below(bound: int, *shape: int, kind: str = "int64") -> Given:
    """Integers from 0 to a bound, which is not one of them."""
    return Given(kind, shape, lambda g: torch.randint(0, bound, shape, generator=g))


def permuted(bound: int, *shape: int) -> Given:
    """All integers below a bound along a last dimension, in another order each time."""
    rows = math.prod(shape)
    return Given("int32", (*shape, bound), lambda g: torch.stack(
        [torch.randperm(bound, generator=g) for _ in range(rows)]).reshape(*shape, bound))  # fmt: skip


def fixed(kind: str, *values: Any) -> Given:
    """These values."""
    tensor = torch.tensor(values)
    return Given(kind, tuple(tensor.shape), lambda _: tensor)


def logs(*shape: int, kind: str = "float32") -> Given:
    """Logarithms of distributions along the last dimension."""
    return Given(kind, shape, lambda g: torch.randn(shape, generator=g).log_softmax(-1))


def shares(*shape: int, kind: str = "float32") -> Given:
    """Distributions along the last dimension."""
    return Given(kind, shape, lambda g: torch.randn(shape, generator=g).softmax(-1))


def empty(kind: str, *shape: int) -> Given:
    """Zeros, for what an operator writes."""
    return Given(kind, shape, lambda _: torch.zeros(shape))


@dataclass(frozen=True)
class Call:
    """One call: the operator's name below tilegym, its arguments, and what PyTorch computes from them.

    `gradients`: arguments of which gradients are compared too; `writes`: arguments that are compared, in place of a
    result. `tolerance`: by default that of the results' types. `refused`: why the call does not pass, by target or,
    under "", on all.
    """

    operator: str
    expected: Callable[..., Any]
    arguments: dict[str, Any]
    gradients: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    tolerance: float | None = None
    refused: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """The operator, its first argument, and whether gradients are computed."""
        first = next(each for value in self.arguments.values() for each in _items(value) if isinstance(each, Given))
        return f"{self.operator.removeprefix('ops.cutile.')}-{first}{'-backward' if self.gradients else ''}"

    def made(self) -> dict[str, Any]:
        """The arguments, the same ones each time."""
        seeds = iter(range(1000))
        return {name: _made(value, seeds) for name, value in self.arguments.items()}

    def run(self) -> list[torch.Tensor]:
        """What the operator returns or writes, and the gradients."""
        arguments = self.made()
        for name in self.gradients:
            arguments[name].requires_grad_()
        found = operator(self.operator)(**arguments)
        outputs = [arguments[name] for name in self.writes] if self.writes else tensors(found)
        return [*outputs, *_gradients(outputs, [arguments[name] for name in self.gradients])]

    def reference(self) -> list[torch.Tensor]:
        """What PyTorch computes."""
        wide = {name: _wide(value) for name, value in self.made().items()}
        for name in self.gradients:
            wide[name].requires_grad_()
        taken = inspect.signature(self.expected).parameters
        outputs = tensors(self.expected(**{name: value for name, value in wide.items() if name in taken}))
        return [*outputs, *_gradients(outputs, [wide[name] for name in self.gradients])]


def call(
    operator: str, expected: Callable[..., Any], *, gradients: str = "", writes: str = "",
    tolerance: float | None = None, refused: dict[str, str] | None = None, **arguments: Any,
) -> Call:  # fmt: skip
    """A row of a table; names of arguments are divided by spaces."""
    return Call(
        operator, expected, arguments, tuple(gradients.split()), tuple(writes.split()), tolerance, refused or {}
    )


def largest_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Of |found - expected| / max(1, |expected|); equal infinities are equal."""
    assert found.shape == expected.shape, f"{tuple(found.shape)} is not {tuple(expected.shape)}"
    f, e = found.detach().double(), expected.detach().double()
    error = torch.where(f == e, 0.0, (f - e).abs() / e.abs().clamp(min=1))
    return float(error.nan_to_num(nan=float("inf")).max()) if error.numel() else 0.0


def _gradients(outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """Gradients of the inputs, for weights of the outputs that are the same in every run."""
    if not inputs:
        return []
    generator = torch.Generator().manual_seed(77)
    weights = [torch.randn(each.shape, generator=generator).to(each.dtype) for each in outputs]
    pairs = [(each, weight) for each, weight in zip(outputs, weights, strict=True) if each.requires_grad]
    torch.autograd.backward([each for each, _ in pairs], [weight for _, weight in pairs])
    return [each.grad for each in inputs]  # pyright: ignore[reportReturnType]


def _made(value: Any, seeds: Iterator[int]) -> Any:
    if isinstance(value, list):
        return [_made(each, seeds) for each in value]
    return value.tensor(next(seeds)) if isinstance(value, Given) else value


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _wide(value: Any) -> Any:
    if isinstance(value, list):
        return [_wide(each) for each in value]
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value

"""Calls of the operators of the package tilegym: operator, shapes and types of its arguments.

One row per path through an operator: forward, or `backward=True` for forward and gradients. Shapes and types are those
of a small model or of the package's own tests, chosen so that each row launches kernels that no other does. A `Tensor`
is a fake one.
"""

# Packages of another environment, or of an extra.
# pyright: reportMissingImports=false

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch


@dataclass(frozen=True)
class Tensor:
    """A fake tensor; contiguous unless strides (in elements) are named."""

    kind: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    grad: bool = False

    def make(self) -> torch.Tensor:
        kind = getattr(torch, self.kind)
        made = (
            torch.empty(self.shape, dtype=kind, device="cuda")
            if self.strides is None
            else torch.empty_strided(self.shape, self.strides, dtype=kind, device="cuda")
        )
        return made.requires_grad_() if self.grad else made


@dataclass(frozen=True)
class Type:
    """A PyTorch type as an argument."""

    name: str


@dataclass(frozen=True)
class Call:
    """One call: the operator's name below tilegym, its arguments, whether gradients are computed too."""

    operator: str
    arguments: dict[str, Any] = field(default_factory=dict)
    backward: bool = False

    def run(self) -> None:
        """Call it on fake tensors."""
        found = operator(self.operator)(**{key: _made(value) for key, value in self.arguments.items()})
        if self.backward:
            outputs = [each for each in tensors(found) if each.requires_grad]
            torch.autograd.backward(outputs, [torch.empty_like(each) for each in outputs])


def operator(name: str) -> Callable[..., Any]:
    """An operator by its name below tilegym."""
    module, _, function = name.rpartition(".")
    if module.startswith("transformers."):  # the package around them imports every model; the kernels need none
        _without_models()
    return getattr(importlib.import_module(f"tilegym.{module}"), function)


def _without_models() -> None:
    """Packages tilegym.transformers.* whose own code is not run."""
    import tilegym

    package = Path(tilegym.__path__[0])
    for folder in (package / "transformers").glob("**/"):
        name = ".".join(("tilegym", *folder.relative_to(package).parts))
        if name not in sys.modules:
            sys.modules[name] = ModuleType(name)
            sys.modules[name].__path__ = [str(folder)]


def _made(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.make()
    if isinstance(value, Type):
        return getattr(torch, value.name)
    return [_made(each) for each in value] if isinstance(value, list) else value


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors of a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [each for part in value for each in tensors(part)] if isinstance(value, (tuple, list)) else []


def call(operator: str, *, backward: bool = False, **arguments: Any) -> Call:
    return Call(operator, arguments, backward)


def _tensor(kind: str, *shape: int, strides: tuple[int, ...] | None = None, grad: bool = False) -> Tensor:
    return Tensor(kind, shape, strides, grad)


f32 = partial(_tensor, "float32")
f16 = partial(_tensor, "float16")
bf16 = partial(_tensor, "bfloat16")
f8 = partial(_tensor, "float8_e4m3fn")
i32 = partial(_tensor, "int32")
i64 = partial(_tensor, "int64")

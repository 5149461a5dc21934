"""`tilesat.torch_op`: a function that launches kernels as an operator of PyTorch, which graphs of torch.compile keep.

@tilesat.torch_op("mine::scale")
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    y = torch.empty_like(x)
    scale[x.numel() // 64](x, y, factor, n=64)
    return y
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import ParamSpec, Protocol, TypeVar

from ir.core import TileError
from tilesat import given

P = ParamSpec("P")
Result = TypeVar("Result")


class Operator(Protocol[P, Result]):
    """An operator of PyTorch (`torch.library.CustomOpDef`)."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result:
        """As the function that it is made of."""
        ...

    def register_fake(self, function: Callable[P, Result], /) -> object:
        """What gives the sizes and types of its results."""
        ...

    def register_autograd(self, backward: Callable[..., object], /, **more: object) -> object:
        """What computes its gradient."""
        ...

    def register_vmap(self, function: Callable[..., object], /) -> object:
        """What applies it to a batch."""
        ...


def torch_op(name: str, *, mutates: Iterable[str] = ()) -> Callable[[Callable[P, Result]], Operator[P, Result]]:
    """A decorator that makes a function an operator called `name`, such as "mine::scale" (`torch.library.custom_op`).

    The function allocates what it returns by PyTorch and launches kernels of `tilesat.jit` or `tilesat.compile` as
    `kernel[grid](...)`. The same function says of which types and sizes its results are: called with fake tensors, its
    launches do nothing. `mutates`: parameters that it writes; results may not be among its parameters. Its annotations
    are the operator's schema. What is returned takes `register_autograd` and `register_vmap`.
    Raises TileError where PyTorch is missing, or older than 2.4, which has no such operators.
    """
    written = given.names("mutates", mutates)
    try:
        custom_op = import_module("torch.library").custom_op
    except (ImportError, AttributeError):
        message = "operators of PyTorch need the package torch, 2.4 or later"
        raise TileError(message, hint="pip install 'tilesat[torch]'") from None

    def operator(function: Callable[P, Result]) -> Operator[P, Result]:
        made: Operator[P, Result] = custom_op(name, function, mutates_args=written)
        made.register_fake(function)
        return made

    return operator

"""An absent GPU: programs of PyTorch and cuTile run on fake tensors, and their launches are recorded.

Runs in the environment of the corpus (PyTorch, cuda-tile, the package being measured). A fake tensor has a shape,
strides and a type, no storage; `cuda.tile.launch` records the kernel and what cuTile would specialise it for.
"""

# Packages of another environment, or of an extra.
# pyright: reportMissingImports=false

from __future__ import annotations

import dataclasses
import gc
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cuda.tile as ct
import torch
from cuda.tile import _cext, _execution, tune
from torch._subclasses import fake_impls, fake_tensor
from torch.overrides import TorchFunctionMode

from tilesat.arrays import NAMES, View
from tilesat.card import always, card_functions
from tilesat.cutile import under_a_convention
from tilesat.specialise import constraints_of, specialised

CARD = torch.device("cuda", 0)
ALIGNMENT = 256
"""Bytes that PyTorch's CUDA allocator aligns to."""
UNKNOWN = 1
"""The value of numbers that only the card would know, such as the length of a sequence."""


@dataclasses.dataclass(frozen=True)
class Launch:
    """One launch: the kernel (a cuda.tile.kernel) and its KernelSignature."""

    kernel: Any
    signature: Any

    @property
    def name(self) -> str:
        return str(self.kernel._annotated_function.pyfunc.__qualname__)

    @property
    def file(self) -> Path:
        return Path(inspect.getsourcefile(self.kernel._annotated_function.pyfunc) or "unknown")


@contextmanager
def fake_device(capability: tuple[int, int], record: Callable[[Launch], None]) -> Iterator[None]:
    """Within it PyTorch has one fake GPU of that compute capability, and launches go to `record`.

    Enter it before the programs are imported: they may bind `launch` by name.
    """

    def launch(_stream: Any, _grid: Any, kernel: Any, arguments: Sequence[Any], /, **_: Any) -> None:
        with fake_tensor.unset_fake_temporarily():
            record(Launch(kernel, signature(kernel, arguments)))

    ct.launch = launch
    tune.exhaustive_search = _search_for(launch)
    _patch_torch(capability)
    card = Card()
    backward = torch.autograd._engine_run_backward

    def run_backward(*args: Any, **kwargs: Any) -> Any:
        with card:  # gradients defined by the programs are their own code again
            return backward(*args, **kwargs)

    torch.autograd._engine_run_backward = run_backward
    with fake_tensor.FakeTensorMode(allow_non_fake_inputs=True), card:
        yield


class Card(TorchFunctionMode):
    """Tensors of the CPU that claim to be on the card: a PyTorch without CUDA has no gradients on any other device."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__self__", None) is torch.Tensor.is_cuda:
            return True
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.data_ptr:
            return ALIGNMENT + args[0].storage_offset() * args[0].element_size()
        kwargs = {name: _on_cpu(value) for name, value in (kwargs or {}).items() if name != "generator"}
        return func(*(_on_cpu(value) for value in args), **kwargs)


class Generator(torch.Generator):
    """A generator that can be requested on the card."""

    def __new__(cls, device: Any = None) -> Any:
        return super().__new__(cls)


def _on_cpu(value: Any) -> Any:
    """An argument, with the card replaced by the CPU."""
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    return "cpu" if isinstance(value, str) and value.startswith("cuda") else value


def _search_for(launch: Callable[..., None]) -> Callable[..., Any]:
    """An autotuner that takes the first configuration whose kernel can be created."""

    def exhaustive_search(
        space: Any, stream: Any, grid_fn: Any, kernel: Any, args_fn: Any, hints_fn: Any = None, **_: Any
    ) -> Any:
        failures: list[Any] = []
        for config in space:
            try:
                chosen = kernel(config) if not isinstance(kernel, ct.kernel) else kernel
                if hints_fn is not None:
                    chosen = chosen.replace_hints(**hints_fn(config))
                launch(stream, grid_fn(config), chosen, args_fn(config))
            except (TypeError, ValueError) as error:
                failures.append((config, type(error), str(error)))
                continue
            best = tune.Measurement(config=config, mean_us=1.0, num_samples=1, error_margin_us=0.0)
            return tune.TuningResult(best=best, successes=[best], failures=failures)
        raise ValueError(f"no configuration of {failures}")

    return exhaustive_search


def _patch_torch(capability: tuple[int, int]) -> None:
    """A card in torch.cuda, with the numbers that only it would know."""
    gc.collect = lambda *_: 0  # programs call it to free the card's memory; it takes 0.6 s per call here
    nothing = dict.fromkeys(("manual_seed", "manual_seed_all"), always(None))
    for name, function in {**card_functions(capability), **nothing}.items():
        setattr(torch.cuda, name, function)
    aten = torch.ops.aten
    fake_impls.op_implementations_dict[aten.bincount.default] = _bincount
    torch.Generator = Generator
    plain = fake_tensor.FakeTensor.device
    # Programs see the card; PyTorch's own code, which runs outside of the mode, the CPU.
    in_program = torch._C._len_torch_function_stack
    fake_tensor.FakeTensor.device = property(lambda self: CARD if in_program() else plain.__get__(self), plain.__set__)
    _cext.get_compute_capability = lambda *_: capability
    _execution.get_compute_capability = lambda *_: capability
    fake_impls.op_implementations_dict[aten.equal.default] = lambda *_: True
    fake_impls.op_implementations_dict[aten._local_scalar_dense.default] = lambda _mode, _func, tensor: _known(tensor)


def _bincount(mode: Any, _func: Any, tensor: Any, weights: Any = None, minlength: int = 0) -> Any:
    with mode:
        return torch.empty(max(minlength, UNKNOWN), dtype=torch.int64 if weights is None else weights.dtype)


def _known(tensor: Any) -> Any:
    if tensor.dtype == torch.bool:
        return True
    return float(UNKNOWN) if tensor.dtype.is_floating_point else UNKNOWN


# What cuTile specialises a kernel for


def signature(kernel: Any, arguments: Sequence[Any]) -> Any:
    """The KernelSignature that cuTile's launch would compile for."""
    function = kernel._annotated_function
    names = list(function.pysig.parameters)
    if len(names) != len(arguments):
        raise TypeError(f"{function.pyfunc.__name__} takes {len(names)} arguments, got {len(arguments)}")
    calling = specialised(kernel, {name: _seen(value) for name, value in zip(names, arguments, strict=True)})
    return under_a_convention(constraints_of(calling), calling.kernel)


def _seen(value: Any) -> Any:
    """An argument as `tilesat.specialise` takes it: fake tensors have an address, though no memory."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_seen, value))
    if isinstance(value, torch.Tensor):
        kind = NAMES[str(value.dtype).removeprefix("torch.")]
        return View(kind, tuple(value.shape), tuple(value.stride()), value.data_ptr())
    return dtype(value) if isinstance(value, torch.dtype) else value


def dtype(kind: torch.dtype) -> Any:
    """cuTile's name of a PyTorch type."""
    name = str(kind).removeprefix("torch.")
    return getattr(ct, {"bool": "bool_", "float8_e4m3fn": "float8_e4m3fn"}.get(name, name))

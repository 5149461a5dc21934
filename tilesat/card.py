"""An emulated GPU for PyTorch: tensors that a program puts on "cuda" stay on the host, but report that device.

Active only if PyTorch is loaded, or gets loaded inside; programs that use NumPy need none of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

from lowering.targets.devices import DEVICES, OTHERS


@contextmanager
def card(capability: tuple[int, int]) -> Generator[None]:
    """In this context PyTorch, if installed, has a GPU of this compute capability, with the host's memory."""
    if find_spec("torch") is None:
        yield
        return
    torch = import_module("torch")
    with ExitStack() as stack:
        for name, function in card_functions(capability).items():
            stack.enter_context(replaced(torch.cuda, name, function))
        stack.enter_context(_mode(torch))
        yield


def replaced(module: object, name: str, value: object) -> AbstractContextManager[object]:
    """Within it a name of a module is another thing."""
    return patch.object(module, name, value)


def as_it_is() -> AbstractContextManager[object]:
    """A context in which PyTorch's tensors report their real device."""
    torch = sys.modules.get("torch")
    return nullcontext() if torch is None else torch._C.DisableTorchFunction()


def _mode(torch: ModuleType) -> AbstractContextManager[object]:
    """The mode in which the card is the host."""

    def on_host(value: object) -> object:
        if isinstance(value, torch.device) and getattr(value, "type", "") == "cuda":
            return torch.device("cpu")
        return "cpu" if isinstance(value, str) and value.split(":")[0] == "cuda" else value

    class Card(torch.overrides.TorchFunctionMode):
        """Redirects GPU queries to the host."""

        def __torch_function__(
            self,
            func: Callable[..., object],
            types: object,
            args: Sequence[object] = (),
            kwargs: dict[str, object] | None = None,
        ) -> object:
            if getattr(func, "__self__", None) is torch.Tensor.is_cuda:
                return True
            if func is torch.Tensor.cuda:
                return args[0]
            named = {name: on_host(value) for name, value in (kwargs or {}).items()}
            return func(*map(on_host, args), **named)

    return Card()


def card_functions(capability: tuple[int, int]) -> dict[str, object]:
    """Of torch.cuda, those that ask for the card, and their answers."""
    properties = SimpleNamespace(
        name=f"simulated sm_{capability[0]}{capability[1]}",
        major=capability[0],
        minor=capability[1],
        multi_processor_count=DEVICES.get(capability, OTHERS).multiprocessors,
        total_memory=80 << 30,
        L2_cache_size=50 << 20,
        shared_memory_per_block_optin=(99 if capability[0] == 12 else 163) << 10,
        warp_size=32,
        max_threads_per_multi_processor=2048,
    )
    stream = SimpleNamespace(cuda_stream=0, synchronize=lambda: None, wait_stream=lambda _: None)  # pyright: ignore[reportUnknownLambdaType]
    constant: dict[str, object] = {
        "is_available": True, "device_count": 1, "current_device": 0, "is_initialized": True,
        "get_device_capability": capability, "get_device_properties": properties, "get_device_name": properties.name,
        "current_stream": stream, "default_stream": stream, "synchronize": None, "empty_cache": None,
        "set_device": None, "is_bf16_supported": True, "mem_get_info": (80 << 30, 80 << 30),
    }  # fmt: skip
    found: dict[str, object] = {name: always(answer) for name, answer in constant.items()}
    return {**found, "Event": Event, "Stream": always(stream)}


class Event:
    """An event of torch.cuda; nothing is timed, so that what programs divide by is one millisecond."""

    def __init__(self, *_: object, **__: object):
        pass

    def record(self, *_: object) -> None:
        """Nothing runs behind the program's back."""

    wait = synchronize = record

    def query(self) -> bool:
        """All that was launched has ended."""
        return True

    def elapsed_time(self, _: Event) -> float:
        """Milliseconds, which are made up."""
        return 1.0


def always(answer: object) -> Callable[..., object]:
    """A function that answers the same to all."""

    def always_so(*_: object, **__: object) -> object:
        return answer

    return always_so

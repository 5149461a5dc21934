"""A kernel out of the cache: its PTX at once, all else by reading its source, or by compiling it after all."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

from tilesat.kernel import Kernel

if TYPE_CHECKING:
    from tilesat.calling import Calling

TEXT = "<text>"
"""The name of a source that is not a file."""
KEPT = ("ptx", "manifest", "cost", "bound", "limits", "persistent", "minctas", "lacking")
"""Of `lowering.compiled.Compiled`."""


class CachedKernel(TypedDict):
    """What the cache keeps of a kernel: its source in base 64, and what is `KEPT` of its compilation."""

    source: str
    name: str
    entry: str | None
    warned: list[str]
    seconds: dict[str, float]
    compiled: dict[str, object]


def record_of(kernel: Kernel, source: bytes, name: str, entry: str | None, warned: list[str]) -> CachedKernel:
    """What the cache keeps of a kernel: plain data. `warned`: what the user was warned of."""
    kept = {field: getattr(kernel.compiled, field) for field in KEPT}
    return {
        "source": b64encode(source).decode(),
        "name": name,
        "entry": entry,
        "warned": warned,
        "seconds": kernel.seconds,
        "compiled": kept,
    }


class RecalledKernel(Kernel):
    """A kernel that another process may have compiled."""

    def __init__(self, record: CachedKernel, target: str, calling: Calling | None, again: Callable[[], Kernel]):
        """`again` compiles it for those who ask for what was not kept."""
        compiled = Recalled(record["compiled"], again)
        # Kernel is frozen: its fields are set here, once; those of the source when they are asked for
        self.__dict__.update(
            target=target, seconds=record["seconds"], calling=calling, compiled=compiled, record=record
        )

    def __getattr__(self, name: str) -> object:
        """The module and the entry, which are read at first use."""
        if name not in ("module", "entry"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        from tilesat.source import find_entry, read

        record: CachedKernel = self.__dict__["record"]
        data, text = b64decode(record["source"]), record["name"] == TEXT
        found = find_entry(read(data.decode() if text else data, {}, record["name"]), record["entry"])
        self.__dict__.update(module=found[0], entry=found[1])
        return self.__dict__[name]


class Recalled:
    """What is kept of a compilation, with the fields of `lowering.compiled.Compiled`."""

    def __init__(self, kept: dict[str, object], again: Callable[[], Kernel]):
        self.__dict__.update(kept, again=again)

    def __getattr__(self, name: str) -> object:
        """A field that was not kept."""
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__["whole"] = whole = self.__dict__.get("whole") or self.__dict__["again"]().compiled
        return getattr(whole, name)

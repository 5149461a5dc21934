"""How upstream MLIR spells an attribute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ir.records import dataclass


@dataclass(frozen=True)
class UpstreamForm:
    """Upstream's spelling of an attribute: its name (empty: ours), its text, and the way back (raises ValueError)."""

    name: str = ""
    write: Callable[[Any], str] | None = None
    read: Callable[[Any], Any] | None = None

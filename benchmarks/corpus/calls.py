"""Calls of the operators of the package tilegym: operator, shapes, types."""

from __future__ import annotations

CALLS: list[object] = []

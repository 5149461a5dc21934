"""Persistent kernels: a loop over tile blocks around a kernel, their order, and what that costs."""

from lowering.persistence.loop import already, persistent
from lowering.persistence.order import best_order

__all__ = ["already", "best_order", "persistent"]

"""Persistent kernels: a loop over tile blocks around a kernel, the order of tile blocks, and their cost."""

from lowering.persistence.loop import already, persistent
from lowering.persistence.order import best_order

__all__ = ["already", "best_order", "persistent"]

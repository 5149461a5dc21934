"""Scheduling: copies into rings of shared-memory stages, waits, barriers, and the placement of buffers."""

from lowering.schedule.lower import lower_pipelines
from lowering.schedule.pipelining import MemoryExceededError, materialize, schedule
from lowering.schedule.units import map_agents

__all__ = ["MemoryExceededError", "lower_pipelines", "map_agents", "materialize", "schedule"]

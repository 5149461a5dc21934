"""When things happen: copies into rings of shared-memory stages, waits, barriers, and where buffers lie."""

from lowering.schedule.pipelining import MemoryExceededError, materialize, schedule
from lowering.schedule.units import map_agents

__all__ = ["MemoryExceededError", "map_agents", "materialize", "schedule"]

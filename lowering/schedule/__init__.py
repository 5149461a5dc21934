"""When things happen: copies into rings of shared-memory stages, waits, barriers, and where buffers lie."""

from lowering.schedule.pipelining import MemoryExceededError, schedule

__all__ = ["MemoryExceededError", "schedule"]

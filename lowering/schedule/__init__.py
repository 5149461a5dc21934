"""When things happen: copies into rings of shared-memory stages, waits, barriers, and where buffers lie."""

from lowering.schedule.pipelining import schedule

__all__ = ["schedule"]

"""NVIDIA GB10 (compute capability 12.1): the instructions of 12.0 under a name of its own."""

from __future__ import annotations

from dataclasses import replace

from lowering.targets.sm120a import SM_120, SM_120A

SM_121A = replace(SM_120A, name="sm_121a")
SM_121F = replace(SM_121A, name="sm_121f")
SM_121 = replace(SM_120, name="sm_121")

"""The laboratory: experiments on saturation and extraction, to a table.

from tilesat import lab

ways = lab.grid(forbid=[(), ("ldmatrix",)], extractor=["auto", "greedy"])
table = lab.experiment("gemm.mlir", ["sm_80", "sm_90a"], ways)
print(table.to_markdown())
"""

from __future__ import annotations

from tilesat.lab.bench import Bench, Case, Run
from tilesat.lab.configuration import Configuration, grid
from tilesat.lab.experiment import experiment, sweep
from tilesat.lab.record import Record
from tilesat.lab.table import Table

__all__ = ["Bench", "Case", "Configuration", "Record", "Run", "Table", "experiment", "grid", "sweep"]

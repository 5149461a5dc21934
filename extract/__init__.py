"""extract: the cheapest program of an e-graph, with a lower bound.

Independent of GPUs, tiles and egglog; imports no other package of this project.
"""

from __future__ import annotations

from extract.answer import Answer, Moment, Report, check
from extract.budget import Budget
from extract.errors import CheckError, ExtractionError, GraphError, GraphWarning, InfeasibleError
from extract.graph import Graph, GraphBuilder
from extract.many import extract_many
from extract.methods import METHODS, Method, extract, top
from extract.own import CostFunction, Extractor, recosted
from extract.pursuit import Pursuit
from extract.session import Listener

__all__ = [
    "METHODS",
    "Answer",
    "Budget",
    "CheckError",
    "CostFunction",
    "ExtractionError",
    "Extractor",
    "Graph",
    "GraphBuilder",
    "GraphError",
    "GraphWarning",
    "InfeasibleError",
    "Listener",
    "Method",
    "Moment",
    "Pursuit",
    "Report",
    "check",
    "extract",
    "extract_many",
    "recosted",
    "top",
]

"""extract: the cheapest program of an e-graph, with a lower bound.

Independent of GPUs, tiles and egglog; imports no other package of this project.
"""

from __future__ import annotations

from extract.answer import Answer, Moment, Report, check
from extract.auto import Pursuit, auto
from extract.budget import Budget
from extract.errors import CheckError, ExtractionError, GraphError, GraphWarning, InfeasibleError
from extract.graph import Graph, GraphBuilder
from extract.greedy import greedy
from extract.ilp import ilp
from extract.many import extract_many
from extract.methods import METHODS, Method, extract
from extract.own import CostFunction, Extractor, recosted
from extract.pruned import pruned
from extract.session import Listener
from extract.top import top
from extract.tree import tree

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
    "auto",
    "check",
    "extract",
    "extract_many",
    "greedy",
    "ilp",
    "pruned",
    "recosted",
    "top",
    "tree",
]

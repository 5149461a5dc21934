"""Modulo schedules of loops: the start of each operation, for the shortest initiation interval.

graph     operations with what they take of each unit, dependences with delay and distance
bounds    no schedule is shorter: the busiest unit, the slowest recurrence
rau       a schedule by iterative modulo scheduling
exact     the shortest one, by a 0-1 program for each interval
search    both, and what is proved
loops     the graph of each loop of a chosen program
explain   schedules as text
"""

from lowering.modulo.graph import Dependence, Graph, Operation, Schedule
from lowering.modulo.search import Found, search

__all__ = ["Dependence", "Found", "Graph", "Operation", "Schedule", "search"]

"""Passes on a Tile IR entry before it becomes terms: checks of support, loop unrolling and slicing, induction
variables.
"""

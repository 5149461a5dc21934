"""The compilation pipeline as named passes: the input and output level of each (table), pipelines as text (syntax),
how they run (manager).
"""

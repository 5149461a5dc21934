"""Random programs, interpreter against simulator on every target: `tilesat fuzz` (docs/testing.md).

writer     programs of Tile IR written in Python
program    a program with what it is run on
generated  chains of arithmetic, shapes, reductions, products, loops and branches
mixed      the same with all types, odd sizes, several tile blocks, scans, gathers and atomics
ordered    loads and stores of one array, ordered by tokens
promises   integer scalars with promises, true ones and ones that are not reached
judge      what is wrong with a program on a target
reduce     a smaller program that is wrong in the same way
found      a wrong program as a test file
sweep      many programs, in processes or on Dask, with a log that is continued
"""

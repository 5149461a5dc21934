"""What elementwise operations become in SASS, counted on micro-kernels and kept for the cost tables.

    forms     the forms that there are: operation, flags, types, from how the operations are declared
    kernels   the micro-kernels of a form, through our own compiler
    sass      their instructions by pipe, on the path that ordinary numbers take
    table     the committed rows, what differs, and the file that is written
    clocks    cycles and latencies on a GPU

`python -m benchmarks.calibrate --help`; docs/benchmarks.md says what was found.
"""

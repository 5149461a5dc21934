"""Real cuTile kernels, compiled by this compiler and by tileiras on every tier: `python -m benchmarks.corpus`."""

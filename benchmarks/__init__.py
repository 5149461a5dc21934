"""Measurements, each a command that prints what docs/benchmarks.md quotes."""

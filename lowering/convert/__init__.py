"""Conversions between levels: nv_tileas to per-thread code, per-thread code to nvvm."""

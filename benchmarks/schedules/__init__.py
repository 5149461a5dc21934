"""Steady states of the same work by this compiler, tileiras, Triton, FlashAttention and CUTLASS."""

"""Instruction families: each maps opcodes to decoders, and knows nothing of the others."""

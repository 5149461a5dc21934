"""Instruction families: each maps opcodes to decoders, and is independent of the others."""

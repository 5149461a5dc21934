"""Reader and writer of Tile IR bytecode 13.1 to 13.5."""

from ir.bytecode.cursor import BytecodeError
from ir.bytecode.reader import read_bytecode
from ir.bytecode.writer import write_bytecode

__all__ = ["BytecodeError", "read_bytecode", "write_bytecode"]

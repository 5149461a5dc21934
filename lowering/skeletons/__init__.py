"""Loops and products done another way than the source wrote, each a rewrite of Tile IR; when it is tried: table."""

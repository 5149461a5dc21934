"""Alternatives to the source's loops and products, each a rewrite of Tile IR; table.py decides when they are tried."""

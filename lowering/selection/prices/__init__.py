"""The prices of placed operations, by what they do. Importing this fills the table."""

from lowering.selection.prices import memory, products, values

__all__ = ["memory", "products", "values"]

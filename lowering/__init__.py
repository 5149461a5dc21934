"""From an extracted program to PTX: layouts, targets, atoms, scheduling, conversion and printing."""

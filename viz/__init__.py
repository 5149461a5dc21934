"""Pictures of a compilation, all drawn from one record: an overview, values in detail, layouts; programs as dataflow.

record         what a compilation was, as plain data
overview       one node a value of the chosen program
focus          every way to make a value, and what is near it
layout         who holds which element of a tile
tensor_memory  which columns of tensor memory tiles take, and which element lies where
program        a program at any level
picture        DOT and SVG of any of them
"""

from viz.focus import draw_focus
from viz.layout import draw_layout, layout_text
from viz.overview import draw_overview
from viz.picture import Picture, missing_dot, write_pictures
from viz.program import draw_program
from viz.record import Record, to_json

__all__ = [
    "Picture",
    "Record",
    "draw_focus",
    "draw_layout",
    "draw_overview",
    "draw_program",
    "layout_text",
    "missing_dot",
    "to_json",
    "write_pictures",
]

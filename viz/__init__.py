"""Pictures of the road: the e-graph, a program at any level, and which thread holds which element of a tile."""

from viz.egraph import PicturedNode, draw_egraph, draw_extraction
from viz.layout import BitLayout, draw_layout, is_bit_layout, layout_text
from viz.picture import Picture
from viz.program import draw_program

__all__ = [
    "BitLayout",
    "Picture",
    "PicturedNode",
    "draw_egraph",
    "draw_extraction",
    "draw_layout",
    "draw_program",
    "is_bit_layout",
    "layout_text",
]

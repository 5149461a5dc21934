"""`--viz DIR`: pictures of one kernel's e-graph, of its program at each level, and of the layouts that were chosen."""

from __future__ import annotations

from pathlib import Path

from egraph.term import LOGICAL
from ir.core import Op
from ir.types import TensorType
from lowering.egraph_text import Columns
from tilesat.kernel import Kernel
from tilesat.output import write_file
from viz import (
    BitLayout,
    PicturedNode,
    draw_egraph,
    draw_extraction,
    draw_layout,
    draw_program,
    is_bit_layout,
    layout_text,
)


def draw(kernel: Kernel, folder: Path) -> list[Path]:
    """Write every picture below `folder`; returns the files. DOT always, SVG and PNG where `dot` is found.

    `egraph` is what extraction saw, with its choice; `values` the saturated tile algebra above it.
    """
    selection = kernel.compiled.selection
    frozen, program = selection.saturated.frozen, selection.saturated.program
    words = Columns(program.interner, selection.oracle)
    columns = {number: tuple(words.of(node)) for number, node in selection.enodes.items()}
    pictures = [draw_extraction(selection.graph, selection.answer, columns=columns)]
    effects = [frozen.class_of(k) for item in program.skeleton.walk() for k in getattr(item, "operands", ())]
    values = [
        PicturedNode(node.op, node.cls, node.children, tuple(words.of(node)))
        for node in frozen.nodes
        if frozen.sort[node.cls] == LOGICAL
    ]
    pictures.append(draw_egraph(values, effects, name="values"))
    programs = levels(kernel)
    pictures += [draw_program(op, level) for level, op in programs.items()]
    written: list[Path] = []
    for number, ((shape, layout), origin) in enumerate(_layouts(programs["nv_tileas"]).items()):
        pictures.append(draw_layout(layout, shape, f"layout{number}"))
        text = folder / f"layout{number}.txt"
        write_file(text, f"{origin}\n{layout_text(layout, shape)}")
        written.append(text)
    return written + [path for picture in pictures for path in picture.write(folder)]


def levels(kernel: Kernel) -> dict[str, Op]:
    """The program of each level as operations."""
    return {"cuda_tile": kernel.entry, **kernel.compiled.modules}


def _layouts(program: Op) -> dict[tuple[tuple[int, ...], BitLayout], str]:
    """Each different (shape, register layout) of a placed program, with the operation that makes it first."""
    found: dict[tuple[tuple[int, ...], BitLayout], str] = {}
    for op in program.walk():
        for result in op.results:
            kind = result.type
            if isinstance(kind, TensorType) and kind.shape and is_bit_layout(kind.layout):
                found.setdefault((kind.shape, kind.layout), f"result of {op.name}")
    return found

"""`--viz DIR`: pictures of one kernel's e-graph, of its program at each level, and of the layouts that were chosen."""

from __future__ import annotations

from pathlib import Path

from ir.core import Op
from ir.types import TensorType
from lowering.convert import nvgpu_to_nvvm, tileas_to_nvgpu
from lowering.decode import decode
from lowering.pipeline import choose_warps
from lowering.schedule import schedule
from tilesat.kernel import Kernel
from tilesat.output import write_file
from viz import BitLayout, draw_egraph, draw_extraction, draw_layout, draw_program, is_bit_layout, layout_text


def draw(kernel: Kernel, folder: Path) -> list[Path]:
    """Write every picture below `folder`; returns the files. DOT always, SVG and PNG where `dot` is found.

    `egraph` is what extraction saw, with its choice; `values` the saturated tile algebra above it.
    """
    selection = kernel.compiled.selection
    pictures = [draw_extraction(selection.graph, selection.answer)]
    frozen, program = selection.saturated.frozen, selection.saturated.program
    effects = [frozen.class_of(k) for item in program.skeleton.walk() for k in getattr(item, "operands", ())]
    pictures.append(
        draw_egraph([node for node in frozen.nodes if frozen.sort[node.cls] == "V"], effects, name="values")
    )
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
    """The program of each level as operations: the road after extraction, walked once more (some 50 ms for a GEMM)."""
    selection = kernel.compiled.selection
    placed = schedule(decode(selection, kernel.entry.sym_name, choose_warps(kernel.entry)), selection.target)
    threads = tileas_to_nvgpu.expand(placed, selection.target)
    return {
        "cuda_tile": kernel.entry,
        "nv_tileas": placed,
        "nvgpu": threads,
        "nvvm": nvgpu_to_nvvm.convert(threads),
    }


def _layouts(program: Op) -> dict[tuple[tuple[int, ...], BitLayout], str]:
    """Each different (shape, register layout) of a placed program, with the operation that makes it first."""
    found: dict[tuple[tuple[int, ...], BitLayout], str] = {}
    for op in program.walk():
        for result in op.results:
            kind = result.type
            if isinstance(kind, TensorType) and kind.shape and is_bit_layout(kind.layout):
                found.setdefault((kind.shape, kind.layout), f"result of {op.name}")
    return found
